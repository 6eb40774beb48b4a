//! # What it does
//! No redundancy: each page is written once, where `ftl.allocation` puts it. A static allocation
//! (`ftl.allocation = "CWDP"`) stripes pages over the channels and chips, which is RAID-0. Over drives,
//! chunks of `redundancy.stripe_kib` go to the members in turn; 0 concatenates the members.
//!
//! # What it costs
//! Nothing.
//!
//! # What it survives
//! No failure of any unit.
//!
//! # Example
//! `flashkeep run 1CNM-64 synth:sirf-fin2 --set redundancy.scheme=none`
//!
//! # Source
//! The baseline. With a static allocation it is the RAID-0 of Kim, Lee, Choi, Lee and Noh, "Enhancing SSD
//! reliability through efficient RAID support".

use super::{OptionsPart, PageNumbers, SchemeEntry, SchemeOptions, Striping, members};
use crate::engine::{
    BackgroundWork, Capabilities, Command, Member, MemberRow, Page, Plan, PlanVerdict, Recoverable, Scheme,
    Step, View,
};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "none",
    summary: "no redundancy: every page once, placed by ftl.allocation",
    source: include_str!("none.rs"),
    options: &[OptionsPart::of::<Striping>()],
    members: |_, _, _| Ok(1),
    over_drives: members::striped,
    numbers: PageNumbers::Wide,
    plain: true,
    concatenates: true,
    formula: members::as_its_members,
    in_rows: true,
    ..SchemeEntry::BASE
};

/// No redundancy.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Plain {
    /// Pages of each member.
    pages: u64,
    /// The number of members; one in a drive.
    members: u64,
    /// Pages per chunk of an array; all pages of a member if members are concatenated.
    unit: u64,
}

impl Plain {
    /// No redundancy over the given members.
    #[must_use]
    pub fn new(options: &SchemeOptions<'_>) -> Self {
        let (pages, members) = (options.member_pages, u64::from(options.members));
        let unit = if options.unit_pages == 0 { pages } else { u64::from(options.unit_pages) };
        Plain { pages, members, unit }
    }

    #[inline]
    fn place(&self, page: Page) -> (Member, Page) {
        if self.members == 1 {
            return (Member(0), page);
        }
        let (unit, within) = (page.0 / self.unit, page.0 % self.unit);
        (Member((unit % self.members) as u8), Page(unit / self.members * self.unit + within))
    }
}

pub(super) fn build(options: &SchemeOptions<'_>) -> Plain {
    Plain::new(options)
}

impl Scheme for Plain {
    fn capacity(&self) -> u64 {
        self.pages * self.members
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { passes_parts: true, stateless: true, ..Capabilities::default() }
    }

    #[inline]
    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        let (member, page) = self.place(page);
        tell(member, page);
    }

    #[inline]
    fn plan(&mut self, command: &Command, _: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        if self.members == 1 {
            plan.push(Step::new(Member(0), *command, 0));
            return PlanVerdict::Go;
        }
        let mut at = 0;
        while at < command.count {
            let start = command.start.plus(u32::from(at));
            let (member, page) = self.place(start);
            let count = (self.unit - start.0 % self.unit).min(u64::from(command.count - at)) as u16;
            plan.push(Step::new(member, command.over(page, count), at));
            at += count;
        }
        PlanVerdict::Go
    }

    fn row(&self) -> Option<MemberRow> {
        let each = if self.members == 1 { 1 } else { self.unit };
        let pages = u32::try_from(each * self.members).ok()?;
        Some(MemberRow { pages, each: each as u32, reads: false })
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        if self.members == 1 {
            return Some(page);
        }
        let unit = page.0 / self.unit * self.members + u64::from(member.0);
        Some(Page(unit * self.unit + page.0 % self.unit))
    }
}

impl BackgroundWork for Plain {}

impl Recoverable for Plain {}
