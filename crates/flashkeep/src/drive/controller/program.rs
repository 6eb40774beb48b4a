//! Programs: the only code that places and programs pages, in every command mode.
//!
//! A grant gathers the pages that one command programs ([`PageOwner::grant_next`]; `write` selects them), gives
//! each its place, and commits the operation ([`Controller::commit`]): the commit occupies die and channel, and
//! updates counters and logs.

use super::queue::DriveOp;
use super::{Controller, PageOwner, Scratch};
use crate::drive::LoggedOperation;
use crate::engine::{Cause, Contents};
use crate::flash::{
    Acknowledge, BusUse, FlashArray, FlashOp, OpKind, OpPhases, PlaneId, Ppn, Target, UnitId,
};
use crate::kernel::{Id, SimTime, Span};

/// A page that an operation programs, or the first page of a block that it erases.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct PageWrite {
    /// The write that it is a page of, and which one; no write for a page that collection moves.
    pub op: Id<DriveOp>,
    pub n: u16,
    pub ftl: u16,
    pub cause: Cause,
    pub plane: PlaneId,
    /// Where it goes, once that is known, and what crosses the channel for it.
    pub target: Target,
    /// The block of the version that it supersedes: not to be erased before this program is over.
    pub guards: Option<usize>,
}

impl PageWrite {
    /// A page without a write: one that GC moves, or the first page of a block to erase.
    pub(in crate::drive) fn moved(ftl: u16, cause: Cause, plane: PlaneId, target: Target) -> PageWrite {
        PageWrite { op: Id::NONE, n: 0, ftl, cause, plane, target, guards: None }
    }
}

/// The instants of a page of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageTimes {
    /// The operation is granted.
    pub granted: SimTime,
    /// The page's command begins.
    pub begun: SimTime,
    /// Its data are in the register.
    pub sent: SimTime,
    /// It is programmed.
    pub end: SimTime,
    /// How long the array works for it.
    pub array: Span,
    /// When its unit and its channel had become free.
    pub freed: [SimTime; 2],
    /// Whether its write may be measured by this page.
    pub measured: bool,
    /// Whether the end may still move.
    pub open: bool,
}

/// The instants of an operation.
#[derive(Clone, Copy, Debug)]
struct OperationCourse {
    pub granted: SimTime,
    /// Its transfers begin.
    pub first: SimTime,
    pub end: SimTime,
    /// When its unit and its channel had become free.
    pub freed: [SimTime; 2],
    /// Whether the end may still move.
    pub open: bool,
}

/// The page that a page follows in its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    Nothing,
    /// A page of another plane.
    OtherPlane,
    /// A page of its word line.
    SamePlane,
}

/// The command mode of an operation.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Manner {
    pub kind: OpKind,
    /// Blocks that are full then, whose summary pages follow.
    pub summaries: u32,
    /// Whether the data may cross the channel while the die works: through its cache register.
    pub cached: bool,
}

impl Manner {
    pub(in crate::drive) fn program(summaries: u32) -> Manner {
        Manner { kind: OpKind::Program, summaries, cached: false }
    }

    pub(in crate::drive) fn erase() -> Manner {
        Manner { kind: OpKind::Erase, summaries: 0, cached: false }
    }

    /// The phases of an operation on these pages.
    #[inline(always)]
    fn cost(self, flash: &FlashArray, pages: &[PageWrite]) -> OpPhases {
        let targets = pages.iter().map(|page| page.target);
        flash.timing.cost(&flash.geometry, FlashOp { kind: self.kind, targets, summaries: self.summaries })
    }
}

/// The mode of programs, as a type; what a mode does not need is compiled away.
pub(in crate::drive) trait ProgramMode {
    /// Whether pages are programmed one by one, all with the same time, in one open block per plane, without older
    /// versions and without observers.
    const PLAIN: bool;
    /// Whether the backends of a plain drive are physical pages.
    const PHYSICAL: bool = false;
}

/// See [`ProgramMode::PLAIN`].
pub(super) struct PlainMode;

/// The same, with backends of physical pages.
pub(in crate::drive) struct PlainPhysical;

/// All features of drive files.
pub(in crate::drive) struct Full;

impl ProgramMode for PlainMode {
    const PLAIN: bool = true;
}

impl ProgramMode for PlainPhysical {
    const PLAIN: bool = true;
    const PHYSICAL: bool = true;
}

impl ProgramMode for Full {
    const PLAIN: bool = false;
}

/// The mode of programs ([`ProgramMode`]), determined once (`Halves::simplify`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Programs {
    /// [`PlainMode`].
    Plain,
    /// [`PlainPhysical`].
    PlainPhysical,
    /// [`Full`].
    Full,
}

impl Scratch {
    /// An empty list of pages.
    #[inline(always)]
    pub(in crate::drive) fn take(&mut self) -> Vec<PageWrite> {
        std::mem::take(&mut self.pages)
    }

    /// The list is kept for its memory.
    #[inline(always)]
    pub(in crate::drive) fn put_back(&mut self, mut pages: Vec<PageWrite>) {
        pages.clear();
        self.pages = pages;
    }
}

impl<C: Contents> Controller<C> {
    /// A program, a copyback or an erase whose pages have their places: its die and its channel are in use, accounts
    /// are kept of it, and its writes know when they are acknowledged, and when durable. When it is over.
    #[inline(always)]
    pub(in crate::drive) fn commit<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        manner: Manner,
        pages: &[PageWrite],
        backends: &mut impl PageOwner<C>,
    ) -> SimTime {
        let phases = manner.cost(&self.flash, pages);
        let freed = self.dies.freed(channel, unit);
        let (first, end) = self.occupy::<M>(now, (channel, unit), &phases, manner.cached, pages[0].cause);
        let open = !M::PLAIN && self.open.may_exist();
        if open {
            self.put_under_way([now, end], unit, &phases, manner, pages[0].cause);
        }
        let course = OperationCourse { granted: now, first, end, freed, open };
        self.conclude(course, &phases, unit, manner.kind, pages, backends);
        if manner.summaries > 0 && !open {
            self.accounts.tell_summaries(end, phases.summary, pages, manner.summaries);
        }
        end
    }

    /// [`Controller::commit`] of a program of a single page, which is not described by a list. All pages take as long, so that
    /// the `last` one of a write is acknowledged last.
    #[inline(always)]
    pub(in crate::drive) fn commit_page<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        page: PageWrite,
        last: bool,
        backends: &mut impl PageOwner<C>,
    ) -> SimTime {
        let kind = OpKind::Program;
        let phases = self.flash.timing.cost_of(&self.flash.geometry, kind, page.target);
        let waited = last && self.probe.is_on() && self.queues[page.op].since < now;
        let freed = if waited { self.dies.freed(channel, unit) } else { [now; 2] };
        let (begun, end) = self.occupy::<M>(now, (channel, unit), &phases, false, page.cause);
        let array = phases.array();
        let sent = begun + phases.sent();
        let times = PageTimes { granted: now, begun, sent, end, array, freed, measured: last, open: false };
        self.conclude_page::<M>(times, unit, kind, page, Follows::Nothing, backends);
        end
    }

    /// [`Controller::commit`] of a part of what holds its die and its channel already: what it takes.
    pub(in crate::drive) fn commit_within(
        &mut self,
        start: SimTime,
        unit: UnitId,
        manner: Manner,
        pages: &[PageWrite],
        backends: &mut impl PageOwner<C>,
    ) -> OpPhases {
        let phases = manner.cost(&self.flash, pages);
        let end = start + phases.busy();
        let course = OperationCourse { granted: start, first: start, end, freed: [start; 2], open: false };
        self.conclude(course, &phases, unit, manner.kind, pages, backends);
        if manner.summaries > 0 {
            self.accounts.tell_summaries(end, phases.summary, pages, manner.summaries);
        }
        phases
    }

    /// [`Controller::commit`] of an erase after moves that have held its channel for `held` since `now`: when it is over.
    pub(in crate::drive) fn commit_held(
        &mut self,
        now: SimTime,
        unit: UnitId,
        held: Span,
        block: PageWrite,
        backends: &mut impl PageOwner<C>,
    ) -> SimTime {
        let phases = self.flash.timing.cost_of(&self.flash.geometry, OpKind::Erase, block.target);
        let end = now + held + phases.busy();
        self.occupy_channel(now, self.dies.channel_of(unit), held + phases.sent(), block.cause);
        self.occupy_unit(now, unit, end, block.cause);
        let open = self.open.may_exist();
        if open {
            self.put_under_way([now, end], unit, &phases, Manner::erase(), block.cause);
        }
        let course = OperationCourse { granted: now, first: now, end, freed: [now; 2], open };
        self.conclude(course, &phases, unit, OpKind::Erase, &[block], backends);
        end
    }

    /// Accounts are kept of an operation that is granted; its writes know when they are acknowledged, and when durable.
    #[inline(always)]
    fn conclude(
        &mut self,
        OperationCourse { granted, first, end, freed, open }: OperationCourse,
        phases: &OpPhases,
        unit: UnitId,
        kind: OpKind,
        pages: &[PageWrite],
        backends: &mut impl PageOwner<C>,
    ) {
        let (mut before, mut planes) = (None, 0);
        for (at, page) in pages.iter().enumerate() {
            let (begun, sent) = match pages.len() {
                1 => (first, first + phases.sent()),
                _ => self.flash.timing.sent(&page.target, first, before),
            };
            before = Some((begun, sent));
            let follows = match at.checked_sub(1).map(|before| pages[before].plane == page.plane) {
                None => Follows::Nothing,
                Some(false) => Follows::OtherPlane,
                Some(true) => Follows::SamePlane,
            };
            planes += u64::from(follows != Follows::SamePlane);
            let (array, measured) = (phases.array(), true);
            let times = PageTimes { granted, begun, sent, end, array, freed, measured, open };
            self.conclude_page::<Full>(times, unit, kind, *page, follows, backends);
        }
        if pages.len() > 1 {
            self.accounts.counters.multi_plane[kind as usize] += u64::from(planes > 1);
        }
    }

    /// Accounts are kept of a page of an operation, and its write knows when it is acknowledged, and when durable.
    #[inline(always)]
    fn conclude_page<M: ProgramMode>(
        &mut self,
        times: PageTimes,
        unit: UnitId,
        kind: OpKind,
        page: PageWrite,
        follows: Follows,
        backends: &mut impl PageOwner<C>,
    ) {
        let PageTimes { granted, begun, sent, end, measured, open, .. } = times;
        let first = follows == Follows::Nothing;
        debug_assert!(!backends.is_dead(page.plane), "nothing is done in a plane that has failed");
        self.note_programmed::<M>(unit, kind, page.target.to, first);
        self.accounts.counters.count(page.ftl, kind, page.cause);
        if !M::PLAIN && open {
            self.accounts.count_page(kind, &page, follows == Follows::SamePlane, &self.flash);
            return self.put_page_under_way(unit, kind, page, times, first);
        }
        // In a round everything has begun together, and blocks are erased together.
        let start = if first || kind == OpKind::Erase { granted } else { begun };
        self.account::<M>(granted, [start, end], kind, &page, follows, backends);
        if page.op.is_some() {
            let acknowledged = if self.flash.acknowledge == Acknowledge::Transfer { sent } else { end };
            if measured
                && self.probe.is_on()
                && (M::PLAIN || acknowledged >= self.queues[page.op].acknowledged)
            {
                let cached = !M::PLAIN && self.flash.commands.cache_program;
                self.probe.note_placed(page.op, &times, unit, acknowledged, cached);
            }
            self.queues[page.op].note_placed(granted, acknowledged, end);
        }
    }

    /// Tells the observers of an operation of one of its pages.
    #[inline(always)]
    fn account<M: ProgramMode>(
        &mut self,
        granted: SimTime,
        [start, end]: [SimTime; 2],
        kind: OpKind,
        page: &PageWrite,
        follows: Follows,
        backends: &mut impl PageOwner<C>,
    ) {
        let PageWrite { target, cause, guards, .. } = *page;
        if M::PLAIN {
            return self.accounts.note_work(target.to, kind, cause, target.sectors, &self.flash);
        }
        backends.guard(guards, end);
        self.accounts.count_page(kind, page, follows == Follows::SamePlane, &self.flash);
        if self.accounts.watch.is_some() {
            let ppn = target.to;
            let age = self.queues.age_of_write(page.op);
            let operation = LoggedOperation { age, ..LoggedOperation::new([start, end], ppn, kind, cause) };
            self.tell_watch(granted, &operation, backends);
        }
    }

    /// A channel and a die are taken for an operation: when its transfers begin, and when its array has worked.
    #[inline(always)]
    fn occupy<M: ProgramMode>(
        &mut self,
        now: SimTime,
        (channel, unit): (usize, UnitId),
        phases: &OpPhases,
        cached: bool,
        cause: Cause,
    ) -> (SimTime, SimTime) {
        if !M::PLAIN && self.flash.bus == BusUse::Rounds {
            return self.join_round(unit, phases, cause);
        }
        if !M::PLAIN && cached {
            return (now, self.start_cached(now, channel, unit, phases, cause));
        }
        let end = now + phases.busy();
        let held = if M::PLAIN { phases.sent() } else { phases.held(self.flash.bus) };
        self.occupy_channel(now, channel, held, cause);
        self.occupy_unit(now, unit, end, cause);
        (now, end)
    }

    /// The unit programs the page; with `first`, it starts to. An erase ends what it was programming.
    #[inline(always)]
    fn note_programmed<M: ProgramMode>(&mut self, unit: UnitId, kind: OpKind, ppn: Ppn, first: bool) {
        let state = &mut self.dies[unit];
        if kind == OpKind::Erase {
            state.programs = None;
            return;
        }
        if first {
            state.programs = Some(ppn);
        }
        self.errors.note_data(self.now, ppn);
        let state = &mut self.dies[unit];
        if !M::PLAIN && self.reads.together {
            if first {
                state.together.clear();
            }
            state.together.push(ppn);
        }
    }
}
