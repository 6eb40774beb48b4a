//! Bytes of a trace: from a file or standard input, plain, zstd or gzip, detected from the content.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::TraceError;
use sha2::{Digest as _, Sha256};

/// The longest window that a zstd frame may need: that of `zstd --long=31`.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// A trace's bytes, decompressed, and how far the reading has come.
pub(crate) struct Input {
    pub(crate) path: String,
    reader: Box<dyn Read + Send>,
    compression: Compression,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
    /// SHA-256 of a stream that has ended; never that of a file.
    sha256: Arc<OnceLock<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Compression {
    Plain,
    Zstd,
    Gzip,
}

/// Counts the bytes read through it, so that progress refers to the bytes of the compressed file.
struct Counting<R> {
    inner: R,
    bytes_read: Arc<AtomicU64>,
}

/// Hashes the bytes of a stream, which cannot be read again, and leaves the hash when the stream has ended.
struct Hashing<R> {
    inner: R,
    hash: Sha256,
    ended: Arc<OnceLock<String>>,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            let hash = || self.hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            self.ended.get_or_init(hash);
        }
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Input {
    /// Opens `path`, `-` being standard input.
    pub(crate) fn open(path: &str) -> Result<Self, TraceError> {
        let cannot = |error: &io::Error| TraceError::new(path, cannot_open(error));
        if path == "-" {
            return Input::hashed(path, Box::new(io::stdin()));
        }
        let file = File::open(path).map_err(|error| cannot(&error))?;
        let metadata = file.metadata().map_err(|error| cannot(&error))?;
        if metadata.is_dir() {
            return Err(TraceError::new(path, "this is a directory; a trace is one file, or `-`"));
        }
        // The length of a pipe is not known.
        if metadata.is_file() {
            Input::new(path, Box::new(file), Some(metadata.len()))
        } else {
            Input::hashed(path, Box::new(file))
        }
    }

    /// A stream that can be read only once.
    fn hashed(path: &str, raw: Box<dyn Read + Send>) -> Result<Self, TraceError> {
        let ended = Arc::new(OnceLock::new());
        let raw = Hashing { inner: raw, hash: Sha256::new(), ended: Arc::clone(&ended) };
        Ok(Input { sha256: ended, ..Input::new(path, Box::new(raw), None)? })
    }

    /// SHA-256 of a stream that was read to its end.
    pub(crate) fn sha256(&self) -> Option<String> {
        self.sha256.get().cloned()
    }

    /// Reads the magic number of `raw` and puts the right decoder before it.
    pub(crate) fn new(
        path: &str,
        raw: Box<dyn Read + Send>,
        bytes_total: Option<u64>,
    ) -> Result<Self, TraceError> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let mut raw = Counting { inner: raw, bytes_read: Arc::clone(&bytes_read) };
        let mut head = Vec::with_capacity(6);
        (&mut raw)
            .take(6)
            .read_to_end(&mut head)
            .map_err(|error| TraceError::new(path, format!("cannot be read: {error}")))?;
        if head.is_empty() {
            return Err(TraceError::new(path, "the trace is empty: 0 bytes"));
        }
        let compression = compression_of(&head).map_err(|message| TraceError::new(path, message))?;
        let whole = Cursor::new(head).chain(raw);
        let reader: Box<dyn Read + Send> = match compression {
            Compression::Plain => Box::new(whole),
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(whole)),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(whole)
                    .map_err(|error| TraceError::new(path, format!("zstd cannot start: {error}")))?;
                decoder
                    .window_log_max(ZSTD_WINDOW_LOG_MAX)
                    .map_err(|error| TraceError::new(path, format!("zstd cannot start: {error}")))?;
                Box::new(decoder)
            }
        };
        let reader = crate::encoding::decode(reader).map_err(|message| TraceError::new(path, message))?;
        Ok(Input { path: path.into(), reader, compression, bytes_read, bytes_total, sha256: Arc::default() })
    }

    /// Reads some bytes into `buffer`; 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, TraceError> {
        loop {
            match self.reader.read(buffer) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::new(&self.path, self.broken(&error))),
            }
        }
    }

    /// The share of the file that has been read, 0 to 1.
    pub(crate) fn share_done(&self) -> Option<f64> {
        let total = self.bytes_total.filter(|&total| total > 0)?;
        Some((self.bytes_read.load(Ordering::Relaxed) as f64 / total as f64).min(1.0))
    }

    fn broken(&self, error: &io::Error) -> String {
        let name = match self.compression {
            Compression::Plain => return format!("cannot be read: {error}"),
            Compression::Zstd => "zstd",
            Compression::Gzip => "gzip",
        };
        if error.kind() == io::ErrorKind::UnexpectedEof {
            format!("the {name} data end before their time: the file is truncated; fetch or copy it again")
        } else {
            format!("the {name} data are damaged: {error}")
        }
    }
}

/// Whether a path names something that can be read only once.
pub(crate) fn is_stream(path: &str) -> bool {
    path == "-" || std::fs::metadata(path).is_ok_and(|file| !file.is_file() && !file.is_dir())
}

fn cannot_open(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "this may not be read: permission denied".into(),
        _ => format!("cannot be opened: {error}"),
    }
}

/// Detects the compression from the first bytes.
fn compression_of(head: &[u8]) -> Result<Compression, String> {
    let unknown =
        |name| Err(format!("compressed with {name}, which is not read here; accepted: zstd, gzip or plain"));
    match head {
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Ok(Compression::Zstd),
        // A skippable frame may come first.
        [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Ok(Compression::Zstd),
        [0x1F, 0x8B, ..] => Ok(Compression::Gzip),
        [0xFD, b'7', b'z', b'X', b'Z', ..] => unknown("xz"),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, ..] => unknown("bzip2"),
        [b'P', b'K', 3, 4, ..] => unknown("zip"),
        _ => Ok(Compression::Plain),
    }
}
