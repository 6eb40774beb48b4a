//! The way of a command through a gate: it waits for the link, comes in, is done with below, and goes out by the link.

use super::super::Contents;
use super::super::command::{Command, Flags, Verb};
use super::super::executor::{Due, Engine};
use super::super::leaves::{Done, Leaves, Part, Ticket};
use super::super::repair::FailedPage;
use super::super::requests::Join;
use super::super::scheme::Scheme;
use super::super::tree::NodeId;
use super::Passage;
use crate::front::Crossing;
use crate::kernel::{Id, SimTime, Span};

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// A command for a node that something stands before.
    #[inline(never)]
    pub(in super::super) fn knock<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        gate: u16,
        command: Command,
        ticket: Ticket,
    ) {
        let this = &self.gates.all[usize::from(gate)];
        // What takes no time needs no link, but does not overtake what waits for it.
        let before = command.flags.has(Flags::BEFORE);
        let timeless = self.untimed || before;
        let waits = match &this.link {
            Some(link) => !timeless || link.is_awaited(),
            None => false,
        };
        if self.gates.open {
            return self.hand_below(leaves, now, this.node, command, ticket);
        }
        if before && !waits {
            return self.pass_before(leaves, now, gate, command, ticket);
        }
        let id = self.set_out(gate, command, ticket);
        if !waits {
            self.come_in(leaves, now, id);
            return self.close_passage(leaves, now, id);
        }
        let this = &mut self.gates.all[usize::from(gate)];
        this.await_pages(&command, true);
        let sectors = if command.verb == Verb::Write && !timeless { this.sectors(&command) } else { 0 };
        if let Some(link) = &mut this.link {
            link.come(id.raw(), sectors);
        }
        self.arm_gate(now, gate);
    }

    /// A passage for a command, with what that writes.
    fn set_out(&mut self, gate: u16, command: Command, caller: Ticket) -> Id<Passage> {
        self.account(caller, u32::from(command.count));
        let id = self.gates.passages.claim();
        let join = self.claim_join(u32::from(command.count));
        // One more than its pages, until it has come in.
        self.joins[join] = Join::of_passage(id);
        let this = &mut self.gates.passages[id];
        (this.gate, this.caller, this.join) = (gate, caller, join);
        (this.from_memory, this.told) = (false, false);
        this.lost.clear();
        // What whoever asks has read does not come along.
        this.command = Command { flags: command.flags.without(Flags::OLD_IN_HAND), ..command };
        if C::KEEP && command.verb == Verb::Write {
            for n in 0..u32::from(command.count) {
                let from = caller.plus(n);
                let contents = self.sheets.of(from.owner)[from.slot as usize];
                self.sheets.of(join)[n as usize] = contents;
            }
        }
        id
    }

    /// A gate's link has done what it did: its next uses, until it is busy again or has nothing to do.
    fn cross<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, gate: u16) {
        let at = usize::from(gate);
        while let Some(crossing) = self.gates.all[at].link.as_mut().and_then(|link| link.next(now, false)) {
            match crossing {
                Crossing::In(id) => {
                    let command = self.gates.passages[Id::new(id)].command;
                    self.gates.all[at].await_pages(&command, false);
                    self.come_in(leaves, now, Id::new(id));
                    // What is done by now goes out before anything else comes in.
                    self.settle(leaves, now);
                    self.close_passage(leaves, now, Id::new(id));
                }
                Crossing::Out(id, end) => self.tell_passed(leaves, now, Id::new(id), end),
            }
        }
        self.arm_gate(now, gate);
    }

    /// Links that were to do something now go on if nothing else was due; otherwise they do when whatever came of that
    /// has been done, as a lone drive's does.
    #[inline(never)]
    pub(in super::super) fn cross_all<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, alone: bool) {
        let goes = alone && self.due.next() > now;
        let mut rung = std::mem::take(&mut self.gates.rung);
        for gate in rung.drain(..) {
            if goes {
                self.gates.all[usize::from(gate)].armed = SimTime::NEVER;
                self.cross(leaves, now, gate);
            } else {
                self.due.push(now, Due::Gate(gate));
            }
        }
        self.gates.rung = rung;
        self.settle(leaves, now);
    }

    /// A passage is with what is below the gate, and asks what it has to ask there.
    fn come_in<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Passage>) {
        let node = self.gates.node(id);
        let this = &self.gates.passages[id];
        let (command, join) = (this.command, this.join);
        // Below, it is as old as its coming in, like a request.
        self.opened = self.opened.wrapping_add(1);
        let (gate, ticket) = (this.gate, Ticket::at(join, 0, self.opened));
        self.gates.all[usize::from(gate)].latest = self.opened;
        let asked = if command.flags.has(Flags::BEFORE) {
            self.pass_before(leaves, now, gate, command, ticket);
            true
        } else if self.gates.all[usize::from(gate)].dram.is_some() {
            self.pass_memory(leaves, now, gate, command, ticket)
        } else {
            self.hand_below(leaves, now, node, command, ticket);
            command.verb != Verb::Trim
        };
        self.gates.passages[id].from_memory = !asked;
    }

    /// All that a passage asks of what is below has been asked.
    fn close_passage<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Passage>) {
        let ticket = Ticket::at(self.gates.passages[id].join, 0, 0);
        self.count_off(&Done::<C>::at(ticket, 1, now));
        self.let_out(leaves, now);
    }

    /// Passages whose pages are all acknowledged go out; those that are durable after that are told so.
    pub(in super::super) fn let_out<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime) {
        while let Some(id) = self.gates.passed.pop_front() {
            let this = &self.gates.passages[id];
            let (gate, join) = (this.gate, &self.joins[this.join]);
            if this.told {
                // What is in DRAM was told to be durable.
                if self.gates.all[usize::from(gate)].dram.is_none() {
                    let pages = u32::from(this.command.count);
                    let done = Done::<C>::at(this.caller, pages, join.durable.max(now));
                    leaves.done().push(Done { part: Part::Durable, ..done });
                }
                self.bury_passage(id);
                continue;
            }
            let memory = if this.from_memory { self.memory_of(gate) } else { Span::ZERO };
            let (ready, command) = (join.acknowledged + memory, this.command);
            let this = &mut self.gates.all[usize::from(gate)];
            let sectors = if command.verb == Verb::Read { this.sectors(&command) } else { 0 };
            match &mut this.link {
                Some(link) if !self.untimed && !command.flags.has(Flags::BEFORE) => {
                    link.go(id.raw(), ready, sectors);
                    self.arm_gate(now, gate);
                }
                _ => self.tell_passed(leaves, now, id, ready),
            }
        }
    }

    fn memory_of(&self, gate: u16) -> Span {
        if self.untimed { Span::ZERO } else { self.gates.all[usize::from(gate)].memory }
    }

    /// Whoever gave the command is told of its end.
    pub(super) fn tell_passed<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        id: Id<Passage>,
        end: SimTime,
    ) {
        let node = self.gates.node(id);
        let this = &mut self.gates.passages[id];
        let (gate, command, caller, join) = (this.gate, this.command, this.caller, this.join);
        let from_memory = this.from_memory;
        this.told = true;
        let lost = std::mem::take(&mut this.lost);
        let Join { undurable, durable, service, .. } = self.joins[join];
        let service = if from_memory { self.memory_of(gate) } else { service };
        let done = Done { acknowledged: end, service, ..Done::at(caller, 1, durable.max(end)) };
        if command.verb == Verb::Read {
            for n in 0..u32::from(command.count) {
                let ticket = caller.plus(n);
                if lost.contains(&n) {
                    let (page, flags) = (command.start.plus(n), command.flags);
                    self.failed(leaves, now, FailedPage { child: node, page, ticket, flags });
                } else {
                    let contents = self.sheets.of(join).get(n as usize).copied().unwrap_or_default();
                    leaves.done().push(Done { ticket, contents, ..done });
                }
            }
        } else {
            // What is in DRAM is as good as durable to whoever is above.
            let kept = self.gates.all[usize::from(gate)].dram.is_some();
            let part = if kept || undurable == 0 { Part::Both } else { Part::Acknowledged };
            let durable = if kept { end } else { done.durable };
            leaves.done().push(Done { pages: u32::from(command.count), part, durable, ..done });
        }
        self.gates.passages[id].lost = lost;
        self.joins[join].forget();
        if undurable == 0 {
            self.bury_passage(id);
        }
    }

    fn bury_passage(&mut self, id: Id<Passage>) {
        let join = std::mem::take(&mut self.gates.passages[id].join);
        self.joins.release(join);
        self.gates.passages.release(id);
    }

    /// A passage whose node does not answer any more, and that has not come in.
    pub(super) fn turn_away<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Passage>) {
        let node = self.gates.node(id);
        let this = &mut self.gates.passages[id];
        let (command, caller, join) = (this.command, this.caller, this.join);
        if command.verb == Verb::Read {
            this.lost.extend(0..u32::from(command.count));
        } else {
            self.void(node, caller);
        }
        // Nothing of it is under way: what was counted for its coming in is all that there is.
        self.joins[join].undurable = 0;
        self.tell_passed(leaves, now, id, now);
    }

    /// Nothing below a gate brings a page: it is told when the rest of its command is.
    pub(in super::super) fn lose_in_passage(&mut self, ticket: Ticket) -> bool {
        let passage = self.joins[ticket.owner].passage;
        if passage.is_some() {
            self.gates.passages[passage].lost.push(ticket.slot);
        }
        passage.is_some()
    }

    /// Whether a failed page is one that a passage through this node's gate asked for.
    pub(in super::super) fn is_at_gate(&self, node: NodeId, ticket: Ticket) -> bool {
        let passage = self.joins[ticket.owner].passage;
        passage.is_some() && self.gates.node(passage) == node
    }
}
