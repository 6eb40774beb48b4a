//! The third law of order: plans that hold the same stripe run one after the other.

use super::backends::CompletionToken;
use super::command::{Command, Verb};
use super::latency::Waited;
use super::plan::Key;
use super::repair::FailedPage;
use super::tree::NodeId;
use crate::device::port::Merge;
use crate::kernel::{Arena, Id, SimTime, mix};
use std::collections::VecDeque;
use std::ops::Range;

/// A command or repair that waits for a stripe.
#[derive(Clone, Copy, Debug)]
pub(super) enum LockWaiter {
    /// A command to be planned when the stripe is free, and how long it has waited.
    Command(Command, CompletionToken, Waited),
    /// A partial-page write at the root, and when it came.
    Merge(Merge, CompletionToken, SimTime),
    /// A page of a member to be repaired when the stripe is free, and when that was found.
    Repair(FailedPage, SimTime),
}

impl LockWaiter {
    /// The mode in which it needs a page at a port.
    pub(super) fn mode_at_port(&self) -> LockMode {
        if matches!(self, LockWaiter::Command(..)) { LockMode::Pass } else { LockMode::Hold }
    }
}

/// The mode of a lock that a plan wants or has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockMode {
    /// Waits for exclusive holders, without holding the stripe.
    Pass,
    /// Shared: the stripe does not change.
    Share,
    /// Exclusive.
    Hold,
}

/// A stripe that a plan holds.
#[derive(Clone, Debug, Default)]
struct Stripe {
    node: NodeId,
    key: Key,
    /// The number of sharers; 0 if one plan holds it exclusively.
    sharers: u32,
    /// The pages that the plan which holds it has yet to write: reads of others need not wait until that is durable.
    unwritten: Range<u64>,
    /// Reads that have waited before all others pass now.
    passing: bool,
    waiting: VecDeque<LockWaiter>,
    /// The next one in its chain.
    next: Id<Stripe>,
}

/// Waiters of a stripe that continue.
#[derive(Clone, Debug)]
struct Resumed {
    node: NodeId,
    key: Key,
    /// Whether they are all that waited: later commands come after them.
    all: bool,
    waiting: VecDeque<LockWaiter>,
}

/// The stripes that are held, and their waiters, in hash chains. There are as many entries as stripes were ever held at
/// once.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    stripes: Arena<Stripe>,
    /// The number of waiters.
    waiters: usize,
    /// The first entry of each chain. The number of chains is a power of two.
    chains: Vec<Id<Stripe>>,
    /// The waiters of stripes that were released, while they are planned one after the other. A plan may release another
    /// stripe meanwhile: its waiters are the last.
    resumed: Vec<Resumed>,
    spare: Vec<VecDeque<LockWaiter>>,
}

impl Default for Locks {
    fn default() -> Self {
        let chains = vec![Id::NONE; 64];
        Locks { stripes: Arena::default(), waiters: 0, chains, resumed: Vec::new(), spare: Vec::new() }
    }
}

impl Locks {
    /// Whether a plan holds the stripe.
    #[inline]
    pub(super) fn is_held(&self, node: NodeId, key: Key) -> bool {
        self.find(node, key).is_some()
    }

    /// Whether a plan holds the stripe exclusively.
    pub(super) fn is_exclusive(&self, node: NodeId, key: Key) -> bool {
        let id = self.find(node, key);
        id.is_some() && self.stripes[id].sharers == 0
    }

    /// The plan that holds the stripe exclusively writes these pages: reads of others may pass.
    pub(super) fn note_writes(&mut self, node: NodeId, key: Key, pages: Range<u64>) {
        let id = self.find(node, key);
        if id.is_some() && self.stripes[id].sharers == 0 {
            self.stripes[id].unwritten = pages;
        }
    }

    /// Whether a read need not wait for the plan that holds the stripe, nor for others that wait. A read that has waited
    /// (`has_waited`) may be one of those that pass now.
    pub(super) fn lets_pass(&self, node: NodeId, key: Key, read: &Command, has_waited: bool) -> bool {
        let id = self.find(node, key);
        id.is_some() && {
            let Stripe { sharers, unwritten, waiting, passing, .. } = &self.stripes[id];
            let apart = read.end() <= unwritten.start || unwritten.end <= read.start.0;
            let first = waiting.is_empty() || *passing && has_waited;
            *sharers == 0 && first && (apart || unwritten.is_empty())
        }
    }

    /// The plan that holds the stripe exclusively has submitted everything: members keep the order from now on, and reads
    /// that only pass need not wait. Returns those that wait before all other waiters.
    pub(super) fn let_reads_pass(&mut self, node: NodeId, key: Key) -> Option<VecDeque<LockWaiter>> {
        let id = self.find(node, key);
        if !id.is_some() || self.stripes[id].sharers > 0 {
            return None;
        }
        let stripe = &mut self.stripes[id];
        stripe.unwritten = 0..0;
        let is_read = |waiter: &&LockWaiter| {
            matches!(waiter, LockWaiter::Command(Command { verb: Verb::Read, .. }, ..))
        };
        let reads = stripe.waiting.iter().take_while(is_read).count();
        stripe.passing = reads > 0;
        (reads > 0).then(|| stripe.waiting.drain(..reads).collect())
    }

    /// Those reads have passed: later ones wait after those that wait.
    pub(super) fn end_passing(&mut self, node: NodeId, key: Key) {
        let id = self.find(node, key);
        if id.is_some() {
            self.stripes[id].passing = false;
        }
    }

    /// Queues a waiter if a plan holds the stripe in a conflicting mode; false if none does.
    #[inline]
    pub(super) fn queue(
        &mut self,
        node: NodeId,
        key: Key,
        mode: LockMode,
        what: impl FnOnce() -> LockWaiter,
    ) -> bool {
        let id = self.find(node, key);
        if !id.is_some() {
            return false;
        }
        let stripe = &mut self.stripes[id];
        if stripe.sharers > 0 && stripe.waiting.is_empty() && mode != LockMode::Hold {
            return false;
        }
        stripe.waiting.push_back(what());
        self.waiters += 1;
        true
    }

    /// Queues a command that has just come after those that have waited for its stripe, while these are planned; false if
    /// there are none.
    #[inline]
    pub(super) fn queue_after_resumed(
        &mut self,
        node: NodeId,
        key: Key,
        what: impl FnOnce() -> LockWaiter,
    ) -> bool {
        let is_older = |older: &&mut Resumed| {
            (older.node, older.key) == (node, key) && older.all && !older.waiting.is_empty()
        };
        let Some(older) = self.resumed.iter_mut().find(is_older) else { return false };
        older.waiting.push_back(what());
        self.waiters += 1;
        true
    }

    /// The waiting commands of a node, by stripe and in order.
    pub(super) fn waiting(&self, node: NodeId) -> impl Iterator<Item = &Command> {
        let resumed = self.resumed.iter().map(|resumed| (resumed.node, &resumed.waiting));
        let held = (self.waiters > 0).then(|| self.stripes.places());
        let held = held.into_iter().flatten().map(|stripe| (stripe.node, &stripe.waiting));
        let lists = resumed.chain(held);
        let of_node = lists.filter(move |&(of, _)| of == node).flat_map(|(_, waiting)| waiting);
        of_node.filter_map(|waiting| match waiting {
            LockWaiter::Command(command, ..) => Some(command),
            LockWaiter::Merge(..) | LockWaiter::Repair(..) => None,
        })
    }

    /// Locks the stripe, which must be free for this mode.
    pub(super) fn take(&mut self, node: NodeId, key: Key, mode: LockMode) {
        let sharers = match mode {
            LockMode::Pass => return,
            LockMode::Share => 1,
            LockMode::Hold => 0,
        };
        let mut chain = self.chain(node, key);
        let (_, held) = self.find_in(chain, node, key);
        if held.is_some() {
            let stripe = &mut self.stripes[held];
            assert!(sharers == 1 && stripe.sharers > 0, "a stripe has one holder");
            stripe.sharers += 1;
            return;
        }
        if self.stripes.live() == self.chains.len() {
            self.grow();
            chain = self.chain(node, key);
        }
        let id = self.stripes.claim();
        let stripe = &mut self.stripes[id];
        (stripe.node, stripe.key, stripe.sharers) = (node, key, sharers);
        (stripe.unwritten, stripe.passing) = (0..u64::MAX, false);
        stripe.next = std::mem::replace(&mut self.chains[chain], id);
    }

    /// Releases the stripe; returns its waiters, in order, if it is free now.
    pub(super) fn release(&mut self, node: NodeId, key: Key) -> Option<VecDeque<LockWaiter>> {
        let chain = self.chain(node, key);
        let (before, id) = self.find_in(chain, node, key);
        assert!(id.is_some(), "only a held stripe is let go");
        let stripe = &mut self.stripes[id];
        stripe.sharers = stripe.sharers.saturating_sub(1);
        if stripe.sharers > 0 {
            return None;
        }
        let waited = !stripe.waiting.is_empty();
        let waiting =
            waited.then(|| std::mem::replace(&mut stripe.waiting, self.spare.pop().unwrap_or_default()));
        let next = stripe.next;
        if before.is_some() {
            self.stripes[before].next = next
        } else {
            self.chains[chain] = next
        }
        self.stripes.release(id);
        waiting
    }

    /// Waiters of a stripe, or `all` of them, are planned one after the other.
    pub(super) fn resume(&mut self, node: NodeId, key: Key, all: bool, waiting: VecDeque<LockWaiter>) {
        self.resumed.push(Resumed { node, key, all, waiting });
    }

    /// The next of them; none after the last.
    pub(super) fn next_resumed(&mut self) -> Option<LockWaiter> {
        let next = self.resumed.last_mut()?.waiting.pop_front();
        if next.is_some() {
            self.waiters -= 1;
        } else {
            self.spare.extend(self.resumed.pop().map(|resumed| resumed.waiting));
        }
        next
    }

    #[inline]
    fn chain(&self, node: NodeId, key: Key) -> usize {
        mix(key.0 ^ u64::from(node.0) << 48) as usize & (self.chains.len() - 1)
    }

    #[inline]
    fn find(&self, node: NodeId, key: Key) -> Id<Stripe> {
        self.find_in(self.chain(node, key), node, key).1
    }

    /// The stripe before it in its chain, and the stripe.
    #[inline]
    fn find_in(&self, chain: usize, node: NodeId, key: Key) -> (Id<Stripe>, Id<Stripe>) {
        let (mut before, mut at) = (Id::NONE, self.chains[chain]);
        while at.is_some() {
            let stripe = &self.stripes[at];
            if stripe.key == key && stripe.node == node {
                break;
            }
            (before, at) = (at, stripe.next);
        }
        (before, at)
    }

    /// Doubles the number of chains.
    #[cold]
    fn grow(&mut self) {
        let twice = vec![Id::NONE; 2 * self.chains.len()];
        for first in std::mem::replace(&mut self.chains, twice) {
            let mut at = first;
            while at.is_some() {
                let Stripe { node, key, next, .. } = self.stripes[at];
                let chain = self.chain(node, key);
                self.stripes[at].next = std::mem::replace(&mut self.chains[chain], at);
                at = next;
            }
        }
    }
}
