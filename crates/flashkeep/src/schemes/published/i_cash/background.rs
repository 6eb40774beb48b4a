//! Background work: copies of references, flushes of deltas to the log, and whole pages from the log's oldest
//! deltas.

use super::{COPYING, DISK, DRIVE, FLUSHING, FOLDING, ICash, MEMORY, PIECE};
use crate::engine::{Cause, Command, Page, Plan, Role, Step, Verb, View};
use crate::schemes::hybrid::extend;

impl ICash {
    // ---------------------------------------------------------------- references

    pub(super) fn wants_copy(&self) -> bool {
        self.copying.is_none() && !self.wanted.is_empty()
    }

    /// Copies a reference to where it stays as it is.
    pub(super) fn copy(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        if self.copying.is_some() {
            return false;
        }
        while let Some(family) = self.wanted.pop_front() {
            let page = Page::of(self.likeness.reference(family));
            // It may have been trimmed meanwhile.
            if !view.holds(DRIVE, page) {
                continue;
            }
            let read = Command::new(Verb::Read, page, 1).because(Cause::Migrate);
            let write = Command { verb: Verb::Write, ..read.over(self.copy_of(family), 1) };
            plan.push(Step::new(DRIVE, read, 0));
            plan.push(Step::new(DRIVE, write, 0).stage(1));
            // Deltas to it may be durable before a write cache has written it.
            plan.force();
            plan.hold = Some(COPYING);
            self.copying = Some(family);
            return true;
        }
        false
    }

    pub(super) fn copy_settled(&mut self, view: &View<'_>) {
        if let Some(family) = self.copying.take() {
            self.copied.set(family, view.has(DRIVE, self.copy_of(family)));
        }
    }

    // ---------------------------------------------------------------- to the log

    /// Deltas that can go to the log, and slots among them that hold nothing any more.
    fn dirty_slots(&self) -> u32 {
        self.memory.used() - self.clean_slots() - self.writing.count() as u32
    }

    pub(super) fn wants_flush(&self) -> bool {
        self.flushing.is_none()
            && !self.folding
            && self.dirty_slots() >= self.batch
            && self.log.room() >= self.batch
    }

    /// Writes the oldest deltas in memory to the log, as many as make a batch.
    pub(super) fn flush(&mut self, plan: &mut Plan) -> bool {
        if self.flushing.is_some() || self.folding || self.log.room() < self.batch {
            return false;
        }
        let oldest = self.filled - u64::from(self.memory.used());
        let read = Command::new(Verb::Read, Page(0), 1).because(Cause::Migrate);
        let (mut at, mut taken) = (self.clean_slots(), 0);
        self.piece.clear();
        while at < self.memory.used() && taken < self.batch as u16 {
            let slot = self.memory.nth(at);
            if let Some(page) = self.memory.page_at(slot) {
                if self.writing.has(slot) {
                    break;
                }
                extend(plan, MEMORY, Page::of(slot), taken, &read);
                self.piece.push((page, 0));
                taken += 1;
            }
            at += 1;
        }
        let reads = plan.steps.len();
        if reads == 0 {
            self.clean = oldest + u64::from(at);
            return false;
        }
        for (n, &(page, _)) in (0..).zip(&self.piece) {
            extend(plan, DISK, Page::of(self.log.append(page)), n, &Command { verb: Verb::Write, ..read });
        }
        for step in &mut plan.steps[reads..] {
            step.stage = 1;
            step.command.sectors = step.command.count * self.sectors;
        }
        plan.hold = Some(FLUSHING);
        self.flushing = Some(oldest + u64::from(at));
        true
    }

    pub(super) fn flush_settled(&mut self) {
        if let Some(until) = self.flushing.take() {
            self.clean = self.clean.max(until);
        }
    }

    /// Memory is gone: the log has these.
    pub(super) fn forget_clean(&mut self) {
        for at in 0..self.clean_slots() {
            if let Some(page) = self.memory.page_at(self.memory.nth(at)) {
                self.memory.forget(page);
            }
        }
    }

    // ---------------------------------------------------------------- out of the log

    pub(super) fn wants_fold(&self) -> bool {
        self.flushing.is_none() && !self.folding && self.log.room() < self.batch
    }

    /// Makes the pages of the log's oldest deltas whole, until a batch has room again.
    pub(super) fn fold(&mut self, plan: &mut Plan) -> bool {
        if self.flushing.is_some() || self.folding {
            return false;
        }
        self.piece.clear();
        self.piece.extend(self.log.live(PIECE).map(|(slot, page)| (page, slot)));
        if self.log.room() >= self.batch || self.piece.is_empty() {
            return false;
        }
        for (row, &(page, _)) in (0..).zip(&self.piece) {
            let base = self.base(page).expect("who has a delta has what it is to");
            plan.push(Step::fetch(DRIVE, base, Role::Data(0), Cause::Migrate).row(row));
        }
        for (row, &(page, slot)) in (0..).zip(&self.piece) {
            let (member, slot) = self.memory.of(page).map_or((DISK, slot), |slot| (MEMORY, slot));
            let mut delta = self.fetch(member, Page::of(slot)).row(row);
            delta.command.cause = Cause::Migrate;
            match plan.steps.last_mut() {
                Some(last) if member == DISK && follows(last, &delta) => {
                    last.command.count += 1;
                    last.command.sectors += self.sectors;
                }
                _ => plan.push(delta),
            }
        }
        for (row, &(page, _)) in (0..).zip(&self.piece) {
            plan.push(Step::store(DRIVE, Page::of(page), Role::Lost(1), Cause::Migrate).row(row).stage(1));
        }
        plan.force();
        plan.hold = Some(FOLDING);
        self.folding = true;
        true
    }

    pub(super) fn fold_settled(&mut self) {
        if !std::mem::take(&mut self.folding) {
            return;
        }
        for at in 0..self.piece.len() {
            self.forget(self.piece[at].0);
        }
        self.log.release(|_| false);
    }
}

/// Whether a read of a delta continues where another one ends.
fn follows(last: &Step, next: &Step) -> bool {
    last.member == next.member
        && last.role == next.role
        && last.command.end() == next.command.start.0
        && last.row + last.command.count == next.row
}
