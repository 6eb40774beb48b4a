//! Background work of schemes: in idle time, after a timer, or to make room.

use super::backends::{Backends, CompletionToken};
use super::command::{Command, Flags};
use super::contents::Contents;
use super::executor::{Due, Engine};
use super::latency::Waited;
use super::locks::LockMode;
use super::plan::Why;
use super::running::{BackgroundPiece, Purpose, Start};
use super::scheme::{Capabilities, Scheme, Triggers};
use super::tree::NodeId;
use crate::kernel::{SimTime, Span};
use std::collections::VecDeque;

/// Commands that their scheme made wait, and the later commands, by node; each with how long it has waited.
#[derive(Clone, Debug)]
pub(super) struct Parked {
    queues: Vec<VecDeque<(Command, CompletionToken, Waited)>>,
    total: usize,
}

impl Parked {
    pub(super) fn new(nodes: usize) -> Self {
        Parked { queues: vec![VecDeque::new(); nodes], total: 0 }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    #[inline]
    pub(super) fn has_none(&self, node: NodeId) -> bool {
        self.total == 0 || self.queues[node.index()].is_empty()
    }

    /// Commands that wait at a node, in order.
    pub(super) fn commands(&self, node: NodeId) -> impl Iterator<Item = &Command> {
        self.queues[node.index()].iter().map(|(piece, ..)| piece)
    }

    pub(super) fn push_back(&mut self, node: NodeId, piece: Command, token: CompletionToken, waited: Waited) {
        self.insert(node, self.queues[node.index()].len(), piece, token, waited);
    }

    pub(super) fn insert(
        &mut self,
        node: NodeId,
        at: usize,
        piece: Command,
        token: CompletionToken,
        waited: Waited,
    ) {
        self.queues[node.index()].insert(at, (piece, token, waited));
        self.total += 1;
    }

    fn pop(&mut self, node: usize) -> Option<(Command, CompletionToken, Waited)> {
        let first = self.queues[node].pop_front()?;
        self.total -= 1;
        Some(first)
    }
}

/// When to ask each scheme for background work next, and since when there are no requests.
#[derive(Clone, Debug)]
pub(super) struct BackgroundClock {
    /// Requests that are not acknowledged yet.
    pub(super) foreground: u32,
    idle_since: SimTime,
    alarms: Vec<Alarm>,
    /// The nodes whose schemes use idle time.
    idlers: Vec<NodeId>,
    /// No more pieces of a rebuild begin.
    pub(super) rebuilds_stopped: bool,
    /// Pieces of rebuilds that have ended, those of a recovery left out.
    pub(super) pieces: u64,
}

/// When to ask a scheme for background work next. A deadline that was moved is detected when it expires, so that moving
/// it is a single store.
#[derive(Clone, Copy, Debug, Default)]
struct Alarm {
    triggers: Triggers,
    wake_at: SimTime,
    wake_armed: bool,
    idle_armed: bool,
    /// Whether the scheme needs no calls but `plan` while no part has failed.
    stateless: bool,
    /// The number of background plans under way.
    working: u32,
    /// The number of sequences of rebuild pieces.
    rebuilders: u32,
}

impl BackgroundClock {
    pub(super) fn new<S: Scheme>(schemes: &[Option<S>]) -> Self {
        let alarm = |scheme: &Option<S>| {
            let Capabilities { triggers, stateless, .. } =
                scheme.as_ref().map(Scheme::capabilities).unwrap_or_default();
            Alarm { triggers, stateless, ..Alarm::default() }
        };
        let alarms: Vec<_> = schemes.iter().map(alarm).collect();
        let idlers = (0..alarms.len()).filter(|&node| alarms[node].triggers.idle_after.is_some());
        let idlers = idlers.map(|node| NodeId(node as u16)).collect();
        BackgroundClock {
            foreground: 0,
            idle_since: SimTime::ZERO,
            alarms,
            idlers,
            rebuilds_stopped: false,
            pieces: 0,
        }
    }

    pub(super) fn rebuilders(&mut self, node: NodeId) -> &mut u32 {
        &mut self.alarms[node.index()].rebuilders
    }

    /// Whether any node is being rebuilt.
    pub(super) fn is_rebuilding(&self) -> bool {
        self.alarms.iter().any(|alarm| alarm.rebuilders > 0)
    }

    /// When the idle work of the node may begin.
    fn idle_at(&self, node: NodeId) -> Option<SimTime> {
        self.alarms[node.index()].triggers.idle_after.map(|span: Span| self.idle_since + span)
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Asks the scheme at `node` for one piece of background work; false if it has none now.
    pub fn background<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        why: Why,
    ) -> bool {
        let work = self.ask(backends, now, node, why);
        if work {
            self.settle(backends, now);
        }
        work
    }

    /// How many pieces of background work are under way at `node`.
    #[must_use]
    pub fn working(&self, node: NodeId) -> u32 {
        self.clock.alarms[node.index()].working
    }

    pub(super) fn ask<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        why: Why,
    ) -> bool {
        let mut plan = self.blank_plan();
        let restores = why == Why::Rebuild && self.restore(backends, node, &mut plan);
        // A recovery restores what the power loss took; the rest of a rebuild follows.
        let waits = why == Why::Rebuild && self.recovery.is_some();
        let work = restores
            || !waits
                && self.with_view(backends, node, |scheme, view| scheme.background(why, view, &mut plan));
        if work {
            self.note_exposure(now, node);
            if let Some(key) = plan.hold {
                self.locks.take(node, key, LockMode::Hold);
            }
            self.clock.alarms[node.index()].working += 1;
            let command = Command { flags: Flags::BACKGROUND, ..Command::default() };
            let caller = CompletionToken { age: self.age_at(node), ..CompletionToken::default() };
            // A caller outside the engine sets its own pace.
            let paced = why == Why::Rebuild && self.controller_of(node).rebuild_permille > 0;
            let rebuilds = paced.then_some(now);
            let purpose = Purpose::Background(BackgroundPiece { rebuilds, restores });
            let start = Start { purpose, ..Start::new(node, command, caller) }.holding(plan.hold);
            self.start(backends, now, start, &mut plan);
        }
        self.plans.push(plan);
        work
    }

    /// Plans waiting commands again, in order, and asks their scheme to make room; returns whether anything changed.
    #[cold]
    pub(super) fn retry<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) -> bool {
        let mut moved = false;
        for node in self.nodes.ids() {
            while let Some((piece, token, mut waited)) = self.parked.pop(node.index()) {
                let pages = u32::from(piece.count);
                self.unaccount(token, pages);
                waited.for_room(now);
                if self.attempt(backends, now, node, &piece, token, Some(&waited)) {
                    moved = true;
                    continue;
                }
                self.account(token, pages);
                self.parked.insert(node, 0, piece, token, waited);
                if !self.ask(backends, now, node, Why::Urgent) {
                    break;
                }
                moved = true;
            }
        }
        moved
    }

    /// Asks a scheme with urgent work for it.
    #[inline]
    pub(super) fn press<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        while self.scheme_mut(node).urgent()
            && self.recovery.is_none()
            && !self.has_stopped(node)
            && self.ask(backends, now, node, Why::Urgent)
        {}
    }

    /// Whether the node belongs to a member that has failed as a whole, and no command waits at it: its scheme knows
    /// nothing of the failure, and would repeat work that cannot succeed.
    fn has_stopped(&self, node: NodeId) -> bool {
        let shape = |node: NodeId| &self.nodes[node];
        let mut path = std::iter::successors(Some(node), |&node| shape(node).parent.map(|(above, _)| above));
        self.has_faults && self.parked.has_none(node) && path.any(|node| !shape(node).alive)
    }

    /// A background plan has ended: if the work is urgent, or in idle time, the next piece follows.
    pub(super) fn background_over<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        self.clock.alarms[node.index()].working -= 1;
        self.press(backends, now, node);
        self.watch(now, node);
    }

    /// A request is acknowledged; with none left, idle time begins.
    #[inline]
    pub(super) fn foreground_done(&mut self, acknowledged: SimTime) {
        self.clock.foreground -= 1;
        self.clock.idle_since = self.clock.idle_since.max(acknowledged);
        if self.clock.foreground == 0 && !self.clock.idlers.is_empty() {
            for index in 0..self.clock.idlers.len() {
                self.watch(SimTime::ZERO, self.clock.idlers[index]);
            }
        }
    }

    /// Arms the node's idle alarm, no earlier than `now`.
    fn watch(&mut self, now: SimTime, node: NodeId) {
        let Some(at) = self.clock.idle_at(node) else { return };
        let alarm = &mut self.clock.alarms[node.index()];
        if self.clock.foreground == 0 && !std::mem::replace(&mut alarm.idle_armed, true) {
            self.due.push(at.max(now), Due::Idle(node));
        }
    }

    /// Asks schemes for idle work if there were no requests for their idle time.
    pub(super) fn idle<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        self.clock.alarms[node.index()].idle_armed = false;
        if self.clock.foreground > 0 || self.working(node) > 0 {
            return;
        }
        if self.clock.idle_at(node).is_some_and(|at| at <= now) {
            self.ask(backends, now, node, Why::Idle);
        } else {
            self.watch(now, node);
        }
    }

    /// Whether the node's scheme needs no calls but `plan`.
    #[inline]
    pub(super) fn is_stateless(&self, node: NodeId) -> bool {
        !self.has_faults && self.clock.alarms[node.index()].stateless
    }

    /// The node has received a command that is not a read: resets its timer, and updates the number of exposed pages.
    #[inline]
    pub(super) fn note_change(&mut self, now: SimTime, node: NodeId) {
        self.note_exposure(now, node);
        self.arm_wake(now, node);
    }

    fn arm_wake(&mut self, now: SimTime, node: NodeId) {
        let alarm = &mut self.clock.alarms[node.index()];
        let Some(span) = alarm.triggers.wake_after else { return };
        if alarm.triggers.from_first && alarm.wake_armed {
            return;
        }
        alarm.wake_at = now + span;
        if !std::mem::replace(&mut alarm.wake_armed, true) {
            self.due.push(now + span, Due::Wake(node));
        }
    }

    /// Lets all timers expire, then sets the time back to 0, with no exposure recorded.
    ///
    /// # Panics
    /// If an operation that takes time is under way.
    pub fn rest<L: Backends<C>>(&mut self, backends: &mut L) {
        while self.next_due() < SimTime::NEVER {
            let at = self.next_due();
            self.advance(backends, at);
        }
        assert!(
            self.running_plans.live() == 0 && self.parked.is_empty(),
            "an idle engine has no plans and no parked commands"
        );
        self.clock.idle_since = SimTime::ZERO;
        self.clock.alarms.iter_mut().for_each(|alarm| alarm.wake_at = SimTime::ZERO);
        self.exposure.forget_time();
    }

    /// Long enough after the last command that all timers have expired.
    pub(super) fn wake<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        let alarm = &mut self.clock.alarms[node.index()];
        if alarm.wake_at > now {
            self.due.push(alarm.wake_at, Due::Wake(node));
            return;
        }
        alarm.wake_armed = false;
        while self.ask(backends, now, node, Why::Wake) {}
    }
}
