//! The trace formats: one file each, one line each in the table below.
//!
//! The line defines the enum's variant, the name on the command line and in errors, detection, reading,
//! writing and the manual page (the file's doc comment).

use crate::line::Flaw;
use crate::reader::Trace;
use crate::{Op, Request, Source, TraceError};

mod alibaba;
mod baleen;
mod biosnoop;
mod blkparse;
mod blktrace;
mod columns;
mod csv;
mod detect;
mod disksim;
mod etw;
mod extent;
mod fio;
mod fio_log;
mod fiu;
mod mqsim;
mod msr;
mod objects;
mod oracle_general;
mod perf;
mod records;
mod rwbs;
mod sectors;
mod shape;
mod spc;
mod ssdsim;
mod systor;
mod tencent;
mod vscsi;

pub use columns::Columns;
pub use csv::{CSV_COLUMNS, csv_record};
use detect::{SCORED, Score, sample_lines, score, tailed_records};
use extent::{SECTOR, beyond, extent, extent_of_bytes, microseconds, read_or_write, sectors_of};
pub(crate) use sectors::likely_sector_bytes;
pub(crate) use shape::Shape;

/// Added to all times of a format whose lines tell when requests ended: they may have begun before the first line.
const BEFORE_NS: u64 = 86_400_000_000_000;

/// From 1601, where Windows file time begins, to 1970, in ns.
const FILE_TIME_BEFORE_1970_NS: u64 = 11_644_473_600_000_000_000;

/// File time in ns as time since 1970.
fn since_1970_of_file_time(time_ns: u64) -> Option<u64> {
    time_ns.checked_sub(FILE_TIME_BEFORE_1970_NS)
}

/// When a request arrives that is written to a trace which begins at this instant; a message if that cannot be read.
fn after(epoch_ns: u64, arrival_ns: u64) -> Result<u64, String> {
    const YEAR_NS: u64 = 365 * 86_400_000_000_000;
    epoch_ns.checked_add(arrival_ns).ok_or_else(|| {
        let years = (u64::MAX - epoch_ns) / YEAR_NS;
        format!("it arrives {years} years after the first one; later than that, its time could not be read")
    })
}

/// One record, as a format reads it: its time is not yet counted from the first request, its device not yet numbered.
pub(crate) struct Record<'a> {
    pub(crate) time_ns: u64,
    pub(crate) device: Device<'a>,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) op: Op,
    /// A write that must be durable before it is acknowledged.
    pub(crate) fua: bool,
    /// A write that follows a flush: first a flush of its device, at the same time.
    pub(crate) preflush: bool,
    /// The placement handle of a write.
    pub(crate) handle: u8,
}

impl<'a> Record<'a> {
    /// A request for bytes of a device, given as first byte and length.
    #[inline(always)]
    pub(crate) fn new(time_ns: u64, device: Device<'a>, (offset, length): (u64, u32), op: Op) -> Self {
        Record { time_ns, device, offset, length, op, fua: false, preflush: false, handle: 0 }
    }

    /// A flush of a device.
    #[inline]
    pub(crate) fn flush(time_ns: u64, device: Device<'a>) -> Self {
        Record::new(time_ns, device, (0, 0), Op::Flush)
    }
}

/// The name or number that a trace gives a device.
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
    /// Records of this many bytes.
    Fixed(usize),
    /// Records of `head` bytes, each followed by as many bytes as the 16-bit number at `length_at` says.
    Tailed {
        head: usize,
        length_at: usize,
        big_endian: bool,
    },
}

/// How certain the units of a format are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Units {
    /// The program that records the trace determines them.
    Fixed,
    /// People convert traces to the format: times in another unit than this one, or sizes in other sectors, are common.
    Converted { time: &'static str },
    /// As the user has given them with `--columns`.
    Given,
}

/// The user's options for units and columns of a trace, and the trace's first bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Context<'a> {
    pub(crate) sector_bytes: Option<u32>,
    pub(crate) columns: Option<&'a Columns>,
    /// The event of a recording that counts as a request, if it is not the usual one.
    pub(crate) action: Option<Action>,
    pub(crate) sample: &'a [u8],
}

impl Context<'_> {
    /// The bytes in a sector: the user's option, else 512.
    fn sector_bytes(&self) -> u64 {
        self.sector_bytes.map_or(SECTOR, u64::from)
    }

    /// Refuses `--sector-bytes` for a format that does not count sectors; the message says what it counts instead.
    fn counts_its_own_units(&self, format: &str, units: &str) -> Result<(), String> {
        match self.sector_bytes {
            None => Ok(()),
            Some(_) => {
                Err(format!("{format} counts {units}, so --sector-bytes means nothing there; leave it away"))
            }
        }
    }
}

/// What a format says about the durability of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Durability {
    /// It has flushes.
    pub(crate) flushes: bool,
    /// It marks writes that must be durable before they are acknowledged.
    pub(crate) fua: bool,
}

/// A format reads and writes one record. The rest of the crate uses formats through this trait only.
pub(crate) trait Layout: Send + Sized + 'static {
    /// Whether the format's op codes are digits, whose meaning differs between tools.
    const OP_CODED: bool = false;

    /// The clock resolution of a written trace, ns; finer times are cut off.
    const TICK_NS: u64 = 1;

    /// Whether the format is text.
    const IS_TEXT: bool = true;

    /// Whether flashkeep writes the format.
    const IS_WRITTEN: bool = true;

    /// Whether records are not in order of time, so that they are sorted.
    const UNORDERED: bool = false;

    /// The head of a written trace.
    const HEADER: &'static str = "";

    /// The name for valid records that are not requests.
    const PASSED_OVER: &'static str = "commands that move no data";

    /// Whether records have placement handles.
    const HANDLES: bool = false;

    /// The head of a written trace with handles.
    const HEADER_WITH_HANDLES: &'static str = Self::HEADER;

    /// Whether the format has flushes, and whether it marks writes as FUA.
    const DURABILITY: Durability = Durability { flushes: false, fua: false };

    /// A reader for a trace that begins with the context's sample, or the reason why the trace is not in this format.
    fn new(context: &Context<'_>) -> Result<Self, String>;

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    /// Parses one record; `None` for a valid record that is not a request (a SCSI command that moves no data).
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>>;

    /// Whether a record that is not a request belongs to the format, such as a header, and needs no warning.
    fn is_expected(&self, _record: &[u8]) -> bool {
        false
    }

    /// How certain the units are.
    fn units(&self) -> Units {
        Units::Fixed
    }

    /// A note for the user about the file at `path` as a whole.
    fn file_note(&self, _path: &str) -> Option<String> {
        None
    }

    /// A note for the user if the trace has no times, or coarse ones.
    fn clock_note(&self) -> Option<&'static str> {
        None
    }

    /// What the trace has instead, if it has no request.
    fn instead_of_requests(&self) -> Option<String> {
        None
    }

    /// A record's time, counted from 1970, if the clock can be that of a calendar.
    fn since_1970_ns(&self, time_ns: u64) -> Option<u64> {
        Some(time_ns)
    }

    /// Whether times are those of the recording machine's clock, which all files of a recording share.
    const HAS_MACHINE_CLOCK: bool = false;

    /// Appends the lines that must precede the first request of a device.
    fn introduce(_request: &Request, _out: &mut Vec<u8>) {}

    /// Whether the trace that begins with the context's sample names handles.
    fn has_handles(&self) -> bool {
        false
    }

    /// Appends the handle of a request that has just been written, in a trace with handles.
    fn write_handle(_request: &Request, _out: &mut Vec<u8>) {}

    /// Appends `request` to `out` as a record that [`Layout::parse`] reads back, or returns why it cannot.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String>;

    /// How many of the sample's first records this format reads, and how many there are.
    fn score(sample: &[u8]) -> Score {
        let Ok(layout) = Self::new(&Context { sample, ..Context::default() }) else {
            return Score::default();
        };
        let fits = |record| layout.parse(record).is_ok();
        match layout.framing() {
            Framing::Lines => score(sample_lines(sample).take(SCORED), fits),
            Framing::Fixed(length) => score(sample.chunks_exact(length).take(SCORED), fits),
            Framing::Tailed { head, length_at, big_endian } => {
                score(tailed_records(sample, head, length_at, big_endian).take(SCORED), fits)
            }
        }
    }
}

/// The contents of a line, without a byte-order mark and carriage return; `None` for blank lines and comments.
#[inline]
pub(crate) fn content(line: &[u8]) -> &[u8] {
    let line = match line {
        [0xEF, 0xBB, 0xBF, rest @ ..] => rest,
        line => line,
    };
    let line = line.trim_ascii();
    if line.first() == Some(&b'#') { &[] } else { line }
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

            /// A description in one line.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self { $(Format::$variant => $summary,)+ }
            }

            fn source_text(self) -> &'static str {
                match self { $(Format::$variant => include_str!(concat!(stringify!($module), ".rs")),)+ }
            }

            /// Whether it is text.
            pub(crate) const fn is_text(self) -> bool {
                match self { $(Format::$variant => $module::Reader::IS_TEXT,)+ }
            }

            /// Whether flashkeep writes it.
            #[must_use]
            pub const fn is_written(self) -> bool {
                match self { $(Format::$variant => $module::Reader::IS_WRITTEN,)+ }
            }

            fn score(self, sample: &[u8]) -> Score {
                match self { $(Format::$variant => $module::Reader::score(sample),)+ }
            }

            /// The clock resolution of a written trace, ns; finer times are cut off.
            #[must_use]
            pub const fn tick_ns(self) -> u64 {
                match self { $(Format::$variant => $module::Reader::TICK_NS,)+ }
            }

            /// The head of a written trace, with handles or without.
            pub(crate) const fn header(self, handles: bool) -> &'static str {
                match (self, handles) {
                    $((Format::$variant, false) => $module::Reader::HEADER,)+
                    $((Format::$variant, true) => $module::Reader::HEADER_WITH_HANDLES,)+
                }
            }

            /// Whether its records have placement handles.
            pub(crate) const fn has_handles(self) -> bool {
                match self { $(Format::$variant => $module::Reader::HANDLES,)+ }
            }

            /// Appends the handle of a request that has just been written.
            pub(crate) fn write_handle(self, request: &Request, out: &mut Vec<u8>) {
                match self { $(Format::$variant => $module::Reader::write_handle(request, out),)+ }
            }

            /// What it says about the durability of data.
            pub(crate) const fn durability(self) -> Durability {
                match self { $(Format::$variant => $module::Reader::DURABILITY,)+ }
            }

            /// Appends the lines that must precede the first request of a device.
            pub(crate) fn introduce(self, request: &Request, out: &mut Vec<u8>) {
                match self { $(Format::$variant => $module::Reader::introduce(request, out),)+ }
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
                        let shape = Shape::for_format(self, sample);
                        let text = shape.text(sample);
                        let context = Context {
                            sector_bytes: options.sector_bytes,
                            columns: options.columns.as_ref(),
                            action: options.action,
                            sample: &text,
                        };
                        let layout = $module::Reader::new(&context)
                            .map_err(|message| TraceError::new(&path, message))?;
                        Ok(Box::new(Trace::new(frames, self, layout, shape, options)))
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
    Mqsim = "mqsim" in mqsim: "MQSim: the same columns; the size of a sector is found, or given with --sector-bytes";
    Disksim = "disksim" in disksim: "DiskSim: `arrival_ms device sector sectors flags`, bit 0 of the flags reads";
    Vscsi = "vscsi" in vscsi: "VMware vscsiStats as CloudPhysics recorded it, binary, versions 1 and 2";
    Msr = "msr" in msr: "MSR Cambridge: `filetime,host,disk,Read|Write,offset,size,response`";
    Spc = "spc" in spc: "Storage Performance Council: `ASU,LBA,bytes,R|W,seconds`";
    Blkparse = "blkparse" in blkparse: "blktrace's text: the queued events, `dev cpu seq s pid Q RWBS sector + sectors`";
    Blktrace = "blktrace" in blktrace: "blktrace's binary files: the queued events";
    Tencent = "tencent" in tencent: "Tencent CBS: `seconds,sector,sectors,op,volume`, 0 reads, 1 writes";
    Systor = "systor" in systor: "SYSTOR '17: header, then `seconds,response,R|W,LUN,offset,size`";
    Fio = "fio" in fio: "fio iolog, versions 2 and 3: `[us] file read|write|trim offset length`";
    FioLog = "fio-log" in fio_log: "fio's latency, IOPS and bandwidth logs with --log_offset=1";
    Alibaba = "alibaba" in alibaba: "Alibaba: `device,R|W,offset,length,us`";
    Fiu = "fiu" in fiu: "FIU: `ns pid process block blocks W|R major minor md5`";
    Etw = "etw" in etw: "disk events of Windows as xperf prints them (Microsoft Production Server traces)";
    Biosnoop = "biosnoop" in biosnoop: "biosnoop: `s command pid disk R|W sector bytes [queue_ms] latency_ms`";
    Perf = "perf" in perf: "perf script of block:block_rq_issue; trace-cmd";
    Baleen = "baleen" in baleen: "Meta's Tectonic (Baleen): `block offset size s op …`";
    OracleGeneral = "oracle-general" in oracle_general: "libCacheSim's oracleGeneral: binary, objects, 24 bytes";
    Csv = "csv" in csv: "any table with separators, mapped with --columns";
    Records = "records" in records: "flashkeep's own: binary, 32 bytes per request; what fk.trace makes of tables";
}

/// The event of a recording of the block layer that counts as a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Q: the host's requests, as they enter the block layer.
    Queued,
    /// D: as they are issued to the device, merged and split by the block layer.
    Issued,
    /// C: as they are completed, at that time.
    Completed,
}

impl Action {
    /// The action of a letter.
    ///
    /// # Errors
    /// Another letter.
    pub fn parse(letter: &str) -> Result<Action, String> {
        match letter {
            "Q" => Ok(Action::Queued),
            "D" => Ok(Action::Issued),
            "C" => Ok(Action::Completed),
            other => Err(format!("found `{other}`; accepted: Q (queued), D (issued) or C (completed)")),
        }
    }

    /// The letter that blkparse prints.
    pub(crate) const fn letter(self) -> u8 {
        match self {
            Action::Queued => b'Q',
            Action::Issued => b'D',
            Action::Completed => b'C',
        }
    }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain<L: Layout>() -> L {
        L::new(&Context::default()).unwrap()
    }

    /// The request in a record; its device is 0 if the record names the device.
    pub(super) fn record<L: Layout>(bytes: &[u8]) -> Request {
        let layout = plain::<L>();
        let Record { time_ns, device, offset, length, op, fua, .. } = layout.parse(bytes).unwrap().unwrap();
        let device = match device {
            Device::Number(number) => number as u32,
            Device::Name(_) => 0,
        };
        Request { arrival_ns: time_ns, offset, length, device, op, fua, handle: 0 }
    }

    /// The error message for a record.
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

    /// Checks that the format refuses these requests.
    pub(super) fn flaws_of<L: Layout>(what: &[&str]) {
        for &what in what {
            let mut request = Request {
                arrival_ns: 0,
                offset: 0,
                length: 512,
                device: 0,
                op: Op::Read,
                fua: false,
                handle: 0,
            };
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
            "unknown format `sdsim`; did you mean `ssdsim`? accepted: ssdsim, mqsim, disksim, vscsi, msr, spc, \
             blkparse, blktrace, tencent, systor, fio, fio-log, alibaba, fiu, etw, biosnoop, perf, baleen, \
             oracle-general, csv, records"
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
}
