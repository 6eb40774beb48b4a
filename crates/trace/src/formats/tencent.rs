//! The traces of Tencent's cloud block store (5,584 volumes, ten days in October 2018).
//!
//! ## What it looks like
//! A text file; one line per request, five fields separated by commas: time, first sector, number of sectors,
//! op code, volume. Any table of five numbers has this shape: the format is detected only if the times are
//! seconds since 1970, or from the first line, or from a file name that ends in `.tencent`.
//! ```text
//! 1538323200,4247200,128,1,1058
//! ```
//! Op code **0 reads, 1 writes**: the opposite of SSDSim's. Each volume is a device. There are no trims. A
//! first line with the names of the columns is skipped.
//!
//! The clock ticks once a second, and the lines of neighbouring seconds are mixed: they are sorted by time,
//! stably. Up to 65,536 lines of disorder are undone; a record that is further out of order arrives with the
//! one before it, and a warning counts it. All requests of a second arrive at the same instant: rates and
//! response times within a second are meaningless; a warning says so.
//!
//! ## Units
//! Time in whole seconds since 1970; sectors of 512 bytes, or as `--sector-bytes` says.
//!
//! ## Source
//! Zhang, Huang, Zhou, Hu, Yu, Cheng, Li: OSCA: An online-model based cache allocation scheme in cloud block
//! storage systems. USENIX ATC 2020; the traces and their description are at SNIA's IOTTA repository.

use super::{
    Context, Device, Layout, Record, SCORED, Score, after, extent, read_or_write, sample_lines, score,
    sectors_of,
};
use crate::line::{COMMA, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader {
    sector_bytes: u64,
}

const SECOND_NS: u64 = 1_000_000_000;

/// Where written traces begin: 14 July 2017, 02:40 UTC.
const EPOCH_S: u64 = 1_500_000_000;

impl Layout for Reader {
    const OP_CODED: bool = true;
    const TICK_NS: u64 = SECOND_NS;
    const UNORDERED: bool = true;

    fn new(context: &Context<'_>) -> Result<Self, String> {
        Ok(Reader { sector_bytes: context.sector_bytes() })
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        if self.is_expected(record) {
            return Ok(None);
        }
        let mut line = Line::<COMMA>::new(record);
        let seconds = line.integer("time")?;
        let sector = line.integer("sector")?;
        let sectors = line.integer("sectors")?;
        let op = match line.word("op", OPS)? {
            b"0" => Op::Read,
            b"1" => Op::Write,
            other => return Err(Flaw::found("op", other, OPS)),
        };
        let volume = line.integer("volume")?;
        line.end("time, sector, sectors, op, volume")?;
        let time_ns = seconds.checked_mul(SECOND_NS).ok_or_else(|| {
            Flaw::new("time", format!("found {seconds}; accepted: seconds since 1970, before 2554"))
        })?;
        let (offset, length) = extent(sector, sectors, self.sector_bytes, ["sector", "sectors"])?;
        Ok(Some(Record::new(time_ns, Device::Number(volume), (offset, length), op)))
    }

    /// The names of the columns.
    #[inline]
    fn is_expected(&self, record: &[u8]) -> bool {
        matches!(record.first(), Some(b'T' | b't')) && record.eq_ignore_ascii_case(NAMES)
    }

    fn clock_note(&self) -> Option<&'static str> {
        Some(
            "the clock is coarse: it ticks once a second, so all requests of a second arrive at the same instant, and \
             rates and response times within a second mean nothing",
        )
    }

    /// Traces that flashkeep wrote have lost their calendar.
    fn since_1970_ns(&self, time_ns: u64) -> Option<u64> {
        Some(time_ns).filter(|_| time_ns != EPOCH_S * SECOND_NS)
    }

    /// Times lose digits finer than 1 s.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let (sector, sectors) = sectors_of(request)?;
        let op = read_or_write(request.op, 0, 1)?;
        let seconds = after(EPOCH_S * SECOND_NS, request.arrival_ns)? / SECOND_NS;
        let volume = request.device;
        out.extend_from_slice(format!("{seconds},{sector},{sectors},{op},{volume}\n").as_bytes());
        Ok(())
    }

    /// Without the names of the columns, only times since 1970 tell the format from other tables of numbers.
    fn score(sample: &[u8]) -> Score {
        let is_named = sample_lines(sample).next().is_some_and(|first| PLAIN.is_expected(first));
        score(sample_lines(sample).take(SCORED), |line| {
            let time = line.split(|&byte| byte == COMMA).next().unwrap_or_default();
            let fits = is_named || std::str::from_utf8(time).is_ok_and(|time| is_epoch(time.trim()));
            fits && PLAIN.parse(line).is_ok()
        })
    }
}

const OPS: &str = "0 (read) or 1 (write)";

/// The names of the columns.
const NAMES: &[u8] = b"Timestamp,Offset,Size,IOType,VolumeID";

const PLAIN: Reader = Reader { sector_bytes: super::SECTOR };

/// Whether it is a time in seconds from 2000 to 2100.
pub(super) fn is_epoch(seconds: &str) -> bool {
    seconds.parse().is_ok_and(|seconds: u64| (946_684_800..4_102_444_800).contains(&seconds))
}

/// Whether all lines of a sample are records, apart from their times.
pub(super) fn reads(sample: &[u8]) -> bool {
    let mut lines =
        sample_lines(sample).filter(|line| line.first().is_some_and(u8::is_ascii_digit)).peekable();
    lines.peek().is_some() && lines.take(SCORED).all(|line| PLAIN.parse(line).is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, record};
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let expected = Request {
            arrival_ns: 1_538_323_200 * SECOND_NS,
            offset: 4_247_200 * 512,
            length: 65_536,
            device: 1058,
            op: Op::Write,
            fua: false,
            handle: 0,
        };
        assert_eq!(record::<Reader>(b"1538323200,4247200,128,1,1058"), expected);
        assert_eq!(record::<Reader>(b"1538323199,13896880,128,0,1063").op, Op::Read);
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert_eq!(flaw::<Reader>(b"1,8,8,2,7"), "op: found `2`; accepted: 0 (read) or 1 (write)");
        assert_eq!(flaw::<Reader>(b"1,8,0,1,7"), "sectors: found 0; accepted: at least 1");
        assert!(flaw::<Reader>(b"1,8,8,1").starts_with("volume: missing"));
        assert!(flaw::<Reader>(b"1,8,8,1,7,9").starts_with("too many fields"));
        assert!(flaw::<Reader>(b"1.5,8,8,1,7").starts_with("time: found `1.5`; accepted: an integer"));
        assert!(flaw::<Reader>(b"99999999999,8,8,1,7").contains("before 2554"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = Vec::new();
        let sent = Request {
            arrival_ns: 7 * SECOND_NS,
            offset: 4096,
            length: 512,
            device: 3,
            op: Op::Write,
            fua: false,
            handle: 0,
        };
        Reader::write(&sent, &mut out).unwrap();
        assert_eq!(out, b"1500000007,8,1,1,3\n");
        let arrival_ns = (EPOCH_S + 7) * SECOND_NS;
        assert_eq!(record::<Reader>(out.trim_ascii()), Request { arrival_ns, ..sent });
        flaws_of::<Reader>(&["offset 1", "trim"]);
    }
}
