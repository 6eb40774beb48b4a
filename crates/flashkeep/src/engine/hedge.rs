//! Hedged reads (`redundancy.read = "hedge=…"`): a page whose read has not come after a percentile of recent read times is
//! read a second time in another way, and its caller gets what comes first.
//!
//! The first read is a running plan. Each of its pages has a [`Place`] in the plan's [`Race`], which the first of the two
//! completions fills. A completion whose instant lies ahead is handled at that instant: until then the other one may
//! come before. The second read is a plan of its own ([`Purpose::Hedge`]), whose caller is the page's place.
//! Neither is taken back: the first plan notifies its caller when all places are filled, and ends when all reads have.

use super::around::plan_alternative;
use super::backends::{Backends, CompletionPart, CompletionToken, Done};
use super::contents::Contents;
use super::executor::Engine;
use super::health::Protection;
use super::locks::LockMode;
use super::nodes::Nodes;
use super::plan::{Plan, Step};
use super::repair::FailedPage;
use super::running::{Purpose, RunningPlan, Start, StripeHold};
use super::scheme::Scheme;
use super::tree::NodeId;
use super::work::WorkInProgress;
use crate::device::latency::Breakdown;
use crate::kernel::{Arena, Id, SimTime, Span, reach};
use std::collections::{BTreeMap, VecDeque};

/// The recent read times of which a percentile is taken.
const RECENT: usize = 1000;

/// With fewer of them, no read is hedged.
const FEWEST: usize = 20;

/// The times of a node's recent reads, in ns.
#[derive(Clone, Debug, Default)]
struct ReadTimes {
    in_order: VecDeque<u64>,
    sorted: Vec<u64>,
}

impl ReadTimes {
    fn add(&mut self, time: Span) {
        if self.in_order.len() == RECENT {
            let oldest = self.in_order.pop_front().expect("there are some");
            let at = self.sorted.binary_search(&oldest).expect("it was sorted in");
            self.sorted.remove(at);
        }
        self.in_order.push_back(time.0);
        self.sorted.insert(self.sorted.partition_point(|&other| other < time.0), time.0);
    }

    /// The percentile, in 1/1,000, if there are enough reads that some took longer.
    fn percentile(&self, permille: u16) -> Option<Span> {
        let (count, permille) = (self.sorted.len(), usize::from(permille));
        let enough = count >= FEWEST && count * (1000 - permille) >= 1000;
        enough.then(|| Span(self.sorted[(count * permille).div_ceil(1000) - 1]))
    }
}

/// A page of a hedged plan.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// It has come, or cannot be read in either way.
    filled: bool,
    /// The read of its own place has ended, and perhaps the repair that followed.
    ended: bool,
    /// That read has failed.
    troubled: bool,
    /// Nor has the repair brought it.
    lost: bool,
    /// A second read is under way.
    second: bool,
}

/// The reads of the pages of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Race {
    begun: SimTime,
    places: Vec<Place>,
    /// Pages that have not come.
    left: u32,
    /// Completions that lie ahead.
    ahead: u32,
    /// When it is looked at again.
    timer: Option<Instant>,
}

/// An instant, and the number of its insertion.
type Instant = (SimTime, u64);

/// What happens to a hedged plan at an instant.
#[derive(Clone, Debug)]
enum Event<C> {
    /// Its pages may be late.
    Timer(Id<RunningPlan>),
    Completion(Id<RunningPlan>, Box<Completion<C>>),
}

/// A completion for a place of a hedged plan.
#[derive(Clone, Debug)]
struct Completion<C> {
    done: Done<C>,
    /// Where its time went, if the backends listed that.
    parts: Option<Breakdown>,
    /// It is that of the second read, which has brought nothing if it is `lost`.
    second: bool,
    lost: bool,
}

/// All hedged plans, and what is due for them.
#[derive(Clone, Debug)]
pub(super) struct Hedges<C> {
    races: Arena<Race>,
    times: Vec<ReadTimes>,
    events: BTreeMap<Instant, Event<C>>,
    inserted: u64,
    next: SimTime,
}

impl<C> Default for Hedges<C> {
    fn default() -> Self {
        Hedges {
            races: Arena::default(),
            times: Vec::new(),
            events: BTreeMap::new(),
            inserted: 0,
            next: SimTime::NEVER,
        }
    }
}

impl<C> Hedges<C> {
    /// When something is due.
    #[inline]
    pub(super) fn next(&self) -> SimTime {
        self.next
    }

    fn push(&mut self, at: SimTime, event: Event<C>) -> Instant {
        self.inserted += 1;
        self.events.insert((at, self.inserted), event);
        self.next = self.next.min(at);
        (at, self.inserted)
    }

    fn remove(&mut self, at: Instant) -> Option<Event<C>> {
        let event = self.events.remove(&at);
        self.next = self.events.first_key_value().map_or(SimTime::NEVER, |(&(at, _), _)| at);
        event
    }

    fn pop_due(&mut self, now: SimTime) -> Option<Event<C>> {
        let (&at, _) = self.events.first_key_value().filter(|((at, _), _)| *at <= now)?;
        self.remove(at)
    }

    /// The last read of a plan has ended.
    pub(super) fn end(&mut self, race: Id<Race>) {
        if race.is_some() {
            self.stop(race);
            self.races.release(race);
        }
    }

    /// The pages are not waited for any more.
    fn stop(&mut self, race: Id<Race>) {
        if let Some(timer) = self.races[race].timer.take() {
            self.remove(timer);
        }
    }

    /// The read of a page has failed, and is repaired.
    pub(super) fn note_failed(&mut self, race: Id<Race>, place: u32) {
        self.races[race].places[place as usize].troubled = true;
    }

    /// The read of a page, and its repair, have brought nothing.
    pub(super) fn note_lost(&mut self, race: Id<Race>, place: u32) {
        self.races[race].places[place as usize].lost = true;
    }
}

impl Race {
    /// Reads of a place end: whether the page comes with that (or is given up: `Some(true)`).
    fn fill(&mut self, at: u32, completion: &Completion<impl Sized>) -> Option<bool> {
        let place = &mut self.places[at as usize];
        let lost = if completion.second { completion.lost } else { place.lost };
        let other = if completion.second {
            place.second = false;
            !place.ended
        } else {
            place.ended = true;
            place.second
        };
        if place.filled || lost && other {
            return None;
        }
        place.filled = true;
        self.left -= 1;
        Some(lost)
    }
}

impl<S: Scheme> Nodes<S> {
    /// Whether pages of a node can be read in several ways.
    pub(super) fn has_alternatives(&self, node: NodeId) -> bool {
        self.scheme(node).is_some_and(|scheme| !matches!(scheme.protection(), Protection::None))
    }
}

impl<C: Contents> WorkInProgress<C> {
    /// A hedged plan begins: it is looked at again if it takes longer than most.
    pub(super) fn begin_race(&mut self, now: SimTime, id: Id<RunningPlan>, permille: u16, places: u32) {
        let node = self.running_plans[id].node;
        let delay = reach(&mut self.hedges.times, node.index()).percentile(permille);
        // What comes at that instant has not taken longer.
        let timer = delay.map(|delay| self.hedges.push(now + delay + Span(1), Event::Timer(id)));
        let race = self.hedges.races.claim();
        let this = &mut self.hedges.races[race];
        this.places.clear();
        this.places.resize(places as usize, Place::default());
        (this.begun, this.left, this.ahead, this.timer) = (now, places, 0, timer);
        self.running_plans[id].race = race;
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Handles what is due for hedged plans.
    #[cold]
    pub(super) fn race<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        while let Some(event) = self.work.hedges.pop_due(now) {
            match event {
                Event::Timer(id) => {
                    self.work.hedges.races[self.work.running_plans[id].race].timer = None;
                    self.hedge(backends, now, id);
                }
                Event::Completion(id, completion) => {
                    self.work.hedges.races[self.work.running_plans[id].race].ahead -= 1;
                    self.arrive_first(backends, now, id, *completion);
                }
            }
        }
    }

    /// Handles the completion of a read of a hedged plan.
    #[cold]
    pub(super) fn take_in_race<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
        done: &Done<C>,
    ) {
        let parts = self.work.latencies.parts(backends, done);
        self.come(backends, now, id, Completion { done: *done, parts, second: false, lost: false });
    }

    /// A completion is handled when it is due.
    fn come<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
        completion: Completion<C>,
    ) {
        let Done { part, acknowledged, durable, .. } = completion.done;
        let at = if part == CompletionPart::Durable { acknowledged.max(durable) } else { acknowledged };
        if at <= now {
            return self.arrive_first(backends, now, id, completion);
        }
        self.work.hedges.races[self.work.running_plans[id].race].ahead += 1;
        self.work.hedges.push(at, Event::Completion(id, Box::new(completion)));
    }

    /// Pages come that are the first of two, or the last.
    fn arrive_first<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
        completion: Completion<C>,
    ) {
        let running = &mut self.work.running_plans[id];
        let race = &mut self.work.hedges.races[running.race];
        let mut done = completion.done;
        if done.part != CompletionPart::Durable {
            let mut fills = false;
            for n in 0..done.pages {
                let at = done.token.plus(n).slot;
                if let Some(lost) = race.fill(at, &completion) {
                    fills = true;
                    running.lost.extend(lost.then_some(at));
                    self.read_counts.hedge_won += u64::from(completion.second && !lost);
                }
            }
            let counter = &mut self.work.counters[running.counter];
            if !completion.second {
                counter.unacknowledged -= done.pages;
            }
            if fills {
                counter.acknowledged = counter.acknowledged.max(done.acknowledged);
                counter.service = counter.service.max(done.service);
                done.spent = self.work.latencies.list(backends, done.spent, completion.parts);
                self.work.latencies.note_done(backends, &done, Some(&self.work.running_plans[id]));
                self.work.buffers.take_in(id, &self.work.running_plans[id], &done);
            }
        }
        let running = &self.work.running_plans[id];
        let counter = &mut self.work.counters[running.counter];
        if done.part != CompletionPart::Acknowledged {
            counter.durable = counter.durable.max(done.durable);
            counter.undurable -= done.pages;
        }
        let race = &self.work.hedges.races[running.race];
        let (complete, over) = (race.left == 0, counter.undurable == 0 && race.ahead == 0);
        if complete && !running.is_told() {
            self.end_race(backends, now, id);
        }
        if over {
            self.finish(backends, now, id);
        }
    }

    /// All pages have come: the caller is notified, in one message, while reads may still be under way.
    fn end_race<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<RunningPlan>) {
        let RunningPlan { node, race, .. } = self.work.running_plans[id];
        let begun = self.work.hedges.races[race].begun;
        reach(&mut self.work.hedges.times, node.index()).add(now.since(begun));
        self.work.hedges.stop(race);
        self.tell(backends, now, id, CompletionPart::Both, now);
    }

    /// Pages that have not come are read in another way, where that needs no waiting.
    fn hedge<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<RunningPlan>) {
        let RunningPlan { race, node, .. } = self.work.running_plans[id];
        if self.nodes.is_copying(node) {
            return;
        }
        for place in 0..self.work.hedges.races[race].places.len() as u32 {
            let Place { filled, ended, troubled, .. } = self.work.hedges.races[race].places[place as usize];
            if !filled && !ended && !troubled {
                self.read_again(backends, now, id, place);
            }
        }
    }

    /// Reads a page of a plan a second time in another way, if that is possible now.
    fn read_again<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
        place: u32,
    ) {
        let running = &self.work.running_plans[id];
        let RunningPlan { race, node, counter, .. } = *running;
        let (at, age) = (running.step_of(place), running.caller.age);
        let asked = running.steps[at];
        let nth = place - running.bases[at];
        let page = asked.command.start.plus(nth);
        let own = running.command.start.plus(u32::from(asked.at) + nth);
        let held =
            if let StripeHold::Held(key) = running.stripe { Some((key, LockMode::Share)) } else { None };
        let step = Step { at: 0, command: asked.command.over(page, 1), ..asked };
        // Pages of the scheme may have moved since.
        if self.nodes.scheme_mut(node).owner(step.member, page) != Some(own) {
            return;
        }
        let token = CompletionToken::at(counter, place, age);
        let child = self.nodes[node].child(step.member);
        let wanted = FailedPage { child, page, token, flags: step.command.flags };
        if self.work.is_missing_above(node, id, wanted, &self.nodes) {
            return;
        }
        let Some(key) = self.nodes.key_to_share(node, &step, held, &self.work.locks) else { return };
        let mut plan = self.spare_plans.take();
        if self.plan_second(backends, node, &step, &mut plan) {
            self.read_counts.note_hedge(&step, &plan);
            self.work.allow_newer(token, &self.ports);
            self.work.latencies.note_hedge(counter, now);
            self.work.counters[counter].undurable += 1;
            self.work.hedges.races[race].places[place as usize].second = true;
            if let Some(key) = key {
                self.work.locks.take(node, key, LockMode::Share);
            }
            let purpose = Purpose::Hedge(Box::new(wanted));
            let start = Start { purpose, ..Start::new(node, step.command, token) }.holding(key);
            self.start(backends, now, start, &mut plan);
        }
        self.spare_plans.put(plan);
    }

    /// Plans another way to read the page of a step.
    fn plan_second<L: Backends<C>>(
        &mut self,
        backends: &L,
        node: NodeId,
        step: &Step,
        plan: &mut Plan,
    ) -> bool {
        self.with_view(backends, node, |scheme, view| {
            view.has(step.member, step.command.start) && plan_alternative(scheme, &[*step], view, plan)
        })
    }

    /// What a second read has found goes to the place of the first one.
    pub(super) fn tell_race<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
        done: Done<C>,
        lost: bool,
    ) {
        let first = self.work.counters[done.token.owner].running;
        let contents = self.work.buffers.read_for_caller(&self.work.running_plans[id], 0);
        let done = Done { part: CompletionPart::Both, contents, ..done };
        let parts = self.work.latencies.parts(backends, &done);
        self.come(backends, now, first, Completion { done, parts, second: true, lost });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_a_percentile_of_recent_reads() {
        let mut times = ReadTimes::default();
        (1..FEWEST as u64).for_each(|ns| times.add(Span(ns)));
        assert_eq!(times.percentile(950), None, "too few");
        times.add(Span(FEWEST as u64));
        assert_eq!(times.percentile(950), Some(Span(19)), "of 20 reads, 19 are the first 95 %");
        assert_eq!(times.percentile(999), None, "no read takes longer than so many");
        (0..RECENT).for_each(|_| times.add(Span(1000)));
        assert_eq!(times.percentile(999), Some(Span(1000)), "older ones are forgotten");
        assert_eq!((times.in_order.len(), times.sorted.len()), (RECENT, RECENT));
    }
}
