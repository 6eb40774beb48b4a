//! Operations that wait or are in progress, and their queues.

use super::errors::ReadAttempts;
use super::program::PageWrite;
use super::{Controller, Dies, OpQueue, Queues};
use crate::engine::{Command, CompletionToken, Contents};
use crate::flash::{FlashArray, Geometry, OpKind, PlaneId, Ppn, Target, Timing, UnitId};
use crate::kernel::{Arena, Id, SimTime, Span};

/// The slot of an evicted page, for which no request waits.
pub(in crate::drive) const UNASKED: u32 = u32::MAX;

/// An operation that waits or is in progress: a read of one page, or the rest of a run of writes; in a backend of
/// physical pages also an erase, or the trim that it is a part of.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct DriveOp {
    pub token: CompletionToken,
    pub command: Command,
    /// Pages of a write that have found their place; erases of a trim that are still to come; of a read, whether it
    /// came up along with another page.
    pub placed: u16,
    pub ftl: u16,
    /// Not beside `acknowledged`: a load of both at once would wait for the two stores before it.
    pub durable: SimTime,
    /// When it came, and whether its request was admitted after that: late, but served from its arrival on.
    pub since: SimTime,
    pub late: bool,
    /// Of a write: the plane to which it has been dealt out, in rounds.
    pub dealt: Option<PlaneId>,
    pub sequence: u64,
    pub next: Id<DriveOp>,
    pub previous: Id<DriveOp>,
    pub ppn: Ppn,
    pub acknowledged: SimTime,
    pub service: Span,
    /// Of a read: what its errors ask for.
    pub course: ReadAttempts,
}

impl DriveOp {
    /// One more page of a write has its place, granted at `now`; when it is acknowledged, and when durable.
    #[inline(always)]
    pub(super) fn note_placed(&mut self, now: SimTime, acknowledged: SimTime, durable: SimTime) {
        self.placed += 1;
        self.acknowledged = self.acknowledged.max(acknowledged);
        self.durable = self.durable.max(durable);
        self.service = self.service.max(acknowledged.since(now));
    }

    /// How long a read takes whose data have left its unit at `end`, if nothing else is done meanwhile.
    #[inline]
    pub(super) fn service_of_read(&self, flash: &FlashArray, end: SimTime) -> Span {
        let target = Target::sectors(self.ppn, self.command.sectors);
        let service = flash.timing.cost_of(&flash.geometry, OpKind::Read, target).whole();
        // It may have been sensed before the part became slow.
        if flash.timing.may_be_slow() { service.min(end.since(self.acknowledged)) } else { service }
    }
}

impl OpQueue {
    /// Adds an operation. It is nearly always the youngest, so its place is searched from the end.
    #[inline]
    pub(in crate::drive) fn push(&mut self, ops: &mut Arena<DriveOp>, op: Id<DriveOp>) {
        let age = ops[op].token.age;
        let mut after = self.tail;
        while after.is_some() && (age.wrapping_sub(ops[after].token.age) as i32) < 0 {
            after = ops[after].previous;
        }
        let before = if after.is_some() { ops[after].next } else { self.head };
        let this = &mut ops[op];
        (this.previous, this.next) = (after, before);
        if after.is_some() {
            ops[after].next = op
        } else {
            self.head = op
        }
        if before.is_some() { ops[before].previous = op } else { self.tail = op }
    }

    /// Adds an operation after all others, even if it is older.
    pub(in crate::drive) fn push_last(&mut self, ops: &mut Arena<DriveOp>, op: Id<DriveOp>) {
        (ops[op].previous, ops[op].next) = (self.tail, Id::NONE);
        if self.tail.is_some() {
            ops[self.tail].next = op
        } else {
            self.head = op
        }
        self.tail = op;
    }

    /// Adds an operation before all others.
    pub(super) fn push_first(&mut self, ops: &mut Arena<DriveOp>, op: Id<DriveOp>) {
        (ops[op].previous, ops[op].next) = (Id::NONE, self.head);
        if self.head.is_some() {
            ops[self.head].previous = op
        } else {
            self.tail = op
        }
        self.head = op;
    }

    /// Takes out all operations that `which` picks, in order.
    pub(in crate::drive) fn take(
        &mut self,
        ops: &mut Arena<DriveOp>,
        which: impl Fn(&DriveOp) -> bool,
    ) -> Vec<Id<DriveOp>> {
        let (mut kept, mut taken) = (OpQueue::default(), Vec::new());
        let mut at = self.head;
        while at.is_some() {
            let next = ops[at].next;
            if which(&ops[at]) {
                taken.push(at)
            } else {
                kept.push_last(ops, at)
            }
            at = next;
        }
        *self = kept;
        taken
    }

    #[inline]
    pub(super) fn pop(&mut self, ops: &mut Arena<DriveOp>) -> Id<DriveOp> {
        let head = self.head;
        self.head = std::mem::replace(&mut ops[head].next, Id::NONE);
        if self.head.is_some() {
            ops[self.head].previous = Id::NONE;
        } else {
            self.tail = Id::NONE;
        }
        head
    }

    /// Takes one out, at any position.
    pub(super) fn remove(&mut self, ops: &mut Arena<DriveOp>, op: Id<DriveOp>) {
        let DriveOp { previous, next, .. } = ops[op];
        if previous.is_some() {
            ops[previous].next = next
        } else {
            self.head = next
        }
        if next.is_some() { ops[next].previous = previous } else { self.tail = previous }
    }

    /// Sends every operation that waits for a page elsewhere, where `elsewhere` says so.
    pub(in crate::drive) fn redirect(
        &self,
        ops: &mut Arena<DriveOp>,
        elsewhere: impl Fn(Ppn) -> Option<Ppn>,
    ) {
        let mut at = self.head;
        while at.is_some() {
            if let Some(ppn) = elsewhere(ops[at].ppn) {
                ops[at].ppn = ppn;
            }
            at = ops[at].next;
        }
    }

    pub(in crate::drive) fn any(&self, ops: &Arena<DriveOp>, mut test: impl FnMut(&DriveOp) -> bool) -> bool {
        let mut at = self.head;
        while at.is_some() {
            if test(&ops[at]) {
                return true;
            }
            at = ops[at].next;
        }
        false
    }
}

impl<C> std::ops::Index<Id<DriveOp>> for Queues<C> {
    type Output = DriveOp;

    #[inline(always)]
    fn index(&self, op: Id<DriveOp>) -> &DriveOp {
        &self.ops[op]
    }
}

impl<C> std::ops::IndexMut<Id<DriveOp>> for Queues<C> {
    #[inline(always)]
    fn index_mut(&mut self, op: Id<DriveOp>) -> &mut DriveOp {
        &mut self.ops[op]
    }
}

impl<C> Queues<C> {
    /// An operation is over.
    #[inline(always)]
    pub(in crate::drive) fn release(&mut self, op: Id<DriveOp>) {
        self.ops.release(op);
    }

    /// Whether any write waits.
    #[inline]
    pub(in crate::drive) fn are_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Whether a write waits in a write queue.
    #[inline(always)]
    pub(in crate::drive) fn has_writes(&self, write_queue: u32) -> bool {
        self.first_write(write_queue).is_some()
    }

    /// The first write of a write queue.
    #[inline(always)]
    pub(in crate::drive) fn first_write(&self, write_queue: u32) -> Id<DriveOp> {
        self.write_queues[write_queue as usize].head
    }

    /// The last write of a write queue.
    pub(in crate::drive) fn last_write(&self, write_queue: u32) -> Id<DriveOp> {
        self.write_queues[write_queue as usize].tail
    }

    /// Adds a write to its write queue, in the order of requests.
    #[inline(always)]
    pub(in crate::drive) fn add_write(&mut self, write_queue: u32, op: Id<DriveOp>) {
        let waiting = &mut self.write_queues[write_queue as usize];
        self.waiting += u32::from(!waiting.head.is_some());
        waiting.push(&mut self.ops, op);
    }

    /// Adds a write after all others of its write queue.
    pub(in crate::drive) fn add_last_write(&mut self, write_queue: u32, op: Id<DriveOp>) {
        let waiting = &mut self.write_queues[write_queue as usize];
        self.waiting += u32::from(!waiting.head.is_some());
        waiting.push_last(&mut self.ops, op);
    }

    /// Whether a write that waits passes a test.
    pub(in crate::drive) fn is_any_write(&self, test: impl Fn(&DriveOp) -> bool) -> bool {
        self.write_queues.iter().any(|write_queue| write_queue.any(&self.ops, &test))
    }

    /// Whether a write that waits in a write queue passes a test.
    pub(in crate::drive) fn is_any_in(&self, write_queue: u32, test: impl FnMut(&DriveOp) -> bool) -> bool {
        self.write_queues[write_queue as usize].any(&self.ops, test)
    }

    pub(in crate::drive) fn write_queue_count(&self) -> usize {
        self.write_queues.len()
    }

    /// There are `count` write queues; those that are new are empty.
    pub(in crate::drive) fn set_write_queues(&mut self, count: usize) {
        self.write_queues.resize(count, OpQueue::default());
    }

    /// The number of a write that is no operation, with those of `count - 1` before it.
    pub(in crate::drive) fn next_numbers(&mut self, count: u64) -> u64 {
        self.sequence += count;
        self.sequence
    }

    /// All operations are lost with the power.
    pub(in crate::drive) fn clear(&mut self) {
        self.ops = Arena::default();
        self.behind.clear();
        self.carried.clear();
        self.write_queues.fill(OpQueue::default());
        self.waiting = 0;
    }

    /// The copy that page `n` of a write replaces, which no longer counts as such.
    #[inline(always)]
    pub(in crate::drive) fn take_older(&mut self, op: Id<DriveOp>, n: u16) -> Option<Ppn> {
        self.older[op.index()][usize::from(n)].take()
    }

    /// A new operation, which has the next number.
    #[inline(always)]
    pub(in crate::drive) fn claim(&mut self, op: DriveOp) -> Id<DriveOp> {
        let id = self.ops.claim();
        self.sequence += 1;
        self[id] = DriveOp { sequence: self.sequence, ..op };
        id
    }

    /// Removes the first write of a write queue.
    #[inline(always)]
    pub(in crate::drive) fn pop(&mut self, write_queue: u32) -> Id<DriveOp> {
        let queue = &mut self.write_queues[write_queue as usize];
        let op = queue.pop(&mut self.ops);
        self.waiting -= u32::from(!queue.head.is_some());
        op
    }

    /// Takes a write out of its write queue, at any position.
    pub(in crate::drive) fn remove(&mut self, write_queue: u32, op: Id<DriveOp>) {
        let queue = &mut self.write_queues[write_queue as usize];
        queue.remove(&mut self.ops, op);
        self.waiting -= u32::from(!queue.head.is_some());
    }

    /// Takes operations out of a write queue.
    pub(in crate::drive) fn take(
        &mut self,
        write_queue: u32,
        which: impl Fn(&DriveOp) -> bool,
    ) -> Vec<Id<DriveOp>> {
        let queue = &mut self.write_queues[write_queue as usize];
        let before = queue.head.is_some();
        let taken = queue.take(&mut self.ops, which);
        self.waiting -= u32::from(before && !queue.head.is_some());
        taken
    }

    /// What reads that are linked to each other take on the channel.
    pub(super) fn sum_of_transfers(&self, first: Id<DriveOp>, timing: &Timing) -> Span {
        let (mut sum, mut at) = (Span::ZERO, first);
        while at.is_some() {
            let DriveOp { ppn, command, next, .. } = self[at];
            sum += timing.transfer_of(ppn, command.sectors);
            at = next;
        }
        sum
    }

    /// Whether a page is read along with one of those that are linked to the first.
    pub(super) fn is_brought_up(&self, first: Id<DriveOp>, ppn: Ppn, geometry: &Geometry) -> bool {
        let mut at = first;
        while at.is_some() {
            if geometry.share_a_page(self[at].ppn, ppn) {
                return true;
            }
            at = self[at].next;
        }
        false
    }
}

impl<C: Contents> Queues<C> {
    /// Writes that the batch has not taken wait as before.
    pub(super) fn collect_dealt(&mut self, write_queues: Vec<u32>) {
        for write_queue in write_queues {
            let mut left = self.take(write_queue, |_| true);
            for &op in &left {
                self[op].dealt = None;
            }
            let ops = &self.ops;
            let age =
                |op: Id<DriveOp>, than: Id<DriveOp>| ops[op].token.age.wrapping_sub(ops[than].token.age);
            left.sort_by(|&one, &other| {
                let sequence = ops[one].sequence.cmp(&ops[other].sequence);
                (age(one, other) as i32).cmp(&0).then(sequence)
            });
            self.put_in_order(write_queue, &left);
        }
    }

    /// Puts all writes of an empty write queue into it.
    pub(in crate::drive) fn put_in_order(&mut self, write_queue: u32, order: &[Id<DriveOp>]) {
        self.waiting += u32::from(!order.is_empty());
        for &op in order {
            self.write_queues[write_queue as usize].push_last(&mut self.ops, op);
        }
    }

    /// Whether no request waits for a write: for an evicted or a void page.
    #[cold]
    pub(in crate::drive) fn is_unasked(&self, op: Id<DriveOp>) -> bool {
        self[op].token.slot == UNASKED || self[op].command.count == 0
    }

    /// The contents of page `n` of a write.
    #[inline(always)]
    pub(in crate::drive) fn carried(&self, op: Id<DriveOp>, n: u16) -> C {
        if C::KEEP { self.carried[op.index()][usize::from(n)] } else { C::default() }
    }

    /// The copy that page `n` of a write replaces.
    pub(in crate::drive) fn older(&self, op: Id<DriveOp>, n: u16) -> Option<Ppn> {
        self.older.get(op.index())?.get(usize::from(n)).copied().flatten()
    }

    /// The copy that page `n` of a write replaces, where that is noted.
    pub(in crate::drive) fn older_mut(&mut self, op: Id<DriveOp>, n: u16) -> &mut Option<Ppn> {
        &mut self.older[op.index()][usize::from(n)]
    }

    /// Notes the copy that the next page of a write replaces.
    #[inline(always)]
    pub(in crate::drive) fn note_older(&mut self, op: Id<DriveOp>, older: Option<Ppn>) {
        self.older[op.index()].push(older);
    }

    /// A write has no pages yet.
    #[inline(always)]
    pub(in crate::drive) fn begin_older(&mut self, op: Id<DriveOp>) {
        if self.older.len() <= op.index() {
            self.older.resize_with(op.index() + 1, Vec::new);
        }
        self.older[op.index()].clear();
    }

    /// The number of the last write.
    #[must_use]
    pub(in crate::drive) fn last_number(&self) -> u64 {
        self.sequence
    }

    /// The next write has a higher number than this.
    pub(in crate::drive) fn number_from(&mut self, last: u64) {
        self.sequence = self.sequence.max(last);
    }

    /// A page of the write that comes first in a write queue, or of a later one.
    #[inline(always)]
    pub(in crate::drive) fn page_of_write(&self, op: Id<DriveOp>, n: u16, plane: PlaneId) -> PageWrite {
        let DriveOp { command: Command { cause, sectors, .. }, ftl, ppn, .. } = self[op];
        let target = Target::sectors(ppn, sectors);
        PageWrite { op, n, ftl, cause, plane, target, guards: None }
    }

    /// The age of the request that a write is for; none for pages that GC has evicted.
    pub(super) fn age_of_write(&self, op: Id<DriveOp>) -> Option<u32> {
        (op.is_some() && self[op].token.slot != UNASKED).then(|| self[op].token.age)
    }

    /// The contents of a page of a write, and its address when it was written.
    #[inline(always)]
    pub(in crate::drive) fn written(&self, page: &PageWrite) -> (u32, C) {
        let lpn = self[page.op].command.start.low() + u32::from(page.n);
        (lpn, if C::KEEP { self.carried[page.op.index()][usize::from(page.n)] } else { C::default() })
    }

    pub(in crate::drive) fn carry(&mut self, op: Id<DriveOp>, contents: &[C]) {
        if self.carried.len() <= op.index() {
            self.carried.resize_with(op.index() + 1, Vec::new);
        }
        let carried = &mut self.carried[op.index()];
        carried.clear();
        carried.extend_from_slice(contents);
    }

    pub(in crate::drive) fn take_carried(&self, op: Id<DriveOp>) -> C {
        if C::KEEP { self.carried[op.index()][0] } else { C::default() }
    }
}

impl<C: Contents> Controller<C> {
    /// Whether no operation waits or is in progress that a request waits for.
    #[must_use]
    pub(in crate::drive) fn is_quiet(&self) -> bool {
        self.queues.ops.live() == 0 && self.done.is_empty()
    }
}

impl Dies {
    /// Whether a read that waits for a unit passes a test.
    pub(in crate::drive) fn is_any_read<C>(
        &self,
        unit: UnitId,
        queues: &Queues<C>,
        test: impl FnMut(&DriveOp) -> bool,
    ) -> bool {
        self[unit].reads.any(&queues.ops, test)
    }

    /// Reads that wait for a unit read another page instead of each for which `to` has one.
    pub(in crate::drive) fn redirect_reads<C>(
        &mut self,
        unit: UnitId,
        queues: &mut Queues<C>,
        to: impl Fn(Ppn) -> Option<Ppn>,
    ) {
        self[unit].reads.redirect(&mut queues.ops, to);
    }

    /// Takes out the reads that wait for a unit and pass a test.
    pub(in crate::drive) fn take_reads<C>(
        &mut self,
        unit: UnitId,
        queues: &mut Queues<C>,
        test: impl Fn(&DriveOp) -> bool,
    ) -> Vec<Id<DriveOp>> {
        let state = &mut self.units[unit.0 as usize];
        let taken = state.reads.take(&mut queues.ops, test);
        for &op in &taken {
            state.queued = state.queued - queues[op].service;
        }
        if !state.reads.head.is_some() {
            self.channels[state.channel as usize].waiting &= !state.bit;
        }
        taken
    }
}
