//! Disk events of Windows as `xperf` prints them: the Microsoft Production Server traces, and recordings of today.
//!
//! ## What it looks like
//! A text file; a head between `BeginHeader` and `EndHeader` with the columns of each event, then one line per event,
//! fields separated by commas: event, time, process, thread, with some versions the processor, pointer, offset, size,
//! elapsed time, disk, and more.
//! ```text
//! DiskRead,  2439523,  System (   4),  3652, 0xfffffa8007d4d700, 0x0012dcb000, 0x00002000,  2373,  0, 0x060043
//! ```
//! `DiskRead` and `DiskWrite` are requests, `DiskFlush` is a flush. Windows logs them when they end: the request
//! arrived the elapsed time earlier. All other events are skipped. Each disk is a device.
//!
//! Lines are sorted by time of arrival: up to 65,536 lines of disorder are undone.
//!
//! ## Units
//! Time and elapsed time in microseconds; offset and size in bytes, hexadecimal.
//!
//! ## Source
//! Kavalanekar, Worthington, Zhang and Sharda: Characterization of storage workload traces from production Windows
//! servers. IISWC 2008; the traces, with the columns, are at SNIA's IOTTA repository.

use super::{
    BEFORE_NS, Context, Device, Durability, Layout, Record, SCORED, Score, extent_of_bytes, microseconds,
    sample_lines, score,
};
use crate::line::{COMMA, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader;

const HEX: &str = "a hexadecimal number such as 0x0012dcb000";
const BEGIN: &[u8] = b"BeginHeader";

impl Layout for Reader {
    const TICK_NS: u64 = 1000;
    const UNORDERED: bool = true;
    const DURABILITY: Durability = Durability { flushes: true, fua: false };
    const HEADER: &'static str = "BeginHeader\nDiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, \
                                  IOSize, ElapsedTime, DiskNum, IrpFlags\nEndHeader\n";

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("etw", "bytes").map(|()| Reader)
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        if !record.starts_with(b"Disk") {
            return Ok(None);
        }
        let mut line = Line::<COMMA>::new(record);
        let op = match line.word("event", "DiskRead")? {
            b"DiskRead" => Op::Read,
            b"DiskWrite" => Op::Write,
            b"DiskFlush" => Op::Flush,
            _ => return Ok(None),
        };
        let time = line.word("TimeStamp", "microseconds")?;
        // The columns of the event, in the head.
        if time == b"TimeStamp" {
            return Ok(None);
        }
        let time_us = Line::<COMMA>::new(time).integer("TimeStamp")?;
        line.skip();
        line.integer("ThreadID")?;
        // The processor may come before the pointer.
        while !line.word("IrpPtr", HEX)?.starts_with(b"0x") {}
        let (offset, bytes) =
            if op == Op::Flush { (0, 0) } else { (hex(&mut line, "ByteOffset")?, hex(&mut line, "IOSize")?) };
        let elapsed_us = line.integer("ElapsedTime")?;
        let device = Device::Number(line.integer("DiskNum")?);
        let time_ns = arrival_ns(time_us, elapsed_us)?;
        if op == Op::Flush {
            return Ok(Some(Record::flush(time_ns, device)));
        }
        let (offset, length) = extent_of_bytes(offset, bytes, ["ByteOffset", "IOSize"])?;
        Ok(Some(Record::new(time_ns, device, (offset, length), op)))
    }

    /// Every such text has a head and other events.
    fn is_expected(&self, _record: &[u8]) -> bool {
        true
    }

    /// An elapsed time of 0, so that the time is that of the arrival.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let Request { offset, length, device, .. } = request;
        let (us, process) = (request.arrival_ns / 1000, "flashkeep ( 0), 0, 0x0");
        let line = match request.op {
            Op::Trim => return Err("this format has no trims".into()),
            Op::Flush => format!("DiskFlush, {us}, {process}, 0, {device}, 0x0\n"),
            op => format!("Disk{op:?}, {us}, {process}, {offset:#012x}, {length:#010x}, 0, {device}, 0x0\n"),
        };
        out.extend_from_slice(line.as_bytes());
        Ok(())
    }

    /// The head tells it, or the names of the events.
    fn score(sample: &[u8]) -> Score {
        let has_head = sample_lines(sample).next() == Some(BEGIN);
        score(sample_lines(sample).take(SCORED), |line| {
            has_head || line.starts_with(b"Disk") && Reader.parse(line).is_ok()
        })
    }
}

/// The arrival of a request that ended at `time_us`, later by a constant: it may have begun before the recording.
#[inline]
fn arrival_ns(time_us: u64, elapsed_us: u64) -> Result<u64, Box<Flaw>> {
    let (end, elapsed) = (microseconds("TimeStamp", time_us)?, microseconds("ElapsedTime", elapsed_us)?);
    let start = end.checked_add(BEFORE_NS).and_then(|end| end.checked_sub(elapsed));
    start.ok_or_else(|| {
        Flaw::new("ElapsedTime", format!("found {elapsed_us}; accepted: microseconds, less than a day"))
    })
}

#[inline]
fn hex(line: &mut Line<'_, COMMA>, field: &'static str) -> Result<u64, Box<Flaw>> {
    let word = line.word(field, HEX)?;
    let digits = word.strip_prefix(b"0x").filter(|digits| !digits.is_empty() && digits.len() <= 16);
    let value = digits.and_then(|digits| {
        digits.iter().try_fold(0_u64, |value, &digit| {
            char::from(digit).to_digit(16).map(|digit| value << 4 | u64::from(digit))
        })
    });
    value.ok_or_else(|| Flaw::found(field, word, HEX))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, record};
    use super::*;

    const READ: &str =
        "DiskRead,  2439523,  System (   4),  3652, 0xfffffa8007d4d700, 0x0012dcb000, 0x00002000,  2373,  1";

    #[test]
    fn an_event_is_a_request_that_arrived_earlier() {
        let expected = Request {
            arrival_ns: (2_439_523 - 2373) * 1000 + BEFORE_NS,
            offset: 0x12dc_b000,
            length: 0x2000,
            device: 1,
            op: Op::Read,
            fua: false,
            handle: 0,
        };
        assert_eq!(record::<Reader>(READ.as_bytes()), expected);
        let new = "DiskWrite, 8612, xperf.exe (3984), 11844, 1, 0xffffe288b23f1b20, 0x018f0b8000, 0x00001000, 283, 0, \
                   0x060043, 283, 3, Original, 0xffffe288272d0d20, C:\\$Mft";
        let found = record::<Reader>(new.as_bytes());
        assert_eq!(
            (found.offset, found.length, found.op),
            (0x0001_8f0b_8000, 4096, Op::Write),
            "with a processor"
        );
        assert_eq!(record::<Reader>(b"DiskFlush, 9, a ( 1), 1, 0x0, 3, 2, 0x0, 3, Normal").op, Op::Flush);
    }

    #[test]
    fn other_events_are_skipped() {
        for line in [
            "BeginHeader",
            "DiskRead, TimeStamp, Process Name ( PID), ThreadID",
            "DiskReadInit, 1, a ( 1), 1, 0x0",
            "CSwitch, 1",
        ] {
            assert!(Reader.parse(line.as_bytes()).unwrap().is_none(), "{line}");
        }
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert!(
            flaw::<Reader>(b"DiskRead, x, a, 1, 0x0, 0x0, 0x200, 1, 0").starts_with("TimeStamp: found `x`")
        );
        assert!(
            flaw::<Reader>(b"DiskRead, 1, a, 1, 0x0, 12, 0x200, 1, 0").starts_with("ByteOffset: found `12`")
        );
        assert!(flaw::<Reader>(b"DiskRead, 1, a, 1, 5, 12").starts_with("IrpPtr: missing"));
        assert_eq!(
            flaw::<Reader>(b"DiskRead, 1, a, 1, 0x0, 0x0, 0x0, 1, 0"),
            "IOSize: found 0; accepted: at least 1"
        );
        assert!(
            flaw::<Reader>(b"DiskRead, 1, a, 1, 0x0, 0x0, 0x200, 99999999999, 0").contains("less than a day")
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = Vec::new();
        let sent = Request {
            arrival_ns: 7000,
            offset: 4097,
            length: 513,
            device: 3,
            op: Op::Write,
            fua: false,
            handle: 0,
        };
        Reader::write(&sent, &mut out).unwrap();
        assert_eq!(record::<Reader>(out.trim_ascii()), Request { arrival_ns: 7000 + BEFORE_NS, ..sent });
        flaws_of::<Reader>(&["trim"]);
    }
}
