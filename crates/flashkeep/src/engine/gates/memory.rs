//! What a member's DRAM does about a command that has come in, as a lone drive's does (`buffer`): it takes what is
//! written, brings what it holds, and gives up what was used longest ago.

use super::super::Contents;
use super::super::command::{Cause, Command, Page, Verb};
use super::super::executor::Engine;
use super::super::leaves::{Done, Leaves, Ticket};
use super::super::scheme::Scheme;
use super::Kept;
use crate::front::{Dram, Held, side_by_side};
use crate::kernel::SimTime;

/// The mask of a page's first sectors; all of them where a command says 0.
fn mask(sectors: u16, page_sectors: u32) -> u64 {
    let count = if sectors == 0 { page_sectors } else { u32::from(sectors) };
    u64::MAX >> (64 - count)
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    fn dram(&mut self, gate: u16) -> &mut Dram<Kept<C>> {
        self.gates.all[usize::from(gate)].dram.as_mut().expect("this member has DRAM")
    }

    /// A command is with a member's DRAM; whether anything below was asked.
    pub(super) fn pass_memory<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        gate: u16,
        command: Command,
        ticket: Ticket,
    ) -> bool {
        let pages = 0..u32::from(command.count);
        let mut asked = false;
        match command.verb {
            Verb::Read => {
                for n in pages {
                    asked |= self.read_through(leaves, now, gate, command.part(n, 1), ticket.plus(n));
                }
            }
            Verb::Write => {
                for n in pages {
                    asked |= self.hold_back(leaves, now, gate, command.part(n, 1), ticket.plus(n));
                }
            }
            Verb::Trim => {
                pages.for_each(|n| self.dram(gate).remove(command.start.0 + n));
                let node = self.gates.all[usize::from(gate)].node;
                self.hand_below(leaves, now, node, command, ticket);
            }
            Verb::Rename => panic!("old versions are kept in drives, not in arrays of them"),
        }
        asked
    }

    /// A page is read: from the DRAM if that holds it, whatever else is below; whether it had to be asked for.
    fn read_through<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        gate: u16,
        command: Command,
        ticket: Ticket,
    ) -> bool {
        let this = &mut self.gates.all[usize::from(gate)];
        let (node, wanted) = (this.node, mask(command.sectors, this.page_sectors));
        let (held, _) = self.dram(gate).read(command.start.0, wanted);
        let Some(held) = held else {
            self.hand_below(leaves, now, node, command, ticket);
            return true;
        };
        if C::KEEP {
            self.sheets.of(ticket.owner)[ticket.slot as usize] = held.what.contents;
        }
        false
    }

    /// A page is written: the DRAM takes it, giving up what was used longest ago; whether it had to.
    fn hold_back<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        gate: u16,
        command: Command,
        ticket: Ticket,
    ) -> bool {
        let page = command.start.0;
        let contents = self.written(ticket);
        let kept = Kept { contents, cause: command.cause };
        let sectors = mask(command.sectors, self.gates.all[usize::from(gate)].page_sectors);
        let needed = self.dram(gate).open(page, sectors, kept);
        let mut gave = false;
        while self.dram(gate).make_room(needed, page) {
            let leaving = self.dram(gate).leaving();
            self.hand_over(leaves, now, gate, &leaving, ticket);
            self.dram(gate).gone(leaving);
            gave = true;
        }
        self.dram(gate).add(page, needed, kept);
        gave
    }

    /// What a page of a join is to hold.
    fn written(&mut self, ticket: Ticket) -> C {
        if C::KEEP { self.sheets.of(ticket.owner)[ticket.slot as usize] } else { C::default() }
    }

    /// What leaves the DRAM goes below: whole pages that lie side by side, and were written for the same reason, as one
    /// run.
    fn hand_over<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        gate: u16,
        leaving: &[(u32, Held<Kept<C>>)],
        ticket: Ticket,
    ) {
        let this = &self.gates.all[usize::from(gate)];
        let (node, whole) = (this.node, mask(0, this.page_sectors));
        let mut rest = leaving;
        while let Some(&(page, held)) = rest.first() {
            let cause = held.what.cause;
            let alike = |cause: Cause| rest.iter().take_while(|(_, held)| held.what.cause == cause).count();
            let count = side_by_side(rest, whole).min(alike(cause)).max(1);
            let contents = rest[..count].iter().map(|(_, held)| held.what.contents);
            let slot = if C::KEEP { self.sheets.extend(ticket.owner, contents) } else { ticket.slot };
            let sectors = if held.sectors == whole { 0 } else { held.sectors.count_ones() as u16 };
            let write = Command { sectors, ..Command::new(Verb::Write, Page(page), count as u16) };
            self.hand_below(leaves, now, node, write.because(cause), Ticket { slot, gap: 0, ..ticket });
            rest = &rest[count..];
        }
    }

    /// A command that takes no time: what the DRAM holds is read there, and changed there.
    pub(super) fn pass_before<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        gate: u16,
        command: Command,
        ticket: Ticket,
    ) {
        let this = &self.gates.all[usize::from(gate)];
        let node = this.node;
        if this.dram.as_ref().is_none_or(Dram::is_empty) {
            return self.hand_below(leaves, now, node, command, ticket);
        }
        for n in 0..u32::from(command.count) {
            let (one, ticket) = (command.part(n, 1), ticket.plus(n));
            let Some(kept) = self.gates.all[usize::from(gate)].kept(one.start) else {
                self.hand_below(leaves, now, node, one, ticket);
                continue;
            };
            let mut contents = C::default();
            match one.verb {
                Verb::Read => contents = kept.contents,
                Verb::Write => {
                    let contents = self.written(ticket);
                    self.dram(gate).set(one.start.0, Kept { contents, ..kept });
                }
                Verb::Trim | Verb::Rename => {
                    self.dram(gate).remove(one.start.0);
                    self.hand_below(leaves, now, node, one, ticket);
                    continue;
                }
            }
            self.account(ticket, 1);
            leaves.done().push(Done { contents, ..Done::at(ticket, 1, now) });
        }
    }
}
