//! Repair of failed reads: the nearest node that can reconstruct the page provides it. If none can, the page
//! is lost; the plan that needed it notes that, and the request reports it.

use super::backends::{Backends, CompletionToken, Done};
use super::command::{Cause, Command, Flags, Page, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::health::{Protection, repair_key};
use super::locks::{LockMode, LockWaiter};
use super::nodes::Nodes;
use super::plan::{RepairOutcome, Step};
use super::ports::Ports;
use super::running::{Purpose, Repair, RunningPlan, Start, StripeHold};
use super::scheme::Scheme;
use super::tree::NodeId;
use super::work::WorkInProgress;
use crate::kernel::{Id, SimTime};

/// A page of a node that could not be read, which is being reported upwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedPage {
    pub(super) child: NodeId,
    pub(super) page: Page,
    pub(super) token: CompletionToken,
    /// The flags of the read, if they are known: a read without time is repaired without time.
    pub(super) flags: Flags,
}

impl<C: Contents> WorkInProgress<C> {
    /// A page of a hedged read has failed: it is repaired, and read in no other way.
    fn note_failed_in_race(&mut self, token: CompletionToken) {
        let running = self.counters[token.owner].running;
        if running.is_some() && self.running_plans[running].race.is_some() {
            self.hedges.note_failed(self.running_plans[running].race, token.slot);
        }
    }

    /// Marks the request that waits for a page, if there is one: it may read contents written since it was submitted.
    pub(super) fn allow_newer(&mut self, token: CompletionToken, ports: &Ports<C>) {
        let mut owner = token.owner;
        while owner.is_some() {
            let counter = &mut self.counters[owner];
            counter.may_be_newer = true;
            owner = if counter.running.is_some() {
                let running = &self.running_plans[counter.running];
                if running.is_told() { Id::NONE } else { running.caller.owner }
            } else {
                ports.caller(counter.request)
            };
        }
    }

    /// Whether the node, or one above it, is now recorded to lack a page that a repair reconstructed: the pages below
    /// may have been overwritten with wrong contents meanwhile. Reads of the node's own plans, which change the page,
    /// are not affected.
    pub(super) fn is_repaired_in_vain<S: Scheme>(&self, id: Id<RunningPlan>, nodes: &Nodes<S>) -> bool {
        let running = &self.running_plans[id];
        let Some(wanted) = running.wanted() else { return false };
        self.is_missing_above(running.node, self.counters[running.caller.owner].running, wanted, nodes)
    }

    /// Whether a node, or one above it, is recorded to lack the page that a read wants, which no plan of the node's own asks
    /// for that changes the page.
    pub(super) fn is_missing_above<S: Scheme>(
        &self,
        node: NodeId,
        mut asks: Id<RunningPlan>,
        wanted: FailedPage,
        nodes: &Nodes<S>,
    ) -> bool {
        while asks.is_some() && self.running_plans[asks].node == node {
            let own = &self.running_plans[asks];
            if own.background().is_some() || own.command.verb != Verb::Read {
                return false;
            }
            // A read that has come in another way is not waited for.
            asks = if own.is_told() { Id::NONE } else { self.counters[own.caller.owner].running };
        }
        let FailedPage { mut child, mut page, .. } = wanted;
        while let Some((node, member)) = nodes[child].parent {
            let Some(inner) = nodes.scheme(node).and_then(|scheme| scheme.owner(member, page)) else {
                break;
            };
            (child, page) = (node, nodes.outer(node, inner));
            if nodes.gaps.lacks(child, page.0) {
                return true;
            }
        }
        false
    }

    /// The page is unrecoverable. Commands that wait for it continue without it.
    fn give_up<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        token: CompletionToken,
        ports: &mut Ports<C>,
    ) {
        let running = self.counters[token.owner].running;
        if running.is_some() {
            let running = &mut self.running_plans[running];
            match running.race.is_some() {
                true => self.hedges.note_lost(running.race, token.slot),
                false => running.lost.push(token.slot),
            }
        } else if !ports.lose_page(self.counters[token.owner].request, token.slot) {
            self.counters[token.owner].lost += 1;
        }
        backends.done().push(Done::at(token, 1, now));
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// A page could not be read: asks the scheme of the node's parent for an alternative. The completion token's owner
    /// still waits.
    #[cold]
    pub(super) fn failed<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, what: FailedPage) {
        let FailedPage { child, page, token, flags } = what;
        self.work.allow_newer(token, &self.ports);
        self.work.note_failed_in_race(token);
        self.note_unreadable(backends, now, child, page);
        if self.ports.is_at_port(child, token, &self.work) {
            return self.work.give_up(backends, now, token, &mut self.ports);
        }
        let Some((node, member)) = self.nodes[child].parent else {
            self.nodes.exposure.set_lost(page, true);
            return self.work.give_up(backends, now, token, &mut self.ports);
        };
        let running = self.work.counters[token.owner].running;
        let own = running.is_some() && self.work.running_plans[running].node == node;
        // The pages are read in their own places after all: nothing keeps what is left of a stripe of a log, whose pages may
        // have been written elsewhere since.
        if own && (self.work.running_plans[running].around || self.work.running_plans[running].is_second()) {
            return self.lose(backends, now, what);
        }
        // The repair belongs to a plan that already holds the stripe.
        let sheltered = own && self.work.running_plans[running].stripe.is_sheltered();
        if self.work.is_missing_above(node, running, what, &self.nodes) {
            // The page's place may hold another version when its stripe is free: neither this page nor the next one
            // written to it.
            return self.lose(backends, now, what);
        }
        let key = if sheltered { None } else { repair_key(self.nodes.scheme_mut(node), member, page) };
        if let Some(key) = key
            && self.work.locks.queue(node, key, LockMode::Hold, || LockWaiter::Repair(what, now))
        {
            return;
        }
        let mut step = Step::new(member, Command::new(Verb::Read, page, 1), 0);
        step.command.flags = flags.inherited();
        let mut failed = Vec::new();
        if running.is_some() {
            let running = &self.work.running_plans[running];
            step.command.flags = running.command.flags.inherited();
            if own {
                let asked = running.steps[running.step_of(token.slot)];
                step = Step { command: asked.command.over(page, 1), ..asked };
                if let Some(repair) = running.repair() {
                    failed.extend_from_slice(&repair.failed);
                }
            }
        }
        let works = self.nodes[child].alive;
        let again = |tried: &Step| (tried.member, tried.command.start) == (member, page);
        if failed.iter().any(again) {
            return self.lose(backends, now, what);
        }
        failed.push(step);
        if !matches!(self.nodes.scheme_mut(node).protection(), Protection::Copies) {
            self.nodes.health.trouble(node);
        }
        let mut plan = self.spare_plans.take();
        let outcome = self.with_view(backends, node, |scheme, view| scheme.repair(&failed, view, &mut plan));
        match outcome {
            RepairOutcome::Planned => {
                self.nodes.exposure.note_rescued(u64::from(step.command.cause == Cause::Host));
                if works && failed.len() == 1 {
                    self.nodes.exposure.note_recovered();
                }
                if let Some(key) = key {
                    self.work.locks.take(node, key, LockMode::Hold);
                }
                let purpose = Purpose::Repair(Box::new(Repair { wanted: what, failed }));
                let stripe = if sheltered { StripeHold::Sheltered } else { StripeHold::Free };
                let start = Start { purpose, stripe, ..Start::new(node, step.command, token) }.holding(key);
                self.start(backends, now, start, &mut plan);
            }
            RepairOutcome::Lost => {
                if works && failed.len() > 1 {
                    self.nodes.exposure.take_back_recovered();
                }
                self.lose(backends, now, what);
            }
        }
        self.spare_plans.put(plan);
    }

    /// A node cannot reconstruct its member's page: the node above tries next.
    pub(super) fn lose<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, what: FailedPage) {
        let FailedPage { child, page, token, flags } = what;
        let (node, member) = self.nodes[child].parent.expect("only a member's page is repaired");
        let running = self.work.counters[token.owner].running;
        if running.is_some() && self.work.running_plans[running].node == node {
            return self.work.give_up(backends, now, token, &mut self.ports);
        }
        // The read passed through this node: its scheme, or the plan that submitted the read, knows the node's page.
        if let Some(page) = self.nodes.scheme_mut(node).owner(member, page) {
            let page = self.nodes.outer(node, page);
            return self.failed(backends, now, FailedPage { child: node, page, token, flags });
        }
        if !running.is_some() {
            return self.work.give_up(backends, now, token, &mut self.ports);
        }
        let running = &self.work.running_plans[running];
        let at = running.step_of(token.slot);
        let asked = running.steps[at];
        let page = asked.command.start.plus(token.slot - running.bases[at]);
        let child =
            self.work.target(self.work.counters[token.owner].running, asked.member, &self.nodes, &self.ports);
        self.failed(backends, now, FailedPage { child, page, token, flags });
    }
}
