//! After a power loss: commands in progress are dropped, and schemes report which pages their members lack.

use super::backends::Backends;
use super::command::Page;
use super::contents::Contents;
use super::executor::Engine;
use super::health;
use super::locks::Locks;
use super::plan::{Member, SparePlans};
use super::schedule::Due;
use super::scheme::{Change, Scheme};
use super::tree::NodeId;
use crate::kernel::SimTime;

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Recovery after a power cut: requests, plans, locks and sums are lost. At `now`, when the backends have restored
    /// their maps, every scheme examines its members, and repairs of missing pages begin like a rebuild.
    #[cold]
    pub fn recover<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        for node in self.nodes.ids() {
            self.nodes.note_exposure(now, node);
        }
        // A log names the stripes that plans had to themselves.
        let mut held = self.work.cut(self.nodes.len());
        self.ports.cut(now, &self.nodes.gaps);
        self.nodes.begin_recovery(now);
        self.schedule.restart(self.nodes.all_schemes());
        // Before other work begins, the pages that all nodes have recovered are compared with what they should be.
        self.schedule.due.push(now, Due::Recovered);
        self.spare_plans = SparePlans::default();
        // Children before their parents.
        for node in self.nodes.ids().rev() {
            if self.nodes.scheme(node).is_some() {
                self.recover_node(backends, now, node, &mut held);
            }
        }
        self.settle(backends, now);
    }

    /// If all pages are restored that the power loss took, the recovery is over: urgent work and other rebuilds begin,
    /// children before their parents.
    #[cold]
    pub(super) fn end_recovery<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        if !self.nodes.is_recovering() || self.schedule.is_rebuilding() {
            return;
        }
        self.nodes.end_recovery();
        let nodes = self.nodes.ids().rev().filter(|&node| self.nodes.scheme(node).is_some());
        let nodes = nodes.collect::<Vec<_>>();
        for &node in &nodes {
            self.press(backends, now, node);
        }
        for node in nodes {
            self.schedule.begin_rebuild(now, node, &self.nodes);
        }
    }

    fn recover_node<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        held: &mut Locks,
    ) {
        self.ports.restore_saved(backends, node, &self.nodes);
        self.discard_poisoned(backends, node);
        let mut lacking = Vec::new();
        std::mem::swap(&mut self.work.locks, held);
        self.with_view(backends, node, |scheme, view| {
            let lacks = &mut |member, page| lacking.push((member, page));
            health::recover_copies(scheme, view, lacks);
            scheme.recover(view, lacks);
        });
        std::mem::swap(&mut self.work.locks, held);
        self.nodes.recover_health(node);
        let children = self.nodes[node].children.clone();
        for &(member, page) in &lacking {
            self.discard(backends, node, member, page);
        }
        let members = (0..).map(Member).zip(&children);
        let failed = members.filter(|(_, child)| !self.nodes[**child].alive);
        let failed = failed.map(|(member, _)| (member, Change::Failed)).collect::<Vec<_>>();
        let changes = lacking.iter().map(|&(member, page)| (member, Change::Lacking(page)));
        for (member, change) in failed.into_iter().chain(changes) {
            self.note_member(backends, node, member, change);
            self.with_view(backends, node, |scheme, view| scheme.member(member, change, view));
        }
        self.nodes.restore_first(node, &lacking);
        self.nodes.note_exposure(now, node);
        self.schedule.begin_rebuild(now, node, &self.nodes);
    }

    /// Members that are trees, or have ports, lack the pages whose OOB metadata are known to be wrong, until they are written
    /// again; other backends have discarded theirs.
    fn discard_poisoned<L: Backends<C>>(&mut self, backends: &mut L, node: NodeId) {
        for (member, child) in (0..).map(Member).zip(self.nodes[node].children.clone()) {
            for (page, stamp) in self.nodes.names.poisoned(child) {
                let found = self.with_view(backends, node, |_, view| view.oob(member, page));
                if found.is_some_and(|oob| oob.stamp == stamp) {
                    self.discard(backends, node, member, page);
                } else {
                    self.nodes.names.forget_poisoned(child, page, stamp);
                }
            }
        }
    }

    /// A member lacks a page although there is one in its place: until it is written again, no recovery finds that.
    fn discard<L: Backends<C>>(&mut self, backends: &mut L, node: NodeId, member: Member, page: Page) {
        let child = self.nodes[node].child(member);
        if let Some(at) = self.nodes[child].port {
            self.ports.discard(at, page);
        }
        if let Some(backend) = self.nodes[child].raw() {
            backends.invalidate(backend, page);
        } else if let Some(found) = self.with_view(backends, node, |_, view| view.oob(member, page)) {
            // A codeword there includes the page as it is.
            self.nodes.names.poison(child, page, found.stamp);
        }
        self.nodes.gaps.set(child, page.0, true);
    }
}
