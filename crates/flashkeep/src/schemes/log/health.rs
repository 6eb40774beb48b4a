//! Units that stripes lack, because a member is gone or a page cannot be read, and what that exposes.

use super::places::LogPlace;
use super::{LogStripes, StripeLog};
use crate::engine::{Hazard, Key, Member, OwnHealth, Page, Role, StripeUnit, View};
use crate::kernel::Bits;
use std::ops::Range;

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct LogHealth {
    /// Whether a unit has ever been missing; until then no lookups are needed.
    pub(super) troubled: bool,
    members: Vec<Condition>,
    living: u8,
    /// Places that are programmed, as far as their stripe is concerned, and cannot be read.
    pub(super) missing: Bits,
    /// Places that have turned out to be bad: they are not used again as long as there is room without them.
    pub(super) bad: Bits,
    /// Current pages of each superblock that the failure of one more unit would cost, and of all.
    lacking_of: Vec<u32>,
    pub(super) lacking: u64,
    /// Superblocks that cannot be made whole in place.
    pub(super) to_be_moved: Bits,
    /// Superblocks that have been given in place what they could be, since a member was replaced.
    pub(super) rebuilt: Bits,
}

/// The condition of a member.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Condition {
    alive: bool,
    /// It has been replaced, and is being filled: where pages of it are missing, its blocks are erased.
    fresh: bool,
    /// Superblocks have been erased while it was gone, which it still holds.
    outdated: bool,
    /// The same after its return: it must not be written to.
    barred: bool,
}

/// The condition of a stripe.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct StripeHealth {
    /// Units that cannot be read.
    pub(super) missing: u8,
    /// Whether it has a parity, be it readable or not.
    pub(super) parity: bool,
    /// Its data that are their pages' current copies, and how many of those cannot be read.
    pub(super) current: u8,
    current_missing: u8,
}

impl StripeHealth {
    /// Pages that the failure of one more unit would cost: where a unit is missing, all of them; pages that are lost
    /// already is not counted.
    fn lacking(&self) -> u32 {
        match (self.missing, self.parity) {
            (0, true) => 0,
            (1, true) => u32::from(self.current),
            _ => u32::from(self.current - self.current_missing),
        }
    }
}

impl LogHealth {
    pub(super) fn new(members: u8) -> Self {
        let condition = Condition { alive: true, fresh: false, outdated: false, barred: false };
        LogHealth {
            troubled: false,
            members: vec![condition; usize::from(members)],
            living: members,
            missing: Bits::default(),
            bad: Bits::default(),
            lacking_of: Vec::new(),
            lacking: 0,
            to_be_moved: Bits::default(),
            rebuilt: Bits::default(),
        }
    }

    /// The missing units must be determined again.
    pub(super) fn restart(&mut self, superblocks: u32) {
        self.end_rebuild();
        (self.missing, self.to_be_moved) = (Bits::default(), Bits::default());
        self.lacking_of.clear();
        self.lacking = 0;
        self.trouble(superblocks);
    }

    pub(super) fn alive(&self, member: u8) -> bool {
        self.members[usize::from(member)].alive
    }

    /// The number of members that respond.
    pub(super) fn living(&self) -> u8 {
        self.living
    }

    pub(super) fn is_fresh(&self, member: u8) -> bool {
        let condition = self.members[usize::from(member)];
        condition.fresh && condition.alive
    }

    pub(super) fn has_fresh(&self) -> bool {
        (0..self.members.len()).any(|member| self.is_fresh(member as u8))
    }

    /// Replacement members have been given all pages that could be restored.
    pub(super) fn end_rebuild(&mut self) {
        for condition in self.members.iter_mut().filter(|condition| condition.alive) {
            condition.fresh = false;
        }
        self.rebuilt = Bits::default();
    }

    /// Whether a member would take a page there.
    pub(super) fn takes(&self, place: LogPlace, member: u8) -> bool {
        self.alive(member) && !self.bad.has(place.0)
    }

    /// Whether it came back with blocks that should have been erased: it must not be written to.
    pub(super) fn is_barred(&self, member: u8) -> bool {
        self.members[usize::from(member)].barred
    }

    pub(super) fn bad_in(&self, places: Range<u32>) -> u32 {
        if self.bad.count() == 0 { 0 } else { places.filter(|&place| self.bad.has(place)).count() as u32 }
    }

    pub(super) fn lacking_in(&self, superblock: u32) -> u32 {
        self.lacking_of.get(superblock as usize).copied().unwrap_or(0)
    }

    pub(super) fn count(&mut self, superblock: u32, change: i32) {
        let of = &mut self.lacking_of[superblock as usize];
        *of = of.checked_add_signed(change).expect("what is taken back was counted");
        self.lacking = self.lacking.checked_add_signed(change.into()).expect("the sum of its parts");
    }

    /// A unit is missing: from now on lookups are needed.
    pub(super) fn trouble(&mut self, superblocks: u32) {
        self.troubled = true;
        self.lacking_of.resize(superblocks as usize, 0);
    }

    pub(super) fn fail(&mut self, member: u8) {
        let condition = &mut self.members[usize::from(member)];
        self.living -= u8::from(condition.alive);
        (condition.alive, condition.fresh, condition.barred) = (false, false, false);
    }

    /// A replacement takes its place, or it is back with its contents. A member that has missed an erase stays out.
    pub(super) fn stand_in(&mut self, member: u8, fresh: bool) {
        let condition = &mut self.members[usize::from(member)];
        condition.barred = !fresh && condition.outdated;
        if condition.barred {
            return;
        }
        self.living += u8::from(!condition.alive);
        (condition.alive, condition.outdated) = (true, false);
        condition.fresh = fresh;
    }

    /// The superblock's places are erased, where their member answers; one that does not cannot be written to before it
    /// has been erased, if its medium is so.
    pub(super) fn erased(&mut self, superblock: u32, places: Range<u32>, erases_first: bool) {
        if !self.troubled {
            return;
        }
        for place in places {
            self.missing.set(place, false);
        }
        self.to_be_moved.set(superblock, false);
        self.rebuilt.set(superblock, false);
        for condition in self.members.iter_mut().filter(|condition| !condition.alive) {
            condition.outdated |= erases_first;
        }
    }
}

impl LogStripes {
    /// The programmed places of a member, in superblocks that are not on their way out.
    pub(super) fn programmed(&self, member: u8) -> Vec<LogPlace> {
        let superblocks =
            (0..self.superblocks.count()).filter(|&superblock| self.superblocks.is_written(superblock));
        let places = superblocks
            .flat_map(|superblock| self.superblocks.superpages(superblock))
            .map(|superpage| self.places.at(superpage, member));
        places.filter(|&place| self.places.stripe(place) != 0).collect()
    }
}

impl StripeLog {
    pub(super) fn stripe_health(&self, place: LogPlace) -> StripeHealth {
        let mut health = StripeHealth::default();
        for unit in self.stripes.places.units(place) {
            let missing = u8::from(self.health.missing.has(unit.0));
            health.missing += missing;
            health.parity |= self.stripes.places.is_parity(unit);
            if self.stripes.places.is_current(unit) {
                health.current += 1;
                health.current_missing += missing;
            }
        }
        health
    }

    /// Whether the failure of one more unit would cost what lies here, if it is current.
    pub(super) fn is_lacking(&self, place: LogPlace) -> bool {
        if self.stripes.is_pending(place) {
            return false;
        }
        let health = self.stripe_health(place);
        match (health.missing, health.parity) {
            (0, true) => false,
            (1, true) => true,
            _ => !self.health.missing.has(place.0),
        }
    }

    /// Whether this place is unrecoverable.
    pub(super) fn is_lost(&self, place: LogPlace) -> bool {
        let health = self.stripe_health(place);
        self.health.missing.has(place.0) && (health.missing > 1 || !health.parity)
    }

    /// A stripe has been closed, or left without parity: what it lacks counts from now on.
    pub(super) fn count_stripe(&mut self, place: LogPlace) {
        let lacking = self.stripe_health(place).lacking();
        self.health.count(self.stripes.superblock_of(place), lacking as i32);
    }

    /// A programmed place cannot be read any more, or again.
    pub(super) fn set_missing(&mut self, place: LogPlace, missing: bool) {
        if self.health.missing.has(place.0) == missing {
            return;
        }
        self.health.trouble(self.stripes.superblocks.count());
        let before = self.stripe_health(place).lacking();
        self.health.missing.set(place.0, missing);
        let after = self.stripe_health(place).lacking();
        if !self.stripes.is_pending(place) {
            self.health.count(self.stripes.superblock_of(place), after as i32 - before as i32);
        }
    }

    /// What has been written in the background is looked at again: what could not be brought back on the way is
    /// missing where it was copied to, and so is the parity that it would have gone into.
    pub(super) fn look_back(&mut self, view: &View<'_>) {
        for at in 0..self.unchecked.len() {
            let place = self.unchecked[at];
            let (member, page) = self.stripes.address(place);
            let lacks = !view.has(member, page);
            if self.stripes.places.stripe(place) == 0 || lacks == self.health.missing.has(place.0) {
                continue;
            }
            self.set_missing(place, lacks);
            if lacks {
                self.health.to_be_moved.set(self.stripes.superblock_of(place), true);
            }
            if lacks && self.stripes.is_pending(place) && view.alive(member) {
                // What the controller keeps of the stripe is not its parity.
                if let Some(frontier) = self.stripes.pending_frontier(place) {
                    frontier.next_stripe();
                }
                self.count_stripe(place);
            }
        }
        self.unchecked.clear();
    }

    /// Whether all that is held, and a superblock more, fits where nothing is missing: then superpages are laid over
    /// the members that can take them. Otherwise they are laid over all, and stripes lack a unit from the start.
    pub(super) fn is_roomy(&self) -> bool {
        let living = self.health.living();
        if living < 2 {
            return false;
        }
        let kept = if living == self.members { 2 } else { 4 };
        let superblocks = u64::from(
            self.stripes.superblocks.count().saturating_sub(kept + self.stripes.superblocks.retired()),
        );
        let room = superblocks * u64::from(self.stripes.superblocks.pages() * self.policy.data_slots(living));
        self.stripes.places.mapped() + self.health.bad.count() <= room
    }

    /// A member is gone, as far as superpages that are open are concerned.
    pub(super) fn leave_out(&mut self, member: u8) {
        if !self.is_roomy() {
            return;
        }
        self.stripes.frontiers_mut().for_each(|frontier| frontier.leave_out(member));
        for mut rest in std::mem::take(&mut self.stripes.rests) {
            rest.leave_out(member);
            if rest.has_room() {
                self.stripes.rests.push_back(rest);
            } else {
                self.stripes.superblocks.close(rest.superblock);
            }
        }
    }
}

impl OwnHealth for StripeLog {
    #[inline]
    fn exposed(&self) -> u64 {
        self.stripes.frontiers().map(|frontier| u64::from(frontier.current)).sum::<u64>()
            + self.health.lacking
    }

    fn takes_all(&self) -> bool {
        !self.stripes.superblocks.are_worn()
    }

    fn is_whole(&self) -> bool {
        self.health.lacking == 0 && !self.journal.lacks_records(&self.health)
    }

    fn is_lost(&self, page: Page) -> bool {
        self.stripes.places.find(page.low()).is_some_and(|place| StripeLog::is_lost(self, place))
    }

    fn is_exposed(&self, page: Page, hazard: Hazard) -> bool {
        let Some(place) = self.stripes.places.find(page.low()) else { return false };
        let lacks = self.health.troubled && self.stripe_health(place).missing > 0;
        if self.stripes.is_pending(place) {
            return lacks || hazard == Hazard::Power;
        }
        lacks || self.health.troubled && !self.stripe_health(place).parity
    }

    fn covers(&self, visit: &mut dyn FnMut(&[StripeUnit])) {
        let whole = |place: &LogPlace| {
            let health = self.stripe_health(*place);
            health.missing == 0 && health.parity && health.current > 0 && !self.stripes.is_pending(*place)
        };
        let mut units = Vec::new();
        let superblocks = (0..self.stripes.superblocks.count())
            .filter(|&superblock| self.stripes.superblocks.is_written(superblock));
        for superpage in superblocks.flat_map(|superblock| self.stripes.superblocks.superpages(superblock)) {
            for stripe in self.stripes.places.stripes(superpage).filter(whole) {
                let mut data = 0;
                units.clear();
                for unit in self.stripes.places.units(stripe) {
                    let (member, page) = self.stripes.address(unit);
                    let parity = self.stripes.places.is_parity(unit);
                    let role = if parity { Role::P } else { Role::Data(data) };
                    data += u8::from(!parity);
                    units.push(StripeUnit { member, page, role });
                }
                visit(&units);
            }
        }
    }

    fn repair_key(&self, member: Member, page: Page) -> Option<Key> {
        self.repair_lock(self.stripes.places.at(page.low(), member.0))
    }
}
