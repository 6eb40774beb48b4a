//! Members that fail and are replaced, places that turn out bad, and stripes that are made whole again: in place,
//! where an empty member is the replacement, by writing the units that it lacks; elsewhere by moving what they hold into
//! new stripes.

use super::clean::Begin;
use super::frontier::WriteFrontier;
use super::places::LogPlace;
use super::superblocks::SuperblockState;
use super::{LogHold, StripeLog};
use crate::engine::{Cause, Change, Member, Page, Plan, Role, Step, View};

/// The number of superblocks repaired in place at a time, and of stripes in each piece.
const STRIPE_REBUILDS: usize = 8;
const REBUILD_STRIPES: u16 = 8;

/// A superblock that is made whole in place.
#[derive(Clone, Debug)]
pub(super) struct StripeRebuild {
    superblock: u32,
    erases: u32,
    /// Superpages that have not been looked at.
    superpages: std::ops::Range<u32>,
    /// A piece is under way, which writes these places.
    flying: bool,
    stored: Vec<LogPlace>,
}

impl StripeRebuild {
    /// Whether a piece is under way.
    pub(super) fn is_flying(&self) -> bool {
        self.flying
    }
}

/// A partly filled superblock, and the data slots of its rest.
struct RoomOfRest {
    superblock: u32,
    room: u32,
}

impl StripeLog {
    // ---------------------------------------------------------------- what happens to members

    pub(super) fn change(&mut self, member: Member, change: Change, view: &View<'_>) {
        self.health.trouble(self.stripes.superblocks.count());
        if change.page().is_none() {
            self.stripes.vain_cleanings = 0;
        }
        if let Some(page) = change.page().filter(|page| self.medium.is_journal(page.low())) {
            if !matches!(change, Change::Refused(_)) {
                self.lose_record(member.0, page.low());
            }
            return;
        }
        match change {
            Change::Failed => self.fail(member.0),
            Change::Replaced => self.replace(member.0),
            Change::Returned => self.bring_in(member, view),
            // Handled by the recovery.
            Change::Lacking(_) | Change::Retired(_) => {}
            Change::Unreadable(page) => self.lose_place(self.stripes.places.at(page.low(), member.0)),
            Change::Damaged(page) => self.damage(self.stripes.places.at(page.low(), member.0)),
            Change::Refused(page) => {
                let place = self.stripes.places.at(page.low(), member.0);
                self.health.bad.set(place.0, true);
                self.damage(place);
            }
        }
    }

    fn lose_all(&mut self, member: u8) {
        for place in self.stripes.programmed(member) {
            self.set_missing(place, true);
        }
    }

    fn fail(&mut self, member: u8) {
        self.health.fail(member);
        self.lose_all(member);
        self.leave_out(member);
        if let Some(cleaning) = &mut self.cleaning {
            cleaning.lay_over_all();
        }
    }

    /// An empty member replaces another. Its blocks take pages in ascending order, so superblocks that are still
    /// being filled must be moved instead of being made whole in place.
    fn replace(&mut self, member: u8) {
        self.health.stand_in(member, true);
        self.lose_all(member);
        self.lose_records(member, |_| true);
        let bad: Vec<u32> = self.health.bad.iter().map(|place| place as u32).collect();
        for place in bad.into_iter().filter(|&place| self.stripes.places.member(LogPlace(place)) == member) {
            self.health.bad.set(place, false);
        }
        for superblock in (0..self.stripes.superblocks.count())
            .filter(|&superblock| self.stripes.superblocks.state(superblock) == SuperblockState::Open)
        {
            self.health.to_be_moved.set(superblock, true);
        }
        for stripe_rebuild in &self.stripe_rebuilds {
            self.health.to_be_moved.set(stripe_rebuild.superblock, true);
        }
    }

    fn bring_in(&mut self, member: Member, view: &View<'_>) {
        self.health.stand_in(member.0, false);
        if !self.health.alive(member.0) {
            return;
        }
        self.lose_records(member.0, |page| !view.has(member, Page::of(page)));
        for place in self.stripes.programmed(member.0) {
            let lacks = !view.has(member, self.stripes.address(place).1);
            self.set_missing(place, lacks);
            if lacks {
                self.health.to_be_moved.set(self.stripes.superblock_of(place), true);
            }
        }
    }

    fn damage(&mut self, place: LogPlace) {
        self.lose_place(place);
        if !self.medium.erases_first && !self.health.bad.has(place.0) {
            // Its device takes it again, elsewhere.
            return;
        }
        self.health.bad.set(place.0, true);
        if let Some(cleaning) = &mut self.cleaning {
            cleaning.waste_slot();
        }
    }

    /// The contents of a place cannot be read.
    fn lose_place(&mut self, place: LogPlace) {
        let superblock = self.stripes.superblock_of(place);
        if self.stripes.superblocks.is_written(superblock) && self.stripes.places.stripe(place) != 0 {
            self.set_missing(place, true);
            self.health.to_be_moved.set(superblock, true);
        }
    }

    // ---------------------------------------------------------------- next work

    /// The next piece.
    pub(super) fn rebuild(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        if self.journal.lacks_records(&self.health) {
            return self.journal.store_records(&self.health, plan);
        }
        if self.pending_lacks() {
            return self.close_early(plan);
        }
        if self.stripe_rebuild(plan) {
            return true;
        }
        if self.cleaning.is_some() {
            return self.go_on(plan);
        }
        match self.next_move() {
            Some(begin) => self.move_elsewhere(&begin, view, plan),
            None => false,
        }
    }

    /// Whether pages that wait for their parity could not all be read.
    pub(super) fn pending_lacks(&self) -> bool {
        self.health.troubled && {
            let open = self.stripes.frontiers().filter(|frontier| frontier.pending > 0);
            let mut pending = open
                .flat_map(|frontier| self.stripes.places.of_superpage(frontier.superpage))
                .filter(|&place| self.stripes.is_pending(place));
            pending.any(|place| self.health.missing.has(place.0))
        }
    }

    /// Whether the pages that are being copied will lack units at their destination.
    pub(super) fn piece_lacks(&self) -> bool {
        self.moving && self.piece.written.iter().any(|place| self.health.missing.has(place.0))
    }

    // ---------------------------------------------------------------- in place

    pub(super) fn next_stripe_rebuild(&self) -> Option<u32> {
        if !self.health.has_fresh() {
            return None;
        }
        (0..self.stripes.superblocks.count()).find(|&superblock| {
            self.health.lacking_in(superblock) > 0
                && self.stripes.superblocks.state(superblock) == SuperblockState::Closed
                && !self.stripes.superblocks.is_busy(superblock)
                && !self.health.to_be_moved.has(superblock)
                && !self.health.rebuilt.has(superblock)
                && !self.stripe_rebuilds.iter().any(|stripe_rebuild| stripe_rebuild.superblock == superblock)
        })
    }

    /// A piece of a superblock that is made whole in place.
    fn stripe_rebuild(&mut self, plan: &mut Plan) -> bool {
        let mut at = 0;
        loop {
            if at == self.stripe_rebuilds.len() {
                let Some(superblock) = self.next_stripe_rebuild().filter(|_| at < STRIPE_REBUILDS) else {
                    break;
                };
                let (erases, superpages) = (
                    self.stripes.superblocks.erases(superblock),
                    self.stripes.superblocks.superpages(superblock),
                );
                self.stripe_rebuilds.push(StripeRebuild {
                    superblock,
                    erases,
                    superpages,
                    flying: false,
                    stored: Vec::new(),
                });
            }
            if self.stripe_rebuilds[at].flying {
                at += 1;
                continue;
            }
            let mut stripe_rebuild = self.stripe_rebuilds.swap_remove(at);
            let same = self.stripes.superblocks.erases(stripe_rebuild.superblock) == stripe_rebuild.erases;
            if same
                && !self.stripes.superblocks.is_busy(stripe_rebuild.superblock)
                && self.store_missing(&mut stripe_rebuild, plan)
            {
                self.stripes.superblocks.set_busy(stripe_rebuild.superblock, true);
                plan.hold = Some(LogHold::StripeRebuild(stripe_rebuild.superblock).key());
                stripe_rebuild.flying = true;
                self.stripe_rebuilds.push(stripe_rebuild);
                return true;
            }
            if same {
                // Its remaining missing units cannot be written in place, because superpages are programmed in order.
                self.health.rebuilt.set(stripe_rebuild.superblock, true);
            }
        }
        if self.stripe_rebuilds.is_empty() && self.health.has_fresh() {
            self.health.end_rebuild();
        }
        false
    }

    /// The units that the next superpages lack on replacement members, worked out from the rest of their stripes.
    fn store_missing(&self, stripe_rebuild: &mut StripeRebuild, plan: &mut Plan) -> bool {
        let mut stores = Vec::new();
        while stores.len() < usize::from(REBUILD_STRIPES)
            && let Some(superpage) = stripe_rebuild.superpages.next()
        {
            for place in
                self.stripes.places.of_superpage(superpage).filter(|&place| self.can_be_stored(place))
            {
                let n = stores.len() as u16;
                let like = Step::default().row(n);
                let like = Step { command: like.command.because(Cause::Rebuild), ..like };
                self.stripes.fetch_others(place, like, &mut plan.steps);
                let role = if self.stripes.places.is_parity(place) { Role::P } else { Role::Lost(0) };
                let (member, page) = self.stripes.address(place);
                stores.push(Step::store(member, page, role, Cause::Rebuild).row(n).stage(1));
                stripe_rebuild.stored.push(place);
            }
        }
        plan.steps.extend(&stores);
        !stores.is_empty()
    }

    /// Whether the place is all that its stripe lacks, and its member has been replaced. A stripe that holds no
    /// page any more is left as it is.
    fn can_be_stored(&self, place: LogPlace) -> bool {
        if !self.health.missing.has(place.0) || !self.health.is_fresh(self.stripes.places.member(place)) {
            return false;
        }
        let stripe = self.stripe_health(place);
        stripe.missing == 1 && stripe.parity && stripe.current > 0
    }

    /// A piece of a superblock that is made whole in place is durable.
    pub(super) fn rebuilt(&mut self, superblock: u32) {
        let Some(stripe_rebuild) = self
            .stripe_rebuilds
            .iter_mut()
            .find(|stripe_rebuild| stripe_rebuild.flying && stripe_rebuild.superblock == superblock)
        else {
            return;
        };
        stripe_rebuild.flying = false;
        self.unchecked.append(&mut stripe_rebuild.stored);
        self.stripes.superblocks.set_busy(superblock, false);
    }

    // ---------------------------------------------------------------- elsewhere

    /// Whether new stripes would lack nothing.
    pub(super) fn can_move(&self) -> bool {
        self.is_roomy() || self.health.living() == self.members && self.health.bad.count() == 0
    }

    /// A superblock that lacks units and cannot be made whole in place, and how it can be moved; or another that
    /// gives the room for it.
    pub(super) fn next_move(&self) -> Option<Begin> {
        if !self.can_move() {
            return None;
        }
        let in_place = self.health.has_fresh();
        let mut candidates = (0..self.stripes.superblocks.count()).filter(|&superblock| {
            self.health.lacking_in(superblock) > 0
                && (!in_place
                    || self.health.to_be_moved.has(superblock)
                    || self.health.rebuilt.has(superblock))
                && match self.stripes.superblocks.state(superblock) {
                    SuperblockState::Closed => !self.stripes.superblocks.is_busy(superblock),
                    state => state == SuperblockState::Open,
                }
        });
        let first = candidates.next()?;
        let rests = self.rooms_of_rests();
        let found =
            std::iter::once(first).chain(candidates).find_map(|superblock| self.move_of(superblock, &rests));
        if found.is_some() || !self.stripes.rests.is_empty() || self.stripes.superblocks.free() == 0 {
            return found;
        }
        Some(Begin { superblocks: 1, ..Begin::of_rebuild(self.emptiest()?) })
    }

    /// Where the pages of the superblock can go: where few of them lack units, those alone, into the rest of
    /// another superblock or a free one that is not the last; else all of it, and the superblock is erased.
    fn move_of(&self, victim: u32, rests: &[RoomOfRest]) -> Option<Begin> {
        let others = || rests.iter().filter(|rest| rest.superblock != victim);
        let begin = |only_lacking, rests, superblocks| {
            Some(Begin { only_lacking, rests, superblocks, ..Begin::of_rebuild(victim) })
        };
        let (lacking, current) = (self.health.lacking_in(victim), self.stripes.superblocks.current(victim));
        let free = |n| self.room_of_free(n, true);
        let few = lacking <= current / 2 || self.stripes.superblocks.state(victim) == SuperblockState::Open;
        let rest = others().find(|rest| rest.room >= lacking);
        if few && rest.is_some_and(|rest| rest.room > lacking || self.keeps_room(victim, 1, 0)) {
            return begin(true, 1, 0);
        }
        if few
            && self.stripes.superblocks.free() >= 2
            && free(0) >= lacking + u32::from(!self.keeps_room(victim, 0, 1))
        {
            return begin(true, 0, 1);
        }
        let (usable, rest) = others().fold((0, 0), |(count, room), rest| (count + 1, room + rest.room));
        let superblocks = (0..=2).find(|&superblocks| {
            let room = rest + (0..superblocks).map(free).sum::<u32>();
            let fits = room >= current + 2 || room >= current && !self.holds_lost(victim);
            let backends =
                room > current || superblocks == 0 || self.keeps_room(victim, usable, superblocks - 1);
            fits && backends
                && self.stripes.superblocks.free() >= superblocks
                && (superblocks > 0 || usable > 0)
        })?;
        begin(false, usable, superblocks)
    }

    /// The rests of partly filled superblocks that have superpages left.
    fn rooms_of_rests(&self) -> Vec<RoomOfRest> {
        let rests = self.stripes.rests.iter().filter(|rest| rest.has_superpages());
        let room = |rest: &WriteFrontier| RoomOfRest {
            superblock: rest.superblock,
            room: self.room(rest.superpages(), true),
        };
        rests.map(room).collect()
    }

    /// Whether the host has a slot besides these rests and free superblocks. Where GC lays pages over bad places to
    /// gain a slot, a rebuild that takes this slot to move them again would cause GC forever.
    fn keeps_room(&self, victim: u32, rests: usize, superblocks: usize) -> bool {
        if self.health.bad.count() == 0 || self.stripes.superblocks.free() > self.kept() + superblocks {
            return true;
        }
        let has_slot = |frontier: &WriteFrontier| {
            frontier.superblock != victim
                && (!frontier.slots.is_empty() || self.room(frontier.superpages(), true) > 0)
        };
        let others = self.stripes.rests.iter().filter(|rest| rest.has_superpages()).skip(rests);
        self.stripes.frontiers().any(has_slot) || self.gives_rests() && others.into_iter().any(has_slot)
    }

    /// Whether nothing brings back some of what the superblock holds: that needs stripes of its own.
    fn holds_lost(&self, superblock: u32) -> bool {
        let mut left = self.stripes.places_of(superblock);
        while let Some(place) = self.stripes.places.next_current(left.clone()) {
            if self.is_lost(place) {
                return true;
            }
            left.start = place.0 + 1;
        }
        false
    }

    fn move_elsewhere(&mut self, begin: &Begin, view: &View<'_>, plan: &mut Plan) -> bool {
        let superblock = begin.collection.victim;
        let is_frontier = self.stripes.turn_to_one(|frontier| frontier.superblock == superblock);
        if is_frontier && self.adds_slowly && view.held(LogHold::Open.key()) {
            return false;
        }
        if !begin.only_lacking && self.stripes.superblocks.state(superblock) == SuperblockState::Open {
            // All of it is moved; no command writes to it.
            if is_frontier {
                if self.close_early(plan) {
                    return true;
                }
                self.stripes.leave_frontier();
            } else {
                self.stripes.rests.retain(|rest| rest.superblock != superblock);
                self.stripes.superblocks.close(superblock);
            }
        }
        self.begin_cleaning(begin);
        self.go_on(plan)
    }
}
