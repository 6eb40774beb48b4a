//! The common part of schemes with deferred parity: data are written immediately, and the version that the
//! parity covers is kept at a hidden address of its member, so that the old parity still protects the
//! unchanged pages.
//!
//! A stripe then has two codewords: the old parity with the old versions and the unchanged pages, and, if
//! there is a memory for it, the partial parity with the changed ones.

use super::codeword::{Coverage, ParityLocation};
use super::hidden::HiddenRange;
use super::layout::Rotated;
use super::stripes::{Settling, StripePart, Stripes, Touch};
use super::units::UnitSet;
use super::update::{UpdateReads, drop_page, fetch, give, parity};
use crate::engine::{
    Cause, Code, Command, Flags, Key, Member, Page, Plan, RepairOutcome, Role, Step, StripeUnit, Verb, View,
};
use crate::kernel::Bits;
use crate::schemes::SchemeOptions;

/// Where the partial parity of a stripe is.
pub(crate) type Partial = Option<(Member, Page)>;

/// Stripes with two versions of some pages.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Versions {
    pub(crate) stripes: Stripes<Rotated<1>>,
    /// Data pages whose current version the parity on the media does not cover.
    pub(super) changed: Bits,
    /// The versions that it covers instead; none if that is a known zero.
    pub(crate) hidden: HiddenRange,
}

impl Versions {
    pub(crate) fn new(options: &SchemeOptions<'_>) -> Self {
        Versions {
            stripes: Stripes::new(options),
            changed: Bits::default(),
            hidden: HiddenRange::new(options),
        }
    }

    /// The data units of a stripe whose current version its parity does not know.
    pub(crate) fn changed(&self, stripe: u32) -> UnitSet {
        self.stripes.units(&self.changed, stripe)
    }

    /// The codeword of a stripe that the parity on the media covers.
    pub(crate) fn codeword(&self, stripe: u32) -> Coverage<impl Fn(u8) -> Page + use<'_>> {
        let changed = self.changed(stripe);
        let kept = move |index: u8| {
            let page = self.hidden.of(self.stripes.number(stripe, index));
            page.filter(|_| changed.has(index))
        };
        let mut units = self.stripes.written(stripe).without(changed);
        changed.iter().filter(|&index| kept(index).is_some()).for_each(|index| units.add(index));
        let page = move |index| kept(index).unwrap_or(Page::of(stripe));
        Coverage {
            seats: self.stripes.seats(stripe),
            code: Code::mds(1),
            units,
            page,
            parity: ParityLocation::Seated,
        }
    }

    /// The codeword that a stripe's partial parity covers.
    fn partial_codeword(&self, stripe: u32, (member, page): (Member, Page)) -> Coverage<impl Fn(u8) -> Page> {
        let units = self.stripes.written(stripe).within(self.changed(stripe));
        let parity = ParityLocation::At(member, page);
        Coverage {
            seats: self.stripes.seats(stripe),
            code: Code::mds(1),
            units,
            page: move |_| Page::of(stripe),
            parity,
        }
    }

    // ---------------------------------------------------------------- writing

    /// Those of the data units that a command replaces whose version the parity knows.
    pub(crate) fn known(&self, stripe: u32, touch: &Touch) -> UnitSet {
        touch.old().without(self.changed(stripe))
    }

    /// Whether their members can keep these versions.
    pub(crate) fn can_keep(&self, place: StripePart, known: UnitSet) -> bool {
        known.iter().all(|index| self.hidden.has_room(place.seats.data(index)))
    }

    /// Writes or trims data, and keeps the versions that the parity knows.
    pub(crate) fn write(
        &mut self,
        command: &Command,
        place: StripePart,
        touch: &Touch,
        plan: &mut Plan,
        dress: impl Fn(Step) -> Step,
    ) {
        let (seats, known) = (place.seats, self.known(place.seats.stripe, touch));
        for index in touch.touched.iter() {
            let step = dress(give(command, place, index));
            if known.has(index) {
                let to = self.hidden.take(step.member, self.stripes.number(seats.stripe, index));
                let remap = Command { to, ..Command::new(Verb::Remap, seats.page(), 1) };
                let remap = Step { command: remap.because(Cause::Parity), ..step };
                plan.push(remap.role(Role::Plain));
                plan.remaps = true;
            }
            // What has been moved away is a known zero, but a trim is logged.
            plan.push(step);
        }
    }

    /// Writes or trims data, and the parity with them.
    pub(crate) fn write_through(
        &mut self,
        command: &Command,
        place: StripePart,
        partial: Partial,
        view: &View<'_>,
        plan: &mut Plan,
    ) {
        let stripe = place.seats.stripe;
        let changed = self.changed(stripe);
        if changed.is_empty() {
            return self.stripes.update(command, place, view, plan);
        }
        let touch = self.stripes.touch(command, place);
        let known = self.codeword(stripe).units;
        if command.flags.has(Flags::BEFORE) && touch.touched.within(touch.before.with(changed)).is_empty() {
            // It was always there: the parity covered it, and still covers the same versions of the others.
            let touch = Touch { before: known, after: known.with(touch.touched), ..touch };
            let reads = if known.is_empty() { UpdateReads::Nothing } else { UpdateReads::Replaced };
            return self.stripes.update_by(reads, command, place, &touch, view, plan);
        }
        let settling = self.renew(stripe, Some((command, place)), partial, plan);
        self.stripes.settling.insert(stripe, settling);
    }

    /// Writes the parity of a stripe from all of its data as they are now, with those of a command, if there is one.
    pub(crate) fn renew(
        &mut self,
        stripe: u32,
        command: Option<(&Command, StripePart)>,
        partial: Partial,
        plan: &mut Plan,
    ) -> Settling {
        let seats = self.stripes.seats(stripe);
        let written = self.stripes.written(stripe);
        let Some((command, place)) = command else {
            fetch(seats, written, plan);
            self.close(stripe, written.is_empty(), partial, plan);
            return Settling { renews: true, ..Settling::default() };
        };
        let touch = self.stripes.touch(command, place);
        fetch(seats, touch.rest(), plan);
        for index in touch.touched.iter() {
            plan.push(give(command, place, index).stage(1));
        }
        self.close(stripe, touch.after.is_empty(), partial, plan);
        Settling {
            touched: touch.touched,
            trims: command.verb == Verb::Trim,
            renews: true,
            ..Settling::default()
        }
    }

    /// The parity is what the sums come to; once it is durable, old versions and partial parity are dropped.
    pub(crate) fn close(&self, stripe: u32, empty: bool, partial: Partial, plan: &mut Plan) {
        let seats = self.stripes.seats(stripe);
        plan.push(parity(seats, Role::P, empty).stage(1));
        for index in self.changed(stripe).iter() {
            if let Some(kept) = self.hidden.of(self.stripes.number(stripe, index)) {
                plan.push(drop_page(seats.data(index), kept).stage(2));
            }
        }
        if let Some((member, page)) = partial {
            plan.push(drop_page(member, page).stage(2));
        }
    }

    // ---------------------------------------------------------------- current state

    /// A plan that is writing units which no parity will cover.
    fn coming(&self, stripe: u32) -> Option<&Settling> {
        let settling = &self.stripes.settling;
        if settling.is_empty() { None } else { settling.get(&stripe).filter(|settling| settling.blind) }
    }

    /// The data units of a stripe whose current version its parity does not know, or soon will not know.
    pub(crate) fn deferred(&self, stripe: u32) -> UnitSet {
        let coming = self.coming(stripe).map_or(UnitSet::default(), |settling| settling.touched);
        self.changed(stripe).with(coming)
    }

    /// Those of them that are no known zeros.
    pub(crate) fn newest(&self, stripe: u32) -> UnitSet {
        let units = self.stripes.written(stripe).within(self.changed(stripe));
        match self.coming(stripe) {
            Some(Settling { touched, trims: true, .. }) => units.without(*touched),
            Some(Settling { touched, .. }) => units.with(*touched),
            None => units,
        }
    }

    /// Calls `tell` with the units of the second codeword, of which the partial parity is the sum, if there is one.
    pub(crate) fn newer(&self, stripe: u32, partial: Partial, tell: &mut dyn FnMut(StripeUnit)) {
        let units = self.newest(stripe);
        let parity =
            partial.map_or(ParityLocation::Carried, |(member, page)| ParityLocation::At(member, page));
        Coverage {
            seats: self.stripes.seats(stripe),
            code: Code::mds(1),
            units,
            page: |_| Page::of(stripe),
            parity,
        }
        .each(tell);
    }

    /// The parity on the media no longer covers these units.
    pub(crate) fn set_changed(&mut self, stripe: u32, touched: UnitSet, trims: bool) {
        let first = self.stripes.number(stripe, 0);
        Stripes::<Rotated<1>>::mark(&mut self.changed, first, touched, true);
        self.stripes.set_written(stripe, touched, trims);
    }

    /// The parity on the media covers all current versions.
    fn set_unchanged(&mut self, stripe: u32) {
        let seats = self.stripes.seats(stripe);
        for index in self.changed(stripe).iter() {
            let number = self.stripes.number(stripe, index);
            self.changed.set(number, false);
            self.hidden.release(seats.data(index), number);
        }
    }

    /// A plan that held the stripe is durable.
    pub(crate) fn settle(&mut self, key: Key, view: &View<'_>) -> Option<(u32, Settling)> {
        let (stripe, settling) = self.stripes.settle(key, view)?;
        if settling.puts_off {
            self.set_changed(stripe, settling.touched, settling.trims);
        } else {
            self.stripes.set_written(stripe, settling.touched, settling.trims);
        }
        if settling.renews {
            self.set_unchanged(stripe);
        }
        Some((stripe, settling))
    }

    /// The stripe that a member's page belongs to, current or old version.
    pub(crate) fn stripe_of(&self, member: Member, page: Page) -> Option<u32> {
        if page.low() < self.stripes.count() {
            return Some(page.low());
        }
        self.hidden.page_at(member, page).map(|number| self.stripes.split(Page(number)).0)
    }

    // ---------------------------------------------------------------- bringing back

    /// Brings back a page of a member, current or old version, or a partial parity.
    pub(crate) fn repair(
        &mut self,
        stripe: u32,
        partial: Partial,
        failed: &[Step],
        view: &View<'_>,
        plan: &mut Plan,
    ) -> RepairOutcome {
        let Step { member, command, .. } = failed[failed.len() - 1];
        let partial = partial.map(|at| self.partial_codeword(stripe, at));
        if let Some(word) = &partial
            && word.parity == ParityLocation::At(member, command.start)
        {
            return word.bring_back(Role::P, failed, view, plan);
        }
        let mut word = self.codeword(stripe);
        let role = word.seats.role(member);
        if command.start == word.seats.page()
            && let Role::Data(index) = role
            && self.changed(stripe).has(index)
        {
            if !self.stripes.written(stripe).has(index) {
                word.units = UnitSet::default();
                return word.bring_back(role, failed, view, plan);
            }
            return partial.map_or(RepairOutcome::Lost, |word| word.bring_back(role, failed, view, plan));
        }
        word.bring_back(role, failed, view, plan)
    }
}
