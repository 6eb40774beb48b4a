//! Where pages from before time 0 lie in drives whose programs take several pages (`packing`): where they would if all of
//! the drive had been written in order of addresses, whichever of them a run creates, and in which order.
//!
//! The pages that a program takes go together: by their address, one word line of them after the other to the next die.
//! The first page of a word line that is created sets the whole of it aside, on the plane that follows from the address,
//! and each page has its place in it. Places of pages that are never created hold nothing: to GC they are invalid. Where
//! that would leave a plane with so little room that it collects, or where a word line has been begun, a page gets the
//! next place of its plane.

use super::{DriveBackends, DriveHealth, Gc, Packing, Power, Translation};
use crate::drive::controller::Controller;
use crate::engine::{Contents, FixedMap};
use crate::flash::{Geometry, PlaneId, Ppn};
use crate::ftl::{Allocation, Blocks, MapEntry, PlaneChoice};
use std::ops::Range;

/// Word lines that have been set aside, by backend and the first of their pages.
pub(super) type WordLines = FixedMap<(u16, u32), WordLine>;

/// A word line that has been set aside.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordLine {
    /// The place of its first page.
    first: Ppn,
    /// How often its block had been erased.
    erases: u32,
}

/// The pages that share a word line by their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Neighbours {
    first: u32,
    together: u32,
    plane: PlaneId,
}

impl<C: Contents> Translation<C> {
    /// Whether no page lies in a place that has been set aside, not even an old version of one.
    fn is_unused(&self, ftl: usize, slot: Ppn, controller: &Controller<C>) -> bool {
        let owner = self.blocks.owner(slot);
        let is_there = owner < self.maps.len()
            && (self.maps.get(ftl, owner) == MapEntry::At(slot)
                || self.is_older_copy(ftl, owner, slot, controller));
        !is_there && !self.blocks.is_unreadable(slot)
    }

    /// The pages that share a word line with this one. None where the address says nothing about that, or where flash
    /// has failed.
    fn neighbours(&self, ftl: usize, lpn: u32, health: &DriveHealth) -> Option<Neighbours> {
        let &Geometry { places, word_line, .. } = self.blocks.geometry();
        let backend = &self.backends[ftl];
        if health.is_damaged() {
            return None;
        }
        let (together, plane) = match &backend.allocation {
            Allocation::Dynamic if self.placement.plane_choice == PlaneChoice::InTurn => {
                (word_line, self.plane_of_turn(ftl, lpn / word_line))
            }
            Allocation::Static(_) => {
                let fits = |step: &u32| self.placement.stride.is_multiple_of(*step);
                let together = [word_line, places].into_iter().find(fits).filter(|&together| together > 1)?;
                (together, backend.allocation.plane(self.blocks.geometry(), &backend.domain, lpn)?)
            }
            Allocation::Dynamic | Allocation::Partial(_) => return None,
        };
        Some(Neighbours { first: lpn - lpn % together, together, plane })
    }
}

impl Packing {
    /// The word line that has been set aside for pages from `first` on, if it is still there.
    fn set_aside_before<C: Contents>(
        &self,
        ftl: usize,
        first: u32,
        blocks: &Blocks<C>,
        gc: &Gc,
    ) -> Option<WordLine> {
        let word_line = *self.word_lines.get(&(ftl as u16, first))?;
        let plane = blocks.geometry().plane_of(word_line.first);
        let block = blocks.geometry().block_of(word_line.first);
        let erased = blocks.erases_of(plane, block) != word_line.erases;
        // A collection does not look at the same page twice.
        let collected = gc.collections[plane.0 as usize].victim() == Some(block);
        (!erased && !collected).then_some(word_line)
    }

    /// Sets a word line aside, if that leaves enough room and the open block has a whole one to program.
    fn set_aside<C: Contents>(
        &mut self,
        ftl: usize,
        neighbours: Neighbours,
        translation: &mut Translation<C>,
        gc: &Gc,
        power: &mut Power,
    ) -> Option<WordLine> {
        let Neighbours { first: page, together, plane } = neighbours;
        let left = translation.blocks.plane(plane).free_pages.checked_sub(together)?;
        if gc.thresholds.is_low(left) || !translation.blocks.has_room_for(plane, together) {
            return None;
        }
        let several = translation.streams.are_several();
        let stream = if several { translation.streams.of_written(ftl, page) } else { 0 };
        let first = translation.blocks.set_aside(stream, plane, together)?;
        (first.0..first.0 + together).for_each(|ppn| power.note_oob(Ppn(ppn), 0, 0));
        let erases = translation.blocks.erases_of(plane, translation.blocks.geometry().block_of(first));
        let word_line = WordLine { first, erases };
        self.word_lines.insert((ftl as u16, page), word_line);
        Some(word_line)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// The plane and the place that a page from before time 0 has by its address; none if it goes where there is room.
    #[inline(never)]
    pub(super) fn place_by_address(
        &mut self,
        ftl: usize,
        lpn: u32,
        contents: C,
        controller: &Controller<C>,
    ) -> Option<(PlaneId, Ppn)> {
        let neighbours = self.ftl.neighbours(ftl, lpn, &self.health)?;
        let Neighbours { first, plane, .. } = neighbours;
        let slot = |word_line: WordLine| Ppn(word_line.first.0 + lpn - first);
        let slot = match self.packing.set_aside_before(ftl, first, &self.ftl.blocks, &self.gc).map(slot) {
            Some(slot) => self.ftl.is_unused(ftl, slot, controller).then_some(slot),
            None => {
                self.packing.set_aside(ftl, neighbours, &mut self.ftl, &self.gc, &mut self.power).map(slot)
            }
        };
        if let Some(slot) = slot {
            self.ftl.streams.warm(ftl, lpn);
            self.ftl.blocks.fill(slot, lpn, contents);
            return Some((plane, slot));
        }
        let has_room = self.ftl.blocks.has_room(plane);
        has_room.then(|| (plane, self.ftl.streams.program(&mut self.ftl.blocks, ftl, plane, lpn, contents)))
    }

    /// The plane of the first of these pages, and how many of them follow each other there in a word line of which
    /// nothing has been set aside. None if the open block of the plane does not continue at these places, or if the word
    /// line has pages after these, whose places are set aside.
    pub(super) fn word_line_by_address(&self, ftl: usize, pages: Range<u32>) -> Option<(PlaneId, u32)> {
        let Neighbours { first, together, plane } = self.ftl.neighbours(ftl, pages.start, &self.health)?;
        let count = first + together - pages.start;
        let is_set_aside = self.packing.word_lines.contains_key(&(ftl as u16, first));
        if first + together > pages.end || is_set_aside || !self.ftl.blocks.has_room_for(plane, count) {
            return None;
        }
        let number = self.ftl.blocks.next_number(0, plane);
        (number % together == pages.start - first).then_some((plane, count))
    }
}
