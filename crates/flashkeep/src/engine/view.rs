//! What a scheme can query: the state of its members and of the devices below them.

use super::backends::{BackendId, BackendView, OobData, ReadEstimate};
use super::coming::OutstandingWork;
use super::command::Page;
use super::contents::{Contents, Version};
use super::gaps::Gaps;
use super::health::Health;
use super::locks::Locks;
use super::names::PageNames;
use super::plan::{Key, Member};
use super::ports::Ports;
use super::scheme::Scheme;
use super::tree::{NodeId, NodeLinks};
use crate::kernel::{Bits, Span};
use std::ops::Range;

/// What a scheme can query: the state of its members and of the devices below them. Answers are exact integers. In
/// untimed runs every backlog is 0, so that a least-busy policy becomes round-robin.
pub struct View<'a> {
    pub(super) shape: &'a [NodeLinks],
    /// The node of the scheme that asks.
    pub(super) node: NodeId,
    pub(super) below: &'a dyn BackendView,
    pub(super) locks: &'a Locks,
    pub(super) gaps: &'a Gaps,
    pub(super) health: &'a Health,
    pub(super) names: &'a PageNames,
    pub(super) deeper: &'a dyn Deeper,
    pub(super) fell_short: bool,
}

/// The schemes of the nodes after `node` in pre-order; those below it are among them.
pub(super) struct After<'a, S, C> {
    pub(super) node: NodeId,
    pub(super) schemes: &'a [Option<S>],
    pub(super) ports: &'a Ports<C>,
    pub(super) coming: OutstandingWork<'a>,
}

/// Queries to the schemes below the one that asks.
pub(super) trait Deeper {
    /// The places of a page of such a scheme.
    fn places(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(Member, Page));
    /// The OOB metadata of a page of such a scheme.
    fn oob(&self, node: NodeId, page: Page, view: &View<'_>) -> Option<OobData>;
    /// Whether the port before a node will have a page; none if the port does not know.
    fn held_before(&self, port: u16, page: Page) -> Option<bool>;
    /// Whether pages of such a scheme can get other addresses.
    fn remaps(&self, node: NodeId) -> bool;
    /// Whether such a scheme has a place for every page that is written.
    fn takes_all(&self, node: NodeId) -> bool;
    /// Whether the port before a node has a write cache that a power loss empties.
    fn is_volatile(&self, port: u16) -> bool;
    /// The stamp of a page that a protected cache before a node has.
    fn preserved(&self, port: u16, page: Page) -> Option<u64>;
    /// Plans and commands in progress at the nodes.
    fn coming(&self) -> OutstandingWork<'_>;
}

impl<S, C> After<'_, S, C> {
    /// The schemes from a node on.
    fn from(&self, node: NodeId) -> &[Option<S>] {
        &self.schemes[node.index() - self.node.index() - 1..]
    }
}

impl<S: Scheme, C: Contents> Deeper for After<'_, S, C> {
    fn places(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(Member, Page)) {
        if let Some(scheme) = &self.from(node)[0] {
            scheme.places(page, tell);
        }
    }

    fn oob(&self, node: NodeId, page: Page, view: &View<'_>) -> Option<OobData> {
        let (scheme, schemes) = self.from(node).split_first()?;
        let deeper = After { node, schemes, ports: self.ports, coming: self.coming };
        scheme.as_ref()?.oob(page, &View { node, deeper: &deeper, ..*view })
    }

    fn held_before(&self, port: u16, page: Page) -> Option<bool> {
        self.ports.holds(port, page)
    }

    fn remaps(&self, node: NodeId) -> bool {
        self.from(node)[0].as_ref().is_some_and(|scheme| scheme.capabilities().remaps)
    }

    fn takes_all(&self, node: NodeId) -> bool {
        self.from(node)[0].as_ref().is_some_and(|scheme| scheme.protection().takes_all())
    }

    fn is_volatile(&self, port: u16) -> bool {
        self.ports.is_volatile(port)
    }

    fn preserved(&self, port: u16, page: Page) -> Option<u64> {
        self.ports.preserved(port, page)
    }

    fn coming(&self) -> OutstandingWork<'_> {
        self.coming
    }
}

impl View<'_> {
    fn child(&self, member: Member) -> NodeId {
        self.shape[self.node.index()].child(member)
    }

    /// The number of members.
    #[must_use]
    pub fn members(&self) -> u8 {
        self.shape[self.node.index()].children.len() as u8
    }

    /// Whether the member responds.
    #[must_use]
    pub fn alive(&self, member: Member) -> bool {
        self.shape[self.child(member).index()].alive
    }

    /// Whether the member has the current contents of the page: it responds, and it has received every write of the
    /// page since it was replaced or responded again. True for pages that were never written.
    #[must_use]
    pub fn has(&self, member: Member, page: Page) -> bool {
        self.alive(member) && !self.gaps.lacks(self.child(member), page.0)
    }

    /// Whether the member lacks all of these pages, or none of them ([`View::has`]).
    #[must_use]
    pub fn lacks_alike(&self, member: Member, pages: Range<u64>) -> bool {
        !self.alive(member) || self.gaps.lacks_alike(self.child(member), pages)
    }

    /// The next of these pages that is one of a member's few missing pages, or their end: not for a member that has been
    /// replaced, which lacks all pages but some.
    #[must_use]
    pub fn next_single_lack(&self, member: Member, pages: Range<u64>) -> u64 {
        self.gaps.next_single(self.child(member), pages)
    }

    /// Whether no member of this scheme ever failed or lacked a page.
    #[must_use]
    #[inline]
    pub fn is_healthy(&self) -> bool {
        self.health.is_healthy(self.node)
    }

    /// Whether a codeword of this scheme lacks units, when it was last examined.
    #[must_use]
    pub fn is_degraded(&self, codeword: u64) -> bool {
        self.health.is_degraded(self.node, codeword)
    }

    /// The end of the first of these codewords that are degraded, or of those that are not.
    #[must_use]
    pub fn degraded_until(&self, codewords: Range<u64>) -> u64 {
        self.health.degraded_until(self.node, codewords)
    }

    /// The unrecoverable pages of this scheme; in [`Recoverable::recover`](super::Recoverable::recover), those known
    /// before the power cut.
    #[must_use]
    pub fn lost(&self) -> Option<&Bits> {
        self.health.lost(self.node)
    }

    /// Whether the member has received the page; if not, the page is a known zero there. For a member that is a tree,
    /// its schemes answer; if none of the page's places there responds, the answer is true.
    #[must_use]
    pub fn holds(&self, member: Member, page: Page) -> bool {
        let child = self.child(member);
        match self.shape[child.index()].backend {
            _ if self.before(child, page).is_some() => self.before(child, page) == Some(true),
            Some(backend) => self.below.holds(backend, page),
            None => self.tree_holds(child, page).unwrap_or(true),
        }
    }

    /// Whether the member stores the page when it is written: it responds, has not lost an amount of flash with which
    /// it may refuse pages, and, if it is a tree, the same is true of one of the page's places in it.
    #[must_use]
    pub fn stores(&self, member: Member, page: Page) -> bool {
        self.is_stored(self.child(member), page)
    }

    fn is_stored(&self, node: NodeId, page: Page) -> bool {
        let shape = &self.shape[node.index()];
        if let Some(backend) = shape.backend {
            return shape.alive && self.below.takes_all(backend);
        }
        if !shape.alive || !self.deeper.takes_all(node) {
            return false;
        }
        // A page without a place gets one where there is room.
        let (mut places, mut stored) = (0, false);
        self.places(node, page, &mut |member, page| {
            places += 1;
            stored |= self.is_stored(shape.child(member), page);
        });
        stored || places == 0
    }

    /// Whether the member's pages can get other addresses ([`Verb::Remap`](super::Verb::Remap)); where not, the
    /// executor copies them.
    #[must_use]
    pub fn remaps(&self, member: Member) -> bool {
        let child = self.child(member);
        let shape = &self.shape[child.index()];
        shape.port.is_none()
            && match shape.backend {
                Some(backend) => self.below.remaps(backend),
                None => self.deeper.remaps(child),
            }
    }

    /// Whether the port before a node will have the page; none if there is no port or if it does not know.
    fn before(&self, node: NodeId, page: Page) -> Option<bool> {
        let port = self.shape[node.index()].port?;
        self.deeper.held_before(port, page)
    }

    /// The same for a tree; none if each place of the page does not respond or lacks the page.
    fn tree_holds(&self, node: NodeId, page: Page) -> Option<bool> {
        let coming = self.deeper.coming();
        if let Some(held) = coming.holds(node, self.shape[node.index()].inner(page)) {
            return Some(held);
        }
        let (mut places, mut known) = (0, None);
        self.places(node, page, &mut |member, page| {
            places += 1;
            let child = self.shape[node.index()].child(member);
            let shape = &self.shape[child.index()];
            let writes = || coming.writes(node, member, page);
            let held = match shape.backend {
                _ if !shape.alive || self.gaps.lacks(child, page.0) => None,
                _ if self.before(child, page).is_some() => self.before(child, page),
                Some(backend) => Some(self.below.holds(backend, page) || writes()),
                None => self.tree_holds(child, page),
            };
            known = known.max(held);
        });
        if places == 0 { Some(false) } else { known }
    }

    /// The places of a page at a node below; `page` is numbered as by the node's parent.
    fn places(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(Member, Page)) {
        self.deeper.places(node, self.shape[node.index()].inner(page), tell);
    }

    /// Whether the member, or a part of it, has a write cache that a power loss empties. Pages that were reported durable
    /// may then be missing.
    #[must_use]
    pub fn is_cached(&self, member: Member) -> bool {
        self.has_cache_below(self.child(member))
    }

    fn has_cache_below(&self, node: NodeId) -> bool {
        let shape = &self.shape[node.index()];
        shape.port.is_some_and(|port| self.deeper.is_volatile(port))
            || shape.children.iter().any(|&child| self.has_cache_below(child))
    }

    /// The OOB metadata of a member's page on flash, or in a cache that survived a power loss; none if the page is not
    /// there, cannot be read, or is recorded as missing. For a member that is a tree, that of the newest copy.
    #[must_use]
    pub fn oob(&self, member: Member, page: Page) -> Option<OobData> {
        let child = self.child(member);
        let shape = &self.shape[child.index()];
        if !shape.alive || self.gaps.lacks(child, page.0) {
            return None;
        }
        // A version that a cache preserved is newer than all below it.
        let preserved = shape.port.and_then(|port| self.deeper.preserved(port, page));
        match shape.raw() {
            _ if preserved.is_some() => preserved.map(|stamp| OobData { sequence: u64::MAX, stamp, mark: 0 }),
            Some(backend) => self.below.oob(backend, page),
            None => self.deeper.oob(child, shape.inner(page), self),
        }
    }

    /// The version of a page of this scheme that contents with this stamp are; none if they are another page, or no
    /// page at all.
    #[must_use]
    pub fn version(&self, page: Page, stamp: u64) -> Option<Version> {
        self.names.version(self.node, page, stamp)
    }

    /// Whether one copy of a page of this scheme is newer than another. If both have a version, the versions decide:
    /// members that delay writes do not number them in the order of submission.
    #[must_use]
    pub fn is_newer(&self, page: Page, one: &OobData, other: &OobData) -> bool {
        match (self.version(page, one.stamp), self.version(page, other.stamp)) {
            (Some(version), Some(than)) => version.is_newer_than(than),
            _ => one.sequence > other.sequence,
        }
    }

    /// The sequence number of the last write to a member with physical pages; none in runs without power cuts.
    #[must_use]
    pub fn last_write(&self, member: Member) -> Option<u64> {
        self.below.last_write(self.shape[self.child(member).index()].raw()?)
    }

    /// Whether a physical page of a member is erased, so that it can be programmed; true if the member does not
    /// respond.
    #[must_use]
    pub fn is_erased(&self, member: Member, page: Page) -> bool {
        let backend = self.shape[self.child(member).index()].backend;
        !self.alive(member) || backend.is_some_and(|backend| self.below.is_erased(backend, page))
    }

    /// How often the erase unit of a member's physical page has been erased: the most worn of its blocks.
    #[must_use]
    pub fn erases_at(&self, member: Member, page: Page) -> u32 {
        let backend = self.shape[self.child(member).index()].backend;
        backend.map_or(0, |backend| self.below.erases_at(backend, page))
    }

    /// Whether a physical page of a member can never be programmed again.
    #[must_use]
    pub fn has_failed(&self, member: Member, page: Page) -> bool {
        let backend = self.shape[self.child(member).index()].backend;
        backend.is_some_and(|backend| self.below.has_failed(backend, page))
    }

    /// A lower bound of the time until a read of the member's page could start, ns; of a page with several places in a
    /// member that is a tree, that of the least busy one. 0 if the member does not respond.
    #[must_use]
    pub fn backlog(&self, member: Member, page: Page) -> Span {
        self.wait(self.child(member), page).unwrap_or(Span::ZERO)
    }

    fn wait(&self, node: NodeId, page: Page) -> Option<Span> {
        let shape = &self.shape[node.index()];
        match shape.backend {
            _ if !shape.alive => None,
            _ if self.before(node, page) == Some(true) => Some(Span::ZERO),
            Some(backend) => Some(self.below.backlog(backend, page)),
            None => {
                let mut least: Option<Span> = None;
                self.places(node, page, &mut |member, page| {
                    let waits = self.wait(shape.child(member), page);
                    least = least.into_iter().chain(waits).min();
                });
                least
            }
        }
    }

    /// How long a read of the member's page that is submitted now is expected to take; of a page with several places in
    /// a member that is a tree, the place where it is done first. No time if the member does not respond.
    #[must_use]
    pub fn expected(&self, member: Member, page: Page) -> ReadEstimate {
        self.estimate(self.child(member), page).unwrap_or_default()
    }

    fn estimate(&self, node: NodeId, page: Page) -> Option<ReadEstimate> {
        let shape = &self.shape[node.index()];
        match shape.backend {
            _ if !shape.alive => None,
            _ if self.before(node, page) == Some(true) => Some(ReadEstimate::default()),
            Some(backend) => Some(self.below.expected(backend, page)),
            None => {
                let mut first: Option<ReadEstimate> = None;
                self.places(node, page, &mut |member, page| {
                    let estimate = self.estimate(shape.child(member), page);
                    first = first.into_iter().chain(estimate).min_by_key(|estimate| estimate.total());
                });
                first
            }
        }
    }

    /// The number of block erases of the member; for a member of several parts, the least of them.
    #[must_use]
    pub fn wear(&self, member: Member) -> u64 {
        self.least(self.child(member), &|backend| self.below.wear(backend)).unwrap_or(0)
    }

    /// The mean erase count of the member's blocks; 0 for a member that does not respond.
    #[must_use]
    pub fn mean_erases(&self, member: Member) -> u32 {
        let (erases, blocks) = self.erases_below(self.child(member));
        erases.checked_div(blocks).unwrap_or(0).min(u64::from(u32::MAX)) as u32
    }

    /// The erases of all devices below a node, and their number of blocks.
    fn erases_below(&self, node: NodeId) -> (u64, u64) {
        let shape = &self.shape[node.index()];
        match shape.backend {
            _ if !shape.alive => (0, 0),
            Some(backend) => (self.below.wear(backend), self.below.erase_blocks(backend)),
            None => {
                let parts = shape.children.iter().map(|&child| self.erases_below(child));
                parts.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
            }
        }
    }

    /// The number of pages that the member can write before it must collect garbage; for a member of several parts, the
    /// least of them.
    #[must_use]
    pub fn room(&self, member: Member) -> u64 {
        self.least(self.child(member), &|backend| self.below.room(backend)).unwrap_or(0)
    }

    /// In [`Scheme::settled`]: whether the plan was background work that could not read all pages that it needed, or
    /// whose write a member refused. The scheme must not try it again until a member changes.
    #[must_use]
    pub fn fell_short(&self) -> bool {
        self.fell_short
    }

    /// Whether a plan holds the stripe `key` of this scheme.
    #[must_use]
    pub fn held(&self, key: Key) -> bool {
        self.locks.is_held(self.node, key)
    }

    fn least<T: Ord>(&self, node: NodeId, ask: &dyn Fn(BackendId) -> T) -> Option<T> {
        let shape = &self.shape[node.index()];
        match shape.backend {
            _ if !shape.alive => None,
            Some(backend) => Some(ask(backend)),
            None => shape.children.iter().filter_map(|&child| self.least(child, ask)).min(),
        }
    }
}
