//! Instants and lengths of simulated time: different types, both whole nanoseconds.

use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant: nanoseconds since the start of the run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct SimTime(pub u64);

/// A length of time in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Span(pub u64);

/// How much longer something takes than usual, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Factor(pub u32);

impl Factor {
    /// As long as usual.
    pub const ONE: Factor = Factor(1_000);
}

/// Rounds a number that differs from a whole one only by the binary form of its decimals (16.1 µs are
/// 16100.000000000002 ns).
#[must_use]
pub fn whole(number: f64) -> f64 {
    let near = number.round();
    if (number - near).abs() <= near * 1e-12 { near } else { number }
}

impl SimTime {
    /// The start of the run.
    pub const ZERO: SimTime = SimTime(0);
    /// Later than every event: a slot without a pending event.
    pub const NEVER: SimTime = SimTime(u64::MAX);

    /// The span since `earlier`, 0 if that is later than `self`.
    #[must_use]
    pub fn since(self, earlier: SimTime) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of 0.
    pub const ZERO: Span = Span(0);

    /// This many times as long, rounded up.
    #[must_use]
    pub fn stretched(self, factor: Factor) -> Span {
        let thousandths = u128::from(self.0) * u128::from(factor.0);
        Span(u64::try_from(thousandths.div_ceil(1_000)).unwrap_or(u64::MAX))
    }

    /// How much longer it is than `other`, 0 if it is not.
    #[must_use]
    pub fn beyond(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
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
