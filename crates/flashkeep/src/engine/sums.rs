//! Contents of pages that plans work on: the pages of every completion counter, the sums of every plan, and the running
//! parity of stripes that several plans write. If contents are not kept, all of it compiles away.

use super::backends::{Backends, CompletionPart, CompletionToken, Done};
use super::command::{Command, Flags, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::nodes::Nodes;
use super::plan::{Key, Role, Step};
use super::ports::NO_PAGE;
use super::reconstruct::RowOfPlan;
use super::requests::CompletionCounter;
use super::running::{PlanSums, RunningPlan};
use super::scheme::{Change, Scheme};
use super::tree::NodeId;
use super::work::WorkInProgress;
use crate::kernel::{FixedMap, Id, SimTime};
use std::collections::BTreeSet;

/// The pages of every completion counter and the sums of every plan.
#[derive(Clone, Debug)]
pub(super) struct PageBuffers<C> {
    pages: Vec<Vec<C>>,
    /// The old contents that writes replace, if the caller supplies them.
    olds: Vec<Vec<C>>,
    /// For each running plan, the sums of each row, one for each parity that it needs.
    sums: Vec<Vec<C>>,
    carried: FixedMap<(NodeId, Key), Vec<C>>,
    /// The running sums that lack a lost page; known even if contents are not kept.
    lacking: BTreeSet<(NodeId, Key)>,
}

impl<C> Default for PageBuffers<C> {
    fn default() -> Self {
        PageBuffers {
            pages: Vec::new(),
            olds: Vec::new(),
            sums: Vec::new(),
            carried: FixedMap::default(),
            lacking: BTreeSet::new(),
        }
    }
}

impl<C: Contents> PageBuffers<C> {
    /// Clears the buffer for a completion counter of this many pages.
    #[inline]
    pub(super) fn open(&mut self, counter: Id<CompletionCounter>, pages: usize) {
        if !C::KEEP {
            return;
        }
        for buffers in [&mut self.pages, &mut self.olds] {
            if buffers.len() <= counter.index() {
                buffers.resize_with(counter.index() + 1, Vec::new);
            }
            buffers[counter.index()].clear();
        }
        self.pages[counter.index()].resize(pages, C::default());
    }

    /// The pages of a completion counter.
    #[inline]
    pub(super) fn of(&mut self, counter: Id<CompletionCounter>) -> &mut [C] {
        if C::KEEP { &mut self.pages[counter.index()] } else { &mut [] }
    }

    /// Adds pages to a completion counter; returns the place of the first.
    #[inline]
    pub(super) fn extend(
        &mut self,
        counter: Id<CompletionCounter>,
        contents: impl Iterator<Item = C>,
    ) -> u32 {
        let pages = &mut self.pages[counter.index()];
        let first = pages.len() as u32;
        pages.extend(contents);
        first
    }

    /// The contents that go with a command.
    #[inline]
    pub(super) fn written(&self, command: &Command, token: CompletionToken) -> &[C] {
        if !C::KEEP || command.verb != Verb::Write {
            return &[];
        }
        debug_assert!(command.count == 1 || token.is_run(), "what backends are given follows each other");
        let first = token.slot as usize;
        &self.pages[token.owner.index()][first..first + usize::from(command.count)]
    }

    /// Sets the contents that a page of a request was read with. (A write is completed without contents and keeps what
    /// it wrote.)
    #[inline]
    pub(super) fn keep(&mut self, done: &Done<C>) {
        if C::KEEP
            && done.part != CompletionPart::Durable
            && done.contents != C::default()
            && let Some(place) = self.pages[done.token.owner.index()].get_mut(done.token.slot as usize)
        {
            *place = done.contents;
        }
    }

    /// The contents of a page of a port request: those read below, and the newer sectors in the cache.
    pub(super) fn brought(&self, counter: Id<CompletionCounter>, place: u32) -> C {
        if !C::KEEP {
            return C::default();
        }
        let read = self.pages[counter.index()].get(place as usize).copied().unwrap_or_default();
        read.plus(1, self.difference(counter, place))
    }

    /// The contents that a cache has of a page that is read below it, minus those expected there.
    pub(super) fn difference(&self, counter: Id<CompletionCounter>, place: u32) -> C {
        self.olds[counter.index()].get(place as usize).copied().unwrap_or_default()
    }

    /// Drops the running sums of a node's stripes.
    pub(super) fn forget_carried(&mut self, node: NodeId) {
        self.carried.retain(|&(of, _), _| of != node);
        self.lacking.retain(|&(of, _)| of != node);
    }

    pub(super) fn set_old(&mut self, counter: Id<CompletionCounter>, place: u32, contents: C) {
        let olds = &mut self.olds[counter.index()];
        if olds.len() <= place as usize {
            olds.resize(place as usize + 1, C::default());
        }
        olds[place as usize] = contents;
    }

    fn old(&self, token: CompletionToken) -> C {
        let old = self.olds[token.owner.index()].get(token.slot as usize).copied();
        old.expect("who says that the old contents are in hand hands them in")
    }

    /// Adds a page to the sums of its row.
    fn fold(&mut self, running: Id<RunningPlan>, sums: PlanSums, role: Role, row: usize, contents: C) {
        let count = usize::from(sums.count);
        let row = &mut self.sums[running.index()][row * count..(row + 1) * count];
        match role {
            Role::Data(index) => {
                for (number, sum) in (0..).zip(row) {
                    *sum = sum.plus(sums.code.coefficient(number, index), contents);
                }
            }
            Role::Parity(number) => {
                let sum = &mut row[usize::from(number)];
                *sum = sum.plus(1, contents);
            }
            Role::Plain | Role::Lost(_) | Role::LostParity(_) => {}
        }
    }

    /// The sums of a row.
    fn row(&self, running: Id<RunningPlan>, sums: PlanSums, row: usize) -> &[C] {
        let count = usize::from(sums.count);
        &self.sums[running.index()][row * count..(row + 1) * count]
    }

    // ---------------------------------------------------------------- plans

    /// Copies the caller's pages to the places of the steps that write them, and adds new data to the sums.
    pub(super) fn lay_out(
        &mut self,
        id: Id<RunningPlan>,
        running: &mut RunningPlan,
        carry: Option<Key>,
        peek: Option<Key>,
    ) {
        if !C::KEEP {
            return;
        }
        if self.sums.len() <= id.index() {
            self.sums.resize_with(id.index() + 1, Default::default);
        }
        let rows = running.steps.iter().map(|s| usize::from(s.row) + usize::from(s.command.count));
        let rows = rows.max().unwrap_or(0).max(1);
        let (kept, sums) = (running.sums, &mut self.sums[id.index()]);
        sums.clear();
        sums.resize(rows * usize::from(kept.count), C::default());
        let carried = match peek {
            Some(key) => self.carried.get(&(running.node, key)).cloned(),
            None => carry.and_then(|key| self.carried.remove(&(running.node, key))),
        };
        for (sum, carried) in sums.iter_mut().zip(carried.unwrap_or_default()) {
            *sum = carried;
        }
        for at in 0..running.steps.len() {
            let step = running.steps[at];
            for n in (0..step.command.count).take_while(|&n| running.is_given(&step, n)) {
                let caller = running.caller.plus(u32::from(step.at + n));
                let contents = self.pages[caller.owner.index()][caller.slot as usize];
                let place = running.bases[at] + u32::from(n);
                self.pages[running.counter.index()][place as usize] = contents;
                self.fold(id, kept, step.role, usize::from(step.row + n), contents);
            }
        }
    }

    /// A plan begins with running sums: it takes over whether they lack a lost page.
    #[cold]
    pub(super) fn take_lacking_sums(
        &mut self,
        running: &mut RunningPlan,
        carry: Option<Key>,
        peek: Option<Key>,
    ) {
        running.sums.lack = match (peek, carry) {
            (Some(key), _) => self.lacking.contains(&(running.node, key)),
            (None, Some(key)) => self.lacking.remove(&(running.node, key)),
            (None, None) => false,
        };
    }

    /// All stages have been submitted: keeps the sums of the last row for the stripe's next plan.
    pub(super) fn keep_sums(&mut self, id: Id<RunningPlan>, running: &mut RunningPlan) {
        if !C::KEEP || running.next < running.steps.len() {
            return;
        }
        if let Some(key) = running.sums.keep.take() {
            let last = running.steps.iter().map(|s| usize::from(s.row)).max().unwrap_or(0);
            let of = (running.node, key);
            let sums = self.row(id, running.sums, last).to_vec();
            self.carried.insert(of, sums);
        }
    }

    /// Computes the contents of a step's pages when it is submitted. If contents are not kept, only the fact that pages
    /// are lost is passed on.
    pub(super) fn work_out(&mut self, id: Id<RunningPlan>, running: &mut RunningPlan, at: usize) {
        let step = running.steps[at];
        for n in 0..step.command.count {
            if step.is_in_hand() {
                self.take_from_hand(id, running, at, n);
            } else if matches!(step.role, Role::Plain | Role::Data(_)) {
                self.copy_from_read(id, running, at, n);
            } else {
                self.take_from_sums(id, running, at, n);
            }
        }
        if step.command.verb == Verb::Write && step.command.flags.has(Flags::OLD_IN_HAND) {
            self.hand_on_old(running, at);
        }
    }

    /// The old contents of a page, which the caller has just read.
    fn take_from_hand(&mut self, id: Id<RunningPlan>, running: &RunningPlan, at: usize, n: u16) {
        if C::KEEP {
            let step = running.steps[at];
            let old = self.old(running.caller.plus(u32::from(step.at + n)));
            let sums = running.sums;
            self.fold(id, sums, step.role, usize::from(step.row + n), old);
        }
    }

    /// A write without contents of the caller takes those that an earlier read brought to the same place; for a
    /// partial-page write, the caller's contents are the difference to those.
    fn copy_from_read(&mut self, id: Id<RunningPlan>, running: &mut RunningPlan, at: usize, n: u16) {
        let step = running.steps[at];
        if step.command.verb != Verb::Write || step.at == Step::NOWHERE {
            return;
        }
        let merges = running.node == NodeId::HOST;
        if running.is_given(&step, n) && !merges {
            return;
        }
        let Some(source) = running.source(at, step.at + n) else { return };
        let place = running.bases[at] + u32::from(n);
        if running.lost.contains(&source) {
            // A lost page stays lost, and so does a parity computed from it.
            running.lost.push(place);
        }
        if C::KEEP {
            let pages = &mut self.pages[running.counter.index()];
            let contents = pages[place as usize].plus(1, pages[source as usize]);
            pages[place as usize] = contents;
            let sums = running.sums;
            self.fold(id, sums, step.role, usize::from(step.row + n), contents);
        }
    }

    /// Parity, or a page reconstructed from the others.
    fn take_from_sums(&mut self, id: Id<RunningPlan>, running: &RunningPlan, at: usize, n: u16) {
        if !C::KEEP {
            return;
        }
        let step = running.steps[at];
        let writes = step.command.verb == Verb::Write;
        let row = usize::from(step.row + n);
        let sums = self.row(id, running.sums, row);
        let contents = match step.role {
            Role::Parity(number) if writes => sums[usize::from(number)],
            role if role.is_lost() => RowOfPlan { running, row, sums }.solve(role),
            _ => return,
        };
        let place = running.bases[at] as usize + usize::from(n);
        self.pages[running.counter.index()][place] = contents;
    }

    /// A write with `OLD_IN_HAND` supplies the contents that it replaces: those that this plan read from the same page,
    /// or those that its own caller supplied. Contents that were lost meanwhile are not supplied.
    fn hand_on_old(&mut self, running: &mut RunningPlan, at: usize) {
        let step = running.steps[at];
        for n in 0..step.command.count {
            let page = step.command.start.plus(u32::from(n));
            let read = running.steps[..at].iter().zip(&running.bases).find(|(s, _)| {
                s.command.verb == Verb::Read
                    && s.travels()
                    && s.member == step.member
                    && (s.command.start.0..s.command.end()).contains(&page.0)
            });
            let source = read.map(|(s, &base)| base + (page.0 - s.command.start.0) as u32);
            if source.is_some_and(|place| running.lost.contains(&place)) {
                let step = &mut running.steps[at];
                step.command.flags = step.command.flags.without(Flags::OLD_IN_HAND);
                return;
            }
            if C::KEEP {
                let old = match source {
                    Some(place) => self.pages[running.counter.index()][place as usize],
                    None => self.old(running.caller.plus(u32::from(step.at + n))),
                };
                self.set_old(running.counter, running.bases[at] + u32::from(n), old);
            }
        }
    }

    /// Stores the contents of a step's completed pages in their places and adds them to the sums.
    pub(super) fn take_in(&mut self, id: Id<RunningPlan>, running: &RunningPlan, done: &Done<C>) {
        if !C::KEEP || done.part == CompletionPart::Durable || done.token.slot == NO_PAGE {
            return;
        }
        let at = running.step_of(done.token.slot);
        let step = running.steps[at];
        if step.command.verb == Verb::Read {
            let row = usize::from(step.row) + (done.token.slot - running.bases[at]) as usize;
            self.pages[running.counter.index()][done.token.slot as usize] = done.contents;
            let sums = running.sums;
            self.fold(id, sums, step.role, row, done.contents);
        }
    }

    /// What a plan read for its caller's `n`th page.
    pub(super) fn read_for_caller(&self, running: &RunningPlan, n: u16) -> C {
        if !C::KEEP {
            return C::default();
        }
        let place = running.source(running.steps.len(), n);
        place.map_or(C::default(), |place| self.pages[running.counter.index()][place as usize])
    }
}

/// The running sums of a stripe, as tokens, with node and key.
pub type Carried = ((NodeId, Key), Vec<u64>);

impl<C: Contents> WorkInProgress<C> {
    /// The running sums of all stripes, in order; empty if contents are not kept.
    #[must_use]
    pub fn carried(&self) -> Vec<Carried> {
        #[allow(clippy::iter_over_hash_type)] // they are sorted
        let tokens =
            |(&place, sums): (&(NodeId, Key), &Vec<C>)| (place, sums.iter().map(|sum| sum.stamp()).collect());
        let mut all: Vec<Carried> = self.buffers.carried.iter().map(tokens).collect();
        all.sort_unstable();
        all
    }

    /// Determines the code of a plan's stripe and the number of sums that it needs: all of them, if other plans do.
    pub(super) fn count_sums<S: Scheme>(&mut self, id: Id<RunningPlan>, shared: bool, nodes: &Nodes<S>) {
        let code = nodes.code(self.running_plans[id].node);
        let running = &mut self.running_plans[id];
        running.sums.code = code;
        let own = running.steps.iter().map(Step::sums).max().unwrap_or(0);
        running.sums.count = if shared { own.max(code.parities()) } else { own };
    }

    /// All stages have been submitted: the sums that are kept lack each lost page that belongs to them.
    #[cold]
    pub(super) fn note_lacking_sums<S: Scheme>(&mut self, id: Id<RunningPlan>, nodes: &Nodes<S>) {
        let running = &self.running_plans[id];
        let Some(key) = running.sums.keep.filter(|_| running.next == running.steps.len()) else { return };
        let last = running.steps.iter().map(|step| u32::from(step.row)).max().unwrap_or(0);
        let lacks = self.lacks_in_row(id, last, Role::P, nodes);
        let of = (running.node, key);
        if lacks {
            self.buffers.lacking.insert(of);
        } else {
            self.buffers.lacking.remove(&of);
        }
    }

    /// Whether pages needed for a place are lost.
    pub(super) fn is_spoiled<S: Scheme>(
        &self,
        id: Id<RunningPlan>,
        at: usize,
        place: u32,
        nodes: &Nodes<S>,
    ) -> bool {
        let running = &self.running_plans[id];
        self.lacks_in_row(id, running.row_of(at, place), running.steps[at].role, nodes)
    }

    /// Whether a sum of a row, or a page that is reconstructed from it, lacks a lost page.
    fn lacks_in_row<S: Scheme>(&self, id: Id<RunningPlan>, row: u32, role: Role, nodes: &Nodes<S>) -> bool {
        let running = &self.running_plans[id];
        if running.sums.lack && row == 0 && (role.is_lost() || matches!(role, Role::Parity(_))) {
            return true;
        }
        if running.lost.is_empty() {
            return false;
        }
        // A plan knows the code of its sums only if contents are kept.
        let code = nodes.code(running.node);
        running.lost.iter().any(|&lost| {
            let other = running.step_of(lost);
            running.row_of(other, lost) == row
                && match running.steps[other].role {
                    Role::Data(index) => {
                        role.is_lost() || role.parity().is_some_and(|number| code.covers(number, index))
                    }
                    parity @ Role::Parity(_) => role.is_lost() || role == parity,
                    _ => false,
                }
        })
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Restores the schemes of a saved run and the running sums of its stripes.
    pub fn take_over(&mut self, schemes: Vec<(NodeId, S)>, carried: Vec<Carried>) {
        let nodes: Vec<NodeId> = schemes.iter().map(|&(node, _)| node).collect();
        for (node, scheme) in schemes {
            self.nodes.set_scheme(node, Some(scheme));
        }
        let contents = |(place, sums): Carried| (place, sums.into_iter().map(C::token).collect());
        self.work.buffers.carried = carried.into_iter().map(contents).collect();
        nodes.into_iter().for_each(|node| self.nodes.note_exposure(SimTime::ZERO, node));
    }

    /// Pages of a step that could not be computed, or are copies of lost pages, are recorded as missing.
    pub(super) fn poison<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        id: Id<RunningPlan>,
        at: usize,
        target: NodeId,
    ) {
        let step = self.work.running_plans[id].steps[at];
        if step.command.verb != Verb::Write {
            return;
        }
        for n in 0..u32::from(step.command.count) {
            let place = self.work.running_plans[id].bases[at] + n;
            if self.work.running_plans[id].lost.contains(&place)
                || self.work.is_spoiled(id, at, place, &self.nodes)
            {
                let page = step.command.start.plus(n);
                self.nodes.poison(target, page);
                let running = &self.work.running_plans[id];
                let raw = self.nodes[target].raw();
                // What a port has not passed on yet has no number at the backend, by which that could tell it.
                if let Some(backend) = raw.filter(|_| !self.nodes.has_port(target)) {
                    backends.poison(backend, page);
                } else if target != NodeId::ROOT {
                    let token = CompletionToken::at(running.counter, place, running.caller.age);
                    let contents = self.work.buffers.written(&step.command.part(n, 1), token).first();
                    if let Some(contents) = contents {
                        self.nodes.names.poison(target, page, contents.stamp());
                    }
                }
                let merged = running.node == NodeId::HOST && target != NodeId::ROOT;
                if running.sums.lack && !running.lost.contains(&place) {
                    // An earlier plan lost the page. The scheme took this parity for a good one.
                    self.tell_parent(backends, now, target, Change::Unreadable(page));
                } else if merged || self.nodes.is_below_map(target) {
                    // Of a member that merged, the others have the page; a map knows which page it was.
                    self.tell_parent(backends, now, target, Change::Damaged(page));
                }
            }
        }
    }
}
