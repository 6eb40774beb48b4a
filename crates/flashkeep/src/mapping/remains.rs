//! Recovery of block maps and log-block maps after a power loss.
//!
//! The OOB area of each page names its logical page, whether it was written to a log, and, as for every page,
//! the sequence number of its write. Of all copies of a logical page, those with the highest number are
//! current. A plane performs its operations in order, so a copy never follows a newer version. Then the
//! recovery discards each block whose current pages are all in another block too, youngest first. An
//! unfinished copy is discarded as long as all of its sources exist; once a source is gone, the copy is kept
//! and the remaining sources are discarded.
//!
//! A cut keeps a prefix of a plane's operations: of a merge either all sources or all copies exist. So an
//! erased block, or one to discard, always remains for repeating the merge.

use super::BACKEND;
use super::base::Base;
use crate::engine::{Page, View};
use std::collections::BTreeMap;

/// The bit in the entry of a page that says that it was written to a log. Page numbers have 31 bits.
pub(super) const IN_LOG: u32 = 1 << 31;

/// The work for the next change in a plane, and the places of its pages until then.
#[derive(Clone, Debug, Default)]
pub(super) struct Disorder {
    /// Blocks that hold nothing any more and are not erased, stored plus one.
    pub(super) useless: Vec<u32>,
    /// Logical blocks whose pages lie in several blocks that do not go together, and those blocks, stored plus one.
    pub(super) split: BTreeMap<u32, Vec<u32>>,
    /// Where the pages of those are.
    pub(super) astray: BTreeMap<u32, u32>,
}

impl Disorder {
    pub(super) fn is_empty(&self) -> bool {
        self.useless.is_empty() && self.split.is_empty()
    }

    /// A logical block lies in blocks that do not go together.
    pub(super) fn split_up(&mut self, logical: u32, blocks: &[SurvivingBlock], block_pages: u32) {
        for kept in blocks {
            let places =
                kept.pages.iter().map(|(offset, &page)| (page, (kept.block - 1) * block_pages + offset));
            self.astray.extend(places);
        }
        self.split.insert(logical, blocks.iter().map(|kept| kept.block).collect());
    }
}

/// A block that is not erased.
#[derive(Clone, Debug)]
pub(super) struct SurvivingBlock {
    /// Stored plus one.
    pub(super) block: u32,
    /// The first of its pages that can still be programmed.
    pub(super) next: u32,
    /// The number of its newest page.
    pub(super) age: u64,
    pub(super) is_log: bool,
    /// Its pages that are current ones, by offset, and which.
    pub(super) pages: BTreeMap<u32, u32>,
}

impl SurvivingBlock {
    /// Whether it has the current contents of the page that belongs to `offset`, there.
    pub(super) fn has(&self, offset: u32) -> bool {
        self.pages.contains_key(&offset)
    }
}

/// The blocks that the recovery found.
#[derive(Clone, Debug, Default)]
pub(super) struct SurvivingBlocks {
    /// Blocks that are erased, and those that might as well be, stored plus one.
    erased: Vec<u32>,
    useless: Vec<u32>,
    /// Blocks with pages at their own places, by logical block, the oldest first.
    pub(super) in_place: BTreeMap<u32, Vec<SurvivingBlock>>,
    /// Logs, the oldest first.
    pub(super) logs: Vec<SurvivingBlock>,
}

/// A page of a block, from its OOB metadata.
struct SurvivingPage {
    offset: u32,
    page: u32,
    version: (u64, u64),
}

impl SurvivingBlocks {
    /// Reads all OOB metadata and decides which blocks are kept.
    pub(super) fn find(base: &Base, view: &View<'_>) -> SurvivingBlocks {
        let mut remains = SurvivingBlocks::default();
        let mut newest = vec![(0, 0); base.pages as usize];
        let mut blocks = Vec::new();
        for block in 0..base.blocks() {
            let at = |offset| Page::of(block * base.block_pages + offset);
            let next = (0..base.block_pages).find(|&offset| view.is_erased(BACKEND, at(offset)));
            let next = next.unwrap_or(base.block_pages);
            if next == 0 {
                remains.erased.push(block + 1);
                continue;
            }
            let mut kept =
                SurvivingBlock { block: block + 1, next, age: 0, is_log: false, pages: BTreeMap::new() };
            let mut found = Vec::new();
            for offset in 0..next {
                let Some(oob) = view.oob(BACKEND, at(offset)) else { continue };
                let (page, version) = (oob.mark & !IN_LOG, (oob.sequence, oob.stamp));
                kept.is_log = oob.mark & IN_LOG != 0;
                kept.age = kept.age.max(oob.sequence);
                if base.trims.get(&page).is_none_or(|&trimmed| oob.sequence > trimmed) {
                    newest[page as usize] = version.max(newest[page as usize]);
                    found.push(SurvivingPage { offset, page, version });
                }
            }
            blocks.push((kept, found));
        }
        let mut copies = vec![0_u32; base.pages as usize];
        for (kept, found) in &mut blocks {
            let is_current = |found: &SurvivingPage| found.version.1 == newest[found.page as usize].1;
            let current = found.drain(..).filter(is_current);
            // A log may hold the same contents of a page twice: the last copy is the one that counts.
            let last: BTreeMap<u32, u32> = current.map(|found| (found.page, found.offset)).collect();
            kept.pages = last.into_iter().map(|(page, offset)| (offset, page)).collect();
            kept.pages.values().for_each(|&page| copies[page as usize] += 1);
        }
        let mut blocks: Vec<SurvivingBlock> = blocks.into_iter().map(|(kept, _)| kept).collect();
        blocks.sort_by_key(|kept| std::cmp::Reverse(kept.age));
        for kept in blocks {
            if kept.pages.values().all(|&page| copies[page as usize] > 1) {
                kept.pages.values().for_each(|&page| copies[page as usize] -= 1);
                remains.useless.push(kept.block);
            } else if kept.is_log {
                remains.logs.push(kept);
            } else {
                let (logical, _) =
                    base.split_page(*kept.pages.values().next().expect("one that is nowhere else"));
                remains.in_place.entry(logical).or_default().push(kept);
            }
        }
        remains.in_place.values_mut().for_each(|blocks| blocks.reverse());
        remains.logs.reverse();
        remains
    }

    /// Every page that is somewhere.
    pub(super) fn pages(&self) -> impl Iterator<Item = u32> {
        let blocks = self.in_place.values().flatten().chain(&self.logs);
        blocks.flat_map(|kept| kept.pages.values().copied())
    }

    /// Whether any page of a logical block is in a plane.
    fn lies_in(&self, base: &Base, logical: u32, plane: usize) -> bool {
        let there = |kept: &&SurvivingBlock| base.plane_of_block(kept.block) == plane;
        let is_its = |&page: &u32| base.split_page(page).0 == logical;
        self.in_place.get(&logical).into_iter().flatten().any(|kept| there(&kept))
            || self.logs.iter().filter(there).any(|kept| kept.pages.values().any(is_its))
    }

    /// The base continues with the blocks that are left.
    pub(super) fn settle(&mut self, base: &mut Base) {
        base.restart(&self.erased);
        self.pages().for_each(|page| base.set_page(page, true));
        let mut damage = std::mem::take(&mut base.damage);
        damage.end_moves(|logical, plane| self.lies_in(base, logical, plane));
        base.damage = damage;
        base.disorder.useless = std::mem::take(&mut self.useless);
    }
}

/// How two blocks of a logical block go together: the second one has all pages before `next`, or they are `elsewhere`,
/// and the first one the later ones.
pub(super) fn go_together(
    base: &Base,
    logical: u32,
    old: &SurvivingBlock,
    new: &SurvivingBlock,
    elsewhere: impl Fn(u32) -> bool,
) -> bool {
    (0..base.block_pages).all(|offset| {
        let page = logical * base.block_pages + offset;
        let has = if offset < new.next { new.has(offset) } else { old.has(offset) };
        has || !base.has_page(page) || elsewhere(page)
    })
}
