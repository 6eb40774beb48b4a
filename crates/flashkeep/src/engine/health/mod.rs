//! The health of nodes: degraded codewords, lost and exposed pages, and the rebuild queue.
//!
//! A scheme declares which pages protect each other ([`Scheme::protection`]). What they lack follows from the missing
//! pages of its members and from which members respond. A codeword is examined when one of its members changes, and
//! when a plan that worked on it has ended; plans of healthy nodes do not come here, unless their scheme defers
//! parities. Schemes with more knowledge (logs, backups, maps) track their health themselves ([`Protection::Own`]).

mod codeword;
mod copies;
mod oob;
mod together;
mod track;

use super::backends::OobData;
use super::code::Code;
use super::command::Page;
use super::plan::{Key, Member, Plan, RepairOutcome, Role, Step, Why};
use super::scheme::{Hazard, Scheme, StripeUnit};
use super::tree::NodeId;
use super::view::View;
use crate::kernel::{Bits, RebuildQueue, Sparse};
pub use codeword::Codeword;
use oob::NewestCopy;
use std::ops::Range;

/// From what the engine derives the health of a scheme's pages.
#[derive(Clone, Copy)]
pub enum Protection<'a> {
    /// Nothing protects them: once a member has lost a page, they are not whole any more.
    None,
    /// Each page is a codeword: its copies are at [`Scheme::places`]. While copies are made, the engine splits commands
    /// at pages, and lets none overtake the copy of its page.
    Copies,
    /// Stripes, which the scheme lists.
    Stripes(&'a dyn Codewords),
    /// The scheme tracks the health of its pages itself.
    Own(&'a dyn OwnHealth),
}

impl<'a> Protection<'a> {
    /// The code of its stripes.
    #[inline]
    pub(super) fn code(self) -> Code {
        if let Protection::Stripes(stripes) = self { stripes.code() } else { Code::default() }
    }

    /// What the scheme knows itself; none if the engine derives it.
    #[inline]
    pub(super) fn own(self) -> Option<&'a dyn OwnHealth> {
        if let Protection::Own(health) = self { Some(health) } else { None }
    }

    /// Whether a page is the sum of its places ([`Scheme::places`]), and not a copy at each of them.
    pub(super) fn is_sum(self, page: Page) -> bool {
        self.own().is_some_and(|health| health.is_sum(page))
    }

    /// Whether there is a place for every page that is written.
    pub(super) fn takes_all(self) -> bool {
        self.own().is_none_or(OwnHealth::takes_all)
    }
}

/// Stripes whose pages protect each other. Their numbers are those of their locks.
pub trait Codewords {
    /// The number of stripes.
    fn count(&self) -> u32;

    /// Data pages of a stripe: data unit `i` of stripe `s` is page `s · data + i` of the scheme.
    fn data(&self) -> u8;

    /// The code of the stripes.
    fn code(&self) -> Code {
        Code::default()
    }

    /// Whether stripes may be without parity although no member ever failed.
    fn defers(&self) -> bool {
        false
    }

    /// Data pages of a stripe that no sum protects although no member lacks anything, unless they are known zeros.
    fn unprotected(&self, stripe: u32) -> u8 {
        let _ = stripe;
        0
    }

    /// Calls `tell` with the units of a stripe: the data pages that are not known zeros, and their parities, if these
    /// have been written. Of two units that are missing, the first is reconstructed first.
    fn units(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit));

    /// The stripe that a member's page belongs to; none for unused pages.
    fn stripe_of(&self, member: Member, page: Page) -> Option<u32>;

    /// Whether the parity of a stripe does not cover the newest version of a data unit: it covers an older one, or
    /// none. The older version is among [`Codewords::units`], the newest one among [`Codewords::newer`].
    fn is_newer(&self, stripe: u32, index: u8) -> bool {
        let _ = (stripe, index);
        false
    }

    /// Whether that is so of any data unit of the stripe.
    fn has_newer(&self, stripe: u32) -> bool {
        let _ = stripe;
        false
    }

    /// Calls `tell` with the units of a stripe's second codeword: newest versions that its parity does not cover,
    /// unless they are known zeros, and the sum that protects them meanwhile, if there is one.
    fn newer(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit)) {
        let _ = (stripe, tell);
    }

    /// Whether each newest version that its stripe's parity does not cover has copies of its own, instead of a second
    /// codeword.
    fn has_copies(&self) -> bool {
        false
    }

    /// Calls `tell` with the copies of a data unit's newest version, if the parity of its stripe does not cover that.
    fn copies(&self, stripe: u32, index: u8, tell: &mut dyn FnMut(Member, Page)) {
        let _ = (stripe, index, tell);
    }
}

/// What only a scheme knows that keeps more of a page than its place in a codeword: old versions, a log, a backup, a
/// map.
pub trait OwnHealth {
    /// The number of pages that the failure of one more unit would lose now. Called after each plan that is not a read,
    /// each plan that settles, and each change, so it must be fast.
    fn exposed(&self) -> u64 {
        0
    }

    /// Whether a page is the sum of its places ([`Scheme::places`]), and not a copy at each of them.
    fn is_sum(&self, page: Page) -> bool {
        let _ = page;
        false
    }

    /// Whether there is a place for every page that is written. A map or log whose flash has failed or is worn out may
    /// refuse pages.
    fn takes_all(&self) -> bool {
        true
    }

    /// Whether all pages have full redundancy.
    fn is_whole(&self) -> bool {
        true
    }

    /// Whether nothing brings this page back.
    fn is_lost(&self, page: Page) -> bool {
        let _ = page;
        false
    }

    /// Whether `hazard` may lose this page in its present state: the scheme's declared exposed set. Tests compare it
    /// with the pages that are really lost.
    fn is_exposed(&self, page: Page, hazard: Hazard) -> bool {
        let _ = (page, hazard);
        false
    }

    /// Calls `visit` with each codeword that is complete on the media: the units of a stripe with their roles, or the
    /// copies of a page. For checks against the state of the flash; units that were never written may be left out.
    fn covers(&self, visit: &mut dyn FnMut(&[StripeUnit])) {
        let _ = visit;
    }

    /// The stripe that the repair of a member's page must hold; none if it needs no lock.
    fn repair_key(&self, member: Member, page: Page) -> Option<Key> {
        let _ = (member, page);
        None
    }
}

/// What a codeword lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CodewordHealth {
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
    /// For each node, whether a member ever failed or lacked a page; and whether that is so of any.
    has_faults: Vec<bool>,
    any_troubled: bool,
    /// Whether codewords of any node are examined.
    any_watched: bool,
    nodes: Vec<NodeHealth>,
}

/// The health of a node, by codewords.
#[derive(Clone, Debug, Default)]
struct NodeHealth {
    /// Whether codewords are examined: after trouble, or if the scheme defers parities.
    watched: bool,
    /// Whether its codewords are copies of a page.
    copies: bool,
    /// Whether its scheme tracks its health itself.
    own: bool,
    /// Without protection: whether a member has failed or lost a page.
    damaged: bool,
    degraded: Bits,
    /// For each codeword, the number of pages that one more failure would lose.
    at_risk: Sparse<u8>,
    /// The sum of `at_risk`.
    exposed: u64,
    /// Unrecoverable pages.
    lost: Bits,
    /// Codewords with units that can be rebuilt.
    queue: RebuildQueue,
    /// Codewords with data that a power loss took: these are rebuilt before requests are served. A write to such a
    /// codeword that a second power loss interrupts would lose them.
    first: RebuildQueue,
    /// The number of codewords that are being rebuilt.
    restoring: u32,
    /// Keys of background plans in progress from which a member has refused a page.
    refused: Vec<Key>,
    /// Stripes whose second codeword lacks as many units as its sum makes up for, and those whose lacks any.
    newer_missing: Bits,
    newer_degraded: Bits,
    /// Pages whose newest version lacks one of its copies, or all ([`Codewords::copies`]).
    thin: Bits,
    /// The codewords that are being examined.
    word: Codeword,
    newer: Codeword,
}

impl Health {
    pub(super) fn new<S: Scheme>(schemes: &[Option<S>]) -> Self {
        let nodes = schemes.iter().map(NodeHealth::new).collect::<Vec<_>>();
        let any_watched = nodes.iter().any(|health| health.watched);
        Health { has_faults: vec![false; schemes.len()], any_troubled: false, any_watched, nodes }
    }

    /// Whether no member of the node ever failed or lacked a page.
    #[inline]
    pub(super) fn is_healthy(&self, node: NodeId) -> bool {
        !self.any_troubled || !self.has_faults[node.index()]
    }

    /// Whether codewords of the node are examined.
    #[inline]
    pub(super) fn is_watched(&self, node: NodeId) -> bool {
        self.any_watched && self.nodes[node.index()].watched
    }

    /// The number of pages that one more failure would lose.
    #[inline]
    pub(super) fn exposed(&self, node: NodeId) -> u64 {
        self.nodes[node.index()].exposed
    }

    /// Whether a codeword lacks units.
    pub(super) fn is_degraded(&self, node: NodeId, codeword: u64) -> bool {
        self.nodes.get(node.index()).is_some_and(|health| health.degraded.has(codeword))
    }

    /// The end of the first of these codewords that lack units, or of those that do not.
    pub(super) fn degraded_until(&self, node: NodeId, codewords: Range<u64>) -> u64 {
        let Range { start, end } = codewords;
        let degraded = self.nodes.get(node.index()).map(|health| &health.degraded);
        degraded.map_or(end, |degraded| degraded.next(start, end, !degraded.has(start)))
    }

    /// Whether no codeword of any node lacks a unit, and no page without protection was lost.
    pub(super) fn is_whole(&self) -> bool {
        let lacking = |health: &NodeHealth| {
            health.degraded.count() + health.newer_degraded.count() + health.thin.count()
        };
        self.nodes.iter().all(|health| lacking(health) == 0 && !health.damaged)
    }

    /// Whether the scheme of a node tracks its health itself.
    #[inline]
    pub(super) fn is_own(&self, node: NodeId) -> bool {
        self.nodes[node.index()].own
    }

    /// Whether codewords of a node are being rebuilt.
    pub(super) fn is_restoring(&self, node: NodeId) -> bool {
        self.nodes[node.index()].restoring > 0
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

    /// Whether codewords wait to be rebuilt before requests are served.
    pub(super) fn has_to_recover(&self, node: NodeId) -> bool {
        !self.nodes[node.index()].first.is_empty()
    }

    /// Whether copies of pages are being made, or wait to be made.
    #[inline]
    pub(super) fn is_copying(&self, node: NodeId) -> bool {
        self.nodes[node.index()].copies && self.is_rebuilding(node)
    }

    /// A node has a new scheme: nothing is known of its health.
    pub(super) fn restart<S: Scheme>(&mut self, node: NodeId, scheme: &Option<S>) {
        self.has_faults[node.index()] = false;
        self.nodes[node.index()] = NodeHealth::new(scheme);
    }

    /// After a power cut, the state of a node's codewords is unknown; pages lost without protection stay lost.
    pub(super) fn recover<S: Scheme>(&mut self, node: NodeId, scheme: &Option<S>) {
        let damaged = self.nodes[node.index()].damaged;
        self.nodes[node.index()] = NodeHealth { damaged, ..NodeHealth::new(scheme) };
        self.trouble(node);
    }

    /// From now on, codewords of the node are examined.
    pub(super) fn trouble(&mut self, node: NodeId) {
        self.has_faults[node.index()] = true;
        (self.any_troubled, self.any_watched) = (true, true);
        let health = &mut self.nodes[node.index()];
        health.watched = !health.own;
    }
}

impl NodeHealth {
    fn new<S: Scheme>(scheme: &Option<S>) -> Self {
        let protection = scheme.as_ref().map_or(Protection::None, Scheme::protection);
        NodeHealth {
            watched: matches!(protection, Protection::Stripes(stripes) if stripes.defers()),
            copies: matches!(protection, Protection::Copies),
            own: matches!(protection, Protection::Own(_)),
            ..NodeHealth::default()
        }
    }

    /// Determines what a codeword lacks. What a member refused is not tried `again` until something changes.
    fn examine<S: Scheme>(
        &mut self,
        scheme: &S,
        codeword: u64,
        again: bool,
        view: &View<'_>,
        has: impl Fn(Member, Page) -> bool,
    ) {
        let condition = match scheme.protection() {
            Protection::None | Protection::Own(_) => return,
            Protection::Copies => {
                self.word.take_from(scheme, codeword);
                copies::condition(&self.word, self.degraded.has(codeword), view)
            }
            Protection::Stripes(stripes) if view.is_healthy() => {
                let at_risk = stripes.unprotected(codeword as u32);
                self.newer_missing.set(codeword, at_risk > 0);
                CodewordHealth { at_risk, ..CodewordHealth::default() }
            }
            Protection::Stripes(stripes) => {
                self.word.take_from(scheme, codeword);
                self.examine_stripe(stripes, codeword as u32, view, has)
            }
        };
        self.note(codeword, CodewordHealth { restorable: condition.restorable && again, ..condition });
    }

    /// The same of a stripe, whose codeword has been taken.
    fn examine_stripe(
        &mut self,
        stripes: &dyn Codewords,
        stripe: u32,
        view: &View<'_>,
        has: impl Fn(Member, Page) -> bool,
    ) -> CodewordHealth {
        let first = u64::from(stripe) * u64::from(stripes.data());
        let pages = first..first + u64::from(stripes.data());
        if self.lost.count() > 0 {
            pages.clone().for_each(|page| _ = self.lost.set(page, false));
        }
        let lost = &mut self.lost;
        let mut lose = |index: u8| _ = lost.set(first + u64::from(index), true);
        let two = stripes.has_newer(stripe);
        let counts = |index| !two || !stripes.is_newer(stripe, index);
        let covered = self.word.condition(view, &has, counts, &mut lose);
        if stripes.has_copies() {
            let copies = self.examine_copies(stripes, stripe, view, has);
            return CodewordHealth {
                degraded: covered.degraded,
                at_risk: covered.at_risk + copies.at_risk,
                restorable: covered.restorable || copies.restorable,
            };
        }
        if !two {
            self.newer_missing.set(stripe, false);
            self.newer_degraded.set(stripe, false);
            return CodewordHealth {
                degraded: covered.degraded,
                at_risk: covered.at_risk,
                restorable: covered.restorable,
            };
        }
        self.newer.take_newer(stripes, stripe);
        let newer = self.newer.condition(view, &has, |_| true, &mut lose);
        self.newer_missing.set(stripe, newer.is_missing);
        self.newer_degraded.set(stripe, newer.degraded);
        // The parity is written again from the newest versions: that needs neither older ones nor the sum.
        let stripe_rebuilds = covered.lacks_units || newer.lacks_units || newer.lacks_sum;
        CodewordHealth {
            degraded: covered.degraded,
            at_risk: covered.at_risk + newer.at_risk,
            restorable: stripe_rebuilds && !pages.into_iter().any(|page| self.lost.has(page)),
        }
    }

    fn note(&mut self, codeword: u64, condition: CodewordHealth) {
        self.degraded.set(codeword, condition.degraded);
        self.queue.set(codeword, condition.restorable);
        if !condition.restorable {
            self.first.set(codeword, false);
        }
        let was = self.at_risk.get(codeword);
        self.at_risk.set(codeword, condition.at_risk);
        self.exposed = self.exposed - u64::from(was) + u64::from(condition.at_risk);
    }

    /// Plans the rebuild of the next codeword that no plan works on; false if none can be rebuilt now. A node that
    /// `recovers` rebuilds only what a power loss took.
    fn rebuild<S: Scheme>(
        &mut self,
        scheme: &mut S,
        recovers: bool,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> bool {
        let is_held = |codeword: u64| view.held(Key(codeword));
        // A codeword that a plan holds is examined, and taken in again, when the plan ends.
        let next =
            |this: &mut Self| if recovers { this.first.next(is_held) } else { this.queue.next_idle(is_held) };
        while let Some(codeword) = next(self) {
            self.first.set(codeword, false);
            self.queue.set(codeword, false);
            self.word.take_from(scheme, codeword);
            let two = matches!(scheme.protection(), Protection::Stripes(stripes) if stripes.has_newer(codeword as u32));
            let begun = match self.copies {
                true => copies::rebuild(&self.word, view, plan),
                false if two => scheme.background(Why::Renew(codeword as u32), view, plan),
                false => self.word.rebuild(view, plan),
            };
            if begun {
                plan.hold = Some(Key(codeword));
                self.restoring += 1;
                return true;
            }
            if self.copies && copies::is_left(&self.word, view) {
                // The command under way when the page was examined was a trim.
                self.examine(scheme, codeword, true, view, |member, page| view.has(member, page));
            }
        }
        false
    }
}

/// The codeword that a page of a member belongs to.
fn codeword_of<S: Scheme>(scheme: &S, member: Member, page: Page) -> Option<u64> {
    match scheme.protection() {
        Protection::None | Protection::Own(_) => None,
        Protection::Copies => scheme.owner(member, page).map(|page| page.0),
        Protection::Stripes(stripes) => stripes.stripe_of(member, page).map(u64::from),
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
    let Some(codeword) = codeword_of(scheme, place.0, place.1) else { return RepairOutcome::Lost };
    let mut word = Codeword::default();
    word.take_from(scheme, codeword);
    if matches!(scheme.protection(), Protection::Copies) {
        return copies::repair(&word, failed, view, plan);
    }
    match word.units.iter().find(|unit| (unit.member, unit.page) == place) {
        Some(unit) => word.bring_back(unit.role, failed, view, plan),
        None => codeword::known_zero(&wanted, plan),
    }
}

/// The stripe that the repair of a member's page must hold; none if it needs no lock.
pub(super) fn repair_key<S: Scheme>(scheme: &S, member: Member, page: Page) -> Option<Key> {
    match scheme.protection() {
        Protection::None | Protection::Copies => None,
        Protection::Stripes(stripes) => stripes.stripe_of(member, page).map(|stripe| Key(u64::from(stripe))),
        Protection::Own(health) => health.repair_key(member, page),
    }
}

/// The OOB metadata of a scheme's page after a power cut; none if no member has the page.
pub(super) fn oob<S: Scheme>(scheme: &S, page: Page, view: &View<'_>) -> Option<OobData> {
    if let Protection::Stripes(stripes) = scheme.protection() {
        return oob::of_stripes(stripes, page, view);
    }
    let mut newest = NewestCopy::default();
    scheme.places(page, |member, place| newest.add(page, member, place, view));
    newest.oob()
}

/// After a power cut, calls `lacks` with the outdated copies.
pub(super) fn recover_copies<S: Scheme>(scheme: &S, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
    if !matches!(scheme.protection(), Protection::Copies) {
        return;
    }
    let mut word = Codeword::default();
    let end = scheme.capacity();
    let next = |from: u64| scheme.ever_used().map_or(from.min(end), |used| used.next(from, end, true));
    let mut page = next(0);
    while page < end {
        word.take_from(scheme, page);
        copies::recover(Page(page), &word, view, lacks);
        page = next(page + 1);
    }
}

impl Codeword {
    fn take_from<S: Scheme>(&mut self, scheme: &S, codeword: u64) {
        self.clear(scheme.protection().code());
        match scheme.protection() {
            Protection::None | Protection::Own(_) => {}
            Protection::Copies => scheme.places(Page(codeword), |member, page| {
                self.push(StripeUnit { member, page, role: Role::Plain });
            }),
            Protection::Stripes(stripes) => stripes.units(codeword as u32, &mut |unit| self.push(unit)),
        }
    }

    fn clear(&mut self, code: Code) {
        self.units.clear();
        (self.parities, self.code, self.carried) = (0, code, false);
    }

    fn take_newer(&mut self, stripes: &dyn Codewords, stripe: u32) {
        self.clear(stripes.code());
        stripes.newer(stripe, &mut |unit| self.push(unit));
    }

    /// Adds a unit. A parity makes up for one missing unit.
    pub fn push(&mut self, unit: StripeUnit) {
        self.parities += usize::from(matches!(unit.role, Role::Parity(_)));
        self.units.push(unit);
    }
}
