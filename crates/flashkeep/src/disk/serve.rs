//! Service of one command: overhead, the arm, the platter, the transfer.
//!
//! service = overhead + seek(cylinders) + rotation + transfer. A command that starts at the sector after the
//! last transferred one, and had arrived when that transfer ended, continues without the first three. A
//! transfer is the time between two places *along* the disk ([`super::surface`]), switches included.

use super::mechanics::Approach;
use super::queue::DiskOp;
use super::scheduler::Head;
use super::{Disk, SectorPlace};
use crate::drive::OpKind;
use crate::engine::{Breakdown, CompletionPart, Contents, Done, Part, TimeSpent};
use crate::kernel::{Id, SimTime, Span};
use std::ops::Range;

/// The position of the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arm {
    /// The last sector's place.
    place: SectorPlace,
    /// The sector after it; none before anything was done.
    next: Option<u64>,
    /// When the end of the last sector passes, ns along.
    along: u64,
    inwards: bool,
}

impl Default for Arm {
    fn default() -> Self {
        Arm { place: SectorPlace { cylinder: 0, head: 0, along: 0 }, next: None, along: 0, inwards: true }
    }
}

/// The pages that the platter is being given, and until when.
#[derive(Clone, Debug, Default)]
pub(super) struct UnderWay {
    pages: Range<u32>,
    until: SimTime,
}

impl UnderWay {
    pub(super) fn writes(&self, now: SimTime, page: u32) -> bool {
        now < self.until && self.pages.contains(&page)
    }

    /// Some of them are trimmed: for simplicity, memory forgets them all.
    pub(super) fn forget(&mut self, pages: &Range<u32>) {
        if pages.start < self.pages.end && self.pages.start < pages.end {
            self.pages = 0..0;
        }
    }
}

impl<C: Contents> Disk<C> {
    /// Starts the next command, if one can start.
    pub(super) fn go_on(&mut self, now: SimTime) {
        self.make_room(now);
        while self.free_at.max(self.stalled_until) <= now {
            let Arm { place, next, inwards, .. } = self.arm;
            let head = Head { sector: next.unwrap_or_default(), cylinder: place.cylinder, inwards };
            let Some((op, inwards)) = self.queue.pick(&self.rule, head) else { break };
            self.arm.inwards = inwards;
            self.begin(now, op);
        }
        let free_at = self.free_at.max(self.stalled_until);
        self.wake_at = if self.queue.is_empty() { SimTime::NEVER } else { free_at };
    }

    fn begin(&mut self, now: SimTime, id: Id<DiskOp<C>>) {
        let (first, sectors, writes) = {
            let op = &self.queue.ops[id];
            (op.first, op.sectors, op.writes())
        };
        let rested = now.since(self.free_at);
        let place = self.mechanics.surface.place(first);
        let continues = self.arm.next == Some(first) && rested == Span::ZERO;
        let stood = self.statistics.rest(rested, self.mechanics.standby_after);
        let spin_up = if stood { self.mechanics.spin_up.0 } else { 0 };
        let (approach, from) = if continues {
            (Approach { overhead: 0, seek: 0, rotation: 0 }, self.arm.along)
        } else {
            (self.mechanics.approach(now.0 + spin_up, self.arm.place, place, writes), place.along)
        };
        let Approach { overhead, seek, rotation } = approach.stretched(self.slow);
        let start = now.0 + spin_up + overhead + seek + rotation;
        let last = first + sectors - 1;
        let end = start + self.passing(last, from).0;
        let statistics = &mut self.statistics;
        statistics.operations += 1;
        statistics.sequential += u64::from(continues);
        let cylinders = place.cylinder.abs_diff(self.arm.place.cylinder);
        statistics.seeks += u64::from(cylinders > 0);
        statistics.cylinders += u64::from(cylinders);
        statistics.spin_up += spin_up;
        statistics.overhead += overhead;
        statistics.seek += seek;
        statistics.rotation[usize::from(writes)] += rotation;
        statistics.transfer[usize::from(writes)] += end - start;
        let waited = self.waited(now, id, SimTime(end));
        self.tell(now, id, start, from, &waited);
        self.arm = Arm {
            place: self.mechanics.surface.place(last),
            next: Some(last + 1),
            along: self.mechanics.surface.end_of(last),
            inwards: self.arm.inwards,
        };
        self.free_at = SimTime(end);
    }

    /// How long a transfer that begins `from` along the disk takes until the end of a sector has passed.
    pub(super) fn passing(&self, sector: u64, from: u64) -> Span {
        Span(self.mechanics.surface.end_of(sector) - from).stretched(self.slow)
    }

    /// Where the time of a command went that waited until now, and keeps the arm until `end`.
    fn waited(&mut self, now: SimTime, id: Id<DiskOp<C>>, end: SimTime) -> Breakdown {
        let mut waited = Breakdown::default();
        if let Some(latencies) = &mut self.latencies {
            let op = &self.queue.ops[id];
            latencies.0.divide(op.asked, now, Part::Disk, &mut waited);
            // Others may have waited as long.
            if let Some(with) = Part::of_other(op.command.cause) {
                latencies.0.record(now, end, with, !self.queue.is_empty());
            }
        }
        waited
    }

    /// Lists what a command waited for and what follows.
    pub(super) fn list(&mut self, waited: &Breakdown, part: Part, span: Span) -> TimeSpent {
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        let mut parts = *waited;
        parts.add(part, span);
        TimeSpent::list(&mut latencies.1, parts)
    }

    /// Tells when each page of a command is done whose transfer starts at `start`, `from` along the disk.
    fn tell(&mut self, now: SimTime, id: Id<DiskOp<C>>, start: u64, from: u64, waited: &Breakdown) {
        let op = &self.queue.ops[id];
        let (token, command, sequence) = (op.token, op.command, op.sequence);
        let (first, sectors, cached) = (op.first, op.sectors, op.cached);
        self.queued = self.queued - op.typical;
        let passes = |this: &Self, sector: u64| SimTime(start) + this.passing(sector, from);
        let end = passes(self, first + sectors - 1);
        let pages = Self::range(&command);
        if op.writes() {
            self.count(now, end, OpKind::Program, &command);
            let part = if cached { CompletionPart::Durable } else { CompletionPart::Both };
            let done = Done::at(token, command.count.into(), end);
            let spent = self.list(waited, Part::Disk, end.since(now));
            self.done.push(Done { part, service: end.since(now), spent, ..done });
            for page in pages.clone() {
                if self.in_memory.get(&page) == Some(&sequence) {
                    self.in_memory.remove(&page);
                }
            }
            if self.platter.is_some() {
                // Pages of a command that transfers a part of each share its sectors.
                let each = (sectors / u64::from(command.count)).clamp(1, self.page_sectors);
                for (n, page) in (0_u64..).zip(pages.clone()) {
                    // Each after the last sector of the one before.
                    let before = (first + n * each).checked_sub(1).filter(|_| n > 0);
                    let begins = before.map_or(SimTime(start), |sector| passes(self, sector));
                    self.note_begun(page, sequence, begins);
                }
            }
            self.under_way = UnderWay { pages, until: end };
            self.leave_cache(id, end);
        } else {
            self.count(now, end, OpKind::Read, &command);
            for (n, page) in (0u32..).zip(pages) {
                // Of a part of a page, only that passes.
                let last = first + (u64::from(n + 1) * self.page_sectors).min(sectors) - 1;
                let at = passes(self, last);
                let owed = self.queue.ops[id].owed.get(n as usize).copied().unwrap_or_default();
                let unreadable = owed.unreadable || self.pages.is_unreadable(page);
                let failed = unreadable.then_some((self.backend, command.start.plus(n)));
                let contents = if unreadable { C::default() } else { owed.contents };
                let service = at.since(now);
                let spent = self.list(waited, Part::Disk, service);
                self.done.push(Done { service, contents, failed, spent, ..Done::at(token.plus(n), 1, at) });
            }
        }
        self.queue.ops.release(id);
    }
}
