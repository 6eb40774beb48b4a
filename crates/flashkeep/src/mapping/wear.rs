//! Wear leveling and erase budgets of maps of blocks, by the policies of page maps (`ftl.wear`).
//!
//! With `rate-limit` a worn free block is passed over as long as the plane has others. With `migration` the data of the
//! coldest logical block of the plane move into a worn block as soon as that has been erased, each page to its own
//! place (cause `migrate`), and the block that they leave is erased.
//!
//! The map counts erases as it plans them, so it knows the last one in advance: that block is not free afterwards. The
//! drive retires it when it is erased, and tells the map.

use super::base::{Base, NONE};
use super::work::BlockPlanBuilder;
use super::{BACKEND, MappingOptions};
use crate::blocks::wear::WearVerdict;
use crate::blocks::{Chooser, EraseUnits, Score};
use crate::engine::{Cause, Page, View};

/// Free blocks that are looked at before one is taken as it is.
const LIST: usize = 8;

/// The wear of a member's blocks, and which of them hold a logical block. Lists of blocks are ordered by plane.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct MapWear {
    chooser: Chooser,
    /// The erases that a block endures.
    #[serde(skip)]
    budget: Option<u32>,
    planes: u32,
    erases: Vec<u32>,
    /// The erases of the most worn block.
    most: u32,
    /// The logical block of which each block holds all data, plus one; and what the policies see of that.
    holds: Vec<u32>,
    scores: Vec<u32>,
    /// When each block was closed, counted in its plane; and that count.
    closed_at: Vec<u32>,
    closings: Vec<u32>,
}

impl MapWear {
    pub(super) fn new(options: &MappingOptions) -> Self {
        let mut chooser = Chooser::new(options.policies.clone());
        chooser.seed(options.seed);
        let blocks = (options.planes * options.blocks) as usize;
        MapWear {
            chooser,
            budget: options.policies.erase_budget,
            planes: options.planes,
            erases: vec![0; blocks],
            most: 0,
            holds: vec![NONE; blocks],
            scores: vec![u32::NOT_CLOSED; blocks],
            closed_at: vec![0; blocks],
            closings: vec![0; options.planes as usize],
        }
    }

    /// All blocks are new.
    pub(super) fn renew(&mut self) {
        self.erases.fill(0);
        self.most = 0;
        self.open_all();
    }

    /// A loaded state takes over the policies of the drive that loads it.
    pub(super) fn adopt_policies(&mut self, built: &MapWear) {
        let turn = self.chooser.turn();
        self.chooser = built.chooser.clone();
        self.chooser.set_turn(turn);
        self.budget = built.budget;
    }

    /// The place of a block, which is stored plus one, in lists.
    fn at(&self, stored: u32) -> usize {
        let (plane, unit) = ((stored - 1) % self.planes, (stored - 1) / self.planes);
        plane as usize * self.per_plane() + unit as usize
    }

    fn per_plane(&self) -> usize {
        self.erases.len() / self.planes as usize
    }

    fn of_plane(&self, plane: usize) -> std::ops::Range<usize> {
        plane * self.per_plane()..(plane + 1) * self.per_plane()
    }

    /// A block is erased; whether that is the last time.
    pub(super) fn erase(&mut self, stored: u32) -> bool {
        let at = self.at(stored);
        let is_last = self.is_last(stored);
        self.erases[at] += 1;
        self.most = self.most.max(self.erases[at]);
        self.open(stored);
        is_last
    }

    /// Whether the next erase of a block is its last.
    pub(super) fn is_last(&self, stored: u32) -> bool {
        self.budget.is_some_and(|budget| self.erases[self.at(stored)] + 1 >= budget)
    }

    /// Whether the next erase of any block may be its last.
    pub(super) fn is_near_the_end(&self) -> bool {
        self.budget.is_some_and(|budget| self.most + 1 >= budget)
    }

    /// Finds out how often a block has been erased: it may be new, or a power cut may have come before an erase.
    pub(super) fn look_up(&mut self, stored: u32, erases: u32) {
        let at = self.at(stored);
        self.erases[at] = erases;
        self.most = self.most.max(erases);
    }

    /// A block has all data of a logical block from now on.
    pub(super) fn close(&mut self, stored: u32, logical: u32) {
        let (at, plane) = (self.at(stored), ((stored - 1) % self.planes) as usize);
        self.closings[plane] += 1;
        (self.closed_at[at], self.holds[at], self.scores[at]) = (self.closings[plane], logical + 1, 1);
    }

    /// The block of a logical block has been written to.
    pub(super) fn touch(&mut self, stored: u32) {
        let (at, plane) = (self.at(stored), ((stored - 1) % self.planes) as usize);
        self.closed_at[at] = self.closings[plane];
    }

    /// A block has them no more, or not alone.
    pub(super) fn open(&mut self, stored: u32) {
        let at = self.at(stored);
        (self.holds[at], self.scores[at]) = (NONE, u32::NOT_CLOSED);
    }

    /// No block has all data of a logical block, as far as is known.
    pub(super) fn open_all(&mut self) {
        self.holds.fill(NONE);
        self.scores.fill(u32::NOT_CLOSED);
    }
}

/// The blocks of a plane as wear leveling sees them.
struct MapPlane<'a> {
    base: &'a Base,
    plane: usize,
    /// Whether a page is not in the block of its logical block.
    is_elsewhere: &'a dyn Fn(u32) -> bool,
}

impl MapPlane<'_> {
    fn of<'a, T>(&self, list: &'a [T]) -> &'a [T] {
        &list[self.base.wear.of_plane(self.plane)]
    }
}

impl EraseUnits for MapPlane<'_> {
    type Score = u32;

    fn scores(&self) -> &[u32] {
        self.of(&self.base.wear.scores)
    }

    fn closed_at(&self) -> &[u32] {
        self.of(&self.base.wear.closed_at)
    }

    fn closings(&self) -> u32 {
        self.base.wear.closings[self.plane]
    }

    fn worth(&self) -> u32 {
        self.base.block_pages
    }

    fn pages(&self) -> u32 {
        self.worth()
    }

    fn valid_in(&self, unit: u32) -> u32 {
        let Some(logical) = self.of(&self.base.wear.holds)[unit as usize].checked_sub(1) else { return 0 };
        let is_in_place = |&page: &u32| self.base.has_page(page) && !(self.is_elsewhere)(page);
        self.base.pages_of(logical).filter(is_in_place).count() as u32
    }

    fn erases_of(&self, unit: u32) -> u32 {
        self.of(&self.base.wear.erases)[unit as usize]
    }

    fn erases(&self) -> u64 {
        self.of(&self.base.wear.erases).iter().copied().map(u64::from).sum()
    }
}

impl Base {
    /// The verdict of wear leveling on a block that will be used again.
    fn judge(&mut self, stored: u32, is_elsewhere: &dyn Fn(u32) -> bool) -> WearVerdict {
        let mut chooser = std::mem::take(&mut self.wear.chooser);
        let plane = self.plane_of_block(stored);
        let units = MapPlane { base: self, plane, is_elsewhere };
        let verdict = chooser.judged(&units, (stored - 1) / self.planes);
        self.wear.chooser = chooser;
        verdict
    }

    /// The place of the free block of a plane that is taken: the one erased longest ago, unless that is worn.
    pub(super) fn least_worn(&mut self, plane: usize) -> usize {
        if !self.wear.chooser.levels() {
            return 0;
        }
        let last = self.free[plane].len().min(LIST).saturating_sub(1);
        let takes = |at: &usize| self.judge(self.free[plane][*at] + 1, &|_| true) != WearVerdict::Pass;
        (0..last).find(takes).unwrap_or(last)
    }

    /// Whether a block is free again when it is erased.
    pub(super) fn comes_back(&self, stored: u32) -> bool {
        stored != NONE && !self.damage.is_retired(stored) && !self.wear.is_last(stored)
    }

    /// A block has just been released. If it is worn, the data of the coldest logical block move into it, but for pages
    /// that are elsewhere; returns that logical block.
    pub(super) fn move_coldest(
        &mut self,
        worn: u32,
        work: &mut BlockPlanBuilder<'_>,
        is_elsewhere: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        if worn == NONE || !self.wear.chooser.levels() || work.is_long() {
            return None;
        }
        let plane = self.plane_of_block(worn);
        let at = self.free[plane].iter().rposition(|&free| free == worn - 1)?;
        let WearVerdict::Migrate(unit) = self.judge(worn, &is_elsewhere) else { return None };
        let cold = unit * self.planes + plane as u32 + 1;
        let logical = self.wear.holds[self.wear.at(cold)].checked_sub(1)?;
        if !self.comes_back(cold) {
            return None;
        }
        self.free[plane].remove(at);
        work.because(Cause::Migrate);
        for page in self.pages_of(logical) {
            if self.has_page(page) && !is_elsewhere(page) {
                let offset = page % self.block_pages;
                work.copy(page, self.address(cold, offset), self.address(worn, offset));
            }
        }
        work.copied();
        self.wear.close(worn, logical);
        self.release(cold, work);
        work.because(Cause::Gc);
        Some(logical)
    }

    /// After a power cut, the erase counts that drives keep of their blocks are used.
    pub(super) fn look_up_wear(&mut self, view: &View<'_>) {
        self.wear.open_all();
        for block in 0..self.blocks() {
            let first = Page::of(block * self.block_pages);
            self.wear.look_up(block + 1, view.erases_at(BACKEND, first));
            if view.has_failed(BACKEND, first) {
                self.retire(block);
            }
        }
    }
}
