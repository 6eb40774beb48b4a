//! Members that fail and are replaced, places that turn out bad, and stripes that are made whole again: in place,
//! where an empty member stands in, by writing what it lacks; elsewhere by moving what they hold into new stripes.

use super::clean::Begin;
use super::front::WriteFrontier;
use super::groups::SuperblockState;
use super::places::LogPlace;
use super::{LogHold, StripeLog};
use crate::engine::{Cause, Change, Member, Page, Plan, Role, Step, View};

/// The number of groups repaired in place at a time, and of stripes in each piece.
const MENDS: usize = 8;
const MEND_STRIPES: u16 = 8;

/// A group that is made whole in place.
#[derive(Clone, Debug)]
pub(super) struct Mend {
    group: u32,
    erases: u32,
    /// Rows that have not been looked at.
    rows: std::ops::Range<u32>,
    /// A piece is under way, which writes these places.
    flying: bool,
    stored: Vec<LogPlace>,
}

impl StripeLog {
    // ---------------------------------------------------------------- what happens to members

    pub(super) fn change(&mut self, member: Member, change: Change, view: &View<'_>) {
        self.health.trouble(self.groups.count());
        if let Some(page) = change.page().filter(|page| self.is_journal(page.0)) {
            if !matches!(change, Change::Refused(_)) {
                self.lose_record(member.0, page.0);
            }
            return;
        }
        match change {
            Change::Failed => self.fail(member.0),
            Change::Replaced => self.replace(member.0),
            Change::Returned => self.bring_in(member, view),
            // Handled by the recovery.
            Change::Lacking(_) | Change::Retired(_) => {}
            Change::Unreadable(page) => self.lose_place(self.places.at(page.0, member.0)),
            Change::Damaged(page) => self.damage(self.places.at(page.0, member.0)),
            Change::Refused(page) => {
                let place = self.places.at(page.0, member.0);
                self.health.bad.set(place.0, true);
                self.damage(place);
            }
        }
    }

    fn lose_all(&mut self, member: u8) {
        for place in self.programmed(member) {
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

    /// An empty member stands in. Its blocks take pages in ascending order, so groups that go on being filled must be
    /// moved instead of being made whole in place.
    fn replace(&mut self, member: u8) {
        self.health.stand_in(member, true);
        self.lose_all(member);
        self.lose_records(member, |_| true);
        let bad: Vec<u32> = self.health.bad.iter().collect();
        for place in bad.into_iter().filter(|&place| self.places.member(LogPlace(place)) == member) {
            self.health.bad.set(place, false);
        }
        for group in
            (0..self.groups.count()).filter(|&group| self.groups.state(group) == SuperblockState::Open)
        {
            self.health.to_be_moved.set(group, true);
        }
        for mend in &self.mends {
            self.health.to_be_moved.set(mend.group, true);
        }
    }

    fn bring_in(&mut self, member: Member, view: &View<'_>) {
        self.health.stand_in(member.0, false);
        if !self.health.alive(member.0) {
            return;
        }
        self.lose_records(member.0, |page| !view.has(member, Page(page)));
        for place in self.programmed(member.0) {
            let lacks = !view.has(member, self.address(place).1);
            self.set_missing(place, lacks);
            if lacks {
                self.health.to_be_moved.set(self.group_of(place), true);
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
        let group = self.group_of(place);
        let there = matches!(self.groups.state(group), SuperblockState::Open | SuperblockState::Closed);
        if there && self.places.stripe(place) != 0 {
            self.set_missing(place, true);
            self.health.to_be_moved.set(group, true);
        }
    }

    // ---------------------------------------------------------------- what is to be done

    /// Whether there is anything to make whole that can be begun, or has been. While a group is on its way to be free,
    /// it may be that it gives the room.
    pub(super) fn can_rebuild(&self) -> bool {
        let moving = |cleaning: &super::Cleaning| cleaning.cause == Cause::Rebuild && !cleaning.is_over;
        let busy = self.cleaning.is_some() || self.erasing > 0;
        self.lacks_records()
            || self.mends.iter().any(|mend| mend.flying)
            || self.cleaning.as_ref().is_some_and(moving)
            || self.pending_lacks()
            || self.piece_lacks()
            || self.health.lacking > 0
                && (!self.mends.is_empty()
                    || busy && self.can_move()
                    || self.next_mend().is_some()
                    || self.next_move().is_some())
    }

    /// The next piece.
    pub(super) fn rebuild(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        if self.lacks_records() {
            return self.store_records(plan);
        }
        if self.pending_lacks() {
            return self.close_early(plan);
        }
        if self.mend(plan) {
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
    fn pending_lacks(&self) -> bool {
        self.health.troubled && {
            let open = self.fronts().filter(|front| front.pending > 0);
            let mut pending =
                open.flat_map(|front| self.places.of_row(front.row)).filter(|&place| self.is_pending(place));
            pending.any(|place| self.health.missing.has(place.0))
        }
    }

    /// Whether what is being copied will lack units where it is copied to.
    fn piece_lacks(&self) -> bool {
        self.moving && self.piece.written.iter().any(|place| self.health.missing.has(place.0))
    }

    // ---------------------------------------------------------------- in place

    fn next_mend(&self) -> Option<u32> {
        if !self.health.has_fresh() {
            return None;
        }
        (0..self.groups.count()).find(|&group| {
            self.health.lacking_in(group) > 0
                && self.groups.state(group) == SuperblockState::Closed
                && !self.groups.is_busy(group)
                && !self.health.to_be_moved.has(group)
                && !self.health.mended.has(group)
                && !self.mends.iter().any(|mend| mend.group == group)
        })
    }

    /// A piece of a group that is made whole in place.
    fn mend(&mut self, plan: &mut Plan) -> bool {
        let mut at = 0;
        loop {
            if at == self.mends.len() {
                let Some(group) = self.next_mend().filter(|_| at < MENDS) else { break };
                let (erases, rows) = (self.groups.erases(group), self.groups.rows(group));
                self.mends.push(Mend { group, erases, rows, flying: false, stored: Vec::new() });
            }
            if self.mends[at].flying {
                at += 1;
                continue;
            }
            let mut mend = self.mends.swap_remove(at);
            let same = self.groups.erases(mend.group) == mend.erases;
            if same && !self.groups.is_busy(mend.group) && self.store_missing(&mut mend, plan) {
                self.groups.set_busy(mend.group, true);
                plan.hold = Some(LogHold::Mend(mend.group).key());
                mend.flying = true;
                self.mends.push(mend);
                return true;
            }
            if same {
                // Its remaining missing units cannot be written in place, because rows are programmed in order.
                self.health.mended.set(mend.group, true);
            }
        }
        if self.mends.is_empty() && self.health.has_fresh() {
            self.health.end_mending();
        }
        false
    }

    /// The units that the next rows lack on members that stand in, worked out from the rest of their stripes.
    fn store_missing(&self, mend: &mut Mend, plan: &mut Plan) -> bool {
        let mut stores = Vec::new();
        while stores.len() < usize::from(MEND_STRIPES)
            && let Some(row) = mend.rows.next()
        {
            for place in self.places.of_row(row).filter(|&place| self.can_be_stored(place)) {
                let n = stores.len() as u16;
                let like = Step::default().row(n);
                let like = Step { command: like.command.because(Cause::Rebuild), ..like };
                self.fetch_others(place, like, &mut plan.steps);
                let role = if self.places.is_parity(place) { Role::P } else { Role::Lost(0) };
                let (member, page) = self.address(place);
                stores.push(Step::store(member, page, role, Cause::Rebuild).row(n).stage(1));
                mend.stored.push(place);
            }
        }
        plan.steps.extend(&stores);
        !stores.is_empty()
    }

    /// Whether the place is all that its stripe lacks, and its member has been replaced. A stripe that holds no
    /// page any more is left as it is.
    fn can_be_stored(&self, place: LogPlace) -> bool {
        if !self.health.missing.has(place.0) || !self.health.is_fresh(self.places.member(place)) {
            return false;
        }
        let stripe = self.stripe_health(place);
        stripe.missing == 1 && stripe.parity && stripe.current > 0
    }

    /// A piece of a group that is made whole in place is durable.
    pub(super) fn mended(&mut self, group: u32) {
        let Some(mend) = self.mends.iter_mut().find(|mend| mend.flying && mend.group == group) else {
            return;
        };
        mend.flying = false;
        self.unchecked.append(&mut mend.stored);
        self.groups.set_busy(group, false);
    }

    // ---------------------------------------------------------------- elsewhere

    /// Whether new stripes would lack nothing.
    fn can_move(&self) -> bool {
        self.is_roomy() || self.health.living() == self.members && self.health.bad.count() == 0
    }

    /// A group that lacks units and cannot be made whole in place, and how it can be moved; or another that
    /// gives the room for it.
    fn next_move(&self) -> Option<Begin> {
        if !self.can_move() {
            return None;
        }
        let in_place = self.health.has_fresh();
        let mut candidates = (0..self.groups.count()).filter(|&group| {
            self.health.lacking_in(group) > 0
                && (!in_place || self.health.to_be_moved.has(group) || self.health.mended.has(group))
                && match self.groups.state(group) {
                    SuperblockState::Closed => !self.groups.is_busy(group),
                    state => state == SuperblockState::Open,
                }
        });
        let first = candidates.next()?;
        let found = std::iter::once(first).chain(candidates).find_map(|group| self.move_of(group));
        if found.is_some() || !self.rests.is_empty() || self.groups.free() == 0 {
            return found;
        }
        let (victim, cause) = (self.emptiest()?, Cause::Rebuild);
        let (only_lacking, into, is_soft) = (false, None, false);
        Some(Begin { victim, cause, only_lacking, rests: 0, groups: 1, into, is_soft })
    }

    /// Where what the group holds can go: where little of it lacks anything, that alone, into what is left of another
    /// group or a free one that is not the last; else all of it, and the group is erased.
    fn move_of(&self, victim: u32) -> Option<Begin> {
        let begin = |only_lacking, rests, groups| {
            let cause = Cause::Rebuild;
            Some(Begin { victim, cause, only_lacking, rests, groups, into: None, is_soft: false })
        };
        let (lacking, current) = (self.health.lacking_in(victim), self.groups.current(victim));
        let free = |n| self.room_of_free(n, true);
        let few = lacking <= current / 2 || self.groups.state(victim) == SuperblockState::Open;
        let rest = self.rests.iter().find(|rest| self.is_usable(rest, victim, true));
        if few
            && rest
                .is_some_and(|rest| self.room(rest.rows(), true) > lacking || self.keeps_room(victim, 1, 0))
        {
            return begin(true, 1, 0);
        }
        if few && self.groups.free() >= 2 && free(0) >= lacking + u32::from(!self.keeps_room(victim, 0, 1)) {
            return begin(true, 0, 1);
        }
        let usable = self.rests.iter().filter(|rest| self.is_usable(rest, victim, false));
        let rests: Vec<u32> = usable.map(|rest| self.room(rest.rows(), true)).collect();
        let rest: u32 = rests.iter().sum();
        let groups = (0..=2).find(|&groups| {
            let room = rest + (0..groups).map(free).sum::<u32>();
            let fits = room >= current + 2 || room >= current && !self.holds_lost(victim);
            let leaves = room > current || groups == 0 || self.keeps_room(victim, rests.len(), groups - 1);
            fits && leaves && self.groups.free() >= groups && (groups > 0 || !rests.is_empty())
        })?;
        begin(false, rests.len(), groups)
    }

    /// Whether the host has a slot besides these rests and free groups. Where GC lays pages over bad places to gain a slot, a
    /// rebuild that takes this slot to move them again would go on with GC forever.
    fn keeps_room(&self, victim: u32, rests: usize, groups: usize) -> bool {
        if self.health.bad.count() == 0 || self.groups.free() > self.kept() + groups {
            return true;
        }
        let has_slot = |front: &WriteFrontier| {
            front.group != victim && (!front.slots.is_empty() || self.room(front.rows(), true) > 0)
        };
        let others = self.rests.iter().filter(|rest| rest.has_rows()).skip(rests);
        self.fronts().any(has_slot) || self.gives_rests() && others.into_iter().any(has_slot)
    }

    /// Whether nothing brings back some of what the group holds: that needs stripes of its own.
    fn holds_lost(&self, group: u32) -> bool {
        let mut left = self.places_of(group);
        while let Some(place) = self.places.next_current(left.clone()) {
            if self.is_lost(place) {
                return true;
            }
            left.start = place.0 + 1;
        }
        false
    }

    fn move_elsewhere(&mut self, begin: &Begin, view: &View<'_>, plan: &mut Plan) -> bool {
        let group = begin.victim;
        let is_front = self.turn_to_one(|front| front.group == group);
        if is_front && self.adds_slowly && view.held(LogHold::Open.key()) {
            return false;
        }
        if !begin.only_lacking && self.groups.state(group) == SuperblockState::Open {
            // All of it is moved; no command writes to it.
            if is_front {
                if self.close_early(plan) {
                    return true;
                }
                self.leave_front();
            } else {
                self.rests.retain(|rest| rest.group != group);
                self.groups.close(group);
            }
        }
        self.begin_cleaning(begin);
        self.go_on(plan)
    }
}
