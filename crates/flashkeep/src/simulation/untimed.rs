//! The fast path of an untimed run: whole pages written to a drive without redundancy go from the workload
//! directly to its only backend. Other requests take the general path, as do all requests if the host
//! interface has more to do. Both give the same results.

use super::{Simulation, Stop};
use crate::devices::Body;
use crate::engine::{BackendId, Contents};
use crate::host::AddressMode;
use crate::job::{Halt, Progress};
use crate::kernel::SimTime;
use crate::workload::Requests;
use flashkeep_trace::{Op, Request};
use std::ops::ControlFlow;

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// The backend to which whole pages can be written directly.
    pub(super) fn fast_path_backend(&self) -> Option<BackendId> {
        let plain = self.clock.untimed
            && self.host.page_shift.is_some()
            && !self.device.port().has_cache()
            && !self.device.port().has_copies();
        let plain = plain && !self.host.handles.are_several();
        let as_is = self.workload.placement == AddressMode::AsIs && self.job.operations.is_none();
        if plain && as_is { self.device.fast_path_of_writes(self.resolved) } else { None }
    }

    /// Whether the next request can take the fast path.
    pub(super) fn takes_fast_path(&self, request: &Request) -> bool {
        let nothing_is_due = self.host.admitted < self.failures.fault_events.next_count
            && self.host.admitted != self.host.warmup;
        nothing_is_due && self.device.body.is_healthy() && self.whole_pages(request).is_some()
    }

    /// The pages of a request that can take the fast path: the first one and their number.
    #[inline]
    fn whole_pages(&self, request: &Request) -> Option<(u64, u32)> {
        let shift = self.host.page_shift?;
        let (first, count) = (request.offset >> shift, request.length >> shift);
        let aligned = first << shift == request.offset && count << shift == request.length && count > 0;
        let end = first + u64::from(count);
        let inside =
            end << shift <= self.accounts.resolved_bytes && (request.device == 0 || self.job.merge_devices);
        let due = request.op == Op::Write
            && self.host.handles.take(request.handle.into()).is_some()
            && request.arrival_ns < self.failures.fault_events.next_at.0;
        (aligned && inside && due).then_some((first, count))
    }

    /// Writes requests as long as they are whole pages and nothing else is due, a batch at a time. Whether
    /// another one follows, which has been placed.
    pub(super) fn write_fast_path(
        &mut self,
        backend: BackendId,
        first: &Request,
        requests: &mut Requests,
        closed: bool,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
    ) -> Result<bool, Stop> {
        let mut pages = std::mem::take(&mut self.host.pages);
        pages.clear();
        self.take_fast_path(first, closed, &mut pages);
        while self.host.admitted < self.failures.fault_events.next_count
            && self.host.admitted != self.host.warmup
            && let Some(&request) = requests.peek()
            && self.take_fast_path(&request, closed, &mut pages)
        {
            requests.skip();
        }
        self.device.engine.ports_mut().host_mut().pages_mut().set_all(&pages);
        self.device.flash_mut().write_untimed(backend, &pages);
        self.host.pages = pages;
        Ok(self.clock.goes_on(requests.share_done(), progress, &self.host)?
            && self.advance_to_placed(requests)?)
    }

    /// Adds a request's pages, if they can take the fast path.
    #[inline(always)]
    fn take_fast_path(&mut self, request: &Request, closed: bool, pages: &mut Vec<u32>) -> bool {
        let Some((first, count)) = self.whole_pages(request) else { return false };
        let arrival = if closed { self.clock.now } else { SimTime(request.arrival_ns) };
        self.clock.now = self.clock.now.max(arrival);
        self.clock.last = self.clock.now;
        self.accounts.facts.span = arrival.since(SimTime::ZERO);
        self.accounts.facts.requests[Op::Write as usize] += 1;
        self.accounts.facts.bytes[Op::Write as usize] += u64::from(request.length);
        self.accounts.facts.fua_writes += u64::from(request.fua);
        pages.extend(first as u32..first as u32 + count);
        if self.host.admitted >= self.host.warmup {
            self.accounts.statistics.pages_written += u64::from(count);
            self.accounts.statistics.bytes_written += u64::from(request.length);
            self.accounts.statistics.digest.add(self.host.admitted, self.clock.now.0, 0);
        }
        self.host.admitted += 1;
        true
    }
}
