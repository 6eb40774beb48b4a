//! The interface of redundancy schemes: the calls from the engine to a scheme. What a scheme knows of the health of its
//! pages is in `health`, what it can query in `view`.

use super::backends::OobData;
use super::command::{Command, Page, Verb};
use super::health::{self, Protection};
use super::plan::{Key, Lock, Member, Plan, PlanVerdict, RepairOutcome, Role, Step, Why};
use super::view::View;
use crate::kernel::{Bits, Span};
use std::ops::Range;

/// When the executor asks a scheme for background work. With no field set, it does so for rebuilds and on events only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Triggers {
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
    /// After a power cut, [`Recoverable::recover`] found that the member lacks this page.
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
    /// Its role: `Data(i)` or `Parity(j)`; `Plain` for one of several copies.
    pub role: Role,
}

/// Consecutive pages of a scheme that take equally many consecutive pages of each member: page r of such rows, created
/// in order, begins where page r − 1 ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// Pages of the scheme.
    pub pages: u32,
    /// Pages of each member, parities included.
    pub each: u32,
    /// Whether a part of a row reads another part that exists: it is written after all that comes with it.
    pub reads: bool,
}

/// The properties of a scheme that never change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It has exactly one member and maps every page to the member's page of the same number.
    pub transparent: bool,
    /// It is a map, which only determines the places of pages on its one member: a failure, replacement or return of
    /// the member is one of this node, and the pages that it has lost thereby are reported ([`Recoverable::losses`]).
    pub map: bool,
    /// Its pages can get other addresses ([`Verb::Remap`](super::Verb::Remap)); where not, the executor copies them.
    pub remaps: bool,
    /// It passes commands for parts of pages on, so that its members merge them. For schemes that need whole pages the
    /// port above merges.
    pub passes_parts: bool,
    /// It needs no calls but [`Scheme::plan`] while no part has failed: it takes no locks, exposes no pages, and has no
    /// timers or background work. With one member, it passes every command on unchanged.
    pub stateless: bool,
    /// While no part has failed, a read returns the right contents as soon as the writes of the plan that holds its stripe
    /// have been submitted: where a page is does not depend on whether the plan is durable.
    pub reads_submitted: bool,
    /// When it wants to be asked for background work.
    pub triggers: Triggers,
    /// Commands that it makes wait ([`PlanVerdict::Wait`]) wait for its garbage collection.
    pub waits_for_gc: bool,
}

/// Background work: what a scheme does without a command.
pub trait BackgroundWork {
    /// Plans one small piece of background work and returns true; returns false if none can begin now. The plan names
    /// the stripe that it works on in [`Plan::hold`], which must not be held.
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        let _ = (why, view, plan);
        false
    }

    /// Whether the scheme has urgent work, which does not wait for idle time, a timer or a command: the executor asks
    /// for it immediately, with [`Why::Urgent`]. It checks this after each plan that is not a read, after each piece
    /// of background work and after each change; once a part has failed, also when a plan releases a stripe.
    fn urgent(&self) -> bool {
        false
    }

    /// Whether the scheme has pages to rebuild or to move beside those that the engine rebuilds, or may have when plans
    /// of the engine that are `restoring` stripes have ended.
    fn rebuilding(&self, restoring: bool) -> bool {
        let _ = restoring;
        false
    }

    /// Whether units that spare places have taken move back to members that respond again.
    fn moves_back(&self) -> bool {
        false
    }

    /// The engine has examined a stripe after a plan that held it ([`View::is_degraded`]).
    fn examined(&mut self, stripe: u32, view: &View<'_>) {
        let _ = (stripe, view);
    }
}

/// The state of a scheme's pages after a power cut or a failure.
pub trait Recoverable {
    /// Restores the scheme's state after a power cut, from non-volatile memory and the OOB metadata of pages
    /// ([`View::oob`]). Calls `lacks` with each page that a member lacks: missing or outdated pages, and parities
    /// that do not match their data. The executor then reports these pages one by one ([`Change::Lacking`]), and the
    /// scheme repairs them like other missing pages. A log names the stripes that plans held exclusively when the power
    /// failed: in this call only, these are [`View::held`].
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        let _ = (view, lacks);
    }

    /// The OOB metadata of a page of this scheme after a power cut; of several copies, that of the newest, and of a unit that
    /// is missing, what the rest of its codeword says. None if no member has the page.
    fn oob(&self, page: Page, view: &View<'_>) -> Option<OobData>
    where
        Self: Scheme,
    {
        health::oob(self, page, view)
    }

    /// The pages that a map has lost by its member's last change, each with the change to report to the node above.
    /// Called once after each change.
    fn losses(&mut self) -> Vec<Change> {
        Vec::new()
    }
}

/// A redundancy scheme. It turns commands into plans, and knows about its members only the answers of [`View`]: it has
/// no clock, queue, counter or random numbers. The executor carries plans out, keeps the order of commands, and
/// computes parity. A simple scheme leaves the defaults of [`BackgroundWork`] and [`Recoverable`] as they are.
pub trait Scheme: BackgroundWork + Recoverable + Sized {
    /// The number of pages that the scheme offers to its parent, numbered from 0.
    fn capacity(&self) -> u64;

    /// The properties that never change.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// The executor splits commands at multiples of this number of pages, so that each plan stays within one stripe.
    /// Reads are split at pages if the member that serves a page depends on the page before.
    fn grain(&self, verb: Verb) -> u32 {
        let _ = verb;
        u32::MAX
    }

    /// Calls `tell` with the member and page of each copy of a page of this scheme; does not call it for a page that
    /// has no place. To the schemes above, such a page is a known zero.
    fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
        let _ = (page, tell);
    }

    /// A row of its pages, if whole rows can be created before time 0 without a plan for each page.
    fn row(&self) -> Option<MemberRow> {
        None
    }

    /// Rows have been created on all members.
    fn note_rows(&mut self, rows: Range<u64>) {
        let _ = rows;
    }

    /// Its pages that are no known zeros; none if it does not keep them in a set, or if newer versions of some are kept apart
    /// from those that their codewords cover. The engine then passes over the others when it looks at all codewords.
    fn used(&self) -> Option<&Bits> {
        None
    }

    /// Its pages that were ever written, if it keeps them in a set: after a power cut, the engine passes over the others.
    fn ever_used(&self) -> Option<&Bits> {
        None
    }

    /// After how many codewords of a run the places of units repeat, where codeword `n` has page `n` of each of its members.
    fn period(&self, codewords: Range<u64>) -> Option<u32> {
        let _ = codewords;
        None
    }

    /// From what the engine derives which pages are missing, degraded, exposed or lost, what it rebuilds, and in which
    /// order.
    fn protection(&self) -> Protection<'_> {
        Protection::None
    }

    /// A command for this page will come soon: calls `ask` with the pages of members that it will access, so that their
    /// table entries can be prefetched. Affects speed only.
    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        self.places(page, ask);
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

    /// Plans an alternative read of the page whose read failed last. `failed` has at least one step; its last step is a
    /// read of one page, and the plan must deliver that page at place 0. Earlier steps of `failed` are failed reads of
    /// the repairs that this repair belongs to. The contents may be newer than at the time of the read, never older.
    /// Returns [`RepairOutcome::Lost`] if the page cannot be reconstructed. The executor does not ask twice for the
    /// same page of the same member: a repair that depends on itself is lost. By default it follows from the
    /// protection.
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

    /// The state of a member has changed.
    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        let _ = (member, change, view);
    }

    /// The scheme's own section of the summary, in the shape that its entry in the table of schemes declares; none if
    /// it has none.
    fn figures(&self) -> Option<serde_json::Value> {
        None
    }
}
