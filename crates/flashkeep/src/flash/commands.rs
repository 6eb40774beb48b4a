//! `flash.commands`: advanced commands of the chips.

use super::{BusUse, FlashSpec};
use crate::kernel::{Span, whole};
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
    /// What a unit suspends for reads that come for it: nothing (`off`), its erases (`erase`), or also its programs and
    /// copybacks (`program-erase`).
    pub suspend: Suspend,
    /// The options of these commands.
    #[serde(flatten)]
    #[schemars(schema_with = "of_commands")]
    pub options: Options,
}

fn of_commands(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[COMMANDS, SUSPENSIONS])
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

/// The key that lets units suspend operations, and its limit.
pub const SUSPENSIONS: Selector = Selector::of::<SuspensionOptions>("suspend");

/// How often an operation is suspended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct SuspensionOptions {
    /// How often reads interrupt one program or erase: each suspension counts, and so does each time that reads which
    /// came meanwhile prolong it; 0 means without a limit. The default is ours: chips and controllers have a limit so
    /// that reads cannot starve an operation, and do not publish it.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(super) suspensions: u32,
}

impl Default for SuspensionOptions {
    fn default() -> Self {
        SuspensionOptions { suspensions: 10 }
    }
}

/// The times of suspensions, in `flash.timing`.
pub const SUSPEND_TIMES: Selector = Selector::of::<SuspendTimes>("suspend_program_us");

/// How long suspending and resuming take. The defaults are ours: a few steps of a program and of an erase.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct SuspendTimes {
    /// Time from the command that suspends a program until the die can sense, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub(super) suspend_program_us: f64,
    /// Time from the command that suspends an erase until the die can sense, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub(super) suspend_erase_us: f64,
    /// Time that a suspended operation takes to resume, µs.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub(super) resume_us: f64,
}

impl Default for SuspendTimes {
    fn default() -> Self {
        SuspendTimes { suspend_program_us: 20.0, suspend_erase_us: 50.0, resume_us: 5.0 }
    }
}

/// Which operations units suspend for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Suspend {
    /// None.
    Off,
    /// Erases.
    Erase,
    /// Programs, copybacks and erases.
    ProgramErase,
}

/// How units suspend operations for reads.
#[derive(Clone, Copy, Debug)]
pub struct SuspendRules {
    /// Whether programs and copybacks are suspended too.
    pub programs: bool,
    /// Until a unit that programs can sense.
    pub program: Span,
    /// Until a unit that erases can sense.
    pub erase: Span,
    /// Until a suspended operation continues.
    pub resume: Span,
    /// How often reads interrupt an operation at most.
    pub limit: u32,
}

impl SuspendRules {
    /// None if no operation can be suspended: a channel that is held for whole operations or rounds takes no command
    /// meanwhile.
    #[must_use]
    pub fn of(flash: &FlashSpec) -> Option<SuspendRules> {
        if flash.commands.suspend == Suspend::Off || flash.bus != BusUse::Transfers {
            return None;
        }
        let times: SuspendTimes = flash.timing.options.read();
        let ns = |us: f64| Span(whole(us * 1e3).ceil() as u64);
        let limit = flash.commands.options.read::<SuspensionOptions>().suspensions;
        Some(SuspendRules {
            programs: flash.commands.suspend == Suspend::ProgramErase,
            program: ns(times.suspend_program_us),
            erase: ns(times.suspend_erase_us),
            resume: ns(times.resume_us),
            limit: if limit == 0 { u32::MAX } else { limit },
        })
    }
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
            suspend: Suspend::Off,
            options: Options::default(),
        }
    }
}
