//! Reads, and updates that write data and parity together: read-modify-write or reconstruct-write, whichever reads
//! fewer pages.

use super::layout::{ParityLayout, StripeSeats};
use super::stripes::{StripePart, Stripes, Touch};
use super::units::UnitSet;
use crate::engine::{Cause, Command, Flags, Member, Page, Plan, Role, Step, Verb, View};

/// The cost of a page that must be reconstructed: its whole stripe is read.
const REPAIR: u32 = 1000;

impl<L: ParityLayout> Stripes<L> {
    /// Every page from its member; a known zero without a read, if its member lacks it.
    #[inline]
    pub(crate) fn read(
        &self,
        command: &Command,
        place: StripePart<L::Seats>,
        view: &View<'_>,
        plan: &mut Plan,
    ) {
        let StripePart { seats, first, end } = place;
        let healthy = view.is_healthy();
        for (n, index) in (0..).zip(first..end) {
            let (member, page) = seats.at(Role::Data(index));
            let number = command.start.plus(u32::from(n));
            if healthy || view.has(member, page) || self.written.has(number.0) {
                plan.push(Step::new(member, command.over(page, 1), n));
            }
        }
    }

    /// Writes or trims data and updates the parity.
    pub(crate) fn update(
        &mut self,
        command: &Command,
        place: StripePart<L::Seats>,
        view: &View<'_>,
        plan: &mut Plan,
    ) {
        let touch = self.touch(command, place);
        if !touch.touched.is_empty() {
            let reads = self.cheapest(command, place.seats, &touch, view);
            self.update_by(reads, command, place, &touch, view, plan);
        }
    }

    /// The same, with the reads that are given.
    pub(crate) fn update_by(
        &mut self,
        reads: UpdateReads,
        command: &Command,
        place: StripePart<L::Seats>,
        touch: &Touch,
        view: &View<'_>,
        plan: &mut Plan,
    ) {
        let seats = place.seats;
        let healthy = view.is_healthy();
        let modify = reads == UpdateReads::Replaced;
        let answers = |role| healthy || view.alive(seats.at(role).0);
        match reads {
            UpdateReads::Nothing => {}
            UpdateReads::Staying => fetch(seats, touch.rest(), plan),
            UpdateReads::Replaced => {
                read_old(command, place, touch.old(), plan);
                for role in self.parities_of(seats, touch.touched) {
                    if answers(role) && !self.is_zero(role, touch.before) {
                        let (member, page) = seats.at(role);
                        plan.push(Step::fetch(member, page, role, Cause::Parity));
                    }
                }
            }
        }
        let stage = u8::from(!plan.steps.is_empty());
        if !healthy {
            // A parity whose member does not answer is not worked out: from now on it is lacking there.
            for role in self.parities_of(seats, touch.touched).filter(|&role| !answers(role)) {
                let (member, page) = seats.at(role);
                plan.push(drop_page(member, page));
            }
        }
        let has = |step: &Step| healthy || view.has(step.member, step.command.start);
        for index in place.indices() {
            if touch.touched.has(index) {
                let step = give(command, place, index);
                let read = modify && touch.before.has(index) && has(&step);
                plan.push(in_old_hand(step, read).stage(stage));
            }
        }
        for role in self.parities_of(seats, touch.touched) {
            if answers(role) {
                let step = parity(seats, role, self.is_zero(role, touch.after));
                let read = modify && !self.is_zero(role, touch.before) && has(&step);
                plan.push(in_old_hand(step, read).stage(stage));
            }
        }
        self.begin(place, touch, stage > 0, healthy);
    }

    /// Writes all parities from the sums, with these data units written.
    pub(crate) fn close(&self, seats: L::Seats, written: UnitSet, stage: u8, plan: &mut Plan) {
        for &role in seats.parity_roles() {
            plan.push(parity(seats, role, self.is_zero(role, written)).stage(stage));
        }
    }

    /// Reads the fewer pages: those that are replaced, if u + 1 ≤ N − 1 − u in the words of the paper, or those that
    /// stay.
    #[inline]
    pub(crate) fn cheapest(
        &self,
        command: &Command,
        seats: L::Seats,
        touch: &Touch,
        view: &View<'_>,
    ) -> UpdateReads {
        if touch.before.is_empty() {
            return UpdateReads::Nothing;
        }
        let in_hand = command.flags.has(Flags::OLD_IN_HAND);
        let old = if in_hand { UnitSet::default() } else { touch.old() };
        // What a parity says that is a known zero need not be read.
        let is_known = |role: &Role| !self.is_zero(*role, touch.before);
        let parities = || self.parities_of(seats, touch.touched);
        let mut replaced = old.count() + parities().filter(is_known).count() as u32;
        let mut staying = touch.rest().count();
        if !view.is_healthy() {
            let alive = || parities().filter(|&role| view.alive(seats.at(role).0));
            if alive().next().is_none() {
                return UpdateReads::Nothing;
            }
            let parities: u32 = alive().filter(is_known).map(|role| price(seats.at(role), view)).sum();
            let all = |units: UnitSet| {
                units.iter().map(|index| price(seats.at(Role::Data(index)), view)).sum::<u32>()
            };
            (replaced, staying) = (all(old) + parities, all(touch.rest()));
        }
        if replaced <= staying { UpdateReads::Replaced } else { UpdateReads::Staying }
    }
}

/// The pages read for an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateReads {
    /// None: the whole stripe is written, or it has no parity.
    Nothing,
    /// The old data and parity: read-modify-write.
    Replaced,
    /// The other data: reconstruct-write.
    Staying,
}

/// The cost of reading a member's page of a stripe.
fn price((member, page): (Member, Page), view: &View<'_>) -> u32 {
    if view.has(member, page) { 1 } else { REPAIR }
}

/// Reads data units of a stripe for the sums.
pub(crate) fn fetch(seats: impl StripeSeats, units: UnitSet, plan: &mut Plan) {
    for role in units.iter().map(Role::Data) {
        let (member, page) = seats.at(role);
        plan.push(Step::fetch(member, page, role, Cause::Parity));
    }
}

/// Reads the old versions of a command's pages, unless the caller supplies them.
pub(crate) fn read_old(
    command: &Command,
    place: StripePart<impl StripeSeats>,
    old: UnitSet,
    plan: &mut Plan,
) {
    let StripePart { seats, first, .. } = place;
    let in_hand = command.flags.has(Flags::OLD_IN_HAND);
    for index in place.indices().filter(|&index| old.has(index)) {
        let role = Role::Data(index);
        let (member, page) = seats.at(role);
        plan.push(match in_hand {
            true => Step::in_hand(member, page, u16::from(index - first), role),
            false => Step::fetch(member, page, role, Cause::Parity),
        });
    }
}

/// Gives its member a data unit that a command writes or trims.
#[inline]
pub(crate) fn give(command: &Command, place: StripePart<impl StripeSeats>, index: u8) -> Step {
    let StripePart { seats, first, .. } = place;
    let (member, page) = seats.at(Role::Data(index));
    let mut command = command.over(page, 1);
    command.flags = command.flags.without(Flags::OLD_IN_HAND);
    Step::new(member, command, u16::from(index - first)).role(Role::Data(index))
}

/// Writes a parity from the sums; of known zeros it is a known zero too.
pub(crate) fn parity(seats: impl StripeSeats, role: Role, empty: bool) -> Step {
    let (member, page) = seats.at(role);
    if empty { drop_page(member, page) } else { Step::store(member, page, role, Cause::Parity) }
}

/// Trims a page that only the scheme uses.
pub(crate) fn drop_page(member: Member, page: Page) -> Step {
    Step::new(member, Command::new(Verb::Trim, page, 1).because(Cause::Parity), Step::NOWHERE)
}

/// Says whether the plan has read what the step writes: a member that is a tree itself need not read it again.
fn in_old_hand(mut step: Step, read: bool) -> Step {
    if read && step.command.verb == Verb::Write {
        step.command.flags = step.command.flags.with(Flags::OLD_IN_HAND);
    }
    step
}
