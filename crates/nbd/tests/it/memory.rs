//! A device in memory that answers at once, in the thread of the connection. It knows which pages were
//! written, and pages can be lost.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use flashkeep_nbd::{Complete, Completions, Device, Errno, Extent, Failure, Outcome, Piece, Request, Submit};

/// The unit of allocation and of loss.
pub(crate) const PAGE: u64 = 4096;

/// The device.
pub(crate) struct Memory {
    completions: Completions,
    contents: Mutex<Contents>,
}

/// Its bytes, and the state of its pages.
pub(crate) struct Contents {
    /// All bytes.
    pub(crate) bytes: Vec<u8>,
    written: Vec<bool>,
    /// Pages that cannot be read.
    pub(crate) lost: BTreeSet<u64>,
}

/// The state of a page, as pieces and extents show it.
#[derive(Clone, Copy, PartialEq)]
enum Page {
    Written,
    Hole,
    Lost,
}

impl Memory {
    /// A device of zeroes.
    pub(crate) fn new(completions: Completions, size: u64) -> Self {
        let pages = usize::try_from(size.div_ceil(PAGE)).expect("the size fits in memory");
        let bytes = vec![0; usize::try_from(size).expect("the size fits in memory")];
        let contents = Contents { bytes, written: vec![false; pages], lost: BTreeSet::new() };
        Self { completions, contents: Mutex::new(contents) }
    }

    /// Looks at the contents, or changes them.
    pub(crate) fn with<T>(&self, action: impl FnOnce(&mut Contents) -> T) -> T {
        action(&mut self.contents.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Contents {
    /// Writes all pages, so that reads carry bytes.
    pub(crate) fn fill(&mut self) {
        for (index, byte) in self.bytes.iter_mut().enumerate() {
            *byte = (index % 251) as u8;
        }
        self.written.fill(true);
    }

    /// The outcome of a request.
    pub(crate) fn carry_out(&mut self, request: &Request) -> Outcome {
        match request {
            Request::Read { offset, length, .. } => Outcome::Read(self.read(*offset, *length)),
            Request::Write { offset, data, .. } => {
                let start = *offset as usize;
                self.bytes[start..start + data.len()].copy_from_slice(data);
                self.mark(*offset, data.len() as u64, true);
                Outcome::Done
            }
            Request::WriteZeroes { fast: true, .. } => {
                Outcome::Failed(Failure::new(Errno::Unsupported, "zeroes are not faster"))
            }
            Request::Trim { offset, length, .. } => self.zero(*offset, *length, true),
            Request::WriteZeroes { offset, length, may_trim, .. } => self.zero(*offset, *length, *may_trim),
            Request::Flush | Request::Cache { .. } => Outcome::Done,
            Request::BlockStatus { offset, length, .. } => {
                let extent =
                    |(page, _, length)| Extent { length, hole: page == Page::Hole, zero: page == Page::Hole };
                Outcome::Extents(self.runs(*offset, *length).into_iter().map(extent).collect())
            }
        }
    }

    fn read(&self, offset: u64, length: u64) -> Vec<Piece> {
        let piece = |(page, offset, length)| match page {
            Page::Written => {
                let bytes = self.bytes[offset as usize..(offset + length) as usize].to_vec();
                Piece::Data { offset, bytes }
            }
            Page::Hole => Piece::Hole { offset, length },
            Page::Lost => Piece::Unreadable { offset, length },
        };
        self.runs(offset, length).into_iter().map(piece).collect()
    }

    fn zero(&mut self, offset: u64, length: u64, trim: bool) -> Outcome {
        self.bytes[offset as usize..(offset + length) as usize].fill(0);
        let first_whole = offset.next_multiple_of(PAGE);
        let end_whole = (offset + length) / PAGE * PAGE;
        if !trim {
            self.mark(offset, length, true);
        } else if first_whole < end_whole {
            self.mark(first_whole, end_whole - first_whole, false);
        }
        Outcome::Done
    }

    fn mark(&mut self, offset: u64, length: u64, written: bool) {
        for page in offset / PAGE..(offset + length).div_ceil(PAGE) {
            self.written[page as usize] = written;
            self.lost.remove(&page);
        }
    }

    /// Ranges of pages of one state.
    fn runs(&self, offset: u64, length: u64) -> Vec<(Page, u64, u64)> {
        let mut runs: Vec<(Page, u64, u64)> = Vec::new();
        for page in offset / PAGE..(offset + length).div_ceil(PAGE) {
            let start = offset.max(page * PAGE);
            let bytes = (offset + length).min((page + 1) * PAGE) - start;
            let state = if self.lost.contains(&page) {
                Page::Lost
            } else if self.written[page as usize] {
                Page::Written
            } else {
                Page::Hole
            };
            match runs.last_mut() {
                Some((same, _, before)) if *same == state => *before += bytes,
                _ => runs.push((state, start, bytes)),
            }
        }
        runs
    }
}

impl Device for Memory {
    fn submit(&self, submit: Submit) {
        let outcome = self.with(|contents| contents.carry_out(&submit.request));
        self.completions.complete(Complete { connection: submit.connection, request: submit.tag, outcome });
    }
}
