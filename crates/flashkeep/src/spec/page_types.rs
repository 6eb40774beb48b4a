//! Pages of several types: a cell of several bits holds a page for each of them, and they take different times.

use super::check::{Check, whole};
use crate::error::DriveError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Most types of pages: a digit each.
pub(super) const MOST_TYPES: usize = 8;

/// A time in µs: one for all pages, or one for each type of page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PerType {
    /// All pages take as long.
    All(f64),
    /// Pages of the first type, the second, …
    Each(Vec<f64>),
}

impl PerType {
    /// The times by type, in whole ns, rounded up once.
    fn ns(&self) -> Vec<u64> {
        let times = match self {
            PerType::All(one) => std::slice::from_ref(one),
            PerType::Each(times) => times,
        };
        times.iter().map(|us| whole(us * 1e3).ceil() as u64).collect()
    }
}

impl JsonSchema for PerType {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PerType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({ "type": "number", "exclusiveMinimum": 0.0, "maximum": 1e9 });
        let each = json_schema!({ "type": "array", "items": one, "minItems": 1, "maxItems": MOST_TYPES });
        json_schema!({ "anyOf": [one, each] })
    }
}

/// Which type each page of a block is of, and how long those take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTypes {
    /// Types of a block's first pages, and those that repeat after them.
    first: Vec<u8>,
    repeated: Vec<u8>,
    /// By type: array to page register, ns.
    pub read_ns: Vec<u64>,
    /// By type: page register to array, ns.
    pub program_ns: Vec<u64>,
}

impl PageTypes {
    /// All pages alike.
    pub(super) fn alike(timing: &super::keys::TimingSpec) -> PageTypes {
        let (read_ns, program_ns) = (timing.read_us.ns(), timing.program_us.ns());
        PageTypes { first: Vec::new(), repeated: vec![0], read_ns, program_ns }
    }

    /// Whether all pages are alike.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.read_ns.len() == 1
    }

    /// The type of a page of a block, counted from 0.
    #[must_use]
    pub fn of(&self, page: u32) -> usize {
        let page = page as usize;
        let after = || self.repeated[(page - self.first.len()) % self.repeated.len()];
        usize::from(self.first.get(page).copied().unwrap_or_else(after))
    }
}

impl Check<'_> {
    /// As many times as there are types, and a type for every page.
    pub(super) fn page_types(&mut self) -> Result<PageTypes, DriveError> {
        let flash = &self.spec.flash;
        let (mut read_ns, mut program_ns) = (flash.timing.read_us.ns(), flash.timing.program_us.ns());
        let (reads, programs) = (read_ns.len(), program_ns.len());
        let types = reads.max(programs);
        if reads != programs && reads.min(programs) > 1 {
            let message = format!(
                "found {reads} times of reads and {programs} of programs; as many of both are accepted, one for each \
                 type of page, or a single one for all"
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
        Ok(PageTypes { first, repeated, read_ns, program_ns })
    }
}
