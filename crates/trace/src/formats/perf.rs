//! The block events of Linux as `perf script`, `trace-cmd report` and `/sys/kernel/tracing/trace` print them.
//!
//! ## What it looks like
//! A text file; one line per event: command and process, processor, time, event, device (major,minor), kind, bytes,
//! command bytes in brackets, first sector, `+`, number of sectors, and more.
//! ```text
//! dd 1234 [001] 12345.678901: block:block_rq_issue: 8,0 WS 4096 () 1444645666 + 8 [dd]
//! ```
//! The requests are the events `block_rq_issue`, which `perf record -e block:block_rq_issue` records: requests as they
//! are issued to the device. All other events are skipped. The kind has the letters of the block layer, as in
//! `blkparse`. Each pair of major and minor number is a device.
//!
//! ## Units
//! Time in seconds with decimals; sectors of 512 bytes.
//!
//! ## Source
//! Linux, include/trace/events/block.h; the manual page perf-script(1).

use super::rwbs::Kind;
use super::{
    Context, Device, Durability, Layout, Record, SCORED, SECTOR, Score, extent, sample_lines, score,
    sectors_of,
};
use crate::Request;
use crate::line::{BLANKS, Flaw, Line};
use memchr::memmem::Finder;
use std::cell::Cell;

/// Reads and writes the format.
pub(crate) struct Reader {
    event: Finder<'static>,
    /// Other events of the block layer.
    others: Cell<u64>,
}

const EVENT: &str = "block_rq_issue: ";
const BLOCK: &[u8] = b"block_";

impl Default for Reader {
    fn default() -> Self {
        Reader { event: Finder::new(EVENT), others: Cell::new(0) }
    }
}

impl Layout for Reader {
    const DURABILITY: Durability = Durability { flushes: true, fua: true };

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("perf", "sectors of 512 bytes").map(|()| Reader::default())
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let Some(at) = self.event.find(record) else {
            self.others.set(self.others.get() + u64::from(memchr::memmem::find(record, BLOCK).is_some()));
            return Ok(None);
        };
        let time_ns = time_before(record[..at].trim_ascii_end())?;
        let mut line = Line::<BLANKS>::new(&record[at + EVENT.len()..]);
        let device = Device::Name(line.word("device", "major and minor number, such as 8,0")?);
        let letters = line.word("kind", "letters such as R, WS or D")?;
        let kind = Kind::of_word(letters);
        // Commands that move no data have other letters.
        let Some(kind) = kind else { return Ok(None) };
        line.integer("bytes")?;
        // The bytes of a command in brackets.
        while !line.word("command", "brackets such as ()")?.ends_with(b")") {}
        let sector = line.integer("sector")?;
        match line.word("`+`", "`+` between sector and sectors")? {
            b"+" => {}
            other => return Err(Flaw::found("`+`", other, "`+` between sector and sectors")),
        }
        let sectors = line.integer("sectors")?;
        let Some(op) = kind.op.filter(|_| sectors > 0) else {
            return Ok(kind.preflush.then(|| Record::flush(time_ns, device)));
        };
        let (offset, length) = extent(sector, sectors, SECTOR, ["sector", "sectors"])?;
        let record = Record::new(time_ns, device, (offset, length), op);
        Ok(Some(Record { fua: kind.fua, preflush: kind.preflush, ..record }))
    }

    /// Every such text may have other events and a head.
    fn is_expected(&self, _record: &[u8]) -> bool {
        true
    }

    fn instead_of_requests(&self) -> Option<String> {
        let others = self.others.get();
        (others > 0).then(|| {
            format!("no block_rq_issue events, {others} other block events; perf record -e block:block_rq_issue records them")
        })
    }

    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let (sector, sectors) = sectors_of(request)?;
        let (s, ns) = (request.arrival_ns / 1_000_000_000, request.arrival_ns % 1_000_000_000);
        let (kind, minor, bytes) =
            (Kind::letters(request.op, request.fua), u64::from(request.device) * 16, request.length);
        let line = format!(
            "flashkeep 0 [000] {s}.{ns:09}: block:block_rq_issue: 8,{minor} {kind} {bytes} () {sector} + {sectors} \
             [flashkeep]\n"
        );
        out.extend_from_slice(line.as_bytes());
        Ok(())
    }

    /// Only events identify the format.
    fn score(sample: &[u8]) -> Score {
        let reader = Reader::default();
        score(sample_lines(sample).take(SCORED), |line| {
            let has = |text: &[u8]| memchr::memmem::find(line, text).is_some();
            (has(b": block_") || has(b": block:block_") || has(b":  block:block_"))
                && reader.parse(line).is_ok()
        })
    }
}

/// The time in front of the event: the last word that ends in a colon and begins with a digit.
#[inline]
fn time_before(head: &[u8]) -> Result<u64, Box<Flaw>> {
    let head = head.strip_suffix(b"block:").unwrap_or(head).trim_ascii_end();
    let start = head.iter().rposition(|byte| matches!(byte, b' ' | b'\t')).map_or(0, |at| at + 1);
    let word = &head[start..];
    Line::<BLANKS>::new(word.strip_suffix(b":").unwrap_or(word)).decimal::<9>("time")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, record};
    use super::*;
    use crate::Op;

    #[test]
    fn an_event_is_a_request() {
        let expected = Request {
            arrival_ns: 12_345_678_901_000,
            offset: 1_444_645_666 * 512,
            length: 4096,
            device: 0,
            op: Op::Write,
            fua: false,
            handle: 0,
        };
        for line in [
            "dd 1234 [001] 12345.678901: block:block_rq_issue: 8,0 WS 4096 () 1444645666 + 8 [dd]",
            "Web Content  1234 [001] 12345.678901:  block:block_rq_issue: 8,0 W 4096 () 1444645666 + 8 none,0,0 [dd]",
            "dd-1234  [001] d..2. 12345.678901: block_rq_issue: 8,0 W 4096 (2a 00 0) 1444645666 + 8 [dd]",
        ] {
            assert_eq!(record::<Reader>(line.as_bytes()), expected, "{line}");
        }
        let flush = "k 1 [000] 1.5: block:block_rq_issue: 8,0 FF 0 () 0 + 0 [k]";
        assert_eq!(record::<Reader>(flush.as_bytes()).op, Op::Flush);
    }

    #[test]
    fn other_events_are_counted() {
        let reader = Reader::default();
        let line = b"dd 1 [001] 1.5: block:block_rq_complete: 8,0 W () 8 + 8 [0]";
        assert!(reader.parse(line).unwrap().is_none());
        assert!(reader.instead_of_requests().unwrap().contains("no block_rq_issue events, 1 other"));
    }

    #[test]
    fn bad_lines_name_the_field() {
        let of = |rest: &str| {
            flaw::<Reader>(format!("dd 1 [001] 1.5: block:block_rq_issue: 8,0 {rest}").as_bytes())
        };
        assert!(of("W x () 8 + 8 [0]").starts_with("bytes: found `x`"));
        assert!(of("W 512 () 8 - 8 [0]").starts_with("`+`: found `-`"));
        assert!(of("W 512 8 + 8").starts_with("command: missing"));
        assert!(
            flaw::<Reader>(b"dd x: block:block_rq_issue: 8,0 W 512 () 8 + 1").starts_with("time: found `x`")
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = Vec::new();
        let sent = Request {
            arrival_ns: 7,
            offset: 4096,
            length: 512,
            device: 3,
            op: Op::Write,
            fua: true,
            handle: 0,
        };
        Reader::write(&sent, &mut out).unwrap();
        assert_eq!(record::<Reader>(out.trim_ascii()), Request { device: 0, ..sent });
        flaws_of::<Reader>(&["offset 1"]);
    }
}
