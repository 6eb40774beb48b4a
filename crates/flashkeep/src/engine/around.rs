//! Reads around busy parts (`redundancy.read`): a page that can be read in several ways is read where it is done first.
//!
//! The alternatives are those of a failed read: [`Scheme::repair`] plans them, and the plan of the command takes them
//! over before it is carried out. A copy replaces the step that would wait. Units of a codeword are read together with
//! what the command reads of it anyway, and the page is the result of the sums. Such a plan shares the stripe, so that no
//! other plan changes it; it never waits for that. What cannot be reconstructed is read from its own place after all.

use super::backends::{Backends, CompletionToken, ReadEstimate};
use super::command::{Cause, Command, Flags, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::health::repair_key;
use super::locks::{LockMode, Locks};
use super::nodes::Nodes;
use super::plan::{Key, Lock, Plan, RepairOutcome, Role, Step, Tell};
use super::scheme::Scheme;
use super::tree::NodeId;
use super::view::View;
use crate::kernel::{SimTime, Span};
use serde::{Deserialize, Serialize};

/// Alternatives of a page that are compared: each leaves out the slowest part of the one before.
const MOST_ALTERNATIVES: usize = 4;

/// Where reads of pages go that can be read in several ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Reading {
    /// To the place that the scheme chooses.
    #[default]
    Plain,
    /// Where they are expected to be done first.
    AroundBusy,
    /// To the place that the scheme chooses, and elsewhere as well if they have not come after this percentile of recent read
    /// times, in 1/1,000.
    Hedge(u16),
}

/// Reads that were not done where the scheme would have done them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Pages that were read elsewhere, or reconstructed.
    pub redirected: u64,
    /// Pages that were read a second time, because the first read took long.
    pub hedged: u64,
    /// Those of which the second read came first.
    pub hedge_won: u64,
    /// Page reads that this took beyond those that it saved, for reads of the host.
    pub extra_host: u64,
    /// The same for old contents of pages that are written in part.
    pub extra_update: u64,
}

impl ReadCounts {
    /// What has been counted since `before`.
    #[must_use]
    pub fn since(self, before: ReadCounts) -> ReadCounts {
        ReadCounts {
            redirected: self.redirected - before.redirected,
            hedged: self.hedged - before.hedged,
            hedge_won: self.hedge_won - before.hedge_won,
            extra_host: self.extra_host - before.extra_host,
            extra_update: self.extra_update - before.extra_update,
        }
    }

    /// A page is read a second time by this plan.
    pub(super) fn note_hedge(&mut self, step: &Step, plan: &Plan) {
        self.hedged += 1;
        let reads = plan.steps.iter().filter(|step| step.travels()).map(|step| u64::from(step.command.count));
        self.add_extra(step.command.cause, reads.sum());
    }

    fn add_extra(&mut self, cause: Cause, reads: u64) {
        if cause == Cause::Update { self.extra_update += reads } else { self.extra_host += reads }
    }
}

/// A page of a plan whose place is busy.
#[derive(Clone, Copy, Debug)]
struct BusyPage {
    /// Its step, and its number among the step's pages.
    step: usize,
    nth: u16,
    /// How long a read there is expected to take.
    direct: Span,
}

impl<S: Scheme> Nodes<S> {
    /// Whether a command of a node may be carried out in another way than the scheme plans.
    #[inline(always)]
    pub(super) fn has_choice(&self, node: NodeId, piece: &Command) -> bool {
        piece.verb == Verb::Read
            && self.controller_of(node).reading != Reading::Plain
            && !piece.flags.has(Flags::BEFORE)
            && !piece.flags.has(Flags::DIRECT)
    }

    /// The stripe that an alternative of this read would share, if it needs one; none if it would have to wait for it.
    pub(super) fn key_to_share(
        &mut self,
        node: NodeId,
        step: &Step,
        wanted: Option<(Key, LockMode)>,
        locks: &Locks,
    ) -> Option<Option<Key>> {
        let Some(key) = repair_key(self.scheme_mut(node), step.member, step.command.start) else {
            return Some(None);
        };
        let scheme = self.scheme_mut(node);
        let page = scheme.owner(step.member, step.command.start)?;
        // Writes must wait for those that share the stripe.
        if scheme.lock(&Command::new(Verb::Write, page, 1)) != Lock::Hold(key) {
            return None;
        }
        let may_share = match wanted {
            // The command itself has not had to wait; a plan that has submitted everything may still hold the stripe.
            Some((own, _)) => own == key && !locks.is_exclusive(node, key),
            None => !locks.is_held(node, key),
        };
        may_share.then_some(Some(key))
    }

    /// Whether reads of a node's pages need not wait until a plan that holds their stripe is durable.
    pub(super) fn may_read_early(&self, node: NodeId) -> bool {
        self.is_healthy()
            && self.controller_of(node).reading == Reading::AroundBusy
            && self.scheme(node).is_some_and(|scheme| scheme.capabilities().reads_submitted)
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Reads that were not done where the scheme would have done them.
    #[must_use]
    pub fn read_counts(&self) -> ReadCounts {
        self.read_counts
    }

    /// Changes the plan of a read that would wait for a busy part. Returns the stripe that the plan must share then, if
    /// there is one; `wanted` is the lock that the command has asked for.
    #[inline(never)]
    pub(super) fn read_around<L: Backends<C>>(
        &mut self,
        backends: &L,
        node: NodeId,
        piece: &Command,
        wanted: Option<(Key, LockMode)>,
        plan: &mut Plan,
    ) -> Option<Key> {
        if wanted.is_some_and(|(_, mode)| mode == LockMode::Hold) || !reads_plainly(plan) {
            return None;
        }
        if let Reading::Hedge(permille) = self.nodes.controller_of(node).reading {
            plan.hedge =
                Some(permille).filter(|_| !plan.steps.is_empty() && self.nodes.has_alternatives(node));
            return None;
        }
        let busy = self.busy_pages(backends, node, plan);
        let mut alternative = self.spare_plans.take();
        let mut copies = Vec::new();
        let mut shared = None;
        for page in busy {
            let step = page.of(&plan.steps);
            let Some(key) = self.nodes.key_to_share(node, &step, wanted, &self.work.locks) else { continue };
            if !self.find_alternative(backends, node, &step, page.direct, &mut alternative) {
                continue;
            }
            self.read_counts.redirected += 1;
            if let [copy] = alternative.steps[..] {
                copies.push((page, copy));
            } else if copies.is_empty() {
                let extra = take_over(plan, page, &mut alternative);
                self.read_counts.add_extra(piece.cause, extra);
                shared = key;
                break;
            }
        }
        self.spare_plans.put(alternative);
        // Pages are numbered by the steps as they were.
        copies.sort_unstable_by_key(|(page, _)| std::cmp::Reverse((page.step, page.nth)));
        copies.into_iter().for_each(|(page, copy)| replace(plan, page, copy));
        shared
    }

    /// The pages of a plan that might be read sooner elsewhere, those that would take longest first: that is so of none that
    /// takes no longer than two of the fastest reads.
    fn busy_pages<L: Backends<C>>(&mut self, backends: &L, node: NodeId, plan: &Plan) -> Vec<BusyPage> {
        let (mut busy, mut fastest) = (Vec::new(), self.fastest_read);
        self.with_view(backends, node, |_, view| {
            for (at, step) in plan.steps.iter().enumerate() {
                for nth in 0..step.command.count {
                    let page = step.command.start.plus(u32::from(nth));
                    let estimate = view.expected(step.member, page);
                    if estimate.read > Span::ZERO {
                        fastest = fastest.min(estimate.read);
                    }
                    let direct = estimate.total();
                    if direct > fastest + fastest && view.has(step.member, page) {
                        busy.push(BusyPage { step: at, nth, direct });
                    }
                }
            }
        });
        self.fastest_read = fastest;
        busy.sort_by_key(|page| std::cmp::Reverse(page.direct));
        busy
    }

    /// Plans another way to read the page of a step, if it is expected to be done sooner than `direct`, the time that the read
    /// takes at the page's place, by the time of a read at least: so in healthy flash, before that read would begin.
    fn find_alternative<L: Backends<C>>(
        &mut self,
        backends: &L,
        node: NodeId,
        step: &Step,
        direct: Span,
        plan: &mut Plan,
    ) -> bool {
        let xor = self.nodes.controller_of(node).xor;
        self.with_view(backends, node, |scheme, view| {
            let mut tried = vec![*step];
            for _ in 0..MOST_ALTERNATIVES {
                plan.clear();
                if !plan_alternative(scheme, &tried, view, plan) {
                    return false;
                }
                let Some((end, slowest)) = end_of(plan, view) else { return false };
                let pages = if plan.steps.len() > 1 { plan.steps.len() as u64 } else { 0 };
                if end.total() + end.read + Span(xor.0 * pages) < direct {
                    return true;
                }
                tried.insert(0, slowest);
            }
            false
        })
    }

    /// A page whose reconstruction has failed is read from its own place.
    #[cold]
    pub(super) fn read_directly<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        piece: Command,
        token: CompletionToken,
    ) {
        self.work.unaccount(token, u32::from(piece.count));
        let piece = Command { flags: piece.flags.with(Flags::DIRECT), ..piece.alone() };
        self.admit(backends, now, node, piece, token);
    }
}

impl BusyPage {
    /// A read of the page alone, as the plan has it.
    fn of(&self, steps: &[Step]) -> Step {
        let step = steps[self.step];
        let page = step.command.start.plus(u32::from(self.nth));
        Step { at: 0, command: step.command.over(page, 1), ..step }
    }
}

/// Whether a plan consists of reads for its caller.
fn reads_plainly(plan: &Plan) -> bool {
    let reads = |step: &Step| {
        step.command.verb == Verb::Read
            && step.stage == 0
            && step.travels()
            && !step.later
            && step.at != Step::NOWHERE
    };
    let alone = plan.hold.or(plan.carry).or(plan.keep).or(plan.peek).is_none();
    alone && plan.tell == Tell::All && !plan.refuses && plan.flushes.is_none() && plan.steps.iter().all(reads)
}

/// Plans another way to read a page than by the reads that have been tried: the one that the scheme would take if they had
/// failed.
pub(super) fn plan_alternative<S: Scheme>(
    scheme: &mut S,
    tried: &[Step],
    view: &View<'_>,
    plan: &mut Plan,
) -> bool {
    let outcome = scheme.repair(tried, view, plan);
    // Nothing is missing that has to be written again.
    plan.steps.retain(|step| step.command.verb == Verb::Read);
    outcome == RepairOutcome::Planned && is_alternative(plan)
}

/// Whether a plan reads a page from a copy, or reconstructs it from pages that are read at once.
fn is_alternative(plan: &Plan) -> bool {
    let alone = plan.hold.or(plan.carry).or(plan.keep).or(plan.under).is_none();
    let shape = match &plan.steps[..] {
        [] => false,
        [copy] => copy.travels() && copy.stage == 0 && copy.at == 0 && copy.command.count == 1,
        [others @ .., page] => {
            let reads = |step: &Step| step.stage == 0 && step.at == Step::NOWHERE && step.command.count == 1;
            page.role.is_lost() && page.at == 0 && others.iter().all(reads)
        }
    };
    alone && shape && plan.tell == Tell::All && plan.flushes.is_none()
}

/// The read of a plan that is expected to be done last, and how long it takes; none if the plan reads nothing.
fn end_of(plan: &Plan, view: &View<'_>) -> Option<(ReadEstimate, Step)> {
    let reads = plan.steps.iter().filter(|step| step.travels());
    let ends = reads.map(|step| (view.expected(step.member, step.command.start), *step));
    ends.max_by_key(|(end, _)| end.total())
}

/// A plan reconstructs a page instead of reading it: units that it reads anyway are read once. Returns the number of reads
/// that are added, less the one that is left out.
fn take_over(plan: &mut Plan, busy: BusyPage, alternative: &mut Plan) -> u64 {
    let step = plan.steps[busy.step];
    let at = step.at + busy.nth;
    if step.command.count > 1 {
        split(plan, busy);
        plan.steps.retain(|other| other.at != at);
    } else {
        plan.steps.remove(busy.step);
    }
    plan.steps.iter_mut().for_each(|step| step.role = Role::Plain);
    let page = alternative.steps.pop().expect("an alternative has a result");
    let mut added = 0;
    for unit in alternative.steps.drain(..) {
        let place = (unit.member, unit.command.start);
        let read = |step: &&mut Step| (step.member, step.command.start) == place && step.command.count == 1;
        match plan.steps.iter_mut().find(read).filter(|_| unit.travels()) {
            Some(step) => step.role = unit.role,
            None => {
                added += u64::from(unit.travels());
                plan.push(unit);
            }
        }
    }
    plan.push(Step { at, ..page });
    (plan.peek, plan.around) = (alternative.peek, true);
    added.saturating_sub(1)
}

/// A plan reads a page from another copy.
fn replace(plan: &mut Plan, busy: BusyPage, copy: Step) {
    let at = plan.steps[busy.step].at + busy.nth;
    split(plan, busy);
    let step = plan.steps.iter_mut().find(|step| step.at == at).expect("the step of the page");
    *step = Step { at, ..copy };
}

/// Gives a page of a plan a step of its own.
fn split(plan: &mut Plan, busy: BusyPage) {
    let step = plan.steps[busy.step];
    let part = |from: u16, count: u16| Step {
        at: step.at + from,
        command: step.command.part(u32::from(from), count),
        ..step
    };
    let after = busy.nth + 1;
    let parts = [(0, busy.nth), (busy.nth, 1), (after, step.command.count - after)];
    let parts = parts.into_iter().filter(|&(_, count)| count > 0).map(|(from, count)| part(from, count));
    plan.steps.splice(busy.step..=busy.step, parts);
}
