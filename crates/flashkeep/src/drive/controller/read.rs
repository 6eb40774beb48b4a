//! Reads: from flash, from the controller's memory, or of nothing.

use super::dies::UnitPhase;
use super::errors::{ReadAttempts, Verdict};
use super::queue::{DriveOp, UNASKED};
use super::{Controller, PageOwner, ReadRules};
use crate::drive::Parameters;
use crate::engine::{BackendId, Cause, Command, CompletionToken, Contents, Done, TimeSpent};
use crate::flash::{FlashArray, FlashOp, MultiPlane, OpKind, Ppn, Target, UnitId};
use crate::ftl::InFlight;
use crate::kernel::{Id, SimTime, Span};
use std::iter::repeat_n;

impl ReadRules {
    pub(super) fn new(drive: &Parameters, flash: &FlashArray) -> ReadRules {
        let multi_plane = flash.commands.multi_plane != MultiPlane::Off;
        ReadRules {
            joins: flash.geometry.places > 1 || multi_plane,
            together: flash.geometry.word_line > 1 || multi_plane,
            coalesce: drive.coalesce_reads,
            behind: drive.read_in_flight == InFlight::Flash,
        }
    }
}

impl<C: Contents> Controller<C> {
    /// Reads a page that is on the flash, if nothing in the controller's memory has it.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    pub(in crate::drive) fn read_placed(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: Command,
        token: CompletionToken,
        ppn: Ppn,
        contents: C,
        backends: &mut impl PageOwner<C>,
    ) {
        let unit = self.dies.unit_of_page(&self.flash.geometry, ppn);
        if !self.reads.behind && self.is_being_programmed(now, unit, ppn) {
            self.answer_in_flight(now, token, contents);
        } else if self.is_being_read(unit, ppn, command.cause, backends) {
            let memory = self.flash.timing.memory;
            self.accounts.counters.reads_from_memory += 1;
            self.answer(token, 1, now + memory, memory, contents);
        } else {
            // The first law of order: the read returns the present contents of the page, even if the page is
            // overwritten before the read is granted.
            self.queue_read(now, ftl, command, token, unit, ppn, contents, backends);
        }
    }

    /// A page on its way to flash is still in the controller's memory (the second law of order), and has been there
    /// since its write was admitted, but not longer.
    pub(in crate::drive) fn answer_in_flight(&mut self, now: SimTime, token: CompletionToken, contents: C) {
        let memory = self.flash.timing.memory;
        self.accounts.counters.reads_from_memory += 1;
        let spent = self.probe.late_read(self.admitted.since(now), memory);
        let done = Done::at(token, 1, now.max(self.admitted) + memory);
        self.done.push(Done { service: memory, contents, spent, ..done });
    }

    #[inline]
    pub(in crate::drive) fn is_being_programmed(&self, now: SimTime, unit: UnitId, ppn: Ppn) -> bool {
        if let Some(is_programmed) = self.open.is_being_programmed(now, unit, ppn) {
            return is_programmed;
        }
        let programs = self.dies[unit].programs == Some(ppn)
            || (self.reads.together && self.dies.is_programmed_along(unit, ppn));
        programs && self.dies.free_at[unit.0 as usize] > now
    }

    /// With coalescing, a page that another read is bringing up soon will be in memory. As in SSDSim, the old part of
    /// a page is always read for itself.
    fn is_being_read(&self, unit: UnitId, ppn: Ppn, cause: Cause, backends: &impl PageOwner<C>) -> bool {
        if !self.reads.coalesce || cause == Cause::Update || backends.is_unreadable(ppn) {
            return false;
        }
        let same = |op: &DriveOp| op.ppn == ppn;
        self.dies.any_read(unit, &self.queues, same) || self.dies.is_any_read(unit, &self.queues, same)
    }

    #[allow(clippy::too_many_arguments)]
    pub(in crate::drive) fn queue_read(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: Command,
        token: CompletionToken,
        unit: UnitId,
        ppn: Ppn,
        contents: C,
        backends: &mut impl PageOwner<C>,
    ) {
        let course = self.draw_errors(now, ppn, command.sectors, backends);
        let contents = if course.verdict == Verdict::Wrong { contents.corrupted() } else { contents };
        // A read adds its service time without the command to the waiting time of its unit.
        let target = Target::sectors(ppn, command.sectors);
        let phases = self.flash.timing.cost_of(&self.flash.geometry, OpKind::Read, target);
        let service = phases.sense + phases.data_out;
        let op = self.queues.claim(DriveOp {
            token,
            command,
            ftl: ftl as u16,
            ppn,
            service,
            since: now,
            late: self.admitted > now,
            course,
            ..DriveOp::default()
        });
        if C::KEEP {
            self.queues.carry(op, &[contents]);
        }
        self.open.note_read(now, unit, self.queues.sequence);
        let state = &mut self.dies[unit];
        state.reads.push(&mut self.queues.ops, op);
        state.queued += service;
        let (channel, bit) = (state.channel as usize, state.bit);
        self.dies.channels[channel].waiting |= bit;
        self.dies.arm_unit(now, unit);
        if !backends.visits_later(channel) {
            self.visit(now, channel, backends);
        }
    }

    /// Starts the first read that waits for an idle unit.
    pub(super) fn grant_read(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        backends: &impl PageOwner<C>,
    ) {
        if self.flash.commands.cache_read {
            self.accounts.counters.cache[OpKind::Read as usize] += u64::from(self.dies.make_way(unit));
        }
        let mut lead = self.interrupt(now, unit);
        let state = &mut self.dies[unit];
        let op = state.reads.pop(&mut self.queues.ops);
        if self.queues[op].course.again {
            lead = lead.max(self.queues[op].since.since(now));
        }
        let state = &mut self.dies[unit];
        state.queued = state.queued - self.queues[op].service;
        state.current = op;
        // A read's field for the end holds its start until the end is known.
        self.queues[op].acknowledged = now;
        let DriveOp { ppn, command, ftl, course, .. } = self.queues[op];
        // Reads of physical pages were checked when they were submitted. Between two attempts of a read, garbage
        // collection may move the page and erase its block: what the attempts find was drawn before the first one, and
        // the copy takes as long to read.
        debug_assert!(course.again || backends.is_programmed(ppn), "only programmed pages are read");
        self.accounts.counters.count(ftl, OpKind::Read, command.cause);
        let joined = if self.reads.joins { self.join_reads(now, unit, op) } else { 1 };
        let state = &self.dies[unit];
        if !state.reads.head.is_some() {
            self.dies.channels[channel].waiting &= !state.bit;
        }
        self.start_array_read(now, channel, unit, ppn, joined, command.cause, lead);
    }

    /// A command for each plane on the channel, then the array, once it can sense (`lead`); the channel is free meanwhile
    /// unless it is held for operations.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::drive) fn start_array_read(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        ppn: Ppn,
        planes: usize,
        cause: Cause,
        lead: Span,
    ) {
        let target = Target::page(ppn);
        let phases = if cause == Cause::Retry {
            self.errors.phases_of_retry(&self.flash, ppn)
        } else if planes == 1 {
            self.flash.timing.cost_of(&self.flash.geometry, OpKind::Read, target)
        } else {
            let targets = repeat_n(target, planes);
            let op = FlashOp { kind: OpKind::Read, targets, summaries: 0 };
            self.flash.timing.cost(&self.flash.geometry, op)
        };
        let in_register = now + lead + phases.busy();
        if self.probe.is_on() {
            self.record_sensing(now, unit, &phases, lead, cause);
        }
        let state = &mut self.dies[unit];
        state.phase = UnitPhase::Array;
        state.programs = None;
        state.busy += in_register.since(now);
        self.dies.free_at[unit.0 as usize] = SimTime::NEVER;
        self.dies.agenda.set(unit.0 as usize, in_register);
        self.occupy_channel(now, channel, phases.held(self.flash.bus), cause);
        if self.accounts.watch.is_some() {
            self.tell_granted(now, unit, OpKind::Read, cause);
        }
    }

    /// The page in the unit's register goes over the channel.
    pub(super) fn grant_data_out(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        backends: &mut impl PageOwner<C>,
    ) {
        let op = self.dies.leaving(unit);
        let last = self.dies.let_go(channel, unit, op, &mut self.queues);
        let sectors = if op.is_some() { self.queues[op].command.sectors } else { self.dies[unit].carries };
        let transfer = self.transfer_from(unit, op, sectors);
        if self.errors.may_occur() && self.dies.is_given_up(unit, op, &self.queues) {
            return self.end_attempt(now, unit, op, last, transfer, backends);
        }
        let end = now + transfer;
        let spent = self.breakdown_of_read(now, channel, op, transfer);
        let cause = self.cause_of_transfer(unit, op, backends);
        self.occupy_channel(now, channel, transfer, cause);
        if last && !self.stays_suspended(now, unit, end, cause) {
            // The data that GC moves have to be decoded before they are programmed.
            let until = if op.is_some() { end } else { end + self.errors.decoding(ReadAttempts::default()) };
            self.occupy_unit(now, unit, until, cause);
        }
        if self.accounts.watch.is_some() {
            self.tell_data_out(now, unit, op.is_some().then(|| self.queues[op].command.cause), backends);
        }
        if !op.is_some() {
            return self.end_collection_read(unit, end, backends);
        }
        let start = self.queues[op].acknowledged;
        let service = self.queues[op].service_of_read(&self.flash, end);
        let (service, answered) = self.errors.decoded(&self.queues[op], service, end);
        self.answer_read(op, [start, end], (service, answered), spent, backends);
    }

    /// How long data that leave a unit take on the channel.
    #[inline]
    fn transfer_from(&self, unit: UnitId, op: Id<DriveOp>, sectors: u16) -> Span {
        match self.flash.timing.may_be_slow() {
            true => self.slow_transfer_from(unit, op, sectors),
            false => self.flash.timing.transfer(sectors),
        }
    }

    #[cold]
    #[inline(never)]
    fn slow_transfer_from(&self, unit: UnitId, op: Id<DriveOp>, sectors: u16) -> Span {
        let of_collection = || self.flash.geometry.ppn(self.dies[unit].collects.unwrap_or_default(), 0, 0);
        let ppn = if op.is_some() { self.queues[op].ppn } else { of_collection() };
        self.flash.timing.transfer_of(ppn, sectors)
    }

    /// A page has left the channel at the second instant, after an operation that began at the first: its read is answered.
    pub(super) fn answer_read(
        &mut self,
        op: Id<DriveOp>,
        [start, end]: [SimTime; 2],
        (service, answered): (Span, SimTime),
        spent: TimeSpent,
        backends: &mut impl PageOwner<C>,
    ) {
        let DriveOp { token, command, ftl, ppn, placed: along, course, .. } = self.queues[op];
        if token.slot == UNASKED {
            backends.end_scrub(op, end, self);
        } else if self.fails(course, ppn, backends) {
            let failed = Some((BackendId(ftl), command.start));
            self.done.push(Done { failed, service, spent, ..Done::at(token, 1, answered) });
        } else {
            let contents = self.queues.take_carried(op);
            self.done.push(Done { service, contents, spent, ..Done::at(token, 1, answered) });
        }
        self.queues.release(op);
        let (kind, cause, age) = (OpKind::Read, command.cause, Some(token.age));
        if along > 0 {
            let transfer = self.flash.timing.transfer_of(ppn, command.sectors);
            return self.tell_along(start, end, ppn, kind, cause, transfer, age, backends);
        }
        self.tell(start, end, ppn, kind, cause, command.sectors, age, backends);
    }
}

/// Which code path commands take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Commands {
    /// The fast path: all backends are FTLs, the run is timed, and no part has failed.
    Direct,
    /// The general path: checks the state for each command.
    Checked,
}

impl Commands {
    /// Of backends that are all mapped, healthy and timed, or not.
    pub(in crate::drive) fn of_mapped(direct: bool) -> Commands {
        if direct { Commands::Direct } else { Commands::Checked }
    }
}

impl<C: Contents> Controller<C> {
    pub(in crate::drive) fn answer(
        &mut self,
        token: CompletionToken,
        pages: u32,
        at: SimTime,
        service: Span,
        contents: C,
    ) {
        self.done.push(Done { service, contents, ..Done::at(token, pages, at) });
    }
}
