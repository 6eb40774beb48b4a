//! Instants and lengths of simulated time: different types, both whole nanoseconds.

use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimTime(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: SimTime = SimTime(0);
    /// Later than anything that happens: a slot with nothing pending.
    pub const NEVER: SimTime = SimTime(u64::MAX);

    /// The span since `earlier`, nothing where that is in fact later.
    #[must_use]
    pub fn since(self, earlier: SimTime) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// `µs` microseconds, rounded up to the next nanosecond once, here (by a hair less, so that 0.3 µs, which
    /// binary floating point cannot hold, is 300 ns and not 301).
    #[must_use]
    pub fn from_us(us: f64) -> Span {
        Span::from_ns(us * 1000.0)
    }

    /// `ns` nanoseconds, rounded up to a whole one.
    #[must_use]
    pub fn from_ns(ns: f64) -> Span {
        Span((ns - 1e-6).ceil().max(0.0) as u64)
    }

    /// In microseconds, for reports.
    #[must_use]
    pub fn us(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl Add<Span> for SimTime {
    type Output = SimTime;
    #[inline]
    fn add(self, span: Span) -> SimTime {
        SimTime(self.0 + span.0)
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, times: u64) -> Span {
        Span(self.0 * times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_round_up_once() {
        assert_eq!(Span::from_us(0.3), Span(300));
        assert_eq!(Span::from_us(0.0005), Span(1));
        assert_eq!(Span::from_us(71.375), Span(71_375));
        assert_eq!(Span::from_ns(12.5), Span(13));
        assert_eq!(Span::from_us(0.0), Span::ZERO);
    }
}
