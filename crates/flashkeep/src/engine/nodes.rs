//! The nodes of an executed tree: their links, their schemes, the state of their pages, and where pages lie on the way
//! from a node down to backends.

use super::backends::BackendId;
use super::code::Code;
use super::command::{Page, Verb};
use super::exposure::Exposure;
use super::gaps::Gaps;
use super::health::Health;
use super::names::PageNames;
use super::plan::Member;
use super::rebuild::ArrayController;
use super::scheme::{Capabilities, Change, Scheme};
use super::tree::{NodeId, NodeLinks};
use crate::kernel::{SimTime, Span};
use std::ops::{Index, IndexMut};

/// The nodes of an executed tree, by number, and the state of their pages.
#[derive(Clone, Debug)]
pub struct Nodes<S> {
    links: Vec<NodeLinks>,
    /// None for backends.
    schemes: Vec<Option<S>>,
    /// The node of each backend.
    of_backends: Vec<NodeId>,
    /// Whether a node has ever failed or lacked a page; until then, commands are passed down without checks.
    has_faults: bool,
    /// Whether more is missing than pages that reads have found unreadable.
    announced: bool,
    /// How often parts have failed or been replaced, and pages been lost or refused.
    failures: u64,
    /// The same, with pages that reads have found unreadable.
    losses: u64,
    pub(super) gaps: Gaps,
    /// While the recovery from a power loss is not over: the pages that were missing before the power loss.
    recovery: Option<Box<Gaps>>,
    pub(super) health: Health,
    pub(super) exposure: Exposure,
    /// The names of the nodes' pages in OOB metadata.
    pub(super) names: PageNames,
    /// The controller of level 0.
    pub controller: ArrayController,
    /// The controllers of the levels from 1 on.
    controllers: Vec<ArrayController>,
    /// When the controller of each level has finished its parity computations.
    xor_free: Vec<SimTime>,
}

/// What a scheme sees of the nodes.
pub(super) struct NodesSeen<'a, S> {
    pub(super) links: &'a [NodeLinks],
    /// The schemes of the nodes after its own.
    pub(super) after: &'a [Option<S>],
    pub(super) gaps: &'a Gaps,
    pub(super) health: &'a Health,
    pub(super) names: &'a PageNames,
}

impl<S> Index<NodeId> for Nodes<S> {
    type Output = NodeLinks;

    #[inline(always)]
    fn index(&self, node: NodeId) -> &NodeLinks {
        &self.links[node.index()]
    }
}

impl<S> IndexMut<NodeId> for Nodes<S> {
    #[inline(always)]
    fn index_mut(&mut self, node: NodeId) -> &mut NodeLinks {
        &mut self.links[node.index()]
    }
}

impl<S: Scheme> Nodes<S> {
    pub(super) fn new(
        mut links: Vec<NodeLinks>,
        schemes: Vec<Option<S>>,
        controllers: Vec<ArrayController>,
    ) -> Nodes<S> {
        for (node, scheme) in schemes.iter().enumerate() {
            let Some(Capabilities { transparent, stateless, .. }) = scheme.as_ref().map(S::capabilities)
            else {
                continue;
            };
            if transparent {
                links[node].through = links[links[node].children[0].index()].backend;
            }
            if let (true, &[only]) = (stateless, &links[node].children[..]) {
                links[node].only = Some(only);
            }
        }
        let backends: Vec<_> = links.iter().map(|links| links.backend).collect();
        let mut nodes = Nodes {
            of_backends: Vec::new(),
            has_faults: false,
            announced: false,
            failures: 0,
            losses: 0,
            gaps: Gaps::default(),
            recovery: None,
            health: Health::new(&schemes),
            exposure: Exposure::new(links.len()),
            names: PageNames::default(),
            controller: ArrayController::default(),
            xor_free: vec![SimTime::ZERO; controllers.len() + 1],
            controllers,
            links,
            schemes,
        };
        for (node, backend) in backends.into_iter().enumerate() {
            backend.into_iter().for_each(|backend| nodes.note_backend(NodeId(node as u16), backend));
        }
        nodes
    }

    fn note_backend(&mut self, node: NodeId, backend: BackendId) {
        let at = usize::from(backend.0);
        self.of_backends.resize(self.of_backends.len().max(at + 1), NodeId::HOST);
        self.of_backends[at] = node;
    }

    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    /// All nodes, in pre-order.
    pub(super) fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<S> {
        (0..self.links.len()).map(|node| NodeId(node as u16))
    }

    // ---------------------------------------------------------------- schemes

    /// The scheme at a node.
    #[must_use]
    #[inline]
    pub fn scheme(&self, node: NodeId) -> Option<&S> {
        self.schemes[node.index()].as_ref()
    }

    /// The scheme of a node that has one.
    ///
    /// # Panics
    /// Where the node is a backend.
    #[inline]
    pub fn scheme_mut(&mut self, node: NodeId) -> &mut S {
        self.schemes[node.index()].as_mut().expect("an inner node has a scheme")
    }

    /// The schemes of all nodes, in pre-order.
    pub fn schemes(&self) -> impl Iterator<Item = &S> {
        self.schemes.iter().flatten()
    }

    /// The nodes that have schemes, with them, in pre-order.
    pub fn with_schemes(&self) -> impl Iterator<Item = (NodeId, &S)> {
        let numbered = self.schemes.iter().enumerate();
        numbered.filter_map(|(at, scheme)| scheme.as_ref().map(|scheme| (NodeId(at as u16), scheme)))
    }

    /// The scheme of each node; none for backends.
    pub(super) fn all_schemes(&self) -> &[Option<S>] {
        &self.schemes
    }

    /// Puts a scheme at a node; the one that was there.
    pub(super) fn set_scheme(&mut self, node: NodeId, scheme: Option<S>) -> Option<S> {
        std::mem::replace(&mut self.schemes[node.index()], scheme)
    }

    /// A node is replaced by one that lacks nothing: `go_on` lets its scheme take over from the one before.
    pub(super) fn renew(&mut self, node: NodeId, scheme: Option<S>, go_on: fn(&mut S, &S)) {
        if let Some(replaced) = self.set_scheme(node, scheme) {
            go_on(self.scheme_mut(node), &replaced);
        }
        self[node].alive = true;
        self.gaps.none(node);
        self.health.restart(node, &self.schemes[node.index()]);
    }

    /// After a power cut, the state of a node's codewords is unknown.
    pub(super) fn recover_health(&mut self, node: NodeId) {
        self.health.recover(node, &self.schemes[node.index()]);
    }

    /// The members of a node lack these pages after a power loss: those that they had before are restored first.
    pub(super) fn restore_first(&mut self, node: NodeId, lacking: &[(Member, Page)]) {
        let Nodes { links, schemes, recovery, health, .. } = self;
        let missed = |member, page: Page| {
            let child = links[node.index()].child(member);
            recovery.as_ref().is_some_and(|missed| missed.lacks(child, page.0))
        };
        let taken = lacking.iter().copied().filter(|&(member, page)| !missed(member, page));
        health.restore_first(node, &schemes[node.index()], taken);
    }

    /// The scheme of a node that has one, and what it sees of the nodes.
    #[inline(always)]
    pub(super) fn split(&mut self, node: NodeId) -> (&mut S, NodesSeen<'_, S>) {
        let Nodes { links, schemes, gaps, health, names, .. } = self;
        let (upto, after) = schemes.split_at_mut(node.index() + 1);
        let scheme = upto[node.index()].as_mut().expect("an inner node has a scheme");
        (scheme, NodesSeen { links, after, gaps, health, names })
    }

    /// The code of a node's stripes.
    pub(super) fn code(&self, node: NodeId) -> Code {
        let scheme = self.schemes.get(node.index()).and_then(Option::as_ref);
        scheme.map_or(Code::default(), |scheme| scheme.protection().code())
    }

    // ---------------------------------------------------------------- failures

    /// A part has failed or been replaced, or a page been lost or refused; `announced` unless a read has found that.
    pub(super) fn note_failure(&mut self, announced: bool) {
        self.has_faults = true;
        self.announced |= announced;
        self.failures += u64::from(announced);
        self.losses += 1;
    }

    /// A node has failed, is replaced or has returned.
    pub(super) fn note_change(&mut self, node: NodeId, change: Change) {
        self.note_failure(true);
        self[node].alive = change != Change::Failed;
        match change {
            Change::Replaced if self.is_below_map(node) => self.gaps.none(node),
            Change::Replaced => self.gaps.all(node),
            _ => {}
        }
    }

    /// A page of a node is written although its contents are lost.
    pub(super) fn poison(&mut self, node: NodeId, page: Page) {
        self.has_faults = true;
        self.gaps.set(node, page.0, true);
        if node == NodeId::ROOT {
            self.gaps.poison(page.0);
        }
    }

    /// The power was cut.
    pub(super) fn begin_recovery(&mut self, now: SimTime) {
        // A power loss during a recovery: that has not restored all pages yet that the power loss before took.
        self.recovery.get_or_insert_with(|| Box::new(self.gaps.clone()));
        self.gaps.forget_members();
        self.xor_free.fill(now);
        (self.has_faults, self.announced) = (true, true);
    }

    /// The recovery is over.
    pub(super) fn end_recovery(&mut self) {
        self.recovery = None;
    }

    /// Whether copies of pages are being made, or wait to be made.
    #[inline]
    pub(super) fn is_copying(&self, node: NodeId) -> bool {
        self.has_faults && self.health.is_copying(node)
    }

    /// Whether no node ever failed or lost a page.
    #[must_use]
    #[inline]
    pub fn is_healthy(&self) -> bool {
        !self.has_faults
    }

    /// How often parts have failed or been replaced, and pages been lost or refused.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// The same, with pages that reads have found unreadable.
    pub(super) fn losses(&self) -> u64 {
        self.losses
    }

    /// Whether nothing is missing but pages that reads have found unreadable: these are repaired one by one, without a
    /// rebuild phase.
    #[must_use]
    pub fn heals_in_passing(&self) -> bool {
        !self.announced
    }

    /// All missing pages have been restored.
    pub fn forget_announced(&mut self) {
        self.announced = false;
    }

    /// Whether a recovery is under way: until it is over, the host submits no requests.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.recovery.is_some()
    }

    // ---------------------------------------------------------------- the tree

    /// The level whose controller carries out a node's plans; for the host it is that of the root.
    pub(super) fn level(&self, node: NodeId) -> usize {
        self.links.get(node.index()).map_or(0, |links| usize::from(links.level))
    }

    /// The controller that carries out a node's plans.
    #[inline]
    pub(super) fn controller_of(&self, node: NodeId) -> ArrayController {
        match self.level(node) {
            0 => self.controller,
            level => self.controllers[level - 1],
        }
    }

    /// A node's controller adds pages to parities when it has done what came before; when it has done that.
    pub(super) fn add_up(&mut self, now: SimTime, node: NodeId, pages: u32) -> SimTime {
        let (xor, level) = (self.controller_of(node).xor, self.level(node));
        let free_at = &mut self.xor_free[level];
        *free_at = (*free_at).max(now) + Span(xor.0 * u64::from(pages));
        *free_at
    }

    /// The number of a page of a scheme's node at its parent.
    pub(super) fn outer(&self, node: NodeId, page: Page) -> Page {
        let units = self.links.get(node.index()).and_then(|links| links.units);
        units.map_or(page, |units| units.outer(page))
    }

    /// The node at a path of member numbers from the root.
    #[must_use]
    pub fn descendant(&self, path: &[u32]) -> Option<NodeId> {
        path.iter().try_fold(NodeId::ROOT, |node, &member| self[node].children.get(member as usize).copied())
    }

    /// Whether the node at this path has failed as a whole, or a node above it.
    #[must_use]
    pub fn has_failed(&self, path: &[u32]) -> bool {
        (1..=path.len()).any(|upto| self.descendant(&path[..upto]).is_some_and(|node| !self[node].alive))
    }

    /// Whether the node, or one above it, has failed as a whole.
    pub(super) fn is_below_failed(&self, node: NodeId) -> bool {
        let above = |&node: &NodeId| self[node].parent.map(|(above, _)| above);
        self.has_faults && std::iter::successors(Some(node), above).any(|node| !self[node].alive)
    }

    /// A node, and all below it.
    pub(super) fn subtree(&self, node: NodeId) -> Vec<NodeId> {
        let mut nodes = vec![node];
        let mut at = 0;
        while let Some(&node) = nodes.get(at) {
            nodes.extend_from_slice(&self[node].children);
            at += 1;
        }
        nodes
    }

    /// Whether a node is the member of a map.
    pub(super) fn is_below_map(&self, node: NodeId) -> bool {
        let scheme = self[node].parent.and_then(|(parent, _)| self.scheme(parent));
        scheme.is_some_and(|scheme| scheme.capabilities().map)
    }

    /// Whether a member's commands come to its backend later than they are submitted: over a link, or from a cache.
    pub(super) fn has_port(&self, node: NodeId) -> bool {
        let links = &self[node];
        node != NodeId::ROOT && links.port.is_some()
            || links.children.iter().any(|&child| self.has_port(child))
    }

    // ---------------------------------------------------------------- backends

    /// The backend of a node, if it is a backend.
    #[must_use]
    pub fn backend(&self, node: NodeId) -> Option<BackendId> {
        self[node].backend
    }

    /// The only backend, if the root passes every command on to it unchanged, and without a port of its own.
    #[must_use]
    pub fn only_backend(&self) -> Option<BackendId> {
        let only = &self[self[NodeId::ROOT].only?];
        only.backend.filter(|_| only.port.is_none())
    }

    /// The node of a backend; none for a hot spare.
    #[must_use]
    pub fn of_backend(&self, backend: BackendId) -> Option<NodeId> {
        let node = self.of_backends.get(usize::from(backend.0)).copied();
        node.filter(|&node| node != NodeId::HOST && self[node].backend == Some(backend))
    }

    /// The node that a backend has, or had until it was replaced.
    #[inline]
    pub(super) fn once_of(&self, backend: BackendId) -> NodeId {
        self.of_backends[usize::from(backend.0)]
    }

    /// Replaces a node's backend.
    pub(super) fn replace_backend(&mut self, node: NodeId, backend: BackendId) {
        self[node].backend = Some(backend);
        self.note_backend(node, backend);
    }

    // ---------------------------------------------------------------- pages

    /// The backends and pages of a page of the root.
    #[must_use]
    pub fn places(&self, page: Page) -> Vec<(BackendId, Page)> {
        self.places_below(NodeId::ROOT, page)
    }

    /// The backends and pages of a page of a node.
    #[must_use]
    pub fn places_below(&self, node: NodeId, page: Page) -> Vec<(BackendId, Page)> {
        let mut places = Vec::new();
        self.find_places(node, page, &mut places);
        places
    }

    fn find_places(&self, node: NodeId, page: Page, places: &mut Vec<(BackendId, Page)>) {
        let links = &self[node];
        let page = links.inner(page);
        places.extend(links.backend.map(|backend| (backend, page)));
        if let Some(scheme) = self.scheme(node) {
            scheme.places(page, |member, page| self.find_places(links.child(member), page, places));
        }
    }

    /// The number of consecutive pages that make up one stripe of each scheme from the root down along the first
    /// members.
    #[must_use]
    pub fn stripe_pages(&self) -> u32 {
        let mut pages: u32 = 1;
        let mut node = Some(NodeId::ROOT);
        while let Some(here) = node {
            if let Some(scheme) = self.scheme(here).filter(|scheme| !scheme.capabilities().map) {
                let grain = scheme.grain(Verb::Write);
                pages = pages.saturating_mul(if grain == u32::MAX { 1 } else { grain });
            }
            node = self[here].first_child();
        }
        pages
    }

    /// Calls `tell` with the schemes that a page of the root passes on its way down, as far as its way is known: the
    /// last one may have no place for it yet.
    pub fn schemes_of(&self, page: Page, tell: &mut dyn FnMut(&S)) {
        self.visit_schemes(NodeId::ROOT, page, tell);
    }

    fn visit_schemes(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(&S)) {
        let links = &self[node];
        if let Some(scheme) = self.scheme(node) {
            tell(scheme);
            scheme.places(links.inner(page), |member, page| {
                self.visit_schemes(links.child(member), page, tell);
            });
        }
    }

    /// A command for this page of a node will come soon: calls `ask` with the backends and pages that it will access.
    /// Affects speed only.
    pub fn prefetch(&self, node: NodeId, page: Page, ask: &mut dyn FnMut(BackendId, Page)) {
        let links = &self[node];
        let page = links.inner(page);
        if let Some(backend) = links.backend {
            return ask(backend, page);
        }
        if let Some(scheme) = self.scheme(node) {
            scheme.prefetch(page, |Member(member), page| {
                self.prefetch(links.children[usize::from(member)], page, ask);
            });
        }
    }
}
