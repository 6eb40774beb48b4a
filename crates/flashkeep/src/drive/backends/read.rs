//! Reads: the map says where each page is, or that it is on its way there, or nowhere.

use super::{DriveBackends, DriveHealth};
use crate::drive::controller::Controller;
use crate::engine::{BackendId, Command, CompletionToken, Contents, Done, Flags};
use crate::ftl::MapEntry;
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> DriveBackends<C> {
    pub(super) fn read(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        controller: &mut Controller<C>,
    ) {
        // Where pages are read together, all of them are queued before any of them begins.
        let together = (self.packing.shares && command.count > 1) || controller.pages_may_join(command);
        let begins = together && self.parts.hold_parts();
        for n in 0..u32::from(command.count) {
            self.read_page(now, ftl, command.over(command.start.plus(n), 1), token.plus(n), controller);
        }
        if begins {
            self.begin_parts(now, controller);
        }
    }

    fn read_page(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: Command,
        token: CompletionToken,
        controller: &mut Controller<C>,
    ) {
        let memory = controller.flash.timing.memory;
        match self.ftl.maps.get(ftl, command.start.low()) {
            MapEntry::Unmapped
                if self.ftl.physical || self.ftl.backends[ftl].lost.has(command.start.low()) =>
            {
                self.health.read_of_lost(now, ftl, command, token, controller)
            }
            MapEntry::Unmapped => {
                let memory = if command.flags.has(Flags::BEFORE) { Span::ZERO } else { memory };
                controller.accounts.counters_mut().unmapped_reads += 1;
                controller.answer(token, 1, now + memory, memory, C::default());
            }
            MapEntry::Pending(op)
                if self.ftl.waits_behind(ftl, controller) && !command.flags.has(Flags::BEFORE) =>
            {
                let contents = self.ftl.carried_page(ftl, op, command.start.low(), controller);
                let n = self.ftl.place_in_write(ftl, op, command.start.low(), controller);
                controller.wait_behind(ftl, command, token, (Id::new(op), n), contents)
            }
            MapEntry::Pending(op) => {
                let contents = self.ftl.carried_page(ftl, op, command.start.low(), controller);
                controller.answer_in_flight(now, token, contents);
            }
            MapEntry::At(ppn) => {
                let contents = self.ftl.blocks.contents(ppn);
                if !command.flags.has(Flags::BEFORE) {
                    return controller.read_placed(now, ftl, command, token, ppn, contents, self);
                }
                if self.ftl.blocks.is_unreadable(ppn) {
                    let failed = Some((BackendId(ftl as u16), command.start));
                    return controller.done.push(Done { failed, ..Done::at(token, 1, now) });
                }
                controller.answer(token, 1, now, Span::ZERO, contents);
            }
        }
    }
}

impl DriveHealth {
    /// The page has been lost, and the caller may not know yet. Physical pages are never known zeros.
    pub(super) fn read_of_lost<C: Contents>(
        &self,
        now: SimTime,
        ftl: usize,
        command: Command,
        token: CompletionToken,
        controller: &mut Controller<C>,
    ) {
        assert!(self.checks_pages(), "only programmed pages of a backend of physical pages are read");
        let failed = Some((BackendId(ftl as u16), command.start));
        controller.done.push(Done { failed, ..Done::at(token, 1, now) });
    }
}
