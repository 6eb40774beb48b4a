//! The interface of redundancy schemes: the calls from the engine to a scheme, and the information about members that a
//! scheme can query.

use super::coming::OutstandingWork;
use super::command::{Command, Page};
use super::contents::Contents;
use super::gaps::Gaps;
use super::health::{self, Health, Protection};
use super::leaves::{BackendView, LeafId, Spare};
use super::locks::Locks;
use super::plan::{Key, Lock, Member, Plan, PlanVerdict, RepairOutcome, Role, Step, Why};
use super::ports::Ports;
use super::tree::{NodeId, NodeLinks};
use crate::kernel::{Bits, Span};

/// When the executor asks a scheme for background work. With no field set, it does so for rebuilds and on events only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rhythm {
    /// After this time without requests of the host, one small plan at a time ([`Why::Idle`]).
    pub idle_after: Option<Span>,
    /// This time after the last command that was not a read ([`Why::Wake`]).
    pub wake_after: Option<Span>,
    /// `wake_after` counts from the first such command after the previous call instead.
    pub from_first: bool,
}

/// A change of a member's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The member has failed.
    Failed,
    /// An empty member replaces it. The executor records that it lacks every page that has not been written since, and
    /// asks for a repair if one is read ([`View::has`]).
    Replaced,
    /// The member responds again, with its old contents. The executor knows which writes it missed.
    Returned,
    /// The member has lost this page, which cannot be read any more ([`View::has`]); the rest of the member is in use.
    Damaged(Page),
    /// A read of this page has failed. The page can be written again.
    Unreadable(Page),
    /// After a power cut, [`Scheme::recover`] found that the member lacks this page.
    Lacking(Page),
    /// The member has lost too much capacity to store this page. Writing the page again fails until the member changes
    /// again.
    Refused(Page),
    /// The block of this page, in a member with physical pages, cannot be programmed any more: it has failed as a whole
    /// or in a page ([`View::has_failed`]), or it has had its last erase. Reported to maps only.
    Retired(Page),
}

impl Change {
    /// The page that the change concerns; none for changes of the whole member.
    #[must_use]
    pub fn page(self) -> Option<Page> {
        match self {
            Change::Failed | Change::Replaced | Change::Returned | Change::Retired(_) => None,
            Change::Damaged(page)
            | Change::Unreadable(page)
            | Change::Lacking(page)
            | Change::Refused(page) => Some(page),
        }
    }

    /// The same change for another page.
    #[must_use]
    pub fn over(self, page: Page) -> Change {
        match self {
            Change::Failed | Change::Replaced | Change::Returned => self,
            Change::Damaged(_) => Change::Damaged(page),
            Change::Unreadable(_) => Change::Unreadable(page),
            Change::Lacking(_) => Change::Lacking(page),
            Change::Refused(_) => Change::Refused(page),
            Change::Retired(_) => Change::Retired(page),
        }
    }
}

/// A failure that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// One of the units that the scheme runs over fails (two of them, if the scheme survives two).
    Unit,
    /// The power fails; data that are only in volatile memory are lost.
    Power,
}

/// A page of a member, and its role in the stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripeUnit {
    /// The member.
    pub member: Member,
    /// The page, as the member numbers its pages.
    pub page: Page,
    /// Its role: `Data(i)`, `P` or `Q`; `Plain` for one of several copies.
    pub role: Role,
}

/// A redundancy scheme. It turns commands into plans, and knows about its members only the answers of [`View`]: it has
/// no clock, queue, counter or random numbers. The executor carries plans out, keeps the order of commands, and
/// computes parity.
pub trait Scheme: Sized {
    /// The number of pages that the scheme offers to its parent, numbered from 0.
    fn capacity(&self) -> u64;

    /// The executor splits commands at multiples of this number of pages, so that each plan stays within one stripe.
    fn grain(&self) -> u32 {
        u32::MAX
    }

    /// The same for reads: 1 if the member that serves a page depends on the page before.
    fn read_grain(&self) -> u32 {
        self.grain()
    }

    /// Whether the scheme has exactly one member and maps every page to the member's page of the same number.
    fn is_transparent(&self) -> bool {
        false
    }

    /// Whether it is a map, which only determines the places of pages on its one member: a failure, replacement or
    /// return of the member is one of this node.
    fn is_map(&self) -> bool {
        false
    }

    /// Whether its pages can get other addresses ([`Verb::Rename`](super::Verb::Rename)); where not, the executor copies
    /// them.
    fn remaps(&self) -> bool {
        false
    }

    /// The pages that a map has lost by the member's last change, each with the change to report to the node above.
    /// Called once after each change.
    fn losses(&mut self) -> Vec<Change> {
        Vec::new()
    }

    /// Calls `tell` with the member and page of each copy of a page of this scheme; does not call it for a page that
    /// has no place. To the schemes above, such a page is a known zero.
    fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
        let _ = (page, tell);
    }

    /// From what the engine derives which pages are missing, degraded, exposed or lost, what it rebuilds, and in which order.
    fn protection(&self) -> Protection {
        Protection::Own
    }

    /// Calls `tell` with the units of a codeword: the data pages that are not known zeros, and their parities, if these have
    /// been written; or the copies of a page. Of two units that are missing, the first is reconstructed first.
    fn units(&self, codeword: u32, mut tell: impl FnMut(StripeUnit)) {
        self.places(Page(codeword), |member, page| tell(StripeUnit { member, page, role: Role::Plain }));
    }

    /// The codeword that a member's page belongs to; none for unused pages.
    fn codeword_of(&self, member: Member, page: Page) -> Option<u32> {
        self.owner(member, page).map(|page| page.0)
    }

    /// The engine begins to rebuild units of a codeword, which the plan holds.
    fn restores(&mut self, codeword: u32) {
        let _ = codeword;
    }

    /// The engine has examined a codeword after a plan that held it ([`View::is_degraded`]).
    fn examined(&mut self, codeword: u32, view: &View<'_>) {
        let _ = (codeword, view);
    }

    /// A command for this page will come soon: calls `ask` with the pages of members that it will access, so that their
    /// table entries can be prefetched. Affects speed only.
    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        self.places(page, ask);
    }

    /// When the scheme wants to be asked for background work.
    fn rhythm(&self) -> Rhythm {
        Rhythm::default()
    }

    /// The lock that the command needs on its stripe. The executor asks before [`Scheme::plan`], which it calls when it
    /// has the lock.
    fn lock(&self, command: &Command) -> Lock {
        let _ = command;
        Lock::Free
    }

    /// Plans a command that lies within one multiple of [`Scheme::grain`]: pushes steps onto `plan`, which is empty, in
    /// ascending order of stages. `Step::at` counts pages from the start of the command. On [`PlanVerdict::Wait`] the
    /// scheme must not have changed its state; the executor asks again after other work has ended.
    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict;

    /// Plans one small piece of background work and returns true; returns false if none can begin now. The plan names
    /// the stripe that it works on in [`Plan::hold`], which must not be held.
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        let _ = (why, view, plan);
        false
    }

    /// Whether the scheme has urgent work, which does not wait for idle time, a timer or a command: the executor asks
    /// for it immediately, with [`Why::Pressed`]. It checks this after each plan that is not a read, after each piece
    /// of background work and after each change; once a part has failed, also when a plan releases a stripe.
    fn pressed(&self) -> bool {
        false
    }

    /// The stripe that the repair of a member's page must hold; none if it needs no lock.
    fn repair_key(&self, member: Member, page: Page) -> Option<Key> {
        health::repair_key(self, member, page)
    }

    /// Plans an alternative read of the page whose read failed last. `failed` has at least one step; its last step is a
    /// read of one page, and the plan must deliver that page at place 0. Earlier steps of `failed` are failed reads of
    /// the repairs that this repair belongs to. The contents may be newer than at the time of the read, never older.
    /// Returns [`RepairOutcome::Lost`] if the page cannot be reconstructed. The executor does not ask twice for the
    /// same page of the same member: a repair that depends on itself is lost.
    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        health::repair(self, failed, view, plan)
    }

    /// The page of this scheme that a member's page stores; none for parity and unused pages. Needed for failed reads
    /// whose plan the executor did not keep.
    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        let _ = (member, page);
        None
    }

    /// A plan that held `key` is durable, or as much of it as was possible ([`View::fell_short`]): the scheme now
    /// changes its state accordingly. Until then, other work on the stripe (a repair, for example) sees the scheme as
    /// it was before the plan.
    fn settled(&mut self, key: Key, view: &View<'_>) {
        let _ = (key, view);
    }

    /// Whether the scheme still has pages to rebuild.
    fn rebuilding(&self) -> bool {
        false
    }

    /// Restores the scheme's state after a power cut, from non-volatile memory and the OOB metadata of pages
    /// ([`View::spare`]). Calls `lacks` with each page that a member lacks: missing or outdated pages, and parities
    /// that do not match their data. The executor then reports these pages one by one ([`Change::Lacking`]), and the
    /// scheme repairs them like other missing pages. A log names the stripes that plans held exclusively when the power
    /// failed: in this call only, these are [`View::held`].
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        let _ = (view, lacks);
    }

    /// The OOB metadata of a page of this scheme after a power cut; of several copies, that of the newest. None if no
    /// member has the page.
    fn spare(&self, page: Page, view: &View<'_>) -> Option<Spare> {
        let mut newest: Option<Spare> = None;
        self.places(page, |member, page| {
            let copy = if view.has(member, page) { view.spare(member, page) } else { None };
            if let Some(copy) = copy.filter(|copy| newest.is_none_or(|newest| copy.is_newer_than(&newest))) {
                newest = Some(copy);
            }
        });
        newest
    }

    /// Invalidates the OOB metadata of a page, which the node above found to be wrong, so that recovery from the next
    /// power cut does not find it. Calls `tell` with the pages of members to invalidate.
    fn disown(&mut self, page: Page, view: &View<'_>, tell: &mut dyn FnMut(Member, Page)) {
        let _ = view;
        self.places(page, tell);
    }

    /// The state of a member has changed.
    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        let _ = (member, change, view);
    }

    /// Whether all pages have full redundancy.
    fn is_whole(&self) -> bool {
        true
    }

    /// The number of pages that the failure of one more unit would lose now. Called after each plan that is not a read,
    /// each plan that settles, and each change, so it must be fast.
    fn exposed(&self) -> u64 {
        0
    }

    /// Whether the scheme passes commands for parts of pages on, so that its members merge them. For schemes that need
    /// whole pages the port above merges.
    fn passes_parts(&self) -> bool {
        false
    }

    /// Whether the scheme needs no calls but [`Scheme::plan`] while no part has failed: it takes no locks, exposes no
    /// pages, and has no timers or background work.
    fn is_carefree(&self) -> bool {
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

    /// The scheme's own section of the summary, in the shape that its entry in the table of schemes declares; none if
    /// it has none.
    fn figures(&self) -> Option<serde_json::Value> {
        None
    }
}

/// What a scheme can query: the state of its members and of the devices below them. Answers are exact integers. In
/// untimed runs every backlog is 0, so that a least-busy policy becomes round-robin.
pub struct View<'a> {
    pub(super) shape: &'a [NodeLinks],
    /// The node of the scheme that asks.
    pub(super) node: NodeId,
    pub(super) below: &'a dyn BackendView,
    pub(super) locks: &'a Locks,
    pub(super) gaps: &'a Gaps,
    pub(super) health: &'a Health,
    pub(super) deeper: &'a dyn Deeper,
    pub(super) fell_short: bool,
}

/// The schemes of the nodes after `node` in pre-order; those below it are among them.
pub(super) struct After<'a, S, C> {
    pub(super) node: NodeId,
    pub(super) schemes: &'a [Option<S>],
    pub(super) ports: &'a Ports<C>,
    pub(super) coming: OutstandingWork<'a>,
}

/// Queries to the schemes below the one that asks.
pub(super) trait Deeper {
    /// The places of a page of such a scheme.
    fn places(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(Member, Page));
    /// The OOB metadata of a page of such a scheme.
    fn spare(&self, node: NodeId, page: Page, view: &View<'_>) -> Option<Spare>;
    /// Whether the port before a node will have a page; none if the port does not know.
    fn held_before(&self, port: u16, page: Page) -> Option<bool>;
    /// Whether the port before a node has a write cache.
    fn has_cache(&self, port: u16) -> bool;
    /// Plans and commands in progress at the nodes.
    fn coming(&self) -> OutstandingWork<'_>;
}

impl<S: Scheme, C: Contents> Deeper for After<'_, S, C> {
    fn places(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(Member, Page)) {
        if let Some(scheme) = &self.schemes[node.index() - self.node.index() - 1] {
            scheme.places(page, tell);
        }
    }

    fn spare(&self, node: NodeId, page: Page, view: &View<'_>) -> Option<Spare> {
        let (scheme, schemes) = self.schemes[node.index() - self.node.index() - 1..].split_first()?;
        let deeper = After { node, schemes, ports: self.ports, coming: self.coming };
        scheme.as_ref()?.spare(page, &View { node, deeper: &deeper, ..*view })
    }

    fn held_before(&self, port: u16, page: Page) -> Option<bool> {
        self.ports.holds(port, page)
    }

    fn has_cache(&self, port: u16) -> bool {
        self.ports.has_cache(port)
    }

    fn coming(&self) -> OutstandingWork<'_> {
        self.coming
    }
}

impl View<'_> {
    fn child(&self, member: Member) -> NodeId {
        self.shape[self.node.index()].children[usize::from(member.0)]
    }

    /// The number of members.
    #[must_use]
    pub fn members(&self) -> u8 {
        self.shape[self.node.index()].children.len() as u8
    }

    /// Whether the member responds.
    #[must_use]
    pub fn alive(&self, member: Member) -> bool {
        self.shape[self.child(member).index()].alive
    }

    /// Whether the member has the current contents of the page: it responds, and it has received every write of the
    /// page since it was replaced or responded again. True for pages that were never written.
    #[must_use]
    pub fn has(&self, member: Member, page: Page) -> bool {
        self.alive(member) && !self.gaps.lacks(self.child(member), page.0)
    }

    /// Whether no member of this scheme ever failed or lacked a page.
    #[must_use]
    #[inline]
    pub fn is_healthy(&self) -> bool {
        self.health.is_healthy(self.node)
    }

    /// Whether a codeword of this scheme lacks units, when it was last examined.
    #[must_use]
    pub fn is_degraded(&self, codeword: u32) -> bool {
        self.health.is_degraded(self.node, codeword)
    }

    /// The unrecoverable pages of this scheme; in [`Scheme::recover`], those known before the power cut.
    #[must_use]
    pub fn lost(&self) -> Option<&Bits> {
        self.health.lost(self.node)
    }

    /// Whether the member has received the page; if not, the page is a known zero there. For a member that is a tree,
    /// its schemes answer; if none of the page's places there responds, the answer is true.
    #[must_use]
    pub fn holds(&self, member: Member, page: Page) -> bool {
        let child = self.child(member);
        match self.shape[child.index()].leaf {
            _ if self.before(child, page).is_some() => self.before(child, page) == Some(true),
            Some(leaf) => self.below.holds(leaf, page),
            None => self.tree_holds(child, page).unwrap_or(true),
        }
    }

    /// Whether the port before a node will have the page; none if there is no port or if it does not know.
    fn before(&self, node: NodeId, page: Page) -> Option<bool> {
        let port = self.shape[node.index()].port?;
        self.deeper.held_before(port, page)
    }

    /// The same for a tree; none if each place of the page does not respond or lacks the page.
    fn tree_holds(&self, node: NodeId, page: Page) -> Option<bool> {
        let coming = self.deeper.coming();
        if let Some(held) = coming.holds(node, self.shape[node.index()].inner(page)) {
            return Some(held);
        }
        let (mut places, mut known) = (0, None);
        self.places(node, page, &mut |member, page| {
            places += 1;
            let child = self.shape[node.index()].children[usize::from(member.0)];
            let shape = &self.shape[child.index()];
            let writes = || coming.writes(node, member, page);
            let held = match shape.leaf {
                _ if !shape.alive || self.gaps.lacks(child, page.0) => None,
                _ if self.before(child, page).is_some() => self.before(child, page),
                Some(leaf) => Some(self.below.holds(leaf, page) || writes()),
                None => self.tree_holds(child, page),
            };
            known = known.max(held);
        });
        if places == 0 { Some(false) } else { known }
    }

    /// The places of a page at a node below; `page` is numbered as by the node's parent.
    fn places(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(Member, Page)) {
        self.deeper.places(node, self.shape[node.index()].inner(page), tell);
    }

    /// Whether the member, or a part of it, has a write cache. Pages that were reported durable may then be missing
    /// after a power loss.
    #[must_use]
    pub fn is_cached(&self, member: Member) -> bool {
        self.has_cache_below(self.child(member))
    }

    fn has_cache_below(&self, node: NodeId) -> bool {
        let shape = &self.shape[node.index()];
        shape.port.is_some_and(|port| self.deeper.has_cache(port))
            || shape.children.iter().any(|&child| self.has_cache_below(child))
    }

    /// The OOB metadata of a member's page on flash; none if the page is not there or cannot be read. For a member that
    /// is a tree, that of the newest copy.
    #[must_use]
    pub fn spare(&self, member: Member, page: Page) -> Option<Spare> {
        let child = self.child(member);
        let shape = &self.shape[child.index()];
        match shape.raw() {
            _ if !shape.alive => None,
            Some(leaf) => self.below.spare(leaf, page),
            None => self.deeper.spare(child, shape.inner(page), self),
        }
    }

    /// The sequence number of the last write to a member with physical pages; none in runs without power cuts.
    #[must_use]
    pub fn last_write(&self, member: Member) -> Option<u64> {
        self.below.last_write(self.shape[self.child(member).index()].raw()?)
    }

    /// Whether a physical page of a member is erased, so that it can be programmed; true if the member does not
    /// respond.
    #[must_use]
    pub fn is_erased(&self, member: Member, page: Page) -> bool {
        let leaf = self.shape[self.child(member).index()].leaf;
        !self.alive(member) || leaf.is_some_and(|leaf| self.below.is_erased(leaf, page))
    }

    /// How often the erase unit of a member's physical page has been erased: the most worn of its blocks.
    #[must_use]
    pub fn erases_at(&self, member: Member, page: Page) -> u32 {
        let leaf = self.shape[self.child(member).index()].leaf;
        leaf.map_or(0, |leaf| self.below.erases_at(leaf, page))
    }

    /// Whether a physical page of a member can never be programmed again.
    #[must_use]
    pub fn has_failed(&self, member: Member, page: Page) -> bool {
        let leaf = self.shape[self.child(member).index()].leaf;
        leaf.is_some_and(|leaf| self.below.has_failed(leaf, page))
    }

    /// A lower bound of the time until a read of the member's page could start, ns; of a page with several places in a
    /// member that is a tree, that of the least busy one. 0 if the member does not respond.
    #[must_use]
    pub fn backlog(&self, member: Member, page: Page) -> Span {
        self.wait(self.child(member), page).unwrap_or(Span::ZERO)
    }

    fn wait(&self, node: NodeId, page: Page) -> Option<Span> {
        let shape = &self.shape[node.index()];
        match shape.leaf {
            _ if !shape.alive => None,
            _ if self.before(node, page) == Some(true) => Some(Span::ZERO),
            Some(leaf) => Some(self.below.backlog(leaf, page)),
            None => {
                let mut least: Option<Span> = None;
                self.places(node, page, &mut |member, page| {
                    let waits = self.wait(shape.children[usize::from(member.0)], page);
                    least = least.into_iter().chain(waits).min();
                });
                least
            }
        }
    }

    /// The number of block erases of the member; for a member of several parts, the least of them.
    #[must_use]
    pub fn wear(&self, member: Member) -> u64 {
        self.least(self.child(member), &|leaf| self.below.wear(leaf)).unwrap_or(0)
    }

    /// The mean erase count of the member's blocks; 0 for a member that does not respond.
    #[must_use]
    pub fn mean_erases(&self, member: Member) -> u32 {
        let (erases, blocks) = self.erases_below(self.child(member));
        erases.checked_div(blocks).unwrap_or(0).min(u64::from(u32::MAX)) as u32
    }

    /// The erases of all devices below a node, and their number of blocks.
    fn erases_below(&self, node: NodeId) -> (u64, u64) {
        let shape = &self.shape[node.index()];
        match shape.leaf {
            _ if !shape.alive => (0, 0),
            Some(leaf) => (self.below.wear(leaf), self.below.erase_blocks(leaf)),
            None => {
                let parts = shape.children.iter().map(|&child| self.erases_below(child));
                parts.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
            }
        }
    }

    /// The number of pages that the member can write before it must collect garbage; for a member of several parts, the
    /// least of them.
    #[must_use]
    pub fn room(&self, member: Member) -> u64 {
        self.least(self.child(member), &|leaf| self.below.room(leaf)).unwrap_or(0)
    }

    /// In [`Scheme::settled`]: whether the plan was background work that could not read all pages that it needed, or
    /// whose write a member refused. The scheme must not try it again until a member changes.
    #[must_use]
    pub fn fell_short(&self) -> bool {
        self.fell_short
    }

    /// Whether a plan holds the stripe `key` of this scheme.
    #[must_use]
    pub fn held(&self, key: Key) -> bool {
        self.locks.is_held(self.node, key)
    }

    fn least<T: Ord>(&self, node: NodeId, ask: &dyn Fn(LeafId) -> T) -> Option<T> {
        let shape = &self.shape[node.index()];
        match shape.leaf {
            _ if !shape.alive => None,
            Some(leaf) => Some(ask(leaf)),
            None => shape.children.iter().filter_map(|&child| self.least(child, ask)).min(),
        }
    }
}
