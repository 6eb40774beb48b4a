//! The executor: a tree of schemes over backends, and all operations in progress.
//!
//! Each file of this folder has one part: `requests` the interface above the tree, `descend` commands on their way
//! down, `running_plans` plans with stages, `sums` contents and parity, `repair` failed reads, `background` work
//! without a request, `places` where pages lie. The state is in the parts of an [`Engine`]: `nodes`, `work`, `ports` and
//! `schedule`.
//!
//! Completions do not recurse upwards: they are pushed as [`Done`]s, and [`Engine::settle`] handles these in order
//! until there are none.

use super::around::ReadCounts;
use super::backends::{BackendId, Backends, CompletionPart, Done};
use super::command::{Flags, Page};
use super::contents::Contents;
use super::nodes::{Nodes, NodesSeen};
use super::plan::{Member, SparePlans, Why};
use super::ports::Ports;
use super::schedule::{Due, Schedule};
use super::scheme::{Change, Scheme};
use super::tree::{Flat, NodeId, Tree};
use super::view::{After, View};
use super::work::WorkInProgress;
use crate::kernel::{Id, SimTime, Span};

/// The executor: a tree of schemes over backends, and all operations in progress.
#[derive(Clone, Debug)]
pub struct Engine<S, C> {
    pub(super) nodes: Nodes<S>,
    /// Requests and plans in progress.
    pub(super) work: WorkInProgress<C>,
    /// The ports of the host and of members.
    pub(super) ports: Ports<C>,
    /// Due work, and background work.
    pub(super) schedule: Schedule,
    pub(super) spare_plans: SparePlans,
    /// Reads that were not done where their pages are.
    pub(super) read_counts: ReadCounts,
    /// The shortest time that a read was expected to take, without waiting.
    pub(super) fastest_read: Span,
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// An engine over `tree`.
    #[must_use]
    pub fn new(tree: Tree<S>) -> Self {
        let Flat { shapes, schemes, controllers, ports } = tree.flatten();
        let nodes = Nodes::new(shapes, schemes, controllers);
        Engine {
            work: WorkInProgress::new(nodes.len()),
            schedule: Schedule::new(nodes.all_schemes()),
            nodes,
            ports: Ports::new(ports),
            spare_plans: SparePlans::default(),
            read_counts: ReadCounts::default(),
            fastest_read: Span(u64::MAX / 2),
        }
    }

    /// The nodes of the tree.
    #[must_use]
    #[inline]
    pub fn tree(&self) -> &Nodes<S> {
        &self.nodes
    }

    /// The same, mutable.
    #[inline]
    pub fn tree_mut(&mut self) -> &mut Nodes<S> {
        &mut self.nodes
    }

    /// The requests and plans in progress.
    #[must_use]
    #[inline]
    pub fn work(&self) -> &WorkInProgress<C> {
        &self.work
    }

    /// The same, mutable.
    #[inline]
    pub fn work_mut(&mut self) -> &mut WorkInProgress<C> {
        &mut self.work
    }

    /// The engine's own work that is due, and background work.
    #[must_use]
    #[inline]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The same, mutable.
    #[inline]
    pub fn schedule_mut(&mut self) -> &mut Schedule {
        &mut self.schedule
    }

    /// The instant of the engine's own next event.
    #[must_use]
    #[inline]
    pub fn next_due(&self) -> SimTime {
        self.schedule.due.next().min(self.work.hedges.next())
    }

    /// Handles all events due by `now`, and the completions of backends.
    pub fn advance<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        let (mut alone, mut for_host) = (true, false);
        while let Some(due) = self.schedule.due.pop_due(now) {
            alone &= matches!(due, Due::Port(_));
            match due {
                Due::Stage(running) => self.arrive(backends, now, Id::new(running), Self::run_stage),
                Due::First(running) => self.arrive(backends, now, Id::new(running), Self::first),
                Due::Over(running) => self.arrive(backends, now, Id::new(running), Self::over),
                Due::Wake(node) => self.wake(backends, now, node),
                Due::Idle(node) => self.idle(backends, now, node),
                Due::Rebuild(node) => self.rebuild(backends, now, node),
                Due::Recovered => {
                    self.write_out_saved(backends, now);
                    self.end_recovery(backends, now);
                }
                Due::Port(port) => self.ports.notify(now, port),
                Due::WriteBack(port) => self.ports.wants_write_back(port),
                Due::Host => for_host = true,
            }
        }
        if self.work.hedges.next() <= now {
            alone = false;
            self.race(backends, now);
        }
        self.settle(backends, now);
        if self.ports.is_notified() {
            self.cross_all(backends, now, alone);
        }
        self.write_back_ports_that_want(backends, now);
        if for_host {
            self.go_on_for_host(backends, now);
        }
    }

    /// Handles the completions of backends and plans waiting commands again, until nothing changes.
    #[inline(always)]
    pub fn settle<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        if !backends.done().is_empty() || !self.work.parked.is_empty() {
            self.take_all_in(backends, now);
        }
    }

    /// The slow path of [`Engine::settle`]: a separate function, because there is often nothing to do.
    #[inline(never)]
    fn take_all_in<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        loop {
            // Completions that are added meanwhile are handled after these.
            let mut taken = 0;
            while let Some(&done) = backends.done().get(taken) {
                taken += 1;
                self.complete(backends, now, &done);
            }
            backends.done().clear();
            if let Some(breakdowns) = backends.breakdowns() {
                breakdowns.clear();
            }
            if self.ports.has_ended() {
                self.end_port_requests(backends, now);
                continue;
            }
            if self.work.parked.is_empty() || !self.retry(backends, now) {
                return;
            }
        }
    }

    /// A backend or a whole subtree stops responding, or responds again. Its completions are handled by the next
    /// [`Engine::settle`], so that several may change at the same instant.
    pub fn change<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, node: NodeId, change: Change) {
        self.nodes.note_change(node, change);
        self.schedule.forget_progress();
        self.close_ports(backends, now, node, change);
        self.tell_parent(backends, now, node, change);
    }

    /// Replaces a node's backend by another, empty one.
    pub fn replace<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        backend: BackendId,
    ) {
        self.nodes.replace_backend(node, backend);
        self.change(backends, now, node, Change::Replaced);
    }

    /// Whether plans of a subtree's schemes, or commands that wait there, are in progress. A subtree that does not
    /// respond gets no new ones.
    #[must_use]
    pub fn is_at_work(&self, node: NodeId) -> bool {
        let below = self.nodes.subtree(node);
        below.iter().any(|&node| !self.work.parked.has_none(node))
            || self.ports.is_at_work(&below)
            || self
                .work
                .running_plans
                .places()
                .any(|running| running.is_under_way() && below.contains(&running.node))
    }

    /// Replaces a subtree by an empty one of the same shape. Its schemes are taken from `fresh`, a newly built copy of
    /// the whole tree; the caller has replaced its backends. `go_on` lets a new scheme take over from the one that it
    /// replaces.
    ///
    /// # Panics
    /// If the subtree is still [at work](Engine::is_at_work): the new schemes cannot finish plans of the old ones.
    pub fn refresh<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        fresh: Tree<S>,
        go_on: fn(&mut S, &S),
    ) {
        assert!(!self.is_at_work(node), "a member is replaced while it is idle");
        let Flat { mut schemes, .. } = fresh.flatten();
        for at in self.nodes.subtree(node) {
            self.nodes.renew(at, schemes[at.index()].take(), go_on);
            self.work.buffers.forget_carried(at);
            self.nodes.note_exposure(now, at);
        }
        self.change(backends, now, node, Change::Replaced);
    }

    /// Reports a change of a node to its parent's scheme, which may begin to rebuild.
    pub(super) fn tell_parent<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        change: Change,
    ) {
        let Some((parent, member)) = self.nodes[node].parent else { return };
        if matches!(change, Change::Replaced | Change::Returned) {
            self.close_gaps_of_zeros(backends, parent);
        }
        if !matches!(change, Change::Retired(_)) {
            self.note_member(backends, parent, member, change);
        }
        self.with_view(backends, parent, |scheme, view| scheme.member(member, change, view));
        if self.nodes.is_below_map(node) {
            self.pass_up(backends, now, parent, change);
        }
        self.nodes.note_exposure(now, parent);
        self.press(backends, now, parent);
        self.schedule.begin_rebuild(now, parent, &self.nodes);
        if matches!(change, Change::Replaced | Change::Returned) && !self.nodes.is_below_map(node) {
            self.pass_losses_up(backends, now, parent);
        }
    }

    /// Handles an event of a backend.
    #[cold]
    fn on_backend_event<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        (backend, page): (BackendId, Page),
        part: CompletionPart,
    ) {
        let Some(node) = self.nodes.of_backend(backend) else { return };
        let why: Option<fn(Member, Page) -> Why> = match part {
            CompletionPart::Leaving => Some(Why::Leaving),
            CompletionPart::Moved => Some(Why::Moved),
            CompletionPart::Due => Some(Why::Due),
            _ => None,
        };
        if let Some(why) = why {
            if let Some((parent, member)) = self.nodes[node].parent {
                self.ask(backends, now, parent, why(member, page));
                // A map in flash passes on which old versions are about to be collected.
                let above = self.nodes[parent].parent.filter(|_| self.nodes.is_below_map(node));
                if let Some((above, member)) = above.filter(|_| part == CompletionPart::Leaving) {
                    self.ask(backends, now, above, why(member, page));
                }
            }
        } else if part == CompletionPart::Retired {
            self.tell_parent(backends, now, node, Change::Retired(page));
        } else if !self.ports.is_before(node, page, &self.nodes, &self.work.locks)
            && !backends.holds(backend, page)
        {
            // A page that was written since is not missing.
            let refused = part == CompletionPart::Refused;
            let change = if refused { Change::Refused(page) } else { Change::Damaged(page) };
            self.lose_page_of(backends, now, node, change);
        }
    }

    // ---------------------------------------------------------------- small things

    /// Calls the scheme at `node` with its view.
    #[inline(always)]
    pub(super) fn with_view<L: Backends<C>, T>(
        &mut self,
        backends: &L,
        node: NodeId,
        ask: impl FnOnce(&mut S, &View<'_>) -> T,
    ) -> T {
        let Engine { nodes, work, ports, .. } = self;
        let (scheme, NodesSeen { links: shape, after, gaps, health, names }) = nodes.split(node);
        let deeper = After { node, schemes: after, ports, coming: work.outstanding() };
        let (below, deeper) = (backends, &deeper);
        ask(
            scheme,
            &View { shape, node, below, locks: &work.locks, gaps, health, names, deeper, fell_short: false },
        )
    }

    /// Handles the completion of pages.
    #[inline]
    fn complete<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, done: &Done<C>) {
        if let Some((backend, page)) = done.failed {
            let asked = matches!(
                done.part,
                CompletionPart::Both | CompletionPart::Acknowledged | CompletionPart::Durable
            );
            if !asked {
                return self.on_backend_event(backends, now, (backend, page), done.part);
            }
            let child = self.nodes.once_of(backend);
            self.work.latencies.note_failed(backends, now, done);
            return self.failed(
                backends,
                now,
                super::repair::FailedPage { child, page, token: done.token, flags: Flags::NONE },
            );
        }
        let running = self.work.counters[done.token.owner].running;
        if running.is_some() && self.work.running_plans[running].race.is_some() {
            return self.take_in_race(backends, now, running, done);
        }
        if self.work.latencies.are_measured() {
            let plan = if running.is_some() { Some(&self.work.running_plans[running]) } else { None };
            self.work.latencies.note_done(backends, done, plan);
        }
        if running.is_some() {
            self.receive(backends, now, running, done);
        } else {
            self.work.buffers.keep(done);
            self.work.count_off(done, &mut self.ports, &mut self.schedule);
        }
    }
}
