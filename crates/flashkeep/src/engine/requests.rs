//! The interface above the tree: requests, and partial-page writes.

use super::command::{Cause, Command, Flags, Page, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::frame::{Frame, Start};
use super::leaves::{CompletionPart, Done, Leaves, Ticket};
use super::locks::{LockMode, LockWaiter};
use super::plan::{Member, Release, Step};
use super::ports::{PortId, PortRequest};
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::device::port::Merge;
use crate::kernel::{Id, SimTime, Span};

/// A completion counter for several pages: of a request, or of a plan with stages.
#[derive(Clone, Debug, Default)]
pub struct Join {
    pub(super) unacknowledged: u32,
    pub(super) undurable: u32,
    pub(super) acknowledged: SimTime,
    pub(super) durable: SimTime,
    pub(super) service: Span,
    /// The plan that it counts for; none for a request.
    pub(super) frame: Id<Frame>,
    /// The port request that it counts for; none if it is a request of the host or a plan's.
    pub(super) request: Id<PortRequest>,
    /// The steps of the plan are tracked separately as well.
    pub(super) tracked: bool,
    pub(super) lost: u32,
    /// It may read contents newer than its submission: it involved a repair, or a scheme redirected it.
    pub(super) may_be_newer: bool,
    tag: u32,
    told: bool,
    forgotten: bool,
}

impl Join {
    /// The counter for a plan that begins now.
    pub(super) fn of(frame: Id<Frame>, tracked: bool, now: SimTime) -> Self {
        Join { frame, tracked, acknowledged: now, ..Join::default() }
    }

    /// The counter for a port request: one more than its pages, until all its commands are submitted.
    pub(super) fn of_port_request(request: Id<PortRequest>) -> Self {
        Join { request, unacknowledged: 1, undurable: 1, ..Join::default() }
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
    /// Its completion counter: the caller can take its contents until [`Engine::forget`].
    pub join: Id<Join>,
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

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Opens a request of `pages` pages; `tag` is the caller's number for it.
    #[inline]
    pub fn open(&mut self, tag: u32, pages: u32) -> Ticket {
        let join = self.claim_join(pages);
        // One more than its pages, until it is closed: it cannot finish while it is being submitted.
        self.joins[join] = Join { unacknowledged: 1, undurable: 1, tag, ..Join::default() };
        self.clock.foreground += 1;
        self.opened = self.opened.wrapping_add(1);
        Ticket::at(join, 0, self.opened)
    }

    /// The contents of a request's pages: those to write before it is submitted, those read when it is finished. Empty
    /// if contents are not kept.
    pub fn pages(&mut self, owner: Id<Join>) -> &mut [C] {
        self.sheets.of(owner)
    }

    /// Adds pages with these contents to an open request; returns the place of the first. If contents are not kept,
    /// places do not matter.
    #[inline]
    pub fn extend(&mut self, request: Ticket, contents: impl Iterator<Item = C>) -> Ticket {
        if C::KEEP {
            Ticket { slot: self.sheets.extend(request.owner, contents), ..request }
        } else {
            request
        }
    }

    /// Submits a command of an open request. Pages that are being merged are submitted after the merge; the pages
    /// between them are submitted in runs.
    #[inline]
    pub fn submit<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, command: Command, ticket: Ticket) {
        if self.merging == 0 {
            return self.dispatch(leaves, now, NodeId::ROOT, command, ticket);
        }
        self.submit_past_merges(leaves, now, PortId::HOST, command, ticket);
    }

    /// Submits a command behind a port.
    #[inline]
    pub(super) fn submit_behind<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        port: PortId,
        command: Command,
        ticket: Ticket,
    ) {
        if *self.merging_at(port) == 0 {
            return self.dispatch_behind(leaves, now, port, command, ticket);
        }
        self.submit_past_merges(leaves, now, port, command, ticket);
    }

    /// The number of pages that a port is merging.
    pub(super) fn merging_at(&mut self, port: PortId) -> &mut u32 {
        match port.member() {
            None => &mut self.merging,
            Some(at) => &mut self.ports.all[usize::from(at)].merging,
        }
    }

    /// Submits a command behind a port, without waiting for merges.
    pub(super) fn dispatch_behind<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        port: PortId,
        command: Command,
        ticket: Ticket,
    ) {
        let node = self.ports.node_of(port);
        if port == PortId::HOST {
            return self.dispatch(leaves, now, node, command, ticket);
        }
        // The member's missing pages may have changed since the command reached its port. Writes, and whether their
        // contents are lost, were recorded then.
        if self.troubled && command.verb == Verb::Read {
            return self.dispatch_examined(leaves, now, node, true, command, ticket);
        }
        self.hand_below(leaves, now, node, command, ticket);
    }

    #[inline(never)]
    fn submit_past_merges<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        port: PortId,
        command: Command,
        ticket: Ticket,
    ) {
        let mut first = 0;
        for n in 0..=command.count {
            let at = u32::from(n);
            let blocked = n < command.count && {
                let key = port.key(command.start.0 + at);
                let waiting = || LockWaiter::Command(command.alone().part(at, 1), ticket.plus(at));
                self.locks.queue(NodeId::HOST, key, LockMode::Pass, waiting)
            };
            if blocked {
                self.account(ticket, 1);
            }
            if (blocked || n == command.count) && first < n {
                let from = u32::from(first);
                let run = command.part(from, n - first);
                self.dispatch_behind(leaves, now, port, run, ticket.plus(from));
            }
            if blocked {
                first = n + 1;
            }
        }
    }

    /// Merges a page that is written in part: reads the old part (cause `update`), then writes old and new together.
    /// The page is locked until the write has been submitted. The contents are given as the difference to the expected
    /// contents of the read.
    pub fn merge<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, merge: Merge, ticket: Ticket) {
        self.merge_behind(leaves, now, PortId::HOST, merge, ticket);
    }

    /// The same behind a port.
    pub(super) fn merge_behind<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        port: PortId,
        merge: Merge,
        ticket: Ticket,
    ) {
        self.account(ticket, 1);
        let key = port.key(merge.page);
        if self.locks.queue(NodeId::HOST, key, LockMode::Hold, || LockWaiter::Merge(merge, ticket)) {
            return;
        }
        self.locks.take(NodeId::HOST, key, LockMode::Hold);
        *self.merging_at(port) += 1;
        let one = |verb, sectors| Command { sectors, ..Command::new(verb, Page(merge.page), 1) };
        let mut plan = self.blank_plan();
        plan.release = Release::Submitted;
        plan.push(Step::new(Member(0), one(Verb::Read, merge.old_sectors).because(Cause::Update), 0));
        let write = Command { flags: Flags::OLD_IN_HAND, ..one(Verb::Write, merge.all_sectors) };
        plan.push(Step::new(Member(0), write.because(merge.cause), 0).stage(1));
        let start = Start::new(NodeId::HOST, one(Verb::Write, 0), ticket).holding(Some(key));
        self.start(leaves, now, start, &mut plan);
        self.plans.push(plan);
    }

    /// Closes the request: all its commands have been submitted.
    #[inline]
    pub fn close<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, ticket: Ticket) {
        if self.ports.has_open() {
            self.send_open(leaves, now, ticket.owner);
        }
        self.settle(leaves, now);
        self.count_off(&Done::<C>::at(ticket, 1, now));
    }

    /// The requests that were acknowledged since the last call; the caller calls [`Engine::forget`] for each when it
    /// has taken its pages.
    pub fn finished(&mut self) -> &mut Vec<Finished> {
        &mut self.finished
    }

    /// The caller no longer needs a finished request. It is kept until its pages are durable.
    #[inline]
    pub fn forget(&mut self, join: Id<Join>) {
        let this = &mut self.joins[join];
        debug_assert!(this.told && !this.forgotten, "a finished request is forgotten once");
        this.forgotten = true;
        if this.undurable == 0 {
            self.joins.release(join);
        }
    }

    /// The join waits for this many more pages.
    #[inline]
    pub(super) fn account(&mut self, ticket: Ticket, pages: u32) {
        let join = &mut self.joins[ticket.owner];
        join.undurable += pages;
        if join.tracked {
            self.track(ticket, pages as i32);
        } else {
            join.unacknowledged += pages;
        }
    }

    /// Reverts [`Engine::account`] for a command that waited, which is about to be counted again.
    #[inline]
    pub(super) fn unaccount(&mut self, ticket: Ticket, pages: u32) {
        let join = &mut self.joins[ticket.owner];
        join.undurable -= pages;
        if join.tracked {
            self.track(ticket, -(pages as i32));
        } else {
            join.unacknowledged -= pages;
        }
    }

    /// Counts completed pages of a request, which is finished when the last one is acknowledged.
    #[inline(always)]
    pub(super) fn count_off(&mut self, done: &Done<C>) {
        let owner = done.ticket.owner;
        let join = &mut self.joins[owner];
        if done.part != CompletionPart::Durable {
            join.acknowledged = join.acknowledged.max(done.acknowledged);
            join.service = join.service.max(done.service);
            join.unacknowledged -= done.pages;
        }
        if done.part != CompletionPart::Acknowledged {
            join.undurable -= done.pages;
            join.durable = join.durable.max(done.durable);
        }
        if join.unacknowledged == 0 && !join.told {
            self.finish_request(owner);
        } else if join.undurable == 0 && join.forgotten {
            self.let_go(owner);
        }
    }

    /// The pages of a finished request are durable.
    fn let_go(&mut self, owner: Id<Join>) {
        let request = self.joins[owner].request;
        if request.is_some() {
            self.ports.end(request);
        } else {
            self.joins.release(owner);
        }
    }

    /// The last page of a request is acknowledged.
    fn finish_request(&mut self, owner: Id<Join>) {
        let join = &mut self.joins[owner];
        join.told = true;
        if join.request.is_some() {
            return self.ports.end(join.request);
        }
        let Join { tag, acknowledged, service, lost, may_be_newer, .. } = *join;
        let durable = (join.undurable == 0).then_some(join.durable);
        self.finished.push(Finished { tag, join: owner, acknowledged, durable, service, lost, may_be_newer });
        self.foreground_done(acknowledged);
    }
}
