//! Copies that may be unreadable: after a read has found a page of a member unreadable, each other page of which the
//! member has a copy is read from it the next time, so that what else it lost is found.

use crate::engine::{Member, Page, View};
use crate::kernel::Bits;
use serde::{Deserialize, Serialize};

/// For each member, after a read has found one of its pages unreadable.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Doubts(Vec<Doubt>);

/// The pages that may be unreadable as well, and those of them that have been read since, as the scheme numbers pages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Doubt {
    doubtful: Bits,
    checked: Bits,
}

impl Doubts {
    /// A member whose copy of the page may be unreadable, and is therefore read now. `copies` are the places of the page.
    pub(super) fn check(
        &mut self,
        page: Page,
        mut copies: impl FnMut(Member) -> Option<Page>,
        view: &View<'_>,
    ) -> Option<Member> {
        let mut doubts = (0..).map(Member).zip(&mut self.0);
        let mut has = |member| copies(member).is_some_and(|place| view.has(member, place));
        let (member, doubt) = doubts.find(|(member, doubt)| doubt.doubtful.has(page.0) && has(*member))?;
        doubt.doubtful.set(page.0, false);
        doubt.checked.set(page.0, true);
        Some(member)
    }

    /// A read has found that a member's copy of a page is unreadable: unless its copies are being checked already, those
    /// of the other pages, whose places there `copies` has, are doubtful from now on.
    pub(super) fn doubt(
        &mut self,
        member: Member,
        page: Page,
        copies: impl Iterator<Item = (Page, Page)>,
        view: &View<'_>,
    ) {
        let at = usize::from(member.0);
        self.0.resize_with(self.0.len().max(at + 1), Doubt::default);
        let doubt = &mut self.0[at];
        if doubt.doubtful.set(page.0, false) || doubt.checked.set(page.0, false) {
            return;
        }
        *doubt = Doubt::default();
        for (other, place) in copies.filter(|&(other, _)| other != page) {
            doubt.doubtful.set(other.0, view.has(member, place) && view.holds(member, place));
        }
    }

    /// Pages are written, and with them their copies.
    pub(super) fn write(&mut self, pages: std::ops::Range<u64>) {
        for doubt in &mut self.0 {
            pages.clone().for_each(|page| _ = doubt.doubtful.set(page, false));
        }
    }

    /// The member has changed as a whole.
    pub(super) fn forget(&mut self, member: Member) {
        let doubt = self.0.get_mut(usize::from(member.0));
        doubt.into_iter().for_each(|doubt| *doubt = Doubt::default());
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
