//! Maps: nodes with one member that say where its pages are. What happens to the member happens to the map.

use super::command::{Command, Page};
use super::contents::Contents;
use super::executor::Engine;
use super::leaves::{LeafId, Leaves};
use super::scheme::{Change, Scheme};
use super::tree::NodeId;
use crate::kernel::SimTime;

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Whether a node is the member of a map.
    pub(super) fn is_below_map(&self, node: NodeId) -> bool {
        let parent = self.shape[node.index()].parent;
        parent.is_some_and(|(parent, _)| self.scheme(parent).is_some_and(Scheme::is_map))
    }

    /// The leaf that stands at a node, if one does.
    #[must_use]
    pub fn leaf_at(&self, node: NodeId) -> Option<LeafId> {
        self.shape[node.index()].leaf
    }

    /// Whether the map above a leaf, if there is one, has plans under way or commands that wait: it is not replaced
    /// before these have come to their end.
    #[must_use]
    pub fn is_map_at_work(&self, leaf: LeafId) -> bool {
        let member = self.node_of(leaf).filter(|&node| self.is_below_map(node));
        let map = member.and_then(|node| self.shape[node.index()].parent);
        map.is_some_and(|(map, _)| self.is_at_work(map))
    }

    /// Something has happened to a map's member: it has happened to the map, and may have cost pages of the map's.
    #[cold]
    pub(super) fn pass_up<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        map: NodeId,
        change: Change,
    ) {
        for loss in self.scheme_mut(map).losses() {
            let Some(page) = loss.page() else { continue };
            self.lose_of_map(leaves, now, map, loss.over(self.outer(map, page)));
        }
        if matches!(change, Change::Failed | Change::Replaced | Change::Returned) {
            self.change(leaves, now, map, change);
        }
    }

    /// A map has no place for the pages of a write.
    #[cold]
    pub(super) fn refuse<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        map: NodeId,
        command: &Command,
    ) {
        let member = self.shape[map.index()].children[0];
        if let Some(leaf) = self.shape[member.index()].leaf {
            leaves.note_refusal(now, leaf);
        }
        for page in (command.start.0..command.end()).map(Page) {
            self.lose_of_map(leaves, now, map, Change::Refused(self.outer(map, page)));
        }
    }

    fn lose_of_map<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, map: NodeId, loss: Change) {
        let Some(page) = loss.page() else { return };
        self.troubled = true;
        self.announced |= !matches!(loss, Change::Unreadable(_));
        self.gaps.set(map, page.0, true);
        if matches!(loss, Change::Refused(_)) {
            self.note_refused(map, page);
        }
        self.tell_parent(leaves, now, map, loss);
    }
}
