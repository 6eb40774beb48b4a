//! The binary files that blktrace writes, one for each processor, and that `blkparse -d` makes of them.
//!
//! ## What it looks like
//! Records of 48 bytes, in the byte order of the machine that recorded them, each followed by as many bytes
//! as its last field says:
//! ```text
//! at  0  u32  0x65617400 + version
//! at  4  u32  sequence number
//! at  8  u64  time
//! at 16  u64  first sector
//! at 24  u32  bytes of data
//! at 28  u32  action: event in the lower half, kind of request in the upper half
//! at 32  u32  process
//! at 36  u32  device
//! at 40  u32  processor
//! at 44  u16  error
//! at 46  u16  bytes that follow
//! ```
//! That is version 7. Version 8 (Linux 6.19) has 64 bytes: process at 28, an action of 64 bits at 32, device
//! at 40, processor at 44, error and bytes that follow at 48 and 50.
//!
//! The requests are the queued events, as in `blkparse`: kinds discard, write and read, flushes and FUA; a
//! write with a flush before it is two requests. `--action D` or `C` takes issued or completed events instead. Records are sorted by time.
//!
//! blktrace makes a file for each processor (`sda.blktrace.0`, `sda.blktrace.1`, …), and each has only the
//! requests that this processor queued. The name in front, `sda`, reads all of them, merged by time, as
//! `blkparse -i sda` does. The name of one file reads this one, and a note tells of the others. The one file
//! that `blkparse -i sda -d FILE` makes of them is read, too.
//!
//! ## Units
//! Time in nanoseconds, sectors of 512 bytes.
//!
//! ## Source
//! Linux, include/uapi/linux/blktrace_api.h; Brunelle: blktrace user guide, 2007.

use super::blkparse::{action_note, other_events};
use super::{
    Action, Context, Device, Durability, Framing, Layout, Record, SECTOR, beyond, extent_of_bytes, sectors_of,
};
use crate::line::Flaw;
use crate::{Op, Request};
use std::cell::Cell;

/// Reads both versions in both byte orders, writes version 7, little-endian.
pub(crate) struct Reader {
    version: BlktraceVersion,
    big_endian: bool,
    action: Action,
    /// Events queued, issued and completed.
    events: [Cell<u64>; 3],
}

/// The offsets of a version's fields that differ.
#[derive(Clone, Copy)]
struct BlktraceVersion {
    number: u8,
    record: usize,
    /// Its lower 32 bits are all that matters.
    action: usize,
    /// 8 bytes of action instead of 4.
    wide: bool,
    device: usize,
    following: usize,
}

const TIME: usize = 8;
const FIRST_SECTOR: usize = 16;
const BYTES: usize = 24;

const VERSION_7: BlktraceVersion =
    BlktraceVersion { number: 7, record: 48, action: 28, wide: false, device: 36, following: 46 };
const VERSION_8: BlktraceVersion =
    BlktraceVersion { number: 8, record: 64, action: 32, wide: true, device: 40, following: 50 };

const MAGIC: u32 = 0x6561_7400;

/// Events, and the bit that says that a control group's number follows.
const QUEUED: u32 = 1;
const ISSUED: u32 = 7;
const COMPLETED: u32 = 8;
const OF_CONTROL_GROUP: u32 = 1 << 8;

/// Kinds of requests.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;

/// The version and byte order of a file that begins with `sample`.
fn magic_of(sample: &[u8]) -> Option<(u8, bool)> {
    let word = sample.first_chunk::<4>()?;
    let found = [(u32::from_le_bytes(*word), false), (u32::from_be_bytes(*word), true)];
    let (magic, big_endian) = found.into_iter().find(|(magic, _)| magic & !0xFF == MAGIC)?;
    Some((magic as u8, big_endian))
}

/// Whether a file is one of blktrace, of any version.
pub(super) fn has_magic(sample: &[u8]) -> bool {
    magic_of(sample).is_some()
}

impl Layout for Reader {
    const IS_TEXT: bool = false;
    const HAS_MACHINE_CLOCK: bool = true;
    const UNORDERED: bool = true;
    const DURABILITY: Durability = Durability { flushes: true, fua: true };

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("blktrace", "sectors of 512 bytes")?;
        let Some((number, big_endian)) = magic_of(context.sample) else {
            return Err(
                "no binary file of blktrace: its first four bytes are not 0x65617407 or 0x65617408".into()
            );
        };
        match [VERSION_7, VERSION_8].into_iter().find(|version| version.number == number) {
            Some(version) => {
                let action = context.action.unwrap_or(Action::Queued);
                Ok(Reader { version, big_endian, action, events: Default::default() })
            }
            None => Err(format!(
                "a binary file of blktrace, version {number}; versions 7 and 8 are read. `blkparse -i NAME -o \
                 NAME.blkparse` makes its text, which is read too"
            )),
        }
    }

    fn framing(&self) -> Framing {
        let BlktraceVersion { record, following, .. } = self.version;
        Framing::Tailed { head: record, length_at: following, big_endian: self.big_endian }
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let magic = self.u32_at(record, 0);
        let expected = MAGIC | u32::from(self.version.number);
        if magic != expected {
            return Err(Flaw::new("magic", format!("found {magic:#010x}; accepted: {expected:#010x}")));
        }
        let action = self.action(record);
        let event = action & 0xFFFF & !OF_CONTROL_GROUP;
        if action & NOTIFY != 0 || event != event_of(self.action) {
            self.count(event);
            return Ok(None);
        }
        let time_ns = self.u64_at(record, TIME);
        let device = Device::Number(self.u32_at(record, self.version.device).into());
        let bytes = self.u32_at(record, BYTES);
        let op = match () {
            () if bytes == 0 => {
                return Ok((action & FLUSH != 0).then(|| Record::flush(time_ns, device)));
            }
            () if action & DISCARD != 0 => Op::Trim,
            () if action & WRITE != 0 => Op::Write,
            () => Op::Read,
        };
        let sector = self.u64_at(record, FIRST_SECTOR);
        let offset = sector.checked_mul(SECTOR).ok_or_else(|| beyond("sector", sector, "sectors"))?;
        let (offset, length) = extent_of_bytes(offset, bytes.into(), ["sector", "bytes"])?;
        let record = Record::new(time_ns, device, (offset, length), op);
        let fua = op == Op::Write && action & FUA != 0;
        Ok(Some(Record { fua, preflush: action & FLUSH != 0, ..record }))
    }

    /// Every such file has other events.
    fn is_expected(&self, _record: &[u8]) -> bool {
        true
    }

    /// The files of other processors, which lie beside this one.
    fn file_note(&self, path: &str) -> Option<String> {
        if let Some(note) = action_note(self.action) {
            return Some(note);
        }
        let (name, processor) = path.rsplit_once(".blktrace.")?;
        let processor: u32 = processor.parse().ok()?;
        let other = (0..=processor + 1).find(|other| {
            let beside = std::fs::metadata(format!("{name}.blktrace.{other}"));
            *other != processor && beside.is_ok_and(|file| file.len() > 0)
        })?;
        Some(format!(
            "this has the requests of processor {processor} only, and {name}.blktrace.{other} lies beside it; the \
             name {name} reads those of all processors"
        ))
    }

    fn instead_of_requests(&self) -> Option<String> {
        other_events(self.action, self.events.each_ref().map(Cell::get))
    }

    /// Events are written for processor 0, process 0 and sequence number 0.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let (sector, _) = sectors_of(request)?;
        let kind = match request.op {
            Op::Read => READ,
            Op::Write => WRITE,
            Op::Trim => WRITE | DISCARD,
            Op::Flush => WRITE | FLUSH,
        };
        let action = QUEUED | kind | if request.fua { FUA } else { 0 };
        // Major number 8; a whole disk has every sixteenth minor number.
        let device = (8 << 20) + request.device * 16;
        out.extend_from_slice(&(MAGIC | u32::from(VERSION_7.number)).to_le_bytes());
        out.extend_from_slice(&0_u32.to_le_bytes());
        for word in [request.arrival_ns, sector] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for word in [request.length, action, 0, device, 0, 0] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }
}

/// The number of an event.
fn event_of(action: Action) -> u32 {
    match action {
        Action::Queued => QUEUED,
        Action::Issued => ISSUED,
        Action::Completed => COMPLETED,
    }
}

impl Reader {
    #[inline]
    fn count(&self, event: u32) {
        if let Some(at) = [QUEUED, ISSUED, COMPLETED].iter().position(|known| *known == event) {
            self.events[at].set(self.events[at].get() + 1);
        }
    }

    #[inline]
    fn u32_at(&self, record: &[u8], at: usize) -> u32 {
        let bytes = std::array::from_fn(|byte| record[at + byte]);
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    #[inline]
    fn u64_at(&self, record: &[u8], at: usize) -> u64 {
        let bytes = std::array::from_fn(|byte| record[at + byte]);
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    #[inline]
    fn action(&self, record: &[u8]) -> u32 {
        let at = self.version.action;
        if self.version.wide { self.u64_at(record, at) as u32 } else { self.u32_at(record, at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of version 7 or 8 in either byte order, followed by `tail` bytes.
    fn record(version: u8, big_endian: bool, action: u32, bytes: u32, tail: u16) -> Vec<u8> {
        let (mut out, put) = (Vec::new(), |out: &mut Vec<u8>, size: usize, value: u64| {
            let big = value.to_be_bytes();
            let field: Vec<u8> = big[8 - size..].to_vec();
            let turned = field.iter().rev().copied();
            if big_endian { out.extend(&field) } else { out.extend(turned) }
        });
        for (size, value) in
            [(4, u64::from(MAGIC) + u64::from(version)), (4, 1), (8, 12_345), (8, 80), (4, bytes.into())]
        {
            put(&mut out, size, value);
        }
        let action = u64::from(action);
        let rest = match version {
            7 => vec![(4, action), (4, 7), (4, 0x80_0010), (4, 0), (2, 0), (2, tail.into())],
            _ => {
                vec![(4, 7), (8, action), (4, 0x80_0010), (4, 0), (2, 0), (2, tail.into()), (8, 0), (4, 0)]
            }
        };
        rest.into_iter().for_each(|(size, value)| put(&mut out, size, value));
        out.extend(std::iter::repeat_n(0xAB, tail.into()));
        out
    }

    fn reader(sample: &[u8]) -> Reader {
        Reader::new(&Context { sample, ..Context::default() }).unwrap()
    }

    fn parsed(sample: &[u8]) -> Option<(u64, u64, u32, Op, bool, bool)> {
        let record = reader(sample).parse(sample).unwrap()?;
        assert!(matches!(record.device, Device::Number(0x0080_0010)));
        Some((record.time_ns, record.offset, record.length, record.op, record.preflush, record.fua))
    }

    #[test]
    fn a_queued_event_is_a_request_in_either_version_and_byte_order() {
        for (version, big_endian) in [(7, false), (7, true), (8, false), (8, true)] {
            let of = |action, bytes| parsed(&record(version, big_endian, action, bytes, 0));
            assert_eq!(of(QUEUED | READ, 4096), Some((12_345, 40_960, 4096, Op::Read, false, false)));
            assert_eq!(of(QUEUED | WRITE, 512).unwrap().3, Op::Write);
            assert_eq!(of(QUEUED | WRITE | DISCARD, 512).unwrap().3, Op::Trim);
            assert_eq!(of(QUEUED | WRITE | FLUSH, 0), Some((12_345, 0, 0, Op::Flush, false, false)));
            assert_eq!(
                of(QUEUED | WRITE | FLUSH | FUA, 512),
                Some((12_345, 40_960, 512, Op::Write, true, true))
            );
            assert_eq!(of(QUEUED | OF_CONTROL_GROUP | READ, 512).unwrap().3, Op::Read);
            assert_eq!(of(7 | READ, 512), None, "issued");
            assert_eq!(of(1 | NOTIFY, 512), None, "a time stamp");
            assert_eq!(of(QUEUED, 0), None, "no data");
        }
    }

    #[test]
    fn records_are_found_behind_what_follows_others() {
        let (tailed, plain) =
            (record(7, false, QUEUED | READ, 512, 300), record(7, false, QUEUED | WRITE, 512, 0));
        let sample = [&tailed[..], &plain[..], &plain[..20]].concat();
        let found = super::super::detect::tailed_records(&sample, 48, 46, false);
        assert_eq!(found.collect::<Vec<_>>(), [&tailed[..48], &plain[..]]);
        assert_eq!(crate::Format::detect("t", &sample), Ok(crate::Format::Blktrace));
    }

    #[test]
    fn other_versions_get_an_instruction() {
        let old = record(6, false, QUEUED | READ, 512, 0);
        assert_eq!(crate::Format::detect("t", &old[..4]), Ok(crate::Format::Blktrace));
        let message = Reader::new(&Context { sample: &old, ..Context::default() }).err().unwrap();
        assert!(message.contains("version 6; versions 7 and 8 are read. `blkparse -i NAME"), "{message}");
        let spoilt = [0_u8; 48];
        let flaw = reader(&record(7, true, QUEUED, 0, 0)).parse(&spoilt).err().unwrap();
        assert_eq!(flaw.message, "found 0x00000000; accepted: 0x65617407");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let one = Request {
            arrival_ns: 7,
            offset: 4096,
            length: 512,
            device: 3,
            op: Op::Write,
            fua: true,
            handle: 0,
        };
        let plain = [Op::Read, Op::Write, Op::Trim].map(|op| Request { op, fua: false, ..one });
        for request in plain.into_iter().chain([one, Request::flush(7, 3)]) {
            let mut out = Vec::new();
            Reader::write(&request, &mut out).unwrap();
            assert_eq!(out.len(), 48);
            let read = reader(&out).parse(&out).unwrap().unwrap();
            assert!(matches!(read.device, Device::Number(0x0080_0030)));
            assert_eq!(
                Request {
                    arrival_ns: read.time_ns,
                    offset: read.offset,
                    length: read.length,
                    op: read.op,
                    fua: read.fua,
                    ..one
                },
                request
            );
        }
        super::super::tests::flaws_of::<Reader>(&["offset 1"]);
    }
}
