//! `kim`: the formula of Kim, Choi and Min, *Design Tradeoffs for SSD Reliability* (FAST '19),
//! RBER = ε + α·c^k + β·c^m·t^n + γ·c^p·r^q, with the constants of a preset.

use super::{RberOptions, Source};
use crate::options::{Options, OptionsPart};
use flashkeep_errors::rber::{self, PRESETS, Rber};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which constants the formula has.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KimOptions {
    /// The chips that the constants were fitted to: `tlc-72l` (3D TLC of 72 layers), `mlc-3xnm`, `mlc-2ynm` (the constants of
    /// these two are noted from memory).
    #[schemars(extend("enum" = names()))]
    pub preset: String,
}

impl Default for KimOptions {
    fn default() -> Self {
        KimOptions { preset: PRESETS[0].name.into() }
    }
}

fn names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

pub(super) const SOURCE: Source = Source {
    name: "kim",
    options: const { &[OptionsPart::of::<KimOptions>(), OptionsPart::of::<RberOptions>()] },
    rber: |options: &Options| Ok(Rber::preset(rber::preset(&options.read::<KimOptions>().preset)?)),
};
