//! Rebuild: pieces one after another, at a pace that leaves the rest of the bandwidth to the host.

use super::contents::Contents;
use super::executor::{Due, Engine};
use super::leaves::Leaves;
use super::plan::Why;
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::kernel::{SimTime, Span};

/// Pieces under way, or pausing, at a time.
const AT_ONCE: u32 = 8;

/// How long a piece that could not be begun waits (its stripe was held).
const AGAIN: Span = Span(1_000_000);

/// What the controller can do besides moving pages.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// What adding one page to a parity takes.
    pub xor: Span,
    /// Of 1,000 parts of its time, how many a rebuild works; with 0 it only does what it is asked from outside.
    pub rebuild_permille: u32,
}

impl Default for Controller {
    fn default() -> Self {
        Controller { xor: Span::ZERO, rebuild_permille: 1000 }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// The level that a node is of; what is above the root is of the root's.
    #[inline]
    pub(super) fn level_of(&self, node: NodeId) -> usize {
        self.shape.get(node.index()).map_or(0, |shape| usize::from(shape.level))
    }

    /// The controller that carries out a node's plans.
    #[inline]
    pub(super) fn controller_of(&self, node: NodeId) -> Controller {
        match self.level_of(node) {
            0 => self.controller,
            level => self.controllers[level - 1],
        }
    }

    /// Whether something is being rebuilt.
    #[must_use]
    pub fn is_rebuilding(&self) -> bool {
        self.clock.is_rebuilding()
    }

    /// The scheme at `node` may have something to rebuild.
    pub(super) fn begin_rebuild(&mut self, now: SimTime, node: NodeId) {
        let busy = self.controller_of(node).rebuild_permille == 0 || *self.clock.rebuilders(node) > 0;
        if busy || !self.schemes[node.index()].as_ref().is_some_and(Scheme::rebuilding) {
            return;
        }
        *self.clock.rebuilders(node) = AT_ONCE;
        for _ in 0..AT_ONCE {
            self.due.push(now, Due::Rebuild(node));
        }
    }

    /// The next piece, if there is one.
    pub(super) fn rebuild<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, node: NodeId) {
        if self.ask(leaves, now, node, Why::Rebuild) {
            return;
        }
        // Nothing that could be waited for: what is left cannot be brought back.
        let waits = self.joins.live() > 0 && self.scheme_mut(node).rebuilding();
        if waits {
            return self.due.push(now + AGAIN, Due::Rebuild(node));
        }
        *self.clock.rebuilders(node) -= 1;
    }

    /// A piece that was begun at `since` is over: the next one comes after a pause.
    pub(super) fn rebuilt(&mut self, now: SimTime, node: NodeId, since: SimTime) {
        let share = u64::from(self.controller_of(node).rebuild_permille.min(1000));
        let pause = now.since(since).0.saturating_mul(1000 - share) / share;
        self.due.push(now + Span(pause), Due::Rebuild(node));
    }
}
