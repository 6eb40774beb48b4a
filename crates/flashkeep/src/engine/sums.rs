//! Contents of pages that plans work on: the pages of every completion counter, the sums of every plan, and the running
//! parity of stripes that several plans write. If contents are not kept, all of it compiles away.

use super::command::{Command, Flags, Verb};
use super::contents::{Contents, gf};
use super::executor::Engine;
use super::frame::Frame;
use super::leaves::{CompletionPart, Done, Leaves, Ticket};
use super::plan::{Key, Role, Step};
use super::requests::Join;
use super::scheme::{Change, Scheme};
use super::tree::NodeId;
use crate::kernel::{FixedMap, Id, SimTime};
use std::collections::BTreeSet;

/// The pages of every completion counter and the sums of every plan.
#[derive(Clone, Debug)]
pub(super) struct Sheets<C> {
    pages: Vec<Vec<C>>,
    /// The old contents that writes replace, if the caller supplies them.
    olds: Vec<Vec<C>>,
    /// For each frame, the P and Q sums of each row.
    sums: Vec<[Vec<C>; 2]>,
    carried: FixedMap<(NodeId, Key), [C; 2]>,
    /// The running sums that lack a lost page; known even if contents are not kept.
    lacking: BTreeSet<(NodeId, Key)>,
}

impl<C> Default for Sheets<C> {
    fn default() -> Self {
        Sheets {
            pages: Vec::new(),
            olds: Vec::new(),
            sums: Vec::new(),
            carried: FixedMap::default(),
            lacking: BTreeSet::new(),
        }
    }
}

impl<C: Contents> Sheets<C> {
    /// Clears the buffer for a completion counter of this many pages.
    #[inline]
    pub(super) fn open(&mut self, join: Id<Join>, pages: usize) {
        if !C::KEEP {
            return;
        }
        for sheets in [&mut self.pages, &mut self.olds] {
            if sheets.len() <= join.index() {
                sheets.resize_with(join.index() + 1, Vec::new);
            }
            sheets[join.index()].clear();
        }
        self.pages[join.index()].resize(pages, C::default());
    }

    /// The pages of a completion counter.
    #[inline]
    pub(super) fn of(&mut self, join: Id<Join>) -> &mut [C] {
        if C::KEEP { &mut self.pages[join.index()] } else { &mut [] }
    }

    /// Adds pages to a completion counter; returns the place of the first.
    #[inline]
    pub(super) fn extend(&mut self, join: Id<Join>, contents: impl Iterator<Item = C>) -> u32 {
        let pages = &mut self.pages[join.index()];
        let first = pages.len() as u32;
        pages.extend(contents);
        first
    }

    /// The contents that go with a command.
    #[inline]
    pub(super) fn written(&self, command: &Command, ticket: Ticket) -> &[C] {
        if !C::KEEP || command.verb != Verb::Write {
            return &[];
        }
        debug_assert!(command.count == 1 || ticket.is_run(), "what leaves are given follows each other");
        let first = ticket.slot as usize;
        &self.pages[ticket.owner.index()][first..first + usize::from(command.count)]
    }

    /// Sets the contents that a page of a request was read with. (A write is completed without contents and keeps what
    /// it wrote.)
    #[inline]
    pub(super) fn keep(&mut self, done: &Done<C>) {
        if C::KEEP
            && done.part != CompletionPart::Durable
            && done.contents != C::default()
            && let Some(place) = self.pages[done.ticket.owner.index()].get_mut(done.ticket.slot as usize)
        {
            *place = done.contents;
        }
    }

    /// The contents of a page of a port request: those read below, and the newer sectors in the cache.
    pub(super) fn brought(&self, join: Id<Join>, place: u32) -> C {
        if !C::KEEP {
            return C::default();
        }
        let of = |sheets: &[Vec<C>]| sheets[join.index()].get(place as usize).copied().unwrap_or_default();
        of(&self.pages).plus(1, of(&self.olds))
    }

    /// Drops the running sums of a node's stripes.
    pub(super) fn forget_carried(&mut self, node: NodeId) {
        self.carried.retain(|&(of, _), _| of != node);
        self.lacking.retain(|&(of, _)| of != node);
    }

    pub(super) fn set_old(&mut self, join: Id<Join>, place: u32, contents: C) {
        let olds = &mut self.olds[join.index()];
        if olds.len() <= place as usize {
            olds.resize(place as usize + 1, C::default());
        }
        olds[place as usize] = contents;
    }

    fn old(&self, ticket: Ticket) -> C {
        let old = self.olds[ticket.owner.index()].get(ticket.slot as usize).copied();
        old.expect("who says that the old contents are in hand hands them in")
    }

    /// Adds a page to the sums of its row.
    fn fold(&mut self, frame: Id<Frame>, second: bool, role: Role, row: usize, contents: C) {
        let [p, q] = &mut self.sums[frame.index()];
        match role {
            Role::Data(index) => {
                p[row] = p[row].plus(1, contents);
                if second {
                    q[row] = q[row].plus(gf::coefficient(index), contents);
                }
            }
            Role::P => p[row] = p[row].plus(1, contents),
            Role::Q => q[row] = q[row].plus(1, contents),
            Role::Plain | Role::Lost(_) | Role::LostP | Role::LostQ => {}
        }
    }
}

/// The running P and Q sums of a stripe, as tokens, with node and key.
pub type Carried = ((NodeId, Key), [u64; 2]);

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// The running sums of all stripes, in order; empty if contents are not kept.
    #[must_use]
    pub fn carried(&self) -> Vec<Carried> {
        #[allow(clippy::iter_over_hash_type)] // they are sorted
        let tokens = |(&place, sums): (&(NodeId, Key), &[C; 2])| (place, sums.map(C::stamp));
        let mut all: Vec<Carried> = self.sheets.carried.iter().map(tokens).collect();
        all.sort_unstable();
        all
    }

    /// Restores the schemes of a saved run and the running sums of its stripes.
    pub fn take_over(&mut self, schemes: Vec<(NodeId, S)>, carried: Vec<Carried>) {
        let nodes: Vec<NodeId> = schemes.iter().map(|&(node, _)| node).collect();
        for (node, scheme) in schemes {
            self.schemes[node.index()] = Some(scheme);
        }
        let contents = |(place, sums): Carried| (place, sums.map(C::token));
        self.sheets.carried = carried.into_iter().map(contents).collect();
        nodes.into_iter().for_each(|node| self.note_exposure(SimTime::ZERO, node));
    }

    /// Copies the caller's pages to the places of the steps that write them, and adds new data to the sums.
    pub(super) fn lay_out(&mut self, id: Id<Frame>, carry: Option<Key>, peek: Option<Key>) {
        if !C::KEEP {
            return;
        }
        let sheets = &mut self.sheets;
        if sheets.sums.len() <= id.index() {
            sheets.sums.resize_with(id.index() + 1, Default::default);
        }
        let frame = &mut self.frames[id];
        // Both sums are kept, because another plan may write the parities.
        frame.sums.second |= frame.sums.keep.is_some();
        let rows = frame.steps.iter().map(|s| usize::from(s.row) + usize::from(s.command.count));
        let rows = rows.max().unwrap_or(0).max(1);
        for sum in &mut sheets.sums[id.index()] {
            sum.clear();
            sum.resize(rows, C::default());
        }
        let carried = match peek {
            Some(key) => sheets.carried.get(&(frame.node, key)).copied(),
            None => carry.and_then(|key| sheets.carried.remove(&(frame.node, key))),
        };
        if let Some([p, q]) = carried {
            sheets.sums[id.index()][0][0] = p;
            sheets.sums[id.index()][1][0] = q;
        }
        for at in 0..frame.steps.len() {
            let step = frame.steps[at];
            for n in (0..step.command.count).take_while(|&n| frame.is_given(&step, n)) {
                let caller = frame.caller.plus(u32::from(step.at + n));
                let contents = sheets.pages[caller.owner.index()][caller.slot as usize];
                let place = frame.bases[at] + u32::from(n);
                sheets.pages[frame.join.index()][place as usize] = contents;
                sheets.fold(id, frame.sums.second, step.role, usize::from(step.row + n), contents);
            }
        }
    }

    /// A plan begins with running sums: it takes over whether they lack a lost page.
    #[cold]
    pub(super) fn take_lacking_sums(&mut self, id: Id<Frame>, carry: Option<Key>, peek: Option<Key>) {
        let frame = &mut self.frames[id];
        frame.sums.lack = match (peek, carry) {
            (Some(key), _) => self.sheets.lacking.contains(&(frame.node, key)),
            (None, Some(key)) => self.sheets.lacking.remove(&(frame.node, key)),
            (None, None) => false,
        };
    }

    /// All stages have been submitted: the sums that are kept lack each lost page that belongs to them.
    #[cold]
    pub(super) fn note_lacking_sums(&mut self, id: Id<Frame>) {
        let frame = &self.frames[id];
        let Some(key) = frame.sums.keep.filter(|_| frame.next == frame.steps.len()) else { return };
        let last = frame.steps.iter().map(|step| u32::from(step.row)).max().unwrap_or(0);
        let lacks = self.lacks_in_row(id, last, Role::P);
        let of = (frame.node, key);
        if lacks {
            self.sheets.lacking.insert(of);
        } else {
            self.sheets.lacking.remove(&of);
        }
    }

    /// All stages have been submitted: keeps the sums of the last row for the stripe's next plan.
    pub(super) fn keep_sums(&mut self, id: Id<Frame>) {
        let frame = &mut self.frames[id];
        if !C::KEEP || frame.next < frame.steps.len() {
            return;
        }
        if let Some(key) = frame.sums.keep.take() {
            let last = frame.steps.iter().map(|s| usize::from(s.row)).max().unwrap_or(0);
            let [p, q] = &self.sheets.sums[id.index()];
            self.sheets.carried.insert((frame.node, key), [p[last], q[last]]);
        }
    }

    /// Computes the contents of a step's pages when it is submitted. If contents are not kept, only the fact that pages
    /// are lost is passed on.
    pub(super) fn work_out(&mut self, id: Id<Frame>, at: usize) {
        let step = self.frames[id].steps[at];
        for n in 0..step.command.count {
            if step.is_in_hand() {
                self.take_from_hand(id, at, n);
            } else if matches!(step.role, Role::Plain | Role::Data(_)) {
                self.copy_from_read(id, at, n);
            } else {
                self.take_from_sums(id, at, n);
            }
        }
        if step.command.verb == Verb::Write && step.command.flags.has(Flags::OLD_IN_HAND) {
            self.hand_on_old(id, at);
        }
    }

    /// The old contents of a page, which the caller has just read.
    fn take_from_hand(&mut self, id: Id<Frame>, at: usize, n: u16) {
        if C::KEEP {
            let frame = &self.frames[id];
            let step = frame.steps[at];
            let old = self.sheets.old(frame.caller.plus(u32::from(step.at + n)));
            self.sheets.fold(id, frame.sums.second, step.role, usize::from(step.row + n), old);
        }
    }

    /// A write without contents of the caller takes those that an earlier read brought to the same place; for a
    /// partial-page write, the caller's contents are the difference to those.
    fn copy_from_read(&mut self, id: Id<Frame>, at: usize, n: u16) {
        let frame = &mut self.frames[id];
        let step = frame.steps[at];
        if step.command.verb != Verb::Write || step.at == Step::NOWHERE {
            return;
        }
        let merges = frame.node == NodeId::HOST;
        if frame.is_given(&step, n) && !merges {
            return;
        }
        let Some(source) = frame.source(at, step.at + n) else { return };
        let place = frame.bases[at] + u32::from(n);
        if frame.lost.contains(&source) {
            // A lost page stays lost, and so does a parity computed from it.
            frame.lost.push(place);
        }
        if C::KEEP {
            let pages = &mut self.sheets.pages[frame.join.index()];
            let contents = pages[place as usize].plus(1, pages[source as usize]);
            pages[place as usize] = contents;
            self.sheets.fold(id, frame.sums.second, step.role, usize::from(step.row + n), contents);
        }
    }

    /// Parity, or a page reconstructed from the others.
    fn take_from_sums(&mut self, id: Id<Frame>, at: usize, n: u16) {
        if !C::KEEP {
            return;
        }
        let frame = &self.frames[id];
        let step = frame.steps[at];
        let writes = step.command.verb == Verb::Write;
        let row = usize::from(step.row + n);
        let [p, q] = &self.sheets.sums[id.index()];
        let contents = match step.role {
            Role::P if writes => p[row],
            Role::Q if writes => q[row],
            role if role.is_lost() => solve(&frame.steps, frame.sums.peeked, role, p[row], q[row]),
            _ => return,
        };
        let place = frame.bases[at] as usize + usize::from(n);
        self.sheets.pages[frame.join.index()][place] = contents;
    }

    /// A write with `OLD_IN_HAND` supplies the contents that it replaces: those that this plan read from the same page,
    /// or those that its own caller supplied. Contents that were lost meanwhile are not supplied.
    fn hand_on_old(&mut self, id: Id<Frame>, at: usize) {
        let frame = &self.frames[id];
        let step = frame.steps[at];
        for n in 0..step.command.count {
            let page = step.command.start.plus(u32::from(n));
            let read = frame.steps[..at].iter().zip(&frame.bases).find(|(s, _)| {
                s.command.verb == Verb::Read
                    && s.travels()
                    && s.member == step.member
                    && (s.command.start.0..s.command.end()).contains(&page.0)
            });
            let source = read.map(|(s, &base)| base + (page.0 - s.command.start.0));
            if source.is_some_and(|place| frame.lost.contains(&place)) {
                let step = &mut self.frames[id].steps[at];
                step.command.flags = step.command.flags.without(Flags::OLD_IN_HAND);
                return;
            }
            if C::KEEP {
                let old = match source {
                    Some(place) => self.sheets.pages[frame.join.index()][place as usize],
                    None => self.sheets.old(frame.caller.plus(u32::from(step.at + n))),
                };
                self.sheets.set_old(frame.join, frame.bases[at] + u32::from(n), old);
            }
        }
    }

    /// Stores the contents of a step's completed pages in their places and adds them to the sums.
    pub(super) fn take_in(&mut self, id: Id<Frame>, done: &Done<C>) {
        if !C::KEEP || done.part == CompletionPart::Durable {
            return;
        }
        let frame = &self.frames[id];
        let at = frame.step_of(done.ticket.slot);
        let step = frame.steps[at];
        if step.command.verb == Verb::Read {
            let row = usize::from(step.row) + (done.ticket.slot - frame.bases[at]) as usize;
            self.sheets.pages[frame.join.index()][done.ticket.slot as usize] = done.contents;
            self.sheets.fold(id, frame.sums.second, step.role, row, done.contents);
        }
    }

    /// What a plan read for its caller's `n`th page.
    pub(super) fn read_for_caller(&self, id: Id<Frame>, n: u16) -> C {
        if !C::KEEP {
            return C::default();
        }
        let frame = &self.frames[id];
        let place = frame.source(frame.steps.len(), n);
        place.map_or(C::default(), |place| self.sheets.pages[frame.join.index()][place as usize])
    }

    /// Pages of a step that could not be computed, or are copies of lost pages, are recorded as missing.
    pub(super) fn spoil<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        id: Id<Frame>,
        at: usize,
        target: NodeId,
    ) {
        let step = self.frames[id].steps[at];
        if step.command.verb != Verb::Write {
            return;
        }
        for n in 0..u32::from(step.command.count) {
            let place = self.frames[id].bases[at] + n;
            if self.frames[id].lost.contains(&place) || self.is_spoiled(id, at, place) {
                self.troubled = true;
                let page = step.command.start.plus(n);
                self.gaps.set(target, page.0, true);
                if target == NodeId::ROOT {
                    self.gaps.poison(page.0);
                }
                if let Some(leaf) = self.shape[target.index()].raw() {
                    leaves.spoil(leaf, page);
                }
                let frame = &self.frames[id];
                let merged = frame.node == NodeId::HOST && target != NodeId::ROOT;
                if frame.sums.lack && !frame.lost.contains(&place) {
                    // An earlier plan lost the page. The scheme took this parity for a good one.
                    self.tell_parent(leaves, now, target, Change::Unreadable(page));
                } else if merged || self.is_below_map(target) {
                    // Of a member that merged, the others have the page; a map knows which page it was.
                    self.tell_parent(leaves, now, target, Change::Damaged(page));
                }
            }
        }
    }

    /// Whether pages needed for a place are lost.
    pub(super) fn is_spoiled(&self, id: Id<Frame>, at: usize, place: u32) -> bool {
        let frame = &self.frames[id];
        self.lacks_in_row(id, frame.row_of(at, place), frame.steps[at].role)
    }

    /// Whether a sum of a row, or what is reconstructed from it, lacks a lost page.
    fn lacks_in_row(&self, id: Id<Frame>, row: u32, role: Role) -> bool {
        let frame = &self.frames[id];
        if frame.sums.lack && row == 0 && (role.is_lost() || matches!(role, Role::P | Role::Q)) {
            return true;
        }
        frame.lost.iter().any(|&lost| {
            let other = frame.step_of(lost);
            frame.row_of(other, lost) == row
                && match frame.steps[other].role {
                    Role::Data(_) => role.is_lost() || matches!(role, Role::P | Role::Q),
                    Role::P => role.is_lost() || role == Role::P,
                    Role::Q => role.is_lost() || role == Role::Q,
                    _ => false,
                }
        })
    }
}

/// Reconstructs a unit from the sums of the others.
///
/// With P read and one data page lost, P itself is it; with only Q read, Q / gⁱ; with two data pages lost and both
/// parities read, (Q + gʲP) / (gⁱ + gʲ). A lost parity follows from the data once those are known.
fn solve<C: Contents>(steps: &[Step], carried: bool, role: Role, p: C, q: C) -> C {
    let has_p = carried || steps.iter().any(|step| step.role == Role::P && step.command.verb == Verb::Read);
    let another = |index: Option<u8>| {
        steps.iter().find_map(|step| match step.role {
            Role::Lost(other) if Some(other) != index => Some(other),
            _ => None,
        })
    };
    let data = |index: u8| {
        let own = gf::coefficient(index);
        match another(Some(index)) {
            None if has_p => p,
            None => C::default().plus(gf::inverse(own), q),
            Some(other) => {
                let other = gf::coefficient(other);
                C::default().plus(gf::inverse(own ^ other), q.plus(other, p))
            }
        }
    };
    match role {
        Role::Lost(index) => data(index),
        Role::LostP => another(None).map_or(p, |index| p.plus(1, data(index))),
        Role::LostQ => another(None).map_or(q, |index| q.plus(gf::coefficient(index), data(index))),
        _ => C::default(),
    }
}
