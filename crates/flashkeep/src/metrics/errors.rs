//! Errors of flash: what error correction and redundancy had to do.

use super::counts::per;
use super::{IfAny, figures, plain, unit};
use crate::config::Resolved;
use crate::drive::ErrorCounts;
use crate::flash::ErrorModel;
use crate::flash::errors::Conditions;
use flashkeep_errors::field::Frailty;
use flashkeep_errors::lifetime;

figures! {
    /// Errors of flash.
    pub struct ErrorFigures {
        /// Raw bit error rates of the pages read.
        rber: RberFigures => plain(),
        /// Retries for each page read.
        retries_per_read: Option<f64> => unit("retries").lower().row_always("retries per page read"),
        /// Pages that hard decoding corrected after at least one retry.
        corrected_reads: u64 => unit("pages").lower().row_always("pages corrected by retries"),
        /// Pages that soft decoding corrected.
        soft_reads: u64 => unit("pages").lower().row("pages corrected by soft decoding"),
        /// Pages that no stage of the read chain corrected.
        uncorrectable: Uncorrectable => plain(),
        /// Expected uncorrectable codewords for each bit of data read.
        uber: Option<f64> => unit("1/bit").lower().row_always("uncorrectable bit error rate (UBER)"),
        /// Uncorrectable pages, and pages lost to them, that redundancy restored when they were read.
        recovered_by_redundancy: u64 => unit("pages").lower().row("pages that redundancy restored"),
        /// Read requests of the host that ended in an error.
        host_errors: u64 => unit("requests").lower().row("read requests that ended in an error"),
        /// Pages that a decoder passed on with wrong data; only where the code may miscorrect.
        miscorrected: IfAny<u64> => unit("pages").lower().row("pages passed on with wrong data"),
        /// Pages with wrong data that the end-to-end check found; only where the code may miscorrect.
        caught: IfAny<u64> => unit("pages").lower().row("pages with wrong data found by the end-to-end check"),
        /// P/E cycles after which the UBER exceeds `errors.uber_target` for data `errors.uber_days` old; none if they are more
        /// than 10 million. Of arrays, the fewest of a member.
        lifetime_cycles: Option<u64> => unit("P/E cycles").higher().derived().row("P/E cycles until the UBER is too high"),
        /// The same with what redundancy restores; left out without redundancy.
        with_redundancy: IfAny<ErrorsLeft> => plain(),
        /// Rates of errors in the field; only with `errors.events_per_drive_day`.
        field: IfAny<FieldRates> => plain().derived(),
    }
}

figures! {
    /// Errors that redundancy leaves, as long as nothing else has failed. The other pages of a stripe count as having the RBER
    /// of the page that is read, and fail independently.
    pub struct ErrorsLeft {
        /// Expected codewords for each bit of data read that neither a stage of the read chain nor redundancy corrects.
        uber: Option<f64> => unit("1/bit").lower().row("  UBER that redundancy leaves"),
        /// P/E cycles after which that exceeds `errors.uber_target` for data `errors.uber_days` old; none if they are more than
        /// 10 million.
        lifetime_cycles: Option<u64> => unit("P/E cycles").higher().derived().row("  P/E cycles until that is too high"),
    }
}

figures! {
    /// Errors of the flash of a member.
    pub struct MemberErrors {
        /// Raw bit error rates of the pages read.
        rber: RberFigures => plain(),
        /// Retries for each page read.
        retries_per_read: Option<f64> => unit("retries").lower(),
        /// Pages that hard decoding corrected after at least one retry.
        corrected_reads: u64 => unit("pages").lower(),
        /// Pages that soft decoding corrected.
        soft_reads: u64 => unit("pages").lower(),
        /// Pages that no stage of the read chain corrected.
        uncorrectable: Uncorrectable => plain(),
        /// Expected uncorrectable codewords for each bit of data read.
        uber: Option<f64> => unit("1/bit").lower(),
        /// P/E cycles after which the UBER exceeds `errors.uber_target` for data `errors.uber_days` old; none if they are more
        /// than 10 million.
        lifetime_cycles: Option<u64> => unit("P/E cycles").higher().derived(),
    }
}

figures! {
    /// Raw bit error rates of the pages read.
    pub struct RberFigures {
        /// Their mean.
        mean: Option<f64> => unit("1/bit").lower().row_always("raw bit error rate (RBER), mean"),
        /// The RBER that 99 % of the reads do not exceed, at most 1 % too high.
        p99: Option<f64> => unit("1/bit").lower().row("  99 % of the reads below"),
        /// The largest.
        max: Option<f64> => unit("1/bit").lower().row("  largest"),
    }
}

figures! {
    /// Pages that no stage of the read chain corrected.
    pub struct Uncorrectable {
        /// As they were drawn, each page counted once until its block is erased.
        drawn: u64 => unit("pages").lower().row_always("uncorrectable pages"),
        /// Their expected number: the sum of the probabilities over all reads.
        expected: f64 => unit("pages").lower().row_always("  expected"),
    }
}

figures! {
    /// Rates of errors in the field, of drives that differ by a gamma frailty.
    pub struct FieldRates {
        /// Days with an error in 1,000 days of a drive.
        events_per_1000_drive_days: f64 => unit("events").lower().row("days with an error in 1,000 drive-days"),
        /// The share of drives with an error in four years.
        drives_in_4_years: f64 => unit("share").lower().row("  drives with an error in four years"),
        /// The probability of another error within 30 days of one.
        again_in_30_days: f64 => unit("share").lower().row("  another error within 30 days of one"),
    }
}

/// Four years, in days.
const FOUR_YEARS: f64 = 1461.0;

impl FieldRates {
    fn of(field: &Frailty) -> FieldRates {
        FieldRates {
            events_per_1000_drive_days: field.events_per_1000_drive_days(),
            drives_in_4_years: field.share_with_event(FOUR_YEARS),
            again_in_30_days: field.again_after_event(30.0),
        }
    }
}

/// What a run says about errors besides the counts of drives.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorEffects {
    /// Pages that redundancy restored.
    pub recovered: u64,
    /// Read requests that ended in an error.
    pub host_errors: u64,
}

impl MemberErrors {
    /// Those of a drive with this model.
    pub(super) fn new(counts: &ErrorCounts, model: &ErrorModel) -> MemberErrors {
        let all = ErrorFigures::new(counts, ErrorEffects::default(), std::iter::once(model), None);
        MemberErrors {
            rber: all.rber,
            retries_per_read: all.retries_per_read,
            corrected_reads: all.corrected_reads,
            soft_reads: all.soft_reads,
            uncorrectable: all.uncorrectable,
            uber: all.uber,
            lifetime_cycles: all.lifetime_cycles,
        }
    }
}

impl ErrorsLeft {
    /// Those of reads from a drive, or from the members of an array that have the first model; none without redundancy.
    pub(super) fn new(counts: &ErrorCounts, drive: &Resolved) -> Option<ErrorsLeft> {
        let model = drive.error_models().next()?;
        let cycles = model.cycles.unwrap_or(0.0);
        let share = drive.share_left_by_redundancy(model, cycles, counts)?;
        let conditions = Conditions { cycles, ..Conditions::default() };
        let page = drive.protected_page(model, drive.page_bytes(), conditions)?;
        Some(ErrorsLeft {
            uber: per(counts.expected_codewords * share, counts.user_bits),
            lifetime_cycles: page.lifetime_cycles,
        })
    }
}

impl ErrorFigures {
    pub(super) fn new<'a>(
        counts: &ErrorCounts,
        effects: ErrorEffects,
        models: impl Iterator<Item = &'a ErrorModel> + Clone,
        left: Option<ErrorsLeft>,
    ) -> ErrorFigures {
        let miscorrects = models.clone().any(|model| model.miscorrects > 0);
        let lifetime = |model: &ErrorModel| {
            let (target, days) = model.lifetime;
            lifetime::first_cycle(&model.rber, &model.chain, target, days, 0.0)
        };
        ErrorFigures {
            rber: RberFigures {
                mean: counts.mean_rber(),
                p99: counts.rber_at(0.99),
                max: counts.largest_rber(),
            },
            retries_per_read: per(counts.retries as f64, counts.reads as f64),
            corrected_reads: counts.corrected,
            soft_reads: counts.soft,
            uncorrectable: Uncorrectable { drawn: counts.uncorrectable, expected: counts.expected },
            uber: per(counts.expected_codewords, counts.user_bits),
            recovered_by_redundancy: effects.recovered,
            host_errors: effects.host_errors,
            miscorrected: IfAny(miscorrects.then_some(counts.miscorrected)),
            caught: IfAny(miscorrects.then_some(counts.caught)),
            lifetime_cycles: models.clone().filter_map(lifetime).min(),
            with_redundancy: IfAny(left),
            field: IfAny(models.clone().find_map(|model| model.field.as_ref()).map(FieldRates::of)),
        }
    }
}
