//! The page map: four bytes a logical page.

use crate::kernel::prefetch;
use crate::media::Ppn;

/// Where a logical page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nowhere: never written, or trimmed. Known zeros.
    Unmapped,
    /// In flash.
    At(Ppn),
    /// In the controller's memory, on its way to a place: the operation that carries it.
    Pending(u32),
}

impl Entry {
    #[inline]
    fn from_raw(raw: u32) -> Self {
        match raw {
            0 => Entry::Unmapped,
            raw if raw & PENDING != 0 => Entry::Pending(raw & !PENDING),
            raw => Entry::At(Ppn(raw - 1)),
        }
    }

    #[inline]
    fn to_raw(self) -> u32 {
        match self {
            Entry::Unmapped => 0,
            Entry::At(ppn) => ppn.0 + 1,
            Entry::Pending(op) => op | PENDING,
        }
    }
}

/// Logical pages to where they are; a fresh map touches no memory.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Map {
    entries: Vec<u32>,
}

const PENDING: u32 = 1 << 31;

impl Map {
    /// A map of `pages` unmapped pages.
    #[must_use]
    pub fn new(pages: u32) -> Self {
        Map { entries: vec![0; pages as usize] }
    }

    /// Logical pages.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Whether it has no pages at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Pages that are somewhere, counted one by one.
    #[must_use]
    pub fn mapped(&self) -> u32 {
        self.entries.iter().filter(|&&raw| raw != 0).count() as u32
    }

    /// Where a page is.
    #[must_use]
    #[inline]
    pub fn get(&self, lpn: u32) -> Entry {
        Entry::from_raw(self.entries[lpn as usize])
    }

    /// Whether a page is at `ppn`.
    #[must_use]
    #[inline]
    pub fn is_at(&self, lpn: u32, ppn: Ppn) -> bool {
        self.entries[lpn as usize] == ppn.0 + 1
    }

    /// Asks the processor for a page's entry before it is wanted.
    #[inline]
    pub fn prefetch(&self, lpn: u32) {
        prefetch(&self.entries, lpn as usize);
    }

    /// A page that an operation carries has come to a place; false where the page is no longer its business.
    #[inline]
    pub fn arrive(&mut self, lpn: u32, op: u32, ppn: Ppn) -> bool {
        let entry = &mut self.entries[lpn as usize];
        let expected = *entry == op | PENDING;
        if expected {
            *entry = ppn.0 + 1;
        }
        expected
    }

    /// Says where a page is from now on.
    #[inline]
    pub fn set(&mut self, lpn: u32, entry: Entry) {
        self.entries[lpn as usize] = entry.to_raw();
    }

    /// The same; where it was.
    #[inline]
    pub fn replace(&mut self, lpn: u32, entry: Entry) -> Entry {
        Entry::from_raw(std::mem::replace(&mut self.entries[lpn as usize], entry.to_raw()))
    }
}
