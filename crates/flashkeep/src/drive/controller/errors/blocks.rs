//! The state of blocks on which the errors of their reads depend, and the probabilities that follow from it.

use super::counts::{BINS, BINS_PER_DECADE, ErrorCounts, LEAST};
use crate::flash::ErrorModel;
use crate::kernel::SimTime;
use flashkeep_errors::draw::uniform;
use flashkeep_errors::ecc::threshold;
use flashkeep_errors::rber::Conditions;

/// The probabilities of a read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadRates {
    /// Whether the page existed at time 0.
    pub old: bool,
    pub rber: f64,
    /// The bin of the RBER.
    pub bin: u32,
    pub codewords: u32,
    /// The bits of data in these.
    pub user_bits: f64,
    /// The probability that the first attempt fails, in units of 2⁻⁶⁴.
    pub first_failure: u64,
    /// The probability that no stage corrects the page, and a codeword.
    pub failure: f64,
    pub codeword_failure: f64,
}

impl ReadRates {
    pub(super) fn of(model: &ErrorModel, data: DataCondition, codewords: u32) -> ReadRates {
        let rber = data.rber(model);
        let first = model.chain.attempts(rber, codewords).next().map_or(0.0, |attempt| attempt.page_failure);
        let bin = BINS_PER_DECADE * (libm::log10(rber.max(LEAST)) - libm::log10(LEAST));
        ReadRates {
            old: data.old,
            rber,
            bin: (bin as u32).min(BINS as u32 - 1),
            codewords,
            user_bits: f64::from(codewords) * f64::from(model.chain.code().user_bits()),
            first_failure: threshold(first),
            failure: model.chain.uncorrectable(rber, codewords),
            codeword_failure: model.chain.uncorrectable(rber, 1),
        }
    }
}

/// Of a block: what each read and each program of it needs, in a quarter of a line of the processor's cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockState {
    /// Sensings of its pages since its last erase, or since time 0. More than 2³² count as that many.
    pub reads: u32,
    /// The rates of its last read: an entry of the [`RateTable`].
    pub rates: u32,
    /// Their end as [`coarse`] time. In the seconds before it, rates are looked up for each read.
    pub until: u32,
    /// Sensings until they end.
    pub left: u16,
    /// Whether one of its pages was programmed in the run.
    pub programmed: bool,
    /// Whether it was erased, and neither read nor programmed since. The rest is as before the erase: a power cut may show
    /// that the erase had not begun.
    pub erased: bool,
}

/// Time in units of about four seconds.
fn coarse(time: SimTime) -> u32 {
    (time.0 >> 32) as u32
}

impl BlockState {
    /// Its pages are sensed `times` times.
    #[inline]
    pub(super) fn sense(&mut self, times: u32) {
        self.reads = self.reads.saturating_add(times);
        self.left = self.left.saturating_sub(times.min(u16::MAX.into()) as u16);
    }

    /// Whether the next sensing, at `now`, has the rates of the last read, if its page is alike.
    #[inline]
    pub(super) fn keeps_rates(&self, now: SimTime) -> bool {
        self.left > 0 && coarse(now) < self.until
    }

    /// The rates of its last read end.
    pub(super) fn end_rates(&mut self) {
        self.left = 0;
    }

    /// It is erased.
    pub(super) fn erase(&mut self) {
        self.erased = true;
        self.end_rates();
    }

    /// It was erased, and is read or programmed again.
    pub(super) fn begin_anew(&mut self) {
        *self = BlockState { rates: self.rates, ..BlockState::default() };
    }

    /// Its reads have these rates for `sensings` sensings, until this instant.
    pub(super) fn set_rates(&mut self, rates: u32, sensings: u64, until: SimTime) {
        self.rates = rates;
        (self.left, self.until) = (sensings.min(u16::MAX.into()) as u16, coarse(until));
    }
}

/// What the RBER of a page follows from.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataCondition {
    /// Whether the page existed at time 0.
    pub old: bool,
    pub conditions: Conditions,
    /// The factors of its block and page.
    pub factor: f64,
    /// The RBER of the data that were copied to it.
    pub carried: f64,
}

impl DataCondition {
    pub(super) fn rber(&self, model: &ErrorModel) -> f64 {
        (model.rber.at(self.conditions, self.factor) + self.carried).min(0.5)
    }
}

/// The rates of data in one condition.
#[derive(Clone, Debug, Default)]
struct SharedRates {
    rates: ReadRates,
    /// Reads with these rates that have not been added to the drive's counts.
    reads: u64,
    /// Blocks whose last read had them.
    blocks: u32,
    key: Option<Key>,
}

type Key = [u64; 6];

/// The rates of the last read of each block. Blocks are often in the same condition, so they share entries.
#[derive(Clone, Debug)]
pub(super) struct RateTable {
    /// The first one is that of blocks that were not read.
    entries: Vec<SharedRates>,
    /// Entries that no block and none of `recent` refers to.
    unused: Vec<u32>,
    /// Entries that were looked up lately, by a hash of the condition.
    recent: Vec<u32>,
}

impl Default for RateTable {
    fn default() -> Self {
        RateTable {
            entries: vec![SharedRates::default()],
            unused: Vec::new(),
            recent: vec![0; RateTable::PLACES],
        }
    }
}

impl RateTable {
    const PLACES: usize = 256;

    #[inline]
    pub(super) fn at(&self, entry: u32) -> &ReadRates {
        &self.entries[entry as usize].rates
    }

    /// A page is read that has these rates.
    #[inline]
    pub(super) fn note_read(&mut self, entry: u32) -> &ReadRates {
        let entry = &mut self.entries[entry as usize];
        entry.reads += 1;
        &entry.rates
    }

    /// The last read of a block had the rates of `old`; the next one is of data in this condition, whose entry is returned.
    pub(super) fn replace(
        &mut self,
        old: u32,
        (model, data, codewords): (&ErrorModel, DataCondition, u32),
        counts: &mut ErrorCounts,
    ) -> u32 {
        let new = self.look_up(model, data, codewords, counts);
        self.entries[new as usize].blocks += 1;
        // The first entry does not count its blocks.
        let left = &mut self.entries[old as usize].blocks;
        *left = left.saturating_sub(1);
        self.free_unused(old, counts);
        new
    }

    /// The entry of data in this condition.
    fn look_up(
        &mut self,
        model: &ErrorModel,
        data: DataCondition,
        codewords: u32,
        counts: &mut ErrorCounts,
    ) -> u32 {
        let key = key(data, codewords);
        let place = place(key);
        let last = self.recent[place];
        if self.entries[last as usize].key == Some(key) {
            return last;
        }
        let new = self.unused.pop().unwrap_or(self.entries.len() as u32);
        let rates = ReadRates::of(model, data, codewords);
        let entry = SharedRates { rates, reads: 0, blocks: 0, key: Some(key) };
        match self.entries.get_mut(new as usize) {
            Some(unused) => *unused = entry,
            None => self.entries.push(entry),
        }
        self.recent[place] = new;
        self.free_unused(last, counts);
        new
    }

    /// Counts the reads of an entry and frees it, if nothing refers to it.
    fn free_unused(&mut self, at: u32, counts: &mut ErrorCounts) {
        let entry = &mut self.entries[at as usize];
        let Some(key) = entry.key else { return };
        if entry.blocks == 0 && self.recent[place(key)] != at {
            counts.count(entry.reads, &entry.rates);
            *entry = SharedRates::default();
            self.unused.push(at);
        }
    }

    /// Adds the reads that have not been counted to `counts`.
    pub(super) fn add_to(&self, counts: &mut ErrorCounts) {
        self.entries.iter().for_each(|entry| counts.count(entry.reads, &entry.rates));
    }

    /// Counting begins.
    pub(super) fn forget_reads(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.reads = 0);
    }
}

fn key(data: DataCondition, codewords: u32) -> Key {
    let DataCondition { old, conditions: Conditions { cycles, days, reads }, factor, carried } = data;
    let [cycles, days, reads, factor, carried] = [cycles, days, reads, factor, carried].map(f64::to_bits);
    [cycles, days, reads, factor, carried, u64::from(codewords) << 1 | u64::from(old)]
}

fn place([cycles, days, reads, factor, carried, codewords]: Key) -> usize {
    uniform(cycles, days, reads, factor ^ carried, codewords) as usize % RateTable::PLACES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::ErrorsSpec;

    fn model() -> ErrorModel {
        let spec = ErrorsSpec { model: "kim".into(), ..ErrorsSpec::default() };
        ErrorModel::of(&spec).expect("its keys are right").expect("there is a model")
    }

    fn data(cycles: u64) -> DataCondition {
        let conditions = Conditions { cycles: cycles as f64, days: 30.0, reads: 0.0 };
        DataCondition { old: cycles.is_multiple_of(2), conditions, factor: 1.0, carried: 0.0 }
    }

    #[test]
    fn reads_are_counted_once_whoever_shares_their_rates() {
        const BLOCKS: usize = 40;
        let (model, mut table, mut counts) = (model(), RateTable::default(), ErrorCounts::default());
        let mut blocks = [BlockState::default(); BLOCKS];
        let (mut expected, mut most_rber) = (0.0, 0.0_f64);
        for step in 0..5_000 {
            let drawn = uniform(1, step, 0, 0, 0);
            let (data, state) = (data(drawn % 900), &mut blocks[(drawn >> 32) as usize % BLOCKS]);
            let rates = table.replace(state.rates, (&model, data, 16), &mut counts);
            state.set_rates(rates, 1, SimTime::NEVER);
            assert_eq!(table.note_read(rates).rber, data.rber(&model), "step {step}");
            expected += model.chain.uncorrectable(data.rber(&model), 16);
            most_rber = most_rber.max(data.rber(&model));
        }
        for state in &blocks {
            assert!(table.entries[state.rates as usize].blocks > 0, "an entry of a block is kept");
        }
        let users: u32 = table.entries.iter().map(|entry| entry.blocks).sum();
        assert_eq!(users as usize, BLOCKS);
        assert!(table.entries.len() <= 2 + BLOCKS + RateTable::PLACES, "entries are used again");
        table.add_to(&mut counts);
        assert_eq!((counts.reads, counts.rber_max), (5_000, most_rber));
        assert!((counts.expected / expected - 1.0).abs() < 1e-12, "{} and {expected}", counts.expected);
        assert_eq!(counts.bins.iter().sum::<u64>(), 5_000);
    }

    #[test]
    fn rates_end_with_their_sensings_and_with_their_time() {
        let end = SimTime(5 << 32);
        let mut state = BlockState::default();
        assert!(!state.keeps_rates(SimTime::ZERO), "there are none");
        state.set_rates(1, 3, end);
        assert!(state.keeps_rates(SimTime(end.0 - 1)) && !state.keeps_rates(end));
        state.sense(2);
        assert!(state.keeps_rates(SimTime::ZERO));
        state.sense(2);
        assert!(!state.keeps_rates(SimTime::ZERO), "a retry is a sensing, too");
        assert_eq!(state.reads, 4);
    }
}
