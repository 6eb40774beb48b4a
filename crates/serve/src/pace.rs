//! The relation between virtual time and the wall clock.

use flashkeep::kernel::{SimTime, Span};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How fast virtual time goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// This many times slower than the wall clock: a reply leaves when its virtual time has come.
    Scale(f64),
    /// A reply leaves at once, and virtual time advances by itself while requests are outstanding.
    NoWait,
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let scale = text.strip_prefix("scale=").map(str::parse::<f64>);
        match (text, scale) {
            ("real", _) => Ok(Pace::Scale(1.0)),
            ("no-wait", _) => Ok(Pace::NoWait),
            (_, Some(Ok(scale))) if (0.001..=1e6).contains(&scale) => Ok(Pace::Scale(scale)),
            _ => Err(format!(
                "found `{text}`; `real`, `no-wait` and `scale=N` from 0.001 to 1000000 are accepted"
            )),
        }
    }
}

/// The virtual clock. It begins with the first request, and never goes back.
#[derive(Debug)]
pub(crate) struct Clock {
    pace: Pace,
    /// A virtual instant, and when it was; none before the first request.
    origin: Option<(SimTime, Instant)>,
}

impl Clock {
    pub(crate) fn new(pace: Pace) -> Self {
        Clock { pace, origin: None }
    }

    pub(crate) fn waits(&self) -> bool {
        self.pace != Pace::NoWait
    }

    fn scale(&self) -> f64 {
        match self.pace {
            Pace::Scale(scale) => scale,
            Pace::NoWait => 1.0,
        }
    }

    /// The virtual time of a wall time.
    pub(crate) fn at(&self, wall: Instant) -> SimTime {
        let Some((at, then)) = self.origin else { return SimTime::ZERO };
        let passed = wall.saturating_duration_since(then).as_nanos() as f64 / self.scale();
        at + Span(passed as u64)
    }

    /// When a virtual instant comes, if the clock has begun.
    pub(crate) fn wall(&self, instant: SimTime) -> Option<Instant> {
        let (at, then) = self.origin?;
        let ahead = instant.since(at).0 as f64 * self.scale();
        then.checked_add(Duration::try_from_secs_f64(ahead / 1e9).ok()?)
    }

    /// The virtual time is `instant` at this wall time.
    pub(crate) fn set(&mut self, instant: SimTime, wall: Instant) {
        self.origin = Some((instant, wall));
    }

    /// Whether the first request has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.origin.is_some()
    }

    /// The first request has come.
    pub(crate) fn begin(&mut self, wall: Instant) {
        self.origin.get_or_insert((SimTime::ZERO, wall));
    }
}
