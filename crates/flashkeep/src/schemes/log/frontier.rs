//! A superblock that is being filled: the slots of its open superpage, the stripe that they go to, and the superpages
//! to come.

use super::places::MOST_STRIPES;
use super::{LogStripes, StripeLog};
use crate::engine::Key;
use std::ops::Range;

/// No superblock.
pub(super) const NONE: u32 = u32::MAX;

/// A superblock that is being filled.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct WriteFrontier {
    pub(super) superblock: u32,
    /// The class of the pages that it takes.
    pub(super) stream: u8,
    /// The superpage that is open, while it has slots or pages that wait for their parity.
    pub(super) superpage: u32,
    /// The next superpage, and the one after the last.
    pub(super) next: u32,
    end: u32,
    /// The members whose pages of the superpage are to take data still, the next one last.
    pub(super) slots: Vec<u8>,
    /// The member that has the parity of the superpage's last stripe.
    parity: u8,
    /// The stripe that is being filled, counted from 1.
    pub(super) stripe: u8,
    /// Its data so far, and how many of them are current.
    pub(super) pending: u8,
    pub(super) current: u8,
    /// How wide a stripe of the superblock may be, and one of the superpage.
    widest: u8,
    width: u8,
}

impl WriteFrontier {
    pub(super) fn none() -> Self {
        WriteFrontier::new(NONE, 0..0, 2)
    }

    pub(super) fn new(superblock: u32, superpages: Range<u32>, widest: u8) -> Self {
        WriteFrontier {
            superblock,
            stream: 0,
            superpage: u32::MAX,
            next: superpages.start,
            end: superpages.end,
            slots: Vec::new(),
            parity: 0,
            stripe: 1,
            pending: 0,
            current: 0,
            widest,
            width: widest,
        }
    }

    /// The same for pages of another class.
    pub(super) fn of_stream(self, stream: u8) -> Self {
        WriteFrontier { stream, ..self }
    }

    /// Whether another page can be placed, in this superpage or a later one.
    pub(super) fn has_room(&self) -> bool {
        !self.slots.is_empty() || self.has_superpages()
    }

    pub(super) fn has_superpages(&self) -> bool {
        self.next < self.end
    }

    /// Superpages that have not been begun.
    pub(super) fn superpages(&self) -> Range<u32> {
        self.next..self.end
    }

    /// Begins the next superpage, over these members (descending). The parity of a superpage's last stripe goes
    /// round them: with N members, q(r) = N − 1 − (r mod N). A superpage of fewer than two is left out.
    pub(super) fn open_superpage(&mut self, members: impl Iterator<Item = u8>) {
        (self.superpage, self.next) = (self.next, self.next + 1);
        (self.stripe, self.pending, self.current) = (1, 0, 0);
        self.slots.clear();
        self.slots.extend(members);
        let width = self.slots.len();
        if width < 2 {
            return self.slots.clear();
        }
        self.parity = self.slots.remove(self.superpage as usize % width);
        self.width = self.widest.min(width as u8);
    }

    /// Whether a stripe of a superpage is open.
    #[inline]
    pub(super) fn is_open(&self, superpage: u32, stripe: u8) -> bool {
        superpage == self.superpage && self.pending > 0 && stripe == self.stripe
    }

    /// Whether the open superpage was cut short (its member failed) while pages in it wait for their parity.
    pub(super) fn is_cut_short(&self) -> bool {
        self.pending > 0 && self.slots.is_empty()
    }

    /// The member that takes the next page of the open stripe.
    #[inline]
    pub(super) fn place(&mut self) -> u8 {
        self.pending += 1;
        self.slots.pop().expect("a row with room has a slot")
    }

    /// Whether the open stripe takes no more data.
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.pending > 0 && (self.slots.is_empty() || self.pending + 1 == self.width)
    }

    /// Whether the next page may complete it.
    pub(super) fn may_complete(&self) -> bool {
        self.slots.len() <= 1 || self.pending + 2 >= self.width
    }

    /// The member that takes the open stripe's parity, and whether it is the superpage's last: the next one, or where
    /// fewer than two are left, the one that is kept for that.
    pub(super) fn place_parity(&mut self) -> (u8, bool) {
        if self.slots.len() >= 2 {
            return (self.slots.pop().expect("two are left"), false);
        }
        self.slots.clear();
        (self.parity, true)
    }

    /// The open stripe is closed, or left without parity: the next one begins.
    pub(super) fn next_stripe(&mut self) {
        (self.pending, self.current) = (0, 0);
        if self.stripe == MOST_STRIPES {
            self.slots.clear();
        } else {
            self.stripe += 1;
        }
    }

    /// What the controller keeps of the open stripe has this key.
    #[inline]
    pub(super) fn sum(&self) -> Key {
        Key(u64::from(self.superpage) << 8 | u64::from(self.stripe))
    }

    /// The open superpage continues without this member.
    pub(super) fn leave_out(&mut self, member: u8) {
        self.slots.retain(|&slot| slot != member);
        if self.parity == member && !self.slots.is_empty() {
            self.parity = self.slots.remove(0);
        }
    }
}

impl LogStripes {
    /// Whether an open superpage was cut short.
    pub(super) fn is_stuck(&self) -> bool {
        self.frontiers().any(WriteFrontier::is_cut_short)
    }

    /// The host writes to its superblock no more.
    pub(super) fn leave_frontier(&mut self) {
        if self.frontier.superblock != NONE {
            self.superblocks.close(self.frontier.superblock);
            self.frontier = WriteFrontier::none();
        }
    }
}

impl StripeLog {
    /// A free superblock that will be filled.
    pub(super) fn open_superblock(&mut self) -> Option<WriteFrontier> {
        let superblock = self.stripes.superblocks.open()?;
        Some(self.frontier_of(superblock))
    }

    /// A superblock that has just been opened, from its first superpage on.
    pub(super) fn frontier_of(&self, superblock: u32) -> WriteFrontier {
        let widest = match self.medium.oob {
            true => self.policy.widths.after(self.stripes.superblocks.erases(superblock)),
            false => self.members,
        };
        WriteFrontier::new(superblock, self.stripes.superblocks.superpages(superblock), widest)
    }

    /// Opens a write frontier's next superpage: over all members, or, where there is room for that, over those that can
    /// take it.
    pub(super) fn open_superpage(&self, frontier: &mut WriteFrontier, roomy: bool) {
        let superpage = frontier.next;
        let members = (0..self.members).rev();
        if !self.health.troubled {
            frontier.open_superpage(members);
        } else if !roomy {
            frontier.open_superpage(members.filter(|&member| !self.health.is_barred(member)));
        } else {
            frontier.open_superpage(
                members
                    .filter(|&member| self.health.takes(self.stripes.places.at(superpage, member), member)),
            );
        }
        let over = frontier.slots.iter().chain([&frontier.parity]).copied();
        let widest = self.worn.widest(over, &self.policy.widths);
        frontier.width = frontier.width.min(widest.unwrap_or(frontier.width));
    }

    /// Makes the host's next slot ready; false where there is none.
    #[inline]
    pub(super) fn has_slot(&mut self) -> bool {
        !self.stripes.frontier.slots.is_empty() || self.advance()
    }

    /// The next superpage, the rest of a superblock, or a superblock. The last one that is free is kept.
    fn advance(&mut self) -> bool {
        while self.stripes.frontier.slots.is_empty() {
            if self.stripes.frontier.is_cut_short() {
                return false;
            }
            if self.stripes.frontier.has_superpages() {
                let roomy = self.health.troubled && self.is_roomy();
                let mut frontier = std::mem::replace(&mut self.stripes.frontier, WriteFrontier::none());
                self.open_superpage(&mut frontier, roomy);
                self.stripes.frontier = frontier;
                continue;
            }
            self.stripes.leave_frontier();
            let next = match self.own_rest() {
                None if self.stripes.superblocks.free() <= self.kept() => self.take_over(),
                None => self.open_superblock(),
                rest => rest,
            };
            let Some(next) = next else { return false };
            self.stripes.frontier = next.of_stream(self.stripes.streams.current());
            self.wants_room = true;
        }
        true
    }

    /// Whether the host has nowhere to write to, and cannot be given anything.
    pub(super) fn is_starved(&self) -> bool {
        !self.stripes.frontiers().any(WriteFrontier::has_room)
            && (self.stripes.rests.is_empty() || !self.gives_rests())
            && self.stripes.superblocks.free() <= self.kept()
    }
}
