//! Programs of several pages of the map: pages that are smaller than those of the flash have S *places* in each of them
//! (`ftl.logical_page_kib`), and one program may fill several pages of the flash, a *word line*
//! (`flash.pages_per_program`). Without that a page of the flash is a word line.
//!
//! Maps, blocks, victims, schemes and counts know places only. A program takes as many pages as wait for the open block
//! of its plane and have places in the next word line of it, and the other places stay empty. All of a flash page that
//! has a page crosses the channel, as its check codes cover all of it; one without stays erased and is not sent. The
//! first page may wait for others (`ftl.gather_us`) until they fill a word line or its time is over. A read takes a whole
//! page of the flash: it reads all slots of a flash page for which reads wait, and only these cross the
//! channel. GC reads a flash page once, keeps its pages in *hand* until they fill a word line (for each stream), and
//! programs the rest when no more pages are left to read.
//!
//! Placement without time fills every slot, because no page has to wait for others. Pages from before time 0 lie where
//! their addresses say (`by_address`).
//!
//! In a backend of physical pages each page has a fixed slot: the drive programs the waiting pages of a flash page
//! together, and later ones by another, partial program of the same flash page. The flash forbids a second program of a
//! word line of several flash pages, so a drive with such a backend programs page by page.
//!
//! Source: Agrawal et al., USENIX ATC 2008, section 3.1 (logical pages of a part of a flash page); ONFI's column
//! addresses and partial page programs.

use super::backend::DieQueue;
use super::{DriveBackends, Packing, Power, Translation};
use crate::drive::Parameters;
use crate::drive::controller::{Controller, DriveOp, PageWrite};
use crate::engine::{Command, CompletionToken, Contents, Flags, Verb};
use crate::flash::{FlashArray, Geometry, OpKind, PlaneId, Ppn, Target};
use crate::ftl::SLC_STREAM;
use crate::kernel::{Id, SimTime, Span};

impl<C: Contents> Translation<C> {
    /// The stream of a page that waits.
    pub(super) fn stream_of_waiting(
        &self,
        ftl: usize,
        op: Id<DriveOp>,
        n: u16,
        controller: &Controller<C>,
    ) -> u8 {
        let command = &controller.queues[op].command;
        self.streams.of_command(ftl, command.start.low() + u32::from(n), command)
    }

    /// The remaining places of a word line stay empty.
    pub(super) fn leave_rest(
        &mut self,
        stream: Option<u8>,
        plane: PlaneId,
        programmed: Ppn,
        power: &mut Power,
        controller: &mut Controller<C>,
    ) {
        while self.blocks.goes_on(stream, plane, programmed) {
            let left = self.blocks.leave_empty(stream, plane);
            power.note_oob(left, 0, 0);
            controller.accounts.counters_mut().empty_places += 1;
        }
    }

    /// The number of pages of a plane that this many moves may take.
    pub(super) fn room_to_move(&self, valid: u32) -> u32 {
        let word_line = self.blocks.geometry().word_line;
        match word_line > 1 {
            false => valid,
            true if self.streams.are_several() => valid + u32::from(self.blocks.padding()),
            true => valid.next_multiple_of(word_line),
        }
    }
}

impl Packing {
    pub(in crate::drive) fn new(drive: &Parameters, geometry: &Geometry, backends: usize) -> Packing {
        let page = drive.page_sectors as u16;
        Packing {
            active: geometry.word_line > 1,
            shares: geometry.places > 1,
            gather: Span(drive.gather_ns),
            flash_page: page * geometry.places as u16,
            page,
            placed: vec![0; backends],
            ..Packing::default()
        }
    }

    /// Whether writes wait for others.
    pub(in crate::drive) fn gathers_writes(&self) -> bool {
        self.gather > Span::ZERO
    }

    /// A backend places a page without time: whether its next one shares a word line with that.
    pub(super) fn stays_in_word_line(&mut self, ftl: usize, places: u32) -> bool {
        let placed = &mut self.placed[ftl];
        *placed = (*placed + 1) % places;
        *placed != 0
    }

    /// Whether writes wait for others, and this one does from now on. One that may not wait ends the wait of its queue.
    pub(super) fn gathers<C: Contents>(
        &mut self,
        now: SimTime,
        write_queue: u32,
        op: Id<DriveOp>,
        controller: &Controller<C>,
    ) -> bool {
        let Packing { gather, until, .. } = self;
        if *gather == Span::ZERO {
            return false;
        }
        if until.len() <= op.index() {
            until.resize(op.index() + 1, SimTime::ZERO);
        }
        until[op.index()] = now + *gather;
        if controller.queues[op].command.flags.has(Flags::SOON) {
            self.stop_gathering(write_queue, controller);
        }
        true
    }

    /// The writes of a queue wait for others no more.
    pub(super) fn stop_gathering<C: Contents>(&mut self, write_queue: u32, controller: &Controller<C>) {
        let mut at = controller.queues.first_write(write_queue);
        while at.is_some() {
            // One that a failed block has sent back did not wait.
            if let Some(until) = self.until.get_mut(at.index()) {
                *until = SimTime::ZERO;
            }
            at = controller.queues[at].next;
        }
    }

    /// Until when the first write of a write queue waits for others, if it still does: they do not fill a word line.
    pub(in crate::drive) fn gathers_until<C: Contents>(
        &self,
        write_queue: u32,
        ftl: &Translation<C>,
        controller: &Controller<C>,
    ) -> Option<SimTime> {
        let mut at = controller.queues.first_write(write_queue);
        let until = self.until.get(at.index()).copied().filter(|&until| until > controller.now)?;
        let together = ftl.gathered_pages(usize::from(controller.queues[at].ftl));
        let mut pages = 0;
        while at.is_some() {
            let DriveOp { placed, command, next, .. } = controller.queues[at];
            pages += u32::from(command.count - placed);
            if pages >= together {
                return None;
            }
            at = next;
        }
        Some(until)
    }

    /// When a write that waits for others, and that a channel could take, waits for them no more.
    pub(super) fn gathered_at<C: Contents>(
        &self,
        channel: usize,
        ftl: &Translation<C>,
        controller: &Controller<C>,
    ) -> Option<SimTime> {
        if self.gather == Span::ZERO {
            return None;
        }
        let all = controller.dies.channel(channel).die_queues.iter();
        let write_queues = all.map(|&(die_queue, _)| ftl.die_queues[die_queue as usize].write_queue);
        // Dies with one queue of writes follow each other.
        let mut last = None;
        let others = write_queues.filter(|&write_queue| last.replace(write_queue) != Some(write_queue));
        let waiting = others.filter(|&write_queue| controller.queues.has_writes(write_queue));
        waiting.filter_map(|write_queue| self.gathers_until(write_queue, ftl, controller)).min()
    }

    /// Takes the first write out of a physical-page backend's write queue, and those that follow it there and are in
    /// the same page of the flash.
    pub(in crate::drive) fn gather_physical<C: Contents>(
        &self,
        write_queue: u32,
        plane: PlaneId,
        pages: &mut Vec<PageWrite>,
        controller: &mut Controller<C>,
    ) {
        let first = controller.queues[controller.queues.first_write(write_queue)].ppn;
        loop {
            let op = controller.queues.pop(write_queue);
            pages.push(controller.queues.page_of_write(op, 0, plane));
            let next = controller.queues.first_write(write_queue);
            let counters = |op: &DriveOp| {
                op.command.verb == Verb::Write && controller.flash.geometry.share_a_page(op.ppn, first)
            };
            if !(self.active && next.is_some() && counters(&controller.queues[next])) {
                break;
            }
        }
        if self.active {
            let whole = |sectors| if sectors == 0 { self.page } else { sectors };
            pages[0].target.sectors = pages.iter().map(|page| whole(page.target.sectors)).sum();
            pages[1..].iter_mut().for_each(|page| page.target.along = true);
        }
    }

    /// The pages of a program of several, which have their places: all of each flash page crosses the channel, once.
    pub(super) fn share_flash_pages(&self, pages: &mut [PageWrite], geometry: &Geometry) {
        for at in 0..pages.len() {
            let target = Target::sectors(pages[at].target.to, self.flash_page);
            let before = at.checked_sub(1).map(|before| pages[before].target.to);
            let along = before.is_some_and(|before| geometry.share_a_page(before, target.to));
            pages[at].target = Target { along, ..target };
        }
    }

    /// The time to read this many pages of a flash page, if no other operation runs.
    pub(super) fn time_of_reads(&self, first: Ppn, pages: u16, flash: &FlashArray) -> Span {
        let target = Target::sectors(first, pages * self.page);
        flash.timing.cost_of(&flash.geometry, OpKind::Read, target).whole()
    }
}

impl<C: Contents> DriveBackends<C> {
    // ---------------------------------------------------------------- writes

    /// Pages that the address binds come together where it binds them to the same plane.
    #[inline(never)]
    pub(super) fn write_packed(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        let channels = self.ftl.channels_offered(ftl);
        let Geometry { places, word_line, .. } = self.flash.geometry;
        let fits = |step: &u32| self.ftl.placement.stride.is_multiple_of(*step);
        let step = [word_line, places].into_iter().find(fits).unwrap_or(1);
        let mut at = 0;
        while at < u32::from(command.count) {
            let page = command.start.plus(at);
            let count = (step - page.low() % step).min(u32::from(command.count) - at);
            let contents = if C::KEEP { &contents[at as usize..(at + count) as usize] } else { contents };
            let write_queue = self.ftl.bound_write_queue(ftl, page.low(), controller);
            let part = command.over(page, count as u16);
            self.queue_write(now, ftl, &part, token.plus(at), contents, write_queue, channels, controller);
            at += count;
        }
    }

    /// A FLUSH: all writes are programmed with what there is.
    #[cold]
    pub(in crate::drive) fn end_all_gathering(&mut self, now: SimTime, controller: &mut Controller<C>) {
        if !self.packing.active || !self.packing.gathers_writes() || self.immediate.active {
            return;
        }
        controller.now = now;
        for die_queue in 0..self.ftl.die_queues.len() {
            let DieQueue { ftl, write_queue, .. } = self.ftl.die_queues[die_queue];
            if controller.queues.has_writes(write_queue)
                && self.packing.gathers_until(write_queue, &self.ftl, controller).is_some()
            {
                self.packing.stop_gathering(write_queue, controller);
                self.offer(
                    now,
                    usize::from(ftl),
                    write_queue,
                    self.ftl.channels_offered(usize::from(ftl)),
                    controller,
                );
            }
        }
    }

    /// The remaining places of the word lines that have been placed stay empty.
    pub(super) fn leave_rest_of(&mut self, pages: &[PageWrite], stream: u8, controller: &mut Controller<C>) {
        if !self.packing.active || self.ftl.physical {
            return;
        }
        for page in pages {
            self.ftl.leave_rest(Some(stream), page.plane, page.target.to, &mut self.power, controller);
            // What stays empty may be what the host had left.
            if self.gc.is_low_for_idle(page.plane, &self.ftl) {
                self.look_at(page.plane, controller);
            }
            if stream == SLC_STREAM && self.ftl.blocks.cache(page.plane).is_between_blocks() {
                self.look_at_cache(page.plane, controller);
            }
        }
    }
}
