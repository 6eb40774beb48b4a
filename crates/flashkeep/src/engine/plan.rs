//! Plans: the steps that a scheme decides on, in stages, each with the role of its page.

use super::command::{Cause, Command, Flags, Page, Verb};
use super::contents::Contents;
use super::tree::NodeId;

/// The number of a child of a node, from 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Member(pub u8);

/// The key of a lock: the number of a stripe, as the scheme counts stripes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Key(pub u64);

/// The role of a step's page within its stripe. The executor computes parity from roles alone: `Data(i)` is added to
/// the sum of each parity with the coefficient that the scheme's [`Code`](super::Code) says; a read of a parity is added
/// to its own sum, a write of a parity writes the sum. A unit with a `Lost` role is solved from the sums: a plan names
/// every unit that it lacks, and reads all others that the parities need that it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// A page of no stripe.
    #[default]
    Plain,
    /// Data page `i` of the stripe.
    Data(u8),
    /// The parity of this number.
    Parity(u8),
    /// Data page `i`, reconstructed from the others: a read delivers it to the caller, a write to the member.
    Lost(u8),
    /// A parity, reconstructed.
    LostParity(u8),
}

impl Role {
    /// The first parity: the XOR of the data units, or of those of the first local group.
    pub const P: Role = Role::Parity(0);
    /// The second parity.
    pub const Q: Role = Role::Parity(1);

    /// The same unit, reconstructed instead of read.
    #[must_use]
    pub fn lost(self) -> Role {
        match self {
            Role::Data(index) => Role::Lost(index),
            Role::Parity(number) => Role::LostParity(number),
            other => other,
        }
    }

    /// The number of a data unit that is not lost.
    #[must_use]
    pub fn data(self) -> Option<u8> {
        if let Role::Data(index) = self { Some(index) } else { None }
    }

    /// The number of a parity that is not lost.
    #[must_use]
    pub fn parity(self) -> Option<u8> {
        if let Role::Parity(number) = self { Some(number) } else { None }
    }

    /// Whether the page is reconstructed and not read.
    #[must_use]
    pub fn is_lost(self) -> bool {
        matches!(self, Role::Lost(_) | Role::LostParity(_))
    }
}

/// One step of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The command for the member.
    pub command: Command,
    /// The index of the step's first page among the pages of the caller's command. Indices beyond them (in the
    /// background, all) are buffers of the plan: a write takes the contents that an earlier read brought to the same
    /// index. [`Step::NOWHERE`] for pages that only the sums need.
    pub at: u16,
    /// The row of sums (one row per stripe) of the first page; each following page belongs to the next row.
    pub row: u16,
    /// The role of the page.
    pub role: Role,
    /// The member that carries out the command.
    pub member: Member,
    /// The stage, from 0: steps of a stage start when all steps of the stage before are durable.
    pub stage: u8,
    /// The caller does not wait for this step; the stripe's lock is held until it is durable.
    pub later: bool,
}

impl Step {
    /// The value of [`Step::at`] for pages that only the sums need.
    pub const NOWHERE: u16 = u16::MAX;

    /// `member` carries out `command`, whose pages are the caller's pages from index `at` on. Stage 0, role `Plain`.
    #[must_use]
    pub fn new(member: Member, command: Command, at: u16) -> Self {
        Step { command, at, member, ..Step::default() }
    }

    /// `member` reads a page for the plan's own use.
    #[must_use]
    pub fn fetch(member: Member, page: Page, role: Role, cause: Cause) -> Self {
        let command = Command::new(Verb::Read, page, 1).because(cause);
        Step { role, ..Step::new(member, command, Step::NOWHERE) }
    }

    /// `member` writes a page that the plan computes (parity, or a reconstructed page).
    #[must_use]
    pub fn store(member: Member, page: Page, role: Role, cause: Cause) -> Self {
        let command = Command::new(Verb::Write, page, 1).because(cause);
        Step { role, ..Step::new(member, command, Step::NOWHERE) }
    }

    /// Adds the old contents of the caller's page `at` to the sums. The caller has just read them
    /// ([`Flags::OLD_IN_HAND`]), so the member reads nothing.
    #[must_use]
    pub fn in_hand(member: Member, page: Page, at: u16, role: Role) -> Self {
        let command = Command { flags: Flags::OLD_IN_HAND, ..Command::new(Verb::Read, page, 1) };
        Step { role, ..Step::new(member, command, at) }
    }

    /// The caller's page `at` is missing in the member's map.
    #[must_use]
    pub fn missing(member: Member, command: Command, at: u16) -> Self {
        Step::new(member, Command { flags: Flags::MISSING, ..command }, at)
    }

    /// The same with a role.
    #[must_use]
    pub fn role(self, role: Role) -> Self {
        Step { role, ..self }
    }

    /// The same in another stage.
    #[must_use]
    pub fn stage(self, stage: u8) -> Self {
        Step { stage, ..self }
    }

    /// The same in another row of the sums.
    #[must_use]
    pub fn row(self, row: u16) -> Self {
        Step { row, ..self }
    }

    /// The same, not waited for.
    #[must_use]
    pub fn later(self) -> Self {
        Step { later: true, ..self }
    }

    /// Whether the step represents old contents that the caller supplies.
    pub(super) fn is_in_hand(&self) -> bool {
        self.command.verb == Verb::Read && self.command.flags.has(Flags::OLD_IN_HAND)
    }

    /// Whether its pages are known to be missing.
    pub(super) fn is_missing(&self) -> bool {
        self.command.flags.has(Flags::MISSING)
    }

    /// Whether the contents of its pages are computed from the sums.
    pub(super) fn is_from_sums(&self) -> bool {
        let parity = matches!(self.role, Role::Parity(_)) && self.command.verb == Verb::Write;
        parity || self.role.is_lost()
    }

    /// The number of sums that it needs: those up to its own.
    pub(super) fn sums(&self) -> u8 {
        match self.role {
            Role::Parity(number) | Role::LostParity(number) => number + 1,
            Role::Plain | Role::Data(_) | Role::Lost(_) => 0,
        }
    }

    /// Whether one of its pages belongs to a row of the sums.
    pub(super) fn is_in_row(&self, row: usize) -> bool {
        let first = usize::from(self.row);
        (first..first + usize::from(self.command.count)).contains(&row)
    }

    /// Whether the step sends a command to the member.
    pub(super) fn travels(&self) -> bool {
        self.command.verb != Verb::Read || !(self.role.is_lost() || self.is_in_hand() || self.is_missing())
    }

    /// Whether `place` is among the indices of its pages.
    pub(super) fn covers(&self, place: u16) -> bool {
        self.at != Step::NOWHERE && (self.at..self.at + self.command.count).contains(&place)
    }
}

/// When a plan is acknowledged to its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Tell {
    /// When every step that is not `later` is acknowledged.
    #[default]
    All,
    /// When the first step whose member responds is acknowledged: for writes of copies.
    First,
}

/// How long a plan holds its lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// Until all steps are durable, so that the next plan finds the whole stripe on the media.
    #[default]
    Durable,
    /// Until the last stage has been submitted; enough if the members keep the order from then on.
    Submitted,
}

/// Plans for reuse, one for each depth; boxed, so that taking one moves a pointer only.
#[derive(Clone, Debug, Default)]
#[allow(clippy::vec_box)]
pub(super) struct SparePlans(Vec<Box<Plan>>);

impl SparePlans {
    /// An empty plan; the caller puts it back.
    #[inline]
    pub(super) fn take(&mut self) -> Box<Plan> {
        let mut plan = self.0.pop().unwrap_or_default();
        plan.clear();
        plan
    }

    pub(super) fn put(&mut self, plan: Box<Plan>) {
        self.0.push(plan);
    }
}

/// A scheme's plan for one command, or for one piece of background work.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The steps, in ascending order of stages.
    pub steps: Vec<Step>,
    /// When the plan is acknowledged to its caller.
    pub tell: Tell,
    /// How long the plan holds its lock.
    pub release: Release,
    /// The stripe that a *background* plan locks; the scheme must check that it is free
    /// ([`View::held`](super::View::held)). Commands declare theirs in `Scheme::lock`; the plan of one that was to pass
    /// its stripe ([`Lock::Pass`]) may hold it after all.
    pub hold: Option<Key>,
    /// Row 0 of the sums starts with the running parity that the controller keeps under this key, of a stripe that
    /// several commands write.
    pub carry: Option<Key>,
    /// The controller keeps the sums of the last row under this key for the stripe's next plan, as soon as the last
    /// stage has been submitted: plans of one stage that write an open stripe need not wait for each other.
    pub keep: Option<Key>,
    /// Row 0 starts with the running parity under this key, which the controller keeps as well: for a repair that needs
    /// it.
    pub peek: Option<Key>,
    /// The plan counts as in progress under this key until it is durable ([`View::held`]). Several plans may have the
    /// same key; the key locks nothing.
    ///
    /// [`View::held`]: super::View::held
    pub under: Option<Key>,
    /// The number of pages of the command that are read from another place because a unit failed.
    pub rescued: u16,
    /// The executor keeps the plan until it ends, even if it is a single plain stage: set by schemes that cannot map a
    /// member's page back to theirs later ([`Scheme::owner`]).
    ///
    /// [`Scheme::owner`]: super::Scheme::owner
    pub keeps_running_plan: bool,
    /// The scheme has urgent work from now on, although the command is a read ([`BackgroundWork::urgent`]).
    ///
    /// [`BackgroundWork::urgent`]: super::BackgroundWork::urgent
    pub wants_urgent_work: bool,
    /// Some of its steps rename pages: members that cannot do that copy them.
    pub remaps: bool,
    /// Before this stage, or at the end if it has no steps, the members write their caches back (FLUSH): for a plan
    /// after which older copies end. Members without caches, or with empty ones, take no time for that.
    pub flushes: Option<u8>,
    /// The command's pages have no place any more: they are recorded as missing, and the node above is notified
    /// ([`Change::Refused`]). The steps of the plan are carried out.
    ///
    /// [`Change::Refused`]: super::Change::Refused
    pub refuses: bool,
    /// A read that reconstructs a page because the place of that page is busy: if that fails, the page is read from there.
    pub around: bool,
    /// A read that is repeated in another way if it takes longer than this percentile of recent read times, in 1/1,000.
    pub hedge: Option<u16>,
}

impl Plan {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.tell = Tell::All;
        self.release = Release::Durable;
        self.hold = None;
        self.carry = None;
        self.keep = None;
        self.peek = None;
        self.under = None;
        self.rescued = 0;
        self.wants_urgent_work = false;
        self.refuses = false;
        self.remaps = false;
        self.flushes = None;
        self.keeps_running_plan = false;
        self.around = false;
        self.hedge = None;
    }

    /// Adds a step.
    #[inline]
    pub fn push(&mut self, step: Step) {
        debug_assert!(self.steps.last().is_none_or(|last| last.stage <= step.stage), "stages ascend");
        debug_assert!(step.command.count > 0, "a step has pages");
        self.steps.push(step);
    }

    /// Its writes pass the write caches of members: they replace copies that end when the plan does.
    pub fn force(&mut self) {
        for Step { command, .. } in self.steps.iter_mut().filter(|step| step.command.verb == Verb::Write) {
            command.flags = command.flags.with(Flags::FUA);
        }
    }

    /// Whether the plan is one stage without a stripe whose caller waits for all steps: these can count as the caller's
    /// own. If contents are not kept, roles of data that the root writes do not matter; below it, the order in which plans
    /// end must not depend on that.
    #[inline]
    pub(super) fn is_simple<C: Contents>(&self, node: NodeId) -> bool {
        let data = |s: &Step| {
            !C::KEEP
                && node == NodeId::ROOT
                && s.command.verb == Verb::Write
                && matches!(s.role, Role::Data(_))
        };
        let plain = |s: &Step| {
            s.stage == 0 && (s.role == Role::Plain || data(s)) && !s.later && s.at != Step::NOWHERE
        };
        let sums = C::KEEP && self.keep.is_some();
        self.tell == Tell::All
            && !sums
            && !self.keeps_running_plan
            && self.flushes.is_none()
            && self.under.is_none()
            && self.hedge.is_none()
            && self.steps.iter().all(plain)
    }
}

/// Whether a command can be planned now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanVerdict {
    /// The plan is complete and is carried out.
    Go,
    /// The scheme cannot plan the command now (no room in a log, in NVRAM, …): it waits, and so do later commands of
    /// the node.
    Wait,
}

/// The lock that a command needs on its stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Nothing.
    Free,
    /// The command waits for plans that hold or await the stripe, but does not hold it (a read).
    Pass(Key),
    /// The same, but the command shares the stripe until it ends, so that no plan changes it: a read whose place must
    /// not be erased before its repair could read the rest of the stripe. Sharers do not wait for each other.
    Share(Key),
    /// The command holds the stripe exclusively.
    Hold(Key),
    /// The same for a read that the scheme redirects to a member that it locks meanwhile. Commands that do not need
    /// that member may overtake the read, which may then return the contents that they wrote.
    Detour(Key),
}

/// The reason for a call of `BackgroundWork::background`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There were no requests of the host for `Triggers::idle_after`.
    Idle,
    /// `Triggers::wake_after` has passed since the last command that was not a read.
    Wake,
    /// The scheme has pages to rebuild (`BackgroundWork::rebuilding`).
    Rebuild,
    /// The engine rebuilds this stripe, whose parity does not cover some newest versions
    /// ([`Codewords::has_newer`](super::Codewords::has_newer)): its parity must be written again, or its missing
    /// units must be rebuilt.
    Renew(u32),
    /// A member is about to collect this page of its hidden LBA range: the scheme may do now the work that needs the
    /// page there.
    Leaving(Member, Page),
    /// Garbage collection of a member has moved this page: a copy of its address elsewhere is outdated.
    Moved(Member, Page),
    /// The data of this page of a member with physical pages are old, or were read often: they must be moved, with those
    /// of its block.
    Due(Member, Page),
    /// A command waits until the scheme has made room, or the scheme has urgent work (`BackgroundWork::urgent`). The
    /// scheme returns false when enough work for that has begun.
    Urgent,
}

/// The result of `Scheme::repair`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairOutcome {
    /// The plan reads the page in another way.
    Planned,
    /// The page cannot be reconstructed.
    Lost,
}
