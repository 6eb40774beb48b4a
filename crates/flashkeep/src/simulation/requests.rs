//! The path of a request, from its place on the drive to its completion.

use super::{AHEAD, Device, Host, OutstandingRequest, Simulation, Stop, Totals};
use crate::config::Resolved;
use crate::device::command::Origin;
use crate::device::port::Fragment;
use crate::devices::Body;
use crate::drive::RunEvent;
use crate::engine::{BackendId, Contents, Finished, NodeId, OpenRequest, Page, Scheme};
use crate::host::{AddressMode, HostAccess, LateRequests, Range, SectorRange, fragments};
use crate::job::RequestRecord;
use crate::kernel::{Id, SimTime, Span, reach};
use crate::schemes;
use crate::workload::Requests;
use flashkeep_trace::{Op, Request};

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// The members of an array are trees themselves.
    #[inline(never)]
    fn prefetch_in_array(&self, page: u64, host: &Host<C>) {
        // The request has not been located yet.
        if page >= self.port().pages().len() {
            return;
        }
        let page = host.interleave.map_or(page, |interleave| interleave.place(page));
        let page = Page(page);
        self.port().pages().prefetch(page.0);
        self.engine
            .tree()
            .prefetch(NodeId::ROOT, page, &mut |backend, page| self.body.prefetch(backend, page));
    }

    /// What has been counted so far.
    pub(super) fn totals(&self, at: SimTime, host: &Host<C>) -> Totals {
        Totals {
            at,
            at_rest: self.body.at_rest(),
            counters: self.body.counters(),
            work: self.work().cloned(),
            errors: self.body.error_counts(),
            recovered: self.engine.tree().exposure().recovered(),
            hits: self.port().hits().unwrap_or_default(),
            held: self.engine.ports().held(),
            mapping: self.mapping_counts(),
            reads: self.engine.read_counts(),
            turns: self.body.ended_in_turns(),
            busy: self.body.busy(),
            devices: self.body.statistics(at),
            handles: self.body.flash().map_or_else(Vec::new, |drive| drive.handle_counts().to_vec()),
            member_hits: self.member_hits(),
            queue_full: host.window.full(),
        }
    }

    /// The time of a request that the controller's memory serves alone; of others 0.
    pub(super) fn time_in_memory(&self, id: Id<OutstandingRequest<C>>, host: &Host<C>) -> Span {
        if host.in_flight[id].from_memory { self.body.memory_time() } else { Span::ZERO }
    }

    /// The device has done a request: the DRAM takes copies of what it has read. A write that needed a lost page may have
    /// had no effect.
    #[inline(never)]
    pub(super) fn end_reads(&mut self, finished: &Finished, host: &Host<C>) {
        let writes = host.in_flight[Id::new(finished.tag)].record.op != Op::Read as u8;
        self.engine.end_host_reads(finished, writes);
    }
}

impl<C: Contents> Host<C> {
    /// Maps the located ranges to those of the array's scheme.
    #[inline]
    pub(super) fn interleave(&mut self) {
        if let Some(interleave) = self.interleave {
            interleave.spread(&mut self.ranges, &mut self.spread);
        }
    }

    /// A partly written logical page is written as a whole.
    #[cold]
    pub(super) fn widen(&mut self, resolved: &Resolved) {
        let page = resolved.page_bytes();
        for range in &mut self.ranges {
            let end = (range.offset + range.length).next_multiple_of(page);
            range.offset -= range.offset % page;
            range.length = end - range.offset;
        }
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Advances to the next request that has a place on the drive; false at the end.
    #[inline(never)]
    pub(super) fn advance_to_placed(&mut self, requests: &mut Requests) -> Result<bool, Stop> {
        while requests.advance()? {
            self.prefetch(requests);
            if self.locate(&requests.current(), self.host.admitted + self.host.misplaced + 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[inline]
    pub(super) fn prefetch(&self, requests: &Requests) {
        if let (Some(shift), Some(ahead)) = (self.host.page_shift, requests.ahead(AHEAD))
            && self.workload.placement == AddressMode::AsIs
        {
            let page = ahead.offset >> shift;
            if self.device.body.flash().is_none() {
                return self.device.prefetch_in_array(page, &self.host);
            }
            let page = Page(page);
            self.device.port().pages().prefetch(page.0);
            if let Some(scheme) = self.device.engine.tree().scheme(NodeId::ROOT) {
                scheme.prefetch(page, |member, page| {
                    self.device.body.prefetch(BackendId(member.0.into()), page)
                });
            }
        }
    }

    /// Finds a request's place on the drive; false if it has none and is left out.
    #[inline]
    pub(super) fn locate(&mut self, request: &Request, number: u64) -> Result<bool, Stop> {
        if request.op == Op::Flush {
            self.host.ranges.clear();
            return Ok(true);
        }
        if self.host.handles.take(request.handle.into()).is_none() {
            return self.refuse_handle(request, number, None);
        }
        match self.host.addresses.place(request, &mut self.host.ranges) {
            Ok(()) => Ok(true),
            Err(crate::host::AddressError::SecondDevice) if !self.workload.is_stream() => {
                Err(Stop::SecondDevice)
            }
            Err(_) if self.workload.skips_misplaced() => {
                self.host.misplaced += 1;
                Ok(false)
            }
            Err(error) => {
                let name = &self.accounts.facts.provenance.name;
                let capacity = self.resolved.capacity_bytes();
                Err(Stop::Error(self.workload.misplaced(error, number, request, name, capacity)))
            }
        }
    }

    /// The drive lacks the placement handle of a request, of a flow if there are several.
    #[cold]
    pub(super) fn refuse_handle(
        &mut self,
        request: &Request,
        number: u64,
        flow: Option<usize>,
    ) -> Result<bool, Stop> {
        if self.workload.skips_misplaced() {
            self.host.misplaced += 1;
            return Ok(false);
        }
        let name = match flow.and_then(|at| self.workload.flows.get(at)) {
            Some(flow) => &flow.trace,
            None => &self.accounts.facts.provenance.name,
        };
        Err(Stop::Error(self.workload.unknown_handle(request, number, name, self.host.handles)))
    }

    pub(super) fn admit(&mut self, request: &Request, closed: bool) {
        if self.failures.write_gate.is_shut() && request.op.changes_data() {
            self.failures.write_gate.refused += 1;
            self.tell_refused(SimTime(request.arrival_ns));
            return;
        }
        if self.host.admitted == self.host.warmup && self.host.warmup > 0 {
            self.begin_counting(if closed { self.clock.now } else { SimTime(request.arrival_ns) });
        }
        if self.accounts.occupancy.is_some() {
            self.accounts.look_at_memory(&self.device, &self.clock);
        }
        self.device.engine.ports_mut().end_host_idle();
        // A flush has no place.
        let offset = self.host.ranges.first().map_or(0, |range| range.offset);
        self.host.interleave();
        let id = self.host.in_flight.claim();
        let number = self.host.admitted;
        self.host.admitted += 1;
        let arrival = if closed { self.clock.now } else { SimTime(request.arrival_ns) };
        let admitted = self.clock.now;
        self.host.window.enter(arrival, admitted);
        let cache_share = match self.host.flows {
            Some(_) => {
                self.host.enter_flow(id, request.op, admitted, number >= self.host.warmup, self.resolved)
            }
            None => 0,
        };
        if self.resolved.spec.host.late_requests == LateRequests::FromArrival {
            self.clock.now = arrival.max(
                self.failures.durability.as_ref().map_or(SimTime::ZERO, |durability| durability.ready()),
            );
        }
        self.device.body.admit(admitted, self.clock.now);
        self.accounts.facts.span = self.accounts.facts.span.max(arrival.since(SimTime::ZERO));
        self.accounts.facts.requests[request.op as usize] += 1;
        if matches!(request.op, Op::Read | Op::Write) {
            self.accounts.facts.bytes[request.op as usize] += u64::from(request.length);
        }
        self.accounts.facts.fua_writes += u64::from(request.fua);
        let this = &mut self.host.in_flight[id];
        this.expected.clear();
        (this.number, this.arrival, this.admitted) = (number, arrival, self.clock.now);
        (this.fua, this.durable) = (request.fua, false);
        let handle = self.host.handle_ranges.at(offset).unwrap_or(request.handle);
        let handle = self.host.handles.take(handle.into()).expect("checked when the request was located");
        this.origin = Origin { cache_share, ..Origin::host(handle) };
        this.counted = number >= self.host.warmup;
        this.record = RequestRecord {
            arrival_ns: arrival.0,
            offset,
            length: request.length,
            op: request.op as u8,
            ..RequestRecord::default()
        };
        if self.device.engine.ports().host_link().is_none() {
            return self.ask(id, request.op);
        }
        this.op = Some(request.op);
        let sector = u64::from(self.resolved.spec.flash.sector_bytes);
        let sectors = |range: &Range| SectorRange::of_bytes(range.offset, range.length, sector).count;
        this.sectors = self.host.ranges.iter().map(sectors).sum();
        this.ranges.clone_from(&self.host.ranges);
        self.come(id);
        self.collect_finished();
    }

    /// Submits a request that has crossed the link; keeps the located ranges of the current one.
    pub(super) fn submit(&mut self, id: Id<OutstandingRequest<C>>) {
        std::mem::swap(&mut self.host.ranges, &mut self.host.in_flight[id].ranges);
        self.device.body.admit(self.clock.now, self.clock.now);
        let op = self.host.in_flight[id].op.expect("it came by the link");
        self.ask(id, op);
        std::mem::swap(&mut self.host.ranges, &mut self.host.in_flight[id].ranges);
    }

    /// Submits the ranges that were located last.
    #[inline]
    pub(super) fn ask(&mut self, id: Id<OutstandingRequest<C>>, op: Op) {
        let token = self.device.engine.open(id.raw(), 0);
        self.device.engine.work_mut().begin_request(token, self.clock.now);
        if self.host.tells_opened {
            let this = &self.host.in_flight[id];
            self.host.operations.iter().for_each(|counts| counts.begin(this.flow, this.counted));
            let number = self.host.in_flight[id].number;
            self.device.body.tell(&RunEvent::Opened { age: token.age, number });
        }
        self.host.in_flight[id].received = self.clock.now;
        self.keep_ranges(id);
        let mut pages = 0;
        let asked = match op {
            Op::Read => self.each_fragment(token, id, |access, fragment| access.read(fragment)),
            Op::Write => {
                if self.host.whole_pages {
                    self.host.widen(self.resolved);
                }
                let holds = self.merges();
                if holds {
                    self.device.body.await_parts();
                }
                let asked = if self.host.in_flight[id].fua && !self.device.port().is_protected() {
                    self.force(token, id, &mut pages)
                } else {
                    self.each_fragment(token, id, |access, fragment| {
                        pages += u64::from(fragment.count);
                        access.write(fragment)
                    })
                };
                if self.host.logical_page > 1 && !self.device.port().has_cache() {
                    self.write_the_rest(token, id);
                }
                if holds {
                    self.device.body.parts_have_come(self.clock.now);
                }
                asked
            }
            Op::Trim => self.each_fragment(token, id, |access, fragment| access.trim(fragment)),
            Op::Flush => self.flush(token, id),
        };
        self.host.in_flight[id].from_memory = !asked;
        if self.failures.durability.is_some() && op.changes_data() {
            self.note_versions(id, op == Op::Trim);
            self.tell_changed(id, op);
        }
        if self.host.in_flight[id].counted {
            self.accounts.statistics.pages_written += pages;
        }
        self.device.engine.close(&mut self.device.body, self.clock.now, token);
        self.collect_finished();
        self.device.engine.write_back_host(self.clock.now);
    }

    /// Whether a write of the located ranges may have to read old parts of pages: all of its parts come before any of them
    /// begins, so that these reads do not wait for its first pages.
    #[inline]
    fn merges(&self) -> bool {
        let page = self.resolved.page_bytes();
        let is_partial =
            |range: &Range| !range.offset.is_multiple_of(page) || !range.length.is_multiple_of(page);
        self.device.port().has_cache()
            || self.host.ranges.iter().any(is_partial)
            || self.device.engine.ports().has_any_cache()
    }

    /// The rest of each logical page that was written in part.
    #[cold]
    pub(super) fn write_the_rest(&mut self, request: OpenRequest, id: Id<OutstandingRequest<C>>) {
        let (size, pages) = (u64::from(self.host.logical_page), self.device.port().pages().len());
        for at in 0..self.host.ranges.len() {
            let Range { offset, length } = self.host.ranges[at];
            let touched = SectorRange::of_bytes(offset, length, self.resolved.page_bytes());
            let (first, last) = (touched.first, touched.first + touched.count);
            let before = first / size * size..first;
            let after = last..last.next_multiple_of(size).min(pages);
            for page in before.chain(after) {
                let (now, this) = (self.clock.now, &mut self.host.in_flight[id]);
                let mut access = self.device.access(now, request, &mut this.expected);
                access.origin = this.origin;
                access.rewrite(page);
            }
        }
    }

    /// Calls a function for each fragment of the located request; returns whether any of them needed flash.
    #[inline]
    pub(super) fn each_fragment(
        &mut self,
        request: OpenRequest,
        id: Id<OutstandingRequest<C>>,
        mut act: impl FnMut(&mut HostAccess<'_, schemes::Any, C, H>, Fragment) -> bool,
    ) -> bool {
        let sector_bytes = u64::from(self.resolved.spec.flash.sector_bytes);
        let page_sectors = self.device.port().pages().page_sectors();
        let (mut asked, origin) = (false, self.host.in_flight[id].origin);
        for at in 0..self.host.ranges.len() {
            let Range { offset, length } = self.host.ranges[at];
            for fragment in fragments(offset, length, sector_bytes, page_sectors) {
                let now = self.clock.now;
                let expected = &mut self.host.in_flight[id].expected;
                let mut access = self.device.access(now, request, expected);
                access.origin = origin;
                asked |= act(&mut access, fragment);
            }
        }
        asked
    }

    /// Counting begins with the request that arrived at this instant.
    pub(super) fn begin_counting(&mut self, arrival: SimTime) {
        let may_fail = self.job.expects_power_cuts || !self.failures.fault_events.is_empty();
        if may_fail || !self.accounts.phases.is_empty() {
            let tally = self.device.tally(self.resolved, &self.clock);
            self.accounts.phases.count_from(self.clock.now, tally);
        }
        if let Some(occupancy) = &mut self.accounts.occupancy {
            occupancy.restart(self.clock.now);
        }
        self.device.body.reset_error_counts();
        let at = if self.host.warmup == 0 { SimTime::ZERO } else { self.clock.now };
        self.accounts.baseline = Totals { at, ..self.device.totals(self.clock.now, &self.host) };
        self.begin_series();
        let from_arrival = self.resolved.spec.host.late_requests == LateRequests::FromArrival;
        self.accounts.busy_from = if from_arrival { at.min(arrival) } else { at };
    }

    #[inline(always)]
    pub(super) fn collect_finished(&mut self) {
        if self.failures.durability.is_some() {
            return self.hold_finished();
        }
        if !self.device.engine.work_mut().finished().is_empty() {
            self.finish_all();
        }
    }

    #[inline(never)]
    pub(super) fn finish_all(&mut self) {
        let mut finished = std::mem::take(&mut self.host.finished);
        std::mem::swap(self.device.engine.work_mut().finished(), &mut finished);
        finished.iter_mut().for_each(|finished| self.finish(finished));
        finished.clear();
        self.host.finished = finished;
    }

    #[inline(always)]
    pub(super) fn finish(&mut self, finished: &mut Finished) {
        if !self.is_over(finished) {
            return;
        }
        self.device.note_settled(finished);
        let this = &self.host.in_flight[Id::new(finished.tag)];
        if self.clock.untimed {
            (finished.acknowledged, finished.service) = (self.clock.now.max(this.arrival), Span::ZERO);
        } else if this.from_memory {
            let memory = self.device.body.memory_time();
            (finished.acknowledged, finished.service) = (finished.acknowledged + memory, memory);
        }
        if self.device.port().has_copies() {
            self.device.end_reads(finished, &self.host);
        }
        if self.device.engine.ports().host_link().is_some() {
            return self.go(*finished, finished.acknowledged);
        }
        self.conclude(finished, finished.acknowledged);
    }

    /// A request is over for the host at `acknowledged`.
    #[inline(always)]
    pub(super) fn conclude(&mut self, finished: &Finished, acknowledged: SimTime) {
        let id = Id::new(finished.tag);
        let service = finished.service;
        if self.failures.durability.is_none() {
            self.host.window.leave(acknowledged);
        }
        if self.host.flows.is_some() {
            self.host.leave_flow(id, acknowledged, &self.clock);
        }
        let this = &mut self.host.in_flight[id];
        self.clock.last = self.clock.last.max(acknowledged);
        let response = acknowledged.since(this.arrival);
        this.record.response_ns = response.0;
        // It may have waited for an operation that had begun before it arrived.
        this.record.service_ns = service.min(response).0;
        let statistics = &mut self.accounts.statistics;
        if C::KEEP && finished.lost == 0 {
            let pages = self.device.engine.work_mut().pages(finished.counter);
            for expected in &this.expected {
                let found = pages[expected.slot as usize];
                statistics.checked_reads += 1;
                statistics.wrong_reads +=
                    u64::from(!self.device.pages.accepts(expected, found, finished.may_be_newer));
            }
        }
        if this.counted {
            statistics.digest.add(this.number, acknowledged.0, service.0);
            let op = this.record.op;
            if !self.clock.untimed {
                let (responses, services) = if op == Op::Read as u8 {
                    (&mut statistics.read_response, &mut statistics.read_service)
                } else if op == Op::Flush as u8 {
                    (&mut statistics.flush_response, &mut statistics.flush_service)
                } else {
                    (&mut statistics.write_response, &mut statistics.write_service)
                };
                responses.add(response.0);
                services.add(service.0);
                if !self.accounts.phases.is_empty() {
                    self.accounts.phases.add(op, response);
                }
            }
            if finished.lost > 0 {
                statistics.failed_reads += u64::from(op == Op::Read as u8);
            }
            let length = u64::from(this.record.length);
            statistics.bytes_read += length * u64::from(op == Op::Read as u8);
            statistics.bytes_written += length * u64::from(op == Op::Write as u8);
            statistics.handle_bytes[usize::from(this.origin.handle)] +=
                length * u64::from(op == Op::Write as u8);
        }
        if let Some(sums) = &mut statistics.breakdowns {
            let flash = self.device.engine.work().flash_times(finished.counter, acknowledged);
            match flash.filter(|_| self.accounts.flash_only && !this.durable) {
                Some(flash) => this.note_flash_times(sums, flash),
                None => self.note_all_parts(id, finished.counter, acknowledged),
            }
        }
        if self.job.keep_requests {
            let this = &self.host.in_flight[id];
            *reach(&mut self.accounts.records, this.number as usize) = this.record;
        }
        if self.accounts.tells_requests {
            self.tell_request(finished, acknowledged);
        }
        self.device.engine.work_mut().forget(finished.counter);
        self.host.in_flight.release(id);
        if self.host.in_flight.live() == 0 {
            self.device.engine.begin_host_idle(self.clock.last);
        }
    }
}
