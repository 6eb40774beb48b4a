//! `[errors]`: the error model that its keys describe.

use super::check::{Check, Resolved};
use crate::drive::ErrorCounts;
use crate::error::DriveError;
use crate::flash::errors::{Conditions, ErrorsSpec};
use crate::flash::{ErrorModel, PageTypes};
use crate::schemes::WornFlash;
use flashkeep_errors::lifetime::{self, MOST_CYCLES};
use flashkeep_errors::stripe::Stripe;
use std::sync::Arc;

impl Resolved {
    /// The error models of the drive, or of all drives of an array.
    pub fn error_models(&self) -> impl Iterator<Item = &ErrorModel> + Clone {
        let members: Vec<&ErrorModel> = self.array.iter().flat_map(Resolved::all_error_models).collect();
        self.errors.as_deref().into_iter().chain(members)
    }

    fn all_error_models(&self) -> Vec<&ErrorModel> {
        self.error_models().collect()
    }

    /// What becomes of a page of `bytes` that redundancy can restore, in flash with these errors; none without redundancy.
    #[must_use]
    pub fn protected_page(
        &self,
        model: &ErrorModel,
        bytes: u64,
        conditions: Conditions,
    ) -> Option<ProtectedPage> {
        let user_bits = f64::from(model.chain.code().user_bits());
        let at = |conditions: Conditions, worn: f64| {
            let failures = model.failures(bytes, model.rber.at(conditions, 1.0));
            self.left_by_redundancy(model, worn, failures)
        };
        let ([codeword, page], stripe) = at(conditions, conditions.cycles);
        let (target, days) = model.lifetime;
        let exceeds = |cycles: u64| {
            let conditions = Conditions { cycles: cycles as f64, days, reads: 0.0 };
            // Stripes that get narrower with wear are narrowest when the flash is worn out.
            at(conditions, MOST_CYCLES as f64).0[0] / user_bits > target
        };
        Some(ProtectedPage {
            stripe: stripe?,
            loss: page,
            uber: codeword / user_bits,
            lifetime_cycles: lifetime::first_where(exceeds),
        })
    }

    /// The share of uncorrectable codewords that redundancy cannot restore either, in reads with these counts from flash
    /// with these errors and P/E cycles; none without redundancy. The other pages of a stripe have the RBER of the page that is
    /// read.
    #[must_use]
    pub fn share_left_by_redundancy(
        &self,
        model: &ErrorModel,
        cycles: f64,
        counts: &ErrorCounts,
    ) -> Option<f64> {
        let bytes = self.page_bytes();
        self.left_by_redundancy(model, cycles, [0.0; 2]).1?;
        let (mut all, mut left) = (0.0, 0.0);
        for (rber, reads) in counts.reads_by_rber() {
            let failures = model.failures(bytes, rber);
            all += reads as f64 * failures[0];
            left += reads as f64 * self.left_by_redundancy(model, cycles, failures).0[0];
        }
        Some(if all > 0.0 { left / all } else { 0.0 })
    }

    /// The probabilities that a codeword, and a page, are lost, from those that no stage corrects them, and the pages of the
    /// outermost stripe: redundancy within members restores what it can before that around them.
    fn left_by_redundancy(
        &self,
        errors: &ErrorModel,
        cycles: f64,
        failures: [f64; 2],
    ) -> ([f64; 2], Option<Stripe>) {
        let (failures, within) = match self.array.iter().find(|member| member.error_models().next().is_some())
        {
            Some(member) => member.left_by_redundancy(errors, cycles, failures),
            None => (failures, None),
        };
        let worn =
            WornFlash { redundancy: &self.spec.redundancy, errors, cycles, page_bytes: self.page_bytes() };
        let Some(stripe) = self.scheme().stripe(self.members(), &worn) else { return (failures, within) };
        let unrestored = stripe.unrestored(failures[1]);
        (failures.map(|failure| failure * unrestored), Some(stripe))
    }
}

/// What becomes of one page that redundancy can restore.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProtectedPage {
    /// The pages that restore it.
    pub stripe: Stripe,
    /// The probability that it is lost: no stage corrects it, nor enough of the others.
    pub loss: f64,
    /// Lost codewords for each bit of data read.
    pub uber: f64,
    /// P/E cycles until that exceeds its target.
    pub lifetime_cycles: Option<u64>,
}

impl Check<'_> {
    /// Builds the error model, and warns where it extrapolates or leaves something out. `stated` is `[errors]` before
    /// options without an effect were removed: with the model off its values are checked as well, because they describe
    /// the drive once somebody switches the model on.
    pub(super) fn errors(
        &mut self,
        stated: &ErrorsSpec,
        types: &PageTypes,
    ) -> Result<Option<Arc<ErrorModel>>, DriveError> {
        let errors = &self.spec.errors;
        let model = ErrorModel::of(&stated.switched_on())
            .map_err(|(key, message)| self.wrong(&[&format!("errors.{key}"), "errors.model"], message))?;
        let Some(model) = model else { return Ok(None) };
        let (factors, there) = (model.type_factors().len(), types.read_ns.len());
        if factors > 1 && factors != there {
            let message = format!(
                "{factors} factors for {there} types of pages: one each, or one for all, is accepted"
            );
            return Err(self.wrong(&["errors.type_factors", "flash.timing.read_us"], message));
        }
        if !errors.is_on() {
            return Ok(None);
        }
        if !model.is_in_fitted_range() {
            let text = format!(
                "errors.model = \"{}\": the RBER is extrapolated, beyond the P/E cycles or the retention that it was fitted \
                 to or measured at",
                errors.model
            );
            self.warnings.push(text);
        }
        Ok(Some(Arc::new(model)))
    }
}
