//! Repair of an unreadable page: from the page's current copy if that is another page, else from the rest of
//! its stripe. Obsolete copies serve for that as well as current ones.

use super::places::LogPlace;
use super::{LogHold, LogStripes, StripeLog};
use crate::engine::{Key, OobData, Page, Plan, RepairOutcome, Role, Step, View};

impl LogStripes {
    /// Reads all units of a stripe but one, which is its data page 0 if it is one: for the superpage of the sums, and
    /// for the cause, of `like`.
    pub(super) fn fetch_others(&self, place: LogPlace, like: Step, steps: &mut Vec<Step>) {
        let mut index = 0;
        for unit in self.places.units(place).filter(|&unit| unit != place) {
            let (member, page) = self.address(unit);
            let role = if self.places.is_parity(unit) {
                Role::P
            } else {
                index += 1;
                Role::Data(index)
            };
            steps.push(Step::fetch(member, page, role, like.command.cause).row(like.row));
        }
    }

    /// What a page says of itself after a power cut: where it is missing, what the rest of its stripe says of it.
    pub(super) fn oob_of(&self, page: Page, view: &View<'_>) -> Option<OobData> {
        let place = self.places.find(page.low())?;
        let oob = |unit: LogPlace| {
            let (member, page) = self.address(unit);
            if view.has(member, page) { view.oob(member, page) } else { None }
        };
        if let Some(oob) = oob(place) {
            return Some(oob);
        }
        let others = || self.places.units(place).filter(|&unit| unit != place);
        let parity = oob(others().find(|&unit| self.places.is_parity(unit))?)?;
        let stamp = others().try_fold(0, |sum, unit| Some(sum ^ oob(unit)?.stamp))?;
        Some(OobData { stamp, ..parity })
    }
}

impl StripeLog {
    /// The stripe that was closed last may have a parity that the controller has not submitted yet.
    pub(super) fn repair_lock(&self, place: LogPlace) -> Option<Key> {
        let superpage = self.stripes.places.superpage(place);
        let last = self.adds_slowly
            && self
                .stripes
                .frontiers()
                .any(|frontier| frontier.pending == 0 && frontier.superpage == superpage);
        last.then(|| LogHold::Open.key())
    }

    /// A plan that brings back what the last of `failed` should have read.
    pub(super) fn bring_back(&self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = &failed[failed.len() - 1];
        if self.medium.is_journal(wanted.command.start.low()) {
            let tried = |member: u8| failed.iter().any(|step| step.member.0 == member);
            let other = self.medium.other_record(self.members, wanted, &tried, view);
            plan.steps.extend(other);
            return if other.is_some() { RepairOutcome::Planned } else { RepairOutcome::Lost };
        }
        let place = self.stripes.places.at(wanted.command.start.low(), wanted.member.0);
        let tried = |place: LogPlace| {
            let (member, page) = self.stripes.address(place);
            failed.iter().any(|step| (step.member, step.command.start) == (member, page))
        };
        // The reader wants the page itself, not what the place adds to a stripe.
        let page_itself = wanted.at != Step::NOWHERE;
        if page_itself && !self.stripes.places.is_current(place) {
            let Some(now) = self.stripes.places.find(self.stripes.places.owner(place)) else {
                return RepairOutcome::Planned;
            };
            if tried(now) {
                return RepairOutcome::Lost;
            }
            let (member, page) = self.stripes.address(now);
            plan.push(Step::new(member, wanted.command.over(page, 1), 0));
            return RepairOutcome::Planned;
        }
        let there = self.stripes.superblocks.is_written(self.stripes.superblock_of(place));
        if !there || self.stripes.places.stripe(place) == 0 {
            return RepairOutcome::Lost;
        }
        let others = || self.stripes.places.units(place).filter(|&unit| unit != place);
        let has = |unit: LogPlace| {
            let (member, page) = self.stripes.address(unit);
            view.has(member, page) && !tried(unit)
        };
        let parity = self.stripes.places.units(place).any(|unit| self.stripes.places.is_parity(unit));
        let (superpage, stripe) = (self.stripes.places.superpage(place), self.stripes.places.stripe(place));
        if let Some(frontier) = self.stripes.frontiers().find(|frontier| frontier.is_open(superpage, stripe))
        {
            plan.peek = Some(frontier.sum());
        } else if !parity {
            return RepairOutcome::Lost;
        }
        if !others().all(has) {
            return RepairOutcome::Lost;
        }
        let lost = if self.stripes.places.is_parity(place) { Role::P.lost() } else { Role::Lost(0) };
        self.stripes.fetch_others(
            place,
            Step { command: wanted.command, ..Step::default() },
            &mut plan.steps,
        );
        plan.push(Step::new(wanted.member, wanted.command, 0).role(lost).stage(1));
        RepairOutcome::Planned
    }
}
