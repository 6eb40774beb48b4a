//! Reclaiming: log entries move to the drives.

use super::Hpda;
use crate::engine::{Cause, Command, Key, Page, Plan, Role, Verb, View};
use crate::schemes::hybrid::extend;
use crate::schemes::parity::{Settling, StripePart, Touch};

impl Hpda {
    /// Whether the logged pages of a stripe can go to the drives and be protected there.
    pub(super) fn is_reclaimable(&self, stripe: u32, view: &View<'_>) -> bool {
        let seats = self.stripes.seats(stripe);
        let fits = |index: u8| {
            let copies = self.log.of(self.stripes.number(stripe, index) as u32).map(|slot| self.at(slot));
            view.alive(seats.data(index))
                && copies.is_some_and(|copies| copies.iter().any(|&(member, page)| view.has(member, page)))
        };
        view.alive(seats.member(Role::P))
            && !view.is_degraded(stripe.into())
            && self.logged(stripe).iter().all(fits)
    }

    /// The stripe of the oldest entry that can be reclaimed now.
    pub(super) fn reclaimable(&self, view: &View<'_>) -> Option<u32> {
        let stripes = self.log.live(u32::MAX).map(|(_, page)| self.stripe(page));
        let mut free = stripes.filter(|&stripe| !view.held(Key(u64::from(stripe))));
        free.find(|&stripe| self.is_reclaimable(stripe, view))
    }

    /// Moves the logged pages of a stripe to the drives.
    pub(super) fn reclaim(&mut self, makes_room: bool, view: &View<'_>, plan: &mut Plan) -> bool {
        // As many at once as there are drives, so that each has something to do.
        if makes_room && self.reclaiming >= self.drives {
            return false;
        }
        // Or the search for the oldest entry would pass all that were reclaimed before.
        self.release(view);
        let Some(stripe) = self.reclaimable(view) else { return false };
        let (seats, logged, before) =
            (self.stripes.seats(stripe), self.logged(stripe), self.stripes.written(stripe));
        let place = StripePart { seats, first: 0, end: self.stripes.data() };
        let touch = Touch { before, touched: logged, after: before.with(logged) };
        plan.hold = Some(seats.key());
        let read = Command::new(Verb::Read, Page(0), 1).because(Cause::Migrate);
        for index in logged.iter() {
            let slot = self.log.of(self.stripes.number(stripe, index) as u32).expect("it is in the log");
            let (member, page) = self.reader(slot, view);
            extend(plan, member, page, u16::from(index), &read);
        }
        let write = Command { verb: Verb::Write, ..read };
        let reads = self.stripes.cheapest(&write, seats, &touch, view);
        self.stripes.update_by(reads, &write, place, &touch, view, plan);
        plan.force();
        self.reclaiming += u8::from(makes_room);
        let settling = Settling { touched: logged, makes_room, ..Settling::default() };
        self.stripes.settling.insert(stripe, settling);
        true
    }
}
