//! The traces of SYSTOR '17 (enterprise virtual desktops of Fujitsu, six logical units, 28 days in 2016).
//!
//! ## What it looks like
//! A text file; first the names of the columns, then one line per request, six fields separated by commas:
//! time, response time, `R` or `W`, logical unit, offset, size.
//! ```text
//! Timestamp,Response,IOType,LUN,Offset,Size
//! 1456095145.133076000,0.000806000,R,0,899056122368,131072
//! ```
//! Each logical unit is a device. The recorded response time is not used, and may be empty. A line whose
//! other fields are empty is not a request; a warning counts such lines. There are no trims.
//!
//! The lines are in the order in which requests ended. They are sorted by the time at which they arrived,
//! stably: up to 65,536 lines of disorder are undone, in constant memory. A record that is further out of
//! order arrives with the one before it, and a warning counts it.
//!
//! ## Units
//! Time in seconds since 1970 with decimals, read exactly to the nanosecond; offset and size in bytes.
//!
//! ## Source
//! Lee, Kumano, Matsuki, Endo, Fukumoto and Sugawara: Understanding storage traffic characteristics on
//! enterprise virtual desktop infrastructure. SYSTOR 2017; the traces are at SNIA's IOTTA repository.

use super::{Context, Device, Layout, Record, extent_of_bytes, read_or_write};
use crate::line::{COMMA, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader;

const COLUMNS: &str = "Timestamp,Response,IOType,LUN,Offset,Size";

impl Layout for Reader {
    const UNORDERED: bool = true;
    const PASSED_OVER: &'static str = "records with an empty time, op, LUN, offset or size";
    const HEADER: &'static str = "Timestamp,Response,IOType,LUN,Offset,Size\n";

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("systor", "bytes").map(|()| Reader)
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        match request(record) {
            Ok(request) => Ok(Some(request)),
            Err(_) if self.is_expected(record) || has_empty_fields(record) => Ok(None),
            Err(flaw) => Err(flaw),
        }
    }

    /// The names of the columns.
    fn is_expected(&self, record: &[u8]) -> bool {
        record.eq_ignore_ascii_case(COLUMNS.as_bytes())
    }

    /// There is no response time to write: it is empty.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let op = read_or_write(request.op, 'R', 'W')?;
        let (s, ns) = (request.arrival_ns / 1_000_000_000, request.arrival_ns % 1_000_000_000);
        let Request { device, offset, length, .. } = request;
        out.extend_from_slice(format!("{s}.{ns:09},,{op},{device},{offset},{length}\n").as_bytes());
        Ok(())
    }
}

#[inline]
fn request(record: &[u8]) -> Result<Record<'_>, Box<Flaw>> {
    let mut line = Line::<COMMA>::new(record);
    let time_ns = line.decimal::<9>("Timestamp")?;
    line.skip();
    let op = match line.word("IOType", OPS)? {
        b"R" | b"r" => Op::Read,
        b"W" | b"w" => Op::Write,
        other => return Err(Flaw::found("IOType", other, OPS)),
    };
    let unit = line.integer("LUN")?;
    let offset = line.integer("Offset")?;
    let bytes = line.integer("Size")?;
    line.end(COLUMNS)?;
    let (offset, length) = extent_of_bytes(offset, bytes, ["Offset", "Size"])?;
    Ok(Record::new(time_ns, Device::Number(unit), (offset, length), op))
}

const OPS: &str = "R or W";

/// Whether the line has six fields, and a field that a request needs is empty.
#[cold]
fn has_empty_fields(record: &[u8]) -> bool {
    let fields: Vec<&[u8]> = record.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
    fields.len() == 6 && [0, 2, 3, 4, 5].iter().any(|&field| fields[field].is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, read_back, record};
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let expected = Request {
            arrival_ns: 1_456_095_145_133_076_000,
            offset: 899_056_122_368,
            length: 131_072,
            device: 0,
            op: Op::Read,
            fua: false,
            handle: 0,
        };
        assert_eq!(record::<Reader>(b"1456095145.133076000,0.000806000,R,0,899056122368,131072"), expected);
        assert_eq!(record::<Reader>(b"1456095145.133076000,,W,6,8,512").device, 6, "no response");
    }

    #[test]
    fn the_header_and_empty_fields_are_no_requests() {
        for line in [COLUMNS, "1.5,0.1,,0,8,512", "1.5,0.1,R,,8,512", "1.5,0.1,R,0,,", ",,R,0,8,512"] {
            assert!(Reader.parse(line.as_bytes()).unwrap().is_none(), "{line}");
            assert_eq!(Reader.is_expected(line.as_bytes()), line == COLUMNS);
        }
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert_eq!(flaw::<Reader>(b"1.5,0.1,X,0,8,512"), "IOType: found `X`; accepted: R or W");
        assert_eq!(flaw::<Reader>(b"1.5,0.1,R,0,8,0"), "Size: found 0; accepted: at least 1");
        assert!(flaw::<Reader>(b"1.5,0.1,R,0,8").starts_with("Size: missing"));
        assert!(flaw::<Reader>(b"1.5,0.1,R,0,8,512,9").starts_with("too many fields"));
        assert!(flaw::<Reader>(b"-1.5,0.1,R,0,8,512").starts_with("Timestamp: found `-1.5`"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        read_back::<Reader>(Request {
            arrival_ns: 1_000_000_001,
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
