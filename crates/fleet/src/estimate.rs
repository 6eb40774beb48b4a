//! Chooses a method, and reports what it has found about one group.

use crate::chain::{Chain, is_exponential};
use crate::exact::CAUSES;
use crate::model::{Group, Latent, Spares};
use crate::sampling::{Limits, Stopped, Tally, Z95};
use crate::times::{Life, Time, Weibull};
use crate::{Invalid, YEAR, biasing, exact, levels, plain, splitting, within};

/// From this guess of the probability on, plain Monte Carlo needs no help: 1 % takes 4 million paths, of which most have no
/// failure.
const FREQUENT: f64 = 0.01;

/// Fewer weighted paths have no interval: their weights may differ by orders of magnitude.
pub const LEAST_PATHS: u64 = 10;

/// How the probability is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Chosen for the group.
    Auto,
    /// The Markov chain, solved.
    Exact,
    /// Plain Monte Carlo.
    Plain,
    /// Forcing and balanced failure biasing.
    Biasing,
    /// Fixed splitting.
    Splitting,
}

impl Method {
    /// All, by name.
    pub const NAMES: [(&'static str, Method); 5] = [
        ("auto", Method::Auto),
        ("exact", Method::Exact),
        ("plain", Method::Plain),
        ("biasing", Method::Biasing),
        ("splitting", Method::Splitting),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Method::NAMES.iter().find(|(_, method)| *method == self).map_or("auto", |(name, _)| name)
    }
}

/// The figures asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The mission, years.
    pub years: f64,
    /// The method.
    pub method: Method,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The half-width of the 95 % interval, relative to the estimate, at which sampling ends.
    pub relative_error: f64,
    /// The most paths.
    pub samples: u64,
    /// Threads.
    pub threads: usize,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted {
            years: 5.0,
            method: Method::Auto,
            seed: 1,
            relative_error: 0.01,
            samples: 10_000_000,
            threads: 1,
        }
    }
}

/// An estimate and its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The interval's low end.
    pub low: f64,
    /// The interval's high end.
    pub high: f64,
}

/// What sampling took.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// Paths.
    pub samples: u64,
    /// Paths with a loss.
    pub hits: u64,
    /// The standard error of P(loss).
    pub standard_error: f64,
    /// Why it ended.
    pub stopped: Stopped,
}

/// The figures found for a group.
#[derive(Clone, Debug)]
pub struct Found {
    /// The method that was used.
    pub method: Method,
    /// Why this one, if it was chosen.
    pub reason: Option<&'static str>,
    /// P(loss) within the mission.
    pub p_loss: Interval,
    /// P(loss) at the end of each year and of the mission.
    pub by_year: Vec<f64>,
    /// P(loss) by the cause of the first loss: failures, latent errors, shocks, wear.
    pub causes: [f64; CAUSES],
    /// The expected number of losses; repeated losses count if `repeats`.
    pub losses: f64,
    /// Whether losses after the first one are counted.
    pub repeats: bool,
    /// The expected share of the data of `tolerance + 1` drives that a first loss by failures loses.
    pub unrebuilt: f64,
    /// The mean time to the first loss, years; only for exponential times without a frailty.
    pub mttdl_years: Option<f64>,
    /// For methods that sample.
    pub sampled: Option<Sampled>,
    /// The mean time until a level above has restored the lost data: [`crate::levels::outage`].
    pub outage: f64,
    /// Whether this is a group of drives.
    pub is_group: bool,
    /// Whether arrays below a level with redundancy were taken as members that fail with a rate of their own.
    pub of_members: bool,
}

/// Estimates the probability that a group loses data.
pub fn estimate(group: &Group, wanted: &Wanted) -> Result<Found, Invalid> {
    group.check()?;
    within("years", wanted.years, 1e-3, 100.0)?;
    within("rel_error", wanted.relative_error, 1e-6, 1.0)?;
    within("samples", wanted.samples as f64, 1.0, 1e15)?;
    within("threads", wanted.threads as f64, 1.0, 1024.0)?;
    let (method, reason) = match wanted.method {
        Method::Auto => choose(group, wanted.years, wanted.seed),
        method => (method, None),
    };
    if method == Method::Splitting && group.tolerance > splitting::MOST_LEVELS {
        let message = format!(
            "splitting follows up to {} missing drives at once, and this group survives {}; exact and biasing have no such \
             limit where all times are exponential, exact without a batch frailty or with few drives, and plain counts \
             losses of any group",
            splitting::MOST_LEVELS,
            group.tolerance
        );
        return Err(Invalid::new("method", message));
    }
    let limits =
        Limits { relative_error: wanted.relative_error, samples: wanted.samples, threads: wanted.threads };
    let mut found = match method {
        Method::Exact | Method::Auto => solved(group, wanted.years)?,
        Method::Plain => {
            let (tally, stopped) = plain::estimate(group, wanted.years, wanted.seed, limits);
            let interval = wilson(tally.hits, tally.paths);
            let losses = tally.losses / tally.paths as f64;
            sampled(Method::Plain, &tally, stopped, interval, Some(losses))
        }
        Method::Biasing => {
            let (tally, stopped) = biasing::estimate(group, wanted.years, wanted.seed, limits)?;
            let mut found = sampled(Method::Biasing, &tally, stopped, weighted(&tally), None);
            found.unrebuilt = unrebuilt(group, found.causes);
            found
        }
        Method::Splitting => {
            let (tally, stopped) = splitting::estimate(group, wanted.years, wanted.seed, limits);
            sampled(Method::Splitting, &tally, stopped, weighted(&tally), None)
        }
    };
    found.reason = reason;
    found.outage = levels::outage(group);
    if group.frailty == 0.0 {
        found.mttdl_years = exact::mean_time_to_loss(group).ok().map(|hours| hours / YEAR);
    }
    Ok(found)
}

fn solved(group: &Group, years: f64) -> Result<Found, Invalid> {
    let solution = exact::solve(group, years)?;
    let causes = solution.causes();
    let value = causes.iter().sum();
    Ok(Found {
        method: Method::Exact,
        reason: None,
        p_loss: Interval { value, low: value, high: value },
        by_year: solution.by_year.iter().map(|causes| causes.iter().sum()).collect(),
        causes,
        losses: solution.losses,
        repeats: true,
        unrebuilt: unrebuilt(group, causes),
        mttdl_years: None,
        sampled: None,
        outage: 0.0,
        is_group: true,
        of_members: false,
    })
}

fn sampled(method: Method, tally: &Tally, stopped: Stopped, p_loss: Interval, losses: Option<f64>) -> Found {
    let paths = tally.paths as f64;
    let mut sum = 0.0;
    let so_far = |year: &f64| {
        sum += year;
        sum / paths
    };
    Found {
        method,
        reason: None,
        p_loss,
        by_year: tally.years.iter().map(so_far).collect(),
        causes: tally.causes.map(|cause| cause / paths),
        losses: losses.unwrap_or(p_loss.value),
        repeats: losses.is_some(),
        unrebuilt: tally.unrebuilt / paths,
        mttdl_years: None,
        sampled: Some(Sampled {
            samples: tally.paths,
            hits: tally.hits,
            standard_error: tally.standard_error(),
            stopped,
        }),
        outage: 0.0,
        is_group: true,
        of_members: false,
    }
}

/// The 95 % interval of a mean of weights, most of which are 0: of the gamma distributions of Fay and Feuer (1997), whose
/// high end allows for one more loss of the largest weight that was seen. The variance is that of the sample, wider as by
/// Student where few paths lost data. With many losses this is the normal interval. A few paths say too little about
/// their scatter for an interval, and without a loss the high end is that of Wilson with as many paths of weight 1.
fn weighted(tally: &Tally) -> Interval {
    if tally.hits == 0 {
        return wilson(0, tally.paths);
    }
    let (paths, value) = (tally.paths as f64, tally.mean());
    if tally.paths < LEAST_PATHS {
        return Interval { value, low: 0.0, high: 1.0 };
    }
    let spread = (tally.squares - tally.sum * value).max(0.0) * paths / (paths - 1.0);
    let wider = student(tally.hits.min(tally.paths - 1)) / Z95;
    let variance = spread * wider * wider;
    // A gamma number of this mean and variance, by its quantile: half a chi-square number of 2·mean²/variance degrees.
    let quantile = |mean: f64, variance: f64, normal: f64| {
        let degrees = 2.0 * mean * mean / variance;
        variance / (2.0 * mean) * chi_square(degrees, normal)
    };
    let low = if variance > 0.0 { quantile(tally.sum, variance, -Z95) / paths } else { value };
    let largest = tally.largest;
    let high = quantile(tally.sum + largest, variance + largest * largest, Z95) / paths;
    Interval { value, low: low.min(value), high: high.clamp(value, 1.0) }
}

/// A quantile of the chi-square distribution, by that of the normal one (Wilson and Hilferty, 1931).
fn chi_square(degrees: f64, normal: f64) -> f64 {
    let ninth = 2.0 / (9.0 * degrees);
    let root = (1.0 - ninth + normal * libm::sqrt(ninth)).max(0.0);
    degrees * root * root * root
}

/// The 97.5 % quantile of Student's distribution; from three degrees of freedom on by its expansion (Fisher and Cornish).
fn student(degrees: u64) -> f64 {
    match degrees {
        0 | 1 => 12.706_204_736,
        2 => 4.302_652_730,
        _ => {
            let (z, n) = (Z95, degrees as f64);
            let power = |power: i32| libm::pow(z, f64::from(power));
            z + (power(3) + z) / (4.0 * n)
                + (5.0 * power(5) + 16.0 * power(3) + 3.0 * z) / (96.0 * n * n)
                + (3.0 * power(7) + 19.0 * power(5) + 17.0 * power(3) - 15.0 * z) / (384.0 * n * n * n)
        }
    }
}

/// Wilson's 95 % interval of a share (1927).
fn wilson(hits: u64, paths: u64) -> Interval {
    let (paths, squared) = (paths as f64, Z95 * Z95);
    let share = hits as f64 / paths;
    let centre = share + squared / (2.0 * paths);
    let half = Z95 * libm::sqrt(share * (1.0 - share) / paths + squared / (4.0 * paths * paths));
    let scale = 1.0 + squared / paths;
    let low = if hits == 0 { 0.0 } else { ((centre - half) / scale).max(0.0) };
    Interval { value: share, low, high: ((centre + half) / scale).min(1.0) }
}

/// The share of the failed drives' data that is lost, to the leading order in λ/μ for exponential repairs: of r drives
/// that are being repaired when one more fails, each has been restored to a share that is uniform from 0 to 1, so the
/// furthest leaves 1/(r + 1); serial repair gives the same. A shock finds one drive less under repair.
fn unrebuilt(group: &Group, causes: [f64; CAUSES]) -> f64 {
    let tolerance = f64::from(group.certain());
    let by_shock = if group.shock_share.is_none() { 1.0 / tolerance.max(1.0) } else { taken(group) };
    causes[0] / (tolerance + 1.0) + causes[2] * by_shock
}

/// The drives that a shock takes of a whole group if it loses data, over the fewest that lose data: nothing of them is
/// rebuilt yet.
fn taken(group: &Group) -> f64 {
    let fewest = group.certain() + 1;
    let (mut sum, mut all) = (0.0, 0.0);
    for (count, probability) in group.at_once(group.drives).into_iter().filter(|(count, _)| *count >= fewest)
    {
        sum += f64::from(count) * probability;
        all += probability;
    }
    if all > 0.0 { sum / all / f64::from(fewest) } else { 1.0 }
}

/// The method for a group, and why.
fn choose(group: &Group, years: f64, seed: u64) -> (Method, Option<&'static str>) {
    if Chain::of(group).is_ok() && exact::is_solvable(group) {
        return (
            Method::Exact,
            Some("all times are exponential, so a Markov chain has the answer without sampling"),
        );
    }
    let guess = twin(group, years).and_then(|twin| exact::solve(&twin, years).ok());
    let value = guess.map(|solution| solution.causes().iter().sum::<f64>());
    let frequent =
        value.is_some_and(|value| value >= FREQUENT) || splitting::least(group, years, seed) >= FREQUENT;
    let why = match (frequent, is_exponential(group)) {
        (true, false) => "not all times are exponential, and losses are frequent enough to be counted",
        (true, true) => "the Markov chain has too many states, and losses are frequent enough to be counted",
        (false, false) => "not all times are exponential, and losses are rare",
        (false, true) => "the Markov chain has too many states, and losses are rare",
    };
    let method = if frequent { Method::Plain } else { Method::Splitting };
    (method, Some(why))
}

/// A group with exponential times of the same means, for a guess; none if no drive fails within the mission.
fn twin(group: &Group, years: f64) -> Option<Group> {
    let mission = years * YEAR;
    let hazard = group.hazard(mission);
    let mean = |time: Time| Time::Exponential { mean: time.mean() };
    let latent = match group.latent {
        Latent::Arising { mean, scrub } => {
            let stays = scrub.map_or(mission / 2.0, |scrub| scrub.mean());
            let others = f64::from(group.drives - group.tolerance);
            Latent::OnRead { probability: -libm::expm1(-others * stays / (mean + stays)) }
        }
        latent => latent,
    };
    (hazard > 0.0).then(|| Group {
        life: Life(Weibull { shape: 1.0, scale: (mission / hazard).max(1.0), location: 0.0 }),
        repair: mean(group.repair),
        detect: group.detect.map(mean),
        spares: group.spares.map(|spares| Spares { restock: mean(spares.restock), ..spares }),
        wear: None,
        latent,
        ..*group
    })
}
