//! What stands before a member of an array: its link and its DRAM ([`Front`]).
//!
//! A node that something stands before has a *gate*. To what is above the gate the node is like a leaf: commands are
//! given to it and are answered. To what is below it is like a root: a command that has come in is a request of its
//! own, a *passage*, whose pages are joined like a request's. Pages that nothing below brings are told when the
//! passage ends, and are the node's parent's to repair.
//!
//! A page in DRAM is the member's newest: whoever is above sees no difference, and a write is durable to it when it is
//! acknowledged. What the DRAM gives up is written below as a part of the command that needs its place, which waits for
//! it, as in a lone drive. Commands bring pages as they are, so that what is written is all that the page has.
//!
//! `pass` has the way of a passage, `memory` what the DRAM does about it; here is what there is, and what can be asked
//! of it meanwhile.

mod memory;
mod pass;

use super::command::{Cause, Command, Page, Verb};
use super::executor::{Due, Engine};
use super::leaves::Ticket;
use super::requests::Join;
use super::scheme::{Change, Scheme};
use super::tree::NodeId;
use super::{Contents, Leaves};
use crate::front::{Dram, Front, Hits, Link};
use crate::kernel::{Arena, FixedMap, Id, SimTime, Span};
use std::collections::VecDeque;

/// What is known of a page in a member's DRAM.
#[derive(Clone, Copy, Debug, Default)]
struct Kept<C> {
    contents: C,
    /// Why it was written last.
    cause: Cause,
}

/// A gate.
#[derive(Clone, Debug)]
pub(super) struct Gate<C> {
    node: NodeId,
    page_sectors: u32,
    /// What it adds where nothing below was asked.
    memory: Span,
    link: Option<Link>,
    dram: Option<Dram<Kept<C>>>,
    /// The age of what came in last.
    latest: u32,
    /// When the executor has been told to come.
    armed: SimTime,
    /// Pages of commands that wait for the link: how many commands, and whether the last one writes.
    awaited: FixedMap<u32, (u32, bool)>,
}

/// A command on its way through a gate.
#[derive(Clone, Debug, Default)]
pub(super) struct Passage {
    gate: u16,
    command: Command,
    caller: Ticket,
    join: Id<Join>,
    /// Nothing below was asked.
    from_memory: bool,
    told: bool,
    /// Its pages that nothing below brings, by their places.
    lost: Vec<u32>,
}

/// The gates of all nodes.
#[derive(Clone, Debug)]
pub(super) struct Gates<C> {
    all: Vec<Gate<C>>,
    passages: Arena<Passage>,
    /// Passages whose pages are all acknowledged, or durable after that.
    passed: VecDeque<Id<Passage>>,
    /// Gates whose links have something to do now.
    rung: Vec<u16>,
    /// They are open: whoever conditions the array writes past all DRAM.
    open: bool,
}

impl<C: Contents> Gates<C> {
    pub(super) fn new(fronts: Vec<(NodeId, Front)>) -> Self {
        let gate = |(node, front): (NodeId, Front)| Gate {
            node,
            page_sectors: front.page_sectors,
            memory: front.memory,
            link: Link::new(front.link_ps_per_sector),
            dram: Dram::new(front.dram_sectors, front.stripe),
            latest: 0,
            armed: SimTime::NEVER,
            awaited: FixedMap::default(),
        };
        let all = fronts.into_iter().map(gate).collect();
        Gates { all, passages: Arena::default(), passed: VecDeque::new(), rung: Vec::new(), open: false }
    }

    /// Whether the page of a gated node will be there once all that waits has come in; none where the gate does not
    /// know.
    pub(super) fn holds(&self, gate: u16, page: Page) -> Option<bool> {
        let gate = &self.all[usize::from(gate)];
        let awaited = gate.awaited.get(&page.0).map(|&(_, writes)| writes);
        awaited.or_else(|| gate.kept(page).map(|_| true))
    }

    /// Whether a passage's commands are under way below one of these nodes, or before it.
    pub(super) fn is_at_work(&self, nodes: &[NodeId]) -> bool {
        let here = |passage: &Passage| nodes.contains(&self.all[usize::from(passage.gate)].node);
        self.passages.places().any(|passage| passage.join.is_some() && here(passage))
    }

    /// The power was cut: nobody is under way, and links are used again from `ready` on.
    pub(super) fn cut(&mut self, ready: SimTime) {
        self.passages = Arena::default();
        self.passed.clear();
        self.rung.clear();
        for gate in &mut self.all {
            gate.awaited.clear();
            gate.armed = SimTime::NEVER;
            if let Some(link) = &mut gate.link {
                link.cut(ready);
            }
            if let Some(dram) = &mut gate.dram {
                dram.clear();
            }
        }
    }

    /// The last page of a passage is acknowledged, or durable after that.
    pub(super) fn pass(&mut self, id: Id<Passage>) {
        self.passed.push_back(id);
    }

    /// A gate's link has something to do, once all else has been done that is due.
    pub(super) fn ring(&mut self, gate: u16) {
        self.rung.push(gate);
    }

    /// Whether links have something to do.
    pub(super) fn has_rung(&self) -> bool {
        !self.rung.is_empty()
    }

    /// Whether passages wait to be let out.
    pub(super) fn has_passed(&self) -> bool {
        !self.passed.is_empty()
    }

    /// What waits for a passage, if anything does.
    pub(super) fn caller(&self, id: Id<Passage>) -> Id<Join> {
        if id.is_some() && !self.passages[id].told { self.passages[id].caller.owner } else { Id::NONE }
    }

    fn node(&self, id: Id<Passage>) -> NodeId {
        self.all[usize::from(self.passages[id].gate)].node
    }
}

impl<C: Contents> Gate<C> {
    /// What the DRAM holds of a page.
    fn kept(&self, page: Page) -> Option<Kept<C>> {
        Some(self.dram.as_ref()?.get(page.0)?.what)
    }

    /// Sectors that a command's pages take on the link.
    fn sectors(&self, command: &Command) -> u64 {
        match command.sectors {
            0 => u64::from(command.count) * u64::from(self.page_sectors),
            sectors => u64::from(sectors),
        }
    }

    /// A command that changes pages waits for the link, or does not any more.
    fn await_pages(&mut self, command: &Command, waits: bool) {
        if command.verb == Verb::Read {
            return;
        }
        for page in command.start.0..command.end() {
            if waits {
                let (commands, writes) = self.awaited.entry(page).or_default();
                *commands += 1;
                *writes = command.verb == Verb::Write;
            } else if let Some((commands, _)) = self.awaited.get_mut(&page) {
                *commands -= 1;
                if *commands == 0 {
                    self.awaited.remove(&page);
                }
            }
        }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Whether a gate before a leaf's node has the page, or will hand it down.
    pub(super) fn is_before(&self, node: NodeId, page: Page) -> bool {
        let gate = self.shape[node.index()].gate;
        gate.and_then(|gate| self.gates.holds(gate, page)) == Some(true)
    }

    /// The age of what a scheme does by itself: that of the last request that it can know of.
    pub(super) fn age_at(&self, node: NodeId) -> u32 {
        let mut at = if self.gates.all.is_empty() { None } else { Some(node) };
        while let Some(node) = at {
            let shape = &self.shape[node.index()];
            if let Some(gate) = shape.gate {
                return self.gates.all[usize::from(gate)].latest;
            }
            at = shape.parent.map(|(parent, _)| parent);
        }
        self.opened
    }

    /// What the DRAM before a node holds of a page, if it holds it.
    #[must_use]
    pub fn kept(&self, node: NodeId, page: Page) -> Option<C> {
        let gate = self.shape[node.index()].gate?;
        self.gates.all[usize::from(gate)].kept(page).map(|kept| kept.contents)
    }

    /// Sector hits and misses of the DRAM before a node; none where there is none.
    #[must_use]
    pub fn hits(&self, node: NodeId) -> Option<Hits> {
        let gate = self.shape[node.index()].gate?;
        self.gates.all[usize::from(gate)].dram.as_ref().map(|dram| dram.hits)
    }

    /// Whether any member's DRAM holds pages.
    #[must_use]
    pub fn keeps_pages(&self) -> bool {
        self.gates.all.iter().any(|gate| gate.dram.as_ref().is_some_and(|dram| !dram.is_empty()))
    }

    /// Whether commands go past links and DRAM of members from now on.
    pub fn open_gates(&mut self, open: bool) {
        self.gates.open = open;
    }

    /// What was to come in to nodes that do not answer any more is answered: reads fail, writes come
    /// to nothing. What their DRAM held is gone.
    #[cold]
    pub(super) fn close_gates<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        change: Change,
    ) {
        if self.gates.all.is_empty() || change != Change::Failed {
            return;
        }
        for node in self.subtree(node) {
            let Some(gate) = self.shape[node.index()].gate else { continue };
            let gate = &mut self.gates.all[usize::from(gate)];
            if let Some(dram) = &mut gate.dram {
                dram.clear();
            }
            let Some(link) = &mut gate.link else { continue };
            let (coming, going) = link.abandon(now);
            gate.awaited.clear();
            for id in coming.into_iter().map(Id::new) {
                self.turn_away(leaves, now, id);
            }
            for (id, ready) in going {
                self.tell_passed(leaves, now, Id::new(id), ready.max(now));
            }
        }
    }

    /// The executor comes when the gate's link has something to do.
    fn arm_gate(&mut self, now: SimTime, gate: u16) {
        let this = &mut self.gates.all[usize::from(gate)];
        let at = this.link.as_ref().map_or(SimTime::NEVER, Link::next_at);
        if at < this.armed {
            this.armed = at.max(now);
            self.due.push(this.armed, Due::Gate(gate));
        }
    }
}
