//! `flash.commands`: advanced commands of the chips.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Commands beyond read, program and erase of one page or block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CommandsSpec {
    /// Whether the planes of a die work side by side on pages of the same number, and on erases: `off`, `match`
    /// (planes whose next pages have the same number), `skip` (a plane that lags leaves pages out until it has).
    pub multi_plane: MultiPlane,
    /// A unit takes the data of its next program while it still programs.
    pub cache_program: bool,
    /// A unit reads its next page while the one before leaves over the channel.
    pub cache_read: bool,
    /// Between the transfers of a multi-plane program (tDBSY), and until a cache register has been emptied or
    /// filled, ns.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub register_ns: f64,
}

/// Whether the planes of a die work side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MultiPlane {
    /// One page at a time.
    Off,
    /// Those whose next pages have the same number.
    Match,
    /// Those that can get there by leaving pages out.
    Skip,
}

impl CommandsSpec {
    /// Whether any of them is ever given.
    #[must_use]
    pub fn are_used(&self) -> bool {
        self.multi_plane != MultiPlane::Off || self.cache_program || self.cache_read
    }
}

impl Default for CommandsSpec {
    fn default() -> Self {
        CommandsSpec {
            multi_plane: MultiPlane::Off,
            cache_program: false,
            cache_read: false,
            register_ns: 0.0,
        }
    }
}
