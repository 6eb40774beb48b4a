//! The error model of a drive: what follows from the keys of `[errors]` for any page of it.

use super::{ErrorsSpec, RberOptions, SOURCES};
use crate::flash::{PageTypes, PerType};
use crate::kernel::{Span, whole};
use flashkeep_errors::chain::{Attempt, ReadChain, Retry};
use flashkeep_errors::ecc::Code;
use flashkeep_errors::field::Frailty;
use flashkeep_errors::rber::{Conditions, Rber, acceleration};
use flashkeep_errors::{Invalid, factors, lifetime};

/// What soft decoding takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftSensing {
    /// Sensings, each with its transfer.
    pub sensings: u8,
    /// Decoding.
    pub decode: Span,
}

/// The error model of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorModel {
    /// Raw bit error rates.
    pub rber: Rber,
    /// The code, and the steps when it fails.
    pub chain: ReadChain,
    /// Hard decoding of a read.
    pub decode: Span,
    /// Soft decoding, where there is any.
    pub soft: Option<SoftSensing>,
    /// Sensing of a retry; none where it takes as long as the page's first.
    pub retry_sense: Option<Span>,
    /// Whether retries overlap with transfer and decoding.
    pub pipelined: bool,
    /// The probability that a codeword beyond the code's reach is taken for another one, in units of 2⁻⁶⁴.
    pub miscorrects: u64,
    /// Whether wrong data are noticed.
    pub end_to_end: bool,
    /// P/E cycles of each block at time 0; none for those of the simulation.
    pub cycles: Option<f64>,
    /// The age of data at time 0, days.
    pub retention_days: f64,
    /// Reads of a block at time 0, divided by its pages.
    pub page_reads: f64,
    /// A factor on the RBER of pages with one bit per cell.
    pub slc_factor: f64,
    /// The UBER at which flash is worn out, and the age of data at which that counts, days.
    pub lifetime: (f64, f64),
    /// Field rates, if they are given.
    pub field: Option<Frailty>,
    /// Reads of a block, divided by its pages, after which its data are moved.
    pub reclaim_reads: Option<f64>,
    /// The age of data at which they are moved, days.
    pub refresh_days: Option<f64>,
    /// The time in which all pages are read once.
    pub scrub: Option<Span>,
    /// Uncorrectable pages of a block after which it is retired.
    pub retire_after: Option<u32>,
    block_sigma: f64,
    layer_sigma: f64,
    layers: u32,
    type_factors: Vec<f64>,
}

impl ErrorModel {
    /// The model; none without errors.
    ///
    /// # Errors
    /// The path of the key below `errors` and the error in its value.
    pub fn of(spec: &ErrorsSpec) -> Result<Option<ErrorModel>, (String, String)> {
        let Some(source) = SOURCES.iter().find(|source| source.name == spec.model) else { return Ok(None) };
        let top = |invalid: Invalid| (invalid.field.to_owned(), invalid.message);
        let within = |table: &'static str| {
            move |invalid: Invalid| (format!("{table}.{}", invalid.field), invalid.message)
        };
        let options: RberOptions = spec.options.read();
        let (ecc, retry, maintenance) = (spec.ecc.read(), spec.retry.read(), spec.maintenance.read());
        let faster = options.temperature_c.map(|celsius| acceleration(celsius, options.reference_c));
        let rber = (source.rber)(&spec.options).map_err(top)?.with_scale(options.scale).map_err(top)?;
        let faster = faster.transpose().map_err(top)?.unwrap_or(1.0);
        let too_fast = |_| {
            let found = format!("found a temperature at which time passes {faster:.2e} times as fast");
            ("temperature_c".to_owned(), format!("{found} as at errors.reference_c; up to 1e9 is accepted"))
        };
        let rber = rber.with_acceleration(faster).map_err(too_fast)?;
        let code = Code::new(ecc.codeword_bits, ecc.user_bits, ecc.corrects, ecc.corrects_soft);
        let retries = Retry::new(retry.steps, retry.factor, retry.floor).map_err(within("retry"))?;
        let field = options.events_per_drive_day.map(|rate| Frailty::new(rate, options.frailty_shape));
        Ok(Some(ErrorModel {
            rber,
            chain: ReadChain::new(code.map_err(within("ecc"))?, retries),
            decode: span(ecc.decode_us),
            soft: ecc
                .corrects_soft
                .map(|_| SoftSensing { sensings: ecc.soft_sensings as u8, decode: span(ecc.decode_soft_us) }),
            retry_sense: retry.sense_us.map(span),
            pipelined: retry.pipelined,
            miscorrects: flashkeep_errors::ecc::threshold(ecc.miscorrects),
            end_to_end: ecc.end_to_end,
            cycles: options.cycles,
            retention_days: options.retention_days,
            page_reads: options.page_reads,
            slc_factor: options.slc_factor,
            lifetime: (options.uber_target, options.uber_days),
            field: field.transpose().map_err(top)?,
            reclaim_reads: maintenance.reclaim_reads,
            refresh_days: maintenance.refresh_days,
            scrub: maintenance.scrub_days.map(|days| span(days * 86_400e6)),
            retire_after: maintenance.retire_after,
            block_sigma: options.block_sigma,
            layer_sigma: options.layer_sigma,
            layers: options.layers,
            type_factors: match options.type_factors {
                PerType::All(one) => vec![one],
                PerType::Each(each) => each,
            },
        }))
    }

    /// Factors on the RBER of pages: one for each type.
    #[must_use]
    pub fn type_factors(&self) -> &[f64] {
        &self.type_factors
    }

    /// The factor on the RBER of a block.
    #[must_use]
    pub fn block_factor(&self, seed: u64, block: u64) -> f64 {
        factors::block(seed, block, self.block_sigma)
    }

    /// The factor on the RBER of each flash page of a block with `pages` pages of these types; empty where all are 1.
    #[must_use]
    pub fn page_factors(&self, seed: u64, types: &PageTypes, pages: u32) -> Vec<f64> {
        if self.layer_sigma == 0.0 && self.type_factors.iter().all(|&factor| factor == 1.0) {
            return Vec::new();
        }
        let each_layer = pages.div_ceil(self.layers.min(pages).max(1));
        let factor = |page: u32| {
            let of_type = self.type_factors.get(types.of(page)).or(self.type_factors.first());
            factors::layer(seed, u64::from(page / each_layer), self.layer_sigma)
                * of_type.copied().unwrap_or(1.0)
        };
        (0..pages).map(factor).collect()
    }

    /// Codewords that hold this many bytes of a page.
    #[must_use]
    pub fn codewords(&self, bytes: u64) -> u32 {
        let bits = u64::from(self.chain.code().user_bits());
        (bytes * 8).div_ceil(bits).max(1) as u32
    }

    /// How likely it is that a page of `bytes` cannot be read at the end of the retention time (`uber_days`), after
    /// `cycles` P/E cycles.
    #[must_use]
    pub fn old_page_failure(&self, bytes: u64, cycles: f64) -> f64 {
        let conditions = Conditions { cycles, days: self.lifetime.1, reads: 0.0 };
        self.chain.uncorrectable(self.rber.at(conditions, 1.0), self.codewords(bytes))
    }

    /// Whether the RBERs of a drive are known at time 0: data as old as these, in blocks with as many cycles and reads.
    #[must_use]
    pub fn is_in_fitted_range(&self) -> bool {
        let (cycles, days, reads) = (self.cycles.unwrap_or_default(), self.retention_days, self.page_reads);
        self.rber.in_fitted_range(Conditions { cycles, days, reads })
    }
}

/// µs in whole ns, rounded up.
fn span(us: f64) -> Span {
    Span(whole(us * 1e3).ceil() as u64)
}

/// What becomes of one page, without a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct PageErrors {
    /// Its raw bit error rate.
    pub rber: f64,
    /// The codewords of the page.
    pub codewords: u32,
    /// Every attempt to correct it, in order.
    pub attempts: Vec<Attempt>,
    /// Bits of data of a codeword.
    pub user_bits: u32,
    /// Whether the RBER is known there, and not extrapolated.
    pub in_fitted_range: bool,
    /// P/E cycles until the UBER after all attempts exceeds its target.
    pub lifetime_cycles: Option<u64>,
}

impl ErrorModel {
    /// The probabilities that no stage corrects a codeword, and a page of `bytes`.
    #[must_use]
    pub fn failures(&self, bytes: u64, rber: f64) -> [f64; 2] {
        [1, self.codewords(bytes)].map(|count| self.chain.uncorrectable(rber, count))
    }

    /// What becomes of a page of `bytes` under these conditions.
    #[must_use]
    pub fn page(&self, bytes: u64, conditions: Conditions) -> PageErrors {
        let (codewords, rber) = (self.codewords(bytes), self.rber.at(conditions, 1.0));
        let (target, days) = self.lifetime;
        PageErrors {
            rber,
            codewords,
            attempts: self.chain.attempts(rber, codewords).collect(),
            user_bits: self.chain.code().user_bits(),
            in_fitted_range: self.rber.in_fitted_range(conditions),
            lifetime_cycles: lifetime::first_cycle(&self.rber, &self.chain, target, days, 0.0),
        }
    }
}
