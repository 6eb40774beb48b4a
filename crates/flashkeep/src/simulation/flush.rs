//! FLUSH and FUA: requests that end when what they concern is durable. With a protected cache they have nothing to do.

use super::{Device, OutstandingRequest, Simulation};
use crate::devices::Body;
use crate::engine::{Contents, Engine, Finished, OpenRequest};
use crate::kernel::{Id, SimTime};
use flashkeep_trace::Op;

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// Pages created before time 0 have places; some had to wait for garbage collection.
    #[cold]
    fn ends_late(&mut self, finished: &Finished) -> bool {
        self.engine.work_mut().forget(finished.counter);
        false
    }

    /// The end of a request of the host is known: its pages are on the media at this instant at the latest.
    #[inline]
    pub(super) fn note_settled(&mut self, finished: &Finished) {
        self.engine.ports_mut().note_settled_host(finished.durable.unwrap_or_default());
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Begins a FLUSH; false if there is nothing to wait for.
    #[cold]
    pub(super) fn flush(&mut self, request: OpenRequest, id: Id<OutstandingRequest<C>>) -> bool {
        if self.device.port().is_protected() {
            return false;
        }
        let now = self.clock.now;
        if self.failures.durability.is_some() {
            self.end_requests(now);
            self.host.in_flight[id].written = self.failures.promised();
        }
        self.host.in_flight[id].durable = true;
        let Device { engine, body, .. } = &mut self.device;
        let in_flight = &self.host.in_flight;
        engine.begin_flush(body, now, request, |tag| in_flight[Id::new(tag)].record.op != Op::Read as u8)
    }

    /// Writes the located ranges past the caches.
    #[cold]
    pub(super) fn force(
        &mut self,
        request: OpenRequest,
        id: Id<OutstandingRequest<C>>,
        pages: &mut u64,
    ) -> bool {
        self.each_fragment(request, id, |access, fragment| {
            *pages += u64::from(fragment.count);
            access.force(fragment);
            true
        });
        self.host.in_flight[id].durable = true;
        self.device.engine.end_when_durable(request);
        true
    }

    /// Whether a finished request is over, and is one that a workload makes.
    #[inline(always)]
    pub(super) fn is_over(&mut self, finished: &mut Finished) -> bool {
        match self.host.in_flight.get(Id::new(finished.tag)) {
            Some(_) => self.device.engine.is_over(finished),
            None => self.device.ends_late(finished),
        }
    }

    /// After the last request, all caches are written back: the programs that the workload causes are counted.
    #[cold]
    pub(super) fn flush_at_end(&mut self) {
        for write_back in [Engine::write_back_all_of_host::<H>, Engine::write_back_all_of_members] {
            let now = self.clock.now.max(self.clock.last);
            self.clock.now = now;
            write_back(&mut self.device.engine, &mut self.device.body, now);
            self.collect_finished();
            self.run_out();
        }
    }

    /// Nothing more is asked: advances until nothing is under way.
    pub(super) fn run_out(&mut self) {
        loop {
            let event = self.device.next_event();
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
}
