//! When a superblock may be erased over devices, which trim at once: when what was under way as it came to hold nothing is
//! over. Before the writes that have replaced its pages are durable, a power loss would take both; and a read that fails is
//! repaired from the stripe that the page was in when it was asked.
//!
//! Commands under way have one of two keys. A superblock that holds nothing any more waits until those of one key are
//! over, while new ones get the other.

use super::{Hold, Log};
use crate::engine::{Key, View};

/// Commands under way.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Guard {
    /// Which of the two keys new commands have.
    turn: bool,
    /// The superblock that waits for those of the other key.
    waits: Option<u32>,
    /// Whether there were any of each when the log was asked for background work.
    #[serde(skip)]
    under_way: [bool; 2],
}

impl Guard {
    /// Whether a superblock waits to be erased.
    pub(super) fn is_waiting(&self) -> bool {
        self.waits.is_some()
    }
}

impl Log {
    /// What a command is under way under; none where the medium takes care of the order.
    #[inline]
    pub(super) fn order_key(&self) -> Option<Key> {
        (!self.medium.oob).then(|| Hold::Order(self.guard.turn.into()).key())
    }

    /// Looks what is under way.
    pub(super) fn watch_order(&mut self, view: &View<'_>) {
        if !self.medium.oob {
            self.guard.under_way = [0, 1].map(|turn| view.held(Hold::Order(turn).key()));
        }
    }

    /// Whether a superblock that holds nothing any more may be erased; if not, it waits.
    pub(super) fn may_erase(&mut self, group: u32) -> bool {
        if self.medium.oob {
            return true;
        }
        let Guard { turn, waits, under_way } = self.guard;
        if under_way[usize::from(!turn)] {
            self.guard.waits = waits.or(Some(u32::MAX));
            return false;
        }
        if waits == Some(group) || !under_way[usize::from(turn)] {
            self.guard.waits = None;
            return true;
        }
        (self.guard.turn, self.guard.waits) = (!turn, Some(group));
        false
    }
}
