//! The Markov chain of a group whose times are all exponential.
//!
//! With n drives, tolerance r and rates λ of failures and μ of repairs, j missing drives become j + 1 with rate
//! (n − j)λ, and j − 1 with rate jμ (parallel repair) or μ (serial). One more than r is a loss. A failure that brings
//! the group to r missing drives is a loss with the probability of a latent error in the drives that are left.
//! Detection delays, spares and latent errors that arise add their counts to the state.

use crate::Invalid;
use crate::model::{Group, Latent};
use std::collections::BTreeMap;

/// More states than this are refused.
pub const MOST_STATES: usize = 300;

/// Why data were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// More drives than the tolerance had failed.
    Failures,
    /// A rebuild without redundancy met a latent error.
    Latent,
    /// A failure brought others at once, and so the loss.
    Shock,
    /// More drives than the tolerance had failed, and at least one of them was worn out.
    Wear,
}

impl Cause {
    /// All of them, in the order of tallies.
    pub const ALL: [Cause; 4] = [Cause::Failures, Cause::Latent, Cause::Shock, Cause::Wear];
}

/// Where a transition goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To the state of this number.
    State(usize),
    /// To a loss.
    Loss(Cause),
}

/// A transition.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Where it goes.
    pub to: Goal,
    /// Its rate, 1/h.
    pub rate: f64,
    /// Whether it is the failure of a drive, or of several at once.
    pub failure: bool,
}

/// The state of a group in which no data are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// Failed drives whose failure is undetected.
    undetected: u32,
    /// Failed drives that are repaired or wait for it.
    detected: u32,
    /// Spares that were taken and have not been replaced.
    on_order: u32,
    /// Working drives with a latent error.
    defective: u32,
}

impl State {
    fn missing(self) -> u32 {
        self.undetected + self.detected
    }
}

/// The rates of a group; all its times are exponential.
struct Rates {
    failure: f64,
    repair: f64,
    detect: Option<f64>,
    restock: Option<(u32, f64)>,
    arising: Option<(f64, Option<f64>)>,
}

impl Rates {
    fn of(group: &Group) -> Option<Rates> {
        if group.wear.is_some() {
            return None;
        }
        let detect = match group.detect {
            Some(time) => Some(time.rate()?),
            None => None,
        };
        let restock = match group.spares {
            Some(spares) => Some((spares.count, spares.restock.rate()?)),
            None => None,
        };
        let arising = match group.latent {
            Latent::Arising { mean, scrub: Some(scrub) } => Some((1.0 / mean, Some(scrub.rate()?))),
            Latent::Arising { mean, scrub: None } => Some((1.0 / mean, None)),
            Latent::Never | Latent::OnRead { .. } => None,
        };
        let (failure, repair) = (group.life.0.rate()?, group.repair.rate()?);
        Some(Rates { failure, repair, detect, restock, arising })
    }
}

/// Whether all times of a group are exponential.
#[must_use]
pub fn is_exponential(group: &Group) -> bool {
    Rates::of(group).is_some()
}

/// A chain; state 0 is the whole group.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The transitions from each state, without two to the same place.
    pub steps: Vec<Vec<Step>>,
}

impl Chain {
    /// The chain of a group without its frailty; refused if a time is not exponential, or with too many states.
    pub fn of(group: &Group) -> Result<Chain, Invalid> {
        Ok(Chain { steps: built(group)?.steps })
    }

    /// The chain of a group without latent errors that continues after losses, until all drives are missing; and how many
    /// are, in each of its states.
    pub(crate) fn beyond_loss(group: &Group) -> Result<(Chain, Vec<u32>), Invalid> {
        let endless = Group { tolerance: group.drives, fatal: None, latent: Latent::Never, ..*group };
        let Builder { steps, states, .. } = built(&endless)?;
        Ok((Chain { steps }, states.into_iter().map(State::missing).collect()))
    }
}

/// All states of a group and the transitions between them.
fn built(group: &Group) -> Result<Builder<'_>, Invalid> {
    let Some(rates) = Rates::of(group) else {
        let message =
            "the Markov chain needs exponential lives and times, and no wear; plain and splitting take any";
        return Err(Invalid::new("method", message));
    };
    let mut builder = Builder { group, rates, states: vec![State::default()], steps: Vec::new() };
    while builder.steps.len() < builder.states.len() {
        let steps = builder.from(builder.states[builder.steps.len()]);
        builder.steps.push(steps);
        if builder.states.len() > MOST_STATES {
            let message =
                format!("the Markov chain has more than {MOST_STATES} states; plain and splitting need none");
            return Err(Invalid::new("method", message));
        }
    }
    Ok(builder)
}

struct Builder<'a> {
    group: &'a Group,
    rates: Rates,
    states: Vec<State>,
    steps: Vec<Vec<Step>>,
}

impl Builder<'_> {
    /// The transitions from a state.
    fn from(&mut self, state: State) -> Vec<Step> {
        let mut steps = Vec::new();
        self.failures(state, &mut steps);
        self.recoveries(state, &mut steps);
        self.defects(state, &mut steps);
        steps
    }

    fn goal(&mut self, state: State) -> Goal {
        let known = self.states.iter().position(|one| *one == state);
        Goal::State(known.unwrap_or_else(|| {
            self.states.push(state);
            self.states.len() - 1
        }))
    }

    fn failures(&mut self, state: State, steps: &mut Vec<Step>) {
        let working = self.group.drives - state.missing();
        let rate = f64::from(working) * self.rates.failure;
        for (count, probability) in self.group.at_once(working) {
            for (left, share) in defective_after(state.defective, working, count) {
                self.failed(state, count, left, rate * probability * share, steps);
            }
        }
    }

    /// `count` drives fail at once, and `left` of the others have a latent error.
    fn failed(&mut self, state: State, count: u32, left: u32, rate: f64, steps: &mut Vec<Step>) {
        let missing = state.missing() + count;
        let mut survives = 1.0;
        for failed in 1..=count {
            let cause = if failed == 1 { Cause::Failures } else { Cause::Shock };
            let loses = self.group.loses(state.missing() + failed);
            add(steps, Goal::Loss(cause), rate * survives * loses, true);
            survives *= 1.0 - loses;
        }
        if survives == 0.0 {
            return;
        }
        let rate = rate * survives;
        let mut next = State { defective: left, ..state };
        match self.rates.detect {
            Some(_) => next.undetected += count,
            None => {
                next.detected += count;
                next.on_order += if self.rates.restock.is_some() { count } else { 0 };
            }
        }
        let lost = if left > 0 { self.group.loses(missing + 1) } else { self.group.on_read(missing) };
        add(steps, Goal::Loss(Cause::Latent), rate * lost, true);
        if lost < 1.0 {
            let goal = self.goal(next);
            add(steps, goal, rate * (1.0 - lost), true);
        }
    }

    fn recoveries(&mut self, state: State, steps: &mut Vec<Step>) {
        if let Some(detect) = self.rates.detect.filter(|_| state.undetected > 0) {
            let ordered = u32::from(self.rates.restock.is_some());
            let goal = self.goal(State {
                undetected: state.undetected - 1,
                detected: state.detected + 1,
                on_order: state.on_order + ordered,
                ..state
            });
            add(steps, goal, f64::from(state.undetected) * detect, false);
        }
        let mut waiting = 0;
        if let Some((count, restock)) = self.rates.restock {
            waiting = state.on_order.saturating_sub(count);
            if state.on_order > 0 {
                let goal = self.goal(State { on_order: state.on_order - 1, ..state });
                add(steps, goal, f64::from(state.on_order) * restock, false);
            }
        }
        let ready = state.detected - waiting;
        if ready > 0 {
            let at_once = if self.group.serial { 1 } else { ready };
            let goal = self.goal(State { detected: state.detected - 1, ..state });
            add(steps, goal, f64::from(at_once) * self.rates.repair, false);
        }
    }

    fn defects(&mut self, state: State, steps: &mut Vec<Step>) {
        let Some((arising, scrub)) = self.rates.arising else { return };
        let clean = self.group.drives - state.missing() - state.defective;
        if clean > 0 {
            let goal = self.goal(State { defective: state.defective + 1, ..state });
            add(steps, goal, f64::from(clean) * arising, false);
        }
        if let Some(scrub) = scrub.filter(|_| state.defective > 0) {
            let goal = self.goal(State { defective: state.defective - 1, ..state });
            add(steps, goal, f64::from(state.defective) * scrub, false);
        }
    }
}

/// Adds a transition, or its rate to one with the same goal.
pub(crate) fn add(steps: &mut Vec<Step>, to: Goal, rate: f64, failure: bool) {
    if rate <= 0.0 {
        return;
    }
    match steps.iter_mut().find(|step| step.to == to && step.failure == failure) {
        Some(step) => step.rate += rate,
        None => steps.push(Step { to, rate, failure }),
    }
}

/// How many of `defective` drives are left when `count` of `working` drives fail, and how likely that is.
fn defective_after(defective: u32, working: u32, count: u32) -> Vec<(u32, f64)> {
    if count > working {
        return Vec::new();
    }
    let mut left = vec![(defective, 1.0)];
    for failed in 0..count {
        let of = f64::from(working - failed);
        let drawn = |(left, share): (u32, f64)| {
            let hit = f64::from(left) / of;
            [(left.saturating_sub(1), share * hit), (left, share * (1.0 - hit))]
        };
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for (left, share) in left.into_iter().flat_map(drawn).filter(|(_, share)| *share > 0.0) {
            *sums.entry(left).or_default() += share;
        }
        left = sums.into_iter().collect();
    }
    left
}
