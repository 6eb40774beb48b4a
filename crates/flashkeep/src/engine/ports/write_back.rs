//! Write-back of members' caches while commands go on ([`Port::wants_flush`]): each victim is a port request of its own,
//! for which no caller waits.
//!

use super::super::Contents;
use super::super::backends::{Backends, CompletionToken};
use super::super::command::{Command, Flags, Page, Verb};
use super::super::executor::{Due, Engine};
use super::super::scheme::Scheme;
use super::accept::{Asked, PortRequest};
use super::behind::MemberBackend;
use super::flush::FlushPhase;
use crate::device::port::Port;
use crate::kernel::{Id, SimTime};

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// The cache may have got more pages: victims are written back when all else of this instant has happened.
    #[inline]
    pub(super) fn write_back_some(&mut self, now: SimTime, at: u16) {
        let this = &mut self.ports.all[usize::from(at)];
        if this.has_cache && !self.untimed && !self.ports.bypassed && this.port_mut().wants_flush() {
            self.due.push(now, Due::WriteBack(at));
        }
    }

    #[inline(never)]
    fn write_back_victims<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, at: u16) {
        while self.ports.all[usize::from(at)].port_mut().wants_flush() {
            self.write_back(backends, now, at, |port, below| port.flush_next(below));
        }
    }

    /// A port request that writes pages of the cache back: `work` has the port do so, and returns the number of sectors.
    pub(super) fn write_back<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        work: impl FnOnce(&mut Port<C>, &mut MemberBackend<'_, S, C, L>) -> u64,
    ) {
        let id = self.claim_request(at);
        self.opened = self.opened.wrapping_add(1);
        self.ports.all[usize::from(at)].latest = self.opened;
        let counter = self.ports.requests[id].counter;
        self.begin_latency(counter, now);
        let token = CompletionToken::at(counter, 0, self.opened);
        // A write that is durable when it ends.
        let command = Command { flags: Flags::FUA, ..Command::new(Verb::Write, Page(0), 1) };
        let this = &mut self.ports.requests[id];
        this.commands.push(Asked { command, caller: CompletionToken::default(), place: 0 });
        (this.asked, this.age) = (true, self.opened);
        let sectors = self.at_port(backends, now, at, token, work);
        self.ports.requests[id].flush = FlushPhase::Victim(sectors);
        self.settle(backends, now);
        self.send(backends, now, id);
    }

    /// The pages of a victim are acknowledged, or durable.
    #[cold]
    pub(super) fn end_victim(&mut self, now: SimTime, id: Id<PortRequest>, sectors: u64) {
        let PortRequest { port: at, counter, .. } = self.ports.requests[id];
        let counter = &mut self.counters[counter];
        if counter.undurable > 0 {
            return counter.forget();
        }
        let end = counter.durable.max(counter.acknowledged).max(now);
        self.end_leaving(usize::from(at), end, sectors);
        self.bury_request(id);
    }

    /// Sectors that left a cache will have been written at an instant: their room is free then.
    pub(super) fn end_leaving(&mut self, at: usize, end: SimTime, sectors: u64) {
        if sectors > 0 {
            self.ports.all[at].port_mut().flush_ends(sectors, end);
            self.due.push(end, Due::WriteBack(at as u16));
        }
    }

    /// A command for this port has ended at `end`; without another one, idle time begins.
    #[inline]
    pub(super) fn watch_idle_port(&mut self, at: u16, end: SimTime) {
        let this = &self.ports.all[usize::from(at)];
        if !this.has_cache || self.untimed {
            return;
        }
        let asks = |request: &PortRequest| {
            let victim = matches!(request.flush, FlushPhase::Victim(_));
            request.port == at && request.counter.is_some() && !victim && request.waiting().is_some()
        };
        if !this.port().flushes_when_idle() || self.ports.requests.places().any(asks) {
            return;
        }
        if let Some(at_idle) = self.ports.all[usize::from(at)].port_mut().begin_idle(end) {
            self.due.push(at_idle, Due::WriteBack(at));
        }
    }

    /// No cache writes back by itself any more; whether one did.
    pub fn stop_writing_back(&mut self) -> bool {
        self.ports.all.iter_mut().fold(false, |any, this| this.port_mut().stop_writing_back() | any)
    }

    /// A command for this port comes.
    #[inline]
    pub(super) fn end_idle_port(&mut self, at: u16) {
        let this = &mut self.ports.all[usize::from(at)];
        if this.has_cache {
            this.port_mut().end_idle();
        }
    }

    /// Ports look at their caches.
    #[inline]
    pub(in super::super) fn write_back_ports_that_want<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
    ) {
        while let Some(at) = self.ports.looking.pop() {
            self.go_on_writing_back(backends, now, at);
        }
    }

    /// A victim has been written, or no command has been in progress for long enough.
    #[cold]
    fn go_on_writing_back<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, at: u16) {
        self.ports.all[usize::from(at)].port_mut().go_on_flushing(now);
        self.write_back_victims(backends, now, at);
    }
}
