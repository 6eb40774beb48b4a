//! The trace format of SSDSim and its forks.
//!
//! ## What it looks like
//! A text file; one line per request, five columns separated by blanks or tabs: arrival, device, first
//! sector, number of sectors, op code.
//! ```text
//! 26214000 0 303574 7 0
//! 78643005 1 55596 6 1
//! ```
//! Op code 0 is a write, 1 a read (other tools use the opposite). There are no trims.
//!
//! ## Units
//! Arrival in integer nanoseconds; sectors of 512 bytes, or as `--sector-bytes` says.
//!
//! ## Source
//! Hu, Jiang, Feng, Tian, Luo and Zhang: Performance impact and interplay of SSD parallelism through advanced
//! commands, allocation strategy and data granularity. ICS 2011; and the traces that come with its program.

use super::{
    Context, Device, Layout, Record, SCORED, Units, extent, read_or_write, sample_lines, sectors_of,
};
use crate::line::{BLANKS, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader {
    pub(super) sector_bytes: u64,
}

impl Layout for Reader {
    const OP_CODED: bool = true;

    fn new(context: &Context<'_>) -> Result<Self, String> {
        Ok(Reader { sector_bytes: context.sector_bytes() })
    }

    #[inline(always)]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let mut line = Line::<BLANKS>::new(record);
        let time_ns = line.integer("arrival")?;
        let device = line.integer("device")?;
        let sector = line.integer("sector")?;
        let sectors = line.integer("sectors")?;
        let op = match line.word("op", OPS)? {
            b"0" => Op::Write,
            b"1" => Op::Read,
            other => return Err(Flaw::found("op", other, OPS)),
        };
        line.end("arrival, device, sector, sectors, op")?;
        let (offset, length) = extent(sector, sectors, self.sector_bytes, ["sector", "sectors"])?;
        Ok(Some(Record::new(time_ns, Device::Number(device), (offset, length), op)))
    }

    fn units(&self) -> Units {
        Units::Converted { time: "ns" }
    }

    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let (sector, sectors) = sectors_of(request)?;
        let op = read_or_write(request.op, 1, 0)?;
        let (arrival, device) = (request.arrival_ns, request.device);
        out.extend_from_slice(format!("{arrival} {device} {sector} {sectors} {op}\n").as_bytes());
        Ok(())
    }
}

const OPS: &str = "0 (write) or 1 (read)";

/// Whether the times of a sample are implausible as nanoseconds: more than 10 million requests per second, as if whole
/// milliseconds were read as nanoseconds.
pub(super) fn times_look_like_ms(sample: &[u8]) -> bool {
    let layout = Reader { sector_bytes: super::SECTOR };
    let times = sample_lines(sample)
        .take(SCORED)
        .filter_map(|line| layout.parse(line).ok().flatten())
        .fold((0_u64, u64::MAX, 0), |(count, first, last), record| {
            (count + 1, first.min(record.time_ns), last.max(record.time_ns))
        });
    let (count, first, last) = times;
    count >= ENOUGH && last > first && last - first < 100 * count
}

/// With fewer requests the rate is not checked.
const ENOUGH: u64 = 100;

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, read_back, record};
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let request = record::<Reader>(b"78643005 1 55596 6 1");
        let expected = Request {
            arrival_ns: 78_643_005,
            offset: 55_596 * 512,
            length: 3072,
            device: 1,
            op: Op::Read,
            fua: false,
            handle: 0,
        };
        assert_eq!(request, expected);
        assert_eq!(record::<Reader>(b"0\t0 \t 8 16 0").op, Op::Write);
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert_eq!(flaw::<Reader>(b"1 0 8 8 2"), "op: found `2`; accepted: 0 (write) or 1 (read)");
        assert_eq!(flaw::<Reader>(b"1 0 8 0 1"), "sectors: found 0; accepted: at least 1");
        assert_eq!(flaw::<Reader>(b"1 0 8"), "sectors: missing; accepted: an integer below 2^64");
        assert_eq!(flaw::<Reader>(b"1 0 8 8"), "op: missing; accepted: 0 (write) or 1 (read)");
        assert_eq!(
            flaw::<Reader>(b"1 0 8 8 1 9"),
            "too many fields: found `9` after arrival, device, sector, sectors, op"
        );
        assert_eq!(flaw::<Reader>(b"-1 0 8 8 1"), "arrival: found `-1`; accepted: an integer, not negative");
        assert_eq!(
            flaw::<Reader>(b"1 0 8 8388608 1"),
            "sectors: found 8388608 (sectors); accepted: requests below 4 GiB"
        );
        for sector in ["36028797018963967", "18446744073709551615"] {
            assert!(flaw::<Reader>(format!("1 0 {sector} 8 1").as_bytes()).contains("end below 2^64"));
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        read_back::<Reader>(Request {
            arrival_ns: 7,
            offset: 4096,
            length: 512,
            device: 3,
            op: Op::Write,
            fua: false,
            handle: 0,
        });
        flaws_of::<Reader>(&["offset 1", "trim"]);
    }
}
