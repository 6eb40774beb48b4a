//! The state of blocks on which the errors of their reads depend, and the probabilities that follow from it.

use super::counts::{BINS, BINS_PER_DECADE, LEAST};
use crate::flash::ErrorModel;
use crate::kernel::SimTime;
use flashkeep_errors::draw::uniform;
use flashkeep_errors::ecc::threshold;
use flashkeep_errors::rber::Conditions;

/// The probabilities of a read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadRates {
    pub(super) rber: f64,
    /// The bin of the RBER.
    pub(super) bin: u32,
    pub(super) codewords: u32,
    /// The probability that the first attempt fails, in units of 2⁻⁶⁴.
    pub(super) first_failure: u64,
    /// The probability that no stage corrects the page, and a codeword.
    pub(super) failure: f64,
    pub(super) codeword_failure: f64,
}

impl ReadRates {
    pub(super) fn of(model: &ErrorModel, data: DataCondition, codewords: u32) -> ReadRates {
        let rber = data.rber(model);
        let first = model.chain.attempts(rber, codewords).next().map_or(0.0, |attempt| attempt.page_failure);
        let bin = BINS_PER_DECADE * (libm::log10(rber.max(LEAST)) - libm::log10(LEAST));
        ReadRates {
            rber,
            bin: (bin as u32).min(BINS as u32 - 1),
            codewords,
            first_failure: threshold(first),
            failure: model.chain.uncorrectable(rber, codewords),
            codeword_failure: model.chain.uncorrectable(rber, 1),
        }
    }
}

/// Of a block: what each read of it needs, in half a line of the processor's cache. The probabilities are those of its last
/// read and of reads like it, until `until_reads` or `until`.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct BlockState {
    pub(super) until: SimTime,
    /// Sensings of its pages since its last erase, or since time 0. More than 2³² count as that many.
    pub(super) reads: u32,
    pub(super) until_reads: u32,
    /// Its erases when it was looked at last, or [`UNSEEN`].
    pub(super) erases: u32,
    /// Reads with these probabilities that have not been counted yet.
    pub(super) pending: u16,
    /// The probability that the first attempt fails, in units of 2⁻³², rounded down.
    pub(super) first_failure: u32,
    /// The sectors of a read, 0 for a whole page.
    pub(super) sectors: u16,
    /// Whether the first attempt can fail.
    pub(super) can_fail: bool,
    /// Whether the page read existed at time 0.
    pub(super) old: bool,
    /// Whether one of its pages was programmed in the run.
    pub(super) programmed: bool,
    /// Whether a copyback brought data to one of its pages.
    pub(super) carries: bool,
}

/// What the RBER of a page follows from.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataCondition {
    pub(super) conditions: Conditions,
    /// The factors of its block and page.
    pub(super) factor: f64,
    /// The RBER of the data that were copied to it.
    pub(super) carried: f64,
}

impl DataCondition {
    pub(super) fn rber(&self, model: &ErrorModel) -> f64 {
        (model.rber.at(self.conditions, self.factor) + self.carried).min(0.5)
    }
}

/// Stands for the erases of a block that has not been looked at.
pub(super) const UNSEEN: u32 = u32::MAX;

impl BlockState {
    pub(super) fn of(erases: u32) -> BlockState {
        BlockState {
            until: SimTime::ZERO,
            reads: 0,
            until_reads: 0,
            erases,
            pending: 0,
            first_failure: 0,
            sectors: 0,
            can_fail: false,
            old: false,
            programmed: false,
            carries: false,
        }
    }
}

/// The rest of a block's state: what is needed when the probabilities of its reads change, and when they are counted. In
/// one line of the processor's cache.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct BlockRates {
    /// The factor on its RBER.
    pub(super) factor: f64,
    /// When the first of its pages was programmed in the run.
    pub(super) programmed: SimTime,
    /// Pages of it that no stage has corrected, in all of its life.
    pub(super) given_up: u32,
    pub(super) rates: ReadRates,
}

/// Probabilities that were computed lately: blocks are often in the same condition.
#[derive(Clone, Debug)]
pub(super) struct RecentRates {
    entries: Vec<([u64; 6], ReadRates)>,
}

impl Default for RecentRates {
    /// All rates are those of no codewords at first, which no read has.
    fn default() -> Self {
        RecentRates { entries: vec![Default::default(); RecentRates::PLACES] }
    }
}

impl RecentRates {
    const PLACES: usize = 256;

    pub(super) fn of(&mut self, model: &ErrorModel, data: DataCondition, codewords: u32) -> ReadRates {
        let DataCondition { conditions: Conditions { cycles, days, reads }, factor, carried } = data;
        let [cycles, days, reads, factor, carried] = [cycles, days, reads, factor, carried].map(f64::to_bits);
        let key = [cycles, days, reads, factor, carried, codewords.into()];
        let place =
            uniform(cycles, days, reads, factor ^ carried, codewords.into()) as usize % RecentRates::PLACES;
        let entry = &mut self.entries[place];
        if entry.0 != key {
            *entry = (key, ReadRates::of(model, data, codewords));
        }
        entry.1
    }
}
