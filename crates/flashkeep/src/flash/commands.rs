//! `flash.commands`: advanced commands of the chips.

use crate::options::{self, Options, Selector};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// Advanced commands, beyond read, program and erase of one page or block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct CommandsSpec {
    /// Multi-plane commands, on pages of the same number in several planes of a die, and for erases: `off`, `match`
    /// (planes whose next pages have the same number), `skip` (a plane that lags leaves pages out until its next page
    /// has the number).
    pub multi_plane: MultiPlane,
    /// Cache program: a unit takes the data of its next program while it still programs.
    pub cache_program: bool,
    /// Cache read: a unit reads its next page while the data of the one before cross the channel.
    pub cache_read: bool,
    /// The options of these commands.
    #[serde(flatten)]
    #[schemars(schema_with = "of_commands")]
    pub options: Options,
}

fn of_commands(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[COMMANDS])
}

/// The keys that turn commands on ([`CommandsSpec::are_used`]), and their options.
pub const COMMANDS: Selector = Selector::of::<RegisterOptions>("multi_plane");

/// The speed of registers.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RegisterOptions {
    /// Time between the transfers of a program of several planes or of several pages (tDBSY), and until a cache register
    /// is emptied or filled, ns.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub register_ns: f64,
}

/// Which planes of a die take part in a multi-plane command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MultiPlane {
    /// One page at a time.
    Off,
    /// Planes whose next pages have the same number.
    Match,
    /// Planes that can reach the same number by leaving pages out.
    Skip,
}

impl CommandsSpec {
    /// Whether any advanced command is used.
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
            options: Options::default(),
        }
    }
}
