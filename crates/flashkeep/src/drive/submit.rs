//! Submission of commands to a drive, and what it completes.

use super::Drive;
use crate::drive::backends::Nvram;
use crate::drive::controller::Commands;
use crate::engine::{BackendId, Backends, Breakdown, Command, CompletionToken, Contents, Done, Page};
use crate::flash::PlaneId;
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

impl<C: Contents> Drive<C> {
    /// From now on planes are collected below `ftl.gc.threshold` only.
    pub fn end_idling(&mut self) {
        self.backends.end_scrubbing(&mut self.controller);
        self.backends.slc.end_idling();
        if !self.backends.gc.is_soft() {
            return;
        }
        self.backends.gc.thresholds.end_idling();
        self.controller.dies.units.iter_mut().for_each(|unit| unit.soft = false);
        // A collection in idle moments that stops half-way may have taken the plane's last free pages. A write that
        // still comes, for example a parity that waited for idle time, needs that collection to be finished.
        for plane in (0..self.controller.flash.geometry.plane_count()).map(PlaneId) {
            if !self.backends.ftl.blocks.is_dead(plane) && !self.backends.ftl.blocks.has_room(plane) {
                self.backends.ask_for_collection(plane, &mut self.controller);
            }
        }
    }
}

impl<C: Contents> Drive<C> {
    /// Adds an NVRAM of `pages` pages, each of which takes `latency`, as the next backend.
    pub fn add_nvram(&mut self, pages: u32, latency: Span) -> BackendId {
        self.controller.paths.commands = Commands::Checked;
        self.backends.nvrams.push(Nvram::new(pages, latency));
        BackendId((self.backends.ftl.backends.len() + self.backends.nvrams.len() - 1) as u16)
    }
}
