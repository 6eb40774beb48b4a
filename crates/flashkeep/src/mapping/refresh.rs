//! Refresh and read reclaim in maps of blocks: a member reports a page whose data are old, or whose block was read often.
//! The logical blocks with pages in that block are rebuilt, each in a free block of its plane, with the cause
//! `refresh`.
//!
//! That waits until the plane has a free block, and nothing else is changed there. Each of the blocks that are given up for
//! it is free afterwards, so that no plane has fewer than before.

use super::base::{Base, MergesBlocks};
use super::work::BlockPlanBuilder;
use crate::engine::{Cause, Key, Page, Plan, View};
use std::collections::VecDeque;

/// Logical blocks whose data must be moved, each with the block, stored plus one, that they must leave; those that have
/// waited longest first.
pub(super) type DueBlocks = VecDeque<(u32, u32)>;

impl Base {
    /// Whether data must be moved.
    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Whether all blocks that a logical block is given up with are free afterwards, and there is one to begin with.
    fn can_refresh(&self, logical: u32, lies_in: &[u32], view: &View<'_>) -> bool {
        let plane = self.plane_of(logical);
        !self.free[plane].is_empty()
            && !view.held(Key(plane as u64))
            && !self.disorder.split.contains_key(&logical)
            && lies_in.iter().all(|&stored| self.comes_back(stored))
    }
}

/// How a map moves the data of a block.
pub(super) trait RefreshesBlocks: MergesBlocks {
    /// The logical blocks that may have pages in a block, stored plus one.
    fn those_in(&self, stored: u32) -> Vec<u32>;
    /// The blocks of a logical block, stored plus one, but for logs of pages.
    fn own_blocks(&self, logical: u32) -> Vec<u32>;
    /// A logical block gives up its own blocks; it must be merged from where its pages are.
    fn take_apart(&mut self, logical: u32);
    /// Where a page is.
    fn place_of(&self, page: u32) -> Option<u32>;

    /// Whether pages of a logical block are in a block, stored plus one.
    fn has_pages_in(&mut self, logical: u32, stored: u32) -> bool {
        let (mut pages, block_pages) = (self.base().pages_of(logical), self.base().block_pages);
        pages.any(|page| self.place_of(page).is_some_and(|place| place / block_pages + 1 == stored))
    }

    /// The data of the block of a page must be moved; whether any are.
    fn note_due(&mut self, page: Page) -> bool {
        let stored = page.low() / self.base().block_pages + 1;
        if self.base().due.iter().any(|&(_, due)| due == stored) {
            return true;
        }
        for logical in self.those_in(stored) {
            if self.has_pages_in(logical, stored) {
                self.base().due.push_back((logical, stored));
            }
        }
        self.base().has_due()
    }

    /// Moves the data of the logical block that has been due longest among those that can be moved now.
    fn refresh(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        let mut at = 0;
        while let Some(&(logical, stored)) = self.base().due.get(at) {
            if !self.has_pages_in(logical, stored) {
                self.base().due.remove(at);
                continue;
            }
            let lies_in = self.own_blocks(logical);
            if self.base().can_refresh(logical, &lies_in, view) {
                self.base().due.remove(at);
                self.renew(logical, plan);
                return true;
            }
            at += 1;
        }
        false
    }

    /// Rebuilds a logical block.
    fn renew(&mut self, logical: u32, plan: &mut Plan) {
        let (plane, block_pages) = (self.base().plane_of(logical), self.base().block_pages);
        let mut work = BlockPlanBuilder::background(plan, plane, block_pages);
        work.because(Cause::Refresh);
        self.take_apart(logical);
        self.join_work(logical, &mut work);
        self.drop_empty(plane, &mut work);
        work.end();
    }
}
