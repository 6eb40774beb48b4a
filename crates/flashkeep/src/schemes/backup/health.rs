//! Missing copies of pages, and the effect of failures on them.

use super::pending::BufferSlotState;
use super::{Backup, DiskJobKind};
use crate::engine::{Change, Member, Page, View};

impl Backup {
    /// Notes whether a page's SSD lacks it, and whether its backup cannot be had.
    pub(super) fn note(&mut self, page: Page, missing: bool, outdated: bool, ssd_alive: bool) {
        let was = self.missing.has(page.low()) != self.outdated.has(page.low());
        self.missing.set(page.low(), missing);
        self.outdated.set(page.low(), outdated);
        self.exposed = self.exposed + u64::from(missing != outdated) - u64::from(was);
        let disk = &mut self.disks[self.layout.disk_of(page)];
        let can = if missing { ssd_alive } else { disk.alive };
        disk.rebuild_queue.set(page.low(), missing != outdated && can);
    }

    /// Looks what there is of a page.
    pub(super) fn look(&mut self, page: Page, view: &View<'_>) {
        if !self.troubled {
            return;
        }
        let written = self.written.has(page.low());
        let (ssd, on_ssd) = self.layout.on_ssd(page);
        let missing = written && !view.has(ssd, on_ssd);
        let outdated = written && self.backup(page).is_none_or(|(member, place)| !view.has(member, place));
        self.note(page, missing, outdated, view.alive(ssd));
    }

    /// Something happened to a member.
    pub(super) fn hear(&mut self, member: Member, change: Change, view: &View<'_>) {
        self.troubled = true;
        if let Some(place) = change.page() {
            return self.lose_page(member, place, matches!(change, Change::Refused(_)), view);
        }
        if member.0 < self.layout.ssds {
            self.layout.pages_of_ssd(member).for_each(|page| self.look(Page::of(page), view));
        } else if member == self.nvram() {
            match change {
                Change::Failed => self.lose_memory(view),
                _ => self.memory.alive = self.memory.capacity() > 0,
            }
        } else {
            let disk = usize::from(member.0 - self.layout.ssds);
            match change {
                Change::Failed => self.lose_disk(disk, view),
                Change::Replaced => self.renew_disk(disk),
                _ => self.disks[disk].alive = true,
            }
            self.layout.pages_of_disk(disk).for_each(|page| self.look(Page::of(page), view));
        }
    }

    /// A member has lost a page, and keeps running.
    fn lose_page(&mut self, member: Member, place: Page, refused: bool, view: &View<'_>) {
        let Some(page) = self.page_at(member, place) else { return };
        if self.backup(page) == Some((member, place)) {
            self.memory.forget(page);
            // A page that has been recalled is still where it was recalled from.
            let there = member == self.nvram() && self.segments.place_of(page).is_some();
            if !there {
                self.segments.remove(page);
                self.missed.set(page.low(), true);
            }
        } else if member == self.layout.disk(self.layout.disk_of(page))
            && self.segments.place_of(page) == Some(place)
        {
            self.segments.remove(page);
        }
        self.look(page, view);
        if refused {
            self.disks[self.layout.disk_of(page)].rebuild_queue.set(page.low(), false);
        }
    }

    /// The memory is gone, and with it what waited there and the map.
    fn lose_memory(&mut self, view: &View<'_>) {
        let mut lost = Vec::new();
        self.memory.clear(|page| lost.push(page));
        for (at, disk) in self.disks.iter_mut().enumerate() {
            self.segments.clear(at, |page| lost.push(page));
            disk.sweep.clear();
            if matches!(disk.doing.kind, DiskJobKind::Stage | DiskJobKind::InPlace | DiskJobKind::Destage) {
                // Its completion is no longer expected.
                disk.doing.slots.clear();
                disk.doing.places.clear();
            }
        }
        self.memory.alive = false;
        for page in lost {
            self.missed.set(page.low(), true);
            self.look(page, view);
        }
    }

    /// A disk does not answer. The memory keeps for it the only copies; the rest would only be in the way.
    fn lose_disk(&mut self, disk: usize, view: &View<'_>) {
        self.disks[disk].alive = false;
        self.disks[disk].sweep.clear();
        for slot in self.memory.latest(disk) {
            let (Some(page), state) = (self.memory.page_of(slot), self.memory.state(slot)) else { continue };
            let (ssd, on_ssd) = self.layout.on_ssd(page);
            match (state, view.has(ssd, on_ssd)) {
                (BufferSlotState::Queued, true) => {
                    self.memory.release(slot);
                    self.missed.set(page.low(), true);
                }
                (BufferSlotState::Recalled, true) => self.memory.release(slot),
                (BufferSlotState::Recalled, false) => {
                    self.segments.remove(page);
                    self.memory.queue(slot);
                }
                _ => {}
            }
        }
    }

    /// An empty disk replaces a disk.
    fn renew_disk(&mut self, disk: usize) {
        self.segments.clear(disk, |_| {});
        let this = &mut self.disks[disk];
        (this.alive, this.head) = (true, Page(0));
        this.doing.renewed = this.doing.kind != DiskJobKind::Nothing;
        this.sweep.clear();
        for slot in self.memory.latest(disk) {
            if self.memory.state(slot) == BufferSlotState::Recalled {
                self.memory.queue(slot);
            }
        }
        for page in self.layout.pages_of_disk(disk) {
            let backed = self.memory.slot_of(Page::of(page)).is_some() || !self.written.has(page);
            self.missed.set(page, !backed);
        }
    }
}
