//! Which erase unit is reclaimed next: the victim policy proposes, wear leveling decides.

use super::units::{EraseUnits, Score};
use super::victim::{Candidates, ForeignVictim, SteadyState, SteadyUnits, Victim};
use super::wear::{Levelling, Limits, Remaining, Share, Wear, WearVerdict};
use super::{RandomStream, victim, wear};
use std::sync::Arc;

/// Units that wear leveling looks at before it takes one as it is.
const LIST: usize = 8;

/// The policies of a drive file for victims and wear, with their options.
#[derive(Clone, Debug)]
pub struct Policies {
    /// The victim policy.
    pub victim: Victim,
    /// The number of units that it considers.
    pub considered: u32,
    /// The policy that decides in the place of `victim`, if that is in a file.
    pub foreign: Option<Arc<dyn ForeignVictim>>,
    /// The policy of wear leveling.
    pub levelling: Levelling,
    /// Its options.
    pub limits: Limits,
    /// The erase budget of a block; none if blocks never wear out.
    pub erase_budget: Option<u32>,
}

impl Default for Policies {
    fn default() -> Self {
        Policies {
            victim: victim::VICTIMS[0],
            considered: 0,
            foreign: None,
            levelling: wear::LEVELLINGS[0],
            limits: Limits::default(),
            erase_budget: None,
        }
    }
}

/// The part of wear leveling in the choice of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Levelled {
    /// Nothing.
    #[default]
    No,
    /// Wear leveling passed over another unit, because that is worn.
    Instead,
    /// The unit is worn: after its erase, GC moves the data of this cold unit into it.
    Into(u32),
    /// The unit's data are cold and are being moved into a worn unit.
    Out,
    /// The unit was not chosen: its data are moved before they become unreadable.
    Refreshed,
}

/// The policies and their random numbers. A snapshot holds only the number of decisions, because the drive file that
/// loads it may have other policies.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Chooser {
    #[serde(skip)]
    policies: Policies,
    #[serde(skip)]
    victim_stream: RandomStream,
    #[serde(skip)]
    wear_stream: RandomStream,
    /// Decisions so far.
    turn: u64,
}

impl Chooser {
    /// A chooser that has decided nothing yet.
    #[must_use]
    pub fn new(policies: Policies) -> Self {
        let [victim_stream, wear_stream] = [RandomStream::stream(0, ""); 2];
        let mut this = Chooser { policies, victim_stream, wear_stream, turn: 0 };
        this.seed(1);
        this
    }

    /// The run's seed, from which the random numbers come.
    pub fn seed(&mut self, seed: u64) {
        self.victim_stream = RandomStream::stream(seed, "ftl.gc.victim");
        self.wear_stream = RandomStream::stream(seed, "ftl.wear.levelling");
    }

    /// Units of this kind in steady state under uniform random writes; none if the policy's equations are not known.
    #[must_use]
    pub fn steady_state(&self, units: &SteadyUnits) -> Option<SteadyState> {
        SteadyState::of(&self.policies.victim, self.policies.considered, units)
    }

    /// Whether wear leveling is on.
    #[must_use]
    pub fn levels(&self) -> bool {
        !self.policies.levelling.is_none()
    }

    /// Decisions so far: the place in the streams of random numbers.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Continues at that place.
    pub fn set_turn(&mut self, turn: u64) {
        self.turn = turn;
    }

    /// The unit that the victim policy would reclaim.
    #[must_use]
    pub fn proposed<U: EraseUnits>(&self, units: &U) -> Option<u32> {
        self.proposed_of(units, units.scores())
    }

    /// The unit with the fewest valid pages, which other policies than that of the drive may leave for later.
    #[must_use]
    pub fn emptiest<U: EraseUnits>(&self, units: &U) -> Option<u32> {
        U::Score::pick(&victim::GREEDY)(&self.candidates(units, units.scores()))
    }

    fn candidates<'a, U: EraseUnits>(&self, units: &'a U, valid: &'a [U::Score]) -> Candidates<'a, U::Score> {
        Candidates {
            valid,
            closed_at: units.closed_at(),
            closings: units.closings(),
            pages: units.worth(),
            first: units.first(),
            random: self.victim_stream.turn(self.turn),
            considered: self.policies.considered,
        }
    }

    fn proposed_of<U: EraseUnits>(&self, units: &U, valid: &[U::Score]) -> Option<u32> {
        let candidates = self.candidates(units, valid);
        match &self.policies.foreign {
            None => U::Score::pick(&self.policies.victim)(&candidates),
            Some(policy) => victim::python::pick(&**policy, &candidates, |unit| units.erases_of(unit)),
        }
    }

    /// The unit to reclaim, and the part of wear leveling in the choice.
    pub fn choose<U: EraseUnits>(&mut self, units: &U) -> Option<(u32, Levelled)> {
        self.turn += 1;
        if self.levels() {
            return self.choose_levelled(units);
        }
        self.proposed(units).map(|unit| (unit, Levelled::No))
    }

    #[cold]
    fn choose_levelled<U: EraseUnits>(&mut self, units: &U) -> Option<(u32, Levelled)> {
        let mut left = units.scores().to_vec();
        let mut chosen = None;
        for passed in 0..LIST {
            let Some(unit) = self.proposed_of(units, &left) else { break };
            chosen = Some((unit, if passed == 0 { Levelled::No } else { Levelled::Instead }));
            match self.judge(units, unit) {
                WearVerdict::Take => break,
                WearVerdict::Migrate(coldest) => {
                    chosen = Some((unit, Levelled::Into(coldest)));
                    break;
                }
                WearVerdict::Pass => left[unit as usize] = U::Score::NOT_CLOSED,
            }
            self.turn += 1;
        }
        chosen
    }

    /// The verdict of wear leveling on a unit that will be used again and that no victim policy has proposed.
    pub fn judged<U: EraseUnits>(&mut self, units: &U, unit: u32) -> WearVerdict {
        self.turn += 1;
        self.judge(units, unit)
    }

    fn judge<U: EraseUnits>(&self, units: &U, unit: u32) -> WearVerdict {
        let Policies { levelling, limits, .. } = &self.policies;
        let coldest = |share: Share| {
            let fresh = |other| other != unit && !share.exceeds(self.remaining(units, other));
            units.coldest(|other| fresh(other) && would_rest(units, other, unit))
        };
        let draw = self.wear_stream.turn(self.turn).bits(0);
        (levelling.judge)(&Wear {
            remaining: self.remaining(units, unit),
            draw,
            coldest: &coldest,
            limits: *limits,
        })
    }

    /// The remaining erases of a unit divided by the mean: of the budget or, without one, of twice the mean erase
    /// count. Without a budget, a unit that exceeds the mean by at most one erase counts as average.
    fn remaining<U: EraseUnits>(&self, units: &U, unit: u32) -> Remaining {
        let (erases, count) = (units.erases_of(unit), units.scores().len() as u64);
        match self.policies.erase_budget {
            Some(budget) => Remaining {
                left: u128::from(budget.saturating_sub(erases)) * u128::from(count),
                of: u128::from((u64::from(budget) * count).saturating_sub(units.erases())),
            },
            None => {
                let (total, own) = (units.erases(), u64::from(erases) * count);
                let fresh = u64::from(erases).saturating_sub(1) * count <= total;
                let left = if fresh { 2 * total } else { (2 * total).saturating_sub(own) };
                Remaining { left: left.into(), of: total.into() }
            }
        }
    }
}

/// Whether the worn unit would keep the other unit's data for at least a mean lifetime of data, which is the time in
/// which as many units are closed as exist. The estimate extrapolates the rate at which the cold unit has lost valid
/// pages so far.
fn would_rest<U: EraseUnits>(units: &U, other: u32, worn: u32) -> bool {
    let (valid, least) = (units.valid_in(other), units.valid_in(worn));
    let age = u64::from(units.closings().saturating_sub(units.closed_at()[other as usize]));
    let lost = u64::from(units.pages().saturating_sub(valid));
    age * u64::from(valid.saturating_sub(least)) >= lost * units.scores().len() as u64 && valid > least
}
