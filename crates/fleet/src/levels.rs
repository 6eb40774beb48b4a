//! Arrays of arrays: the figures of one array, and of an array that has such arrays as its members.
//!
//! Without redundancy above (stripes over k arrays) the arrays are independent: P = 1 − (1 − p)^k. With redundancy above,
//! a lower array that lost drives' data is a missing member until it is short of no more drives than it survives: the level
//! above has restored it then. Small arrays of groups with exponential times are one Markov chain (`joint`). In
//! others a lower array fails with the rate at which it loses drives' data, −ln(1 − p)/T with p from failures, shocks and
//! wear, and is restored in the mean time of the first of its repairs; the Markov chain of the upper level has the answer. A
//! latent error below is no loss: the upper level restores the sector.

use crate::estimate::{Found, Interval, Method};
use crate::exact::{self, CAUSES};
use crate::fatal::Fatal;
use crate::joint;
use crate::model::Group;
use crate::times::{Life, Time, Weibull};
use crate::{Invalid, YEAR, within};

/// A level above the drives' groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Lower arrays in it.
    pub members: u32,
    /// How many of them may be missing.
    pub tolerance: u32,
    /// The share of patterns of missing arrays that lose data; without it none of up to `tolerance` do.
    pub fatal: Option<Fatal>,
}

impl Level {
    /// The probability that the last of `missing` lower arrays to fail loses data, if those before it did not.
    #[must_use]
    pub fn loses(&self, missing: u32) -> f64 {
        match self.fatal {
            Some(fatal) => fatal.next(missing),
            None => f64::from(u8::from(missing > self.tolerance)),
        }
    }
}

/// The figures of the level above `lower`, whose drives are repaired as those of `group`.
pub fn above(lower: &Found, group: &Group, level: Level, years: f64) -> Result<Found, Invalid> {
    within("members", f64::from(level.members), 1.0, 100_000.0)?;
    if level.tolerance == 0 {
        return Ok(striped(lower, f64::from(level.members)));
    }
    redundant(lower, group, level, years)
}

/// The probability that at least one of `count` independent arrays loses data, if each does with probability `each`.
#[must_use]
pub fn any(each: f64, count: f64) -> f64 {
    -libm::expm1(count * libm::log1p(-each))
}

fn striped(lower: &Found, count: f64) -> Found {
    let value = any(lower.p_loss.value, count);
    let share = if lower.p_loss.value > 0.0 { value / lower.p_loss.value } else { 0.0 };
    let Interval { low, high, .. } = lower.p_loss;
    Found {
        p_loss: Interval { value, low: any(low, count), high: any(high, count) },
        by_year: lower.by_year.iter().map(|each| any(*each, count)).collect(),
        causes: lower.causes.map(|cause| cause * share),
        losses: lower.losses * count,
        // Of the drives of one lower array, as before.
        unrebuilt: lower.unrebuilt * count,
        mttdl_years: lower.mttdl_years.map(|years| years / count),
        is_group: false,
        ..lower.clone()
    }
}

/// The mean time for which a group that lost data is short of more drives than it survives, hours, to the leading order in
/// λ/μ: in parallel the first of r + 1 outages ends after a mean one over r + 1, however long outages are distributed; one
/// after the other, when the repair ends that is under way.
#[must_use]
pub fn outage(group: &Group) -> f64 {
    let missing = f64::from(group.certain()) + 1.0;
    let waits = group.spares.filter(|spares| spares.count == 0).map_or(0.0, |spares| spares.restock.mean());
    let before = (group.detect.map_or(0.0, |detect| detect.mean()) + waits) / missing;
    before + if group.serial { group.repair.mean() } else { group.repair.mean() / missing }
}

fn redundant(lower: &Found, group: &Group, level: Level, years: f64) -> Result<Found, Invalid> {
    if lower.method == Method::Exact
        && lower.is_group
        && let Some(chain) = joint::chain(group, level)?
    {
        let solution = exact::of_chain(&chain, years);
        let value = total(&solution);
        let mttdl = Some(exact::mean_time(&chain) / YEAR);
        let found = of(lower, level, &solution, Interval { value, low: value, high: value });
        return Ok(Found { mttdl_years: mttdl, ..found });
    }
    of_members(lower, level, years)
}

/// Lower arrays as members of their own.
fn of_members(lower: &Found, level: Level, years: f64) -> Result<Found, Invalid> {
    let fatal = lower.causes[0] + lower.causes[2] + lower.causes[3];
    let share = if lower.p_loss.value > 0.0 { fatal / lower.p_loss.value } else { 0.0 };
    let upper = |p: f64| -> Result<Option<Group>, Invalid> {
        if p <= 0.0 {
            return Ok(None);
        }
        let scale = years * YEAR / -libm::log1p(-p.min(1.0 - 1e-15));
        let life = Life(Weibull { shape: 1.0, scale, location: 0.0 });
        let repair = Time::Exponential { mean: lower.outage };
        let plain = Group::new(level.members, level.tolerance, life, repair)?;
        level.fatal.map_or(Ok(plain), |fatal| plain.with_fatal(fatal)).map(Some)
    };
    let solve = |p: f64| match upper(p)? {
        Some(upper) => exact::solve(&upper, years),
        None => Ok(exact::Solution { by_year: vec![[0.0; CAUSES]; lower.by_year.len()], losses: 0.0 }),
    };
    let middle = solve(fatal)?;
    let mttdl = match upper(fatal)? {
        Some(upper) => Some(exact::mean_time_to_loss(&upper)? / YEAR),
        None => None,
    };
    let interval = Interval {
        value: total(&middle),
        low: total(&solve(lower.p_loss.low * share)?),
        high: total(&solve(lower.p_loss.high * share)?),
    };
    let mttdl_years = mttdl.filter(|_| lower.mttdl_years.is_some());
    Ok(Found { mttdl_years, of_members: true, ..of(lower, level, &middle, interval) })
}

fn total(solution: &exact::Solution) -> f64 {
    solution.causes().iter().sum()
}

/// What the solution of a level's chain says.
fn of(lower: &Found, level: Level, solution: &exact::Solution, p_loss: Interval) -> Found {
    let missing = f64::from(level.tolerance) + 1.0;
    Found {
        p_loss,
        by_year: solution.by_year.iter().map(|causes| causes.iter().sum()).collect(),
        causes: solution.causes(),
        losses: solution.losses,
        unrebuilt: p_loss.value / missing,
        outage: lower.outage / missing,
        is_group: false,
        ..lower.clone()
    }
}
