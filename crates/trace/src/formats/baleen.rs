//! The traces of Meta's Tectonic that come with Baleen.
//!
//! ## What it looks like
//! A text file; one line per access, fields separated by blanks: block, offset in the block, size, time, op, name space,
//! user, and in some files more.
//! ```text
//! 1274893 0 131072 1570000000.25 2 14 3
//! ```
//! Ops 1, 2 and 5 are reads (`GET`), 3, 4 and 6 writes (`PUT`). The names of the columns are in a file of their own
//! (`full.header`) or in the first line. The blocks are consecutive in the order of their first appearance, 8 MiB
//! each; a note says so. Lines are sorted by time. flashkeep does not write the format.
//!
//! ## Units
//! Time in seconds since 1970 with decimals, offset and size in bytes.
//!
//! ## Source
//! Wong, Wu, Johnson, Kyrola, Berg, Beckmann and Ganger: Baleen: ML admission and prefetching for flash caches. FAST 2024.

use super::objects::Places;
use super::{Context, Device, Layout, Record, SCORED, Score, extent_of_bytes, sample_lines, score};
use crate::line::{BLANKS, Flaw, Line};
use crate::{Op, Request};

/// Reads the format.
#[derive(Default)]
pub(crate) struct Reader {
    places: Places,
}

const BLOCK: u64 = 8 << 20;
const OPS: &str = "1, 2, 5 (reads) or 3, 4, 6 (writes)";

impl Layout for Reader {
    const IS_WRITTEN: bool = false;
    const UNORDERED: bool = true;

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("baleen", "bytes").map(|()| Reader::default())
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let mut line = Line::<BLANKS>::new(record);
        let block = line.integer("block_id")?;
        let start = line.integer("io_byte_offset")?;
        let bytes = line.integer("io_size")?;
        let time_ns = line.decimal::<9>("time")?;
        let op = match line.word("op", OPS)? {
            b"1" | b"2" | b"5" => Op::Read,
            b"3" | b"4" | b"6" => Op::Write,
            other => return Err(Flaw::found("op", other, OPS)),
        };
        if start.checked_add(bytes).is_none_or(|end| end > BLOCK) {
            let found =
                format!("{bytes} bytes at {start}; accepted: accesses inside a block of {BLOCK} bytes");
            return Err(Flaw::new("io_size", found));
        }
        let place = self.places.of(block, BLOCK).map(|place| place + start);
        let place =
            place.ok_or_else(|| Flaw::new("block_id", "the blocks have more than 2^63 bytes together"))?;
        let (offset, length) = extent_of_bytes(place, bytes, ["io_byte_offset", "io_size"])?;
        Ok(Some(Record::new(time_ns, Device::Number(0), (offset, length), op)))
    }

    fn file_note(&self, _path: &str) -> Option<String> {
        Some("blocks have no addresses: they lie in order of first appearance, 8 MiB each".into())
    }

    fn write(_: &Request, _: &mut Vec<u8>) -> Result<(), String> {
        Err("flashkeep does not write this format, which has no addresses".into())
    }

    /// Seven columns or more, with times since 1970 or with decimals: fewer are DiskSim's.
    fn score(sample: &[u8]) -> Score {
        let reader = Reader::default();
        score(sample_lines(sample).take(SCORED), |line| {
            let words: Vec<&[u8]> =
                line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty()).collect();
            words.len() >= 7
                && words.iter().all(|word| word[0].is_ascii_digit())
                && (words[3].contains(&b'.') || words[3].len() >= 10)
                && reader.parse(line).is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::flaw;
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let reader = Reader::default();
        let of = |line: &str| {
            let record = reader.parse(line.as_bytes()).unwrap().unwrap();
            (record.time_ns, record.offset, record.length, record.op)
        };
        assert_eq!(of("1274893 0 131072 1.25 2 14 3"), (1_250_000_000, 0, 131_072, Op::Read));
        assert_eq!(of("7 4096 131072 2 4 14 3 8 9"), (2_000_000_000, BLOCK + 4096, 131_072, Op::Write));
        assert_eq!(of("1274893 65536 1 3 3 14 3").1, 65_536);
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert!(flaw::<Reader>(b"1 0 512 1.5 9 1 1").starts_with("op: found `9`; accepted: 1, 2, 5"));
        assert!(flaw::<Reader>(b"1 8388608 512 1.5 1 1 1").contains("inside a block"));
        assert_eq!(flaw::<Reader>(b"1 0 0 1.5 1 1 1"), "io_size: found 0; accepted: at least 1");
    }
}
