//! The trace format of the Storage Performance Council, as the UMass repository has it (Financial,
//! WebSearch).
//!
//! ## What it looks like
//! A text file; one line per request, five fields separated by commas: application storage unit, logical
//! block address, bytes, op code (`r` or `R`, `w` or `W`), arrival. More fields may follow; they are ignored.
//! ```text
//! 0,20941264,8192,W,0.551706
//! ```
//! Each application storage unit is a device. There are no trims.
//!
//! ## Units
//! Arrival in seconds with decimals, read exactly to the nanosecond and cut off below it; addresses in blocks
//! of 512 bytes, or as `--sector-bytes` says; sizes in bytes.
//!
//! ## Source
//! Storage Performance Council: SPC trace file format specification, revision 1.0.1, 2002.

use super::{Context, Device, Layout, Record, beyond, extent_of_bytes, read_or_write, sectors_of};
use crate::line::{COMMA, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader {
    sector_bytes: u64,
}

impl Layout for Reader {
    fn new(context: &Context<'_>) -> Result<Self, String> {
        Ok(Reader { sector_bytes: context.sector_bytes() })
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let mut line = Line::<COMMA>::new(record);
        let unit = line.integer("ASU")?;
        let block = line.integer("LBA")?;
        let bytes = line.integer("size")?;
        let op = match line.word("op", OPS)? {
            b"r" | b"R" => Op::Read,
            b"w" | b"W" => Op::Write,
            other => return Err(Flaw::found("op", other, OPS)),
        };
        let time_ns = line.decimal::<9>("timestamp")?;
        let offset = block.checked_mul(self.sector_bytes).ok_or_else(|| beyond("LBA", block, "sectors"))?;
        let (offset, length) = extent_of_bytes(offset, bytes, ["LBA", "size"])?;
        Ok(Some(Record::new(time_ns, Device::Number(unit), (offset, length), op)))
    }

    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let (sector, _) = sectors_of(request)?;
        let op = read_or_write(request.op, 'r', 'w')?;
        let (s, ns) = (request.arrival_ns / 1_000_000_000, request.arrival_ns % 1_000_000_000);
        let (device, length) = (request.device, request.length);
        out.extend_from_slice(format!("{device},{sector},{length},{op},{s}.{ns:09}\n").as_bytes());
        Ok(())
    }
}

const OPS: &str = "r or R (read), w or W (write)";

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, read_back, record};
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let request = record::<Reader>(b"0,20941264,8192,W,0.551706");
        let expected = Request {
            arrival_ns: 551_706_000,
            offset: 20_941_264 * 512,
            length: 8192,
            device: 0,
            op: Op::Write,
            fua: false,
            handle: 0,
        };
        assert_eq!(request, expected);
        assert_eq!(record::<Reader>(b"1, 8, 512, r, 1.5, whatever, else").op, Op::Read);
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert_eq!(flaw::<Reader>(b"0,8,0,r,1.0"), "size: found 0; accepted: at least 1");
        assert_eq!(
            flaw::<Reader>(b"0,8,512,x,1.0"),
            "op: found `x`; accepted: r or R (read), w or W (write)"
        );
        assert!(flaw::<Reader>(b"0,8,512,r").starts_with("timestamp: missing; accepted: a decimal number"));
        assert!(flaw::<Reader>(b"0,99999999999999999,512,r,1").starts_with("LBA: found 99999999999999999"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        read_back::<Reader>(Request {
            arrival_ns: 1_000_000_001,
            offset: 4096,
            length: 1024,
            device: 3,
            op: Op::Read,
            fua: false,
            handle: 0,
        });
        flaws_of::<Reader>(&["offset 1", "trim"]);
    }
}
