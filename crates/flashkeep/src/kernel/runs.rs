//! A queue that takes out the least entry first, for entries that mostly come in order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An entry's key; no two entries have the same, and none is 0 or [`LAST`]. Comparing single numbers takes no branch.
pub(super) type SortKey = u128;

/// Greater than any key.
pub(super) const LAST: SortKey = SortKey::MAX;

/// Entries in `RUNS` sorted runs, so that most are appended, and taken from the front. An entry is appended to the
/// first run that it does not precede, and goes to a heap if it precedes the end of each.
#[derive(Clone, Debug)]
pub(super) struct SortedRuns<const RUNS: usize, T> {
    runs: [VecDeque<(SortKey, T)>; RUNS],
    heap: BinaryHeap<Reverse<(SortKey, T)>>,
    /// The first key of each run; [`LAST`] if it is empty.
    firsts: [SortKey; RUNS],
    /// That of the heap.
    first_of_heap: SortKey,
    /// The least key outside the first run; [`LAST`] if there is none. Most entries are in the first run.
    first_of_others: SortKey,
    /// The last key of each run; 0 if it is empty.
    lasts: [SortKey; RUNS],
    /// The least key of all; [`LAST`] if there is no entry.
    first: SortKey,
}

impl<const RUNS: usize, T: Ord + Copy> Default for SortedRuns<RUNS, T> {
    fn default() -> Self {
        SortedRuns {
            runs: std::array::from_fn(|_| VecDeque::new()),
            heap: BinaryHeap::new(),
            firsts: [LAST; RUNS],
            first_of_heap: LAST,
            first_of_others: LAST,
            lasts: [0; RUNS],
            first: LAST,
        }
    }
}

impl<const RUNS: usize, T: Ord + Copy> SortedRuns<RUNS, T> {
    /// Adds an entry.
    #[inline(always)]
    pub(super) fn push(&mut self, key: SortKey, what: T) {
        if self.lasts[0] <= key {
            if self.lasts[0] == 0 {
                self.firsts[0] = key;
                self.first = self.first.min(key);
            }
            self.append(0, key, what);
        } else {
            self.insert(key, what);
        }
    }

    #[inline(always)]
    fn append(&mut self, run: usize, key: SortKey, what: T) {
        self.lasts[run] = key;
        self.runs[run].push_back((key, what));
    }

    #[inline(never)]
    fn insert(&mut self, key: SortKey, what: T) {
        match self.lasts.iter().position(|&last| last <= key) {
            Some(run) => {
                self.firsts[run] = self.firsts[run].min(key);
                self.append(run, key, what);
            }
            None => {
                self.heap.push(Reverse((key, what)));
                self.first_of_heap = self.first_of_heap.min(key);
            }
        }
        self.first_of_others = self.first_of_others.min(key);
        self.first = self.first.min(key);
    }

    /// The least key; [`LAST`] if there is no entry.
    #[inline(always)]
    pub(super) fn first(&self) -> SortKey {
        self.first
    }

    /// The greatest key; 0 if there is no entry.
    pub(super) fn last(&self) -> SortKey {
        let of_heap = self.heap.iter().map(|Reverse((key, _))| *key);
        of_heap.chain(self.lasts).max().unwrap_or(0)
    }

    /// The number of entries.
    pub(super) fn count(&self) -> usize {
        self.runs.iter().map(VecDeque::len).sum::<usize>() + self.heap.len()
    }

    /// Takes out the entry with the least key.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<T> {
        let what = if self.firsts[0] == self.first { self.pop_from(0) } else { self.pop_elsewhere() };
        self.first = self.firsts[0].min(self.first_of_others);
        what
    }

    #[inline(always)]
    fn pop_from(&mut self, run: usize) -> Option<T> {
        let entry = self.runs[run].pop_front();
        match self.runs[run].front() {
            Some(&(next, _)) => self.firsts[run] = next,
            None => (self.firsts[run], self.lasts[run]) = (LAST, 0),
        }
        entry.map(|(_, what)| what)
    }

    /// [`SortedRuns::pop`] where the first entry is not in the first run.
    #[inline(never)]
    fn pop_elsewhere(&mut self) -> Option<T> {
        let what = match (1..RUNS).find(|&run| self.firsts[run] == self.first) {
            Some(run) => self.pop_from(run),
            None => {
                let entry = self.heap.pop();
                self.first_of_heap = self.heap.peek().map_or(LAST, |&Reverse((next, _))| next);
                entry.map(|Reverse((_, what))| what)
            }
        };
        self.first_of_others =
            self.firsts[1..].iter().fold(self.first_of_heap, |first, &other| first.min(other));
        what
    }
}
