//! Where the time of commands goes in drives that suspend operations for reads. The wait of a page is divided when it is
//! granted, as elsewhere: a history forgets what no operation waits for. The rest is known when its program is over.

use super::latency::PlacedPage;
use super::queue::DriveOp;
use super::{Controller, DriveLatencies};
use crate::drive::backends::DriveBackends;
use crate::engine::{Breakdown, Contents, Part, TimeSpent};
use crate::flash::{Acknowledge, UnitId};
use crate::kernel::{Id, SimTime, Span, reach};

impl DriveLatencies {
    #[inline]
    fn open(&mut self, op: Id<DriveOp>) -> &mut (Breakdown, Span) {
        reach(&mut self.open, op.index())
    }

    /// A page of a write is programmed, which had waited for this and was then suspended: the one that is acknowledged
    /// last so far.
    pub(super) fn note_settled(
        &mut self,
        op: Id<DriveOp>,
        placed: PlacedPage,
        waited: Breakdown,
        suspended: Span,
    ) {
        self.note_placed(op, placed);
        *self.open(op) = (waited, suspended);
    }
}

impl<C: Contents> Controller<C> {
    /// Since when a suspended unit is free for a read that is granted, if it is suspended.
    #[inline]
    pub(super) fn free_for_reads(&self, unit: UnitId) -> Option<SimTime> {
        let suspended = self.suspension.as_ref()?.units[unit.0 as usize].suspended?;
        // It could have been suspended sooner: the first read has waited for the channel.
        Some(if suspended.until == SimTime::NEVER { SimTime::ZERO } else { suspended.until })
    }

    /// The reads that a unit begins wait for it until it can sense.
    pub(super) fn note_lead(&mut self, granted: SimTime, unit: UnitId, lead: Span) {
        let mut op = self.dies[unit].current;
        while op.is_some() {
            // A read that comes again comes when its data have been decoded.
            let waits = (granted + lead).since(granted.max(self.queues[op].since));
            if let Some(latencies) = &mut self.latencies {
                latencies.delay_read(op, lead, waits);
            }
            op = self.queues[op].next;
        }
    }

    /// The wait of a page of a write for its unit and its channel, which have been granted; none if it is not measured.
    pub(super) fn wait_of_page(
        &self,
        op: Id<DriveOp>,
        granted: SimTime,
        unit: UnitId,
        freed: [SimTime; 2],
        backends: &DriveBackends<C>,
    ) -> Breakdown {
        let (DriveOp { since, late, .. }, mut parts) = (self.queues[op], Breakdown::default());
        let channel = self.dies[unit].channel as usize;
        let rest = self.other_wait(true, late, backends);
        if let Some(latencies) = &self.latencies {
            latencies.add_wait(unit, channel, (since, granted), freed, rest, &mut parts);
        }
        parts
    }

    /// Where the time of a write goes whose programs are over.
    pub(super) fn breakdown_of_settled(&mut self, op: Id<DriveOp>, noted: Span) -> TimeSpent {
        let DriveOp { since, acknowledged, .. } = self.queues[op];
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        // Pages that have been withdrawn leave nothing to measure.
        let (mut parts, suspended) =
            if acknowledged == SimTime::ZERO { Default::default() } else { *latencies.open(op) };
        if acknowledged != SimTime::ZERO {
            parts = parts.plus(&latencies.placed[op.index()].own.breakdown());
            parts.add(Part::Die, suspended);
        }
        parts.fit(acknowledged.since(since), Part::Die);
        parts.add(Part::Cache, noted);
        latencies.list(parts)
    }

    /// Keeps where the time of a write went that was acknowledged last, until it is durable.
    pub(super) fn keep_breakdown(&mut self, op: Id<DriveOp>) {
        debug_assert!(self.flash.acknowledge != Acknowledge::Program, "it was acknowledged before");
        let Some(latencies) = &mut self.latencies else { return };
        let parts = match self.done.last().map(|done| done.spent) {
            Some(TimeSpent::Flash(own)) => own.breakdown(),
            Some(TimeSpent::Listed(at)) => latencies.done[at as usize],
            _ => Breakdown::default(),
        };
        *latencies.open(op) = (parts, Span::ZERO);
    }

    /// Where the time of a write goes that was acknowledged when its data had crossed the channel, until it is durable.
    pub(in crate::drive) fn breakdown_of_durable(&mut self, op: Id<DriveOp>, noted: Span) -> TimeSpent {
        let DriveOp { since, durable, .. } = self.queues[op];
        let Some(latencies) = &mut self.latencies else { return TimeSpent::Memory };
        let array = latencies.placed.get(op.index()).map_or(Span::ZERO, |placed| placed.array);
        let mut parts = latencies.open(op).0;
        parts.add(Part::Array, array);
        parts.fit(durable.since(since) + noted, Part::Die);
        latencies.list(parts)
    }
}
