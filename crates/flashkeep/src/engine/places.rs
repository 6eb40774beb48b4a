//! Where pages lie: on the way from a node down to backends.

use super::backends::BackendId;
use super::command::{Page, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::plan::Member;
use super::scheme::Scheme;
use super::tree::NodeId;

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// The backends and pages of a page of the root.
    #[must_use]
    pub fn places(&self, page: Page) -> Vec<(BackendId, Page)> {
        self.places_below(NodeId::ROOT, page)
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
            node = self.shape[here.index()].first_child();
        }
        pages
    }

    /// The backends and pages of a page of a node.
    #[must_use]
    pub fn places_below(&self, node: NodeId, page: Page) -> Vec<(BackendId, Page)> {
        let mut places = Vec::new();
        self.find_places(node, page, &mut places);
        places
    }

    fn find_places(&self, node: NodeId, page: Page, places: &mut Vec<(BackendId, Page)>) {
        let shape = &self.shape[node.index()];
        let page = shape.inner(page);
        places.extend(shape.backend.map(|backend| (backend, page)));
        if let Some(scheme) = self.scheme(node) {
            scheme.places(page, |member, page| {
                self.find_places(shape.child(member), page, places);
            });
        }
    }

    /// Calls `tell` with the schemes that a page of the root passes on its way down, as far as its way is known: the
    /// last one may have no place for it yet.
    pub fn schemes_of(&self, page: Page, tell: &mut dyn FnMut(&S)) {
        self.visit_schemes(NodeId::ROOT, page, tell);
    }

    fn visit_schemes(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(&S)) {
        let shape = &self.shape[node.index()];
        if let Some(scheme) = self.scheme(node) {
            tell(scheme);
            scheme.places(shape.inner(page), |member, page| {
                self.visit_schemes(shape.child(member), page, tell);
            });
        }
    }

    /// The current contents of a page, without time, according to what backends have (`contents`): of the first copy
    /// with which all nodes above it respond and have the page, or the sum of all places of a page that is one
    /// ([`OwnHealth::is_sum`](super::OwnHealth::is_sum)). None if there is no such copy, or if a part of the sum is
    /// missing. A page that its scheme has put nowhere is a known zero.
    #[must_use]
    pub fn intact_contents(&self, page: Page, contents: &impl Fn(BackendId, Page) -> Option<C>) -> Option<C> {
        self.intact_contents_below(NodeId::ROOT, page, contents)
    }

    pub(super) fn intact_contents_below(
        &self,
        node: NodeId,
        page: Page,
        contents: &impl Fn(BackendId, Page) -> Option<C>,
    ) -> Option<C> {
        if !self.shape[node.index()].alive || self.gaps.lacks(node, page.0) {
            return None;
        }
        self.preserved(node, page).or_else(|| self.intact_contents_behind(node, page, contents))
    }

    /// The same below the port of a node.
    pub(super) fn intact_contents_behind(
        &self,
        node: NodeId,
        page: Page,
        contents: &impl Fn(BackendId, Page) -> Option<C>,
    ) -> Option<C> {
        let shape = &self.shape[node.index()];
        if !shape.alive || self.gaps.lacks(node, page.0) {
            return None;
        }
        let page = shape.inner(page);
        if let Some(backend) = shape.backend {
            return Some(contents(backend, page).unwrap_or_default());
        }
        let scheme = self.scheme(node)?;
        let (is_sum, mut first, mut sum) = (scheme.protection().is_sum(page), None, Some(C::default()));
        let mut is_mapped = false;
        scheme.places(page, |member, page| {
            is_mapped = true;
            let is_needed = first.is_none() || is_sum;
            let child = shape.child(member);
            let found = if is_needed { self.intact_contents_below(child, page, contents) } else { None };
            first = first.or(found);
            sum = sum.zip(found).map(|(sum, found)| sum.plus(1, found));
        });
        if !is_mapped {
            return Some(C::default());
        }
        if is_sum { sum } else { first }
    }

    /// A command for this page of a node will come soon: calls `ask` with the backends and pages that it will access.
    /// Affects speed only.
    pub fn prefetch(&self, node: NodeId, page: Page, ask: &mut dyn FnMut(BackendId, Page)) {
        let shape = &self.shape[node.index()];
        let page = shape.inner(page);
        if let Some(backend) = shape.backend {
            return ask(backend, page);
        }
        if let Some(scheme) = self.scheme(node) {
            scheme.prefetch(page, |Member(member), page| {
                self.prefetch(shape.children[usize::from(member)], page, ask);
            });
        }
    }
}
