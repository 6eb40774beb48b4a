//! Writes a stream of requests as a trace.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{BadRecords, Format, Op, Request, Source, TraceError};

/// Why a trace could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// The requests cannot be read, or this format cannot represent them.
    Trace(TraceError),
    /// Writing to the output failed.
    Output(io::Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Trace(error) => error.fmt(f),
            WriteError::Output(error) => write!(f, "the trace cannot be written: {error}"),
        }
    }
}

impl std::error::Error for WriteError {}

/// How a trace is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Handling of requests that the format cannot represent (a trim, half a sector).
    pub unsayable: BadRecords,
    /// Write the requests of all devices as those of one device.
    pub merge_devices: bool,
    /// Most requests to write.
    pub limit: Option<u64>,
}

/// The result of writing a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Requests written.
    pub requests: u64,
    /// Information of the source that the trace lacks, a line each.
    pub lost: Vec<String>,
}

/// Writes all of `source` to `out` in a format; returns the number of requests.
///
/// # Errors
/// As [`convert`].
pub fn write(source: &mut dyn Source, format: Format, out: &mut dyn Write) -> Result<u64, WriteError> {
    convert(source, format, &WriteOptions::default(), out).map(|written| written.requests)
}

/// Writes `source` to `out` in a format; the result says which information was lost.
///
/// # Errors
/// A record that cannot be read; a request that the format cannot represent (a trim, half a sector, a second device),
/// unless such requests are skipped; a failed write to the output.
pub fn convert(
    source: &mut dyn Source,
    format: Format,
    options: &WriteOptions,
    out: &mut dyn Write,
) -> Result<Written, WriteError> {
    let handles = format.has_handles() && source.has_handles();
    let (mut batch, mut bytes) = (Vec::new(), format.header(handles).as_bytes().to_vec());
    let mut tally = Losses::default();
    let mut introduced = Vec::new();
    let (mut read, limit) = (0, options.limit.unwrap_or(u64::MAX));
    while read < limit && source.fill(&mut batch).map_err(WriteError::Trace)? > 0 {
        batch.truncate(usize::try_from(limit - read).unwrap_or(usize::MAX));
        for request in &mut batch {
            read += 1;
            tally.devices = tally.devices.max(request.device + 1);
            if options.merge_devices {
                request.device = 0;
            }
            if !tally.keeps(request, format) {
                continue;
            }
            let before = bytes.len();
            let device = request.device as usize;
            if introduced.len() <= device {
                introduced.resize(device + 1, false);
            }
            if !introduced[device] {
                format.introduce(request, &mut bytes);
            }
            match format.write(request, &mut bytes) {
                Ok(()) => {
                    introduced[device] = true;
                    tally.wrote(request, format);
                    if handles {
                        format.write_handle(request, &mut bytes);
                    } else if request.handle > 0 {
                        tally.handles += 1;
                    }
                }
                Err(message) if options.unsayable == BadRecords::Skip => {
                    bytes.truncate(before);
                    tally.left_out(request, read, message);
                }
                Err(message) => return Err(unsayable(source, format, read, &message)),
            }
        }
        out.write_all(&bytes).map_err(WriteError::Output)?;
        batch.clear();
        bytes.clear();
    }
    out.write_all(&bytes).map_err(WriteError::Output)?;
    out.flush().map_err(WriteError::Output)?;
    Ok(Written { requests: tally.written, lost: tally.told(format, options.merge_devices) })
}

fn unsayable(source: &dyn Source, format: Format, number: u64, message: &str) -> WriteError {
    let provenance = source.provenance();
    // `--bad-records` does not apply to a synthetic workload, whose sizes the user can choose.
    let hint = if provenance.synthetic { "" } else { "; --bad-records skip leaves such requests out" };
    let message = format!("cannot be written as {format}: {message}{hint}");
    WriteError::Trace(TraceError::new(&provenance.name, message).at(number))
}

/// Counts the information that a format cannot represent.
///
/// Flushes and the FUA of writes are left out without an error: the data are the same without them.
#[derive(Default)]
struct Losses {
    written: u64,
    devices: u32,
    /// Requests whose time was cut, and the most that was cut off.
    cut: u64,
    cut_most_ns: u64,
    trims: u64,
    flushes: u64,
    /// Writes that lost the mark that they must be durable.
    fua: u64,
    /// Writes that lost their placement handle.
    handles: u64,
    others: u64,
    /// The first of the others, and why.
    first_other: Option<(u64, String)>,
}

impl Losses {
    /// Whether the format can represent a request; takes from it the FUA that the format does not have.
    fn keeps(&mut self, request: &mut Request, format: Format) -> bool {
        let kept = format.durability();
        if request.op == Op::Flush && !kept.flushes {
            self.flushes += 1;
            return false;
        }
        if request.fua && !kept.fua {
            self.fua += 1;
            request.fua = false;
        }
        true
    }

    #[inline]
    fn wrote(&mut self, request: &Request, format: Format) {
        self.written += 1;
        let finer_ns = request.arrival_ns % format.tick_ns();
        self.cut += u64::from(finer_ns > 0);
        self.cut_most_ns = self.cut_most_ns.max(finer_ns);
    }

    #[cold]
    fn left_out(&mut self, request: &Request, number: u64, message: String) {
        if request.op == Op::Trim {
            self.trims += 1;
        } else {
            self.others += 1;
            self.first_other.get_or_insert((number, message));
        }
    }

    fn told(self, format: Format, merged: bool) -> Vec<String> {
        let mut lost = Vec::new();
        if self.cut > 0 {
            let (cut, most) = (self.cut, crate::hints::time(self.cut_most_ns));
            let tick = crate::hints::time(format.tick_ns());
            lost.push(format!("{cut} times were cut to the clock of {format}, {tick}, by up to {most}"));
        }
        if merged && self.devices > 1 {
            lost.push(format!("{} devices were laid over each other", self.devices));
        }
        if self.trims > 0 {
            lost.push(format!("{} trims were left out, which {format} cannot say", self.trims));
        }
        if self.flushes > 0 {
            lost.push(format!("{} flushes were left out, which {format} cannot say", self.flushes));
        }
        if self.fua > 0 {
            lost.push(format!("{} writes lost their FUA mark, which {format} cannot say", self.fua));
        }
        if self.handles > 0 {
            lost.push(format!(
                "{} writes lost their placement handle, which {format} cannot say",
                self.handles
            ));
        }
        if let Some((number, message)) = self.first_other {
            let others = self.others;
            lost.push(format!(
                "{others} requests were left out, which {format} cannot say; the first, request {number}: {message}"
            ));
        }
        lost
    }
}

/// A file being written, compressed as its name's ending says (`.zst`, `.gz`, else plain). The file gets its name when
/// [`Output::finish`] succeeds; an output dropped before that leaves no file.
pub struct Output {
    encoder: Option<Encoder>,
    /// `None` if the bytes are written directly (to a pipe, to standard output).
    place: Place,
}

enum Encoder {
    Plain(BufWriter<Box<dyn Write + Send>>),
    Zstd(zstd::stream::write::Encoder<'static, Box<dyn Write + Send>>),
    Gzip(flate2::write::GzEncoder<Box<dyn Write + Send>>),
}

/// Starts a file to be written; `-` is standard output.
///
/// # Errors
/// The file cannot be made.
pub fn create(path: &str) -> io::Result<Output> {
    let (place, raw) = begin(path)?;
    let encoder = match Path::new(path).extension().and_then(|ending| ending.to_str()) {
        Some("zst") => Encoder::Zstd(zstd::stream::write::Encoder::new(raw, 0)?),
        Some("gz") => Encoder::Gzip(flate2::write::GzEncoder::new(raw, flate2::Compression::default())),
        _ => Encoder::Plain(BufWriter::new(raw)),
    };
    Ok(Output { encoder: Some(encoder), place })
}

/// As [`create`], but the bytes are written as they are, whichever ending the name has.
///
/// # Errors
/// The file cannot be made.
pub fn create_plain(path: &str) -> io::Result<Output> {
    let (place, raw) = begin(path)?;
    Ok(Output { encoder: Some(Encoder::Plain(BufWriter::new(raw))), place })
}

/// The temporary file until it is complete, and its final name.
type Place = Option<(PathBuf, PathBuf)>;

/// Opens a temporary file in the same folder, or, for a pipe or a device, the target itself. A symbolic link is kept
/// and leads to the new file.
fn begin(path: &str) -> io::Result<(Place, Box<dyn Write + Send>)> {
    if path == "-" {
        return Ok((None, Box::new(io::stdout())));
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    if target.exists() && !target.is_file() {
        return Ok((None, Box::new(File::options().write(true).open(target)?)));
    }
    let mut partial = target.clone().into_os_string();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let file = File::create(&partial)?;
    Ok((Some((partial, target)), Box::new(file)))
}

impl Output {
    /// Writes the remaining bytes and gives the file its name.
    ///
    /// # Errors
    /// The output cannot be written to or renamed.
    pub fn finish(mut self) -> io::Result<()> {
        match self.encoder.take() {
            Some(Encoder::Plain(mut writer)) => writer.flush()?,
            Some(Encoder::Zstd(encoder)) => encoder.finish()?.flush()?,
            Some(Encoder::Gzip(encoder)) => encoder.finish()?.flush()?,
            None => {}
        }
        if let Some((partial, target)) = &self.place {
            fs::rename(partial, target)?;
            self.place = None;
        }
        Ok(())
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self.encoder.as_mut().expect("only finishing takes the encoder") {
            Encoder::Plain(writer) => writer,
            Encoder::Zstd(encoder) => encoder,
            Encoder::Gzip(encoder) => encoder,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.place {
            // If removing fails, the temporary file stays; there is no way to report it here.
            let _ = fs::remove_file(partial);
        }
    }
}
