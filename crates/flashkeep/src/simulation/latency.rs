//! Where the response times of requests went.

use super::{OutstandingRequest, Simulation};
use crate::device::latency::{Breakdown, Part};
use crate::devices::Body;
use crate::engine::{Contents, Finished};
use crate::kernel::{Id, SimTime, Span, make_room};
use flashkeep_trace::Op;

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Measures where response times go, from now on.
    pub(super) fn break_down(&mut self) {
        self.device.engine.break_down(true);
        self.device.body.break_down();
        self.accounts.statistics.breakdowns = Some(Box::default());
        let crosses = self.host.link.is_some() || self.device.buffer.has_cache();
        let sums_only = !self.job.keep_requests && self.host.volumes.is_none();
        self.accounts.flash_only = !crosses && sums_only;
    }

    /// Notes where the response time of a request went.
    #[inline]
    pub(super) fn note_breakdown(
        &mut self,
        id: Id<OutstandingRequest<C>>,
        finished: Finished,
        acknowledged: SimTime,
    ) {
        let this = &self.host.in_flight[id];
        let flash = self.device.engine.flash_times(finished.counter, acknowledged);
        let Some(flash) = flash.filter(|_| self.accounts.flash_only && !this.from_memory && !this.durable)
        else {
            return self.note_all_parts(id, finished, acknowledged);
        };
        let (response, queue) = (acknowledged.since(this.arrival), this.admitted.since(this.arrival));
        debug_assert_eq!(flash.total() + queue, response, "the parts of {flash:?} add up");
        let sums = self.accounts.statistics.breakdowns.as_deref_mut().filter(|_| this.counted);
        if let Some([of_reads, of_writes]) = sums {
            let sums = if this.record.op == Op::Read as u8 { of_reads } else { of_writes };
            sums.add_flash(response.0, flash, queue);
        }
    }

    /// The same of a request with other parts than those of operations in flash.
    #[inline(never)]
    fn note_all_parts(&mut self, id: Id<OutstandingRequest<C>>, finished: Finished, acknowledged: SimTime) {
        let this = &self.host.in_flight[id];
        let mut parts = self.device.engine.breakdown(finished.counter);
        let response = acknowledged.since(this.arrival);
        let memory = if this.from_memory { self.device.body.memory_time() } else { Span::ZERO };
        let (queue, link) = (this.admitted.since(this.arrival), this.received.since(this.admitted));
        let more = [(Part::Queue, queue), (Part::Cache, memory), (Part::Link, link)];
        // What ends when it is durable may have waited for write caches after its own operations.
        let (durable, rest) = (this.durable, if this.durable { Part::Buffer } else { Part::Link });
        let buffered = this.record.op == Op::Write as u8
            && !this.from_memory
            && !durable
            && self.device.buffer.has_cache();
        if self.host.link.is_none() && !buffered && !durable && !self.job.keep_requests {
            debug_assert_eq!(
                more.iter().fold(parts.total(), |sum, (_, span)| sum + *span),
                response,
                "the parts {parts:?} and {more:?} add up to the response time"
            );
            return self.add_parts(id, response, &parts, &more);
        }
        // A write cache takes writes; those that go on below wait for an eviction.
        if buffered {
            parts = parts.as_part(Part::Buffer);
        }
        more.into_iter().for_each(|(part, span)| parts.add(part, span));
        parts.fit(response, rest);
        if self.job.keep_requests {
            let (at, kept) = (this.number as usize, &mut self.accounts.record_parts);
            if kept.len() <= at {
                make_room(kept, at + 1 - kept.len());
                kept.resize(at + 1, Default::default());
            }
            kept[at] = *parts.ns();
        }
        self.add_parts(id, response, &parts, &[]);
    }

    /// Adds the parts of a response time to the sums of the run, and of the request's volume.
    #[inline]
    fn add_parts(
        &mut self,
        id: Id<OutstandingRequest<C>>,
        response: Span,
        parts: &Breakdown,
        more: &[(Part, Span)],
    ) {
        let this = &self.host.in_flight[id];
        if !this.counted || this.record.op == Op::Flush as u8 {
            return;
        }
        let at = usize::from(this.record.op != Op::Read as u8);
        if let Some(sums) = self.accounts.statistics.breakdowns.as_deref_mut() {
            sums[at].add(response.0, parts, more);
        }
        if let Some(volumes) = &mut self.host.volumes {
            volumes.statistics_of(this.volume as usize).breakdowns()[at].add(response.0, parts, more);
        }
    }
}
