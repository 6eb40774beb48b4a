//! Submission of commands: selects the path of each, by the kind of its leaf and by failures.

use super::Drive;
use crate::engine::{Command, Contents, Done, LeafId, Leaves, Page, Ticket, Verb};
use crate::kernel::{SimTime, Span};

/// Which code path commands take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commands {
    /// The fast path: all backends are FTLs, the run is timed, and no part has failed.
    Direct,
    /// The general path: checks the state for each command.
    Checked,
}

impl Commands {
    /// Of leaves that are all mapped, healthy and timed, or not.
    pub(super) fn of_mapped(direct: bool) -> Commands {
        if direct { Commands::Direct } else { Commands::Checked }
    }
}

impl<C: Contents> Drive<C> {
    /// A command for an FTL of which nothing has failed.
    #[inline(always)]
    pub(super) fn submit_plainly(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        ticket: Ticket,
        contents: &[C],
    ) {
        match command.verb {
            Verb::Read => self.read(now, ftl, command, ticket),
            Verb::Write => self.write(now, ftl, command, ticket, contents),
            Verb::Trim => self.trim(ftl, command),
            Verb::Rename => self.rename(ftl, command),
        }
        if matches!(command.verb, Verb::Trim | Verb::Rename) {
            self.answer(ticket, u32::from(command.count), now, Span::ZERO, C::default());
        }
    }

    /// A command in a drive with failed parts, or whose backends are not all FTLs.
    #[inline(never)]
    fn submit_otherwise(
        &mut self,
        now: SimTime,
        leaf: LeafId,
        command: &Command,
        ticket: Ticket,
        contents: &[C],
    ) {
        let ftl = usize::from(leaf.0);
        let Some(this) = self.ftl.leaves.get(ftl) else {
            return self.ask_nvram(now, leaf, command, ticket, contents);
        };
        if this.dead {
            return self.answer_for_dead(now, leaf, command, ticket);
        }
        let limited = this.limit.is_some();
        if self.health.damaged && !self.ftl.physical && command.verb == Verb::Write {
            self.forget_unreadable(ftl, command);
        }
        match (command.verb, self.ftl.physical) {
            (Verb::Read, true) if self.immediate.active => {
                self.submit_untimed(now, ftl, command, ticket, contents)
            }
            (Verb::Write, true) => self.write_raw(now, ftl, command, ticket, contents),
            (Verb::Trim, true) => self.trim_raw(now, ftl, command, ticket),
            (Verb::Rename, true) => panic!("raw pages have no other address"),
            (_, false) if limited => self.submit_damaged(now, ftl, command, ticket, contents),
            (Verb::Read, true) | (_, false) => self.submit_apart(now, ftl, command, ticket, contents),
        }
    }

    /// [`Self::submit_plainly`], a second time: where it is called from the short way it is a part of that.
    #[inline(never)]
    pub(super) fn submit_apart(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        ticket: Ticket,
        contents: &[C],
    ) {
        if self.immediate.active {
            return self.submit_untimed(now, ftl, command, ticket, contents);
        }
        self.submit_plainly(now, ftl, command, ticket, contents);
    }

    pub(super) fn answer(&mut self, ticket: Ticket, pages: u32, at: SimTime, service: Span, contents: C) {
        self.done.push(Done { service, contents, ..Done::at(ticket, pages, at) });
    }
}

impl<C: Contents> Leaves<C> for Drive<C> {
    #[inline(always)]
    fn submit(&mut self, now: SimTime, leaf: LeafId, command: &Command, ticket: Ticket, contents: &[C]) {
        self.now = now;
        if self.paths.commands == Commands::Direct {
            self.submit_plainly(now, usize::from(leaf.0), command, ticket, contents);
        } else {
            self.submit_otherwise(now, leaf, command, ticket, contents);
        }
    }

    fn disown(&mut self, leaf: LeafId, page: Page) {
        let leaf = usize::from(leaf.0);
        match leaf.checked_sub(self.ftl.leaves.len()) {
            Some(memory) => self.nvrams[memory].spoil(page.0),
            // A raw leaf's pages are the scheme's own.
            None if self.ftl.physical => {}
            None => {
                let was_mapped = self.is_mapped(leaf, page);
                self.forget(leaf, page.0);
                if was_mapped {
                    self.count_unmapped(leaf);
                }
                self.note_trim(leaf, page.0);
            }
        }
    }

    fn spoil(&mut self, leaf: LeafId, page: Page) {
        if self.power.is_none() || self.ftl.physical {
            return;
        }
        match usize::from(leaf.0).checked_sub(self.ftl.leaves.len()) {
            Some(memory) => self.nvrams[memory].spoil(page.0),
            None => self.note_trim(usize::from(leaf.0), page.0),
        }
    }

    fn note_refusal(&mut self, now: SimTime, _: LeafId) {
        self.health.life.refuse(now);
    }

    fn done(&mut self) -> &mut Vec<Done<C>> {
        &mut self.done
    }
}
