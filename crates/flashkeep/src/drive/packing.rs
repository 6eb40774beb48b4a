//! Pages of the map that are smaller than those of the flash: S *places* in each of them (`ftl.logical_page_kib`).
//!
//! Maps, blocks, victims, schemes and counts know places only. What is done at once is a page of the flash: a program
//! takes as many pages as wait for the open block of its plane and have places in the next page of it, and the other
//! places stay empty. All of the page crosses the channel, as its check codes cover all of it. Who comes first may wait for
//! others (`ftl.gather_us`), until they fill a page or its time is over. A read brings up all places of a page that are waited for, and those alone cross the channel. A collection reads
//! a page once, keeps what it has read in *hand* until that fills a page (for each stream), and programs the rest when
//! there is nothing more to read.
//!
//! Whoever places pages without time fills every place: nobody waits there, so somebody always comes.
//!
//! A raw leaf has a place for each page, wherever that leaves the others: it programs what waits of a page at once, and
//! what comes later is another, partial program of the same page.
//!
//! Source: Agrawal et al., USENIX ATC 2008, section 3.1 (logical pages of a part of a flash page); ONFI's column addresses
//! and partial page programs.

use super::multiplane::{Share, begins_page};
use super::{Drive, Kind, Lane, Op, Parameters};
use crate::engine::{Cause, Command, Contents, Ticket, Verb};
use crate::flash::{Acknowledge, BusUse, PlaneId, Ppn, UnitId};
use crate::kernel::{Id, SimTime, Span};

/// What a drive with several places in a page of the flash knows besides.
#[derive(Clone, Debug, Default)]
pub(super) struct Packing {
    /// Sectors of a page of the flash, and of one of the map.
    flash_page: u16,
    page: u16,
    /// Pages of each plane's victim that have been read and not yet programmed; with some that are neither any more.
    hands: Vec<Vec<Ppn>>,
    /// Pages that each leaf has placed without time in the page of the flash that it is filling.
    placed: Vec<u32>,
    /// What a raw leaf programs together; empty in between.
    run: Vec<Id<Op>>,
    /// How long a write waits for others, and until when each one does.
    gather: Span,
    until: Vec<SimTime>,
    /// Pages of a read are being queued; the channels that they wait for.
    gathers: bool,
    asked: Vec<usize>,
}

impl Packing {
    pub(super) fn new(drive: &Parameters, planes: u32, leaves: usize) -> Packing {
        let page = drive.page_sectors as u16;
        Packing {
            gather: Span(drive.gather_ns),
            flash_page: page * drive.places as u16,
            page,
            hands: vec![Vec::new(); planes as usize],
            placed: vec![0; leaves],
            ..Packing::default()
        }
    }

    /// What collections have read is gone.
    pub(super) fn empty_hands(&mut self) {
        self.hands.iter_mut().for_each(Vec::clear);
    }

    /// A leaf places a page without time: whether its next one shares a page of the flash with that.
    pub(super) fn stays_in_page(&mut self, ftl: usize, places: u32) -> bool {
        let placed = &mut self.placed[ftl];
        *placed = (*placed + 1) % places;
        *placed != 0
    }
}

/// What a collection does next.
enum Move {
    /// It reads a page of the flash for its valid places, the first of which is this one.
    Read(Ppn, u16),
    /// It programs what it has in hand for a stream.
    Program(Option<u8>),
}

impl<C: Contents> Drive<C> {
    // ---------------------------------------------------------------- writes

    /// Pages that the address binds come together where it binds them to the same plane.
    #[inline(never)]
    pub(super) fn write_packed(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        ticket: Ticket,
        contents: &[C],
        channels: u32,
    ) {
        let places = self.geometry.places;
        let step = if self.stride.is_multiple_of(places) { places } else { 1 };
        let mut at = 0;
        while at < u32::from(command.count) {
            let page = command.start.plus(at);
            let count = (step - page.0 % step).min(u32::from(command.count) - at);
            let contents = if C::KEEP { &contents[at as usize..(at + count) as usize] } else { contents };
            let pool = self.bound_pool(ftl, page.0);
            let part = command.over(page, count as u16);
            self.pool_write(now, ftl, &part, ticket.plus(at), contents, pool, channels);
            at += count;
        }
    }

    /// Whether writes wait for others, and this one does from now on.
    pub(super) fn gathers(&mut self, now: SimTime, op: Id<Op>) -> bool {
        let Packing { gather, until, .. } = &mut self.packing;
        if *gather == Span::ZERO {
            return false;
        }
        if until.len() <= op.index() {
            until.resize(op.index() + 1, SimTime::ZERO);
        }
        until[op.index()] = now + *gather;
        true
    }

    /// Until when the first write of a pool waits for others, if it still does: they do not fill a page of the flash.
    pub(super) fn gathers_until(&self, pool: u32) -> Option<SimTime> {
        let mut at = self.pools[pool as usize].head;
        let until = self.packing.until.get(at.index()).copied().filter(|&until| until > self.now)?;
        let mut pages = 0;
        while at.is_some() {
            let Op { placed, command, next, .. } = self.ops[at];
            pages += u32::from(command.count - placed);
            if pages >= self.geometry.places {
                return None;
            }
            at = next;
        }
        Some(until)
    }

    /// A channel has found nothing to write; where that is because somebody waits for others, it comes back.
    #[inline(never)]
    pub(super) fn come_for_gathered(&mut self, channel: usize) {
        if self.packing.gather == Span::ZERO {
            return;
        }
        for at in 0..self.channels[channel].lanes.len() {
            let pool = self.lanes[self.channels[channel].lanes[at].0 as usize].pool;
            if self.pools[pool as usize].head.is_some()
                && let Some(until) = self.gathers_until(pool)
            {
                self.wake_slot(self.units.len() + channel, until);
            }
        }
    }

    /// The stream of a page that waits.
    pub(super) fn stream_of_waiting(&self, ftl: usize, op: Id<Op>, n: u16) -> u8 {
        self.streams.of_written(ftl, self.ops[op].command.start.0 + u32::from(n))
    }

    /// Programs a page of the flash, or one in each of several planes, with what waits for them.
    #[inline(never)]
    pub(super) fn grant_packed(
        &mut self,
        now: SimTime,
        channel: usize,
        lane: usize,
        plane: PlaneId,
        turn: u32,
    ) -> UnitId {
        self.lanes[lane].turn = turn;
        let Lane { unit, ftl, .. } = self.lanes[lane];
        let mut shares = std::mem::take(&mut self.shares);
        let head = self.pools[self.lanes[lane].pool as usize].head;
        let stream = self.stream_of_waiting(usize::from(ftl), head, self.ops[head].placed);
        self.share_out(lane, plane, stream, &mut shares);
        for share in &mut shares {
            share.ppn = self.place_one(usize::from(ftl), share);
            share.guards = self.take_superseded();
        }
        for share in &shares {
            self.leave_rest(Some(stream), share.plane, share.ppn);
            // What stays empty may be what the host had left.
            if self.blocks.plane(share.plane).free_pages < self.look_below {
                self.look_at(share.plane);
            }
        }
        let summary = self.sealed_by(usize::from(ftl), Some(stream), plane);
        let pages = (0..shares.len()).filter(|&at| begins_page(&shares, at)).count() as u64;
        let each = self.timing.command + self.timing.transfer(self.packing.flash_page);
        let sent = each * pages + self.register * (pages - 1);
        let array = self.array_program(shares[0].ppn) + summary;
        let durable = self.start_program(now, unit, now + sent, array);
        let held = if self.bus == BusUse::Operations { durable.since(now) } else { sent };
        self.occupy_channel(now, channel, held);
        self.tell_packed(now, unit, &shares, durable);
        for share in &shares {
            self.take_if_placed(lane, share);
        }
        self.counters.multi_plane[Kind::Program as usize] += u64::from(pages > 1);
        shares.clear();
        self.shares = shares;
        self.next_turn(usize::from(ftl));
        unit
    }

    /// The pages of a program are known; so is when each was sent.
    fn tell_packed(&mut self, now: SimTime, unit: UnitId, shares: &[Share], durable: SimTime) {
        let whole = self.packing.flash_page;
        let (mut start, mut sent) = (now, now);
        for (at, share) in shares.iter().enumerate() {
            let begins = begins_page(shares, at);
            if begins {
                start = if at == 0 { now } else { sent + self.register };
                sent = start + self.timing.command + self.timing.transfer(whole);
            }
            self.counters.along[Kind::Program as usize] += u64::from(!begins);
            let acknowledged = if self.acknowledge == Acknowledge::Transfer { sent } else { durable };
            self.ops[share.op].note_placed(now, acknowledged, durable);
            self.guard(share.guards, durable);
            let Op { command, ftl, .. } = self.ops[share.op];
            self.note_programmed(unit, share.ppn, at == 0);
            self.counters.count(ftl, Kind::Program, command.cause);
            if begins {
                self.tell(start, durable, share.ppn, Kind::Program, command.cause, whole);
            } else {
                self.tell_along(start, durable, share.ppn, Kind::Program, command.cause, Span::ZERO);
            }
        }
    }

    /// What is left of a page of the flash stays empty.
    fn leave_rest(&mut self, stream: Option<u8>, plane: PlaneId, programmed: Ppn) {
        while self.blocks.goes_on(stream, plane, programmed) {
            let left = self.blocks.leave_empty(stream, plane);
            self.note_spare(left, 0, 0);
            self.counters.empty_places += 1;
        }
    }

    /// If what was programmed last has filled the block of a stream, the block's summary follows, which takes so long.
    fn sealed_by(&mut self, ftl: usize, stream: Option<u8>, plane: PlaneId) -> Span {
        if !self.summaries || self.blocks.front(stream, plane).is_some() {
            return Span::ZERO;
        }
        self.counters.count(ftl as u16, Kind::Program, Cause::Metadata);
        self.timing.summary
    }

    // ---------------------------------------------------------------- reads

    /// All pages of a read are queued before any of them begins.
    #[inline(never)]
    pub(super) fn read_packed(&mut self, now: SimTime, ftl: usize, command: &Command, ticket: Ticket) {
        self.packing.gathers = true;
        for n in 0..u32::from(command.count) {
            self.read_page(now, ftl, command.over(command.start.plus(n), 1), ticket.plus(n));
        }
        self.packing.gathers = false;
        for at in 0..self.packing.asked.len() {
            self.visit(now, self.packing.asked[at]);
        }
        self.packing.asked.clear();
    }

    /// Whether a page that waits for a channel may share a read with pages that come at the same time.
    pub(super) fn waits_for_others(&mut self, channel: usize) -> bool {
        let Packing { gathers, asked, .. } = &mut self.packing;
        if *gathers && !asked.contains(&channel) {
            asked.push(channel);
        }
        *gathers
    }

    // ---------------------------------------------------------------- collection

    /// The next step of a collection that goes step by step; false where it cannot be done now.
    pub(super) fn collect_packed(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        plane: PlaneId,
        victim: u32,
    ) -> bool {
        loop {
            match self.next_move(plane, victim) {
                None => return self.erase_victim(now, channel, unit, plane, victim),
                Some(Move::Read(first, pages)) => {
                    let sectors = pages * self.packing.page;
                    self.units[unit.0 as usize].carries = sectors;
                    self.tell_moves(now, plane, first, pages);
                    let cause = self.moves_because(plane);
                    self.start_array_read(now, channel, unit, first, 1, cause);
                    return true;
                }
                Some(Move::Program(stream)) => {
                    let Some(first) = self.program_hand(now, unit, plane, stream) else { continue };
                    let sent = self.timing.command + self.timing.transfer(self.packing.flash_page);
                    let array = self.array_program(first) + self.sealed_by(self.ftl_of(plane), stream, plane);
                    let durable = now + sent + array;
                    let held = if self.bus == BusUse::Operations { sent + array } else { sent };
                    self.occupy_channel(now, channel, held);
                    self.occupy_unit(now, unit, durable);
                    self.tell_programs(now, durable, unit, plane);
                    return true;
                }
            }
        }
    }

    /// A plane's collection is over, or begins again: it has read nothing yet.
    pub(super) fn empty_hand(&mut self, plane: PlaneId) {
        if self.packs {
            self.packing.hands[plane.0 as usize].clear();
        }
    }

    /// All moves of a victim in one go; how long they hold the channel.
    pub(super) fn move_packed(&mut self, now: SimTime, unit: UnitId, plane: PlaneId, victim: u32) -> Span {
        // What was read in an idle moment is read again.
        self.collections[plane.0 as usize].cursor = 0;
        let (mut held, cause) = (Span::ZERO, self.moves_because(plane));
        while let Some(next) = self.next_move(plane, victim) {
            let start = now + held;
            let kind = match next {
                Move::Read(first, pages) => {
                    self.tell_moves(start, plane, first, pages);
                    held += self.read_time(first, pages);
                    Kind::Read
                }
                Move::Program(stream) => {
                    let Some(first) = self.program_hand(now, unit, plane, stream) else { continue };
                    held += self.timing.command + self.timing.transfer(self.packing.flash_page);
                    held += self.array_program(first) + self.sealed_by(self.ftl_of(plane), stream, plane);
                    self.tell_programs(start, now + held, unit, plane);
                    Kind::Program
                }
            };
            self.tell_part(now, now + held, unit, kind, cause);
        }
        held
    }

    /// Whatever fills a page is programmed; then the next page is read, and at last what is left in hand is programmed.
    /// None where nothing is left to move.
    fn next_move(&mut self, plane: PlaneId, victim: u32) -> Option<Move> {
        let mut hand = std::mem::take(&mut self.packing.hands[plane.0 as usize]);
        let (geometry, cursor) = (&self.geometry, self.collections[plane.0 as usize].cursor);
        hand.retain(|&ppn| {
            let waits = geometry.block_of(ppn) == victim && geometry.page_of(ppn) < cursor;
            waits && self.is_current(plane, self.blocks.owner(ppn), ppn)
        });
        let unread = self.blocks.valid_in(plane, victim) > hand.len() as u32;
        let stream = |ppn: &Ppn| self.stream_of_move(plane, self.blocks.owner(*ppn));
        let waiting = |of: Option<u8>| hand.iter().filter(|ppn| stream(ppn) == of).count() as u32;
        let full = if self.streams.are_several() {
            hand.iter().map(stream).find(|&of| waiting(of) >= geometry.places)
        } else {
            hand.first().filter(|_| hand.len() as u32 >= geometry.places).map(stream)
        };
        let next = match full {
            Some(stream) => Some(Move::Program(stream)),
            None if unread => Some(self.take_in_hand(plane, victim, &mut hand)),
            None => hand.first().map(|first| Move::Program(stream(first))),
        };
        self.packing.hands[plane.0 as usize] = hand;
        next
    }

    /// The valid places of the victim's next page are in hand.
    fn take_in_hand(&mut self, plane: PlaneId, victim: u32, hand: &mut Vec<Ppn>) -> Move {
        let (_, first) = self.next_valid(plane, victim).expect("a valid page that has not been read");
        let places = self.geometry.places;
        let end = (self.geometry.flash_page_of(first) + 1) * places;
        let before = hand.len();
        hand.push(first);
        for page in self.geometry.page_of(first) + 1..end {
            let ppn = self.geometry.ppn(plane, victim, page);
            if self.is_current(plane, self.blocks.owner(ppn), ppn) {
                hand.push(ppn);
            }
        }
        self.collections[plane.0 as usize].cursor = end;
        Move::Read(first, (hand.len() - before) as u16)
    }

    /// Moves what is in hand for a stream to the next page of it, in the order in which it was read: the first page that
    /// has moved. None where none has: they have been lost, or went to the controller's memory.
    fn program_hand(
        &mut self,
        now: SimTime,
        unit: UnitId,
        plane: PlaneId,
        stream: Option<u8>,
    ) -> Option<Ppn> {
        let mut hand = std::mem::take(&mut self.packing.hands[plane.0 as usize]);
        let mut first = None;
        hand.retain(|&from| {
            let lpn = self.blocks.owner(from);
            let full = first.is_some_and(|first| !self.blocks.goes_on(stream, plane, first));
            if full || self.stream_of_move(plane, lpn) != stream {
                return true;
            }
            if !(self.damaged && self.cannot_move(now, plane, lpn, from)) {
                let to = self.move_page(unit, plane, lpn, from);
                self.tell_moved(plane, lpn);
                self.note_programmed(unit, to, first.is_none());
                first.get_or_insert(to);
            }
            false
        });
        self.packing.hands[plane.0 as usize] = hand;
        let first = first?;
        self.leave_rest(stream, plane, first);
        Some(first)
    }

    /// A page of the flash is read for so many places, those that came in hand last.
    fn tell_moves(&mut self, start: SimTime, plane: PlaneId, first: Ppn, pages: u16) {
        let (ftl, cause) = (self.ftl_of(plane) as u16, self.moves_because(plane));
        let end = start + self.read_time(first, pages);
        self.counters.add(ftl, Kind::Read, cause, u64::from(pages));
        self.counters.along[Kind::Read as usize] += u64::from(pages) - 1;
        self.tell(start, end, first, Kind::Read, cause, pages * self.packing.page);
        let hand = &self.packing.hands[plane.0 as usize];
        let along = hand.len() + 1 - usize::from(pages)..hand.len();
        for at in along {
            let ppn = self.packing.hands[plane.0 as usize][at];
            self.tell_along(start, end, ppn, Kind::Read, cause, Span::ZERO);
        }
    }

    fn read_time(&self, first: Ppn, pages: u16) -> Span {
        let sent = self.timing.transfer(pages * self.packing.page);
        self.timing.command + self.array_read(first) + sent
    }

    /// What a collection has programmed last.
    fn tell_programs(&mut self, start: SimTime, end: SimTime, unit: UnitId, plane: PlaneId) {
        let (ftl, cause) = (self.ftl_of(plane) as u16, self.moves_because(plane));
        for at in 0..self.units[unit.0 as usize].together.len() {
            let ppn = self.units[unit.0 as usize].together[at];
            self.counters.count(ftl, Kind::Program, cause);
            self.counters.along[Kind::Program as usize] += u64::from(at > 0);
            if at == 0 {
                self.tell(start, end, ppn, Kind::Program, cause, self.packing.flash_page);
            } else {
                self.tell_along(start, end, ppn, Kind::Program, cause, Span::ZERO);
            }
        }
    }

    /// Pages of a plane that the moves of so many may take.
    pub(super) fn room_to_move(&self, valid: u32) -> u32 {
        match self.packs {
            false => valid,
            true if self.streams.are_several() => valid + u32::from(self.blocks.padding()),
            true => valid.next_multiple_of(self.geometry.places),
        }
    }

    // ---------------------------------------------------------------- raw leaves

    /// Programs the first page of a raw leaf's pool, which has been taken out, with those that follow it there and in the
    /// same page of the flash.
    pub(super) fn program_raw_packed(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        pool: usize,
        first: Id<Op>,
    ) {
        let mut run = std::mem::take(&mut self.packing.run);
        run.push(first);
        let ppn = self.ops[first].ppn;
        let joins = |op: &Op| op.command.verb == Verb::Write && self.geometry.share_a_page(op.ppn, ppn);
        while self.pools[pool].head.is_some() && joins(&self.ops[self.pools[pool].head]) {
            run.push(self.pools[pool].pop(&mut self.ops));
        }
        let sectors = |op: &Id<Op>| match self.ops[*op].command.sectors {
            0 => self.packing.page,
            sectors => sectors,
        };
        let sectors = run.iter().map(sectors).sum();
        let ends = self.program::<false>(now, channel, unit, ppn, sectors, Span::ZERO);
        for (at, &op) in run.iter().enumerate() {
            let Op { ppn, command, .. } = self.ops[op];
            self.note_programmed(unit, ppn, at == 0);
            self.place_raw(op);
            self.counters.along[Kind::Program as usize] += u64::from(at > 0);
            if at == 0 {
                self.tell(now, ends.1, ppn, Kind::Program, command.cause, sectors);
            } else {
                self.tell_along(now, ends.1, ppn, Kind::Program, command.cause, Span::ZERO);
            }
            self.settle_raw(now, op, ends);
        }
        run.clear();
        self.packing.run = run;
    }
}
