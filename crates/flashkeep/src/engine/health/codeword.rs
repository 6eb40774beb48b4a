//! Codewords with parities: what they lack, and the reconstruction of missing units.

use crate::engine::command::{Cause, Flags, Page};
use crate::engine::plan::{Member, Plan, RepairOutcome, Role, Step};
use crate::engine::scheme::StripeUnit;
use crate::engine::view::View;

/// Pages that protect each other: the data pages that are not known zeros, and their parities; or the copies of a page.
#[derive(Clone, Debug, Default)]
pub struct Codeword {
    /// Its pages with their roles.
    pub units: Vec<StripeUnit>,
    /// The number of missing units that its parities can make up for.
    pub parities: usize,
}

/// The units to reconstruct, at most two, and how many there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct MissingUnits {
    units: [StripeUnit; 2],
    /// The number of missing units.
    pub count: usize,
}

impl MissingUnits {
    /// The missing units, the first two of them.
    #[must_use]
    pub fn units(&self) -> &[StripeUnit] {
        &self.units[..self.count.min(2)]
    }

    fn has(&self, role: Role) -> bool {
        self.units().iter().any(|unit| unit.role == role)
    }

    fn add(&mut self, unit: StripeUnit) {
        if let Some(place) = self.units.get_mut(self.count) {
            *place = unit;
        }
        self.count += 1;
    }
}

/// What a codeword with parities lacks.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodewordCondition {
    missing: MissingUnits,
    parities: usize,
    /// Pages that one more failure would lose.
    pub(super) at_risk: u8,
}

impl CodewordCondition {
    /// Whether it lacks a unit that a parity makes up for.
    pub(super) fn is_degraded(&self) -> bool {
        self.missing.count > 0 && self.parities > 0
    }

    /// Whether one more failure would lose pages.
    pub(super) fn is_missing(&self) -> bool {
        self.missing.count >= self.parities
    }

    /// Whether what it lacks can be reconstructed.
    pub(super) fn can_be_solved(&self) -> bool {
        self.missing.count <= self.parities
    }

    /// Whether a member that responds lacks a unit.
    pub(super) fn stripe_rebuilds(&self, view: &View<'_>) -> bool {
        self.missing.units().iter().any(|unit| view.alive(unit.member))
    }

    /// Whether it lacks its parity.
    pub(super) fn lacks_sum(&self) -> bool {
        self.missing.has(Role::P)
    }
}

fn fetch(unit: &StripeUnit, cause: Cause) -> Step {
    Step::fetch(unit.member, unit.page, unit.role, cause)
}

/// Delivers a page that no codeword covers: a known zero, the sum of nothing.
pub(super) fn known_zero(wanted: &Step, plan: &mut Plan) -> RepairOutcome {
    plan.push(Step::new(wanted.member, wanted.command, 0).role(Role::Lost(0)).stage(1));
    RepairOutcome::Planned
}

impl Codeword {
    /// The units that are missing.
    pub fn missing(&self, gone: impl Fn(Member, Page) -> bool) -> MissingUnits {
        let mut missing = MissingUnits::default();
        let units = self.units.iter().filter(|unit| gone(unit.member, unit.page));
        units.for_each(|unit| missing.add(*unit));
        missing
    }

    /// Whether the missing units can be reconstructed.
    #[must_use]
    pub fn can_do_without(&self, missing: &MissingUnits) -> bool {
        missing.count <= self.parities
    }

    /// What it lacks; calls `lose` with the numbers of unrecoverable data units, of those that are the newest versions
    /// of their pages (`counts`). Without a parity, every page is at risk.
    pub(super) fn condition(
        &self,
        has: impl Fn(Member, Page) -> bool,
        counts: impl Fn(u8) -> bool,
        mut lose: impl FnMut(u8),
    ) -> CodewordCondition {
        let missing = self.missing(|member, page| !has(member, page));
        let mut condition = CodewordCondition { missing, parities: self.parities, at_risk: 0 };
        let (lost, missing) = (!condition.can_be_solved(), condition.is_missing());
        for unit in &self.units {
            let Role::Data(index) = unit.role else { continue };
            if !counts(index) {
                continue;
            }
            if lost && !has(unit.member, unit.page) {
                lose(index);
            } else {
                condition.at_risk += u8::from(missing);
            }
        }
        condition
    }

    /// Reads the units that are needed to reconstruct the missing ones.
    fn read_around(&self, missing: &MissingUnits, cause: Cause, plan: &mut Plan) {
        let several = missing.count > 1;
        for unit in self.units.iter().filter(|unit| !missing.has(unit.role)) {
            let needed = match unit.role {
                Role::P => several || matches!(missing.units()[0].role, Role::Data(_)),
                Role::Q => several,
                _ => true,
            };
            if needed {
                plan.push(fetch(unit, cause));
            }
        }
    }

    /// Plans the reconstruction of the unit whose read failed last, and rewrites it on its member if that responds; for
    /// a read without time, the rebuild does that. A unit that the codeword does not have is a known zero.
    pub fn bring_back(&self, role: Role, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        if !self.units.iter().any(|unit| unit.role == role) {
            return known_zero(&wanted, plan);
        }
        let found = Step::new(wanted.member, wanted.command, 0).role(role.lost()).stage(1);
        let tried = |member, page| failed.iter().any(|s| (s.member, s.command.start) == (member, page));
        let missing = self.missing(|member, page| tried(member, page) || !view.has(member, page));
        if !self.can_do_without(&missing) {
            return RepairOutcome::Lost;
        }
        let cause = wanted.command.cause;
        self.read_around(&missing, cause, plan);
        for other in missing.units().iter().filter(|other| other.role != role) {
            plan.push(fetch(other, cause).role(other.role.lost()));
        }
        plan.push(found);
        if view.alive(wanted.member) && !wanted.command.flags.has(Flags::BEFORE) {
            let store = Step::store(wanted.member, wanted.command.start, role.lost(), Cause::Rebuild);
            plan.push(store.stage(1).later());
        }
        RepairOutcome::Planned
    }

    /// Rewrites missing units on members that respond; false if there are none, or if they cannot be reconstructed.
    pub fn rebuild(&self, view: &View<'_>, plan: &mut Plan) -> bool {
        self.rebuild_at(view, plan, |unit| view.alive(unit.member).then_some((unit.member, unit.page)))
    }

    /// Writes missing units to the places that `target` names; false if there are none, or if they cannot be
    /// reconstructed.
    pub fn rebuild_at(
        &self,
        view: &View<'_>,
        plan: &mut Plan,
        target: impl Fn(&StripeUnit) -> Option<(Member, Page)>,
    ) -> bool {
        let missing = self.missing(|member, page| !view.has(member, page));
        let units = || missing.units().iter();
        if !self.can_do_without(&missing) || units().all(|unit| target(unit).is_none()) {
            return false;
        }
        self.read_around(&missing, Cause::Rebuild, plan);
        for unit in units().filter(|unit| target(unit).is_none()) {
            plan.push(fetch(unit, Cause::Rebuild).role(unit.role.lost()));
        }
        for unit in units() {
            if let Some((member, page)) = target(unit) {
                plan.push(Step::store(member, page, unit.role.lost(), Cause::Rebuild).stage(1));
            }
        }
        true
    }
}
