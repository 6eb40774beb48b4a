//! Pages that a node ought to hold and does not: it missed their writes while it did not answer, it has been
//! replaced, or what was to be written could not be worked out any more. Reading one is a failure like any
//! other, so that it is repaired or reported; writing it closes the gap.

use super::tree::NodeId;
use crate::kernel::Bits;

/// The gaps of all nodes.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    nodes: Vec<Option<Gap>>,
}

/// The gaps of one node: those pages, or all but those.
#[derive(Debug, Default)]
struct Gap {
    all_but: bool,
    pages: Bits,
}

impl Gaps {
    /// Whether the node lacks the page.
    #[inline]
    pub(super) fn lacks(&self, node: NodeId, page: u32) -> bool {
        let Some(Some(gap)) = self.nodes.get(node.index()) else { return false };
        gap.pages.has(page) != gap.all_but
    }

    /// From now on the node lacks the page, or has it.
    pub(super) fn set(&mut self, node: NodeId, page: u32, lacks: bool) {
        if self.lacks(node, page) == lacks {
            return;
        }
        let gap = self.gap(node);
        gap.pages.set(page, lacks != gap.all_but);
    }

    /// The node lacks everything.
    pub(super) fn all(&mut self, node: NodeId) {
        *self.gap(node) = Gap { all_but: true, pages: Bits::default() };
    }

    /// The node lacks nothing.
    pub(super) fn none(&mut self, node: NodeId) {
        *self.gap(node) = Gap::default();
    }

    /// A page goes to another address, as it is; what it leaves behind is a known zero.
    pub(super) fn rename(&mut self, node: NodeId, from: u32, to: u32) {
        let lacks = self.lacks(node, from);
        self.set(node, to, lacks);
        self.set(node, from, false);
    }

    fn gap(&mut self, node: NodeId) -> &mut Gap {
        if self.nodes.len() <= node.index() {
            self.nodes.resize_with(node.index() + 1, Option::default);
        }
        self.nodes[node.index()].get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_open_and_close() {
        let (mut gaps, node) = (Gaps::default(), NodeId(3));
        assert!(!gaps.lacks(node, 5));
        gaps.set(node, 5, true);
        assert!(gaps.lacks(node, 5) && !gaps.lacks(node, 6) && !gaps.lacks(NodeId(2), 5));
        gaps.rename(node, 5, 900);
        assert!(gaps.lacks(node, 900) && !gaps.lacks(node, 5));
        gaps.all(node);
        assert!(gaps.lacks(node, 7) && gaps.lacks(node, 70_000));
        gaps.set(node, 7, false);
        assert!(!gaps.lacks(node, 7) && gaps.lacks(node, 8));
    }
}
