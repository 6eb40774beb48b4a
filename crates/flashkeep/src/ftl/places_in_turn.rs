//! Where pages are that were created in order: the planes take turns, each of them by a word line (or by a page, where
//! pages are programmed one by one), and fill block after block.

use crate::flash::{Geometry, PlaneId, Ppn};
use std::sync::Arc;

/// No turn.
const NONE: u32 = u32::MAX;

/// The rule by which pages that are created in order get their places.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct PlacesInTurn {
    geometry: Geometry,
    /// The planes as they take turns, and the block that each fills first.
    planes: Vec<(PlaneId, u32)>,
    /// The turn of each plane.
    turns: Vec<u32>,
    /// Pages that go to a plane together.
    together: u32,
}

impl PlacesInTurn {
    /// The rule for planes that take turns in this order, each with the block that it fills first; `together` is the number
    /// of pages that go to a plane in its turn. None if these are not a part of a block, or if a plane has several turns in
    /// a round, as a pool of several busy units has: then a place does not say in which of them it was filled.
    #[must_use]
    pub fn new(geometry: &Geometry, planes: Vec<(PlaneId, u32)>, together: u32) -> Option<Self> {
        let mut turns = vec![NONE; geometry.plane_count() as usize];
        for (turn, &(plane, _)) in (0..).zip(&planes) {
            if std::mem::replace(&mut turns[plane.0 as usize], turn) != NONE {
                return None;
            }
        }
        let fits = !planes.is_empty() && geometry.pages.is_multiple_of(together);
        fits.then(|| PlacesInTurn { geometry: geometry.clone(), planes, turns, together })
    }

    /// The place of a page.
    #[must_use]
    pub fn at(&self, lpn: u32) -> Ppn {
        let (run, within) = (lpn / self.together, lpn % self.together);
        let (round, turn) = (run / self.planes.len() as u32, run % self.planes.len() as u32);
        let number = round * self.together + within;
        let (plane, start) = self.planes[turn as usize];
        let block = (start + number / self.geometry.pages) % self.geometry.blocks;
        self.geometry.ppn(plane, block, number % self.geometry.pages)
    }

    /// The page whose place this would be.
    #[must_use]
    pub fn owner(&self, ppn: Ppn) -> Option<u32> {
        let turn = self.turns[self.geometry.plane_of(ppn).0 as usize];
        let block = self.geometry.block_of(ppn);
        if turn == NONE || block >= self.geometry.blocks {
            return None;
        }
        let (_, start) = self.planes[turn as usize];
        let round = if block >= start { block - start } else { block + self.geometry.blocks - start };
        let number = round * self.geometry.pages + self.geometry.page_of(ppn);
        let (round, within) = (u64::from(number / self.together), number % self.together);
        let run = round * self.planes.len() as u64 + u64::from(turn);
        u32::try_from(run * u64::from(self.together) + u64::from(within)).ok()
    }
}

/// Goes through the places by a rule in order of pages, to compare them with those that a drive gives them.
#[derive(Clone, Debug)]
pub struct TurnCursor {
    rule: Arc<PlacesInTurn>,
    /// The next page.
    next: u32,
    turn: usize,
    /// The number of the plane's block, in the order in which it fills them, and the page in it.
    block: u32,
    page: u32,
    /// Pages of the run that the plane has got.
    within: u32,
    /// Whether a page lies elsewhere.
    is_over: bool,
}

impl TurnCursor {
    /// Begins with the first page.
    #[must_use]
    pub fn new(rule: Arc<PlacesInTurn>) -> Self {
        TurnCursor { rule, next: 0, turn: 0, block: 0, page: 0, within: 0, is_over: false }
    }

    /// The pages that go to a plane in its turn.
    #[must_use]
    pub fn together(&self) -> u32 {
        self.rule.together
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self) -> &Arc<PlacesInTurn> {
        &self.rule
    }

    /// The pages before this one are where the rule says.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.next
    }

    /// How many whole rounds of all planes this many pages are, within the blocks that the planes are filling; none within a
    /// round, in the first one, or where pages lie elsewhere.
    #[must_use]
    pub fn rounds(&self, pages: u32) -> u32 {
        let PlacesInTurn { geometry, planes, together, .. } = &*self.rule;
        if self.is_over || (self.turn, self.within) != (0, 0) || (self.block, self.page) == (0, 0) {
            return 0;
        }
        ((geometry.pages - self.page) / together).min(pages / (planes.len() as u32 * together))
    }

    /// The planes in turn, each with the place of its next page.
    pub fn next_places(&self) -> impl Iterator<Item = (PlaneId, Ppn)> + '_ {
        let PlacesInTurn { geometry, planes, .. } = &*self.rule;
        planes.iter().map(|&(plane, start)| {
            (plane, geometry.ppn(plane, (start + self.block) % geometry.blocks, self.page))
        })
    }

    /// Pages of this many [rounds](TurnCursor::rounds) have got their places by the rule. Returns their number.
    pub fn pass(&mut self, rounds: u32) -> u32 {
        let PlacesInTurn { geometry, planes, together, .. } = &*self.rule;
        let count = rounds * together * planes.len() as u32;
        (self.next, self.page) = (self.next + count, self.page + rounds * together);
        if self.page == geometry.pages {
            (self.page, self.block) = (0, self.block + 1);
        }
        count
    }

    /// Pages from `lpn` on have got the places from `first` on, all in a run: whether the rule says so, too, and said so of
    /// all pages before.
    #[inline]
    pub fn agrees(&mut self, lpn: u32, first: Ppn, count: u32) -> bool {
        let PlacesInTurn { geometry, planes, together, .. } = &*self.rule;
        let (plane, start) = planes[self.turn];
        let block = start + self.block;
        let block = if block >= geometry.blocks { block - geometry.blocks } else { block };
        self.is_over |= lpn != self.next
            || first != geometry.ppn(plane, block, self.page + self.within)
            || self.within + count > *together;
        if self.is_over {
            return false;
        }
        self.next += count;
        self.within += count;
        if self.within == *together {
            (self.within, self.turn) = (0, self.turn + 1);
            if self.turn == planes.len() {
                (self.turn, self.page) = (0, self.page + together);
            }
            if self.page == geometry.pages {
                (self.page, self.block) = (0, self.block + 1);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::FlashSpec;

    #[test]
    fn pages_and_places_follow_from_each_other() {
        let spec = FlashSpec {
            channels: 3,
            chips_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 5,
            pages_per_block: 6,
            ..FlashSpec::default()
        };
        let geometry = Geometry::new(&spec);
        let twice = [(2, 4), (0, 1), (2, 4)].map(|(plane, start)| (PlaneId(plane), start)).to_vec();
        assert!(PlacesInTurn::new(&geometry, twice, 1).is_none(), "a plane has two turns");
        for together in [1, 2, 3, 6] {
            let planes = [(2, 4), (0, 1)].map(|(plane, start)| (PlaneId(plane), start)).to_vec();
            let rule =
                PlacesInTurn::new(&geometry, planes, together).map(Arc::new).expect("parts of a block");
            let mut cursor = TurnCursor::new(rule.clone());
            let mut places: Vec<Ppn> = (0..60).map(|lpn| rule.at(lpn)).collect();
            for (lpn, &ppn) in (0..).zip(&places) {
                assert_eq!(rule.owner(ppn), Some(lpn));
                assert!(cursor.agrees(lpn, ppn, 1), "{lpn} of {together}");
            }
            assert_eq!(cursor.end(), 60);
            assert_eq!(places[..together as usize].last(), Some(&geometry.ppn(PlaneId(2), 4, together - 1)));
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), 60);
            assert_eq!(rule.owner(geometry.ppn(PlaneId(1), 0, 0)), None);
            let mut cursor = TurnCursor::new(rule.clone());
            assert!(
                !cursor.agrees(0, rule.at(1), 1) && !cursor.agrees(0, rule.at(0), 1) && cursor.end() == 0
            );
        }
    }
}
