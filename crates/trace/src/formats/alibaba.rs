//! The block traces of Alibaba's cloud (1,000 virtual disks, January 2020).
//!
//! ## What it looks like
//! A text file; one line per request, five fields separated by commas: device, `R` or `W`, offset, length,
//! time.
//! ```text
//! 0,R,126703644672,4096,1577808000000046
//! ```
//! Each device number is a device. There are no trims. A first line with the names of the columns is skipped.
//!
//! Lines may be out of order: they are sorted by time, stably. Up to 65,536 lines of disorder are undone, in
//! constant memory; a record that is further out of order arrives with the one before it, and a warning
//! counts it.
//!
//! ## Units
//! Time in microseconds since 1970; offset and length in bytes.
//!
//! ## Source
//! Li, Wang, Lee and Shi: An in-depth analysis of cloud block storage workloads in large-scale production.
//! IISWC 2020; the traces' own description of `io_traces.csv`.

use super::{Context, Device, Layout, Record, extent_of_bytes, microseconds, read_or_write};
use crate::line::{COMMA, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader;

impl Layout for Reader {
    const TICK_NS: u64 = 1000;
    const UNORDERED: bool = true;

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("alibaba", "bytes").map(|()| Reader)
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        if self.is_expected(record) {
            return Ok(None);
        }
        let mut line = Line::<COMMA>::new(record);
        let device = line.integer("device_id")?;
        let op = match line.word("opcode", OPS)? {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            other => return Err(Flaw::found("opcode", other, OPS)),
        };
        let offset = line.integer("offset")?;
        let bytes = line.integer("length")?;
        let time_ns = microseconds("timestamp", line.integer("timestamp")?)?;
        line.end("device_id, opcode, offset, length, timestamp")?;
        let (offset, length) = extent_of_bytes(offset, bytes, ["offset", "length"])?;
        Ok(Some(Record::new(time_ns, Device::Number(device), (offset, length), op)))
    }

    /// The names of the columns.
    #[inline]
    fn is_expected(&self, record: &[u8]) -> bool {
        matches!(record.first(), Some(b'D' | b'd'))
            && record.eq_ignore_ascii_case(b"device_id,opcode,offset,length,timestamp")
    }

    /// Times lose digits finer than 1 µs.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let op = read_or_write(request.op, 'R', 'W')?;
        let Request { device, offset, length, .. } = request;
        let us = request.arrival_ns / 1000;
        out.extend_from_slice(format!("{device},{op},{offset},{length},{us}\n").as_bytes());
        Ok(())
    }
}

const OPS: &str = "R or W";

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, read_back, record};
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let expected = Request {
            arrival_ns: 1_577_808_000_000_046_000,
            offset: 126_703_644_672,
            length: 4096,
            device: 419,
            op: Op::Write,
            fua: false,
            handle: 0,
        };
        assert_eq!(record::<Reader>(b"419,W,126703644672,4096,1577808000000046"), expected);
        assert!(Reader.parse(b"device_id,opcode,offset,length,timestamp").unwrap().is_none());
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert_eq!(flaw::<Reader>(b"0,X,0,512,1"), "opcode: found `X`; accepted: R or W");
        assert_eq!(flaw::<Reader>(b"0,R,0,0,1"), "length: found 0; accepted: at least 1");
        assert!(flaw::<Reader>(b"0,R,0,512").starts_with("timestamp: missing"));
        assert!(flaw::<Reader>(b"0,R,0,512,1,2").starts_with("too many fields"));
        assert!(flaw::<Reader>(b"0,R,0,512,18446744073709551615").contains("2^64 nanoseconds"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        read_back::<Reader>(Request {
            arrival_ns: 7000,
            offset: 4097,
            length: 513,
            device: 3,
            op: Op::Read,
            fua: false,
            handle: 0,
        });
        flaws_of::<Reader>(&["trim"]);
    }
}
