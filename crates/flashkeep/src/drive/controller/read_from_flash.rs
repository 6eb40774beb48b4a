//! Reads in flight from flash (`ftl.read_in_flight = "flash"`): a read of a page that is being written waits until the
//! page has a place, and then in the queue of that die, after the program.
//!
//! Source: the DiskSim extension of Agrawal et al., USENIX ATC 2008, whose controller keeps no page.

use super::queue::DriveOp;
use super::{Controller, PageOwner};
use crate::engine::{Command, CompletionToken, Contents};
use crate::flash::{OpKind, Ppn, Target};
use crate::kernel::{Id, SimTime};

/// A read, and the page of a write that it waits for.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct ReadBehindWrite {
    pub write: Id<DriveOp>,
    pub n: u16,
    pub read: Id<DriveOp>,
}

impl<C: Contents> Controller<C> {
    /// A read waits until a page of a write has its place.
    pub(in crate::drive) fn wait_behind(
        &mut self,
        ftl: usize,
        command: Command,
        token: CompletionToken,
        (write, n): (Id<DriveOp>, u16),
        contents: C,
    ) {
        let (since, late) = (self.now, self.admitted > self.now);
        let op = DriveOp { token, command, ftl: ftl as u16, since, late, ..DriveOp::default() };
        let read = self.queues.claim(op);
        if C::KEEP {
            self.queues.carry(read, &[contents]);
        }
        self.queues.behind.push(ReadBehindWrite { write, n, read });
    }

    /// A page of a write has its place and is about to be programmed: reads that wait for it queue at its die.
    #[inline]
    pub(in crate::drive) fn follow(
        &mut self,
        write: Id<DriveOp>,
        n: u16,
        ppn: Ppn,
        backends: &mut impl PageOwner<C>,
    ) {
        if !self.queues.behind.is_empty() {
            self.queue_behind(write, n, ppn, backends);
        }
    }

    #[cold]
    fn queue_behind(&mut self, write: Id<DriveOp>, n: u16, ppn: Ppn, backends: &mut impl PageOwner<C>) {
        let waits = |behind: &mut ReadBehindWrite| (behind.write.raw(), behind.n) == (write.raw(), n);
        let reads: Vec<Id<DriveOp>> =
            self.queues.behind.extract_if(.., waits).map(|behind| behind.read).collect();
        for read in reads {
            let target = Target::sectors(ppn, self.queues[read].command.sectors);
            let phases = self.flash.timing.cost_of(&self.flash.geometry, OpKind::Read, target);
            let service = phases.sense + phases.data_out;
            let course = self.draw_errors(self.now, ppn, self.queues[read].command.sectors, backends);
            let this = &mut self.queues[read];
            (this.ppn, this.service, this.course) = (ppn, service, course);
            let unit = self.dies.unit_of_page(&self.flash.geometry, ppn);
            let state = &mut self.dies[unit];
            state.reads.push(&mut self.queues.ops, read);
            state.queued += service;
            let (channel, bit) = (state.channel as usize, state.bit);
            self.dies.channels[channel].waiting |= bit;
        }
    }

    /// A write has ended: reads that still wait for a page of it that got no place are served from memory.
    #[inline]
    pub(in crate::drive) fn answer_behind(&mut self, now: SimTime, write: Id<DriveOp>) {
        if !self.queues.behind.is_empty() {
            self.answer_those_behind(now, |_, behind| behind.write.raw() == write.raw());
        }
    }

    /// A backend has become degraded: its pages may wait for ever, so waiting reads are served from memory.
    pub(in crate::drive) fn answer_all_behind(&mut self, now: SimTime, ftl: usize) {
        self.answer_those_behind(now, |this, behind| usize::from(this.queues[behind.read].ftl) == ftl);
    }

    #[cold]
    fn answer_those_behind(&mut self, now: SimTime, which: impl Fn(&Self, &ReadBehindWrite) -> bool) {
        for behind in std::mem::take(&mut self.queues.behind) {
            if !which(self, &behind) {
                self.queues.behind.push(behind);
                continue;
            }
            let (token, contents) = (self.queues[behind.read].token, self.queues.take_carried(behind.read));
            self.answer_in_flight(now, token, contents);
            self.queues.release(behind.read);
        }
    }
}
