//! The fast path of an untimed run: whole pages written to a drive without redundancy go from the workload
//! directly to its only backend. Other requests take the general path, as do all requests if the host
//! interface has more to do. Both give the same results.

use super::{Simulation, Stop};
use crate::devices::Body;
use crate::engine::{Contents, LeafId};
use crate::host::Placement;
use crate::job::Progress;
use crate::kernel::SimTime;
use crate::workload::Requests;
use flashkeep_trace::{Op, Request};
use std::ops::ControlFlow;

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// The leaf that whole pages can be written to without a detour.
    pub(super) fn straight_leaf(&self) -> Option<LeafId> {
        let plain = self.untimed && !C::KEEP && self.page_shift.is_some() && !self.buffer.has_cache();
        let as_is = self.workload.placement == Placement::AsIs && self.job.operations.is_none();
        if plain && as_is { self.straight_flash() } else { None }
    }

    /// Whether the next request can take the short way.
    pub(super) fn goes_straight(&self, request: &Request) -> bool {
        let nothing_is_due = self.admitted < self.blows.next_count && self.admitted != self.warmup;
        nothing_is_due && self.drive.is_healthy() && self.whole_pages(request).is_some()
    }

    /// The pages of a request that can go straight down: the first, and how many.
    #[inline]
    fn whole_pages(&self, request: &Request) -> Option<(u32, u32)> {
        let shift = self.page_shift?;
        let (first, count) = (request.offset >> shift, request.length >> shift);
        let aligned = first << shift == request.offset && count << shift == request.length && count > 0;
        let end = first + u64::from(count);
        let inside = end << shift <= self.resolved_bytes && (request.device == 0 || self.job.merge_devices);
        let due = request.op == Op::Write && request.arrival_ns < self.blows.next_at.0;
        (aligned && inside && due).then_some((first as u32, count))
    }

    /// Writes requests as long as they are whole pages and nothing else is due, a batch at a time; the next one, placed.
    pub(super) fn write_straight(
        &mut self,
        leaf: LeafId,
        first: &Request,
        requests: &mut Requests,
        closed: bool,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Request>, Stop> {
        let mut pages = std::mem::take(&mut self.pages);
        pages.clear();
        self.take_straight(first, closed, &mut pages);
        while self.admitted < self.blows.next_count
            && self.admitted != self.warmup
            && let Some(&request) = requests.peek()
            && self.take_straight(&request, closed, &mut pages)
        {
            requests.skip();
        }
        self.buffer.set_written(&pages);
        self.flash_mut().write_untimed(leaf, &pages);
        self.pages = pages;
        self.look(requests.share_done(), progress)?;
        self.next_placed(requests)
    }

    /// Takes a request's pages, if they can go straight down.
    #[inline(always)]
    fn take_straight(&mut self, request: &Request, closed: bool, pages: &mut Vec<u32>) -> bool {
        let Some((first, count)) = self.whole_pages(request) else { return false };
        let arrival = if closed { self.now } else { SimTime(request.arrival_ns) };
        self.now = self.now.max(arrival);
        self.last = self.now;
        self.facts.span = arrival.since(SimTime::ZERO);
        self.facts.requests[Op::Write as usize] += 1;
        self.facts.bytes[Op::Write as usize] += u64::from(request.length);
        pages.extend(first..first + count);
        if self.admitted >= self.warmup {
            self.statistics.pages_written += u64::from(count);
            self.statistics.bytes_written += u64::from(request.length);
            self.statistics.digest.add(self.admitted, self.now.0, 0);
        }
        self.admitted += 1;
        true
    }
}
