//! The common part of schemes with deferred parity: data are written immediately, and the version that the
//! parity covers is kept at a hidden address of its member, so that the old parity still protects the
//! unchanged pages.
//!
//! A stripe then has two codewords: the old parity with the old versions and the unchanged pages, and, if
//! there is a memory for it, the partial parity with the changed ones.

use super::codeword::{Coverage, ParityLocation};
use super::conditions::StripeConditions;
use super::layout::Rotated;
use super::shadow::Shadow;
use super::stripes::{Settling, StripePart, Stripes, Touch};
use super::units::UnitSet;
use super::update::{UpdateReads, drop_page, fetch, give, parities};
use crate::engine::{
    Cause, Change, Command, Flags, Hazard, Key, Member, Page, Plan, RepairOutcome, Role, Step, StripeUnit,
    Verb, View,
};
use crate::kernel::Bits;
use crate::schemes::SchemeOptions;

/// Where the partial parity of a stripe is.
pub(crate) type Partial = Option<(Member, Page)>;

/// Stripes with two versions of some pages.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Versions {
    pub(crate) stripes: Stripes<Rotated<1>>,
    pub(crate) conditions: StripeConditions,
    /// Data pages whose current version the parity on the media does not cover.
    pub(super) changed: Bits,
    /// The versions that it covers instead; none if that is a known zero.
    pub(crate) shadow: Shadow,
    /// Stripes with changed pages that one more failure would lose.
    pub(super) blind: Bits,
    pub(crate) exposed: u64,
}

impl Versions {
    pub(crate) fn new(options: &SchemeOptions<'_>) -> Self {
        Versions {
            stripes: Stripes::new(options),
            conditions: StripeConditions::default(),
            changed: Bits::default(),
            shadow: Shadow::new(options),
            blind: Bits::default(),
            exposed: 0,
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
            let page = self.shadow.of(self.stripes.number(stripe, index));
            page.filter(|_| changed.has(index))
        };
        let mut units = self.stripes.written(stripe).without(changed);
        changed.iter().filter(|&index| kept(index).is_some()).for_each(|index| units.add(index));
        let page = move |index| kept(index).unwrap_or(Page(stripe));
        Coverage { seats: self.stripes.seats(stripe), units, page, parity: ParityLocation::Seated }
    }

    /// The codeword that a stripe's partial parity covers.
    fn partial_codeword(&self, stripe: u32, (member, page): (Member, Page)) -> Coverage<impl Fn(u8) -> Page> {
        let units = self.stripes.written(stripe).within(self.changed(stripe));
        let parity = ParityLocation::At(member, page);
        Coverage { seats: self.stripes.seats(stripe), units, page: move |_| Page(stripe), parity }
    }

    // ---------------------------------------------------------------- writing

    /// Those of the data units that a command replaces whose version the parity knows.
    pub(crate) fn known(&self, stripe: u32, touch: &Touch) -> UnitSet {
        touch.old().without(self.changed(stripe))
    }

    /// Whether their members can keep these versions.
    pub(crate) fn can_keep(&self, place: StripePart, known: UnitSet) -> bool {
        known.iter().all(|index| self.shadow.has_room(place.seats.data(index)))
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
                let to = self.shadow.take(step.member, self.stripes.number(seats.stripe, index));
                let rename = Command { to, ..Command::new(Verb::Rename, seats.page(), 1) };
                let rename = Step { command: rename.because(Cause::Parity), ..step };
                plan.push(rename.role(Role::Plain));
                plan.renames = true;
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
            // It was always there: the parity knew it, and goes on knowing what it knows of the others.
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
        parities(seats, empty).for_each(|step| plan.push(step.stage(1)));
        for index in self.changed(stripe).iter() {
            if let Some(kept) = self.shadow.of(self.stripes.number(stripe, index)) {
                plan.push(drop_page(seats.data(index), kept).stage(2));
            }
        }
        if let Some((member, page)) = partial {
            plan.push(drop_page(member, page).stage(2));
        }
    }

    // ---------------------------------------------------------------- what is so

    /// Does something that may change what a stripe exposes.
    pub(crate) fn recount(&mut self, stripe: u32, change: impl FnOnce(&mut Self)) {
        self.exposed -= self.at_risk(stripe);
        change(self);
        self.exposed += self.at_risk(stripe);
    }

    fn at_risk(&self, stripe: u32) -> u64 {
        let (thin, blind) = (self.conditions.degraded.has(stripe), self.blind.has(stripe));
        let coming = self.coming(stripe);
        if !thin && !blind && coming.is_none() {
            return 0;
        }
        let mut changed = self.changed(stripe);
        let mut there =
            self.stripes.written(stripe).without(self.stripes.units(&self.conditions.lost, stripe));
        if let Some(settling) = coming {
            changed = changed.with(settling.touched);
            there = there.without(settling.touched);
            there = if settling.trims { there } else { there.with(settling.touched) };
        }
        let blind = blind || coming.is_some();
        let of = |at_risk: bool, units: UnitSet| if at_risk { u64::from(units.count()) } else { 0 };
        of(blind, there.within(changed)) + of(thin, there.without(changed))
    }

    /// A plan that is writing units which no parity will cover.
    fn coming(&self, stripe: u32) -> Option<&Settling> {
        self.stripes.settling.get(&stripe).filter(|settling| settling.blind)
    }

    /// The data units of a stripe whose current version its parity does not know, or soon will not know.
    pub(crate) fn deferred(&self, stripe: u32) -> UnitSet {
        let coming = self.coming(stripe).map_or(UnitSet::default(), |settling| settling.touched);
        self.changed(stripe).with(coming)
    }

    /// The parity on the media no longer covers these units.
    pub(crate) fn set_changed(&mut self, stripe: u32, touched: UnitSet, trims: bool, blind: bool) {
        let first = self.stripes.number(stripe, 0);
        Stripes::<Rotated<1>>::mark(&mut self.changed, first, touched, true);
        self.stripes.set_written(stripe, touched, trims);
        self.blind.set(stripe, blind);
    }

    /// The parity on the media covers all current versions.
    fn set_unchanged(&mut self, stripe: u32) {
        let seats = self.stripes.seats(stripe);
        for index in self.changed(stripe).iter() {
            let number = self.stripes.number(stripe, index);
            self.changed.set(number, false);
            self.shadow.release(seats.data(index), number);
        }
        self.blind.set(stripe, false);
    }

    /// A plan that held the stripe is durable.
    pub(crate) fn settle(&mut self, key: Key, partial: Partial, view: &View<'_>) -> Option<(u32, Settling)> {
        let exposed = self.at_risk(key.0 as u32);
        let (stripe, settling) = self.stripes.settle(key, view)?;
        if settling.puts_off {
            self.set_changed(stripe, settling.touched, settling.trims, settling.blind);
        } else {
            self.stripes.set_written(stripe, settling.touched, settling.trims);
        }
        if settling.renews {
            self.set_unchanged(stripe);
        }
        if !view.is_healthy() {
            self.examine(stripe, partial.filter(|_| !settling.renews), view, !settling.in_vain);
        }
        self.exposed = self.exposed - exposed + self.at_risk(stripe);
        Some((stripe, settling))
    }

    /// Looks at a stripe: what each of its codewords lacks, and what of that is lost.
    fn examine(&mut self, stripe: u32, partial: Partial, view: &View<'_>, try_again: bool) {
        let changed = self.changed(stripe);
        if changed.is_empty() {
            return self.conditions.examine(&self.stripes, stripe, view, try_again);
        }
        let word = self.codeword(stripe);
        let seats = word.seats;
        let missing = word.missing(|member, page| !view.has(member, page));
        let lacks = |index: &u8| !view.has(seats.data(*index), seats.page());
        let current = self.stripes.written(stripe);
        let in_memory = partial.is_some_and(|(member, page)| view.has(member, page));
        let new = current.within(changed).iter().filter(lacks).count();
        let (old_lost, new_lost) = (missing.count > word.seats.parities().len(), new > 1 || !in_memory);
        // Writing the parity anew gives every member that answers what it lacks.
        let helps = missing.units().iter().any(|unit| view.alive(unit.member))
            || current.iter().filter(lacks).any(|index| view.alive(seats.data(index)))
            || (partial.is_some() && !in_memory);
        drop(word);
        let mut gone = UnitSet::default();
        for index in current.iter().filter(lacks) {
            if if changed.has(index) { new_lost } else { old_lost } {
                gone.add(index);
            }
        }
        self.conditions.note(&self.stripes, stripe, missing.count, gone, helps && try_again);
        self.blind.set(stripe, new > 0 || !in_memory);
    }

    /// Something happened to a member, or to a page of it that belongs to `stripe`: looks at the stripes concerned. What it
    /// has refused is not tried again.
    pub(crate) fn look(
        &mut self,
        change: Change,
        stripe: Option<u32>,
        partial: impl Fn(u32) -> Partial,
        view: &View<'_>,
    ) {
        let helps = !matches!(change, Change::Refused(_));
        let stripes = match (change.page(), stripe) {
            (None, _) => 0..self.stripes.count(),
            (Some(_), Some(stripe)) => stripe..stripe + 1,
            (Some(_), None) => return,
        };
        for stripe in stripes {
            self.recount(stripe, |this| this.examine(stripe, partial(stripe), view, helps));
        }
    }

    /// The stripe that a member's page belongs to, current or old version.
    pub(crate) fn stripe_of(&self, member: Member, page: Page) -> Option<u32> {
        if page.0 < self.stripes.count() {
            return Some(page.0);
        }
        self.shadow.page_at(member, page).map(|number| self.stripes.split(Page(number)).0)
    }

    /// Whether no codeword lacks anything that a failure took. (In a stripe that is only blind because its
    /// parity is put off, nothing is missing.)
    pub(crate) fn is_whole(&self) -> bool {
        self.conditions.degraded.count() == 0
    }

    pub(crate) fn is_exposed(&self, page: Page, hazard: Hazard) -> bool {
        let stripe = self.stripes.split(page).0;
        if hazard == Hazard::Power {
            // Not by itself, but where the member of such a page is gone, too: it is unknown then what replaced it.
            return self.stripes.written.has(page.0) && !self.deferred(stripe).is_empty();
        }
        if let Some(settling) = self.coming(stripe)
            && settling.touched.has(self.stripes.split(page).1)
        {
            return hazard == Hazard::Unit && !settling.trims;
        }
        let weak = if self.changed.has(page.0) { &self.blind } else { &self.conditions.degraded };
        hazard == Hazard::Unit && self.stripes.written.has(page.0) && weak.has(stripe)
    }

    pub(crate) fn covers(&self, partial: impl Fn(u32) -> Partial, visit: &mut dyn FnMut(&[StripeUnit])) {
        for stripe in 0..self.stripes.count() {
            if !self.conditions.degraded.has(stripe) {
                self.stripes.cover(&self.codeword(stripe), visit);
            }
            if let Some(at) = partial(stripe).filter(|_| !self.blind.has(stripe)) {
                self.stripes.cover(&self.partial_codeword(stripe, at), visit);
            }
        }
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

    /// The next stripe of a rebuild. One with a single version of everything is rebuilt by what it lacks; of another the
    /// parity is to be written anew, which brings back the pages that this has to read. Whether that is so.
    pub(crate) fn rebuild(&mut self, view: &View<'_>, plan: &mut Plan) -> Option<(u32, bool)> {
        while let Some(stripe) = self.conditions.todo.next(|stripe| view.held(Key(u64::from(stripe)))) {
            self.conditions.todo.set(stripe, false);
            if !self.changed(stripe).is_empty() {
                return Some((stripe, true));
            }
            if self.stripes.codeword(stripe).rebuild(view, plan) {
                return Some((stripe, false));
            }
        }
        None
    }
}
