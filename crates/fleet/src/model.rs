//! A group of drives that protect each other, and what may happen to it.

use crate::fatal::{Fatal, choose};
use crate::shared::Shared;
use crate::times::{Life, Time};
use crate::{Invalid, within};

/// Errors of a drive that are undetected until a rebuild reads them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latent {
    /// There are none.
    Never,
    /// A rebuild without redundancy left meets one with this probability.
    OnRead {
        /// The probability for the whole rebuild: [`on_read`].
        probability: f64,
    },
    /// They arise with a constant rate on each drive without one, and stay until they are removed.
    Arising {
        /// The mean time until a drive without an error has one, hours.
        mean: f64,
        /// How long an error stays until scrubbing removes it; without it, until the drive is replaced.
        scrub: Option<Time>,
    },
}

/// The probability of this number of successes of independent trials.
fn binomial(trials: u32, successes: u32, each: f64) -> f64 {
    let power =
        |base: f64, exponent: u32| if exponent == 0 { 1.0 } else { libm::pow(base, f64::from(exponent)) };
    choose(trials, successes) * power(each, successes) * power(1.0 - each, trials - successes)
}

/// The probability that a read of this many bits meets an error: 1 − (1 − UBER)^bits.
#[must_use]
pub fn on_read(uber: f64, bits: f64) -> f64 {
    -libm::expm1(bits * libm::log1p(-uber))
}

/// Hot spares of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spares {
    /// How many there are at first.
    pub count: u32,
    /// How long it takes until one that was taken is replaced.
    pub restock: Time,
}

/// Wear: a drive that has been written for long fails, and the drives of a group are written alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wear {
    /// The life of a drive that is written as in the workload and fails of nothing else; a replacement begins again.
    pub life: Life,
    /// The standard deviation of the logarithm of the rate at which a group is written: groups differ by it.
    pub spread: f64,
}

impl Wear {
    /// The factor of the hazard of wear that the drives of a group share: if they are written g times as fast, the hazard
    /// at an age is g^shape times as large.
    pub(crate) fn shared(&self) -> Shared {
        Shared::of_log_spread(self.spread * self.life.0.shape)
    }
}

/// A group of drives: `tolerance` of them may be missing at once, one more loses data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Drives.
    pub drives: u32,
    /// Drives that may be missing.
    pub tolerance: u32,
    /// The share of patterns of missing drives that lose data; without it none of up to `tolerance` drives do.
    pub fatal: Option<Fatal>,
    /// The life of each drive.
    pub life: Life,
    /// What drives fail of besides, as they are written.
    pub wear: Option<Wear>,
    /// How long the repair of one drive takes once it has begun.
    pub repair: Time,
    /// Whether one drive is repaired at a time, first in, first out.
    pub serial: bool,
    /// The time between a failure and its detection.
    pub detect: Option<Time>,
    /// Hot spares; without a value there is always one.
    pub spares: Option<Spares>,
    /// Latent errors.
    pub latent: Latent,
    /// The probability that a failure is a shock, which brings others at once (β-factor).
    pub shock: f64,
    /// The probability with which a shock takes each of the other drives; without it, a shock takes exactly one of them.
    pub shock_share: Option<f64>,
    /// The variance of the gamma factor (mean 1) of the failure rate that all drives of a group share; 0: none.
    pub frailty: f64,
}

impl Group {
    /// A group without latent errors and correlation; its failures are detected at once and repaired in parallel.
    pub fn new(drives: u32, tolerance: u32, life: Life, repair: Time) -> Result<Self, Invalid> {
        within("drives", f64::from(drives), 1.0, 1000.0)?;
        if tolerance >= drives {
            let message = format!("{tolerance} of {drives} drives: at most {} may be missing", drives - 1);
            return Err(Invalid::new("tolerance", message));
        }
        Ok(Group {
            drives,
            tolerance,
            fatal: None,
            life,
            wear: None,
            repair,
            serial: false,
            detect: None,
            spares: None,
            latent: Latent::Never,
            shock: 0.0,
            shock_share: None,
            frailty: 0.0,
        })
    }

    /// The same drives under a code that survives some patterns of failures only.
    pub fn with_fatal(self, fatal: Fatal) -> Result<Self, Invalid> {
        let plain = Group::new(self.drives, fatal.tolerance(), self.life, self.repair)?;
        Ok(Group { tolerance: plain.tolerance, fatal: Some(fatal), ..self })
    }

    /// The probability that the last of `missing` failures loses data, if those before it did not.
    #[must_use]
    pub fn loses(&self, missing: u32) -> f64 {
        match self.fatal {
            Some(fatal) => fatal.next(missing),
            None => f64::from(u8::from(missing > self.tolerance)),
        }
    }

    /// How many of the working drives fail at once, and how likely each number is: one, or by a shock more.
    #[must_use]
    pub(crate) fn at_once(&self, working: u32) -> Vec<(u32, f64)> {
        // A shock needs a second drive.
        if working < 2 || self.shock == 0.0 {
            return vec![(1, 1.0)];
        }
        let Some(share) = self.shock_share else { return vec![(1, 1.0 - self.shock), (2, self.shock)] };
        let others = working - 1;
        let mut counts: Vec<f64> =
            (0..=others).map(|count| self.shock * binomial(others, count, share)).collect();
        counts[0] += 1.0 - self.shock;
        (1..).zip(counts).filter(|(_, probability)| *probability > 0.0).collect()
    }

    /// The hazard of a drive until this age, by its life and by wear.
    #[must_use]
    pub(crate) fn hazard(&self, age: f64) -> f64 {
        self.life.0.cumulative_hazard(age) + self.wear.map_or(0.0, |wear| wear.life.0.cumulative_hazard(age))
    }

    /// The drives that may be missing, whichever they are.
    #[must_use]
    pub fn certain(&self) -> u32 {
        self.fatal.map_or(self.tolerance, |fatal| fatal.certain())
    }

    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        within("shock", self.shock, 0.0, 1.0)?;
        within("shock", self.shock_share.unwrap_or(1.0), 0.0, 1.0)?;
        within("batch_frailty", self.frailty, 0.0, 100.0)?;
        match self.latent {
            Latent::OnRead { probability } => within("uber", probability, 0.0, 1.0).map(drop)?,
            Latent::Arising { mean, .. } => within("latent_hours", mean, 1.0, 1e12).map(drop)?,
            Latent::Never => {}
        }
        if let Some(wear) = self.wear {
            within("wear_spread", wear.spread, 0.0, 3.0)?;
        }
        if let Some(spares) = self.spares {
            within("spares", f64::from(spares.count), 0.0, 1000.0)?;
        }
        Ok(())
    }

    /// The probability that a latent error is met, and loses data, as a repair begins with this number of missing
    /// drives: an error is as bad for its stripe as one more missing drive.
    #[must_use]
    pub(crate) fn on_read(&self, missing: u32) -> f64 {
        match self.latent {
            Latent::OnRead { probability } if self.tolerance > 0 => probability * self.loses(missing + 1),
            _ => 0.0,
        }
    }
}
