//! Pages that exist before time 0.

use super::{Device, PREPARED, Simulation, Stop};
use crate::buffer::{Existing, HostContext};
use crate::devices::Body;
use crate::engine::{CompletionToken, Contents};
use crate::job::{Halt, Progress};
use std::ops::ControlFlow;

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
        let only_saves = self.job.traces.is_empty() && !self.resolved.is_aged();
        if self.job.condition || only_saves {
            return self.condition(progress);
        }
        if self.resolved.is_aged() {
            self.age(progress)?;
        }
        if start.existing == Existing::All {
            self.create_all();
        }
        if scans { self.scan(progress) } else { Ok(()) }
    }

    pub(super) fn create_all(&mut self) {
        let pages = self.device.buffer.pages().len();
        let mut first = 0;
        while first < pages {
            let lacks = |page: &u32| self.device.buffer.pages().sectors(*page) == 0;
            let count = (first..pages.min(first + PREPARED as u32)).take_while(lacks).count() as u32;
            if count > 0 {
                self.create_run(first, count);
            }
            first += count.max(1);
        }
    }

    pub(super) fn create_run(&mut self, first: u32, count: u32) {
        let request = self.device.engine.open(u32::MAX, 0);
        let now = self.clock.now;
        let Device { engine, body, buffer, .. } = &mut self.device;
        let mut nothing = Vec::new();
        let mut below = HostContext { engine, backends: body, now, request, expected: &mut nothing };
        buffer.create_run(first, count, &mut below);
        self.end_preparation(request);
    }

    /// Creates what the workload reads, sector by sector, as SSDSim does.
    pub(super) fn scan(
        &mut self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
    ) -> Result<(), Stop> {
        self.each_read(progress, |this, fragment| {
            let request = this.device.engine.open(u32::MAX, 0);
            let now = this.clock.now;
            let Device { engine, body, buffer, .. } = &mut this.device;
            let mut nothing = Vec::new();
            let mut below = HostContext { engine, backends: body, now, request, expected: &mut nothing };
            buffer.create(fragment, &mut below);
            this.end_preparation(request);
        })
    }

    pub(super) fn end_preparation(&mut self, request: CompletionToken) {
        self.device.engine.close(&mut self.device.body, self.clock.now, request);
        self.end_finished();
    }

    pub(super) fn end_finished(&mut self) {
        for at in 0..self.device.engine.finished().len() {
            let counter = self.device.engine.finished()[at].counter;
            self.device.engine.forget(counter);
        }
        self.device.engine.finished().clear();
    }
}
