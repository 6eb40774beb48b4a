//! Recovery from a power loss. Memory keeps its contents, and with them the lists of deltas and of copied references.

use super::{DRIVE, ICash, MEMORY};
use crate::engine::{Cause, Command, Key, Member, OobData, Page, Plan, Role, Step, Verb, View};
use crate::schemes::ring::of_page;

impl ICash {
    /// Copies and flushes that were interrupted begin again. A page whose delta was being computed is whole in
    /// memory.
    pub(super) fn restore(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        self.wanted.extend(self.copying.take());
        if self.flushing.take().is_some() {
            // Memory still has these deltas: not all of them came to the log.
            self.piece.iter().for_each(|&(page, _)| _ = self.log.forget(page));
        }
        self.folding = false;
        for slot in self.writing.iter().map(|slot| slot as u32).collect::<Vec<_>>() {
            let is_page = |page| view.oob(MEMORY, Page::of(slot)).and_then(|oob| of_page(oob, page, view));
            let is_whole = self.memory.page_at(slot).and_then(is_page).is_some();
            self.writing.set(slot, is_whole);
            self.whole.set(slot, is_whole);
        }
        for page in std::mem::take(&mut self.replaced).iter().map(|page| page as u32) {
            let old = self.sum(page, view);
            let new = view.oob(DRIVE, Page::of(page)).and_then(|oob| of_page(oob, page, view));
            if new.is_some_and(|new| old.is_none_or(|old| view.is_newer(Page::of(page), &new, &old))) {
                self.forget(page);
            }
        }
        // The drive may have been replaced: pages are written whole as long as it lacks the copy of their reference.
        for family in self.copied.iter() {
            let copy = self.copy_of(family as u32);
            if view.alive(DRIVE) && view.oob(DRIVE, copy).is_none() {
                lacks(DRIVE, copy);
            }
        }
        let deltas = (0..self.pages as u32).filter_map(|page| Some((page, self.delta(page)?)));
        for (page, (member, slot)) in deltas {
            if view.alive(member) && view.alive(DRIVE) && self.sum(page, view).is_none() {
                lacks(member, slot);
            }
        }
    }

    /// The metadata of a page that has a delta or is whole in memory; none if the two parts do not match.
    fn sum(&self, page: u32, view: &View<'_>) -> Option<OobData> {
        let (member, slot) = self.delta(page)?;
        let delta = view.oob(member, slot)?;
        if self.whole_slot(page).is_some() {
            return of_page(delta, page, view);
        }
        let base = view.oob(DRIVE, self.base(page)?)?;
        of_page(OobData { stamp: base.stamp ^ delta.stamp, ..delta }, page, view)
    }

    /// Turns a page that is whole in memory into a delta, or writes it to the drive if there is no reference.
    pub(super) fn shrink(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        let slots = self
            .whole
            .iter()
            .map(|slot| slot as u32)
            .filter_map(|slot| Some((slot, self.memory.page_at(slot)?)));
        let mut free = slots.filter(|&(_, page)| !view.held(Key(u64::from(page))));
        let Some((slot, page)) = free.next() else { return false };
        let read = Command::new(Verb::Read, Page::of(slot), 1).because(Cause::Parity);
        if let Some(base) = self.base(page).filter(|&base| view.has(DRIVE, base)) {
            plan.push(Step::new(MEMORY, read, Step::NOWHERE).role(Role::Data(1)));
            Self::store_delta(Page::of(page), slot, base, view, plan);
        } else {
            let write = Command { verb: Verb::Write, ..read.over(Page::of(page), 1) };
            plan.push(Step::new(MEMORY, read, 0));
            plan.push(Step::new(DRIVE, write, 0).stage(1));
            self.replaced.set(page, true);
        }
        plan.hold = Some(Key(u64::from(page)));
        true
    }
}
