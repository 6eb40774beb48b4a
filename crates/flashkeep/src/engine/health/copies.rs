//! Codewords of equal copies of one page, and copies of newest versions that a parity does not cover.

use super::{Codeword, CodewordHealth, Codewords, NodeHealth};
use crate::engine::backends::OobData;
use crate::engine::command::{Cause, Command, Page, Verb};
use crate::engine::plan::{Member, Plan, RepairOutcome, Role, Step};
use crate::engine::scheme::StripeUnit;
use crate::engine::view::View;

fn has(unit: &&StripeUnit, view: &View<'_>) -> bool {
    view.has(unit.member, unit.page)
}

/// The first current copy that is not a known zero.
fn source<'a>(word: &'a Codeword, view: &View<'_>) -> Option<&'a StripeUnit> {
    word.units.iter().find(|unit| has(unit, view) && view.holds(unit.member, unit.page))
}

/// Whether a copy of the page is current.
pub(super) fn is_left(word: &Codeword, view: &View<'_>) -> bool {
    word.units.iter().any(|unit| has(&unit, view))
}

/// Whether a member must get a page that another one has, or trim a page that was trimmed on the other one meanwhile.
fn lacks(unit: &StripeUnit, there: bool, view: &View<'_>) -> bool {
    let StripeUnit { member, page, .. } = *unit;
    view.alive(member) && !view.has(member, page) && (there || view.holds(member, page))
}

/// Which copies are missing, and which can be made.
pub(super) fn condition(word: &Codeword, was_degraded: bool, view: &View<'_>) -> CodewordHealth {
    let having = word.units.iter().filter(|unit| has(unit, view)).count();
    let there = source(word, view).is_some();
    CodewordHealth {
        // A lost page lacks copies until it is written again.
        degraded: if having == 0 { was_degraded } else { there && having < word.units.len() },
        at_risk: u8::from(there && having == 1),
        restorable: having > 0 && word.units.iter().any(|unit| lacks(unit, there, view)),
    }
}

/// The condition when a page is written or trimmed on all members that respond.
pub(super) fn written(word: &Codeword, writes: bool, view: &View<'_>) -> CodewordHealth {
    let alive = word.units.iter().filter(|unit| view.alive(unit.member)).count();
    let degraded = writes && alive < word.units.len();
    CodewordHealth { degraded, at_risk: u8::from(writes && alive == 1), restorable: false }
}

/// Copies a page to the members that lack it; false if there is nothing to copy. If no copy is current, the page is
/// lost: a member may still have outdated contents, which are not zeros.
pub(super) fn rebuild(word: &Codeword, view: &View<'_>, plan: &mut Plan) -> bool {
    if !is_left(word, view) {
        return false;
    }
    let from = source(word, view);
    let there = from.is_some();
    let one = |verb, page| Command::new(verb, page, 1).because(Cause::Rebuild);
    let verb = if there { Verb::Write } else { Verb::Trim };
    let mut to = word.units.iter().filter(|unit| lacks(unit, there, view)).peekable();
    if to.peek().is_none() {
        return false;
    }
    plan.steps.extend(from.map(|from| Step::new(from.member, one(Verb::Read, from.page), 0)));
    to.for_each(|to| plan.push(Step::new(to.member, one(verb, to.page), 0).stage(1)));
    true
}

/// Plans a read from the next copy that was not tried.
pub(super) fn repair(word: &Codeword, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
    let wanted = failed[failed.len() - 1];
    let at = word.units.iter().position(|unit| unit.member == wanted.member).unwrap_or(0);
    let tried = |unit: &&StripeUnit| failed.iter().any(|step| step.member == unit.member);
    let mut others = word.units[at..].iter().chain(&word.units[..at]);
    let Some(other) = others.find(|unit| has(unit, view) && !tried(unit)) else { return RepairOutcome::Lost };
    plan.push(Step::new(other.member, wanted.command.over(other.page, 1), 0));
    RepairOutcome::Planned
}

/// After a power cut: the newest copy is valid, and the others are rebuilt from it, unless they are equal.
pub(super) fn recover(page: Page, word: &Codeword, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
    let copies = word.units.iter().filter_map(|unit| view.oob(unit.member, unit.page));
    let newer = |one: OobData, other: OobData| if view.is_newer(page, &other, &one) { other } else { one };
    let Some(newest) = copies.reduce(newer) else { return };
    for unit in word.units.iter().filter(|unit| view.alive(unit.member)) {
        if view.oob(unit.member, unit.page).is_none_or(|copy| copy.stamp != newest.stamp) {
            lacks(unit.member, unit.page);
        }
    }
}

impl Codeword {
    /// Takes the copies of a data unit's newest version.
    pub(super) fn take_copies(&mut self, stripes: &dyn Codewords, stripe: u32, index: u8) {
        self.units.clear();
        self.parities = 0;
        stripes.copies(stripe, index, &mut |member, page| {
            self.units.push(StripeUnit { member, page, role: Role::Plain });
        });
    }
}

impl NodeHealth {
    /// Which copies of a stripe's newest versions are missing.
    pub(super) fn examine_copies(
        &mut self,
        stripes: &dyn Codewords,
        stripe: u32,
        view: &View<'_>,
        has: impl Fn(Member, Page) -> bool,
    ) -> CodewordHealth {
        let mut condition = CodewordHealth::default();
        for index in 0..stripes.data() {
            let page = u64::from(stripe) * u64::from(stripes.data()) + u64::from(index);
            self.newer.take_copies(stripes, stripe, index);
            let units = &self.newer.units;
            let lacks = |unit: &&StripeUnit| !has(unit.member, unit.page);
            let having = units.len() - units.iter().filter(lacks).count();
            self.thin.set(page, having < units.len());
            if having == 0 && !units.is_empty() {
                self.lost.set(page, true);
            }
            condition.at_risk += u8::from(having == 1);
            condition.restorable |=
                having > 0 && units.iter().filter(lacks).any(|unit| view.alive(unit.member));
        }
        condition
    }
}
