//! Repair of failed reads: the nearest node that can reconstruct the page provides it. If none can, the page
//! is lost; the plan that needed it notes that, and the request reports it.

use super::command::{Cause, Command, Flags, Page, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::frame::{Frame, Repair, Start};
use super::leaves::{Done, Leaves, Ticket};
use super::locks::{Mode, Waiting};
use super::plan::{Outcome, Step};
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::kernel::{Id, SimTime};

/// A page of a node that could not be read, on its way up.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedPage {
    pub(super) child: NodeId,
    pub(super) page: Page,
    pub(super) ticket: Ticket,
    /// Marks of the read, where they are known: one that takes no time is repaired without time.
    pub(super) flags: Flags,
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// A page could not be read: its parent is asked how it can be had otherwise. The ticket is still waited for.
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
        // Inside a plan that has the stripe already, the repair belongs to it.
        let sheltered = own && self.frames[frame].sheltered;
        let key = if sheltered { None } else { self.scheme_mut(node).repair_key(member, page) };
        if let Some(key) = key
            && self.locks.queue(node, key, Mode::Hold, || Waiting::Repair(what))
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
                if let Some(repair) = &frame.repair {
                    failed.extend_from_slice(&repair.failed);
                }
            }
        }
        let again = |tried: &Step| (tried.member, tried.command.start) == (member, page);
        if failed.iter().any(again) {
            return self.lose(leaves, now, what);
        }
        failed.push(step);
        let mut plan = self.blank_plan();
        let outcome = self.consult(leaves, node, |scheme, view| scheme.repair(&failed, view, &mut plan));
        match outcome {
            Outcome::Planned => {
                self.exposure.rescued += u64::from(step.command.cause == Cause::Host);
                if let Some(key) = key {
                    self.locks.take(node, key, Mode::Hold);
                }
                let repair = Some(Box::new(Repair { wanted: what, failed }));
                let start = Start { key, sheltered, repair, ..Start::new(node, step.command, ticket) };
                self.start(leaves, now, start, &mut plan);
            }
            Outcome::Lost => self.lose(leaves, now, what),
        }
        self.plans.push(plan);
    }

    /// The request that waits for a page, if one does, may read what has been written since it was submitted.
    pub(super) fn allow_newer(&mut self, ticket: Ticket) {
        let mut owner = ticket.owner;
        while owner.is_some() {
            let join = &mut self.joins[owner];
            join.may_be_newer = true;
            owner = if join.frame.is_some() {
                let frame = &self.frames[join.frame];
                if frame.told { Id::NONE } else { frame.caller.owner }
            } else {
                self.ports.caller(join.request)
            };
        }
    }

    /// A node cannot bring its member's page back: the node that asked for it continues from there.
    pub(super) fn lose<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, what: FailedPage) {
        let FailedPage { child, page, ticket, flags } = what;
        let (node, member) = self.shape[child.index()].parent.expect("only a member's page is repaired");
        let frame = self.joins[ticket.owner].frame;
        if frame.is_some() && self.frames[frame].node == node {
            return self.give_up(leaves, now, ticket);
        }
        // It passed through this node, whose page it is the scheme knows; the plan that asked knows at any rate.
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

    /// Whether a page that a repair brings is, by now, one that its node or one above that lacks: what is below may have
    /// been written since, and not with what it ought to be. A read for a plan of the node's own, to change what is
    /// there, is not concerned.
    pub(super) fn is_repaired_in_vain(&self, id: Id<Frame>) -> bool {
        let frame = &self.frames[id];
        let Some(repair) = &frame.repair else { return false };
        let mut asks = self.joins[frame.caller.owner].frame;
        while asks.is_some() && self.frames[asks].node == frame.node {
            let own = &self.frames[asks];
            if own.background || own.command.verb != Verb::Read {
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

    /// Nothing brings the page back. Commands that wait for it continue without it.
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
