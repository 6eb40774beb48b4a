//! Recovery of the log-block map after a power loss.

use super::super::base::NONE;
use super::super::remains::{SurvivingBlock, SurvivingBlocks, go_together};
use super::{Hybrid, LogBlock, NOTHING, Ordered};
use crate::engine::{Command, View};

impl Hybrid {
    pub(in super::super) fn forget(&mut self, command: &Command, view: &View<'_>) {
        command.low_pages().for_each(|page| self.leave_log(page));
        self.base.trim(command, view);
    }

    /// Logs are those that say so. The last one is gone on with, and so is the block of each plane that is written in
    /// order, where everything before the place at which it would be is in it. A logical block that lies in others too is
    /// rebuilt.
    pub(in super::super) fn recover(&mut self, view: &View<'_>) {
        self.base.look_up_wear(view);
        let mut remains = SurvivingBlocks::find(&self.base, view);
        remains.settle(&mut self.base);
        self.data.fill((NONE, 0));
        self.in_log.fill(0);
        self.logs.iter_mut().for_each(|logs| (logs.blocks, logs.victim, logs.ordered) = Default::default());
        for kept in &remains.logs {
            for (offset, &page) in &kept.pages {
                self.in_log[page as usize] = self.base.address(kept.block, *offset) + 1;
            }
        }
        for (&logical, blocks) in &remains.in_place {
            self.recover_block(logical, blocks);
        }
        let mut last = vec![true; self.logs.len()];
        for kept in remains.logs.iter().rev() {
            let plane = self.base.plane_of_block(kept.block);
            self.recover_log(plane, kept, std::mem::take(&mut last[plane]));
        }
        for block in self.base.damage.all_retired(self.base.blocks()) {
            self.retire(block, view);
        }
    }

    fn recover_block(&mut self, logical: u32, blocks: &[SurvivingBlock]) {
        let plane = self.base.plane_of(logical);
        let ordered = &mut self.logs[plane].ordered;
        let mut in_place = 0;
        let in_log = |page: u32| self.in_log[page as usize] > 0;
        match blocks {
            [only] => {
                self.data[logical as usize] = (only.block, only.next);
                self.base.wear.close(only.block, logical);
            }
            [old, new] if ordered.block == NONE && go_together(&self.base, logical, old, new, in_log) => {
                self.data[logical as usize] = (old.block, old.next);
                *ordered = Ordered { block: new.block, logical, next: new.next };
                in_place = new.next;
            }
            _ => self.base.disorder.split_up(logical, blocks, self.base.block_pages),
        }
        // Pages that are found at their own places are not looked for in logs; those of a rebuilt block are
        // found like any in a log until then.
        let last = blocks.len() - 1;
        for (at, kept) in blocks.iter().enumerate() {
            for (_, &page) in kept.pages.iter().filter(|&(&offset, _)| at == last || offset >= in_place) {
                self.in_log[page as usize] = 0;
            }
        }
        for (page, place) in std::mem::take(&mut self.base.disorder.astray) {
            self.in_log[page as usize] = place + 1;
        }
    }

    fn recover_log(&mut self, plane: usize, kept: &SurvivingBlock, is_last: bool) {
        let slot = |offset: u32| kept.pages.get(&offset).copied().unwrap_or(NOTHING);
        let end = if is_last { kept.next } else { self.base.block_pages };
        let pages: Vec<u32> = (0..end).map(slot).collect();
        let is_live = |offset: u32| {
            let place = self.base.address(kept.block, offset) + 1;
            self.in_log.get(slot(offset) as usize) == Some(&place)
        };
        let live = (0..end).filter(|&offset| is_live(offset)).count() as u32;
        self.logs[plane].blocks.push_front(LogBlock { block: kept.block, pages, live });
    }
}
