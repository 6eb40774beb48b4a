//! `flash.page_types`: the type of each page of a block.

use super::check::Check;
use crate::error::DriveError;
use crate::flash::PageTypes;

impl Check<'_> {
    /// As many times as there are types, and a type for every page.
    pub(super) fn page_types(&mut self) -> Result<PageTypes, DriveError> {
        let flash = &self.spec.flash;
        let (mut read_ns, mut program_ns) = (flash.timing.read_us.ns(), flash.timing.program_us.ns());
        let (reads, programs) = (read_ns.len(), program_ns.len());
        let types = reads.max(programs);
        if reads != programs && reads.min(programs) > 1 {
            let message = format!(
                "found {reads} read times and {programs} program times; accepted: the same number of \
                 both, one per page type, or a single one for all"
            );
            return Err(self.wrong(&["flash.timing.read_us", "flash.timing.program_us"], message));
        }
        if types == 1 {
            if flash.page_types != "interleaved" && self.given.by_hand("flash.page_types") {
                let text = "flash.page_types: no effect unless flash.timing.read_us or program_us is a list";
                self.warnings.push(text.into());
            }
            return Ok(PageTypes::alike(&self.spec.flash.timing));
        }
        read_ns.resize(types, read_ns[0]);
        program_ns.resize(types, program_ns[0]);
        let digits = |text: &str| text.bytes().map(|digit| digit.wrapping_sub(b'0')).collect::<Vec<u8>>();
        let (first, repeated) = match flash.page_types.as_str() {
            "interleaved" => (Vec::new(), (0..types as u8).collect()),
            text => {
                let (first, repeated) = text.split_once(':').unwrap_or(("", text));
                (digits(first), digits(repeated))
            }
        };
        if repeated.is_empty() || first.iter().chain(&repeated).any(|&digit| usize::from(digit) >= types) {
            let message = format!(
                "found {:?}; `interleaved` is accepted, or types as digits from 0 to {}, those of a block's first \
                 pages before a colon: `001122` or `00000011:001122`; there are as many types as \
                 flash.timing.read_us and program_us have times",
                flash.page_types,
                types - 1
            );
            let keys = ["flash.page_types", "flash.timing.read_us", "flash.timing.program_us"];
            return Err(self.wrong(&keys, message));
        }
        Ok(PageTypes::new(first, repeated, read_ns, program_ns))
    }
}
