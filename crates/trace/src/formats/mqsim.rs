//! The trace format of MQSim.
//!
//! ## What it looks like
//! As `ssdsim`: one line per request, five columns separated by blanks or tabs: arrival, device, first
//! sector, number of sectors, op code (0 is a write, 1 a read). With sectors of 512 bytes the two formats are
//! identical, so no trace is detected as `mqsim`.
//! ```text
//! 165916000 0 128 1024 0
//! ```
//!
//! ## Units
//! Arrival in integer nanoseconds; sectors of 512 bytes, or as `--sector-bytes` says: traces for MQSim have
//! been renumbered to other units before.
//!
//! ## Source
//! Tavakkol, Gómez-Luna, Sadrosadati, Ghose and Mutlu: MQSim. FAST 2018; and the traces that come with its
//! program.

use super::{Context, Layout, Record, Score, ssdsim};
use crate::Request;
use crate::line::Flaw;

/// Reads and writes the format: SSDSim's under another name.
pub(crate) struct Reader(ssdsim::Reader);

impl Layout for Reader {
    const OP_CODED: bool = true;

    fn new(context: &Context<'_>) -> Result<Self, String> {
        ssdsim::Reader::new(context).map(Reader)
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        self.0.parse(record)
    }

    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        ssdsim::Reader::write(request, out)
    }

    /// Every sample of this format is one of `ssdsim` too, so `ssdsim` is detected for both.
    fn score(_sample: &[u8]) -> Score {
        Score::default()
    }
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
}
