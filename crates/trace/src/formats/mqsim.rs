//! The trace format of MQSim.
//!
//! ## What it looks like
//! As `ssdsim`: one line per request, five columns separated by blanks or tabs: arrival, device, first
//! sector, number of sectors, op code (0 is a write, 1 a read). With sectors of 512 bytes the two formats are
//! identical, so a trace is detected as `mqsim` only if its name ends in `.mqsim`, in front of `.zst` or
//! `.gz`.
//! ```text
//! 165916000 0 128 1024 0
//! ```
//!
//! ## Units
//! Arrival in integer nanoseconds. Sectors of 512 bytes, unless the first requests show another size: traces
//! for MQSim have been renumbered to other units before. The size is found if there are 100 requests of four
//! sizes or more, and all addresses and sizes are multiples of 64 sectors or more. If the smallest request is
//! one such multiple, it is taken as a page of 4 KiB: 64 sectors make sectors of 64 bytes. Multiples of 512
//! are bytes. A note says which size was found. `--sector-bytes` overrides all this.
//!
//! ## Source
//! Tavakkol, Gómez-Luna, Sadrosadati, Ghose and Mutlu: MQSim. FAST 2018; and the traces that come with its
//! program.

use super::{Context, Layout, Record, Score, Units, sample_lines, sectors, ssdsim};
use crate::Request;
use crate::line::Flaw;

/// Reads and writes the format: SSDSim's under another name.
pub(crate) struct Reader {
    lines: ssdsim::Reader,
    /// The size of a sector that the first requests show, if it is not 512.
    found: Option<u64>,
}

impl Layout for Reader {
    const OP_CODED: bool = true;

    fn new(context: &Context<'_>) -> Result<Self, String> {
        let found = if context.sector_bytes.is_some() { None } else { sector_bytes(context.sample) };
        let bytes = found.unwrap_or(context.sector_bytes());
        Ok(Reader { lines: ssdsim::Reader { sector_bytes: bytes }, found })
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        self.lines.parse(record)
    }

    fn units(&self) -> Units {
        self.lines.units()
    }

    fn file_note(&self, _path: &str) -> Option<String> {
        self.found.map(|bytes| {
            let unit = if bytes == 1 { "as bytes".into() } else { format!("in sectors of {bytes} bytes") };
            format!(
                "addresses and sizes are read {unit}, which their common divisor shows; --sector-bytes 512 reads \
                 them in the usual sectors"
            )
        })
    }

    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        ssdsim::Reader::write(request, out)
    }

    /// Every sample of this format is one of `ssdsim` too; the name of the file decides.
    fn score(_sample: &[u8]) -> Score {
        Score::default()
    }
}

/// The size of a sector that a sample shows.
fn sector_bytes(sample: &[u8]) -> Option<u64> {
    let lines = ssdsim::Reader { sector_bytes: 1 };
    let requests = sample_lines(sample).filter_map(|line| lines.parse(line).ok().flatten());
    sectors::find(requests.map(|request| (request.offset, request.length.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_as_large_as_the_user_says() {
        let layout = Reader::new(&Context { sector_bytes: Some(64), ..Context::default() }).unwrap();
        let record = layout.parse(b"165916000 0 128 1024 0").unwrap().unwrap();
        assert_eq!((record.time_ns, record.offset, record.length), (165_916_000, 8192, 65_536));
    }

    #[test]
    fn sectors_are_as_large_as_the_requests_show() {
        let text: String =
            (0..200).map(|n| format!("{n}000 0 {} {} 0\n", n * 192, 64 * (1 + n % 16))).collect();
        let context = Context { sample: text.as_bytes(), ..Context::default() };
        let layout = Reader::new(&context).unwrap();
        let record = layout.parse(b"165916000 0 128 1024 0").unwrap().unwrap();
        assert_eq!((record.offset, record.length), (8192, 65_536));
        assert!(layout.file_note("t").unwrap().contains("in sectors of 64 bytes"));
        let given = Reader::new(&Context { sector_bytes: Some(512), ..context }).unwrap();
        assert_eq!(given.parse(b"0 0 128 64 0").unwrap().unwrap().length, 32_768);
        assert_eq!(given.file_note("t"), None);
    }
}
