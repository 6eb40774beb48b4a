//! Forcing and balanced failure biasing on the Markov chain (Shahabuddin, 1994; Greenan, 2009).
//!
//! From a state with failures as its only transitions, the time of the next one is drawn as if it fell into the time
//! that is left, with the weight 1 − exp(−rate·left). Elsewhere the next transition is a failure with probability 1/2.
//! Failures that lead to different places (one of them the loss by a latent error) are equally likely. The weight of a
//! path is the ratio of true and drawn probabilities. A gamma factor of the failure rate is drawn with the density
//! times z^(r + 1) for r failures that are survived, which is how the probability of a loss grows with it.

use crate::chain::{Chain, Goal, Step};
use crate::model::{Group, Latent};
use crate::sampling::{Limits, Loss, Stopped, Tally, sample};
use crate::times::exponential;
use crate::{Invalid, YEAR};
use flashkeep_errors::draw::Stream;

/// The transitions from a state.
struct Exits {
    failures: Vec<Step>,
    failing: f64,
    others: Vec<Step>,
    recovering: f64,
}

/// Estimates the probability of a loss.
pub fn estimate(group: &Group, years: f64, seed: u64, limits: Limits) -> Result<(Tally, Stopped), Invalid> {
    if matches!(group.latent, Latent::Arising { .. }) {
        let message = "biasing does not take latent errors that arise (latent-hours): between two failures there are \
                       too many of them; exact, plain and splitting do";
        return Err(Invalid::new("method", message));
    }
    let chain = Chain::of(group)?;
    let exits: Vec<Exits> = chain.steps.iter().map(|steps| exits(steps)).collect();
    let factor = Factor::of(group);
    Ok(sample(limits, |batch, paths| {
        let mut stream = Stream::new(seed, "fleet: biasing", batch);
        let mut tally = Tally::new(years);
        tally.paths = paths;
        for _ in 0..paths {
            let weight = path(&exits, factor.as_ref(), years * YEAR, &mut stream, &mut tally);
            tally.close(weight);
        }
        tally
    }))
}

fn exits(steps: &[Step]) -> Exits {
    let (failures, others): (Vec<Step>, Vec<Step>) = steps.iter().partition(|step| step.failure);
    let sum = |steps: &[Step]| steps.iter().map(|step| step.rate).sum::<f64>();
    Exits { failing: sum(&failures), recovering: sum(&others), failures, others }
}

/// The gamma factor, drawn with a larger shape.
struct Factor {
    shape: f64,
    variance: f64,
    power: f64,
    /// The mean of z^power.
    moment: f64,
}

impl Factor {
    fn of(group: &Group) -> Option<Factor> {
        if group.frailty == 0.0 {
            return None;
        }
        let (shape, power) = (1.0 / group.frailty, f64::from(group.certain()) + 1.0);
        let grown = libm::lgamma(shape + power) - libm::lgamma(shape);
        let moment = libm::exp(grown + power * libm::log(group.frailty));
        Some(Factor { shape: shape + power, variance: group.frailty, power, moment })
    }

    /// A factor and its weight.
    fn draw(&self, stream: &mut Stream) -> (f64, f64) {
        let factor = stream.gamma(self.shape) * self.shape * self.variance;
        (factor, self.moment / libm::pow(factor, self.power))
    }
}

/// Follows one path to its first loss or to the end of the mission; returns the weight of the loss.
fn path(
    exits: &[Exits],
    factor: Option<&Factor>,
    mission: f64,
    stream: &mut Stream,
    tally: &mut Tally,
) -> f64 {
    let (factor, mut weight) = factor.map_or((1.0, 1.0), |factor| factor.draw(stream));
    let (mut state, mut at) = (0, 0.0);
    loop {
        let exit = &exits[state];
        let failing = exit.failing * factor;
        let fails;
        if exit.others.is_empty() {
            let left = -libm::expm1(-failing * (mission - at));
            weight *= left;
            at -= libm::log1p(-left * stream.open()) / failing;
            fails = true;
        } else {
            let all = failing + exit.recovering;
            at += exponential(stream) / all;
            fails = stream.open() < 0.5;
            weight *= 2.0 * if fails { failing } else { exit.recovering } / all;
        }
        if at >= mission {
            return 0.0;
        }
        let to = if fails {
            let count = exit.failures.len();
            let step = exit.failures[((stream.open() * count as f64) as usize).min(count - 1)];
            weight *= step.rate * count as f64 / exit.failing;
            step.to
        } else {
            proportional(&exit.others, exit.recovering * stream.open())
        };
        match to {
            Goal::State(next) => state = next,
            Goal::Loss(cause) => {
                tally.lose(Loss { at, cause, unrebuilt: 0.0 }, weight);
                return weight;
            }
        }
    }
}

/// The transition at this place of the rates, one after the other.
fn proportional(steps: &[Step], mut place: f64) -> Goal {
    for step in steps {
        place -= step.rate;
        if place < 0.0 {
            return step.to;
        }
    }
    steps[steps.len() - 1].to
}
