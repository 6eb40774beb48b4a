//! The redundancy seam: what a scheme is asked, and what it may look at.

use super::command::{Command, Page};
use super::gaps::Gaps;
use super::leaves::{Below, LeafId};
use super::locks::Locks;
use super::plan::{Key, Lock, Member, Outcome, Plan, Step, Verdict, Why};
use super::tree::{NodeId, Shape};
use crate::kernel::Span;

/// When a scheme wants to be asked for background work without being asked for anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rhythm {
    /// After so long without foreground work, one small plan at a time.
    pub idle_after: Option<Span>,
    /// So long after the last command that was not a read.
    pub wake_after: Option<Span>,
}

/// What happened to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is gone.
    Failed,
    /// An empty one stands in its place. The executor knows that it has no page until that is written, and asks
    /// for a repair whenever one is read ([`View::has`]).
    Replaced,
    /// It is back with what it held. The executor knows which pages it missed.
    Returned,
}

/// A redundancy scheme. It decides and returns a plan; it sees no clock, no queue, no statistics and no random
/// numbers, except what [`View`] answers. The executor carries plans out, keeps the order, and does the sums.
pub trait Scheme {
    /// Pages that it offers.
    fn capacity(&self) -> u64;

    /// Commands are cut at multiples of so many pages, so that each plan stays within one stripe.
    fn grain(&self) -> u32 {
        u32::MAX
    }

    /// Reads are cut at multiples of so many pages: 1 where who reads a page depends on who reads the one before.
    fn read_grain(&self) -> u32 {
        self.grain()
    }

    /// When it wants to be asked for background work.
    fn rhythm(&self) -> Rhythm {
        Rhythm::default()
    }

    /// What the command needs of the stripe it touches; asked before [`Scheme::plan`], which is called when the
    /// stripe is free.
    fn lock(&self, command: &Command) -> Lock {
        let _ = command;
        Lock::Free
    }

    /// Decides what the command becomes. On [`Verdict::Wait`] nothing may have changed.
    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> Verdict;

    /// One small piece of background work; false where there is none that can be begun now.
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        let _ = (why, view, plan);
        false
    }

    /// The stripe that the repair of a member's page works on.
    fn repair_key(&self, member: Member, page: Page) -> Option<Key> {
        let _ = (member, page);
        None
    }

    /// How the one page that the last of `failed` should have read can be had otherwise: a plan whose place 0 is
    /// it. The steps before it failed on the way here: they are what this repair is a part of. (The executor
    /// does not ask twice for the same page of the same member: what a plan asks in a circle is lost.) What it
    /// brings may be newer than the read, never older.
    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> Outcome {
        let _ = (failed, view, plan);
        Outcome::Lost
    }

    /// The page of this scheme that a member's page belongs to, where it holds data: for reads that pass through
    /// without a plan of their own.
    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        let _ = (member, page);
        None
    }

    /// A plan that held `key` is durable. Whatever else happens while it is under way (a read of the same stripe
    /// fails, say) still sees the scheme as it was before.
    fn settled(&mut self, key: Key) {
        let _ = key;
    }

    /// Whether a member still lacks something that this scheme could bring back to it.
    fn rebuilding(&self) -> bool {
        false
    }

    /// A member failed, was replaced, or is back.
    fn member(&mut self, member: Member, change: Change) {
        let _ = (member, change);
    }
}

/// What a scheme may look at: its members, and only downwards. Integers; untimed, every backlog is 0, so that
/// least-busy becomes round-robin.
pub struct View<'a> {
    pub(super) shape: &'a [Shape],
    pub(super) node: NodeId,
    pub(super) below: &'a dyn Below,
    pub(super) locks: &'a Locks,
    pub(super) gaps: &'a Gaps,
}

impl View<'_> {
    fn child(&self, member: Member) -> NodeId {
        self.shape[self.node.index()].children[usize::from(member.0)]
    }

    /// How many members there are.
    #[must_use]
    pub fn members(&self) -> u8 {
        self.shape[self.node.index()].children.len() as u8
    }

    /// Whether the member answers.
    #[must_use]
    pub fn alive(&self, member: Member) -> bool {
        self.shape[self.child(member).index()].alive
    }

    /// Whether the member would have the page: it answers, and it has been given the page since it was replaced
    /// or came back, in one piece.
    #[must_use]
    pub fn has(&self, member: Member, page: Page) -> bool {
        self.alive(member) && !self.gaps.lacks(self.child(member), page.0)
    }

    /// How long a read of the member's page would wait at least. A member that is a tree itself answers with
    /// its least busy part.
    #[must_use]
    pub fn backlog(&self, member: Member, page: Page) -> Span {
        self.least(self.child(member), &|leaf| self.below.backlog(leaf, page)).unwrap_or(Span::ZERO)
    }

    /// Erases of the member, the least of its parts.
    #[must_use]
    pub fn wear(&self, member: Member) -> u64 {
        self.least(self.child(member), &|leaf| self.below.wear(leaf)).unwrap_or(0)
    }

    /// Pages that the member can still take before it must collect, the least of its parts.
    #[must_use]
    pub fn room(&self, member: Member) -> u64 {
        self.least(self.child(member), &|leaf| self.below.room(leaf)).unwrap_or(0)
    }

    /// Whether somebody works on the stripe.
    #[must_use]
    pub fn held(&self, key: Key) -> bool {
        self.locks.is_held(self.node, key)
    }

    fn least<T: Ord>(&self, node: NodeId, ask: &dyn Fn(LeafId) -> T) -> Option<T> {
        let shape = &self.shape[node.index()];
        match shape.leaf {
            _ if !shape.alive => None,
            Some(leaf) => Some(ask(leaf)),
            None => shape.children.iter().filter_map(|&child| self.least(child, ask)).min(),
        }
    }
}
