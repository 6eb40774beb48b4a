//! Commands on their way down the tree: the executor splits them at the grain, waits for their stripe, plans them and
//! passes steps on.

use super::backends::{BackendId, Backends, CompletionToken, Done};
use super::command::{Command, Flags, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::latency::Waited;
use super::locks::{LockMode, LockWaiter};
use super::nodes::Nodes;
use super::plan::{Key, Lock, Member, Plan, PlanVerdict};
use super::ports::PortId;
use super::repair::FailedPage;
use super::running::Start;
use super::scheme::Scheme;
use super::tree::NodeId;
use super::work::WorkInProgress;
use crate::kernel::SimTime;

impl<S: Scheme> Nodes<S> {
    /// Of a page that a node lacks, the old contents that the caller has are not those that are there.
    fn with_own_old(&self, node: NodeId, command: Command) -> Command {
        let mut pages = command.start.0..command.end();
        let lacks = command.flags.has(Flags::OLD_IN_HAND) && pages.any(|page| self.gaps.lacks(node, page));
        let flags = if lacks { command.flags.without(Flags::OLD_IN_HAND) } else { command.flags };
        Command { flags, ..command }
    }

    /// A written page is no longer missing; a member that does not respond misses the write.
    fn note_gaps(&mut self, node: NodeId, command: &Command, alive: bool) {
        if command.changes_nothing() {
            return;
        }
        for n in 0..u64::from(command.count) {
            let page = command.start.0 + n;
            match command.verb {
                Verb::Remap if alive => self.gaps.remap(node, page, command.to.0 + n),
                Verb::Remap => {
                    self.gaps.set(node, page, true);
                    self.gaps.set(node, command.to.0 + n, true);
                }
                _ => self.gaps.set(node, page, !alive),
            }
        }
    }

    /// The lock that a piece needs. While copies are made, no piece overtakes the copy of its page.
    #[inline(always)]
    fn lock_of(&mut self, node: NodeId, piece: &Command) -> Lock {
        if self.is_copying(node) {
            return Lock::Pass(Key(piece.start.0));
        }
        self.scheme_mut(node).lock(piece)
    }

    /// Whether a page of a read was lost, and perhaps written in part, while the read waited at the root. (Pages that a
    /// member lacks are read elsewhere by the scheme above it.)
    fn has_lost_page(&self, node: NodeId, piece: &Command) -> bool {
        let mut pages = piece.start.0..piece.end();
        let reads = !self.is_healthy() && node == NodeId::ROOT && piece.verb == Verb::Read;
        reads && pages.any(|page| self.gaps.lacks(node, page))
    }
}

impl<C: Contents> WorkInProgress<C> {
    /// Submits a command to a backend.
    #[inline]
    fn submit_to<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
    ) {
        self.account(token, u32::from(command.count));
        let contents = self.buffers.written(command, token);
        backends.submit(now, backend, command, token, contents);
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Submits a command to a node. Its pages are counted for the completion token's owner.
    #[inline]
    pub(super) fn dispatch<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        token: CompletionToken,
    ) {
        if !self.nodes.is_healthy() {
            self.dispatch_examined(backends, now, node, false, command, token);
        } else {
            self.through_port(backends, now, node, command, token);
        }
    }

    /// Writes to a node that does not respond are lost; reads of pages that it lacks fail and are repaired. The command
    /// goes to the node's port, if it has one; with `behind`, to the device below the port.
    #[cold]
    pub(super) fn dispatch_examined<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        behind: bool,
        command: Command,
        token: CompletionToken,
    ) {
        let alive = self.nodes[node].alive;
        if command.verb != Verb::Read {
            let command = self.nodes.with_own_old(node, command);
            self.nodes.note_gaps(node, &command, alive);
            if alive {
                return self.through_port(backends, now, node, command, token);
            }
            self.work.account(token, u32::from(command.count));
            self.work.void(node, token, &self.nodes);
            return backends.done().push(Done::at(token, u32::from(command.count), now));
        }
        let mut first = 0;
        for n in 0..=command.count {
            let at = u32::from(n);
            let missing =
                n < command.count && (!alive || self.nodes.gaps.lacks(node, command.start.0 + u64::from(at)));
            if (missing || n == command.count) && first < n {
                let from = u32::from(first);
                let (run, token) = (command.part(from, n - first), token.plus(from));
                if behind {
                    self.below_port(backends, now, node, run, token);
                } else {
                    self.through_port(backends, now, node, run, token);
                }
            }
            if missing {
                first = n + 1;
                self.work.account(token, 1);
                let page = command.start.plus(at);
                let (token, flags) = (token.plus(at), command.flags);
                self.failed(backends, now, FailedPage { child: node, page, token, flags });
            }
        }
    }

    #[inline]
    fn through_port<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        token: CompletionToken,
    ) {
        if let Some(port) = self.nodes[node].port {
            return self.accept(backends, now, port, command, token);
        }
        self.below_port(backends, now, node, command, token);
    }

    /// The same, below the port of the node.
    #[inline]
    pub(super) fn below_port<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        token: CompletionToken,
    ) {
        let shape = &self.nodes[node];
        let Some(backend) = shape.backend else {
            return match shape.units {
                None if shape.only.is_some() && self.nodes.is_healthy() => {
                    self.hand_to_only(backends, now, node, command, token);
                }
                None => self.enter(backends, now, node, command, token),
                Some(units) => self.enter_by_units(backends, now, node, units, command, token),
            };
        };
        self.work.submit_to(backends, now, backend, &command, token);
    }

    /// Passes a command on to the only member of a node, without a plan.
    #[inline]
    fn hand_to_only<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        token: CompletionToken,
    ) {
        self.nodes.names.note_write(&self.work.buffers, node, &command, token);
        let only = self.nodes[node].child(Member(0));
        let shape = &self.nodes[only];
        let (Some(backend), None) = (shape.backend, shape.port) else {
            return self.through_port(backends, now, only, command, token);
        };
        self.work.submit_to(backends, now, backend, &command, token);
    }

    /// Splits a command at the grain of the node's scheme (a `Remap` at source and target).
    #[inline]
    pub(super) fn enter<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        token: CompletionToken,
    ) {
        self.nodes.names.note_write(&self.work.buffers, node, &command, token);
        if command.count == 1 {
            return self.admit(backends, now, node, command, token);
        }
        let scheme = self.nodes.scheme_mut(node);
        let mut grain = scheme.grain(command.verb);
        if self.nodes.is_copying(node) {
            grain = 1;
        }
        if grain == u32::MAX {
            return self.admit(backends, now, node, command, token);
        }
        let mut from = 0;
        while from < u32::from(command.count) {
            let mut count = u32::from(command.count) - from;
            count = count.min(grain - ((command.start.0 + u64::from(from)) % u64::from(grain)) as u32);
            if command.verb == Verb::Remap {
                count = count.min(grain - ((command.to.0 + u64::from(from)) % u64::from(grain)) as u32);
            }
            self.admit(backends, now, node, command.part(from, count as u16), token.plus(from));
            from += count;
        }
    }

    /// Plans a piece, unless earlier commands of the node are waiting.
    #[inline(always)]
    pub(super) fn admit<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        piece: Command,
        token: CompletionToken,
    ) {
        if self.work.parked.has_none(node) && self.attempt(backends, now, node, &piece, token, None) {
            return;
        }
        self.work.account(token, u32::from(piece.count));
        self.work.parked.push_back(node, piece.alone(), token, Waited::new(now));
    }

    /// Plans one piece and starts it, or queues it for its stripe; false if the scheme makes it wait.
    #[inline(always)]
    pub(super) fn attempt<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        piece: &Command,
        token: CompletionToken,
        waited: Option<&Waited>,
    ) -> bool {
        if self.nodes.is_healthy() && self.schedule.is_stateless(node) {
            let mut plan = self.spare_plans.take();
            let verdict = self.with_view(backends, node, |scheme, view| scheme.plan(piece, view, &mut plan));
            let goes = verdict == PlanVerdict::Go;
            if goes {
                self.work.note_wait(node, token, waited, now, &self.nodes);
                if !self.schedule.untimed && self.nodes.has_choice(node, piece) {
                    self.read_around(backends, node, piece, None, &mut plan);
                }
                self.issue(backends, now, node, piece, &mut plan, token, None);
            }
            self.spare_plans.put(plan);
            goes
        } else {
            self.plan_with_lock(backends, now, node, piece, token, waited)
        }
    }

    /// The same for a scheme with locks, exposure, timers or work of its own.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn plan_with_lock<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        piece: &Command,
        token: CompletionToken,
        waited: Option<&Waited>,
    ) -> bool {
        let lock = self.nodes.lock_of(node, piece);
        let wanted = match lock {
            Lock::Free => None,
            Lock::Pass(key) => Some((key, LockMode::Pass)),
            Lock::Share(key) => Some((key, LockMode::Share)),
            Lock::Hold(key) => Some((key, LockMode::Hold)),
            Lock::Detour(key) => {
                self.work.allow_newer(token, &self.ports);
                Some((key, LockMode::Hold))
            }
        };
        let waiter =
            || LockWaiter::Command(piece.alone(), token, waited.copied().unwrap_or(Waited::new(now)));
        let has_waited = waited.is_some();
        if let Some((key, mode)) = wanted
            && ((!has_waited && self.work.locks.queue_after_resumed(node, key, waiter))
                || !(mode == LockMode::Pass
                    && self.nodes.may_read_early(node)
                    && self.work.locks.lets_pass(node, key, piece, has_waited))
                    && self.work.locks.queue(node, key, mode, waiter))
        {
            self.work.account(token, u32::from(piece.count));
            return true;
        }
        let mut plan = self.spare_plans.take();
        let verdict = self.with_view(backends, node, |scheme, view| scheme.plan(piece, view, &mut plan));
        let goes = verdict == PlanVerdict::Go;
        if goes {
            self.work.note_wait(node, token, waited, now, &self.nodes);
            self.nodes.exposure.note_rescued(u64::from(plan.rescued));
            if plan.refuses {
                self.refuse(backends, now, node, piece);
            }
            if piece.verb != Verb::Read {
                let shelters = !matches!(lock, Lock::Free | Lock::Pass(_)) || plan.hold.is_some();
                if self.nodes.health.is_watched(node) && !shelters {
                    self.note_planned(backends, node, piece, &plan);
                }
                self.nodes.note_exposure(now, node);
                self.schedule.arm_wake(now, node);
            }
            let copies = plan.remaps && self.copy_instead(backends, node, piece, &mut plan);
            // Until a copy is durable, nothing else may look for it.
            let holds = copies || plan.hold.is_some();
            let mode = |mode| if holds { LockMode::Hold } else { mode };
            let mut taken =
                wanted.map(|(key, wanted)| (key, mode(wanted))).filter(|&(_, mode)| mode != LockMode::Pass);
            if !self.schedule.untimed && self.nodes.has_choice(node, piece) {
                let shared = self.read_around(backends, node, piece, wanted, &mut plan);
                taken = taken.or(shared.map(|key| (key, LockMode::Share)));
            }
            self.issue(backends, now, node, piece, &mut plan, token, taken);
        }
        let wants_urgent_work = piece.verb != Verb::Read || plan.wants_urgent_work;
        self.spare_plans.put(plan);
        if goes && wants_urgent_work {
            self.press(backends, now, node);
        }
        goes
    }

    /// Starts the plan and takes its lock.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn issue<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        piece: &Command,
        plan: &mut Plan,
        token: CompletionToken,
        taken: Option<(Key, LockMode)>,
    ) {
        if taken.is_none() && plan.is_simple::<C>(node) {
            return self.submit_steps(backends, now, node, piece, plan, token);
        }
        self.work.account(token, u32::from(piece.count));
        if let Some((key, mode)) = taken {
            self.work.locks.take(node, key, mode);
            if mode == LockMode::Hold && piece.changes_pages() && self.nodes.may_read_early(node) {
                self.work.locks.note_writes(node, key, piece.start.0..piece.end());
            }
        }
        let key = taken.map(|(key, _)| key);
        self.start(backends, now, Start::new(node, *piece, token).holding(key), plan);
    }

    /// Starts a plan of one plain stage, whose steps count for the caller.
    #[inline(always)]
    fn submit_steps<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        piece: &Command,
        plan: &Plan,
        token: CompletionToken,
    ) {
        for step in &plan.steps {
            let child = self.nodes[node].child(step.member);
            let mut command = step.command;
            command.flags = command.flags.with(piece.flags.inherited());
            self.dispatch(backends, now, child, command, token.plus(u32::from(step.at)));
        }
        if plan.steps.is_empty() {
            self.work.account(token, u32::from(piece.count));
            backends.done().push(Done::at(token, u32::from(piece.count), now));
        }
    }

    /// A stripe is free again, or has one sharer fewer: waiting commands continue, in order.
    pub(super) fn unlock<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId, key: Key) {
        if node == NodeId::HOST {
            *self.ports.merging_at(PortId::of_key(key)) -= 1;
        }
        let Some(waiting) = self.work.locks.release(node, key) else { return };
        self.work.locks.resume(node, key, true, waiting);
        self.plan_resumed(backends, now, node, key);
    }

    /// The plan that holds a stripe has submitted everything: reads that wait for the stripe, and for nothing before them,
    /// continue.
    pub(super) fn let_reads_pass<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        key: Key,
    ) {
        if let Some(reads) = self.work.locks.let_reads_pass(node, key) {
            self.work.locks.resume(node, key, false, reads);
            self.plan_resumed(backends, now, node, key);
            self.work.locks.end_passing(node, key);
        }
    }

    /// Plans the commands that have waited for a stripe, in order.
    fn plan_resumed<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId, key: Key) {
        // They are older than the parked commands; if one of them has to wait, so do the later ones.
        let mut parked = 0;
        while let Some(next) = self.work.locks.next_resumed() {
            if node == NodeId::HOST && self.work.locks.queue(node, key, next.mode_at_port(), || next) {
                continue;
            }
            match next {
                LockWaiter::Command(piece, token, mut waited) => {
                    let pages = u32::from(piece.count);
                    self.work.unaccount(token, pages);
                    waited.for_lock(now);
                    if node == NodeId::HOST {
                        self.work.note_wait(node, token, Some(&waited), now, &self.nodes);
                        self.submit_behind(backends, now, PortId::of_key(key), piece, token);
                    } else if self.nodes.has_lost_page(node, &piece) {
                        self.work.note_wait(node, token, Some(&waited), now, &self.nodes);
                        self.dispatch_examined(backends, now, node, true, piece, token);
                    } else if parked > 0 || !self.attempt(backends, now, node, &piece, token, Some(&waited)) {
                        self.work.account(token, pages);
                        self.work.parked.insert(node, parked, piece, token, waited);
                        parked += 1;
                    }
                }
                LockWaiter::Merge(merge, token, since) => {
                    self.work.unaccount(token, 1);
                    self.work.latencies.note_delay(token, since, now);
                    self.merge_behind(backends, now, PortId::of_key(key), merge, token);
                }
                LockWaiter::Repair(failed, since) => {
                    self.work.latencies.note_delay(failed.token, since, now);
                    self.failed(backends, now, failed);
                }
            }
        }
    }
}
