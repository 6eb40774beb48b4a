//! Operations whose end may still move: programs, copybacks and erases in a drive whose units suspend them for reads
//! ([`super::suspend`]).
//!
//! Elsewhere the end of an operation is known when it is granted, and everything that depends on it is done then. Here
//! it stays with the operation and is *settled* when that is over: when the pages of its writes are on the media, the
//! reports to observers, which blocks may be erased then. Places, maps and counters change at the grant, as elsewhere.

use super::latency::PlacedPage;
use super::program::{Manner, PageTimes, PageWrite};
use super::queue::DriveOp;
use super::{Controller, Suspension};
use crate::drive::backends::{DriveBackends, Flight};
use crate::drive::{LoggedOperation, Resource};
use crate::engine::{Breakdown, Cause, CompletionPart, Contents};
use crate::flash::{Acknowledge, Geometry, OpKind, OpPhases, Ppn, SuspendRules, UnitId};
use crate::kernel::{Id, SimTime, Span};
use std::collections::VecDeque;

/// A page of an operation that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageUnderWay {
    pub times: PageTimes,
    /// Of a write that is acknowledged when its pages are on the media: what this one waited for.
    pub waited: Breakdown,
    /// When observers say that it began.
    pub start: SimTime,
    /// Whether a power cut does not concern it any more.
    pub landed: bool,
}

/// A program, a copyback or an erase that has been granted and is not over.
#[derive(Clone, Debug)]
pub(super) struct OpenOperation {
    pub kind: OpKind,
    pub cause: Cause,
    pub granted: SimTime,
    /// Since when it works in its unit without interruption, as far as it has not been reported to observers.
    pub since: SimTime,
    /// When it is over, if it is not suspended before.
    pub end: SimTime,
    /// How long it has been suspended.
    pub suspended: Span,
    /// How often reads have interrupted it.
    pub interruptions: u32,
    /// An erase of a physical-page backend.
    pub erase: Id<DriveOp>,
    /// An erase, the last of its block: its end is the first death of a block.
    pub is_first_death: bool,
    pub pages: Vec<PageWrite>,
    pub times: Vec<PageUnderWay>,
    /// Blocks that are not erased before it is over, besides those of its pages.
    pub guards: Vec<usize>,
    pub summaries: u32,
    pub summary: Span,
}

impl OpenOperation {
    fn new(granted: SimTime, end: SimTime, summary: Span, manner: Manner, cause: Cause) -> OpenOperation {
        let Manner { kind, summaries, .. } = manner;
        OpenOperation {
            kind,
            cause,
            granted,
            since: granted,
            end,
            suspended: Span::ZERO,
            interruptions: 0,
            erase: Id::NONE,
            is_first_death: false,
            pages: Vec::new(),
            times: Vec::new(),
            guards: Vec::new(),
            summaries,
            summary,
        }
    }

    /// Whether it programs a page of the word line that this page is in.
    fn programs_beside(&self, geometry: &Geometry, ppn: Ppn) -> bool {
        let beside =
            |page: &PageWrite| page.target.to == ppn || geometry.share_a_word_line(page.target.to, ppn);
        self.kind != OpKind::Erase && self.pages.iter().any(beside)
    }

    fn programs(&self, ppn: Ppn) -> bool {
        self.kind != OpKind::Erase && self.pages.iter().any(|page| page.target.to == ppn)
    }

    fn guards(&self, block: usize) -> bool {
        self.guards.contains(&block) || self.pages.iter().any(|page| page.guards == Some(block))
    }
}

/// A suspension of what a unit does.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuspendedUnit {
    pub since: SimTime,
    /// When reads interrupted its operation last, and the last of the reads that had come by then: others prolong the
    /// suspension.
    pub interrupted: SimTime,
    pub last: u64,
    /// When the data of its last read have left.
    pub until: SimTime,
}

/// The operations under way in a unit.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitUnderWay {
    /// The array does them in this order; the data of the second one are in the cache register.
    pub operations: VecDeque<OpenOperation>,
    pub suspended: Option<SuspendedUnit>,
}

impl Suspension {
    pub(in crate::drive) fn new(rules: SuspendRules, units: usize) -> Suspension {
        let units = vec![UnitUnderWay::default(); units];
        Suspension { rules, units, pending: Vec::new(), over: Vec::new() }
    }

    fn pending(&mut self, op: Id<DriveOp>) -> &mut u16 {
        if op.index() >= self.pending.len() {
            self.pending.resize(op.index() + 1, 0);
        }
        &mut self.pending[op.index()]
    }

    /// The first operation of a unit, if it is over by now.
    fn take_over(&mut self, now: SimTime, unit: usize) -> Option<OpenOperation> {
        let UnitUnderWay { operations, suspended } = &mut self.units[unit];
        let is_over = suspended.is_none() && operations.front()?.end <= now;
        if is_over { operations.pop_front() } else { None }
    }

    /// Whether a unit is programming a page.
    pub(super) fn is_being_programmed(&self, now: SimTime, unit: UnitId, ppn: Ppn) -> bool {
        let UnitUnderWay { operations, suspended } = &self.units[unit.0 as usize];
        operations.iter().any(|one| (suspended.is_some() || one.end > now) && one.programs(ppn))
    }

    /// Whether a read must wait for what a unit programs: a page of the same word line.
    pub(super) fn keeps_waiting(&self, geometry: &Geometry, unit: UnitId, ppn: Ppn) -> bool {
        self.units[unit.0 as usize].operations.iter().any(|one| one.programs_beside(geometry, ppn))
    }
}

impl<C: Contents> Controller<C> {
    // ---------------------------------------------------------------- grants

    /// An operation is granted that may be suspended.
    pub(super) fn put_under_way(
        &mut self,
        [granted, end]: [SimTime; 2],
        unit: UnitId,
        phases: &OpPhases,
        manner: Manner,
        cause: Cause,
    ) {
        let Some(suspension) = &mut self.suspension else { return };
        let operation = OpenOperation::new(granted, end, phases.summary, manner, cause);
        suspension.units[unit.0 as usize].operations.push_back(operation);
        self.arm_end(unit);
        if self.accounts.watch.is_some() {
            let channel = self.dies[unit].channel;
            let until = self.dies.channels[channel as usize].free_at;
            self.tell_hold(Resource::Channel(channel), granted, until, manner.kind, cause);
        }
    }

    /// A page of the operation that was granted last in a unit.
    pub(super) fn put_page_under_way(
        &mut self,
        unit: UnitId,
        kind: OpKind,
        page: PageWrite,
        times: PageTimes,
        first: bool,
        backends: &DriveBackends<C>,
    ) {
        let op = page.op;
        let waited = if op.is_some() {
            self.put_write_under_way(unit, op, times, backends)
        } else {
            Breakdown::default()
        };
        // In a round everything has begun together, and blocks are erased together.
        let start = if first || kind == OpKind::Erase { times.granted } else { times.begun };
        let Some(suspension) = &mut self.suspension else { return };
        if let Some(operation) = suspension.units[unit.0 as usize].operations.back_mut() {
            operation.pages.push(page);
            operation.times.push(PageUnderWay { times, waited, start, landed: false });
        }
    }

    /// One more page of a write is being programmed; what it has waited for, if the write is acknowledged later.
    fn put_write_under_way(
        &mut self,
        unit: UnitId,
        op: Id<DriveOp>,
        times: PageTimes,
        backends: &DriveBackends<C>,
    ) -> Breakdown {
        let PageTimes { granted, sent, freed, .. } = times;
        if let Some(suspension) = &mut self.suspension {
            *suspension.pending(op) += 1;
        }
        if self.flash.acknowledge == Acknowledge::Program {
            self.queues[op].placed += 1;
            return self.wait_of_page(op, granted, unit, freed, backends);
        }
        if let Some(latencies) = &mut self.latencies
            && sent > self.queues[op].acknowledged
        {
            let cached = self.flash.commands.cache_program;
            latencies.note_placed(op, PlacedPage::new(&times, unit, sent, cached));
        }
        self.queues[op].note_placed(granted, sent, sent);
        Breakdown::default()
    }

    /// All pages of a write have their places. Whether some of its programs are still under way; it is answered when
    /// they are over, but acknowledged now if it is when its data have crossed the channel.
    pub(in crate::drive) fn is_still_programmed(
        &mut self,
        op: Id<DriveOp>,
        backends: &DriveBackends<C>,
    ) -> bool {
        let Some(suspension) = &mut self.suspension else { return false };
        if *suspension.pending(op) == 0 {
            return false;
        }
        if self.flash.acknowledge != Acknowledge::Program {
            backends.answer_write(op, CompletionPart::Acknowledged, self);
            self.keep_breakdown(op);
        }
        true
    }

    /// The erase that was granted last in a unit is answered when it is over.
    pub(super) fn answer_when_over(&mut self, unit: UnitId, erase: Id<DriveOp>) -> bool {
        let Some(suspension) = &mut self.suspension else { return false };
        let last = suspension.units[unit.0 as usize].operations.back_mut();
        last.is_some_and(|operation| {
            operation.erase = erase;
            true
        })
    }

    /// A write is answered although it has programs under way.
    pub(super) fn forget_under_way(&mut self, op: Id<DriveOp>) {
        let Some(suspension) = &mut self.suspension else { return };
        if std::mem::take(suspension.pending(op)) == 0 {
            return;
        }
        let operations = suspension.units.iter_mut().flat_map(|unit| &mut unit.operations);
        for page in operations.flat_map(|operation| &mut operation.pages) {
            if page.op.raw() == op.raw() {
                page.op = Id::NONE;
            }
        }
    }

    // ---------------------------------------------------------------- ends

    /// The end of the operation that comes first in a unit is an event.
    pub(super) fn arm_end(&mut self, unit: UnitId) {
        let Some(suspension) = &self.suspension else { return };
        let UnitUnderWay { operations, suspended } = &suspension.units[unit.0 as usize];
        let end = operations.front().filter(|_| suspended.is_none()).map_or(SimTime::NEVER, |one| one.end);
        self.dies.agenda.set(self.dies.unit_count() + self.dies.channels.len() + unit.0 as usize, end);
    }

    /// Whether a read must wait for what its unit programs.
    pub(super) fn is_kept_waiting(&self, unit: UnitId, ppn: Ppn) -> bool {
        let suspension = self.suspension.as_ref();
        suspension.is_some_and(|suspension| suspension.keeps_waiting(&self.flash.geometry, unit, ppn))
    }

    /// Settles the operations of a unit that are over by now.
    pub(in crate::drive) fn settle_unit(
        &mut self,
        now: SimTime,
        unit: UnitId,
        backends: &mut DriveBackends<C>,
    ) {
        let mut any = false;
        while let Some(operation) =
            self.suspension.as_mut().and_then(|suspension| suspension.take_over(now, unit.0 as usize))
        {
            any = true;
            self.settle(unit, &operation, backends);
        }
        if any {
            self.arm_end(unit);
        }
    }

    /// The same for the units of a channel.
    pub(super) fn settle_channel(&mut self, now: SimTime, channel: usize, backends: &mut DriveBackends<C>) {
        let first = self.dies.channels[channel].first_unit;
        for unit in first..first + self.dies.per_channel as u32 {
            self.settle_unit(now, UnitId(unit), backends);
        }
    }

    /// Settles all operations: the time begins again.
    pub(in crate::drive) fn settle_all(&mut self, backends: &mut DriveBackends<C>) {
        for unit in 0..self.dies.unit_count() {
            if let Some(suspension) = &mut self.suspension {
                suspension.units[unit].suspended = None;
            }
            self.settle_unit(SimTime::NEVER, UnitId(unit as u32), backends);
        }
    }

    /// An operation is over.
    fn settle(&mut self, unit: UnitId, operation: &OpenOperation, backends: &mut DriveBackends<C>) {
        let OpenOperation { kind, end, granted, suspended, erase, .. } = *operation;
        self.tell_over(unit, operation, end, backends);
        for (page, under_way) in operation.pages.iter().zip(&operation.times) {
            if page.op.is_some() {
                self.settle_page(page.op, unit, under_way, end, suspended, backends);
            }
        }
        if let Some(suspension) = &mut self.suspension {
            let mut over = std::mem::take(&mut suspension.over);
            over.drain(..).for_each(|op| self.end_write(op, backends));
            if let Some(suspension) = &mut self.suspension {
                suspension.over = over;
            }
        }
        if erase.is_some() {
            self.erased(erase, end, end.since(granted).beyond(suspended));
        }
        let guards = !operation.guards.is_empty() || operation.pages.iter().any(|page| page.guards.is_some());
        if guards || kind == OpKind::Erase && backends.ftl.is_physical() {
            self.wake_waiting_erases(end);
        }
    }

    /// Tells the observers of an operation that ends, or is cut off, at `end`.
    fn tell_over(
        &mut self,
        unit: UnitId,
        operation: &OpenOperation,
        end: SimTime,
        backends: &DriveBackends<C>,
    ) {
        if self.accounts.watch.is_none() {
            return;
        }
        let OpenOperation { kind, since, cause, .. } = *operation;
        self.tell_hold(Resource::Unit(unit), since, end, kind, cause);
        for (page, under_way) in operation.pages.iter().zip(&operation.times) {
            let (start, ppn) = (under_way.start, page.target.to);
            let (age, told) = (
                self.queues.age_of_write(page.op),
                LoggedOperation::new([start, end], ppn, kind, page.cause),
            );
            self.log_operation(&LoggedOperation { age, ..told }, backends);
        }
        if operation.summaries > 0 {
            self.accounts.tell_summaries(end, operation.summary, &operation.pages, operation.summaries);
        }
    }

    /// A page of a write is on the media.
    fn settle_page(
        &mut self,
        op: Id<DriveOp>,
        unit: UnitId,
        under_way: &PageUnderWay,
        end: SimTime,
        suspended: Span,
        backends: &mut DriveBackends<C>,
    ) {
        let state = &mut self.queues[op];
        let is_last = end > state.acknowledged;
        state.durable = state.durable.max(end);
        if self.flash.acknowledge == Acknowledge::Program {
            state.acknowledged = state.acknowledged.max(end);
            state.service = state.service.max(end.since(under_way.times.granted).beyond(suspended));
            if is_last && let Some(latencies) = &mut self.latencies {
                let (over, cached) = (SimTime(end.0 - suspended.0), self.flash.commands.cache_program);
                let placed = PlacedPage::new(&under_way.times, unit, over, cached);
                latencies.note_settled(op, placed, under_way.waited, suspended);
            }
        }
        let DriveOp { placed, command, sequence, .. } = self.queues[op];
        if backends.ftl.is_physical() {
            backends.note_over(sequence);
        }
        let Some(suspension) = &mut self.suspension else { return };
        let pending = suspension.pending(op);
        *pending -= 1;
        if *pending == 0 && placed == command.count {
            suspension.over.push(op);
        }
    }

    /// The last program of a write is over.
    fn end_write(&mut self, op: Id<DriveOp>, backends: &DriveBackends<C>) {
        let part = match self.flash.acknowledge {
            Acknowledge::Program => CompletionPart::Both,
            Acknowledge::Transfer => CompletionPart::Durable,
        };
        backends.answer_write(op, part, self);
        self.queues.release(op);
    }

    /// Blocks that waited for a program may be erased.
    fn wake_waiting_erases(&mut self, now: SimTime) {
        for channel in 0..self.dies.channels.len() {
            let waits = self.dies.channels[channel].collecting != 0 || self.queues.waiting > 0;
            if waits {
                let at = self.dies.channels[channel].free_at.max(now);
                self.dies.wake_channel_by(channel, at);
            }
        }
    }

    /// Logs the operations under way of a run that ends at `now`: the end of those that are suspended is not known.
    pub(super) fn log_open_operations(&mut self, now: SimTime, backends: &DriveBackends<C>) {
        for unit in 0..self.dies.units.len() {
            let Some(suspension) = &self.suspension else { return };
            let UnitUnderWay { operations, suspended } = suspension.units[unit].clone();
            for mut operation in operations {
                if suspended.is_some() {
                    (operation.since, operation.end) = (now, now);
                }
                self.tell_over(UnitId(unit as u32), &operation, operation.end, backends);
            }
        }
    }

    // ---------------------------------------------------------------- power and failures

    /// Whether a program under way supersedes a page of a block.
    pub(in crate::drive) fn is_guarded_under_way(&self, block: usize) -> bool {
        let units = self.suspension.iter().flat_map(|suspension| &suspension.units);
        units.flat_map(|unit| &unit.operations).any(|operation| operation.guards(block))
    }

    /// A block is not erased before the operation granted last in a unit is over.
    pub(super) fn guard_under_way(&mut self, unit: UnitId, block: usize, backends: &DriveBackends<C>) {
        let Some(suspension) = self.suspension.as_mut().filter(|_| backends.power.is_some()) else { return };
        if let Some(operation) = suspension.units[unit.0 as usize].operations.back_mut() {
            operation.guards.push(block);
        }
    }

    /// A block is not erased before a page is programmed, if that is under way.
    pub(in crate::drive) fn guard_while_programmed(&mut self, ppn: Ppn, block: usize) {
        let unit = self.unit_of_page(ppn);
        let Some(suspension) = &mut self.suspension else { return };
        let operations = &mut suspension.units[unit.0 as usize].operations;
        if let Some(operation) = operations.iter_mut().find(|operation| operation.programs(ppn)) {
            operation.guards.push(block);
        }
    }

    /// A power cut does not concern pages under way any more that `which` picks.
    pub(in crate::drive) fn land_under_way(&mut self, which: impl Fn(Ppn) -> bool) {
        let Some(suspension) = &mut self.suspension else { return };
        for operation in suspension.units.iter_mut().flat_map(|unit| &mut unit.operations) {
            for (page, under_way) in operation.pages.iter().zip(&mut operation.times) {
                under_way.landed |= which(page.target.to);
            }
        }
    }

    /// The power fails: returns the operations under way, which are cut off. A suspended operation has begun, also if
    /// it has hardly progressed.
    pub(in crate::drive) fn cut_under_way(
        &mut self,
        now: SimTime,
        backends: &mut DriveBackends<C>,
    ) -> Vec<Flight> {
        let mut flights = Vec::new();
        for unit in 0..self.dies.unit_count() {
            self.settle_unit(now, UnitId(unit as u32), backends);
            let Some(suspension) = &mut self.suspension else { break };
            let UnitUnderWay { operations, suspended } = std::mem::take(&mut suspension.units[unit]);
            for mut operation in operations {
                if suspended.is_some() {
                    operation.since = now;
                }
                self.tell_over(UnitId(unit as u32), &operation, now, backends);
                let end = if operation.interruptions > 0 { SimTime(now.0 + 1) } else { operation.end };
                let (begun, kind) = (operation.granted, operation.kind);
                for (page, under_way) in operation.pages.iter().zip(&operation.times) {
                    if !under_way.landed {
                        flights.push(Flight { begun, end, ppn: page.target.to, kind });
                    }
                }
            }
        }
        if let Some(suspension) = &mut self.suspension {
            suspension.pending.clear();
            suspension.over.clear();
        }
        flights
    }

    /// The last erase of a block, granted just now in its unit, is the drive's first one: its end may still move.
    pub(in crate::drive) fn note_first_death(&mut self, unit: UnitId) {
        let Some(suspension) = &mut self.suspension else { return };
        if let Some(operation) = suspension.units[unit.0 as usize].operations.back_mut() {
            operation.is_first_death = operation.kind == OpKind::Erase;
        }
    }
}
