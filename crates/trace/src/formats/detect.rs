//! Detection of a trace's format from its first records.

use super::{Format, Shape, blktrace, content, fio_log, ssdsim, tencent};
use crate::TraceError;
use crate::frames::tail_length;
use crate::line::quoted;

/// How many records decide on the format.
pub(super) const SCORED: usize = 200;

/// How well a format fits a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    fitting: usize,
    records: usize,
}

impl Score {
    /// Whether a format that reads this many records may be the right one.
    pub(super) fn is_enough(self) -> bool {
        self.fitting > 0 && self.fitting * 4 >= self.records
    }
}

pub(super) fn score<'a>(records: impl Iterator<Item = &'a [u8]>, fits: impl Fn(&'a [u8]) -> bool) -> Score {
    records.fold(Score::default(), |score, record| Score {
        fitting: score.fitting + usize::from(fits(record)),
        records: score.records + 1,
    })
}

/// The sample's lines that are not empty, without the last one if it may be incomplete.
pub(super) fn sample_lines(sample: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = match memchr::memrchr(b'\n', sample) {
        Some(end) if sample.len() > SAMPLE_SURELY_WHOLE => &sample[..end],
        _ => sample,
    };
    whole.split(|&byte| byte == b'\n').map(content).filter(|line| !line.is_empty())
}

/// The sample's whole records of `head` bytes, each followed by as many bytes as the 16-bit number at `length_at` says.
pub(super) fn tailed_records(
    sample: &[u8],
    head: usize,
    length_at: usize,
    big_endian: bool,
) -> impl Iterator<Item = &[u8]> {
    let mut rest = sample;
    std::iter::from_fn(move || {
        let record = rest.get(..head)?;
        let tail = tail_length([record[length_at], record[length_at + 1]], big_endian);
        rest = rest.get(head + tail..).unwrap_or_default();
        Some(record)
    })
}

/// A shorter sample is the whole trace, so its last line is complete.
const SAMPLE_SURELY_WHOLE: usize = 32 * 1024;

impl Format {
    /// Detects the format of `sample`, the head of a trace.
    ///
    /// It is the format that reads most of the first 200 records, and at least a quarter of them, without names of
    /// columns, quotes and an index column ([`Shape`]). Where two formats fit, the ending of the file's name decides, or
    /// else the user. A text of five columns of integers with op codes of 0 and 1 is SSDSim's or MQSim's, which are the
    /// same; without the ending `.mqsim` it is read as SSDSim's, unless its times make no sense as nanoseconds: then it
    /// may be DiskSim's in whole milliseconds.
    pub(crate) fn detect(path: &str, sample: &[u8]) -> Result<Format, TraceError> {
        let shape = Shape::of(sample);
        let text = shape.text(sample);
        let named = by_name(path);
        if let Some(found) = best(path, named, sample, &text) {
            return found;
        }
        let indexed = shape.indexed(sample).map(|indexed| indexed.text(sample));
        if let Some(found) = indexed.and_then(|indexed| best(path, named, sample, &indexed)) {
            return found;
        }
        // A format whose records any table of numbers may have.
        if named == Some(Format::Tencent) && tencent::reads(&text) {
            return Ok(Format::Tencent);
        }
        by_shape(&text).ok_or_else(|| TraceError::new(path, none_fits(&text)))
    }
}

/// The format that reads most of a sample, if one reads enough: binary formats the sample, others its text.
fn best(path: &str, named: Option<Format>, sample: &[u8], text: &[u8]) -> Option<Result<Format, TraceError>> {
    let mut best: Option<(Format, Score)> = None;
    let mut equal = None;
    for &format in Format::ALL {
        let score = format.score(if format.is_text() { text } else { sample });
        if !score.is_enough() {
            continue;
        }
        match best {
            Some((_, best)) if score.fitting < best.fitting => {}
            Some((_, best)) if score.fitting == best.fitting => equal = Some(format),
            _ => (best, equal) = (Some((format, score)), None),
        }
    }
    let (format, _) = best?;
    if let Some(other) = equal {
        if let Some(named) = named.filter(|named| [format, other].contains(named)) {
            return Some(Ok(named));
        }
        return Some(Err(TraceError::new(
            path,
            format!(
                "two formats fit: {format} and {other}; choose with --format {format} or --format {other}"
            ),
        )));
    }
    if format == Format::Ssdsim && ssdsim::times_look_like_ms(text) {
        if let Some(named @ (Format::Ssdsim | Format::Mqsim | Format::Disksim)) = named {
            return Some(Ok(named));
        }
        return Some(Err(TraceError::new(
            path,
            "two formats fit: ssdsim, whose times would be nanoseconds and make more than 10 million \
             requests a second, and disksim, whose times would be milliseconds; \
             choose with --format ssdsim or --format disksim",
        )));
    }
    let is_mqsim = format == Format::Ssdsim && named == Some(Format::Mqsim);
    Some(Ok(if is_mqsim { Format::Mqsim } else { format }))
}

/// The format that the ending of a file's name tells, in front of `.zst` or `.gz`. It is a hint only.
fn by_name(path: &str) -> Option<Format> {
    let bare = path.strip_suffix(".zst").or_else(|| path.strip_suffix(".gz")).unwrap_or(path);
    let (_, ending) = bare.rsplit_once('.')?;
    Format::ALL.iter().copied().find(|format| ending.eq_ignore_ascii_case(format.name()))
}

/// If no record can be read: the format whose shape the first record has; its reader then reports the invalid field. So
/// a format is recognised even if a time is negative or a size is 0.
fn by_shape(sample: &[u8]) -> Option<Format> {
    if blktrace::has_magic(sample) {
        return Some(Format::Blktrace);
    }
    let first = std::str::from_utf8(sample_lines(sample).next()?).ok()?;
    let is_number = |field: &str| field.parse::<f64>().is_ok();
    let words: Vec<&str> = first.split_ascii_whitespace().collect();
    let columns: Vec<&str> = first.split(',').map(str::trim).collect();
    match (words.len(), columns.len()) {
        _ if fio_log::has_shape(first.as_bytes()) => Some(Format::FioLog),
        (5, 1) if words.iter().all(|word| is_number(word)) => {
            Some(if words[0].contains('.') { Format::Disksim } else { Format::Ssdsim })
        }
        (_, 5) if columns.iter().all(|column| is_number(column)) && tencent::is_epoch(columns[0]) => {
            Some(Format::Tencent)
        }
        (_, 5) if columns[0].parse::<u64>().is_ok() && !is_number(columns[3]) => Some(Format::Spc),
        (_, 5) if columns[0].parse::<u64>().is_ok() && !is_number(columns[1]) => Some(Format::Alibaba),
        (_, 6) if is_number(columns[0]) && !is_number(columns[2]) => Some(Format::Systor),
        (6.., 2) if is_number(columns[0]) && is_number(words[3]) => Some(Format::Blkparse),
        (_, 7) if is_number(columns[0]) && !is_number(columns[3]) => Some(Format::Msr),
        _ => None,
    }
}

/// The message for a trace of unknown format.
fn none_fits(sample: &[u8]) -> String {
    let Some(first) = sample_lines(sample).next() else {
        return "no requests: nothing but blank lines and comments at its head; \
                name the format with --format if that is so"
            .into();
    };
    if let Some(message) = table_of_numbers(first, sample) {
        return message;
    }
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    format!(
        "no known format fits; its first record is {}; accepted: {}; name the right one with --format, \
         or map its columns with --columns (flashkeep formats csv)",
        quoted(first),
        names.join(", ")
    )
}

/// The message for a table of numbers only, which says nothing of what they mean: what would fit, and how to choose.
fn table_of_numbers(first: &[u8], sample: &[u8]) -> Option<String> {
    let line = sample_lines(sample).find(|line| line.iter().any(u8::is_ascii_digit))?;
    let text = std::str::from_utf8(line).ok()?;
    let fields: Vec<&str> =
        text.split([',', ';', ' ', '\t']).map(str::trim).filter(|field| !field.is_empty()).collect();
    if fields.len() < 4 || !fields.iter().all(|field| field.parse::<f64>().is_ok()) {
        return None;
    }
    let found =
        format!("a table of {} columns of numbers, {}, may be several things", fields.len(), quoted(line));
    let mut fits = Vec::new();
    if tencent::reads(sample) {
        fits.push("tencent (seconds,sector,sectors,op,volume; but these times are no seconds since 1970): --format tencent");
    }
    if fio_log::reads(sample) {
        fits.push("fio-log (ms, value, direction, size, offset): --format fio-log");
    }
    let map = "any other: --columns, such as time=0:ms,offset=1:sectors,size=2:sectors,op=3:read=0/write=1,device=4";
    fits.push(map);
    let names = if first == line { String::new() } else { format!(" (columns: {})", quoted(first)) };
    Some(format!("{found}{names}; say which: {}", fits.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_tells_the_format() {
        let found = |sample: &str| Format::detect("t", sample.as_bytes()).map_err(|error| error.message);
        assert_eq!(found("0 0 303567 7 0\n0 1 55590 6 0\n"), Ok(Format::Ssdsim));
        assert_eq!(found("# a comment\r\n\r\n0\t0\t8\t8\t1\r\n"), Ok(Format::Ssdsim));
        assert_eq!(found("5265.313 0 6357144 8 0\n"), Ok(Format::Disksim));
        assert_eq!(found("5265 0 6357144 8 2\n"), Ok(Format::Disksim), "flags beyond 0 and 1");
        assert_eq!(found("0 0 8 8 1\n0.5 0 8 8 1\n"), Ok(Format::Disksim), "the one that reads more");
        assert_eq!(found("0,20941264,8192,W,0.551706\n"), Ok(Format::Spc));
        assert_eq!(found("128166385295514663,hm,0,Write,9056014336,2048,2833\n"), Ok(Format::Msr));
        assert_eq!(
            found("8,16   5        1     0.000000000 18615  A   R 8 + 8 <- (8,17) 0\n"),
            Ok(Format::Blkparse)
        );
        assert_eq!(found("1538323200,4247200,128,1,1058\n"), Ok(Format::Tencent));
        let systor = "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.13,0.0008,R,0,8960,512\n";
        assert_eq!(found(systor), Ok(Format::Systor));
        assert_eq!(found("fio version 2 iolog\n/dev/sdb add\n"), Ok(Format::Fio));
        assert_eq!(found("fio version 3 iolog\n7 /dev/sdb read 0 512\n"), Ok(Format::Fio));
        assert_eq!(found("419,W,8792731648,16384,1577808144360767\n"), Ok(Format::Alibaba));
        assert_eq!(found("time_ns,device,op,offset_B,size_B\n0,0,R,0,512\n"), Ok(Format::Csv));
        assert_eq!(
            found("0 0 8 8 1\nrubbish\n1 0 8 8 1\n"),
            Ok(Format::Ssdsim),
            "bad records are named later"
        );
    }

    #[test]
    fn one_bad_record_is_known_by_its_shape() {
        for (record, format) in [
            ("-5 0 0 8 1\n", Format::Ssdsim),
            ("0 0 0 0 1\n", Format::Ssdsim),
            ("nan 0 0 8 1\n", Format::Ssdsim),
            ("-0.5 0 0 8 1\n", Format::Disksim),
            ("0,20941264,0,W,0.5\n", Format::Spc),
            ("128166385295514663,hm,0,Write,9056014336,0,2833\n", Format::Msr),
            ("1538323200,4247200,128,7,1058\n", Format::Tencent),
            ("419,W,8792731648,0,1577808144360767\n", Format::Alibaba),
            ("1456095145.13,0.0008,R,0,8960,0\n", Format::Systor),
            ("8,16 5 1 0.1 18615 Q R 8 + 0 [x]\n", Format::Blkparse),
        ] {
            assert_eq!(Format::detect("t", record.as_bytes()).ok(), Some(format), "{record}");
        }
    }

    #[test]
    fn what_no_format_fits_says_so() {
        let message = Format::detect("t", b"1538323200;4247200;128;Q;1058\n").unwrap_err().message;
        assert!(message.starts_with("no known format fits; its first record is `1538323200;"), "{message}");
        assert!(
            message.contains("ssdsim, mqsim, disksim, vscsi, msr, spc, blkparse, blktrace, tencent"),
            "{message}"
        );
        assert!(message.contains("or map its columns with --columns (flashkeep formats csv)"), "{message}");
        assert!(Format::detect("t", b"# nothing\n\n").unwrap_err().message.starts_with("no requests"));
    }

    #[test]
    fn a_table_of_numbers_is_asked_about() {
        let message =
            |path: &str, text: &str| Format::detect(path, text.as_bytes()).map_err(|error| error.message);
        let asked = message("t", "1000,4247200,128,1,3\n1010,8,8,0,3\n").unwrap_err();
        for part in ["a table of 5 columns of numbers", "--format tencent", "--columns, such as time=0:ms"] {
            assert!(asked.contains(part), "{asked}");
        }
        let log = message("t", "0,9000,1,4096,8192\n1,9000,0,4096,0\n").unwrap_err();
        assert!(log.contains("--format fio-log"), "{log}");
        assert_eq!(message("a.tencent.zst", "1000,4247200,128,1,3\n"), Ok(Format::Tencent));
        let header = "Timestamp,Offset,Size,IOType,VolumeID\n1000,4247200,128,1,3\n";
        assert_eq!(message("t", header), Ok(Format::Tencent));
        assert!(
            message("t", "ms,lba,sectors,rw,dev\n1000,4247200,128,1,3\n").unwrap_err().contains("`ms,lba,")
        );
        for averages in ["1000, 317611, 1, 0, 0\n2000, 3, 1, 0, 0\n", "500, 7, 9, 0, 0, 0\n"] {
            assert_eq!(message("t", averages), Ok(Format::FioLog), "its reader says that it has averages");
        }
    }

    #[test]
    fn whole_milliseconds_are_asked_about() {
        let trace: String = (0..200).map(|ms| format!("{ms} 0 {} 8 0\n", ms * 8)).collect();
        let message = Format::detect("t", trace.as_bytes()).unwrap_err().message;
        assert!(message.contains("two formats fit") && message.contains("--format disksim"), "{message}");
        let at_once: String = (0..200).map(|place| format!("0 0 {place} 8 0\n")).collect();
        assert_eq!(Format::detect("t", at_once.as_bytes()), Ok(Format::Ssdsim));
    }
}
