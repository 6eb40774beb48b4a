//! The link between host and drive: a write's data come in before its pages go to flash, a read's go out after they
//! have come, one request at a time. What has been done goes before what is to be done.

use super::{InFlight, Simulation};
use crate::engine::{Contents, Finished};
use crate::kernel::{Id, SimTime, Span};
use crate::shelf::Hardware;
use flashkeep_trace::Op;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What crosses the link, or waits for it.
#[derive(Debug)]
pub(super) struct Link {
    ps_per_sector: u64,
    /// When it has done what it does.
    free_at: SimTime,
    /// Requests that have been admitted.
    coming: VecDeque<u32>,
    /// The write whose data are crossing; they are in when the link is free.
    inward: Option<u32>,
    /// In a run with power cuts: the read whose data are crossing; it is over when the link is free.
    outward: Option<u32>,
    /// Requests that flash is done with, or will be: when, in which order that was known, and which.
    going: BinaryHeap<Reverse<(u64, u64, u32)>>,
    known: u64,
}

impl Link {
    /// A link that takes so many µs a sector; none where it takes nothing.
    pub(super) fn new(us_per_sector: f64) -> Option<Link> {
        let ps_per_sector = (us_per_sector * 1e6).round() as u64;
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
    pub(super) fn next_at(&self) -> SimTime {
        if self.inward.is_some() || self.outward.is_some() || !self.coming.is_empty() {
            return self.free_at;
        }
        self.going.peek().map_or(SimTime::NEVER, |Reverse((at, ..))| SimTime(*at).max(self.free_at))
    }

    /// Whether nobody uses it or will.
    pub(super) fn is_quiet(&self) -> bool {
        self.next_at() == SimTime::NEVER
    }

    /// The power was cut: nobody uses it before `ready`.
    pub(super) fn cut(&mut self, ready: SimTime) {
        self.coming.clear();
        (self.inward, self.outward) = (None, None);
        self.going.clear();
        self.free_at = ready;
    }

    fn time(&self, sectors: u64) -> Span {
        Span((sectors * self.ps_per_sector).div_ceil(1000))
    }

    /// The first of those that flash is done with by `now`.
    fn leaving(&mut self, now: SimTime) -> Option<u32> {
        self.going.peek().filter(|Reverse((at, ..))| *at <= now.0)?;
        self.going.pop().map(|Reverse((.., id))| id)
    }
}

impl<C: Contents, H: Hardware<C>> Simulation<'_, C, H> {
    /// A request has been admitted: it waits for the link.
    #[inline(never)]
    pub(super) fn come(&mut self, id: Id<InFlight<C>>) {
        let link = self.link.as_mut().expect("whoever has a link");
        link.coming.push_back(id.raw());
        if link.inward.is_none() && link.outward.is_none() && link.free_at <= self.now {
            self.cross();
        }
    }

    /// Flash is done with a request, or will be: its data go out, then it is over.
    #[inline(never)]
    pub(super) fn go(&mut self, finished: Finished, ready: SimTime) {
        let link = self.link.as_mut().expect("whoever has a link");
        link.known += 1;
        link.going.push(Reverse((ready.0, link.known, finished.tag)));
        self.in_flight[Id::new(finished.tag)].finished = Some(finished);
    }

    /// A request is over, as far as link and flash are concerned, at `end`.
    fn leave(&mut self, id: u32, end: SimTime) {
        if self.ledger.is_some() {
            self.window.leave(end);
            self.acknowledge(Id::new(id));
        }
        let finished = self.in_flight[Id::new(id)].finished.expect("flash is done with it");
        self.conclude(finished, end);
    }

    /// The link has done what it did: its next uses, until it is busy again or has nothing to do.
    #[inline(never)]
    pub(super) fn cross(&mut self) {
        let now = self.now;
        if let Some(id) = self.link.as_mut().and_then(|link| link.inward.take()) {
            self.submit(Id::new(id));
        }
        if let Some(id) = self.link.as_mut().and_then(|link| link.outward.take()) {
            self.leave(id, now);
        }
        while let Some(link) = self.link.as_mut().filter(|link| link.free_at <= now && link.inward.is_none())
        {
            if let Some(id) = link.leaving(now) {
                let this = &self.in_flight[Id::new(id)];
                let out = if this.op == Some(Op::Read) { link.time(this.sectors) } else { Span::ZERO };
                link.free_at = now + out;
                let end = link.free_at;
                if self.ledger.is_some() && end > now {
                    // A cut may still come in between.
                    link.outward = Some(id);
                    return;
                }
                self.leave(id, end);
                continue;
            }
            let Some(id) = link.coming.pop_front() else { return };
            let this = &self.in_flight[Id::new(id)];
            if this.op == Some(Op::Write) {
                link.free_at = now + link.time(this.sectors);
                link.inward = Some(id);
            } else {
                self.submit(Id::new(id));
            }
        }
    }
}
