//! Recovery from a power loss. The memory keeps its pages, the map, and the lists of written and of
//! missing pages.

use super::Backup;
use super::disk::{DiskJob, DiskTurn};
use super::pending::BufferSlotState;
use crate::engine::{Member, Page, View};

impl Backup {
    /// What disks were doing begins again. The memory had each page before its SSD, so a backup is the newest version:
    /// an SSD with another one lacks the page.
    pub(super) fn restart(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        for disk in &mut self.disks {
            (disk.doing, disk.head) = (DiskJob::default(), Page(0));
            (disk.last, disk.rebuild_waits) = (DiskTurn::default(), false);
        }
        self.quiet = false;
        for slot in 0..self.memory.capacity() {
            self.resume(slot);
        }
        self.segments.close_all();
        for page in self.written.iter().map(Page) {
            let (ssd, on_ssd) = self.layout.on_ssd(page);
            let Some((member, place)) = self.backup(page).filter(|&(member, _)| view.alive(member)) else {
                continue;
            };
            match view.oob(member, place) {
                Some(backup) if view.alive(ssd) => {
                    let there = view.oob(ssd, on_ssd);
                    if there.is_none_or(|there| there.stamp != backup.stamp) {
                        lacks(ssd, on_ssd);
                    }
                }
                Some(_) => {}
                None => lacks(member, place),
            }
        }
        // What the memory knows to be zeros must not be found again.
        for page in self.trimmed.iter().map(Page) {
            let (ssd, on_ssd) = self.layout.on_ssd(page);
            if view.oob(ssd, on_ssd).is_some() {
                lacks(ssd, on_ssd);
            }
        }
        if self.troubled {
            for page in self.written.iter().collect::<Vec<u64>>() {
                self.look(Page(page), view);
            }
        }
    }

    /// A page of the memory still waits for its disk, unless a free segment has it.
    fn resume(&mut self, slot: u32) {
        let Some(page) = self.memory.page_of(slot) else { return };
        match self.memory.state(slot) {
            _ if !self.memory.is_latest(slot) => self.memory.release(slot),
            BufferSlotState::Moving if self.segments.place_of(page).is_none() => self.memory.queue(slot),
            BufferSlotState::Moving | BufferSlotState::Coming => self.memory.release(slot),
            BufferSlotState::Queued | BufferSlotState::Recalled | BufferSlotState::Free => {}
        }
    }
}
