//! The link between a device and its user: data of a write cross it before its pages are programmed, data of a read
//! after its pages are read, one request at a time. Data of completed reads go first.

use crate::kernel::{SimTime, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The requests that cross the link or wait for it, by their owner's numbers.
#[derive(Clone, Debug)]
pub struct Link {
    times: LinkTimes,
    /// When the current transfer ends.
    free_at: SimTime,
    /// Requests that have been admitted, and the sectors of those that are writes.
    coming: VecDeque<(u32, u64)>,
    /// The write whose data are crossing; they have arrived when the link is free.
    inward: Option<u32>,
    /// If ends are not reported in advance: the read whose data are crossing.
    outward: Option<u32>,
    /// Requests that the device has completed or will complete: the instant, the order in which this became known, the
    /// request, and its sectors to transfer.
    going: BinaryHeap<Reverse<(u64, u64, u32, u64)>>,
    known: u64,
}

/// The times of a link and of the controller at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTimes {
    /// The transfer time of a sector, ps.
    pub ps_per_sector: u64,
    /// The time of a request with data beside its transfer: one request at a time.
    pub command: Span,
    /// The time of each request that others do not wait for, before its result crosses.
    pub latency: Span,
}

impl LinkTimes {
    /// Whether it takes any time.
    #[must_use]
    pub fn is_any(&self) -> bool {
        *self != LinkTimes::default()
    }
}

/// An event of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// A request, with its data, has reached the device.
    In(u32),
    /// A request ends at this instant.
    Out(u32, SimTime),
}

/// The transfer time of a sector in ps, from the option in µs.
#[must_use]
pub fn ps_per_sector(us_per_sector: f64) -> u64 {
    (us_per_sector * 1e6).round() as u64
}

impl Link {
    /// A link with these times; none if it takes none.
    #[must_use]
    pub fn new(times: LinkTimes) -> Option<Link> {
        times.is_any().then(|| Link {
            times,
            free_at: SimTime::ZERO,
            coming: VecDeque::new(),
            inward: None,
            outward: None,
            going: BinaryHeap::new(),
            known: 0,
        })
    }

    /// The instant of its next event.
    #[must_use]
    pub fn next_at(&self) -> SimTime {
        if self.inward.is_some() || self.outward.is_some() || !self.coming.is_empty() {
            return self.free_at;
        }
        self.going.peek().map_or(SimTime::NEVER, |Reverse((at, ..))| SimTime(*at).max(self.free_at))
    }

    /// Whether it has no requests.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.next_at() == SimTime::NEVER
    }

    /// Whether no data are crossing at `now`.
    #[must_use]
    pub fn is_free(&self, now: SimTime) -> bool {
        self.inward.is_none() && self.outward.is_none() && self.free_at <= now
    }

    /// Whether a request waits to cross to the device, or is crossing.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.inward.is_some() || !self.coming.is_empty()
    }

    /// Drops all requests and blocks the link until `ready`.
    pub fn cut(&mut self, ready: SimTime) {
        self.coming.clear();
        (self.inward, self.outward) = (None, None);
        self.going.clear();
        self.free_at = ready;
    }

    /// Removes all requests: returns those that wait or are crossing, in order of arrival, and those that the device
    /// has completed, with their instants.
    pub fn abandon(&mut self, now: SimTime) -> (Vec<u32>, Vec<(u32, SimTime)>) {
        let coming = self.inward.into_iter().chain(self.coming.iter().map(|&(id, _)| id)).collect();
        let mut going = Vec::with_capacity(self.going.len());
        while let Some(Reverse((at, _, id, _))) = self.going.pop() {
            going.push((id, SimTime(at)));
        }
        self.cut(now);
        (coming, going)
    }

    fn time(&self, sectors: u64) -> Span {
        let command = if sectors > 0 { self.times.command } else { Span::ZERO };
        Span((sectors * self.times.ps_per_sector).div_ceil(1000)) + command
    }

    /// Queues a request with this many sectors of data.
    pub fn come(&mut self, id: u32, sectors: u64) {
        self.coming.push_back((id, sectors));
    }

    /// Queues the result of a request, with this many sectors, which the device completes at `ready`.
    pub fn go(&mut self, id: u32, ready: SimTime, sectors: u64) {
        self.known += 1;
        self.going.push(Reverse(((ready + self.times.latency).0, self.known, id, sectors)));
    }

    /// The next event at `now`; none if the link is in use or has no request. If it `holds` them, reads are reported
    /// when their data have been transferred, not as soon as that instant is known.
    pub fn next(&mut self, now: SimTime, holds: bool) -> Option<Crossing> {
        if self.free_at > now {
            return None;
        }
        if let Some(id) = self.inward.take() {
            return Some(Crossing::In(id));
        }
        if let Some(id) = self.outward.take() {
            return Some(Crossing::Out(id, now));
        }
        if self.going.peek().is_some_and(|Reverse((at, ..))| *at <= now.0) {
            let Reverse((.., id, sectors)) = self.going.pop()?;
            self.free_at = now + self.time(sectors);
            if holds && self.free_at > now {
                self.outward = Some(id);
                return None;
            }
            return Some(Crossing::Out(id, self.free_at));
        }
        let (id, sectors) = self.coming.pop_front()?;
        if sectors == 0 {
            return Some(Crossing::In(id));
        }
        self.free_at = now + self.time(sectors);
        self.inward = Some(id);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_what_is_done_first() {
        let times = LinkTimes { ps_per_sector: 1_000_000, ..LinkTimes::default() };
        let mut link = Link::new(times).expect("a µs a sector");
        let (start, us) = (SimTime(500), |n: u64| SimTime(500 + n * 1000));
        link.come(1, 4);
        link.come(2, 0);
        link.come(3, 2);
        assert!(link.is_free(start) && link.is_awaited());
        // The data of the first request cross; a read has no data yet, but keeps its place in the order.
        assert_eq!((link.next(start, false), link.next_at()), (None, us(4)));
        assert_eq!(link.next(us(3), false), None);
        assert_eq!(link.next(us(4), false), Some(Crossing::In(1)));
        link.go(9, us(4), 3);
        link.go(8, us(2), 1);
        assert_eq!(link.next(us(4), false), Some(Crossing::Out(8, us(5))));
        assert_eq!((link.next(us(4), false), link.next_at()), (None, us(5)));
        // From here on the link holds reads: their ends are not reported in advance.
        assert_eq!((link.next(us(5), true), link.next_at()), (None, us(8)));
        assert_eq!(link.next(us(8), true), Some(Crossing::Out(9, us(8))));
        assert_eq!(link.next(us(8), false), Some(Crossing::In(2)));
        assert_eq!((link.next(us(8), false), link.next_at()), (None, us(10)));
        link.cut(us(20));
        assert!(link.is_quiet() && !link.is_free(us(19)));
        assert!(Link::new(LinkTimes::default()).is_none());
    }

    #[test]
    fn commands_occupy_the_link_and_latencies_do_not() {
        let times = LinkTimes { ps_per_sector: 1_000_000, command: Span(500), latency: Span(7000) };
        let mut link = Link::new(times).expect("a link");
        link.come(1, 2);
        link.come(2, 1);
        assert_eq!((link.next(SimTime(0), false), link.next_at()), (None, SimTime(2500)));
        assert_eq!(link.next(SimTime(2500), false), Some(Crossing::In(1)));
        assert_eq!((link.next(SimTime(2500), false), link.next_at()), (None, SimTime(4000)));
        assert_eq!(link.next(SimTime(4000), false), Some(Crossing::In(2)));
        // Two writes and a read that the device completes at once: each waits, and none for another.
        link.go(1, SimTime(4000), 0);
        link.go(2, SimTime(4000), 0);
        link.go(3, SimTime(4000), 1);
        assert_eq!(link.next_at(), SimTime(11_000));
        assert_eq!(link.next(SimTime(11_000), false), Some(Crossing::Out(1, SimTime(11_000))));
        assert_eq!(link.next(SimTime(11_000), false), Some(Crossing::Out(2, SimTime(11_000))));
        assert_eq!(link.next(SimTime(11_000), false), Some(Crossing::Out(3, SimTime(12_500))));
    }
}
