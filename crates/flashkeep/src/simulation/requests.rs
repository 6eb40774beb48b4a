//! The path of a request, from its place on the drive to its completion.

use super::{AHEAD, InFlight, Simulation, Stop, Totals};
use crate::buffer::{Below, Buffer};
use crate::devices::Body;
use crate::engine::{Contents, Finished, LeafId, NodeId, Page, Scheme, Ticket};
use crate::host::{LateRequests, Placement, Range, Span as Sectors, fragments};
use crate::job::RequestRecord;
use crate::kernel::{Id, SimTime, Span, make_room};
use crate::schemes;
use crate::workload::Requests;
use flashkeep_trace::{Op, Request};

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// The next request that has a place on the drive.
    #[inline]
    pub(super) fn next_placed(&mut self, requests: &mut Requests) -> Result<Option<Request>, Stop> {
        while let Some(request) = requests.next()? {
            self.prefetch(requests);
            if self.locate(&request, self.admitted + self.misplaced + 1)? {
                return Ok(Some(request));
            }
        }
        Ok(None)
    }

    #[inline]
    pub(super) fn prefetch(&self, requests: &Requests) {
        if let (Some(shift), Some(ahead)) = (self.page_shift, requests.ahead(AHEAD))
            && self.workload.placement == Placement::AsIs
        {
            let page = ahead.offset >> shift;
            if self.drive.flash().is_none() {
                return self.prefetch_in_array(page);
            }
            let page = Page(page as u32);
            self.buffer.prefetch(page);
            if let Some(scheme) = self.engine.scheme(NodeId::ROOT) {
                scheme.prefetch(page, |member, page| self.drive.prefetch(LeafId(member.0.into()), page));
            }
        }
    }

    /// The members of an array are trees themselves.
    #[inline(never)]
    fn prefetch_in_array(&self, page: u64) {
        // Nobody has looked yet where the request lies.
        if page >= u64::from(self.buffer.pages().len()) {
            return;
        }
        let page = self.interleave.map_or(page, |interleave| interleave.place(page));
        let page = Page(page as u32);
        self.buffer.prefetch(page);
        self.engine.prefetch(NodeId::ROOT, page, &mut |leaf, page| self.drive.prefetch(leaf, page));
    }

    /// Finds a request's place on the drive; false where it has none and is left out.
    #[inline]
    pub(super) fn locate(&mut self, request: &Request, number: u64) -> Result<bool, Stop> {
        match self.addresses.place(request) {
            Ok(ranges) => {
                self.ranges.clear();
                self.ranges.extend_from_slice(ranges);
                if self.interleave.is_some() {
                    self.interleave();
                }
                Ok(true)
            }
            Err(crate::host::AddressError::SecondDevice) if !self.workload.is_stream() => {
                Err(Stop::SecondDevice)
            }
            Err(_) if self.workload.skips_misplaced() => {
                self.misplaced += 1;
                Ok(false)
            }
            Err(error) => {
                let name = &self.facts.provenance.name;
                Err(Stop::Error(self.workload.misplaced(error, number, request, name)))
            }
        }
    }

    /// Takes what was located to where the array's scheme has it.
    #[inline(never)]
    pub(super) fn interleave(&mut self) {
        if let Some(interleave) = self.interleave {
            interleave.spread(&mut self.ranges, &mut self.spread);
        }
    }

    pub(super) fn admit(&mut self, request: &Request, closed: bool) {
        if self.door.is_shut() && request.op != Op::Read {
            self.door.turned_away += 1;
            return;
        }
        if self.admitted == self.warmup {
            self.begin_counting(if closed { self.now } else { SimTime(request.arrival_ns) });
        }
        if self.gauge.is_some() {
            self.look_at_memory();
        }
        let id = self.in_flight.claim();
        let number = self.admitted;
        self.admitted += 1;
        let arrival = if closed { self.now } else { SimTime(request.arrival_ns) };
        let admitted = self.now;
        self.window.enter(arrival, admitted);
        if let Some(volumes) = &mut self.volumes {
            volumes.enter(admitted);
            self.in_flight[id].volume = volumes.current as u32;
        }
        if self.resolved.spec.host.late_requests == LateRequests::FromArrival {
            self.now = arrival.max(self.ledger.as_ref().map_or(SimTime::ZERO, |ledger| ledger.ready()));
        }
        self.drive.admit(admitted, self.now);
        self.facts.span = self.facts.span.max(arrival.since(SimTime::ZERO));
        self.facts.requests[request.op as usize] += 1;
        if request.op != Op::Trim {
            self.facts.bytes[request.op as usize] += u64::from(request.length);
        }
        let this = &mut self.in_flight[id];
        this.expected.clear();
        (this.number, this.arrival) = (number, arrival);
        this.counted = number >= self.warmup;
        this.record = RequestRecord {
            arrival_ns: arrival.0,
            offset: self.ranges[0].offset,
            length: request.length,
            op: request.op as u8,
            ..RequestRecord::default()
        };
        if self.link.is_none() {
            return self.ask(id, request.op);
        }
        this.op = Some(request.op);
        let sector = u64::from(self.resolved.spec.flash.sector_bytes);
        let sectors = |range: &Range| Sectors::of_bytes(range.offset, range.length, sector).count;
        this.sectors = self.ranges.iter().map(sectors).sum();
        this.ranges.clone_from(&self.ranges);
        self.come(id);
        self.collect_finished();
    }

    /// A request that the link has let in is given to the drive; the one that was located last stays so.
    pub(super) fn submit(&mut self, id: Id<InFlight<C>>) {
        std::mem::swap(&mut self.ranges, &mut self.in_flight[id].ranges);
        self.drive.admit(self.now, self.now);
        let op = self.in_flight[id].op.expect("it came by the link");
        self.ask(id, op);
        std::mem::swap(&mut self.ranges, &mut self.in_flight[id].ranges);
    }

    /// Asks the drive for what was located last.
    #[inline]
    pub(super) fn ask(&mut self, id: Id<InFlight<C>>, op: Op) {
        let ticket = self.engine.open(id.raw(), 0);
        let mut pages = 0;
        let asked = match op {
            Op::Read => self.each_fragment(ticket, id, Buffer::read),
            Op::Write => {
                if self.whole_pages {
                    self.widen();
                }
                let asked = self.each_fragment(ticket, id, |buffer, fragment, below| {
                    pages += u64::from(fragment.count);
                    buffer.write(fragment, below)
                });
                if self.logical_page > 1 && !self.buffer.has_cache() {
                    self.write_the_rest(ticket, id);
                }
                asked
            }
            Op::Trim => self.each_fragment(ticket, id, Buffer::trim),
        };
        self.in_flight[id].from_memory = !asked;
        if self.ledger.is_some() && op != Op::Read {
            self.note_versions(id, op == Op::Trim);
        }
        if self.in_flight[id].counted {
            self.statistics.pages_written += pages;
        }
        self.engine.close(&mut self.drive, self.now, ticket);
        self.collect_finished();
    }

    /// What is written in part is written whole.
    #[cold]
    pub(super) fn widen(&mut self) {
        let page = self.resolved.page_bytes();
        for range in &mut self.ranges {
            let end = (range.offset + range.length).next_multiple_of(page);
            range.offset -= range.offset % page;
            range.length = end - range.offset;
        }
    }

    /// The rest of each logical page that was written in part.
    #[cold]
    pub(super) fn write_the_rest(&mut self, request: Ticket, id: Id<InFlight<C>>) {
        let (size, pages) = (u64::from(self.logical_page), u64::from(self.buffer.pages().len()));
        for at in 0..self.ranges.len() {
            let Range { offset, length } = self.ranges[at];
            let touched = Sectors::of_bytes(offset, length, self.resolved.page_bytes());
            let (first, last) = (touched.first, touched.first + touched.count);
            let before = first / size * size..first;
            let after = last..last.next_multiple_of(size).min(pages);
            for page in before.chain(after) {
                let Simulation { engine, drive, buffer, now, in_flight, .. } = self;
                let expected = &mut in_flight[id].expected;
                let mut below = Below { engine, leaves: drive, now: *now, request, expected };
                buffer.rewrite(page as u32, &mut below);
            }
        }
    }

    /// Does something with each fragment of the request that was located last; whether any of it needed flash.
    #[inline]
    pub(super) fn each_fragment(
        &mut self,
        request: Ticket,
        id: Id<InFlight<C>>,
        mut act: impl FnMut(
            &mut Buffer<C>,
            crate::device::port::Fragment,
            &mut Below<'_, schemes::Any, C, H>,
        ) -> bool,
    ) -> bool {
        let sector_bytes = u64::from(self.resolved.spec.flash.sector_bytes);
        let page_sectors = self.buffer.page_sectors();
        let mut asked = false;
        for at in 0..self.ranges.len() {
            let Range { offset, length } = self.ranges[at];
            for fragment in fragments(offset, length, sector_bytes, page_sectors) {
                let Simulation { engine, drive, buffer, now, in_flight, .. } = self;
                let expected = &mut in_flight[id].expected;
                let mut below = Below { engine, leaves: drive, now: *now, request, expected };
                asked |= act(buffer, fragment, &mut below);
            }
        }
        asked
    }

    /// Counting begins with the request that arrived then.
    pub(super) fn begin_counting(&mut self, arrival: SimTime) {
        if !self.blows.is_empty() || !self.phases.is_empty() {
            let tally = self.tally();
            self.phases.count_from(self.now, tally);
        }
        if let Some(gauge) = &mut self.gauge {
            gauge.restart(self.now);
        }
        let at = if self.warmup == 0 { SimTime::ZERO } else { self.now };
        self.baseline = Totals { at, ..self.totals(self.now) };
        let from_arrival = self.resolved.spec.host.late_requests == LateRequests::FromArrival;
        self.busy_from = if from_arrival { at.min(arrival) } else { at };
    }

    /// What has been counted so far.
    pub(super) fn totals(&self, at: SimTime) -> Totals {
        Totals {
            at,
            at_rest: self.drive.at_rest(),
            counters: self.drive.counters(),
            work: self.work().cloned(),
            hits: self.buffer.hits(),
            mapping: self.mapping_counts(),
            busy: self.drive.busy(),
            devices: self.drive.statistics(at),
            member_hits: self.member_hits(),
        }
    }

    #[inline(always)]
    pub(super) fn collect_finished(&mut self) {
        if self.ledger.is_some() {
            return self.hold_finished();
        }
        if !self.engine.finished().is_empty() {
            self.finish_all();
        }
    }

    #[inline(never)]
    pub(super) fn finish_all(&mut self) {
        std::mem::swap(self.engine.finished(), &mut self.finished);
        for at in 0..self.finished.len() {
            let finished = self.finished[at];
            self.finish(finished);
        }
        self.finished.clear();
    }

    #[inline(always)]
    pub(super) fn finish(&mut self, mut finished: Finished) {
        let this = &self.in_flight[Id::new(finished.tag)];
        if self.untimed {
            (finished.acknowledged, finished.service) = (self.now.max(this.arrival), Span::ZERO);
        } else if this.from_memory {
            let memory = self.drive.memory_time();
            (finished.acknowledged, finished.service) = (finished.acknowledged + memory, memory);
        }
        if self.link.is_some() {
            return self.go(finished, finished.acknowledged);
        }
        self.conclude(finished, finished.acknowledged);
    }

    /// A request is over for the host at `acknowledged`.
    #[inline(always)]
    pub(super) fn conclude(&mut self, finished: Finished, acknowledged: SimTime) {
        let id = Id::new(finished.tag);
        let service = finished.service;
        let this = &mut self.in_flight[id];
        if self.ledger.is_none() {
            self.window.leave(acknowledged);
        }
        if let Some(volumes) = &mut self.volumes {
            volumes.leave(this.volume as usize, acknowledged);
        }
        self.last = self.last.max(acknowledged);
        let response = acknowledged.since(this.arrival);
        this.record.response_ns = response.0;
        this.record.service_ns = service.0;
        let statistics = &mut self.statistics;
        if C::KEEP && finished.lost == 0 {
            let pages = self.engine.pages(finished.join);
            for expected in &this.expected {
                let found = pages[expected.slot as usize];
                statistics.checked_reads += 1;
                statistics.wrong_reads +=
                    u64::from(!self.buffer.accepts(expected, found, finished.may_be_newer));
            }
        }
        if this.counted {
            statistics.digest.add(this.number, acknowledged.0, service.0);
            if !self.phases.is_empty() && !self.untimed {
                self.phases.add(this.record.op == Op::Read as u8, response);
            }
            if this.record.op == Op::Read as u8 {
                if !self.untimed {
                    statistics.read_response.add(response.0);
                    statistics.read_service.add(service.0);
                }
                statistics.bytes_read += u64::from(this.record.length);
            } else {
                if !self.untimed {
                    statistics.write_response.add(response.0);
                    statistics.write_service.add(service.0);
                }
                let written = this.record.op == Op::Write as u8;
                statistics.bytes_written += u64::from(this.record.length) * u64::from(written);
            }
        }
        if self.job.keep_requests {
            let at = this.number as usize;
            if self.records.len() <= at {
                let more = at + 1 - self.records.len();
                make_room(&mut self.records, more);
                self.records.resize(at + 1, RequestRecord::default());
            }
            self.records[at] = this.record;
        }
        if self.job.timeline.is_some() {
            self.tell_request(id, acknowledged);
        }
        self.engine.forget(finished.join);
        self.in_flight.release(id);
    }
}
