//! Commands on their way down the tree: the executor splits them at the grain, waits for their stripe, plans them and
//! passes steps on.

use super::command::{Command, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::frame::Start;
use super::leaves::{Done, Leaves, Ticket};
use super::locks::{LockMode, LockWaiter};
use super::plan::{Key, Lock, Plan, PlanVerdict};
use super::ports::PortId;
use super::repair::FailedPage;
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::kernel::SimTime;

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Submits a command to a node. Its pages are counted for the ticket's owner.
    #[inline]
    pub(super) fn dispatch<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        ticket: Ticket,
    ) {
        if self.troubled {
            self.dispatch_examined(leaves, now, node, false, command, ticket);
        } else {
            self.hand_down(leaves, now, node, command, ticket);
        }
    }

    /// Writes to a node that does not respond are lost; reads of pages that it lacks fail and are repaired. The command
    /// goes to the node's port, if it has one, or `behind` the port.
    #[cold]
    pub(super) fn dispatch_examined<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        behind: bool,
        command: Command,
        ticket: Ticket,
    ) {
        let alive = self.shape[node.index()].alive;
        if command.verb != Verb::Read {
            self.note_gaps(node, &command, alive);
            if alive {
                return self.hand_down(leaves, now, node, command, ticket);
            }
            self.account(ticket, u32::from(command.count));
            self.void(node, ticket);
            return leaves.done().push(Done::at(ticket, u32::from(command.count), now));
        }
        let mut first = 0;
        for n in 0..=command.count {
            let at = u32::from(n);
            let missing = n < command.count && (!alive || self.gaps.lacks(node, command.start.0 + at));
            if (missing || n == command.count) && first < n {
                let from = u32::from(first);
                let (run, ticket) = (command.part(from, n - first), ticket.plus(from));
                if behind {
                    self.hand_below(leaves, now, node, run, ticket);
                } else {
                    self.hand_down(leaves, now, node, run, ticket);
                }
            }
            if missing {
                first = n + 1;
                self.account(ticket, 1);
                let page = command.start.plus(at);
                let (ticket, flags) = (ticket.plus(at), command.flags);
                self.failed(leaves, now, FailedPage { child: node, page, ticket, flags });
            }
        }
    }

    /// A written page is no longer missing; a member that does not respond misses the write.
    fn note_gaps(&mut self, node: NodeId, command: &Command, alive: bool) {
        for n in 0..u32::from(command.count) {
            let page = command.start.0 + n;
            match command.verb {
                Verb::Rename if alive => self.gaps.rename(node, page, command.to.0 + n),
                Verb::Rename => {
                    self.gaps.set(node, page, true);
                    self.gaps.set(node, command.to.0 + n, true);
                }
                _ => self.gaps.set(node, page, !alive),
            }
        }
    }

    #[inline]
    fn hand_down<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        ticket: Ticket,
    ) {
        if let Some(port) = self.shape[node.index()].port {
            return self.accept(leaves, now, port, command, ticket);
        }
        self.hand_below(leaves, now, node, command, ticket);
    }

    /// The same, behind the port of the node.
    #[inline]
    pub(super) fn hand_below<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        ticket: Ticket,
    ) {
        let shape = &self.shape[node.index()];
        let Some(leaf) = shape.leaf else {
            return match shape.units {
                None => self.enter(leaves, now, node, command, ticket),
                Some(units) => self.enter_by_units(leaves, now, node, units, command, ticket),
            };
        };
        self.account(ticket, u32::from(command.count));
        let contents = self.sheets.written(&command, ticket);
        leaves.submit(now, leaf, &command, ticket, contents);
    }

    /// Splits a command at the grain of the node's scheme (a `Rename` at source and target).
    #[inline]
    pub(super) fn enter<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        ticket: Ticket,
    ) {
        self.name_pages(node, &command, ticket);
        if command.count == 1 {
            return self.admit(leaves, now, node, command, ticket);
        }
        let scheme = self.scheme_mut(node);
        let mut grain = scheme.grain(command.verb);
        if self.troubled && self.health.is_copying(node) {
            grain = 1;
        }
        if grain == u32::MAX {
            return self.admit(leaves, now, node, command, ticket);
        }
        let mut from = 0;
        while from < u32::from(command.count) {
            let mut count = u32::from(command.count) - from;
            count = count.min(grain - (command.start.0 + from) % grain);
            if command.verb == Verb::Rename {
                count = count.min(grain - (command.to.0 + from) % grain);
            }
            self.admit(leaves, now, node, command.part(from, count as u16), ticket.plus(from));
            from += count;
        }
    }

    /// Plans a piece, unless earlier commands of the node are waiting.
    #[inline(always)]
    fn admit<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        piece: Command,
        ticket: Ticket,
    ) {
        if self.parked.has_none(node) && self.attempt(leaves, now, node, &piece, ticket) {
            return;
        }
        self.account(ticket, u32::from(piece.count));
        self.parked.push_back(node, piece.alone(), ticket);
    }

    /// Plans one piece and starts it, or queues it for its stripe; false if the scheme makes it wait.
    #[inline(always)]
    pub(super) fn attempt<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        piece: &Command,
        ticket: Ticket,
    ) -> bool {
        if self.is_stateless(node) {
            let mut plan = self.blank_plan();
            let goes = self.plan(leaves, node, piece, &mut plan);
            if goes {
                self.carry_out(leaves, now, node, piece, &mut plan, ticket, None);
            }
            self.plans.push(plan);
            goes
        } else {
            self.attempt_with_care(leaves, now, node, piece, ticket)
        }
    }

    /// The same for a scheme with locks, exposure, timers or work of its own.
    #[inline(never)]
    fn attempt_with_care<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        piece: &Command,
        ticket: Ticket,
    ) -> bool {
        let lock = self.lock_of(node, piece);
        let wanted = match lock {
            Lock::Free => None,
            Lock::Pass(key) => Some((key, LockMode::Pass)),
            Lock::Share(key) => Some((key, LockMode::Share)),
            Lock::Hold(key) => Some((key, LockMode::Hold)),
            Lock::Detour(key) => {
                self.allow_newer(ticket);
                Some((key, LockMode::Hold))
            }
        };
        if let Some((key, mode)) = wanted
            && self.locks.queue(node, key, mode, || LockWaiter::Command(piece.alone(), ticket))
        {
            self.account(ticket, u32::from(piece.count));
            return true;
        }
        let mut plan = self.blank_plan();
        let goes = self.plan(leaves, node, piece, &mut plan);
        if goes {
            self.exposure.rescued += u64::from(plan.rescued);
            if plan.refuses {
                self.refuse(leaves, now, node, piece);
            }
            if piece.verb != Verb::Read {
                let shelters = !matches!(lock, Lock::Free | Lock::Pass(_)) || plan.hold.is_some();
                if self.health.is_watched(node) && !shelters {
                    self.note_planned(leaves, node, piece, &plan);
                }
                self.note_change(now, node);
            }
            let copies = plan.renames && self.copy_instead(leaves, node, piece, &mut plan);
            // Until a copy is durable, nothing else may look for it.
            let holds = copies || plan.hold.is_some();
            let mode = |mode| if holds { LockMode::Hold } else { mode };
            let taken =
                wanted.map(|(key, wanted)| (key, mode(wanted))).filter(|&(_, mode)| mode != LockMode::Pass);
            self.carry_out(leaves, now, node, piece, &mut plan, ticket, taken);
        }
        let presses = piece.verb != Verb::Read || plan.presses;
        self.plans.push(plan);
        if goes && presses {
            self.press(leaves, now, node);
        }
        goes
    }

    /// The lock that a piece needs. While copies are made, no piece overtakes the copy of its page.
    #[inline(always)]
    fn lock_of(&mut self, node: NodeId, piece: &Command) -> Lock {
        if self.troubled && self.health.is_copying(node) {
            return Lock::Pass(Key(u64::from(piece.start.0)));
        }
        self.scheme_mut(node).lock(piece)
    }

    /// Asks the scheme for a plan; false if the scheme makes the command wait.
    #[inline(always)]
    fn plan<L: Leaves<C>>(&mut self, leaves: &L, node: NodeId, piece: &Command, plan: &mut Plan) -> bool {
        self.consult(leaves, node, |scheme, view| scheme.plan(piece, view, plan) == PlanVerdict::Go)
    }

    /// Starts the plan and takes its lock.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn carry_out<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        piece: &Command,
        plan: &mut Plan,
        ticket: Ticket,
        taken: Option<(Key, LockMode)>,
    ) {
        if taken.is_none() && plan.is_simple::<C>() {
            return self.pass_on(leaves, now, node, piece, plan, ticket);
        }
        self.account(ticket, u32::from(piece.count));
        if let Some((key, mode)) = taken {
            self.locks.take(node, key, mode);
        }
        let key = taken.map(|(key, _)| key);
        self.start(leaves, now, Start::new(node, *piece, ticket).holding(key), plan);
    }

    /// Starts a plan of one plain stage, whose steps count for the caller.
    #[inline(always)]
    fn pass_on<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        piece: &Command,
        plan: &Plan,
        ticket: Ticket,
    ) {
        for step in &plan.steps {
            let child = self.shape[node.index()].child(step.member);
            let mut command = step.command;
            command.flags = command.flags.with(piece.flags.inherited());
            self.dispatch(leaves, now, child, command, ticket.plus(u32::from(step.at)));
        }
        if plan.steps.is_empty() {
            self.account(ticket, u32::from(piece.count));
            leaves.done().push(Done::at(ticket, u32::from(piece.count), now));
        }
    }

    /// A stripe is free again, or has one sharer fewer: waiting commands continue, in order.
    pub(super) fn unlock<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, node: NodeId, key: Key) {
        if node == NodeId::HOST {
            *self.merging_at(PortId::of_key(key)) -= 1;
        }
        let Some(waiting) = self.locks.release(node, key) else { return };
        self.locks.resume(node, waiting);
        // They are older than the parked commands; if one of them has to wait, so do those behind it.
        let mut parked = 0;
        while let Some(next) = self.locks.next_resumed() {
            match next {
                LockWaiter::Command(piece, ticket) => {
                    let pages = u32::from(piece.count);
                    self.unaccount(ticket, pages);
                    if node == NodeId::HOST {
                        self.submit_behind(leaves, now, PortId::of_key(key), piece, ticket);
                    } else if parked > 0 || !self.attempt(leaves, now, node, &piece, ticket) {
                        self.account(ticket, pages);
                        self.parked.insert(node, parked, piece, ticket);
                        parked += 1;
                    }
                }
                LockWaiter::Merge(merge, ticket) => {
                    self.unaccount(ticket, 1);
                    self.merge_behind(leaves, now, PortId::of_key(key), merge, ticket);
                }
                LockWaiter::Repair(failed) => self.failed(leaves, now, failed),
            }
        }
    }
}
