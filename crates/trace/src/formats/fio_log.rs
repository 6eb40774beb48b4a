//! The latency, IOPS and bandwidth logs of fio (`write_lat_log`, `write_iops_log`, `write_bw_log`) with offsets.
//!
//! ## What it looks like
//! A text file; one line per request that has ended, fields separated by commas: time, latency or another
//! value, direction (0 reads, 1 writes, 2 trims), size, offset, priority, and with `log_issue_time` the time
//! of issue.
//! ```text
//! 12, 81920, 1, 4096, 1048576, 0
//! 12, 81920, 1, 4096, 1048576, 0, 12309877
//! ```
//! The offset is there only with `log_offset=1`: a log without it, or one of averages (`log_avg_msec`), cannot
//! be replayed. A log does not name its file: device 0. It has no syncs. Better than such a log is an iolog
//! (`write_iolog=FILE`, format `fio`), which has the times of issue in microseconds, all files, and the syncs.
//!
//! Lines are sorted by time. flashkeep writes all seven fields.
//!
//! ## Units
//! Time of issue in nanoseconds. Without it the request arrives when it ended, which fio gives in whole
//! milliseconds; a note says so. Size and offset in bytes.
//!
//! ## Source
//! Axboe: fio, its manual on log file formats, and `flush_samples` of its iolog.c.

use super::{Context, Device, Layout, Record, SCORED, Score, extent_of_bytes, sample_lines, score};
use crate::line::{COMMA, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader {
    has_issue_time: bool,
}

/// Fields of a line, counted from 0.
const DIRECTION: usize = 2;
const SIZE: usize = 3;
const OFFSET: usize = 4;

const MS_NS: u64 = 1_000_000;

/// The advice about a log that cannot be replayed.
const INSTRUCTION: &str = "record it again with --log_offset=1 (and --log_issue_time=1, without --log_avg_msec), or \
                           better with --write_iolog=FILE, which has issue times and syncs";

impl Layout for Reader {
    const UNORDERED: bool = true;

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("fio-log", "bytes")?;
        let lines: Vec<Vec<&[u8]>> = sample_lines(context.sample).take(SCORED).map(fields).collect();
        let Some(first) = lines.first() else { return Err("no line of a log of fio".into()) };
        if lines.iter().all(|line| is_average(line)) {
            return Err(format!(
                "a log of averages (log_avg_msec): its lines are periods of time, not requests, so it cannot be \
                 replayed; {INSTRUCTION}"
            ));
        }
        let priorities =
            |at: usize| lines.iter().all(|line| line.get(at).is_some_and(|field| is_priority(field)));
        let has_offset = match first.len() {
            ..=OFFSET => false,
            // Old versions have no priority; later ones have it without an offset, too.
            5 => !priorities(OFFSET),
            // The last one is the priority, or a time of issue after it.
            6 => priorities(5) || !priorities(OFFSET),
            _ => true,
        };
        if !has_offset {
            return Err(format!("a log of fio without offsets, which cannot be replayed; {INSTRUCTION}"));
        }
        Ok(Reader { has_issue_time: first.len() > 6 })
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let mut line = Line::<COMMA>::new(record);
        let ms = line.integer("time")?;
        line.skip();
        let op = match line.word("direction", DIRECTIONS)? {
            b"0" => Op::Read,
            b"1" => Op::Write,
            b"2" => Op::Trim,
            other => return Err(Flaw::found("direction", other, DIRECTIONS)),
        };
        let bytes = line.integer("size")?;
        let offset = line.integer("offset")?;
        if bytes == 0 {
            return Err(Flaw::new("size", format!("found 0, as in a log of averages; {INSTRUCTION}")));
        }
        let time_ns = if self.has_issue_time {
            line.skip();
            line.integer("issue time")?
        } else {
            ms.checked_mul(MS_NS).ok_or_else(|| {
                Flaw::new("time", format!("found {ms}; accepted: milliseconds, up to 2^64 nanoseconds"))
            })?
        };
        let (offset, length) = extent_of_bytes(offset, bytes, ["offset", "size"])?;
        Ok(Some(Record::new(time_ns, Device::Number(0), (offset, length), op)))
    }

    fn clock_note(&self) -> Option<&'static str> {
        (!self.has_issue_time).then_some(
            "the log has no times of issue: requests arrive when they ended, in whole milliseconds; fio's \
             --log_issue_time=1, or better --write_iolog, records when they were issued",
        )
    }

    /// With the time of issue; latencies are 0.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        if request.device != 0 {
            return Err("this format has one device, and the request is for another".into());
        }
        let direction = match request.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
            Op::Flush => return Err("this format has no flushes".into()),
        };
        let Request { arrival_ns, offset, length, .. } = request;
        let ms = arrival_ns / MS_NS;
        out.extend_from_slice(
            format!("{ms}, 0, {direction}, {length}, {offset}, 0, {arrival_ns}\n").as_bytes(),
        );
        Ok(())
    }

    /// Sizes below a sector are those of other formats' columns.
    fn score(sample: &[u8]) -> Score {
        let Ok(layout) = Reader::new(&Context { sample, ..Context::default() }) else {
            return Score::default();
        };
        score(sample_lines(sample).take(SCORED), |line| {
            has_shape(line)
                && layout.parse(line).is_ok_and(|record| record.is_some_and(|record| record.length >= 512))
        })
    }
}

const DIRECTIONS: &str = "0 (read), 1 (write) or 2 (trim)";

fn fields(line: &[u8]) -> Vec<&[u8]> {
    line.split(|&byte| byte == COMMA).map(<[u8]>::trim_ascii).collect()
}

/// Whether a field is a priority: 0, 1, or class and level as 0x and four digits.
fn is_priority(field: &[u8]) -> bool {
    matches!(field, b"0" | b"1") || field.starts_with(b"0x")
}

/// Whether a line is one of a log of fio, with or without an offset. fio writes a blank after each comma, which tables of
/// other programs with similar columns seldom have.
pub(super) fn has_shape(line: &[u8]) -> bool {
    let has_blanks = line.split(|&byte| byte == COMMA).skip(1).all(|field| field.starts_with(b" "));
    let fields = fields(line);
    if has_blanks && is_average(&fields) {
        return true;
    }
    if !has_blanks || !(4..=7).contains(&fields.len()) {
        return false;
    }
    let number = |at: usize| std::str::from_utf8(fields[at]).ok().and_then(|field| field.parse::<u64>().ok());
    let numbers = (0..fields.len())
        .all(|at| number(at).is_some() || (at == 1 || at >= OFFSET) && is_number_or_priority(fields[at]));
    numbers
        && number(DIRECTION).is_some_and(|direction| direction <= 2)
        && number(SIZE).is_some_and(|bytes| bytes == 0 || bytes >= 512)
}

/// Whether a line is an average: a direction and then a size of 0, after the value, or after mean and maximum
/// (`log_window_value=both`).
fn is_average(fields: &[&[u8]]) -> bool {
    let is_whole = |field: &[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let value = |field: &[u8]| is_whole(field) || is_number_or_priority(field);
    let follows = |at: usize| matches!(fields.get(at..at + 2), Some([b"0" | b"1" | b"2", b"0"]));
    (4..=8).contains(&fields.len())
        && fields.iter().all(|field| value(field))
        && (follows(DIRECTION) || fields.len() > 5 && follows(DIRECTION + 1))
}

/// Whether all lines of a sample are requests of such a log, apart from the blanks.
pub(super) fn reads(sample: &[u8]) -> bool {
    Reader::new(&Context { sample, ..Context::default() }).is_ok_and(|reader| {
        let mut lines =
            sample_lines(sample).filter(|line| line.first().is_some_and(u8::is_ascii_digit)).peekable();
        lines.peek().is_some() && lines.take(SCORED).all(|line| reader.parse(line).is_ok())
    })
}

/// Values may be negative.
fn is_number_or_priority(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").or_else(|| field.strip_prefix(b"0x")).unwrap_or_default();
    !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    fn reader(sample: &str) -> Result<Reader, String> {
        Reader::new(&Context { sample: sample.as_bytes(), ..Context::default() })
    }

    fn request(text: &str) -> (u64, u64, u32, Op) {
        let record = reader(text).unwrap().parse(text.as_bytes()).unwrap().unwrap();
        (record.time_ns, record.offset, record.length, record.op)
    }

    fn flaw(text: &str) -> String {
        let flaw = reader(text).unwrap().parse(text.as_bytes()).err().expect("a bad record");
        format!("{}: {}", flaw.field.unwrap_or_default(), flaw.message)
    }

    #[test]
    fn a_line_is_a_request() {
        assert_eq!(request("12, 81920, 1, 4096, 1048576, 0"), (12 * MS_NS, 1_048_576, 4096, Op::Write));
        assert_eq!(request("12, 81920, 0, 4096, 8192, 0x2004"), (12 * MS_NS, 8192, 4096, Op::Read));
        assert_eq!(request("12, -1, 2, 4096, 8192"), (12 * MS_NS, 8192, 4096, Op::Trim), "old versions");
        assert_eq!(request("12, 81920, 1, 4096, 0, 0, 12309877"), (12_309_877, 0, 4096, Op::Write));
        assert!(
            reader("12, 9, 1, 4096, 512, 0").unwrap().clock_note().unwrap().contains("--log_issue_time=1")
        );
        assert_eq!(reader("12, 9, 1, 4096, 512, 0, 5").unwrap().clock_note(), None);
    }

    #[test]
    fn logs_without_offsets_get_an_instruction() {
        for text in [
            "12, 81920, 1, 4096\n",
            "12, 81920, 1, 4096, 0\n",
            "12, 9, 1, 4096, 0x4001\n",
            "12, 9, 1, 4096, 0, 12309877\n",
        ] {
            assert_eq!(Format::detect("t", text.as_bytes()), Ok(Format::FioLog), "{text}");
            let message = reader(text).err().unwrap();
            assert!(message.contains("without offsets") && message.contains("--log_offset=1"), "{message}");
            assert!(message.contains("--write_iolog"), "{message}");
        }
        let averages = "500, 9000, 0, 0, 0, 0\n1000, 9000, 1, 0, 0, 0\n";
        assert_eq!(Format::detect("t", averages.as_bytes()), Ok(Format::FioLog));
        assert!(
            reader(averages)
                .err()
                .unwrap()
                .contains("a log of averages (log_avg_msec): its lines are periods")
        );
    }

    #[test]
    fn the_content_tells_it_from_other_formats() {
        let found = |text: &str| Format::detect("t", text.as_bytes()).unwrap();
        assert_eq!(found("0, 81920, 1, 4096, 1048576, 0\n1, 99, 0, 8192, 0, 0\n"), Format::FioLog);
        assert_eq!(found("0, 81920, 1, 4096, 1048576\n"), Format::FioLog);
        assert_eq!(
            found("1538323200,4247200,1,1,1058\n1538323200,8,2,0,1\n"),
            Format::Tencent,
            "small sizes"
        );
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert_eq!(
            flaw("1, 9, 3, 4096, 8192, 0"),
            "direction: found `3`; accepted: 0 (read), 1 (write) or 2 (trim)"
        );
        assert!(flaw("1.5, 9, 1, 4096, 8192, 0").starts_with("time: found `1.5`"));
        assert!(flaw("1, 9, 1, 4096, x, 0").starts_with("offset: found `x`"));
        assert!(flaw("1, 9, 1, 4096, 8192, 0, y").starts_with("issue time: found `y`"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for op in [Op::Read, Op::Write, Op::Trim] {
            let mut out = Vec::new();
            let sent = Request {
                arrival_ns: 7_000_001,
                offset: 4096,
                length: 512,
                device: 0,
                op,
                fua: false,
                handle: 0,
            };
            Reader::write(&sent, &mut out).unwrap();
            assert_eq!(request(std::str::from_utf8(out.trim_ascii()).unwrap()), (7_000_001, 4096, 512, op));
        }
        super::super::tests::flaws_of::<Reader>(&["device 1"]);
        assert!(Reader::write(&Request::flush(0, 0), &mut Vec::new()).is_err());
    }
}
