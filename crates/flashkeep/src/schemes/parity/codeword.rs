//! The codewords of a stripe: which units a parity covers, and where they are.

use super::layout::{Seats, StripeSeats};
use super::units::UnitSet;
use crate::engine::{Cause, Code, Codeword, Member, Page, Plan, RepairOutcome, Role, Step, StripeUnit, View};

/// The units of a stripe that its parities cover. A stripe of known zeros only has no parity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coverage<F, S = Seats> {
    pub(crate) seats: S,
    pub(crate) code: Code,
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

impl<F: Fn(u8) -> Page, S: StripeSeats> Coverage<F, S> {
    /// The member and page of a unit.
    #[inline]
    pub(crate) fn at(&self, role: Role) -> (Member, Page) {
        match (role, self.parity) {
            (Role::Data(index), _) => (self.seats.at(role).0, (self.page)(index)),
            (_, ParityLocation::At(member, page)) => (member, page),
            _ => self.seats.at(role),
        }
    }

    /// A read of a unit for the sums.
    #[inline]
    pub(crate) fn fetch(&self, role: Role, cause: Cause) -> Step {
        let (member, page) = self.at(role);
        Step::fetch(member, page, role, cause)
    }

    /// Its units: the data that are no known zeros, and the parities of those.
    pub(crate) fn each(&self, mut tell: impl FnMut(StripeUnit)) {
        let parities = if self.parity == ParityLocation::Carried { &[] } else { self.seats.parity_roles() };
        let parities = parities.iter().copied().filter(|&role| self.units.has_part_of(role, self.code));
        for role in self.units.iter().map(Role::Data).chain(parities) {
            let (member, page) = self.at(role);
            tell(StripeUnit { member, page, role });
        }
    }

    /// The same as a list. The running sum makes up for as many units as the parity will.
    pub(crate) fn word(&self) -> Codeword {
        let carried = self.parity == ParityLocation::Carried;
        let mut word = Codeword { code: self.code, carried, ..Codeword::default() };
        self.each(|unit| word.push(unit));
        word.parities = self.seats.parity_roles().len();
        word
    }

    /// Plans the reconstruction of the unit whose read failed last, and rewrites it on its member if that responds.
    pub(crate) fn bring_back(
        &self,
        role: Role,
        failed: &[Step],
        view: &View<'_>,
        plan: &mut Plan,
    ) -> RepairOutcome {
        self.word().bring_back(role, failed, view, plan)
    }

    /// Rewrites missing units on members that respond; false if there are none.
    pub(crate) fn rebuild(&self, view: &View<'_>, plan: &mut Plan) -> bool {
        let begun = self.word().rebuild(view, plan);
        plan.hold = plan.hold.or(begun.then(|| self.seats.lock()));
        begun
    }
}
