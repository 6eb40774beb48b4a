//! The ASCII trace format of DiskSim and of its SSD extension.
//!
//! ## What it looks like
//! A text file; one line per request, five columns separated by blanks or tabs: arrival, device, first
//! sector, number of sectors, flags.
//! ```text
//! 5297.450 0 33701824 64 0
//! 5297.480 0 191072 64 1
//! ```
//! The flags are hexadecimal; bit 0 set is a read, clear a write; the other bits are ignored. There are no
//! trims.
//!
//! ## Units
//! Arrival in milliseconds with decimals, read exactly to the nanosecond and cut off below it; sectors of 512
//! bytes, or as `--sector-bytes` says.
//!
//! ## Source
//! Bucy, Schindler, Schlosser and Ganger: The DiskSim simulation environment, version 4.0 reference manual,
//! CMU-PDL-08-101, 2008.

use super::{
    Context, Device, Layout, Record, SCORED, SECTOR, Score, Units, extent, read_or_write, sample_lines,
    score, sectors_of, ssdsim,
};
use crate::line::{BLANKS, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader {
    sector_bytes: u64,
}

impl Layout for Reader {
    const OP_CODED: bool = true;

    fn new(context: &Context<'_>) -> Result<Self, String> {
        Ok(Reader { sector_bytes: context.sector_bytes() })
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let mut line = Line::<BLANKS>::new(record);
        let time_ns = line.decimal::<6>("arrival")?;
        let device = line.integer("device")?;
        let sector = line.integer("sector")?;
        let sectors = line.integer("sectors")?;
        let op = op(line.word("flags", FLAGS)?)?;
        line.end("arrival, device, sector, sectors, flags")?;
        let (offset, length) = extent(sector, sectors, self.sector_bytes, ["sector", "sectors"])?;
        Ok(Some(Record::new(time_ns, Device::Number(device), (offset, length), op)))
    }

    fn units(&self) -> Units {
        Units::Converted { time: "ms" }
    }

    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let (sector, sectors) = sectors_of(request)?;
        let flags = read_or_write(request.op, 1, 0)?;
        let (ms, ns) = (request.arrival_ns / 1_000_000, request.arrival_ns % 1_000_000);
        let device = request.device;
        out.extend_from_slice(format!("{ms}.{ns:06} {device} {sector} {sectors} {flags}\n").as_bytes());
        Ok(())
    }

    /// Whole milliseconds are taken as SSDSim's nanoseconds if possible: otherwise a bad op code of SSDSim would be
    /// read as flags here.
    fn score(sample: &[u8]) -> Score {
        let layout = Reader { sector_bytes: SECTOR };
        let score = score(sample_lines(sample).take(SCORED), |line| layout.parse(line).is_ok());
        let decimal =
            |line: &[u8]| line.split(u8::is_ascii_whitespace).next().is_some_and(|time| time.contains(&b'.'));
        if !sample_lines(sample).take(SCORED).any(decimal) && ssdsim::Reader::score(sample).is_enough() {
            return Score::default();
        }
        score
    }
}

const FLAGS: &str = "hexadecimal flags: bit 0 set for a read, clear for a write";

/// The op in the flags: bit 0 of their last digit.
#[inline]
fn op(flags: &[u8]) -> Result<Op, Box<Flaw>> {
    let digits = flags.strip_prefix(b"0x").unwrap_or(flags);
    match digits.last() {
        Some(last) if digits.iter().all(u8::is_ascii_hexdigit) => {
            // Odd decimal digits have odd character codes, but odd letters have even ones: `b` (11) is 0x62.
            let odd = if last.is_ascii_digit() { last & 1 == 1 } else { last & 1 == 0 };
            Ok(if odd { Op::Read } else { Op::Write })
        }
        _ => Err(Flaw::found("flags", flags, FLAGS)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, read_back, record};
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let request = record::<Reader>(b"5297.480 2 191072 64 1");
        let expected = Request {
            arrival_ns: 5_297_480_000,
            offset: 191_072 * 512,
            length: 32_768,
            device: 2,
            op: Op::Read,
            fua: false,
            handle: 0,
        };
        assert_eq!(request, expected);
    }

    #[test]
    fn bit_0_of_the_flags_reads() {
        for (flags, read) in
            [("0", false), ("1", true), ("10", false), ("a", false), ("B", true), ("0x1f", true)]
        {
            assert_eq!(op(flags.as_bytes()).unwrap() == Op::Read, read, "{flags}");
        }
        for bad in ["", "0x", "R", "-1"] {
            assert!(op(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(flaw::<Reader>(b"1.0 0 8 8 R").starts_with("flags: found `R`; accepted: hexadecimal"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        read_back::<Reader>(Request {
            arrival_ns: 1_000_000_001,
            offset: 4096,
            length: 512,
            device: 3,
            op: Op::Read,
            fua: false,
            handle: 0,
        });
        flaws_of::<Reader>(&["offset 1", "trim"]);
    }
}
