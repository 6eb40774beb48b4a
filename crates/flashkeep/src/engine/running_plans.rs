//! Runs plans that need more than their caller's counter: stages, a stripe, sums, or steps without a waiting request.
//!
//! A running plan's completion counter counts two completions. `undurable` drives the stages: the next one starts when
//! all submitted pages are durable. `unacknowledged` drives the caller, who is notified when all pages that it waits for
//! are acknowledged: in one message with the durable instant if that is known by then, otherwise in two.

use super::backends::{Backends, CompletionPart, CompletionToken, Done};
use super::command::{Flags, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::locks::LockMode;
use super::nodes::Nodes;
use super::plan::{Member, Plan, Release, Tell};
use super::ports::Ports;
use super::repair::FailedPage;
use super::requests::CompletionCounter;
use super::running::{Addition, PlanPhase, RunningPlan, Start, StripeHold, addition};
use super::schedule::{Due, Schedule};
use super::scheme::Scheme;
use super::tree::NodeId;
use super::view::View;
use super::work::WorkInProgress;
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> WorkInProgress<C> {
    /// The node of a plan's member.
    pub(super) fn target<S: Scheme>(
        &self,
        id: Id<RunningPlan>,
        member: Member,
        nodes: &Nodes<S>,
        ports: &Ports<C>,
    ) -> NodeId {
        let running = &self.running_plans[id];
        if running.node == NodeId::HOST {
            ports.node_of(running.port())
        } else {
            nodes[running.node].child(member)
        }
    }

    /// A plan whose steps are tracked waits for this many more pages (or fewer, where they are about to be counted
    /// again).
    #[inline(never)]
    pub(super) fn track(&mut self, token: CompletionToken, change: i32) {
        let counter = &mut self.counters[token.owner];
        let running = &mut self.running_plans[counter.running];
        let at = running.step_of(token.slot);
        let count = |pages: &mut u32| {
            *pages = pages.checked_add_signed(change).expect("what is taken back was counted");
        };
        count(&mut running.progress[at].left);
        if !running.steps[at].later {
            count(&mut counter.unacknowledged);
        }
    }

    /// A write was sent to a member that does not respond: it does not count for a plan that is acknowledged with its
    /// first step.
    pub(super) fn void<S: Scheme>(&mut self, node: NodeId, token: CompletionToken, nodes: &Nodes<S>) {
        let running = self.counters[token.owner].running;
        let parent = nodes[node].parent.map(|(parent, _)| parent);
        if running.is_some()
            && Some(self.running_plans[running].node) == parent
            && self.running_plans[running].tracks_steps()
        {
            let at = self.running_plans[running].step_of(token.slot);
            self.running_plans[running].progress[at].void = true;
        }
    }

    /// Whether the `n`th page that a read returns to its caller was lost on the way.
    fn is_lost_to_caller<S: Scheme>(&self, id: Id<RunningPlan>, n: u16, nodes: &Nodes<S>) -> bool {
        let running = &self.running_plans[id];
        let Some(place) = running.source(running.steps.len(), n) else { return false };
        running.lost[..running.lost_told].contains(&place)
            || self.is_spoiled(id, running.step_of(place), place, nodes)
    }

    fn bury(&mut self, id: Id<RunningPlan>) {
        let running = &self.running_plans[id];
        if running.phase == PlanPhase::Over && running.due == 0 {
            self.counters.release(running.counter);
            self.hedges.end(running.race);
            self.running_plans.release(id);
        }
    }

    /// Schedules the continuation of a running plan at `when`; false if that is now.
    #[inline(always)]
    fn put_off(
        &mut self,
        now: SimTime,
        when: SimTime,
        id: Id<RunningPlan>,
        due: Due,
        schedule: &mut Schedule,
    ) -> bool {
        let later = when > now;
        if later {
            self.running_plans[id].due += 1;
            schedule.due.push(when, due);
        }
        later
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Starts a plan with stages, as a running plan.
    #[inline(never)]
    pub(super) fn start<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        start: Start,
        plan: &mut Plan,
    ) {
        // Work before time 0 takes no time.
        let flags =
            plan.steps.first().map_or(start.command, |step| step.command).flags.with(start.command.flags);
        let xor = self.nodes.controller_of(start.node).xor;
        let takes_time = xor > Span::ZERO && !self.schedule.untimed && !flags.has(Flags::BEFORE);
        if let Some(key) = plan.under {
            self.work.locks.take(start.node, key, LockMode::Share);
        }
        let id = self.work.running_plans.claim();
        let running = &mut self.work.running_plans[id];
        let places = running.begin(start, plan, now);
        if !running.steps.is_empty() {
            self.work.unfinished.begin(running.node, id);
        }
        if takes_time {
            running.sums.addition = addition(&running.steps);
        }
        if C::KEEP {
            self.work.count_sums(id, plan.carry.or(plan.peek).or(plan.keep).is_some(), &self.nodes);
        }
        let counter = self.work.claim_counter(places);
        let running = &mut self.work.running_plans[id];
        running.counter = counter;
        self.work.counters[counter] = CompletionCounter::of(id, running.tracks_steps(), now);
        self.work.latencies.begin_plan(counter, now);
        if let Some(permille) = plan.hedge {
            self.work.begin_race(now, id, permille, places);
        }
        if !self.nodes.is_healthy() {
            self.work.buffers.take_lacking_sums(&mut self.work.running_plans[id], plan.carry, plan.peek);
        }
        self.work.buffers.lay_out(id, &mut self.work.running_plans[id], plan.carry, plan.peek);
        self.run_stage(backends, now, id);
    }

    /// Submits the steps of the next stage; without further steps, the plan ends.
    pub(super) fn run_stage<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<RunningPlan>) {
        let running = &mut self.work.running_plans[id];
        let (counter, node) = (running.counter, running.node);
        let computed = running.sums.addition == Addition::UnderWay;
        if computed {
            running.sums.addition = Addition::Done;
        }
        if self.work.latencies.are_measured() {
            self.work.latencies.note_stage(self.work.running_plans[id].counter, now, computed);
        }
        let running = &mut self.work.running_plans[id];
        if !running.is_told() {
            let counter = &mut self.work.counters[counter];
            counter.acknowledged = counter.acknowledged.max(now);
        }
        let stage = running.steps.get(running.next).map(|step| step.stage);
        if running.flushes.is_some_and(|at| stage.is_none_or(|stage| stage >= at))
            && self.flush_for(backends, now, id)
        {
            return;
        }
        let Some(stage) = stage else { return self.finish(backends, now, id) };
        loop {
            let running = &mut self.work.running_plans[id];
            let at = running.next;
            let Some(step) = running.steps.get(at).filter(|step| step.stage == stage) else { break };
            if let Addition::Pages(pages) = running.sums.addition
                && step.is_from_sums()
            {
                return self.add_up(now, id, pages);
            }
            running.next = at + 1;
            if C::KEEP || !running.lost.is_empty() {
                // This clears a flag of the step if the contents that it replaces are lost.
                self.work.buffers.work_out(id, &mut self.work.running_plans[id], at);
            }
            let running = &self.work.running_plans[id];
            let step = running.steps[at];
            if step.is_missing() {
                let places = running.bases[at]..running.bases[at] + u32::from(step.command.count);
                self.work.running_plans[id].lost.extend(places);
            } else if step.travels() {
                let token = CompletionToken::at(counter, running.bases[at], running.caller.age);
                let mut command = step.command;
                command.flags = command.flags.with(running.command.flags.inherited());
                let target;
                if node == NodeId::HOST {
                    let port = running.port();
                    target = self.ports.node_of(port);
                    self.dispatch_behind(backends, now, port, command, token);
                } else {
                    target = self.nodes[node].child(step.member);
                    self.dispatch(backends, now, target, command, token);
                }
                let running = &self.work.running_plans[id];
                if !running.lost.is_empty() || running.sums.lack {
                    self.poison(backends, now, id, at, target);
                }
            }
        }
        if !self.nodes.is_healthy() {
            self.work.note_lacking_sums(id, &self.nodes);
        }
        self.work.buffers.keep_sums(id, &mut self.work.running_plans[id]);
        if self.ports.has_open() {
            self.send_open(backends, now, counter);
        }
        self.note_submitted(backends, now, id);
        if self.work.counters[counter].undurable > 0 {
            return self.tell_if_acknowledged(backends, now, id);
        }
        self.stage_over(backends, now, id);
    }

    /// If all steps of a plan have been submitted, its stripe may be free for all, or for reads.
    fn note_submitted<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<RunningPlan>) {
        let running = &mut self.work.running_plans[id];
        if running.next < running.steps.len() {
            return;
        }
        let node = running.node;
        self.work.unfinished.end(node, id);
        let StripeHold::Held(key) = running.stripe else { return };
        if running.release == Release::Submitted {
            running.stripe = StripeHold::Released(key);
            self.unlock(backends, now, node, key);
        } else if node != NodeId::HOST && running.changes_pages() && self.nodes.may_read_early(node) {
            self.let_reads_pass(backends, now, node, key);
        }
    }

    /// The controller computes the sums of a plan, one plan after the other; then the stage continues.
    fn add_up(&mut self, now: SimTime, id: Id<RunningPlan>, pages: u32) {
        let running = &mut self.work.running_plans[id];
        running.sums.addition = Addition::UnderWay;
        running.due += 1;
        let node = running.node;
        let end = self.nodes.add_up(now, node, pages);
        self.schedule.due.push(end, Due::Stage(id.raw()));
    }

    /// Handles completed pages of a running plan's step: stores contents, adds to the sums, updates counters, and
    /// continues the plan.
    #[inline(never)]
    pub(super) fn receive<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
        done: &Done<C>,
    ) {
        self.work.buffers.take_in(id, &self.work.running_plans[id], done);
        let running = &mut self.work.running_plans[id];
        let counter = &mut self.work.counters[running.counter];
        let mut first = None;
        if done.part != CompletionPart::Durable {
            counter.service = counter.service.max(done.service);
            let mut awaited = true;
            if counter.tracked {
                (awaited, first) = running.note_progress(done.token.slot, done.pages, done.acknowledged);
            }
            if awaited {
                counter.unacknowledged -= done.pages;
                counter.acknowledged = counter.acknowledged.max(done.acknowledged);
            }
        }
        if done.part != CompletionPart::Acknowledged {
            counter.durable = counter.durable.max(done.durable);
            counter.undurable -= done.pages;
        }
        let acknowledged = counter.unacknowledged == 0;
        let stage_over = counter.undurable == 0 && running.sums.addition != Addition::UnderWay;
        if stage_over && running.next == running.steps.len() && running.flushes.is_none() {
            return self.finish(backends, now, id);
        }
        if let Some(when) = first
            && !self.work.put_off(now, when, id, Due::First(id.raw()), &mut self.schedule)
        {
            self.first(backends, now, id);
        }
        if acknowledged {
            self.tell_if_acknowledged(backends, now, id);
        }
        if stage_over {
            self.stage_over(backends, now, id);
        }
    }

    /// The caller continues when all pages that it waits for are done, even if others follow.
    #[inline(never)]
    fn tell_if_acknowledged<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<RunningPlan>) {
        let running = &self.work.running_plans[id];
        let acknowledged = self.work.counters[running.counter].unacknowledged == 0 && !running.race.is_some();
        let complete = acknowledged && running.next >= running.awaited;
        if complete && !running.is_told() && running.tell == Tell::All {
            self.tell(backends, now, id, CompletionPart::Acknowledged, now);
        }
    }

    /// If all steps submitted so far are durable, the next stage starts.
    fn stage_over<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<RunningPlan>) {
        let running = &mut self.work.running_plans[id];
        let counter = &mut self.work.counters[running.counter];
        running.service += std::mem::take(&mut counter.service);
        let when = counter.durable;
        if !self.work.put_off(now, when, id, Due::Stage(id.raw()), &mut self.schedule) {
            self.run_stage(backends, now, id);
        }
    }

    /// All steps are acknowledged: tells the caller; the stripe is released when they are durable.
    pub(super) fn finish<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<RunningPlan>) {
        let running = &mut self.work.running_plans[id];
        let counter = &mut self.work.counters[running.counter];
        let durable = counter.durable.max(now);
        let part = if running.is_told() { CompletionPart::Durable } else { CompletionPart::Both };
        if !running.is_told() && running.tell == Tell::First {
            counter.acknowledged = running.first().unwrap_or(durable);
        }
        self.tell(backends, now, id, part, durable);
        if !self.work.put_off(now, durable, id, Due::Over(id.raw()), &mut self.schedule) {
            self.over(backends, now, id);
        }
    }

    /// The first step of a plan that waits for one only is acknowledged.
    pub(super) fn first<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<RunningPlan>) {
        let running = &self.work.running_plans[id];
        if !running.is_told() {
            self.work.counters[running.counter].acknowledged = running.first().unwrap_or(now);
            self.tell(backends, now, id, CompletionPart::Acknowledged, now);
        }
    }

    /// Tells the caller of a plan, and passes up the contents that it read.
    pub(super) fn tell<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
        part: CompletionPart,
        durable: SimTime,
    ) {
        let running = &self.work.running_plans[id];
        let in_vain = running.wanted().is_some()
            && (running.sums.lack || self.work.is_repaired_in_vain(id, &self.nodes));
        let running = &mut self.work.running_plans[id];
        let again = running.is_told();
        running.phase = PlanPhase::Told;
        // The caller of a hedged read, or of the second one, has all that it waits for.
        if running.background().is_some() || again && (running.race.is_some() || running.is_second()) {
            return;
        }
        if !again {
            running.lost.extend(running.source(running.steps.len(), 0).filter(|_| in_vain));
            running.lost_told = running.lost.len();
        }
        let (caller, command, node, lost) =
            (running.caller, running.command, running.node, running.lost_told > 0);
        let CompletionCounter { acknowledged, service, .. } = self.work.counters[running.counter];
        let service = running.service + service;
        let spent = self.work.latencies.of_plan(
            backends,
            &self.work.running_plans[id],
            if again { durable } else { acknowledged },
            again,
        );
        let done = Done { acknowledged, service, part, spent, ..Done::at(caller, 1, durable) };
        if command.verb != Verb::Read {
            self.work.counters[caller.owner].lost += u32::from(lost && node == NodeId::HOST && !again);
            backends.done().push(Done { pages: u32::from(command.count), ..done });
            return;
        }
        if self.work.running_plans[id].is_second() {
            let lost = lost && self.work.is_lost_to_caller(id, 0, &self.nodes);
            return self.tell_race(backends, now, id, done, lost);
        }
        for n in 0..command.count {
            let token = caller.plus(u32::from(n));
            if !lost || !self.work.is_lost_to_caller(id, n, &self.nodes) {
                backends.done().push(Done {
                    token,
                    contents: self.work.buffers.read_for_caller(&self.work.running_plans[id], n),
                    ..done
                });
            } else if !again {
                self.work.latencies.note_failed(backends, now, &Done { token, ..done });
                match self.work.running_plans[id].repair() {
                    Some(repair) => self.lose(backends, now, repair.wanted),
                    None if self.work.running_plans[id].around => {
                        self.read_directly(backends, now, node, command.part(u32::from(n), 1), token);
                    }
                    None => {
                        let page = self.nodes.outer(node, command.start.plus(u32::from(n)));
                        let flags = command.flags;
                        self.failed(backends, now, FailedPage { child: node, page, token, flags });
                    }
                }
            }
        }
    }

    /// The plan is durable: releases its stripe and frees its running plan.
    pub(super) fn over<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, id: Id<RunningPlan>) {
        let running = &mut self.work.running_plans[id];
        running.phase = PlanPhase::Over;
        let (node, stripe, background, under) =
            (running.node, running.stripe, running.background(), running.under);
        let key = stripe.key();
        if let Some(key) = key {
            if node != NodeId::HOST {
                let lacks = !running.lost.is_empty();
                let restores = background.is_some_and(|piece| piece.restores);
                let fell_short = background.is_some() && (self.nodes.health.take_refused(node, key) || lacks);
                self.with_view(backends, node, |scheme, view| {
                    scheme.settled(key, &View { fell_short, ..*view });
                });
                if self.nodes.health.is_watched(node) {
                    self.note_settled(backends, node, key, restores, fell_short);
                }
                if !self.nodes.is_healthy() {
                    self.schedule.begin_rebuild(now, node, &self.nodes);
                }
            }
            if let StripeHold::Held(key) = stripe {
                self.unlock(backends, now, node, key);
            }
        }
        if let Some(key) = under {
            self.work.locks.release(node, key);
        }
        if node != NodeId::HOST && (key.is_some() || background.is_some()) {
            self.nodes.note_exposure(now, node);
        }
        if let Some(piece) = background {
            self.background_over(backends, now, node);
            if let Some(since) = piece.rebuilds {
                self.schedule.end_piece(now, node, since, &self.nodes);
            }
        } else if under.is_some() || !self.nodes.is_healthy() && key.is_some() && node != NodeId::HOST {
            self.press(backends, now, node);
        }
        self.work.bury(id);
    }

    /// A continuation of a running plan is due; one whose plan has ended was kept only for it.
    pub(super) fn arrive<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
        what: fn(&mut Self, &mut L, SimTime, Id<RunningPlan>),
    ) {
        self.work.running_plans[id].due -= 1;
        if self.work.running_plans[id].phase == PlanPhase::Over {
            self.work.bury(id);
        } else {
            what(self, backends, now, id);
        }
    }
}
