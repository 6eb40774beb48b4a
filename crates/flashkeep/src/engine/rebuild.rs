//! Rebuild: pieces one after another, at a pace that leaves the rest of the bandwidth to the host.

use super::around::Reading;
use super::backends::Backends;
use super::contents::Contents;
use super::executor::{Due, Engine};
use super::plan::Why;
use super::scheme::{BackgroundWork, Scheme};
use super::tree::NodeId;
use crate::kernel::{SimTime, Span};

/// The time after which a piece is tried again whose stripe was held.
const AGAIN: Span = Span(1_000_000);

/// The controller's parity computation and pace of rebuilds.
#[derive(Clone, Copy, Debug)]
pub struct ArrayController {
    /// The time to add one page to a parity.
    pub xor: Span,
    /// The share of time in which a rebuild works, in 1/1,000; with 0 it works only on calls from outside.
    pub rebuild_permille: u32,
    /// The number of pieces in progress, or in their pause, at a time.
    pub rebuild_depth: u32,
    /// Where reads of pages go that can be read in several ways.
    pub reading: Reading,
}

impl Default for ArrayController {
    fn default() -> Self {
        ArrayController {
            xor: Span::ZERO,
            rebuild_permille: 1000,
            rebuild_depth: 8,
            reading: Reading::default(),
        }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// The controller that carries out a node's plans.
    #[inline]
    pub(super) fn controller_of(&self, node: NodeId) -> ArrayController {
        match self.nodes.level(node) {
            0 => self.controller,
            level => self.controllers[level - 1],
        }
    }

    /// Whether a rebuild is in progress.
    #[must_use]
    pub fn is_rebuilding(&self) -> bool {
        self.clock.is_rebuilding()
    }

    /// Whether nothing is missing, and units move back from the spare places that have taken them.
    #[must_use]
    pub fn moves_back(&self) -> bool {
        self.is_whole() && self.nodes.schemes().any(BackgroundWork::moves_back)
    }

    /// No more pieces of a rebuild begin, except those of a recovery from a power loss.
    pub fn stop_rebuilds(&mut self) {
        self.clock.rebuilds_stopped = true;
    }

    /// Whether rebuilds have been stopped.
    #[must_use]
    pub fn has_stopped_rebuilds(&self) -> bool {
        self.clock.rebuilds_stopped
    }

    /// Pieces of rebuilds that have ended: pages of a member, as a rule.
    #[must_use]
    pub fn pieces_rebuilt(&self) -> u64 {
        self.clock.pieces
    }

    /// Starts rebuilding at `node` if its scheme has pages to rebuild.
    pub(super) fn begin_rebuild(&mut self, now: SimTime, node: NodeId) {
        let busy = self.controller_of(node).rebuild_permille == 0 || *self.clock.rebuilders(node) > 0;
        let stopped = self.clock.rebuilds_stopped && self.recovery.is_none();
        if busy || stopped || !self.has_pieces(node) {
            return;
        }
        let depth = self.controller_of(node).rebuild_depth;
        *self.clock.rebuilders(node) = depth;
        for _ in 0..depth {
            self.due.push(now, Due::Rebuild(node));
        }
    }

    /// Whether the node has pages to rebuild now: during a recovery, those that the power loss took.
    fn has_pieces(&self, node: NodeId) -> bool {
        if self.recovery.is_some() { self.health.has_to_recover(node) } else { self.has_to_rebuild(node) }
    }

    /// The next piece, if there is one.
    pub(super) fn rebuild<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        let stopped = self.clock.rebuilds_stopped && self.recovery.is_none();
        if !stopped && self.ask(backends, now, node, Why::Rebuild) {
            return;
        }
        // No work is in progress that could help: the remaining pages cannot be restored.
        let waits = !stopped && self.counters.live() > 0 && self.has_pieces(node);
        if waits {
            return self.due.push(now + AGAIN, Due::Rebuild(node));
        }
        *self.clock.rebuilders(node) -= 1;
        self.end_recovery(backends, now);
    }

    /// A piece that began at `since` has ended: the next one starts after a pause. During a recovery no requests need
    /// the rest of the bandwidth.
    pub(super) fn rebuilt(&mut self, now: SimTime, node: NodeId, since: SimTime) {
        let recovers = self.recovery.is_some();
        self.clock.pieces += u64::from(!recovers);
        let share =
            if recovers { 1000 } else { u64::from(self.controller_of(node).rebuild_permille.min(1000)) };
        let pause = now.since(since).0.saturating_mul(1000 - share) / share;
        self.due.push(now + Span(pause), Due::Rebuild(node));
    }
}
