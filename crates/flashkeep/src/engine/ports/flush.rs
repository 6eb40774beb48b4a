//! FLUSH: pages that members have reported durable, but hold in write caches, reach the media.
//!
//! A port handles it as a port request. The port writes its cache back and waits for what left the cache earlier; then
//! the nodes below do the same, because what leaves one cache may be held by another one below. Where all caches are
//! empty there is nothing to do, and it takes no time.

use super::super::Contents;
use super::super::backends::{Backends, CompletionToken, Done};
use super::super::command::{Command, Flags, Page, Verb};
use super::super::executor::Engine;
use super::super::running::RunningPlan;
use super::super::scheme::Scheme;
use super::super::tree::NodeId;
use super::accept::{Asked, PortRequest};
use crate::kernel::{Id, SimTime};

/// The place of a FLUSH among the pages of a plan: it has none.
pub(in super::super) const NO_PAGE: u32 = u32::MAX;

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
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// A plan has come to the stage before which its members write their caches back; returns whether it waits for that.
    #[cold]
    pub(in super::super) fn flush_for<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
    ) -> bool {
        let running = &mut self.running_plans[id];
        running.flushes = None;
        let (node, counter) = (running.node, running.counter);
        let token = CompletionToken::at(counter, NO_PAGE, running.caller.age);
        self.flush_members(backends, now, node, token);
        self.counters[counter].undurable > 0
    }

    /// All that the members of a node have reported durable reaches the media. Counts for the token's owner.
    pub(in super::super) fn flush_members<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        token: CompletionToken,
    ) {
        if self.ports.all.is_empty() || self.ports.bypassed {
            return;
        }
        for n in 0..self.shape[node.index()].children.len() {
            let child = self.shape[node.index()].children[n];
            let at = self.shape[child.index()].port.filter(|&at| self.ports.is_dirty(at));
            match at {
                _ if !self.shape[child.index()].alive => {}
                Some(at) => self.flush(backends, now, at, token),
                None => self.flush_members(backends, now, child, token),
            }
        }
    }

    /// A FLUSH for a node whose port has a cache. It keeps its place among the requests on the link.
    fn flush<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, at: u16, token: CompletionToken) {
        self.account(token, 1);
        let link = self.ports.all[usize::from(at)].link.as_ref();
        let waits = link.is_some_and(|link| !self.untimed || link.is_awaited());
        let id = self.claim_request(at);
        let this = &mut self.ports.requests[id];
        // To the caller, it is a write of one page that is durable when it ends.
        let command = Command { flags: Flags::FUA, ..Command::new(Verb::Write, Page(0), 1) };
        this.commands.push(Asked { command, caller: token, place: 0 });
        (this.flush, this.waits) = (FlushPhase::Here, waits);
        if !waits {
            self.come_in(backends, now, id, 0);
        }
        self.send(backends, now, id);
    }

    /// A FLUSH is behind the port: it writes the cache back, and waits for earlier writes that are not durable.
    pub(super) fn empty_port<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<PortRequest>) {
        let PortRequest { port: at, counter, age, .. } = self.ports.requests[id];
        let mut awaited = 0;
        for request in self.ports.requests.places_mut().filter(|request| request.writes_to(at)) {
            if request.asked {
                request.awaited_by.push(id);
                awaited += 1;
            }
        }
        self.counters[counter].unacknowledged += awaited;
        self.counters[counter].undurable += awaited;
        self.ports.requests[id].asked = true;
        self.write_back_port(backends, now, at, CompletionToken::at(counter, 0, age));
    }

    /// A write for which FLUSHes wait is durable.
    #[cold]
    pub(super) fn let_flushes_on(&mut self, id: Id<PortRequest>) {
        let durable = self.counters[self.ports.requests[id].counter].durable;
        for flush in std::mem::take(&mut self.ports.requests[id].awaited_by) {
            let counter = self.ports.requests[flush].counter;
            self.count_off(&Done::<C>::at(CompletionToken::at(counter, 0, 0), 1, durable));
        }
    }

    /// What a FLUSH waited for is acknowledged, or durable: goes on with it. Returns whether it is over.
    #[cold]
    pub(super) fn is_flushed<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<PortRequest>,
    ) -> bool {
        let PortRequest { counter, flush, age, .. } = self.ports.requests[id];
        let this = &mut self.counters[counter];
        if this.undurable > 0 {
            this.forget();
            return false;
        }
        this.acknowledged = this.acknowledged.max(this.durable);
        if flush == FlushPhase::Below {
            return true;
        }
        this.restart();
        self.ports.requests[id].flush = FlushPhase::Below;
        let (node, token) = (self.ports.node(id), CompletionToken::at(counter, 0, age));
        self.flush_members(backends, now, node, token);
        self.count_off(&Done::<C>::at(token, 1, now));
        false
    }
}
