//! Codewords with parities: what they lack, and the reconstruction of missing units.

use crate::engine::backends::OobData;
use crate::engine::code::Code;
use crate::engine::command::{Cause, Flags, Page};
use crate::engine::contents::{Contents, Token};
use crate::engine::plan::{Member, Plan, RepairOutcome, Role, Step};
use crate::engine::scheme::StripeUnit;
use crate::engine::view::View;

/// Pages that protect each other: the data pages that are not known zeros, and their parities; or the copies of a page.
#[derive(Clone, Debug, Default)]
pub struct Codeword {
    /// Its pages with their roles.
    pub units: Vec<StripeUnit>,
    /// The number of parities.
    pub parities: usize,
    /// The code of its parities.
    pub code: Code,
    /// The controller has the sums of all parities: none of them is a unit.
    pub carried: bool,
}

/// What a codeword lacks.
#[derive(Clone, Debug)]
struct MissingUnits {
    units: Vec<StripeUnit>,
    /// Missing data units, and the parities by which each is reconstructed ([`Code::parities_for`]).
    data: Vec<u8>,
    by: Vec<Option<u32>>,
}

impl MissingUnits {
    fn has(&self, role: Role) -> bool {
        self.units.iter().any(|unit| unit.role == role)
    }

    /// The missing data units from which a unit is computed: itself, or those that a parity covers.
    fn needed(&self, code: Code, role: Role) -> impl Iterator<Item = Option<u32>> {
        let is_needed = move |index: u8| match role {
            Role::Parity(number) => code.covers(number, index),
            other => other == Role::Data(index),
        };
        self.data.iter().zip(&self.by).filter(move |&(&index, _)| is_needed(index)).map(|(_, &by)| by)
    }

    /// Whether a unit can be reconstructed.
    fn can_restore(&self, code: Code, role: Role) -> bool {
        self.needed(code, role).all(|by| by.is_some())
    }
}

/// What a codeword with parities lacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CodewordCondition {
    /// Whether it lacks a unit that a parity makes up for.
    pub(super) degraded: bool,
    /// Whether one more failure may lose pages.
    pub(super) is_missing: bool,
    /// Whether a member that responds lacks a unit; and one that can be reconstructed.
    pub(super) lacks_units: bool,
    pub(super) restorable: bool,
    /// Whether it lacks its parity.
    pub(super) lacks_sum: bool,
    /// Pages that one more failure would lose.
    pub(super) at_risk: u8,
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
    fn missing(&self, gone: impl Fn(&StripeUnit) -> bool) -> MissingUnits {
        let units: Vec<StripeUnit> = self.units.iter().filter(|unit| gone(unit)).copied().collect();
        let data: Vec<u8> = units.iter().filter_map(|unit| unit.role.data()).collect();
        let mut there = if self.carried { (1 << self.code.parities()) - 1 } else { 0 };
        if !data.is_empty() {
            for unit in self.units.iter().filter(|unit| !units.contains(unit)) {
                there |= unit.role.parity().map_or(0, |number| 1 << number);
            }
        }
        let by = self.code.parities_for(there, &data);
        MissingUnits { units, data, by }
    }

    /// The number of missing units that can be made up for, whichever they are.
    fn tolerance(&self) -> usize {
        if self.code.has_groups() && self.parities > 0 {
            usize::from(self.code.tolerance())
        } else {
            self.parities
        }
    }

    /// What it lacks; calls `lose` with the numbers of unrecoverable data units, of those that are the newest versions
    /// of their pages (`counts`). Without a parity, every page is at risk.
    pub(super) fn condition(
        &self,
        view: &View<'_>,
        has: impl Fn(Member, Page) -> bool,
        counts: impl Fn(u8) -> bool,
        mut lose: impl FnMut(u8),
    ) -> CodewordCondition {
        let missing = self.missing(|unit| !has(unit.member, unit.page));
        let answering = || missing.units.iter().filter(|unit| view.alive(unit.member));
        let mut condition = CodewordCondition {
            degraded: !missing.units.is_empty() && self.parities > 0,
            is_missing: missing.units.len() >= self.tolerance(),
            lacks_units: answering().next().is_some(),
            restorable: answering().any(|unit| missing.can_restore(self.code, unit.role)),
            lacks_sum: missing.has(Role::P),
            at_risk: 0,
        };
        for unit in &self.units {
            let Role::Data(index) = unit.role else { continue };
            if !counts(index) {
                continue;
            }
            if !missing.can_restore(self.code, unit.role) {
                lose(index);
            } else if condition.is_missing && self.is_at_risk(unit.role, &missing) {
                condition.at_risk += 1;
            }
        }
        condition
    }

    /// Whether one more failure would lose a data unit.
    fn is_at_risk(&self, role: Role, missing: &MissingUnits) -> bool {
        // Each unit of other codes is in each sum.
        !self.code.has_groups()
            || self.parities == 0
            || self.units.iter().filter(|unit| !missing.has(unit.role)).any(|next| {
                let then = self.missing(|unit| unit.role == next.role || missing.has(unit.role));
                !then.can_restore(self.code, role)
            })
    }

    /// Reads the units that are needed to reconstruct the `wanted` ones of the missing units.
    fn read_around(&self, wanted: &[Role], missing: &MissingUnits, cause: Cause, plan: &mut Plan) {
        let by = wanted.iter().flat_map(|&role| missing.needed(self.code, role)).flatten();
        let read = by.fold(0, |set, by| set | by);
        let computed = wanted.iter().filter_map(|role| role.parity());
        let sums = computed.fold(read, |set, number| set | 1 << number);
        for unit in self.units.iter().filter(|unit| !missing.has(unit.role)) {
            let is_needed = match unit.role {
                Role::Parity(number) => read >> number & 1 != 0,
                Role::Data(index) => self.code.is_in_any(sums, index),
                _ => true,
            };
            if is_needed {
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
        let tried = |unit: &StripeUnit| {
            failed.iter().any(|step| (step.member, step.command.start) == (unit.member, unit.page))
        };
        let missing = self.missing(|unit| tried(unit) || !view.has(unit.member, unit.page));
        if !missing.can_restore(self.code, role) {
            return RepairOutcome::Lost;
        }
        let cause = wanted.command.cause;
        self.read_around(&[role], &missing, cause, plan);
        for other in missing.units.iter().filter(|other| other.role != role) {
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
        let missing = self.missing(|unit| !view.has(unit.member, unit.page));
        let place = |unit: &StripeUnit| target(unit).filter(|_| missing.can_restore(self.code, unit.role));
        let wanted: Vec<Role> =
            missing.units.iter().filter(|unit| place(unit).is_some()).map(|unit| unit.role).collect();
        if wanted.is_empty() {
            return false;
        }
        self.read_around(&wanted, &missing, Cause::Rebuild, plan);
        for unit in missing.units.iter().filter(|unit| place(unit).is_none()) {
            plan.push(fetch(unit, Cause::Rebuild).role(unit.role.lost()));
        }
        for unit in &missing.units {
            if let Some((member, page)) = place(unit) {
                plan.push(Step::store(member, page, unit.role.lost(), Cause::Rebuild).stage(1));
            }
        }
        true
    }

    /// The OOB metadata of a data unit; none if the unit is a known zero, or cannot be reconstructed.
    pub(super) fn oob(&self, index: u8, view: &View<'_>) -> Option<OobData> {
        let unit = self.units.iter().find(|unit| unit.role == Role::Data(index))?;
        if view.has(unit.member, unit.page) {
            return view.oob(unit.member, unit.page);
        }
        let missing = self.missing(|unit| !view.has(unit.member, unit.page));
        let at = missing.data.iter().position(|&other| other == index)?;
        let by = missing.by[at]?;
        let numbers: Vec<u8> = (0..self.code.parities()).filter(|&number| by >> number & 1 != 0).collect();
        let weights = self.code.solve(&numbers, &missing.data).into_iter().nth(at)??;
        let mut found: Option<OobData> = None;
        let mut sum = Token::default();
        for (&number, weight) in numbers.iter().zip(weights) {
            let parity = self.units.iter().find(|unit| unit.role == Role::Parity(number))?;
            let oob = view.oob(parity.member, parity.page)?;
            found = found.or(Some(oob));
            sum = sum.plus(weight, self.syndrome(number, Token(oob.stamp), &missing.data, view));
        }
        found.filter(|_| sum != Token::default()).map(|oob| OobData { stamp: sum.0, ..oob })
    }

    /// What a parity and the data units that are not missing say together.
    fn syndrome(&self, number: u8, parity: Token, missing: &[u8], view: &View<'_>) -> Token {
        let data = self.units.iter().filter_map(|unit| unit.role.data().map(|index| (index, unit)));
        data.filter(|(index, _)| !missing.contains(index)).fold(parity, |sum, (index, unit)| {
            let oob = view.oob(unit.member, unit.page);
            sum.plus(
                self.code.coefficient(number, index),
                oob.map_or(Token::default(), |oob| Token(oob.stamp)),
            )
        })
    }
}
