//! Pages that exist before time 0.

use super::{Device, RunClock, Simulation, Stop};
use crate::config::Resolved;
use crate::devices::Body;
use crate::engine::{Contents, MemberRow, NodeId, OpenRequest, Scheme, Verb};
use crate::host::Existing;
use crate::job::{Halt, Progress};
use crate::schemes::Any;
use std::ops::{ControlFlow, Range};

/// The number of pages that one command creates: in an array of arrays, all parts of a command are under way at once.
const CREATED: u64 = 256;

impl<C: Contents, H: Body<C>> Device<C, H> {
    pub(super) fn create_all(&mut self, resolved: &Resolved, clock: &RunClock) {
        let row = self.engine.tree().row(&self.body);
        self.create_missing(row.filter(|_| !self.port().holds_pages() && !resolved.is_aged()), clock);
    }

    /// Creates the pages that do not exist, by rows if these are given.
    pub(super) fn create_missing(&mut self, row: Option<MemberRow>, clock: &RunClock) {
        let pages = self.port().pages().len();
        let mut from = 0;
        while from < pages {
            let missing = self.port().pages().missing(from, pages);
            from = missing.end;
            match row {
                Some(row) => self.create_rows(missing, row, clock),
                None => self.create_pages(missing, clock),
            }
        }
    }

    /// Whole rows of pages are created at once, parts of rows by commands.
    fn create_rows(&mut self, pages: Range<u64>, row: MemberRow, clock: &RunClock) {
        let in_row = u64::from(row.pages);
        let first = pages.start.next_multiple_of(in_row).min(pages.end);
        let end = (pages.end - pages.end % in_row).max(first);
        if !row.reads {
            self.create_pages(pages.start..first, clock);
        }
        if first < end {
            let Device { engine, body, .. } = self;
            engine.create_rows(body, first..end);
            let known = if C::KEEP { self.contents_by_rule(first..end) } else { end };
            self.engine.ports_mut().host_mut().pages_mut().set_run(first, known - first);
            if known < end {
                self.body.fill(true);
                self.create_pages(known..end, clock);
                self.body.fill(false);
            }
        }
        self.create_pages(end..pages.end, clock);
        if row.reads {
            self.create_pages(pages.start..first, clock);
        }
    }

    /// The end of those of these pages, which have their places, whose contents follow from the rule of their places.
    fn contents_by_rule(&mut self, pages: Range<u64>) -> u64 {
        let known = self.engine.tree().only_backend().map(|backend| self.body.create_by_rule(backend));
        known.map_or(pages.start, |known| u64::from(known).clamp(pages.start, pages.end))
    }

    /// Commands create these pages, in pieces of whole rows: parts of rows would be created page by page.
    fn create_pages(&mut self, mut pages: Range<u64>, clock: &RunClock) {
        let scheme = self.engine.tree().scheme(NodeId::ROOT);
        let grain = scheme.map(|scheme| scheme.grain(Verb::Write)).filter(|&grain| grain < u32::MAX);
        let piece = CREATED.next_multiple_of(grain.unwrap_or(1).into());
        while !pages.is_empty() {
            let end = (pages.start - pages.start % piece + piece).min(pages.end);
            self.create_run(pages.start, (end - pages.start) as u32, clock);
            pages.start = end;
        }
    }

    pub(super) fn create_run(&mut self, first: u64, count: u32, clock: &RunClock) {
        let request = self.engine.open(u32::MAX, 0);
        let now = clock.now;
        self.access(now, request, &mut Vec::new()).create_run(first, count);
        self.end_preparation(request, clock);
    }

    pub(super) fn end_preparation(&mut self, request: OpenRequest, clock: &RunClock) {
        self.engine.close(&mut self.body, clock.now, request);
        self.end_finished();
    }

    pub(super) fn end_finished(&mut self) {
        for at in 0..self.engine.work_mut().finished().len() {
            let counter = self.engine.work_mut().finished()[at].counter;
            self.engine.work_mut().forget(counter);
        }
        self.engine.work_mut().finished().clear();
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    pub(super) fn prepare(
        &mut self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
    ) -> Result<(), Stop> {
        let start = &self.resolved.spec.start;
        let scans = start.scan && start.existing == Existing::Reads;
        if let Some(path) = &self.job.aged {
            self.load(path)?;
            return if scans { self.scan(progress) } else { Ok(()) };
        }
        self.warm_map_caches();
        let only_saves = !self.job.has_workload() && !self.resolved.is_aged();
        if self.job.condition || only_saves {
            return self.condition(progress);
        }
        if self.resolved.is_aged() {
            self.age(progress)?;
        }
        if start.existing == Existing::All {
            self.device.create_all(self.resolved, &self.clock);
        }
        if scans {
            self.scan(progress)?;
        }
        if self.resolved.is_aged() {
            // What it was written with is long ago: it starts as one that was saved.
            self.rest();
        }
        Ok(())
    }

    /// Caches of maps hold entries of what the workload may use: of its extent, if it is synthetic, or of the whole drive.
    fn warm_map_caches(&mut self) {
        let capacity = self.resolved.capacity_bytes();
        let (offset, length) = self.accounts.facts.provenance.extent.unwrap_or((0, capacity));
        let part = [offset, offset + length, capacity];
        let seed = self.job.seed.unwrap_or(1);
        let nodes: Vec<NodeId> = self.device.engine.tree().with_schemes().map(|(node, _)| node).collect();
        let mut member = 0;
        for node in nodes {
            if let Any::Mapped(map) = self.device.engine.tree_mut().scheme_mut(node) {
                map.warm_cache(part, seed.wrapping_add(member));
                member += 1;
            }
        }
    }

    /// Creates what the workload reads, sector by sector, as SSDSim does.
    pub(super) fn scan(
        &mut self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
    ) -> Result<(), Stop> {
        self.each_read(progress, |this, fragment| {
            let request = this.device.engine.open(u32::MAX, 0);
            let now = this.clock.now;
            this.device.access(now, request, &mut Vec::new()).create(fragment);
            this.device.end_preparation(request, &this.clock);
        })
    }
}
