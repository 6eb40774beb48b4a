//! Selection of the open block for a page, by its class ([`Heat`]). With `ftl.gc.separate` moved pages have a block of
//! their own in addition; they still cool. Translation pages (`ftl.map = "dftl"`) have one without data pages.

use super::{DriveBackends, Translation};
use crate::blocks::Heat;
use crate::drive::Parameters;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};
use crate::ftl::Blocks;

/// The streams of a drive.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct PageStreams {
    /// There is more than one.
    several: bool,
    /// The stream of moved pages, where they have their own.
    moved: Option<u8>,
    /// The first translation page, and the stream of those.
    tables: Option<(u32, u8)>,
    /// The classes of each FTL's pages, a stream each, the coldest first; none with a single class.
    heat: Vec<Heat>,
}

impl PageStreams {
    /// Whether there is more than one.
    pub(in crate::drive) fn are_several(&self) -> bool {
        self.several
    }

    /// Each page's class, of each FTL; empty with a single class.
    pub(in crate::drive) fn heat(&self) -> Vec<&[u8]> {
        self.heat.iter().map(Heat::of_pages).collect()
    }

    pub(in crate::drive) fn set_heat(&mut self, of: Vec<Vec<u8>>) {
        self.heat.iter_mut().zip(of).for_each(|(heat, of)| heat.restore(of));
    }

    /// The stream of a translation page; none for one that holds data.
    pub(super) fn of_table(&self, lpn: u32) -> Option<u8> {
        self.tables.filter(|&(first, _)| lpn >= first).map(|(_, stream)| stream)
    }

    /// The stream that a page goes to if it is moved now.
    pub(super) fn of_moved(&self, ftl: usize, lpn: u32) -> u8 {
        let own = || self.heat.get(ftl).map_or(0, |heat| heat.of_moved(lpn));
        self.of_table(lpn).or(self.moved).unwrap_or_else(own)
    }

    /// The stream that a page goes to if it is written now.
    pub(super) fn of_written(&self, ftl: usize, lpn: u32) -> u8 {
        let own = || self.heat.get(ftl).map_or(0, |heat| heat.of_written(lpn));
        self.of_table(lpn).unwrap_or_else(own)
    }

    /// The stream of a page if it is neither written nor moved.
    pub(super) fn of_present(&self, ftl: usize, lpn: u32) -> u8 {
        let own = || self.heat.get(ftl).map_or(0, |heat| heat.of_present(lpn));
        self.of_table(lpn).unwrap_or_else(own)
    }

    /// A page is written, but not to the block of its stream.
    pub(super) fn warm(&mut self, ftl: usize, lpn: u32) {
        if let Some(heat) = self.heat.get_mut(ftl)
            && self.tables.is_none_or(|(first, _)| lpn < first)
        {
            heat.write(lpn);
        }
    }

    /// Programs a page that the host has written. Apart from the drive, so that its caller can hold on to the FTL.
    #[inline(always)]
    pub(super) fn program<C: Contents>(
        &mut self,
        blocks: &mut Blocks<C>,
        ftl: usize,
        plane: PlaneId,
        lpn: u32,
        contents: C,
    ) -> Ppn {
        if self.several {
            let warmed = |this: &mut Self| this.heat.get_mut(ftl).map_or(0, |heat| heat.write(lpn));
            let stream = self.of_table(lpn).unwrap_or_else(|| warmed(self));
            return blocks.program_in(stream, plane, lpn, contents);
        }
        blocks.program(plane, lpn, contents)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Programs a page that a collection has read.
    pub(super) fn program_moved(&mut self, ftl: usize, plane: PlaneId, lpn: u32, contents: C) -> Ppn {
        let migrates = self.gc.collections[plane.0 as usize].migrates();
        if migrates && self.ftl.blocks.has_held(plane) {
            return self.ftl.blocks.program_held(plane, lpn, contents);
        }
        if self.folds(plane) {
            let stream = self.ftl.streams.of_present(ftl, lpn);
            return self.ftl.blocks.program_in(stream, plane, lpn, contents);
        }
        let table = self.ftl.streams.of_table(lpn);
        let stream = table.unwrap_or_else(|| {
            let cooled = self.ftl.streams.heat.get_mut(ftl).map_or(0, |heat| heat.shift(lpn));
            self.ftl.streams.moved.unwrap_or(cooled)
        });
        self.ftl.blocks.program_in(stream, plane, lpn, contents)
    }
}

impl<C: Contents> Translation<C> {
    pub(in crate::drive) fn set_streams(&mut self, drive: &Parameters) {
        let (classes, hold) = (drive.classes, drive.policies.levelling.migrates);
        let moved = drive.gc.separate.then_some(classes);
        let tables = drive.tables_from.map(|first| (first, drive.streams - 1));
        let several = drive.streams > 1;
        if several || hold {
            self.blocks.set_streams(drive.streams, hold);
        }
        let backends = self.backends.iter().filter(|_| classes > 1);
        let heat = backends.map(|_| Heat::new(classes, self.maps.len())).collect();
        self.streams = PageStreams { several, moved, tables, heat };
    }
}
