//! Requests of the host that end when what they concern is durable: FLUSHes, and writes with FUA.
//!
//! A FLUSH writes the cache of the host's port back and waits for writes that are under way. When that is durable, the
//! members write their caches back. Each stage begins when the one before it has ended, and has a completion counter of
//! its own.

use super::super::Contents;
use super::super::backends::{Backends, OpenRequest};
use super::super::command::Flags;
use super::super::executor::Engine;
use super::super::requests::{CompletionCounter, Finished};
use super::super::schedule::{Due, Schedule};
use super::super::scheme::Scheme;
use super::super::tree::NodeId;
use super::flush::Flushed;
use super::{PortId, Ports};
use crate::kernel::{Id, SimTime};

/// A request of the host that ends when it is durable.
#[derive(Clone, Debug)]
pub(super) struct DurableRequest {
    /// The host's number for it.
    tag: u32,
    /// It ends no earlier than at this instant.
    floor: SimTime,
    /// The sectors that leave the host's cache with it, whose room is free when they are durable.
    leaving: u64,
    /// Caches of members must be written back before it ends.
    flushes_members: bool,
    /// When its next stage begins, and the completion counter of the one before.
    next: Option<(SimTime, Id<CompletionCounter>)>,
}

impl<C: Contents> Ports<C> {
    #[cold]
    fn ends_stage(&mut self, finished: &mut Finished, schedule: &mut Schedule) -> bool {
        let Some(n) = self.durable.iter().position(|request| request.tag == finished.tag) else {
            return true;
        };
        if finished.lost > 0 {
            // A write that needed a lost page may have had no effect.
            self.host_mut().drop_copies();
        }
        let mut this = self.durable.remove(n);
        let end = finished.acknowledged.max(this.floor).max(finished.durable.unwrap_or_default());
        if finished.durable.is_some() && this.leaving > 0 {
            self.end_leaving(PortId::HOST.0, end, std::mem::take(&mut this.leaving), schedule);
        }
        if finished.durable.is_some() && !this.flushes_members {
            (finished.acknowledged, finished.durable) = (end, Some(end));
            return true;
        }
        (this.floor, this.next) = (end, Some((end, finished.counter)));
        self.durable.push(this);
        schedule.due.push(end, Due::Host);
        false
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Begins a FLUSH of the host; `changes` says of other requests, by their tag, whether they change data. False if there
    /// is nothing to wait for.
    #[cold]
    pub fn begin_flush<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        request: OpenRequest,
        changes: impl Fn(u32) -> bool,
    ) -> bool {
        let host = &self.ports.all[0];
        let (floor, holds, evicts) = (host.settled, host.port().holds_pages(), host.has_cache);
        let flushes_members = self.ports.has_caches();
        let leaving = self.flush_port(backends, now, PortId::HOST.0, request.pages(), Flags::SOON);
        backends.end_gathering(now);
        let awaits_port = self.ports.await_port(PortId::HOST.0, request.pages(), &mut self.work);
        // Without a cache, only writes that have been acknowledged early are awaited.
        let awaits =
            self.work.await_host(request, |tag, acknowledged| acknowledged || evicts && changes(tag));
        let tag = self.work.counters[request.owner].tag;
        self.ports.durable.push(DurableRequest { tag, floor, leaving, flushes_members, next: None });
        floor > now || flushes_members || holds || awaits_port || awaits
    }

    /// A request of the host ends when its pages are durable.
    #[cold]
    pub fn end_when_durable(&mut self, request: OpenRequest) {
        let (tag, floor) = (self.work.counters[request.owner].tag, SimTime::ZERO);
        let this = DurableRequest { tag, floor, leaving: 0, flushes_members: false, next: None };
        self.ports.durable.push(this);
    }

    /// Whether a finished request is over; otherwise another stage of it follows.
    #[inline]
    pub fn is_over(&mut self, finished: &mut Finished) -> bool {
        self.ports.durable.is_empty() || self.ports.ends_stage(finished, &mut self.schedule)
    }

    /// Does the due work of the host's port, after all other work of this instant: further stages, and write-back.
    #[cold]
    pub(in super::super) fn go_on_for_host<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        let is_due = |request: &DurableRequest| request.next.is_some_and(|(at, _)| at <= now);
        while let Some(n) = self.ports.durable.iter().position(is_due) {
            self.begin_stage(backends, now, n);
        }
        self.go_on_writing_back(backends, now, PortId::HOST.0);
    }

    /// The next stage of a request: its own pages become durable, then caches of members.
    fn begin_stage<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, n: usize) {
        let tag = self.ports.durable[n].tag;
        if let Some((_, before)) = self.ports.durable[n].next.take() {
            let floor = &mut self.ports.durable[n].floor;
            *floor = self.work.counters[before].all_durable().map_or(*floor, |durable| durable.max(*floor));
            self.work.forget(before);
        }
        let request = self.open(tag, 0);
        self.work.begin_request(request, now);
        if !self.work.await_host(request, |other, _| other == tag)
            && std::mem::take(&mut self.ports.durable[n].flushes_members)
        {
            self.flush_members(backends, now, NodeId::ROOT, Flushed::Volatile, request.pages());
        }
        self.close(backends, now, request);
    }
}
