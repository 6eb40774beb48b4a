//! The trace formats: one file each, one line each in the table below.
//!
//! The line yields the enum's variant, the name on the command line and in errors, detection, reading,
//! writing and the manual page (the file's doc comment).

use crate::line::Flaw;
use crate::reader::Trace;
use crate::{Op, Request, Source, TraceError};

mod disksim;
mod mqsim;
mod msr;
mod spc;
mod ssdsim;
mod vscsi;

/// One record, as a format reads it: time not yet counted from the first request, device not yet numbered.
pub(crate) struct Record<'a> {
    pub(crate) time_ns: u64,
    pub(crate) device: Device<'a>,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) op: Op,
}

/// What a trace calls a device.
#[derive(Clone, Copy)]
pub(crate) enum Device<'a> {
    Number(u64),
    /// Bytes of the record that name the device.
    Name(&'a [u8]),
}

/// How a trace's bytes are cut into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Lines,
    /// Records of so many bytes.
    Fixed(usize),
}

/// What the user says about the units of a trace, and its first bytes.
pub(crate) struct Context<'a> {
    pub(crate) sector_bytes: Option<u32>,
    pub(crate) sample: &'a [u8],
}

impl Context<'_> {
    /// The bytes in a sector: as the user says, else 512.
    fn sector_bytes(&self) -> u64 {
        self.sector_bytes.map_or(SECTOR, u64::from)
    }
}

/// The usual sector.
const SECTOR: u64 = 512;

/// A format: reads and writes one record. The seam between a format and everything else.
pub(crate) trait Layout: Send + Sized + 'static {
    /// Digits of an op code whose meaning differs between tools.
    const OP_CODED: bool = false;

    /// A reader of a trace that begins with the context's sample, or why it cannot be one.
    fn new(context: &Context<'_>) -> Result<Self, String>;

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    /// One record; `None` where it is sound but no request (a SCSI command that moves no data).
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>>;

    /// Appends `request` to `out` as a record that [`Layout::parse`] reads back, or says why it cannot.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String>;

    /// How many of the sample's first records this format reads, and how many there are.
    fn score(sample: &[u8]) -> Score {
        let Ok(layout) = Self::new(&Context { sector_bytes: None, sample }) else { return Score::default() };
        match layout.framing() {
            Framing::Lines => {
                let records = sample_lines(sample);
                score(records.take(SCORED), |line| layout.parse(line).is_ok())
            }
            Framing::Fixed(length) => {
                score(sample.chunks_exact(length).take(SCORED), |record| layout.parse(record).is_ok())
            }
        }
    }
}

/// How many records decide on the format.
const SCORED: usize = 200;

/// How well a format fits a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    fitting: usize,
    records: usize,
}

impl Score {
    /// Whether a format that reads so many records may be the right one.
    fn is_enough(self) -> bool {
        self.fitting > 0 && self.fitting * 4 >= self.records
    }
}

fn score<'a>(records: impl Iterator<Item = &'a [u8]>, fits: impl Fn(&'a [u8]) -> bool) -> Score {
    records.fold(Score::default(), |score, record| Score {
        fitting: score.fitting + usize::from(fits(record)),
        records: score.records + 1,
    })
}

/// The sample's lines that hold something, without its last one where that may be cut short.
fn sample_lines(sample: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = match memchr::memrchr(b'\n', sample) {
        Some(end) if sample.len() > SAMPLE_SURELY_WHOLE => &sample[..end],
        _ => sample,
    };
    whole.split(|&byte| byte == b'\n').map(content).filter(|line| !line.is_empty())
}

/// A sample shorter than this is the whole trace, so its last line is not cut short.
const SAMPLE_SURELY_WHOLE: usize = 32 * 1024;

/// What a line says: nothing where it is blank or a comment, else what stands in it, without a byte-order mark
/// or the carriage return that some systems end lines with.
#[inline]
pub(crate) fn content(line: &[u8]) -> &[u8] {
    let line = match line {
        [0xEF, 0xBB, 0xBF, rest @ ..] => rest,
        line => line,
    };
    let line = line.trim_ascii();
    if line.first() == Some(&b'#') { &[] } else { line }
}

/// The bytes that a run of sectors covers.
#[inline]
fn extent(
    sector: u64,
    sectors: u64,
    sector_bytes: u64,
    names: [&'static str; 2],
) -> Result<(u64, u32), Box<Flaw>> {
    let Some(offset) = sector.checked_mul(sector_bytes) else {
        return Err(beyond(names[0], sector, "sectors"));
    };
    let length = sectors.checked_mul(sector_bytes).and_then(|length| u32::try_from(length).ok());
    match length {
        None => Err(too_long(names[1], sectors, "sectors")),
        Some(0) => Err(Flaw::new(names[1], "found 0; accepted: at least 1")),
        Some(length) if offset.checked_add(u64::from(length)).is_none() => {
            Err(beyond(names[0], sector, "sectors"))
        }
        Some(length) => Ok((offset, length)),
    }
}

/// The bytes of a request that counts bytes, checked alike.
#[inline]
fn extent_of_bytes(offset: u64, length: u64, names: [&'static str; 2]) -> Result<(u64, u32), Box<Flaw>> {
    extent(offset, length, 1, names)
}

#[cold]
fn beyond(field: &'static str, found: u64, unit: &str) -> Box<Flaw> {
    Flaw::new(field, format!("found {found} ({unit}); accepted: requests that end below 2^64 bytes"))
}

#[cold]
fn too_long(field: &'static str, found: u64, unit: &str) -> Box<Flaw> {
    Flaw::new(field, format!("found {found} ({unit}); accepted: requests below 4 GiB"))
}

/// The sectors that a request covers, where it covers whole ones.
fn sectors_of(request: &Request) -> Result<(u64, u64), String> {
    let length = u64::from(request.length);
    if !request.offset.is_multiple_of(SECTOR) || length % SECTOR != 0 {
        return Err(format!(
            "{length} bytes at {} are no whole sectors of {SECTOR} bytes, which this format counts in",
            request.offset
        ));
    }
    Ok((request.offset / SECTOR, length / SECTOR))
}

/// The two op codes of formats that have no trim.
fn read_or_write<T>(op: Op, read: T, write: T) -> Result<T, String> {
    match op {
        Op::Read => Ok(read),
        Op::Write => Ok(write),
        Op::Trim => Err("this format has no trims".into()),
    }
}

macro_rules! formats {
    ($($variant:ident = $name:literal in $module:ident: $summary:literal;)+) => {
        /// A trace format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Format {
            $(#[doc = $summary] $variant,)+
        }

        impl Format {
            /// Every format, in the order in which they are listed.
            pub const ALL: &'static [Format] = &[$(Format::$variant,)+];

            /// The name on the command line and in reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Format::$variant => $name,)+ }
            }

            /// One line on what it is.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self { $(Format::$variant => $summary,)+ }
            }

            fn source_text(self) -> &'static str {
                match self { $(Format::$variant => include_str!(concat!(stringify!($module), ".rs")),)+ }
            }

            fn score(self, sample: &[u8]) -> Score {
                match self { $(Format::$variant => $module::Reader::score(sample),)+ }
            }

            /// A source that reads `frames` in this format.
            pub(crate) fn read(
                self,
                mut frames: crate::frames::Frames,
                options: &crate::OpenOptions,
            ) -> Result<Box<dyn Source>, TraceError> {
                match self {
                    $(Format::$variant => {
                        let path = frames.path().to_owned();
                        let sample = frames.sample()?;
                        let context = Context { sector_bytes: options.sector_bytes, sample };
                        let layout = $module::Reader::new(&context)
                            .map_err(|message| TraceError::new(&path, message))?;
                        Ok(Box::new(Trace::new(frames, self, layout, options.bad_records)))
                    })+
                }
            }

            /// Appends a request as a record of this format.
            pub(crate) fn write(self, request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
                match self { $(Format::$variant => $module::Reader::write(request, out),)+ }
            }
        }
    };
}

formats! {
    Ssdsim = "ssdsim" in ssdsim: "SSDSim: `arrival_ns device sector sectors op`, 0 writes, 1 reads";
    Mqsim = "mqsim" in mqsim: "MQSim: the same columns, sectors of another size with --sector-bytes";
    Disksim = "disksim" in disksim: "DiskSim: `arrival_ms device sector sectors flags`, bit 0 of the flags reads";
    Vscsi = "vscsi" in vscsi: "VMware vscsiStats as CloudPhysics recorded it, binary, versions 1 and 2";
    Msr = "msr" in msr: "MSR Cambridge: `filetime,host,disk,Read|Write,offset,size,response`";
    Spc = "spc" in spc: "Storage Performance Council: `ASU,LBA,bytes,R|W,seconds`";
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Format {
    /// The format called `name`, or a message that lists what there is.
    ///
    /// # Errors
    /// No format has that name.
    pub fn parse(name: &str) -> Result<Format, String> {
        let lower = name.to_ascii_lowercase();
        if let Some(format) = Format::ALL.iter().find(|format| format.name() == lower) {
            return Ok(*format);
        }
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        Err(crate::suggest::unknown("format", name, &names))
    }

    /// The manual page: the doc comment at the head of the format's file, as Markdown.
    #[must_use]
    pub fn manual(self) -> String {
        let lines = self.source_text().lines().map_while(|line| line.strip_prefix("//!"));
        lines
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .fold(String::new(), |page, line| page + line + "\n")
    }

    /// The format that `sample`, the head of a trace, is in.
    ///
    /// The one that reads the most of the first 200 records, and at least a quarter of them. A text of five columns
    /// of integers with op codes of 0 and 1 is SSDSim's (MQSim's are the same) unless its times make no sense as
    /// nanoseconds: then it may be DiskSim's in whole milliseconds, and only the user can tell.
    pub(crate) fn detect(path: &str, sample: &[u8]) -> Result<Format, TraceError> {
        let mut best: Option<(Format, Score)> = None;
        for &format in Format::ALL {
            let score = format.score(sample);
            let better = best.is_none_or(|(_, best)| score.fitting > best.fitting);
            if better && score.is_enough() {
                best = Some((format, score));
            }
        }
        let Some(format) = best.map(|(format, _)| format).or_else(|| by_shape(sample)) else {
            return Err(TraceError::new(path, none_fits(sample)));
        };
        if format == Format::Ssdsim && ssdsim::times_look_like_ms(sample) {
            return Err(TraceError::new(
                path,
                "two formats fit: ssdsim, whose times would be nanoseconds and make more than 10 million \
                 requests a second, and disksim, whose times would be milliseconds; \
                 choose with --format ssdsim or --format disksim",
            ));
        }
        Ok(format)
    }
}

/// Where no record can be read: the format that the first one has the shape of, whose reader then says what is wrong
/// with which field. A negative time or a size of 0 is no reason not to know a format.
fn by_shape(sample: &[u8]) -> Option<Format> {
    let first = std::str::from_utf8(sample_lines(sample).next()?).ok()?;
    let is_number = |field: &str| field.parse::<f64>().is_ok();
    let words: Vec<&str> = first.split_ascii_whitespace().collect();
    let columns: Vec<&str> = first.split(',').map(str::trim).collect();
    match (words.len(), columns.len()) {
        (5, 1) if words.iter().all(|word| is_number(word)) => {
            Some(if words[0].contains('.') { Format::Disksim } else { Format::Ssdsim })
        }
        (_, 5) if columns[0].parse::<u64>().is_ok() && !is_number(columns[3]) => Some(Format::Spc),
        (_, 7) if is_number(columns[0]) && !is_number(columns[3]) => Some(Format::Msr),
        _ => None,
    }
}

/// The message for a trace that no format reads.
fn none_fits(sample: &[u8]) -> String {
    let Some(first) = sample_lines(sample).next() else {
        return "no requests: nothing but blank lines and comments at its head; \
                name the format with --format if that is so"
            .into();
    };
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    format!(
        "no known format fits; its first record is {}; accepted: {}; name the right one with --format",
        crate::line::quoted(first),
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain<L: Layout>() -> L {
        L::new(&Context { sector_bytes: None, sample: b"" }).unwrap()
    }

    /// The request that a record holds, its device 0 where it has a name.
    pub(super) fn record<L: Layout>(bytes: &[u8]) -> Request {
        let layout = plain::<L>();
        let Record { time_ns, device, offset, length, op } = layout.parse(bytes).unwrap().unwrap();
        let device = match device {
            Device::Number(number) => number as u32,
            Device::Name(_) => 0,
        };
        Request { arrival_ns: time_ns, offset, length, device, op }
    }

    /// What is wrong with a record, as the user reads it.
    pub(super) fn flaw<L: Layout>(bytes: &[u8]) -> String {
        let layout = plain::<L>();
        let flaw = layout.parse(bytes).err().expect("a bad record");
        flaw.field.map_or(flaw.message.clone(), |field| format!("{field}: {}", flaw.message))
    }

    /// Writes a request and reads the same one.
    pub(super) fn read_back<L: Layout>(request: Request) {
        let mut out = Vec::new();
        L::write(&request, &mut out).unwrap();
        assert_eq!(record::<L>(out.strip_suffix(b"\n").unwrap_or(&out)), request);
    }

    /// The format refuses to write these.
    pub(super) fn flaws_of<L: Layout>(what: &[&str]) {
        for &what in what {
            let mut request = Request { arrival_ns: 0, offset: 0, length: 512, device: 0, op: Op::Read };
            match what {
                "offset 1" => request.offset = 1,
                "trim" => request.op = Op::Trim,
                "device 1" => request.device = 1,
                _ => unreachable!("{what}"),
            }
            assert!(L::write(&request, &mut Vec::new()).is_err(), "{what}");
        }
    }

    #[test]
    fn names_are_unique_and_parsed() {
        for &format in Format::ALL {
            assert_eq!(Format::parse(format.name()), Ok(format));
        }
        assert_eq!(Format::parse("SPC"), Ok(Format::Spc));
        assert_eq!(
            Format::parse("sdsim").unwrap_err(),
            "unknown format `sdsim`; did you mean `ssdsim`? accepted: ssdsim, mqsim, disksim, vscsi, msr, spc"
        );
    }

    #[test]
    fn every_manual_page_has_its_headings() {
        for &format in Format::ALL {
            let manual = format.manual();
            for heading in ["## What it looks like\n", "## Units\n", "## Source\n"] {
                assert!(manual.contains(heading), "{}: {heading}", format.name());
            }
        }
    }

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
        ] {
            assert_eq!(Format::detect("t", record.as_bytes()).ok(), Some(format), "{record}");
        }
    }

    #[test]
    fn what_no_format_fits_says_so() {
        let message = Format::detect("t", b"1538323200,4247200,128,1,1058\n").unwrap_err().message;
        assert!(message.starts_with("no known format fits; its first record is `1538323200,"), "{message}");
        assert!(message.contains("ssdsim, mqsim, disksim, vscsi, msr, spc"), "{message}");
        assert!(Format::detect("t", b"# nothing\n\n").unwrap_err().message.starts_with("no requests"));
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
