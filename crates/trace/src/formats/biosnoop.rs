//! The output of `biosnoop` (BCC, bpftrace's port in C).
//!
//! ## What it looks like
//! A text file; the names of the columns, then one line per request that has ended, columns separated by blanks: time,
//! command, process, disk, kind, first sector, bytes, with `-Q` the time in the queue, and latency.
//! ```text
//! TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)
//! 0.000004    supervise      1950   xvda1   W 13092560   4096      0.74
//! ```
//! The kind is `R` or `W`, or the letters of the block layer (`WS`, `D`, `FF`; as in `blkparse`). A line tells when the
//! request ended: it arrived its latency, and with `-Q` its time in the queue, earlier. Each disk is a device. Lines are
//! sorted by time of arrival: up to 65,536 lines of disorder are undone.
//!
//! ## Units
//! Time in seconds, latencies in milliseconds, sectors of 512 bytes, lengths in bytes.
//!
//! ## Source
//! Gregg: BPF performance tools, 2019, chapter 9; the manual page biosnoop(8).

use super::rwbs::Kind;
use super::{
    BEFORE_NS, Context, Device, Durability, Layout, Record, SCORED, SECTOR, Score, beyond, extent_of_bytes,
    sample_lines, score, sectors_of,
};
use crate::Request;
use crate::line::{BLANKS, Flaw, Line};

/// Reads and writes the format.
pub(crate) struct Reader;

const KINDS: &str = "R, W, or the letters of the block layer such as WS or D";

impl Layout for Reader {
    const UNORDERED: bool = true;
    const DURABILITY: Durability = Durability { flushes: true, fua: true };
    const HEADER: &'static str = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n";

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("biosnoop", "sectors of 512 bytes, and bytes").map(|()| Reader)
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        if record.starts_with(b"TIME(s)") {
            return Ok(None);
        }
        let mut line = Line::<BLANKS>::new(record);
        let end_ns = line.decimal::<9>("TIME(s)")?;
        // A command may have blanks; the numbers at the end tell where the kind is.
        let (kind_at, kind) = kind_of(record, line.position())?;
        let device = last_word(&record[line.position()..kind_at]);
        if device.is_empty() {
            return Err(Flaw::found("DISK", b"", "a name"));
        }
        let mut numbers = Line::<BLANKS>::new(&record[kind_at + kind.len()..]);
        let sector = numbers.integer("SECTOR")?;
        let bytes = numbers.integer("BYTES")?;
        let mut later_ns = numbers.decimal::<6>("LAT(ms)")?;
        if numbers.end("").is_err() {
            later_ns = later_ns.saturating_add(numbers.decimal::<6>("LAT(ms)")?);
            numbers.end("time, command, process, disk, kind, sector, bytes, queue time, latency")?;
        }
        let time_ns = end_ns.checked_add(BEFORE_NS).and_then(|end| end.checked_sub(later_ns));
        let time_ns = time_ns.ok_or_else(|| Flaw::new("LAT(ms)", "a day or more; accepted: milliseconds"))?;
        let meaning = Kind::of_word(kind).ok_or_else(|| Flaw::found("T", kind, KINDS))?;
        let device = Device::Name(device);
        let Some(op) = meaning.op.filter(|_| bytes > 0) else {
            return if meaning.preflush {
                Ok(Some(Record::flush(time_ns, device)))
            } else {
                Err(Flaw::new("BYTES", "found 0; accepted: at least 1"))
            };
        };
        let offset = sector.checked_mul(SECTOR).ok_or_else(|| beyond("SECTOR", sector, "sectors"))?;
        let (offset, length) = extent_of_bytes(offset, bytes, ["SECTOR", "BYTES"])?;
        let record = Record::new(time_ns, device, (offset, length), op);
        Ok(Some(Record { fua: meaning.fua, preflush: meaning.preflush, ..record }))
    }

    /// The names of the columns, wherever they come again.
    fn is_expected(&self, _record: &[u8]) -> bool {
        true
    }

    /// A latency of 0, so that the time is that of the arrival.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let (sector, _) = sectors_of(request)?;
        let (s, ns) = (request.arrival_ns / 1_000_000_000, request.arrival_ns % 1_000_000_000);
        let (kind, length) = (Kind::letters(request.op, request.fua), request.length);
        let line =
            format!("{s}.{ns:09} flashkeep 0 disk{} {kind} {sector:<10} {length:<6} 0.00\n", request.device);
        out.extend_from_slice(line.as_bytes());
        Ok(())
    }

    fn score(sample: &[u8]) -> Score {
        score(sample_lines(sample).take(SCORED), |line| Reader.parse(line).is_ok())
    }
}

/// Where the kind begins, and its letters: before the two to four numbers at the end of the line.
#[inline]
fn kind_of(record: &[u8], from: usize) -> Result<(usize, &[u8]), Box<Flaw>> {
    let mut end = record.len();
    for _ in 0..5 {
        let word = last_word(&record[from..end]);
        let start = end - (record[from..end].len() - record[from..end].trim_ascii_end().len()) - word.len();
        match word.first() {
            None => break,
            Some(first) if first.is_ascii_uppercase() => return Ok((start, word)),
            Some(_) => end = start,
        }
    }
    Err(Flaw::new("T", format!("missing before sector, bytes and latency; accepted: {KINDS}")))
}

#[inline]
fn last_word(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.trim_ascii_end();
    let start = bytes.iter().rposition(|byte| matches!(byte, b' ' | b'\t')).map_or(0, |at| at + 1);
    &bytes[start..]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of};
    use super::*;
    use crate::Op;

    fn request(line: &str) -> (u64, u64, u32, Op, bool) {
        let record = Reader.parse(line.as_bytes()).unwrap().unwrap();
        assert!(matches!(record.device, Device::Name(b"xvda1")), "{line}");
        (record.time_ns - BEFORE_NS, record.offset, record.length, record.op, record.fua)
    }

    #[test]
    fn a_line_is_a_request_that_arrived_earlier() {
        let write = request("1.000004    supervise      1950   xvda1   W 13092560   4096      0.74");
        assert_eq!(write, (1_000_004_000 - 740_000, 13_092_560 * 512, 4096, Op::Write, false));
        let queued = request("1.000004 Web Content 1950 xvda1 RA 16 4096 0.26 0.74");
        assert_eq!(queued, (1_000_004_000 - 1_000_000, 8192, 4096, Op::Read, false));
        assert!(request("1.0 a 1 xvda1 WFS 16 4096 0").4);
        assert_eq!(request("1.0 a 1 xvda1 FF 0 0 0.5").3, Op::Flush);
        assert!(Reader.parse(Reader::HEADER.trim_ascii().as_bytes()).unwrap().is_none());
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert!(flaw::<Reader>(b"1.0 a 1 xvda1 X 16 4096 0.5").starts_with("T: found `X`"));
        assert!(flaw::<Reader>(b"1.0 a 1 xvda1 16 4096 0.5").starts_with("T: missing"));
        assert!(flaw::<Reader>(b"1.0 a 1 xvda1 R 16 4096").starts_with("LAT(ms): missing"));
        assert!(flaw::<Reader>(b"1.0 a 1 xvda1 R 16 0 0.5").starts_with("BYTES: found 0"));
        assert!(flaw::<Reader>(b"x a 1 xvda1 R 16 0 0.5").starts_with("TIME(s): found `x`"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for op in [Op::Read, Op::Write, Op::Trim] {
            let mut out = Vec::new();
            let fua = op == Op::Write;
            let sent = Request {
                arrival_ns: 1_000_000_007,
                offset: 4096,
                length: 512,
                device: 3,
                op,
                fua,
                handle: 0,
            };
            Reader::write(&sent, &mut out).unwrap();
            let read = Reader.parse(out.trim_ascii()).unwrap().unwrap();
            assert_eq!((read.time_ns - BEFORE_NS, read.offset, read.length), (sent.arrival_ns, 4096, 512));
            assert_eq!((read.op, read.fua), (op, fua));
        }
        flaws_of::<Reader>(&["offset 1"]);
    }
}
