//! Plain Monte Carlo: groups as they are, of which those without a failure are skipped.

use crate::YEAR;
use crate::chain::Cause;
use crate::group::{Event, FirstFailure, State, skipped};
use crate::model::Group;
use crate::sampling::{Limits, Loss, Stopped, Tally, sample};
use flashkeep_errors::draw::Stream;

/// Estimates the probability of a loss. A group that has lost data starts again, so that all losses are counted.
#[must_use]
pub fn estimate(group: &Group, years: f64, seed: u64, limits: Limits) -> (Tally, Stopped) {
    let mission = years * YEAR;
    let first = FirstFailure::new(group, mission);
    sample(limits, |batch, paths| {
        let mut stream = Stream::new(seed, "fleet: plain", batch);
        let mut tally = Tally::new(years);
        tally.paths = paths;
        let mut state = State::new(group, mission);
        let mut left = paths as f64;
        loop {
            left -= skipped(first.probability, &mut stream) + 1.0;
            if left < 0.0 {
                break;
            }
            follow(group, &first, &mut state, &mut stream, &mut tally);
        }
        tally
    })
}

/// A group from its first failure to the end of the mission.
fn follow<'a>(
    group: &'a Group,
    first: &FirstFailure,
    state: &mut State<'a>,
    stream: &mut Stream,
    tally: &mut Tally,
) {
    let mut losses = 0;
    state.begin(first, stream);
    let mut event = state.step(stream);
    loop {
        let loss = match event {
            Event::End => break,
            Event::Other => None,
            Event::Exposed => on_read(group, state, stream),
            Event::Lost(loss) => Some(loss),
        };
        if let Some(loss) = loss {
            if losses == 0 {
                tally.lose(loss, 1.0);
            }
            losses += 1;
            state.restore(stream);
        }
        event = state.step(stream);
    }
    tally.losses += f64::from(losses);
    tally.close(f64::from(u32::from(losses > 0)));
}

/// The loss by a latent error that the rebuild reads, if it does.
fn on_read(group: &Group, state: &State<'_>, stream: &mut Stream) -> Option<Loss> {
    let probability = group.on_read(state.missing());
    let meets = probability > 0.0 && stream.open() < probability;
    meets.then(|| Loss { at: state.now(), cause: Cause::Latent, unrebuilt: 0.0 })
}
