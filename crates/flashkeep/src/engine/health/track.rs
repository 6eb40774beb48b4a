//! When codewords are examined, and when they are rebuilt.

use super::{Codeword, Health, NodeHealth, Protection, codeword_of, copies, repair_key};
use crate::engine::backends::Backends;
use crate::engine::code::Code;
use crate::engine::command::{Command, Page, Verb};
use crate::engine::contents::Contents;
use crate::engine::executor::Engine;
use crate::engine::nodes::Nodes;
use crate::engine::plan::{Key, Member, Plan, Role};
use crate::engine::schedule::Schedule;
use crate::engine::scheme::{Change, Hazard, Scheme, StripeUnit};
use crate::engine::tree::NodeId;
use crate::engine::view::View;
use crate::engine::work::WorkInProgress;
use crate::kernel::SimTime;

impl Health {
    /// A member has refused a page of a stripe that a background plan works on.
    fn refuse(&mut self, node: NodeId, key: Key) {
        self.nodes[node.index()].refused.push(key);
    }

    /// Whether a member has refused a page of the plan that held this key, and has ended.
    #[inline]
    pub(in crate::engine) fn take_refused(&mut self, node: NodeId, key: Key) -> bool {
        let refused = &mut self.nodes[node.index()].refused;
        let any = !refused.is_empty() && refused.contains(&key);
        if any {
            refused.retain(|&other| other != key);
        }
        any
    }

    /// A power loss took these pages of a node's members. If one belongs to the data of a codeword with parity, the
    /// codeword is rebuilt before requests are served.
    pub(in crate::engine) fn restore_first<S: Scheme>(
        &mut self,
        node: NodeId,
        scheme: &Option<S>,
        taken: impl Iterator<Item = (Member, Page)>,
    ) {
        let Some(Protection::Stripes(stripes)) = scheme.as_ref().map(Scheme::protection) else { return };
        let NodeHealth { queue, first, word, newer, .. } = &mut self.nodes[node.index()];
        for at in taken {
            let Some(stripe) = stripes.stripe_of(at.0, at.1).filter(|&stripe| queue.has(stripe)) else {
                continue;
            };
            word.units.clear();
            stripes.units(stripe, &mut |unit| word.units.push(unit));
            newer.take_newer(stripes, stripe);
            let mut units = word.units.iter().chain(&newer.units);
            let unit = units.find(|unit| (unit.member, unit.page) == at);
            if unit.is_some_and(|unit| matches!(unit.role, Role::Data(_))) {
                first.set(stripe, true);
            }
        }
    }
}

impl<S: Scheme> Nodes<S> {
    /// Background work on the stripe of a refused page falls short.
    fn note_refused<C: Contents>(
        &mut self,
        child: NodeId,
        page: Page,
        work: &WorkInProgress<C>,
        schedule: &Schedule,
    ) {
        let Some((node, member)) = self[child].parent else { return };
        // A worn drive refuses page after page; most of the time nothing is done in the background.
        if schedule.working(node) == 0 {
            return;
        }
        let Some(scheme) = self.scheme(node) else { return };
        let of_page = || scheme.owner(member, page).map(|page| Key(page.0));
        let Some(key) = repair_key(scheme, member, page).or_else(of_page) else { return };
        let mut plans =
            work.running_plans.places().filter(|running| running.is_under_way() && running.node == node);
        if plans.any(|running| running.background().is_some() && running.stripe.key() == Some(key)) {
            self.health.refuse(node, key);
        }
    }

    /// Whether the node has pages to rebuild.
    #[must_use]
    pub fn has_to_rebuild(&self, node: NodeId) -> bool {
        let restoring = self.health.is_restoring(node);
        self.health.is_rebuilding(node)
            || self.scheme(node).is_some_and(|scheme| scheme.rebuilding(restoring))
    }

    /// Whether `hazard` may lose a page of a node in its present state: the declared exposed set. Tests compare it with
    /// the pages that are really lost.
    #[must_use]
    pub fn is_exposed(&self, node: NodeId, page: Page, hazard: Hazard) -> bool {
        let Some(scheme) = self.scheme(node) else { return false };
        match scheme.protection() {
            Protection::None => true,
            Protection::Own(health) => health.is_exposed(page, hazard),
            Protection::Copies => hazard == Hazard::Unit && self.health.is_degraded(node, page.0),
            Protection::Stripes(stripes) => {
                let data = stripes.data();
                let (stripe, index) = ((page.0 / u64::from(data)) as u32, page.0 % u64::from(data));
                let mut word = Codeword::default();
                let newer = stripes.is_newer(stripe, index as u8);
                let has_copies = stripes.has_copies();
                if newer && has_copies {
                    return hazard == Hazard::Unit && self.health.nodes[node.index()].thin.has(page.0);
                }
                let weak = if newer {
                    word.take_newer(stripes, stripe);
                    self.health.nodes[node.index()].newer_missing.has(stripe)
                } else {
                    word.take_from(scheme, stripe.into());
                    self.health.is_degraded(node, stripe.into())
                };
                let written = word.units.iter().any(|unit| unit.role == Role::Data(index as u8));
                // The power takes no such page by itself; but if its member is gone, too, it is unknown what replaced
                // it.
                let newest = stripes.has_newer(stripe) && !has_copies;
                let weak = if hazard == Hazard::Power { newest } else { weak };
                written && (weak || word.parities == 0)
            }
        }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Calls the tracker of a node with the node's scheme and view.
    fn track_health<L: Backends<C>, T>(
        &mut self,
        backends: &L,
        node: NodeId,
        act: impl FnOnce(&mut NodeHealth, &mut S, &View<'_>) -> T,
    ) -> T {
        let mut nodes = std::mem::take(&mut self.nodes.health.nodes);
        let result =
            self.with_view(backends, node, |scheme, view| act(&mut nodes[node.index()], scheme, view));
        self.nodes.health.nodes = nodes;
        result
    }

    /// A member of a node has changed: examines the codewords with pages of the member.
    #[cold]
    pub(in crate::engine) fn note_member<L: Backends<C>>(
        &mut self,
        backends: &L,
        node: NodeId,
        member: Member,
        change: Change,
    ) {
        self.nodes.health.trouble(node);
        let again = !matches!(change, Change::Refused(_));
        self.track_health(backends, node, |health, scheme, view| {
            match (scheme.protection(), change.page()) {
                (Protection::None, _) => {
                    health.damaged |= !matches!(change, Change::Unreadable(_));
                }
                (Protection::Own(_), _) => {}
                (_, Some(page)) => {
                    if let Some(codeword) = codeword_of(scheme, member, page) {
                        let has = |member, page| view.has(member, page);
                        health.examine(scheme, codeword, again, view, has);
                    }
                }
                (Protection::Copies, None) if scheme.used().is_none() => {
                    for page in 0..scheme.capacity() {
                        let mut concerned = false;
                        scheme.places(Page(page), |other, _| concerned |= other == member);
                        if concerned {
                            let has = |member, page| view.has(member, page);
                            health.examine(scheme, page, again, view, has);
                        }
                    }
                }
                (Protection::Copies | Protection::Stripes(_), None) => {
                    health.examine_all(scheme, again, view)
                }
            }
        });
    }

    /// A command that is not a read has been planned, and its steps take effect at once, because no plan holds its
    /// stripe.
    #[inline(never)]
    pub(in crate::engine) fn note_planned<L: Backends<C>>(
        &mut self,
        backends: &L,
        node: NodeId,
        command: &Command,
        plan: &Plan,
    ) {
        self.track_health(backends, node, |health, scheme, view| match scheme.protection() {
            Protection::None | Protection::Own(_) => {}
            Protection::Copies if command.changes_nothing() => {}
            Protection::Copies => {
                for page in command.start.0..command.end() {
                    health.word.take_from(scheme, page);
                    health.note(page, copies::written(&health.word, command.verb == Verb::Write, view));
                }
            }
            Protection::Stripes(stripes) => {
                let changes = |member| {
                    let steps = plan.steps.iter().filter(move |step| step.member == member);
                    steps.map(|step| &step.command).filter(|command| command.verb != Verb::Read)
                };
                let stripe = command.start.0 / u64::from(stripes.data());
                health.examine(scheme, stripe, true, view, |member, page| {
                    let remapped = |command: &&Command| command.verb == Verb::Remap && command.to == page;
                    if let Some(remapped) = changes(member).find(remapped) {
                        view.has(member, remapped.start)
                    } else if changes(member)
                        .any(|command| (command.start.0..command.end()).contains(&page.0))
                    {
                        view.alive(member)
                    } else {
                        view.has(member, page)
                    }
                });
            }
        });
    }

    /// A plan that held a codeword has ended: examines what it lacks now.
    #[inline(never)]
    pub(in crate::engine) fn note_settled<L: Backends<C>>(
        &mut self,
        backends: &L,
        node: NodeId,
        key: Key,
        restores: bool,
        fell_short: bool,
    ) {
        let again = !(restores && fell_short);
        let codeword = key.0;
        self.track_health(backends, node, |health, scheme, view| {
            health.restoring -= u32::from(restores);
            health.examine(scheme, codeword, again, view, |member, page| view.has(member, page));
        });
        self.with_view(backends, node, |scheme, view| scheme.examined(codeword as u32, view));
    }

    /// Plans the rebuild of one codeword; false if none can be rebuilt now.
    pub(in crate::engine) fn restore<L: Backends<C>>(
        &mut self,
        backends: &L,
        node: NodeId,
        plan: &mut Plan,
    ) -> bool {
        let recovers = self.nodes.is_recovering();
        !self.nodes.health.nodes[node.index()].queue.is_empty()
            && self.track_health(backends, node, |health, scheme, view| {
                health.rebuild(scheme, recovers, view, plan)
            })
    }

    /// Examines all codewords of nodes that defer parities, after their state has been loaded.
    pub fn examine_deferred<L: Backends<C>>(&mut self, backends: &L) {
        for node in self.nodes.ids() {
            if self.nodes.health.is_watched(node) {
                self.track_health(backends, node, |health, scheme, view| {
                    let Protection::Stripes(stripes) = scheme.protection() else { return };
                    for stripe in 0..stripes.count() {
                        health.examine(scheme, stripe.into(), true, view, |member, page| {
                            view.has(member, page)
                        });
                    }
                });
                self.nodes.note_exposure(SimTime::ZERO, node);
            }
        }
    }

    /// A node has lost a page, or refuses it: records that the page is missing, marks plans that work on it, and tells
    /// the scheme of the node's parent.
    #[cold]
    pub(in crate::engine) fn lose_page_of<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        child: NodeId,
        change: Change,
    ) {
        let Some(page) = change.page() else { return };
        self.nodes.note_failure(!matches!(change, Change::Unreadable(_)));
        self.nodes.gaps.set(child, page.0, true);
        if matches!(change, Change::Refused(_)) {
            self.nodes.note_refused(child, page, &self.work, &self.schedule);
        }
        self.tell_parent(backends, now, child, change);
    }

    /// Calls `visit` with each codeword of a node that is complete on the media: its code, and the units of a stripe with
    /// their roles, or the copies of a page. For checks against the state of the flash; units that were never written may be
    /// left out.
    pub fn covers(&self, node: NodeId, visit: &mut dyn FnMut(Code, &[StripeUnit])) {
        let Some(scheme) = self.nodes.scheme(node) else { return };
        let count = match scheme.protection() {
            Protection::None => return,
            Protection::Own(health) => return health.covers(&mut |units| visit(Code::default(), units)),
            Protection::Copies => scheme.capacity(),
            Protection::Stripes(stripes) => stripes.count().into(),
        };
        let mut word = Codeword::default();
        let is_free = |codeword| !self.work.locks.is_held(node, Key(codeword));
        for codeword in (0..count).filter(|&codeword| is_free(codeword)) {
            word.take_from(scheme, codeword);
            let protected = word.parities > 0 || matches!(scheme.protection(), Protection::Copies);
            if protected && !self.nodes.health.is_degraded(node, codeword) {
                visit(word.code, &word.units);
            }
            if let Protection::Stripes(stripes) = scheme.protection() {
                word.take_newer(stripes, codeword as u32);
                let health = &self.nodes.health.nodes[node.index()];
                if word.parities > 0 && !health.newer_missing.has(codeword) {
                    visit(word.code, &word.units);
                }
                for index in 0..stripes.data() {
                    word.take_copies(stripes, codeword as u32, index);
                    let page = codeword * u64::from(stripes.data()) + u64::from(index);
                    if !word.units.is_empty() && !health.thin.has(page) {
                        visit(word.code, &word.units);
                    }
                }
            }
        }
    }
}
