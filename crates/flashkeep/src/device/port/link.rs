//! The link between a device and its user: data of a write cross it before its pages are programmed, data of a read
//! after its pages are read, one request at a time. Data of completed reads go first.

use crate::kernel::{SimTime, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The requests that cross the link or wait for it, by their owner's numbers.
#[derive(Clone, Debug)]
pub struct Link {
    ps_per_sector: u64,
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
    /// A link that takes this many ps per sector; none for 0.
    #[must_use]
    pub fn new(ps_per_sector: u64) -> Option<Link> {
        (ps_per_sector > 0).then(|| Link {
            ps_per_sector,
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
        Span((sectors * self.ps_per_sector).div_ceil(1000))
    }

    /// Queues a request with this many sectors of data.
    pub fn come(&mut self, id: u32, sectors: u64) {
        self.coming.push_back((id, sectors));
    }

    /// Queues the result of a request, with this many sectors, which the device completes at `ready`.
    pub fn go(&mut self, id: u32, ready: SimTime, sectors: u64) {
        self.known += 1;
        self.going.push(Reverse((ready.0, self.known, id, sectors)));
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
        let mut link = Link::new(1_000_000).expect("a µs a sector");
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
        assert!(Link::new(0).is_none());
    }
}
