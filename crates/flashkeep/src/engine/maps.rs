//! Maps: nodes with one member that determine the places of its pages. A failure or replacement of the member applies
//! to the map as well.

use super::backends::{BackendId, Backends};
use super::command::{Command, Page};
use super::contents::Contents;
use super::executor::Engine;
use super::scheme::{Change, Scheme};
use super::tree::NodeId;
use crate::kernel::SimTime;

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Whether the map above a backend, if there is one, has plans in progress or waiting commands: it is not replaced
    /// before these have ended.
    #[must_use]
    pub fn is_map_at_work(&self, backend: BackendId) -> bool {
        let member = self.nodes.of_backend(backend).filter(|&node| self.nodes.is_below_map(node));
        let map = member.and_then(|node| self.nodes[node].parent);
        map.is_some_and(|(map, _)| self.is_at_work(map))
    }

    /// A map's member has changed: applies the change to the map, which may have lost pages.
    #[cold]
    pub(super) fn pass_up<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        map: NodeId,
        change: Change,
    ) {
        let losses = self.nodes.scheme_mut(map).losses();
        for loss in losses {
            let Some(page) = loss.page() else { continue };
            self.lose_page_of(backends, now, map, loss.over(self.nodes.outer(map, page)));
        }
        if matches!(change, Change::Failed | Change::Replaced | Change::Returned) {
            self.change(backends, now, map, change);
        }
    }

    /// A map, or a log, has no room for the pages of a write.
    #[cold]
    pub(super) fn refuse<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        map: NodeId,
        command: &Command,
    ) {
        let member = self.nodes[map].children[0];
        if let Some(backend) = self.nodes[member].backend {
            backends.note_refusal(now, backend);
        }
        for page in (command.start.0..command.end()).map(Page) {
            self.lose_page_of(backends, now, map, Change::Refused(self.nodes.outer(map, page)));
        }
    }
}
