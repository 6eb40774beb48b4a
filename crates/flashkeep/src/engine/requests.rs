//! The interface above the tree: requests, and partial-page writes.

use super::backends::{Backends, CompletionPart, CompletionToken, Done, OpenRequest};
use super::command::{Cause, Command, Flags, Page, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::latency::Waited;
use super::locks::{LockMode, LockWaiter};
use super::plan::{Member, Release, Step};
use super::ports::{PortId, PortRequest, Ports};
use super::running::{RunningPlan, Start};
use super::schedule::Schedule;
use super::scheme::Scheme;
use super::tree::NodeId;
use super::work::WorkInProgress;
use crate::device::port::Merge;
use crate::kernel::{Id, SimTime, Span};

/// A completion counter for several pages: of a request, or of a plan with stages.
#[derive(Clone, Debug, Default)]
pub struct CompletionCounter {
    pub(super) unacknowledged: u32,
    pub(super) undurable: u32,
    pub(super) acknowledged: SimTime,
    pub(super) durable: SimTime,
    pub(super) service: Span,
    /// The plan that it counts for; none for a request.
    pub(super) running: Id<RunningPlan>,
    /// The port request that it counts for; none if it is a request of the host or a plan's.
    pub(super) request: Id<PortRequest>,
    /// The steps of the plan are tracked separately as well.
    pub(super) tracked: bool,
    pub(super) lost: u32,
    /// It may read contents newer than its submission: it involved a repair, or a scheme redirected it.
    pub(super) may_be_newer: bool,
    pub(super) tag: u32,
    pub(super) told: bool,
    forgotten: bool,
}

impl CompletionCounter {
    /// The counter for a plan that begins now.
    pub(super) fn of(running: Id<RunningPlan>, tracked: bool, now: SimTime) -> Self {
        CompletionCounter { running, tracked, acknowledged: now, ..CompletionCounter::default() }
    }

    /// The counter for a port request: one more than its pages, until all its commands are submitted.
    pub(super) fn of_port_request(request: Id<PortRequest>) -> Self {
        CompletionCounter { request, unacknowledged: 1, undurable: 1, ..CompletionCounter::default() }
    }

    /// A port request whose pages are durable gets more of them.
    pub(super) fn restart(&mut self) {
        let CompletionCounter { acknowledged, durable, service, .. } = *self;
        *self = CompletionCounter { acknowledged, durable, service, ..Self::of_port_request(self.request) };
    }

    /// Whether it counts for a request of the host whose pages are not all durable.
    pub(super) fn is_under_way_for_host(&self) -> bool {
        !self.running.is_some() && !self.request.is_some() && self.undurable > 0
    }

    /// When all pages are durable, if that is known.
    #[inline]
    pub(super) fn all_durable(&self) -> Option<SimTime> {
        (self.undurable == 0).then_some(self.durable)
    }

    /// The caller has been notified.
    pub(super) fn forget(&mut self) {
        self.forgotten = true;
    }
}

/// A request whose pages are all acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The number that the caller gave the request.
    pub tag: u32,
    /// Its completion counter: the caller can take its contents until [`WorkInProgress::forget`].
    pub counter: Id<CompletionCounter>,
    /// When it is acknowledged; may lie ahead.
    pub acknowledged: SimTime,
    /// When all its pages are on the media, if that is known already.
    pub durable: Option<SimTime>,
    /// Service time without waiting, of its longest part.
    pub service: Span,
    /// The number of its unrecoverable pages: pages read, or needed for a partial-page write.
    pub lost: u32,
    /// It involved a repair, or a scheme redirected it ([`Lock::Detour`]): it may have read contents newer than its
    /// submission.
    ///
    /// [`Lock::Detour`]: super::Lock::Detour
    pub may_be_newer: bool,
}

impl<C: Contents> WorkInProgress<C> {
    /// The caller no longer needs a finished request. It is kept until its pages are durable.
    #[inline]
    pub fn forget(&mut self, counter: Id<CompletionCounter>) {
        let this = &mut self.counters[counter];
        debug_assert!(this.told && !this.forgotten, "a finished request is forgotten once");
        this.forgotten = true;
        if this.undurable == 0 {
            self.counters.release(counter);
        }
    }

    /// The contents of a request's pages: those to write before it is submitted, those read when it is finished. Empty
    /// if contents are not kept.
    pub fn pages(&mut self, owner: Id<CompletionCounter>) -> &mut [C] {
        self.buffers.of(owner)
    }

    /// The contents that the host's cache has of a page that is read below it, minus those expected there; the default
    /// if it has none.
    #[must_use]
    pub fn cached_difference(&self, owner: Id<CompletionCounter>, place: u32) -> C {
        self.buffers.difference(owner, place)
    }

    /// Adds pages with these contents to an open request; returns the place of the first. If contents are not kept,
    /// places do not matter.
    #[inline]
    pub fn extend(&mut self, request: OpenRequest, contents: impl Iterator<Item = C>) -> CompletionToken {
        if C::KEEP {
            CompletionToken { slot: self.buffers.extend(request.owner, contents), ..request.pages() }
        } else {
            request.pages()
        }
    }

    /// The requests that were acknowledged since the last call; the caller calls [`WorkInProgress::forget`] for each when it
    /// has taken its pages.
    pub fn finished(&mut self) -> &mut Vec<Finished> {
        &mut self.finished
    }

    /// The counter waits for this many more pages.
    #[inline]
    pub(super) fn account(&mut self, token: CompletionToken, pages: u32) {
        let counter = &mut self.counters[token.owner];
        counter.undurable += pages;
        if counter.tracked {
            self.track(token, pages as i32);
        } else {
            counter.unacknowledged += pages;
        }
    }

    /// Reverts [`WorkInProgress::account`] for a command that waited, which is about to be counted again.
    #[inline]
    pub(super) fn unaccount(&mut self, token: CompletionToken, pages: u32) {
        let counter = &mut self.counters[token.owner];
        counter.undurable -= pages;
        if counter.tracked {
            self.track(token, -(pages as i32));
        } else {
            counter.unacknowledged -= pages;
        }
    }

    /// Counts completed pages of a request, which is finished when the last one is acknowledged.
    #[inline(always)]
    pub(super) fn count_off(&mut self, done: &Done<C>, ports: &mut Ports<C>, schedule: &mut Schedule) {
        let owner = done.token.owner;
        let counter = &mut self.counters[owner];
        if done.part != CompletionPart::Durable {
            counter.acknowledged = counter.acknowledged.max(done.acknowledged);
            counter.service = counter.service.max(done.service);
            counter.unacknowledged -= done.pages;
        }
        if done.part != CompletionPart::Acknowledged {
            counter.undurable -= done.pages;
            counter.durable = counter.durable.max(done.durable);
        }
        if counter.unacknowledged == 0 && !counter.told {
            self.finish_request(owner, ports, schedule);
        } else if counter.undurable == 0 && counter.told {
            self.note_durable(owner, ports, schedule);
        }
    }

    /// All pages of a request that is acknowledged are durable, perhaps at an instant that lies ahead.
    fn note_durable(&mut self, owner: Id<CompletionCounter>, ports: &mut Ports<C>, schedule: &mut Schedule) {
        let CompletionCounter { durable, forgotten, request, .. } = self.counters[owner];
        if request.is_some() {
            if forgotten {
                ports.end(request);
            }
            return;
        }
        ports.note_settled_host(durable);
        if !self.fences.is_empty() {
            self.lift_fences(owner, ports, schedule);
        }
        if forgotten {
            self.counters.release(owner);
        } else if let Some(finished) = self.finished.iter_mut().find(|finished| finished.counter == owner) {
            // Its caller has not looked at it yet.
            finished.durable = Some(durable);
        }
    }

    /// The last page of a request is acknowledged.
    fn finish_request(
        &mut self,
        owner: Id<CompletionCounter>,
        ports: &mut Ports<C>,
        schedule: &mut Schedule,
    ) {
        let counter = &mut self.counters[owner];
        counter.told = true;
        if counter.request.is_some() {
            let (request, acknowledged) = (counter.request, counter.acknowledged);
            if ports.is_for_host(request) {
                schedule.foreground_done(acknowledged);
            }
            return ports.end(request);
        }
        let CompletionCounter { tag, acknowledged, service, lost, may_be_newer, .. } = *counter;
        let durable = counter.all_durable();
        if !self.fences.is_empty() && durable.is_some() {
            self.lift_fences(owner, ports, schedule);
        }
        self.finished.push(Finished {
            tag,
            counter: owner,
            acknowledged,
            durable,
            service,
            lost,
            may_be_newer,
        });
        schedule.foreground_done(acknowledged);
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Opens a request of `pages` pages; `tag` is the caller's number for it.
    #[inline]
    pub fn open(&mut self, tag: u32, pages: u32) -> OpenRequest {
        let counter = self.work.claim_counter(pages);
        // One more than its pages, until it is closed: it cannot finish while it is being submitted.
        self.work.counters[counter] =
            CompletionCounter { unacknowledged: 1, undurable: 1, tag, ..CompletionCounter::default() };
        self.schedule.begin_foreground();
        self.work.opened = self.work.opened.wrapping_add(1);
        OpenRequest { owner: counter, age: self.work.opened }
    }

    /// Submits a command of an open request. Pages that are being merged are submitted after the merge; the pages
    /// between them are submitted in runs.
    #[inline]
    pub fn submit<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        command: Command,
        token: CompletionToken,
    ) {
        self.submit_behind(backends, now, PortId::HOST, command, token);
    }

    /// Submits a command to the device below a port.
    #[inline]
    pub(super) fn submit_behind<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        port: PortId,
        command: Command,
        token: CompletionToken,
    ) {
        if *self.ports.merging_at(port) == 0 {
            return self.dispatch_behind(backends, now, port, command, token);
        }
        self.submit_past_merges(backends, now, port, command, token);
    }

    /// Submits a command to the device below a port, without waiting for merges.
    #[inline]
    pub(super) fn dispatch_behind<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        port: PortId,
        command: Command,
        token: CompletionToken,
    ) {
        let node = self.ports.node_of(port);
        // A member's missing pages may have changed since the command reached its port. Writes, and whether their
        // contents are lost, were recorded then.
        if !self.nodes.is_healthy() && (command.verb == Verb::Read || port == PortId::HOST) {
            return self.dispatch_examined(backends, now, node, true, command, token);
        }
        self.below_port(backends, now, node, command, token);
    }

    #[inline(never)]
    fn submit_past_merges<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        port: PortId,
        command: Command,
        token: CompletionToken,
    ) {
        let mut first = 0;
        for n in 0..=command.count {
            let at = u32::from(n);
            let blocked = n < command.count && {
                let key = port.key(command.start.0 + u64::from(at));
                let (page, waited) = (command.alone().part(at, 1), Waited::new(now));
                let waiting = || LockWaiter::Command(page, token.plus(at), waited);
                self.work.locks.queue(NodeId::HOST, key, LockMode::Pass, waiting)
            };
            if blocked {
                self.work.account(token, 1);
            }
            if (blocked || n == command.count) && first < n {
                let from = u32::from(first);
                let run = command.part(from, n - first);
                self.dispatch_behind(backends, now, port, run, token.plus(from));
            }
            if blocked {
                first = n + 1;
            }
        }
    }

    /// Merges a page below a port that is written in part: reads the old part (cause `update`), then writes old and new
    /// together. The page is locked until the write has been submitted. The contents are given as the difference to the
    /// expected contents of the read.
    pub(super) fn merge_behind<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        port: PortId,
        merge: Merge,
        token: CompletionToken,
    ) {
        self.work.account(token, 1);
        let key = port.key(merge.page);
        if self.work.locks.queue(NodeId::HOST, key, LockMode::Hold, || LockWaiter::Merge(merge, token, now)) {
            return;
        }
        self.work.locks.take(NodeId::HOST, key, LockMode::Hold);
        *self.ports.merging_at(port) += 1;
        let one = |verb, sectors| Command { sectors, ..Command::new(verb, Page(merge.page), 1) };
        let mut plan = self.spare_plans.take();
        plan.release = Release::Submitted;
        plan.push(Step::new(Member(0), one(Verb::Read, merge.old_sectors).because(Cause::Update), 0));
        let flags = Flags::OLD_IN_HAND.with(merge.flags);
        let write = Command { flags, ..one(Verb::Write, merge.all_sectors) };
        plan.push(Step::new(Member(0), write.because(merge.origin.cause), 0).stage(1));
        let start = Start::new(NodeId::HOST, one(Verb::Write, 0), token).holding(Some(key));
        self.start(backends, now, start, &mut plan);
        self.spare_plans.put(plan);
    }

    /// Closes the request: all its commands have been submitted.
    #[inline]
    pub fn close<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, request: OpenRequest) {
        if self.ports.has_open() {
            self.send_open(backends, now, request.owner);
        }
        self.settle(backends, now);
        self.work.count_off(&Done::<C>::at(request.pages(), 1, now), &mut self.ports, &mut self.schedule);
    }
}
