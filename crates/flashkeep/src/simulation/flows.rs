//! Several workloads on one device: the requests of each wait in a host queue, from which the device fetches them.

use super::{Host, OutstandingRequest, RunClock, Simulation, Stop};
use crate::config::Resolved;
use crate::devices::Body;
use crate::engine::Contents;
use crate::error::Error;
use crate::host::{Addresses, Arbiter, Chosen, HostQueue, HostSpec, PriorityClass, Range, SectorRange};
use crate::kernel::{Deadlines, Id, SimTime};
use crate::metrics::{FlowFacts, FlowStatistics};
use crate::workload::{Flow, Replay, Requests, Workload};
use flashkeep_trace::{Op, Request};

/// A workload and its place in a host queue.
struct RunningFlow {
    requests: Requests,
    next: Option<Request>,
    /// Its addresses, which it may share with other flows, and its part of the device: the first byte and the bytes.
    addresses: usize,
    offset: u64,
    capacity: u64,
    /// Of a closed loop.
    slots: Option<Slots>,
    queue: usize,
    /// The placement handle of its writes, if it names one.
    handle: Option<u8>,
    /// The number of its share of the write cache ([`Origin::cache_share`]).
    cache_share: u8,
    statistics: FlowStatistics,
}

/// The places of a closed loop: the next request arrives when the first of them becomes free.
#[derive(Default)]
struct Slots {
    depth: u32,
    /// Those that no request has had since `from`.
    unused: u32,
    from: SimTime,
    freed: Deadlines<()>,
}

impl Slots {
    fn new(depth: u32, from: SimTime) -> Slots {
        Slots { depth, unused: depth, from, freed: Deadlines::default() }
    }

    /// When the next request arrives; [`SimTime::NEVER`] if that is not known yet.
    fn next(&self) -> SimTime {
        if self.unused > 0 { self.from } else { self.freed.next() }
    }

    /// The next request takes its place.
    fn take(&mut self) {
        if self.unused > 0 {
            self.unused -= 1;
        } else {
            self.freed.pop_due(SimTime::NEVER);
        }
    }
}

/// A host queue.
struct Queue {
    flows: Vec<usize>,
    /// The requests of it that the device has fetched.
    fetched: HostQueue,
}

/// The request that the device fetches next.
#[derive(Clone, Copy)]
struct Next {
    flow: usize,
    arrival: SimTime,
    chosen: Option<Chosen>,
}

/// All flows of a run.
pub(super) struct Flows {
    flows: Vec<RunningFlow>,
    addresses: Vec<Addresses>,
    queues: Vec<Queue>,
    /// Chooses among waiting requests; none where none has to wait: requests of equal instants are then in the order of
    /// their flows.
    arbiter: Option<Arbiter>,
    /// The loop of all flows together, if requests come in batches, and the flow whose turn it is.
    batches: Option<(HostQueue, usize)>,
    /// The largest number of requests still to come.
    left: u64,
    /// The request that is fetched next; none if that is not known yet.
    next: Option<Next>,
    /// The flow whose request was taken last.
    current: usize,
    /// Kept to reuse its memory: the first flow of each queue, if its request can be fetched at the earliest instant.
    ready: Vec<Option<(usize, SimTime)>>,
}

impl Flows {
    /// The flows of a workload; none if there is one workload.
    pub(super) fn new(
        workload: &Workload<'_>,
        drive: &Resolved,
        merges: bool,
    ) -> Result<Option<Self>, Error> {
        if workload.flows.is_empty() {
            return Ok(None);
        }
        let host = &drive.spec.host;
        let (mut flows, mut addresses) = (Vec::new(), Vec::new());
        let mut parts: Vec<(u64, u64)> = Vec::new();
        let (numbers, mut queues) = queues_of(&workload.flows, host);
        let mut shares = 0;
        for ((flow, requests), queue) in workload.flows.iter().zip(workload.streams()?).zip(numbers) {
            let part = (flow.offset, flow.capacity);
            let at = parts.iter().position(|&other| other == part).unwrap_or_else(|| {
                parts.push(part);
                addresses.push(Addresses::new(flow.capacity, workload.placement, merges));
                parts.len() - 1
            });
            queues[queue].flows.push(flows.len());
            let slots = match flow.replay {
                Replay::Closed(depth) => Some(Slots::new(host.bounded(depth), SimTime::ZERO)),
                Replay::Open | Replay::Batch(_) => None,
            };
            let statistics = FlowStatistics::default();
            let (offset, capacity) = part;
            let handle = flow.handle;
            shares += u8::from(flow.cache_sectors > 0);
            let cache_share = if flow.cache_sectors > 0 { shares } else { 0 };
            let flow = RunningFlow {
                requests,
                next: None,
                addresses: at,
                offset,
                capacity,
                slots,
                queue,
                handle,
                cache_share,
                statistics,
            };
            flows.push(flow);
        }
        for flow in &mut flows {
            flow.next = flow.requests.next()?;
        }
        let batches = match workload.replay {
            Replay::Batch(depth) => {
                Some((HostQueue::in_batches(host.bounded(depth) * flows.len() as u32), 0))
            }
            Replay::Open | Replay::Closed(_) => None,
        };
        let ranks: Vec<_> = queues.iter().map(|queue| queue.rank(&workload.flows)).collect();
        let is_limited = host.queue_depth > 0 || host.fetched() > 0;
        let arbiter = is_limited.then(|| Arbiter::new(host.arbitration, &ranks));
        let ready = vec![None; queues.len()];
        let left = workload.limit();
        Ok(Some(Flows { flows, addresses, queues, arbiter, batches, left, next: None, current: 0, ready }))
    }

    /// The queue of the device below the host queues: requests that it has fetched, at most its queue depth.
    pub(super) fn device_queue(workload: &Workload<'_>, host: &HostSpec) -> HostQueue {
        let all_closed = workload.flows.iter().all(|flow| flow.replay != Replay::Open);
        let waits = host.queue_depth > 0 && !all_closed || host.fetched() > 0;
        match workload.replay {
            Replay::Batch(_) => HostQueue::new(0, true),
            _ if waits => HostQueue::after_queues(host.queue_depth),
            _ => HostQueue::new(host.queue_depth, true),
        }
    }

    /// Whether there is another request.
    pub(super) fn has_next(&self) -> bool {
        self.left > 0 && self.flows.iter().any(|flow| flow.next.is_some())
    }

    /// Lets no more requests come.
    pub(super) fn end(&mut self) {
        self.left = 0;
    }

    /// When the next request can be admitted if the device has room at `room`.
    pub(super) fn next_at(&mut self, now: SimTime, room: SimTime) -> SimTime {
        self.next = None;
        if self.left == 0 {
            return SimTime::NEVER;
        }
        if let Some((window, turn)) = &self.batches {
            // In turn: the same number of each.
            let count = self.flows.len();
            let mut flows = (0..count).map(|n| (turn + n) % count);
            let flow = flows.find(|&at| self.flows[at].next.is_some());
            self.next = flow.map(|flow| Next { flow, arrival: now, chosen: None });
            return flow.map_or(SimTime::NEVER, |_| window.room_at(now));
        }
        let Flows { flows, queues, ready, .. } = self;
        let (earliest, mut first) = (now.max(room), SimTime::NEVER);
        for (at, queue) in queues.iter().enumerate() {
            ready[at] = None;
            let Some((arrival, flow)) = queue.head(flows) else { continue };
            let instant = queue.fetched.room_at(arrival.max(earliest));
            if instant < first {
                ready[..at].fill(None);
                first = instant;
            }
            if instant == first && first < SimTime::NEVER {
                ready[at] = Some((flow, arrival));
            }
        }
        let Some(arbiter) = &self.arbiter else {
            let next = self.ready.iter().flatten().min();
            self.next = next.map(|&(flow, arrival)| Next { flow, arrival, chosen: None });
            return first;
        };
        if let Some(chosen) = arbiter.choose(|queue| self.ready[queue].is_some()) {
            let (flow, arrival) = self.ready[chosen.queue].expect("it is ready");
            self.next = Some(Next { flow, arrival, chosen: Some(chosen) });
        }
        first
    }

    /// The request that was taken last is fetched.
    fn enter(&mut self, now: SimTime) {
        let next = self.next.take().expect("it was taken");
        if let Some((window, turn)) = &mut self.batches {
            *turn = next.flow + 1;
            return window.enter(now, now);
        }
        let flow = &mut self.flows[next.flow];
        flow.slots.iter_mut().for_each(Slots::take);
        self.queues[flow.queue].fetched.enter(next.arrival, now);
        if let (Some(arbiter), Some(chosen)) = (&mut self.arbiter, next.chosen) {
            arbiter.fetch(chosen);
        }
    }

    /// A request of a flow is known to leave at `at`.
    fn leave(&mut self, flow: usize, at: SimTime) {
        if let Some((window, _)) = &mut self.batches {
            return window.leave(at);
        }
        let flow = &mut self.flows[flow];
        flow.slots.iter_mut().for_each(|slots| slots.freed.push(at, ()));
        self.queues[flow.queue].fetched.leave(at);
    }

    /// The device has lost the requests in it; the host asks again from `at` on.
    pub(super) fn empty(&mut self, at: SimTime) {
        self.batches.iter_mut().for_each(|(window, _)| window.empty());
        self.queues.iter_mut().for_each(|queue| queue.fetched.empty());
        for slots in self.flows.iter_mut().filter_map(|flow| flow.slots.as_mut()) {
            *slots = Slots::new(slots.depth, at);
        }
    }

    /// The statistics of a flow's counted requests.
    pub(super) fn statistics_of(&mut self, flow: usize) -> &mut FlowStatistics {
        &mut self.flows[flow].statistics
    }

    /// Workload and statistics of each.
    pub(super) fn facts<'a>(&'a self, workload: &'a Workload<'_>) -> Vec<FlowFacts<'a>> {
        let facts = |(flow, running): (&'a Flow, &'a RunningFlow)| FlowFacts {
            name: &flow.name,
            workload: &running.requests.provenance.name,
            statistics: &running.statistics,
            operations: None,
        };
        workload.flows.iter().zip(&self.flows).map(facts).collect()
    }

    /// The share of all workloads that has been handed out, if it is known.
    pub(super) fn share_done(&self) -> Option<f64> {
        let shares = self.flows.iter().map(|flow| flow.requests.share_done());
        let sum = shares.into_iter().sum::<Option<f64>>()?;
        Some(sum / self.flows.len() as f64)
    }

    /// Records skipped in all of them.
    pub(super) fn skipped(&self) -> u64 {
        self.flows.iter().map(|flow| flow.requests.skipped()).sum()
    }

    /// Requests whose address was taken modulo their part of the device.
    pub(super) fn overlapping(&self) -> u64 {
        self.addresses.iter().map(Addresses::overlapping).sum()
    }

    /// Warnings for the user.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.flows.iter().flat_map(|flow| flow.requests.warnings()).collect()
    }

    /// Forgets the counts of reading the workloads before time 0, not the places that they were given.
    pub(super) fn rewind(&mut self) {
        self.addresses.iter_mut().for_each(|addresses| *addresses = addresses.rewound());
    }
}

impl Queue {
    /// The first class and the largest weight of its flows.
    fn rank(&self, flows: &[Flow]) -> (PriorityClass, u32) {
        let class = self.flows.iter().map(|&at| flows[at].class).min();
        let weight = self.flows.iter().map(|&at| flows[at].weight).max();
        (class.unwrap_or_default(), weight.unwrap_or(1))
    }

    /// The request that arrives first, and its flow.
    fn head(&self, flows: &[RunningFlow]) -> Option<(SimTime, usize)> {
        let arrival = |&at: &usize| {
            let request = flows[at].next.as_ref()?;
            Some((flows[at].slots.as_ref().map_or(SimTime(request.arrival_ns), Slots::next), at))
        };
        self.flows.iter().filter_map(arrival).min()
    }
}

/// The queue of each flow, and the queues.
fn queues_of(flows: &[Flow], host: &HostSpec) -> (Vec<usize>, Vec<Queue>) {
    let count = match host.queues as usize {
        0 => flows.len(),
        some => some.min(flows.len()),
    };
    let numbers = (0..flows.len()).map(|at| at % count).collect();
    let queue = |_| Queue { flows: Vec::new(), fetched: HostQueue::new(host.fetched(), false) };
    (numbers, (0..count).map(queue).collect())
}

impl<C: Contents> Host<C> {
    /// A request of the flow whose request was taken last is admitted.
    #[inline(never)]
    pub(super) fn enter_flow(
        &mut self,
        id: Id<OutstandingRequest<C>>,
        op: Op,
        admitted: SimTime,
        counted: bool,
        resolved: &Resolved,
    ) -> u8 {
        let flows = self.flows.as_mut().expect("there are flows");
        flows.enter(admitted);
        self.in_flight[id].flow = flows.current as u32;
        if counted {
            let size = resolved.page_bytes();
            let pages = |range: &Range| SectorRange::of_bytes(range.offset, range.length, size).count;
            let pages = self.ranges.iter().map(pages).sum();
            flows.statistics_of(flows.current).admit(op, pages);
        }
        flows.flows[flows.current].cache_share
    }

    /// A request of a flow is acknowledged.
    #[inline(never)]
    pub(super) fn leave_flow(
        &mut self,
        id: Id<OutstandingRequest<C>>,
        acknowledged: SimTime,
        clock: &RunClock,
    ) {
        let this = &self.in_flight[id];
        let flows = self.flows.as_mut().expect("there are flows");
        flows.leave(this.flow as usize, acknowledged);
        if this.counted {
            let response = (!clock.untimed).then(|| acknowledged.since(this.arrival));
            let statistics = flows.statistics_of(this.flow as usize);
            statistics.conclude(this.record.op, this.record.length, response);
        }
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Takes the next request of the flows; none if it has no place and is left out.
    pub(super) fn take_from_flows(&mut self) -> Result<Option<Request>, Stop> {
        let flows = self.host.flows.as_mut().expect("there are flows");
        let next = flows.next.expect("one comes next");
        flows.left -= 1;
        flows.current = next.flow;
        let is_batch = flows.batches.is_some();
        let flow = &mut flows.flows[next.flow];
        let mut request = flow.next.take().expect("it comes next");
        if let (Some(handle), Op::Write) = (flow.handle, request.op) {
            request.handle = handle;
        }
        flow.next = flow.requests.next()?;
        let number = self.host.admitted + self.host.misplaced + 1;
        let has_place = self.locate_in_flow(next.flow, &request, number)?;
        // A batch arrives when the one before has ended.
        request.arrival_ns = if is_batch { self.clock.now.0 } else { next.arrival.0 };
        Ok(has_place.then_some(request))
    }

    /// Finds the place of a request of a flow; false if it has none and is left out.
    pub(super) fn locate_in_flow(&mut self, at: usize, request: &Request, number: u64) -> Result<bool, Stop> {
        if request.op == Op::Flush {
            self.host.ranges.clear();
            return Ok(true);
        }
        if self.host.handles.take(request.handle.into()).is_none() {
            return self.refuse_handle(request, number, Some(at));
        }
        let flows = self.host.flows.as_mut().expect("there are flows");
        let flow = &flows.flows[at];
        match flows.addresses[flow.addresses].place(request, &mut self.host.ranges) {
            Ok(()) => {
                self.host.ranges.iter_mut().for_each(|range| range.offset += flow.offset);
                Ok(true)
            }
            Err(crate::host::AddressError::SecondDevice) => Err(Stop::SecondDevice),
            Err(_) if self.workload.skips_misplaced() => {
                self.host.misplaced += 1;
                Ok(false)
            }
            Err(error) => {
                let name = &flow.requests.provenance.name;
                Err(Stop::Error(self.workload.misplaced(error, number, request, name, flow.capacity)))
            }
        }
    }
}
