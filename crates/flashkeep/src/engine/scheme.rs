//! The interface of redundancy schemes: what the engine asks a scheme, and what a scheme may see.

use super::coming::Coming;
use super::command::{Command, Page};
use super::contents::Contents;
use super::gaps::Gaps;
use super::leaves::{Below, LeafId, Spare};
use super::locks::Locks;
use super::plan::{Key, Lock, Member, Outcome, Plan, Role, Step, Verdict, Why};
use super::ports::Ports;
use super::tree::{NodeId, Shape};
use crate::kernel::Span;

/// When a scheme wants to be asked for background work without being asked for anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rhythm {
    /// After so long without foreground work, one small plan at a time.
    pub idle_after: Option<Span>,
    /// So long after the last command that was not a read.
    pub wake_after: Option<Span>,
    /// That is so long after the first one since it was asked, instead.
    pub from_first: bool,
}

/// What happened to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is gone.
    Failed,
    /// An empty one stands in its place. The executor knows that it has no page until that is written, and asks
    /// for a repair whenever one is read ([`View::has`]).
    Replaced,
    /// It is back with what it held. The executor knows which pages it missed.
    Returned,
    /// It goes on without this page, which cannot be read any more ([`View::has`]).
    Damaged(Page),
    /// A read has found that it cannot bring this page. It can be written again.
    Unreadable(Page),
    /// The power was cut, and the scheme has found that the member lacks this page ([`Scheme::recover`]).
    Lacking(Page),
    /// It did not take this page: it has lost too much of itself. To write it once more is in vain until the member
    /// has changed again.
    Refused(Page),
    /// The block of this page, of a member of physical pages, cannot be programmed any more: all of it has failed, or a
    /// page of it ([`View::has_failed`]), or it has had its last erase. Only a map is told.
    Retired(Page),
}

impl Change {
    /// The page that it is about, if it is about one.
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

    /// The same of another page.
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

/// What may strike next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// One of the units that the scheme runs over fails (two of them, where it survives two).
    Unit,
    /// The power fails, and what is in volatile memory only is lost.
    Power,
}

/// A page of a member, and what it is in its stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Who has it.
    pub member: Member,
    /// Which of its pages.
    pub page: Page,
    /// What it is: `Data(i)`, `P` or `Q`; `Plain` for one of several copies.
    pub role: Role,
}

/// A redundancy scheme. It decides and returns a plan; it sees no clock, no queue, no statistics and no random
/// numbers, except what [`View`] answers. The executor carries plans out, keeps the order, and does the sums.
pub trait Scheme {
    /// Pages that it offers.
    fn capacity(&self) -> u64;

    /// Commands are cut at multiples of this number of pages, so that each plan stays within one stripe.
    fn grain(&self) -> u32 {
        u32::MAX
    }

    /// Reads are cut at multiples of this number of pages: 1 if the member that reads a page depends on the page before.
    fn read_grain(&self) -> u32 {
        self.grain()
    }

    /// Whether it has one member, and every page is that member's page of the same number.
    fn is_transparent(&self) -> bool {
        false
    }

    /// Whether it only says where pages of its one member are: when that fails, is replaced or comes back, so does this
    /// node.
    fn is_map(&self) -> bool {
        false
    }

    /// Whether its pages can get other addresses ([`Verb::Rename`](super::Verb::Rename)); where not, the executor copies
    /// them.
    fn remaps(&self) -> bool {
        false
    }

    /// What the member's last change has cost a map: which of its own pages are not there any more, each as the node
    /// above is to be told. Asked once after each change.
    fn losses(&mut self) -> Vec<Change> {
        Vec::new()
    }

    /// Where a page is, each copy of it; nowhere where it has no place yet: what is nowhere is a known zero to the
    /// schemes above.
    fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
        let _ = (page, tell);
    }

    /// A command for this page will come soon: which pages of which members that will be about, so that what is kept
    /// of them can be brought near the processor. Nothing depends on it but speed.
    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        self.places(page, ask);
    }

    /// When it wants to be asked for background work.
    fn rhythm(&self) -> Rhythm {
        Rhythm::default()
    }

    /// What the command needs of the stripe it touches; asked before [`Scheme::plan`], which is called when the
    /// stripe is free.
    fn lock(&self, command: &Command) -> Lock {
        let _ = command;
        Lock::Free
    }

    /// Decides what the command becomes. On [`Verdict::Wait`] nothing may have changed.
    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> Verdict;

    /// One small piece of background work; false where there is none that can be begun now.
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        let _ = (why, view, plan);
        false
    }

    /// Whether it has work that is not to wait for idle time, a timer or a command: it is asked for it at once, with
    /// [`Why::Pressed`]. Asked after each plan that is not a read, each piece of background work and each change; once
    /// something has failed, also when a plan that had a stripe lets it go.
    fn pressed(&self) -> bool {
        false
    }

    /// The stripe that the repair of a member's page works on.
    fn repair_key(&self, member: Member, page: Page) -> Option<Key> {
        let _ = (member, page);
        None
    }

    /// How the one page that the last of `failed` should have read can be had otherwise: a plan whose place 0 is
    /// it. The steps before it failed on the way here: they are what this repair is a part of. (The executor
    /// does not ask twice for the same page of the same member: what a plan asks in a circle is lost.) What it
    /// brings may be newer than the read, never older.
    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> Outcome {
        let _ = (failed, view, plan);
        Outcome::Lost
    }

    /// The page of this scheme that a member's page belongs to, where it holds data: for reads that pass through
    /// without a plan of their own.
    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        let _ = (member, page);
        None
    }

    /// A plan that held `key` is durable, or as much of it as could be had ([`View::fell_short`]). All else that happens
    /// while it is under way (a read of the same stripe fails, say) still sees the scheme as it was before.
    fn settled(&mut self, key: Key, view: &View<'_>) {
        let _ = (key, view);
    }

    /// Whether a member still lacks something that this scheme could bring back to it.
    fn rebuilding(&self) -> bool {
        false
    }

    /// The power has been cut, and is back: what the scheme knew is gone, but for what is kept without power and what
    /// pages say of themselves ([`View::spare`]). It says what its members lack: pages that are not there or are older
    /// than they ought to be, and parities that do not fit their data. Those are gaps from then on, of which it is told
    /// one by one ([`Change::Lacking`]), as it is of members that do not answer; it repairs them like any others. A log
    /// names the stripes that plans had to themselves when the power failed: only here these are [`View::held`].
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        let _ = (view, lacks);
    }

    /// What its pages say of themselves after a power cut: of several copies that its members have, the newest one.
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

    /// The node above has found that this page's record of itself fits nothing: the next power cut is not to find it
    /// again. What its members are to give up is told.
    fn disown(&mut self, page: Page, view: &View<'_>, tell: &mut dyn FnMut(Member, Page)) {
        let _ = view;
        self.places(page, tell);
    }

    /// Something happened to a member.
    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        let _ = (member, change, view);
    }

    /// Whether everything is as redundant as it is meant to be: nothing that a failure took is missing.
    fn is_whole(&self) -> bool {
        true
    }

    /// How many pages the failure of one more unit would cost now. Asked after each plan that is not a read, each
    /// plan that settles, and each change: it must be at hand.
    fn exposed(&self) -> u64 {
        0
    }

    /// Whether it hands parts of pages on as they are, so that its members can merge them. Schemes that work with the
    /// contents of whole pages leave merging to the port above.
    fn passes_parts(&self) -> bool {
        false
    }

    /// Whether it need not be looked after as long as nothing has failed: it takes no stripe, exposes nothing, waits
    /// for no timer and has no work of its own.
    fn is_carefree(&self) -> bool {
        false
    }

    /// Whether this page, as it is now, is among those that the scheme does not promise to keep when `hazard`
    /// strikes: its declared exposed set.
    fn is_exposed(&self, page: Page, hazard: Hazard) -> bool {
        let _ = (page, hazard);
        false
    }

    /// Which pages protect each other, for a check against the state of the flash: every stripe that is whole on the media,
    /// its units by role, or the copies of a page. Pages that were never written need not be there.
    fn covers(&self, visit: &mut dyn FnMut(&[Unit])) {
        let _ = visit;
    }

    /// Its own figures for the summary, in the shape that its entry in the table of schemes declares.
    fn figures(&self) -> Option<serde_json::Value> {
        None
    }
}

/// What a scheme may look at: its members, and only downwards. Integers; untimed, every backlog is 0, so that
/// least-busy becomes round-robin.
pub struct View<'a> {
    pub(super) shape: &'a [Shape],
    /// Who looks.
    pub(super) node: NodeId,
    pub(super) below: &'a dyn Below,
    pub(super) locks: &'a Locks,
    pub(super) gaps: &'a Gaps,
    pub(super) deeper: &'a dyn Deeper,
    pub(super) fell_short: bool,
}

/// The schemes of the nodes after one, which all that are below it are among.
pub(super) struct After<'a, S, C> {
    pub(super) node: NodeId,
    pub(super) schemes: &'a [Option<S>],
    pub(super) ports: &'a Ports<C>,
    pub(super) coming: Coming<'a>,
}

/// The schemes below the one that looks.
pub(super) trait Deeper {
    /// Where such a scheme has a page.
    fn places(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(Member, Page));
    /// What such a scheme's page says of itself.
    fn spare(&self, node: NodeId, page: Page, view: &View<'_>) -> Option<Spare>;
    /// Whether what stands before a node has a page; none where that does not know.
    fn held_before(&self, port: u16, page: Page) -> Option<bool>;
    /// Whether what stands before a node has a write cache.
    fn has_cache(&self, port: u16) -> bool;
    /// What is under way at the nodes.
    fn coming(&self) -> Coming<'_>;
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

    fn coming(&self) -> Coming<'_> {
        self.coming
    }
}

impl View<'_> {
    fn child(&self, member: Member) -> NodeId {
        self.shape[self.node.index()].children[usize::from(member.0)]
    }

    /// How many members there are.
    #[must_use]
    pub fn members(&self) -> u8 {
        self.shape[self.node.index()].children.len() as u8
    }

    /// Whether the member answers.
    #[must_use]
    pub fn alive(&self, member: Member) -> bool {
        self.shape[self.child(member).index()].alive
    }

    /// Whether the member would have the page: it answers, and it has been given the page since it was replaced
    /// or came back, in one piece.
    #[must_use]
    pub fn has(&self, member: Member, page: Page) -> bool {
        self.alive(member) && !self.gaps.lacks(self.child(member), page.0)
    }

    /// Whether the member has been given the page: if not, it is a known zero there. A member that is a tree itself is
    /// asked where it has it; if no scheme there answers, the member may have received it.
    #[must_use]
    pub fn holds(&self, member: Member, page: Page) -> bool {
        let child = self.child(member);
        match self.shape[child.index()].leaf {
            _ if self.before(child, page).is_some() => self.before(child, page) == Some(true),
            Some(leaf) => self.below.holds(leaf, page),
            None => self.tree_holds(child, page).unwrap_or(true),
        }
    }

    /// Whether what stands before a node has the page, if something does and knows.
    fn before(&self, node: NodeId, page: Page) -> Option<bool> {
        let port = self.shape[node.index()].port?;
        self.deeper.held_before(port, page)
    }

    /// The same of a scheme below; none where each place of the page is one that does not answer or lacks it.
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

    /// Where the scheme of a node below has what its parent calls this page.
    fn places(&self, node: NodeId, page: Page, tell: &mut dyn FnMut(Member, Page)) {
        self.deeper.places(node, self.shape[node.index()].inner(page), tell);
    }

    /// Whether the member has a write cache, or a part of it: pages that were durable to the scheme may then be missing
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

    /// What a member's page says of itself on flash; none where nothing is there, or nothing that can be read. A member
    /// that is a tree itself is asked for what it would bring.
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

    /// The number of the last write that a raw member was given; none in runs without power cuts.
    #[must_use]
    pub fn last_write(&self, member: Member) -> Option<u64> {
        self.below.last_write(self.shape[self.child(member).index()].raw()?)
    }

    /// Whether a page of a raw member can be programmed as it is.
    #[must_use]
    pub fn is_erased(&self, member: Member, page: Page) -> bool {
        let leaf = self.shape[self.child(member).index()].leaf;
        !self.alive(member) || leaf.is_some_and(|leaf| self.below.is_erased(leaf, page))
    }

    /// Whether a page of a raw member can never be programmed again.
    #[must_use]
    pub fn has_failed(&self, member: Member, page: Page) -> bool {
        let leaf = self.shape[self.child(member).index()].leaf;
        leaf.is_some_and(|leaf| self.below.has_failed(leaf, page))
    }

    /// How long a read of the member's page would wait at least. A member that is a tree itself answers with
    /// the least busy of the page's places there.
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

    /// Erases of the member, the least of its parts.
    #[must_use]
    pub fn wear(&self, member: Member) -> u64 {
        self.least(self.child(member), &|leaf| self.below.wear(leaf)).unwrap_or(0)
    }

    /// How often a block of the member has been erased on average; 0 of one that does not answer.
    #[must_use]
    pub fn mean_erases(&self, member: Member) -> u32 {
        let (erases, blocks) = self.erases_below(self.child(member));
        erases.checked_div(blocks).unwrap_or(0).min(u64::from(u32::MAX)) as u32
    }

    /// Erases of all that is below a node, and its blocks.
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

    /// Pages that the member can still take before it must collect, the least of its parts.
    #[must_use]
    pub fn room(&self, member: Member) -> u64 {
        self.least(self.child(member), &|leaf| self.below.room(leaf)).unwrap_or(0)
    }

    /// In [`Scheme::settled`]: whether the plan was background work that could not read all that it needed, or wrote what a
    /// member refused. It is not to be tried again until something changes.
    #[must_use]
    pub fn fell_short(&self) -> bool {
        self.fell_short
    }

    /// Whether a plan holds the stripe.
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
