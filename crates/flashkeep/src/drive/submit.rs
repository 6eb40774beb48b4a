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
        self.halves().place_run(backend, pages.start as u32..pages.end as u32);
    }

    fn create_by_rule(&mut self, backend: BackendId) -> u32 {
        self.halves().create_by_rule(backend)
    }

    fn fill(&mut self, fills: bool) {
        self.backends.immediate.fill(fills);
    }

    fn invalidate(&mut self, backend: BackendId, page: Page) {
        let at = usize::from(backend.0);
        if self.backends.nvrams.has(backend) {
            self.backends.nvrams.of_mut(backend).poison(page.low());
        } else if !self.backends.ftl.is_physical() {
            // Pages of a physical backend are the scheme's own.
            let was_mapped = self.backends.ftl.is_mapped(at, page);
            self.backends.forget(at, page.low(), &mut self.controller);
            if was_mapped {
                self.backends.count_unmapped(at, &mut self.controller);
            }
            self.backends.power.note_trim(at, page.low(), self.controller.queues.last_number());
        }
    }

    fn poison(&mut self, backend: BackendId, page: Page) {
        if !self.backends.power.is_kept() || self.backends.ftl.is_physical() {
            return;
        }
        let last = self.controller.queues.last_number();
        match self.backends.nvrams.has(backend) {
            true => self.backends.nvrams.of_mut(backend).poison(page.low()),
            false => self.backends.power.note_trim(usize::from(backend.0), page.low(), last),
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
        let flash = self.backends.ftl.count();
        self.backends.nvrams.add(Nvram::new(pages, latency), flash)
    }
}
