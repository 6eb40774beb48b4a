//! Where the time of requests goes. Each counter has the breakdown of the completion that came last, from the owner's
//! beginning until then; what a plan submits next continues from there. Among completions at the same instant the one that
//! has waited longest counts, by the parts in their order: it does not depend on the order in which they are handled.

use super::backends::{Backends, CompletionPart, CompletionToken, Done, OpenRequest};
use super::contents::Contents;
use super::nodes::Nodes;
use super::plan::Tell;
use super::ports::{PortRequest, Ports};
use super::requests::CompletionCounter;
use super::running::RunningPlan;
use super::scheme::Scheme;
use super::tree::NodeId;
use super::work::WorkInProgress;
use crate::device::latency::{Breakdown, FlashTimes, Part, TimeSpent};
use crate::kernel::{Id, SimTime, Span, reach};
use std::borrow::Cow;

/// An instant, and where the time since the owner's beginning went until then.
type Until = (SimTime, Breakdown);

/// The breakdowns of a completion counter. Requests that are a single operation in flash need one line of the
/// processor's cache.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct CounterLatency {
    /// When its owner began.
    begun: SimTime,
    /// The last acknowledgement so far, of what the owner's caller waits for.
    acknowledged: SimTime,
    /// Where the time went until then, if a single operation in flash took all of it.
    flash: FlashTimes,
    /// Whether it did.
    in_flash: bool,
    /// Whether commands have been submitted after the beginning.
    submits_later: bool,
    others: Option<Box<OtherLatency>>,
}

/// The rest of the breakdowns of a completion counter. Parts that are not valid are left from an earlier owner.
#[derive(Clone, Debug, Default)]
struct OtherLatency {
    /// The instants after the beginning at which commands were submitted, in order.
    submitted: Vec<Until>,
    /// Where the time went until the last acknowledgement, unless a single operation in flash took all of it.
    parts: Breakdown,
    /// Of a plan: the last durable completion so far.
    durable: Until,
    /// Of a plan that waits for its first step: that step's acknowledgement.
    first: Option<Until>,
}

/// How long a command has waited, each time that it was planned again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited {
    came: SimTime,
    lock: Span,
    /// For room, or anything else that its scheme made it wait for.
    room: Span,
}

impl Waited {
    /// A command comes.
    pub(super) fn new(now: SimTime) -> Waited {
        Waited { came: now, lock: Span::ZERO, room: Span::ZERO }
    }

    /// Until now it has waited for a lock.
    pub(super) fn for_lock(&mut self, now: SimTime) {
        self.lock = Span(now.since(self.came).0.saturating_sub(self.room.0));
    }

    /// Until now its scheme has made it wait.
    pub(super) fn for_room(&mut self, now: SimTime) {
        self.room = Span(now.since(self.came).0.saturating_sub(self.lock.0));
    }
}

/// The breakdowns of all completion counters, by number; nothing if they are not measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies(Option<Vec<CounterLatency>>);

impl Latencies {
    /// Measures from now on, or does so no longer.
    fn set(&mut self, measures: bool) {
        self.0 = measures.then(Vec::new);
    }

    #[inline]
    pub(super) fn are_measured(&self) -> bool {
        self.0.is_some()
    }

    #[inline]
    fn of(&mut self, counter: Id<CompletionCounter>) -> Option<&mut CounterLatency> {
        self.0.as_mut().map(|counters| reach(counters, counter.index()))
    }

    /// A request, or a port request, begins.
    #[inline]
    pub(super) fn begin(&mut self, counter: Id<CompletionCounter>, now: SimTime) {
        if let Some(this) = self.of(counter) {
            this.begin(now);
        }
    }

    /// A plan begins.
    pub(super) fn begin_plan(&mut self, counter: Id<CompletionCounter>, now: SimTime) {
        if let Some(this) = self.of(counter) {
            this.begin_plan(now);
        }
    }

    /// A port request has crossed the link and reaches the device now.
    pub(super) fn note_link(&mut self, counter: Id<CompletionCounter>, now: SimTime) {
        if let Some(this) = self.of(counter).filter(|this| now > this.begun) {
            this.submit((now, Breakdown::of(Part::Link, now.since(this.begun))));
        }
    }

    /// What has waited continues now; a wait for room counts as `room`.
    fn note_wait(&mut self, token: CompletionToken, waited: &Waited, room: Part, now: SimTime) {
        let Some(this) = self.of(token.owner) else { return };
        let (at, mut until) = this.before(waited.came);
        // Nothing was noted for the time before it came.
        until.add(if waited.lock > Span::ZERO { Part::Lock } else { room }, waited.came.since(at));
        until.add(Part::Lock, waited.lock);
        until.add(room, waited.room);
        this.submit((now, until));
    }

    /// What came at `since` has waited for a lock until now.
    pub(super) fn note_delay(&mut self, token: CompletionToken, since: SimTime, now: SimTime) {
        if since < now && self.are_measured() {
            let mut waited = Waited::new(since);
            waited.for_lock(now);
            self.note_wait(token, &waited, Part::Lock, now);
        }
    }

    /// Handles the breakdown of a completion, before the completion itself.
    #[inline]
    pub(super) fn note_done<C: Contents, L: Backends<C>>(
        &mut self,
        backends: &mut L,
        done: &Done<C>,
        running: Option<&RunningPlan>,
    ) {
        let Some(this) = self.of(done.token.owner) else { return };
        if running.is_none() {
            let takes_no_time = done.acknowledged == this.begun;
            if done.acknowledged < this.acknowledged || takes_no_time || done.part == CompletionPart::Durable
            {
                return;
            }
            let later = done.acknowledged > this.acknowledged;
            if let TimeSpent::Flash(flash) = done.spent
                && !this.submits_later
                && (later || this.in_flash)
            {
                if later || flash > this.flash {
                    (this.acknowledged, this.flash, this.in_flash) = (done.acknowledged, flash, true);
                }
                return;
            }
        }
        // The time of background work is not broken down.
        if running.is_none_or(|running| running.background().is_none()) {
            this.note_other_done(backends, done, running);
        }
    }

    /// A read has failed; an alternative begins now, whenever the read would have ended.
    #[cold]
    pub(super) fn note_failed<C: Contents, L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        done: &Done<C>,
    ) {
        let Some(this) = self.of(done.token.owner) else { return };
        let parts = parts_of(backends, done);
        if now <= this.begun {
            return;
        }
        let mut until = this.until(done.acknowledged, parts.as_deref(), Part::Die);
        until.fit(now.since(this.begun), Part::Die);
        this.submit((now, until));
    }

    /// A read has not come until now, and is done in another way, too.
    pub(super) fn note_hedge(&mut self, counter: Id<CompletionCounter>, now: SimTime) {
        if let Some(this) = self.of(counter).filter(|this| now > this.begun) {
            this.submit((now, Breakdown::of(Part::Timer, now.since(this.begun))));
        }
    }

    /// Where the time of a completion went, if the backends have listed that: their list ends before what is ahead.
    pub(super) fn parts<C: Contents>(
        &self,
        backends: &mut impl Backends<C>,
        done: &Done<C>,
    ) -> Option<Breakdown> {
        let listed = self.are_measured() && matches!(done.spent, TimeSpent::Listed(_));
        listed.then(|| parts_of(backends, done).map(Cow::into_owned)).flatten()
    }

    /// Lists it again.
    pub(super) fn list<C: Contents>(
        &self,
        backends: &mut impl Backends<C>,
        spent: TimeSpent,
        parts: Option<Breakdown>,
    ) -> TimeSpent {
        parts.map_or(spent, |parts| list(backends, parts))
    }

    /// A stage of a plan begins now, or continues when the controller has `computed` its sums.
    #[inline(never)]
    pub(super) fn note_stage(&mut self, counter: Id<CompletionCounter>, now: SimTime, computed: bool) {
        let Some(this) = self.of(counter).filter(|this| now > this.begun) else { return };
        let (at, mut until) = this.before(now);
        if computed {
            until.add(Part::Compute, now.since(at));
        } else if this.others().durable.0 >= at {
            until = this.others().durable.1;
        }
        until.fit(now.since(this.begun), Part::Die);
        this.submit((now, until));
        if now > this.acknowledged {
            this.acknowledge(now, &until);
        }
    }

    /// Where the time of a plan went, until `end`. `again` if this is the second notice to its caller: the plan is
    /// durable.
    pub(super) fn of_plan<C: Contents, L: Backends<C>>(
        &mut self,
        backends: &mut L,
        running: &RunningPlan,
        end: SimTime,
        again: bool,
    ) -> TimeSpent {
        let Some(this) = self.of(running.counter) else { return TimeSpent::Memory };
        let mut until = match this.others().first {
            _ if again => this.others().durable.1,
            Some((_, first)) if running.tell == Tell::First => first,
            _ => return list(backends, this.at(end)),
        };
        until.fit(end.since(this.begun), Part::Die);
        list(backends, until)
    }
}

impl CounterLatency {
    #[inline]
    fn begin(&mut self, now: SimTime) {
        (self.begun, self.acknowledged, self.flash) = (now, now, FlashTimes::default());
        (self.in_flash, self.submits_later) = (true, false);
    }

    fn begin_plan(&mut self, now: SimTime) {
        self.begin(now);
        let others = self.others();
        (others.durable, others.first) = ((now, Breakdown::default()), None);
    }

    fn others(&mut self) -> &mut OtherLatency {
        self.others.get_or_insert_default()
    }

    /// The instants after the beginning at which commands were submitted, in order.
    fn submitted(&self) -> &[Until] {
        self.others.as_ref().filter(|_| self.submits_later).map_or(&[], |others| &others.submitted)
    }

    /// Commands are submitted.
    fn submit(&mut self, until: Until) {
        let before = std::mem::replace(&mut self.submits_later, true);
        let others = self.others();
        if !before {
            others.submitted.clear();
        }
        others.submitted.push(until);
    }

    /// Where the time went until the last acknowledgement so far.
    fn last(&self) -> Breakdown {
        match &self.others {
            Some(others) if !self.in_flash => others.parts,
            _ => self.flash.breakdown(),
        }
    }

    fn acknowledge(&mut self, at: SimTime, parts: &Breakdown) {
        (self.acknowledged, self.in_flash) = (at, false);
        self.others().parts = *parts;
    }

    /// The same of a completion that may not be the last one.
    fn note_acknowledged(&mut self, at: SimTime, parts: &Breakdown) {
        let exceeds_last = || match &self.others {
            Some(others) if !self.in_flash => *parts > others.parts,
            _ => *parts > self.flash.breakdown(),
        };
        if at > self.acknowledged || at == self.acknowledged && exceeds_last() {
            self.acknowledge(at, parts);
        }
    }

    /// The last submission until `at`.
    fn before(&self, at: SimTime) -> Until {
        let last = self.submitted().iter().rev().find(|(when, _)| *when <= at);
        last.copied().unwrap_or((self.begun, Breakdown::default()))
    }

    /// The breakdown until `end`, when a completion ends that took these parts; without them, it was an access to
    /// memory.
    #[inline]
    fn until(&self, end: SimTime, parts: Option<&Breakdown>, memory: Part) -> Breakdown {
        match parts {
            Some(parts) if self.submitted().is_empty() => *parts,
            Some(parts) => {
                let submitted = SimTime(end.0.saturating_sub(parts.total().0));
                let (at, before) = self.before(submitted);
                let mut until = before.plus(parts);
                // Time that nothing was noted for counts as a wait for resources.
                until.add(Part::Die, submitted.since(at));
                until
            }
            None => {
                let (at, mut until) = self.before(end);
                until.add(memory, end.since(at));
                until
            }
        }
    }

    /// The breakdown until the instant of the last acknowledgement, or of the last submission if that was later.
    fn at(&self, at: SimTime) -> Breakdown {
        let submitted = self.before(at);
        let later = submitted.0 > self.acknowledged;
        let (when, mut until) = if later { submitted } else { (self.acknowledged, self.last()) };
        debug_assert!(when <= at, "nothing is acknowledged after the last acknowledgement");
        if when < at {
            until.add(Part::Die, at.since(when));
        }
        until
    }
}

impl<S: Scheme> Nodes<S> {
    /// What commands wait for that the scheme of a node makes wait.
    pub(super) fn waits_for(&self, node: NodeId) -> Part {
        let scheme = self.scheme(node);
        let gc = scheme.is_some_and(|scheme| scheme.capabilities().waits_for_gc);
        if gc { Part::Gc } else { Part::Buffer }
    }
}

impl<C: Contents> WorkInProgress<C> {
    /// A command that has waited at a node continues now.
    #[inline]
    pub(super) fn note_wait<S: Scheme>(
        &mut self,
        node: NodeId,
        token: CompletionToken,
        waited: Option<&Waited>,
        now: SimTime,
        nodes: &Nodes<S>,
    ) {
        if let Some(waited) = waited.filter(|waited| waited.came < now && self.latencies.are_measured()) {
            let room = if waited.room > Span::ZERO { nodes.waits_for(node) } else { Part::Lock };
            self.latencies.note_wait(token, waited, room, now);
        }
    }

    /// Measures where the time of requests goes, from now on, or does so no longer.
    pub fn break_down(&mut self, measures: bool) {
        self.latencies.set(measures);
    }

    /// A request that was opened begins now.
    #[inline]
    pub fn begin_request(&mut self, request: OpenRequest, now: SimTime) {
        self.latencies.begin(request.owner, now);
    }

    /// Where the time of a finished request went, from its beginning until `at`, if a single operation in flash took all of
    /// it, or several of which it was the last.
    #[must_use]
    #[inline]
    pub fn flash_times(&self, counter: Id<CompletionCounter>, at: SimTime) -> Option<&FlashTimes> {
        let this = self.latencies.0.as_ref()?.get(counter.index())?;
        (this.in_flash && this.acknowledged == at).then_some(&this.flash)
    }

    /// Where the time of a finished request went, from its beginning until it was acknowledged.
    #[must_use]
    pub fn breakdown(&self, counter: Id<CompletionCounter>) -> Breakdown {
        let this = self.latencies.0.as_ref().and_then(|counters| counters.get(counter.index()));
        this.map_or_else(Breakdown::default, |this| this.at(self.counters[counter].acknowledged))
    }

    /// Where the time of a port request went, until `end`: a write to a full cache waits for an eviction.
    pub(super) fn breakdown_of_port_request<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        id: Id<PortRequest>,
        end: SimTime,
        ports: &Ports<C>,
    ) -> TimeSpent {
        let (counter, evicts, memory) = ports.waiting_of(id);
        let Some(this) = self.latencies.of(counter) else { return TimeSpent::Memory };
        let mut until = this.at(self.counters[counter].acknowledged.max(this.begun));
        let link = until.get(Part::Link);
        if evicts {
            until = Breakdown::of(Part::Buffer, until.total() - link);
            until.add(Part::Link, link);
        }
        until.add(Part::Cache, memory);
        until.fit(end.since(this.begun), Part::Link);
        list(backends, until)
    }
}

impl CounterLatency {
    /// Handles a step of a plan, and anything but a single operation in flash.
    #[inline(never)]
    fn note_other_done<C: Contents, L: Backends<C>>(
        &mut self,
        backends: &mut L,
        done: &Done<C>,
        running: Option<&RunningPlan>,
    ) {
        let parts = parts_of(backends, done);
        if let Some(running) = running {
            return self.note_step(running, done, parts);
        }
        let until = self.until(done.acknowledged, parts.as_deref(), Part::Cache);
        self.note_acknowledged(done.acknowledged, &until);
    }

    /// The same for a step of a plan. Steps that are not work for the host count as what they are.
    fn note_step(
        &mut self,
        running: &RunningPlan,
        done: &Done<impl Contents>,
        parts: Option<Cow<'_, Breakdown>>,
    ) {
        // Caches that are emptied for a plan write pages that belong to none of its steps.
        let at = if running.steps.is_empty() { 0 } else { running.step_of(done.token.slot) };
        let step = running.steps.get(at);
        let whole = step.and_then(|step| Part::of_other(step.command.cause));
        let parts = match (parts, whole) {
            (Some(parts), Some(part)) => Some(Cow::Owned(parts.as_part(part))),
            (parts, _) => parts,
        };
        let parts = parts.as_deref();
        let end = if done.part == CompletionPart::Durable { done.durable } else { done.acknowledged };
        let until = match parts {
            None if done.part == CompletionPart::Durable => {
                let mut until = self.last();
                until.fit(end.since(self.begun), whole.unwrap_or(Part::Array));
                until
            }
            _ => self.until(end, parts, whole.unwrap_or(Part::Cache)),
        };
        if done.part != CompletionPart::Durable && step.is_none_or(|step| !step.later) {
            self.note_acknowledged(end, &until);
            if running.tell == Tell::First && step.is_some() {
                self.note_first(running, at, done, (end, until));
            }
        }
        if done.part == CompletionPart::Acknowledged || done.durable < self.others().durable.0 {
            return;
        }
        let disk = parts.is_some_and(|parts| parts.get(Part::Disk) > Span::ZERO);
        let rest = whole.unwrap_or(if disk { Part::Disk } else { Part::Array });
        let mut until = until;
        until.add(rest, done.durable.since(end));
        let last = &mut self.others().durable;
        if done.durable > last.0 || until > last.1 {
            *last = (done.durable, until);
        }
    }

    fn note_first(&mut self, running: &RunningPlan, at: usize, done: &Done<impl Contents>, until: Until) {
        let progress = &running.progress[at];
        let is_whole = progress.left == done.pages && !progress.void;
        let first = &mut self.others().first;
        let is_first = |one: Until| until.0 < one.0 || until.0 == one.0 && until.1 > one.1;
        if is_whole && first.is_none_or(is_first) {
            *first = Some(until);
        }
    }
}

/// Where the time of a completion went; none if it was an access to memory.
fn parts_of<'a, C: Contents>(
    backends: &'a mut impl Backends<C>,
    done: &Done<C>,
) -> Option<Cow<'a, Breakdown>> {
    match done.spent {
        TimeSpent::Memory => None,
        TimeSpent::Flash(flash) => Some(Cow::Owned(flash.breakdown())),
        TimeSpent::Listed(at) => {
            backends.breakdowns().map(|breakdowns| Cow::Borrowed(&breakdowns[at as usize]))
        }
    }
}

/// Adds a breakdown to the list of the backends.
fn list<C: Contents>(backends: &mut impl Backends<C>, parts: Breakdown) -> TimeSpent {
    backends.breakdowns().map_or(TimeSpent::Memory, |list| TimeSpent::list(list, parts))
}
