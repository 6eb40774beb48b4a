//! Phase 1: waiting pages go from the memory to the disk with the least movement of its arm.

use super::super::hybrid::extend_run;
use super::{Backup, DiskJobKind};
use crate::engine::{Cause, Command, Page, Plan, Step, Verb, View};

/// The most pages that one operation moves.
pub(super) const LONGEST: usize = 16_384;

impl Backup {
    /// Writes what has waited longest for a disk, and what goes along with it.
    pub(super) fn stage(&mut self, disk: usize, plan: &mut Plan) -> bool {
        let page = self.memory.oldest(disk).and_then(|slot| self.memory.page_of(slot));
        let Some(page) = page else { return false };
        let (head, (_, home)) = (self.disks[disk].head, self.layout.home(page));
        let own = self.layout.distance(head, self.layout.start_of(home));
        match self.segments.nearest_with_room(disk, head) {
            Some((segment, distance)) if distance < own => self.stage_aside(disk, segment, plan),
            _ => self.stage_in_place(disk, page, plan),
        }
        true
    }

    /// As much as fits, in the order of arrival, to a free segment.
    fn stage_aside(&mut self, disk: usize, segment: u32, plan: &mut Plan) {
        let (start, room) = self.segments.room(disk, segment);
        let doing = &mut self.disks[disk].doing;
        (doing.kind, doing.segment) = (DiskJobKind::Stage, segment);
        let mut next = self.memory.oldest(disk);
        while let Some(slot) = next.filter(|_| (doing.slots.len() as u32) < room) {
            next = self.memory.after(slot);
            doing.slots.push(slot);
        }
        let count = doing.slots.len() as u32;
        self.segments.begin(disk, segment, count);
        self.move_out(disk, start, Cause::Mirror, plan);
        self.disks[disk].facts.staged.add(count);
    }

    /// A page and all that waits and joins on to it, to their data segment.
    fn stage_in_place(&mut self, disk: usize, page: Page, plan: &mut Plan) {
        let waits = |page: u32, home: u32| {
            let there =
                page < self.layout.pages() && self.layout.home(Page::of(page)) == (disk, Page::of(home));
            if there { self.memory.queued(Page::of(page)) } else { None }
        };
        let home = self.layout.home(page).1.low();
        let below = page.low().min(home).min(LONGEST as u32 / 2);
        let below = (1..=below).take_while(|n| waits(page.low() - n, home - n).is_some()).count() as u32;
        let (first, start) = (page.low() - below, home - below);
        let slots = (0..LONGEST as u32).map_while(|n| waits(first + n, start + n)).collect();
        let doing = &mut self.disks[disk].doing;
        (doing.kind, doing.slots) = (DiskJobKind::InPlace, slots);
        let count = doing.slots.len() as u32;
        self.move_out(disk, Page::of(start), Cause::Mirror, plan);
        self.disks[disk].facts.in_place.add(count);
    }

    /// Reads the slots of a disk's operation from the memory, and writes them from `start` on.
    pub(super) fn move_out(&mut self, disk: usize, start: Page, cause: Cause, plan: &mut Plan) {
        let (nvram, member) = (self.nvram(), self.layout.disk(disk));
        let this = &mut self.disks[disk];
        let count = this.doing.slots.len() as u16;
        let read = Command::new(Verb::Read, Page(0), 1).because(cause);
        for (n, &slot) in (0..).zip(&this.doing.slots) {
            self.memory.start(slot);
            extend_run(&mut plan.steps, nvram, read.over(Page::of(slot), 1), n);
        }
        this.doing.places.extend((0..u32::from(count)).map(|n| start.plus(n)));
        this.head = start.plus(u32::from(count));
        let write = Command::new(Verb::Write, start, count).because(cause);
        plan.push(Step::new(member, write, 0).stage(1));
    }

    /// The pages that were moved out are on the disk.
    pub(super) fn moved(&mut self, disk: usize, view: &View<'_>) {
        let doing = std::mem::take(&mut self.disks[disk].doing);
        for (&slot, &place) in doing.slots.iter().zip(&doing.places) {
            let latest = self.memory.is_latest(slot);
            let Some(page) = self.memory.page_of(slot).filter(|_| latest) else {
                self.memory.release(slot);
                continue;
            };
            if view.has(self.layout.disk(disk), place) {
                match doing.kind {
                    DiskJobKind::Stage => self.segments.enter(disk, place, page),
                    _ => self.segments.remove(page),
                }
                self.memory.release(slot);
            } else {
                self.not_moved(disk, slot, page, doing.renewed, view);
            }
            self.look(page, view);
        }
        if doing.kind == DiskJobKind::Stage {
            self.segments.end(disk, doing.segment);
        }
        self.disks[disk].doing = doing;
    }

    /// A page did not get to the disk: if there is no other copy, it waits for the disk to come back.
    fn not_moved(&mut self, disk: usize, slot: u32, page: Page, renewed: bool, view: &View<'_>) {
        let (ssd, on_ssd) = self.layout.on_ssd(page);
        let waits = renewed || !self.disks[disk].alive;
        if waits && !view.has(ssd, on_ssd) {
            self.segments.remove(page);
            self.memory.queue(slot);
            return;
        }
        self.memory.release(slot);
        // A page that was being destaged is still where it was recalled from.
        self.missed.set(page.low(), self.segments.place_of(page).is_none());
    }
}
