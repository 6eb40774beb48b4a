//! Makes a trace of a stream of requests.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{Format, Source, TraceError};

/// Why a trace could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// The requests cannot be read, or cannot be said in this format.
    Trace(TraceError),
    /// The output takes nothing more.
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

/// Writes all of `source` to `out` in a format; how many requests there were.
///
/// # Errors
/// A record that cannot be read; a request that the format has no way to say (a trim, half a sector, a second
/// device); an output that takes nothing more.
pub fn write(source: &mut dyn Source, format: Format, out: &mut dyn Write) -> Result<u64, WriteError> {
    let (mut batch, mut bytes) = (Vec::new(), Vec::new());
    let mut written = 0;
    while source.fill(&mut batch).map_err(WriteError::Trace)? > 0 {
        for request in &batch {
            written += 1;
            format.write(request, &mut bytes).map_err(|message| {
                let message = format!("cannot be written as {}: {message}", format.name());
                WriteError::Trace(TraceError::new(&source.provenance().name, message).at(written))
            })?;
        }
        out.write_all(&bytes).map_err(WriteError::Output)?;
        batch.clear();
        bytes.clear();
    }
    out.flush().map_err(WriteError::Output)?;
    Ok(written)
}

/// A file being written, compressed as its name's ending says (`.zst`, `.gz`, else plain). It has its name only once
/// [`Output::finish`] has succeeded; dropped before, it leaves nothing behind.
pub struct Output {
    encoder: Option<Encoder>,
    /// Where the bytes are, and where they belong; `None` where they go straight there (a pipe, standard output).
    place: Option<(PathBuf, PathBuf)>,
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
    let target = Path::new(path);
    let (place, raw): (_, Box<dyn Write + Send>) = if path == "-" {
        (None, Box::new(io::stdout()))
    } else if target.exists() && !target.is_file() {
        (None, Box::new(File::options().write(true).open(target)?))
    } else {
        let partial = PathBuf::from(format!("{path}.partial"));
        let file = File::create(&partial)?;
        (Some((partial, target.to_owned())), Box::new(file))
    };
    let encoder = match target.extension().and_then(|ending| ending.to_str()) {
        Some("zst") => Encoder::Zstd(zstd::stream::write::Encoder::new(raw, 0)?),
        Some("gz") => Encoder::Gzip(flate2::write::GzEncoder::new(raw, flate2::Compression::default())),
        _ => Encoder::Plain(BufWriter::new(raw)),
    };
    Ok(Output { encoder: Some(encoder), place })
}

impl Output {
    /// Writes what is left and gives the file its name.
    ///
    /// # Errors
    /// The output takes nothing more, or cannot be renamed.
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
            // It is in the way only if it stays; nothing more can be done about it here.
            let _ = fs::remove_file(partial);
        }
    }
}
