//! Programs, copybacks and erases whose ends may still move, because reads suspend them ([`super::suspend`]).
//!
//! In drives that suspend nothing there are none: every question then has the answer of an empty list.

use super::program::{Manner, PageTimes, PageWrite};
use super::queue::DriveOp;
use crate::engine::{Breakdown, Cause};
use crate::flash::{Geometry, OpKind, Ppn, SuspendRules, UnitId};
use crate::kernel::{Id, SimTime, Span, reach};
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
    pub(super) fn new(
        [granted, end]: [SimTime; 2],
        summary: Span,
        Manner { kind, summaries, .. }: Manner,
        cause: Cause,
    ) -> OpenOperation {
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

    pub(super) fn programs(&self, ppn: Ppn) -> bool {
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
    interrupted: SimTime,
    last: u64,
    /// When the data of its last read have left.
    pub until: SimTime,
}

/// An operation that begins to be suspended, and how long it takes until its unit can sense.
pub(super) struct Interrupted {
    pub kind: OpKind,
    pub cause: Cause,
    /// Since when it worked.
    pub since: SimTime,
    pub lead: Span,
}

/// An operation under way, and until when its unit works now.
pub(super) struct Resumed {
    pub delay: Span,
    pub free_at: SimTime,
    /// When a block dies for the first time, if that has moved.
    pub first_death: Option<SimTime>,
}

/// The operations under way in a unit.
#[derive(Clone, Debug, Default)]
struct UnitUnderWay {
    /// The array does them in this order; the data of the second one are in the cache register.
    operations: VecDeque<OpenOperation>,
    suspended: Option<SuspendedUnit>,
}

#[derive(Clone, Debug)]
struct Suspension {
    rules: SuspendRules,
    units: Vec<UnitUnderWay>,
    /// How many programs of each write are under way.
    pending: Vec<u16>,
    /// Writes without any more programs under way.
    over: Vec<Id<DriveOp>>,
}

impl Suspension {
    /// Whether reads may interrupt an operation of this kind, and how long it takes until the unit can sense.
    fn lead(&self, kind: OpKind) -> Option<Span> {
        match kind {
            OpKind::Erase => Some(self.rules.erase),
            _ => self.rules.programs.then_some(self.rules.program),
        }
    }

    fn operations_mut(&mut self) -> impl Iterator<Item = &mut OpenOperation> {
        self.units.iter_mut().flat_map(|unit| &mut unit.operations)
    }
}

/// The operations under way in a drive whose units suspend operations for reads; none in other drives.
#[derive(Clone, Debug)]
pub(in crate::drive) struct OpenOperations(Option<Box<Suspension>>);

impl OpenOperations {
    pub(super) fn new(rules: Option<SuspendRules>, units: usize) -> OpenOperations {
        let units = || vec![UnitUnderWay::default(); units];
        OpenOperations(rules.map(|rules| {
            Box::new(Suspension { rules, units: units(), pending: Vec::new(), over: Vec::new() })
        }))
    }

    /// Whether the end of an operation may move after its grant.
    #[inline(always)]
    pub(in crate::drive) fn may_exist(&self) -> bool {
        self.0.is_some()
    }

    #[inline(always)]
    fn unit(&self, unit: UnitId) -> Option<&UnitUnderWay> {
        self.0.as_ref().map(|open| &open.units[unit.0 as usize])
    }

    #[inline(always)]
    fn unit_mut(&mut self, unit: UnitId) -> Option<&mut UnitUnderWay> {
        self.0.as_mut().map(|open| &mut open.units[unit.0 as usize])
    }

    // ---------------------------------------------------------------- operations

    /// An operation is granted in a unit.
    pub(super) fn push(&mut self, unit: UnitId, operation: OpenOperation) {
        if let Some(this) = self.unit_mut(unit) {
            this.operations.push_back(operation);
        }
    }

    /// What a unit does, in order.
    pub(super) fn of(&self, unit: UnitId) -> impl ExactSizeIterator<Item = &OpenOperation> {
        self.unit(unit).map(|this| this.operations.iter()).unwrap_or_default()
    }

    pub(super) fn of_mut(&mut self, unit: UnitId) -> impl DoubleEndedIterator<Item = &mut OpenOperation> {
        self.unit_mut(unit).map(|this| this.operations.iter_mut()).unwrap_or_default()
    }

    /// The operation that was granted last in a unit.
    pub(super) fn last_mut(&mut self, unit: UnitId) -> Option<&mut OpenOperation> {
        self.of_mut(unit).next_back()
    }

    /// Those of all units.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut OpenOperation> {
        self.0.iter_mut().flat_map(|open| open.operations_mut())
    }

    /// When the first operation of a unit is over, as far as is known; none where ends do not move.
    pub(super) fn first_end(&self, unit: UnitId) -> Option<SimTime> {
        let UnitUnderWay { operations, suspended } = self.unit(unit)?;
        Some(operations.front().filter(|_| suspended.is_none()).map_or(SimTime::NEVER, |one| one.end))
    }

    /// Whether the first operation of a unit is over by now.
    #[inline]
    pub(super) fn is_over(&self, now: SimTime, unit: UnitId) -> bool {
        let is_over = |UnitUnderWay { operations, suspended }: &UnitUnderWay| {
            suspended.is_none() && operations.front().is_some_and(|operation| operation.end <= now)
        };
        self.unit(unit).is_some_and(is_over)
    }

    /// Takes the first operation of a unit, if it is over by now.
    pub(super) fn take_over(&mut self, now: SimTime, unit: UnitId) -> Option<OpenOperation> {
        if self.is_over(now, unit) { self.unit_mut(unit)?.operations.pop_front() } else { None }
    }

    /// Takes all operations of a unit, which is not suspended any more. `cut` is the instant at which those of a
    /// suspended unit continued.
    pub(super) fn take_all(&mut self, unit: UnitId, cut: SimTime) -> VecDeque<OpenOperation> {
        let UnitUnderWay { mut operations, suspended } =
            self.unit_mut(unit).map(std::mem::take).unwrap_or_default();
        if suspended.is_some() {
            operations.iter_mut().for_each(|operation| operation.since = cut);
        }
        operations
    }

    /// Whether a unit is programming a page; none if that follows from the state of the unit.
    #[inline(always)]
    pub(super) fn is_being_programmed(&self, now: SimTime, unit: UnitId, ppn: Ppn) -> Option<bool> {
        let UnitUnderWay { operations, suspended } = self.unit(unit)?;
        Some(operations.iter().any(|one| (suspended.is_some() || one.end > now) && one.programs(ppn)))
    }

    /// Whether a read must wait for what a unit programs: a page of the same word line.
    pub(super) fn keeps_waiting(&self, geometry: &Geometry, unit: UnitId, ppn: Ppn) -> bool {
        self.of(unit).any(|one| one.programs_beside(geometry, ppn))
    }

    /// Whether a program under way supersedes a page of a block.
    pub(in crate::drive) fn guards(&self, block: usize) -> bool {
        let units = self.0.iter().flat_map(|open| &open.units);
        units.flat_map(|unit| &unit.operations).any(|operation| operation.guards(block))
    }

    /// A power cut does not concern pages under way any more that `which` picks.
    pub(in crate::drive) fn land(&mut self, which: impl Fn(Ppn) -> bool) {
        for operation in self.all_mut() {
            for (page, under_way) in operation.pages.iter().zip(&mut operation.times) {
                under_way.landed |= which(page.target.to);
            }
        }
    }

    /// The last erase of a block, granted just now in its unit, is the drive's first one: its end may still move.
    pub(in crate::drive) fn note_first_death(&mut self, unit: UnitId) {
        if let Some(operation) = self.last_mut(unit) {
            operation.is_first_death = operation.kind == OpKind::Erase;
        }
    }

    // ---------------------------------------------------------------- writes

    fn pending(&mut self, op: Id<DriveOp>) -> Option<&mut u16> {
        self.0.as_mut().map(|open| reach(&mut open.pending, op.index()))
    }

    /// One more page of a write is being programmed.
    pub(super) fn begin_program(&mut self, op: Id<DriveOp>) {
        if let Some(pending) = self.pending(op) {
            *pending += 1;
        }
    }

    /// Whether programs of a write are under way.
    pub(super) fn has_programs(&mut self, op: Id<DriveOp>) -> bool {
        self.pending(op).is_some_and(|pending| *pending != 0)
    }

    /// A page of a write is on the media; `complete` if all its pages have had their places.
    pub(super) fn end_program(&mut self, op: Id<DriveOp>, complete: bool) {
        let Some(pending) = self.pending(op) else { return };
        *pending -= 1;
        if *pending == 0 && complete {
            self.0.iter_mut().for_each(|open| open.over.push(op));
        }
    }

    /// The writes without any more programs under way.
    pub(super) fn take_over_writes(&mut self) -> Vec<Id<DriveOp>> {
        self.0.as_mut().map(|open| std::mem::take(&mut open.over)).unwrap_or_default()
    }

    /// Keeps the memory of that list.
    pub(super) fn put_back(&mut self, writes: Vec<Id<DriveOp>>) {
        if let Some(open) = &mut self.0 {
            open.over = writes;
        }
    }

    /// A write is answered although it has programs under way.
    pub(super) fn forget_write(&mut self, op: Id<DriveOp>) {
        if self.pending(op).map_or(0, std::mem::take) == 0 {
            return;
        }
        for page in self.all_mut().flat_map(|operation| &mut operation.pages) {
            if page.op.raw() == op.raw() {
                page.op = Id::NONE;
            }
        }
    }

    /// No write has programs under way any more.
    pub(super) fn forget_writes(&mut self) {
        if let Some(open) = &mut self.0 {
            open.pending.clear();
            open.over.clear();
        }
    }

    // ---------------------------------------------------------------- suspensions

    /// Whether a unit is suspended, and since when.
    pub(super) fn suspended(&self, unit: UnitId) -> Option<SuspendedUnit> {
        self.unit(unit)?.suspended
    }

    /// Ends all suspensions: the time begins again.
    pub(super) fn end_suspensions(&mut self) {
        let units = self.0.iter_mut().flat_map(|open| &mut open.units);
        units.for_each(|unit| unit.suspended = None);
    }

    /// Whether a unit may begin to be suspended at `at` for a read that takes `reading`, or its next read may prolong its
    /// suspension (`sequence`), which can begin if `is_able` says so of the end of the data of its last one.
    pub(super) fn gives_way(
        &self,
        at: SimTime,
        unit: UnitId,
        (sequence, reading): (u64, Span),
        is_able: impl Fn(SimTime) -> bool,
    ) -> bool {
        let Some(open) = &self.0 else { return false };
        let UnitUnderWay { operations, suspended } = &open.units[unit.0 as usize];
        let Some(last_operation) = operations.back() else { return false };
        let is_below_limit = |operation: &OpenOperation| operation.interruptions < open.rules.limit;
        if let Some(SuspendedUnit { last, until, .. }) = suspended {
            return is_able(*until) && (sequence <= *last || operations.front().is_some_and(is_below_limit));
        }
        let Some(works) = operations.iter().find(|operation| operation.end > at) else { return false };
        let Some(lead) = open.lead(works.kind).filter(|_| is_below_limit(works)) else { return false };
        last_operation.end.since(at) > lead + reading + open.rules.resume
    }

    /// A lower bound of the time until a read of a unit that works for `wait` could start.
    pub(super) fn wait_for(&self, unit: UnitId, wait: Span) -> Span {
        let works = self.0.as_ref().zip(self.of(unit).next());
        works.and_then(|(open, works)| open.lead(works.kind)).map_or(wait, |lead| wait.min(lead))
    }

    /// Since when a suspended unit is free for a read that is granted, if it is suspended.
    #[inline]
    pub(super) fn free_for_reads(&self, unit: UnitId) -> Option<SimTime> {
        let SuspendedUnit { until, .. } = self.suspended(unit)?;
        // It could have been suspended sooner: the first read has waited for the channel.
        Some(if until == SimTime::NEVER { SimTime::ZERO } else { until })
    }

    /// A read begins in a unit, and `newest` is the last that has come: what the unit does is suspended, if it is not yet.
    pub(super) fn interrupt(
        &mut self,
        now: SimTime,
        unit: UnitId,
        read: u64,
        newest: u64,
    ) -> Option<Interrupted> {
        let open = self.0.as_mut()?;
        let UnitUnderWay { operations, suspended } = &mut open.units[unit.0 as usize];
        let works = operations.front_mut()?;
        if let Some(suspended) = suspended {
            if read > suspended.last {
                works.interruptions += 1;
                (suspended.interrupted, suspended.last) = (now, newest);
            }
            return None;
        }
        *suspended =
            Some(SuspendedUnit { since: now, interrupted: now, last: newest, until: SimTime::NEVER });
        works.interruptions += 1;
        let (kind, cause, since) = (works.kind, works.cause, works.since);
        Some(Interrupted { kind, cause, since, lead: open.lead(kind).unwrap_or_default() })
    }

    /// The read `newest` comes for a unit: it is served with those that have just interrupted its operation.
    pub(super) fn note_read(&mut self, now: SimTime, unit: UnitId, newest: u64) {
        let suspended = self.unit_mut(unit).and_then(|this| this.suspended.as_mut());
        if let Some(suspended) = suspended.filter(|suspended| suspended.interrupted == now) {
            suspended.last = newest;
        }
    }

    /// The data of the last read of a unit leave until `end`; false if it is not suspended.
    #[inline(always)]
    pub(in crate::drive) fn end_read(&mut self, unit: UnitId, end: SimTime) -> bool {
        let suspended = self.unit_mut(unit).and_then(|this| this.suspended.as_mut());
        suspended.map(|suspended| suspended.until = end).is_some()
    }

    /// A unit that was suspended at `since` continues.
    pub(super) fn resume(&mut self, now: SimTime, unit: UnitId, since: SimTime) -> Option<Resumed> {
        let open = self.0.as_mut()?;
        let delay = now.since(since) + open.rules.resume;
        let UnitUnderWay { operations, suspended } = &mut open.units[unit.0 as usize];
        *suspended = None;
        for operation in operations.iter_mut() {
            operation.end = operation.end + delay;
            operation.suspended += delay;
        }
        let free_at = operations.back()?.end;
        let first = operations.front_mut()?;
        // Observers are notified of its parts, one by one.
        first.since = now;
        Some(Resumed { delay, free_at, first_death: first.is_first_death.then_some(first.end) })
    }

    /// A block is not erased before the operation granted last in a unit is over.
    pub(in crate::drive) fn guard(&mut self, unit: UnitId, block: usize) {
        self.last_mut(unit).into_iter().for_each(|operation| operation.guards.push(block));
    }

    /// A block is not erased before a page of a unit is programmed, if that is under way.
    pub(in crate::drive) fn guard_while_programmed(&mut self, unit: UnitId, ppn: Ppn, block: usize) {
        let program = self.of_mut(unit).find(|operation| operation.programs(ppn));
        program.into_iter().for_each(|operation| operation.guards.push(block));
    }

    /// The erase that was granted last in a unit is answered when it is over; false if its end is known.
    pub(super) fn answer_when_over(&mut self, unit: UnitId, erase: Id<DriveOp>) -> bool {
        self.last_mut(unit).map(|operation| operation.erase = erase).is_some()
    }
}
