//! The link between a drive and whoever asks it: a write's data come in before its pages go to flash, a read's go out
//! after they have come, one request at a time. What has been done goes before what is to be done.

use crate::kernel::{SimTime, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What crosses the link, or waits for it, by the numbers of whoever owns it.
#[derive(Clone, Debug)]
pub struct Link {
    ps_per_sector: u64,
    /// When it has done what it does.
    free_at: SimTime,
    /// Requests that have been admitted, and the sectors of those that bring data.
    coming: VecDeque<(u32, u64)>,
    /// The write whose data are crossing; they are in when the link is free.
    inward: Option<u32>,
    /// Where an end may not be told before it has come: the read whose data are crossing.
    outward: Option<u32>,
    /// Requests that the drive is done with, or will be: when, in which order that was known, which, and the sectors
    /// that they take out.
    going: BinaryHeap<Reverse<(u64, u64, u32, u64)>>,
    known: u64,
}

/// What the link has let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// A request is with the drive, and with it what it brings.
    In(u32),
    /// A request is over, at this instant.
    Out(u32, SimTime),
}

/// What a sector takes on a link, in ps, from µs as users say it.
#[must_use]
pub fn ps_per_sector(us_per_sector: f64) -> u64 {
    (us_per_sector * 1e6).round() as u64
}

impl Link {
    /// A link that takes so many ps a sector; none where it takes nothing.
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

    /// When it has something to do.
    #[must_use]
    pub fn next_at(&self) -> SimTime {
        if self.inward.is_some() || self.outward.is_some() || !self.coming.is_empty() {
            return self.free_at;
        }
        self.going.peek().map_or(SimTime::NEVER, |Reverse((at, ..))| SimTime(*at).max(self.free_at))
    }

    /// Whether nobody uses it or will.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.next_at() == SimTime::NEVER
    }

    /// Whether nothing is crossing at `now`.
    #[must_use]
    pub fn is_free(&self, now: SimTime) -> bool {
        self.inward.is_none() && self.outward.is_none() && self.free_at <= now
    }

    /// Whether somebody waits to come in, or is coming.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.inward.is_some() || !self.coming.is_empty()
    }

    /// Nobody uses it before `ready`: those who did are cut off.
    pub fn cut(&mut self, ready: SimTime) {
        self.coming.clear();
        (self.inward, self.outward) = (None, None);
        self.going.clear();
        self.free_at = ready;
    }

    /// Those who wait or are crossing, as they came, and those whom the drive is done with, with their instants: nobody
    /// uses it any more.
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

    /// A request wants to come in, with so many sectors.
    pub fn come(&mut self, id: u32, sectors: u64) {
        self.coming.push_back((id, sectors));
    }

    /// The drive is done with a request, or will be at `ready`; so many sectors go out with it.
    pub fn go(&mut self, id: u32, ready: SimTime, sectors: u64) {
        self.known += 1;
        self.going.push(Reverse((ready.0, self.known, id, sectors)));
    }

    /// What it lets through next at `now`; none where it is in use, or has nothing to do. Where it `holds` them, reads
    /// are told when their data are out, and not when that is known.
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
        // The first one's data come in; a read asks nothing of the link, but waits its turn.
        assert_eq!((link.next(start, false), link.next_at()), (None, us(4)));
        assert_eq!(link.next(us(3), false), None);
        assert_eq!(link.next(us(4), false), Some(Crossing::In(1)));
        link.go(9, us(4), 3);
        link.go(8, us(2), 1);
        assert_eq!(link.next(us(4), false), Some(Crossing::Out(8, us(5))));
        assert_eq!((link.next(us(4), false), link.next_at()), (None, us(5)));
        // Where ends are not told beforehand.
        assert_eq!((link.next(us(5), true), link.next_at()), (None, us(8)));
        assert_eq!(link.next(us(8), true), Some(Crossing::Out(9, us(8))));
        assert_eq!(link.next(us(8), false), Some(Crossing::In(2)));
        assert_eq!((link.next(us(8), false), link.next_at()), (None, us(10)));
        link.cut(us(20));
        assert!(link.is_quiet() && !link.is_free(us(19)));
        assert!(Link::new(0).is_none());
    }
}
