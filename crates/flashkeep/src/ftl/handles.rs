//! Placement handles, as NVMe's Flexible Data Placement has them: the pages that each handle has programmed, and those of
//! them that have been erased since. Empty where a drive has one handle.

use super::blocks::Blocks;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether garbage collection keeps the data of handles apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Moved pages of all handles share open blocks of their own.
    #[default]
    Initially,
    /// Moved pages stay with those of their handle.
    Persistently,
}

/// The placement handles of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleSpec {
    /// Those that writes can name; 1 if data are not placed by handles.
    pub count: u8,
    /// What garbage collection does.
    pub isolation: Isolation,
    /// Whether parity has one more of its own, which writes cannot name.
    pub parity: bool,
}

impl HandleSpec {
    /// All handles; 1 if data are not placed by handles.
    #[must_use]
    pub fn all(self) -> u8 {
        if self.count > 1 { self.count + u8::from(self.parity) } else { 1 }
    }

    /// Whether moved pages of several handles come together.
    #[must_use]
    pub fn mixes(self) -> bool {
        self.count > 1 && self.isolation == Isolation::Initially
    }

    /// Whether they have open blocks of their own for each handle, if moved pages have such blocks at all.
    #[must_use]
    pub fn keeps_apart(self) -> bool {
        self.count > 1 && !self.mixes()
    }
}

/// Pages of one handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandleCounts {
    /// Pages that commands have written.
    pub written: u64,
    /// Pages programmed: those, and moves.
    pub programmed: u64,
    /// Of these, pages whose block has been erased since.
    pub erased: u64,
}

impl HandleCounts {
    /// The counts since `before`. A power cut may take back what was granted before then.
    #[must_use]
    pub fn since(self, before: HandleCounts) -> HandleCounts {
        HandleCounts {
            written: self.written.saturating_sub(before.written),
            programmed: self.programmed.saturating_sub(before.programmed),
            erased: self.erased.saturating_sub(before.erased),
        }
    }
}

/// The handle of each programmed page, and what each handle has programmed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct HandlePages {
    counts: Vec<HandleCounts>,
    /// By physical page: the handle, counted from 1; with [`MOVED`] if the page was not written by a command.
    of: Vec<u8>,
}

const MOVED: u8 = 0x80;

impl HandlePages {
    fn take(&mut self, ppn: Ppn) -> Option<(&mut HandleCounts, bool)> {
        let found = std::mem::take(self.of.get_mut(ppn.0 as usize)?);
        let counts = self.counts.get_mut(usize::from((found & !MOVED).checked_sub(1)?))?;
        Some((counts, found & MOVED != 0))
    }

    /// The pages of a block are erased.
    pub(super) fn erase(&mut self, first: Ppn, pages: u32) {
        if self.of.is_empty() {
            return;
        }
        for ppn in (first.0..first.0 + pages).map(Ppn) {
            match self.take(ppn) {
                Some((counts, _)) => counts.erased += 1,
                None => self.counts.last_mut().expect("one for pages of no handle").erased += 1,
            }
        }
    }

    /// The program of a page has not taken place.
    pub(super) fn take_back(&mut self, ppn: Ppn) {
        if let Some((counts, moved)) = self.take(ppn) {
            counts.programmed -= 1;
            counts.written -= u64::from(!moved);
        }
    }

    /// A block is replaced by a new one.
    pub(super) fn forget(&mut self, first: Ppn, pages: u32) {
        if self.of.is_empty() {
            return;
        }
        for ppn in (first.0..first.0 + pages).map(Ppn) {
            _ = self.take(ppn);
        }
    }
}

impl<C: Contents> Blocks<C> {
    /// From now on the pages of this many handles are counted, and apart from them those of none. Nothing has been programmed
    /// yet.
    pub fn count_handles(&mut self, handles: u8) {
        let end = self.geometry.ppn(PlaneId(self.geometry.plane_count()), 0, 0).0 as usize;
        self.handles =
            HandlePages { counts: vec![HandleCounts::default(); usize::from(handles) + 1], of: vec![0; end] };
    }

    /// A page of a handle has just been programmed: for a command, or because it is moved.
    #[inline]
    pub fn note_handle(&mut self, ppn: Ppn, handle: u8, moved: bool) {
        if let Some(counts) = self.handles.counts.get_mut(usize::from(handle)) {
            counts.programmed += 1;
            counts.written += u64::from(!moved);
            self.handles.of[ppn.0 as usize] = (handle + 1) | if moved { MOVED } else { 0 };
        }
    }

    /// What each handle has programmed, then the erased pages of none; empty where a drive has one handle.
    #[must_use]
    pub fn handle_counts(&self) -> &[HandleCounts] {
        &self.handles.counts
    }

    pub(super) fn erase_handles(&mut self, plane: PlaneId, block: u32) {
        let pages = self.geometry.pages_in(block);
        self.handles.erase(self.geometry.ppn(plane, block, 0), pages);
    }

    pub(super) fn forget_handles(&mut self, plane: PlaneId, block: u32) {
        let pages = self.geometry.pages_in(block);
        self.handles.forget(self.geometry.ppn(plane, block, 0), pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::{FlashSpec, Geometry};

    #[test]
    fn what_a_handle_programmed_is_erased_with_its_block() {
        let spec = FlashSpec { blocks_per_plane: 4, pages_per_block: 4, ..FlashSpec::default() };
        let mut blocks = Blocks::<()>::new(&Geometry::new(&spec));
        blocks.count_handles(2);
        for (page, handle) in [(0, 0), (1, 1), (2, 1), (3, 1)] {
            let ppn = blocks.program(PlaneId(0), page, ());
            blocks.note_handle(ppn, handle, page == 3);
        }
        let block = blocks.geometry().block_of(Ppn(blocks.geometry().ppn(PlaneId(0), 0, 0).0));
        let ppn = blocks.program(PlaneId(0), 4, ());
        blocks.note_handle(ppn, 0, false);
        assert!(blocks.take_back_program(ppn));
        blocks.erase(PlaneId(0), block);
        let counts = |written, programmed, erased| HandleCounts { written, programmed, erased };
        assert_eq!(blocks.handle_counts(), [counts(1, 1, 1), counts(2, 3, 3), counts(0, 0, 0)]);
    }
}
