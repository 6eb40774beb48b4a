//! Groups of drives side by side under a level with redundancy: the joint Markov chain.
//!
//! A group that lost data is a member of the level above that is missing, until no more than its tolerance of drives
//! are: then the level above has restored what it lost. With parallel repair that takes the first of r + 1 repairs.
//! The chain continues beyond the loss of a group, so it knows how long that takes, and that a group which was just
//! restored is close to another loss. Groups are alike, so a state is how many of them are in each state of their
//! own.

use crate::Invalid;
use crate::chain::{self, Cause, Chain, Goal, MOST_STATES, Step};
use crate::levels::Level;
use crate::model::Group;
use std::collections::BTreeMap;

/// The groups' own states, in order.
type State = Vec<usize>;

/// The joint chain; none if it has too many states, or if a group's times or its code have no chain beyond a loss.
pub(crate) fn chain(group: &Group, level: Level) -> Result<Option<Chain>, Invalid> {
    if group.fatal.is_some() || group.frailty > 0.0 || !chain::is_exponential(group) {
        return Ok(None);
    }
    let Ok((own, missing)) = Chain::beyond_loss(group) else { return Ok(None) };
    let down: Vec<bool> = missing.iter().map(|missing| *missing > group.tolerance).collect();
    let whole: State = vec![0; level.members as usize];
    let mut joint =
        Joint { own: &own, down, level, known: BTreeMap::from([(whole.clone(), 0)]), states: vec![whole] };
    let mut steps = Vec::new();
    while steps.len() < joint.states.len() {
        if joint.states.len() > MOST_STATES {
            return Ok(None);
        }
        steps.push(joint.from(steps.len()));
    }
    Ok(Some(Chain { steps }))
}

struct Joint<'a> {
    /// The chain of one group.
    own: &'a Chain,
    /// Which of its states are losses.
    down: Vec<bool>,
    level: Level,
    known: BTreeMap<State, usize>,
    states: Vec<State>,
}

impl Joint<'_> {
    fn from(&mut self, number: usize) -> Vec<Step> {
        let state = self.states[number].clone();
        let down = state.iter().filter(|own| self.down[**own]).count() as u32;
        let mut steps = Vec::new();
        for (place, own) in state.iter().enumerate() {
            for step in &self.own.steps[*own] {
                let Goal::State(to) = step.to else { continue };
                let falls = self.down[to] && !self.down[*own];
                let loses = if falls { self.level.loses(down + 1) } else { 0.0 };
                chain::add(&mut steps, Goal::Loss(Cause::Failures), step.rate * loses, step.failure);
                if loses < 1.0 {
                    let mut next = state.clone();
                    next[place] = to;
                    next.sort_unstable();
                    let goal = Goal::State(self.numbered(next));
                    chain::add(&mut steps, goal, step.rate * (1.0 - loses), step.failure);
                }
            }
        }
        steps
    }

    fn numbered(&mut self, state: State) -> usize {
        let next = self.states.len();
        *self.known.entry(state).or_insert_with_key(|state| {
            self.states.push(state.clone());
            next
        })
    }
}
