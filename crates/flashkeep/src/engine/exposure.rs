//! Unprotected pages over time, and lost pages.

use super::backends::BackendId;
use super::command::Page;
use super::health::{OwnHealth, Protection};
use super::nodes::Nodes;
use super::plan::Member;
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::kernel::{Bits, SimTime};

/// The pages that the next failure of a node would lose, summed over time.
#[derive(Clone, Copy, Debug, Default)]
struct Exposed {
    pages: u64,
    since: SimTime,
    page_ns: u128,
}

impl Exposed {
    #[inline(never)]
    fn change(&mut self, now: SimTime, pages: u64) {
        self.page_ns += u128::from(self.pages) * u128::from(now.since(self.since).0);
        (self.pages, self.since) = (pages, self.since.max(now));
    }
}

/// The same for all nodes, and the pages that were lost.
#[derive(Clone, Debug, Default)]
pub struct Exposure {
    nodes: Vec<Exposed>,
    /// Pages of the root that a read, or the merge of a part, could not get.
    lost: Bits,
    /// Page reads of the host that another copy or parity served because a unit failed.
    rescued: u64,
    /// Pages that could not be read although their unit works, and that another copy or parity served.
    recovered: u64,
}

impl Exposure {
    pub(super) fn new(nodes: usize) -> Self {
        Exposure { nodes: vec![Exposed::default(); nodes], ..Exposure::default() }
    }

    /// Sets the time to 0 and the sum over time to 0.
    pub(super) fn forget_time(&mut self) {
        for node in &mut self.nodes {
            (node.since, node.page_ns) = (SimTime::ZERO, 0);
        }
    }

    /// Unprotected page-nanoseconds until `now`: pages that the failure of one more unit would have lost, times how
    /// long. Time that is included once stays included if the clock goes back (`host.late_requests`).
    #[must_use]
    pub fn unprotected_page_ns(&mut self, now: SimTime) -> u128 {
        self.nodes.iter_mut().for_each(|this| this.change(now, this.pages));
        self.nodes.iter().map(|this| this.page_ns).sum()
    }

    /// The number of pages that the failure of one more unit would lose now.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.nodes.iter().map(|this| this.pages).sum()
    }

    /// Unrecoverable pages found so far, each counted once.
    #[must_use]
    pub fn lost(&self) -> &Bits {
        &self.lost
    }

    /// Records that a page needed by a command is lost; or that it is not: no command needed its contents.
    pub fn set_lost(&mut self, page: Page, lost: bool) {
        self.lost.set(page.0, lost);
    }

    /// Records that pages are lost.
    pub fn lose_pages(&mut self, pages: &Bits) {
        pages.runs().for_each(|run| self.lost.set_run(run, true));
    }

    /// Page reads of the host that another copy or parity served because a unit failed.
    #[must_use]
    pub fn rescued(&self) -> u64 {
        self.rescued
    }

    /// Reads since then are not counted.
    pub fn set_rescued(&mut self, rescued: u64) {
        self.rescued = rescued;
    }

    /// A page read of the host was served in another way because a unit failed.
    pub(super) fn note_rescued(&mut self, reads: u64) {
        self.rescued += reads;
    }

    /// Pages that could not be read although their unit works, and that another copy or parity served.
    #[must_use]
    pub fn recovered(&self) -> u64 {
        self.recovered
    }

    /// A page is restored that could not be read although its unit works.
    pub(super) fn note_recovered(&mut self) {
        self.recovered += 1;
    }

    /// It has turned out not to be, if any was.
    pub(super) fn take_back_recovered(&mut self) {
        self.recovered = self.recovered.saturating_sub(1);
    }
}

impl<S: Scheme> Nodes<S> {
    /// Unprotected pages over time, and lost pages.
    #[must_use]
    pub fn exposure(&self) -> &Exposure {
        &self.exposure
    }

    /// The same, mutable.
    pub fn exposure_mut(&mut self) -> &mut Exposure {
        &mut self.exposure
    }

    /// Updates the number of pages that the scheme at `node` exposes.
    #[inline(always)]
    pub(super) fn note_exposure(&mut self, now: SimTime, node: NodeId) {
        let pages = self.exposed_at(node);
        let this = &mut self.exposure.nodes[node.index()];
        if pages != this.pages {
            this.change(now, pages);
        }
    }

    /// The number of pages of a node that the failure of one more unit would lose now.
    #[inline(always)]
    pub(crate) fn exposed_at(&self, node: NodeId) -> u64 {
        match self.scheme(node) {
            Some(scheme) if self.health.is_own(node) => {
                scheme.protection().own().map_or(0, OwnHealth::exposed)
            }
            _ => self.health.exposed(node),
        }
    }

    /// Whether all pages have full redundancy.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let mut own = self.schemes().filter_map(|scheme| scheme.protection().own());
        self.health.is_whole() && own.all(OwnHealth::is_whole)
    }

    /// Of these pages of the root, those that cannot be read now, as far as that follows from which members respond, which
    /// pages they lack and what their codewords lack; and those that must be read to know, if these are not all. The caller
    /// says of which backends every page can be read that they hold (`is_sound`).
    #[must_use]
    pub fn unreadable(&self, pages: &Bits, is_sound: &dyn Fn(BackendId) -> bool) -> Option<(Bits, Bits)> {
        let mut lost = self.unreadable_at(NodeId::ROOT, pages, is_sound)?;
        let unknown = self.gaps.missing_of(NodeId::ROOT, pages.clone());
        unknown.runs().for_each(|run| lost.set_run(run, false));
        Some((lost, unknown))
    }

    fn unreadable_at(
        &self,
        node: NodeId,
        pages: &Bits,
        is_sound: &dyn Fn(BackendId) -> bool,
    ) -> Option<Bits> {
        let shape = &self[node];
        if let Some(backend) = shape.backend {
            return is_sound(backend).then(Bits::default);
        }
        let scheme = self.scheme(node).filter(|scheme| !scheme.capabilities().map)?;
        let below: Option<Vec<Bits>> =
            shape.children.iter().map(|&child| self.unreadable_below(child, is_sound)).collect();
        let below = below?;
        let has_all = |at: u8| {
            let child = shape.child(Member(at));
            self[child].alive && self.gaps.lacks_none(child) && below[usize::from(at)].count() == 0
        };
        let lacking: Vec<u8> = (0..shape.children.len() as u8).filter(|&at| !has_all(at)).collect();
        match scheme.protection() {
            Protection::Own(_) => None,
            _ if lacking.is_empty() => Some(Bits::default()),
            Protection::None => Some(self.without_copy(node, &lacking, &below, pages)),
            // Each page has a copy on another member.
            Protection::Copies if lacking.len() == 1 => Some(Bits::default()),
            _ if below.iter().any(|lost| lost.count() > 0) => None,
            // Its copies have equal addresses.
            Protection::Copies if scheme.period(0..scheme.capacity()) == Some(1) => {
                let alive = shape.children.iter().filter(|&&child| self[child].alive);
                Some(alive.fold(pages.clone(), |lost, &child| self.gaps.missing_of(child, lost)))
            }
            Protection::Stripes(stripes) if scheme.used().is_some() && !stripes.defers() => {
                Some(self.health.lost(node).map_or_else(Bits::default, |lost| lost.common(pages)))
            }
            _ => None,
        }
    }

    /// The pages of a member that it cannot read itself; none of one that does not respond.
    fn unreadable_below(&self, child: NodeId, is_sound: &dyn Fn(BackendId) -> bool) -> Option<Bits> {
        let mut all = Bits::default();
        if !self[child].alive {
            return Some(all);
        }
        all.set_run(0..self.scheme(child).map_or(0, Scheme::capacity), true);
        self.unreadable_at(child, &all, is_sound)
    }

    /// Of these pages of a node, those whose only place does not respond or lacks the page, or cannot read it itself
    /// (`below`): `members` lack pages.
    fn without_copy(&self, node: NodeId, members: &[u8], below: &[Bits], pages: &Bits) -> Bits {
        let (shape, mut lost) = (&self[node], Bits::default());
        let Some(scheme) = self.scheme(node) else { return lost };
        let is_missing = |member: u8, place: Page| {
            let child = shape.child(Member(member));
            !self[child].alive
                || self.gaps.lacks(child, place.0)
                || below[usize::from(member)].has(self[child].inner(place).0)
        };
        if pages.count() < scheme.capacity() / shape.children.len() as u64 {
            for page in pages.iter() {
                scheme.places(Page(page), |Member(member), place| {
                    if members.contains(&member) && is_missing(member, place) {
                        lost.set(page, true);
                    }
                });
            }
            return lost;
        }
        for &member in members {
            for place in (0..scheme.capacity()).map(Page) {
                let page = scheme.owner(Member(member), place).filter(|page| page.0 < scheme.capacity());
                let Some(page) = page else { break };
                if is_missing(member, place) && pages.has(page.0) {
                    lost.set(page.0, true);
                }
            }
        }
        lost
    }

    /// Whether a backend has the current contents of a page: it responds, and the page is not missing.
    #[must_use]
    pub fn is_intact(&self, backend: BackendId, page: Page) -> bool {
        let node = self.of_backend(backend);
        let has = |node: NodeId| self[node].alive && !self.gaps.lacks(node, page.0);
        let above = node.and_then(|node| self[node].parent).map(|(above, _)| above);
        let through = above.filter(|&above| above != NodeId::HOST && self[above].through.is_some());
        node.is_some_and(has) && through.is_none_or(has)
    }
}
