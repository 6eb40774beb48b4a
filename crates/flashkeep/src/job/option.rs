//! How an option of a run is declared.

use serde::Serialize;
use std::path::PathBuf;

/// What has an option: the parts of a run that it concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionScope {
    /// The drive, also where nothing is simulated.
    Drive,
    /// All that draws random numbers.
    Seed,
    /// How the files of a trace are read.
    Reading,
    /// Where and when the requests of a trace arrive.
    Placing,
    /// How a workload is replayed, and on which pages.
    Replaying,
    /// The state that a drive begins with.
    Starting,
    /// Everything else that changes the result of a run.
    #[default]
    Running,
    /// Figures over time.
    Series,
    /// Files that only the run of one drive writes.
    Writing,
}

/// An option of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunOption {
    /// Its field of [`Job`](super::Job); with dashes, its flag.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// What has it.
    pub scope: OptionScope,
    /// How its value is called; the flag of a switch has none.
    pub metavar: Option<&'static str>,
    /// What its value is: `flag`, `whole`, `factor`, `text`, `file`; or, of texts, `word` (one of those of `metavar`),
    /// `assignment`, `warmup`, `count`.
    pub kind: &'static str,
    /// The least whole number.
    pub least: u64,
    /// The bits of a whole number.
    pub bits: u32,
    /// Whether it can be given several times.
    pub repeat: bool,
}

impl RunOption {
    /// With the least whole number.
    pub(super) fn least(self, least: u64) -> RunOption {
        RunOption { least, ..self }
    }

    /// With a text of a special kind.
    pub(super) fn read_as(self, kind: &'static str) -> RunOption {
        RunOption { kind, ..self }
    }

    /// As the option of a field, whose type says the rest.
    pub(super) fn of<T: Typed>(
        self,
        name: &'static str,
        about: &'static str,
        scope: OptionScope,
    ) -> RunOption {
        let kind = if self.kind.is_empty() { T::KIND } else { self.kind };
        RunOption { name, about: about.trim(), scope, kind, bits: T::BITS, repeat: T::SEVERAL, ..self }
    }
}

/// A switch.
pub(super) fn flag() -> RunOption {
    RunOption::default()
}

/// An option with a value.
pub(super) fn value(metavar: &'static str) -> RunOption {
    RunOption { metavar: Some(metavar), ..RunOption::default() }
}

/// An option with one of a few words, which have bars between.
pub(super) fn word(metavar: &'static str) -> RunOption {
    value(metavar).read_as("word")
}

/// A type of options.
pub(super) trait Typed {
    /// The kind of its values.
    const KIND: &'static str;
    /// The bits of a whole number.
    const BITS: u32 = 0;
    /// Whether there are several values.
    const SEVERAL: bool = false;
}

impl Typed for bool {
    const KIND: &'static str = "flag";
}

impl Typed for Option<u32> {
    const KIND: &'static str = "whole";
    const BITS: u32 = u32::BITS;
}

impl Typed for Option<u64> {
    const KIND: &'static str = "whole";
    const BITS: u32 = u64::BITS;
}

impl Typed for Option<f64> {
    const KIND: &'static str = "factor";
}

impl Typed for Option<String> {
    const KIND: &'static str = "text";
}

impl Typed for Option<PathBuf> {
    const KIND: &'static str = "file";
}

impl Typed for Vec<String> {
    const KIND: &'static str = "text";
    const SEVERAL: bool = true;
}

/// Declares [`Job`](super::Job): the fields that a run is given, and its options.
macro_rules! job {
    (
        $(#[$about:meta])*
        given { $( $(#[$meta:meta])* $given:ident: $of:ty, )* }
        options { $( $(#[doc = $text:literal])+ $name:ident: $type:ty => $scope:expr, $taken:expr; )* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Job {
            $( $(#[$meta])* pub $given: $of, )*
            $( $(#[doc = $text])+ pub $name: $type, )*
        }

        /// The options of a run, in the order of the command line.
        #[must_use]
        pub fn run_options() -> Vec<RunOption> {
            vec![ $( $taken.of::<$type>(stringify!($name), concat!($($text),+), $scope), )* ]
        }
    };
}
pub(super) use job;
