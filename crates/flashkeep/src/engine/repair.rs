//! Repair of failed reads: the nearest node that can reconstruct the page provides it. If none can, the page
//! is lost; the plan that needed it notes that, and the request reports it.

use super::command::{Cause, Command, Flags, Page, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::frame::{Frame, Purpose, Repair, Start, StripeHold};
use super::health::{Protection, repair_key};
use super::leaves::{Done, Leaves, Ticket};
use super::locks::{LockMode, LockWaiter};
use super::plan::{RepairOutcome, Step};
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::kernel::{Id, SimTime};

/// A page of a node that could not be read, which is being reported upwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedPage {
    pub(super) child: NodeId,
    pub(super) page: Page,
    pub(super) ticket: Ticket,
    /// The flags of the read, if they are known: a read without time is repaired without time.
    pub(super) flags: Flags,
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// A page could not be read: asks the scheme of the node's parent for an alternative. The ticket's owner still
    /// waits.
    #[cold]
    pub(super) fn failed<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, what: FailedPage) {
        let FailedPage { child, page, ticket, flags } = what;
        self.allow_newer(ticket);
        self.note_unreadable(leaves, now, child, page);
        if self.is_at_port(child, ticket) {
            return self.give_up(leaves, now, ticket);
        }
        let Some((node, member)) = self.shape[child.index()].parent else {
            self.exposure.lost.set(page.0, true);
            return self.give_up(leaves, now, ticket);
        };
        let frame = self.joins[ticket.owner].frame;
        let own = frame.is_some() && self.frames[frame].node == node;
        // The repair belongs to a plan that already holds the stripe.
        let sheltered = own && self.frames[frame].stripe.is_sheltered();
        let key = if sheltered { None } else { repair_key(self.scheme_mut(node), member, page) };
        if let Some(key) = key
            && self.locks.queue(node, key, LockMode::Hold, || LockWaiter::Repair(what))
        {
            return;
        }
        let mut step = Step::new(member, Command::new(Verb::Read, page, 1), 0);
        step.command.flags = flags.inherited();
        let mut failed = Vec::new();
        if frame.is_some() {
            let frame = &self.frames[frame];
            step.command.flags = frame.command.flags.inherited();
            if own {
                let asked = frame.steps[frame.step_of(ticket.slot)];
                step = Step { command: asked.command.over(page, 1), ..asked };
                if let Some(repair) = frame.repair() {
                    failed.extend_from_slice(&repair.failed);
                }
            }
        }
        let again = |tried: &Step| (tried.member, tried.command.start) == (member, page);
        if failed.iter().any(again) {
            return self.lose(leaves, now, what);
        }
        failed.push(step);
        if !matches!(self.scheme_mut(node).protection(), Protection::Copies) {
            self.health.trouble(node);
        }
        let mut plan = self.blank_plan();
        let outcome = self.consult(leaves, node, |scheme, view| scheme.repair(&failed, view, &mut plan));
        match outcome {
            RepairOutcome::Planned => {
                self.exposure.rescued += u64::from(step.command.cause == Cause::Host);
                if let Some(key) = key {
                    self.locks.take(node, key, LockMode::Hold);
                }
                let purpose = Purpose::Repair(Box::new(Repair { wanted: what, failed }));
                let stripe = if sheltered { StripeHold::Sheltered } else { StripeHold::Free };
                let start = Start { purpose, stripe, ..Start::new(node, step.command, ticket) }.holding(key);
                self.start(leaves, now, start, &mut plan);
            }
            RepairOutcome::Lost => self.lose(leaves, now, what),
        }
        self.plans.push(plan);
    }

    /// Marks the request that waits for a page, if there is one: it may read contents written since it was submitted.
    pub(super) fn allow_newer(&mut self, ticket: Ticket) {
        let mut owner = ticket.owner;
        while owner.is_some() {
            let join = &mut self.joins[owner];
            join.may_be_newer = true;
            owner = if join.frame.is_some() {
                let frame = &self.frames[join.frame];
                if frame.is_told() { Id::NONE } else { frame.caller.owner }
            } else {
                self.ports.caller(join.request)
            };
        }
    }

    /// A node cannot reconstruct its member's page: the node above tries next.
    pub(super) fn lose<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, what: FailedPage) {
        let FailedPage { child, page, ticket, flags } = what;
        let (node, member) = self.shape[child.index()].parent.expect("only a member's page is repaired");
        let frame = self.joins[ticket.owner].frame;
        if frame.is_some() && self.frames[frame].node == node {
            return self.give_up(leaves, now, ticket);
        }
        // The read passed through this node: its scheme, or the plan that submitted the read, knows the node's page.
        if let Some(page) = self.scheme_mut(node).owner(member, page) {
            let page = self.outer(node, page);
            return self.failed(leaves, now, FailedPage { child: node, page, ticket, flags });
        }
        if !frame.is_some() {
            return self.give_up(leaves, now, ticket);
        }
        let frame = &self.frames[frame];
        let at = frame.step_of(ticket.slot);
        let asked = frame.steps[at];
        let page = asked.command.start.plus(ticket.slot - frame.bases[at]);
        let child = self.target(self.joins[ticket.owner].frame, asked.member);
        self.failed(leaves, now, FailedPage { child, page, ticket, flags });
    }

    /// Whether the node, or one above it, is now recorded to lack a page that a repair reconstructed: the pages below
    /// may have been overwritten with wrong contents meanwhile. Reads of the node's own plans, which change the page,
    /// are not affected.
    pub(super) fn is_repaired_in_vain(&self, id: Id<Frame>) -> bool {
        let frame = &self.frames[id];
        let Some(repair) = frame.repair() else { return false };
        let mut asks = self.joins[frame.caller.owner].frame;
        while asks.is_some() && self.frames[asks].node == frame.node {
            let own = &self.frames[asks];
            if own.background().is_some() || own.command.verb != Verb::Read {
                return false;
            }
            asks = self.joins[own.caller.owner].frame;
        }
        let FailedPage { mut child, mut page, .. } = repair.wanted;
        while let Some((node, member)) = self.shape[child.index()].parent {
            let Some(inner) = self.scheme(node).and_then(|scheme| scheme.owner(member, page)) else { break };
            (child, page) = (node, self.outer(node, inner));
            if self.gaps.lacks(child, page.0) {
                return true;
            }
        }
        false
    }

    /// The page is unrecoverable. Commands that wait for it continue without it.
    fn give_up<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, ticket: Ticket) {
        let frame = self.joins[ticket.owner].frame;
        if frame.is_some() {
            self.frames[frame].lost.push(ticket.slot);
        } else if !self.lose_in_port_request(ticket) {
            self.joins[ticket.owner].lost += 1;
        }
        leaves.done().push(Done::at(ticket, 1, now));
    }
}
