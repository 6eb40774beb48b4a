//! GC of superblocks: copies the current pages of a superblock, in order, into new stripes of an empty superblock, then
//! erases it. The host gets the rest of the destination.
//!
//! GC copies one piece at a time, so that host requests run in between and the pages of a chip are programmed in order.
//! The copy of a page that the host writes or trims meanwhile is obsolete: the map is changed only if it still has the
//! old place.
//!
//! Members with write caches are flushed before the first piece, unless the superblock was closed before their last
//! FLUSH, and with the last one. So the source or the destination of the copies, which the host is given after that,
//! can be erased at once after a power loss. A superblock that the host has emptied is erased after a FLUSH.

use super::frontier::WriteFrontier;
use super::places::LogPlace;
use super::superblocks::SuperblockState;
use super::{LogHold, StripeLog};
use crate::blocks::{CollectedUnits, Collection, Levelled};
use crate::engine::{Cause, Command, Member, Page, Plan, Role, Step, Verb};

/// Full superpages that a piece copies at most.
const PIECE_SUPERPAGES: usize = 4;

/// A superblock that is being cleaned.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Cleaning {
    pub(super) collection: Collection,
    /// Members must be flushed before the first piece.
    flushes_first: bool,
    /// The superblocks that had been closed at its last FLUSH.
    flushed: u32,
    /// The destination superblocks: full ones, the open one, and further ones.
    filled: Vec<WriteFrontier>,
    to: WriteFrontier,
    more: Vec<WriteFrontier>,
    /// Superpages are laid over the members that can take them, or over all: as there was room when it began.
    roomy: bool,
    /// Data slots that it can waste.
    spare: u32,
    pub(super) cause: Cause,
    /// Only pages whose stripe lacks a unit are moved, and the superblock stays.
    only_lacking: bool,
    /// Pages that nothing brings back come last, in stripes of their own: they would take the parity of others with
    /// them. Whether there are any.
    lost_last: bool,
    has_lost: bool,
    /// Whether the last piece has begun.
    is_last: bool,
    /// Whether all pages have moved, so that the superblock can be erased.
    pub(super) is_over: bool,
    /// It continues in idle moments, as long as there is room besides.
    is_soft: bool,
    /// Pages moved, by their streams; empty if there is one.
    moved: Vec<u32>,
}

impl Cleaning {
    /// Whether it is begun for the room that it makes, for wear, or for old data; a rebuild has a pace of its own.
    fn is_gc(&self) -> bool {
        matches!(self.cause, Cause::Gc | Cause::Wear | Cause::Migrate | Cause::Refresh)
    }

    /// Superpages are laid over all members from now on: over fewer, the pages to move might not fit.
    pub(super) fn lay_over_all(&mut self) {
        self.roomy = false;
    }

    /// A place has turned out bad.
    pub(super) fn waste_slot(&mut self) {
        self.spare = self.spare.saturating_sub(1);
        self.roomy &= self.spare > 0;
    }
}

/// One piece of a cleaning.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    moves: Vec<Move>,
    writes: Vec<Step>,
    pub(super) written: Vec<LogPlace>,
    /// Stripes begun.
    stripes: u16,
}

impl Piece {
    /// The stage after those of its reads and writes.
    const AFTER: u8 = 2;

    fn clear(&mut self) {
        self.moves.clear();
        self.writes.clear();
        self.stripes = 0;
    }
}

#[derive(Clone, Copy, Debug)]
struct Move {
    page: u32,
    from: LogPlace,
    to: LogPlace,
}

/// The destinations of a new cleaning.
pub(super) struct Begin {
    pub(super) collection: Collection,
    pub(super) cause: Cause,
    pub(super) only_lacking: bool,
    /// How many rests and how many free superblocks it is given.
    pub(super) rests: usize,
    pub(super) superblocks: usize,
    /// A free superblock that it is given besides, and fills alone.
    pub(super) into: Option<u32>,
    /// It can wait for idle moments.
    pub(super) is_soft: bool,
}

impl Begin {
    /// Without a destination.
    pub(super) fn of(collection: Collection) -> Begin {
        Begin {
            collection,
            cause: collection.cause(),
            only_lacking: false,
            rests: 0,
            superblocks: 0,
            into: None,
            is_soft: false,
        }
    }

    /// To restore the redundancy of what a superblock holds.
    pub(super) fn of_rebuild(superblock: u32) -> Begin {
        Begin { cause: Cause::Rebuild, ..Begin::of(Collection::of((superblock, Levelled::No))) }
    }
}

impl CollectedUnits for StripeLog {
    fn next_current(&self, superblock: u32, from: u32) -> Option<u32> {
        let places = self.stripes.places_of(superblock);
        let next = self.stripes.places.next_current(places.start + from..places.end);
        next.map(|place| place.0 - places.start)
    }
}

/// Cold data that will be moved into a worn superblock, once that has been erased.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Migration {
    worn: u32,
    cold: Collection,
}

impl StripeLog {
    /// Whether a cleaning must begin, or continue, without a write waiting for it.
    #[inline]
    pub(super) fn wants_to_clean(&self) -> bool {
        match &self.cleaning {
            Some(cleaning) => {
                let waits = cleaning.is_soft && !self.is_low();
                !self.moving && !waits && (cleaning.is_over || cleaning.is_gc())
            }
            None => {
                let can_clean = || self.stripes.superblocks.free() > 0 || self.can_erase_immediately();
                self.wants_room && (self.is_low() && can_clean() || self.migration.is_some())
                    || self.can_refresh()
            }
        }
    }

    /// Whether a power cut has left a superblock that holds nothing, and perhaps no other that is free.
    pub(super) fn can_erase_immediately(&self) -> bool {
        self.restarted
            && self
                .stripes
                .superblocks
                .least()
                .is_some_and(|superblock| self.stripes.superblocks.current(superblock) == 0)
    }

    /// Whether little space is left for the host.
    pub(super) fn is_low(&self) -> bool {
        let left = self.superblocks_left().saturating_sub(self.kept() - 1);
        self.ageing.is_none() && self.thresholds.is_low(left as u32)
    }

    /// Superblocks that the host has left to fill, those included that are being erased.
    fn superblocks_left(&self) -> usize {
        self.stripes.superblocks.free() + self.erasing + self.stripes.rests_of_host()
    }

    /// The next step towards room for the host.
    pub(super) fn make_room(&mut self, plan: &mut Plan) -> bool {
        if self.stripes.is_stuck() {
            return self.close_early(plan);
        }
        if self.ageing.is_some() && self.waste_slot(plan) {
            return true;
        }
        if let Some(cleaning) = &self.cleaning {
            let waits = cleaning.is_soft && !self.is_low();
            let goes_on = !waits && (cleaning.is_gc() || cleaning.is_over) || self.is_starved();
            return goes_on && self.go_on(plan);
        }
        if self.migrate() || self.refresh() {
            return self.go_on(plan);
        }
        let reason = self.is_starved() || self.wants_room && self.is_low();
        if reason && self.clean_one(false, plan) {
            return true;
        }
        self.wants_room &= self.guard.is_waiting();
        false
    }

    /// In an idle moment: the next step of a cleaning, or another one while little room is left.
    pub(super) fn clean_softly(&mut self, plan: &mut Plan) -> bool {
        if let Some(cleaning) = &self.cleaning {
            return cleaning.is_gc() && self.go_on(plan);
        }
        self.thresholds.is_low_for_idle(self.superblocks_left() as u32)
            && self.stripes.superblocks.free() > 0
            && !self.stripes.is_stuck()
            && self.clean_one(true, plan)
    }

    /// Begins to clean the next victim, if there is one.
    fn clean_one(&mut self, is_soft: bool, plan: &mut Plan) -> bool {
        if self.stripes.is_hopeless() {
            return false;
        }
        let Some(collection) = self.victim().map(Collection::of) else { return false };
        let (victim, cause) = (collection.victim, collection.cause());
        self.stripes.superblocks.take_turn(victim);
        if let Some(cold) = collection.follower() {
            self.migration = Some(Migration { worn: victim, cold });
        }
        if self.stripes.superblocks.current(victim) == 0 {
            let may = self.guard.may_erase(victim, &self.medium);
            if may {
                self.erase(victim, cause, plan);
                // The newer versions of its pages may be in write caches only.
                plan.flushes = self.guard.flushes().then_some(0);
            }
            return may;
        }
        self.stripes.vain_cleanings += u32::from(self.is_starved());
        // GC continues with the superblock that it has begun, if that is kept for it.
        let rests = usize::from(self.stripes.streams.separate || self.is_near_the_end());
        self.begin_cleaning(&Begin { rests, superblocks: 1, is_soft, ..Begin::of(collection) });
        self.go_on(plan)
    }

    /// A worn superblock has been erased: what the coldest one holds is moved into it, if that is still so and fits.
    fn migrate(&mut self) -> bool {
        let Some(Migration { worn, cold }) = self.migration else { return false };
        if self.stripes.superblocks.state(worn) == SuperblockState::Erasing {
            return false;
        }
        self.migration = None;
        let coldest = cold.victim;
        let current = self.stripes.superblocks.current(coldest);
        let is_free = self.stripes.superblocks.state(worn) == SuperblockState::Free;
        let is_closed = self.stripes.superblocks.state(coldest) == SuperblockState::Closed
            && !self.stripes.superblocks.is_busy(coldest);
        let fits = current > 0 && current <= self.room(self.stripes.superblocks.superpages(worn), false);
        if !is_free || !is_closed || !fits || self.health.troubled {
            return false;
        }
        self.begin_cleaning(&Begin { into: Some(worn), ..Begin::of(cold) });
        true
    }

    pub(super) fn begin_cleaning(&mut self, begin: &Begin) {
        let Begin { collection, cause, only_lacking, .. } = *begin;
        let victim = collection.victim;
        let mut to: Vec<WriteFrontier> = Vec::with_capacity(begin.rests + begin.superblocks);
        let mut pages = self.stripes.superblocks.current(victim);
        if only_lacking {
            pages = self.health.lacking_in(victim);
        }
        while to.len() < begin.rests
            && let Some(at) =
                self.stripes.rests.iter().position(|rest| self.is_usable(rest, victim, only_lacking))
        {
            to.extend(self.stripes.rests.remove(at));
        }
        for _ in 0..begin.superblocks {
            to.extend(self.open_superblock());
        }
        if let Some(superblock) = begin.into {
            self.stripes.superblocks.open_this(superblock);
            to.push(self.frontier_of(superblock));
        }
        let room = |roomy| to.iter().map(|frontier| self.room(frontier.superpages(), roomy)).sum::<u32>();
        // Where it would not fit beside what cannot be written, the superpages are laid over that, too.
        let roomy = self.is_roomy() && room(true) >= pages;
        let room = room(roomy);
        self.stripes.superblocks.set_busy(victim, true);
        to.reverse();
        self.cleaning = Some(Cleaning {
            collection,
            flushes_first: self.guard.flushes()
                && !only_lacking
                && !self.stripes.superblocks.is_flushed(victim),
            flushed: 0,
            filled: Vec::new(),
            to: to.pop().expect("a cleaning is begun with room"),
            more: to,
            roomy,
            spare: room.saturating_sub(pages),
            cause,
            only_lacking,
            lost_last: self.health.troubled && !only_lacking && room >= pages + 2,
            has_lost: false,
            is_last: false,
            is_over: false,
            is_soft: begin.is_soft,
            moved: Vec::new(),
        });
    }

    /// Plans the next piece, or the erase.
    pub(super) fn go_on(&mut self, plan: &mut Plan) -> bool {
        if self.moving {
            return false;
        }
        let Some(mut cleaning) = self.cleaning.take() else { return false };
        if !cleaning.is_over {
            let mut piece = std::mem::take(&mut self.piece);
            if std::mem::take(&mut cleaning.flushes_first) {
                piece.clear();
                plan.flushes = Some(0);
            } else {
                self.copy(&mut cleaning, &mut piece, plan);
            }
            let (begun, is_last) = (!piece.moves.is_empty(), cleaning.is_last);
            if is_last && !cleaning.only_lacking && self.guard.flushes() {
                plan.flushes = Some(Piece::AFTER);
                cleaning.flushed = self.stripes.superblocks.closings();
            }
            self.piece = piece;
            self.cleaning = Some(cleaning);
            if begun || plan.flushes.is_some() {
                plan.hold = Some(LogHold::Piece.key());
                self.moving = true;
                return true;
            }
            if is_last {
                // The host has overwritten all pages that waited to be moved.
                self.end_cleaning();
            }
            return self.cleaning.is_some() && self.go_on(plan);
        }
        if !self.guard.may_erase(cleaning.collection.victim, &self.medium) {
            self.cleaning = Some(cleaning);
            return false;
        }
        self.erase(cleaning.collection.victim, cleaning.cause, plan);
        true
    }

    /// Copies as many of the superblock's pages as fill whole stripes, or all remaining ones.
    fn copy(&mut self, cleaning: &mut Cleaning, piece: &mut Piece, plan: &mut Plan) {
        piece.clear();
        let stripe = usize::from(self.members) - 1;
        while let Some(next) = cleaning.collection.next(self) {
            let full = piece.moves.len() + stripe > PIECE_SUPERPAGES * stripe;
            if cleaning.to.pending == 0 && full {
                break;
            }
            cleaning.collection.pass(next + 1);
            let from = LogPlace(self.stripes.places_of(cleaning.collection.victim).start + next);
            if cleaning.lost_last && self.is_lost(from) {
                cleaning.has_lost = true;
            } else if !cleaning.only_lacking || self.is_lacking(from) {
                if !self.make_slot(cleaning) {
                    // More units have become missing meanwhile: another cleaning takes the rest.
                    cleaning.collection.pass(self.stripes.places_of(cleaning.collection.victim).len() as u32);
                    break;
                }
                self.copy_page(cleaning, piece, from, plan);
            }
        }
        cleaning.is_last = cleaning.collection.next(self).is_none();
        if cleaning.is_last && cleaning.has_lost {
            cleaning.collection.begin_anew();
            cleaning.is_last = false;
            (cleaning.lost_last, cleaning.has_lost) = (false, false);
        }
        if cleaning.to.pending > 0 && cleaning.is_last && self.hands_over(cleaning) {
            plan.keep = Some(cleaning.to.sum());
        } else if cleaning.to.pending > 0 {
            self.copy_parity(cleaning, piece);
        }
        plan.steps.extend_from_slice(&piece.writes);
        let superpages = piece.written.iter().map(|&place| self.stripes.places.superpage(place));
        self.record(superpages, true, 1, plan);
    }

    fn copy_page(&mut self, cleaning: &mut Cleaning, piece: &mut Piece, from: LogPlace, plan: &mut Plan) {
        let cause = cleaning.cause;
        let one = |page| Command::new(Verb::Read, page, 1).because(cause);
        let at = piece.moves.len() as u16;
        let (member, page) = self.stripes.address(from);
        plan.push(Step::new(member, one(page), at));
        let role = Role::Data(cleaning.to.pending);
        let to = self.stripes.places.at(cleaning.to.superpage, cleaning.to.place());
        let (member, page) = self.stripes.address(to);
        let write = Command { verb: Verb::Write, ..one(page) };
        piece.writes.push(Step::new(member, write, at).role(role).row(piece.stripes).stage(1));
        piece.moves.push(Move { page: self.stripes.places.owner(from), from, to });
        piece.written.push(to);
        self.occupy(to, cleaning.to.stripe, self.stripes.places.owner(from));
        if cleaning.to.is_complete() {
            self.copy_parity(cleaning, piece);
        }
    }

    /// Makes the next slot of the superblocks that take the moved pages ready. There is room for all of a superblock,
    /// as was checked at the beginning.
    fn make_slot(&mut self, cleaning: &mut Cleaning) -> bool {
        while cleaning.to.slots.is_empty() {
            if cleaning.to.has_superpages() {
                self.open_superpage(&mut cleaning.to, cleaning.roomy);
                continue;
            }
            let Some(next) = cleaning.more.pop() else {
                assert!(cleaning.only_lacking, "what is moved fits where it is moved to");
                return false;
            };
            cleaning.filled.push(std::mem::replace(&mut cleaning.to, next));
        }
        true
    }

    fn copy_parity(&mut self, cleaning: &mut Cleaning, piece: &mut Piece) {
        let cause = if cleaning.cause == Cause::Gc { Cause::ParityGc } else { cleaning.cause };
        let superpage = cleaning.to.superpage;
        let (member, _) = cleaning.to.place_parity();
        let store = Step::store(Member(member), Page::of(superpage), Role::P, cause);
        piece.writes.push(store.row(piece.stripes).stage(1));
        let place = self.stripes.places.at(superpage, member);
        piece.written.push(place);
        self.occupy_parity(place, cleaning.to.stripe);
        cleaning.to.next_stripe();
        piece.stripes += 1;
    }

    /// Whether the last stripe is left open for a write that waits: a parity of its own would take the only slot
    /// that the cleaning has gained.
    fn hands_over(&self, cleaning: &Cleaning) -> bool {
        cleaning.to.slots.len() == 1
            && !cleaning.to.has_superpages()
            && cleaning.more.is_empty()
            && !cleaning.only_lacking
            && cleaning.cause != Cause::Migrate
            && self.erasing == 0
            && self.is_starved()
    }

    /// A piece is durable: maps its pages to their new places.
    pub(super) fn moved(&mut self) {
        self.moving = false;
        self.unchecked.append(&mut self.piece.written);
        let open = self.cleaning.as_ref().is_some_and(|cleaning| cleaning.to.pending > 0);
        if open && let Some(cleaning) = &mut self.cleaning {
            // The host continues with the stripe, and with the data that wait in it.
            let to = std::mem::replace(&mut cleaning.to, WriteFrontier::none());
            self.stripes.leave_frontier();
            self.stripes.frontier = to.of_stream(self.stripes.streams.current());
        }
        for at in 0..self.piece.moves.len() {
            let Move { page, from, to } = self.piece.moves[at];
            if self.stripes.places.is_current(from) {
                self.remap(page, from, to);
                self.cool_down(page);
            }
        }
        if self.cleaning.as_ref().is_some_and(|cleaning| cleaning.is_last) {
            self.end_cleaning();
        }
    }

    /// All pages have moved: the host gets the rest of the destination superblocks.
    fn end_cleaning(&mut self) {
        let Some(mut cleaning) = self.cleaning.take() else { return };
        let mut to = std::mem::replace(&mut cleaning.to, WriteFrontier::none());
        let most =
            (0..).zip(&cleaning.moved).max_by_key(|&(stream, &pages)| (pages, std::cmp::Reverse(stream)));
        to.stream = most.map_or(0, |(stream, _)| stream);
        for frontier in cleaning.filled.drain(..).chain([to]).chain(cleaning.more.drain(..)) {
            self.hand_on(frontier, cleaning.cause);
        }
        if cleaning.only_lacking {
            let victim = cleaning.collection.victim;
            let busy = self.stripes.superblocks.state(victim) != SuperblockState::Closed;
            self.stripes.superblocks.set_busy(victim, busy);
        } else {
            self.stripes.superblocks.note_flush(cleaning.flushed);
            cleaning.is_over = true;
            self.cleaning = Some(cleaning);
        }
    }

    /// A page has been moved: the rest of the superblock that took it will be used for pages like most of those.
    fn cool_down(&mut self, page: u32) {
        let stream = self.stripes.streams.heat.shift(page);
        let Some(cleaning) = &mut self.cleaning else { return };
        if self.stripes.streams.heat.classes() > 1 {
            cleaning.moved.resize(self.stripes.streams.heat.classes().into(), 0);
            cleaning.moved[usize::from(stream)] += 1;
        }
    }

    /// Keeps the rest of a superblock for later; that of a worn one, with the cold data in it, stays unused.
    fn hand_on(&mut self, mut frontier: WriteFrontier, cause: Cause) {
        if frontier.superblock == super::frontier::NONE {
            return;
        }
        if frontier.superpages() == self.stripes.superblocks.superpages(frontier.superblock) {
            return self.stripes.superblocks.give_back(frontier.superblock);
        }
        if self.health.troubled && self.is_roomy() {
            for member in (0..self.members).filter(|&member| !self.health.alive(member)) {
                frontier.leave_out(member);
            }
        }
        if frontier.has_room() && cause != Cause::Migrate {
            self.stripes.rests.push_back(frontier);
        } else {
            self.stripes.superblocks.close(frontier.superblock);
        }
    }

    /// Erases a superblock without current pages.
    pub(super) fn erase(&mut self, superblock: u32, cause: Cause, plan: &mut Plan) {
        self.stripes.superblocks.erase(superblock);
        self.erasing += 1;
        let superpages = self.stripes.superblocks.extent(superblock);
        // In parts, if a command cannot name all of its pages.
        let parts = superpages.clone().step_by(usize::from(u16::MAX));
        let trim = |first: u32| {
            let count = (superpages.end - first).min(u32::from(u16::MAX)) as u16;
            Command::new(Verb::Trim, Page::of(first), count).because(cause)
        };
        let trims: Vec<Command> = parts.map(trim).collect();
        for member in 0..self.members {
            plan.steps.extend(trims.iter().map(|trim| Step::new(Member(member), *trim, Step::NOWHERE)));
        }
        plan.hold = Some(LogHold::Erase(superblock).key());
    }

    /// The superblock is erased and free.
    pub(super) fn erased(&mut self, superblock: u32) {
        let places = self.stripes.places_of(superblock);
        self.stripes.places.erase(places.clone());
        self.health.erased(superblock, places, self.medium.erases_first);
        self.journal.erase(superblock, &self.medium);
        self.stripes.superblocks.erased(superblock);
        self.due.retain(|&other| other != superblock);
        self.erasing -= 1;
        self.erases_before.remove(&superblock);
        self.wants_room = true;
    }
}
