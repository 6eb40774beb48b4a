//! Fixed splitting on the number of drives that are missing at once (RESTART; Villén-Altamirano, 1991).
//!
//! Each time a path rises to level k (k drives missing), `factors[k]` copies of it continue, with failures drawn
//! again; all but one end when they fall below the level. A loss at level k has the weight 1/(factors of the levels
//! up to k). Copies share the ends of repairs that have begun, so those without another failure are equal: they are
//! one state and a count, and only copies that fail before the next end are followed by themselves. The first failure
//! is forced into the mission. The probability that a rebuild meets a latent error is added where the redundancy is
//! used up, instead of being drawn; the path continues with the rest of its weight.
//!
//! A failure of the whole group that brings a second one (a shock of probability β) is a level of its own: about one of
//! 1/β copies has it, and ends when the group is whole again. On copies at other levels shocks are drawn more often, and
//! weighted.

use crate::YEAR;
use crate::chain::Cause;
use crate::group::{Event, FirstFailure, State, skipped};
use crate::model::Group;
use crate::sampling::{Limits, Loss, Stopped, Tally, sample};
use flashkeep_errors::draw::Stream;

/// A shock is drawn at least so often where paths end soon.
const LEAST_SHOCK: f64 = 0.3;

/// The most levels: each multiplies the work of a path, and a loss beyond this level has a probability of 1e-30 or so.
pub const MOST_LEVELS: u32 = 8;

/// Paths that check the guesses of levels.
const PILOTS: u32 = 64;

/// This number of copies that rise to the next level is too large.
const MOST_RISES: f64 = 8.0;

/// The most copies at one level.
const MOST_COPIES: f64 = 1e9;

/// The copies at each level from 1 to the tolerance: one over a guess of the probability that the next level is
/// reached.
fn factors(group: &Group, years: f64, first: &FirstFailure, seed: u64) -> Vec<u32> {
    let seen = rises(group, years, first, seed);
    let most = |copies: u32, seen: f64| {
        if seen > 0.0 && f64::from(copies) * seen > MOST_RISES {
            (libm::round(1.0 / seen) as u32).max(1)
        } else {
            copies
        }
    };
    guesses(group, years).into_iter().zip(seen).map(|(copies, seen)| most(copies, seen)).collect()
}

/// The probability to rise from each level before the next repair ends, on a few paths: a check of the guesses, which are
/// far off where new drives fail soon.
fn rises(group: &Group, years: f64, first: &FirstFailure, seed: u64) -> Vec<f64> {
    let levels = group.tolerance.min(MOST_LEVELS);
    let mut stream = Stream::new(seed, "fleet: levels", 0);
    let mut state = State::new(group, years * YEAR);
    let mut seen = vec![(0.0, 0.0); levels as usize];
    for _ in 0..if first.probability > 0.0 { PILOTS } else { 0 } {
        state.begin(first, &mut stream);
        let mut event = state.step(&mut stream);
        while !matches!(event, Event::End | Event::Lost(_)) && (1..=levels).contains(&state.missing()) {
            let window = state.window();
            let level = &mut seen[state.missing() as usize - 1];
            *level = (level.0 + window.probability(), level.1 + 1.0);
            if window.probability() == 0.0 {
                break;
            }
            event = state.fail_within(&window, &mut stream);
        }
    }
    seen.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { 0.0 }).collect()
}

/// A guess of the probability of a loss that is too low rather than too high: as if each failure had to come before the
/// next repair ends.
pub(crate) fn least(group: &Group, years: f64, seed: u64) -> f64 {
    let first = FirstFailure::new(group, years * YEAR);
    first.probability * rises(group, years, &first, seed).into_iter().product::<f64>()
}

/// The copies by mean times.
fn guesses(group: &Group, years: f64) -> Vec<u32> {
    let mission = years * YEAR;
    let mut rate = group.life.0.cumulative_hazard(mission) / mission;
    // Wear comes at the end of a life, when its rate is far above the mean.
    rate += group.wear.map_or(0.0, |wear| wear.life.0.hazard_rate(mission.min(wear.life.0.mean())));
    let mut delay = group.detect.map_or(0.0, |delay| delay.mean());
    delay += group.spares.filter(|spares| spares.count == 0).map_or(0.0, |spares| spares.restock.mean());
    let guess = |missing: u32| {
        let rises = f64::from(group.drives - missing) * rate;
        let repairs = if group.serial { 1.0 } else { f64::from(missing) };
        let falls = repairs / (delay + group.repair.mean());
        ((1.0 + falls / rises).min(MOST_COPIES) + 0.5) as u32
    };
    (1..=group.tolerance).map(guess).collect()
}

/// Estimates the probability of a loss.
#[must_use]
pub fn estimate(group: &Group, years: f64, seed: u64, limits: Limits) -> (Tally, Stopped) {
    let mission = years * YEAR;
    let first = FirstFailure::new(group, mission);
    let factors = factors(group, years, &first, seed);
    let levels = group.tolerance as usize + 1;
    sample(limits, |batch, paths| {
        let mut tally = Tally::new(years);
        tally.paths = paths;
        let mut tree = Tree {
            group,
            factors: &factors,
            stream: Stream::new(seed, "fleet: splitting", batch),
            shocks: copies_of(group.shock, group.drives),
            shocked: Some(State::new(group, mission)),
            scratch: vec![Some([State::new(group, mission), State::new(group, mission)]); levels],
            total: 0.0,
            tally,
        };
        if first.probability > 0.0 {
            for _ in 0..paths {
                tree.grow(&first);
            }
        }
        tree.tally
    })
}

/// The copies at the level of a shock; 1 where shocks are frequent, or cannot be.
fn copies_of(shock: f64, drives: u32) -> f64 {
    if shock > 0.0 && shock < LEAST_SHOCK && drives > 1 {
        libm::round((1.0 / shock).min(MOST_COPIES))
    } else {
        1.0
    }
}

/// A path with its copies.
struct Tree<'a> {
    group: &'a Group,
    factors: &'a [u32],
    stream: Stream,
    /// For each level a state of all equal copies, and one of a copy with a failure of its own; the root is at level 0.
    scratch: Vec<Option<[State<'a>; 2]>>,
    /// The copies at the level of a shock, and a state for them.
    shocks: f64,
    shocked: Option<State<'a>>,
    /// The weights of the losses of this tree.
    total: f64,
    tally: Tally,
}

impl<'a> Tree<'a> {
    fn grow(&mut self, first: &FirstFailure) {
        self.total = 0.0;
        let mut states = self.scratch[0].take().expect("a tree has one root at a time");
        states[0].begin(first, &mut self.stream);
        self.follow(&mut states[0], Event::Other, first.probability, 0, 0);
        self.scratch[0] = Some(states);
        self.tally.close(self.total);
    }

    fn lose(&mut self, loss: Loss, weight: f64) {
        self.tally.lose(loss, weight);
        self.total += weight;
    }

    /// Follows a path from an event on, until it falls below `floor`, loses data or ends. `weight` is that of a path
    /// without copies, and the levels up to `split` have been split.
    fn follow(
        &mut self,
        state: &mut State<'a>,
        mut event: Event,
        mut weight: f64,
        floor: u32,
        mut split: u32,
    ) {
        // What the path's own shock has made of its weight.
        let mut shocks = 1.0;
        loop {
            match event {
                Event::End => return,
                Event::Lost(loss) => return self.lose(loss, weight * self.share(split)),
                Event::Exposed if self.group.on_read(state.missing()) > 0.0 => {
                    let probability = self.group.on_read(state.missing());
                    let loss = Loss { at: state.now(), cause: Cause::Latent, unrebuilt: 0.0 };
                    self.lose(loss, weight * probability * self.share(split));
                    weight *= 1.0 - probability;
                }
                Event::Exposed | Event::Other => {}
            }
            split = split.min(state.missing());
            if state.missing() < floor {
                return;
            }
            while split < state.missing() {
                split += 1;
                self.copies(state, weight, split);
            }
            let whole = state.missing() == 0;
            if whole {
                weight /= shocks;
                shocks = 1.0;
                self.shock_copies(state, weight);
            }
            event = state.step(&mut self.stream);
            if whole && state.shocked() == Some(true) && state.missing() > 0 {
                shocks = 1.0 / self.shocks;
                weight *= shocks;
            }
        }
    }

    /// Follows the copies of a path whose next event is a failure of the whole group and brings a second one.
    fn shock_copies(&mut self, state: &State<'a>, weight: f64) {
        if self.shocks == 1.0 || !state.fails_next() {
            return;
        }
        let mut copy =
            self.shocked.take().expect("copies with a shock begin in a whole group, and end in one");
        let mut left = self.shocks - 1.0;
        loop {
            left -= skipped(self.group.shock, &mut self.stream) + 1.0;
            if left < 0.0 {
                break;
            }
            copy.copy(state);
            copy.set_shock(1.0);
            let event = copy.step(&mut self.stream);
            copy.set_shock(self.group.shock);
            copy.redraw(&mut self.stream);
            self.follow(&mut copy, event, weight / self.shocks, 1, 0);
        }
        self.shocked = Some(copy);
    }

    /// Follows all copies but one from a state that has risen to a level.
    fn copies(&mut self, state: &State<'a>, weight: f64, level: u32) {
        let at = level as usize;
        let mut states = self.scratch[at].take().expect("copies of a level end before others of it begin");
        let [equal, own] = &mut states;
        equal.copy(state);
        let mut count = f64::from(self.factors[at - 1] - 1);
        while count > 0.0 && equal.missing() >= level {
            let window = equal.window();
            let mut left = count;
            loop {
                left -= skipped(window.probability(), &mut self.stream) + 1.0;
                if left < 0.0 {
                    break;
                }
                own.copy(equal);
                let (shock, drawn) = (self.group.shock, self.group.shock.max(LEAST_SHOCK));
                own.set_shock(drawn);
                let event = own.fail_within(&window, &mut self.stream);
                own.set_shock(shock);
                let ratio = match own.shocked() {
                    None => 1.0,
                    Some(true) => shock / drawn,
                    Some(false) => (1.0 - shock) / (1.0 - drawn),
                };
                if ratio > 0.0 {
                    self.follow(own, event, weight * ratio, level, level);
                }
                count -= 1.0;
            }
            if equal.recover(&mut self.stream) == Event::End {
                break;
            }
        }
        self.scratch[at] = Some(states);
    }

    /// The weight of a path at a level.
    fn share(&self, level: u32) -> f64 {
        self.factors[..level as usize].iter().fold(1.0, |share, copies| share / f64::from(*copies))
    }
}
