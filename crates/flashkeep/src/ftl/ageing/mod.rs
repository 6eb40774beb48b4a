//! Blocks of flash that was used before time 0: one file per model, one line in the table.

use super::blocks::{Blocks, FREE, OPEN};
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};
use crate::options::{OptionsPart, Selector, SelectorValue};
use flashkeep_trace::random::Random;

mod approach1;
mod approach2;
mod basic;
mod steady;

pub use approach2::ValidOptions;
pub use steady::{SteadyPlanes, shuffled};

/// The target state of an aged plane.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Pages of a block.
    pub pages: u32,
    /// Pages of the plane that have been written: ⌊ratio · pages of the plane⌋.
    pub written: u32,
    /// Pages of a block that have been written where all are alike: ⌈ratio · pages of a block⌉.
    pub written_each: u32,
    /// The mean share of valid pages in blocks written in full, in millionths; of all that is written, if the model
    /// itself leaves nothing valid.
    pub valid_ppm: u32,
}

impl Wish {
    /// Valid pages in this many fully written blocks: the mean, rounded once.
    #[must_use]
    pub fn valid_in(&self, blocks: u32) -> u64 {
        let pages = u64::from(blocks) * u64::from(self.pages);
        (pages * u64::from(self.valid_ppm) + 500_000) / 1_000_000
    }
}

/// A block that has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aged {
    /// Pages written, from the first one on.
    pub written: u32,
    /// How many of them are valid, wherever they lie.
    pub valid: u32,
}

/// A model of ageing.
#[derive(Clone, Copy)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    pub source: &'static str,
    /// Whether pages are left valid.
    pub leaves_valid: bool,
    /// Whether all pages of the drive are, and a drive finds its blocks itself ([`SteadyPlanes`]).
    pub fills: bool,
    /// Its options in `[ageing]`.
    pub options: &'static [OptionsPart],
    /// The blocks of a plane in the order in which it fills them; those beyond are erased.
    pub blocks: fn(&Wish, &mut Random) -> Vec<Aged>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Model {
    /// The blocks of a plane. If pages must be valid where the model leaves none, each block has its share of them.
    #[must_use]
    pub fn aged(&self, wish: &Wish, random: &mut Random) -> Vec<Aged> {
        let mut aged = (self.blocks)(wish, random);
        if !self.leaves_valid {
            let (mut written, mut valid) = (0, 0);
            for block in &mut aged {
                written += u64::from(block.written);
                block.valid = (written * u64::from(wish.valid_ppm) / 1_000_000 - valid) as u32;
                valid += u64::from(block.valid);
            }
        }
        aged
    }
}

/// The pages that a model writes.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct AgedOptions {
    /// The share of each plane's pages that have been written.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub aged_ratio: f64,
}

impl Default for AgedOptions {
    fn default() -> Self {
        AgedOptions { aged_ratio: 0.7 }
    }
}

/// `ageing.model` and the options of the models.
pub const SELECTOR: Selector = Selector {
    key: "model",
    values: || {
        MODELS.iter().map(|model| SelectorValue { name: model.name, options: model.options }).collect()
    },
    shapes_state: false,
};

/// The table of ageing models.
pub const MODELS: [Model; 4] = [basic::MODEL, approach1::MODEL, approach2::MODEL, steady::MODEL];

/// The values of `ageing.model`.
#[must_use]
pub fn names() -> Vec<&'static str> {
    std::iter::once("none").chain(MODELS.iter().map(|model| model.name)).collect()
}

/// The model of that name.
#[must_use]
pub fn named(name: &str) -> Option<Model> {
    MODELS.into_iter().find(|model| model.name == name)
}

/// Pages of a block that are valid: a number out of `written`, every choice equally likely.
pub fn valid_places(aged: Aged, random: &mut Random, mut tell: impl FnMut(u32)) {
    let mut left = aged.valid;
    for page in 0..aged.written {
        if left > 0 && random.below(u64::from(aged.written - page)) < u64::from(left) {
            left -= 1;
            tell(page);
        }
    }
}

impl<C: Contents> Blocks<C> {
    /// The next block of a plane that has never been erased is as if it had been written; nothing in it is valid.
    pub fn age(&mut self, plane: PlaneId, written: u32) -> u32 {
        let state = &mut self.planes[plane.0 as usize];
        let block = state.cursor;
        let index = self.geometry.block_index(plane, block);
        assert_eq!(self.score[index], FREE, "only blocks that were never used are aged");
        state.cursor = if block + 1 == self.geometry.blocks { 0 } else { block + 1 };
        state.free_blocks -= 1;
        state.free_pages -= written;
        state.closes += 1;
        (self.score[index], self.closed[index]) = (0, state.closes);
        if written < self.geometry.pages {
            self.clean.resize(self.score.len(), 0);
            self.clean[index] = (self.geometry.pages - written) as u16;
        }
        block
    }

    /// The next block of a plane is open, and its first pages are as if they had been written; nothing in it is valid.
    pub fn age_open(&mut self, plane: PlaneId, written: u32) -> u32 {
        let first = self.open_next(plane);
        let state = &mut self.planes[plane.0 as usize];
        state.left -= written;
        state.free_pages -= written;
        state.next = Some(Ppn(first.0 + written));
        self.geometry.block_of(first)
    }

    /// This many pages of an aged block are valid.
    pub fn validate_aged(&mut self, first: Ppn, valid: u32) {
        self.score[self.geometry.block_index_of(first)] += valid as u16;
    }

    /// A plane has been aged, from block `first` on: it continues with the first block that was written in part, if any.
    pub fn go_on_aged(&mut self, plane: PlaneId, first: u32) {
        if self.clean.is_empty() {
            return;
        }
        self.planes[plane.0 as usize].cursor = first;
        let cleans = (first..self.geometry.blocks).chain(0..first);
        let open = cleans.into_iter().find(|&block| self.clean[self.geometry.block_index(plane, block)] > 0);
        if let Some(block) = open {
            self.planes[plane.0 as usize].cursor = block;
            let next = self.reopen(plane);
            self.planes[plane.0 as usize].next = next;
        }
    }

    /// A block is about to be collected: its clean pages stay empty until it is erased, or another block is chosen.
    pub fn choose_victim(&mut self, plane: PlaneId, block: u32) {
        if !self.clean.is_empty() {
            self.victims.resize(self.planes.len(), u32::MAX);
            self.victims[plane.0 as usize] = block;
        }
    }

    /// The next block with clean pages, erased ones included, where that has been written in part.
    #[cold]
    pub(super) fn reopen(&mut self, plane: PlaneId) -> Option<Ppn> {
        let from = self.planes[plane.0 as usize].cursor;
        let mut circle = (from..self.geometry.blocks).chain(0..from);
        let usable = |block: &u32| {
            let index = self.geometry.block_index(plane, *block);
            let is_victim = self.victims.get(plane.0 as usize) == Some(block);
            self.score[index] == FREE || (self.clean[index] > 0 && !is_victim)
        };
        let block = circle.find(usable)?;
        let index = self.geometry.block_index(plane, block);
        let clean = u32::from(std::mem::take(&mut self.clean[index]));
        let (next, left) =
            self.good_pages_from(self.geometry.ppn(plane, block, self.geometry.pages - clean))?;
        if clean == 0 {
            return None;
        }
        self.score[index] |= OPEN;
        let state = &mut self.planes[plane.0 as usize];
        state.cursor = if block + 1 == self.geometry.blocks { 0 } else { block + 1 };
        state.left = left;
        Some(next)
    }

    /// The clean pages of a block that was written in part will not be used before it is erased; how many.
    pub(super) fn give_up_clean(&mut self, index: usize) -> u32 {
        self.clean.get_mut(index).map_or(0, |clean| u32::from(std::mem::take(clean)))
    }

    /// Clean pages of a plane's blocks that were written in part.
    #[must_use]
    pub fn clean_pages(&self, plane: PlaneId) -> u32 {
        let first = self.geometry.block_index(plane, 0);
        let blocks = self.clean.get(first..first + self.geometry.blocks as usize);
        blocks.map_or(0, |blocks| blocks.iter().copied().map(u32::from).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wish(blocks: u32, pages: u32, ratio: f64, valid: f64) -> Wish {
        Wish {
            pages,
            written: (f64::from(blocks * pages) * ratio) as u32,
            written_each: (f64::from(pages) * ratio).ceil() as u32,
            valid_ppm: (valid * 1e6).round() as u32,
        }
    }

    #[test]
    fn page_counts_of_the_paper() {
        let wish = wish(2048, 64, 0.8, 0.2);
        assert_eq!(wish.written, 104_857);
        let mut random = Random::stream(1, "ageing");
        let basic = (basic::MODEL.blocks)(&wish, &mut random);
        assert_eq!((basic[0], basic.len()), (Aged { written: 52, valid: 0 }, 104_857_usize.div_ceil(52)));
        let one = (approach1::MODEL.blocks)(&wish, &mut random);
        assert!(one[..1638].iter().all(|aged| aged.written == 64));
        assert_eq!(one[1638..], [Aged { written: 25, valid: 0 }]);
    }

    proptest! {
        #[test]
        fn models_write_as_many_pages_as_asked_and_leave_as_many_valid(
            blocks in 4u32..300, pages in 1u32..130, ratio in 0.05f64..0.9, valid in 0.0f64..1.0, seed in 0u64..1000,
        ) {
            let wish = wish(blocks, pages, ratio, valid);
            for model in MODELS.into_iter().filter(|model| !model.fills) {
                let aged = (model.blocks)(&wish, &mut Random::stream(seed, "ageing"));
                prop_assert!(aged.len() as u32 <= blocks, "{}", model.name);
                prop_assert_eq!(aged.iter().map(|aged| aged.written).sum::<u32>(), wish.written);
                prop_assert!(aged.iter().all(|aged| aged.valid <= aged.written && aged.written <= pages));
                let full = aged.iter().filter(|aged| aged.written == pages).count() as u32;
                let left = if model.leaves_valid { wish.valid_in(full) } else { 0 };
                prop_assert_eq!(aged.iter().map(|aged| u64::from(aged.valid)).sum::<u64>(), left);
            }
        }

        #[test]
        fn valid_pages_lie_anywhere_once(written in 1u32..200, share in 0.0f64..=1.0, seed in 0u64..100) {
            let aged = Aged { written, valid: (f64::from(written) * share) as u32 };
            let mut places = Vec::new();
            valid_places(aged, &mut Random::stream(seed, "ageing"), |page| places.push(page));
            prop_assert_eq!(places.len() as u32, aged.valid);
            prop_assert!(places.is_sorted_by(|a, b| a < b) && places.iter().all(|&page| page < written));
        }
    }
}
