//! Commands on their way through a member's port: they wait for the link, cross it, are carried out below, and their
//! results cross the link.

use super::super::Contents;
use super::super::backends::{Backends, CompletionPart, CompletionToken, Done};
use super::super::command::{Command, Flags, Verb};
use super::super::executor::Engine;
use super::super::repair::FailedPage;
use super::super::requests::{CompletionCounter, Finished};
use super::super::schedule::{Due, Schedule};
use super::super::scheme::Scheme;
use super::super::tree::NodeId;
use super::super::work::WorkInProgress;
use super::flush::{FlushPhase, Flushed};
use super::{PortId, Ports};
use crate::device::port::Crossing;
use crate::kernel::{Id, SimTime, Span};

/// A port request: commands of one caller that pass a port together.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct PortRequest {
    pub(super) port: u16,
    pub(super) counter: Id<CompletionCounter>,
    pub(super) commands: Vec<Asked>,
    /// The number of places of its commands' pages.
    places: u32,
    /// It waits for the link, on which this many sectors cross with it.
    pub(super) waits: bool,
    inward: u64,
    /// Its age below the port.
    pub(super) age: u32,
    /// It sent commands below; otherwise the controller's memory serves it.
    pub(super) asked: bool,
    pub(super) told: bool,
    /// How far it is, if it is a FLUSH.
    pub(super) flush: FlushPhase,
    /// The caches that it writes back then.
    pub(super) flushed: Flushed,
    /// The sectors that a FLUSH takes out of the cache.
    pub(super) leaving: u64,
    /// The places of its unrecoverable pages.
    lost: Vec<u32>,
}

/// A command of a port request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) command: Command,
    pub(super) caller: CompletionToken,
    /// Its first page's place among those of the request.
    pub(super) place: u32,
}

impl PortRequest {
    pub(super) fn verb(&self) -> Verb {
        self.commands[0].command.verb
    }

    fn owner(&self) -> Id<CompletionCounter> {
        self.commands[0].caller.owner
    }

    /// The owner that waits for it, unless it has been answered.
    pub(super) fn waiting(&self) -> Id<CompletionCounter> {
        if self.told { Id::NONE } else { self.owner() }
    }

    /// Whether pages of it are lost.
    pub(super) fn is_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Whether it is in progress and writes to this port.
    pub(super) fn writes_to(&self, at: u16) -> bool {
        self.port == at && self.counter.is_some() && self.verb() == Verb::Write
    }

    /// Whether its writes pass the cache.
    pub(super) fn is_forced(&self) -> bool {
        self.commands[0].command.flags.has(Flags::FUA)
    }

    fn is_before(&self) -> bool {
        self.commands[0].command.flags.has(Flags::BEFORE)
    }
}

impl<C: Contents> Ports<C> {
    /// The counter of a port request, whether it waited for an eviction, and for how long the memory served it alone.
    pub(in super::super) fn waiting_of(&self, id: Id<PortRequest>) -> (Id<CompletionCounter>, bool, Span) {
        let this = &self.requests[id];
        let memory = if this.asked { Span::ZERO } else { self.all[usize::from(this.port)].memory };
        (this.counter, this.asked && this.verb() == Verb::Write && self.keeps(id), memory)
    }

    /// Adds a command to the port request that it continues, or to a new one, with what it writes.
    fn take_command(
        &mut self,
        at: u16,
        command: Command,
        caller: CompletionToken,
        work: &mut WorkInProgress<C>,
    ) -> Id<PortRequest> {
        work.account(caller, u32::from(command.count));
        let continued = if self.has_open() { self.continued(at, &command, caller) } else { None };
        let id = continued.unwrap_or_else(|| self.claim_request(at, work));
        let this = &mut self.requests[id];
        let mut place = this.places;
        this.places += u32::from(command.count);
        if C::KEEP {
            let written = |n: u32| {
                let from = caller.plus(n);
                let page = work.buffers.of(from.owner).get(from.slot as usize).copied();
                if command.verb == Verb::Write { page.unwrap_or_default() } else { C::default() }
            };
            let pages: Vec<C> = (0..u32::from(command.count)).map(written).collect();
            place = work.buffers.extend(this.counter, pages.into_iter());
        }
        // Old contents that the caller has read are not passed on.
        let command = Command { flags: command.flags.without(Flags::OLD_IN_HAND), ..command };
        this.commands.push(Asked { command, caller, place });
        id
    }

    pub(super) fn claim_request(&mut self, at: u16, work: &mut WorkInProgress<C>) -> Id<PortRequest> {
        let id = self.requests.claim();
        let counter = work.claim_counter(0);
        work.counters[counter] = CompletionCounter::of_port_request(id);
        let this = &mut self.requests[id];
        this.commands.clear();
        this.lost.clear();
        (this.port, this.counter, this.places, this.inward) = (at, counter, 0, 0);
        (this.waits, this.asked, this.told) = (false, false, false);
        (this.flush, this.leaving) = (FlushPhase::None, 0);
        id
    }

    /// A request at a port ends: its port takes copies of what it has read, unless its place is one that `failed`. A write
    /// that needed a lost page may have had no effect.
    fn end_reads(
        &mut self,
        at: u16,
        (counter, acknowledged): (Id<CompletionCounter>, SimTime),
        has_lost_writes: bool,
        failed: impl Fn(u32) -> bool,
        work: &WorkInProgress<C>,
    ) {
        let (port, buffers) = (self.all[usize::from(at)].port_mut(), &work.buffers);
        if has_lost_writes {
            port.drop_copies();
        }
        let brought = |place| (!failed(place)).then(|| buffers.brought(counter, place));
        port.end_reads(counter.raw(), acknowledged, brought);
    }

    /// The same for a port request.
    fn end_reads_at(&mut self, id: Id<PortRequest>, work: &WorkInProgress<C>) {
        let this = &mut self.requests[id];
        let (at, counter, is_lost) = (this.port, this.counter, this.verb() == Verb::Write && this.is_lost());
        let lost = std::mem::take(&mut this.lost);
        let acknowledged = work.counters[counter].acknowledged;
        self.end_reads(at, (counter, acknowledged), is_lost, |place| lost.contains(&place), work);
        self.requests[id].lost = lost;
    }

    fn memory_of(&self, at: u16, schedule: &Schedule) -> Span {
        if schedule.untimed { Span::ZERO } else { self.all[usize::from(at)].memory }
    }

    pub(super) fn bury_request(
        &mut self,
        id: Id<PortRequest>,
        work: &mut WorkInProgress<C>,
        schedule: &mut Schedule,
    ) {
        if !work.fences.is_empty() {
            work.lift_fences(self.requests[id].counter, self, schedule);
        }
        let counter = std::mem::take(&mut self.requests[id].counter);
        let port = &mut self.all[usize::from(self.requests[id].port)];
        port.settled = port.settled.max(work.counters[counter].durable);
        work.counters.release(counter);
        self.requests.release(id);
    }

    /// Whether a failed page is one that a node's port asked for.
    pub(in super::super) fn is_at_port(
        &self,
        node: NodeId,
        token: CompletionToken,
        work: &WorkInProgress<C>,
    ) -> bool {
        let counter = &work.counters[token.owner];
        if counter.request.is_some() {
            return self.node(counter.request) == node;
        }
        let merges = counter.running.is_some() && work.running_plans[counter.running].node == NodeId::HOST;
        if !merges {
            return false;
        }
        let port = work.running_plans[counter.running].port();
        port != PortId::HOST && self.node_of(port) == node
    }
}

impl<C> Ports<C> {
    /// A page below a port is unrecoverable: it is reported with the rest of its request. False if it is of no port request.
    pub(in super::super) fn lose_page(&mut self, id: Id<PortRequest>, place: u32) -> bool {
        if id.is_some() {
            self.requests[id].lost.push(place);
        }
        id.is_some()
    }

    /// The port request that a command continues.
    fn continued(&self, at: u16, command: &Command, caller: CompletionToken) -> Option<Id<PortRequest>> {
        let continued = |id: &Id<PortRequest>| {
            let request = &self.requests[*id];
            request.port == at && request.owner() == caller.owner && request.verb() == command.verb
        };
        self.open.iter().copied().find(continued)
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// A command for a node with a port.
    #[inline(never)]
    pub(in super::super) fn accept<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        command: Command,
        token: CompletionToken,
    ) {
        let this = &self.ports.all[usize::from(at)];
        // In a protected cache a page is durable.
        let passes = !this.is_protected();
        let flags = if passes { command.flags } else { command.flags.without(Flags::FUA) };
        let command = Command { flags, ..command };
        // A command without time needs no link, but does not overtake commands that wait for it.
        let before = command.flags.has(Flags::BEFORE);
        let timeless = self.schedule.untimed || before;
        let waits = match &this.link {
            Some(link) => !timeless || link.is_awaited(),
            None => false,
        };
        // Whole pages need no request of their own if there is neither link nor cache.
        let straight = !this.makes_requests() && command.sectors == 0 && command.verb != Verb::Trim;
        if self.ports.bypassed || straight || (before && !waits) {
            self.ask_behind(backends, now, at, command, token);
            return;
        }
        self.ports.end_idle_port(at);
        let id = self.ports.take_command(at, command, token, &mut self.work);
        let request = &self.ports.requests[id];
        if request.commands.len() == 1 {
            self.work.latencies.begin(request.counter, now);
        }
        let this = &mut self.ports.all[usize::from(at)];
        let request = &mut self.ports.requests[id];
        if waits {
            request.waits = true;
            if command.verb == Verb::Write && !timeless {
                request.inward += this.sectors(&command);
            }
            this.await_pages(&command, true);
        } else {
            let last = request.commands.len() - 1;
            self.come_in(backends, now, id, last);
        }
        if command.flags.has(Flags::CONTINUES) {
            if !self.ports.open.contains(&id) {
                self.ports.open.push(id);
            }
        } else {
            if self.ports.has_open() {
                self.ports.open.retain(|&open| open != id);
            }
            self.send(backends, now, id);
        }
    }

    /// The caller has submitted all its commands: port requests that could still grow are complete.
    #[inline(never)]
    pub(in super::super) fn send_open<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        owner: Id<CompletionCounter>,
    ) {
        let open = std::mem::take(&mut self.ports.open);
        let (mine, others): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|&id| self.ports.requests[id].owner() == owner);
        self.ports.open = others;
        mine.into_iter().for_each(|id| self.send(backends, now, id));
    }

    /// A port request is complete: it waits for the link, or starts below.
    pub(super) fn send<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<PortRequest>) {
        let PortRequest { port: at, waits, inward, .. } = self.ports.requests[id];
        if !waits {
            return self.close_request(backends, now, id);
        }
        if let Some(link) = &mut self.ports.all[usize::from(at)].link {
            link.come(id.raw(), inward);
        }
        self.ports.arm_port(now, at, &mut self.schedule);
    }

    /// A port's link is free: starts its next transfers, until it is busy again or has no requests.
    fn cross<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, port: u16) {
        let at = usize::from(port);
        while let Some(crossing) = self.ports.all[at].link.as_mut().and_then(|link| link.next(now, false)) {
            match crossing {
                Crossing::In(id) => {
                    let id = Id::new(id);
                    let merges = self.ports.merges(id);
                    if merges {
                        backends.await_parts();
                    }
                    for n in 0..self.ports.requests[id].commands.len() {
                        let request = &self.ports.requests[id];
                        if request.flush == FlushPhase::None {
                            let command = request.commands[n].command;
                            self.ports.all[at].await_pages(&command, false);
                        }
                        self.come_in(backends, now, id, n);
                    }
                    if merges {
                        backends.parts_have_come(now);
                    }
                    // Completed requests cross the link before new ones.
                    self.settle(backends, now);
                    self.close_request(backends, now, id);
                }
                Crossing::Out(id, end) => self.answer(backends, now, Id::new(id), end),
            }
        }
        self.ports.arm_port(now, port, &mut self.schedule);
    }

    /// Links with an event now continue if no other event was due. Otherwise they continue after the consequences of
    /// that event have been handled, as the link of a lone drive does.
    #[inline(never)]
    pub(in super::super) fn cross_all<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        alone: bool,
    ) {
        let goes = alone && self.schedule.due.next() > now;
        let mut notified = std::mem::take(&mut self.ports.notified);
        for at in notified.drain(..) {
            if goes {
                self.ports.all[usize::from(at)].armed = SimTime::NEVER;
                self.cross(backends, now, at);
            } else {
                self.schedule.due.push(now, Due::Port(at));
            }
        }
        self.ports.notified = notified;
        self.settle(backends, now);
    }

    /// A command of a port request is below the port: submits its operations.
    pub(super) fn come_in<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<PortRequest>,
        n: usize,
    ) {
        if n == 0 {
            backends.set_now(now);
            self.work.latencies.note_link(self.ports.requests[id].counter, now);
            let request = &mut self.ports.requests[id];
            let port = &mut self.ports.all[usize::from(request.port)];
            if port.makes_requests() {
                // Below, its age is that of its arrival through the link, like a request's.
                self.work.opened = self.work.opened.wrapping_add(1);
                (request.age, port.latest) = (self.work.opened, self.work.opened);
                backends.note_age(request.age, request.commands[0].caller.age);
            } else {
                request.age = request.commands[0].caller.age;
            }
        }
        let request = &self.ports.requests[id];
        if request.flush != FlushPhase::None {
            return self.empty_port(backends, now, id);
        }
        let (at, Asked { command, place, .. }) = (request.port, request.commands[n]);
        let token = CompletionToken::at(request.counter, place, request.age);
        let asked = self.ask_behind(backends, now, at, command, token);
        self.ports.requests[id].asked |= asked;
    }

    /// Handles a command at its port; returns whether it sent commands below, or takes no time.
    fn ask_behind<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        command: Command,
        token: CompletionToken,
    ) -> bool {
        let this = &self.ports.all[usize::from(at)];
        let (before, bypassed) = (command.flags.has(Flags::BEFORE), self.ports.bypassed);
        let (writes, reads) = (command.verb == Verb::Write, command.verb == Verb::Read);
        if this.is_only_a_link() || (bypassed && !writes) {
            let node = this.node;
            self.below_port(backends, now, node, command, token);
            return command.verb != Verb::Trim;
        }
        assert!(command.verb != Verb::Remap, "old versions are kept in drives, not in arrays of them");
        let fragment = this.fragment(&command);
        let mut contents = Vec::new();
        if C::KEEP && writes {
            let place = |n| token.plus(n).slot as usize;
            contents.extend((0..fragment.count).map(|n| self.work.buffers.of(token.owner)[place(n)]));
        }
        let newest = |page: u64| contents.get((page - fragment.page) as usize).copied().unwrap_or_default();
        self.call_port(backends, now, at, (command, token), (), |port, below| {
            let mut asked = true;
            match (reads, writes) {
                (true, _) if before => port.peek(fragment.page, fragment.count, 0, below),
                (true, _) => asked = port.read(fragment, 0, below),
                (_, true) if bypassed => {
                    port.write_run(fragment.page, fragment.count, command.origin(), Some(0), newest, below);
                }
                (_, true) if command.flags.has(Flags::FUA) && !before => {
                    port.force(fragment, command.origin(), newest, below);
                }
                (_, true) if before && command.sectors != 0 => {
                    port.create(fragment.page, fragment.mask, 0, newest(fragment.page), below);
                }
                (_, true) if before => port.create_run(fragment.page, fragment.count, 0, newest, below),
                (_, true) => asked = port.write(fragment, command.origin(), 0, newest, below),
                _ => asked = port.trim(fragment, 0, below) || before,
            }
            asked
        })
    }

    /// All commands of a port request have been submitted below.
    fn close_request<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<PortRequest>) {
        let PortRequest { port: at, counter, flush, .. } = self.ports.requests[id];
        if self.ports.has_open() {
            self.send_open(backends, now, counter);
        }
        self.work.count_off(
            &Done::<C>::at(CompletionToken::at(counter, 0, 0), 1, now),
            &mut self.ports,
            &mut self.schedule,
        );
        self.end_port_requests(backends, now);
        if flush == FlushPhase::None {
            self.ports.write_back_some(now, at, &mut self.schedule);
        }
    }

    /// Finishes port requests whose pages are all acknowledged, and reports those that are durable after that.
    pub(in super::super) fn end_port_requests<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        while let Some(id) = self.ports.next_ended() {
            let phase = self.ports.requests[id].flush;
            if let FlushPhase::Victim(sectors) = phase {
                self.ports.end_victim(now, id, sectors, &mut self.work, &mut self.schedule);
                continue;
            }
            if phase != FlushPhase::None && !self.is_flushed(backends, now, id) {
                continue;
            }
            let this = &self.ports.requests[id];
            let (at, counter) = (usize::from(this.port), &self.work.counters[this.counter]);
            if this.told {
                // Reads, and pages in the cache, were reported durable already.
                if !self.ports.keeps(id) && this.verb() != Verb::Read {
                    for asked in &this.commands {
                        let pages = u32::from(asked.command.count);
                        let done = Done::<C>::at(asked.caller, pages, counter.durable.max(now));
                        backends.done().push(Done { part: CompletionPart::Durable, ..done });
                    }
                }
                self.ports.bury_request(id, &mut self.work, &mut self.schedule);
                continue;
            }
            if self.ports.all[at].has_copies {
                self.ports.end_reads_at(id, &self.work);
            }
            let this = &self.ports.requests[id];
            let counter = &self.work.counters[this.counter];
            let memory =
                if this.asked { Span::ZERO } else { self.ports.memory_of(this.port, &self.schedule) };
            let (ready, crosses) =
                (counter.acknowledged + memory, !self.schedule.untimed && !this.is_before());
            let port = &mut self.ports.all[at];
            let reads = this.commands.iter().filter(|asked| asked.command.verb == Verb::Read);
            let outward = reads.map(|asked| port.sectors(&asked.command)).sum();
            match &mut port.link {
                Some(link) if crosses => {
                    link.go(id.raw(), ready, outward);
                    self.ports.arm_port(now, at as u16, &mut self.schedule);
                }
                _ => self.answer(backends, now, id, ready),
            }
        }
    }

    /// A finished request of the host, which reads or `writes`, ends: its port takes copies of what it has read.
    #[inline(never)]
    pub fn end_host_reads(&mut self, finished: &Finished, writes: bool) {
        let lost = finished.lost > 0;
        let what = (finished.counter, finished.acknowledged);
        self.ports.end_reads(PortId::HOST.0, what, writes && lost, |_| lost, &self.work);
    }

    /// Reports the end of commands to their callers.
    pub(super) fn answer<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<PortRequest>,
        end: SimTime,
    ) {
        let (node, kept) = (self.ports.node(id), self.ports.keeps(id));
        let spent = self.work.breakdown_of_port_request(backends, id, end, &self.ports);
        let this = &mut self.ports.requests[id];
        this.told = true;
        let (at, counter, asked) = (this.port, this.counter, this.asked);
        let (lost, commands) = (std::mem::take(&mut this.lost), std::mem::take(&mut this.commands));
        let CompletionCounter { undurable, durable, service, .. } = &self.work.counters[counter];
        let (undurable, durable, service) = (*undurable, *durable, *service);
        let service = if asked { service } else { self.ports.memory_of(at, &self.schedule) };
        // To the nodes above, pages in the cache count as durable.
        let durable = if kept { end } else { durable.max(end) };
        for &Asked { command, caller, place } in &commands {
            let done = Done { acknowledged: end, service, spent, ..Done::at(caller, 1, durable) };
            if command.verb != Verb::Read {
                let part =
                    if kept || undurable == 0 { CompletionPart::Both } else { CompletionPart::Acknowledged };
                backends.done().push(Done { pages: u32::from(command.count), part, ..done });
                continue;
            }
            for n in 0..u32::from(command.count) {
                let token = caller.plus(n);
                if !lost.is_empty() && lost.contains(&(place + n)) {
                    let (page, flags) = (command.start.plus(n), command.flags);
                    self.work.latencies.note_failed(backends, now, &Done { token, ..done });
                    self.failed(backends, now, FailedPage { child: node, page, token, flags });
                } else {
                    let contents = self.work.buffers.brought(counter, place + n);
                    backends.done().push(Done { token, contents, ..done });
                }
            }
        }
        let this = &mut self.ports.requests[id];
        (this.lost, this.commands) = (lost, commands);
        self.work.counters[counter].forget();
        if undurable == 0 {
            self.ports.bury_request(id, &mut self.work, &mut self.schedule);
        }
        self.ports.watch_idle_port(at, end, &mut self.schedule);
    }

    /// Drops a port request that has not crossed the link and whose node no longer responds.
    pub(super) fn turn_away<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<PortRequest>) {
        let node = self.ports.node(id);
        let this = &mut self.ports.requests[id];
        let counter = this.counter;
        let commands = this.commands.clone();
        for Asked { command, caller, place } in commands {
            if command.verb == Verb::Read {
                self.ports.requests[id].lost.extend(place..place + u32::from(command.count));
            } else {
                self.work.void(node, caller, &self.nodes);
            }
        }
        // No operation of it is in progress: only the count for its arrival remains.
        self.work.counters[counter].undurable = 0;
        self.answer(backends, now, id, now);
    }
}
