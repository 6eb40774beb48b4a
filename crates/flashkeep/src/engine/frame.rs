//! A running plan: its steps, their progress, and its inputs.

use super::command::{Command, Verb};
use super::leaves::Ticket;
use super::plan::{Key, Plan, Release, Role, Step, Tell};
use super::ports::PortId;
use super::repair::FailedPage;
use super::requests::Join;
use super::tree::NodeId;
use crate::kernel::{Id, SimTime, Span};

/// A running plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) node: NodeId,
    pub(super) join: Id<Join>,
    pub(super) caller: Ticket,
    pub(super) command: Command,
    /// None for background work of the scheme.
    pub(super) background: bool,
    pub(super) steps: Vec<Step>,
    /// For each step, the first place of its pages in the completion counter.
    pub(super) bases: Vec<u32>,
    /// The first step that has not been submitted.
    pub(super) next: usize,
    /// The stripe that it works on, and whether it still holds the lock.
    pub(super) key: Option<Key>,
    pub(super) holding: bool,
    /// No other plan works on its stripe: it holds the lock, or it is a repair for a plan that does.
    pub(super) sheltered: bool,
    pub(super) release: Release,
    pub(super) tell: Tell,
    /// The caller does not wait for steps from this one on.
    pub(super) awaited: usize,
    /// The progress of each step, if it is tracked.
    pub(super) progress: Vec<StepProgress>,
    pub(super) service: Span,
    pub(super) told: bool,
    /// The number of pending continuations that refer to this frame.
    pub(super) due: u8,
    pub(super) over: bool,
    /// When it began, for a piece of a rebuild.
    pub(super) rebuilds: Option<SimTime>,
    /// It rebuilds a codeword of the health tracker.
    pub(super) restores: bool,
    /// The number of pages in its sums, and whether it waits for the controller to add them.
    pub(super) summed: u32,
    pub(super) adding: bool,
    /// Row 0 of its sums started with a running parity.
    pub(super) peeked: bool,
    /// Whether the plan needs the Q sum.
    pub(super) second: bool,
    pub(super) keep: Option<Key>,
    /// The running sums that row 0 started with lack a page that was lost.
    pub(super) sums_lack: bool,
    /// What it is under way under.
    pub(super) under: Option<Key>,
    /// The repair that it carries out, if it is one.
    pub(super) repair: Option<Box<Repair>>,
    /// Places of unrecoverable pages, and how many of them the caller has been told.
    pub(super) lost: Vec<u32>,
    pub(super) lost_told: usize,
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

impl Frame {
    /// Begins a plan in a freed frame, whose buffers are reused; returns the number of places of its pages.
    pub(super) fn begin(&mut self, start: Start, plan: &mut Plan) -> u32 {
        self.node = start.node;
        self.caller = start.caller;
        self.command = start.command;
        self.background = !start.caller.owner.is_some();
        self.next = 0;
        self.key = start.key;
        self.holding = start.key.is_some();
        self.sheltered = start.sheltered || start.key.is_some();
        self.release = plan.release;
        self.tell = plan.tell;
        self.service = Span::ZERO;
        self.told = false;
        self.due = 0;
        self.over = false;
        self.rebuilds = start.rebuilds;
        self.restores = start.restores;
        self.adding = false;
        self.peeked = plan.peek.is_some();
        self.sums_lack = false;
        self.keep = plan.keep;
        self.under = plan.under;
        self.repair = start.repair;
        self.lost.clear();
        self.lost_told = 0;
        self.take_steps(plan)
    }

    /// Takes over a plan's steps; returns the number of places of their pages.
    fn take_steps(&mut self, plan: &mut Plan) -> u32 {
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
            self.progress.resize(self.steps.len(), StepProgress::default());
        }
        places
    }

    /// Whether the plan is still running; false for a free place of the arena.
    pub(super) fn is_under_way(&self) -> bool {
        self.join.is_some() && !self.over
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
            && !self.background
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
        self.key.map_or(PortId::HOST, PortId::of_key)
    }

    pub(super) fn tracks_steps(&self) -> bool {
        !self.progress.is_empty()
    }
}

/// The inputs of a plan.
pub(super) struct Start {
    pub(super) node: NodeId,
    pub(super) command: Command,
    pub(super) caller: Ticket,
    /// The stripe, already locked.
    pub(super) key: Option<Key>,
    pub(super) sheltered: bool,
    pub(super) repair: Option<Box<Repair>>,
    pub(super) rebuilds: Option<SimTime>,
    pub(super) restores: bool,
}

impl Start {
    pub(super) fn new(node: NodeId, command: Command, caller: Ticket) -> Self {
        let (key, repair, rebuilds) = (None, None, None);
        Start { node, command, caller, key, sheltered: false, repair, rebuilds, restores: false }
    }
}

/// The number of pages in a plan's sums.
pub(super) fn summed(steps: &[Step]) -> u32 {
    let parity = |step: &&Step| step.command.verb == Verb::Write && matches!(step.role, Role::P | Role::Q);
    let pages = |step: &Step| u32::from(step.command.count);
    let into =
        |step: &&Step| matches!(step.role, Role::Data(_)) || (step.role != Role::Plain && !parity(step));
    if !steps.iter().any(|step| step.is_from_sums()) {
        return 0;
    }
    steps.iter().filter(into).map(pages).sum()
}
