//! The traces of Microsoft Research Cambridge (36 volumes of a data centre, one week).
//!
//! ## What it looks like
//! A text file; one line per request, seven fields separated by commas: arrival, host name, disk number,
//! `Read` or `Write` (in copies `R` or `W`), offset, size, response time.
//! ```text
//! 128166385295514663,hm,0,Write,9056014336,2048,2833
//! ```
//! Each pair of host and disk is a device. The recorded response time is not used. There are no trims. Some
//! records are slightly out of order: these arrive with the one before them, and a warning counts them.
//!
//! ## Units
//! Arrival in Windows file time: units of 100 ns since 1601. Offset and size in bytes.
//!
//! ## Source
//! Narayanan, Donnelly and Rowstron: Write off-loading: practical power management for enterprise storage.
//! FAST 2008; the traces are at SNIA's IOTTA repository.

use super::{
    Context, Device, Layout, Record, after, extent_of_bytes, read_or_write, since_1970_of_file_time,
};
use crate::line::{COMMA, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader;

/// Nanoseconds in a unit of file time.
const TICK_NS: u64 = 100;

/// Where written traces begin: 1 January 2007, 00:00 UTC.
const EPOCH_TICKS: u64 = 128_120_832_000_000_000;

impl Layout for Reader {
    const TICK_NS: u64 = TICK_NS;

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("msr", "bytes").map(|()| Reader)
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let mut line = Line::<COMMA>::new(record);
        let ticks = line.integer("timestamp")?;
        let start = line.position();
        line.word("host", "a name")?;
        line.integer("disk")?;
        // The text of host and disk in the line is the device's name.
        let device = record[start..line.position()].trim_ascii();
        let op = match line.word("op", OPS)? {
            word if word.eq_ignore_ascii_case(b"read") => Op::Read,
            word if word.eq_ignore_ascii_case(b"write") => Op::Write,
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            other => return Err(Flaw::found("op", other, OPS)),
        };
        let offset = line.integer("offset")?;
        let bytes = line.integer("size")?;
        line.integer("response")?;
        line.end("timestamp, host, disk, op, offset, size, response")?;
        let time_ns = ticks.checked_mul(TICK_NS).ok_or_else(|| {
            Flaw::new("timestamp", format!("found {ticks}; accepted: file time before 2185"))
        })?;
        let (offset, length) = extent_of_bytes(offset, bytes, ["offset", "size"])?;
        Ok(Some(Record::new(time_ns, Device::Name(device), (offset, length), op)))
    }

    /// Traces that flashkeep wrote have lost their calendar.
    fn since_1970_ns(&self, time_ns: u64) -> Option<u64> {
        since_1970_of_file_time(time_ns).filter(|_| time_ns != EPOCH_TICKS * TICK_NS)
    }

    /// Times lose digits finer than 100 ns, and there is no response time to write: 0.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let op = read_or_write(request.op, "Read", "Write")?;
        let ticks = after(EPOCH_TICKS * TICK_NS, request.arrival_ns)? / TICK_NS;
        let Request { device, offset, length, .. } = request;
        out.extend_from_slice(format!("{ticks},flashkeep,{device},{op},{offset},{length},0\n").as_bytes());
        Ok(())
    }
}

const OPS: &str = "Read or Write, R or W";

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, record};
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let line = b"128166385295514663,hm,0,Write,9056014336,2048,2833";
        let request = record::<Reader>(line);
        let expected = Request {
            arrival_ns: 12_816_638_529_551_466_300,
            offset: 9_056_014_336,
            length: 2048,
            device: 0,
            op: Op::Write,
            fua: false,
            handle: 0,
        };
        assert_eq!(request, expected);
        let parsed = Reader.parse(line).unwrap().unwrap();
        assert!(matches!(parsed.device, Device::Name(b"hm,0,")), "host and disk");
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert_eq!(
            flaw::<Reader>(b"1,hm,0,Erase,0,512,9"),
            "op: found `Erase`; accepted: Read or Write, R or W"
        );
        assert_eq!(flaw::<Reader>(b"1,hm,0,Read,0,0,9"), "size: found 0; accepted: at least 1");
        assert_eq!(flaw::<Reader>(b"1,,0,Read,0,512,9"), "host: missing; accepted: a name");
        assert!(flaw::<Reader>(b"200000000000000000,hm,0,Read,0,512,9").contains("before 2185"));
        assert!(flaw::<Reader>(b"1,hm,0,Read,0,512,9,10").starts_with("too many fields"));
        assert!(flaw::<Reader>(b"1,hm,0").starts_with("op: missing"));
    }

    #[test]
    fn sector_sizes_are_refused() {
        assert!(Reader::new(&Context { sector_bytes: Some(512), ..Context::default() }).is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = Vec::new();
        let request = Request {
            arrival_ns: 700,
            offset: 4097,
            length: 513,
            device: 3,
            op: Op::Write,
            fua: false,
            handle: 0,
        };
        Reader::write(&request, &mut out).unwrap();
        assert_eq!(out, b"128120832000000007,flashkeep,3,Write,4097,513,0\n");
        let again = record::<Reader>(out.trim_ascii());
        assert_eq!((again.offset, again.length, again.op), (4097, 513, Op::Write));
        flaws_of::<Reader>(&["trim"]);
    }
}
