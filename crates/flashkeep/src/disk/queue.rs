//! Waiting commands: those among which the scheduler chooses, and those behind them.
//!
//! Overlapping commands keep their order if one of them writes: the younger one is not a candidate before the
//! older one has started. Commands without a waiting request go last, unless a foreground command overlaps
//! them.

use super::scheduler::{Candidate, Head, Rule};
use crate::engine::{Command, CompletionToken, Verb};
use crate::kernel::{Arena, Id, SimTime, Span};
use std::collections::VecDeque;

/// What a read is owed of a page: what it held when it was asked for, and whether it could be read then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Owed<C> {
    pub(super) contents: C,
    pub(super) unreadable: bool,
}

/// A command that waits.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskOp<C> {
    pub(super) token: CompletionToken,
    pub(super) command: Command,
    pub(super) sequence: u64,
    pub(super) first: u64,
    pub(super) sectors: u64,
    pub(super) cylinder: u32,
    /// Of a read, page by page.
    pub(super) owed: Vec<Owed<C>>,
    /// About as long as it will take.
    pub(super) typical: Span,
    /// A write that is in the cache: it has been acknowledged.
    pub(super) cached: bool,
    pub(super) background: bool,
    /// When it came.
    pub(super) asked: SimTime,
    /// The scheduler sees it.
    pub(super) inside: bool,
    /// Older ones inside that overlap it.
    pub(super) behind: u32,
}

impl<C> DiskOp<C> {
    pub(super) fn writes(&self) -> bool {
        self.command.verb == Verb::Write
    }

    fn meets(&self, other: &DiskOp<C>) -> bool {
        let overlap = self.first < other.first + other.sectors && other.first < self.first + self.sectors;
        overlap && (self.writes() || other.writes())
    }
}

/// All commands that wait.
#[derive(Clone, Debug)]
pub(super) struct DiskQueue<C> {
    pub(super) ops: Arena<DiskOp<C>>,
    inside: Vec<Id<DiskOp<C>>>,
    /// What is waited for, and what is not.
    outside: [VecDeque<Id<DiskOp<C>>>; 2],
    /// Places taken by each of the two; what is in the write cache takes none.
    taken: [u32; 2],
    depth: u32,
    candidates: Vec<Candidate>,
}

impl<C: Clone + Default> DiskQueue<C> {
    pub(super) fn new(depth: u32) -> Self {
        DiskQueue {
            ops: Arena::default(),
            inside: Vec::new(),
            outside: Default::default(),
            taken: [0; 2],
            depth,
            candidates: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.inside.is_empty() && self.outside.iter().all(VecDeque::is_empty)
    }

    /// A command waits from now on.
    pub(super) fn push(&mut self, op: Id<DiskOp<C>>) {
        self.ops[op].inside = false;
        let class = usize::from(self.ops[op].background);
        if class == 0 && !self.outside[1].is_empty() {
            self.hurry(op);
        }
        self.outside[class].push_back(op);
        self.refill();
    }

    /// Commands without a waiting request that are still outside are done before one that overlaps them.
    fn hurry(&mut self, op: Id<DiskOp<C>>) {
        let behind: Vec<_> = self.outside[1].iter().copied().collect();
        let mut wanted = vec![op];
        for &other in behind.iter().rev() {
            if wanted.iter().any(|&one| self.ops[one].meets(&self.ops[other])) {
                wanted.push(other);
            }
        }
        let hurried = |one: &Id<DiskOp<C>>| wanted.contains(one);
        self.outside[1].retain(|one| !hurried(one));
        for one in behind.into_iter().filter(hurried) {
            self.ops[one].background = false;
            self.outside[0].push_back(one);
        }
    }

    /// Lets in as many as there are places for.
    pub(super) fn refill(&mut self) {
        for class in 0..2 {
            while let Some(&op) = self.outside[class].front() {
                if self.taken[class] >= self.depth && !self.ops[op].cached {
                    // What is behind may not pass.
                    return;
                }
                self.outside[class].pop_front();
                self.enter(op);
            }
        }
    }

    fn enter(&mut self, op: Id<DiskOp<C>>) {
        let meets = |other: &&Id<DiskOp<C>>| self.ops[op].meets(&self.ops[**other]);
        let behind = self.inside.iter().filter(meets).count() as u32;
        let (background, cached) = (self.ops[op].background, self.ops[op].cached);
        self.taken[usize::from(background)] += u32::from(!cached);
        (self.ops[op].inside, self.ops[op].behind) = (true, behind);
        if behind > 0 && !background {
            self.promote(op);
        }
        self.inside.push(op);
    }

    /// A command in front of one that a request waits for counts as waited for, too.
    fn promote(&mut self, op: Id<DiskOp<C>>) {
        let mut wanted = vec![op];
        for &other in self.inside.iter().rev() {
            let older = |&one: &Id<DiskOp<C>>| {
                self.ops[one].sequence > self.ops[other].sequence && self.ops[one].meets(&self.ops[other])
            };
            if wanted.iter().any(older) {
                wanted.push(other);
                let this = &mut self.ops[other];
                if std::mem::take(&mut this.background) && !this.cached {
                    self.taken[1] -= 1;
                    self.taken[0] += 1;
                }
            }
        }
    }

    /// A write that waits is in the cache.
    pub(super) fn note_cached(&mut self, op: Id<DiskOp<C>>) {
        let this = &mut self.ops[op];
        this.cached = true;
        if this.inside {
            self.taken[usize::from(this.background)] -= 1;
        }
    }

    /// Takes out what is to be begun, and which way the arm then moves; none where nothing waits.
    pub(super) fn pick(&mut self, rule: &Rule, head: Head) -> Option<(Id<DiskOp<C>>, bool)> {
        for background in [false, true] {
            self.candidates.clear();
            let of_class = |op: &&DiskOp<C>| op.behind == 0 && op.background == background;
            let ops = self.inside.iter().map(|&op| &self.ops[op]).filter(of_class);
            self.candidates.extend(ops.map(|op| Candidate {
                sector: op.first,
                cylinder: op.cylinder,
                sequence: op.sequence,
            }));
            if !self.candidates.is_empty() {
                let (at, inwards) = (rule.pick)(&self.candidates, head);
                let sequence = self.candidates[at].sequence;
                let mut inside = self.inside.iter();
                let at = inside.position(|&op| self.ops[op].sequence == sequence).expect("it is there");
                return Some((self.take(at), inwards));
            }
        }
        None
    }

    fn take(&mut self, at: usize) -> Id<DiskOp<C>> {
        let op = self.inside.remove(at);
        self.taken[usize::from(self.ops[op].background)] -= u32::from(!self.ops[op].cached);
        // It had no overlapping command in front of it, so an overlapping command is behind it.
        for &other in &self.inside {
            if self.ops[op].meets(&self.ops[other]) {
                self.ops[other].behind -= 1;
            }
        }
        self.refill();
        op
    }

    /// Everything that waits, in the order in which it came.
    pub(super) fn take_all(&mut self) -> Vec<Id<DiskOp<C>>> {
        let mut all = std::mem::take(&mut self.inside);
        all.extend(self.outside.iter_mut().flat_map(std::mem::take));
        all.sort_by_key(|&op| self.ops[op].sequence);
        self.taken = [0; 2];
        all
    }
}
