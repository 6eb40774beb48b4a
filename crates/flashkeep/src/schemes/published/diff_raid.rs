//! # What it does
//! RAID-5 whose members have unequal shares of the parities (`redundancy.shares`). A member with more parity
//! is written more, ages faster, and reaches its limit while the others still have life left, so that they do
//! not fail together. Of each 100 stripes a member has the parity of its share, distributed as regularly as
//! possible.
//!
//! After a member has been replaced and rebuilt, the shares are reassigned: members are ordered by their
//! wear, the oldest gets the largest share and the new one the smallest. In every stripe whose parity now
//! belongs to another member, the parity and the data unit at that place are exchanged. A data unit is on the
//! member of its own number; the unit displaced by the parity is on the last member, so that at most three
//! pages of a stripe move. This happens in the background at the pace of `redundancy.rebuild_share`; until it
//! has moved, a stripe keeps its old protection. The scheme does not decide when a member is replaced, and by
//! what.
//!
//! # What it costs
//! One member of flash. A small update reads and writes as much as with RAID-5. With n members, a member with
//! a share p of the parities takes p + (1 − p)/(n − 1) of the pages that small writes write: the larger its
//! share, the more it is the bottleneck. Each replacement moves up to three pages of each stripe.
//!
//! # What it survives
//! Any one of its members, at any time.
//!
//! # Example
//! Members of an array file: five drives; `redundancy.scheme = "diff-raid"`, `redundancy.shares = 0.4`.
//!
//! # Source
//! Balakrishnan, Kadav, Prabhakaran and Malkhi, "Differential RAID: rethinking RAID for SSD reliability", ACM
//! Transactions on Storage 6 (2), 2010, of which abstract and slides are available. Ours: the pattern, and
//! the place of the displaced unit.

use crate::engine::{
    BackgroundWork, Capabilities, Change, Command, Key, Lock, Member, MemberRow, Page, Plan, PlanVerdict,
    Protection, Recoverable, RepairOutcome, Scheme, Step, Verb, View, Why,
};
use crate::kernel::Bits;
use crate::schemes::hybrid;
use crate::schemes::parity::{Parity, Reshuffle, Weighted};
use crate::schemes::{
    MemberFacts, OptionsPart, Reads, Rebuilds, RedundancySpec, SchemeEntry, SchemeOptions, Shares, Striping,
    Sums, members,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

pub(in crate::schemes) const ENTRY: SchemeEntry = SchemeEntry {
    name: "diff-raid",
    summary: "Diff-RAID: one parity, distributed unevenly so that members do not wear out together",
    source: include_str!("diff_raid.rs"),
    options: &[
        OptionsPart::of::<Striping>(),
        OptionsPart::of::<DiffOptions>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: hybrid::only_over_drives,
    data_members: Some(|members, _| members - 1),
    survives: |_| 1,
    in_rows: true,
    over_drives: offered,
    ..SchemeEntry::BASE
};

/// Options of `diff-raid`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::schemes) struct DiffOptions {
    /// The shares of all parities that the members of `diff-raid` have: the first one's, the others having equal parts
    /// of the rest, or a list of each one's; they add up to 1.
    pub(in crate::schemes) shares: Shares,
}

impl Default for DiffOptions {
    fn default() -> Self {
        DiffOptions { shares: Shares::First(0.4) }
    }
}

/// Pages over these members, or the error in the shares.
fn offered(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String> {
    let pages = members::over_one_parity(members, redundancy)?;
    redundancy.read::<DiffOptions>().shares.counts(members.len())?;
    Ok(pages)
}

/// Parity in unequal shares.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct DiffRaid {
    parity: Parity<Weighted>,
    reshuffle: Reshuffle,
    /// A member that was replaced: the shares must be dealt again once the last change is complete.
    replaced: Option<Member>,
}

pub(in crate::schemes) fn build(options: &SchemeOptions<'_>) -> DiffRaid {
    // Every stripe has its parity, so that it can be moved: stripes that wait for theirs are no option of this scheme.
    DiffRaid { parity: Parity::new(options), reshuffle: Reshuffle::default(), replaced: None }
}

impl DiffRaid {
    /// Deals the shares again, if that is due and possible; returns whether it did.
    fn share_out(&mut self, view: &View<'_>) -> bool {
        let Some(replaced) = self.replaced.take_if(|_| !self.parity.is_reshuffling()) else { return false };
        let mut order: Vec<u8> = (0..view.members()).collect();
        order.sort_by_key(|&member| {
            (member == replaced.0, std::cmp::Reverse(view.wear(Member(member))), member)
        });
        self.parity.share_out(&order, view, &mut self.reshuffle);
        true
    }

    #[cfg(test)]
    pub(in crate::schemes) fn shares(&self) -> Vec<u32> {
        self.parity.layout().shares()
    }
}

impl Scheme for DiffRaid {
    fn capacity(&self) -> u64 {
        self.parity.capacity()
    }

    fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
        self.parity.places(page, tell);
    }

    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        self.parity.prefetch(page, ask);
    }

    fn row(&self) -> Option<MemberRow> {
        self.parity.row()
    }

    fn note_rows(&mut self, rows: Range<u64>) {
        self.parity.note_rows(rows);
    }

    fn used(&self) -> Option<&Bits> {
        self.parity.used()
    }

    fn period(&self, stripes: Range<u64>) -> Option<u32> {
        self.parity.period(stripes)
    }

    fn grain(&self, verb: Verb) -> u32 {
        self.parity.grain(verb)
    }

    fn capabilities(&self) -> Capabilities {
        // Parities move.
        Capabilities { reads_submitted: false, ..self.parity.capabilities() }
    }

    fn protection(&self) -> Protection<'_> {
        self.parity.protection()
    }

    fn lock(&self, command: &Command) -> Lock {
        self.parity.lock(command)
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        self.parity.plan(command, view, plan)
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        self.parity.repair(failed, view, plan)
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        self.parity.owner(member, page)
    }

    fn settled(&mut self, key: Key, view: &View<'_>) {
        self.parity.moved(key.0 as u32, &mut self.reshuffle);
        self.parity.settled(key, view);
    }

    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        if change == Change::Replaced {
            self.replaced = Some(member);
            self.share_out(view);
        }
        if matches!(change, Change::Replaced | Change::Returned) {
            self.parity.look_at_all(view, &mut self.reshuffle);
        }
    }
}

impl BackgroundWork for DiffRaid {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        if why != Why::Rebuild {
            return false;
        }
        // Where the last stripes need not be touched, the next change begins at once.
        while !self.parity.reshuffle(&mut self.reshuffle, view, plan) {
            if !self.share_out(view) {
                return false;
            }
        }
        true
    }

    fn examined(&mut self, stripe: u32, view: &View<'_>) {
        self.parity.look_at(stripe, view, &mut self.reshuffle);
        self.share_out(view);
    }

    fn rebuilding(&self, restoring: bool) -> bool {
        !self.reshuffle.is_empty() || self.parity.may_go_on(restoring)
    }
}

impl Recoverable for DiffRaid {
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        self.parity.settle_layout(view);
        self.parity.recover(view, lacks);
        self.reshuffle = Reshuffle::default();
    }
}
