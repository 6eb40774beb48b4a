//! Superblocks that were filled before time 0, as an ageing model says.

use super::front::WriteFrontier;
use super::{StripeLog, data_in_row};
use crate::engine::Page;
use std::collections::VecDeque;

impl StripeLog {
    /// Superblocks, rows of each, and data slots of a row, as long as nothing has been erased.
    #[must_use]
    pub fn new_superblocks(&self) -> (u32, u32, u32) {
        let row = data_in_row(u32::from(self.members), u32::from(self.policy.widths.after(0)));
        (self.groups.count(), self.groups.pages(), row)
    }

    /// The number after the host's last page, for slots that are wasted.
    #[must_use]
    pub fn filler(&self) -> Page {
        Page(self.pages as u32)
    }

    /// Superblocks are filled by construction, without GC.
    pub fn begin_ageing(&mut self) {
        self.aside = Some(VecDeque::new());
    }

    /// The superblock filled so far is continued when all superblocks are aged.
    pub fn set_aside(&mut self) {
        let Some(aside) = &mut self.aside else { return };
        if self.front.pending == 0 && self.front.slots.is_empty() && self.front.has_rows() {
            aside.push_back(std::mem::replace(&mut self.front, WriteFrontier::none()));
        }
    }

    /// All superblocks are aged: those that were filled in part are filled first.
    pub fn end_ageing(&mut self) {
        self.rests.extend(self.aside.take().into_iter().flatten());
        self.wants_room = true;
    }
}
