//! The phases of an operation on a die, in every command mode. No other code adds command, transfer and array times.
//!
//! | mode | channel | array |
//! |---|---|---|
//! | read | a command for each plane; later, separately granted, the data of each target | the slowest page once |
//! | program | command and data of each flash page, `register` between two of them | once, then the summary pages: a transfer each, and once |
//! | several logical pages of one flash page | command and data of the flash page once | once |
//! | several flash pages of one word line | as of planes | once, for the slowest page |
//! | cache program | the same while the program before still works | when the data and the array are there, after `register` |
//! | copyback | a command for each flash page | a read of each, program once, then the summary page |
//! | erase | a command for each plane | once |
//! | bus held for whole operations | the above and the array | |
//! | rounds | all units begin together, their transfers follow each other | each after its own transfer |

use super::BusUse;
use super::{Geometry, Ppn, Timing};
use crate::kernel::{SimTime, Span};

/// A kind of flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Read: a page leaves the array.
    Read,
    /// Program: a page enters the array.
    Program,
    /// A block is erased.
    Erase,
    /// A page is moved within its plane, without crossing the pins: a read and a program in one.
    Copyback,
}

impl OpKind {
    /// All of them, in order.
    pub const ALL: [OpKind; 4] = [OpKind::Read, OpKind::Program, OpKind::Erase, OpKind::Copyback];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OpKind::Read => "read",
            OpKind::Program => "program",
            OpKind::Erase => "erase",
            OpKind::Copyback => "copyback",
        }
    }
}

/// A page that an operation reads, programs or copies, or the first page of a block that it erases.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target {
    /// The page.
    pub to: Ppn,
    /// With copyback: the page that it is copied from.
    pub from: Ppn,
    /// Sectors that cross the channel; 0 for all sectors of a logical page.
    pub sectors: u16,
    /// Whether the page shares its flash page with the target before it, and so takes no time of its own.
    pub along: bool,
}

impl Target {
    /// A whole page.
    #[must_use]
    pub fn page(to: Ppn) -> Target {
        Target { to, ..Target::default() }
    }

    /// This many sectors of a page.
    #[must_use]
    #[inline]
    pub fn sectors(to: Ppn, sectors: u16) -> Target {
        Target { to, sectors, ..Target::default() }
    }
}

/// One operation on one die. Its targets are in different planes, or share word lines or flash pages; those of a word line
/// follow each other, in order.
#[derive(Clone, Copy, Debug)]
pub struct FlashOp<T> {
    /// The kind of operation.
    pub kind: OpKind,
    /// The pages.
    pub targets: T,
    /// Blocks that these pages fill: their summary pages are programmed after them, together.
    pub summaries: u32,
}

/// How long each phase of an operation lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpPhases {
    /// Command and address cycles on the channel.
    pub command: Span,
    /// Data on the channel before the array works.
    pub data_in: Span,
    /// Array to register.
    pub sense: Span,
    /// Register to array, or the erase.
    pub program: Span,
    /// The block's summary page.
    pub summary: Span,
    /// Data on the channel after the array has worked: granted separately, unless the whole operation is.
    pub data_out: Span,
}

impl OpPhases {
    /// How long the channel is in use before the array works.
    #[must_use]
    #[inline(always)]
    pub fn sent(&self) -> Span {
        self.command + self.data_in
    }

    /// How long the array works.
    #[must_use]
    #[inline(always)]
    pub fn array(&self) -> Span {
        self.sense + self.program + self.summary
    }

    /// How long the operation holds its channel from its grant on, the data of a read left out.
    #[must_use]
    #[inline(always)]
    pub fn held(&self, bus: BusUse) -> Span {
        if bus == BusUse::Operations { self.busy() } else { self.sent() }
    }

    /// How long the operation takes from its grant until its array has worked.
    #[must_use]
    #[inline(always)]
    pub fn busy(&self) -> Span {
        self.sent() + self.array()
    }

    /// How long the operation takes in all, if nothing else is done meanwhile.
    #[must_use]
    #[inline(always)]
    pub fn whole(&self) -> Span {
        self.busy() + self.data_out
    }
}

impl Timing {
    /// The phases of an operation.
    #[must_use]
    #[inline(always)]
    pub fn cost<T: IntoIterator<Item = Target>>(&self, geometry: &Geometry, op: FlashOp<T>) -> OpPhases {
        let mut phases = OpPhases::default();
        let mut last = None;
        for target in op.targets {
            if !target.along {
                self.add(&mut phases, geometry, op.kind, target, last.is_none());
                last = Some(target.to);
            }
        }
        if op.summaries > 0
            && let Some(last) = last
        {
            phases.summary = self.summaries_of(geometry, last, op.summaries);
        }
        phases
    }

    /// The phases of an operation with a single target, without a summary page.
    #[must_use]
    #[inline(always)]
    pub fn cost_of(&self, geometry: &Geometry, kind: OpKind, target: Target) -> OpPhases {
        let mut phases = OpPhases::default();
        self.add(&mut phases, geometry, kind, target, true);
        phases
    }

    /// Adds a target to the phases of an operation.
    #[inline(always)]
    fn add(&self, phases: &mut OpPhases, geometry: &Geometry, kind: OpKind, target: Target, first: bool) {
        if self.may_be_slow() {
            return self.add_slow(phases, geometry, kind, target, first);
        }
        match kind {
            OpKind::Read => {
                phases.command += self.command;
                phases.sense = phases.sense.max(self.read_of(geometry, target.to));
                phases.data_out += self.transfer(target.sectors);
            }
            OpKind::Program => {
                phases.command += self.command;
                phases.data_in += self.transfer(target.sectors);
                if !first {
                    phases.data_in += self.register;
                }
                phases.program = phases.program.max(self.program_of(geometry, target.to));
            }
            OpKind::Copyback => {
                phases.command += self.command;
                phases.sense += self.read_of(geometry, target.from);
                phases.program = phases.program.max(self.program_of(geometry, target.to));
            }
            OpKind::Erase => {
                phases.command += self.erase_command;
                phases.program = self.erase;
            }
        }
    }

    /// [`Timing::add`] where parts may be slow: each target has the times of its part.
    #[cold]
    #[inline(never)]
    fn add_slow(
        &self,
        phases: &mut OpPhases,
        geometry: &Geometry,
        kind: OpKind,
        target: Target,
        first: bool,
    ) {
        let to = target.to;
        let command = if kind == OpKind::Erase { self.erase_command } else { self.command };
        phases.command += self.on_channel(to, command);
        match kind {
            OpKind::Read => {
                phases.sense = phases.sense.max(self.read_of(geometry, to));
                phases.data_out += self.transfer_of(to, target.sectors);
            }
            OpKind::Program => {
                phases.data_in += self.transfer_of(to, target.sectors);
                if !first {
                    phases.data_in += self.register;
                }
                phases.program = phases.program.max(self.program_of(geometry, to));
            }
            OpKind::Copyback => {
                phases.sense += self.read_of(geometry, target.from);
                phases.program = phases.program.max(self.program_of(geometry, to));
            }
            OpKind::Erase => phases.program = phases.program.max(self.in_array(to, self.erase)),
        }
    }

    /// When a target's command begins, and when its data have been sent, in a program whose targets before it have been
    /// sent at `before` (none for the first, which begins at `start`). A target that shares a flash page was sent with it.
    #[must_use]
    #[inline(always)]
    pub fn sent(
        &self,
        target: &Target,
        start: SimTime,
        before: Option<(SimTime, SimTime)>,
    ) -> (SimTime, SimTime) {
        match before {
            Some(before) if target.along => before,
            _ => {
                let begun = before.map_or(start, |(_, sent)| sent + self.register);
                let command = self.on_channel(target.to, self.command);
                (begun, begun + command + self.transfer_of(target.to, target.sectors))
            }
        }
    }

    /// When the array begins to work: immediately or, with a cache register, at `free_at`, when its current work ends.
    #[must_use]
    #[inline(always)]
    pub fn array_begins(&self, sent: SimTime, cached: bool, free_at: SimTime) -> SimTime {
        // The cache register is empty again when its page has gone into the array's.
        if cached { sent.max(free_at) + self.register } else { sent }
    }

    /// The read time of the slowest flash page.
    #[must_use]
    pub fn slowest_read(&self) -> OpPhases {
        let (sense, data_out) = (self.longest_read(), self.longest_transfer());
        OpPhases { command: self.command, sense, data_out, ..OpPhases::default() }
    }
}

/// A round of units that work in step: their operations begin together, and their transfers follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// When it has begun.
    pub begun: SimTime,
    /// The time of transfers in it so far.
    crossed: Span,
    /// When the last operation so far is done.
    pub end: SimTime,
}

impl Round {
    /// A round without an operation.
    #[must_use]
    pub fn at(begun: SimTime) -> Round {
        Round { begun, crossed: Span::ZERO, end: begun }
    }

    /// Adds an operation; returns when its transfers begin on the channel, and when it is done.
    pub fn add(&mut self, phases: &OpPhases) -> (SimTime, SimTime) {
        let first = self.begun + self.crossed;
        self.crossed += phases.sent() + phases.data_out;
        let end = self.begun + self.crossed + phases.array();
        self.end = self.end.max(end);
        (first, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::{FlashSpec, PageTypes, Times};

    /// A 100 ns command, 300 ns for an erase's, 20 µs reads, 200 µs programs, 1.5 ms erases, 1 ns a byte, pages of eight
    /// sectors.
    fn flash(summary_page: bool) -> (Timing, Geometry) {
        let flash = FlashSpec { pin_bytes_per_sector: 512, summary_page, ..FlashSpec::default() };
        let times = Times {
            read_ns: 20_000,
            program_ns: 200_000,
            erase_ns: 1_500_000,
            command_ns: 100,
            erase_command_ns: 300,
            erase_setup_ns: 0,
            register_ns: 50,
            hit_ns: 0,
            bus_fs_per_byte: 1_000_000,
        };
        let types = PageTypes::new(Vec::new(), vec![0], vec![times.read_ns], vec![times.program_ns]);
        (Timing::new(&flash, &times, &types, 8, 1), Geometry::new(&flash))
    }

    const PAGE: u64 = 4096;

    fn program(count: usize, along: usize) -> FlashOp<Vec<Target>> {
        let one = Target::page(Ppn(0));
        let mut targets = vec![one; count];
        targets.extend(vec![Target { along: true, ..one }; along]);
        FlashOp { kind: OpKind::Program, targets, summaries: 0 }
    }

    #[test]
    fn a_program_sends_command_and_data_and_then_works() {
        let (timing, geometry) = flash(false);
        let phases = timing.cost_of(&geometry, OpKind::Program, Target::page(Ppn(0)));
        assert_eq!((phases.sent(), phases.array()), (Span(100 + PAGE), Span(200_000)));
        assert_eq!(phases.held(BusUse::Transfers), phases.sent());
        assert_eq!(phases.held(BusUse::Operations), Span(100 + PAGE + 200_000));
        let part = timing.cost_of(&geometry, OpKind::Program, Target::sectors(Ppn(0), 3));
        assert_eq!(part.sent(), Span(100 + 3 * 512));
    }

    #[test]
    fn planes_send_one_after_the_other_and_work_once() {
        let (timing, geometry) = flash(false);
        let phases = timing.cost(&geometry, program(3, 0));
        assert_eq!((phases.sent(), phases.array()), (Span(3 * (100 + PAGE) + 2 * 50), Span(200_000)));
        let (one, start) = (Target::page(Ppn(0)), SimTime(1_000));
        let first = timing.sent(&one, start, None);
        let second = timing.sent(&one, start, Some(first));
        assert_eq!(first, (start, start + Span(100 + PAGE)));
        assert_eq!(second, (first.1 + Span(50), first.1 + Span(50 + 100 + PAGE)));
        let third = timing.sent(&one, start, Some(second));
        assert_eq!(third.1, start + phases.sent());
    }

    #[test]
    fn what_shares_a_flash_page_costs_nothing_of_its_own() {
        let (timing, geometry) = flash(false);
        assert_eq!(timing.cost(&geometry, program(1, 3)), timing.cost(&geometry, program(1, 0)));
        let (one, start) = (Target::page(Ppn(0)), SimTime(0));
        let first = timing.sent(&one, start, None);
        assert_eq!(timing.sent(&Target { along: true, ..one }, start, Some(first)), first);
    }

    #[test]
    fn a_read_senses_once_and_a_copyback_sends_no_data() {
        let (timing, geometry) = flash(false);
        let targets = [Target::page(Ppn(0)), Target::sectors(Ppn(0), 1)];
        let read = timing.cost(&geometry, FlashOp { kind: OpKind::Read, targets, summaries: 0 });
        assert_eq!((read.sent(), read.array(), read.data_out), (Span(200), Span(20_000), Span(PAGE + 512)));
        let copy = timing.cost_of(&geometry, OpKind::Copyback, Target::page(Ppn(1)));
        assert_eq!((copy.sent(), copy.array(), copy.data_out), (Span(100), Span(220_000), Span::ZERO));
        let targets = [Target::page(Ppn(0)); 2];
        let erase = timing.cost(&geometry, FlashOp { kind: OpKind::Erase, targets, summaries: 0 });
        assert_eq!((erase.sent(), erase.array()), (Span(600), Span(1_500_000)));
    }

    #[test]
    fn a_summary_page_follows_the_last_page_of_its_block() {
        let (timing, geometry) = flash(true);
        let phases = timing.cost(&geometry, FlashOp { summaries: 1, ..program(1, 0) });
        assert_eq!(phases.array(), Span(200_000 + 512 + 200_000));
    }

    #[test]
    fn a_cache_register_lets_data_in_while_the_array_works() {
        let (timing, _) = flash(false);
        let (sent, free_at) = (SimTime(1_000), SimTime(9_000));
        assert_eq!(timing.array_begins(sent, false, SimTime(0)), sent);
        assert_eq!(timing.array_begins(sent, true, SimTime(0)), sent + Span(50));
        assert_eq!(timing.array_begins(sent, true, free_at), free_at + Span(50));
    }

    #[test]
    fn in_a_round_the_kth_is_done_after_k_transfers() {
        let (timing, geometry) = flash(false);
        let phases = timing.cost_of(&geometry, OpKind::Program, Target::page(Ppn(0)));
        let mut round = Round::at(SimTime(500));
        for k in 1..4 {
            let (first, end) = round.add(&phases);
            assert_eq!(first, SimTime(500) + phases.sent() * (k - 1));
            assert_eq!(end, SimTime(500) + phases.sent() * k + phases.array());
        }
        assert_eq!(round.end, SimTime(500) + phases.sent() * 3 + phases.array());
    }
}
