//! Reconstruction of units from the sums of a plan.

use super::command::Verb;
use super::contents::Contents;
use super::plan::{Role, Step};
use super::running::RunningPlan;
use std::collections::BTreeSet;

/// The sums of a row of a plan, from which units are reconstructed.
pub(super) struct RowOfPlan<'a, C> {
    pub(super) running: &'a RunningPlan,
    pub(super) row: usize,
    pub(super) sums: &'a [C],
}

impl<C: Contents> RowOfPlan<'_, C> {
    /// A unit, from the sums of the others: the parities that were read determine the missing data, and those a missing
    /// parity.
    pub(super) fn solve(&self, role: Role) -> C {
        let (code, unknown, parities) = (self.running.sums.code, self.unknown(), self.parities());
        let solved = code.solve(&parities, &unknown);
        let data = |n: usize| {
            let weights = solved[n].iter().flatten().zip(&parities);
            weights.fold(C::default(), |sum, (&weight, &j)| sum.plus(weight, self.sums[usize::from(j)]))
        };
        match role {
            Role::Lost(index) => unknown.iter().position(|&other| other == index).map_or(C::default(), data),
            Role::LostParity(number) => {
                let of = |n: usize| (code.coefficient(number, unknown[n]), data(n));
                let sum = self.sums[usize::from(number)];
                (0..unknown.len()).map(of).fold(sum, |sum, (factor, data)| sum.plus(factor, data))
            }
            _ => C::default(),
        }
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.running.steps.iter().filter(|step| step.is_in_row(self.row))
    }

    /// The data units that the plan lacks.
    fn unknown(&self) -> Vec<u8> {
        let lost = self.steps().filter_map(|step| match step.role {
            Role::Lost(index) => Some(index),
            _ => None,
        });
        lost.collect::<BTreeSet<u8>>().into_iter().collect()
    }

    /// The parities that its sums contain.
    fn parities(&self) -> Vec<u8> {
        if self.running.sums.peeked && self.row == 0 {
            return (0..self.running.sums.count).collect();
        }
        let read = self.steps().filter(|step| step.command.verb == Verb::Read);
        let parities = read.filter_map(|step| match step.role {
            Role::Parity(number) => Some(number),
            _ => None,
        });
        parities.collect::<BTreeSet<u8>>().into_iter().collect()
    }
}
