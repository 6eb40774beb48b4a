//! What stripes on the drives lack, beside the log.

use crate::engine::View;
use crate::kernel::{Bits, Todo};
use crate::schemes::parity::{Fixed, Stripes, UnitSet};

/// The stripes that lack units.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct StripeConditions {
    /// Stripes that lack one of their units.
    pub(super) degraded: Bits,
    /// Data pages on the drives that are unrecoverable now.
    pub(super) lost: Bits,
    /// Stripes with units that can be rebuilt.
    pub(super) todo: Todo,
}

impl StripeConditions {
    /// Looks at a stripe: what it lacks, and what of that is lost.
    pub(super) fn examine(
        &mut self,
        stripes: &Stripes<Fixed>,
        stripe: u32,
        view: &View<'_>,
        try_again: bool,
    ) {
        let coverage = stripes.codeword(stripe);
        let word = coverage.word();
        let missing = word.missing(|member, page| !view.has(member, page));
        let lacks = |index: &u8| !view.has(coverage.seats.data(*index), coverage.seats.page());
        let mut lost = UnitSet::default();
        if !word.can_do_without(&missing) {
            coverage.units.iter().filter(lacks).for_each(|index| lost.add(index));
        }
        let first = stripes.number(stripe, 0);
        Stripes::<Fixed>::mark(&mut self.lost, first, UnitSet::range(0, stripes.data()), false);
        Stripes::<Fixed>::mark(&mut self.lost, first, lost, true);
        self.degraded.set(stripe, missing.count > 0);
        let answers = missing.units().iter().any(|unit| view.alive(unit.member));
        self.todo.set(stripe, answers && try_again && lost.is_empty());
    }

    /// Pages of a degraded stripe that are not lost already: what one more failure would cost.
    pub(super) fn at_risk(&self, stripes: &Stripes<Fixed>, stripe: u32) -> UnitSet {
        if !self.degraded.has(stripe) {
            return UnitSet::default();
        }
        stripes.written(stripe).without(stripes.units(&self.lost, stripe))
    }
}
