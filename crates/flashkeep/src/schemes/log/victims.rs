//! Which superblock GC cleans, and what that gains: room is counted in data slots.

use super::StripeLog;
use super::frontier::WriteFrontier;
use super::superblocks::Victims;
use crate::blocks::Levelled;
use std::ops::Range;

impl StripeLog {
    /// The superblock that the policies choose, or the one that holds least where what they choose gives too little.
    pub(super) fn victim(&mut self) -> Option<(u32, Levelled)> {
        // The gain is counted in the widest layout; `gains` looks closer.
        let worth = (self.room_of_free(0, false) + 1).saturating_sub(self.least_gain()).max(1);
        let slots = self.stripes.superblocks.pages() * self.policy.data_slots(self.members);
        let chosen = self.chooser.choose(&Victims { superblocks: &self.stripes.superblocks, worth, slots });
        let fits = |victim| self.gains(self.stripes.superblocks.current(victim)) && self.may_clean(victim);
        let chosen = chosen.filter(|&(victim, _)| fits(victim));
        chosen.or_else(|| self.other_victim().map(|victim| (victim, Levelled::No)))
    }

    /// A victim if what the policies choose gives too little.
    pub(super) fn other_victim(&self) -> Option<u32> {
        self.emptiest().or_else(|| self.most_obsolete())
    }

    /// The superblock with the most obsolete places that can be written, if a write waits and nothing else gives room:
    /// even the superblock with the fewest current pages fills what bad places leave of the free superblock. Its pages
    /// are laid over these places, too. It then is the free superblock, and has more places than the one before: so
    /// this ends.
    fn most_obsolete(&self) -> Option<u32> {
        if !self.is_starved() || self.health.bad.count() == 0 {
            return None;
        }
        let room = self.room_of_free(0, false);
        let obsolete = |superblock: u32| {
            self.room(self.stripes.superblocks.superpages(superblock), true)
                .saturating_sub(self.stripes.superblocks.current(superblock))
        };
        let fits = |superblock: u32| {
            self.stripes.superblocks.current(superblock) <= room && self.may_clean(superblock)
        };
        let fitting = self
            .stripes
            .superblocks
            .idle()
            .filter(|&superblock| obsolete(superblock) > 0 && fits(superblock));
        fitting.max_by_key(|&superblock| (obsolete(superblock), std::cmp::Reverse(superblock)))
    }

    /// The superblock with the fewest current pages, if cleaning it gains enough.
    pub(super) fn emptiest(&self) -> Option<u32> {
        let least = match self.stripes.superblocks.are_worn() {
            true => self.stripes.superblocks.least_of(|superblock| self.may_clean(superblock)),
            false => self.stripes.superblocks.least(),
        };
        least.filter(|&victim| self.gains(self.stripes.superblocks.current(victim)))
    }

    /// Cleaning must give a superpage at least; only where a write waits that cannot be helped otherwise, a slot is
    /// enough.
    fn least_gain(&self) -> u32 {
        let waits = self.is_starved() && self.erasing == 0;
        if waits { 1 } else { self.policy.data_slots(self.members).max(1) }
    }

    /// Whether cleaning a superblock with this many current pages gains enough.
    fn gains(&self, current: u32) -> bool {
        if current == 0 {
            return true;
        }
        // In the layout that the host's writes will have. Superpages over all members have more slots, but the host is
        // not given those that a failed member or a bad place would take.
        let room = self.room_of_free(0, self.is_roomy());
        current + self.least_gain() <= room
    }

    /// Data slots of these superpages, at the narrowest.
    pub(super) fn room(&self, superpages: Range<u32>, roomy: bool) -> u32 {
        let count = superpages.end - superpages.start;
        if !self.health.troubled || !roomy {
            return count * self.policy.data_slots(self.members);
        }
        let places =
            self.stripes.places.at(superpages.start, 0).0..self.stripes.places.at(superpages.end, 0).0;
        // A superpage over a member fewer has a slot fewer at most.
        (count * self.policy.data_slots(self.health.living())).saturating_sub(self.health.bad_in(places))
    }

    /// Data slots of the free superblock that comes `n`th.
    pub(super) fn room_of_free(&self, n: usize, roomy: bool) -> u32 {
        self.stripes
            .superblocks
            .nth_free(n)
            .map_or(0, |superblock| self.room(self.stripes.superblocks.superpages(superblock), roomy))
    }

    /// Whether the contents of the superblock can be moved to a rest: all pages to move, where these are few.
    pub(super) fn is_usable(&self, rest: &WriteFrontier, victim: u32, only_lacking: bool) -> bool {
        let all = if only_lacking { self.health.lacking_in(victim) } else { 0 };
        rest.superblock != victim && rest.has_superpages() && self.room(rest.superpages(), true) >= all
    }
}
