//! Phases 2 and 3: free segments are read in one pass, and their pages are written to their data segments in
//! one sweep.

use super::super::hybrid::extend_run;
use super::pending::BufferSlotState;
use super::stage::LONGEST;
use super::{Backup, DiskJobKind};
use crate::engine::{Cause, Command, Page, Plan, Step, Verb, View};

/// The most places on a disk that one pass goes over: they are numbered within one plan.
const LONGEST_PASS: u32 = 60_000;

impl Backup {
    /// Whether there is something to recall, and room for as much of it as is worth a pass.
    pub(super) fn can_recall(&self, disk: usize) -> bool {
        let least = self.layout.segment.min(self.memory.capacity() / 2).max(1);
        self.segments.used(disk) > 0 && self.memory.room() >= least
    }

    /// Reads the free segments around the head that hold something, each from its first current page to its last.
    pub(super) fn recall(&mut self, disk: usize, plan: &mut Plan) -> bool {
        let head = self.disks[disk].head;
        let Some(nearest) = self.segments.nearest_in_use(disk, head) else { return false };
        let (nvram, member) = (self.nvram(), self.layout.disk(disk));
        let mut doing = std::mem::take(&mut self.disks[disk].doing);
        let (mut passed, mut writes) = (0, Vec::new());
        for (stage, segment) in (0..).zip(self.segments.around(disk, nearest, self.recall_segments)) {
            let room = (self.memory.room() as usize).min((LONGEST_PASS - passed) as usize);
            let first = doing.places.len();
            let current = self.segments.current(disk, segment).take(room);
            let (mut places, mut pages) = (Vec::new(), Vec::new());
            current.for_each(|(place, page)| {
                places.push(place);
                pages.push(page);
            });
            let (Some(&from), Some(&to)) = (places.first(), places.last()) else { break };
            let count = (to.0 - from.0) as u32 + 1;
            if passed + count > LONGEST_PASS {
                break;
            }
            let read = Command::new(Verb::Read, from, count as u16).because(Cause::Migrate);
            plan.push(Step::new(member, read, passed as u16).stage(stage));
            doing.places.append(&mut places);
            for (&place, page) in doing.places[first..].iter().zip(pages) {
                let slot = self.memory.take(page, disk);
                doing.slots.push(slot);
                let write = Command::new(Verb::Write, Page::of(slot), 1).because(Cause::Migrate);
                extend_run(&mut writes, nvram, write, (u64::from(passed) + place.0 - from.0) as u16);
            }
            passed += count;
            let this = &mut self.disks[disk];
            this.head = to.plus(1);
            this.facts.recalled.add(count);
        }
        let last = plan.steps.len() as u8;
        writes.into_iter().for_each(|step| plan.push(step.stage(last)));
        doing.kind = DiskJobKind::Recall;
        self.disks[disk].doing = doing;
        true
    }

    /// The recalled pages are in the memory: those that are still current are sorted into a sweep that begins at the
    /// head.
    pub(super) fn recalled(&mut self, disk: usize, view: &View<'_>) {
        let doing = std::mem::take(&mut self.disks[disk].doing);
        let mut sweep = std::mem::take(&mut self.disks[disk].sweep);
        for (&slot, &place) in doing.slots.iter().zip(&doing.places) {
            let page = self.memory.page_of(slot).filter(|&page| self.segments.place_of(page) == Some(place));
            let Some(page) = page.filter(|_| view.has(self.nvram(), Page::of(slot))) else {
                self.memory.release(slot);
                continue;
            };
            let (ssd, on_ssd) = self.layout.on_ssd(page);
            if self.disks[disk].alive {
                self.memory.recall(slot);
                sweep.push(slot);
            } else if view.has(ssd, on_ssd) {
                self.memory.release(slot);
            } else {
                self.segments.remove(page);
                self.memory.queue(slot);
            }
            self.look(page, view);
        }
        let head = self.disks[disk].head;
        let home = |slot: &u32| self.memory.page_of(*slot).map(|page| self.layout.home(page).1);
        sweep.sort_by_key(|slot| std::cmp::Reverse((home(slot) < Some(head), home(slot))));
        self.disks[disk].sweep = sweep;
        self.disks[disk].doing = doing;
    }

    /// Writes the next run of the sweep; false where nothing of it is current any more.
    pub(super) fn destage(&mut self, disk: usize, plan: &mut Plan) -> bool {
        let this = &mut self.disks[disk];
        let mut start = None;
        while let Some(&slot) = this.sweep.last() {
            let recalled =
                self.memory.state(slot) == BufferSlotState::Recalled && self.memory.is_for(slot, disk);
            let page = self.memory.page_of(slot).filter(|_| recalled);
            if let Some(page) = page {
                let (_, home) = self.layout.home(page);
                let first = *start.get_or_insert(home);
                if home != first.plus(this.doing.slots.len() as u32) || this.doing.slots.len() == LONGEST {
                    break;
                }
                this.doing.slots.push(slot);
            }
            this.sweep.pop();
        }
        let Some(start) = start else { return false };
        this.doing.kind = DiskJobKind::Destage;
        this.facts.destaged.add(this.doing.slots.len() as u32);
        self.move_out(disk, start, Cause::Migrate, plan);
        true
    }
}
