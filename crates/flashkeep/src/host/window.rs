//! The number of requests in the drive, and when they leave.

use crate::kernel::SimTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The host queue: requests in the drive, at most the queue depth.
#[derive(Clone, Debug, Default)]
pub struct Window {
    depth: usize,
    inside: usize,
    /// The most that had arrived and were not done, the one that arrives included.
    most: usize,
    /// Whether requests may have arrived before they come in.
    waits_outside: bool,
    /// If so, when those leave that were not done when the last one arrived.
    since_arrival: BinaryHeap<Reverse<u64>>,
    entered: usize,
    /// When those leave that are known to; the end of a granted operation is known before it comes.
    departures: BinaryHeap<Reverse<u64>>,
}

impl Window {
    /// A queue of `depth` requests; 0 for no bound. In a closed loop requests arrive when there is room.
    #[must_use]
    pub fn new(depth: u32, closed: bool) -> Self {
        let waits_outside = depth > 0 && !closed;
        let depth = if depth == 0 { usize::MAX } else { depth as usize };
        Window { depth, waits_outside, ..Window::default() }
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

    /// A request that arrived at `arrival` comes in; those that have left by now are gone.
    #[inline]
    pub fn enter(&mut self, arrival: SimTime, now: SimTime) {
        self.inside -= left_by(&mut self.departures, now);
        self.inside += 1;
        debug_assert!(self.inside <= self.depth);
        if self.waits_outside {
            self.entered -= left_by(&mut self.since_arrival, arrival);
            self.entered += 1;
        }
        let present = if self.waits_outside { self.entered } else { self.inside };
        self.most = self.most.max(present);
    }

    /// A request is known to leave at `at`.
    #[inline]
    pub fn leave(&mut self, at: SimTime) {
        self.departures.push(Reverse(at.0));
        if self.waits_outside {
            self.since_arrival.push(Reverse(at.0));
        }
    }

    /// All that were inside are gone.
    pub fn empty(&mut self) {
        let Window { depth, most, waits_outside, .. } = *self;
        *self = Window { depth, most, waits_outside, ..Window::default() };
    }

    /// The most there have been at once, those outside included.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }
}

/// Takes out those that have left by `now`; how many.
#[inline]
fn left_by(departures: &mut BinaryHeap<Reverse<u64>>, now: SimTime) -> usize {
    let mut left = 0;
    while departures.peek().is_some_and(|&Reverse(at)| at <= now.0) {
        departures.pop();
        left += 1;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_when_the_first_leaves() {
        let mut window = Window::new(2, false);
        window.enter(SimTime(0), SimTime(0));
        assert_eq!(window.room_at(SimTime(3)), SimTime(3));
        window.enter(SimTime(3), SimTime(3));
        assert_eq!(window.room_at(SimTime(4)), SimTime::NEVER);
        window.leave(SimTime(9));
        window.leave(SimTime(7));
        assert_eq!(window.room_at(SimTime(4)), SimTime(7));
        window.enter(SimTime(4), SimTime(7));
        // The third came at 4, when the first two were still there.
        assert_eq!((window.room_at(SimTime(7)), window.most()), (SimTime(9), 3));
    }
}
