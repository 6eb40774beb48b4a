//! Arrays of arrays: what is known of one array, and of an array that has such arrays as its members.
//!
//! Without redundancy above (stripes over k arrays) the arrays are independent: P = 1 − (1 − p)^k. With redundancy above,
//! a lower array is a member that fails with the rate at which it loses drives' data, −ln(1 − p)/T with p from failures
//! and shocks, and is restored in the time of a repair; the Markov chain of the upper level has the answer. A latent
//! error below is then no loss: the upper level restores the sector.

use crate::estimate::{Found, Interval};
use crate::exact::{self, CAUSES};
use crate::fatal::Fatal;
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

/// What is found about the level above `lower`, whose drives are repaired as those of `group`.
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
        ..lower.clone()
    }
}

fn redundant(lower: &Found, group: &Group, level: Level, years: f64) -> Result<Found, Invalid> {
    let fatal = lower.causes[0] + lower.causes[2] + lower.causes[3];
    let share = if lower.p_loss.value > 0.0 { fatal / lower.p_loss.value } else { 0.0 };
    let upper = |p: f64| -> Result<Option<Group>, Invalid> {
        if p <= 0.0 {
            return Ok(None);
        }
        let scale = years * YEAR / -libm::log1p(-p.min(1.0 - 1e-15));
        let life = Life(Weibull { shape: 1.0, scale, location: 0.0 });
        let repair = Time::exponential("mttr_hours", group.repair.mean())?;
        let plain = Group::new(level.members, level.tolerance, life, repair)?;
        let coded = level.fatal.map_or(Ok(plain), |fatal| plain.with_fatal(fatal))?;
        Ok(Some(Group { serial: group.serial, ..coded }))
    };
    let solve = |p: f64| match upper(p)? {
        Some(upper) => exact::solve(&upper, years),
        None => Ok(exact::Solution { by_year: vec![[0.0; CAUSES]; lower.by_year.len()], losses: 0.0 }),
    };
    let total = |solution: &exact::Solution| solution.causes().iter().sum::<f64>();
    let middle = solve(fatal)?;
    let mttdl = match upper(fatal)? {
        Some(upper) => Some(exact::mean_time_to_loss(&upper)? / YEAR),
        None => None,
    };
    Ok(Found {
        p_loss: Interval {
            value: total(&middle),
            low: total(&solve(lower.p_loss.low * share)?),
            high: total(&solve(lower.p_loss.high * share)?),
        },
        by_year: middle.by_year.iter().map(|causes| causes.iter().sum()).collect(),
        causes: middle.causes(),
        losses: middle.losses,
        unrebuilt: total(&middle) / (f64::from(level.tolerance) + 1.0),
        mttdl_years: mttdl.filter(|_| lower.mttdl_years.is_some()),
        ..lower.clone()
    })
}
