//! # What it does
//! Each logical block is in one flash block, with every page at its own place in it (*in-place offset*): the
//! map has one entry per block. The pages of a block are programmed in ascending order. A page that can no
//! longer be programmed goes to a *replacement block* at the same offset, behind copies of the pages before
//! it. A write behind it adds no cost; pages that the host skips are copied. A write to a page in front of
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

use super::base::{Base, NONE};
use super::remains::{Remains, go_together};
use super::work::Work;
use super::{Below, Entry, Mapping, Options};
use crate::engine::{Command, Plan, Verb, View};
use std::collections::VecDeque;

pub(super) const ENTRY: Entry = Entry {
    name: "block",
    summary: "an entry per block, every page at its own place in it",
    source: include_str!("block.rs"),
    below: Below::Blocks,
    least_spare: (2, "one being replaced, one to continue with"),
    own_victim: None,
    build: |options| Some(Mapping::Block(BlockMap::new(options))),
};

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
    pub fn new(options: &Options) -> Self {
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
        let (logical, offset) = self.base.split(page);
        let block = &self.blocks[logical as usize];
        let replaced = block.replacement != NONE && offset < block.replacement_next;
        let stored = if replaced { block.replacement } else { block.data };
        self.base.valid.has(page).then(|| self.base.address(stored, offset))
    }

    pub(super) fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) {
        match command.verb {
            Verb::Read => Base::read(command, plan, |page| self.find(page)),
            Verb::Write => {
                let mut work = Work::new(plan, command, self.base.block_pages);
                self.tidy(command, &mut work);
                self.write(command, &mut work);
                work.end();
            }
            Verb::Trim | Verb::Rename => self.forget(command, view),
        }
    }

    fn write(&mut self, command: &Command, work: &mut Work<'_>) {
        let (logical, offset) = self.base.split(command.start.0);
        let end = offset + u32::from(command.count);
        let at = logical as usize;
        if self.blocks[at].replacement != NONE && offset < self.blocks[at].replacement_next {
            self.finish(logical, work);
        }
        if self.blocks[at].replacement == NONE && self.fits_in_place(logical, offset) {
            let data = self.blocks[at].data;
            work.write(0, command.count, self.base.address(data, offset));
            self.blocks[at].data_next = end;
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
        // With nothing left behind it, the old block is done with.
        if !self.base.any_valid(logical, end..self.blocks[at].data_next.max(end)) {
            self.finish(logical, work);
        }
    }

    /// Whether the pages from `offset` on can be programmed where they belong; a new block is taken where there is none.
    fn fits_in_place(&mut self, logical: u32, offset: u32) -> bool {
        let at = logical as usize;
        if self.blocks[at].data == NONE {
            self.blocks[at].data = self.base.take(self.base.plane_of(logical));
        }
        offset >= self.blocks[at].data_next
    }

    fn begin(&mut self, logical: u32, work: &mut Work<'_>) {
        let plane = self.base.plane_of(logical);
        if self.open[plane].len() == self.most
            && let Some(&oldest) = self.open[plane].front()
        {
            self.finish(oldest, work);
        }
        self.open[plane].push_back(logical);
        let replacement = self.base.take(plane);
        let block = &mut self.blocks[logical as usize];
        *block = Block { replacement, replacement_next: 0, copied: false, ..*block };
    }

    /// Copies pages from the old block to its replacement; whether there were any.
    fn copy(&self, logical: u32, offsets: std::ops::Range<u32>, work: &mut Work<'_>) -> bool {
        let Block { data, replacement, .. } = self.blocks[logical as usize];
        for offset in offsets {
            let page = logical * self.base.block_pages + offset;
            if self.base.valid.has(page) {
                work.copy(page, self.base.address(data, offset), self.base.address(replacement, offset));
            }
        }
        work.copied()
    }

    /// The replacement takes the place of the old block, with what is left in that.
    fn finish(&mut self, logical: u32, work: &mut Work<'_>) {
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
        work.erase(data);
        self.base.give(plane, data);
    }

    // ---------------------------------------------------------------- after a power cut

    pub(super) fn forget(&mut self, command: &Command, view: &View<'_>) {
        self.base.trim(command, view);
        for page in command.start.0..command.end() {
            self.base.disorder.astray.remove(&page);
        }
    }

    /// A replacement that has all pages before the place where it is gone on with is one; others are put together anew.
    pub(super) fn recover(&mut self, view: &View<'_>) {
        let mut remains = Remains::find(&self.base, view);
        remains.settle(&mut self.base);
        self.blocks.fill(Block::default());
        self.open.iter_mut().for_each(VecDeque::clear);
        let mut open = Vec::new();
        for (&logical, blocks) in &remains.in_place {
            let block = &mut self.blocks[logical as usize];
            match &blocks[..] {
                [only] => (block.data, block.data_next) = (only.block, only.next),
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
    }

    /// What a power cut has left to be done in the plane is done first.
    fn tidy(&mut self, command: &Command, work: &mut Work<'_>) {
        if self.base.disorder.is_empty() {
            return;
        }
        let plane = self.base.plane_of(self.base.split(command.start.0).0);
        for (logical, blocks) in self.base.tidy(plane, work) {
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
            self.base.counts.full_merges += 1;
            for block in blocks {
                work.erase(block);
                self.base.give(plane, block);
            }
            self.blocks[logical as usize] = Block { data: whole, data_next: next, ..Block::default() };
        }
    }
}
