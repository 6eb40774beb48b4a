//! Submission of commands to a drive, and what it completes.

use super::Drive;
use crate::drive::backends::Nvram;
use crate::engine::{BackendId, Backends, Breakdown, Command, CompletionToken, Contents, Done, Page};
use crate::kernel::{SimTime, Span};
use std::ops::Range;

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
        if self.controller.paths.are_direct() {
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

    fn fill(&mut self, fills: bool) {
        self.backends.immediate.fill(fills);
    }

    fn invalidate(&mut self, backend: BackendId, page: Page) {
        let backend = usize::from(backend.0);
        match backend.checked_sub(self.backends.ftl.count()) {
            Some(memory) => self.backends.nvrams[memory].poison(page.low()),
            // A physical-page backend's pages are the scheme's own.
            None if self.backends.ftl.is_physical() => {}
            None => {
                let was_mapped = self.backends.ftl.is_mapped(backend, page);
                self.backends.forget(backend, page.low(), &mut self.controller);
                if was_mapped {
                    self.backends.count_unmapped(backend, &mut self.controller);
                }
                self.backends.power.note_trim(backend, page.low(), self.controller.queues.last_number());
            }
        }
    }

    fn poison(&mut self, backend: BackendId, page: Page) {
        if !self.backends.power.is_kept() || self.backends.ftl.is_physical() {
            return;
        }
        let last = self.controller.queues.last_number();
        match usize::from(backend.0).checked_sub(self.backends.ftl.count()) {
            Some(memory) => self.backends.nvrams[memory].poison(page.low()),
            None => self.backends.power.note_trim(usize::from(backend.0), page.low(), last),
        }
    }

    #[inline(always)]
    fn prefetch(&self, backend: BackendId, page: Page) {
        self.backends.ftl.prefetch(backend, page);
    }

    fn note_refusal(&mut self, now: SimTime, _: BackendId) {
        self.backends.health.refuse(now);
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
        self.controller.probe.breakdowns()
    }
}

impl<C: Contents> Drive<C> {
    /// Adds an NVRAM of `pages` pages, each of which takes `latency`, as the next backend.
    pub fn add_nvram(&mut self, pages: u32, latency: Span) -> BackendId {
        self.controller.paths.check_commands(true);
        self.backends.nvrams.push(Nvram::new(pages, latency));
        BackendId((self.backends.ftl.count() + self.backends.nvrams.len() - 1) as u16)
    }
}
