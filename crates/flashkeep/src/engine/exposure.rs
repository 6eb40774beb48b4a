//! Unprotected pages over time, and lost pages.

use super::command::Page;
use super::contents::Contents;
use super::executor::Engine;
use super::leaves::LeafId;
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::kernel::{Bits, SimTime};

/// What one node's next failure would cost, added up over time.
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

/// The same for all nodes, and what came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Exposure {
    nodes: Vec<Exposed>,
    /// Pages of the whole tree that a read, or the completion of a part, failed to get.
    pub(super) lost: Bits,
    /// Page reads for the host that a failed unit would have served.
    pub(super) rescued: u64,
}

impl Exposure {
    pub(super) fn new(nodes: usize) -> Self {
        Exposure { nodes: vec![Exposed::default(); nodes], ..Exposure::default() }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// The scheme at `node` may have changed its mind about what it exposes.
    #[inline(always)]
    pub(super) fn note_exposure(&mut self, now: SimTime, node: NodeId) {
        let Some(scheme) = &self.schemes[node.index()] else { return };
        let pages = scheme.exposed();
        let this = &mut self.exposure.nodes[node.index()];
        if pages != this.pages {
            this.change(now, pages);
        }
    }

    /// It is time 0, and nothing has stood unprotected yet.
    pub(super) fn forget_exposure(&mut self) {
        for node in &mut self.exposure.nodes {
            (node.since, node.page_ns) = (SimTime::ZERO, 0);
        }
    }

    /// Page-nanoseconds that stood unprotected until `now`: pages that the failure of one more unit would have cost.
    #[must_use]
    pub fn unprotected_page_ns(&self, now: SimTime) -> u128 {
        let open = |this: &Exposed| u128::from(this.pages) * u128::from(now.since(this.since).0);
        self.exposure.nodes.iter().map(|this| this.page_ns + open(this)).sum()
    }

    /// Pages that the failure of one more unit would cost now.
    #[must_use]
    pub fn exposed(&self) -> u64 {
        self.exposure.nodes.iter().map(|this| this.pages).sum()
    }

    /// Whether no node ever failed or lost a page.
    #[must_use]
    pub fn is_untroubled(&self) -> bool {
        !self.troubled
    }

    /// Whether all that is missing, if anything is, are pages that reads have found unreadable: they are brought back one
    /// by one, without a rebuild that anything else would have to know of.
    #[must_use]
    pub fn heals_in_passing(&self) -> bool {
        !self.announced
    }

    /// All that was missing has been brought back.
    pub fn forget_announced(&mut self) {
        self.announced = false;
    }

    /// Whether everything is as redundant as it is meant to be.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.schemes.iter().flatten().all(Scheme::is_whole)
    }

    /// Pages that were asked for and that nothing could bring back, each once.
    #[must_use]
    pub fn lost(&self) -> &Bits {
        &self.exposure.lost
    }

    /// A page that a command relied on is found to be lost.
    pub fn lose_page(&mut self, page: Page) {
        self.exposure.lost.set(page.0, true);
    }

    /// A page that could not be read is missed by no command.
    pub fn find_page(&mut self, page: Page) {
        self.exposure.lost.set(page.0, false);
    }

    /// What was read since is not counted.
    pub fn set_rescued(&mut self, rescued: u64) {
        self.exposure.rescued = rescued;
    }

    /// Whether a leaf has a page as it ought to be: it answers, and the page is no gap.
    #[must_use]
    pub fn is_intact(&self, leaf: LeafId, page: Page) -> bool {
        let node = self.node_of(leaf);
        let has = |node: NodeId| self.shape[node.index()].alive && !self.gaps.lacks(node, page.0);
        let above = node.and_then(|node| self.shape[node.index()].parent).map(|(above, _)| above);
        let through =
            above.filter(|&above| above != NodeId::HOST && self.shape[above.index()].through.is_some());
        node.is_some_and(has) && through.is_none_or(has)
    }

    /// Page reads for the host that a failed unit would have served, and another copy or parity did.
    #[must_use]
    pub fn rescued(&self) -> u64 {
        self.exposure.rescued
    }
}
