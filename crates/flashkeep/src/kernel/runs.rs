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
            lasts: [0; RUNS],
            first: LAST,
        }
    }
}

impl<const RUNS: usize, T: Ord + Copy> SortedRuns<RUNS, T> {
    /// Adds an entry.
    #[inline(always)]
    pub(super) fn push(&mut self, key: SortKey, what: T) {
        if self.lasts[0] <= key { self.append(0, key, what) } else { self.insert(key, what) }
    }

    #[inline(always)]
    fn append(&mut self, run: usize, key: SortKey, what: T) {
        if self.lasts[run] == 0 {
            self.firsts[run] = key;
            self.first = self.first.min(key);
        }
        self.lasts[run] = key;
        self.runs[run].push_back((key, what));
    }

    #[inline(never)]
    fn insert(&mut self, key: SortKey, what: T) {
        match self.lasts.iter().position(|&last| last <= key) {
            Some(run) => self.append(run, key, what),
            None => {
                self.heap.push(Reverse((key, what)));
                self.first_of_heap = self.first_of_heap.min(key);
                self.first = self.first.min(key);
            }
        }
    }

    /// The least key; [`LAST`] if there is no entry.
    #[inline(always)]
    pub(super) fn first(&self) -> SortKey {
        self.first
    }

    /// Takes out the entry with the least key.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<T> {
        let what = self.pop_first();
        self.first = self.firsts.iter().fold(self.first_of_heap, |first, &other| first.min(other));
        what
    }

    #[inline(always)]
    fn pop_first(&mut self) -> Option<T> {
        for run in 0..RUNS {
            if self.firsts[run] == self.first {
                let entry = self.runs[run].pop_front();
                match self.runs[run].front() {
                    Some(&(next, _)) => self.firsts[run] = next,
                    None => (self.firsts[run], self.lasts[run]) = (LAST, 0),
                }
                return entry.map(|(_, what)| what);
            }
        }
        let entry = self.heap.pop();
        self.first_of_heap = self.heap.peek().map_or(LAST, |&Reverse((next, _))| next);
        entry.map(|Reverse((_, what))| what)
    }
}
