//! The text output of blkparse for a recording of blktrace, with its default columns.
//!
//! ## What it looks like
//! A text file; one line per event, columns separated by blanks: device (major,minor), processor, sequence
//! number, time, process, action, kind of request, and for most actions first sector, `+`, number of sectors,
//! command.
//! ```text
//!   8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]
//! ```
//! The requests are the events whose action is `Q` (queued), because these are the host's requests; later
//! events (merged, sorted, issued, completed) repeat them. In the kind, `D` is a trim, else `R` a read and
//! `W` a write. An `F` in front of that letter is a flush of the device's cache, alone (`FN`, `FWS` without
//! sectors) or before the request's own data (`FWS 8 + 8`: a flush, then a write at the same time). An `F`
//! behind it (`WFS`) is FUA: the write must be durable before it is acknowledged. All other events, and the
//! summary at the end, are skipped. `--action D` or `C` takes the issued or completed events instead, for recordings that
//! have no others. Each pair of major and minor number is a device; each device of a
//! stack queues the request again, so record only the relevant one.
//!
//! ## Units
//! Time in seconds with nine decimals; sectors of 512 bytes for every device.
//!
//! ## Source
//! The manual page blkparse(1), default output; Brunelle: blktrace user guide, 2007.

use super::rwbs::Kind;
use super::{
    Action, Context, Device, Durability, Layout, Record, SCORED, SECTOR, Score, extent, sample_lines, score,
    sectors_of,
};
use crate::Request;
use crate::line::{BLANKS, Flaw, Line};
use std::cell::Cell;

/// Reads and writes the format.
pub(crate) struct Reader {
    action: Action,
    /// Events of each action that a request could be, in the order of [`COUNTED`].
    events: [Cell<u64>; 3],
}

const COUNTED: [Action; 3] = [Action::Queued, Action::Issued, Action::Completed];

impl Layout for Reader {
    const DURABILITY: Durability = Durability { flushes: true, fua: true };

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("blkparse", "sectors of 512 bytes")?;
        Ok(Reader { action: context.action.unwrap_or(Action::Queued), events: Default::default() })
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        if !record.first().is_some_and(u8::is_ascii_digit) {
            return summary(record);
        }
        let mut line = Line::<BLANKS>::new(record);
        let device = line.word("device", DEVICE)?;
        if !is_device(device) {
            return Err(Flaw::found("device", device, DEVICE));
        }
        line.integer("CPU")?;
        line.integer("sequence")?;
        let time_ns = line.decimal::<9>("time")?;
        line.integer("process")?;
        let action = line.word("action", "a letter such as Q")?;
        if action != [self.action.letter()] {
            self.count(action);
            return Ok(None);
        }
        let kind = Kind::of(line.word("kind", "letters such as R, WS or D")?);
        let has_sectors = record.get(line.position()).is_some_and(u8::is_ascii_digit);
        let flush = kind.preflush.then(|| Record::flush(time_ns, Device::Name(device)));
        let Some(op) = kind.op.filter(|_| has_sectors) else {
            return Ok(flush);
        };
        let sector = line.integer("sector")?;
        match line.word("`+`", "`+` between sector and sectors")? {
            b"+" => {}
            other => return Err(Flaw::found("`+`", other, "`+` between sector and sectors")),
        }
        let sectors = line.integer("sectors")?;
        if sectors == 0 && kind.preflush {
            return Ok(flush);
        }
        let (offset, length) = extent(sector, sectors, SECTOR, ["sector", "sectors"])?;
        let record = Record::new(time_ns, Device::Name(device), (offset, length), op);
        Ok(Some(Record { fua: kind.fua, preflush: kind.preflush, ..record }))
    }

    /// Every such text has other events and a summary.
    fn is_expected(&self, _record: &[u8]) -> bool {
        true
    }

    fn file_note(&self, _path: &str) -> Option<String> {
        action_note(self.action)
    }

    fn instead_of_requests(&self) -> Option<String> {
        let counts = self.events.each_ref().map(Cell::get);
        other_events(self.action, counts)
    }

    /// Events are written for processor 0, process 0 and sequence number 1: flashkeep does not record these.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let (sector, sectors) = sectors_of(request)?;
        let kind = Kind::letters(request.op, request.fua);
        let place = if sectors > 0 { format!("{sector} + {sectors} ") } else { String::new() };
        // A whole disk has every sixteenth minor number.
        let minor = u64::from(request.device) * 16;
        let (s, ns) = (request.arrival_ns / 1_000_000_000, request.arrival_ns % 1_000_000_000);
        let line = format!("  8,{minor:<3} 0        1 {s:5}.{ns:09}     0  Q {kind:>3} {place}[flashkeep]\n");
        out.extend_from_slice(line.as_bytes());
        Ok(())
    }

    /// Only events identify the format: the summary looks like any text.
    fn score(sample: &[u8]) -> Score {
        let reader = Reader { action: Action::Queued, events: Default::default() };
        score(sample_lines(sample).take(SCORED), |line| {
            line.first().is_some_and(u8::is_ascii_digit) && reader.parse(line).is_ok()
        })
    }
}

impl Reader {
    #[inline]
    fn count(&self, action: &[u8]) {
        if let Some(at) = COUNTED.iter().position(|known| action == [known.letter()]) {
            self.events[at].set(self.events[at].get() + 1);
        }
    }
}

/// The note about events that are not the host's requests.
pub(super) fn action_note(action: Action) -> Option<String> {
    match action {
        Action::Queued => None,
        Action::Issued => Some(
            "requests are those that were issued to the device (--action D), after merging and splitting"
                .into(),
        ),
        Action::Completed => Some("requests arrive when they were completed (--action C)".into()),
    }
}

/// What a recording has if it has no event of `action`: the counts of queued, issued and completed requests.
pub(super) fn other_events(action: Action, counts: [u64; 3]) -> Option<String> {
    let others: Vec<(char, u64)> = COUNTED
        .iter()
        .zip(counts)
        .filter(|(other, count)| **other != action && *count > 0)
        .map(|(other, count)| (other.letter() as char, count))
        .collect();
    let (best, _) = *others.first()?;
    let found: Vec<String> =
        others.iter().map(|(letter, count)| format!("{count} {letter} events")).collect();
    let wanted = action.letter() as char;
    Some(format!("no {wanted} events; {}: --action {best} takes these", found.join(", ")))
}

const DEVICE: &str = "major and minor number, such as 8,16";

/// Whether it is two numbers and a comma.
#[inline]
fn is_device(word: &[u8]) -> bool {
    let mut commas = 0;
    let plain = word.iter().all(|&byte| {
        commas += usize::from(byte == b',');
        byte.is_ascii_digit() || byte == b','
    });
    plain && commas == 1 && word.last() != Some(&b',')
}

/// A line that is not an event: blkparse's text before and after the events, or an invalid line.
#[cold]
fn summary<'a>(record: &[u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
    let known = record.contains(&b':')
        || record.starts_with(b"=")
        || record.starts_with(b"Input file")
        || record.ends_with(b")");
    if known { Ok(None) } else { Err(Flaw::found("device", record, DEVICE)) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, record};
    use super::*;
    use crate::Op;

    fn is_passed_over(line: &[u8]) -> bool {
        reader().parse(line).unwrap().is_none()
    }

    fn reader() -> Reader {
        Reader { action: Action::Queued, events: Default::default() }
    }

    #[test]
    fn a_queued_event_is_a_request() {
        let line = b"8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]";
        let expected = Request {
            arrival_ns: 1850,
            offset: 1_444_645_666 * 512,
            length: 131_072,
            device: 0,
            op: Op::Read,
            fua: false,
            handle: 0,
        };
        assert_eq!(record::<Reader>(line), expected);
        assert!(matches!(reader().parse(line).unwrap().unwrap().device, Device::Name(b"8,16")));
        for (kind, op) in [("WBS", Op::Write), ("RA", Op::Read), ("FWFS", Op::Write), ("DS", Op::Trim)] {
            let line = format!("259,0 0 1 12.5 1 Q {kind} 8 + 8 [jbd2/sda1-8]");
            assert_eq!(record::<Reader>(line.as_bytes()).op, op, "{kind}");
        }
    }

    #[test]
    fn other_events_and_the_summary_are_passed_over() {
        for line in [
            "8,16   2    41138     9.378427223 16766  A   W 3428327338 + 8 <- (8,17) 3428327304",
            "8,16   5        0     0.000012990     0  m   N cfq18615S / insert_request",
            "8,16   0        6     0.631916111     0 UT   N [swapper] 1",
            "8,16   0        8     0.631916111     0  Q   N 8 + 8 [swapper]",
            "CPU0 (8,16):",
            "Reads Queued:          12,       48KiB\t Writes Queued:           3,       12KiB",
            "Throughput (R/W): 1KiB/s / 2KiB/s",
            "Skips: 0 forward (0 -   0.0%)",
            "Input file sda.blktrace.0 added",
            "java (18615)",
        ] {
            assert!(is_passed_over(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn other_actions_are_counted_and_taken_if_wanted() {
        let line = b"8,0 0 1 0.5 1 D R 8 + 8 [x]";
        let reader = reader();
        assert!(reader.parse(line).unwrap().is_none());
        assert_eq!(reader.instead_of_requests().unwrap(), "no Q events; 1 D events: --action D takes these");
        let issued = Reader::new(&Context { action: Some(Action::Issued), ..Context::default() }).unwrap();
        assert_eq!(issued.parse(line).unwrap().unwrap().length, 4096);
        assert!(issued.file_note("t").unwrap().contains("--action D"));
    }

    #[test]
    fn flushes_and_fua_are_kept() {
        let of = |rest: &str| {
            let line = format!("8,16 0 7 0.5 0 Q {rest} [jbd2/sda1-8]");
            let record = reader().parse(line.as_bytes()).unwrap().unwrap();
            (record.op, record.length, record.preflush, record.fua)
        };
        for kind in ["FN", "FWS", "F", "FF", "FS", "FWS 0 + 0"] {
            assert_eq!(of(kind), (Op::Flush, 0, false, false), "{kind}");
        }
        assert_eq!(of("WFS 8 + 8"), (Op::Write, 4096, false, true));
        assert_eq!(of("FWFSM 8 + 8"), (Op::Write, 4096, true, true));
        assert_eq!(of("FWS 8 + 8"), (Op::Write, 4096, true, false));
        assert_eq!(of("R 8 + 8"), (Op::Read, 4096, false, false));
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert!(flaw::<Reader>(b"rubbish").starts_with("device: found `rubbish`; accepted: major and minor"));
        assert!(flaw::<Reader>(b"8 5 2 0.1 1 Q R 8 + 8").starts_with("device: found `8`"));
        assert!(flaw::<Reader>(b"8,0 x 2 0.1 1 Q R 8 + 8").starts_with("CPU: found `x`"));
        assert!(flaw::<Reader>(b"8,0 0 1 -0.1 1 Q R 8 + 8").starts_with("time: found `-0.1`"));
        assert!(flaw::<Reader>(b"8,0 0 1 0.1 1 Q R 8 / 8").starts_with("`+`: found `/`"));
        assert_eq!(flaw::<Reader>(b"8,0 0 1 0.1 1 Q R 8 + 0"), "sectors: found 0; accepted: at least 1");
        assert!(Reader::new(&Context { sector_bytes: Some(512), ..Context::default() }).is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let one = Request {
            arrival_ns: 1_000_000_001,
            offset: 4096,
            length: 512,
            device: 3,
            op: Op::Write,
            fua: true,
            handle: 0,
        };
        let plain = [Op::Read, Op::Write, Op::Trim].map(|op| Request { op, fua: false, ..one });
        for request in plain.into_iter().chain([one, Request::flush(one.arrival_ns, 3)]) {
            let mut out = Vec::new();
            Reader::write(&request, &mut out).unwrap();
            let line = out.trim_ascii();
            assert_eq!(record::<Reader>(line), Request { device: 0, ..request });
            assert!(line.starts_with(b"8,48 "), "a whole disk's number");
        }
        flaws_of::<Reader>(&["offset 1"]);
    }
}
