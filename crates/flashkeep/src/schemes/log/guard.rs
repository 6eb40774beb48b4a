//! When a superblock may be erased over devices, which trim immediately: when all commands have ended that were in
//! progress when it lost its last current page. Before the writes that replaced its pages are durable, a power loss
//! would lose both versions; and a failed read is repaired from the stripe that its page was in at submission. What
//! members with write caches have reported durable may be lost as well until they are flushed (`clean`).
//!
//! Commands in progress have one of two keys. A superblock without current pages waits until those with one key have
//! ended; new commands get the other key.

use super::LogHold;
use super::medium::Medium;
use crate::engine::{Key, Member, View};

/// Commands under way.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Guard {
    /// The key of new commands.
    turn: bool,
    /// The superblock that waits for those of the other key.
    waits: Option<u32>,
    /// Whether there were any of each when the log was asked for background work.
    #[serde(skip)]
    under_way: [bool; 2],
    /// Whether members have write caches, which lose what they hold with the power.
    #[serde(skip)]
    caches: bool,
}

impl Guard {
    /// Whether members must be flushed before older versions of their pages are erased.
    pub(super) fn flushes(&self) -> bool {
        self.caches
    }

    /// The power has been cut: the superblock that waited to be erased may hold current pages again.
    pub(super) fn forget_waiting(&mut self) {
        self.waits = None;
    }

    /// Whether a superblock waits to be erased.
    pub(super) fn is_waiting(&self) -> bool {
        self.waits.is_some()
    }

    /// The key of a command; none if the medium keeps the order.
    #[inline]
    pub(super) fn key(&self, medium: &Medium) -> Option<Key> {
        (!medium.oob).then(|| LogHold::Order(self.turn.into()).key())
    }

    /// Checks which commands are in progress.
    pub(super) fn watch(&mut self, medium: &Medium, members: u8, view: &View<'_>) {
        if !medium.oob {
            self.under_way = [0, 1].map(|turn| view.held(LogHold::Order(turn).key()));
            self.caches = (0..members).any(|member| view.is_cached(Member(member)));
        }
    }

    /// Whether a superblock without current pages may be erased; if not, it waits.
    pub(super) fn may_erase(&mut self, superblock: u32, medium: &Medium) -> bool {
        if medium.oob {
            return true;
        }
        let Guard { turn, waits, under_way, .. } = *self;
        if under_way[usize::from(!turn)] {
            self.waits = waits.or(Some(u32::MAX));
            return false;
        }
        if waits == Some(superblock) || !under_way[usize::from(turn)] {
            self.waits = None;
            return true;
        }
        (self.turn, self.waits) = (!turn, Some(superblock));
        false
    }
}
