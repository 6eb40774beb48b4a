//! The third law of order: plans that hold the same stripe run one after the other.

use super::command::Command;
use super::leaves::Ticket;
use super::plan::Key;
use super::repair::FailedPage;
use super::requests::Merge;
use super::tree::NodeId;
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

/// What somebody wants of a stripe, or has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// To go behind those who have it to themselves.
    Pass,
    /// That it stays as it is.
    Share,
    /// To have it to itself.
    Hold,
}

/// A stripe that somebody works on.
#[derive(Debug, Default)]
struct Stripe {
    /// How many share it; nobody, where one has it to itself.
    sharers: u32,
    waiting: VecDeque<Waiting>,
}

/// The stripes that are held, and who waits for them.
#[derive(Debug, Default)]
pub(super) struct Locks {
    held: FixedMap<(NodeId, Key), Stripe>,
    spare: Vec<VecDeque<Waiting>>,
}

impl Locks {
    /// Whether somebody works on the stripe.
    #[inline]
    pub(super) fn is_held(&self, node: NodeId, key: Key) -> bool {
        !self.held.is_empty() && self.held.contains_key(&(node, key))
    }

    /// Goes behind whoever is in the way; false where nobody is.
    #[inline]
    pub(super) fn queue(&mut self, node: NodeId, key: Key, mode: Mode, what: Waiting) -> bool {
        if self.held.is_empty() {
            return false;
        }
        let Some(stripe) = self.held.get_mut(&(node, key)) else { return false };
        if stripe.sharers > 0 && stripe.waiting.is_empty() && mode != Mode::Hold {
            return false;
        }
        stripe.waiting.push_back(what);
        true
    }

    /// Takes the stripe, which must be free for that.
    pub(super) fn take(&mut self, node: NodeId, key: Key, mode: Mode) {
        let sharers = match mode {
            Mode::Pass => return,
            Mode::Share => 1,
            Mode::Hold => 0,
        };
        if let Some(stripe) = self.held.get_mut(&(node, key)) {
            assert!(sharers == 1 && stripe.sharers > 0, "a stripe has one holder");
            stripe.sharers += 1;
        } else {
            let waiting = self.spare.pop().unwrap_or_default();
            self.held.insert((node, key), Stripe { sharers, waiting });
        }
    }

    /// Lets the stripe go; those who waited, in order, if it is free now.
    pub(super) fn release(&mut self, node: NodeId, key: Key) -> Option<VecDeque<Waiting>> {
        let stripe = self.held.get_mut(&(node, key)).expect("only a held stripe is let go");
        stripe.sharers = stripe.sharers.saturating_sub(1);
        if stripe.sharers > 0 {
            return None;
        }
        self.held.remove(&(node, key)).map(|stripe| stripe.waiting)
    }

    /// Gives an emptied list back for use again.
    pub(super) fn recycle(&mut self, list: VecDeque<Waiting>) {
        debug_assert!(list.is_empty());
        self.spare.push(list);
    }
}
