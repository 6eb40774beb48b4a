//! The host queue: the number of requests in the drive, and when they leave.

use crate::kernel::{Deadlines, SimTime, Span};

/// When requests leave: reads come in order of that, and so do writes.
type Departures = Deadlines<(), 2>;

/// The host queue: requests in the drive, at most the queue depth.
#[derive(Clone, Debug, Default)]
pub struct HostQueue {
    depth: usize,
    inside: usize,
    /// If requests come in batches: how many of the current batch have come in.
    batch: Option<usize>,
    /// The largest number of requests that had arrived and were not done, including the one that arrives.
    most: usize,
    /// Whether requests may have arrived before they come in.
    waits_before_admission: bool,
    /// Requests not done when the last request arrived, if that request had to wait for room. If it had not, this is what is
    /// in the drive.
    at_arrival: Option<Outstanding>,
    /// How long requests waited for room, and until when that is counted.
    full: Span,
    full_until: SimTime,
    /// When requests leave whose end is known; the end of a granted operation is known in advance.
    departures: Departures,
}

/// Requests that are not done.
#[derive(Clone, Debug)]
struct Outstanding {
    requests: usize,
    /// When those of them leave whose end is known.
    departures: Departures,
}

impl HostQueue {
    /// A queue of `depth` requests; 0 for no limit. In a closed loop requests arrive when there is room.
    #[must_use]
    pub fn new(depth: u32, closed: bool) -> Self {
        let waits_before_admission = depth > 0 && !closed;
        let depth = if depth == 0 { usize::MAX } else { depth as usize };
        HostQueue { depth, waits_before_admission, ..HostQueue::default() }
    }

    /// The same for requests that may have arrived before, although there is room: those of several queues.
    #[must_use]
    pub fn after_queues(depth: u32) -> Self {
        HostQueue { waits_before_admission: true, ..HostQueue::new(depth, false) }
    }

    /// A closed loop in batches: the next `depth` requests come when all of the ones before have left.
    #[must_use]
    pub fn in_batches(depth: u32) -> Self {
        HostQueue { batch: Some(0), ..HostQueue::new(depth, true) }
    }

    /// The first instant, not before `earliest`, at which there is room; [`SimTime::NEVER`] if that is not known yet.
    #[must_use]
    #[inline]
    pub fn room_at(&self, earliest: SimTime) -> SimTime {
        if let Some(admitted) = self.batch {
            return if admitted < self.depth { earliest } else { self.empty_at(earliest) };
        }
        if self.inside < self.depth {
            return earliest;
        }
        self.departures.next().max(earliest)
    }

    /// When all have left, if that is known.
    #[cold]
    fn empty_at(&self, earliest: SimTime) -> SimTime {
        if self.departures.count() < self.inside {
            SimTime::NEVER
        } else {
            self.departures.last().max(earliest)
        }
    }

    /// Admits a request that arrived at `arrival`, and removes those that have left by now.
    #[inline]
    pub fn enter(&mut self, arrival: SimTime, now: SimTime) {
        if arrival < now && self.waits_before_admission {
            self.wait(arrival, now);
        } else {
            self.at_arrival = None;
        }
        self.inside -= left_by(&mut self.departures, now);
        self.inside += 1;
        if let Some(admitted) = &mut self.batch {
            *admitted = if *admitted < self.depth { *admitted + 1 } else { 1 };
        }
        debug_assert!(self.inside <= self.depth);
        let present = self.at_arrival.as_ref().map_or(self.inside, |outstanding| outstanding.requests);
        self.most = self.most.max(present);
    }

    /// A request that arrived at `arrival` had to wait for room.
    #[inline(never)]
    fn wait(&mut self, arrival: SimTime, now: SimTime) {
        self.full += now.since(self.full_until.max(arrival));
        self.full_until = now;
        let outstanding = self.at_arrival.get_or_insert_with(|| Outstanding {
            requests: self.inside,
            departures: self.departures.clone(),
        });
        outstanding.requests -= left_by(&mut outstanding.departures, arrival);
        outstanding.requests += 1;
    }

    /// Records that a request leaves at `at`.
    #[inline]
    pub fn leave(&mut self, at: SimTime) {
        self.departures.push(at, ());
        if let Some(outstanding) = &mut self.at_arrival {
            outstanding.departures.push(at, ());
        }
    }

    /// Removes all requests.
    pub fn empty(&mut self) {
        let HostQueue { depth, most, waits_before_admission, full, full_until, .. } = *self;
        let batch = self.batch.map(|_| 0);
        *self = HostQueue {
            depth,
            batch,
            most,
            waits_before_admission,
            full,
            full_until,
            ..HostQueue::default()
        };
    }

    /// How long requests have waited because it was full.
    #[must_use]
    pub fn full(&self) -> Span {
        self.full
    }

    /// The largest number of requests at once, including those that wait outside.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }
}

/// Removes the requests that have left by `now`; returns their number.
#[inline]
fn left_by(departures: &mut Departures, now: SimTime) -> usize {
    let mut left = 0;
    while departures.pop_due(now).is_some() {
        left += 1;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_comes_when_all_of_the_last_one_have_left() {
        let mut window = HostQueue::in_batches(2);
        window.enter(SimTime(0), SimTime(0));
        assert_eq!(window.room_at(SimTime(0)), SimTime(0));
        window.leave(SimTime(5));
        window.enter(SimTime(5), SimTime(5));
        assert_eq!(window.room_at(SimTime(6)), SimTime::NEVER, "the second has not left");
        window.leave(SimTime(9));
        assert_eq!(window.room_at(SimTime(6)), SimTime(9));
        for _ in 0..2 {
            assert_eq!(window.room_at(SimTime(9)), SimTime(9));
            window.enter(SimTime(9), SimTime(9));
        }
        window.leave(SimTime(20));
        window.leave(SimTime(10));
        assert_eq!((window.room_at(SimTime(12)), window.most()), (SimTime(20), 2));
    }

    #[test]
    fn room_when_the_first_leaves() {
        let mut window = HostQueue::new(2, false);
        window.enter(SimTime(0), SimTime(0));
        assert_eq!(window.room_at(SimTime(3)), SimTime(3));
        window.enter(SimTime(3), SimTime(3));
        assert_eq!(window.room_at(SimTime(4)), SimTime::NEVER);
        window.leave(SimTime(9));
        window.leave(SimTime(7));
        assert_eq!(window.room_at(SimTime(4)), SimTime(7));
        window.enter(SimTime(4), SimTime(7));
        // The third arrived at 4, when the first two were not done.
        assert_eq!((window.room_at(SimTime(7)), window.most()), (SimTime(9), 3));
        // The fourth waits from 5 to 9; until 7 the third waited too.
        window.enter(SimTime(5), SimTime(9));
        assert_eq!(window.full(), Span(5));
    }
}
