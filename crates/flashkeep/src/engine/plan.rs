//! Plans: the steps that a scheme decides on, in stages, each with the role of its page.

use super::command::{Cause, Command, Flags, Page, Verb};
use super::contents::Contents;

/// A child of a node, counted from 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Member(pub u8);

/// What a lock is on: a stripe's number, as the scheme counts them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Key(pub u64);

/// What a step's page is within its stripe. The executor does the arithmetic from this alone:
/// `Data(i)` goes into the P sum with 1 and into the Q sum with gⁱ, reads of `P` and `Q` go into their own
/// sum, writes of `P` and `Q` write it. The `Lost` ones are what the sums then say the page must have been: a
/// plan names every unit that it does without (two at most), and it reads all the others that it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// A page of no stripe.
    #[default]
    Plain,
    /// Data page `i` of the stripe.
    Data(u8),
    /// The XOR parity.
    P,
    /// The second parity.
    Q,
    /// Data page `i`, worked out from the others: as a read it goes to the caller, as a write to the member.
    Lost(u8),
    /// The XOR parity, worked out.
    LostP,
    /// The second parity, worked out.
    LostQ,
}

impl Role {
    /// The same unit, to be worked out instead of read.
    #[must_use]
    pub fn lost(self) -> Role {
        match self {
            Role::Data(index) => Role::Lost(index),
            Role::P => Role::LostP,
            Role::Q => Role::LostQ,
            other => other,
        }
    }

    /// Whether it is worked out and not read.
    #[must_use]
    pub fn is_lost(self) -> bool {
        matches!(self, Role::Lost(_) | Role::LostP | Role::LostQ)
    }
}

/// One step of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// What the member is asked.
    pub command: Command,
    /// Where the pages stand in the caller's run. Places beyond it (in the background, all of them) are the
    /// plan's own: a write takes what an earlier read brought to the same place. [`Step::NOWHERE`] for pages
    /// that only the sums need.
    pub at: u16,
    /// Which row of the sums the first page belongs to; the others follow.
    pub row: u16,
    /// What the page is.
    pub role: Role,
    /// Who is asked.
    pub member: Member,
    /// Steps of a stage start when those of the stage before are durable.
    pub stage: u8,
    /// The caller does not wait for this step, only the stripe's lock does.
    pub later: bool,
}

impl Step {
    /// Only the sums need the pages.
    pub const NOWHERE: u16 = u16::MAX;

    /// `member` does `command`, whose pages are the caller's from `at` on.
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

    /// `member` writes a page that the plan works out.
    #[must_use]
    pub fn store(member: Member, page: Page, role: Role, cause: Cause) -> Self {
        let command = Command::new(Verb::Write, page, 1).because(cause);
        Step { role, ..Step::new(member, command, Step::NOWHERE) }
    }

    /// The old contents of the caller's page `at`, which it has just read ([`Flags::OLD_IN_HAND`]): nothing is
    /// asked of the member.
    #[must_use]
    pub fn in_hand(member: Member, page: Page, at: u16, role: Role) -> Self {
        let command = Command { flags: Flags::OLD_IN_HAND, ..Command::new(Verb::Read, page, 1) };
        Step { role, ..Step::new(member, command, at) }
    }

    /// The caller's page `at` is one that the member's map lacks.
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

    /// Whether it is the old contents of a page that the caller hands in.
    pub(super) fn is_in_hand(&self) -> bool {
        self.command.verb == Verb::Read && self.command.flags.has(Flags::OLD_IN_HAND)
    }

    /// Whether its pages are known to be missing.
    pub(super) fn is_missing(&self) -> bool {
        self.command.flags.has(Flags::MISSING)
    }

    /// Whether its pages are what the sums come to.
    pub(super) fn is_from_sums(&self) -> bool {
        let parity = matches!(self.role, Role::P | Role::Q) && self.command.verb == Verb::Write;
        parity || self.role.is_lost()
    }

    /// Whether it needs the second sum.
    pub(super) fn is_of_second_sum(&self) -> bool {
        matches!(self.role, Role::Q | Role::LostQ | Role::Lost(_))
    }

    /// Whether the member below has anything to do for it.
    pub(super) fn travels(&self) -> bool {
        self.command.verb != Verb::Read || !(self.role.is_lost() || self.is_in_hand() || self.is_missing())
    }

    /// Whether its places include `place`.
    pub(super) fn covers(&self, place: u16) -> bool {
        self.at != Step::NOWHERE && (self.at..self.at + self.command.count).contains(&place)
    }
}

/// When the caller of a plan is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Tell {
    /// When every step that is not `later` is acknowledged.
    #[default]
    All,
    /// When the first step is, of those whose member answers: for writes.
    First,
}

/// How long a plan's lock is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// Until everything is durable: the next plan finds the stripe whole on the media.
    #[default]
    Durable,
    /// Until the last stage has been submitted: enough where the members keep the order from there.
    Submitted,
}

/// A scheme's decision about one command.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What is done, stages ascending.
    pub steps: Vec<Step>,
    /// When the caller is told.
    pub tell: Tell,
    /// How long the lock is held.
    pub release: Release,
    /// The stripe that a *background* plan works on; it must not be held (ask the view). Commands declare theirs
    /// in `Scheme::lock`.
    pub hold: Option<Key>,
    /// Row 0 of the sums starts from what the controller's memory keeps under this key: the running parity of a
    /// stripe that is written by several commands.
    pub carry: Option<Key>,
    /// What the last row comes to is kept under this key, for the next plan of that stripe, as soon as the last
    /// stage has been submitted: plans of one stage that write an open stripe need not wait for each other.
    pub keep: Option<Key>,
    /// Row 0 starts from what is kept under this key, which stays there: a repair that needs the running parity.
    pub peek: Option<Key>,
    /// The plan is under way under this key until it is durable ([`View::held`]); others may be, too, and nothing waits for that.
    ///
    /// [`View::held`]: super::View::held
    pub under: Option<Key>,
    /// Pages of the command that are read elsewhere than they would have been, had no unit failed.
    pub rescued: u16,
    /// The executor remembers the plan until it is over, even if it is one plain stage: the scheme cannot tell afterwards
    /// which of its pages a member's page was ([`Scheme::owner`]).
    ///
    /// [`Scheme::owner`]: super::Scheme::owner
    pub keeps_frame: bool,
    /// From now on the scheme has work that is not to wait, though the command is a read ([`Scheme::pressed`]).
    ///
    /// [`Scheme::pressed`]: super::Scheme::pressed
    pub presses: bool,
    /// Some of its steps rename pages: members that cannot do that copy them.
    pub renames: bool,
    /// The command's pages have no place any more: they are missing from now on, and the node above is told
    /// ([`Change::Refused`]). What the plan does besides is done.
    ///
    /// [`Change::Refused`]: super::Change::Refused
    pub refuses: bool,
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
        self.presses = false;
        self.refuses = false;
        self.renames = false;
        self.keeps_frame = false;
    }

    /// Adds a step.
    #[inline]
    pub fn push(&mut self, step: Step) {
        debug_assert!(self.steps.last().is_none_or(|last| last.stage <= step.stage), "stages ascend");
        debug_assert!(step.command.count > 0, "a step has pages");
        self.steps.push(step);
    }

    /// One stage, no stripe, everybody waited for: its steps can be the caller's own. Where there is nothing to sum
    /// up, what written data are within their stripe does not matter.
    #[inline]
    pub(super) fn is_simple<C: Contents>(&self) -> bool {
        let data = |s: &Step| !C::KEEP && s.command.verb == Verb::Write && matches!(s.role, Role::Data(_));
        let plain = |s: &Step| {
            s.stage == 0 && (s.role == Role::Plain || data(s)) && !s.later && s.at != Step::NOWHERE
        };
        let sums = C::KEEP && self.keep.is_some();
        self.tell == Tell::All
            && !sums
            && !self.keeps_frame
            && self.under.is_none()
            && self.steps.iter().all(plain)
    }
}

/// Whether a command can be planned now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The plan stands.
    Go,
    /// Not now (no room in a log, in NVRAM, …): the command waits, and those behind it.
    Wait,
}

/// What a command needs of the stripe it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Nothing.
    Free,
    /// It goes behind plans that hold or await the stripe, but holds nothing itself (a read).
    Pass(Key),
    /// The same, but the stripe stays as it is until it is done (a read whose place must not be erased before a
    /// repair of it could read the rest of the stripe). Sharers do not wait for each other.
    Share(Key),
    /// It has the stripe to itself.
    Hold(Key),
    /// The same, of a read that the scheme redirects to a member that is kept from others meanwhile: commands that need
    /// not wait for that may overtake the read, which may bring what they have written.
    Detour(Key),
}

/// Why a scheme is asked for background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There were no requests for `Rhythm::idle_after`.
    Idle,
    /// `Rhythm::wake_after` has passed since the last command that was not a read.
    Wake,
    /// A failed member is to be rebuilt.
    Rebuild,
    /// A member is about to collect this page of its shadow: what still needs it there may want to hurry.
    Leaving(Member, Page),
    /// A member's collection has moved this page: what keeps its place elsewhere is out of date.
    Moved(Member, Page),
    /// A command waits for this scheme to make room, or it has said itself that its work is not to wait
    /// (`Scheme::pressed`). False once the room is on its way.
    Pressed,
}

/// What a repair came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The plan brings the page back.
    Planned,
    /// Nothing below has it.
    Lost,
}
