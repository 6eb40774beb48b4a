//! Write-back of the host's port while requests go on ([`Port::wants_flush`]): each victim of the cache is a request of
//! the port's own, which no statistic of requests counts.
//!
//! [`Port::wants_flush`]: crate::device::port::Port::wants_flush

use super::{Device, Simulation};
use crate::buffer::HostContext;
use crate::devices::Body;
use crate::engine::{Contents, Finished};
use crate::kernel::{Id, SimTime};

/// The write-back of the host's port.
#[derive(Debug)]
pub(super) struct HostWriteBack {
    /// Whether the port writes back by itself.
    on: bool,
    /// Requests that write victims back and have not ended.
    pub(super) under_way: usize,
    /// Requests with another stage, and when it begins.
    pub(super) stages: Vec<(SimTime, u32)>,
    /// When all pages of requests that have ended are on the media, as far as that is known.
    pub(super) settled: SimTime,
}

impl HostWriteBack {
    pub(super) fn new(on: bool) -> Self {
        HostWriteBack { on, under_way: 0, stages: Vec::new(), settled: SimTime::ZERO }
    }

    /// The power was cut.
    pub(super) fn cut(&mut self) {
        *self = HostWriteBack::new(self.on);
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// The cache may have got more pages: victims are written back when all else of this instant has happened.
    #[inline]
    pub(super) fn write_back_some(&mut self) {
        if self.host.write_back.on && self.device.buffer.wants_flush() {
            self.device.engine.call_host_at(self.clock.now);
        }
    }

    #[inline(never)]
    fn write_back_victims(&mut self) {
        while self.device.buffer.wants_flush() {
            let id = self.host.in_flight.claim();
            let request = self.device.engine.open(id.raw(), 0);
            self.device.engine.begin_request(request, self.clock.now);
            let (now, expected) = (self.clock.now, &mut Vec::new());
            let Device { engine, body, buffer, .. } = &mut self.device;
            let sectors =
                buffer.flush_next(&mut HostContext { engine, backends: body, now, request, expected });
            self.host.in_flight[id].flushes = Some(sectors);
            self.host.write_back.under_way += 1;
            self.device.engine.close(&mut self.device.body, now, request);
            self.collect_finished();
        }
    }

    /// A request that writes a victim of this many sectors back has ended.
    pub(super) fn end_write_back(&mut self, finished: &Finished, sectors: u64) {
        let this = &mut self.host.write_back;
        let end = finished.durable.unwrap_or(finished.acknowledged).max(finished.acknowledged);
        this.under_way -= 1;
        this.settled = this.settled.max(end);
        self.leaves_until(end, sectors);
        self.device.engine.forget(finished.counter);
        self.host.in_flight.release(Id::new(finished.tag));
    }

    /// Sectors that left the cache will have been written at an instant.
    pub(super) fn leaves_until(&mut self, end: SimTime, sectors: u64) {
        self.device.buffer.flush_ends(sectors, end);
        self.device.engine.call_host_at(end);
    }

    /// The host's requests have ended, the last one at `last`.
    #[inline]
    pub(super) fn watch_idle(&mut self, last: SimTime) {
        if !self.host.write_back.on || self.host.requests() > 0 {
            return;
        }
        if let Some(at) = self.device.buffer.begin_idle(last) {
            self.device.engine.call_host_at(at);
        }
    }

    /// A request of the host is admitted.
    #[inline]
    pub(super) fn end_idle(&mut self) {
        if self.host.write_back.on {
            self.device.buffer.end_idle();
        }
    }

    /// A victim has been written, or no request has been in progress for long enough.
    #[inline(never)]
    pub(super) fn go_on_writing_back(&mut self) {
        let now = self.clock.now;
        self.device.buffer.go_on_flushing(now);
        let stages = &mut self.host.write_back.stages;
        let stages: Vec<(SimTime, u32)> = stages.extract_if(.., |&mut (at, _)| at <= now).collect();
        for (_, tag) in stages {
            self.go_on_flushing(tag);
        }
        self.write_back_victims();
    }
}
