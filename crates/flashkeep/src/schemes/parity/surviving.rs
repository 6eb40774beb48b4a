//! Which units of a stripe exist after a power loss, and how they fit together.

use super::recover::PagesOfStripe;
use super::units::UnitSet;
use crate::engine::{Code, Contents, Role, Token};
use std::cmp::Reverse;

/// The most sets of units of one size that are tried as missing.
const MOST_SETS: u64 = 4096;

/// The units of a stripe, as their spare areas say.
pub(super) struct SurvivingUnits {
    pub(super) code: Code,
    /// Known zeros as 0.
    pub(super) data: Vec<Token>,
    /// Units of members that do not answer, and those that are not there.
    pub(super) dead: Vec<u8>,
    pub(super) absent: Vec<u8>,
    /// Those of them in whose place something else is.
    pub(super) misplaced: UnitSet,
    /// The parities that are there.
    pub(super) parities: Vec<(Role, Token)>,
}

/// The uncertain facts about a stripe's data units.
#[derive(Clone, Copy)]
struct Doubts<'a> {
    were_lost: UnitSet,
    owed: UnitSet,
    names: PagesOfStripe<'a>,
}

/// How the units of a stripe fit together.
#[derive(Default)]
pub(super) struct StripeSolution {
    /// The parities that fit.
    pub(super) parities: Vec<Role>,
    /// Units that are not there, and what they were.
    solved: Vec<(u8, Token)>,
    /// What cannot be worked out.
    pub(super) lost: Vec<u8>,
}

impl StripeSolution {
    /// Whether fewer units are lost, or as many and more parities fit, or as many of both, and the first ones.
    fn is_better_than(&self, other: &StripeSolution) -> bool {
        let numbers =
            |of: &StripeSolution| of.parities.iter().filter_map(|role| role.parity()).collect::<Vec<_>>();
        let key = |of: &StripeSolution| (of.lost.len(), Reverse(of.parities.len()), numbers(of));
        key(self) < key(other)
    }

    /// Data units that are no known zeros.
    pub(super) fn written(&self, remains: &SurvivingUnits) -> UnitSet {
        let mut units = UnitSet::default();
        let there = (0..).zip(&remains.data).filter(|(_, token)| **token != Token::default());
        there.for_each(|(index, _)| units.add(index));
        let solved = self.solved.iter().filter(|(_, token)| *token != Token::default());
        solved.for_each(|&(index, _)| units.add(index));
        self.lost.iter().for_each(|&index| units.add(index));
        units
    }
}

impl SurvivingUnits {
    /// The fewest lost units, and with these the most parities that fit. A parity over a unit that `were_lost` and
    /// does not exist is of no use. Where no parity fits, a unit that does not exist is a known zero, unless its
    /// member is `owed` it.
    pub(super) fn settle(
        &self,
        were_lost: UnitSet,
        owed: UnitSet,
        names: PagesOfStripe<'_>,
    ) -> StripeSolution {
        let doubts = Doubts { were_lost, owed, names };
        if let Some(solution) = self.fit(doubts) {
            return solution;
        }
        // Where nothing else is there, nothing was.
        let blocked = self.missing().any(|index| were_lost.has(index));
        let data = self.data.iter().all(|token| *token == Token::default());
        let empty = !blocked && self.parities.is_empty() && data;
        let is_lost = |index: &u8| {
            let dead = !empty && self.dead.contains(index);
            dead || owed.has(*index) || were_lost.has(*index)
        };
        StripeSolution { lost: self.missing().filter(is_lost).collect(), ..StripeSolution::default() }
    }

    /// The units that are not there.
    fn missing(&self) -> impl Iterator<Item = u8> {
        self.dead.iter().chain(&self.absent).copied()
    }

    /// The best solution by which some parity fits.
    fn fit(&self, doubts: Doubts<'_>) -> Option<StripeSolution> {
        let says: Vec<Token> =
            self.parities.iter().map(|&(role, token)| self.syndrome(role, token)).collect();
        let mut best: Option<StripeSolution> = None;
        for unknown in self.unknowns(doubts.owed) {
            for used in subsets(self.parities.len(), unknown.len()) {
                let Some(found) = self.solve(&unknown, &used, &says, doubts) else { continue };
                if found.lost.is_empty() && found.parities.len() == self.parities.len() {
                    return Some(found);
                }
                if best.as_ref().is_none_or(|best| found.is_better_than(best)) {
                    best = Some(found);
                }
            }
        }
        best
    }

    /// Units to be worked out: those of members that do not answer, and of the others that are not there none, one, … as
    /// many as there are parities. Where these would be very many sets, only those that are owed. With local groups, not
    /// all members that do not answer need be those of one group.
    fn unknowns(&self, owed: UnitSet) -> Vec<Vec<u8>> {
        let due: Vec<u8> = self.absent.iter().copied().filter(|&index| owed.has(index)).collect();
        let fewest = if self.code.has_groups() { 0 } else { self.dead.len() };
        let mut sets = Vec::new();
        // No more units can be worked out than there are parities.
        let sizes = (fewest..=self.dead.len().min(self.parities.len())).rev();
        for dead in sizes.flat_map(|size| chosen(&self.dead, size)) {
            for size in 0..=self.parities.len() - dead.len() {
                let many = binomial(self.absent.len() as u64, size as u64) > MOST_SETS;
                let from = if size > 2 && many { &due } else { &self.absent };
                sets.extend(chosen(from, size).into_iter().map(|more| [dead.as_slice(), &more].concat()));
            }
        }
        sets
    }

    /// What a parity and the data that are there say together.
    fn syndrome(&self, role: Role, parity: Token) -> Token {
        let data = (0..).zip(&self.data);
        data.fold(parity, |sum, (index, &token)| sum.plus(self.coefficient(role, index), token))
    }

    fn coefficient(&self, role: Role, index: u8) -> u8 {
        role.parity().map_or(0, |number| self.code.coefficient(number, index))
    }

    /// The unknown units by what the parities that are `used` say, and all parities that fit to these: at least one. Each
    /// unit has to be the page that belongs there, or a known zero. Other units that are not there are zeros if a parity
    /// that fits covers them.
    fn solve(
        &self,
        unknown: &[u8],
        used: &[usize],
        says: &[Token],
        doubts: Doubts<'_>,
    ) -> Option<StripeSolution> {
        let Doubts { were_lost, owed, names } = doubts;
        let numbers: Vec<u8> = used.iter().filter_map(|&at| self.parities[at].0.parity()).collect();
        let solved = self.code.solve(&numbers, unknown).into_iter().zip(unknown).map(|(weights, &index)| {
            let sum = used.iter().zip(weights?);
            let token = sum.fold(Token::default(), |sum, (&at, weight)| sum.plus(weight, says[at]));
            names.fits(index, token).then_some((index, token))
        });
        let solved: Vec<(u8, Token)> = solved.collect::<Option<_>>()?;
        let open =
            |&index: &u8| were_lost.has(index) || self.dead.contains(&index) && !unknown.contains(&index);
        let fits = |role: Role, says: Token| {
            let rest = solved
                .iter()
                .fold(says, |sum, &(index, token)| sum.plus(self.coefficient(role, index), token));
            rest == Token(0) && !self.missing().filter(open).any(|index| self.coefficient(role, index) != 0)
        };
        let fitting = self.parities.iter().zip(says).filter(|&(&(role, _), &says)| fits(role, says));
        let parities: Vec<Role> = fitting.map(|(&(role, _), _)| role).collect();
        let is_said = |index: u8| parities.iter().any(|&role| self.coefficient(role, index) != 0);
        let may_be = |index: u8| were_lost.has(index) || owed.has(index) || self.dead.contains(&index);
        let unsaid = self.missing().filter(|&index| may_be(index) && !is_said(index));
        let lost = unsaid.collect();
        (!parities.is_empty()).then_some(StripeSolution { parities, solved, lost })
    }
}

/// These sets of units.
fn chosen(units: &[u8], size: usize) -> Vec<Vec<u8>> {
    let sets = subsets(units.len(), size).into_iter();
    sets.map(|set| set.into_iter().map(|at| units[at]).collect()).collect()
}

/// The sets of `size` of the numbers below `count`, in order.
fn subsets(count: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut sets = Vec::new();
    for smaller in subsets(count, size - 1) {
        let next = smaller.last().map_or(0, |&last| last + 1);
        sets.extend((next..count).map(|at| smaller.iter().copied().chain([at]).collect::<Vec<_>>()));
    }
    sets
}

/// The number of these sets.
fn binomial(count: u64, size: u64) -> u64 {
    if size > count { 0 } else { (0..size).fold(1, |n: u64, k| n.saturating_mul(count - k) / (k + 1)) }
}
