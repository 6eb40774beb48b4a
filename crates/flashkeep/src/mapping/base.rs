//! The common part of block maps and log-block maps. Logical blocks are distributed over the planes in turn;
//! each plane has its own free blocks. A plan that changes a plane holds the plane exclusively, so it may
//! rely on the state that it finds.

use super::damage::Damage;
use super::refresh::DueBlocks;
use super::remains::Disorder;
use super::wear::MapWear;
use super::work::BlockPlanBuilder;
use super::{BACKEND, Counts, MappingOptions};
use crate::engine::{Command, Key, Lock, Page, Plan, Step, Verb, View};
use crate::kernel::Bits;
use std::collections::{BTreeMap, VecDeque};

/// The largest number of logical blocks that a plan merges in addition to its purpose: each takes two of 256 stages.
const MOST_JOINED: usize = 16;

/// No block; blocks are stored plus one, so that zero is the empty state.
pub(super) const NONE: u32 = 0;

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Base {
    pub(super) pages: u32,
    pub(super) planes: u32,
    pub(super) block_pages: u32,
    /// Blocks of each plane beyond those for the logical blocks.
    pub(super) spare: u32,
    /// Logical pages that have data.
    pub(super) valid: Bits,
    /// Erased blocks, plane by plane, the one erased longest ago first.
    pub(super) free: Vec<VecDeque<u32>>,
    pub(super) counts: Counts,
    /// The failed and retired flash.
    pub(super) damage: Damage,
    pub(super) wear: MapWear,
    /// In runs with power cuts: for each trimmed page, the number of the last write before the trim. It is logged; the
    /// log itself is not modelled.
    #[serde(skip)]
    pub(super) trims: BTreeMap<u32, u64>,
    /// The work that a power cut has left.
    #[serde(skip)]
    pub(super) disorder: Disorder,
    #[serde(skip)]
    pub(super) due: DueBlocks,
}

impl Base {
    pub(super) fn new(options: &MappingOptions) -> Self {
        let MappingOptions { pages, planes, blocks, block_pages, .. } = *options;
        let logical = pages.div_ceil(block_pages).div_ceil(planes);
        Base {
            pages,
            planes,
            block_pages,
            spare: blocks - logical,
            valid: Bits::default(),
            free: Self::all_blocks(planes, blocks),
            counts: Counts::default(),
            damage: Damage::default(),
            wear: MapWear::new(options),
            trims: BTreeMap::new(),
            disorder: Disorder::default(),
            due: DueBlocks::default(),
        }
    }

    fn all_blocks(planes: u32, blocks: u32) -> Vec<VecDeque<u32>> {
        (0..planes).map(|plane| (0..blocks).map(|block| block * planes + plane).collect()).collect()
    }

    /// The member was replaced by a new, erased one.
    pub(super) fn renew(&mut self) {
        self.free = Self::all_blocks(self.planes, self.blocks() / self.planes);
        (self.valid, self.damage) = (Bits::default(), Damage::default());
        (self.trims, self.disorder, self.due) = Default::default();
        self.wear.renew();
    }

    /// Blocks in all.
    pub(super) fn blocks(&self) -> u32 {
        let logical = self.pages.div_ceil(self.block_pages).div_ceil(self.planes);
        (logical + self.spare) * self.planes
    }

    pub(super) fn capacity(&self) -> u64 {
        u64::from(self.pages)
    }

    pub(super) fn logical_blocks(&self) -> usize {
        self.pages.div_ceil(self.block_pages) as usize
    }

    /// The logical block of a page, and the page's place in it.
    pub(super) fn split_page(&self, page: u32) -> (u32, u32) {
        (page / self.block_pages, page % self.block_pages)
    }

    /// The pages of a logical block.
    pub(super) fn pages_of(&self, logical: u32) -> std::ops::Range<u32> {
        let first = logical * self.block_pages;
        first..self.pages.min(first + self.block_pages)
    }

    pub(super) fn plane_of(&self, logical: u32) -> usize {
        self.damage.moved_to(logical).unwrap_or((logical % self.planes) as usize)
    }

    /// The plane of a block that is stored plus one.
    pub(super) fn plane_of_block(&self, stored: u32) -> usize {
        ((stored - 1) % self.planes) as usize
    }

    /// A page of a block that is stored plus one.
    pub(super) fn address(&self, stored: u32, offset: u32) -> u32 {
        (stored - 1) * self.block_pages + offset
    }

    /// Changes lock the plane until all of them are submitted.
    pub(super) fn lock(&self, command: &Command) -> Lock {
        let key = Key(self.plane_of(self.split_page(command.start.low()).0) as u64);
        if command.verb == Verb::Read { Lock::Pass(key) } else { Lock::Hold(key) }
    }

    /// Takes an erased block, which is stored plus one.
    pub(super) fn take(&mut self, plane: usize) -> u32 {
        let at = self.least_worn(plane);
        1 + self.free[plane].remove(at).expect("as many spare blocks as the map needs")
    }

    /// A block has no more pages: it is erased, unless it is retired. After its last erase it is not free.
    pub(super) fn release(&mut self, stored: u32, work: &mut BlockPlanBuilder<'_>) {
        if stored != NONE && !self.damage.is_retired(stored) {
            work.erase(stored);
            if !self.wear.erase(stored) {
                self.give(stored);
            }
        }
    }

    /// Whether a plane may have fewer blocks than the map was built for, or may have soon.
    pub(super) fn is_scarce(&self) -> bool {
        self.damage.is_any() || self.wear.is_near_the_end()
    }

    /// A block is being erased, or was.
    pub(super) fn give(&mut self, stored: u32) {
        let plane = self.plane_of_block(stored);
        self.free[plane].push_back(stored - 1);
    }

    pub(super) fn has_page(&self, page: u32) -> bool {
        page < self.pages && self.valid.has(page)
    }

    pub(super) fn set_page(&mut self, page: u32, valid: bool) {
        self.valid.set(page, valid);
        if self.damage.lost.count() > 0 {
            self.damage.lost.set(page, false);
        }
    }

    /// Trims pages, which is logged in runs with power cuts.
    pub(super) fn trim(&mut self, command: &Command, view: &View<'_>) {
        self.set_valid(command, false);
        if let Some(number) = view.last_write(BACKEND) {
            self.trims.extend(command.low_pages().map(|page| (page, number)));
        }
    }

    /// After a power cut: nothing holds anything, and these blocks are erased.
    pub(super) fn restart(&mut self, erased: &[u32]) {
        self.valid = Bits::default();
        self.disorder = Disorder::default();
        self.damage.urgent.clear();
        self.due.clear();
        self.free.iter_mut().for_each(VecDeque::clear);
        let erased = erased.iter().filter(|&&stored| !self.damage.is_retired(stored));
        erased.copied().collect::<Vec<_>>().into_iter().for_each(|stored| self.give(stored));
    }

    /// Erases blocks of a plane that a power cut or a failure has left without use.
    pub(super) fn erase_useless(&mut self, plane: usize, work: &mut BlockPlanBuilder<'_>) {
        let useless = std::mem::take(&mut self.disorder.useless);
        let is_here = |stored: &u32| self.plane_of_block(*stored) == plane;
        let (here, elsewhere): (Vec<u32>, Vec<u32>) = useless.into_iter().partition(is_here);
        self.disorder.useless = elsewhere;
        here.into_iter().for_each(|stored| self.release(stored, work));
    }

    /// Logical blocks of a plane to merge, as many as one plan takes; `wanted` if it is one of them.
    pub(super) fn to_be_joined(&self, plane: usize, wanted: u32) -> Vec<u32> {
        let split = self.disorder.split.keys().copied();
        let mut here: Vec<u32> =
            split.filter(|&logical| self.plane_of(logical) == plane).take(MOST_JOINED).collect();
        if self.disorder.split.contains_key(&wanted) && !here.contains(&wanted) {
            here.insert(0, wanted);
        }
        here
    }

    pub(super) fn set_valid(&mut self, command: &Command, valid: bool) {
        for page in command.low_pages() {
            self.set_page(page, valid);
        }
    }

    /// Whether any of a logical block's pages in `offsets` holds something.
    pub(super) fn any_valid(&self, logical: u32, mut offsets: std::ops::Range<u32>) -> bool {
        offsets.any(|offset| self.valid.has(logical * self.block_pages + offset))
    }

    /// Reads pages from their places, neighbours together; an unmapped page is a known zero, unless it was lost. The
    /// plan is kept, because the page of a place cannot be determined later, when the place may have been erased.
    pub(super) fn read(&self, command: &Command, plan: &mut Plan, find: impl Fn(u32) -> Option<u32>) {
        plan.keeps_running_plan = true;
        for n in 0..command.count {
            let page = command.start.low() + u32::from(n);
            let Some(place) = find(page) else {
                if self.damage.lost.has(page) {
                    plan.push(Step::missing(BACKEND, command.over(Page::of(page), 1), n));
                }
                continue;
            };
            match plan.steps.last_mut() {
                Some(Step { command: last, at, .. })
                    if last.end() as u32 == place && *at + last.count == n =>
                {
                    last.count += 1
                }
                _ => plan.push(Step::new(BACKEND, command.over(Page::of(place), 1), n)),
            }
        }
    }
}

/// How a map merges logical blocks that lie in several blocks: before a write, or without waiting for one.
pub(super) trait MergesBlocks {
    fn base(&mut self) -> &mut Base;
    /// Whether the blocks are left that merging this logical block needs.
    fn has_room_to_join(&self, logical: u32) -> bool;
    /// Copies a logical block that lies in several blocks into one.
    fn join_work(&mut self, logical: u32, work: &mut BlockPlanBuilder<'_>);
    /// Erases other blocks of a plane that have no more pages.
    fn drop_empty(&mut self, _plane: usize, _work: &mut BlockPlanBuilder<'_>) {}

    /// What a power cut or a failure has left to be done in the plane of a logical block is done first.
    fn tidy(&mut self, logical: u32, work: &mut BlockPlanBuilder<'_>) {
        if self.base().disorder.is_empty() {
            return;
        }
        let plane = self.base().plane_of(logical);
        self.base().erase_useless(plane, work);
        for logical in self.base().to_be_joined(plane, logical) {
            if self.has_room_to_join(logical) {
                self.join_work(logical, work);
                self.base().counts.full_merges += 1;
            }
        }
        self.drop_empty(plane, work);
    }

    /// Merges a logical block that should not wait for a write.
    fn background(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        let urgent = self.base().urgent(view);
        let Some(logical) = urgent.into_iter().find(|&logical| self.has_room_to_join(logical)) else {
            return false;
        };
        let (plane, block_pages) = (self.base().plane_of(logical), self.base().block_pages);
        let mut work = BlockPlanBuilder::background(plan, plane, block_pages);
        self.base().erase_useless(plane, &mut work);
        self.join_work(logical, &mut work);
        self.base().counts.full_merges += 1;
        self.drop_empty(plane, &mut work);
        work.end();
        true
    }
}
