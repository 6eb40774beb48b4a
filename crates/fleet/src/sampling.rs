//! Batches of paths on threads, their sums, and when to stop.
//!
//! A batch has random numbers of its own, and batches are added in their order. After each round of batches the
//! relative error decides whether another follows, so neither the sums nor the rounds depend on the number of threads.

use crate::chain::Cause;
use std::sync::atomic::{AtomicUsize, Ordering};

/// 95 % of a normal distribution lie within this number of standard deviations.
pub const Z95: f64 = 1.959_963_984_540_054;

/// Paths in a batch.
pub const BATCH: u64 = 4096;

/// Batches of the first round.
const FIRST_ROUND: u64 = 8;

/// A round has at most this many times the batches of all rounds before.
const GROWTH: f64 = 3.0;

/// Sums over paths. Each path has a weight for each loss on it.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Paths, those without a failure included.
    pub paths: u64,
    /// Paths with a loss.
    pub hits: u64,
    /// The sum of the weights of first losses.
    pub sum: f64,
    /// The sum of the squares of each path's weight.
    pub squares: f64,
    /// The largest weight of a path.
    pub largest: f64,
    /// Weights by the year of the loss.
    pub years: Vec<f64>,
    /// Weights by cause.
    pub causes: [f64; Cause::ALL.len()],
    /// Weights times the share of the failed drives' data that was not rebuilt yet, of losses by failures.
    pub unrebuilt: f64,
    /// The sum of the weights of all losses, if they were followed beyond the first.
    pub losses: f64,
}

/// A loss on a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// When, hours.
    pub at: f64,
    /// Why.
    pub cause: Cause,
    /// The share of the failed drives' data that no repair had restored.
    pub unrebuilt: f64,
}

impl Tally {
    /// Nothing yet, for a mission of this number of years.
    #[must_use]
    pub fn new(years: f64) -> Tally {
        Tally { years: vec![0.0; libm::ceil(years) as usize], ..Tally::default() }
    }

    /// A first loss of this weight.
    pub fn lose(&mut self, loss: Loss, weight: f64) {
        let year = ((loss.at / crate::YEAR) as usize).min(self.years.len() - 1);
        self.years[year] += weight;
        self.causes[loss.cause as usize] += weight;
        if loss.cause != Cause::Latent {
            self.unrebuilt += weight * loss.unrebuilt;
        }
    }

    /// The end of a path with this sum of weights of first losses.
    pub fn close(&mut self, weight: f64) {
        self.hits += u64::from(weight > 0.0);
        self.sum += weight;
        self.squares += weight * weight;
        self.largest = self.largest.max(weight);
    }

    fn add(&mut self, other: &Tally) {
        self.paths += other.paths;
        self.hits += other.hits;
        self.sum += other.sum;
        self.squares += other.squares;
        self.largest = self.largest.max(other.largest);
        self.years.iter_mut().zip(&other.years).for_each(|(sum, value)| *sum += value);
        self.causes.iter_mut().zip(&other.causes).for_each(|(sum, value)| *sum += value);
        self.unrebuilt += other.unrebuilt;
        self.losses += other.losses;
    }

    /// The estimate.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum / self.paths as f64
    }

    /// Its standard error.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        let paths = self.paths as f64;
        let mean = self.mean();
        libm::sqrt((self.squares / paths - mean * mean).max(0.0) / paths)
    }

    /// The half-width of the 95 % interval, relative to the estimate; infinite without a loss.
    #[must_use]
    pub fn relative_error(&self) -> f64 {
        if self.sum > 0.0 { Z95 * self.standard_error() / self.mean() } else { f64::INFINITY }
    }
}

/// When to stop, and on how many threads.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The half-width of the 95 % interval, relative to the estimate.
    pub relative_error: f64,
    /// The most paths.
    pub samples: u64,
    /// Threads.
    pub threads: usize,
}

/// Why sampling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The interval is narrow enough.
    Error,
    /// All samples that were allowed are used.
    Samples,
}

/// Runs batches until the limits are reached. `run(batch, paths)` makes the sums of a batch.
pub fn sample(limits: Limits, run: impl Fn(u64, u64) -> Tally + Sync) -> (Tally, Stopped) {
    let all = limits.samples.div_ceil(BATCH);
    let mut total: Option<Tally> = None;
    let mut done = 0;
    let mut next = FIRST_ROUND.min(all);
    loop {
        let paths = |batch: u64| BATCH.min(limits.samples - batch * BATCH);
        for tally in round(done..next, limits.threads, |batch| run(batch, paths(batch))) {
            match &mut total {
                Some(total) => total.add(&tally),
                None => total = Some(tally),
            }
        }
        done = next;
        let total = total.as_mut().expect("a round has a batch");
        let error = total.relative_error();
        // A dozen losses say something about their own scatter.
        if error <= limits.relative_error && total.hits >= 12 {
            return (total.clone(), Stopped::Error);
        }
        if done == all {
            return (total.clone(), Stopped::Samples);
        }
        let lacking = (error / limits.relative_error).min(1e3);
        let wanted = 1.05 * lacking * lacking * done as f64;
        let most = (1.0 + GROWTH) * done as f64;
        next = (wanted.min(most) as u64).clamp(done + 1, all);
    }
}

/// The sums of some batches, in order.
fn round(batches: std::ops::Range<u64>, threads: usize, run: impl Fn(u64) -> Tally + Sync) -> Vec<Tally> {
    let count = (batches.end - batches.start) as usize;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return done;
            }
            done.push((at, run(batches.start + at as u64)));
        }
    };
    let mut done: Vec<(usize, Tally)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, tally)| tally).collect()
}
