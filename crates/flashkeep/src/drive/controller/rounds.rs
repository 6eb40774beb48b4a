//! Busy units that work in rounds (`flash.bus = "rounds"`): a channel takes all waiting operations at once,
//! reads first, then writes, at most [`BATCH`] of each. A round has one operation per unit. All of them start
//! together; the k-th is done when its array operation has ended and k transfers have passed; the next round
//! starts when the last one of this round is done. Later operations wait until the channel has completed the
//! batch. Channels that share their control lines take one batch together, whose rounds have an operation for each of
//! their units; transfers follow each other on each channel.
//!
//! Collection (`ftl.gc.run`): with `hold-channel`, all units that are short of pages collect a block each, side by
//! side, and the channel waits for the longest. With `steps`, each such unit takes one step (a page's read, its program
//! or copyback, the block's erase) in the first round of a batch, if the scheduler's rule does not prefer a read of
//! that unit. So a step begins when the steps before it are over. Below the soft threshold, units take a step each in a
//! round of their own when nothing else waits.
//!
//! Source: the parallel units of the DiskSim extension of Agrawal et al., USENIX ATC 2008.

use super::dies::{Channel, bits};
use super::program::Full;
use super::queue::DriveOp;
use super::sources::{ByAge, Next, Writes};
use super::{Controller, Dies, PageOwner};
use crate::engine::{Cause, Contents};
use crate::flash::scheduler::Class;
use crate::flash::{FlashOp, OpKind, OpPhases, Ppn, Round, Target, UnitId};
use crate::ftl::GcRun;
use crate::kernel::{Id, SimTime, Span};
use std::iter::repeat_n;
use std::ops::Range;

/// Reads, or writes, that each channel takes at once.
pub(in crate::drive) const BATCH: usize = 100;

/// The round that is being planned.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenRound {
    /// Its part on each channel of the gang.
    parts: Vec<Round>,
    /// The channel of a gang, counted from its first, that takes the next write.
    turn: usize,
    /// For each write queue that is dealt out, the plane that takes the next write if several have as much room.
    turns_of_planes: Vec<u32>,
}

impl OpenRound {
    fn start(&mut self, begun: SimTime, channels: usize) {
        self.parts.clear();
        self.parts.resize(channels, Round::at(begun));
    }

    /// When the last operation so far is done.
    fn end(&self) -> SimTime {
        self.parts.iter().map(|part| part.end).max().unwrap_or_default()
    }
}

/// Units of the channels of a gang that take steps of collections in the first round of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    /// They have taken theirs, or collections are not taken in steps.
    Taken,
    /// They come before reads of the same units.
    BeforeReads,
    /// Units read first.
    BehindReads,
}

impl<C: Contents> Controller<C> {
    /// A gang of channels that is free takes what waits for it.
    #[inline(never)]
    pub(super) fn visit_in_rounds(&mut self, now: SimTime, channel: usize, backends: &mut impl PageOwner<C>) {
        let gang = self.dies.gangs.of(channel);
        let free_at = gang.clone().map(|channel| self.dies.channels[channel].free_at).max().unwrap_or(now);
        if free_at > now {
            return self.dies.agenda.set(self.dies.unit_count() + channel, free_at);
        }
        let units = self.dies.units_in(gang.start).start..self.dies.units_in(gang.end - 1).end;
        self.dies.units[units].iter_mut().for_each(|unit| unit.planned.clear());
        let mut end = now;
        let (mut steps, mut cause) = (Steps::Taken, Cause::Host);
        match self.rules.run {
            GcRun::HoldChannel => end = self.collect_side_by_side(now, &gang, backends),
            GcRun::Steps => steps = self.dies.steps_in_turn(),
        }
        if end > now {
            cause = Cause::Gc;
        } else {
            end = self.read_in_rounds(now, &gang, &mut steps, backends);
            let dealt = backends.deal_out(&gang, self);
            end = self.write_in_rounds(end, &gang, steps, backends);
            self.queues.collect_dealt(dealt);
        }
        if end == now
            && let Some(idle) = backends.idle_work()
        {
            end = self.collect_softly_in_step(now, &gang, backends);
            cause = idle;
        }
        if end == now {
            // An erase may wait for operations that are still under way.
            for channel in gang {
                if let Next::NotBefore(at) = backends.writes_later(now, channel, self) {
                    self.dies.wake_channel_by(channel, at);
                }
            }
            return;
        }
        self.occupy_gang(now, end, channel, cause, backends);
    }

    /// The channels of a gang and their units are busy until the batch is over; then they look for more.
    fn occupy_gang(
        &mut self,
        now: SimTime,
        end: SimTime,
        channel: usize,
        cause: Cause,
        backends: &mut impl PageOwner<C>,
    ) {
        let mut more = self.queues.waiting > 0;
        for channel in self.dies.gangs.of(channel) {
            self.record_channel(now, channel, end, cause);
            let state = &mut self.dies.channels[channel];
            state.free_at = end;
            state.busy += end.since(now);
            more |= state.waiting | state.collecting != 0;
            let first = state.first_unit as usize;
            let units = (first..first + self.dies.per_channel).map(|unit| UnitId(unit as u32));
            units.for_each(|unit| self.dies.note_work(unit, end, cause));
            self.dies.free_at[first..first + self.dies.per_channel].fill(end);
            let units = &self.dies.units[first..first + self.dies.per_channel];
            more |= backends.idle_work().is_some() && units.iter().any(|unit| unit.soft);
        }
        if more {
            self.dies.arm_channel(channel);
        }
    }

    // ---------------------------------------------------------------- collection

    /// The units of a channel that are to collect, a bit each: where planes are not collected in the background, all
    /// that are short of pages as soon as anything waits for the gang, so that it pauses for them once.
    fn collecting_in_step(&self, gang: &Range<usize>, channel: usize, backends: &impl PageOwner<C>) -> u64 {
        let wanted =
            || gang.clone().any(|channel| self.dies.wanted_units(channel, &self.queues, backends) != 0);
        let collecting = self.dies.channels[channel].collecting;
        if collecting != 0 && (self.rules.collects_in_background || wanted()) { collecting } else { 0 }
    }

    /// A block of each unit that is short of pages, one beside the other; until when, or `now` where there is none.
    fn collect_side_by_side(
        &mut self,
        now: SimTime,
        gang: &Range<usize>,
        backends: &mut impl PageOwner<C>,
    ) -> SimTime {
        let mut end = now;
        for channel in gang.clone() {
            let first_unit = self.dies.channels[channel].first_unit;
            for unit in
                bits(self.collecting_in_step(gang, channel, backends)).map(|bit| UnitId(first_unit + bit))
            {
                // The channel is in use for the batch, which is accounted for at its end.
                let busy = self.dies.channels[channel].busy;
                if let Some(unit) = backends.collect(now, channel, unit, u64::MAX, self) {
                    let until = self.dies.free_at[unit.0 as usize];
                    self.dies[unit].planned.add(now, until);
                    end = end.max(until);
                }
                let state = &mut self.dies.channels[channel];
                (state.free_at, state.busy) = (now, busy);
            }
        }
        end
    }

    /// Units of a channel, of those in `idle`, take the next steps of their collections in this round: which ones.
    fn collect_in_step(
        &mut self,
        now: SimTime,
        gang: &Range<usize>,
        channel: usize,
        idle: u64,
        backends: &mut impl PageOwner<C>,
    ) -> u64 {
        let first_unit = self.dies.channels[channel].first_unit;
        let mut taken = 0;
        let able = if self.dies.spread.is_some() { u64::MAX } else { idle };
        for bit in bits(self.collecting_in_step(gang, channel, backends) & able) {
            if let Some(unit) = backends.collect(now, channel, UnitId(first_unit + bit), idle & !taken, self)
            {
                taken |= self.dies[unit].bit;
            }
        }
        taken
    }

    /// Nothing waits: a step of each unit below the soft threshold.
    fn collect_softly_in_step(
        &mut self,
        now: SimTime,
        gang: &Range<usize>,
        backends: &mut impl PageOwner<C>,
    ) -> SimTime {
        self.dies.open_round.start(now, gang.len());
        for channel in gang.clone() {
            let (first, mut idle) = (self.dies.channels[channel].first_unit, u64::MAX);
            for unit in (first..first + self.dies.per_channel as u32).map(UnitId) {
                if !self.dies[unit].soft {
                    continue;
                }
                match backends.work_softly(now, channel, [unit, unit], idle, self) {
                    None => self.dies[unit].soft = false,
                    Some(begun) => idle &= !begun.map_or(0, |unit| self.dies[unit].bit),
                }
            }
        }
        self.dies.open_round.end()
    }

    /// A collection reads a flash page, which takes `longer` because of errors: when, and until when.
    pub(in crate::drive) fn read_in_round(
        &mut self,
        unit: UnitId,
        first: Ppn,
        sectors: u16,
        longer: Span,
        cause: Cause,
    ) -> (SimTime, SimTime) {
        let target = Target::sectors(first, sectors);
        let mut phases = self.flash.timing.cost_of(&self.flash.geometry, OpKind::Read, target);
        phases.sense += longer;
        self.dies[unit].programs = None;
        let (_, end) = self.join_round(unit, &phases, cause);
        (self.dies.round_of(unit).begun, end)
    }

    // ---------------------------------------------------------------- reads

    fn read_in_rounds(
        &mut self,
        mut begun: SimTime,
        gang: &Range<usize>,
        steps: &mut Steps,
        backends: &mut impl PageOwner<C>,
    ) -> SimTime {
        let mut left = BATCH * gang.len();
        loop {
            let waits = gang.clone().any(|channel| self.dies.channels[channel].waiting != 0);
            if !waits || left == 0 {
                return begun;
            }
            self.dies.open_round.start(begun, gang.len());
            for channel in gang.clone() {
                let mut idle = u64::MAX;
                if *steps == Steps::BeforeReads {
                    idle = !self.collect_in_step(begun, gang, channel, idle, backends);
                }
                let Channel { waiting, first_unit, .. } = self.dies.channels[channel];
                for bit in bits(waiting & idle).take(left) {
                    self.read_in_step(channel, UnitId(first_unit + bit), backends);
                    left -= 1;
                }
                if *steps == Steps::BehindReads {
                    self.collect_in_step(begun, gang, channel, !waiting, backends);
                }
            }
            *steps = Steps::Taken;
            begun = self.dies.open_round.end();
        }
    }

    /// The first read that waits for a unit, and those that go with it.
    fn read_in_step(&mut self, channel: usize, unit: UnitId, backends: &mut impl PageOwner<C>) {
        let begun = self.dies.round_of(unit).begun;
        let state = &mut self.dies[unit];
        let first = state.reads.pop(&mut self.queues.ops);
        let DriveOp { command, ftl, ppn, service, .. } = self.queues[first];
        state.queued = state.queued - service;
        state.programs = None;
        self.accounts.counters.count(ftl, OpKind::Read, command.cause);
        let planes = if self.reads.joins { self.join_reads(begun, unit, first) } else { 1 };
        let state = &self.dies[unit];
        if !state.reads.head.is_some() {
            self.dies.channels[channel].waiting &= !state.bit;
        }
        let array = if command.cause == Cause::Retry {
            self.errors.phases_of_retry(&self.flash, ppn)
        } else {
            let targets = repeat_n(Target::page(ppn), planes);
            let op = FlashOp { kind: OpKind::Read, targets, summaries: 0 };
            self.flash.timing.cost(&self.flash.geometry, op)
        };
        let data_out = self.queues.sum_of_transfers(first, &self.flash.timing);
        if self.probe.is_on() {
            self.begin_reads(begun, channel, unit, first, &OpPhases::default());
        }
        let (_, end) = self.join_round(unit, &OpPhases { data_out, ..array }, command.cause);
        let mut at = first;
        while at.is_some() {
            let next = self.queues[at].next;
            self.bring(at, begun, end, &array, backends);
            at = next;
        }
    }

    /// A read whose data could not be corrected goes back to the head of its queue, for the next round. What decoding
    /// takes is added to its answer: rounds do not wait for it.
    fn try_in_next_round(
        &mut self,
        op: Id<DriveOp>,
        begun: SimTime,
        end: SimTime,
        array: &OpPhases,
        backends: &mut impl PageOwner<C>,
    ) {
        let DriveOp { ppn, command, service, course, since, .. } = self.queues[op];
        let transfer = self.flash.timing.transfer_of(ppn, command.sectors);
        self.probe.keep_attempt_in_round((op, since, course.again), end, array, transfer);
        self.tell_attempt(op, begun, end, backends);
        let decoding = self.errors.decoding(course);
        let this = &mut self.queues[op];
        this.course.advance();
        this.command.cause = Cause::Retry;
        this.durable = this.durable + decoding;
        (this.since, this.placed) = (end, 0);
        let unit = self.dies.unit_of_page(&self.flash.geometry, ppn);
        let state = &mut self.dies.units[unit.0 as usize];
        state.reads.push_first(&mut self.queues.ops, op);
        state.queued += service;
        self.dies.channels[state.channel as usize].waiting |= state.bit;
    }

    /// A page that was read in a round is answered.
    fn bring(
        &mut self,
        op: Id<DriveOp>,
        begun: SimTime,
        end: SimTime,
        array: &OpPhases,
        backends: &mut impl PageOwner<C>,
    ) {
        let DriveOp { ppn, command, course, since, .. } = self.queues[op];
        if course.goes_on() {
            return self.try_in_next_round(op, begun, end, array, backends);
        }
        let transfer = self.flash.timing.transfer_of(ppn, command.sectors);
        let decoding = self.errors.decoding_in_rounds(&self.queues[op]);
        let spent = self.probe.read_in_round((op, since, course.again), end, array, transfer, decoding);
        let decoding = decoding.unwrap_or_default();
        let (service, answered) = (end.since(begun) + decoding, end + decoding);
        self.answer_read(op, [begun, end], (service, answered), spent, backends);
    }

    // ---------------------------------------------------------------- writes

    fn write_in_rounds(
        &mut self,
        mut begun: SimTime,
        gang: &Range<usize>,
        mut steps: Steps,
        backends: &mut impl PageOwner<C>,
    ) -> SimTime {
        let all = u64::MAX >> (64 - self.dies.per_channel);
        let mut left = BATCH * gang.len();
        let mut idle = vec![all; gang.len()];
        loop {
            idle.fill(all);
            self.dies.open_round.start(begun, gang.len());
            if steps != Steps::Taken {
                for channel in gang.clone() {
                    idle[channel - gang.start] &= !self.collect_in_step(begun, gang, channel, all, backends);
                }
                steps = Steps::Taken;
            }
            self.write_in_step(begun, gang, &mut idle, &mut left, backends);
            if idle.iter().all(|&idle| idle == all) {
                return begun;
            }
            begun = self.dies.open_round.end();
        }
    }

    /// Idle units take writes, channel by channel in turn, until none can take one.
    fn write_in_step(
        &mut self,
        begun: SimTime,
        gang: &Range<usize>,
        idle: &mut [u64],
        left: &mut usize,
        backends: &mut impl PageOwner<C>,
    ) {
        let mut without = 0;
        while *left > 0 && without < gang.len() {
            let at = self.dies.open_round.turn % gang.len();
            self.dies.open_round.turn = at + 1;
            let channel = gang.start + at;
            let Some(taker) = Writes::<Full>::find(self, channel, idle[at], backends) else {
                without += 1;
                continue;
            };
            let unit = backends.grant_next::<Full>(begun, channel, taker, self);
            idle[at] &= !self.dies[unit].bit;
            (*left, without) = (*left - 1, 0);
        }
    }

    /// A program enters the round that is being planned: when its transfers begin, and when it is over.
    #[inline(never)]
    pub(super) fn join_round(&mut self, unit: UnitId, phases: &OpPhases, cause: Cause) -> (SimTime, SimTime) {
        let round = self.dies.round_of(unit);
        let (first, end) = round.add(phases);
        let begun = round.begun;
        self.record_unit(begun, unit, end, cause);
        self.dies.plan_unit(unit, begun, end);
        (first, end)
    }
}

impl Dies {
    /// Of a write queue that is dealt out, the plane that takes the next write if several have as much room.
    pub(in crate::drive) fn turn_of_planes(&self, write_queue: u32) -> u32 {
        self.open_round.turns_of_planes.get(write_queue as usize).copied().unwrap_or_default()
    }

    pub(in crate::drive) fn set_turn_of_planes(&mut self, write_queue: u32, turn: u32) {
        let turns = &mut self.open_round.turns_of_planes;
        if turns.len() <= write_queue as usize {
            turns.resize(write_queue as usize + 1, 0);
        }
        turns[write_queue as usize] = turn;
    }

    fn steps_in_turn(&self) -> Steps {
        let place = |class| self.scheduler.order.iter().position(|&other| other == class);
        let before = place(Class::Collect) < place(Class::Read);
        if before { Steps::BeforeReads } else { Steps::BehindReads }
    }

    /// A unit's channel in the round that is being planned.
    fn round_of(&mut self, unit: UnitId) -> &mut Round {
        let channel = self.units[unit.0 as usize].channel as usize;
        &mut self.open_round.parts[channel % self.gangs.size]
    }
}
