//! # What it does
//! RAID-4 with a split parity drive: the last `redundancy.parity_drives` members hold the parity, assigned
//! stripe by stripe in turn. Each needs only a fraction of the pages of a data drive, so parity drives may be
//! smaller drives. Updates work as in RAID-4; updates of neighbouring stripes write different parity drives.
//!
//! # What it costs
//! As much flash as RAID-4, in more drives. Each parity drive writes its fraction of the parity. If small
//! writes make RAID-4's parity drive work as hard as all others together, k drives share that work.
//!
//! # What it survives
//! Any one of its members, at any time.
//!
//! # Example
//! Members of an array file: four drives, then two of half their size; `redundancy.scheme = "spd-raid4"`,
//! `redundancy.parity_drives = 2`.
//!
//! # Source
//! Pan, Liu, Xie, Gao, Ouyang and Chen, "SPD-RAID4: Splitting parity disk for RAID4 structured parallel SSD
//! arrays", HPCC 2013, of which only the title is available. Our interpretation: several small drives replace
//! the parity drive, and stripes are assigned to them in turn, so that they write in parallel.

use crate::schemes::hybrid;
use crate::schemes::parity::{Parity, Split};
use crate::schemes::{
    Idle, Incompletes, MemberFacts, OptionsPart, PageNumbers, Reads, Rebuilds, RedundancySpec, SchemeEntry,
    SchemeOptions, Striping, Sums, TriedWith,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(in crate::schemes) const ENTRY: SchemeEntry = SchemeEntry {
    name: "spd-raid4",
    summary: "SPD-RAID4: one parity, on several small drives in turn",
    source: include_str!("spd_raid4.rs"),
    options: &[
        OptionsPart::of::<Striping>(),
        OptionsPart::of::<SplitOptions>(),
        OptionsPart::of::<Incompletes>(),
        OptionsPart::of::<Idle>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: hybrid::only_over_drives,
    data_members: Some(|members, redundancy| {
        members.saturating_sub(redundancy.read::<SplitOptions>().parity_drives)
    }),
    survives: |_| 1,
    numbers: PageNumbers::Stripes,
    over_drives: offered,
    tried_with: &[TriedWith { drives: 6, ..TriedWith::BASE }],
    ..SchemeEntry::BASE
};

/// Options of `spd-raid4`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::schemes) struct SplitOptions {
    /// Members of `spd-raid4` that have the parity, the last ones.
    #[schemars(range(min = 2, max = 253))]
    pub(in crate::schemes) parity_drives: u32,
}

impl Default for SplitOptions {
    fn default() -> Self {
        SplitOptions { parity_drives: 2 }
    }
}

/// Pages over these members, or the missing condition.
fn offered(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String> {
    let parities = redundancy.read::<SplitOptions>().parity_drives as usize;
    if members.len() < parities + 2 {
        return Err(format!(
            "found {} members, of which {parities} have the parity; it needs at least 2 more, for the data",
            members.len()
        ));
    }
    let (data, parity) = members.split_at(members.len() - parities);
    Ok(stripes(data, parity) * data.len() as u64)
}

/// As many as a drive with data has pages, and the parity drives have together.
fn stripes(data: &[MemberFacts], parity: &[MemberFacts]) -> u64 {
    let least = |members: &[MemberFacts]| members.iter().map(|member| member.pages).min().unwrap_or(0);
    least(data).min(least(parity) * parity.len() as u64)
}

/// One parity, on several members in turn.
pub type SpdRaid4 = Parity<Split>;

pub(in crate::schemes) fn build(options: &SchemeOptions<'_>) -> SpdRaid4 {
    let data = options.array.len() - options.redundancy.read::<SplitOptions>().parity_drives as usize;
    let (data, parity) = options.array.split_at(data);
    SpdRaid4::new(&SchemeOptions { member_pages: stripes(data, parity), ..options.clone() })
}
