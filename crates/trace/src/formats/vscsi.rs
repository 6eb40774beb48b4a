//! The binary traces of VMware's vscsiStats, as CloudPhysics recorded and published them.
//!
//! ## What it looks like
//! Records of fixed length, little-endian, without a header. Version 1, 32 bytes:
//! ```text
//! at  0  u32  serial number
//! at  4  u32  bytes of data
//! at  8  u32  scatter-gather elements
//! at 12  u16  SCSI command
//! at 14  u16  version × 256
//! at 16  u64  first block
//! at 24  u64  arrival
//! ```
//! Version 2, 40 bytes, has command and version first (at 0 and 2), then serial number, bytes and elements
//! (4, 8, 12), block and arrival (16, 24), and at 32 the response time, which is not used. The version field
//! distinguishes them.
//!
//! READ and WRITE of 6, 10, 12 and 16 bytes and WRITE AND VERIFY are requests; UNMAP (0x42) is a trim of the
//! record's block and bytes, SYNCHRONIZE CACHE (0x35, 0x91) a flush. Other commands move no host data; they
//! are skipped, and a warning counts them. The record has the command's code, but not the rest of the command:
//! its FUA bit is not known. A trace is of one virtual disk: device 0.
//!
//! ## Units
//! Arrival in microseconds; blocks of 512 bytes, or as `--sector-bytes` says; lengths in bytes.
//!
//! ## Source
//! Waldspurger, Park, Garthwaite and Ahmad: Efficient MRC construction with SHARDS. FAST 2015; the record as
//! in the CloudPhysics traces that libCacheSim (Yang, 2020) publishes.

use super::{
    Context, Device, Durability, Framing, Layout, Record, beyond, extent_of_bytes, microseconds, sectors_of,
};
use crate::line::Flaw;
use crate::{Op, Request};

/// Reads both versions, writes version 1.
pub(crate) struct Reader {
    version: VscsiVersion,
    sector_bytes: u64,
}

/// The offsets of a version's fields.
#[derive(Clone, Copy)]
struct VscsiVersion {
    number: u8,
    record: usize,
    bytes: usize,
    command: usize,
    version: usize,
}

/// The first block and the arrival are at the same place in both versions.
const BLOCK: usize = 16;
const ARRIVAL: usize = 24;

const VERSION_1: VscsiVersion = VscsiVersion { number: 1, record: 32, bytes: 4, command: 12, version: 14 };
const VERSION_2: VscsiVersion = VscsiVersion { number: 2, record: 40, bytes: 8, command: 0, version: 2 };

impl VscsiVersion {
    /// Whether the version fields of the records at the head of `sample` are of this version.
    fn fits(self, sample: &[u8]) -> bool {
        let mut records = sample.chunks_exact(self.record).take(4).peekable();
        records.peek().is_some() && records.all(|record| self.claimed_by(record))
    }

    fn claimed_by(self, record: &[u8]) -> bool {
        u16_at(record, self.version) >> 8 == u16::from(self.number)
    }
}

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(std::array::from_fn(|byte| record[at + byte]))
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| record[at + byte]))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| record[at + byte]))
}

impl Layout for Reader {
    const IS_TEXT: bool = false;
    const TICK_NS: u64 = 1000;
    const DURABILITY: Durability = Durability { flushes: true, fua: false };

    fn new(context: &Context<'_>) -> Result<Self, String> {
        let sector_bytes = context.sector_bytes();
        let versions = [VERSION_2, VERSION_1];
        match versions.into_iter().find(|version| version.fits(context.sample)) {
            Some(version) => Ok(Reader { version, sector_bytes }),
            None => Err("neither version 1 (32-byte records) nor version 2 (40-byte records) of vscsi: \
                         the version field at byte 14, respectively 2, of its first records is not 0x0100 or 0x0200"
                .into()),
        }
    }

    fn framing(&self) -> Framing {
        Framing::Fixed(self.version.record)
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        if !self.version.claimed_by(record) {
            let found = u16_at(record, self.version.version);
            let number = self.version.number;
            return Err(Flaw::new("version", format!("found {found:#06x}; accepted: 0x0{number}00")));
        }
        let us = u64_at(record, ARRIVAL);
        let time_ns = microseconds("arrival", us)?;
        let op = match u16_at(record, self.version.command) {
            0x08 | 0x28 | 0x88 | 0xA8 => Op::Read,
            0x0A | 0x2A | 0x8A | 0xAA | 0x2E | 0x8E | 0xAE => Op::Write,
            0x42 => Op::Trim,
            0x35 | 0x91 => return Ok(Some(Record::flush(time_ns, Device::Number(0)))),
            _ => return Ok(None),
        };
        let (block, bytes) = (u64_at(record, BLOCK), u32_at(record, self.version.bytes));
        let offset = block.checked_mul(self.sector_bytes).ok_or_else(|| beyond("block", block, "sectors"))?;
        let (offset, length) = extent_of_bytes(offset, bytes.into(), ["block", "bytes"])?;
        Ok(Some(Record::new(time_ns, Device::Number(0), (offset, length), op)))
    }

    /// Version 1. Times lose digits finer than 1 µs.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        if request.device != 0 {
            return Err("this format has one device, and the request is for another".into());
        }
        let (block, _) = sectors_of(request)?;
        // The 16-byte commands can address every block.
        let command: u16 = match request.op {
            Op::Read => 0x88,
            Op::Write => 0x8A,
            Op::Trim => 0x42,
            Op::Flush => 0x91,
        };
        for word in [0, request.length, 1, u32::from(command) | 0x0100 << 16] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for word in [block, request.arrival_ns / 1000] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first record of CloudPhysics' two-hour trace.
    const FIRST: [u8; 32] = [
        0xF4, 0x00, 0x00, 0x80, 0x00, 0x02, 0, 0, 1, 0, 0, 0, 0x2A, 0, 0, 1, 0x09, 0x1A, 0x8F, 0x02, 0, 0, 0,
        0, 0x22, 0xCF, 0x82, 0xBE, 0x1F, 0x05, 0, 0,
    ];

    fn reader(sample: &[u8]) -> Reader {
        Reader::new(&Context { sample, ..Context::default() }).unwrap()
    }

    fn first_as_version_2() -> Vec<u8> {
        let mut record = [&FIRST[12..16], &FIRST[0..12], &FIRST[16..32]].concat();
        record[3] = 2;
        record.extend_from_slice(&777_u64.to_le_bytes());
        record
    }

    #[test]
    fn a_record_of_either_version_is_a_request() {
        for sample in [FIRST.to_vec(), first_as_version_2()] {
            let reader = reader(&sample);
            assert_eq!(reader.framing(), Framing::Fixed(sample.len()));
            let record = reader.parse(&sample).unwrap().unwrap();
            assert_eq!(record.time_ns, 5_633_898_368_802_000);
            assert_eq!((record.offset, record.length, record.op), (42_932_745 * 512, 512, Op::Write));
        }
    }

    #[test]
    fn commands_are_told_apart() {
        let op = |command: u8| {
            let mut record = FIRST;
            record[12] = command;
            reader(&FIRST).parse(&record).unwrap().map(|record| record.op)
        };
        assert_eq!(op(0x28), Some(Op::Read));
        assert_eq!(op(0x8A), Some(Op::Write));
        assert_eq!(op(0x42), Some(Op::Trim));
        assert_eq!((op(0x35), op(0x91)), (Some(Op::Flush), Some(Op::Flush)), "SYNCHRONIZE CACHE");
        assert_eq!(op(0x00), None, "TEST UNIT READY");
    }

    #[test]
    fn a_text_is_no_vscsi_trace() {
        let text = b"0 0 303567 7 0\n0 1 55590 6 0\n26214000 0 303574 7 0\n";
        assert!(Reader::new(&Context { sample: text, ..Context::default() }).is_err());
        assert!(Reader::new(&Context::default()).is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        for op in [Op::Read, Op::Write, Op::Trim] {
            let request = Request {
                arrival_ns: 7_000,
                offset: 4096,
                length: 512,
                device: 0,
                op,
                fua: false,
                handle: 0,
            };
            let mut out = Vec::new();
            Reader::write(&request, &mut out).unwrap();
            let record =
                reader(&out).parse(&out).unwrap().map(|record| (record.time_ns, record.offset, record.op));
            assert_eq!(record, Some((7_000, 4096, op)));
        }
        let mut out = Vec::new();
        Reader::write(&Request::flush(7_000, 0), &mut out).unwrap();
        let record = reader(&out).parse(&out).unwrap().unwrap();
        assert_eq!((record.time_ns, record.offset, record.length, record.op), (7_000, 0, 0, Op::Flush));
        super::super::tests::flaws_of::<Reader>(&["offset 1", "device 1"]);
    }
}
