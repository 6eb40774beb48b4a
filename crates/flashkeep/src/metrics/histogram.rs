//! Response times: exact up to 100,000 samples, then in buckets no wider than 0.1 % of their lower edge.

use super::{IfAny, figures, plain, unit};

/// The largest number of samples that are kept exactly.
const EXACT: usize = 100_000;

/// Buckets for each power of two: 1/1024 is 0.098 %.
const SUB_BITS: u32 = 10;

/// A distribution of spans in ns.
#[derive(Clone, Debug)]
pub struct Histogram {
    samples: Vec<u64>,
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { samples: Vec::new(), buckets: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

/// The bucket of a value: its power of two and the ten bits after the leading one.
fn bucket(value: u64) -> usize {
    let top = 63 - (value | 1).leading_zeros();
    if top <= SUB_BITS {
        return value as usize;
    }
    let shift = top - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (value >> shift)) as usize
}

/// The lower edge of a bucket, and its width.
fn edge(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < 2 << SUB_BITS {
        return (bucket, 1);
    }
    let shift = (bucket >> SUB_BITS) - 1;
    (((bucket & ((1 << SUB_BITS) - 1)) | 1 << SUB_BITS) << shift, 1 << shift)
}

impl Histogram {
    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_keeping(value, EXACT);
    }

    /// Adds a sample; at most `exact` are kept exactly.
    #[inline]
    pub(super) fn add_keeping(&mut self, value: u64, exact: usize) {
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        match self.buckets.get_mut(bucket(value)) {
            Some(times) => *times += 1,
            None => self.keep(value, exact),
        }
    }

    /// A sample is kept exactly, or is in a bucket that there is not yet.
    #[inline(never)]
    fn keep(&mut self, value: u64, exact: usize) {
        if self.buckets.is_empty() && self.samples.len() < exact {
            self.samples.push(value);
        } else {
            self.spread();
            self.put(value, 1);
        }
    }

    /// Changes to buckets.
    #[inline]
    fn spread(&mut self) {
        if self.buckets.is_empty() {
            for value in std::mem::take(&mut self.samples) {
                self.put(value, 1);
            }
        }
    }

    #[inline]
    fn put(&mut self, value: u64, times: u64) {
        let at = bucket(value);
        if at >= self.buckets.len() {
            self.buckets.resize(at + 1, 0);
        }
        self.buckets[at] += times;
    }

    /// The same with its samples sorted: the sort of several sorted histograms together is quick.
    #[must_use]
    pub fn sorted(&self) -> Histogram {
        let mut sorted = self.clone();
        sorted.samples.sort_unstable();
        sorted
    }

    /// The samples of both.
    #[must_use]
    pub fn with(&self, other: &Histogram) -> Histogram {
        self.with_keeping(other, EXACT)
    }

    /// The samples of both, of which at most `exact` are kept exactly.
    pub(super) fn with_keeping(&self, other: &Histogram, exact: usize) -> Histogram {
        let mut sum = self.clone();
        if other.count == 0 {
            return sum;
        }
        if sum.samples.len() + other.samples.len() > exact || !other.buckets.is_empty() {
            sum.spread();
        }
        if sum.buckets.is_empty() {
            sum.samples.extend_from_slice(&other.samples);
        } else {
            other.samples.iter().for_each(|&value| sum.put(value, 1));
        }
        for (at, &times) in other.buckets.iter().enumerate() {
            if times > 0 {
                sum.put(edge(at).0, times);
            }
        }
        sum.min = sum.min.min(other.min);
        sum.max = sum.max.max(other.max);
        sum.count += other.count;
        sum.sum += other.sum;
        sum
    }

    /// Samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact sum, ns.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// The exact mean, µs.
    #[must_use]
    pub fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1000.0)
    }

    /// The least value, ns, that at least `share` of the samples do not exceed (nearest rank).
    fn percentile(&self, sorted: &[u64], share: f64) -> f64 {
        let rank = ((share * self.count as f64 - 1e-9).ceil() as u64).clamp(1, self.count);
        if self.buckets.is_empty() {
            return sorted[rank as usize - 1] as f64;
        }
        let mut seen = 0;
        for (at, &times) in self.buckets.iter().enumerate() {
            seen += times;
            if seen >= rank {
                let (low, width) = edge(at);
                let middle = low as f64 + (width - 1) as f64 / 2.0;
                return middle.clamp(self.min as f64, self.max as f64);
            }
        }
        self.max as f64
    }

    /// The section of the summary: none without samples, and no p99.99 of fewer than 10,000.
    #[must_use]
    pub fn times(&self) -> Option<Times> {
        let mean = self.mean_us()?;
        let mut sorted = self.samples.clone();
        // The stable sort finds sorted runs and merges them.
        sorted.sort();
        let at = |share| self.percentile(&sorted, share) / 1000.0;
        Some(Times {
            count: self.count,
            mean,
            min: self.min as f64 / 1000.0,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: (self.count >= 10_000).then(|| at(0.9999)),
            max: self.max as f64 / 1000.0,
        })
    }
}

figures! {
    /// How the times of requests are distributed.
    pub struct Times {
        /// Requests counted.
        count: u64 => unit("requests"),
        /// Mean, which is exact.
        mean: f64 => unit("µs").lower().row("{}, mean"),
        /// Shortest time.
        min: f64 => unit("µs").lower(),
        /// Median.
        p50: f64 => unit("µs").lower().row("  p50"),
        /// Time that 90 % of the requests do not exceed.
        p90: f64 => unit("µs").lower(),
        /// Time that 95 % of the requests do not exceed.
        p95: f64 => unit("µs").lower().row("  p95"),
        /// Time that 99 % of the requests do not exceed.
        p99: f64 => unit("µs").lower().row("  p99"),
        /// Time that 99.9 % of the requests do not exceed.
        p99_9: f64 => unit("µs").lower().row("  p99.9"),
        /// Time that 99.99 % of the requests do not exceed; none for fewer than 10,000 requests.
        p99_99: Option<f64> => unit("µs").lower(),
        /// Longest time.
        max: f64 => unit("µs").lower(),
    }
}

figures! {
    /// Times of requests by operation.
    pub struct TimesByOperation {
        /// Reads, writes and trims together.
        all: Option<Times> => plain().label("all requests").brief(),
        /// Reads.
        read: Option<Times> => plain().label("reads"),
        /// Writes and trims.
        write: Option<Times> => plain().label("writes"),
        /// Flushes; left out without them.
        flush: IfAny<Times> => plain().label("flushes"),
    }
}

impl TimesByOperation {
    pub(super) fn new(read: &Histogram, write: &Histogram, flush: &Histogram) -> Self {
        let (read, write, flush) = (read.sorted(), write.sorted(), flush.sorted());
        let all = read.with(&write).times();
        TimesByOperation { all, read: read.times(), write: write.times(), flush: IfAny(flush.times()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Reported;
    use proptest::prelude::*;

    #[test]
    fn few_samples_are_exact() {
        let mut histogram = Histogram::default();
        for value in (1..=100).rev() {
            histogram.add(value * 1000);
        }
        let times = histogram.times().expect("samples");
        assert_eq!((times.p50, times.p99, times.mean, times.p99_99), (50.0, 99.0, 50.5, None));
        assert_eq!(Histogram::default().times(), None);
    }

    #[test]
    fn many_samples_are_within_a_thousandth() {
        let mut histogram = Histogram::default();
        for value in 0..300_000_u64 {
            histogram.add(value * 37 + 1000);
        }
        let json = histogram.times().expect("samples").to_json();
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_99", 0.9999)] {
            let exact = ((share * 300_000.0_f64).ceil() - 1.0) * 37.0 + 1000.0;
            let found = json[name].as_f64().unwrap() * 1000.0;
            assert!((found - exact).abs() <= exact * 0.001, "{name}: {found} for {exact}");
        }
    }

    proptest! {
        #[test]
        fn buckets_are_narrow_and_in_order(value in any::<u64>()) {
            let (low, width) = edge(bucket(value));
            prop_assert!(low <= value && value - low < width);
            prop_assert!(width == 1 || width <= low / 1024);
        }
    }
}
