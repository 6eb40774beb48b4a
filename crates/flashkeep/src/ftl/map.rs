//! The page maps: four bytes per logical page.

use super::InitialPlaces;
use crate::flash::Ppn;
use crate::kernel::{Bits, NumberTable};

/// The map entry of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapEntry {
    /// Unmapped: never written, or trimmed. The page is a known zero.
    Unmapped,
    /// In flash.
    At(Ppn),
    /// In flight, in the controller's memory: the operation that has it.
    Pending(u32),
}

impl MapEntry {
    /// What an entry says that is not 0.
    #[inline]
    fn from_raw(raw: u32) -> Self {
        match raw {
            raw if raw & PENDING != 0 => MapEntry::Pending(raw & !PENDING),
            raw => MapEntry::At(Ppn(raw - 1)),
        }
    }

    #[inline]
    fn to_raw(self) -> u32 {
        match self {
            MapEntry::Unmapped => 0,
            MapEntry::At(ppn) => ppn.0 + 1,
            MapEntry::Pending(op) => op | PENDING,
        }
    }
}

/// The maps of all backends; fresh maps touch no memory. The entries of one page number are adjacent for all backends,
/// because a scheme accesses the same page of several backends for a stripe.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Maps {
    entries: NumberTable,
    backends: usize,
    /// Where pages are whose entries are 0, unless they are among the unmapped ones; none if all of those are.
    initial: Option<InitialPlaces>,
    /// Entries that became 0 since.
    unmapped: Bits,
}

const PENDING: u32 = 1 << 31;

impl Maps {
    /// Maps of `backends` backends, each of `pages` unmapped pages.
    #[must_use]
    pub fn new(backends: usize, pages: u32) -> Self {
        let entries = NumberTable::new(backends * pages as usize);
        Maps { entries, backends, initial: None, unmapped: Bits::default() }
    }

    #[inline]
    fn index(&self, backend: usize, lpn: u32) -> usize {
        debug_assert!(backend < self.backends);
        lpn as usize * self.backends + backend
    }

    /// Logical pages of a backend.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.entries.len().checked_div(self.backends).unwrap_or(0) as u32
    }

    /// Whether a backend has no pages at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Pages whose entries have never been set are at these places.
    pub fn set_initial(&mut self, initial: InitialPlaces) {
        self.initial = Some(initial);
    }

    /// The pages of a backend that have no such place, though others do.
    #[must_use]
    pub fn without_place(&self, backend: usize) -> Vec<u32> {
        self.initial.as_ref().map_or(Vec::new(), |initial| initial.without_place(backend))
    }

    /// The number of mapped pages of a backend, counted one by one.
    #[must_use]
    pub fn mapped(&self, backend: usize) -> u32 {
        if self.initial.is_some() {
            return (0..self.len()).filter(|&lpn| self.get(backend, lpn) != MapEntry::Unmapped).count()
                as u32;
        }
        self.entries.used().filter(|at| at % self.backends == backend).count() as u32
    }

    /// What an entry of 0 means.
    #[inline]
    fn unset(&self, backend: usize, lpn: u32) -> MapEntry {
        match &self.initial {
            None => MapEntry::Unmapped,
            Some(initial) => self.initial_entry(initial, backend, lpn),
        }
    }

    #[inline(never)]
    fn initial_entry(&self, initial: &InitialPlaces, backend: usize, lpn: u32) -> MapEntry {
        if self.unmapped.has(self.index(backend, lpn) as u32) {
            return MapEntry::Unmapped;
        }
        initial.at(backend, lpn).map_or(MapEntry::Unmapped, MapEntry::At)
    }

    #[inline(never)]
    fn is_initially_at(&self, initial: &InitialPlaces, backend: usize, lpn: u32, ppn: Ppn) -> bool {
        initial.owner(ppn) == Some(lpn)
            && initial.has_backend(backend)
            && !self.unmapped.has(self.index(backend, lpn) as u32)
    }

    /// A page's entry has become 0.
    #[inline]
    fn note_unmapped(&mut self, at: usize) {
        if self.initial.is_some() {
            self.unmapped.set(at as u32, true);
        }
    }

    /// Where a page is.
    #[must_use]
    #[inline]
    pub fn get(&self, backend: usize, lpn: u32) -> MapEntry {
        match self.entries.get(self.index(backend, lpn)) {
            0 => self.unset(backend, lpn),
            raw => MapEntry::from_raw(raw),
        }
    }

    /// The operation in flight that is to place a page.
    #[must_use]
    #[inline]
    pub fn pending(&self, backend: usize, lpn: u32) -> Option<u32> {
        let raw = self.entries.get(self.index(backend, lpn));
        (raw & PENDING != 0).then_some(raw & !PENDING)
    }

    /// Whether a page is at `ppn`.
    #[must_use]
    #[inline]
    pub fn is_at(&self, backend: usize, lpn: u32, ppn: Ppn) -> bool {
        match (self.entries.get(self.index(backend, lpn)), &self.initial) {
            (0, Some(initial)) => self.is_initially_at(initial, backend, lpn, ppn),
            (raw, _) => raw == ppn.0 + 1,
        }
    }

    /// Prefetches a page's entry.
    #[inline]
    pub fn prefetch(&self, backend: usize, lpn: u32) {
        self.entries.prefetch(self.index(backend, lpn));
    }

    /// A page of an operation has been placed; false if the page has been overwritten or trimmed since.
    #[inline]
    pub fn arrive(&mut self, backend: usize, lpn: u32, op: u32, ppn: Ppn) -> bool {
        let at = self.index(backend, lpn);
        let entry = self.entries.reach(at);
        let expected = *entry == op | PENDING;
        if expected {
            *entry = ppn.0 + 1;
        }
        expected
    }

    /// Sets a page's entry.
    #[inline(always)]
    pub fn set(&mut self, backend: usize, lpn: u32, entry: MapEntry) {
        let at = self.index(backend, lpn);
        *self.entries.reach(at) = entry.to_raw();
        if entry == MapEntry::Unmapped {
            self.note_unmapped(at);
        }
    }

    /// Sets a page's entry; returns the old one.
    #[inline(always)]
    pub fn replace(&mut self, backend: usize, lpn: u32, entry: MapEntry) -> MapEntry {
        let at = self.index(backend, lpn);
        let old = match std::mem::replace(self.entries.reach(at), entry.to_raw()) {
            0 => self.unset(backend, lpn),
            raw => MapEntry::from_raw(raw),
        };
        if entry == MapEntry::Unmapped {
            self.note_unmapped(at);
        }
        old
    }

    /// All pages are unmapped; or, if their places at time 0 still hold, where they were then.
    pub fn forget(&mut self, keeps_initial: bool) {
        *self = Maps {
            initial: self.initial.take().filter(|_| keeps_initial),
            ..Maps::new(self.backends, self.len())
        };
    }

    /// The pages of a backend that are not known to be where they were at time 0; all of them if there is no rule for those
    /// places.
    #[must_use]
    pub fn moved(&self, backend: usize) -> Bits {
        let mut moved = Bits::default();
        if !self.initial.as_ref().is_some_and(|initial| initial.has_backend(backend)) {
            moved.set_run(0..self.len().into(), true);
            return moved;
        }
        let of_backend = |at: &usize| at % self.backends == backend;
        let unmapped = self.unmapped.iter().map(|at| at as usize);
        for at in self.entries.used().chain(unmapped).filter(of_backend) {
            moved.set((at / self.backends) as u64, true);
        }
        // Pages that have never had a place by the rule.
        moved.set_run(self.initial_end(backend).into()..self.len().into(), true);
        self.without_place(backend).into_iter().for_each(|lpn| _ = moved.set(lpn, true));
        moved
    }

    /// The pages of a backend before this one have places by a rule, but for those [without](Maps::without_place).
    #[must_use]
    pub fn initial_end(&self, backend: usize) -> u32 {
        match &self.initial {
            Some(InitialPlaces::InTurn(_, end)) => *end,
            Some(initial) if initial.has_backend(backend) => self.len(),
            _ => 0,
        }
    }

    /// How many pages had places in a block at time 0, as far as these still hold.
    #[must_use]
    pub fn initial_pages_in(&self, first: Ppn, pages: u32) -> u16 {
        self.initial.as_ref().map_or(0, |initial| initial.pages_in(first, pages)) as u16
    }

    /// The place of a page at time 0.
    #[must_use]
    pub fn initial_place(&self, backend: usize, lpn: u32) -> Option<Ppn> {
        self.initial.as_ref()?.at(backend, lpn)
    }

    /// Whether any entries of 0 represent places.
    #[must_use]
    pub fn has_initial(&self) -> bool {
        self.initial.is_some()
    }

    /// Unmaps all pages of a backend, without touching unused memory.
    pub fn clear(&mut self, backend: usize) {
        let backends = self.backends;
        self.entries.clear(|at| at % backends == backend);
        if let Some(initial) = &mut self.initial {
            initial.remove_backend(backend);
        }
    }
}
