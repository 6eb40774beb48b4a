//! Missing pages of a node: it missed their writes while it did not respond, it has been replaced, or the
//! data to be written could not be reconstructed. A read of a missing page fails like any other failed read,
//! so that it is repaired or reported. A write of the page ends that.

use super::backends::{Backends, CompletionPart, Done};
use super::command::Page;
use super::contents::Contents;
use super::executor::Engine;
use super::health::Protection;
use super::nodes::Nodes;
use super::plan::Member;
use super::scheme::{Change, Scheme};
use super::tree::{NodeId, NodeLinks};
use crate::kernel::{Bits, SimTime};
use std::ops::Range;

/// The missing pages of all nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    nodes: Vec<Option<Gap>>,
    /// Pages of the root that were written in part after their old part was lost: their OOB metadata says so.
    poisoned: Bits,
}

/// The missing pages of one node: those in the set, or all but those.
#[derive(Clone, Debug, Default)]
struct Gap {
    all_but: bool,
    pages: Bits,
}

impl Gaps {
    /// Whether the node lacks the page.
    #[inline]
    pub(super) fn lacks(&self, node: NodeId, page: u64) -> bool {
        let Some(Some(gap)) = self.nodes.get(node.index()) else { return false };
        gap.pages.has(page) != gap.all_but
    }

    /// Whether the node lacks all of these pages, or none of them.
    pub(super) fn lacks_alike(&self, node: NodeId, pages: Range<u64>) -> bool {
        let gap = self.nodes.get(node.index()).and_then(Option::as_ref);
        gap.is_none_or(|gap| gap.pages.uniform(pages).is_some())
    }

    /// The next of these pages that a node lacks, or their end; the end, too, for a node that lacks all pages but some.
    pub(super) fn next_single(&self, node: NodeId, pages: Range<u64>) -> u64 {
        let gap = self.nodes.get(node.index()).and_then(Option::as_ref).filter(|gap| !gap.all_but);
        gap.map_or(pages.end, |gap| gap.pages.next(pages.start, pages.end, true))
    }

    /// Whether the node lacks all pages but some.
    pub(super) fn lacks_all_but_some(&self, node: NodeId) -> bool {
        self.nodes.get(node.index()).and_then(Option::as_ref).is_some_and(|gap| gap.all_but)
    }

    /// Those of these pages that the node lacks.
    pub(super) fn missing_of(&self, node: NodeId, mut pages: Bits) -> Bits {
        let Some(Some(gap)) = self.nodes.get(node.index()) else { return Bits::default() };
        if gap.all_but {
            gap.pages.runs().for_each(|run| pages.set_run(run, false));
            return pages;
        }
        gap.pages.common(&pages)
    }

    /// Whether the node lacks no page.
    pub(super) fn lacks_none(&self, node: NodeId) -> bool {
        let gap = self.nodes.get(node.index()).and_then(Option::as_ref);
        gap.is_none_or(|gap| !gap.all_but && gap.pages.count() == 0)
    }

    /// The number of missing pages, from any fixed number on: of a node that lacks all pages but some, those are
    /// subtracted.
    pub(super) fn level(&self) -> i64 {
        let level = |gap: &Gap| gap.pages.count() as i64 * if gap.all_but { -1 } else { 1 };
        self.nodes.iter().flatten().map(level).sum()
    }

    /// Records that the node has these pages, or lacks them.
    fn set_run(&mut self, node: NodeId, pages: Range<u64>, lacks: bool) {
        let gap = self.gap(node);
        gap.pages.set_run(pages, lacks != gap.all_but);
    }

    /// Records that the node lacks the page, or has it.
    pub(super) fn set(&mut self, node: NodeId, page: u64, lacks: bool) {
        if self.lacks(node, page) == lacks {
            return;
        }
        let gap = self.gap(node);
        gap.pages.set(page, lacks != gap.all_but);
    }

    /// Records that the node lacks all pages.
    pub(super) fn all(&mut self, node: NodeId) {
        *self.gap(node) = Gap { all_but: true, pages: Bits::default() };
    }

    /// Records that the node lacks no page.
    pub(super) fn none(&mut self, node: NodeId) {
        *self.gap(node) = Gap::default();
    }

    /// Records that a page of the root is written although a part of it is lost.
    pub(super) fn poison(&mut self, page: u64) {
        self.poisoned.set(page, true);
    }

    /// After a power cut: missing pages of the root are known from a log; those of members are determined again.
    pub(super) fn forget_members(&mut self) {
        self.nodes.truncate(NodeId::ROOT.index() + 1);
    }

    /// A page is moved to another address; its old address is a known zero.
    pub(super) fn remap(&mut self, node: NodeId, from: u64, to: u64) {
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

impl<S: Scheme> Nodes<S> {
    /// Clears the record of known zeros for a scheme that knows which pages are none, as long as members have all of their
    /// pages or have been replaced; false if that is not so.
    fn close_gaps_of_unused(&mut self, node: NodeId) -> bool {
        let children = self[node].children.clone();
        let Some(scheme) = self.scheme(node) else { return false };
        let Some(used) = scheme.used() else { return false };
        if scheme.period(0..scheme.capacity()) != Some(1) {
            return self.close_gaps_but_of_used(node);
        }
        let alive = || children.iter().copied().filter(|child| self[*child].alive);
        let is_replaced = |child: NodeId| self.gaps.lacks_all_but_some(child);
        let known = |child: NodeId| self.gaps.lacks_none(child) || is_replaced(child);
        if !alive().any(|child| self.gaps.lacks_none(child)) || !alive().all(known) {
            return false;
        }
        let replaced: Vec<NodeId> = alive().filter(|&child| is_replaced(child)).collect();
        let (mut at, end, mut unused) = (0, scheme.capacity(), Vec::new());
        while at < end {
            let first = used.next(at, end, false);
            at = used.next(first, end, true);
            unused.push(first..at);
        }
        for child in replaced {
            unused.iter().for_each(|run| self.gaps.set_run(child, run.clone(), false));
        }
        true
    }

    /// The same where the copies of a page have different addresses, if only one member has been replaced: that of its pages
    /// which are copies of known zeros the other copies are there.
    fn close_gaps_but_of_used(&mut self, node: NodeId) -> bool {
        let children = &self[node].children;
        let is_whole = |child: &NodeId| self[*child].alive && self.gaps.lacks_none(*child);
        let mut others = (0..).zip(children).filter(|(_, child)| !is_whole(child));
        let (Some((at, &child)), None) = (others.next(), others.next()) else { return false };
        if !self[child].alive || !self.gaps.lacks_all_but_some(child) {
            return false;
        }
        let (Some(scheme), mut lacking) = (self.scheme(node), Bits::default()) else { return false };
        for page in scheme.used().into_iter().flat_map(Bits::iter) {
            scheme.places(Page(page), |member, place| {
                if member == Member(at) && self.gaps.lacks(child, place.0) {
                    lacking.set(place.0, true);
                }
            });
        }
        // No member has more pages than the scheme: there are at least as many members as copies.
        self.gaps.set_run(child, 0..scheme.capacity(), false);
        lacking.runs().for_each(|run| self.gaps.set_run(child, run, true));
        true
    }

    /// Recovery found contents of a root's page that are not those of a write. If the page had been written although a
    /// part of it was lost, it is lost again.
    pub fn lose_if_poisoned(&mut self, page: Page) -> bool {
        let poisoned = self.gaps.poisoned.has(page.0);
        if poisoned {
            self.gaps.set(NodeId::ROOT, page.0, true);
        }
        poisoned
    }

    /// The pages that a node has lost, in its own numbers.
    fn lost_pages_of(&self, node: NodeId) -> Vec<Page> {
        let (shape, Some(scheme)) = (&self[node], self.scheme(node)) else { return Vec::new() };
        let all = (0..scheme.capacity()).map(Page);
        match scheme.protection() {
            Protection::None | Protection::Copies => {
                // A member that does not respond may respond again.
                let lacks = |child: NodeId, page: Page| self[child].alive && self.gaps.lacks(child, page.0);
                let lacking = |child: &&NodeId| self[**child].alive && !self.gaps.lacks_none(**child);
                // Each page has a copy on another member.
                let most = usize::from(matches!(scheme.protection(), Protection::Copies));
                if shape.children.iter().filter(lacking).count() <= most {
                    return Vec::new();
                }
                all.filter(|&page| is_gone(shape, scheme, page, lacks)).collect()
            }
            Protection::Own(health) => all.filter(|&page| health.is_lost(page)).collect(),
            Protection::Stripes(_) => {
                self.health.lost(node).into_iter().flat_map(|lost| lost.iter().map(Page)).collect()
            }
        }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// A member that has just been replaced, or responds again, is recorded to lack pages. This clears the record of
    /// known zeros: pages of which a scheme has several equal copies, if a member that lacks nothing does not hold the
    /// page.
    pub(super) fn close_gaps_of_zeros<L: Backends<C>>(&mut self, backends: &mut L, node: NodeId) {
        if !self.nodes.scheme(node).is_some_and(|scheme| scheme.capabilities().stateless) {
            return;
        }
        if self.nodes.scheme(node).is_some_and(|scheme| matches!(scheme.protection(), Protection::None)) {
            return; // of each page there is one copy
        }
        self.note_losses(backends);
        if self.nodes.close_gaps_of_unused(node) {
            return;
        }
        let mut zeros = Vec::new();
        self.with_view(backends, node, |scheme, view| {
            let mut places = Vec::new();
            for page in 0..scheme.capacity() {
                places.clear();
                scheme.places(Page(page), |member, page| places.push((member, page)));
                let has = |&&(member, page): &&(Member, Page)| view.has(member, page);
                let holds_nothing = |&(member, page): &(Member, Page)| !view.holds(member, page);
                if places.iter().find(has).is_some_and(holds_nothing) {
                    let lacks = |place: &&(Member, Page)| view.alive(place.0) && !has(place);
                    zeros.extend(places.iter().filter(lacks).filter(|place| holds_nothing(place)));
                }
            }
        });
        for (Member(member), page) in zeros {
            let child = &self.nodes[node].children[usize::from(member)];
            self.nodes.gaps.set(*child, page.0, false);
        }
    }

    /// Pages whose loss backends have reported are missing from now on, though the reports have not been handled yet.
    fn note_losses<L: Backends<C>>(&mut self, backends: &mut L) {
        let is_gone = |part| matches!(part, CompletionPart::Lost | CompletionPart::Refused);
        let lost = |done: &Done<C>| done.failed.filter(|_| is_gone(done.part));
        let reported: Vec<_> = backends.done().iter().filter_map(lost).collect();
        for (backend, page) in reported {
            if let Some(node) = self.nodes.of_backend(backend)
                && !self.ports.is_before(node, page, &self.nodes, &self.work.locks)
                && !backends.holds(backend, page)
            {
                self.nodes.gaps.set(node, page.0, true);
            }
        }
    }

    /// A read of a node's page has failed. If the page is still unreadable, it is recorded as missing, and the scheme
    /// of the node's parent rebuilds it like other missing pages.
    #[cold]
    pub(super) fn note_unreadable<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        page: Page,
    ) {
        let NodeLinks { alive, parent, .. } = self.nodes[node];
        let known = !alive || parent.is_none() || self.nodes.gaps.lacks(node, page.0);
        if known || !self.is_unreadable(backends, node, page) {
            return;
        }
        self.lose_page_of(backends, now, node, Change::Unreadable(page));
    }

    /// A member of a node was replaced, or has returned without some pages: pages that the node lost thereby are
    /// missing from now on, and the scheme of the node's parent rebuilds it like other missing pages.
    #[cold]
    pub(super) fn pass_losses_up<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId) {
        let NodeLinks { alive, parent, .. } = self.nodes[node];
        if !alive || parent.is_none() {
            return;
        }
        let lost = self.nodes.lost_pages_of(node).into_iter().map(|page| self.nodes.outer(node, page));
        let lost: Vec<Page> = lost
            .filter(|&page| {
                !self.nodes.gaps.lacks(node, page.0)
                    && !self.ports.is_before(node, page, &self.nodes, &self.work.locks)
            })
            .collect();
        if !lost.is_empty() {
            lost.into_iter().for_each(|page| self.nodes.gaps.set(node, page.0, true));
            self.tell_parent(backends, now, node, Change::Returned);
        }
    }

    /// Whether no place of a node's page can be read now. For a scheme with several copies or with parity this is
    /// called after its repair failed. A member that does not respond may respond later.
    fn is_unreadable<L: Backends<C>>(&self, backends: &L, node: NodeId, page: Page) -> bool {
        let shape = &self.nodes[node];
        if !shape.alive {
            return false;
        }
        if self.nodes.gaps.lacks(node, page.0) {
            return true;
        }
        if self.ports.is_before(node, page, &self.nodes, &self.work.locks) {
            return false;
        }
        let page = shape.inner(page);
        // A read that had to wait for a copy may find that the page has been written since.
        let waits = self.work.outstanding();
        self.has_nothing_readable(backends, node, page) && waits.holds(node, page).is_none()
    }

    /// Whether no place of a page can be read, however commands that wait will change that.
    fn has_nothing_readable<L: Backends<C>>(&self, backends: &L, node: NodeId, page: Page) -> bool {
        let shape = &self.nodes[node];
        if let Some(backend) = shape.backend {
            return backends.is_unreadable(backend, page);
        }
        let Some(scheme) = self.nodes.scheme(node) else { return false };
        is_gone(shape, scheme, page, |child, page| self.is_unreadable(backends, child, page))
    }
}

/// Whether all places of a page are bad, or one of a page that is the sum of its places.
fn is_gone<S: Scheme>(
    shape: &NodeLinks,
    scheme: &S,
    page: Page,
    is_bad: impl Fn(NodeId, Page) -> bool,
) -> bool {
    let (mut places, mut bad) = (0, 0);
    scheme.places(page, |member, page| {
        places += 1;
        bad += u32::from(is_bad(shape.child(member), page));
    });
    bad > 0 && (bad == places || scheme.protection().is_sum(page))
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
        gaps.remap(node, 5, 900);
        assert!(gaps.lacks(node, 900) && !gaps.lacks(node, 5));
        gaps.all(node);
        assert!(gaps.lacks(node, 7) && gaps.lacks(node, 70_000));
        gaps.set(node, 7, false);
        assert!(!gaps.lacks(node, 7) && gaps.lacks(node, 8));
    }
}
