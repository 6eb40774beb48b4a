//! `[errors]`: the error model that its keys describe.

use super::check::{Check, Resolved};
use super::options::fixes_places;
use crate::error::DriveError;
use crate::flash::errors::ErrorsSpec;
use crate::flash::{ErrorModel, PageTypes};
use crate::ftl::Copyback;
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
        if self.spec.ftl.gc.copyback != Copyback::Off {
            let text = "errors.model: pages that are copied back are not decoded, and the model does not take their errors along";
            self.warnings.push(text.into());
        }
        if (model.reclaim_reads.is_some() || model.refresh_days.is_some()) && fixes_places(&self.spec) {
            let text = "errors.maintenance: reclaim_reads and refresh_days have no effect if the scheme or the map determines \
                        each page's place: the drive moves no pages by itself";
            self.warnings.push(text.into());
        }
        Ok(Some(Arc::new(model)))
    }
}
