//! The part above the tree: requests, and partial-page writes.

use super::command::{Cause, Command, Flags, Page, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::frame::{Frame, Start};
use super::leaves::{Done, Leaves, Part, Ticket};
use super::locks::{Mode, Waiting};
use super::plan::{Member, Release, Step};
use super::ports::{PortId, PortRequest};
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::device::port::Merge;
use crate::kernel::{Id, SimTime, Span};

/// A counter that several pages are joined in: a request, or a plan with stages.
#[derive(Clone, Debug, Default)]
pub struct Join {
    pub(super) unacknowledged: u32,
    pub(super) undurable: u32,
    pub(super) acknowledged: SimTime,
    pub(super) durable: SimTime,
    pub(super) service: Span,
    /// The plan that it counts for; none where it is a request.
    pub(super) frame: Id<Frame>,
    /// The port request that it counts for; none if it is a request of the host or a plan's.
    pub(super) request: Id<PortRequest>,
    /// It counts for each step of that plan by itself, too.
    pub(super) tracked: bool,
    pub(super) lost: u32,
    /// What it reads may be newer than when it was submitted: a repair took part in it, or a scheme redirected it.
    pub(super) may_be_newer: bool,
    tag: u32,
    told: bool,
    forgotten: bool,
}

impl Join {
    /// The counter of a plan that begins now.
    pub(super) fn of(frame: Id<Frame>, tracked: bool, now: SimTime) -> Self {
        Join { frame, tracked, acknowledged: now, ..Join::default() }
    }

    /// The counter of a port request: one more than its pages, until all of it has been asked.
    pub(super) fn of_port_request(request: Id<PortRequest>) -> Self {
        Join { request, unacknowledged: 1, undurable: 1, ..Join::default() }
    }

    /// The caller has been notified.
    pub(super) fn forget(&mut self) {
        self.forgotten = true;
    }
}

/// A request all of whose pages are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Which request, as its opener numbered it.
    pub tag: u32,
    /// Its join: its contents can be taken until it is closed for good.
    pub join: Id<Join>,
    /// When the caller may go on; may lie ahead.
    pub acknowledged: SimTime,
    /// When all of it is on the media, where that is known already.
    pub durable: Option<SimTime>,
    /// Time spent being served, waiting excluded, along the longest of its parts.
    pub service: Span,
    /// Pages read, or needed to complete one that is written in part, that nothing below could bring back.
    pub lost: u32,
    /// A repair took part in it, or a scheme redirected it ([`Lock::Detour`]): what it read may be newer than when it was
    /// submitted.
    ///
    /// [`Lock::Detour`]: super::Lock::Detour
    pub may_be_newer: bool,
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Opens a request of `pages` pages, known to the caller as `tag`.
    #[inline]
    pub fn open(&mut self, tag: u32, pages: u32) -> Ticket {
        let join = self.claim_join(pages);
        // One more than its pages, until it is closed: it cannot finish while it is being submitted.
        self.joins[join] = Join { unacknowledged: 1, undurable: 1, tag, ..Join::default() };
        self.clock.foreground += 1;
        self.opened = self.opened.wrapping_add(1);
        Ticket::at(join, 0, self.opened)
    }

    /// The pages of a request: contents to be written before it is submitted, contents read once it is finished.
    /// Empty where contents are nothing.
    pub fn pages(&mut self, owner: Id<Join>) -> &mut [C] {
        self.sheets.of(owner)
    }

    /// More pages for an open request, with these contents; the place of the first. Where contents are nothing,
    /// places do not matter.
    #[inline]
    pub fn extend(&mut self, request: Ticket, contents: impl Iterator<Item = C>) -> Ticket {
        if C::KEEP {
            Ticket { slot: self.sheets.extend(request.owner, contents), ..request }
        } else {
            request
        }
    }

    /// Gives a command of an open request to the tree. Pages that are being merged are asked for when that is
    /// done; what is between them goes down in as long runs as there are.
    #[inline]
    pub fn submit<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, command: Command, ticket: Ticket) {
        if self.merging == 0 {
            return self.dispatch(leaves, now, NodeId::ROOT, command, ticket);
        }
        self.submit_past_merges(leaves, now, PortId::HOST, command, ticket);
    }

    /// Gives a command to what is behind a port.
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

    /// How many pages a port is merging.
    pub(super) fn merging_at(&mut self, port: PortId) -> &mut u32 {
        match port.member() {
            None => &mut self.merging,
            Some(at) => &mut self.ports.all[usize::from(at)].merging,
        }
    }

    /// Gives a command to what is behind a port, whatever is being merged there.
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
        // What a member lacks may have changed since the command came to its port. What is written was noted then, and
        // whether it is lost.
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
                let waiting = || Waiting::Command(command.alone().part(at, 1), ticket.plus(at));
                self.locks.queue(NodeId::HOST, key, Mode::Pass, waiting)
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

    /// Writes a page of which only a part is new: reads the old part (cause `update`), then writes old and new
    /// together. The page is kept from others until the write has been submitted. Its contents are handed in as
    /// the difference to what is expected to be read.
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
        if self.locks.queue(NodeId::HOST, key, Mode::Hold, || Waiting::Merge(merge, ticket)) {
            return;
        }
        self.locks.take(NodeId::HOST, key, Mode::Hold);
        *self.merging_at(port) += 1;
        let one = |verb, sectors| Command { sectors, ..Command::new(verb, Page(merge.page), 1) };
        let mut plan = self.blank_plan();
        plan.release = Release::Submitted;
        plan.push(Step::new(Member(0), one(Verb::Read, merge.old_sectors).because(Cause::Update), 0));
        let write = Command { flags: Flags::OLD_IN_HAND, ..one(Verb::Write, merge.all_sectors) };
        plan.push(Step::new(Member(0), write.because(merge.cause), 0).stage(1));
        let start = Start { key: Some(key), ..Start::new(NodeId::HOST, one(Verb::Write, 0), ticket) };
        self.start(leaves, now, start, &mut plan);
        self.plans.push(plan);
    }

    /// Everything of the request has been submitted.
    #[inline]
    pub fn close<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, ticket: Ticket) {
        if self.ports.has_open() {
            self.send_open(leaves, now, ticket.owner);
        }
        self.settle(leaves, now);
        self.count_off(&Done::<C>::at(ticket, 1, now));
    }

    /// Requests that have been acknowledged since the last call; the caller hands each back with
    /// [`Engine::forget`] after it has looked at its pages.
    pub fn finished(&mut self) -> &mut Vec<Finished> {
        &mut self.finished
    }

    /// The caller is through with a finished request. It stays until its pages are durable.
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

    /// Takes back what [`Engine::account`] counted for a command that waited: it is about to be counted anew.
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

    /// Counts pages off a request, which is finished when the last is acknowledged.
    #[inline(always)]
    pub(super) fn count_off(&mut self, done: &Done<C>) {
        let owner = done.ticket.owner;
        let join = &mut self.joins[owner];
        if done.part != Part::Durable {
            join.acknowledged = join.acknowledged.max(done.acknowledged);
            join.service = join.service.max(done.service);
            join.unacknowledged -= done.pages;
        }
        if done.part != Part::Acknowledged {
            join.undurable -= done.pages;
            join.durable = join.durable.max(done.durable);
        }
        if join.unacknowledged == 0 && !join.told {
            self.finish_request(owner);
        } else if join.undurable == 0 && join.forgotten {
            self.let_go(owner);
        }
    }

    /// The pages of a request that is over are durable.
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
