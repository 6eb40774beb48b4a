//! FLUSH and FUA: requests that end when what they concern is durable.
//!
//! A FLUSH writes the cache of the host's port back, waits for writes that are under way, and then has the members write
//! their caches back. A write with FUA passes the caches. With a protected cache both have nothing to do.

use super::{Device, OutstandingRequest, Simulation};
use crate::buffer::{Buffer, HostContext};
use crate::devices::Body;
use crate::engine::{Contents, Finished, Flushed, OpenRequest};
use crate::kernel::{Id, SimTime};
use flashkeep_trace::Op;

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Begins a FLUSH; false if there is nothing to wait for.
    #[cold]
    pub(super) fn flush(&mut self, request: OpenRequest, id: Id<OutstandingRequest<C>>) -> bool {
        if self.device.buffer.is_protected() {
            return false;
        }
        let now = self.clock.now;
        if self.failures.durability.is_some() {
            self.end_requests(now);
            self.host.in_flight[id].written = self.promised();
        }
        let settled = self.host.write_back.settled.max(self.device.engine.settled());
        let flushes_members = self.device.engine.has_caches();
        let this = &mut self.host.in_flight[id];
        (this.durable, this.floor, this.flushes_members) = (true, Some(settled), flushes_members);
        let mut asked = settled > now || flushes_members || self.device.buffer.holds_pages();
        let expected = &mut Vec::new();
        let Device { engine, body, buffer, .. } = &mut self.device;
        // What it writes is programmed together.
        body.await_parts();
        let leaving = buffer.flush_all(&mut HostContext { engine, backends: body, now, request, expected });
        body.parts_have_come(now);
        body.end_gathering(now);
        self.host.in_flight[id].leaving = leaving;
        let in_flight = &self.host.in_flight;
        // Without a cache, only writes that have been acknowledged early are awaited.
        let evicts = self.device.buffer.has_cache();
        asked |= self.device.engine.fence(request, |tag, acknowledged| {
            if acknowledged {
                // A write; its place may be another request's by now.
                return true;
            }
            let this = &in_flight[Id::new(tag)];
            this.flushes.is_some() || evicts && this.record.op != Op::Read as u8
        });
        asked
    }

    /// Writes the located ranges past the caches.
    #[cold]
    pub(super) fn force(
        &mut self,
        request: OpenRequest,
        id: Id<OutstandingRequest<C>>,
        pages: &mut u64,
    ) -> bool {
        self.each_fragment(request, id, |buffer, fragment, below| {
            *pages += u64::from(fragment.count);
            Buffer::force(buffer, fragment, below);
            true
        });
        let this = &mut self.host.in_flight[id];
        (this.durable, this.floor) = (true, Some(SimTime::ZERO));
        true
    }

    /// A stage of a request has ended: whether the request is over, and a request of the host. If another stage follows, it
    /// begins later.
    #[inline(always)]
    pub(super) fn ends_stage(&mut self, finished: &mut Finished) -> bool {
        match self.host.in_flight.get(Id::new(finished.tag)) {
            Some(request) => {
                (request.flushes.is_none() && request.floor.is_none()) || self.ends_special_stage(finished)
            }
            None => self.ends_late(finished),
        }
    }

    /// What was created before time 0 has found its place: it had to wait for garbage collection.
    #[cold]
    fn ends_late(&mut self, finished: &Finished) -> bool {
        self.device.engine.forget(finished.counter);
        false
    }

    /// The same for a request that writes a cache back, or that ends when its pages are durable.
    #[cold]
    fn ends_special_stage(&mut self, finished: &mut Finished) -> bool {
        if finished.lost > 0 {
            // A write that needed a lost page may have had no effect.
            self.device.buffer.drop_copies();
        }
        let OutstandingRequest { flushes, floor, .. } = &self.host.in_flight[Id::new(finished.tag)];
        match (*flushes, *floor) {
            (Some(sectors), _) => {
                self.end_write_back(finished, sectors);
                false
            }
            (None, Some(floor)) => self.ends_when_durable(finished, floor),
            (None, None) => true,
        }
    }

    fn ends_when_durable(&mut self, finished: &mut Finished, floor: SimTime) -> bool {
        let this = &mut self.host.in_flight[Id::new(finished.tag)];
        let end = finished.acknowledged.max(floor).max(finished.durable.unwrap_or_default());
        if finished.durable.is_some() && this.leaving > 0 {
            let leaving = std::mem::take(&mut this.leaving);
            self.leaves_until(end, leaving);
        }
        let this = &mut self.host.in_flight[Id::new(finished.tag)];
        if finished.durable.is_some() && !this.flushes_members {
            this.floor = None;
            finished.acknowledged = end;
            finished.durable = Some(end);
            return true;
        }
        (this.floor, this.finished) = (Some(end), Some(*finished));
        self.host.write_back.stages.push((end, finished.tag));
        self.device.engine.call_host_at(end);
        false
    }

    /// The next stage of a FLUSH, or of a write with FUA: its own pages become durable, then caches of members.
    #[cold]
    pub(super) fn go_on_flushing(&mut self, tag: u32) {
        let (id, now) = (Id::new(tag), self.clock.now);
        let this = &mut self.host.in_flight[id];
        if let Some(Finished { counter, .. }) = this.finished.take() {
            this.floor = this.floor.max(self.device.engine.durable_at(counter));
            self.device.engine.forget(counter);
        }
        let request = self.device.engine.open(tag, 0);
        self.device.engine.begin_request(request, now);
        if !self.device.engine.fence(request, |other, _| other == tag)
            && std::mem::take(&mut self.host.in_flight[id].flushes_members)
        {
            self.device.engine.flush_caches(&mut self.device.body, now, Flushed::Volatile, request);
        }
        self.device.engine.close(&mut self.device.body, now, request);
        self.collect_finished();
    }

    /// After the last request, all caches are written back: the programs that the workload causes are counted.
    #[cold]
    pub(super) fn flush_at_end(&mut self) {
        for members in [false, true] {
            let id = self.host.in_flight.claim();
            self.host.in_flight[id].flushes = Some(0);
            self.host.write_back.under_way += 1;
            let request = self.device.engine.open(id.raw(), 0);
            let (now, expected) = (self.clock.now.max(self.clock.last), &mut Vec::new());
            self.clock.now = now;
            self.device.engine.begin_request(request, now);
            let Device { engine, body, buffer, .. } = &mut self.device;
            if members {
                engine.flush_caches(body, now, Flushed::All, request);
            } else {
                buffer.write_back(&mut HostContext { engine, backends: body, now, request, expected });
            }
            self.device.engine.close(&mut self.device.body, now, request);
            self.collect_finished();
            self.run_out();
        }
    }

    /// Nothing more is asked: advances until nothing is under way.
    fn run_out(&mut self) {
        loop {
            let event = self.device.body.next_event().min(self.device.engine.next_due());
            if event == SimTime::NEVER {
                return;
            }
            let sample_at = self.failures.fault_events.sample_at;
            if sample_at < event {
                self.sample(event);
            } else {
                self.happen(sample_at);
            }
        }
    }

    /// The end of a request of the host is known: its pages are on the media at this instant at the latest.
    #[inline]
    pub(super) fn note_settled(&mut self, finished: &Finished) {
        let at = finished.durable.unwrap_or_default();
        self.host.write_back.settled = self.host.write_back.settled.max(at);
    }
}
