//! The view of erase units for policies.

use super::victim::{Candidates, Victim};

/// The number of valid pages of an erase unit, or a value for units that are not closed.
pub trait Score: Copy + Ord + Into<u32> + 'static {
    /// Scores from here on mark units that cannot be reclaimed: erased, open, or in use otherwise.
    const NOT_CLOSED: Self;
    /// The greatest.
    const MAX: Self;

    /// A victim policy over such scores.
    fn pick(victim: &Victim) -> fn(&Candidates<'_, Self>) -> Option<u32>;
}

impl Score for u16 {
    const NOT_CLOSED: u16 = 1 << 15;
    const MAX: u16 = u16::MAX;

    fn pick(victim: &Victim) -> fn(&Candidates<'_, u16>) -> Option<u32> {
        victim.pick
    }
}

impl Score for u32 {
    const NOT_CLOSED: u32 = 1 << 31;
    const MAX: u32 = u32::MAX;

    fn pick(victim: &Victim) -> fn(&Candidates<'_, u32>) -> Option<u32> {
        victim.pick_wide
    }
}

/// Erase units that compete for garbage collection, numbered from 0: the blocks of a plane, superblocks, log blocks.
pub trait EraseUnits {
    /// The type of valid counts.
    type Score: Score;

    /// Each unit's valid pages; [`Score::NOT_CLOSED`] or more for one that cannot be reclaimed.
    fn scores(&self) -> &[Self::Score];

    /// When each unit was closed: a count that grows.
    fn closed_at(&self) -> &[u32];

    /// The present value of that count.
    fn closings(&self) -> u32;

    /// Fewer valid pages than this, and reclaiming a unit gains something.
    fn worth(&self) -> Self::Score;

    /// Among equal units a policy takes the first one from here on.
    fn first(&self) -> u32 {
        0
    }

    /// Pages of a unit.
    fn pages(&self) -> u32;

    /// The number of valid pages of a closed unit, without failed pages, which its score includes.
    fn valid_in(&self, unit: u32) -> u32 {
        self.scores()[unit as usize].into()
    }

    /// How often a unit was erased.
    fn erases_of(&self, unit: u32) -> u32;

    /// How often all of them were erased.
    fn erases(&self) -> u64;

    /// The closed unit with a valid page that was closed longest ago, of those that `accepts`.
    fn coldest(&self, accepts: impl Fn(u32) -> bool) -> Option<u32> {
        let units = self.scores().iter().zip(self.closed_at()).zip(0..);
        let cold = units.filter(|&((&score, _), unit)| {
            let holds = score < Self::Score::NOT_CLOSED && score.into() > 0 && self.valid_in(unit) > 0;
            holds && accepts(unit)
        });
        cold.min_by_key(|((_, closed), _)| **closed).map(|(_, unit)| unit)
    }
}
