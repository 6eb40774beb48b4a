//! A disk on its own, driven through the trait that the executor drives it through.

mod cache;
mod faults;
mod order;
mod power;
mod queueing;
mod seek;
mod service;

use super::*;
use crate::config::{Resolved, load, load_text};
use crate::engine::{Cause, CompletionPart, Token};
use crate::kernel::Random;

/// Later than anything, and yet an instant.
const LAST: SimTime = SimTime(u64::MAX - 1);
const BACKEND: BackendId = BackendId(3);

/// A disk, the clock, and the accesses that it has reported.
struct Rig {
    disk: Disk<Token>,
    now: SimTime,
}

fn preset(set: &[&str]) -> Resolved {
    let set: Vec<String> = set.iter().map(ToString::to_string).collect();
    load("st3500630a", &set).unwrap_or_else(|error| panic!("{error}"))
}

impl Rig {
    /// The disk of the hybrid backup study, with some keys set.
    fn new(set: &[&str]) -> Rig {
        Rig::of(preset(set).disk().expect("a disk"))
    }

    /// A small disk in round numbers: 10 ms a revolution of 40 sectors (5 pages), a head, 100 cylinders; a seek takes
    /// 1 ms and 0.1 ms a cylinder.
    fn small(keys: &str) -> Rig {
        let text = format!(
            "[disk]\nrpm = 6000\ncapacity_gb = 0.002048\nheads = 1\nzones = 1\nrate_outer_mb_s = 2.048\n\
             rate_inner_mb_s = 2.048\ncommand_ms = 0.5\ninterface_mb_s = 20.48\n{keys}\n[disk.seek]\ncurve = \"table\"\n\
             points = [1, 1.1, 100, 11]"
        );
        Rig::of(
            load_text("small", &text, &[]).unwrap_or_else(|error| panic!("{error}")).disk().expect("a disk"),
        )
    }

    fn of(spec: &DiskSpec) -> Rig {
        Rig { disk: Disk::new(spec, BACKEND, 7), now: SimTime::ZERO }
    }

    fn ask(&mut self, command: Command, slot: u32, contents: &[Token]) {
        self.disk.submit(
            self.now,
            BACKEND,
            &command,
            CompletionToken { slot, ..CompletionToken::default() },
            contents,
        );
    }

    fn done(&mut self) -> Vec<Done<Token>> {
        std::mem::take(self.disk.done())
    }

    /// Lets everything be begun.
    fn settle(&mut self) -> Vec<Done<Token>> {
        while self.disk.step(LAST) {
            self.now = self.disk.now();
        }
        let done = self.done();
        assert!(self.disk.is_quiet(), "everything that was asked is answered");
        done
    }

    /// One command at a time: when it is done, and the clock with it.
    fn one(&mut self, command: Command) -> SimTime {
        self.ask(command, 0, &[]);
        self.now = self.settle().last().expect("an answer").durable;
        self.now
    }

    /// What one more command takes, ms.
    fn takes(&mut self, command: Command) -> f64 {
        let before = self.now;
        self.one(command).since(before).0 as f64 / 1e6
    }
}

fn read(page: u32, count: u16) -> Command {
    Command::new(Verb::Read, Page::of(page), count)
}

fn write(page: u32, count: u16) -> Command {
    Command::new(Verb::Write, Page::of(page), count)
}

fn background(command: Command) -> Command {
    Command { flags: Flags::BACKGROUND, ..command }
}

fn before(command: Command) -> Command {
    Command { flags: Flags::BEFORE, ..command }
}

fn tokens(first: u64, count: u16) -> Vec<Token> {
    (first..first + u64::from(count)).map(Token).collect()
}

/// When each slot was done, in ms, in the order in which it was reported.
fn ends(done: &[Done<Token>]) -> Vec<(u32, f64)> {
    done.iter().map(|done| (done.token.slot, done.durable.0 as f64 / 1e6)).collect()
}
