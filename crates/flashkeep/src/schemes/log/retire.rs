//! Superblocks that have had their last erase, and the end of the log.
//!
//! A superblock whose erase count reaches `ftl.wear.erase_budget` is retired: it is not filled again. Its last erase
//! gives no free superblock, so GC empties it only while two are free: one to copy to, and one that remains. From the
//! first superblock on whose next erase is its last, GC therefore keeps a second free one. It starts a superblock
//! earlier, copies into the rest of its last destination, and the host gets such a rest only while two are free.
//!
//! When a write finds no slot and GC can gain none, or has cleaned as often as there are superblocks without gaining one
//! because members have lost too much capacity, the host gets the superblocks kept for GC. When these are used
//! up, the write is refused, which is the drive's end. So is a write for which a power loss has left no room: torn
//! superpages and pages copied twice may fill a log of few superblocks.

use super::{LogStripes, StripeLog};
use crate::engine::{Command, Member, Page, Plan, PlanVerdict, View};
use crate::kernel::Bits;

/// Pages whose last write was refused: they are lost.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct RefusedPages(Bits);

impl RefusedPages {
    #[inline]
    pub(super) fn has(&self, page: u32) -> bool {
        self.0.count() > 0 && self.0.has(page)
    }

    #[inline]
    pub(super) fn set(&mut self, page: u32, refused: bool) {
        if refused || self.0.count() > 0 {
            self.0.set(page, refused);
        }
    }
}

impl LogStripes {
    /// Whether cleaning gains nothing for the write that waits: the places of what it frees are bad again.
    pub(super) fn is_hopeless(&self) -> bool {
        self.vain_cleanings > self.superblocks.count()
    }
}

impl StripeLog {
    /// Whether GC keeps a second free superblock.
    pub(super) fn is_near_the_end(&self) -> bool {
        self.stripes.superblocks.are_worn() && !self.gives_all
    }

    /// Free superblocks that the host does not get.
    pub(super) fn kept(&self) -> usize {
        1 + usize::from(self.is_near_the_end())
    }

    /// Whether the host gets the rests of superblocks that GC has not filled.
    pub(super) fn gives_rests(&self) -> bool {
        !self.is_near_the_end() || self.stripes.superblocks.free() >= 2
    }

    /// Whether GC may empty a superblock.
    pub(super) fn may_clean(&self, superblock: u32) -> bool {
        let may_lose = self.stripes.superblocks.free() >= 2 || self.gives_all;
        may_lose
            || self.stripes.superblocks.current(superblock) == 0
            || !self.stripes.superblocks.is_last_erase(superblock)
    }

    /// A write has found no slot: it waits, or there never will be one.
    #[cold]
    pub(super) fn wait_or_refuse(
        &mut self,
        command: &Command,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> PlanVerdict {
        let (worn, hopeless) = (self.stripes.superblocks.are_worn(), self.stripes.is_hopeless());
        let may_end = self.restarted || worn || self.gives_all || hopeless;
        if !may_end || self.can_make_room() {
            return PlanVerdict::Wait;
        }
        if !self.gives_all {
            self.gives_all = true;
            return self.write(command, view, plan);
        }
        if worn && self.stripes.superblocks.retired() == 0 && !self.restarted && !hopeless {
            return PlanVerdict::Wait;
        }
        self.release(command.start.low());
        self.refused.set(command.start.low(), true);
        plan.refuses = true;
        PlanVerdict::Go
    }

    /// Whether work under way, or work that can begin, may give the host a slot.
    pub(super) fn can_make_room(&self) -> bool {
        let is_at_work =
            self.cleaning.is_some() || self.moving || self.erasing > 0 || !self.stripe_rebuilds.is_empty();
        let may_clean = || !self.stripes.is_hopeless() && self.other_victim().is_some();
        is_at_work || self.stripes.is_stuck() || self.guard.is_waiting() || may_clean()
    }

    /// After a power cut, the counts that members keep of their blocks are used.
    pub(super) fn look_up_wear(&mut self, view: &View<'_>) {
        self.gives_all = false;
        let (superblocks, members) = (self.stripes.superblocks.clone(), self.members);
        let erases = |superblock: u32| {
            let first = Page::of(superblocks.extent(superblock).start);
            (0..members).map(|member| view.erases_at(Member(member), first)).max().unwrap_or(0)
        };
        self.stripes.superblocks.look_up(erases);
    }
}
