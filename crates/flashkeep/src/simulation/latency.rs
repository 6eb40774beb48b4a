//! Where the response times of requests went.

use super::{Host, OutstandingRequest, RunAccounts, Simulation};
use crate::device::latency::{Breakdown, FlashTimes, Part};
use crate::devices::Body;
use crate::engine::{CompletionCounter, Contents};
use crate::kernel::{Id, SimTime, Span, reach};
use crate::metrics::BreakdownSums;
use flashkeep_trace::Op;

impl RunAccounts {
    /// Adds the parts of a response time to the sums of the run, and of the request's volume.
    #[inline]
    fn add_parts<C: Contents>(
        &mut self,
        id: Id<OutstandingRequest<C>>,
        response: Span,
        parts: &Breakdown,
        more: &[(Part, Span)],
        host: &mut Host<C>,
    ) {
        let this = &host.in_flight[id];
        if !this.counted || this.record.op == Op::Flush as u8 {
            return;
        }
        let at = usize::from(this.record.op != Op::Read as u8);
        if let Some(sums) = self.statistics.breakdowns.as_deref_mut() {
            sums[at].add(response.0, parts, more);
        }
        if let Some(flows) = &mut host.flows {
            flows.statistics_of(this.flow as usize).breakdowns()[at].add(response.0, parts, more);
        }
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Measures where response times go, from now on.
    pub(super) fn break_down(&mut self) {
        self.device.engine.work_mut().break_down(true);
        self.device.body.break_down();
        self.accounts.statistics.breakdowns = Some(Box::default());
        let port = self.device.engine.ports().host();
        let crosses =
            self.device.engine.ports().host_link().is_some() || port.has_cache() || port.has_copies();
        let sums_only = !self.job.keep_requests && self.host.flows.is_none();
        self.accounts.flash_only = !crosses && sums_only;
    }

    /// Notes where the response time of a request went that has other parts than those of operations in flash.
    #[inline(never)]
    pub(super) fn note_all_parts(
        &mut self,
        id: Id<OutstandingRequest<C>>,
        counter: Id<CompletionCounter>,
        acknowledged: SimTime,
    ) {
        let this = &self.host.in_flight[id];
        let mut parts = self.device.engine.work().breakdown(counter);
        let response = acknowledged.since(this.arrival);
        let memory = self.device.time_in_memory(id, &self.host);
        let (queue, link) = (this.admitted.since(this.arrival), this.received.since(this.admitted));
        let more = [(Part::Queue, queue), (Part::Cache, memory), (Part::Link, link)];
        // What ends when it is durable may have waited for write caches after its own operations.
        let (durable, rest) = (this.durable, if this.durable { Part::Buffer } else { Part::Link });
        let buffered = this.record.op == Op::Write as u8
            && !this.from_memory
            && !durable
            && self.device.port().has_cache();
        if self.device.engine.ports().host_link().is_none()
            && !buffered
            && !durable
            && !self.job.keep_requests
        {
            debug_assert_eq!(
                more.iter().fold(parts.total(), |sum, (_, span)| sum + *span),
                response,
                "the parts {parts:?} and {more:?} add up to the response time"
            );
            return self.accounts.add_parts(id, response, &parts, &more, &mut self.host);
        }
        // A write cache takes writes; those that are passed on wait for an eviction.
        if buffered {
            parts = parts.as_part(Part::Buffer);
        }
        more.into_iter().for_each(|(part, span)| parts.add(part, span));
        parts.fit(response, rest);
        if self.job.keep_requests {
            *reach(&mut self.accounts.record_parts, this.number as usize) = *parts.ns();
        }
        self.accounts.add_parts(id, response, &parts, &[], &mut self.host);
    }
}

impl<C> OutstandingRequest<C> {
    /// Notes where the response time of a request went that was spent outside the host queue and then in flash.
    #[inline(always)]
    pub(super) fn note_flash_times(
        &self,
        [of_reads, of_writes]: &mut [BreakdownSums; 2],
        flash: &FlashTimes,
    ) {
        let (response, queue) = (self.record.response_ns, self.admitted.since(self.arrival));
        debug_assert_eq!(flash.total() + queue, Span(response), "the parts of {flash:?} add up");
        if self.counted {
            let sums = if self.record.op == Op::Read as u8 { of_reads } else { of_writes };
            sums.add_flash(response, flash, queue);
        }
    }
}
