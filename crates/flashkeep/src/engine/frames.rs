//! Runs plans that need more than their caller's counter: stages, a stripe, sums, or steps without a waiting request.
//!
//! A frame's completion counter counts two completions. `undurable` drives the stages: the next one starts when all
//! submitted pages are durable. `unacknowledged` drives the caller, who is told when all pages that it waits for are
//! acknowledged: in one message with the durable instant if that is known by then, otherwise in two.

use super::command::{Flags, Verb};
use super::contents::Contents;
use super::executor::{Due, Engine};
use super::frame::{Addition, Frame, PlanPhase, Start, StripeHold, addition};
use super::leaves::{CompletionPart, Done, Leaves, Ticket};
use super::locks::LockMode;
use super::plan::{Member, Plan, Release, Step, Tell};
use super::repair::FailedPage;
use super::requests::Join;
use super::scheme::Scheme;
use super::tree::NodeId;
use super::view::View;
use crate::kernel::{Id, SimTime, Span};

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Starts a plan that has a frame of its own.
    #[inline(never)]
    pub(super) fn start<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        start: Start,
        plan: &mut Plan,
    ) {
        // Work before time 0 takes no time.
        let flags =
            plan.steps.first().map_or(start.command, |step| step.command).flags.with(start.command.flags);
        let xor = self.controller_of(start.node).xor;
        let takes_time = xor > Span::ZERO && !self.untimed && !flags.has(Flags::BEFORE);
        if let Some(key) = plan.under {
            self.locks.take(start.node, key, LockMode::Share);
        }
        let id = self.frames.claim();
        let frame = &mut self.frames[id];
        let places = frame.begin(start, plan);
        if takes_time {
            frame.sums.addition = addition(&frame.steps);
        }
        frame.sums.second = C::KEEP && frame.steps.iter().any(Step::is_of_second_sum);
        let join = self.claim_join(places);
        let frame = &mut self.frames[id];
        frame.join = join;
        self.joins[join] = Join::of(id, frame.tracks_steps(), now);
        if self.troubled {
            self.take_lacking_sums(id, plan.carry, plan.peek);
        }
        self.lay_out(id, plan.carry, plan.peek);
        self.run_stage(leaves, now, id);
    }

    /// Submits the steps of the next stage; without further steps, the plan ends.
    pub(super) fn run_stage<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let frame = &mut self.frames[id];
        let (join, node) = (frame.join, frame.node);
        if frame.sums.addition == Addition::UnderWay {
            frame.sums.addition = Addition::Done;
        }
        if !frame.is_told() {
            let join = &mut self.joins[join];
            join.acknowledged = join.acknowledged.max(now);
        }
        let Some(stage) = frame.steps.get(frame.next).map(|step| step.stage) else {
            return self.finish(leaves, now, id);
        };
        loop {
            let frame = &mut self.frames[id];
            let at = frame.next;
            let Some(step) = frame.steps.get(at).filter(|step| step.stage == stage) else { break };
            if let Addition::Pages(pages) = frame.sums.addition
                && step.is_from_sums()
            {
                return self.add_up(now, id, pages);
            }
            frame.next = at + 1;
            if C::KEEP || !frame.lost.is_empty() {
                // This clears a flag of the step if the contents that it replaces are lost.
                self.work_out(id, at);
            }
            let frame = &self.frames[id];
            let step = frame.steps[at];
            if step.is_missing() {
                let places = frame.bases[at]..frame.bases[at] + u32::from(step.command.count);
                self.frames[id].lost.extend(places);
            } else if step.travels() {
                let ticket = Ticket::at(join, frame.bases[at], frame.caller.age);
                let mut command = step.command;
                command.flags = command.flags.with(frame.command.flags.inherited());
                let target;
                if node == NodeId::HOST {
                    let port = frame.port();
                    target = self.ports.node_of(port);
                    self.dispatch_behind(leaves, now, port, command, ticket);
                } else {
                    target = self.shape[node.index()].child(step.member);
                    self.dispatch(leaves, now, target, command, ticket);
                }
                let frame = &self.frames[id];
                if !frame.lost.is_empty() || frame.sums.lack {
                    self.spoil(leaves, now, id, at, target);
                }
            }
        }
        if self.troubled {
            self.note_lacking_sums(id);
        }
        self.keep_sums(id);
        if self.ports.has_open() {
            self.send_open(leaves, now, join);
        }
        let frame = &mut self.frames[id];
        if frame.release == Release::Submitted
            && frame.next == frame.steps.len()
            && let StripeHold::Held(key) = frame.stripe
        {
            frame.stripe = StripeHold::Released(key);
            self.unlock(leaves, now, node, key);
        }
        if self.joins[join].undurable > 0 {
            return self.tell_if_acknowledged(leaves, now, id);
        }
        self.stage_over(leaves, now, id);
    }

    /// The controller computes the sums of a plan, one plan after the other; then the stage continues.
    fn add_up(&mut self, now: SimTime, id: Id<Frame>, pages: u32) {
        let frame = &mut self.frames[id];
        frame.sums.addition = Addition::UnderWay;
        frame.due += 1;
        let node = frame.node;
        let (xor, level) = (self.controller_of(node).xor, self.level_of(node));
        let free_at = &mut self.xor_free[level];
        let end = (*free_at).max(now) + Span(xor.0 * u64::from(pages));
        *free_at = end;
        self.due.push(end, Due::Stage(id.raw()));
    }

    /// The node of a plan's member.
    pub(super) fn target(&self, id: Id<Frame>, member: Member) -> NodeId {
        let frame = &self.frames[id];
        if frame.node == NodeId::HOST {
            self.ports.node_of(frame.port())
        } else {
            self.shape[frame.node.index()].child(member)
        }
    }

    /// A plan whose steps are tracked waits for this many more pages (or fewer, where they are about to be counted anew).
    #[inline(never)]
    pub(super) fn track(&mut self, ticket: Ticket, change: i32) {
        let join = &mut self.joins[ticket.owner];
        let frame = &mut self.frames[join.frame];
        let at = frame.step_of(ticket.slot);
        let count = |pages: &mut u32| {
            *pages = pages.checked_add_signed(change).expect("what is taken back was counted");
        };
        count(&mut frame.progress[at].left);
        if !frame.steps[at].later {
            count(&mut join.unacknowledged);
        }
    }

    /// A write was sent to a member that does not respond: it does not count for a plan that is acknowledged with its
    /// first step.
    pub(super) fn void(&mut self, node: NodeId, ticket: Ticket) {
        let frame = self.joins[ticket.owner].frame;
        let parent = self.shape[node.index()].parent.map(|(parent, _)| parent);
        if frame.is_some() && Some(self.frames[frame].node) == parent && self.frames[frame].tracks_steps() {
            let at = self.frames[frame].step_of(ticket.slot);
            self.frames[frame].progress[at].void = true;
        }
    }

    /// Handles completed pages of a frame's step: stores contents, adds to the sums, updates counters, and continues
    /// the plan.
    #[inline(never)]
    pub(super) fn receive<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        id: Id<Frame>,
        done: &Done<C>,
    ) {
        self.take_in(id, done);
        let frame = &mut self.frames[id];
        let join = &mut self.joins[frame.join];
        let mut first = None;
        if done.part != CompletionPart::Durable {
            join.service = join.service.max(done.service);
            let mut awaited = true;
            if join.tracked {
                (awaited, first) = frame.note_progress(done.ticket.slot, done.pages, done.acknowledged);
            }
            if awaited {
                join.unacknowledged -= done.pages;
                join.acknowledged = join.acknowledged.max(done.acknowledged);
            }
        }
        if done.part != CompletionPart::Acknowledged {
            join.durable = join.durable.max(done.durable);
            join.undurable -= done.pages;
        }
        let acknowledged = join.unacknowledged == 0;
        let stage_over = join.undurable == 0 && frame.sums.addition != Addition::UnderWay;
        if stage_over && frame.next == frame.steps.len() {
            return self.finish(leaves, now, id);
        }
        if let Some(when) = first
            && !self.put_off(now, when, id, Due::First(id.raw()))
        {
            self.first(leaves, now, id);
        }
        if acknowledged {
            self.tell_if_acknowledged(leaves, now, id);
        }
        if stage_over {
            self.stage_over(leaves, now, id);
        }
    }

    /// The caller continues when all pages that it waits for are done, even if others follow.
    #[inline(never)]
    fn tell_if_acknowledged<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let frame = &self.frames[id];
        let complete = self.joins[frame.join].unacknowledged == 0 && frame.next >= frame.awaited;
        if complete && !frame.is_told() && frame.tell == Tell::All {
            self.tell(leaves, now, id, CompletionPart::Acknowledged, now);
        }
    }

    /// If all steps submitted so far are durable, the next stage starts.
    fn stage_over<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let frame = &mut self.frames[id];
        let join = &mut self.joins[frame.join];
        frame.service += std::mem::take(&mut join.service);
        let when = join.durable;
        if !self.put_off(now, when, id, Due::Stage(id.raw())) {
            self.run_stage(leaves, now, id);
        }
    }

    /// All steps are acknowledged: tells the caller; the stripe is released when they are durable.
    fn finish<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let frame = &mut self.frames[id];
        let join = &mut self.joins[frame.join];
        let durable = join.durable.max(now);
        let part = if frame.is_told() { CompletionPart::Durable } else { CompletionPart::Both };
        if !frame.is_told() && frame.tell == Tell::First {
            join.acknowledged = frame.first().unwrap_or(durable);
        }
        self.tell(leaves, now, id, part, durable);
        if !self.put_off(now, durable, id, Due::Over(id.raw())) {
            self.over(leaves, now, id);
        }
    }

    /// The first step of a plan that waits for one only is acknowledged.
    pub(super) fn first<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let frame = &self.frames[id];
        if !frame.is_told() {
            self.joins[frame.join].acknowledged = frame.first().unwrap_or(now);
            self.tell(leaves, now, id, CompletionPart::Acknowledged, now);
        }
    }

    /// Tells the caller of a plan, and passes up the contents that it read.
    fn tell<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        id: Id<Frame>,
        part: CompletionPart,
        durable: SimTime,
    ) {
        let frame = &self.frames[id];
        let in_vain = frame.repair().is_some() && (frame.sums.lack || self.is_repaired_in_vain(id));
        let frame = &mut self.frames[id];
        let again = frame.is_told();
        frame.phase = PlanPhase::Told;
        if frame.background().is_some() {
            return;
        }
        if !again {
            frame.lost.extend(frame.source(frame.steps.len(), 0).filter(|_| in_vain));
            frame.lost_told = frame.lost.len();
        }
        let (caller, command, node, lost) = (frame.caller, frame.command, frame.node, frame.lost_told > 0);
        let Join { acknowledged, service, .. } = self.joins[frame.join];
        let service = frame.service + service;
        let done = Done { acknowledged, service, part, ..Done::at(caller, 1, durable) };
        if command.verb != Verb::Read {
            self.joins[caller.owner].lost += u32::from(lost && node == NodeId::HOST && !again);
            leaves.done().push(Done { pages: u32::from(command.count), ..done });
            return;
        }
        for n in 0..command.count {
            let ticket = caller.plus(u32::from(n));
            if !lost || !self.is_lost_to_caller(id, n) {
                leaves.done().push(Done { ticket, contents: self.read_for_caller(id, n), ..done });
            } else if !again {
                match self.frames[id].repair() {
                    Some(repair) => self.lose(leaves, now, repair.wanted),
                    None => {
                        let page = self.outer(node, command.start.plus(u32::from(n)));
                        let flags = command.flags;
                        self.failed(leaves, now, FailedPage { child: node, page, ticket, flags });
                    }
                }
            }
        }
    }

    /// Whether what the caller of a read is told of its `n`th page was lost on the way.
    fn is_lost_to_caller(&self, id: Id<Frame>, n: u16) -> bool {
        let frame = &self.frames[id];
        let Some(place) = frame.source(frame.steps.len(), n) else { return false };
        frame.lost[..frame.lost_told].contains(&place) || self.is_spoiled(id, frame.step_of(place), place)
    }

    /// The plan is durable: releases its stripe and frees its frame.
    pub(super) fn over<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let frame = &mut self.frames[id];
        frame.phase = PlanPhase::Over;
        let (node, stripe, background, under) = (frame.node, frame.stripe, frame.background(), frame.under);
        let key = stripe.key();
        if let Some(key) = key {
            if node != NodeId::HOST {
                let lacks = !frame.lost.is_empty();
                let restores = background.is_some_and(|piece| piece.restores);
                let fell_short = background.is_some() && (self.health.take_refused(node, key) || lacks);
                self.consult(leaves, node, |scheme, view| {
                    scheme.settled(key, &View { fell_short, ..*view });
                });
                if self.health.is_watched(node) {
                    self.note_settled(leaves, node, key, restores, fell_short);
                }
                if self.troubled {
                    self.begin_rebuild(now, node);
                }
            }
            if let StripeHold::Held(key) = stripe {
                self.unlock(leaves, now, node, key);
            }
        }
        if let Some(key) = under {
            self.locks.release(node, key);
        }
        if node != NodeId::HOST && (key.is_some() || background.is_some()) {
            self.note_exposure(now, node);
        }
        if let Some(piece) = background {
            self.background_over(leaves, now, node);
            if let Some(since) = piece.rebuilds {
                self.rebuilt(now, node, since);
            }
        } else if under.is_some() || self.troubled && key.is_some() && node != NodeId::HOST {
            self.press(leaves, now, node);
        }
        self.bury(id);
    }

    fn bury(&mut self, id: Id<Frame>) {
        let frame = &self.frames[id];
        if frame.phase == PlanPhase::Over && frame.due == 0 {
            self.joins.release(frame.join);
            self.frames.release(id);
        }
    }

    /// Schedules the continuation of a frame at `when`; false if that is now.
    #[inline(always)]
    fn put_off(&mut self, now: SimTime, when: SimTime, id: Id<Frame>, due: Due) -> bool {
        let later = when > now;
        if later {
            self.frames[id].due += 1;
            self.due.push(when, due);
        }
        later
    }

    /// A continuation of a frame is due; a frame whose plan has ended was kept only for it.
    pub(super) fn arrive<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        id: Id<Frame>,
        what: fn(&mut Self, &mut L, SimTime, Id<Frame>),
    ) {
        self.frames[id].due -= 1;
        if self.frames[id].phase == PlanPhase::Over {
            self.bury(id);
        } else {
            what(self, leaves, now, id);
        }
    }
}
