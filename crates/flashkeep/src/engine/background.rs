//! Background work of schemes: in idle time, after a timer, or to make room.

use super::backends::{Backends, CompletionToken};
use super::command::{Command, Flags};
use super::contents::Contents;
use super::executor::Engine;
use super::latency::Waited;
use super::locks::LockMode;
use super::plan::Why;
use super::running::{BackgroundPiece, Purpose, Start};
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::kernel::SimTime;
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

    pub(super) fn ask<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        why: Why,
    ) -> bool {
        let mut plan = self.spare_plans.take();
        let restores = why == Why::Rebuild && self.restore(backends, node, &mut plan);
        // A recovery restores what the power loss took; the rest of a rebuild follows.
        let waits = why == Why::Rebuild && self.nodes.is_recovering();
        let work = restores
            || !waits
                && self.with_view(backends, node, |scheme, view| scheme.background(why, view, &mut plan));
        if work {
            self.nodes.note_exposure(now, node);
            if let Some(key) = plan.hold {
                self.work.locks.take(node, key, LockMode::Hold);
            }
            self.schedule.begin_work(node);
            let command = Command { flags: Flags::BACKGROUND, ..Command::default() };
            let caller = CompletionToken {
                age: self.ports.age_at(node, &self.nodes).unwrap_or(self.work.opened),
                ..CompletionToken::default()
            };
            // A caller outside the engine sets its own pace.
            let paced = why == Why::Rebuild && self.nodes.controller_of(node).rebuild_permille > 0;
            let rebuilds = paced.then_some(now);
            let purpose = Purpose::Background(BackgroundPiece { rebuilds, restores });
            let start = Start { purpose, ..Start::new(node, command, caller) }.holding(plan.hold);
            self.start(backends, now, start, &mut plan);
        }
        self.spare_plans.put(plan);
        work
    }

    /// Plans waiting commands again, in order, and asks their scheme to make room; returns whether anything changed.
    #[cold]
    pub(super) fn retry<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) -> bool {
        let mut moved = false;
        for node in self.nodes.ids() {
            while let Some((piece, token, mut waited)) = self.work.parked.pop(node.index()) {
                let pages = u32::from(piece.count);
                self.work.unaccount(token, pages);
                waited.for_room(now);
                if self.attempt(backends, now, node, &piece, token, Some(&waited)) {
                    moved = true;
                    continue;
                }
                self.work.account(token, pages);
                self.work.parked.insert(node, 0, piece, token, waited);
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
        while self.nodes.scheme_mut(node).urgent()
            && !self.nodes.is_recovering()
            // The scheme of a node of a failed member would repeat work that cannot succeed.
            && !(self.work.parked.has_none(node) && self.nodes.is_below_failed(node))
            && self.ask(backends, now, node, Why::Urgent)
        {}
    }

    /// A background plan has ended: if the work is urgent, or in idle time, the next piece follows.
    pub(super) fn background_over<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        self.schedule.end_work(node);
        self.press(backends, now, node);
        self.schedule.watch(now, node);
    }

    /// Asks schemes for idle work if there were no requests for their idle time.
    pub(super) fn idle<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        if self.schedule.is_idle(now, node) {
            self.ask(backends, now, node, Why::Idle);
        }
    }

    /// Lets all timers expire, then sets the time back to 0, with no exposure recorded. Operations that take time may be
    /// under way.
    pub fn rest<L: Backends<C>>(&mut self, backends: &mut L) {
        while self.next_due() < SimTime::NEVER {
            let at = self.next_due();
            self.advance(backends, at);
        }
        self.schedule.forget_time();
        self.nodes.exposure.forget_time();
    }

    /// Checks that nothing is under way.
    ///
    /// # Panics
    /// If something is.
    pub fn assert_idle(&self) {
        assert!(
            self.work.running_plans.live() == 0 && self.work.parked.is_empty(),
            "an idle engine has no plans and no parked commands"
        );
    }

    /// Long enough after the last command that all timers have expired.
    pub(super) fn wake<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        if self.schedule.is_woken(now, node) {
            while self.ask(backends, now, node, Why::Wake) {}
        }
    }
}
