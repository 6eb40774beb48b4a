//! Superblocks that are filled before time 0, as an ageing model says. Their data slots are filled in order: those that
//! will be valid with the pages that are written, whichever node above writes them, the others with unused data.

use super::StripeLog;
use super::frontier::WriteFrontier;
use crate::engine::{Command, Page, Plan, Verb};
use crate::kernel::Bits;
use std::collections::VecDeque;

/// A superblock as an ageing model wants it.
#[derive(Clone, Debug, Default)]
pub struct AgedSuperblock {
    /// Data slots that are written, from the first one on.
    pub written: u32,
    /// Those of them that hold valid pages.
    pub valid: Bits,
}

/// Superblocks that are being aged.
#[derive(Clone, Debug)]
pub(super) struct LogAgeing {
    /// Those that are not filled yet, and the next slot of the first.
    superblocks: VecDeque<AgedSuperblock>,
    slot: u32,
    /// Slots still to come that will be valid.
    valid: u64,
    /// Valid pages that are missing so far, because a page was written again or trimmed.
    owed: u64,
    /// Superblocks that were filled in part.
    aside: Vec<WriteFrontier>,
}

impl LogAgeing {
    /// Whether the next slot will be valid; none if all have been filled.
    fn next_is_valid(&self) -> Option<bool> {
        let superblock = self.superblocks.front()?;
        Some(self.owed > 0 || superblock.valid.has(self.slot))
    }

    /// A valid page is missing.
    #[cold]
    pub(super) fn owe(&mut self) {
        self.owed += 1;
    }

    /// The next slot has been filled, which gave the log a valid page more or not. Whether the superblock is finished.
    fn pass(&mut self, gained: bool) -> bool {
        let Some(superblock) = self.superblocks.front() else { return false };
        let planned = superblock.valid.has(self.slot);
        self.valid -= u64::from(planned);
        self.owed = (self.owed + u64::from(planned)).saturating_sub(u64::from(gained));
        self.slot += 1;
        let is_finished = self.slot == superblock.written;
        if is_finished {
            self.superblocks.pop_front();
            self.slot = 0;
        }
        is_finished
    }
}

impl StripeLog {
    /// Superblocks, superpages of each, and data slots of a superpage, as long as nothing has been erased.
    #[must_use]
    pub fn new_superblocks(&self) -> (u32, u32, u32) {
        let superpage = self.policy.data_when_new(self.members);
        (self.stripes.superblocks.count(), self.stripes.superblocks.pages(), superpage)
    }

    /// From now on superblocks are filled like these, without GC: the pages that are written come to valid slots.
    pub fn begin_ageing(&mut self, superblocks: Vec<AgedSuperblock>) {
        let valid = superblocks.iter().map(|superblock| superblock.valid.count()).sum();
        let superblocks = superblocks.into_iter().filter(|superblock| superblock.written > 0).collect();
        self.ageing = Some(LogAgeing { superblocks, slot: 0, valid, owed: 0, aside: Vec::new() });
        self.before = true;
    }

    /// Valid slots that wait for pages.
    #[must_use]
    pub fn slots(&self) -> u64 {
        let left = |ageing: &LogAgeing| match ageing.superblocks.is_empty() {
            true => 0,
            false => ageing.valid + ageing.owed,
        };
        self.ageing.as_ref().map_or(0, left)
    }

    /// Whether the log can take another page as a valid one of the ageing model; true if it is not being aged.
    #[must_use]
    pub fn takes_aged(&self) -> bool {
        self.ageing.is_none() || self.slots() > 0
    }

    /// Slots that no page has come to are not valid.
    pub fn give_up_slots(&mut self) {
        if let Some(ageing) = &mut self.ageing {
            ageing.superblocks.iter_mut().for_each(|superblock| superblock.valid = Bits::default());
            (ageing.valid, ageing.owed) = (0, 0);
        }
    }

    /// Whether the next slot will be filled with unused data.
    #[must_use]
    pub fn wastes_next(&self) -> bool {
        self.ageing.as_ref().is_some_and(|ageing| ageing.next_is_valid() == Some(false))
    }

    /// All superblocks are aged: those that were filled in part are filled first from now on.
    pub fn end_ageing(&mut self) {
        self.stripes.rests.extend(self.ageing.take().into_iter().flat_map(|ageing| ageing.aside));
        self.wants_room = true;
    }

    /// A page is written while superblocks are aged: whether it waits until the next slot is a valid one. A page that
    /// was written before takes the next slot, so that the one that it leaves and this one are exchanged.
    #[cold]
    pub(super) fn waits_for_slot(&mut self, page: u32) -> bool {
        if self.ageing.as_ref().is_some_and(|ageing| ageing.superblocks.is_empty()) {
            self.end_ageing();
        }
        self.wastes_next() && self.stripes.places.find(page).is_none()
    }

    /// The next slot has been filled. A superblock that is finished is continued when all of them are aged.
    #[cold]
    pub(super) fn pass_slot(&mut self, gained: bool) {
        let Some(ageing) = &mut self.ageing else { return };
        let is_finished = ageing.pass(gained);
        if is_finished
            && self.stripes.frontier.pending == 0
            && self.stripes.frontier.slots.is_empty()
            && self.stripes.frontier.has_superpages()
        {
            ageing.aside.push(std::mem::replace(&mut self.stripes.frontier, WriteFrontier::none()));
        }
    }

    /// Fills the next slot with unused data; false if it will be valid, or if there is none.
    pub(super) fn waste_slot(&mut self, plan: &mut Plan) -> bool {
        if !self.wastes_next() {
            return false;
        }
        // The number after the host's last page.
        let filler = self.pages as u32;
        self.stripes.turn_to(self.stripes.streams.heat.of_written(filler));
        if !self.has_slot() {
            return false;
        }
        self.before = true;
        self.fill_slot(&Command::new(Verb::Write, Page::of(filler), 1), false, plan);
        self.pass_slot(false);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ageing(superblocks: &[(u32, &[u32])]) -> LogAgeing {
        let aged = |&(written, valid): &(u32, &[u32])| {
            let mut bits = Bits::default();
            valid.iter().for_each(|&slot| {
                bits.set(slot, true);
            });
            AgedSuperblock { written, valid: bits }
        };
        let superblocks: VecDeque<AgedSuperblock> = superblocks.iter().map(aged).collect();
        let valid = superblocks.iter().map(|superblock| superblock.valid.count()).sum();
        LogAgeing { superblocks, slot: 0, valid, owed: 0, aside: Vec::new() }
    }

    #[test]
    fn slots_are_filled_as_planned() {
        let mut ageing = ageing(&[(3, &[1]), (2, &[0])]);
        let mut filled = Vec::new();
        while let Some(valid) = ageing.next_is_valid() {
            filled.push((valid, ageing.pass(valid)));
        }
        let [no, yes] = [false, true];
        assert_eq!(filled, [(no, no), (yes, no), (no, yes), (yes, no), (no, yes)]);
        assert_eq!((ageing.valid, ageing.owed), (0, 0));
    }

    /// A page that is written again gains nothing: a later slot is valid instead.
    #[test]
    fn pages_that_are_written_again_are_made_up_for() {
        let mut ageing = ageing(&[(4, &[0, 1])]);
        assert!(!ageing.pass(true) && !ageing.pass(false));
        assert_eq!((ageing.valid, ageing.owed, ageing.next_is_valid()), (0, 1, Some(true)));
        ageing.pass(true);
        assert_eq!((ageing.valid, ageing.owed, ageing.next_is_valid()), (0, 0, Some(false)));
    }
}
