//! A queue of pages or stripes to process, in turn.

use super::Bits;
use std::ops::Range;

/// Pages or stripes that something is still to be done about. They are taken in ascending order, round and round, so
/// that a rebuild reads its members in order and nothing is passed over for long.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct RebuildQueue {
    /// Those that can be taken.
    left: Bits,
    /// The others: a plan works on them. None are left when no plan is in progress.
    #[serde(skip)]
    aside: Bits,
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
        if self.aside.count() > 0 {
            self.aside.set(number, false);
        }
        if self.left.set(number, present) && present {
            self.end = self.end.max(number + 1);
        }
    }

    /// Takes consecutive numbers in, or out.
    pub fn set_run(&mut self, numbers: Range<u64>, present: bool) {
        if present {
            self.end = self.end.max(numbers.end);
        }
        if self.aside.count() > 0 {
            self.aside.set_run(numbers.clone(), false);
        }
        self.left.set_run(numbers, present);
    }

    /// Whether all of these numbers are left, or none of them; none if some are.
    #[must_use]
    pub fn uniform(&self, numbers: Range<u64>) -> Option<bool> {
        let aside = self.aside.count() > 0 && self.aside.uniform(numbers.clone()) != Some(false);
        if aside { None } else { self.left.uniform(numbers) }
    }

    /// Whether a number is left.
    #[must_use]
    pub fn has(&self, number: impl Into<u64>) -> bool {
        let number = number.into();
        self.left.has(number) || self.aside.has(number)
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left.count() == 0 && self.aside.count() == 0
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

    /// The same. Numbers that a plan works on are passed over until they are taken in again, as must happen when the plan
    /// ends: there may be many of them, and many calls meanwhile.
    pub fn next_idle(&mut self, busy: impl Fn(u64) -> bool) -> Option<u64> {
        let end = self.end;
        let found =
            self.take_idle(self.at, end, &busy).or_else(|| self.take_idle(0, self.at.min(end), &busy));
        self.at = found? + 1;
        found
    }

    fn take_idle(&mut self, from: u64, to: u64, busy: &impl Fn(u64) -> bool) -> Option<u64> {
        let mut at = self.left.next(from, to, true);
        while at < to {
            if !busy(at) {
                return Some(at);
            }
            self.left.set(at, false);
            self.aside.set(at, true);
            at = self.left.next(at + 1, to, true);
        }
        None
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
        // Numbers set aside are left, but wait until they are taken in again.
        assert_eq!(rebuild_queue.next_idle(|n| n == 3 || n == 700), Some(64));
        assert_eq!([0; 2].map(|_| rebuild_queue.next_idle(free)), [Some(65), Some(64)]);
        assert!(rebuild_queue.has(3_u64) && rebuild_queue.uniform(3..4).is_none());
        rebuild_queue.set(700_u64, true);
        assert_eq!([0; 2].map(|_| rebuild_queue.next_idle(free)), [Some(65), Some(700)]);
        rebuild_queue.set(3_u64, true);
        assert_eq!((rebuild_queue.next_idle(free), rebuild_queue.uniform(3..4)), (Some(3), Some(true)));
        for number in [3, 64, 700, 700] {
            rebuild_queue.set(number as u64, false);
        }
        assert_eq!([0; 2].map(|_| rebuild_queue.next(free)), [Some(65), Some(65)]);
        rebuild_queue.set(65u64, false);
        assert!(rebuild_queue.is_empty());
    }
}
