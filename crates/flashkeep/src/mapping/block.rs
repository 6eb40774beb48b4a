//! # What it does
//! Each logical block is in one flash block, with every page at its own place in it (*in-place offset*): the
//! map has one entry per block. The pages of a block are programmed in ascending order. A page that can no
//! longer be programmed goes to a *replacement block* at the same offset, after copies of the pages before
//! it. A write after this place adds no cost; pages that the host skips are copied. A write to a page in front of
//! the replacement's write position ends the replacement: the rest of the old block is copied too, the old
//! block is erased, and the next replacement starts. A plane has at most `ftl.log_blocks` replacements; for a
//! new one the oldest is ended.
//!
//! # What it costs
//! A random overwrite of a page: the other G − 1 pages of its block are read and programmed, and a block is
//! erased. A sequential overwrite of a block: an erase (*switch merge*). A memory entry per block.
//!
//! After a power loss the recovery finds data blocks and replacements from the OOB areas of all pages
//! (`remains.rs`, `docs/power.md`).
//!
//! # Source
//! Ban, "Flash file system optimized for page-mode flash technologies", United States Patent 5,937,425, 1999;
//! the block map that Kim, Park and Shin, "Improving SSD simulator for high reliability of performance
//! evaluation", name beside the page map. Ours: logical blocks are distributed over the planes in turn and
//! stay in their plane; a plane performs one such change at a time.

use super::base::{Base, MergesBlocks, NONE};
use super::damage::Seat;
use super::refresh::RefreshesBlocks;
use super::remains::{SurvivingBlocks, go_together};
use super::work::BlockPlanBuilder;
use super::{BACKEND, BackendKind, LogBlocks, Mapping, MappingEntry, MappingOptions};
use crate::engine::{Change, Command, Page, Plan, PlanVerdict, Verb, View};
use crate::options::OptionsPart;
use std::collections::VecDeque;

pub(super) const ENTRY: MappingEntry = MappingEntry {
    name: "block",
    summary: "an entry per block, every page at its own place in it",
    source: include_str!("block.rs"),
    below: BackendKind::Blocks,
    least_spare: (2, "one being replaced, one to continue with"),
    own_victim: None,
    options: &[OptionsPart::of::<LogBlocks>()],
    build: |options| Some(Mapping::Block(Box::new(BlockMap::new(options)))),
};

/// Blocks of a plane that new logical blocks leave to replacements.
const KEPT: usize = 1;

/// A logical block. Blocks are stored plus one; up to `next` a block cannot be programmed any more.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Block {
    data: u32,
    data_next: u32,
    replacement: u32,
    replacement_next: u32,
    /// The replacement began with copies.
    copied: bool,
}

/// A map of blocks.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct BlockMap {
    pub(super) base: Base,
    blocks: Vec<Block>,
    /// Logical blocks with a replacement, plane by plane, the one begun longest ago first.
    open: Vec<VecDeque<u32>>,
    /// Most of them in a plane.
    most: usize,
}

impl BlockMap {
    /// With nothing written.
    #[must_use]
    pub fn new(options: &MappingOptions) -> Self {
        let base = Base::new(options);
        let room = base.spare - 1;
        BlockMap {
            blocks: vec![Block::default(); base.logical_blocks()],
            open: vec![VecDeque::new(); base.planes as usize],
            most: options.log_blocks.map_or(room, |most| most.min(room)) as usize,
            base,
        }
    }

    /// Where a page is.
    pub(super) fn find(&self, page: u32) -> Option<u32> {
        if let Some(&place) = self.base.disorder.astray.get(&page) {
            return Some(place);
        }
        let (logical, offset) = self.base.split_page(page);
        let block = &self.blocks[logical as usize];
        let replaced = block.replacement != NONE && offset < block.replacement_next;
        let stored = if replaced { block.replacement } else { block.data };
        self.base.valid.has(page).then(|| self.base.address(stored, offset))
    }

    pub(super) fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        match command.verb {
            Verb::Read => self.base.read(command, plan, |page| self.find(page)),
            Verb::Write => return self.plan_write(command, view, plan),
            Verb::Trim | Verb::Remap => self.forget(command, view),
        }
        PlanVerdict::Go
    }

    fn plan_write(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let (logical, _) = self.base.split_page(command.start.low());
        let mut seat = Seat::Nowhere;
        if self.base.is_scarce() {
            let uses = |stored| self.blocks.iter().any(|b| b.data == stored || b.replacement == stored);
            self.base.take_back(view, uses);
            if !self.has_room_at_home(logical) {
                seat = self.base.find_seat(logical, KEPT + 1, view);
            }
        }
        if seat == Seat::Later {
            return PlanVerdict::Wait;
        }
        let mut work = BlockPlanBuilder::new(plan, command, self.base.block_pages);
        // The plane that it has moved to may be changed by others as soon as this is submitted.
        if seat != Seat::Moved {
            self.tidy(logical, &mut work);
        }
        let fits = !self.base.is_scarce() || self.make_room(logical, command, &mut work);
        if fits {
            self.write(command, &mut work);
        }
        work.end();
        if !fits {
            self.forget(command, view);
            self.base.give_up(command, plan);
        }
        PlanVerdict::Go
    }

    fn write(&mut self, command: &Command, work: &mut BlockPlanBuilder<'_>) {
        let (logical, offset) = self.base.split_page(command.start.low());
        let end = offset + u32::from(command.count);
        let at = logical as usize;
        if self.blocks[at].replacement != NONE && offset < self.blocks[at].replacement_next {
            self.finish(logical, work);
        }
        if self.blocks[at].replacement == NONE && self.fits_in_place(logical, offset) {
            let data = self.blocks[at].data;
            work.write(0, command.count, self.base.address(data, offset));
            self.blocks[at].data_next = end;
            self.base.wear.touch(data);
            return self.base.set_valid(command, true);
        }
        if self.blocks[at].replacement == NONE {
            self.begin(logical, work);
        }
        let from = self.blocks[at].replacement_next;
        self.blocks[at].copied |= self.copy(logical, from..offset, work);
        work.write(0, command.count, self.base.address(self.blocks[at].replacement, offset));
        self.blocks[at].replacement_next = end;
        self.base.set_valid(command, true);
        // With no valid page after it, the old block is done with.
        if !self.base.any_valid(logical, end..self.blocks[at].data_next.max(end)) {
            self.finish(logical, work);
        }
    }

    /// Whether the pages from `offset` on can be programmed where they belong; a new block is taken where there is
    /// none.
    fn fits_in_place(&mut self, logical: u32, offset: u32) -> bool {
        let at = logical as usize;
        if self.blocks[at].data == NONE {
            let data = self.base.take(self.base.plane_of(logical));
            self.blocks[at].data = data;
            self.base.wear.close(data, logical);
        }
        offset >= self.blocks[at].data_next
    }

    fn begin(&mut self, logical: u32, work: &mut BlockPlanBuilder<'_>) {
        let plane = self.base.plane_of(logical);
        if self.open[plane].len() == self.most
            && let Some(&oldest) = self.open[plane].front()
        {
            self.finish(oldest, work);
        }
        self.open[plane].push_back(logical);
        let replacement = self.base.take(plane);
        let block = &mut self.blocks[logical as usize];
        self.base.wear.open(block.data);
        *block = Block { replacement, replacement_next: 0, copied: false, ..*block };
    }

    /// Copies pages from the old block to its replacement; whether there were any.
    fn copy(&self, logical: u32, offsets: std::ops::Range<u32>, work: &mut BlockPlanBuilder<'_>) -> bool {
        let Block { data, replacement, .. } = self.blocks[logical as usize];
        for offset in offsets {
            let page = logical * self.base.block_pages + offset;
            if self.base.valid.has(page) {
                work.copy(page, self.base.address(data, offset), self.base.address(replacement, offset));
            }
        }
        work.copied()
    }

    /// The replacement takes the place of the old block, with the pages that are left in that.
    fn finish(&mut self, logical: u32, work: &mut BlockPlanBuilder<'_>) {
        let Block { data, data_next, replacement, replacement_next, copied } = self.blocks[logical as usize];
        let rest = self.copy(logical, replacement_next..data_next.max(replacement_next), work);
        let counts = &mut self.base.counts;
        match (copied, rest) {
            (false, false) => counts.switch_merges += 1,
            (false, true) => counts.partial_merges += 1,
            (true, _) => counts.full_merges += 1,
        }
        let next = if rest { data_next } else { replacement_next };
        self.blocks[logical as usize] = Block { data: replacement, data_next: next, ..Block::default() };
        let plane = self.base.plane_of(logical);
        self.open[plane].retain(|&open| open != logical);
        self.base.wear.close(replacement, logical);
        self.base.release(data, work);
        self.level(data, work);
    }

    /// If a block that has just been released is worn, the data of the coldest logical block move into it.
    fn level(&mut self, worn: u32, work: &mut BlockPlanBuilder<'_>) {
        if let Some(logical) = self.base.move_coldest(worn, work, |_| false) {
            self.blocks[logical as usize].data = worn;
        }
    }

    // ---------------------------------------------------------------- after a power cut

    pub(super) fn forget(&mut self, command: &Command, view: &View<'_>) {
        self.base.trim(command, view);
        for page in command.low_pages() {
            self.base.disorder.astray.remove(&page);
        }
    }

    /// A replacement that has all pages before the place where it is gone on with is one; others are rebuilt.
    pub(super) fn recover(&mut self, view: &View<'_>) {
        self.base.look_up_wear(view);
        let mut remains = SurvivingBlocks::find(&self.base, view);
        remains.settle(&mut self.base);
        self.blocks.fill(Block::default());
        self.open.iter_mut().for_each(VecDeque::clear);
        let mut open = Vec::new();
        for (&logical, blocks) in &remains.in_place {
            let block = &mut self.blocks[logical as usize];
            match &blocks[..] {
                [only] => {
                    (block.data, block.data_next) = (only.block, only.next);
                    self.base.wear.close(only.block, logical);
                }
                [old, new] if go_together(&self.base, logical, old, new, |_| false) => {
                    *block = Block {
                        data: old.block,
                        data_next: old.next,
                        replacement: new.block,
                        replacement_next: new.next,
                        copied: true,
                    };
                    open.push((new.age, logical));
                }
                _ => self.base.disorder.split_up(logical, blocks, self.base.block_pages),
            }
        }
        open.sort_unstable();
        for (_, logical) in open {
            self.open[self.base.plane_of(logical)].push_back(logical);
        }
        for block in self.base.damage.all_retired(self.base.blocks()) {
            self.retire(block, view);
        }
    }

    // ---------------------------------------------------------------- with fewer blocks

    /// Blocks of a plane that are free, or will be once replacements are ended.
    fn room(&self, plane: usize) -> usize {
        let frees = |&&open: &&u32| self.base.comes_back(self.blocks[open as usize].data);
        self.base.free[plane].len() + self.open[plane].iter().filter(frees).count()
    }

    /// Whether a logical block has a block, or its plane one to spare.
    fn has_room_at_home(&self, logical: u32) -> bool {
        let has_block = self.blocks[logical as usize].data != NONE;
        has_block
            || self.base.disorder.split.contains_key(&logical)
            || self.room(self.base.plane_of(logical)) > KEPT
    }

    /// Ends replacements of others until a block of the plane is free; false where that does not help.
    fn free_one(&mut self, plane: usize, logical: u32, work: &mut BlockPlanBuilder<'_>) -> bool {
        while self.base.free[plane].is_empty() {
            let frees =
                |&&other: &&u32| other != logical && self.base.comes_back(self.blocks[other as usize].data);
            let Some(&other) = self.open[plane].iter().find(frees) else { return false };
            self.finish(other, work);
        }
        true
    }

    /// Whether a write finds the block that it needs; ends replacements for that.
    fn make_room(&mut self, logical: u32, command: &Command, work: &mut BlockPlanBuilder<'_>) -> bool {
        let plane = self.base.plane_of(logical);
        let Block { data, data_next, replacement, replacement_next, .. } = self.blocks[logical as usize];
        let (_, offset) = self.base.split_page(command.start.low());
        if self.base.disorder.split.contains_key(&logical) {
            return false;
        }
        if data == NONE {
            return self.room(plane) > KEPT && self.free_one(plane, logical, work);
        }
        let goes_on = replacement != NONE && offset >= replacement_next;
        let is_clean = replacement == NONE && offset >= data_next;
        // A replacement that ends makes room for the next one.
        let ends = replacement != NONE && !goes_on && self.base.comes_back(data);
        goes_on || is_clean || ends || self.free_one(plane, logical, work)
    }

    /// What has become of the member's pages and blocks.
    pub(super) fn member(&mut self, change: Change, view: &View<'_>) {
        match change {
            Change::Replaced => {
                self.base.renew();
                self.blocks.fill(Block::default());
                self.open.iter_mut().for_each(VecDeque::clear);
            }
            Change::Returned => self.base.damage.expect_blocks(self.base.planes),
            Change::Retired(page) => self.retire(page.low() / self.base.block_pages, view),
            Change::Damaged(page) | Change::Refused(page) => self.lose(page, Change::Damaged, view),
            Change::Unreadable(page) => self.lose(page, Change::Unreadable, view),
            Change::Failed | Change::Lacking(_) => {}
        }
    }

    /// Nothing brings a page of the member back. Notices about a failed page come with its block.
    fn lose(&mut self, place: Page, why: fn(Page) -> Change, view: &View<'_>) {
        if view.has_failed(BACKEND, place) {
            return;
        }
        for logical in self.those_in(place.low() / self.base.block_pages + 1) {
            let page = logical * self.base.block_pages + place.low() % self.base.block_pages;
            if page < self.base.pages && self.find(page) == Some(place.low()) {
                self.base.lose(page, why, view);
            }
        }
    }

    /// A block cannot be programmed any more. Its logical block is rebuilt from the pages that there are.
    fn retire(&mut self, block: u32, view: &View<'_>) {
        self.base.retire(block);
        for logical in self.those_in(block + 1) {
            for page in self.base.pages_of(logical) {
                if self.find(page).is_some_and(|place| view.has_failed(BACKEND, Page::of(place))) {
                    self.base.lose(page, Change::Damaged, view);
                }
            }
            self.take_apart(logical);
        }
    }
}

impl RefreshesBlocks for BlockMap {
    fn those_in(&self, stored: u32) -> Vec<u32> {
        let is_in = |block: &Block| block.data == stored || block.replacement == stored;
        let whole = (0..).zip(&self.blocks).filter(|(_, block)| is_in(block)).map(|(logical, _)| logical);
        let split = &self.base.disorder.split;
        let in_parts = split.iter().filter(|(_, parts)| parts.contains(&stored)).map(|(&logical, _)| logical);
        whole.chain(in_parts).collect()
    }

    fn own_blocks(&self, logical: u32) -> Vec<u32> {
        let Block { data, replacement, .. } = self.blocks[logical as usize];
        [data, replacement].into_iter().filter(|&stored| stored != NONE).collect()
    }

    fn take_apart(&mut self, logical: u32) {
        let place = |page| self.find(page).map(|place| (page, place));
        let left: Vec<_> = self.base.pages_of(logical).filter_map(place).collect();
        let Block { data, replacement, .. } = std::mem::take(&mut self.blocks[logical as usize]);
        let plane = self.base.plane_of(logical);
        self.open[plane].retain(|&open| open != logical);
        self.base.split(logical, [data, replacement], !left.is_empty());
        self.base.disorder.astray.extend(left);
    }

    fn place_of(&self, page: u32) -> Option<u32> {
        self.find(page)
    }
}

impl MergesBlocks for BlockMap {
    fn base(&mut self) -> &mut Base {
        &mut self.base
    }

    fn has_room_to_join(&self, logical: u32) -> bool {
        let room = self.room(self.base.plane_of(logical));
        room > KEPT || room > 0 && self.base.has_good_part(logical)
    }

    fn join_work(&mut self, logical: u32, work: &mut BlockPlanBuilder<'_>) {
        let plane = self.base.plane_of(logical);
        self.free_one(plane, logical, work);
        let whole = self.base.take(plane);
        let mut next = 0;
        for offset in 0..self.base.block_pages {
            let page = logical * self.base.block_pages + offset;
            if let Some(from) = self.base.disorder.astray.remove(&page) {
                work.copy(page, from, self.base.address(whole, offset));
                next = offset + 1;
            }
        }
        work.copied();
        for block in self.base.unsplit(logical) {
            self.base.release(block, work);
        }
        self.blocks[logical as usize] = Block { data: whole, data_next: next, ..Block::default() };
        self.base.wear.close(whole, logical);
    }
}
