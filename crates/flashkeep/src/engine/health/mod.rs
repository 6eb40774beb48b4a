//! The health of nodes: degraded codewords, lost and exposed pages, and the rebuild queue.
//!
//! A scheme declares which pages protect each other ([`Protection`], [`Scheme::units`]). What they lack follows from the
//! missing pages of its members and from which members respond. A codeword is examined when one of its members changes,
//! and when a plan that worked on it has ended; plans of healthy nodes do not come here. Schemes with more knowledge
//! (logs, deferred parities) track their health themselves ([`Protection::Own`]).

mod codeword;
mod copies;
mod track;

use super::command::Page;
use super::plan::{Key, Member, Plan, RepairOutcome, Role, Step};
use super::scheme::{Scheme, StripeUnit, View};
use super::tree::NodeId;
use crate::kernel::{Bits, Todo};
pub use codeword::{Codeword, MissingUnits};

/// From what the engine derives the health of a scheme's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// The scheme tracks the health of its pages itself.
    Own,
    /// Each page is a codeword: its copies are at [`Scheme::places`]. While copies are made, the engine splits commands at
    /// pages, and lets none overtake the copy of its page.
    Copies,
    /// Stripes, whose numbers are those of their locks.
    Stripes {
        /// The number of stripes.
        count: u32,
        /// Data pages of a stripe: data unit `i` of stripe `s` is page `s · data + i` of the scheme.
        data: u8,
        /// Whether stripes may be without parity although no member ever failed.
        defers: bool,
    },
}

/// What a codeword lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Condition {
    /// It lacks a unit.
    degraded: bool,
    /// Pages of the scheme that one more failure would lose.
    at_risk: u8,
    /// Units can be rebuilt on members that respond.
    restorable: bool,
}

/// The health of all nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Health {
    nodes: Vec<NodeHealth>,
}

/// The health of a node, by codewords.
#[derive(Clone, Debug, Default)]
struct NodeHealth {
    /// Whether a member ever failed or lacked a page.
    troubled: bool,
    /// Whether codewords are examined: after trouble, or if the scheme defers parities.
    watched: bool,
    /// Whether its codewords are copies of a page.
    copies: bool,
    degraded: Bits,
    /// For each codeword, the number of pages that one more failure would lose.
    at_risk: Vec<u8>,
    /// The sum of `at_risk`.
    exposed: u64,
    /// Unrecoverable pages.
    lost: Bits,
    /// Codewords with units that can be rebuilt.
    queue: Todo,
    /// The number of codewords that are being rebuilt.
    restoring: u32,
    /// Keys of background plans in progress from which a member has refused a page.
    refused: Vec<Key>,
    /// The codeword that is being examined.
    word: Codeword,
}

impl Health {
    pub(super) fn new<S: Scheme>(schemes: &[Option<S>]) -> Self {
        Health { nodes: schemes.iter().map(NodeHealth::new).collect() }
    }

    /// Whether no member of the node ever failed or lacked a page.
    #[inline]
    pub(super) fn is_healthy(&self, node: NodeId) -> bool {
        !self.nodes.get(node.index()).is_some_and(|health| health.troubled)
    }

    /// Whether codewords of the node are examined.
    #[inline]
    pub(super) fn is_watched(&self, node: NodeId) -> bool {
        self.nodes[node.index()].watched
    }

    /// The number of pages that one more failure would lose.
    #[inline]
    pub(super) fn exposed(&self, node: NodeId) -> u64 {
        self.nodes[node.index()].exposed
    }

    /// Whether a codeword lacks units.
    pub(super) fn is_degraded(&self, node: NodeId, codeword: u32) -> bool {
        self.nodes.get(node.index()).is_some_and(|health| health.degraded.has(codeword))
    }

    /// Whether no codeword of any node lacks a unit.
    pub(super) fn is_whole(&self) -> bool {
        self.nodes.iter().all(|health| health.degraded.count() == 0)
    }

    /// The unrecoverable pages of a node.
    pub(super) fn lost(&self, node: NodeId) -> Option<&Bits> {
        self.nodes.get(node.index()).map(|health| &health.lost)
    }

    /// Whether codewords wait to be rebuilt; copies count until they are durable.
    pub(super) fn is_rebuilding(&self, node: NodeId) -> bool {
        let health = &self.nodes[node.index()];
        !health.queue.is_empty() || health.copies && health.restoring > 0
    }

    /// Whether copies of pages are being made, or wait to be made.
    #[inline]
    pub(super) fn is_copying(&self, node: NodeId) -> bool {
        self.nodes[node.index()].copies && self.is_rebuilding(node)
    }

    /// From now on, codewords of the node are examined.
    pub(super) fn trouble(&mut self, node: NodeId) {
        let health = &mut self.nodes[node.index()];
        (health.troubled, health.watched) = (true, true);
    }
}

impl NodeHealth {
    fn new<S: Scheme>(scheme: &Option<S>) -> Self {
        let protection = scheme.as_ref().map_or(Protection::Own, Scheme::protection);
        NodeHealth {
            watched: matches!(protection, Protection::Stripes { defers: true, .. }),
            copies: protection == Protection::Copies,
            ..NodeHealth::default()
        }
    }

    /// Determines what a codeword lacks. What a member refused is not tried `again` until something changes.
    fn examine<S: Scheme>(
        &mut self,
        scheme: &S,
        codeword: u32,
        again: bool,
        view: &View<'_>,
        has: impl Fn(Member, Page) -> bool,
    ) {
        self.word.take_from(scheme, codeword);
        let condition = match scheme.protection() {
            Protection::Own => return,
            Protection::Copies => copies::condition(&self.word, self.degraded.has(codeword), view),
            Protection::Stripes { data, .. } => {
                let has = |member, page| !self.troubled || has(member, page);
                let lost = &mut self.lost;
                let first = codeword * u32::from(data);
                if lost.count() > 0 {
                    (first..first + u32::from(data)).for_each(|page| _ = lost.set(page, false));
                }
                self.word.condition(view, has, |index| _ = lost.set(first + u32::from(index), true))
            }
        };
        self.note(codeword, Condition { restorable: condition.restorable && again, ..condition });
    }

    fn note(&mut self, codeword: u32, condition: Condition) {
        self.degraded.set(codeword, condition.degraded);
        self.queue.set(codeword, condition.restorable);
        let at = codeword as usize;
        if self.at_risk.len() <= at {
            if condition.at_risk == 0 {
                return;
            }
            self.at_risk.resize(at + 1, 0);
        }
        let was = std::mem::replace(&mut self.at_risk[at], condition.at_risk);
        self.exposed = self.exposed - u64::from(was) + u64::from(condition.at_risk);
    }

    /// Plans the rebuild of the next codeword that no plan works on; false if none can be rebuilt now.
    fn rebuild<S: Scheme>(&mut self, scheme: &mut S, view: &View<'_>, plan: &mut Plan) -> bool {
        while let Some(codeword) = self.queue.next(|codeword| view.held(Key(u64::from(codeword)))) {
            self.queue.set(codeword, false);
            self.word.take_from(scheme, codeword);
            let begun = match self.copies {
                true => copies::rebuild(&self.word, view, plan),
                false => self.word.rebuild(view, plan),
            };
            if begun {
                plan.hold = Some(Key(u64::from(codeword)));
                self.restoring += 1;
                scheme.restores(codeword);
                return true;
            }
            if self.copies && copies::is_left(&self.word, view) {
                // What was being written when the page was examined was a trim.
                self.examine(scheme, codeword, true, view, |member, page| view.has(member, page));
            }
        }
        false
    }
}

/// Plans an alternative read of the page whose read failed last, from the codeword that the scheme declares.
pub(super) fn repair<S: Scheme>(
    scheme: &S,
    failed: &[Step],
    view: &View<'_>,
    plan: &mut Plan,
) -> RepairOutcome {
    let wanted = failed[failed.len() - 1];
    let place = (wanted.member, wanted.command.start);
    let Some(codeword) = scheme.codeword_of(place.0, place.1) else { return RepairOutcome::Lost };
    let mut word = Codeword::default();
    word.take_from(scheme, codeword);
    match scheme.protection() {
        Protection::Own => RepairOutcome::Lost,
        Protection::Copies => copies::repair(&word, failed, view, plan),
        Protection::Stripes { .. } => {
            let unit = word.units.iter().find(|unit| (unit.member, unit.page) == place);
            // A page that the codeword does not cover is a known zero.
            word.bring_back(unit.map_or(Role::Data(0), |unit| unit.role), failed, view, plan)
        }
    }
}

/// The lock that the repair of a member's page needs.
pub(super) fn repair_key<S: Scheme>(scheme: &S, member: Member, page: Page) -> Option<Key> {
    let stripes = matches!(scheme.protection(), Protection::Stripes { .. });
    scheme.codeword_of(member, page).filter(|_| stripes).map(|stripe| Key(u64::from(stripe)))
}

/// After a power cut, calls `lacks` with the outdated copies.
pub(super) fn recover_copies<S: Scheme>(scheme: &S, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
    if scheme.protection() != Protection::Copies {
        return;
    }
    let mut word = Codeword::default();
    for page in 0..scheme.capacity() as u32 {
        word.take_from(scheme, page);
        copies::recover(&word, view, lacks);
    }
}

impl Codeword {
    fn take_from<S: Scheme>(&mut self, scheme: &S, codeword: u32) {
        self.clear();
        scheme.units(codeword, |unit| self.push(unit));
    }

    /// Adds a unit. A parity makes up for one missing unit.
    pub fn push(&mut self, unit: StripeUnit) {
        self.parities += usize::from(matches!(unit.role, Role::P | Role::Q));
        self.units.push(unit);
    }

    fn clear(&mut self) {
        self.units.clear();
        self.parities = 0;
    }
}
