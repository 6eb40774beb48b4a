//! Builder for plans over blocks. Copies are read in one stage and programmed in the next. The blocks they
//! came from are erased when the copies are durable; no request waits for that. The host's own pages are
//! programmed after the last copies.

use super::BACKEND;
use super::remains::IN_LOG;
use crate::engine::{Cause, Command, Key, Page, Plan, Release, Step, Verb};

/// The stage of 256 from which on wear leveling adds no more: the merges of a plan take half of them at most.
const LONG: u8 = 100;

pub(super) struct BlockPlanBuilder<'a> {
    plan: &'a mut Plan,
    command: Command,
    block_pages: u32,
    /// The stage that programs are put into.
    stage: u8,
    /// Steps that write what has been read for the copy that is being made, and the place of its next page.
    writes: Vec<Step>,
    at: u16,
    /// Why blocks are copied and erased.
    cause: Cause,
    /// Blocks to be erased when this stage is durable, and why.
    erases: Vec<(u32, Cause)>,
}

impl<'a> BlockPlanBuilder<'a> {
    /// A plan of the map's own, which has a plane to itself.
    pub(super) fn background(plan: &'a mut Plan, plane: usize, block_pages: u32) -> Self {
        plan.hold = Some(Key(plane as u64));
        BlockPlanBuilder::new(plan, &Command::default(), block_pages)
    }

    pub(super) fn new(plan: &'a mut Plan, command: &Command, block_pages: u32) -> Self {
        plan.release = Release::Submitted;
        let (writes, erases, at) = (Vec::new(), Vec::new(), command.count);
        BlockPlanBuilder {
            plan,
            command: *command,
            block_pages,
            stage: 0,
            writes,
            at,
            cause: Cause::Gc,
            erases,
        }
    }

    /// Copies a logical page to its own place. Pages that are copied together are programmed in order, after all of
    /// them have been read.
    pub(super) fn copy(&mut self, page: u32, from: u32, to: u32) {
        if self.writes.is_empty() {
            self.at = self.command.count;
            if self.stage > 0 || !self.plan.steps.is_empty() {
                self.stage += 1;
            }
            self.erase_now();
        }
        let cause = self.cause;
        let one = |verb, page| Command::new(verb, Page::of(page), 1).because(cause);
        let at = self.at;
        self.at += 1;
        if let (Some(read), Some(write)) = (self.plan.steps.last_mut(), self.writes.last_mut())
            && read.command.verb == Verb::Read
            && read.stage == self.stage
            && read.command.end() as u32 == from
            && write.command.end() as u32 == to
        {
            read.command.count += 1;
            write.command.count += 1;
            return;
        }
        self.plan.push(Step::new(BACKEND, one(Verb::Read, from), at).stage(self.stage));
        let write = Command { to: Page::of(page), ..one(Verb::Write, to) };
        self.writes.push(Step::new(BACKEND, write, at).stage(self.stage + 1));
    }

    /// Programs the copied pages; returns whether there were any.
    pub(super) fn copied(&mut self) -> bool {
        let any = !self.writes.is_empty();
        if any {
            self.stage += 1;
            self.plan.steps.append(&mut self.writes);
        }
        any
    }

    /// Erases the block when all pages programmed so far are durable.
    pub(super) fn erase(&mut self, stored: u32) {
        debug_assert!(self.writes.is_empty(), "copies out of a block are programmed before it is erased");
        self.erases.push((stored - 1, self.cause));
    }

    /// Copies and erases from now on have this cause.
    pub(super) fn because(&mut self, cause: Cause) {
        self.cause = cause;
    }

    /// Whether the plan has too many stages for work that could be left out.
    pub(super) fn is_long(&self) -> bool {
        self.stage > LONG
    }

    fn erase_now(&mut self) {
        for (block, cause) in self.erases.drain(..) {
            let first = Page::of(block * self.block_pages);
            let all = Command::new(Verb::Trim, first, self.block_pages as u16).because(cause);
            self.plan.push(Step::new(BACKEND, all, Step::NOWHERE).stage(self.stage).later());
        }
    }

    /// The host's pages from its `n`th on are programmed at their own places from `to` on; a block that this plan has
    /// given up is erased first.
    pub(super) fn write(&mut self, n: u16, count: u16, to: u32) {
        self.program(n, count, to, 0);
    }

    /// The same, in a log.
    pub(super) fn log(&mut self, n: u16, count: u16, to: u32) {
        self.program(n, count, to, IN_LOG);
    }

    fn program(&mut self, n: u16, count: u16, to: u32, mark: u32) {
        if self.erases.iter().any(|&(block, _)| block == to / self.block_pages) {
            self.stage += 1;
            self.erase_now();
        }
        let beside = Page::of(self.command.start.plus(u32::from(n)).low() | mark);
        let program = Command { to: beside, ..self.command.over(Page::of(to), count) };
        self.plan.push(Step::new(BACKEND, program, n).stage(self.stage));
    }

    /// Completes the plan.
    pub(super) fn end(mut self) {
        debug_assert!(self.writes.is_empty(), "what is copied is programmed");
        if !self.erases.is_empty() {
            self.stage += 1;
            self.erase_now();
        }
    }
}
