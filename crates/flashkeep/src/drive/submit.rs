//! Submission of commands: selects the path of each, by the kind of its backend and by failures.

use super::Drive;
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

impl<C: Contents> Drive<C> {
    /// A command for an FTL of which nothing has failed.
    #[inline(always)]
    pub(super) fn submit_plainly(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
    ) {
        match command.verb {
            Verb::Read => self.read(now, ftl, command, token),
            Verb::Write => self.write(now, ftl, command, token, contents),
            Verb::Trim => self.trim(ftl, command),
            Verb::Remap => self.remap(ftl, command),
        }
        if matches!(command.verb, Verb::Trim | Verb::Remap) {
            self.answer(token, u32::from(command.count), now, Span::ZERO, C::default());
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
    ) {
        let ftl = usize::from(backend.0);
        let Some(this) = self.ftl.backends.get(ftl) else {
            return self.ask_nvram(now, backend, command, token, contents);
        };
        if this.dead {
            return self.answer_for_dead(now, backend, command, token);
        }
        let limited = this.limit.is_some();
        if self.checks_pages() && !self.ftl.physical && command.verb == Verb::Write {
            self.forget_unreadable(ftl, command);
        }
        match (command.verb, self.ftl.physical) {
            (Verb::Read, true) if self.immediate.active => {
                self.submit_untimed(now, ftl, command, token, contents)
            }
            (Verb::Write, true) => self.write_physical(now, ftl, command, token, contents),
            (Verb::Trim, true) => self.trim_physical(now, ftl, command, token),
            (Verb::Remap, true) => panic!("raw pages have no other address"),
            (_, false) if limited => self.submit_damaged(now, ftl, command, token, contents),
            (Verb::Read, true) | (_, false) => self.submit_apart(now, ftl, command, token, contents),
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
    ) {
        if self.immediate.active {
            return self.submit_untimed(now, ftl, command, token, contents);
        }
        self.submit_plainly(now, ftl, command, token, contents);
    }

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
        self.now = now;
        if self.paths.commands == Commands::Direct {
            self.submit_plainly(now, usize::from(backend.0), command, token, contents);
        } else {
            self.submit_otherwise(now, backend, command, token, contents);
        }
    }

    fn places_in_order(&self, backend: BackendId) -> bool {
        self.is_placed_plainly(backend)
    }

    fn place_in_order(&mut self, backend: BackendId, pages: Range<u64>) {
        self.place_run(backend, pages.start as u32..pages.end as u32);
    }

    fn invalidate(&mut self, backend: BackendId, page: Page) {
        let backend = usize::from(backend.0);
        match backend.checked_sub(self.ftl.backends.len()) {
            Some(memory) => self.nvrams[memory].poison(page.low()),
            // A physical-page backend's pages are the scheme's own.
            None if self.ftl.physical => {}
            None => {
                let was_mapped = self.is_mapped(backend, page);
                self.forget(backend, page.low());
                if was_mapped {
                    self.count_unmapped(backend);
                }
                self.note_trim(backend, page.low());
            }
        }
    }

    fn poison(&mut self, backend: BackendId, page: Page) {
        if self.power.is_none() || self.ftl.physical {
            return;
        }
        match usize::from(backend.0).checked_sub(self.ftl.backends.len()) {
            Some(memory) => self.nvrams[memory].poison(page.low()),
            None => self.note_trim(usize::from(backend.0), page.low()),
        }
    }

    fn note_refusal(&mut self, now: SimTime, _: BackendId) {
        self.health.life.refuse(now);
    }

    fn end_gathering(&mut self, now: SimTime) {
        self.end_all_gathering(now);
    }

    fn await_parts(&mut self) {
        self.hold_parts();
    }

    fn parts_have_come(&mut self, now: SimTime) {
        self.begin_parts(now);
    }

    fn done(&mut self) -> &mut Vec<Done<C>> {
        &mut self.done
    }

    #[inline]
    fn breakdowns(&mut self) -> Option<&mut Vec<Breakdown>> {
        self.latencies.as_mut().map(|latencies| &mut latencies.done)
    }
}
