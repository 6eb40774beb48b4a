//! Codewords: a stripe as its parities see it, and the reconstruction of its missing units.

use super::layout::Seats;
use super::units::UnitSet;
use crate::engine::{Cause, Member, Page, Plan, RepairOutcome, Role, Step, View};

/// The units of a stripe that its parities cover. A stripe of known zeros only has no parity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codeword<F> {
    pub(crate) seats: Seats,
    /// The data units that are not known zeros.
    pub(crate) units: UnitSet,
    /// The page of a data unit on its member.
    pub(crate) page: F,
    /// The location of its parity.
    pub(crate) parity: ParityLocation,
}

/// The location of a codeword's parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParityLocation {
    /// On the members that the layout determines.
    Seated,
    /// On another one.
    At(Member, Page),
    /// Not written yet: the controller has the running sum.
    Carried,
}

/// The units to reconstruct, at most two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MissingUnits {
    roles: [Role; 2],
    pub(crate) count: usize,
}

impl MissingUnits {
    pub(crate) fn roles(&self) -> &[Role] {
        &self.roles[..self.count.min(2)]
    }

    pub(crate) fn has(&self, role: Role) -> bool {
        self.roles().contains(&role)
    }

    fn add(&mut self, role: Role) {
        if let Some(place) = self.roles.get_mut(self.count) {
            *place = role;
        }
        self.count += 1;
    }
}

impl<F: Fn(u8) -> Page> Codeword<F> {
    /// The member and page of a unit.
    #[inline]
    pub(crate) fn at(&self, role: Role) -> (Member, Page) {
        match (role, self.parity) {
            (Role::Data(index), _) => (self.seats.data(index), (self.page)(index)),
            (_, ParityLocation::At(member, page)) => (member, page),
            _ => (self.seats.member(role), self.seats.parity_page()),
        }
    }

    /// A read of a unit for the sums.
    #[inline]
    pub(crate) fn fetch(&self, role: Role, cause: Cause) -> Step {
        let (member, page) = self.at(role);
        Step::fetch(member, page, role, cause)
    }

    /// Its units: the data that are no known zeros, and the parities of those.
    pub(crate) fn roles(&self) -> impl Iterator<Item = Role> + use<F> {
        let none = self.parity == ParityLocation::Carried || self.units.is_empty();
        let parities = if none { &[] } else { self.seats.parities() };
        self.units.iter().map(Role::Data).chain(parities.iter().copied())
    }

    /// The units that are missing.
    pub(crate) fn missing(&self, gone: impl Fn(Member, Page) -> bool) -> MissingUnits {
        let mut missing = MissingUnits::default();
        for role in self.roles() {
            let (member, page) = self.at(role);
            if gone(member, page) {
                missing.add(role);
            }
        }
        missing
    }

    /// Whether the missing units can be reconstructed.
    pub(crate) fn can_do_without(&self, missing: &MissingUnits) -> bool {
        missing.count <= self.seats.parities().len()
    }

    /// Reads the units that are needed to reconstruct the missing ones.
    pub(crate) fn read_around(&self, missing: &MissingUnits, cause: Cause, plan: &mut Plan) {
        let several = missing.count > 1;
        for role in self.roles().filter(|&role| !missing.has(role)) {
            let needed = match role {
                Role::P => several || matches!(missing.roles()[0], Role::Data(_)),
                Role::Q => several,
                _ => true,
            };
            if needed {
                plan.push(self.fetch(role, cause));
            }
        }
    }

    /// Plans the reconstruction of the unit whose read failed last, and rewrites it on its member if that responds.
    pub(crate) fn bring_back(
        &self,
        role: Role,
        failed: &[Step],
        view: &View<'_>,
        plan: &mut Plan,
    ) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        let found = Step::new(wanted.member, wanted.command, 0).role(role.lost()).stage(1);
        let known_zero = match role {
            Role::Data(index) => !self.units.has(index),
            _ => self.units.is_empty(),
        };
        if known_zero {
            plan.push(found);
            return RepairOutcome::Planned;
        }
        let tried = |member, page| failed.iter().any(|s| (s.member, s.command.start) == (member, page));
        let missing = self.missing(|member, page| tried(member, page) || !view.has(member, page));
        if !self.can_do_without(&missing) {
            return RepairOutcome::Lost;
        }
        let cause = wanted.command.cause;
        self.read_around(&missing, cause, plan);
        for other in missing.roles().iter().filter(|&&other| other != role) {
            plan.push(self.fetch(*other, cause).role(other.lost()));
        }
        plan.push(found);
        if view.alive(wanted.member) {
            let store = Step::store(wanted.member, wanted.command.start, role.lost(), Cause::Rebuild);
            plan.push(store.stage(1).later());
        }
        RepairOutcome::Planned
    }

    /// Rewrites missing units on members that respond; false if there are none.
    pub(crate) fn rebuild(&self, view: &View<'_>, plan: &mut Plan) -> bool {
        let missing = self.missing(|member, page| !view.has(member, page));
        let answers = |role: &Role| view.alive(self.at(*role).0);
        if !self.can_do_without(&missing) || !missing.roles().iter().any(answers) {
            return false;
        }
        self.read_around(&missing, Cause::Rebuild, plan);
        for role in missing.roles().iter().filter(|role| !answers(role)) {
            plan.push(self.fetch(*role, Cause::Rebuild).role(role.lost()));
        }
        for role in missing.roles().iter().filter(|role| answers(role)) {
            let (member, page) = self.at(*role);
            plan.push(Step::store(member, page, role.lost(), Cause::Rebuild).stage(1));
        }
        plan.hold = Some(self.seats.key());
        true
    }
}
