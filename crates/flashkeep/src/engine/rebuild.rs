//! Rebuild: pieces one after another, at a pace that leaves the rest of the bandwidth to the host.

use super::around::Reading;
use super::backends::Backends;
use super::contents::Contents;
use super::executor::Engine;
use super::nodes::Nodes;
use super::plan::Why;
use super::schedule::Due;
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

/// A rebuild is given up when this many pages have been lost without any progress.
const HOPELESS: u64 = 1_000;

/// How far the rebuilds in progress have come. Flash that loses pages again as fast as they are restored, in its garbage
/// collection for instance, would keep them busy forever.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RebuildProgress {
    /// The fewest missing pages ([`super::gaps::Gaps::level`]) since the host's last request, and how many had been lost by
    /// then.
    least: Option<(i64, u64)>,
    is_hopeless: bool,
    gave_up: bool,
}

impl RebuildProgress {
    /// Whether rebuilds are hopeless, as far as is known.
    pub(super) fn is_hopeless(&self) -> bool {
        self.is_hopeless
    }

    /// Whether rebuilds have been given up.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Rebuilds are no longer all that is in progress.
    #[inline]
    pub(super) fn restart(&mut self) {
        self.least = None;
    }

    /// A part has failed, been replaced or returned: what has been seen says nothing any more.
    pub(super) fn forget(&mut self) {
        (self.least, self.is_hopeless) = (None, false);
    }

    /// Nothing but rebuilds is in progress, `missing` pages are missing, and `lost` have been lost so far.
    pub(super) fn note(&mut self, missing: i64, lost: u64) {
        match self.least {
            Some((least, before)) if missing >= least => self.is_hopeless = lost - before > HOPELESS,
            _ => self.least = Some((missing, lost)),
        }
        self.gave_up |= self.is_hopeless;
    }
}

impl<S: Scheme> Nodes<S> {
    /// Whether nothing is missing, and units move back from the spare places that have taken them.
    #[must_use]
    pub fn moves_back(&self) -> bool {
        self.is_whole() && self.schemes().any(BackgroundWork::moves_back)
    }

    /// Whether the node has pages to rebuild now: during a recovery, those that the power loss took.
    pub(super) fn has_pieces(&self, node: NodeId) -> bool {
        if self.is_recovering() { self.health.has_to_recover(node) } else { self.has_to_rebuild(node) }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// The host asks for nothing until the rebuilds in progress have ended: they are given up if members lose pages as fast
    /// as they are restored.
    pub fn give_up_hopeless_rebuilds(&mut self) {
        if self.schedule.is_rebuilding() && !self.schedule.has_stopped_rebuilds() {
            self.schedule.note_progress(self.nodes.gaps.level(), self.nodes.losses());
        }
    }

    /// The next piece, if there is one.
    pub(super) fn rebuild<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        if self.schedule.untimed {
            self.give_up_hopeless_rebuilds();
        }
        let stopped = self.schedule.has_stopped_rebuilds() && !self.nodes.is_recovering();
        if !stopped && self.ask(backends, now, node, Why::Rebuild) {
            return;
        }
        // No work is in progress that could help: the remaining pages cannot be restored.
        let waits = !stopped && self.work.counters.live() > 0 && self.nodes.has_pieces(node);
        if waits {
            return self.schedule.due.push(now + AGAIN, Due::Rebuild(node));
        }
        self.schedule.end_pieces(node);
        self.end_recovery(backends, now);
    }
}
