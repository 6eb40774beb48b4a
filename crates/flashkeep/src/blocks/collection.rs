//! The course of a collection, for the blocks of a plane as for the superblocks of a log.
//!
//! | phase | decided here | the owner's part |
//! |---|---|---|
//! | it begins | [`GcThresholds`]: how little room is left, also in idle moments. [`Chooser`](super::Chooser): the victim | counts the room that is left; knows what a victim would gain |
//! | copies | [`Collection::next`]: the victim's pages in order, each if it is current when its turn comes | makes the copy: a drive with flash operations, a log with plans that have parity |
//! | the erase | [`Collection::next`]: no current page is left | waits for reads that are owed and programs that are not durable; retires the unit after its last erase |
//! | it ends | [`Collection::follower`]: cold data that move into the erased unit | gives the rest of the destination to the host |

use super::Levelled;
use crate::device::command::Cause;
use serde::{Deserialize, Serialize};

/// How little room is left when units are collected, in what their owner counts: free pages, or free units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcThresholds {
    /// With less than this, units are collected.
    pub below: u32,
    /// With less than this, they are collected in idle moments; at least `below`.
    soft_below: u32,
}

impl GcThresholds {
    /// With a second threshold for idle moments, if that is higher.
    #[must_use]
    pub fn new(below: u32, soft_below: u32) -> Self {
        GcThresholds { below, soft_below: soft_below.max(below) }
    }

    /// Whether units must be collected.
    #[must_use]
    #[inline]
    pub fn is_low(&self, left: u32) -> bool {
        left < self.below
    }

    /// Whether they are, at least in idle moments.
    #[must_use]
    #[inline]
    pub fn is_low_for_idle(&self, left: u32) -> bool {
        left < self.soft_below
    }

    /// Whether units are collected in idle moments before they have to be.
    #[must_use]
    pub fn uses_idle_time(&self) -> bool {
        self.soft_below > self.below
    }

    /// From now on idle moments are not used.
    pub fn end_idling(&mut self) {
        self.soft_below = self.below;
    }
}

/// Turns of collection: of several parts with redundancy between them, one collects at a time, so that what it delays can
/// be read around it.
#[derive(Clone, Copy, Debug)]
pub struct GcTurns {
    /// The length of a turn, ns.
    length: u64,
    /// Below this number of free pages, a unit does not wait for its turn.
    hard_below: u32,
    /// Which of how many parts all units are in, if that is not for their owner to say.
    place: Option<[u64; 2]>,
    /// Collections that have ended in their turn, and out of it.
    ended: [u64; 2],
}

impl GcTurns {
    /// Turns of this length, ns.
    #[must_use]
    pub fn new(length: u64, hard_below: u32) -> Self {
        GcTurns { length: length.max(1), hard_below, place: None, ended: [0; 2] }
    }

    /// All units are in part `part` of `parts`.
    pub fn take_place(&mut self, part: u64, parts: u64) {
        self.place = Some([part, parts]);
    }

    /// Whether a unit has so few free pages that it does not wait.
    #[must_use]
    pub fn is_urgent(&self, free: u32) -> bool {
        free < self.hard_below
    }

    /// Whether it is the turn of part `part` of `parts` at `now`, and remains so for `span`, both in ns; a step that is
    /// longer than a turn begins within the turn's first half.
    #[must_use]
    pub fn is_on(&self, now: u64, span: u64, part: u64, parts: u64) -> bool {
        let [part, parts] = self.place.unwrap_or([part, parts]);
        let left = self.length - now % self.length;
        (now / self.length) % parts.max(1) == part && left >= span.min(self.length.div_ceil(2))
    }

    /// A collection has ended.
    pub fn note_end(&mut self, in_turn: bool) {
        self.ended[usize::from(!in_turn)] += 1;
    }

    /// Collections that have ended in their turn, and out of it.
    #[must_use]
    pub fn ended(&self) -> [u64; 2] {
        self.ended
    }
}

/// Erase units whose current pages can be found.
pub trait CollectedUnits {
    /// The first page of a unit, from this one on, whose newest version is there.
    fn next_current(&self, unit: u32, from: u32) -> Option<u32>;
}

/// A unit that is being collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// The unit.
    pub victim: u32,
    /// Its next page that has not been examined.
    cursor: u32,
    /// The part of wear leveling in the choice.
    pub levelled: Levelled,
}

impl Collection {
    /// Of a unit that was chosen.
    #[must_use]
    pub fn of((victim, levelled): (u32, Levelled)) -> Self {
        Collection { victim, cursor: 0, levelled }
    }

    /// The next page to copy; none if the unit can be erased.
    #[must_use]
    #[inline]
    pub fn next(&self, units: &impl CollectedUnits) -> Option<u32> {
        units.next_current(self.victim, self.cursor)
    }

    /// All pages before this one have been examined.
    #[inline]
    pub fn pass(&mut self, page: u32) {
        self.cursor = page;
    }

    /// Whether a page has been examined.
    #[must_use]
    #[inline]
    pub fn has_passed(&self, page: u32) -> bool {
        page < self.cursor
    }

    /// Examines all pages again.
    pub fn begin_anew(&mut self) {
        self.cursor = 0;
    }

    /// The cause of its copies and of its erase.
    #[must_use]
    #[inline]
    pub fn cause(&self) -> Cause {
        match self.levelled {
            Levelled::No | Levelled::Into(_) => Cause::Gc,
            Levelled::Instead => Cause::Wear,
            Levelled::Out => Cause::Migrate,
            Levelled::Refreshed => Cause::Refresh,
        }
    }

    /// Whether its pages move into a worn unit.
    #[must_use]
    #[inline]
    pub fn migrates(&self) -> bool {
        self.levelled == Levelled::Out
    }

    /// The collection that follows the erase, into the erased unit: of the coldest unit, if wear leveling wants that.
    #[must_use]
    pub fn follower(&self) -> Option<Collection> {
        let Levelled::Into(coldest) = self.levelled else { return None };
        Some(Collection::of((coldest, Levelled::Out)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units of 8 pages, a bit each for those that are current.
    struct Masks(Vec<u8>);

    impl CollectedUnits for Masks {
        fn next_current(&self, unit: u32, from: u32) -> Option<u32> {
            (from..8).find(|page| self.0[unit as usize] >> page & 1 != 0)
        }
    }

    #[test]
    fn pages_are_copied_in_order_if_they_are_current_when_their_turn_comes() {
        let mut units = Masks(vec![0xFF, 0b1101_0010]);
        let mut collection = Collection::of((1, Levelled::No));
        let mut copied = Vec::new();
        while let Some(page) = collection.next(&units) {
            collection.pass(page + 1);
            copied.push(page);
            // The host writes page 6 meanwhile.
            units.0[1] &= !(1 << 6);
        }
        assert_eq!(copied, [1, 4, 7]);
        assert!(collection.has_passed(7) && collection.next(&units).is_none());
        collection.begin_anew();
        assert_eq!(collection.next(&units), Some(1));
    }

    #[test]
    fn a_migration_follows_the_erase_of_a_worn_unit() {
        let worn = Collection::of((3, Levelled::Into(5)));
        let cold = worn.follower().expect("a migration");
        assert_eq!((cold.victim, cold.migrates(), cold.cause()), (5, true, Cause::Migrate));
        assert_eq!((worn.cause(), cold.follower()), (Cause::Gc, None));
        let instead = Collection::of((3, Levelled::Instead));
        assert_eq!((instead.cause(), instead.follower()), (Cause::Wear, None));
    }

    #[test]
    fn parts_collect_in_turns() {
        let mut turns = GcTurns::new(100, 7);
        let on = |turns: &GcTurns, now, span| {
            (0..3).map(|part| turns.is_on(now, span, part, 3)).collect::<Vec<_>>()
        };
        assert_eq!(on(&turns, 0, 20), [true, false, false]);
        assert_eq!(on(&turns, 180, 20), [false, true, false]);
        assert_eq!(on(&turns, 181, 20), [false, false, false], "the step would last into the next turn");
        assert_eq!(on(&turns, 250, 500), [false, false, true], "a long step in the first half");
        assert_eq!(on(&turns, 251, 500), [false, false, false]);
        assert!(turns.is_urgent(6) && !turns.is_urgent(7));
        turns.take_place(1, 2);
        assert!(turns.is_on(100, 0, 0, 3) && !turns.is_on(200, 0, 2, 3), "a drive of an array has one place");
    }

    #[test]
    fn idle_moments_are_used_above_the_threshold_only() {
        let mut thresholds = GcThresholds::new(4, 6);
        let found = |thresholds: &GcThresholds| {
            [3, 4, 5, 6].map(|left| (thresholds.is_low(left), thresholds.is_low_for_idle(left)))
        };
        assert_eq!(found(&thresholds), [(true, true), (false, true), (false, true), (false, false)]);
        assert!(thresholds.uses_idle_time() && !GcThresholds::new(4, 0).uses_idle_time());
        thresholds.end_idling();
        assert_eq!(found(&thresholds), [(true, true), (false, false), (false, false), (false, false)]);
    }
}
