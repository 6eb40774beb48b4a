//! A group of drives that protect each other, and what may happen to it.

use crate::times::{Life, Time};
use crate::{Invalid, within};

/// Errors that a drive has and nobody knows of until a rebuild reads them.
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

/// A group of drives: any `tolerance` of them may be missing at once, one more loses data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Drives.
    pub drives: u32,
    /// Drives that may be missing.
    pub tolerance: u32,
    /// The life of each drive.
    pub life: Life,
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
    /// The probability that a failure brings that of a second drive at once (β-factor).
    pub shock: f64,
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
            life,
            repair,
            serial: false,
            detect: None,
            spares: None,
            latent: Latent::Never,
            shock: 0.0,
            frailty: 0.0,
        })
    }

    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        within("shock", self.shock, 0.0, 1.0)?;
        within("batch_frailty", self.frailty, 0.0, 100.0)?;
        match self.latent {
            Latent::OnRead { probability } => within("uber", probability, 0.0, 1.0).map(drop)?,
            Latent::Arising { mean, .. } => within("latent_hours", mean, 1.0, 1e12).map(drop)?,
            Latent::Never => {}
        }
        if let Some(spares) = self.spares {
            within("spares", f64::from(spares.count), 0.0, 1000.0)?;
        }
        Ok(())
    }

    /// The probability of a latent error as a repair begins that has no redundancy left.
    #[must_use]
    pub(crate) fn on_read(&self) -> f64 {
        match self.latent {
            Latent::OnRead { probability } if self.tolerance > 0 => probability,
            _ => 0.0,
        }
    }
}
