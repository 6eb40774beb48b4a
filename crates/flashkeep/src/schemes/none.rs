//! # What it does
//! Nothing: each page is written once, wherever `ftl.allocation` puts it. Where that is bound to the address
//! (`ftl.allocation = "CWDP"`), pages are striped over the channels and chips, which is RAID-0. Over drives, units of
//! `redundancy.stripe_kib` go to the members in turn; with 0 the members lie one after another.
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
//! The baseline; with a static allocation it is the RAID-0 of Kim, Lee, Choi, Lee and Noh, "Enhancing SSD reliability
//! through efficient RAID support".

use super::{Entry, Members, Options, members};
use crate::engine::{Change, Command, Hazard, Member, Page, Plan, Scheme, Step, Verdict, View};

pub(super) const ENTRY: Entry = Entry {
    name: "none",
    summary: "no redundancy: every page once, placed by ftl.allocation",
    source: include_str!("none.rs"),
    keys: &["stripe_kib"],
    members: |_, _, _| Ok(1),
    data_members: |members, _| members,
    survives: |_| 0,
    kind: Members::Mapped,
    memory: false,
    over_drives: members::striped,
};

/// No redundancy.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Plain {
    /// Pages of each member.
    pages: u64,
    /// One in a drive; page `p` of an array is page `p / members` of member `p % members`.
    members: u32,
    /// The members of an array lie one after another instead.
    in_a_row: bool,
    /// Something has failed, and with it what it held.
    damaged: bool,
}

impl Plain {
    /// No redundancy over the members that there are.
    #[must_use]
    pub fn new(options: &Options<'_>) -> Self {
        let (pages, members) = (options.member_pages, u32::from(options.members));
        Plain { pages, members, in_a_row: options.unit_pages == 0, damaged: false }
    }

    #[inline]
    fn place(&self, page: Page) -> (Member, Page) {
        match self.members {
            1 => (Member(0), page),
            _ if self.in_a_row => {
                let pages = self.pages as u32;
                (Member((page.0 / pages) as u8), Page(page.0 % pages))
            }
            members => (Member((page.0 % members) as u8), Page(page.0 / members)),
        }
    }
}

pub(super) fn build(options: &Options<'_>) -> Plain {
    Plain::new(options)
}

impl Scheme for Plain {
    fn capacity(&self) -> u64 {
        self.pages * u64::from(self.members)
    }

    #[inline]
    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        let (member, page) = self.place(page);
        tell(member, page);
    }

    #[inline]
    fn plan(&mut self, command: &Command, _: &View<'_>, plan: &mut Plan) -> Verdict {
        if self.members == 1 {
            plan.push(Step::new(Member(0), *command, 0));
            return Verdict::Go;
        }
        for n in 0..command.count {
            let (member, page) = self.place(command.start.plus(u32::from(n)));
            plan.push(Step::new(member, command.over(page, 1), n));
        }
        Verdict::Go
    }

    /// There is nothing to compare with.
    fn recover(&mut self, _: &View<'_>, _: &mut dyn FnMut(Member, Page)) {}

    fn member(&mut self, _: Member, _: Change, _: &View<'_>) {
        self.damaged = true;
    }

    fn is_whole(&self) -> bool {
        !self.damaged
    }

    fn is_carefree(&self) -> bool {
        true
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        let member = u32::from(member.0);
        let row =
            if self.in_a_row { member * self.pages as u32 + page.0 } else { page.0 * self.members + member };
        Some(Page(row))
    }

    fn is_exposed(&self, _: Page, _: Hazard) -> bool {
        true
    }
}
