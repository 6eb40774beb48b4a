//! Physical pages as they were created before time 0: what a rule says of them holds until their block is erased.

use super::InitialPlaces;
use super::blocks::Blocks;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};
use std::ops::Range;

/// No number of erases.
const NEVER: u32 = u32::MAX;

impl<C: Contents> Blocks<C> {
    /// Pages were programmed before time 0 for those whose places these are.
    pub fn set_initial(&mut self, initial: InitialPlaces) {
        self.reverse_map.set_initial(initial);
    }

    /// These pages have the contents of the host's pages of the same numbers ([`Contents::initial`]).
    pub fn set_initial_contents(&mut self) {
        if self.initial_erases.is_empty() {
            self.initial_erases.clone_from(&self.erases);
        }
    }

    /// Whether pages were created by a rule with contents.
    #[must_use]
    pub fn have_initial(&self) -> bool {
        !self.initial_erases.is_empty()
    }

    /// Whether the block of a page has not been erased since pages were created by a rule.
    fn is_initial(&self, ppn: Ppn) -> bool {
        let index = self.geometry.block_index_of(ppn);
        self.initial_erases.get(index) == Some(&self.erases[index])
    }

    /// Whether the pages of a block that were created by a rule with contents can be read, and have these.
    #[must_use]
    pub fn is_as_created(&self, plane: PlaneId, block: u32) -> bool {
        let first = self.geometry.ppn(plane, block, 0);
        let end = Ppn(first.0 + self.geometry.pages_in(block));
        self.is_initial(first)
            && !self.is_failed_block(plane, block)
            && !self.has_defects(first, end)
            && self.contents.alike(first.0.into()..end.0.into()) == Some(C::default())
    }

    /// The page that a physical page was created for by a rule with contents; none once its block has been erased.
    #[must_use]
    pub fn initial_owner(&self, ppn: Ppn) -> Option<u32> {
        if self.is_initial(ppn) { self.reverse_map.initial_owner(ppn) } else { None }
    }

    /// The pages of which a block had the contents when they were created by a rule, with their places.
    pub fn initial_owners(&self, plane: PlaneId, block: u32) -> impl Iterator<Item = (Ppn, u32)> + '_ {
        let pages = if self.have_initial() { self.geometry.pages_in(block) } else { 0 };
        let places = (0..pages).map(move |page| self.geometry.ppn(plane, block, page));
        places.filter_map(|ppn| Some((ppn, self.reverse_map.initial_owner(ppn)?)))
    }

    /// What the contents of a page are kept as the difference to.
    #[inline]
    pub(super) fn initial_contents_of(&self, ppn: Ppn) -> C {
        self.initial_owner(ppn).map_or(C::default(), |lpn| C::initial(lpn.into()))
    }

    /// New blocks take the places of these.
    pub(super) fn forget_initial(&mut self, blocks: Range<usize>) {
        if self.have_initial() {
            self.initial_erases[blocks].fill(NEVER);
        }
    }
}
