//! flashkeep's own binary traces: what `fk.trace` makes of a table in memory. Nothing is lost.
//!
//! ## What it looks like
//! Records of 32 bytes, little-endian, without a header, in order of arrival:
//! ```text
//! at  0  u64  arrival
//! at  8  u64  offset
//! at 16  u32  bytes
//! at 20  u32  device
//! at 24  u8   op: 0 read, 1 write, 2 trim, 3 flush, whose offset and bytes are 0
//! at 25  u8   1 for a write that must be durable before it is acknowledged (FUA), else 0
//! at 26  u8   the placement handle of a write, 0 to 7, else 0
//! at 27       a zero byte
//! at 28       the letters fkr1
//! ```
//! As a NumPy type: `[("arrival_ns", "<u8"), ("offset", "<u8"), ("length", "<u4"), ("device", "<u4"), ("op", "u1"),
//! ("fua", "u1"), ("handle", "u1"), ("zero", "u1"), ("mark", "S4")]`.
//!
//! ## Units
//! Arrival in nanoseconds, offset and length in bytes.
//!
//! ## Source
//! Ours.

use super::{Context, Device, Durability, Framing, Layout, Record, extent_of_bytes};
use crate::line::Flaw;
use crate::{HANDLES, Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader {
    /// Whether a record of the sample has a handle.
    has_handles: bool,
}

const BYTES: usize = 32;
const MARK: &[u8; 4] = b"fkr1";
const OPS: &str = "0 (read), 1 (write), 2 (trim) or 3 (flush)";

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| record[at + byte]))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| record[at + byte]))
}

impl Layout for Reader {
    const IS_TEXT: bool = false;
    const HANDLES: bool = true;
    const DURABILITY: Durability = Durability { flushes: true, fua: true };

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("records", "bytes")?;
        if context.sample.get(28..BYTES) == Some(MARK) {
            let has_handles = context.sample.chunks_exact(BYTES).any(|record| record[26] > 0);
            Ok(Reader { has_handles })
        } else {
            Err("the first record does not end in `fkr1`".into())
        }
    }

    fn framing(&self) -> Framing {
        Framing::Fixed(BYTES)
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        if record[27..] != *b"\0fkr1" {
            return Err(Flaw::new("mark", "the record does not end in a zero byte and `fkr1`"));
        }
        let (time_ns, device) = (u64_at(record, 0), Device::Number(u32_at(record, 20).into()));
        let op = match record[24] {
            0 => Op::Read,
            1 => Op::Write,
            2 => Op::Trim,
            3 => return Ok(Some(Record::flush(time_ns, device))),
            other => return Err(Flaw::new("op", format!("found {other}; accepted: {OPS}"))),
        };
        let (offset, length) =
            extent_of_bytes(u64_at(record, 8), u32_at(record, 16).into(), ["offset", "length"])?;
        let fua = match record[25] {
            0 => false,
            1 if op == Op::Write => true,
            other => return Err(Flaw::new("fua", format!("found {other}; accepted: 0, or 1 for a write"))),
        };
        let handle = match record[26] {
            0 => 0,
            handle if handle < HANDLES && op == Op::Write => handle,
            other => {
                let accepted = format!("0, or up to {} for a write", HANDLES - 1);
                return Err(Flaw::new("handle", format!("found {other}; accepted: {accepted}")));
            }
        };
        Ok(Some(Record { fua, handle, ..Record::new(time_ns, device, (offset, length), op) }))
    }

    fn has_handles(&self) -> bool {
        self.has_handles
    }

    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let op: u8 = match request.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
            Op::Flush => 3,
        };
        out.extend_from_slice(&request.arrival_ns.to_le_bytes());
        out.extend_from_slice(&request.offset.to_le_bytes());
        out.extend_from_slice(&request.length.to_le_bytes());
        out.extend_from_slice(&request.device.to_le_bytes());
        out.extend_from_slice(&[op, request.fua.into(), request.handle, 0]);
        out.extend_from_slice(MARK);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    const PLAIN: Reader = Reader { has_handles: false };

    fn written(op: Op) -> (Request, Vec<u8>) {
        let fua = op == Op::Write;
        let request = Request {
            arrival_ns: 7,
            offset: 4097,
            length: 513,
            device: 3,
            op,
            fua,
            handle: 5 * u8::from(fua),
        };
        let request = if op == Op::Flush { Request::flush(7, 3) } else { request };
        let mut out = Vec::new();
        Reader::write(&request, &mut out).unwrap();
        (request, out)
    }

    #[test]
    fn what_is_written_is_read_back() {
        for op in [Op::Read, Op::Write, Op::Trim, Op::Flush] {
            let (request, bytes) = written(op);
            assert_eq!(bytes.len(), BYTES);
            assert_eq!(Format::detect("t", &bytes).ok(), Some(Format::Records));
            let record = PLAIN.parse(&bytes).unwrap().unwrap();
            assert_eq!(
                (record.time_ns, record.offset, record.length, record.op, record.fua, record.handle),
                (7, request.offset, request.length, op, request.fua, request.handle)
            );
            assert!(matches!(record.device, Device::Number(3)));
        }
    }

    #[test]
    fn bad_records_name_the_field() {
        let flaw = |at: usize, byte: u8| {
            let mut bytes = written(Op::Read).1;
            bytes[at] = byte;
            let flaw = PLAIN.parse(&bytes).err().expect("a bad record");
            (flaw.field.unwrap_or_default(), flaw.message)
        };
        assert_eq!(
            flaw(24, 9),
            ("op", "found 9; accepted: 0 (read), 1 (write), 2 (trim) or 3 (flush)".into())
        );
        assert_eq!(flaw(25, 1), ("fua", "found 1; accepted: 0, or 1 for a write".into()));
        assert_eq!(flaw(26, 1), ("handle", "found 1; accepted: 0, or up to 7 for a write".into()));
        assert_eq!(flaw(27, 1).0, "mark");
        assert_eq!(flaw(31, 1).0, "mark");
        let mut empty = written(Op::Read).1;
        empty[16..20].fill(0);
        assert_eq!(PLAIN.parse(&empty).err().unwrap().message, "found 0; accepted: at least 1");
        assert!(Reader::new(&Context { sample: b"short", ..Context::default() }).is_err());
    }
}
