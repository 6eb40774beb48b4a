//! # What it does
//! Local reconstruction codes (LRC). The k data units of a stripe form `redundancy.local_groups` groups, each with an
//! XOR parity of its own; `redundancy.global_parities` parities cover all of them, with coefficients of GF(2⁸). k is
//! the number of members less that of the parities. The parities move one member to the left from stripe to stripe. A
//! missing unit is reconstructed from its group, if nothing else of the group is missing: from k/l units instead of k.
//! An update writes the parity of its group and the global ones, by read-modify-write or reconstruct-write, whichever
//! reads fewer pages.
//!
//! # What it costs
//! A member of flash for each parity. With two global parities a single page written at random costs four reads and
//! four programs.
//!
//! # What it survives
//! Any r + 1 of the units it runs over, at any time, r being the number of global parities, and each larger set of
//! failures after which r parities can suffice at all: failures beyond one a group are at most as many as the global
//! parities that are left. Of 4 failures at once, Azure's LRC with 12 data units, 2 groups and 2 global parities
//! survives 86 %. With `redundancy.incomplete = "wait"` not the pages of stripes that have never been full.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 8CM-64 --set redundancy.scheme=lrc`
//!
//! # Source
//! Huang, Simitci, Xu, Ogus, Calder, Gopalan, Li and Yekhanin, "Erasure coding in Windows Azure Storage", USENIX ATC
//! 2012. The rotation of the parities is ours.

use super::members::{self, MemberNeeds};
use super::parity::{LocalGroups, Parity};
use super::{
    Idle, Incompletes, Inside, MemberFacts, OptionsPart, Reads, Rebuilds, RedundancySpec, SchemeEntry,
    SchemeOptions, Striping, Sums, TriedWith,
};
use crate::engine::Code;
use crate::options::WrongOption;
use flashkeep_errors::stripe::Stripe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "lrc",
    summary: "local reconstruction codes: a parity for each group of data units, and parities of all of them",
    source: include_str!("lrc.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<Striping>(),
        OptionsPart::of::<LrcOptions>(),
        OptionsPart::of::<Incompletes>(),
        OptionsPart::of::<Idle>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: |parts, width, level| {
        let why = "for two data units, a local parity and a global one";
        members::row(parts, width, level, MemberNeeds { name: "stripe", least: 4, why })
    },
    data_members: Some(|members, redundancy| members.saturating_sub(LrcOptions::of(redundancy).parities())),
    stripe: Some(|members, worn| Stripe {
        others: members - 1,
        spare: LrcOptions::of(worn.redundancy).global_parities,
    }),
    check: |members, redundancy| LrcOptions::of(redundancy).check(members),
    survives: |_| LrcOptions::DEFAULT.global_parities + 1,
    survives_with: Some(|_, redundancy| LrcOptions::of(redundancy).global_parities + 1),
    code: Some(|members, redundancy| LrcOptions::of(redundancy).code(members)),
    over_drives: offered,
    tried_with: &[
        TriedWith { parts: 7, drives: 7, ..TriedWith::BASE },
        TriedWith { parts: 8, drives: 8, set: &["redundancy.global_parities=1"], ..TriedWith::BASE },
        TriedWith { parts: 6, drives: 6, set: &["redundancy.local_groups=1"], ..TriedWith::BASE },
    ],
    in_rows: true,
    ..SchemeEntry::BASE
};

/// Options of `lrc`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct LrcOptions {
    /// Local groups of `lrc`: this number of groups share the data units of a stripe, each with a parity. Groups are
    /// of the same size, or of two sizes that differ by one.
    #[schemars(range(min = 1, max = 17))]
    pub(super) local_groups: u32,
    /// Parities of `lrc` that cover all data units of a stripe. With 2 of them, several groups have at most 15 data units
    /// each.
    #[schemars(range(min = 1, max = 2))]
    pub(super) global_parities: u32,
}

impl Default for LrcOptions {
    fn default() -> Self {
        LrcOptions::DEFAULT
    }
}

impl LrcOptions {
    const DEFAULT: LrcOptions = LrcOptions { local_groups: 2, global_parities: 2 };

    fn of(redundancy: &RedundancySpec) -> Self {
        redundancy.read()
    }

    fn parities(self) -> u32 {
        self.local_groups + self.global_parities
    }

    /// The code over this number of members.
    pub(super) fn code(self, members: u32) -> Code {
        let data = members.saturating_sub(self.parities()).max(1);
        Code::local(data as u8, self.local_groups as u8, self.global_parities as u8)
    }

    fn check(self, members: u32) -> Result<(), WrongOption> {
        let LrcOptions { local_groups: groups, global_parities: globals } = self;
        let (data, least) = (members.saturating_sub(self.parities()), groups.max(2));
        if data < least {
            return Err(wrong(format!(
                "{groups} groups and {globals} global parities over {members} members: at least {} members are needed, \
                 for {least} data units",
                self.parities() + least
            )));
        }
        let (size, most) = (data.div_ceil(groups), u32::from(Code::MOST_IN_GROUP));
        if groups > 1 && globals > 1 && size > most {
            return Err(wrong(format!(
                "{groups} groups of {data} data units: with 2 global parities a group has at most {most}, so at least {} \
                 groups are needed over more members, or 1 global parity",
                data.div_ceil(most)
            )));
        }
        Ok(())
    }
}

fn wrong(message: String) -> WrongOption {
    WrongOption { key: "local_groups", message }
}

/// Pages over these members, or the missing condition.
fn offered(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String> {
    let (options, number) = (LrcOptions::of(redundancy), members.len() as u32);
    options.check(number).map_err(|wrong| wrong.message)?;
    Ok(members::common_pages(members) * u64::from(number - options.parities()))
}

/// Local and global parities, rotated.
pub type Lrc = Parity<LocalGroups>;

pub(super) fn build(options: &SchemeOptions<'_>) -> Lrc {
    Lrc::new(options)
}
