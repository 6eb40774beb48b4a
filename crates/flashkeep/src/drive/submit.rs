//! Submission of commands: selects the path of each, by the kind of its backend and by failures.

use super::Drive;
use super::backends::DriveBackends;
use super::controller::Controller;
use crate::engine::{BackendId, Backends, Breakdown, Command, CompletionToken, Contents, Done, Page, Verb};
use crate::kernel::{SimTime, Span};
use std::ops::Range;

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

impl<C: Contents> Controller<C> {
    pub(super) fn answer(
        &mut self,
        token: CompletionToken,
        pages: u32,
        at: SimTime,
        service: Span,
        contents: C,
    ) {
        self.done.push(Done { service, contents, ..Done::at(token, pages, at) });
    }
}

impl<C: Contents> DriveBackends<C> {
    /// A command for an FTL of which nothing has failed.
    #[inline(always)]
    pub(super) fn submit_plainly(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        match command.verb {
            Verb::Read => self.read(now, ftl, command, token, controller),
            Verb::Write => self.write(now, ftl, command, token, contents, controller),
            Verb::Trim => self.trim(ftl, command, controller),
            Verb::Remap => self.remap(ftl, command, controller),
        }
        if matches!(command.verb, Verb::Trim | Verb::Remap) {
            controller.answer(token, u32::from(command.count), now, Span::ZERO, C::default());
        }
    }

    /// A command in a drive with failed parts, or whose backends are not all FTLs.
    #[inline(never)]
    fn submit_otherwise(
        &mut self,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        let ftl = usize::from(backend.0);
        let Some(this) = self.ftl.backends.get(ftl) else {
            return self.ask_nvram(now, backend, command, token, contents, controller);
        };
        if this.dead {
            return controller.answer_for_dead(now, backend, command, token);
        }
        let limited = this.limit.is_some();
        if self.health.checks_pages() && !self.ftl.physical && command.verb == Verb::Write {
            self.forget_unreadable(ftl, command, controller);
        }
        match (command.verb, self.ftl.physical) {
            (Verb::Read, true) if self.immediate.active => {
                self.submit_untimed(now, ftl, command, token, contents, controller)
            }
            (Verb::Write, true) => self.write_physical(now, ftl, command, token, contents, controller),
            (Verb::Trim, true) => self.trim_physical(now, ftl, command, token, controller),
            (Verb::Remap, true) => panic!("raw pages have no other address"),
            (_, false) if limited => self.submit_damaged(now, ftl, command, token, contents, controller),
            (Verb::Read, true) | (_, false) => {
                self.submit_apart(now, ftl, command, token, contents, controller)
            }
        }
    }

    /// [`Self::submit_plainly`], a second time: where it is called from the short way it is a part of that.
    #[inline(never)]
    pub(super) fn submit_apart(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        if self.immediate.active {
            return self.submit_untimed(now, ftl, command, token, contents, controller);
        }
        self.submit_plainly(now, ftl, command, token, contents, controller);
    }
}

impl<C: Contents> Backends<C> for Drive<C> {
    #[inline(always)]
    fn submit(
        &mut self,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
    ) {
        self.controller.now = now;
        if self.controller.paths.commands == Commands::Direct {
            self.backends.submit_plainly(
                now,
                usize::from(backend.0),
                command,
                token,
                contents,
                &mut self.controller,
            );
        } else {
            self.backends.submit_otherwise(now, backend, command, token, contents, &mut self.controller);
        }
    }

    fn places_in_order(&self, backend: BackendId) -> bool {
        self.backends.is_placed_plainly(backend)
    }

    fn place_in_order(&mut self, backend: BackendId, pages: Range<u64>) {
        self.backends.place_run(backend, pages.start as u32..pages.end as u32, &mut self.controller);
    }

    fn invalidate(&mut self, backend: BackendId, page: Page) {
        let backend = usize::from(backend.0);
        match backend.checked_sub(self.backends.ftl.backends.len()) {
            Some(memory) => self.backends.nvrams[memory].poison(page.low()),
            // A physical-page backend's pages are the scheme's own.
            None if self.backends.ftl.physical => {}
            None => {
                let was_mapped = self.backends.ftl.is_mapped(backend, page);
                self.backends.forget(backend, page.low(), &mut self.controller);
                if was_mapped {
                    self.backends.count_unmapped(backend, &mut self.controller);
                }
                self.backends.note_trim(backend, page.low(), &self.controller);
            }
        }
    }

    fn poison(&mut self, backend: BackendId, page: Page) {
        if self.backends.power.is_none() || self.backends.ftl.physical {
            return;
        }
        match usize::from(backend.0).checked_sub(self.backends.ftl.backends.len()) {
            Some(memory) => self.backends.nvrams[memory].poison(page.low()),
            None => self.backends.note_trim(usize::from(backend.0), page.low(), &self.controller),
        }
    }

    fn note_refusal(&mut self, now: SimTime, _: BackendId) {
        self.backends.health.life.refuse(now);
    }

    fn end_gathering(&mut self, now: SimTime) {
        self.backends.end_all_gathering(now, &mut self.controller);
    }

    fn await_parts(&mut self) {
        self.backends.parts.hold_parts();
    }

    fn parts_have_come(&mut self, now: SimTime) {
        self.backends.begin_parts(now, &mut self.controller);
    }

    fn done(&mut self) -> &mut Vec<Done<C>> {
        &mut self.controller.done
    }

    #[inline]
    fn breakdowns(&mut self) -> Option<&mut Vec<Breakdown>> {
        self.controller.latencies.as_mut().map(|latencies| &mut latencies.done)
    }
}
