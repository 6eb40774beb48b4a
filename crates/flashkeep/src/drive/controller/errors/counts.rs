//! What error correction had to do.

use super::blocks::ReadRates;

/// The RBERs of reads by their logarithm.
pub(super) const BINS_PER_DECADE: f64 = 256.0;
/// The lowest RBER that has a bin of its own.
pub(super) const LEAST: f64 = 1e-10;
pub(super) const BINS: usize = 2560;

/// What error correction had to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorCounts {
    /// Pages read for whose reads an outcome was drawn.
    pub reads: u64,
    /// Retries of these.
    pub retries: u64,
    /// Pages that hard decoding corrected after at least one retry.
    pub corrected: u64,
    /// Pages that soft decoding corrected.
    pub soft: u64,
    /// Pages that no stage corrected.
    pub uncorrectable: u64,
    /// The probability that no stage corrects a page, summed over all reads.
    pub expected: f64,
    /// Bits of data read.
    pub user_bits: f64,
    /// The probability that no stage corrects a codeword, summed over these.
    pub expected_codewords: f64,
    /// Wrong data that the decoder passed on.
    pub miscorrected: u64,
    /// Wrong data that were noticed, because data are checked end to end.
    pub caught: u64,
    /// The RBER of the page, summed over reads.
    pub(super) rber_sum: f64,
    pub(super) rber_max: f64,
    /// Reads by RBER.
    pub(super) bins: Vec<u64>,
}

impl ErrorCounts {
    /// Adds those of another drive.
    pub fn add(&mut self, other: &ErrorCounts) {
        self.reads += other.reads;
        self.retries += other.retries;
        self.corrected += other.corrected;
        self.soft += other.soft;
        self.uncorrectable += other.uncorrectable;
        self.expected += other.expected;
        self.user_bits += other.user_bits;
        self.expected_codewords += other.expected_codewords;
        self.miscorrected += other.miscorrected;
        self.caught += other.caught;
        self.rber_sum += other.rber_sum;
        self.rber_max = self.rber_max.max(other.rber_max);
        self.bins.resize(self.bins.len().max(other.bins.len()), 0);
        self.bins.iter_mut().zip(&other.bins).for_each(|(count, more)| *count += more);
    }

    /// The mean RBER of the pages read.
    #[must_use]
    pub fn mean_rber(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.rber_sum / self.reads as f64)
    }

    /// The largest RBER of a page read.
    #[must_use]
    pub fn largest_rber(&self) -> Option<f64> {
        (self.reads > 0).then_some(self.rber_max)
    }

    /// The RBER that this share of the reads does not exceed, at most 0.5 % too high.
    #[must_use]
    pub fn rber_at(&self, share: f64) -> Option<f64> {
        let wanted = libm::ceil(self.reads as f64 * share) as u64;
        let mut sum = 0;
        let bin = self.bins.iter().position(|count| {
            sum += count;
            sum >= wanted
        })?;
        let upper = LEAST * libm::pow(10.0, (bin as f64 + 1.0) / BINS_PER_DECADE);
        (self.reads > 0).then(|| upper.min(self.rber_max))
    }

    /// Reads by RBER, each at most 0.5 % off; exact where all are nearly the same.
    pub fn reads_by_rber(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let alone = self.bins.iter().filter(|&&reads| reads > 0).count() == 1;
        let middle = |bin: u32| LEAST * libm::pow(10.0, (f64::from(bin) + 0.5) / BINS_PER_DECADE);
        let of_bin =
            move |bin| if alone { self.rber_sum / self.reads as f64 } else { middle(bin).min(self.rber_max) };
        (0..).zip(&self.bins).filter(|&(_, &reads)| reads > 0).map(move |(bin, &reads)| (of_bin(bin), reads))
    }

    /// Counts `reads` reads that had these probabilities.
    pub(super) fn count(&mut self, reads: u64, rates: &ReadRates) {
        if reads == 0 {
            return;
        }
        let times = reads as f64;
        self.reads += reads;
        self.expected += times * rates.failure;
        self.user_bits += times * rates.user_bits;
        self.expected_codewords += times * f64::from(rates.codewords) * rates.codeword_failure;
        self.rber_sum += times * rates.rber;
        self.rber_max = self.rber_max.max(rates.rber);
        self.bins.resize(BINS, 0);
        self.bins[rates.bin as usize] += reads;
    }
}
