//! Where pages lie: on the way from a node down to backends.

use super::backends::BackendId;
use super::command::Page;
use super::contents::Contents;
use super::nodes::Nodes;
use super::ports::Ports;
use super::scheme::Scheme;
use super::tree::NodeId;

impl<S: Scheme> Nodes<S> {
    /// The current contents of a page, without time, according to what backends have (`contents`): of the first copy
    /// with which all nodes above it respond and have the page, or the sum of all places of a page that is one
    /// ([`OwnHealth::is_sum`](super::OwnHealth::is_sum)). None if there is no such copy, or if a part of the sum is
    /// missing. A page that its scheme has put nowhere is a known zero.
    #[must_use]
    pub fn intact_contents<C: Contents>(
        &self,
        page: Page,
        contents: &impl Fn(BackendId, Page) -> Option<C>,
        ports: &Ports<C>,
    ) -> Option<C> {
        self.intact_contents_below(NodeId::ROOT, page, contents, ports)
    }

    pub(super) fn intact_contents_below<C: Contents>(
        &self,
        node: NodeId,
        page: Page,
        contents: &impl Fn(BackendId, Page) -> Option<C>,
        ports: &Ports<C>,
    ) -> Option<C> {
        if !self[node].alive || self.gaps.lacks(node, page.0) {
            return None;
        }
        let preserved = self[node].port.and_then(|at| ports.preserved_page(at, page));
        preserved.or_else(|| self.intact_contents_behind(node, page, contents, ports))
    }

    /// The same below the port of a node.
    pub(super) fn intact_contents_behind<C: Contents>(
        &self,
        node: NodeId,
        page: Page,
        contents: &impl Fn(BackendId, Page) -> Option<C>,
        ports: &Ports<C>,
    ) -> Option<C> {
        let shape = &self[node];
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
            let found =
                if is_needed { self.intact_contents_below(child, page, contents, ports) } else { None };
            first = first.or(found);
            sum = sum.zip(found).map(|(sum, found)| sum.plus(1, found));
        });
        if !is_mapped {
            return Some(C::default());
        }
        if is_sum { sum } else { first }
    }
}
