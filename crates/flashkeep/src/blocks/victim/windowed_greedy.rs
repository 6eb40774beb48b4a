//! # What it does
//! Takes, of the `ftl.gc.window` blocks that were closed longest ago, the one with the fewest valid pages; of
//! equal ones the oldest. A window of 1 is `fifo`, except that the policy looks further if no block in the
//! window has an invalid page. A window over all blocks is greedy.
//!
//! # What it costs
//! Between `fifo` and `greedy`, both in copies and in evenness of wear.
//!
//! # Source
//! Hu, Eleftheriou, Haas, Iliadis and Pletka, "Write amplification analysis in flash-based solid state
//! drives", SYSTOR 2009.

use super::{Candidates, Score, Victim};
use crate::options::OptionsPart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Greedy among the oldest.
pub(super) const POLICY: Victim = Victim {
    name: "windowed-greedy",
    summary: "of the ftl.gc.window blocks closed longest ago, the one with the fewest valid pages",
    source: include_str!("windowed_greedy.rs"),
    options: &[OptionsPart::of::<WindowOptions>()],
    considers: |options| options.read::<WindowOptions>().window,
    pick: pick::<u16>,
    pick_wide: pick::<u32>,
    steady: Some(|tried| tried.windowed(f64::from(tried.considered))),
    ..Victim::BASE
};

/// The size of the window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct WindowOptions {
    /// With `victim = "windowed-greedy"`: the number of oldest blocks that are considered.
    #[schemars(range(min = 1, max = 16_777_216))]
    window: u32,
}

impl Default for WindowOptions {
    fn default() -> Self {
        WindowOptions { window: 64 }
    }
}

fn pick<S: Score>(candidates: &Candidates<'_, S>) -> Option<u32> {
    let last = end_of_window(candidates);
    let blocks = || candidates.valid.iter().zip(candidates.closed_at).zip(0..);
    let worth = |valid: S| valid < candidates.pages;
    let within = blocks().filter(|((valid, closed), _)| worth(**valid) && **closed <= last);
    let best = within.min_by_key(|&((valid, closed), _)| (valid, closed));
    let beyond = || {
        let beyond = blocks().filter(|((valid, _), _)| worth(**valid));
        beyond.min_by_key(|((_, closed), _)| **closed)
    };
    best.or_else(beyond).map(|(_, block)| block)
}

/// When the youngest block of the window was closed. Closed blocks have numbers of their own, so it is found by
/// halving, each time counting all that are older: no sorting, no memory.
fn end_of_window<S: Score>(candidates: &Candidates<'_, S>) -> u32 {
    let older = |than: u32| {
        let blocks = candidates.valid.iter().zip(candidates.closed_at);
        let counted =
            blocks.map(|(&valid, &closed)| u32::from(valid < S::NOT_CLOSED) & u32::from(closed <= than));
        counted.sum::<u32>()
    };
    let (mut low, mut high) = (0, candidates.closings);
    while low < high {
        let middle = low + (high - low) / 2;
        if older(middle) < candidates.considered { low = middle + 1 } else { high = middle }
    }
    low
}
