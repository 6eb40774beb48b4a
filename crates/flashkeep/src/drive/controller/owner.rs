//! What the controller asks of the backends, and tells them.

use super::{Controller, DriveOp, Next, ProgramMode, Taker};
use crate::drive::LoggedOperation;
use crate::engine::Cause;
use crate::flash::{PlaneId, Ppn, UnitId};
use crate::ftl::GcRun;
use crate::kernel::{Id, SimTime, Span};
use std::ops::Range;

/// What never changes of the backends of a drive.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct OwnerRules {
    /// Whether they hold physical pages, and not FTLs.
    pub physical: bool,
    /// Whether writes wait for others, to fill a word line together.
    pub gathers_writes: bool,
    /// Whether planes are collected also while nothing waits for them.
    pub collects_in_background: bool,
    /// How the steps of a collection follow each other.
    pub run: GcRun,
    /// The time to record the place of a write.
    pub time_to_note: Span,
}

/// What owns the pages of the flash: maps, blocks, collections. The controller, which owns time, asks it what to program
/// or to collect next when a unit and its channel are free, and tells it what was granted, and when that is over.
pub(in crate::drive) trait PageOwner<C>: Sized {
    // ---------------------------------------------------------------- what is programmed next

    /// The plane of a die queue that would take the first write of its write queue, and whose turn it is then.
    fn plane_for<M: ProgramMode>(
        &self,
        die_queue: usize,
        controller: &Controller<C>,
    ) -> Option<(PlaneId, u32)>;

    /// The write queue that a die queue serves.
    fn write_queue_of(&self, die_queue: usize) -> u32;

    /// A die queue takes what comes first in its write queue, and with it what else one command can take.
    fn grant_next<M: ProgramMode>(
        &mut self,
        now: SimTime,
        channel: usize,
        taker: Taker,
        controller: &mut Controller<C>,
    ) -> UnitId;

    /// No write can start now: when that may change without another event.
    fn writes_later(&self, now: SimTime, channel: usize, controller: &Controller<C>) -> Next;

    /// Writes that have waited for others go to the channels in turn, whichever of these has looked first.
    fn offer_gathered(&mut self, now: SimTime, channel: usize, controller: &mut Controller<C>);

    /// Deals out the writes that the channels of a gang take next; the write queues that this has put in another order.
    fn deal_out(&self, gang: &Range<usize>, controller: &mut Controller<C>) -> Vec<u32>;

    /// A read has come: whether its channel is visited later, when all parts of its request have come.
    fn visits_later(&mut self, channel: usize) -> bool;

    // ---------------------------------------------------------------- what is collected next

    /// The next step of the collections that wait for a unit; the unit that does it, one of the `idle` ones.
    fn collect(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        idle: u64,
        controller: &mut Controller<C>,
    ) -> Option<UnitId>;

    /// The cause of work in idle time; none if units do nothing then.
    fn idle_work(&self) -> Option<Cause>;

    /// The next step of that of a unit and its home: the unit that does it, if it can be done now; none where there is
    /// nothing to do.
    fn work_softly(
        &mut self,
        now: SimTime,
        channel: usize,
        units: [UnitId; 2],
        idle: u64,
        controller: &mut Controller<C>,
    ) -> Option<Option<UnitId>>;

    /// Why a plane is collected.
    fn moves_because(&self, plane: PlaneId) -> Cause;

    /// A page of the block that a plane collects now or next, and how many valid pages that has.
    fn left_to_collect(&self, now: SimTime, plane: PlaneId) -> Option<(Ppn, u32)>;

    // ---------------------------------------------------------------- what is over

    /// A part of an operation that begins at `begun` has been granted.
    fn note_flight(&mut self, now: SimTime, begun: SimTime, operation: &LoggedOperation);

    /// The block of an older version is not erased before its successor is programmed.
    fn guard(&mut self, block: Option<usize>, until: SimTime);

    /// The program of a write of a physical page is over, whose end was open.
    fn note_over(&mut self, sequence: u64);

    /// The first block failed in an erase that ends then.
    fn note_death(&mut self, end: SimTime);

    /// A read that no request waits for is over at `end`, and found its page.
    fn end_scrub(&mut self, op: Id<DriveOp>, end: SimTime, controller: &mut Controller<C>);

    /// Such a read has ended with its part of the flash.
    fn scrub_on(&mut self, now: SimTime, controller: &mut Controller<C>);

    // ---------------------------------------------------------------- pages and blocks

    /// Whether a read of a page ends in an error.
    fn is_unreadable(&self, ppn: Ppn) -> bool;

    /// From now on that is so.
    fn lose_page(&mut self, ppn: Ppn);

    /// A read has found data that have to be moved soon.
    fn ask_for_refresh(&mut self, now: SimTime, ppn: Ppn, controller: &mut Controller<C>);

    /// The erases of a block, and those before time 0.
    fn erases_of(&self, plane: PlaneId, block: u32) -> [u32; 2];

    /// The logical page that an operation reads, programs or moves; none if that is an old version, or a physical page
    /// that a scheme has placed.
    fn logical_page(&self, operation: &LoggedOperation) -> Option<u32>;

    /// Whether a plane has failed as a whole: nothing is done in it.
    fn is_dead(&self, plane: PlaneId) -> bool;

    /// Whether a page has been programmed since its block was erased, as far as that is known.
    fn is_programmed(&self, ppn: Ppn) -> bool;
}
