//! Waiting commands: those among which the scheduler chooses, and those that follow.
//!
//! Overlapping commands keep their order if one of them writes: the younger one is not a candidate before the
//! older one has started. Commands without a waiting request go last, unless a foreground command overlaps
//! them.

use super::scheduler::{Candidate, Head, ReadyCommands, Rule};
use crate::engine::{Command, CompletionToken, Verb};
use crate::kernel::{Arena, Id, SimTime, Span};
use std::collections::{BTreeMap, VecDeque};

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
    /// The scheduler sees it, and the how manieth that it saw it is.
    pub(super) inside: bool,
    pub(super) entry: u64,
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

    fn candidate(&self) -> Candidate {
        Candidate { sector: self.first, cylinder: self.cylinder, sequence: self.sequence }
    }
}

/// All commands that wait. A write cache of 16 MiB may hold thousands, so those inside are indexed by their places.
#[derive(Clone, Debug)]
pub(super) struct DiskQueue<C> {
    pub(super) ops: Arena<DiskOp<C>>,
    /// Those that the scheduler sees, by their entries.
    inside: BTreeMap<u64, Id<DiskOp<C>>>,
    entries: u64,
    /// The same by first sector and entry, and the most sectors that one of them has had.
    places: BTreeMap<(u64, u64), Id<DiskOp<C>>>,
    longest: u64,
    /// Those of them that nothing older overlaps: waited for, and not.
    ready: [ReadyCommands; 2],
    /// Commands outside the scheduler's queue: those that a caller waits for, and the others.
    outside: [VecDeque<Id<DiskOp<C>>>; 2],
    /// Places taken by each of the two; pages in the write cache take none.
    taken: [u32; 2],
    depth: u32,
}

impl<C: Clone + Default> DiskQueue<C> {
    pub(super) fn new(depth: u32) -> Self {
        DiskQueue {
            ops: Arena::default(),
            inside: BTreeMap::new(),
            entries: 0,
            places: BTreeMap::new(),
            longest: 0,
            ready: Default::default(),
            outside: Default::default(),
            taken: [0; 2],
            depth,
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
                    // Later commands may not pass.
                    return;
                }
                self.outside[class].pop_front();
                self.enter(op);
            }
        }
    }

    fn enter(&mut self, op: Id<DiskOp<C>>) {
        let behind = self.meeting(op).count() as u32;
        let entry = self.entries;
        self.entries += 1;
        let this = &mut self.ops[op];
        (this.inside, this.behind, this.entry) = (true, behind, entry);
        let (background, cached, place) = (this.background, this.cached, (this.first, entry));
        self.longest = self.longest.max(this.sectors);
        self.taken[usize::from(background)] += u32::from(!cached);
        if behind > 0 && !background {
            self.promote(op);
        }
        self.inside.insert(entry, op);
        self.places.insert(place, op);
        self.note_ready(op);
    }

    /// Commands inside that overlap this one, if one of the two writes.
    fn meeting(&self, op: Id<DiskOp<C>>) -> impl Iterator<Item = Id<DiskOp<C>>> + '_ {
        let this = &self.ops[op];
        let from = this.first.saturating_sub(self.longest);
        let near = self.places.range((from, 0)..(this.first + this.sectors, 0));
        near.map(|(_, &other)| other).filter(move |&other| self.ops[other].meets(this))
    }

    /// The scheduler may choose it if nothing older overlaps it.
    fn note_ready(&mut self, op: Id<DiskOp<C>>) {
        let this = &self.ops[op];
        if this.behind == 0 {
            self.ready[usize::from(this.background)].insert(this.candidate());
        }
    }

    /// A command in front of one that a request waits for counts as waited for, too.
    fn promote(&mut self, op: Id<DiskOp<C>>) {
        let mut wanted = vec![op];
        for &other in self.inside.values().rev() {
            let older = |&one: &Id<DiskOp<C>>| {
                self.ops[one].sequence > self.ops[other].sequence && self.ops[one].meets(&self.ops[other])
            };
            if wanted.iter().any(older) {
                wanted.push(other);
                let this = &mut self.ops[other];
                if std::mem::take(&mut this.background) {
                    let cached = this.cached;
                    self.taken[1] -= u32::from(!cached);
                    self.taken[0] += u32::from(!cached);
                    let this = self.ops[other].candidate();
                    if self.ready[1].remove(this) {
                        self.ready[0].insert(this);
                    }
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

    /// Takes out the next command, and which way the arm then moves; none where nothing waits.
    pub(super) fn pick(&mut self, rule: &Rule, head: Head) -> Option<(Id<DiskOp<C>>, bool)> {
        let ready = self.ready.iter_mut().find(|ready| !ready.is_empty())?;
        let (chosen, inwards) = (rule.pick)(ready, head);
        ready.remove(chosen);
        let there = self.places.range((chosen.sector, 0)..(chosen.sector + 1, 0));
        let mut there = there.map(|(_, &op)| op);
        let op = there.find(|&op| self.ops[op].sequence == chosen.sequence).expect("it is inside");
        self.take(op);
        Some((op, inwards))
    }

    fn take(&mut self, op: Id<DiskOp<C>>) {
        let this = &self.ops[op];
        self.inside.remove(&this.entry);
        self.places.remove(&(this.first, this.entry));
        self.taken[usize::from(this.background)] -= u32::from(!this.cached);
        // It had no overlapping command before it, so an overlapping command comes after it.
        let behind: Vec<_> = self.meeting(op).collect();
        for other in behind {
            self.ops[other].behind -= 1;
            self.note_ready(other);
        }
        self.refill();
    }

    /// Everything that waits, in the order in which it came.
    pub(super) fn take_all(&mut self) -> Vec<Id<DiskOp<C>>> {
        let mut all: Vec<_> = std::mem::take(&mut self.inside).into_values().collect();
        self.places.clear();
        self.ready = Default::default();
        all.extend(self.outside.iter_mut().flat_map(std::mem::take));
        all.sort_by_key(|&op| self.ops[op].sequence);
        self.taken = [0; 2];
        all
    }
}
