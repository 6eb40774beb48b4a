//! After a power loss: commands in progress are dropped, and schemes report which pages their members lack.

use super::background::{BackgroundClock, Parked};
use super::command::Page;
use super::contents::Contents;
use super::executor::{Due, Engine};
use super::health;
use super::leaves::Leaves;
use super::locks::Locks;
use super::plan::Member;
use super::scheme::{Change, Scheme};
use super::sums::Sheets;
use super::tree::NodeId;
use crate::kernel::{Arena, Deadlines, SimTime};

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Recovery after a power cut: requests, plans, locks and sums are lost. At `now`, when the backends have restored
    /// their maps, every scheme examines its members, and repairs of missing pages begin like a rebuild.
    #[cold]
    pub fn recover<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime) {
        for node in 0..self.shape.len() {
            self.note_exposure(now, NodeId(node as u16));
        }
        self.joins = Arena::default();
        self.frames = Arena::default();
        self.sheets = Sheets::default();
        // A log names the stripes that plans had to themselves.
        let mut held = std::mem::take(&mut self.locks);
        self.gaps.forget_members();
        self.ports.cut(now);
        self.parked = Parked::new(self.shape.len());
        self.clock = BackgroundClock::new(&self.schemes);
        self.due = Deadlines::default();
        // Before urgent work begins, the pages that all nodes have recovered are compared with what they should be.
        self.clock.paused = true;
        self.due.push(now, Due::Recovered);
        self.merging = 0;
        self.finished.clear();
        self.plans.clear();
        self.xor_free.fill(now);
        (self.troubled, self.announced) = (true, true);
        // Children before their parents.
        for node in (0..self.shape.len()).rev().map(|node| NodeId(node as u16)) {
            if self.schemes[node.index()].is_some() {
                self.recover_node(leaves, now, node, &mut held);
            }
        }
        self.settle(leaves, now);
    }

    /// The recovery is over: urgent work begins, children before their parents.
    #[cold]
    pub(super) fn recovered<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime) {
        self.clock.paused = false;
        for node in (0..self.shape.len()).rev().map(|node| NodeId(node as u16)) {
            if self.schemes[node.index()].is_some() {
                self.press(leaves, now, node);
            }
        }
    }

    fn recover_node<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, node: NodeId, held: &mut Locks) {
        let mut lacking = Vec::new();
        std::mem::swap(&mut self.locks, held);
        self.consult(leaves, node, |scheme, view| {
            let lacks = &mut |member, page| lacking.push((member, page));
            health::recover_copies(scheme, view, lacks);
            scheme.recover(view, lacks);
        });
        std::mem::swap(&mut self.locks, held);
        self.health.recover(node, &self.schemes[node.index()]);
        let children = self.shape[node.index()].children.clone();
        for &(Member(member), page) in &lacking {
            let child = children[usize::from(member)];
            self.gaps.set(child, page.0, true);
            self.disown(leaves, child, page);
        }
        let members = (0..).map(Member).zip(&children);
        let failed = members.filter(|(_, child)| !self.shape[child.index()].alive);
        let failed = failed.map(|(member, _)| (member, Change::Failed)).collect::<Vec<_>>();
        let lacking = lacking.into_iter().map(|(member, page)| (member, Change::Lacking(page)));
        for (member, change) in failed.into_iter().chain(lacking) {
            self.note_member(leaves, node, member, change);
            self.consult(leaves, node, |scheme, view| scheme.member(member, change, view));
        }
        self.note_exposure(now, node);
        self.begin_rebuild(now, node);
    }

    /// Invalidates a node's page whose OOB metadata is wrong.
    fn disown<L: Leaves<C>>(&mut self, leaves: &mut L, node: NodeId, page: Page) {
        let shape = &self.shape[node.index()];
        if let Some(leaf) = shape.raw() {
            return leaves.disown(leaf, page);
        }
        let (page, children) = (shape.inner(page), shape.children.clone());
        let mut places = Vec::new();
        self.consult(leaves, node, |scheme, view| {
            scheme.disown(page, view, &mut |member, page| places.push((member, page)));
        });
        for (Member(member), page) in places {
            self.disown(leaves, children[usize::from(member)], page);
        }
    }
}
