//! Reads a trace in a known format: turns records into requests, counts times from the first request on, and numbers
//! devices.

use crate::devices::Devices;
use crate::files::{files_of, of_processors};
use crate::formats::{Action, Columns, Format, Framing, Layout, Shape, content};
use crate::frames::{Frame, Frames};
use crate::hints::Hints;
use crate::input::Input;
use crate::line::Flaw;
use crate::order::{WINDOW, Window};
use crate::source::{DeviceName, TraceClock};
use crate::together::of_recording;
use crate::{BATCH, Combination, Part, Provenance, Request, Source, TraceError, combine};
use std::sync::Arc;

/// What to do with records that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadRecords {
    /// The first such record ends the run with an error.
    #[default]
    Refuse,
    /// Such records are left out and counted.
    Skip,
}

/// How a trace is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The format; detected where none is given.
    pub format: Option<Format>,
    /// Bytes in a sector, for formats that count sectors; 512 where none is given.
    pub sector_bytes: Option<u32>,
    /// Which column is which, for `csv`; implies that format.
    pub columns: Option<Columns>,
    /// The event of a recording of the block layer (`blkparse`, `blktrace`) that counts as a request; Q where none is
    /// given.
    pub action: Option<Action>,
    /// What to do with records that cannot be read.
    pub bad_records: BadRecords,
    /// Whether the user has given a factor for the times, so that an odd unit of time needs no warning.
    pub time_is_scaled: bool,
}

/// The largest sector size that a reader accepts.
const SECTOR_BYTES_MAX: u32 = 1 << 20;

/// Opens the trace at `path` (`-` for standard input), compressed or not, in constant memory. `path` may be a directory, or
/// a pattern with `*` and `?`, whose files are one trace ([`crate::combine`]). Where there is no such file, it may be the
/// common name of the files that blktrace made for the processors, as `blkparse -i` takes it.
///
/// Requests come with their time since the first one and with devices numbered in order of appearance. A record
/// that is earlier than the one before it arrives with that one; a warning counts such records. Formats that are known
/// not to be in order are sorted first, over 65,536 records.
///
/// # Errors
/// No such file, no known format, more than one format that fits, a damaged file, no requests.
pub fn open(path: &str, options: &OpenOptions) -> Result<Box<dyn Source>, TraceError> {
    let processors = of_processors(path);
    if !processors.is_empty() {
        return of_recording(path, processors.iter().map(|file| Part::of_file(file, options)).collect());
    }
    let parts = parts_of(path, options)?;
    match &parts[..] {
        [only] if only.name == path => open_input(Input::open(path)?, options),
        _ => combine(parts, Combination::default()),
    }
}

/// The files that a path names ([`files_of`]) as parts of one trace.
///
/// # Errors
/// As [`files_of`].
pub fn parts_of(path: &str, options: &OpenOptions) -> Result<Vec<Part>, TraceError> {
    let files = files_of(path)?;
    if files == [path] {
        return Ok(vec![Part::of_file(path, options)]);
    }
    let part = |file: &String| {
        let Part { name, open, again } = Part::of_file(file, options);
        let whole = path.to_owned();
        let named = move || {
            open().map_err(|mut error| {
                error.message +=
                    &format!("; all files of the directory or pattern {whole} are taken as one trace");
                error
            })
        };
        Part { name, open: Arc::new(named), again }
    };
    Ok(files.iter().map(part).collect())
}

impl Part {
    /// The trace at a path, whether it is there or not.
    #[must_use]
    pub fn of_file(path: &str, options: &OpenOptions) -> Part {
        let (name, options) = (path.to_owned(), options.clone());
        let open = Arc::new(move || {
            if of_processors(&name).is_empty() {
                open_input(Input::open(&name)?, &options)
            } else {
                open(&name, &options)
            }
        });
        Part { name: path.to_owned(), open, again: !crate::input::is_stream(path) }
    }
}

/// Reads a trace from `reader` as [`open`] does; `name` represents the path.
///
/// # Errors
/// As [`open`].
pub fn open_reader(
    name: &str,
    reader: Box<dyn std::io::Read + Send>,
    options: &OpenOptions,
) -> Result<Box<dyn Source>, TraceError> {
    open_input(Input::new(name, reader, None)?, options)
}

/// Reads a trace that is in memory as [`open`] does; `name` represents the path.
///
/// # Errors
/// As [`open`].
pub fn open_bytes(
    name: &str,
    bytes: Arc<[u8]>,
    options: &OpenOptions,
) -> Result<Box<dyn Source>, TraceError> {
    let total = bytes.len() as u64;
    open_input(Input::new(name, Box::new(std::io::Cursor::new(bytes)), Some(total))?, options)
}

fn open_input(input: Input, options: &OpenOptions) -> Result<Box<dyn Source>, TraceError> {
    let path = input.path.clone();
    if let Some(bytes) = options.sector_bytes
        && (bytes == 0 || bytes > SECTOR_BYTES_MAX)
    {
        let message = format!("found {bytes}; accepted: 1 to {SECTOR_BYTES_MAX} bytes");
        return Err(TraceError::new(&path, message).field("sector-bytes"));
    }
    let mut frames = Frames::new(input);
    let sample = frames.sample()?;
    if sample.is_empty() {
        return Err(TraceError::new(&path, "the trace is empty: 0 bytes when decompressed"));
    }
    let format = match (options.format, &options.columns) {
        (None | Some(Format::Csv), Some(_)) => Format::Csv,
        (Some(other), Some(_)) => {
            let message = format!("means nothing in {other}, whose columns are known; it is for csv");
            return Err(TraceError::new(&path, message).field("columns"));
        }
        (Some(format), None) => format,
        (None, None) => Format::detect(&path, sample)?,
    };
    if options.action.is_some() && !matches!(format, Format::Blkparse | Format::Blktrace) {
        let message = format!("means nothing in {format}; it is for blkparse and blktrace");
        return Err(TraceError::new(&path, message).field("action"));
    }
    format.read(frames, options)
}

/// A trace being read.
pub(crate) struct Trace<L> {
    frames: Frames,
    format: Format,
    layout: L,
    framing: Framing,
    shape: Shape,
    /// A record without its quotes.
    scratch: Vec<u8>,
    bad_records: BadRecords,
    clock: Clock,
    devices: Devices,
    /// Requests that are being sorted, in a format that needs it.
    window: Window,
    /// The write that follows a flush of the same record.
    behind_flush: Option<Request>,
    hints: Hints,
    /// The note about the file as a whole.
    file_note: Option<String>,
    /// Lines or records so far.
    line: u64,
    skipped: u64,
    /// The error of the first record that was skipped.
    first_skipped: Option<TraceError>,
    /// Valid records that are not requests.
    passed_over: u64,
    /// The error that ended reading while requests are still being sorted.
    unsorted: Option<Box<TraceError>>,
    /// The error that ended reading; repeated at each further call.
    failed: Option<Box<TraceError>>,
}

impl<L: Layout> Trace<L> {
    pub(crate) fn new(
        frames: Frames,
        format: Format,
        layout: L,
        shape: Shape,
        options: &OpenOptions,
    ) -> Self {
        let framing = layout.framing();
        let file_note = layout.file_note(frames.path());
        let mut hints = Hints::new(L::OP_CODED, layout.units());
        hints.time_is_known = options.time_is_scaled;
        // A format that finds the size of its sectors says so in the note.
        hints.sizes_are_known = options.sector_bytes.is_some() || file_note.is_some();
        Trace {
            frames,
            format,
            layout,
            framing,
            shape,
            scratch: Vec::new(),
            bad_records: options.bad_records,
            clock: Clock::default(),
            devices: Devices::default(),
            window: Window::default(),
            behind_flush: None,
            hints,
            file_note,
            line: 0,
            skipped: 0,
            first_skipped: None,
            passed_over: 0,
            unsorted: None,
            failed: None,
        }
    }

    /// The next request in order of arrival.
    #[inline]
    fn next(&mut self) -> Result<Option<Request>, Box<TraceError>> {
        let request = if L::UNORDERED { self.next_sorted()? } else { self.next_record()? };
        let Some(mut request) = request else {
            return if self.hints.requests() == 0 { Err(self.nothing()) } else { Ok(None) };
        };
        request.arrival_ns = self.clock.arrival_ns(request.arrival_ns);
        self.hints.observe(&request);
        Ok(Some(request))
    }

    /// The next request of a sorted format. Requests read before an error are handed out first.
    fn next_sorted(&mut self) -> Result<Option<Request>, Box<TraceError>> {
        loop {
            if let Some(request) = self.window.pop() {
                return Ok(Some(request));
            }
            if self.window.has_ended() {
                return self.unsorted.take().map_or(Ok(None), Err);
            }
            let mut window = std::mem::take(&mut self.window);
            self.unsorted = window.refill(|| self.next_record()).err();
            self.window = window;
        }
    }

    /// The next request as the trace has it, its time included; records that are not requests are skipped.
    #[inline]
    fn next_record(&mut self) -> Result<Option<Request>, Box<TraceError>> {
        if L::DURABILITY.flushes
            && let Some(request) = self.behind_flush.take()
        {
            return Ok(Some(request));
        }
        loop {
            let frame = match self.framing {
                Framing::Lines => self.frames.line(),
                Framing::Fixed(length) => self.frames.fixed(length),
                Framing::Tailed { head, length_at, big_endian } => {
                    self.frames.tailed(head, length_at, big_endian)
                }
            };
            let range = match frame.map_err(|error| self.broken(error))? {
                Some(Frame::Whole(range)) => range,
                Some(other) => {
                    self.line += 1;
                    self.bad(*unwhole(&other))?;
                    continue;
                }
                None => return Ok(None),
            };
            self.line += 1;
            let mut line = self.frames.bytes(range);
            let mut record = line;
            if self.framing == Framing::Lines {
                line = content(line);
                if line.is_empty() {
                    continue;
                }
                let plain = self.shape.is_plain();
                record = if plain { line } else { self.shape.record(line, &mut self.scratch) };
            }
            match self.layout.parse(record) {
                Ok(Some(record)) => {
                    let request = Request {
                        arrival_ns: record.time_ns,
                        offset: record.offset,
                        length: record.length,
                        device: self.devices.number(record.device),
                        op: record.op,
                        fua: record.fua,
                        handle: record.handle,
                    };
                    if L::DURABILITY.flushes && record.preflush {
                        self.behind_flush = Some(request);
                        return Ok(Some(Request::flush(request.arrival_ns, request.device)));
                    }
                    return Ok(Some(request));
                }
                Ok(None) => self.passed_over += u64::from(!self.layout.is_expected(record)),
                Err(_) if self.shape.is_header(line) => {}
                Err(flaw) => self.bad(*flaw)?,
            }
        }
    }

    /// Handles a record that cannot be read: returns an error, or counts it.
    #[cold]
    fn bad(&mut self, flaw: Flaw) -> Result<(), Box<TraceError>> {
        let refuse = self.bad_records == BadRecords::Refuse;
        self.skipped += u64::from(!refuse);
        if !refuse && self.first_skipped.is_some() {
            return Ok(());
        }
        let mut error = TraceError::new(self.frames.path(), flaw.message).at(self.line);
        error.field = flaw.field.map(str::to_owned);
        if refuse {
            error.message += "; --bad-records skip leaves such records out";
            return Err(Box::new(error));
        }
        self.first_skipped = Some(error);
        Ok(())
    }

    /// For a file that ends early, the error says after which record.
    #[cold]
    fn broken(&self, error: TraceError) -> Box<TraceError> {
        Box::new(error.at(self.line + 1))
    }

    #[cold]
    fn nothing(&self) -> Box<TraceError> {
        let mut message = format!("no requests in {} lines or records", self.line);
        if let Some(instead) = self.layout.instead_of_requests() {
            message += &format!(": {instead}");
        }
        if let Some(first) = &self.first_skipped {
            message += &format!("; {} were skipped, the first: {first}", self.skipped);
        }
        Box::new(TraceError::new(self.frames.path(), message))
    }
}

fn unwhole(frame: &Frame) -> Box<Flaw> {
    match frame {
        Frame::Partial(found, length) => {
            Flaw::whole(format!("the last record is cut short: {found} of {length} bytes"))
        }
        _ => Flaw::whole(format!(
            "a line of more than {} KiB; accepted: one record",
            crate::frames::LINE_MAX / 1024
        )),
    }
}

impl<L: Layout> Source for Trace<L> {
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError> {
        if let Some(error) = &self.failed {
            return Err((**error).clone());
        }
        let before = batch.len();
        batch.reserve(BATCH);
        while batch.len() - before < BATCH {
            match self.next() {
                Ok(Some(request)) => batch.push(request),
                Ok(None) => break,
                Err(error) => {
                    // The requests read before are handed over first: the caller may need no more than these.
                    let nothing_before = batch.len() == before;
                    let failed = self.failed.insert(error);
                    if nothing_before {
                        return Err((**failed).clone());
                    }
                    break;
                }
            }
        }
        Ok(batch.len() - before)
    }

    fn share_done(&self) -> Option<f64> {
        self.frames.share_done()
    }

    fn has_handles(&self) -> bool {
        self.layout.has_handles()
    }

    fn first_ns(&self) -> Option<u64> {
        self.clock.first_ns
    }

    fn clock(&self) -> TraceClock {
        let Some(first_ns) = self.clock.first_ns else { return TraceClock::Own };
        if L::HAS_MACHINE_CLOCK {
            return TraceClock::Machine(first_ns);
        }
        match self.layout.since_1970_ns(first_ns) {
            Some(time_ns) if CALENDAR_NS.contains(&time_ns) => TraceClock::Calendar(time_ns),
            _ => TraceClock::Own,
        }
    }

    fn device(&self, number: u32) -> DeviceName {
        let given = if L::UNORDERED { self.window.given(number) } else { number };
        self.devices.name(given).cloned().unwrap_or(DeviceName::Number(number.into()))
    }

    fn sha256(&self) -> Option<String> {
        self.frames.sha256()
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn warnings(&self) -> Vec<String> {
        let note = self.layout.clock_note();
        let mut warnings: Vec<String> = self.file_note.clone().into_iter().collect();
        warnings.extend(self.hints.warnings(note.is_some()));
        warnings.extend(note.map(str::to_owned));
        warnings.extend(self.clock.warning(L::UNORDERED));
        if let Some(first) = &self.first_skipped {
            warnings.push(format!("{} bad records skipped; the first: {first}", self.skipped));
        }
        if self.passed_over > 0 {
            warnings.push(format!("{} {} passed over", self.passed_over, L::PASSED_OVER));
        }
        warnings
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            name: self.frames.path().into(),
            format: self.format.name().into(),
            synthetic: false,
            depth: None,
            extent: None,
        }
    }
}

/// Times since 1970 that a recording may have: from 1990 to 2100.
const CALENDAR_NS: std::ops::Range<u64> = 631_152_000_000_000_000..4_102_444_800_000_000_000;

/// Turns a trace's times to ns since its first request, never backwards.
#[derive(Default)]
struct Clock {
    first_ns: Option<u64>,
    previous_ns: u64,
    backwards: u64,
    largest_step_ns: u64,
}

impl Clock {
    #[inline]
    fn arrival_ns(&mut self, time_ns: u64) -> u64 {
        let first_ns = *self.first_ns.get_or_insert(time_ns);
        if time_ns < self.previous_ns {
            self.backwards += 1;
            self.largest_step_ns = self.largest_step_ns.max(self.previous_ns - time_ns);
        } else {
            self.previous_ns = time_ns;
        }
        self.previous_ns - first_ns
    }

    fn warning(&self, sorted: bool) -> Option<String> {
        (self.backwards > 0).then(|| {
            let even = if sorted { format!(", sorted over {WINDOW} records,") } else { String::new() };
            format!(
                "{} records{even} were earlier than the one before them, by up to {}; they arrive with it",
                self.backwards,
                crate::hints::time(self.largest_step_ns)
            )
        })
    }
}
