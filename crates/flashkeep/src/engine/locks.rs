//! The third law of order: plans that hold the same stripe run one after the other.

use super::command::Command;
use super::executor::{FailedPage, Merge, NodeId};
use super::leaves::Ticket;
use super::plan::Key;
use flashkeep_trace::random::mix;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// What waits for a stripe.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiting {
    /// A command to be planned when the stripe is free.
    Command(Command, Ticket),
    /// A page at the top that is written in part.
    Merge(Merge, Ticket),
    /// A page of a member to be repaired when the stripe is free.
    Repair(FailedPage),
}

/// The same hash on every machine and in every run; the maps it serves are never iterated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FixedHasher(u64);

impl Hasher for FixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
}

/// A map with the fixed hash.
pub(crate) type FixedMap<K, V> = HashMap<K, V, BuildHasherDefault<FixedHasher>>;

/// The stripes that are held, and who waits for them.
#[derive(Debug, Default)]
pub struct Locks {
    held: FixedMap<(NodeId, Key), VecDeque<Waiting>>,
    spare: Vec<VecDeque<Waiting>>,
}

impl Locks {
    /// Whether somebody works on the stripe.
    #[must_use]
    #[inline]
    pub fn is_held(&self, node: NodeId, key: Key) -> bool {
        !self.held.is_empty() && self.held.contains_key(&(node, key))
    }

    /// Takes the stripe, which must be free.
    pub(super) fn take(&mut self, node: NodeId, key: Key) {
        let waiting = self.spare.pop().unwrap_or_default();
        let before = self.held.insert((node, key), waiting);
        assert!(before.is_none(), "a stripe has one holder");
    }

    /// Goes behind whoever holds the stripe; false where nobody does.
    pub(super) fn queue(&mut self, node: NodeId, key: Key, what: Waiting) -> bool {
        if self.held.is_empty() {
            return false;
        }
        let Some(waiting) = self.held.get_mut(&(node, key)) else { return false };
        waiting.push_back(what);
        true
    }

    /// Lets the stripe go; those who waited, in order.
    pub(super) fn free(&mut self, node: NodeId, key: Key) -> VecDeque<Waiting> {
        self.held.remove(&(node, key)).expect("only a held stripe is let go")
    }

    /// Gives an emptied list back for use again.
    pub(super) fn recycle(&mut self, list: VecDeque<Waiting>) {
        debug_assert!(list.is_empty());
        self.spare.push(list);
    }
}
