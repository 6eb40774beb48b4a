//! What stripes lack, for schemes that keep more of a page than its place in the stripe: old versions, or a log.

use super::layout::ParityLayout;
use super::stripes::Stripes;
use super::units::UnitSet;
use crate::engine::View;
use crate::kernel::{Bits, Todo};

/// The stripes that lack units.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct StripeConditions {
    /// Stripes whose parities lack one of their units.
    pub(crate) degraded: Bits,
    /// Stripes whose parities lack as many as they can work out.
    bare: Bits,
    /// Data pages that are unrecoverable now.
    pub(crate) lost: Bits,
    /// Stripes with units that can be rebuilt.
    pub(crate) todo: Todo,
}

impl StripeConditions {
    /// Looks at a stripe with one version of everything: what it lacks, and what of that is lost.
    pub(crate) fn examine<L: ParityLayout>(
        &mut self,
        stripes: &Stripes<L>,
        stripe: u32,
        view: &View<'_>,
        try_again: bool,
    ) {
        let coverage = stripes.codeword(stripe);
        let word = coverage.word();
        let missing = word.missing(|member, page| !view.has(member, page));
        let lacks = |index: &u8| !view.has(coverage.seats.data(*index), coverage.seats.page());
        let mut lacking = UnitSet::default();
        coverage.units.iter().filter(lacks).for_each(|index| lacking.add(index));
        let lost = if word.can_do_without(&missing) { UnitSet::default() } else { lacking };
        let answers = missing.units().iter().any(|unit| view.alive(unit.member));
        self.note(stripes, stripe, missing.count, lost, answers && try_again);
    }

    /// How many units the parities of a stripe lack, which data units are lost, and whether it can be helped.
    pub(crate) fn note<L: ParityLayout>(
        &mut self,
        stripes: &Stripes<L>,
        stripe: u32,
        missing: usize,
        lost: UnitSet,
        helps: bool,
    ) {
        let first = stripes.number(stripe, 0);
        Stripes::<L>::mark(&mut self.lost, first, UnitSet::range(0, stripes.data()), false);
        Stripes::<L>::mark(&mut self.lost, first, lost, true);
        self.degraded.set(stripe, missing > 0);
        self.bare.set(stripe, missing >= usize::from(L::PARITIES));
        self.todo.set(stripe, helps && lost.is_empty());
    }

    /// Pages of a bare stripe that are not lost already: what one more failure would cost.
    pub(crate) fn at_risk<L: ParityLayout>(&self, stripes: &Stripes<L>, stripe: u32) -> UnitSet {
        if !self.bare.has(stripe) {
            return UnitSet::default();
        }
        stripes.written(stripe).without(stripes.units(&self.lost, stripe))
    }
}
