//! Cuts a trace's bytes into records, in constant memory: lines of text, or binary records of fixed length.

use std::ops::Range;

use crate::TraceError;
use crate::input::Input;

/// The longest line that is accepted; records of all formats are shorter.
pub(crate) const LINE_MAX: usize = 64 * 1024;

/// How many bytes the detection of the format looks at.
const SAMPLE: usize = 64 * 1024;

/// How many bytes are read at once: many lines, but less than a processor cache.
const BUFFER: usize = 256 * 1024;

/// One record's place in the buffer, or why there is none.
pub(crate) enum Frame {
    /// A line without its end, or a whole record.
    Whole(Range<usize>),
    /// A line of more than [`LINE_MAX`] bytes.
    Overlong,
    /// The last record of a binary trace, cut short: the bytes that are there, and those that it has.
    Partial(usize, usize),
}

/// The length of what follows a record.
pub(crate) fn tail_length(field: [u8; 2], big_endian: bool) -> usize {
    usize::from(if big_endian { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) })
}

/// The bytes of a trace, record by record.
pub(crate) struct Frames {
    input: Input,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    failed: Option<TraceError>,
}

impl Frames {
    pub(crate) fn new(input: Input) -> Self {
        Frames { input, buffer: vec![0; BUFFER], start: 0, end: 0, ended: false, failed: None }
    }

    pub(crate) fn path(&self) -> &str {
        &self.input.path
    }

    pub(crate) fn share_done(&self) -> Option<f64> {
        self.input.share_done()
    }

    pub(crate) fn sha256(&self) -> Option<String> {
        self.input.sha256()
    }

    #[inline]
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// The head of the trace, read but not consumed. Of a damaged trace it is the part that could be read.
    pub(crate) fn sample(&mut self) -> Result<&[u8], TraceError> {
        while self.end < SAMPLE && !self.ended {
            if let Err(error) = self.refill() {
                if self.end == 0 {
                    return Err(error);
                }
                break;
            }
        }
        Ok(&self.buffer[..self.end.min(SAMPLE)])
    }

    /// The next line.
    #[inline]
    pub(crate) fn line(&mut self) -> Result<Option<Frame>, TraceError> {
        loop {
            let waiting = &self.buffer[self.start..self.end];
            if let Some(length) = memchr::memchr(b'\n', waiting) {
                let start = self.start;
                self.start += length + 1;
                let whole = length <= LINE_MAX;
                return Ok(Some(if whole { Frame::Whole(start..start + length) } else { Frame::Overlong }));
            }
            if waiting.len() > LINE_MAX {
                self.skip_line()?;
                return Ok(Some(Frame::Overlong));
            }
            if self.ended {
                let rest = std::mem::replace(&mut self.start, self.end)..self.end;
                return Ok(if rest.is_empty() { None } else { Some(Frame::Whole(rest)) });
            }
            self.refill()?;
        }
    }

    /// The next record of `length` bytes.
    #[inline]
    pub(crate) fn fixed(&mut self, length: usize) -> Result<Option<Frame>, TraceError> {
        while self.end - self.start < length {
            if self.ended {
                let rest = self.end - self.start;
                self.start = self.end;
                return Ok(if rest == 0 { None } else { Some(Frame::Partial(rest, length)) });
            }
            self.refill()?;
        }
        let start = self.start;
        self.start += length;
        Ok(Some(Frame::Whole(start..start + length)))
    }

    /// The next record of `head` bytes, without the bytes after it, which are skipped: as many as the 16-bit number at
    /// `length_at` says.
    #[inline]
    pub(crate) fn tailed(
        &mut self,
        head: usize,
        length_at: usize,
        big_endian: bool,
    ) -> Result<Option<Frame>, TraceError> {
        while self.end - self.start < head && !self.ended {
            self.refill()?;
        }
        let length = match self.buffer[self.start..self.end].get(length_at..length_at + 2) {
            Some(bytes) => head + tail_length([bytes[0], bytes[1]], big_endian),
            None => head,
        };
        Ok(match self.fixed(length)? {
            Some(Frame::Whole(record)) => Some(Frame::Whole(record.start..record.start + head)),
            other => other,
        })
    }

    /// Drops everything up to and including the next line end.
    fn skip_line(&mut self) -> Result<(), TraceError> {
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
                self.start += length + 1;
                return Ok(());
            }
            self.start = self.end;
            if self.ended {
                return Ok(());
            }
            self.refill()?;
        }
    }

    /// Moves the unread bytes to the front of the buffer and reads more after them. There are always fewer unread
    /// bytes than the buffer has.
    fn refill(&mut self) -> Result<(), TraceError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        match self.input.read(&mut self.buffer[self.end..]) {
            Ok(count) => {
                self.ended = count == 0;
                self.end += count;
                Ok(())
            }
            Err(error) => {
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }
}
