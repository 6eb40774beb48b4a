//! The executor: a tree of schemes over backends, and all operations in progress.
//!
//! Each file of this folder has one part: `requests` the interface above the tree, `descend` commands on their way
//! down, `frames` plans with stages, `sums` contents and parity, `repair` failed reads, `background` work without a
//! request, `places` where pages lie.
//!
//! Completions do not recurse upwards: they are pushed as [`Done`]s, and [`Engine::settle`] handles these in order
//! until there are none.

use super::background::{BackgroundClock, Parked};
use super::coming::OutstandingWork;
use super::command::{Flags, Page};
use super::contents::Contents;
use super::exposure::Exposure;
use super::frame::Frame;
use super::gaps::Gaps;
use super::health::Health;
use super::leaves::{CompletionPart, Done, LeafId, Leaves};
use super::locks::Locks;
use super::names::PageNames;
use super::plan::{Member, Plan, Why};
use super::ports::Ports;
use super::rebuild::Controller;
use super::requests::{Finished, Join};
use super::scheme::{Change, Scheme};
use super::sums::Sheets;
use super::tree::{Flat, NodeId, NodeLinks, Tree};
use super::view::{After, View};
use crate::kernel::{Arena, Deadlines, Id, SimTime};

/// Work that is due at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    Stage(u32),
    First(u32),
    Over(u32),
    Wake(NodeId),
    Idle(NodeId),
    Rebuild(NodeId),
    Recovered,
    Port(u16),
}

/// The executor: a tree of schemes over backends, and all operations in progress.
#[derive(Clone, Debug)]
pub struct Engine<S, C> {
    pub(super) schemes: Vec<Option<S>>,
    pub(super) shape: Vec<NodeLinks>,
    /// The node of each backend.
    pub(super) leaf_nodes: Vec<NodeId>,
    pub(super) joins: Arena<Join>,
    pub(super) frames: Arena<Frame>,
    pub(super) sheets: Sheets<C>,
    pub(super) locks: Locks,
    /// Whether a node has ever failed or lacked a page; until then, commands are passed down without checks.
    pub(super) troubled: bool,
    /// Whether more is missing than pages that reads have found unreadable.
    pub(super) announced: bool,
    pub(super) gaps: Gaps,
    pub(super) health: Health,
    /// The ports of members.
    pub(super) ports: Ports<C>,
    /// The names of the nodes' pages in OOB metadata.
    pub(super) names: PageNames,
    pub(super) parked: Parked,
    pub(super) clock: BackgroundClock,
    pub(super) due: Deadlines<Due>,
    /// Pages that are being merged.
    pub(super) merging: u32,
    pub(super) finished: Vec<Finished>,
    /// Plans for reuse, one for each depth; boxed, so that taking one moves a pointer only.
    #[allow(clippy::vec_box)]
    pub(super) plans: Vec<Box<Plan>>,
    pub(super) exposure: Exposure,
    /// The controller of level 0.
    pub controller: Controller,
    /// The controllers of the levels from 1 on.
    pub(super) controllers: Vec<Controller>,
    /// When the controller of each level has finished its parity computations.
    pub(super) xor_free: Vec<SimTime>,
    /// Whether parity computations take no time in all controllers.
    pub untimed: bool,
    /// The number of requests opened so far, which is the age of the next one.
    pub(super) opened: u32,
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// An engine over `tree`.
    #[must_use]
    pub fn new(tree: Tree<S>) -> Self {
        let Flat { shapes: mut shape, schemes, controllers, ports } = tree.flatten();
        for (node, scheme) in schemes.iter().enumerate() {
            if scheme.as_ref().is_some_and(|scheme| scheme.capabilities().transparent) {
                shape[node].through = shape[shape[node].children[0].index()].leaf;
            }
        }
        let leaves = shape.iter().enumerate().filter_map(|(n, s)| Some((usize::from(s.leaf?.0), n)));
        let mut leaf_nodes = Vec::new();
        for (leaf, node) in leaves {
            leaf_nodes.resize(leaf_nodes.len().max(leaf + 1), NodeId::HOST);
            leaf_nodes[leaf] = NodeId(node as u16);
        }
        let nodes = shape.len();
        Engine {
            parked: Parked::new(shape.len()),
            clock: BackgroundClock::new(&schemes),
            health: Health::new(&schemes),
            schemes,
            shape,
            leaf_nodes,
            joins: Arena::default(),
            frames: Arena::default(),
            sheets: Sheets::default(),
            locks: Locks::default(),
            troubled: false,
            announced: false,
            gaps: Gaps::default(),
            ports: Ports::new(ports),
            names: PageNames::default(),
            due: Deadlines::default(),
            merging: 0,
            finished: Vec::new(),
            plans: Vec::new(),
            exposure: Exposure::new(nodes),
            controller: Controller::default(),
            xor_free: vec![SimTime::ZERO; controllers.len() + 1],
            controllers,
            untimed: false,
            opened: 0,
        }
    }

    /// The scheme at a node.
    #[must_use]
    pub fn scheme(&self, node: NodeId) -> Option<&S> {
        self.schemes[node.index()].as_ref()
    }

    /// The schemes of all nodes, in pre-order.
    pub fn schemes(&self) -> impl Iterator<Item = &S> {
        self.schemes.iter().flatten()
    }

    /// The nodes that have schemes, with them, in pre-order.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &S)> {
        let numbered = self.schemes.iter().enumerate();
        numbered.filter_map(|(at, scheme)| scheme.as_ref().map(|scheme| (NodeId(at as u16), scheme)))
    }

    /// The only backend, if the root passes every command on to it unchanged.
    #[must_use]
    pub fn only_leaf(&self) -> Option<LeafId> {
        let root = NodeId::ROOT;
        let [child] = self.shape[root.index()].children[..] else { return None };
        if self.is_stateless(root) { self.shape[child.index()].leaf } else { None }
    }

    /// The instant of the engine's own next event.
    #[must_use]
    #[inline]
    pub fn next_due(&self) -> SimTime {
        self.due.next()
    }

    /// Handles all events due by `now`, and the completions of backends.
    pub fn advance<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime) {
        let mut alone = true;
        while let Some(due) = self.due.pop_due(now) {
            alone &= matches!(due, Due::Port(_));
            match due {
                Due::Stage(frame) => self.arrive(leaves, now, Id::new(frame), Self::run_stage),
                Due::First(frame) => self.arrive(leaves, now, Id::new(frame), Self::first),
                Due::Over(frame) => self.arrive(leaves, now, Id::new(frame), Self::over),
                Due::Wake(node) => self.wake(leaves, now, node),
                Due::Idle(node) => self.idle(leaves, now, node),
                Due::Rebuild(node) => self.rebuild(leaves, now, node),
                Due::Recovered => self.recovered(leaves, now),
                Due::Port(port) => self.ports.notify(port),
            }
        }
        self.settle(leaves, now);
        if self.ports.is_notified() {
            self.cross_all(leaves, now, alone);
        }
    }

    /// Handles the completions of backends and plans waiting commands again, until nothing changes.
    #[inline(always)]
    pub fn settle<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime) {
        if !leaves.done().is_empty() || !self.parked.is_empty() {
            self.take_all_in(leaves, now);
        }
    }

    /// The slow path of [`Engine::settle`]: a separate function, because there is often nothing to do.
    #[inline(never)]
    fn take_all_in<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime) {
        loop {
            // Completions that are added meanwhile are handled after these.
            let mut taken = 0;
            while let Some(&done) = leaves.done().get(taken) {
                taken += 1;
                self.complete(leaves, now, &done);
            }
            leaves.done().clear();
            if self.ports.has_ended() {
                self.end_port_requests(leaves, now);
                continue;
            }
            if self.parked.is_empty() || !self.retry(leaves, now) {
                return;
            }
        }
    }

    /// A backend or a whole subtree stops responding, or responds again. Its completions are handled by the next
    /// [`Engine::settle`], so that several may change at the same instant.
    pub fn change<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, node: NodeId, change: Change) {
        (self.troubled, self.announced) = (true, true);
        self.shape[node.index()].alive = change != Change::Failed;
        if change == Change::Replaced {
            if self.is_below_map(node) {
                self.gaps.none(node);
            } else {
                self.gaps.all(node);
            }
        }
        self.close_ports(leaves, now, node, change);
        self.tell_parent(leaves, now, node, change);
    }

    /// Replaces a node's backend by another, empty one.
    pub fn replace<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, node: NodeId, leaf: LeafId) {
        self.shape[node.index()].leaf = Some(leaf);
        let at = usize::from(leaf.0);
        self.leaf_nodes.resize(self.leaf_nodes.len().max(at + 1), NodeId::HOST);
        self.leaf_nodes[at] = node;
        self.change(leaves, now, node, Change::Replaced);
    }

    /// The node at a path of member numbers from the root.
    #[must_use]
    pub fn descendant(&self, path: &[u32]) -> Option<NodeId> {
        path.iter().try_fold(NodeId::ROOT, |node, &member| {
            self.shape[node.index()].children.get(member as usize).copied()
        })
    }

    /// Whether plans of a subtree's schemes, or commands that wait there, are in progress. A subtree that does not
    /// respond gets no new ones.
    #[must_use]
    pub fn is_at_work(&self, node: NodeId) -> bool {
        let below = self.subtree(node);
        below.iter().any(|&node| !self.parked.has_none(node))
            || self.ports.is_at_work(&below)
            || self.frames.places().any(|frame| frame.is_under_way() && below.contains(&frame.node))
    }

    /// Replaces a subtree by an empty one of the same shape. Its schemes are taken from `fresh`, a newly built copy of
    /// the whole tree; the caller has replaced its backends. `go_on` lets a new scheme take over from the one that it
    /// replaces.
    ///
    /// # Panics
    /// If the subtree is still [at work](Engine::is_at_work): the new schemes cannot finish plans of the old ones.
    pub fn refresh<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        fresh: Tree<S>,
        go_on: fn(&mut S, &S),
    ) {
        assert!(!self.is_at_work(node), "a member is replaced while it is idle");
        let Flat { mut schemes, .. } = fresh.flatten();
        for at in self.subtree(node) {
            let replaced = std::mem::replace(&mut self.schemes[at.index()], schemes[at.index()].take());
            if let (Some(scheme), Some(replaced)) = (&mut self.schemes[at.index()], &replaced) {
                go_on(scheme, replaced);
            }
            self.shape[at.index()].alive = true;
            self.gaps.none(at);
            self.health.restart(at, &self.schemes[at.index()]);
            self.sheets.forget_carried(at);
            self.note_exposure(now, at);
        }
        self.change(leaves, now, node, Change::Replaced);
    }

    /// A node, and all below it.
    pub(super) fn subtree(&self, node: NodeId) -> Vec<NodeId> {
        let mut nodes = vec![node];
        let mut at = 0;
        while let Some(&node) = nodes.get(at) {
            nodes.extend_from_slice(&self.shape[node.index()].children);
            at += 1;
        }
        nodes
    }

    /// The node of a backend; none for a hot spare.
    #[must_use]
    pub fn node_of(&self, leaf: LeafId) -> Option<NodeId> {
        let node = self.leaf_nodes.get(usize::from(leaf.0)).copied();
        node.filter(|&node| node != NodeId::HOST && self.shape[node.index()].leaf == Some(leaf))
    }

    /// Reports a change of a node to its parent's scheme, which may begin to rebuild.
    pub(super) fn tell_parent<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        change: Change,
    ) {
        let Some((parent, member)) = self.shape[node.index()].parent else { return };
        if matches!(change, Change::Replaced | Change::Returned) {
            self.close_gaps_of_zeros(leaves, parent);
        }
        if !matches!(change, Change::Retired(_)) {
            self.note_member(leaves, parent, member, change);
        }
        self.consult(leaves, parent, |scheme, view| scheme.member(member, change, view));
        if self.is_below_map(node) {
            self.pass_up(leaves, now, parent, change);
        }
        self.note_exposure(now, parent);
        self.press(leaves, now, parent);
        self.begin_rebuild(now, parent);
    }

    /// Handles an event of a backend.
    #[cold]
    fn hear<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        (leaf, page): (LeafId, Page),
        part: CompletionPart,
    ) {
        let Some(node) = self.node_of(leaf) else { return };
        let why: Option<fn(Member, Page) -> Why> = match part {
            CompletionPart::Leaving => Some(Why::Leaving),
            CompletionPart::Moved => Some(Why::Moved),
            _ => None,
        };
        if let Some(why) = why {
            if let Some((parent, member)) = self.shape[node.index()].parent {
                self.ask(leaves, now, parent, why(member, page));
                // A map in flash passes on which old versions are about to be collected.
                let above = self.shape[parent.index()].parent.filter(|_| self.is_below_map(node));
                if let Some((above, member)) = above.filter(|_| part == CompletionPart::Leaving) {
                    self.ask(leaves, now, above, why(member, page));
                }
            }
        } else if part == CompletionPart::Retired {
            self.tell_parent(leaves, now, node, Change::Retired(page));
        } else if !self.is_before(node, page) && !leaves.holds(leaf, page) {
            // A page that was written since is not missing.
            let refused = part == CompletionPart::Refused;
            let change = if refused { Change::Refused(page) } else { Change::Damaged(page) };
            self.lose_page_of(leaves, now, node, change);
        }
    }

    /// Whether no operation is in progress.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.joins.live() == 0 && self.frames.live() == 0 && self.parked.is_empty()
    }

    // ---------------------------------------------------------------- small things

    /// The scheme of a node that has one.
    ///
    /// # Panics
    /// Where the node is a leaf.
    pub fn scheme_mut(&mut self, node: NodeId) -> &mut S {
        self.schemes[node.index()].as_mut().expect("an inner node has a scheme")
    }

    /// Calls the scheme at `node` with its view.
    #[inline(always)]
    pub(super) fn consult<L: Leaves<C>, T>(
        &mut self,
        leaves: &L,
        node: NodeId,
        ask: impl FnOnce(&mut S, &View<'_>) -> T,
    ) -> T {
        let (upto, after) = self.schemes.split_at_mut(node.index() + 1);
        let scheme = upto[node.index()].as_mut().expect("an inner node has a scheme");
        let Engine { shape, locks, gaps, health, names, ports, frames, parked, .. } = self;
        let deeper = After { node, schemes: after, ports, coming: OutstandingWork { frames, locks, parked } };
        let (below, deeper) = (leaves, &deeper);
        ask(scheme, &View { shape, node, below, locks, gaps, health, names, deeper, fell_short: false })
    }

    /// An empty plan; the caller returns it by pushing it onto `plans`.
    #[inline]
    pub(super) fn blank_plan(&mut self) -> Box<Plan> {
        let mut plan = self.plans.pop().unwrap_or_default();
        plan.clear();
        plan
    }

    /// A completion counter for this many pages.
    #[inline]
    pub(super) fn claim_join(&mut self, pages: u32) -> Id<Join> {
        let join = self.joins.claim();
        self.sheets.open(join, pages as usize);
        join
    }

    /// Handles the completion of pages.
    #[inline]
    fn complete<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, done: &Done<C>) {
        if let Some((leaf, page)) = done.failed {
            let asked = matches!(
                done.part,
                CompletionPart::Both | CompletionPart::Acknowledged | CompletionPart::Durable
            );
            if !asked {
                return self.hear(leaves, now, (leaf, page), done.part);
            }
            let child = self.leaf_nodes[usize::from(leaf.0)];
            return self.failed(
                leaves,
                now,
                super::repair::FailedPage { child, page, ticket: done.ticket, flags: Flags::NONE },
            );
        }
        let frame = self.joins[done.ticket.owner].frame;
        if frame.is_some() {
            self.receive(leaves, now, frame, done);
        } else {
            self.sheets.keep(done);
            self.count_off(done);
        }
    }
}
