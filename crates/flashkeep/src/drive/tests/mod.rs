//! A drive's backends on their own, driven through the trait that the executor drives them through.

mod cleaning;
mod commands;
mod created;
mod damage;
mod errors;
mod faults;
mod hidden;
mod model;
mod nvram;
mod older;
mod order;
mod packing;
mod physical;
mod rounds;
mod slc;
mod spread;
mod suspend;
mod word_lines;

use super::*;
use crate::config::load_text;
use crate::engine::{
    BackendId, BackendView, Backends, Cause, Command, CompletionPart, CompletionToken, Done, Flags, Page,
    Token, Verb,
};
use crate::flash::{Across, Domain, Geometry, PlaneId};
use std::sync::mpsc;

/// Sends every operation to the test.
struct Wire(mpsc::Sender<LoggedOperation>);

impl DeviceObserver for Wire {
    fn add(&mut self, _: u16, operation: &LoggedOperation) {
        self.0.send(*operation).expect("the test listens");
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

/// A drive, the clock, and all notices of the drive.
struct Rig {
    drive: Drive<Token>,
    now: SimTime,
    wire: mpsc::Receiver<LoggedOperation>,
    operations: Vec<LoggedOperation>,
}

/// Times in round numbers: a command cycle 1 µs, a transfer 10 µs, a read 20 µs, a program 200 µs, an erase 1,500 µs.
const TIMES: &str = "timing = { read_us = 20, program_us = 200, erase_us = 1500, bus_ns_per_byte = 10, command_ns = \
                     1000, erase_command_ns = 1000, erase_setup_ns = 0 }, page_kib = 1, sector_bytes = 1024";
const COMMAND: u64 = 1_000;
const TRANSFER: u64 = 10_240;
const READ: u64 = 20_000;
const PROGRAM: u64 = 200_000;
const ERASE: u64 = 1_500_000;

impl Rig {
    /// A drive of `flash`, cut into `members` along its channels.
    fn new(flash: &str, ftl: &str, members: u32, kind: FlashBackendKind) -> Rig {
        let flash = format!("{TIMES}, {flash}");
        Rig::with(
            &format!("flash = {{ {flash} }}\nftl = {{ over_provisioning = 5, {ftl} }}\n"),
            members,
            kind,
        )
    }

    /// The drive that a text says.
    fn with(text: &str, members: u32, kind: FlashBackendKind) -> Rig {
        let resolved = load_text("small", text, &[]).expect("a drive that makes sense");
        let geometry = Geometry::new(&resolved.pooled_flash());
        let part = |index| geometry.part(Across::Channel, members, index).expect("equal parts");
        let domains: Vec<Domain> = (0..members).map(part).collect();
        let mut drive = Drive::new(&resolved.drive_parameters(kind), &domains);
        let (sender, wire) = mpsc::channel();
        drive.log(Box::new(Wire(sender)));
        Rig { drive, now: SimTime::ZERO, wire, operations: Vec::new() }
    }

    fn ask(&mut self, backend: u16, command: Command, slot: u32, contents: &[Token]) {
        let token = CompletionToken { slot, ..CompletionToken::default() };
        self.drive.submit(self.now, BackendId(backend), &command, token, contents);
    }

    /// What has been done since the last call.
    fn done(&mut self) -> Vec<Done<Token>> {
        self.operations.extend(self.wire.try_iter());
        std::mem::take(self.drive.done())
    }

    /// Lets time pass until `until`; returns the completions of that time.
    fn go_on(&mut self, until: SimTime) -> Vec<Done<Token>> {
        let mut done = self.done();
        while self.drive.step(until) {
            done.extend(self.done());
        }
        self.now = until;
        done
    }

    /// What the host does without time, and nothing counts.
    fn without_time(&mut self, act: impl FnOnce(&mut Rig)) {
        self.settle();
        self.drive.set_untimed(true);
        act(self);
        self.settle();
        self.drive.set_untimed(false);
        self.drive.reset_counters();
        self.operations.clear();
    }

    fn settle(&mut self) -> Vec<Done<Token>> {
        let mut done = self.done();
        while self.drive.step(SimTime(u64::MAX - 1)) {
            self.now = self.drive.now();
            done.extend(self.done());
        }
        assert!(self.drive.is_quiet(), "everything that was asked is answered");
        done
    }
}

fn mapped(pages: u32) -> FlashBackendKind {
    FlashBackendKind::Mapped { pages, hidden: 0, notify_leaving: false, notify_moves: false }
}

fn read(page: u32) -> Command {
    Command::new(Verb::Read, Page::of(page), 1)
}

fn write(page: u32, count: u16) -> Command {
    Command::new(Verb::Write, Page::of(page), count)
}

fn trim(page: u32, count: u16) -> Command {
    Command::new(Verb::Trim, Page::of(page), count)
}

fn before(command: Command) -> Command {
    Command { flags: Flags::BEFORE, ..command }
}

fn tokens(first: u64, count: u16) -> Vec<Token> {
    (first..first + u64::from(count)).map(Token).collect()
}

/// The pages that notices call lost, or leaving.
fn told(done: &[Done<Token>], part: CompletionPart) -> Vec<u32> {
    let of_part = done.iter().filter(|done| done.part == part);
    of_part.map(|done| done.failed.expect("a notice names its page").1.low()).collect()
}
