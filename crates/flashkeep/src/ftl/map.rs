//! The page maps: four bytes a logical page.

use crate::flash::Ppn;
use crate::kernel::{in_large_pages, prefetch};

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

/// Where the logical pages of every leaf are; fresh maps touch no memory. The entries of one page number lie side by
/// side, leaf by leaf, because what a scheme does with a stripe it does with the same page of several leaves.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Maps {
    entries: Vec<u32>,
    leaves: usize,
}

const PENDING: u32 = 1 << 31;

impl Maps {
    /// Maps of `leaves` leaves, each of `pages` unmapped pages.
    #[must_use]
    pub fn new(leaves: usize, pages: u32) -> Self {
        let entries = vec![0; leaves * pages as usize];
        in_large_pages(&entries);
        Maps { entries, leaves }
    }

    #[inline]
    fn index(&self, leaf: usize, lpn: u32) -> usize {
        debug_assert!(leaf < self.leaves);
        lpn as usize * self.leaves + leaf
    }

    /// Logical pages of a leaf.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.entries.len().checked_div(self.leaves).unwrap_or(0) as u32
    }

    /// Whether a leaf has no pages at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Pages of a leaf that are somewhere, counted one by one.
    #[must_use]
    pub fn mapped(&self, leaf: usize) -> u32 {
        self.entries.iter().skip(leaf).step_by(self.leaves).filter(|&&raw| raw != 0).count() as u32
    }

    /// Where a page is.
    #[must_use]
    #[inline]
    pub fn get(&self, leaf: usize, lpn: u32) -> Entry {
        Entry::from_raw(self.entries[self.index(leaf, lpn)])
    }

    /// Whether a page is at `ppn`.
    #[must_use]
    #[inline]
    pub fn is_at(&self, leaf: usize, lpn: u32, ppn: Ppn) -> bool {
        self.entries[self.index(leaf, lpn)] == ppn.0 + 1
    }

    /// Asks the processor for a page's entry before it is wanted.
    #[inline]
    pub fn prefetch(&self, leaf: usize, lpn: u32) {
        prefetch(&self.entries, self.index(leaf, lpn));
    }

    /// A page that an operation carries has come to a place; false where the page is no longer its business.
    #[inline]
    pub fn arrive(&mut self, leaf: usize, lpn: u32, op: u32, ppn: Ppn) -> bool {
        let at = self.index(leaf, lpn);
        let entry = &mut self.entries[at];
        let expected = *entry == op | PENDING;
        if expected {
            *entry = ppn.0 + 1;
        }
        expected
    }

    /// Says where a page is from now on.
    #[inline]
    pub fn set(&mut self, leaf: usize, lpn: u32, entry: Entry) {
        let at = self.index(leaf, lpn);
        self.entries[at] = entry.to_raw();
    }

    /// The same; where it was.
    #[inline]
    pub fn replace(&mut self, leaf: usize, lpn: u32, entry: Entry) -> Entry {
        let at = self.index(leaf, lpn);
        Entry::from_raw(std::mem::replace(&mut self.entries[at], entry.to_raw()))
    }

    /// Forgets all that a leaf has, without touching memory for what it never had.
    pub fn clear(&mut self, leaf: usize) {
        let entries = self.entries.iter_mut().skip(leaf).step_by(self.leaves);
        entries.filter(|entry| **entry != 0).for_each(|entry| *entry = 0);
    }
}
