//! The names of pages in OOB metadata.
//!
//! A node numbers its own pages: the nodes above it may store pages of the host there, copies, or parities. The
//! OOB metadata of a page names it by the numbers of each node above it, with the version there. The page on flash has
//! one stamp, that of its contents; this table says which page and version it is to each node. The root's pages are the
//! host's, which stamps name themselves ([`Version`]). Parity covers OOB metadata, so the stamp of a page that was
//! reconstructed is known here as well.

use super::backends::CompletionToken;
use super::command::{Command, Page, Verb};
use super::contents::{Contents, Version};
use super::nodes::Nodes;
use super::scheme::{Capabilities, Scheme};
use super::sums::PageBuffers;
use super::tree::NodeId;
use crate::kernel::{FixedMap, sorted};
use std::collections::BTreeSet;

/// The names that stamps have at the nodes below the root. Empty unless a power loss is expected.
#[derive(Clone, Debug, Default)]
pub(super) struct PageNames {
    /// The nodes that name their pages; all are false or missing if no power loss is expected.
    naming: Vec<bool>,
    /// By node, page and stamp: the version of the page, counted modulo 2¹⁶.
    versions: FixedMap<StampedPage, u16>,
    /// By node and page: its last version.
    last: FixedMap<(NodeId, u64), u16>,
    /// Contents that are not to be found again: they could not be computed and were written all the same, or a recovery
    /// discarded them. Those that had been overwritten by the last power loss are not among them.
    poisoned: BTreeSet<StampedPage>,
}

/// A page of a node, and the stamp of contents that were written to it.
type StampedPage = (NodeId, u64, u64);

/// The versions of pages by node, page and stamp, in order.
pub type NamedVersions = Vec<(StampedPage, u16)>;

impl PageNames {
    #[inline]
    fn are_given_by(&self, node: NodeId) -> bool {
        self.naming.get(node.index()).is_some_and(|&naming| naming)
    }

    fn give(&mut self, node: NodeId, page: u64, stamp: u64) {
        let last = self.last.entry((node, page)).or_default();
        *last = last.wrapping_add(1);
        self.versions.insert((node, page, stamp), *last);
    }

    /// A node gets these pages.
    #[inline]
    pub(super) fn note_write<C: Contents>(
        &mut self,
        buffers: &PageBuffers<C>,
        node: NodeId,
        command: &Command,
        token: CompletionToken,
    ) {
        if !C::KEEP || command.verb != Verb::Write || !self.are_given_by(node) {
            return;
        }
        for n in 0..command.count {
            let at = u32::from(n);
            let stamp = buffers.written(&command.part(at, 1), token.plus(at))[0].stamp();
            self.give(node, command.start.0 + u64::from(at), stamp);
        }
    }

    /// Contents with this stamp in a node's page are not to be found again.
    pub(super) fn poison(&mut self, node: NodeId, page: Page, stamp: u64) {
        if !self.naming.is_empty() {
            self.poisoned.insert((node, page.0, stamp));
        }
    }

    /// The pages of a node with contents that are not to be found again, and the stamps of these.
    pub(super) fn poisoned(&self, node: NodeId) -> Vec<(Page, u64)> {
        let all = (node, u64::MIN, u64::MIN)..=(node, u64::MAX, u64::MAX);
        self.poisoned.range(all).map(|&(_, page, stamp)| (Page(page), stamp)).collect()
    }

    /// The contents with this stamp have been overwritten.
    pub(super) fn forget_poisoned(&mut self, node: NodeId, page: Page, stamp: u64) {
        self.poisoned.remove(&(node, page.0, stamp));
    }

    /// The version of a node's page with this stamp; none if the stamp is another page's.
    pub(super) fn version(&self, node: NodeId, page: Page, stamp: u64) -> Option<Version> {
        let version = match node {
            NodeId::ROOT => Version::of(stamp),
            _ => self.versions.get(&(node, page.0, stamp)).map(|&version| Version::Written(page.0, version)),
        };
        version.filter(|version| version.page() == page.0)
    }
}

impl<S: Scheme> Nodes<S> {
    /// The power will fail during the run: from now on nodes name their pages.
    pub fn expect_power_cuts(&mut self) {
        let names = |scheme: &Option<S>| {
            scheme.as_ref().is_some_and(|scheme| {
                let Capabilities { transparent, map, .. } = scheme.capabilities();
                !transparent && !map
            })
        };
        self.names.naming = self.all_schemes().iter().map(names).collect();
        self.names.naming[NodeId::ROOT.index()] = false;
    }

    /// The names of all pages, for a snapshot.
    #[must_use]
    pub fn page_names(&self) -> NamedVersions {
        sorted(&self.names.versions)
    }

    /// Takes over the names of pages from a snapshot.
    pub fn restore_page_names(&mut self, names: NamedVersions) {
        for &((node, page, _), version) in &names {
            let last = self.names.last.entry((node, page)).or_insert(version);
            *last = if (version.wrapping_sub(*last) as i16) > 0 { version } else { *last };
        }
        self.names.versions = names.into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_names_its_own_pages() {
        let (mut names, node, page) = (PageNames::default(), NodeId(3), Page(7));
        [11, 12, 11].iter().for_each(|&stamp| names.give(node, 7, stamp));
        let version = |node, page, stamp| names.version(node, page, stamp);
        assert_eq!(version(node, page, 12), Some(Version::Written(7, 2)));
        // The same contents again are the newest version.
        assert_eq!(version(node, page, 11), Some(Version::Written(7, 3)));
        assert_eq!((version(node, Page(8), 11), version(NodeId(4), page, 11)), (None, None));
        // The host's pages name themselves.
        let stamp = Version::Written(7, 5).stamp();
        assert_eq!(version(NodeId::ROOT, page, stamp), Some(Version::Written(7, 5)));
        assert_eq!(version(NodeId::ROOT, Page(8), stamp), None);
    }
}
