//! # What it does
//! Asks the function `choose(valid, age, erases)` of the Python file `ftl.gc.file` (a path, relative to the working
//! directory) which block to reclaim. Each argument is a list with a number for each block that is worth collecting:
//! its valid pages, how many blocks have been closed since it was, and its erases. The function returns the place of
//! the block in these lists; the blocks are in the order in which other policies take equal ones. It is called once for
//! each decision, in the order of the simulation, so what it returns must follow from its arguments and earlier calls
//! for equal runs to give equal results.
//!
//! # What it costs
//! A call of Python for each decision, and a list of all candidates: tens of µs for planes of a thousand blocks.
//!
//! # Example
//! `flashkeep run 1CNM-64,ftl.gc.victim=python,ftl.gc.file=mine.py synth:random,requests=1M,write=1,footprint=1GiB`

use super::{Candidates, Score, Victim};
use crate::options::OptionsPart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// A function in a file.
pub(super) const POLICY: Victim = Victim {
    name: "python",
    summary: "the block that a function in the Python file ftl.gc.file chooses",
    source: include_str!("python.rs"),
    options: &[OptionsPart::of::<FileOptions>()],
    file: Some(|options| options.read::<FileOptions>().file),
    ..Victim::BASE
};

/// The file of the function.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct FileOptions {
    /// With `victim = "python"`: the Python file with the function `choose(valid, age, erases)`, relative to the working
    /// directory.
    file: Option<String>,
}

/// A victim policy that is not part of this crate.
pub trait ForeignVictim: Send + Sync {
    /// The place, in these lists, of the unit to reclaim. They have an entry for each unit that is worth collecting: its
    /// valid pages, how many units have been closed since it was, its erases; at least one.
    ///
    /// # Panics
    /// If the policy fails; the payload says why to the caller of the run.
    fn choose(&self, valid: &[u32], age: &[u32], erases: &[u32]) -> usize;
}

impl std::fmt::Debug for dyn ForeignVictim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ForeignVictim")
    }
}

/// Loads the policy of a file; the error says why the file is refused.
pub type LoadVictim = fn(&str) -> Result<Arc<dyn ForeignVictim>, String>;

static LOAD: OnceLock<LoadVictim> = OnceLock::new();

/// Says how files are loaded: the program around this crate knows the language. The first call counts.
pub fn load_victims_with(load: LoadVictim) {
    let _ = LOAD.set(load);
}

/// The policy of a file, as if it had not been called before.
///
/// # Errors
/// The reason why the file is refused.
pub fn load(path: &str) -> Result<Arc<dyn ForeignVictim>, String> {
    match LOAD.get() {
        Some(load) => load(path),
        None => Err("this program cannot run Python files; the flashkeep of the Python package can".into()),
    }
}

/// The unit that such a policy takes.
pub(in crate::blocks) fn pick<S: Score>(
    policy: &dyn ForeignVictim,
    candidates: &Candidates<'_, S>,
    erases: impl Fn(u32) -> u32,
) -> Option<u32> {
    let count = candidates.valid.len() as u32;
    let in_turn = (candidates.first..count).chain(0..candidates.first);
    let units: Vec<u32> =
        in_turn.filter(|&unit| candidates.valid[unit as usize] < candidates.pages).collect();
    if units.is_empty() {
        return None;
    }
    let of = |value: &dyn Fn(u32) -> u32| units.iter().map(|&unit| value(unit)).collect::<Vec<u32>>();
    let valid = of(&|unit| candidates.valid[unit as usize].into());
    let age = of(&|unit| candidates.closings.saturating_sub(candidates.closed_at[unit as usize]));
    Some(units[policy.choose(&valid, &age, &of(&erases))])
}
