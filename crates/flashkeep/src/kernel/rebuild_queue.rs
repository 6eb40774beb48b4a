//! A queue of pages or stripes to process, in turn.

use super::Bits;
use std::ops::Range;

/// Pages or stripes that something is still to be done about. They are taken in ascending order, round and round, so
/// that a rebuild reads its members in order and nothing is passed over for long.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct RebuildQueue {
    left: Bits,
    /// Where the search continues.
    at: u64,
    /// No number from here on was ever taken in.
    end: u64,
}

impl RebuildQueue {
    /// Takes a number in, or out.
    #[inline]
    pub fn set(&mut self, number: impl Into<u64>, present: bool) {
        let number = number.into();
        if self.left.set(number, present) && present {
            self.end = self.end.max(number + 1);
        }
    }

    /// Takes consecutive numbers in, or out.
    pub fn set_run(&mut self, numbers: Range<u64>, present: bool) {
        if present {
            self.end = self.end.max(numbers.end);
        }
        self.left.set_run(numbers, present);
    }

    /// The numbers that are left.
    #[must_use]
    pub fn numbers(&self) -> &Bits {
        &self.left
    }

    /// Whether a number is left.
    #[must_use]
    pub fn has(&self, number: impl Into<u64>) -> bool {
        self.left.has(number)
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left.count() == 0
    }

    /// The next number that no plan works on; it stays until it is taken out.
    pub fn next(&mut self, busy: impl Fn(u64) -> bool) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let found =
            self.search(self.at, self.end, &busy).or_else(|| self.search(0, self.at.min(self.end), &busy));
        self.at = found? + 1;
        found
    }

    fn search(&self, from: u64, to: u64, busy: &impl Fn(u64) -> bool) -> Option<u64> {
        let mut at = self.left.next(from, to, true);
        while at < to {
            if !busy(at) {
                return Some(at);
            }
            at = self.left.next(at + 1, to, true);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_in_turn() {
        let mut rebuild_queue = RebuildQueue::default();
        assert!(rebuild_queue.is_empty() && rebuild_queue.next(|_| false).is_none());
        for number in [700, 3, 64, 65, 3] {
            rebuild_queue.set(number as u64, true);
        }
        let free = |_| false;
        assert_eq!(
            [0; 5].map(|_| rebuild_queue.next(free)),
            [Some(3), Some(64), Some(65), Some(700), Some(3)]
        );
        // Those that a plan works on are passed over, and found later.
        assert_eq!(
            [0; 3].map(|_| rebuild_queue.next(|n| n == 64 || n == 700)),
            [Some(65), Some(3), Some(65)]
        );
        assert!(rebuild_queue.next(|_| true).is_none());
        for number in [3, 64, 700, 700] {
            rebuild_queue.set(number as u64, false);
        }
        assert_eq!([0; 2].map(|_| rebuild_queue.next(free)), [Some(65), Some(65)]);
        rebuild_queue.set(65u64, false);
        assert!(rebuild_queue.is_empty());
    }
}
