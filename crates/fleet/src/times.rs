//! Distributions of times, in hours: lives of drives, repairs, detection delays, latent errors and their removal.

use crate::{Invalid, YEAR, within};
use flashkeep_errors::draw::Stream;

/// The shortest mean of a time, and the longest time, hours.
const SHORTEST: f64 = 1e-3;
const LONGEST: f64 = 1e12;

/// The shortest characteristic life of a drive, hours.
const SHORTEST_LIFE: f64 = 100.0;

/// The forms of a time, for messages.
const FORMS: &str = "hours (the mean of an exponential time), fixed:HOURS, uniform:HOURS (from 0 to that), \
                     exponential:MEAN or weibull:SHAPE:SCALE[:LOCATION]";

/// A number with an exponential distribution of mean 1.
pub(crate) fn exponential(stream: &mut Stream) -> f64 {
    -libm::log(stream.open())
}

/// A Weibull distribution: F(t) = 1 − exp(−((t − location)/scale)^shape) from `location` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weibull {
    /// Above 1: the hazard grows with age.
    pub shape: f64,
    /// The characteristic life: by `location + scale`, 63.2 % have ended.
    pub scale: f64,
    /// None ends before it.
    pub location: f64,
}

impl Weibull {
    /// Shape from 0.05 to 100, scale from 0.001 hours, location from 0.
    pub fn new(field: &'static str, shape: f64, scale: f64, location: f64) -> Result<Self, Invalid> {
        within(field, shape, 0.05, 100.0)?;
        within(field, scale, SHORTEST, LONGEST)?;
        within(field, location, 0.0, LONGEST)?;
        Ok(Weibull { shape, scale, location })
    }

    /// The hazard accumulated until this age.
    #[must_use]
    pub fn cumulative_hazard(&self, age: f64) -> f64 {
        let past = (age - self.location) / self.scale;
        match past > 0.0 {
            true if self.shape == 1.0 => past,
            true => libm::pow(past, self.shape),
            false => 0.0,
        }
    }

    /// The age at which this hazard has accumulated.
    #[must_use]
    pub fn age_at(&self, hazard: f64) -> f64 {
        let past = if self.shape == 1.0 { hazard } else { libm::pow(hazard, 1.0 / self.shape) };
        self.location + self.scale * past
    }

    /// The hazard rate at an age, 1/h.
    #[must_use]
    pub fn hazard_rate(&self, age: f64) -> f64 {
        let past = (age - self.location) / self.scale;
        if past > 0.0 { self.shape / self.scale * libm::pow(past, self.shape - 1.0) } else { 0.0 }
    }

    /// The mean: location + scale·Γ(1 + 1/shape).
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.location + self.scale * libm::tgamma(1.0 + 1.0 / self.shape)
    }

    /// The rate, if this is an exponential distribution.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.shape == 1.0 && self.location == 0.0).then(|| 1.0 / self.scale)
    }
}

/// The life of a drive, from new.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Life(pub Weibull);

impl Life {
    /// An exponential life of which a share `afr` fails within a year: the rate is −ln(1 − AFR)/8760 an hour.
    pub fn of_afr(afr: f64) -> Result<Self, Invalid> {
        within("afr", afr, 1e-9, 0.999_999)?;
        let scale = -YEAR / libm::log1p(-afr);
        Ok(Life(Weibull { shape: 1.0, scale, location: 0.0 }))
    }

    /// `weibull:SHAPE:SCALE[:LOCATION]` or `exponential:MEAN`, hours.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Life::parse_as("life", text)
    }

    /// The same; `field` is for messages.
    pub fn parse_as(field: &'static str, text: &str) -> Result<Self, Invalid> {
        let life = match Time::parse(field, text)? {
            Time::Weibull(life) => life,
            Time::Exponential { mean } if text.starts_with("exponential:") => {
                Weibull { shape: 1.0, scale: mean, location: 0.0 }
            }
            _ => {
                let forms = "weibull:SHAPE:SCALE[:LOCATION] or exponential:MEAN, in hours";
                return Err(Invalid::new(field, format!("`{text}` is not accepted: {forms}")));
            }
        };
        within(field, life.scale, SHORTEST_LIFE, LONGEST)?;
        Ok(Life(life))
    }
}

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// Always the same.
    Fixed {
        /// Hours.
        hours: f64,
    },
    /// Memoryless.
    Exponential {
        /// Hours.
        mean: f64,
    },
    /// Any time up to a longest one: until the next pass of what comes once a period.
    Uniform {
        /// The longest, hours.
        hours: f64,
    },
    /// Weibull.
    Weibull(Weibull),
}

impl Time {
    /// An exponential time.
    pub fn exponential(field: &'static str, mean: f64) -> Result<Self, Invalid> {
        Ok(Time::Exponential { mean: within(field, mean, SHORTEST, LONGEST)? })
    }

    /// Reads one of the forms: a number is the mean of an exponential time. `field` is for messages.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, Invalid> {
        let wrong = || Invalid::new(field, format!("`{text}` is not accepted: {FORMS}"));
        let (kind, numbers) = text.split_once(':').unwrap_or(("exponential", text));
        let numbers: Vec<f64> = numbers
            .split(':')
            .map(|word| word.trim().parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let hours = |hours: f64| within(field, hours, SHORTEST, LONGEST);
        match (kind, numbers.as_slice()) {
            ("exponential", &[mean]) => Time::exponential(field, mean),
            ("fixed", &[time]) => Ok(Time::Fixed { hours: hours(time)? }),
            ("uniform", &[time]) => Ok(Time::Uniform { hours: hours(time)? }),
            ("weibull", &[shape, scale]) => Ok(Time::Weibull(Weibull::new(field, shape, scale, 0.0)?)),
            ("weibull", &[shape, scale, location]) => {
                Ok(Time::Weibull(Weibull::new(field, shape, scale, location)?))
            }
            _ => Err(wrong()),
        }
    }

    /// The mean, hours.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Time::Fixed { hours } => *hours,
            Time::Exponential { mean } => *mean,
            Time::Uniform { hours } => hours / 2.0,
            Time::Weibull(weibull) => weibull.mean(),
        }
    }

    /// The rate, if it is exponential.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match self {
            Time::Exponential { mean } => Some(1.0 / mean),
            Time::Weibull(weibull) => weibull.rate(),
            Time::Fixed { .. } | Time::Uniform { .. } => None,
        }
    }

    /// Draws one.
    pub(crate) fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Time::Fixed { hours } => *hours,
            Time::Exponential { mean } => mean * exponential(stream),
            Time::Uniform { hours } => hours * stream.open(),
            Time::Weibull(weibull) => weibull.age_at(exponential(stream)),
        }
    }
}

/// In words, for lists of assumptions.
impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Time::Fixed { hours } => write!(f, "always {hours} h"),
            Time::Exponential { mean } => write!(f, "exponential, mean {mean} h"),
            Time::Uniform { hours } => write!(f, "uniform from 0 to {hours} h"),
            Time::Weibull(weibull) => write!(f, "{weibull}"),
        }
    }
}

impl std::fmt::Display for Weibull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Weibull, shape {}, scale {} h, location {} h", self.shape, self.scale, self.location)
    }
}
