//! How many requests are in the drive, and when they leave.

use crate::kernel::SimTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The host's queue: requests in the drive, at most so many.
#[derive(Clone, Debug)]
pub struct Window {
    depth: usize,
    inside: usize,
    most: usize,
    /// When those leave that are known to; the end of a granted operation is known before it comes.
    departures: BinaryHeap<Reverse<u64>>,
}

impl Window {
    /// A queue of `depth` requests; 0 for no bound.
    #[must_use]
    pub fn new(depth: u32) -> Self {
        let depth = if depth == 0 { usize::MAX } else { depth as usize };
        Window { depth, inside: 0, most: 0, departures: BinaryHeap::new() }
    }

    /// The first instant, not before `earliest`, at which there is room; [`SimTime::NEVER`] where that is not
    /// known yet.
    #[must_use]
    #[inline]
    pub fn room_at(&self, earliest: SimTime) -> SimTime {
        if self.inside < self.depth {
            return earliest;
        }
        self.departures.peek().map_or(SimTime::NEVER, |Reverse(at)| SimTime((*at).max(earliest.0)))
    }

    /// A request comes in; those that have left by now are gone.
    #[inline]
    pub fn enter(&mut self, now: SimTime) {
        while let Some(&Reverse(at)) = self.departures.peek()
            && at <= now.0
        {
            self.departures.pop();
            self.inside -= 1;
        }
        self.inside += 1;
        self.most = self.most.max(self.inside);
        debug_assert!(self.inside <= self.depth);
    }

    /// A request is known to leave at `at`.
    #[inline]
    pub fn leave(&mut self, at: SimTime) {
        self.departures.push(Reverse(at.0));
    }

    /// The most there have been at once.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_when_the_first_leaves() {
        let mut window = Window::new(2);
        window.enter(SimTime(0));
        assert_eq!(window.room_at(SimTime(3)), SimTime(3));
        window.enter(SimTime(3));
        assert_eq!(window.room_at(SimTime(4)), SimTime::NEVER);
        window.leave(SimTime(9));
        window.leave(SimTime(7));
        assert_eq!(window.room_at(SimTime(4)), SimTime(7));
        window.enter(SimTime(7));
        assert_eq!((window.room_at(SimTime(7)), window.most()), (SimTime(9), 2));
    }
}
