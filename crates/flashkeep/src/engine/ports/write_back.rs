//! Write-back of caches during commands ([`Port::wants_flush`]): each victim is a port request of its own, for which
//! no caller waits. Victims of the host's port count as work for the host.

use super::super::Contents;
use super::super::backends::{Backends, CompletionToken};
use super::super::command::{Command, Flags, Page, Verb};
use super::super::executor::Engine;
use super::super::schedule::{Due, Schedule};
use super::super::scheme::Scheme;
use super::super::tree::NodeId;
use super::super::work::WorkInProgress;
use super::accept::{Asked, PortRequest};
use super::behind::PortSubtree;
use super::flush::{FlushPhase, Flushed};
use super::{PortId, Ports};
use crate::device::port::Port;
use crate::kernel::{Id, SimTime};

impl<C: Contents> Ports<C> {
    /// The cache may have got more pages: victims are written back when all else of this instant has happened.
    #[inline(always)]
    pub(super) fn write_back_some(&mut self, now: SimTime, at: u16, schedule: &mut Schedule) {
        let this = &mut self.all[usize::from(at)];
        if this.has_cache && !schedule.untimed && !self.bypassed && this.port_mut().wants_flush() {
            schedule.due.push(now, Due::write_back(at));
        }
    }

    /// The pages of a victim are acknowledged, or durable. The host's port has their room again at the first of both.
    #[cold]
    pub(super) fn end_victim(
        &mut self,
        now: SimTime,
        id: Id<PortRequest>,
        sectors: u64,
        work: &mut WorkInProgress<C>,
        schedule: &mut Schedule,
    ) {
        let this = &mut self.requests[id];
        let (at, counter) = (this.port, &mut work.counters[this.counter]);
        let is_durable = counter.undurable == 0;
        let end = if is_durable { counter.durable.max(counter.acknowledged) } else { counter.acknowledged };
        if !is_durable {
            counter.forget();
        }
        let is_over = is_durable || at == PortId::HOST.0;
        if is_over && !std::mem::replace(&mut this.told, true) {
            self.end_leaving(at, end.max(now), sectors, schedule);
        }
        if is_durable {
            self.bury_request(id, work, schedule);
        }
    }

    /// Sectors that left a cache will have been written at an instant: their room is free then.
    pub(super) fn end_leaving(&mut self, at: u16, end: SimTime, sectors: u64, schedule: &mut Schedule) {
        self.all[usize::from(at)].port_mut().flush_ends(sectors, end);
        schedule.due.push(end, Due::write_back(at));
    }

    /// A command for this port has ended at `end`; without another one, idle time begins.
    #[inline]
    pub(super) fn watch_idle_port(&mut self, at: u16, end: SimTime, schedule: &mut Schedule) {
        let this = &self.all[usize::from(at)];
        if !this.has_cache || schedule.untimed {
            return;
        }
        let asks = |request: &PortRequest| {
            let victim = matches!(request.flush, FlushPhase::Victim(_));
            request.port == at && request.counter.is_some() && !victim && request.waiting().is_some()
        };
        if !this.port().flushes_when_idle() || self.requests.places().any(asks) {
            return;
        }
        self.begin_idle_port(at, end, schedule);
    }

    fn begin_idle_port(&mut self, at: u16, since: SimTime, schedule: &mut Schedule) {
        if let Some(at_idle) = self.all[usize::from(at)].port_mut().begin_idle(since) {
            schedule.due.push(at_idle, Due::write_back(at));
        }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// The host's cache may have got more pages: the same as [`Ports::write_back_some`].
    #[inline(always)]
    pub fn write_back_host(&mut self, now: SimTime) {
        self.ports.write_back_some(now, PortId::HOST.0, &mut self.schedule);
    }

    /// A port request that writes pages of the cache back: `work` has the port do so, and returns the number of sectors.
    pub(super) fn write_back<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        work: impl FnOnce(&mut Port<C>, &mut PortSubtree<'_, S, C, L, ()>) -> u64,
    ) {
        let id = self.ports.claim_request(at, &mut self.work);
        self.schedule.foreground += u32::from(at == PortId::HOST.0);
        self.work.opened = self.work.opened.wrapping_add(1);
        self.ports.all[usize::from(at)].latest = self.work.opened;
        let counter = self.ports.requests[id].counter;
        self.work.latencies.begin(counter, now);
        let token = CompletionToken::at(counter, 0, self.work.opened);
        // A write that is durable when it ends.
        let command = Command { flags: Flags::FUA, ..Command::new(Verb::Write, Page(0), 1) };
        let this = &mut self.ports.requests[id];
        this.commands.push(Asked { command, caller: CompletionToken::default(), place: 0 });
        (this.asked, this.age) = (true, self.work.opened);
        let sectors = self.at_port(backends, now, at, token, work);
        self.ports.requests[id].flush = FlushPhase::Victim(sectors);
        self.settle(backends, now);
        self.send(backends, now, id);
    }

    /// The host's cache is written back as a whole, by a request of its port.
    #[cold]
    pub fn write_back_all_of_host<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        self.write_back(backends, now, PortId::HOST.0, |port, below| port.flush_all(below));
    }

    /// The same for all caches of members.
    #[cold]
    pub fn write_back_all_of_members<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        self.write_back(backends, now, PortId::HOST.0, |_, below| {
            below.engine.flush_members(below.backends, now, NodeId::ROOT, Flushed::All, below.token);
            0
        });
    }

    /// What the host's protected cache has saved in a power loss is written out.
    #[cold]
    pub fn write_out_saved_of_host<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        self.write_back(backends, now, PortId::HOST.0, |port, below| {
            port.write_out_saved(below);
            0
        });
    }

    /// The host has no request any more since an instant.
    #[inline]
    pub fn begin_host_idle(&mut self, since: SimTime) {
        if self.ports.all[0].has_cache && !self.schedule.untimed {
            self.ports.begin_idle_port(PortId::HOST.0, since, &mut self.schedule);
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
    pub(super) fn go_on_writing_back<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, at: u16) {
        self.ports.all[usize::from(at)].port_mut().go_on_flushing(now);
        while self.ports.all[usize::from(at)].port_mut().wants_flush() {
            self.write_back(backends, now, at, |port, below| port.flush_next(below));
        }
    }
}
