//! Uncorrectable errors of drives in the field: few drives have most of them.
//!
//! Each drive has a rate of events of its own, a gamma number, and events of a drive are a Poisson process. Schroeder,
//! Lagisetty and Merchant (FAST '16) report that 20 to 63 % of drives see an event in four years, on 2 to 6 of 1,000
//! drive-days, and that about 30 % see another within a month. The default meets all three. It is fitted to those
//! figures, not derived from an RBER.

use crate::draw::Stream;
use crate::{Invalid, within};

/// Drives that differ in their rate of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frailty {
    rate: f64,
    shape: f64,
}

impl Default for Frailty {
    fn default() -> Self {
        Frailty { rate: 0.003, shape: 0.25 }
    }
}

impl Frailty {
    /// `events_per_drive_day` is the mean over drives; the smaller `shape`, the more drives differ.
    pub fn new(events_per_drive_day: f64, shape: f64) -> Result<Self, Invalid> {
        let rate = within("events_per_drive_day", events_per_drive_day, 0.0, 1e6)?;
        Ok(Frailty { rate, shape: within("frailty_shape", shape, 1e-3, 1e6)? })
    }

    /// Expected events in 1,000 drive-days.
    #[must_use]
    pub fn events_per_1000_drive_days(&self) -> f64 {
        1000.0 * self.rate
    }

    /// The share of drives with an event within `days`: 1 − (1 + days·L/a)^−a.
    #[must_use]
    pub fn share_with_event(&self, days: f64) -> f64 {
        -libm::expm1(-self.shape * libm::log1p(days * self.rate / self.shape))
    }

    /// How likely it is that another event of the same drive follows within `days` of an event, averaged over all
    /// events: 1 − (1 + days·L/a)^−(a + 1). Frail drives have more events, and thus more weight.
    #[must_use]
    pub fn again_after_event(&self, days: f64) -> f64 {
        -libm::expm1(-(self.shape + 1.0) * libm::log1p(days * self.rate / self.shape))
    }

    /// The share of drives, of those with an event within `lifetime` days, that have another within `days` of their
    /// first. It is less than [`again_after_event`](Self::again_after_event): each drive counts once, and a first event that
    /// comes late tells of a low rate. 0 without events.
    #[must_use]
    pub fn again_after_first(&self, days: f64, lifetime: f64) -> f64 {
        let with_event = self.share_with_event(lifetime);
        if with_event == 0.0 {
            return 0.0;
        }
        let both = with_event + self.share_with_event(days) - self.share_with_event(lifetime + days);
        both / with_event
    }

    /// The events a day of one drive.
    #[must_use]
    pub fn rate_of_drive(&self, seed: u64, drive: u64) -> f64 {
        self.rate * Stream::new(seed, "errors: frailty", drive).gamma(self.shape)
    }
}
