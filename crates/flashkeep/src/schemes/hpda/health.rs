//! Missing pages of the drives and the log, the exposure that follows, and other copies of log entries.

use super::Hpda;
use crate::engine::{Cause, Command, Key, Page, Plan, Step, Verb, View};
use crate::schemes::parity::Settling;

/// What is tried (again) where something is missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) stripe: bool,
    pub(super) copies: bool,
}

impl Hpda {
    /// How many pages of a stripe one more failure would cost.
    pub(super) fn at_risk(&self, stripe: u32) -> u64 {
        let logged = self.logged(stripe);
        let alone = logged.within(self.stripes.units(&self.single, stripe));
        u64::from(self.conditions.at_risk(&self.stripes, stripe).without(logged).with(alone).count())
    }

    /// Does something that may change what a stripe exposes.
    pub(super) fn recount(&mut self, stripe: u32, change: impl FnOnce(&mut Self)) {
        self.exposed -= self.at_risk(stripe);
        change(self);
        self.exposed += self.at_risk(stripe);
    }

    /// Looks at a stripe: what its codeword lacks, and what the log lacks of it.
    pub(super) fn examine(&mut self, stripe: u32, view: &View<'_>, again: Again) {
        self.conditions.examine(&self.stripes, stripe, view, again.stripe);
        for index in self.logged(stripe).iter() {
            let page = self.stripes.number(stripe, index);
            let Some(slot) = self.log.of(page) else { continue };
            let copies = self.at(slot).map(|(member, page)| view.has(member, page));
            self.single.set(page, copies[0] != copies[1]);
            self.lost.set(page, copies == [false, false]);
            let answer = self.at(slot).iter().all(|&(member, _)| view.alive(member));
            self.copies.set(slot, copies[0] != copies[1] && answer && again.copies);
        }
    }

    /// The newest version of a page is on its drive, or there is none.
    pub(super) fn forget(&mut self, page: u32) {
        if let Some(slot) = self.log.forget(page) {
            self.copies.set(slot, false);
            self.single.set(page, false);
            self.lost.set(page, false);
        }
    }

    /// Makes another copy of what is in the log of a stripe, where there is but one.
    pub(super) fn copy_slots(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        let (log, stripes) = (&self.log, &self.stripes);
        let stripe = |slot| log.page_at(slot).map(|page| stripes.split(Page(page)).0);
        let held = |slot| stripe(slot).is_some_and(|stripe| view.held(Key(u64::from(stripe))));
        let Some(stripe) = self.copies.next(held).and_then(stripe) else { return false };
        let command = |verb, page| Command::new(verb, page, 1).because(Cause::Rebuild);
        let mut writes = Vec::new();
        for index in self.logged(stripe).iter() {
            let slot = self.log.of(self.stripes.number(stripe, index)).expect("it is in the log");
            let [one, other] = self.at(slot);
            let (from, to) = if view.has(one.0, one.1) { (one, other) } else { (other, one) };
            if view.has(from.0, from.1) && !view.has(to.0, to.1) {
                plan.push(Step::new(from.0, command(Verb::Read, from.1), u16::from(index)));
                writes.push(Step::new(to.0, command(Verb::Write, to.1), u16::from(index)).stage(1));
            }
            self.copies.set(slot, false);
        }
        writes.into_iter().for_each(|step| plan.push(step));
        plan.hold = Some(Key(u64::from(stripe)));
        self.copying.set(stripe, true);
        true
    }

    /// Rebuilds what the next stripe of the drives lacks.
    pub(super) fn rebuild_stripe(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        while let Some(stripe) = self.conditions.todo.next(|stripe| view.held(Key(u64::from(stripe)))) {
            self.conditions.todo.set(stripe, false);
            if self.stripes.codeword(stripe).rebuild(view, plan) {
                self.stripes.settling.insert(stripe, Settling { rebuilds: true, ..Settling::default() });
                return true;
            }
        }
        false
    }
}
