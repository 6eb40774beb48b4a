//! The log-block map with failed blocks: the remaining blocks are shared by logs and data.

use super::super::base::{Base, MergesBlocks, NONE};
use super::super::damage::Seat;
use super::super::refresh::RefreshesBlocks;
use super::super::work::BlockPlanBuilder;
use super::{BACKEND, Hybrid, Ordered, PlaneLogs};
use crate::engine::{Change, Page, View};

/// Blocks of a plane that are reserved for logs when logical blocks need new ones: one log, and one to merge into.
const KEPT: usize = 2;

impl Hybrid {
    /// Blocks of a plane that hold no logical block as a whole.
    fn others(&self, plane: usize) -> usize {
        let PlaneLogs { blocks, ordered, .. } = &self.logs[plane];
        self.base.free[plane].len() + blocks.len() + usize::from(ordered.block != NONE)
    }

    /// The number of log blocks of a plane, which decreases with the number of blocks.
    pub(super) fn most_logs(&self, plane: usize) -> usize {
        if !self.base.is_scarce() {
            return self.most;
        }
        self.most.min(self.others(plane).saturating_sub(KEPT)).max(1)
    }

    /// Before a write: new flash is used, and a logical block without a block finds one.
    pub(super) fn look_for_room(&mut self, logical: u32, view: &View<'_>) -> Seat {
        let (data, logs) = (&self.data, &self.logs);
        let uses = |stored: u32| {
            let in_logs = |logs: &PlaneLogs| {
                logs.ordered.block == stored || logs.blocks.iter().any(|log| log.block == stored)
            };
            data.iter().any(|&(block, _)| block == stored) || logs.iter().any(in_logs)
        };
        self.base.take_back(view, uses);
        let is_in_log = self.base.pages_of(logical).any(|page| self.in_log[page as usize] > 0);
        let at_home = self.data[logical as usize].0 != NONE
            || is_in_log
            || self.base.disorder.split.contains_key(&logical)
            || self.others(self.base.plane_of(logical)) > KEPT;
        if at_home { Seat::Nowhere } else { self.base.find_seat(logical, KEPT + 1, view) }
    }

    /// Whether a logical block has a block to which it can be written, or gets one.
    pub(super) fn has_place(&mut self, logical: u32, work: &mut BlockPlanBuilder<'_>) -> bool {
        let plane = self.base.plane_of(logical);
        let has_data = self.data[logical as usize].0 != NONE;
        let is_split = self.base.disorder.split.contains_key(&logical);
        !is_split && (has_data || self.others(plane) > KEPT && self.free_one(plane, work))
    }

    /// Whether a block is left to merge into once another log block is reserved for sequential writes.
    pub(super) fn can_begin_ordered(&self, plane: usize) -> bool {
        if !self.base.is_scarce() {
            return true;
        }
        let Ordered { block, logical, .. } = self.logs[plane].ordered;
        let frees = block != NONE && self.base.comes_back(self.data[logical as usize].0);
        self.base.free[plane].len() + usize::from(frees) > 1
    }

    /// Frees a block of the plane by ending the sequential log block; false if that does not help.
    pub(super) fn free_one(&mut self, plane: usize, work: &mut BlockPlanBuilder<'_>) -> bool {
        if self.base.free[plane].is_empty() {
            self.end_ordered(plane, work);
        }
        !self.base.free[plane].is_empty()
    }

    /// Whether another log block can be begun, and a block is left to merge into.
    pub(super) fn can_open(&mut self, plane: usize, work: &mut BlockPlanBuilder<'_>) -> bool {
        if self.base.is_scarce() && self.base.free[plane].len() < KEPT {
            self.end_ordered(plane, work);
            return self.base.free[plane].len() >= KEPT;
        }
        true
    }

    /// Handles a change of the member's pages and blocks.
    pub(in super::super) fn member(&mut self, change: Change, view: &View<'_>) {
        match change {
            Change::Replaced => {
                self.base.renew();
                self.data.fill((NONE, 0));
                self.in_log.fill(0);
                self.logs.iter_mut().for_each(|logs| *logs = PlaneLogs::default());
            }
            Change::Returned => self.base.damage.expect_blocks(self.base.planes),
            Change::Retired(page) => self.retire(page.low() / self.base.block_pages, view),
            Change::Damaged(page) | Change::Refused(page) => self.lose_place(page, Change::Damaged, view),
            Change::Unreadable(page) => self.lose_place(page, Change::Unreadable, view),
            Change::Failed | Change::Lacking(_) => {}
        }
    }

    fn lose(&mut self, page: u32, why: fn(Page) -> Change, view: &View<'_>) {
        self.leave_log(page);
        self.base.lose(page, why, view);
    }

    /// A page of the member is unrecoverable. Failed flash pages are handled with their block.
    fn lose_place(&mut self, place: Page, why: fn(Page) -> Change, view: &View<'_>) {
        if view.has_failed(BACKEND, place) {
            return;
        }
        let stored = place.low() / self.base.block_pages + 1;
        for logical in self.those_in(stored) {
            for page in self.base.pages_of(logical) {
                if self.find(page) == Some(place.low()) {
                    self.lose(page, why, view);
                }
            }
        }
    }

    /// A block cannot be programmed any more. The logical blocks with pages in it are merged into new blocks.
    pub(super) fn retire(&mut self, block: u32, view: &View<'_>) {
        self.base.retire(block);
        let stored = block + 1;
        for logical in self.those_in(stored) {
            let mut is_left = false;
            for page in self.base.pages_of(logical) {
                let Some(place) = self.find(page).filter(|place| place / self.base.block_pages == block)
                else {
                    continue;
                };
                if view.has_failed(BACKEND, Page::of(place)) {
                    self.lose(page, Change::Damaged, view);
                } else {
                    is_left = true;
                }
            }
            let ordered = self.logs[self.base.plane_of(logical)].ordered;
            let was_its = ordered.block == stored && ordered.logical == logical;
            if is_left || was_its || self.data[logical as usize].0 == stored {
                self.take_apart(logical);
            }
        }
        let plane = self.base.plane_of_block(stored);
        self.logs[plane].blocks.retain(|log| log.block != stored);
    }
}

impl MergesBlocks for Hybrid {
    fn base(&mut self) -> &mut Base {
        &mut self.base
    }

    fn has_room_to_join(&self, logical: u32) -> bool {
        let plane = self.base.plane_of(logical);
        let Ordered { block, logical: whose, .. } = self.logs[plane].ordered;
        let frees = block != NONE && self.base.comes_back(self.data[whose as usize].0);
        let is_free = frees || !self.base.free[plane].is_empty();
        is_free && (self.others(plane) > KEPT || self.base.has_good_part(logical))
    }

    fn join_work(&mut self, logical: u32, work: &mut BlockPlanBuilder<'_>) {
        let plane = self.base.plane_of(logical);
        self.free_one(plane, work);
        let whole = self.base.take(plane);
        let end = self.gather(logical, 0, whole, work);
        self.data[logical as usize] = (whole, end.unwrap_or(0));
        self.base.wear.close(whole, logical);
        for part in self.base.unsplit(logical) {
            self.base.release(part, work);
        }
    }

    /// Log blocks that have been filled and hold nothing any more are erased: the victim, and the oldest ones.
    fn drop_empty(&mut self, plane: usize, work: &mut BlockPlanBuilder<'_>) {
        if let Some(block) = self.logs[plane].victim {
            let victim = self.logs[plane].blocks.iter().position(|log| log.block == block);
            if victim.is_none_or(|victim| self.drop_if_empty(plane, victim, work)) {
                self.logs[plane].victim = None;
            }
        }
        while self.drop_if_empty(plane, 0, work) {}
    }
}

impl RefreshesBlocks for Hybrid {
    /// Also those that have it as theirs; each once.
    fn those_in(&self, stored: u32) -> Vec<u32> {
        let logs = &self.logs[self.base.plane_of_block(stored)];
        let mut those: Vec<u32> =
            (0..).zip(&self.data).filter(|(_, data)| data.0 == stored).map(|d| d.0).collect();
        if logs.ordered.block == stored {
            those.push(logs.ordered.logical);
        }
        let log = logs.blocks.iter().find(|log| log.block == stored);
        let pages = log.map_or(&[][..], |log| &log.pages);
        let known = pages.iter().filter(|&&page| page < self.base.pages);
        those.extend(known.map(|&page| self.base.split_page(page).0));
        // Logical blocks that must be merged may have pages in blocks that belong to no logical block.
        those.extend(self.base.disorder.split.keys());
        those.sort_unstable();
        those.dedup();
        those
    }

    fn own_blocks(&self, logical: u32) -> Vec<u32> {
        let ordered = self.logs[self.base.plane_of(logical)].ordered;
        let is_its = ordered.logical == logical;
        let own = [self.data[logical as usize].0, if is_its { ordered.block } else { NONE }];
        own.into_iter().filter(|&stored| stored != NONE).collect()
    }

    /// Its pages are found like any in a log until they are rebuilt.
    fn take_apart(&mut self, logical: u32) {
        let mut is_any = false;
        for page in self.base.pages_of(logical) {
            if let Some(place) = self.find(page) {
                is_any = true;
                self.in_log[page as usize] = place + 1;
            }
        }
        let (data, _) = std::mem::take(&mut self.data[logical as usize]);
        let plane = self.base.plane_of(logical);
        let ordered = &mut self.logs[plane].ordered;
        let is_its = ordered.block != NONE && ordered.logical == logical;
        let ordered = if is_its { std::mem::take(ordered).block } else { NONE };
        self.base.split(logical, [data, ordered], is_any);
    }

    fn place_of(&self, page: u32) -> Option<u32> {
        self.find(page)
    }
}
