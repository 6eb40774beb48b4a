//! A group that is being filled: the slots of its open row, the stripe that they go to, and the rows to come.

use super::StripeLog;
use super::places::MOST_STRIPES;
use crate::engine::{Key, Member, View};
use std::ops::Range;

/// No group.
pub(super) const NONE: u32 = u32::MAX;

/// A group that is being filled.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct WriteFrontier {
    pub(super) group: u32,
    /// The class of the pages that it takes.
    pub(super) stream: u8,
    /// The row that is open, while it has slots or pages that wait for their parity.
    pub(super) row: u32,
    /// The next row, and the one after the last.
    pub(super) next: u32,
    end: u32,
    /// The members whose pages of the row are to take data still, the next one last.
    pub(super) slots: Vec<u8>,
    /// The member that has the parity of the row's last stripe.
    parity: u8,
    /// The stripe that is being filled, counted from 1.
    pub(super) stripe: u8,
    /// Its data so far, and how many of them are current.
    pub(super) pending: u8,
    pub(super) current: u8,
    /// How wide a stripe of the group may be, and one of the row.
    widest: u8,
    width: u8,
}

impl WriteFrontier {
    pub(super) fn none() -> Self {
        WriteFrontier::new(NONE, 0..0, 2)
    }

    pub(super) fn new(group: u32, rows: Range<u32>, widest: u8) -> Self {
        WriteFrontier {
            group,
            stream: 0,
            row: u32::MAX,
            next: rows.start,
            end: rows.end,
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

    /// Whether another page can be placed, in this row or a later one.
    pub(super) fn has_room(&self) -> bool {
        !self.slots.is_empty() || self.has_rows()
    }

    pub(super) fn has_rows(&self) -> bool {
        self.next < self.end
    }

    /// Rows that have not been begun.
    pub(super) fn rows(&self) -> Range<u32> {
        self.next..self.end
    }

    /// Goes on to the next row, over these members (descending). The parity of a row's last stripe goes round them:
    /// with N members, q(r) = N − 1 − (r mod N). A row of fewer than two is left out.
    pub(super) fn open_row(&mut self, members: impl Iterator<Item = u8>) {
        (self.row, self.next) = (self.next, self.next + 1);
        (self.stripe, self.pending, self.current) = (1, 0, 0);
        self.slots.clear();
        self.slots.extend(members);
        let width = self.slots.len();
        if width < 2 {
            return self.slots.clear();
        }
        self.parity = self.slots.remove(self.row as usize % width);
        self.width = self.widest.min(width as u8);
    }

    /// Whether a stripe of a row is open.
    #[inline]
    pub(super) fn is_open(&self, row: u32, stripe: u8) -> bool {
        row == self.row && self.pending > 0 && stripe == self.stripe
    }

    /// Whether the open row was cut short (its member failed) while pages in it wait for their parity.
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

    /// The member that takes the open stripe's parity, and whether it is the row's last: the next one, or where
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
        Key(u64::from(self.row) << 8 | u64::from(self.stripe))
    }

    /// The open row goes on without this member.
    pub(super) fn leave_out(&mut self, member: u8) {
        self.slots.retain(|&slot| slot != member);
        if self.parity == member && !self.slots.is_empty() {
            self.parity = self.slots.remove(0);
        }
    }
}

impl StripeLog {
    /// A group that is free is to be filled.
    pub(super) fn open_group(&mut self) -> Option<WriteFrontier> {
        let group = self.groups.open()?;
        Some(self.front_of(group))
    }

    /// A group that has just been opened, from its first row on.
    pub(super) fn front_of(&self, group: u32) -> WriteFrontier {
        let widest = match self.medium.oob {
            true => self.policy.widths.after(self.groups.erases(group)),
            false => self.members,
        };
        WriteFrontier::new(group, self.groups.rows(group), widest)
    }

    /// Over devices, which level their wear themselves: looks how worn each of them is.
    #[inline]
    pub(super) fn note_wear(&mut self, view: &View<'_>) {
        for (member, worn) in (0..).zip(&mut self.worn) {
            *worn = view.mean_erases(Member(member));
        }
    }

    /// Stripes of a row are as wide as the most worn of its members allows, where members wear and not superblocks.
    fn narrow_row(&self, front: &mut WriteFrontier) {
        let members = front.slots.iter().chain([&front.parity]);
        let widths = members.filter_map(|&member| self.worn.get(usize::from(member)));
        let widest = widths.map(|&worn| self.policy.widths.after(worn)).min();
        front.width = front.width.min(widest.unwrap_or(front.width));
    }

    /// Opens a front's next row: over all members, or, where there is room for that, over those that can take it.
    pub(super) fn open_row(&self, front: &mut WriteFrontier, roomy: bool) {
        let row = front.next;
        let members = (0..self.members).rev();
        if !self.health.troubled {
            front.open_row(members);
        } else if !roomy {
            front.open_row(members.filter(|&member| !self.health.is_barred(member)));
        } else {
            front.open_row(members.filter(|&member| self.health.takes(self.places.at(row, member), member)));
        }
        self.narrow_row(front);
    }

    /// Makes the host's next slot ready; false where there is none.
    #[inline]
    pub(super) fn has_slot(&mut self) -> bool {
        !self.front.slots.is_empty() || self.advance()
    }

    /// The next row, the rest of a group, or a group. The last one that is free is kept.
    fn advance(&mut self) -> bool {
        while self.front.slots.is_empty() {
            if self.front.is_cut_short() {
                return false;
            }
            if self.front.has_rows() {
                let roomy = self.health.troubled && self.is_roomy();
                let mut front = std::mem::replace(&mut self.front, WriteFrontier::none());
                self.open_row(&mut front, roomy);
                self.front = front;
                continue;
            }
            self.leave_front();
            let next = match self.own_rest() {
                None if self.groups.free() <= self.kept() => self.take_over(),
                None => self.open_group(),
                rest => rest,
            };
            let Some(next) = next else { return false };
            self.front = next.of_stream(self.streams.current());
            self.wants_room = true;
        }
        true
    }

    /// The host writes to its group no more.
    pub(super) fn leave_front(&mut self) {
        if self.front.group != NONE {
            self.groups.close(self.front.group);
            self.front = WriteFrontier::none();
        }
    }

    /// Whether the host has nowhere to write to, and cannot be given anything.
    pub(super) fn is_starved(&self) -> bool {
        !self.fronts().any(WriteFrontier::has_room)
            && (self.rests.is_empty() || !self.gives_rests())
            && self.groups.free() <= self.kept()
    }

    /// Whether an open row was cut short.
    pub(super) fn is_stuck(&self) -> bool {
        self.fronts().any(WriteFrontier::is_cut_short)
    }
}
