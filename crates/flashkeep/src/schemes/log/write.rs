//! Host commands, and stripes that are closed early.

use super::frontier::{NONE, WriteFrontier};
use super::places::LogPlace;
use super::{LogHold, LogStripes, StripeLog};
use crate::engine::{
    Cause, Command, Flags, Lock, Member, Page, Plan, PlanVerdict, Release, Role, Step, Verb, View,
};
use std::ops::Range;

impl LogStripes {
    /// While the controller adds up a parity that has not been submitted, no write is queued after it (pages of a
    /// chip are programmed in order), and no write overtakes one that waits for that.
    pub(super) fn lock_open(&self, command: &Command) -> Lock {
        let key = LogHold::Open.key();
        let superpage = |stream: u8| {
            self.frontiers().find(|frontier| frontier.superblock != NONE && frontier.stream == stream)
        };
        let own = superpage(self.streams.heat.of_written(command.start.low()))
            .filter(|frontier| frontier.has_room());
        let closes = command.verb == Verb::Write && own.is_none_or(WriteFrontier::may_complete);
        if closes { Lock::Hold(key) } else { Lock::Pass(key) }
    }
}

impl StripeLog {
    /// Every page from its current place. A page without one is a known zero.
    pub(super) fn read(&self, command: &Command, plan: &mut Plan) {
        plan.under = self.guard.key(&self.medium);
        for n in 0..command.count {
            let wanted = command.start.low() + u32::from(n);
            if self.refused.has(wanted) {
                plan.push(Step::missing(Member(0), command.over(Page(0), 1), n));
                plan.keeps_running_plan = true;
            } else if let Some(place) = self.stripes.places.find(wanted) {
                let (member, page) = self.stripes.address(place);
                plan.push(Step::new(member, command.over(page, 1), n));
            }
        }
    }

    /// The page goes to the next slot, and with it what it adds to the stripe's parity; the last of a stripe brings
    /// the parity along, for which the host does not wait.
    #[inline]
    pub(super) fn write(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        self.before = command.flags.has(Flags::BEFORE);
        let page = command.start.low();
        if self.ageing.is_some() && self.waits_for_slot(page) {
            return PlanVerdict::Wait;
        }
        self.stripes.turn_to(self.stripes.streams.heat.of_written(page));
        if self.stripes.frontier.slots.is_empty() {
            self.worn.note(view);
        }
        if !self.has_slot() {
            return self.wait_or_refuse(command, view, plan);
        }
        self.stripes.vain_cleanings = 0;
        if u64::from(page) < self.pages {
            self.stripes.streams.heat.write(page);
        }
        self.refused.set(page, false);
        let had = self.ageing.is_some() && self.stripes.places.find(page).is_some();
        self.fill_slot(command, true, plan);
        plan.under = self.guard.key(&self.medium);
        if self.adds_slowly {
            plan.release = Release::Submitted;
        }
        if self.ageing.is_some() {
            self.pass_slot(!had);
        }
        PlanVerdict::Go
    }

    /// Pages were written in order, before time 0.
    pub(super) fn fill_in_order(&mut self, pages: Range<u32>) {
        self.before = true;
        let mut plan = Plan::default();
        for page in pages {
            assert!(self.has_slot(), "the host never gets the last superblock");
            let write = Command { flags: Flags::BEFORE, ..Command::new(Verb::Write, Page::of(page), 1) };
            self.fill_slot(&write, true, &mut plan);
            plan.clear();
        }
    }

    /// The next slot takes the page of a command, which is mapped to it, or is filled with nothing of use.
    #[inline]
    pub(super) fn fill_slot(&mut self, command: &Command, maps: bool, plan: &mut Plan) {
        let page = command.start.low();
        let LogStripes { frontier, places, .. } = &mut self.stripes;
        plan.carry = (frontier.pending > 0).then(|| frontier.sum());
        let role = Role::Data(frontier.pending);
        let place = places.at(frontier.superpage, frontier.place());
        plan.push(
            Step::new(Member(places.member(place)), command.over(Page::of(frontier.superpage), 1), 0)
                .role(role),
        );
        if maps {
            self.release(page);
        }
        self.occupy(place, self.stripes.frontier.stripe, page);
        if maps {
            self.take(page, place);
        }
        let (superpage, closes) = (self.stripes.frontier.superpage, self.stripes.frontier.is_complete());
        if closes {
            self.write_parity(Cause::Parity, plan);
        } else {
            plan.keep = Some(self.stripes.frontier.sum());
        }
        self.record(std::iter::once(superpage), closes, 0, plan);
    }

    pub(super) fn forget(&mut self, command: &Command) {
        self.before = command.flags.has(Flags::BEFORE);
        self.stripes.vain_cleanings = 0;
        for page in command.low_pages() {
            if let Some(ageing) = self.ageing.as_mut().filter(|_| self.stripes.places.find(page).is_some()) {
                // A page that was valid is valid no more.
                ageing.owe();
            }
            self.release(page);
            self.refused.set(page, false);
        }
    }

    /// Closes the host's open stripe. A superpage ends with its parity, even if it covers only a part.
    fn write_parity(&mut self, inside: Cause, plan: &mut Plan) {
        let superpage = self.stripes.frontier.superpage;
        let (member, last) = self.stripes.frontier.place_parity();
        let cause = if last { Cause::Parity } else { inside };
        plan.push(Step::store(Member(member), Page::of(superpage), Role::P, cause).later());
        let place = self.stripes.places.at(superpage, member);
        self.occupy_parity(place, self.stripes.frontier.stripe);
        self.stripes.frontier.next_stripe();
        if self.health.troubled {
            self.count_stripe(place);
        }
    }

    /// The place is programmed, as the parity of this stripe.
    pub(super) fn occupy_parity(&mut self, place: LogPlace, stripe: u8) {
        self.occupy(place, stripe, 0);
        self.stripes.places.occupy_parity(place, stripe);
    }

    /// There were no writes for a while: closes the open stripe with a parity.
    pub(super) fn close_early(&mut self, plan: &mut Plan) -> bool {
        if !self.stripes.turn_to_one(WriteFrontier::is_cut_short)
            && !self.stripes.turn_to_one(|frontier| frontier.pending > 0)
        {
            return false;
        }
        plan.carry = Some(self.stripes.frontier.sum());
        let superpage = self.stripes.frontier.superpage;
        self.write_parity(Cause::PartialParity, plan);
        self.record(std::iter::once(superpage), true, 0, plan);
        true
    }
}
