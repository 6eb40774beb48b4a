//! A running plan: its steps, their progress, and its inputs.

use super::backends::CompletionToken;
use super::code::Code;
use super::command::{Command, Verb};
use super::hedge::Race;
use super::plan::{Key, Plan, Release, Role, Step, Tell};
use super::ports::PortId;
use super::repair::FailedPage;
use super::requests::CompletionCounter;
use super::tree::NodeId;
use crate::kernel::{Id, SimTime, Span};

/// A running plan.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningPlan {
    pub(super) node: NodeId,
    pub(super) counter: Id<CompletionCounter>,
    pub(super) caller: CompletionToken,
    pub(super) command: Command,
    pub(super) purpose: Purpose,
    pub(super) steps: Vec<Step>,
    /// For each step, the first place of its pages in the completion counter.
    pub(super) bases: Vec<u32>,
    /// The first step that has not been submitted.
    pub(super) next: usize,
    pub(super) stripe: StripeHold,
    pub(super) release: Release,
    pub(super) tell: Tell,
    /// The caller does not wait for steps from this one on.
    pub(super) awaited: usize,
    /// The progress of each step, if it is tracked.
    pub(super) progress: Vec<StepProgress>,
    pub(super) service: Span,
    pub(super) phase: PlanPhase,
    /// The number of pending continuations that refer to this running plan.
    pub(super) due: u8,
    pub(super) sums: PlanSums,
    /// The stage before which it is to write back its members' caches.
    pub(super) flushes: Option<u8>,
    /// What it is under way under.
    pub(super) under: Option<Key>,
    /// It reconstructs a page whose place is busy.
    pub(super) around: bool,
    /// Its reads, if those that take long are done in another way as well.
    pub(super) race: Id<Race>,
    /// Places of unrecoverable pages, and how many of them have been reported to the caller.
    pub(super) lost: Vec<u32>,
    pub(super) lost_told: usize,
}

/// What a plan is for.
#[derive(Clone, Debug, Default)]
pub(super) enum Purpose {
    /// The command of its caller.
    #[default]
    Command,
    /// A failed read of its caller.
    Repair(Box<Repair>),
    /// A read of its caller that takes long.
    Hedge(Box<FailedPage>),
    /// Background work of the scheme; it has no caller.
    Background(BackgroundPiece),
}

/// A piece of background work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackgroundPiece {
    /// When it began, for a piece of a rebuild at the controller's pace.
    pub(super) rebuilds: Option<SimTime>,
    /// It rebuilds a codeword of the health tracker.
    pub(super) restores: bool,
}

/// The stripe that a plan works on, and whether other plans may work on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StripeHold {
    /// It works on no stripe.
    #[default]
    Free,
    /// It is a repair for a plan that holds the stripe.
    Sheltered,
    /// It holds the lock.
    Held(Key),
    /// It has released the lock, because all of its steps are submitted.
    Released(Key),
}

impl StripeHold {
    /// Its stripe, if that has a lock.
    #[inline]
    pub(super) fn key(self) -> Option<Key> {
        match self {
            StripeHold::Free | StripeHold::Sheltered => None,
            StripeHold::Held(key) | StripeHold::Released(key) => Some(key),
        }
    }

    /// Whether no other plan works on the stripe.
    pub(super) fn is_sheltered(self) -> bool {
        matches!(self, StripeHold::Sheltered | StripeHold::Held(_))
    }
}

/// How far a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlanPhase {
    /// Its caller waits for it.
    #[default]
    Awaited,
    /// Its caller has been notified.
    Told,
    /// It has ended; its running plan is kept for pending continuations.
    Over,
}

/// The sums of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlanSums {
    pub(super) addition: Addition,
    /// Row 0 started with a running parity that the controller keeps.
    pub(super) peeked: bool,
    /// The running sums that row 0 started with lack a page that was lost.
    pub(super) lack: bool,
    /// The code of its stripe, and the number of sums that the plan needs; 0 if contents are not kept.
    pub(super) code: Code,
    pub(super) count: u8,
    /// Under which key the controller keeps the sums of the last row.
    pub(super) keep: Option<Key>,
}

/// The controller's computation of a plan's sums, if that takes time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Addition {
    #[default]
    Done,
    /// This number of pages must be added before a step writes a sum.
    Pages(u32),
    UnderWay,
}

/// The failed read that a plan repairs.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    /// The page that could not be read.
    pub(super) wanted: FailedPage,
    /// The step that failed, after the failed steps of the repairs that this one belongs to.
    pub(super) failed: Vec<Step>,
}

/// The progress of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepProgress {
    pub(super) left: u32,
    acknowledged: SimTime,
    /// It was sent to a member that does not respond.
    pub(super) void: bool,
}

impl RunningPlan {
    /// Begins a plan now, in the place of one that has ended, and reuses its buffers; returns the number of places of
    /// its pages.
    pub(super) fn begin(&mut self, start: Start, plan: &mut Plan, now: SimTime) -> u32 {
        self.node = start.node;
        self.caller = start.caller;
        self.command = start.command;
        self.purpose = start.purpose;
        self.next = 0;
        self.stripe = start.stripe;
        self.release = plan.release;
        self.tell = plan.tell;
        self.service = Span::ZERO;
        self.phase = PlanPhase::Awaited;
        self.due = 0;
        self.sums = PlanSums { peeked: plan.peek.is_some(), keep: plan.keep, ..PlanSums::default() };
        self.flushes = plan.flushes;
        self.under = plan.under;
        self.around = plan.around;
        self.race = Id::NONE;
        self.lost.clear();
        self.lost_told = 0;
        self.take_steps(plan, now)
    }

    /// Takes over a plan's steps; returns the number of places of their pages.
    fn take_steps(&mut self, plan: &mut Plan, now: SimTime) -> u32 {
        self.steps.clear();
        std::mem::swap(&mut self.steps, &mut plan.steps);
        self.bases.clear();
        self.awaited = 0;
        let mut places = 0;
        let mut tracked = plan.tell == Tell::First;
        for (at, step) in self.steps.iter().enumerate() {
            self.bases.push(places);
            places += u32::from(step.command.count);
            tracked |= step.later;
            if !step.later {
                self.awaited = at + 1;
            }
        }
        self.progress.clear();
        if tracked {
            // A step that waits for no page, such as work before time 0, is acknowledged at the plan's beginning.
            let begun = StepProgress { acknowledged: now, ..StepProgress::default() };
            self.progress.resize(self.steps.len(), begun);
        }
        places
    }

    /// Whether the plan is still running; false for a free place of the arena.
    pub(super) fn is_under_way(&self) -> bool {
        self.counter.is_some() && self.phase != PlanPhase::Over
    }

    /// Whether it carries out a write or a trim that was asked for.
    pub(super) fn changes_pages(&self) -> bool {
        self.command.changes_pages() && self.background().is_none()
    }

    /// Whether its caller has been notified.
    pub(super) fn is_told(&self) -> bool {
        self.phase >= PlanPhase::Told
    }

    /// The background work that it is; none if it has a caller.
    #[inline]
    pub(super) fn background(&self) -> Option<BackgroundPiece> {
        if let Purpose::Background(piece) = self.purpose { Some(piece) } else { None }
    }

    /// The failed read that it repairs.
    pub(super) fn repair(&self) -> Option<&Repair> {
        if let Purpose::Repair(repair) = &self.purpose { Some(repair) } else { None }
    }

    /// The page that it reads instead of a read that has failed, or takes long.
    pub(super) fn wanted(&self) -> Option<FailedPage> {
        match &self.purpose {
            Purpose::Repair(repair) => Some(repair.wanted),
            Purpose::Hedge(wanted) => Some(**wanted),
            Purpose::Command | Purpose::Background(_) => None,
        }
    }

    /// Whether it is the second of two reads.
    pub(super) fn is_second(&self) -> bool {
        matches!(self.purpose, Purpose::Hedge(_))
    }

    /// The step that a place belongs to.
    #[inline]
    pub(super) fn step_of(&self, place: u32) -> usize {
        if self.steps.len() == 1 { 0 } else { self.bases.partition_point(|&base| base <= place) - 1 }
    }

    /// The row of the sums that a place of a step belongs to.
    pub(super) fn row_of(&self, at: usize, place: u32) -> u32 {
        u32::from(self.steps[at].row) + place - self.bases[at]
    }

    /// Whether the contents of a step's `n`th page are the caller's.
    #[inline]
    pub(super) fn is_given(&self, step: &Step, n: u16) -> bool {
        step.command.verb == Verb::Write
            && self.command.verb == Verb::Write
            && self.background().is_none()
            && step.at != Step::NOWHERE
            && step.at + n < self.command.count
    }

    /// The place of an earlier read that brings what belongs at `at`.
    pub(super) fn source(&self, before: usize, at: u16) -> Option<u32> {
        let steps = self.steps[..before].iter().zip(&self.bases);
        let found = |(step, &base): (&Step, &u32)| {
            let reads = step.command.verb == Verb::Read && !step.is_in_hand() && step.covers(at);
            reads.then(|| base + u32::from(at - step.at))
        };
        steps.rev().find_map(found)
    }

    /// The earliest known acknowledgement of the steps that count.
    pub(super) fn first(&self) -> Option<SimTime> {
        let steps = self.progress[..self.next].iter().zip(&self.steps);
        let known = steps.filter(|(progress, step)| progress.left == 0 && !progress.void && step.travels());
        known.map(|(progress, _)| progress.acknowledged).min()
    }

    /// Pages of the step that a place belongs to are acknowledged: whether a caller waits for them, and when that step
    /// was done, if it is now and one is all that the caller waits for.
    #[inline(never)]
    pub(super) fn note_progress(
        &mut self,
        place: u32,
        pages: u32,
        acknowledged: SimTime,
    ) -> (bool, Option<SimTime>) {
        let at = self.step_of(place);
        let progress = &mut self.progress[at];
        progress.left -= pages;
        progress.acknowledged = progress.acknowledged.max(acknowledged);
        let first = progress.left == 0 && !progress.void && self.tell == Tell::First;
        (!self.steps[at].later, first.then_some(progress.acknowledged))
    }

    /// The port that it merges a page at.
    pub(super) fn port(&self) -> PortId {
        self.stripe.key().map_or(PortId::HOST, PortId::of_key)
    }

    pub(super) fn tracks_steps(&self) -> bool {
        !self.progress.is_empty()
    }
}

/// The inputs of a plan.
pub(super) struct Start {
    pub(super) node: NodeId,
    pub(super) command: Command,
    pub(super) caller: CompletionToken,
    /// The stripe, already locked.
    pub(super) stripe: StripeHold,
    pub(super) purpose: Purpose,
}

impl Start {
    pub(super) fn new(node: NodeId, command: Command, caller: CompletionToken) -> Self {
        Start { node, command, caller, stripe: StripeHold::Free, purpose: Purpose::Command }
    }

    /// It holds the lock of a stripe, if there is one.
    pub(super) fn holding(self, key: Option<Key>) -> Self {
        Start { stripe: key.map_or(self.stripe, StripeHold::Held), ..self }
    }
}

/// What the controller adds up for a plan.
pub(super) fn addition(steps: &[Step]) -> Addition {
    let parity = |step: &&Step| step.command.verb == Verb::Write && matches!(step.role, Role::Parity(_));
    let pages = |step: &Step| u32::from(step.command.count);
    let into =
        |step: &&Step| matches!(step.role, Role::Data(_)) || (step.role != Role::Plain && !parity(step));
    let pages = steps.iter().filter(into).map(pages).sum();
    if pages > 0 && steps.iter().any(Step::is_from_sums) { Addition::Pages(pages) } else { Addition::Done }
}
