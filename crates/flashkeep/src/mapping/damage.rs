//! Block maps and log-block maps after failures of flash.
//!
//! A block is *retired* if all of it has failed, if one of its pages has, or if it has had its last erase (`wear`).
//! It is never programmed or erased again. Its logical block is rebuilt in another block of the plane, from the pages
//! that can still be read; pages that cannot are lost, and the node above is notified. A log block that is retired
//! gives way in the same manner: each logical block with a page in it is merged.
//!
//! A logical block without any block moves to the plane with most free blocks, if its own has none to spare (all of
//! its planes may be gone). Each plane keeps the blocks that a merge needs: a write for which nothing else is left is
//! refused.

use super::BACKEND;
use super::base::{Base, NONE};
use crate::engine::{Change, Command, Key, Page, Plan, View};
use crate::kernel::Bits;
use std::collections::{BTreeMap, BTreeSet};

/// The damage of a block map.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Damage {
    /// Retired blocks.
    retired: Bits,
    /// The plane of each logical block that is not in its own.
    moved: BTreeMap<u32, u32>,
    /// Planes in which new flash may have replaced retired blocks.
    #[serde(skip)]
    renewed: BTreeSet<u32>,
    /// Logical blocks that are merged without waiting for a write.
    #[serde(skip)]
    pub(super) urgent: BTreeSet<u32>,
    /// Lost pages: a read of one fails until it is written or trimmed.
    pub(super) lost: Bits,
    /// Pages lost by the member's last change.
    #[serde(skip)]
    losses: Vec<Change>,
}

/// The block that a logical block gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seat {
    /// In another plane, which is its own from now on.
    Moved,
    /// In another plane, once nothing else is changed there.
    Later,
    Nowhere,
}

impl Damage {
    /// Whether any flash has ever failed.
    pub(super) fn is_any(&self) -> bool {
        self.retired.count() > 0 || !self.moved.is_empty() || !self.renewed.is_empty()
    }

    /// Whether a block, stored plus one, is retired.
    pub(super) fn is_retired(&self, stored: u32) -> bool {
        self.retired.has(stored - 1)
    }

    #[inline]
    pub(super) fn moved_to(&self, logical: u32) -> Option<usize> {
        if self.moved.is_empty() { None } else { self.moved.get(&logical).map(|&plane| plane as usize) }
    }

    /// A logical block of which a power cut has left nothing in the plane that it moved to has its own plane again.
    pub(super) fn end_moves(&mut self, lies_in: impl Fn(u32, usize) -> bool) {
        self.moved.retain(|&logical, &mut plane| lies_in(logical, plane as usize));
    }

    /// All retired blocks among this many.
    pub(super) fn all_retired(&self, blocks: u32) -> Vec<u32> {
        (0..blocks).filter(|&block| self.retired.has(block)).collect()
    }

    /// Flash has been replaced by new flash.
    pub(super) fn expect_blocks(&mut self, planes: u32) {
        self.renewed = (0..planes).collect();
    }

    pub(super) fn losses(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.losses)
    }
}

impl Base {
    /// A page is lost, for this reason.
    pub(super) fn lose(&mut self, page: u32, why: fn(Page) -> Change, view: &View<'_>) {
        self.set_page(page, false);
        self.disorder.astray.remove(&page);
        if let Some(number) = view.last_write(BACKEND) {
            self.trims.insert(page, number);
        }
        self.damage.lost.set(page, true);
        self.damage.losses.push(why(Page::of(page)));
    }

    /// Pages of a write have no place.
    pub(super) fn give_up(&mut self, command: &Command, plan: &mut Plan) {
        plan.refuses = true;
        for page in command.low_pages() {
            self.damage.lost.set(page, true);
        }
    }

    /// A block, not plus one, cannot be programmed any more.
    pub(super) fn retire(&mut self, block: u32) {
        self.damage.retired.set(block, true);
        self.wear.open(block + 1);
        let plane = (block % self.planes) as usize;
        self.free[plane].retain(|&free| free != block);
    }

    /// New flash is used, in planes where nothing is being changed: blocks that were retired, all of whose pages work.
    /// One that nothing refers to is free, or erased before that.
    pub(super) fn take_back(&mut self, view: &View<'_>, is_used: impl Fn(u32) -> bool) {
        let open: Vec<u32> =
            self.damage.renewed.iter().copied().filter(|&plane| !view.held(Key(u64::from(plane)))).collect();
        for plane in open {
            self.damage.renewed.remove(&plane);
            for block in (plane..self.blocks()).step_by(self.planes as usize) {
                self.reinstate(block, view, &is_used);
            }
        }
    }

    fn reinstate(&mut self, block: u32, view: &View<'_>, is_used: impl Fn(u32) -> bool) {
        let mut pages = (block * self.block_pages..(block + 1) * self.block_pages).map(Page::of);
        if !self.damage.retired.has(block) || pages.any(|page| view.has_failed(BACKEND, page)) {
            return;
        }
        self.damage.retired.set(block, false);
        let stored = block + 1;
        self.wear.look_up(stored, view.erases_at(BACKEND, Page::of(block * self.block_pages)));
        let in_parts = self.disorder.split.values().flatten().any(|&part| part == stored);
        if is_used(stored) || in_parts || self.disorder.useless.contains(&stored) {
            return;
        }
        if view.is_erased(BACKEND, Page::of(block * self.block_pages)) {
            self.give(stored);
        } else {
            self.disorder.useless.push(stored);
        }
    }

    /// A logical block without any block looks for a plane that has `least` free ones, where nothing is being changed.
    pub(super) fn find_seat(&mut self, logical: u32, least: usize, view: &View<'_>) -> Seat {
        let roomy = |plane: &usize| self.free[*plane].len() >= least;
        let is_held = |plane: &usize| view.held(Key(*plane as u64));
        let planes = (0..self.planes as usize).filter(roomy);
        let (held, open): (Vec<usize>, Vec<usize>) = planes.partition(is_held);
        let best = open.into_iter().max_by_key(|&plane| (self.free[plane].len(), std::cmp::Reverse(plane)));
        let Some(plane) = best else {
            return if held.is_empty() { Seat::Nowhere } else { Seat::Later };
        };
        self.damage.moved.insert(logical, plane as u32);
        Seat::Moved
    }

    /// A logical block has given up its own blocks: it is merged soon, or these are of no use if none of its pages is
    /// left.
    pub(super) fn split(&mut self, logical: u32, parts: [u32; 2], is_any_left: bool) {
        let parts = parts.into_iter().filter(|&part| part != NONE);
        parts.clone().for_each(|part| self.wear.open(part));
        self.disorder.split.entry(logical).or_default().extend(parts);
        self.damage.urgent.insert(logical);
        if !is_any_left {
            let parts = self.unsplit(logical);
            self.disorder.useless.extend(parts);
        }
    }

    /// A logical block has been rebuilt, or holds nothing: the blocks that it lay in.
    pub(super) fn unsplit(&mut self, logical: u32) -> Vec<u32> {
        self.damage.urgent.remove(&logical);
        self.disorder.split.remove(&logical).unwrap_or_default()
    }

    /// Whether one of the blocks that a logical block lies in can be used again.
    pub(super) fn has_good_part(&self, logical: u32) -> bool {
        let parts = self.disorder.split.get(&logical);
        parts.is_some_and(|parts| parts.iter().any(|&part| self.comes_back(part)))
    }

    /// Whether a logical block is merged without waiting for a write, or its data must be moved.
    pub(super) fn is_urgent(&self) -> bool {
        !self.damage.urgent.is_empty() || self.has_due()
    }

    /// Logical blocks that must be merged without waiting, of planes where nothing is being changed.
    pub(super) fn urgent(&self, view: &View<'_>) -> Vec<u32> {
        let free = |logical: &u32| !view.held(Key(self.plane_of(*logical) as u64));
        self.damage.urgent.iter().copied().filter(free).collect()
    }
}
