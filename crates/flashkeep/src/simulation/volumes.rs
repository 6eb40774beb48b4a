//! Arrays with one workload per volume: selects the next request and maps its address.

use super::{OutstandingRequest, Simulation, Stop};
use crate::devices::Body;
use crate::engine::Contents;
use crate::error::Error;
use crate::host::{Addresses, HostQueue, Range, SectorRange};
use crate::kernel::{Id, SimTime};
use crate::metrics::VolumeStatistics;
use crate::workload::{Replay, Requests, Workload};
use flashkeep_trace::{Op, Request};

/// One volume's workload.
struct Volume {
    requests: Requests,
    next: Option<Request>,
    addresses: Addresses,
    /// In a closed loop, its own.
    window: HostQueue,
    /// Its place in the array, bytes.
    offset: u64,
    statistics: VolumeStatistics,
}

/// All volumes of an array.
pub(super) struct Volumes {
    volumes: Vec<Volume>,
    closed: bool,
    /// The loop of all volumes together, if requests come in batches, and the volume whose turn it is.
    batches: Option<(HostQueue, usize)>,
    /// The largest number of requests still to come.
    left: u64,
    /// The volume whose request comes next, and when; none if that is not known yet.
    first: Option<usize>,
    /// The volume whose request was taken last.
    current: usize,
}

impl Volumes {
    /// The volumes of a workload; none if one workload has the whole array.
    pub(super) fn new(
        workload: &Workload<'_>,
        capacity: u64,
        depth: u32,
        merges: bool,
    ) -> Result<Option<Self>, Error> {
        if workload.volumes < 2 {
            return Ok(None);
        }
        let closed = workload.replay != Replay::Open;
        let share = capacity / workload.volumes as u64;
        let volume = |(at, requests)| Volume {
            requests,
            next: None,
            addresses: Addresses::new(share, workload.placement, merges),
            window: HostQueue::new(depth, closed),
            offset: at as u64 * share,
            statistics: VolumeStatistics::default(),
        };
        let mut volumes: Vec<Volume> = workload.streams()?.into_iter().enumerate().map(volume).collect();
        for volume in &mut volumes {
            volume.next = volume.requests.next()?;
        }
        let batches = matches!(workload.replay, Replay::Batch(_))
            .then(|| (HostQueue::in_batches(depth * volumes.len() as u32), 0));
        Ok(Some(Volumes { volumes, closed, batches, left: workload.limit(), first: None, current: 0 }))
    }

    /// Whether there is another request.
    pub(super) fn has_next(&self) -> bool {
        self.left > 0 && self.volumes.iter().any(|volume| volume.next.is_some())
    }

    /// Lets no more requests come.
    pub(super) fn end(&mut self) {
        self.left = 0;
    }

    /// When the next request can be admitted if the host queue has room at `room`; of equal ones the first.
    pub(super) fn next_at(&mut self, now: SimTime, room: SimTime) -> SimTime {
        self.first = None;
        let mut first = SimTime::NEVER;
        if self.left == 0 {
            return first;
        }
        if let Some((window, turn)) = &self.batches {
            // In turn: as many of each.
            let count = self.volumes.len();
            self.first = (0..count).map(|n| (turn + n) % count).find(|&at| self.volumes[at].next.is_some());
            return self.first.map_or(first, |_| window.room_at(now));
        }
        for (at, volume) in self.volumes.iter().enumerate() {
            let Some(request) = &volume.next else { continue };
            let arrival = if self.closed { now } else { SimTime(request.arrival_ns).max(room) };
            let comes = if self.closed { volume.window.room_at(arrival) } else { arrival };
            if comes < first {
                (first, self.first) = (comes, Some(at));
            }
        }
        first
    }

    /// Counts a request of the volume whose request was taken last in, or out.
    fn enter(&mut self, now: SimTime) {
        if let Some((window, turn)) = &mut self.batches {
            *turn = self.current + 1;
            window.enter(now, now);
        } else if self.closed {
            self.volumes[self.current].window.enter(now, now);
        }
    }

    /// A request of a volume is known to leave at `at`.
    fn leave(&mut self, volume: usize, at: SimTime) {
        if let Some((window, _)) = &mut self.batches {
            window.leave(at);
        } else if self.closed {
            self.volumes[volume].window.leave(at);
        }
    }

    /// The statistics of a volume's counted requests.
    pub(super) fn statistics_of(&mut self, volume: usize) -> &mut VolumeStatistics {
        &mut self.volumes[volume].statistics
    }

    /// Workload and statistics of each.
    pub(super) fn statistics(&self) -> Vec<(&str, &VolumeStatistics)> {
        self.volumes.iter().map(|volume| (&*volume.requests.provenance.name, &volume.statistics)).collect()
    }

    /// The share of all workloads that has been handed out, if it is known.
    pub(super) fn share_done(&self) -> Option<f64> {
        let shares = self.volumes.iter().map(|volume| volume.requests.share_done());
        let sum = shares.into_iter().sum::<Option<f64>>()?;
        Some(sum / self.volumes.len() as f64)
    }

    /// Records skipped in all of them.
    pub(super) fn skipped(&self) -> u64 {
        self.volumes.iter().map(|volume| volume.requests.skipped()).sum()
    }

    /// Requests whose address was taken modulo their volume.
    pub(super) fn overlapping(&self) -> u64 {
        self.volumes.iter().map(|volume| volume.addresses.overlapping()).sum()
    }

    /// Warnings for the user.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.volumes.iter().flat_map(|volume| volume.requests.warnings()).collect()
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Takes the next request of the volumes; none if it has no place and is left out.
    pub(super) fn take_from_volumes(&mut self) -> Result<Option<Request>, Stop> {
        let volumes = self.host.volumes.as_mut().expect("there are volumes");
        let at = volumes.first.expect("somebody comes next");
        volumes.left -= 1;
        volumes.current = at;
        let volume = &mut volumes.volumes[at];
        let request = volume.next.take().expect("it comes next");
        volume.next = volume.requests.next()?;
        if request.op == Op::Flush {
            self.host.ranges.clear();
            return Ok(Some(request));
        }
        match volume.addresses.place(&request, &mut self.host.ranges) {
            Ok(()) => {
                self.host.ranges.iter_mut().for_each(|range| range.offset += volume.offset);
                Ok(Some(request))
            }
            Err(crate::host::AddressError::SecondDevice) => Err(Stop::SecondDevice),
            Err(_) if self.workload.skips_misplaced() => {
                self.host.misplaced += 1;
                Ok(None)
            }
            Err(error) => {
                let name = &volume.requests.provenance.name;
                let number = self.host.admitted + self.host.misplaced + 1;
                Err(Stop::Error(self.workload.misplaced(error, number, &request, name)))
            }
        }
    }
    /// A request of the volume whose request was taken last is admitted.
    #[inline(never)]
    pub(super) fn enter_volume(
        &mut self,
        id: Id<OutstandingRequest<C>>,
        op: Op,
        admitted: SimTime,
        counted: bool,
    ) {
        let volumes = self.host.volumes.as_mut().expect("there are volumes");
        volumes.enter(admitted);
        self.host.in_flight[id].volume = volumes.current as u32;
        if counted {
            let size = self.resolved.page_bytes();
            let pages = |range: &Range| SectorRange::of_bytes(range.offset, range.length, size).count;
            let pages = self.host.ranges.iter().map(pages).sum();
            volumes.statistics_of(volumes.current).admit(op, pages);
        }
    }

    /// A request of a volume is acknowledged.
    #[inline(never)]
    pub(super) fn leave_volume(&mut self, id: Id<OutstandingRequest<C>>, acknowledged: SimTime) {
        let this = &self.host.in_flight[id];
        let volumes = self.host.volumes.as_mut().expect("there are volumes");
        volumes.leave(this.volume as usize, acknowledged);
        if this.counted {
            let response = (!self.clock.untimed).then(|| acknowledged.since(this.arrival));
            let statistics = volumes.statistics_of(this.volume as usize);
            statistics.conclude(this.record.op, this.record.length, response);
        }
    }
}
