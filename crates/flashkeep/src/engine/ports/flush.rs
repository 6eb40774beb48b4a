//! FLUSH: pages that members have reported durable, but hold in write caches, reach the media.
//!
//! A port handles it as a port request. The port writes its cache back and waits for what left the cache earlier; then
//! the nodes below do the same, because what leaves one cache may be held by another one below. Where all caches are
//! empty there is nothing to do, and it takes no time.

use super::super::Contents;
use super::super::backends::{Backends, CompletionToken, Done, OpenRequest};
use super::super::command::{Command, Flags, Page, Verb};
use super::super::executor::Engine;
use super::super::requests::CompletionCounter;
use super::super::running::RunningPlan;
use super::super::schedule::Schedule;
use super::super::scheme::Scheme;
use super::super::tree::NodeId;
use super::super::work::WorkInProgress;
use super::Ports;
use super::accept::{Asked, PortRequest};
use crate::kernel::{Id, SimTime};
use std::collections::BTreeMap;

/// The place of a FLUSH among the pages of a plan: it has none.
pub(in super::super) const NO_PAGE: u32 = u32::MAX;

/// Which caches a FLUSH writes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Flushed {
    /// Those that a power loss empties; what the others hold is durable.
    #[default]
    Volatile,
    /// All.
    All,
}

/// How far a FLUSH is at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FlushPhase {
    /// The port request is none.
    #[default]
    None,
    /// The port writes its cache back.
    Here,
    /// The nodes below do so.
    Below,
    /// It is no FLUSH: the port writes a victim of its cache back, of this many sectors.
    Victim(u64),
}

/// What waits until requests are durable, by those: many FLUSHes may wait for one another, and few of them for one that
/// ends.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Fences(BTreeMap<u32, Vec<CompletionToken>>);

impl Fences {
    #[inline]
    pub(in super::super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, awaited: Id<CompletionCounter>, waiter: CompletionToken) {
        self.0.entry(awaited.raw()).or_default().push(waiter);
    }

    /// What waits for a request, in the order in which it came.
    fn lift(&mut self, awaited: Id<CompletionCounter>) -> Vec<CompletionToken> {
        self.0.remove(&awaited.raw()).unwrap_or_default()
    }
}

impl<C: Contents> WorkInProgress<C> {
    /// A request of the host waits until the pages of others are durable: of those that `writes` accepts, by their tag and
    /// whether they have been acknowledged. Returns whether there are any.
    pub(super) fn await_host(&mut self, request: OpenRequest, writes: impl Fn(u32, bool) -> bool) -> bool {
        let mut awaited = 0;
        for (at, counter) in (0..).zip(self.counters.places()) {
            let id = Id::new(at);
            if id != request.owner && counter.is_under_way_for_host() && writes(counter.tag, counter.told) {
                self.fences.add(id, request.pages());
                awaited += 1;
            }
        }
        self.account(request.pages(), awaited);
        awaited > 0
    }

    /// The pages of a request are durable: requests that waited for that continue.
    #[cold]
    pub(in super::super) fn lift_fences(
        &mut self,
        owner: Id<CompletionCounter>,
        ports: &mut Ports<C>,
        schedule: &mut Schedule,
    ) {
        let durable = self.counters[owner].durable;
        for waiter in self.fences.lift(owner) {
            self.count_off(&Done::<C>::at(waiter, 1, durable), ports, schedule);
        }
    }
}

impl<C: Contents> Ports<C> {
    /// A FLUSH at a port waits for requests that write below the port; returns whether there are any.
    pub(super) fn await_port(
        &mut self,
        at: u16,
        token: CompletionToken,
        work: &mut WorkInProgress<C>,
    ) -> bool {
        let mut awaited = 0;
        for request in self.requests.places().filter(|request| request.writes_to(at) && request.asked) {
            work.fences.add(request.counter, token);
            awaited += 1;
        }
        work.account(token, awaited);
        awaited > 0
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// A port writes its whole cache back; what it writes is programmed together. Returns the sectors.
    pub(super) fn flush_port<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        token: CompletionToken,
        flags: Flags,
    ) -> u64 {
        backends.await_parts();
        let write = Command { flags, ..Command::new(Verb::Write, Page(0), 1) };
        let leaving =
            self.call_port(backends, now, at, (write, token), (), |port, below| port.flush_all(below));
        backends.parts_have_come(now);
        leaving
    }

    /// A plan has come to the stage before which its members write their caches back; returns whether it waits for that.
    #[cold]
    pub(in super::super) fn flush_for<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
    ) -> bool {
        let running = &mut self.work.running_plans[id];
        running.flushes = None;
        let (node, counter) = (running.node, running.counter);
        let token = CompletionToken::at(counter, NO_PAGE, running.caller.age);
        self.flush_members(backends, now, node, Flushed::Volatile, token);
        self.work.counters[counter].undurable > 0
    }

    /// All that the members of a node have reported durable reaches the media. Counts for the token's owner.
    pub(in super::super) fn flush_members<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        which: Flushed,
        token: CompletionToken,
    ) {
        if !self.ports.has_members() || self.ports.bypassed {
            return;
        }
        for n in 0..self.nodes[node].children.len() {
            let child = self.nodes[node].children[n];
            let port = self.nodes[child].port;
            let is_durable =
                |at: u16| which == Flushed::Volatile && self.ports.all[usize::from(at)].is_protected();
            match port.filter(|&at| self.ports.is_dirty(at, now)) {
                _ if !self.nodes[child].alive || port.is_some_and(is_durable) => {}
                Some(at) => self.flush(backends, now, at, which, token),
                None => self.flush_members(backends, now, child, which, token),
            }
        }
    }

    /// A FLUSH for a node whose port has a cache. It keeps its place among the requests on the link.
    fn flush<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        which: Flushed,
        token: CompletionToken,
    ) {
        self.work.account(token, 1);
        self.ports.end_idle_port(at);
        let link = self.ports.all[usize::from(at)].link.as_ref();
        let waits = link.is_some_and(|link| !self.schedule.untimed || link.is_awaited());
        let id = self.ports.claim_request(at, &mut self.work);
        self.work.latencies.begin(self.ports.requests[id].counter, now);
        let this = &mut self.ports.requests[id];
        // To the caller, it is a write of one page that is durable when it ends.
        let flags = Flags::FUA.with(Flags::SOON);
        let command = Command { flags, ..Command::new(Verb::Write, Page(0), 1) };
        this.commands.push(Asked { command, caller: token, place: 0 });
        (this.flush, this.flushed, this.waits) = (FlushPhase::Here, which, waits);
        if !waits {
            self.come_in(backends, now, id, 0);
        }
        self.send(backends, now, id);
    }

    /// A FLUSH is below the port: it writes the cache back, and waits for earlier writes that are not durable.
    pub(super) fn empty_port<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<PortRequest>) {
        let PortRequest { port: at, counter, age, .. } = self.ports.requests[id];
        let token = CompletionToken::at(counter, 0, age);
        self.ports.await_port(at, token, &mut self.work);
        self.ports.requests[id].asked = true;
        self.ports.requests[id].leaving = self.flush_port(backends, now, at, token, Flags::NONE);
    }

    /// A FLUSH continues: its writes are acknowledged, or durable. Returns whether it is over.
    #[cold]
    pub(super) fn is_flushed<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<PortRequest>,
    ) -> bool {
        let PortRequest { counter, flush, flushed, age, .. } = self.ports.requests[id];
        let this = &mut self.work.counters[counter];
        if this.undurable > 0 {
            this.forget();
            return false;
        }
        this.acknowledged = this.acknowledged.max(this.durable);
        if flush == FlushPhase::Below {
            return true;
        }
        // Writes that have been granted end later.
        let settled = self.ports.all[usize::from(self.ports.requests[id].port)].settled;
        this.acknowledged = this.acknowledged.max(settled);
        let end = this.acknowledged;
        let leaving = std::mem::take(&mut self.ports.requests[id].leaving);
        if leaving > 0 {
            self.ports.end_leaving(self.ports.requests[id].port, end, leaving, &mut self.schedule);
        }
        let this = &mut self.work.counters[counter];
        this.restart();
        self.ports.requests[id].flush = FlushPhase::Below;
        let (node, token) = (self.ports.node(id), CompletionToken::at(counter, 0, age));
        self.flush_members(backends, now, node, flushed, token);
        self.work.count_off(&Done::<C>::at(token, 1, now), &mut self.ports, &mut self.schedule);
        false
    }
}
