//! # What it does
//! Data blocks are mapped by block, with every page at its own place in its block. *Log blocks* take the
//! pages that can no longer be programmed there, of any logical block, and have an entry per page. One log
//! block of each plane is reserved for sequential writes: it starts with the first page of a logical block,
//! and when it has been filled in order it replaces that block (*switch merge*). If another logical block
//! needs it before that, the remaining pages are copied into it (*partial merge*). When all of a plane's
//! `ftl.log_blocks` are in use, one is emptied, the oldest unless `ftl.gc.victim` selects another: each logical
//! block with a page in it is merged into a fresh block from wherever its pages are (*full merge*), and its old
//! block is erased.
//!
//! # What it costs
//! A full merge: G pages read and programmed and a block erased, for all of a logical block's pages in logs;
//! and an erase for each log block. A sequentially written block: an erase. A memory entry per block and per
//! log page.
//!
//! After a power loss the recovery finds blocks and logs from the OOB areas of all pages, which name the page
//! and whether it is in a log (`remains.rs`, `docs/power.md`).
//!
//! # Source
//! Lee, Park, Chung, Lee, Park and Song, "A log buffer based flash translation layer using fully associative
//! sector translation" (FAST), ACM TECS 6(3), 2007: the hybrid map that Kim, Park and Shin, "Improving SSD
//! simulator for high reliability of performance evaluation", name beside the page map. Ours: logical blocks
//! are distributed over the planes in turn, each plane with its own logs; the merges that empty a log block
//! are spread over the writes that fill the next one, as late as possible.

use super::base::{Base, MergesBlocks, NONE};
use super::damage::Seat;
use super::work::BlockPlanBuilder;
use super::{BACKEND, BackendKind, LogBlocks, Mapping, MappingEntry, MappingOptions};
use crate::blocks::{Chooser, EraseUnits, Policies};
use crate::engine::{Command, Plan, PlanVerdict, Verb, View};
use crate::options::OptionsPart;
use std::collections::VecDeque;

mod failures;
mod recover;

pub(super) const ENTRY: MappingEntry = MappingEntry {
    name: "hybrid",
    summary: "a log-block map: an entry per block, and logs of pages that are merged into blocks",
    source: include_str!("hybrid.rs"),
    below: BackendKind::Blocks,
    least_spare: (4, "two logs, one for sequential writes, one to merge into"),
    own_victim: Some("fifo"),
    options: &[OptionsPart::of::<LogBlocks>()],
    build: |options| Some(Mapping::Hybrid(Box::new(Hybrid::new(options)))),
};

/// The entry of a slot of a log that holds nothing: its program was cut off, or its page is elsewhere.
const NOTHING: u32 = u32::MAX;

/// A log block. Blocks are stored plus one.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct LogBlock {
    block: u32,
    /// The logical page in each slot that has been programmed.
    pages: Vec<u32>,
    /// Slots that are their page's current place.
    live: u32,
}

/// The log block for sequential writes.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Ordered {
    /// None where it is [`NONE`].
    block: u32,
    logical: u32,
    next: u32,
}

/// The logs of a plane.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct PlaneLogs {
    /// The oldest first; the last one is being filled.
    blocks: VecDeque<LogBlock>,
    /// The one that is being emptied, chosen when all are in use.
    victim: Option<u32>,
    ordered: Ordered,
    /// Lists of pages to be used again.
    lists: Vec<Vec<u32>>,
}

/// A log-block hybrid.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Hybrid {
    pub(super) base: Base,
    /// The data block of each logical block, stored plus one, and up to where it cannot be programmed any more.
    data: Vec<(u32, u32)>,
    /// The place of each page that is in a log, plus one.
    in_log: Vec<u32>,
    logs: Vec<PlaneLogs>,
    /// Log blocks of a plane, but for the one that is written in order.
    most: usize,
    /// Which log block is emptied.
    chooser: Chooser,
    /// Commands are cut so that a plan has few enough merges: each takes two of 256 stages.
    pub(super) grain: u32,
}

/// Most pages of a command: each page needs a merge, and each of the command before may have left one to do.
const LONGEST: u32 = 32;

impl Hybrid {
    /// With nothing written.
    #[must_use]
    pub fn new(options: &MappingOptions) -> Self {
        let base = Base::new(options);
        let room = base.spare - 2;
        let grain = (1..=LONGEST).rev().find(|grain| base.block_pages.is_multiple_of(*grain)).unwrap_or(1);
        // Wear leveling chooses among free blocks, and moves cold data (`wear`); it has no say in victims.
        let levelling = Policies::default().levelling;
        let mut chooser = Chooser::new(Policies { levelling, ..options.policies.clone() });
        chooser.seed(options.seed);
        Hybrid {
            grain,
            chooser,
            data: vec![(NONE, 0); base.logical_blocks()],
            in_log: vec![0; base.pages as usize],
            logs: vec![PlaneLogs::default(); base.planes as usize],
            most: options.log_blocks.map_or(room, |most| most.min(room)) as usize,
            base,
        }
    }

    /// Where a page is.
    pub(super) fn find(&self, page: u32) -> Option<u32> {
        if !self.base.valid.has(page) {
            return None;
        }
        if let Some(place) = self.in_log[page as usize].checked_sub(1) {
            return Some(place);
        }
        let (logical, offset) = self.base.split_page(page);
        let Ordered { block, logical: whose, next } = self.logs[self.base.plane_of(logical)].ordered;
        let is_ordered = block != NONE && whose == logical && offset < next;
        Some(self.base.address(if is_ordered { block } else { self.data[logical as usize].0 }, offset))
    }

    pub(super) fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        match command.verb {
            Verb::Read => self.base.read(command, plan, |page| self.find(page)),
            Verb::Write => return self.plan_write(command, view, plan),
            Verb::Trim | Verb::Remap => {
                self.forget(command, view);
            }
        }
        PlanVerdict::Go
    }

    fn plan_write(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let (logical, _) = self.base.split_page(command.start.low());
        let seat = if self.base.is_scarce() { self.look_for_room(logical, view) } else { Seat::Nowhere };
        if seat == Seat::Later {
            return PlanVerdict::Wait;
        }
        let mut work = BlockPlanBuilder::new(plan, command, self.base.block_pages);
        // The plane that it has moved to may be changed by others as soon as this is submitted.
        if seat != Seat::Moved {
            self.tidy(logical, &mut work);
        }
        let fits = !self.base.is_scarce() || self.has_place(logical, &mut work);
        let fits = fits && self.write(command, view.last_write(BACKEND).is_some(), &mut work);
        work.end();
        if !fits {
            self.forget(command, view);
            self.base.give_up(command, plan);
        }
        PlanVerdict::Go
    }

    /// With a power cut to come, an older version must stay until the new one is durable. False where the plane has too
    /// few blocks left for it.
    fn write(&mut self, command: &Command, keeps: bool, work: &mut BlockPlanBuilder<'_>) -> bool {
        let (logical, offset) = self.base.split_page(command.start.low());
        let (plane, at) = (self.base.plane_of(logical), logical as usize);
        let Ordered { block, logical: whose, next } = self.logs[plane].ordered;
        let own = block != NONE && whose == logical;
        if self.data[at].0 == NONE {
            self.data[at] = (self.base.take(plane), 0);
            self.base.wear.close(self.data[at].0, logical);
        }
        if own && offset == next {
            self.write_ordered(command, logical, offset, work);
        } else if !own && offset >= self.data[at].1 {
            command.low_pages().for_each(|page| self.leave_log(page));
            work.write(0, command.count, self.base.address(self.data[at].0, offset));
            self.data[at].1 = offset + u32::from(command.count);
            self.base.wear.touch(self.data[at].0);
        } else if offset == 0 && self.can_begin_ordered(plane) {
            self.end_ordered(plane, work);
            let block = self.base.take(plane);
            self.logs[plane].ordered = Ordered { block, logical, next: 0 };
            self.base.wear.open(self.data[at].0);
            self.write_ordered(command, logical, 0, work);
        } else if !self.write_log(command, plane, keeps, work) {
            return false;
        }
        self.base.set_valid(command, true);
        self.drop_empty(plane, work);
        true
    }

    // ---------------------------------------------------------------- sequential writes

    fn write_ordered(
        &mut self,
        command: &Command,
        logical: u32,
        offset: u32,
        work: &mut BlockPlanBuilder<'_>,
    ) {
        let plane = self.base.plane_of(logical);
        command.low_pages().for_each(|page| self.leave_log(page));
        let ordered = &mut self.logs[plane].ordered;
        ordered.next = offset + u32::from(command.count);
        work.write(0, command.count, self.base.address(ordered.block, offset));
        if ordered.next == self.base.block_pages {
            self.end_ordered(plane, work);
        }
    }

    /// The log block takes the place of the data block, with the pages that are left in that.
    fn end_ordered(&mut self, plane: usize, work: &mut BlockPlanBuilder<'_>) {
        let Ordered { block, logical, next } = self.logs[plane].ordered;
        if block == NONE {
            return;
        }
        let (old, _) = self.data[logical as usize];
        let copied = self.gather(logical, next, block, work);
        self.base.counts.partial_merges += u64::from(copied.is_some());
        self.base.counts.switch_merges += u64::from(copied.is_none());
        self.data[logical as usize] = (block, copied.unwrap_or(next));
        self.logs[plane].ordered = Ordered::default();
        self.base.wear.close(block, logical);
        self.release(old, work);
    }

    /// Copies a logical block's pages from `first` on into a block, wherever they are; returns the place after the
    /// last one.
    fn gather(
        &mut self,
        logical: u32,
        first: u32,
        block: u32,
        work: &mut BlockPlanBuilder<'_>,
    ) -> Option<u32> {
        let mut end = None;
        for offset in first..self.base.block_pages {
            let page = logical * self.base.block_pages + offset;
            if let Some(from) = self.find_any(page) {
                work.copy(page, from, self.base.address(block, offset));
                self.leave_log(page);
                end = Some(offset + 1);
            }
        }
        work.copied();
        end
    }

    /// Where a page is; nowhere too for one beyond the last.
    fn find_any(&self, page: u32) -> Option<u32> {
        if page < self.base.pages { self.find(page) } else { None }
    }

    // ---------------------------------------------------------------- logs

    fn write_log(
        &mut self,
        command: &Command,
        plane: usize,
        keeps: bool,
        work: &mut BlockPlanBuilder<'_>,
    ) -> bool {
        if !keeps {
            // Pages that are written again need not be merged.
            command.low_pages().for_each(|page| self.leave_log(page));
            self.base.set_valid(command, false);
        }
        if !self.make_room(plane, u32::from(command.count), work) {
            return false;
        }
        if keeps {
            command.low_pages().for_each(|page| self.leave_log(page));
        }
        let mut n = 0;
        while n < command.count {
            let room = self.room(plane);
            if room == 0 {
                self.open(plane);
                continue;
            }
            let count = (command.count - n).min(room as u16);
            let logs = &self.logs[plane].blocks;
            let log = logs.back().expect("one that has room");
            let first = self.base.address(log.block, log.pages.len() as u32);
            work.log(n, count, first);
            for i in 0..u32::from(count) {
                let page = command.start.low() + u32::from(n) + i;
                self.in_log[page as usize] = first + i + 1;
                let log = self.logs[plane].blocks.back_mut().expect("one that has room");
                log.pages.push(page);
                log.live += 1;
            }
            n += count;
        }
        true
    }

    /// Slots left in the log block that is being filled.
    fn room(&self, plane: usize) -> u32 {
        let used = self.logs[plane].blocks.back().map_or(self.base.block_pages, |log| log.pages.len() as u32);
        self.base.block_pages - used
    }

    fn open(&mut self, plane: usize) {
        let block = self.base.take(plane);
        let logs = &mut self.logs[plane];
        let pages = logs.lists.pop().unwrap_or_default();
        logs.blocks.push_back(LogBlock { block, pages, live: 0 });
    }

    /// Merges until the rest of the victim can be merged by the writes that fill the last log block; false where
    /// blocks have failed that this would need.
    fn make_room(&mut self, plane: usize, pages: u32, work: &mut BlockPlanBuilder<'_>) -> bool {
        self.drop_empty(plane, work);
        while self.logs[plane].blocks.len() >= self.most_logs(plane) {
            let victim = self.victim(plane);
            if self.logs[plane].blocks[victim].live <= self.room(plane).saturating_sub(pages) {
                break;
            }
            if self.base.free[plane].is_empty() {
                // What this merges may have been all that was left in the victim.
                if !self.free_one(plane, work) {
                    return false;
                }
                self.drop_empty(plane, work);
                continue;
            }
            self.merge_first_of(victim, plane, work);
            self.drop_empty(plane, work);
        }
        self.room(plane) >= pages || self.can_open(plane, work)
    }

    /// The log block that is being emptied, or will be from now on. The one that is being filled is the oldest where
    /// there is no other; with others it is left alone.
    fn victim(&mut self, plane: usize) -> usize {
        let logs = &self.logs[plane];
        let place = |block| logs.blocks.iter().position(|log| log.block == block);
        if let Some(victim) = logs.victim.and_then(place) {
            return victim;
        }
        let last = (logs.blocks.len() - 1).max(1);
        let full = LogVictims {
            live: logs.blocks.iter().take(last).map(|log| log.live).collect(),
            closed_at: (1..=last as u32).collect(),
            pages: self.base.block_pages,
        };
        let victim = self.chooser.choose(&full).map_or(0, |(victim, _)| victim as usize);
        self.logs[plane].victim = Some(self.logs[plane].blocks[victim].block);
        victim
    }

    /// A block is erased. If it is worn, the data of the coldest logical block move into it; pages in logs stay there.
    fn release(&mut self, stored: u32, work: &mut BlockPlanBuilder<'_>) {
        self.base.release(stored, work);
        if let Some(logical) = self.base.move_coldest(stored, work, |page| self.in_log[page as usize] > 0) {
            self.data[logical as usize].0 = stored;
        }
    }

    /// A state that was loaded takes over the policies of the drive that it is loaded into.
    pub(super) fn adopt_policies(&mut self, built: &Hybrid) {
        self.base.wear.adopt_policies(&built.base.wear);
        let turn = self.chooser.turn();
        self.chooser = built.chooser.clone();
        self.chooser.set_turn(turn);
    }

    /// Puts together the logical block of the first page that is left in a log block.
    fn merge_first_of(&mut self, victim: usize, plane: usize, work: &mut BlockPlanBuilder<'_>) {
        let log = &self.logs[plane].blocks[victim];
        let slots = (self.base.address(log.block, 0)..).zip(&log.pages);
        let is_live = |page: u32, place| self.in_log.get(page as usize) == Some(&(place + 1));
        let mut live = slots.filter(|&(place, &page)| is_live(page, place));
        let (logical, _) = self.base.split_page(*live.next().expect("a page that is left").1);
        let block = self.base.take(plane);
        let end = self.gather(logical, 0, block, work);
        let (old, _) = std::mem::replace(&mut self.data[logical as usize], (block, end.unwrap_or(0)));
        self.base.counts.full_merges += 1;
        self.base.wear.close(block, logical);
        self.release(old, work);
        for part in self.base.unsplit(logical) {
            self.base.release(part, work);
        }
        let ordered = &mut self.logs[plane].ordered;
        if ordered.block != NONE && ordered.logical == logical {
            let block = std::mem::take(ordered).block;
            self.base.release(block, work);
        }
    }

    /// The page's slot in a log, if it has one, is not its place any more.
    fn leave_log(&mut self, page: u32) {
        let Some(place) = std::mem::take(&mut self.in_log[page as usize]).checked_sub(1) else { return };
        let block = place / self.base.block_pages + 1;
        let plane = self.base.plane_of_block(block);
        // What a power cut has left may be in a block that is none of the plane's logs.
        if let Some(log) = self.logs[plane].blocks.iter_mut().find(|log| log.block == block) {
            log.live -= 1;
        }
    }

    fn drop_if_empty(&mut self, plane: usize, at: usize, work: &mut BlockPlanBuilder<'_>) -> bool {
        let full = self.base.block_pages as usize;
        let is_empty = |log: &LogBlock| log.live == 0 && log.pages.len() == full;
        if !self.logs[plane].blocks.get(at).is_some_and(is_empty) {
            return false;
        }
        let Some(mut log) = self.logs[plane].blocks.remove(at) else { return false };
        log.pages.clear();
        self.logs[plane].lists.push(log.pages);
        self.release(log.block, work);
        true
    }
}

/// The log blocks of a plane that have been filled, the oldest first. Emptying any of them makes room.
struct LogVictims {
    live: Vec<u32>,
    closed_at: Vec<u32>,
    pages: u32,
}

impl EraseUnits for LogVictims {
    type Score = u32;

    fn scores(&self) -> &[u32] {
        &self.live
    }

    fn closed_at(&self) -> &[u32] {
        &self.closed_at
    }

    fn closings(&self) -> u32 {
        self.closed_at.len() as u32
    }

    fn worth(&self) -> u32 {
        self.pages + 1
    }

    fn pages(&self) -> u32 {
        self.pages
    }

    fn erases_of(&self, _: u32) -> u32 {
        0
    }

    fn erases(&self) -> u64 {
        0
    }
}
