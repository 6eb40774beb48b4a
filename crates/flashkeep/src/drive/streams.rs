//! Selection of the open block for a page: dynamic data clustering (Chiang, Lee and Chang, "Using data
//! clustering to improve cleaning performance for flash memory", Software: Practice and Experience 29(3),
//! 1999). The drive only uses a page's history: each host write makes it a class hotter, each move a class
//! colder. With `ftl.gc.separate` moved pages have a block of their own in addition; they still cool.
//! Translation pages (`ftl.map = "dftl"`) have one without data pages.

use super::{Drive, Parameters};
use crate::blocks::Levelled;
use crate::engine::Contents;
use crate::flash::{PlaneId, Ppn};
use crate::ftl::Blocks;

/// The streams of a drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    /// There is more than one.
    several: bool,
    /// Classes of heat, a stream each, the coldest first.
    classes: u8,
    /// The stream of moved pages, where they have their own.
    moved: Option<u8>,
    /// The first translation page, and the stream of those.
    tables: Option<(u32, u8)>,
    /// With several classes: each page's of each FTL, counted from 1; 0 for one that was never written.
    heat: Vec<Vec<u8>>,
}

impl Streams {
    /// Whether there is more than one.
    pub(super) fn are_several(&self) -> bool {
        self.several
    }

    /// Each page's class, of each FTL; empty with a single class.
    pub(super) fn heat(&self) -> &[Vec<u8>] {
        &self.heat
    }

    pub(super) fn set_heat(&mut self, heat: Vec<Vec<u8>>) {
        self.heat = heat;
    }

    /// The stream of a translation page; none for one that holds data.
    pub(super) fn of_table(&self, lpn: u32) -> Option<u8> {
        self.tables.filter(|&(first, _)| lpn >= first).map(|(_, stream)| stream)
    }

    /// The stream that a page goes to if it is moved now.
    pub(super) fn of_moved(&self, ftl: usize, lpn: u32) -> u8 {
        match self.of_table(lpn).or(self.moved) {
            Some(stream) => stream,
            None if self.classes <= 1 => 0,
            None => cooler(self.heat[ftl][lpn as usize], self.classes) - 1,
        }
    }

    /// The stream that a page goes to if it is written now.
    pub(super) fn of_written(&self, ftl: usize, lpn: u32) -> u8 {
        match self.of_table(lpn) {
            Some(stream) => stream,
            None if self.classes <= 1 => 0,
            None => self.classes.min(self.heat[ftl][lpn as usize] + 1) - 1,
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
            let warm = |this: &mut Self| this.warm(ftl, lpn, |heat, classes| classes.min(heat + 1));
            let stream = self.of_table(lpn).unwrap_or_else(|| warm(self));
            return blocks.program_in(stream, plane, lpn, contents);
        }
        blocks.program(plane, lpn, contents)
    }

    /// A page gets another heat; the stream of that.
    #[inline(never)]
    fn warm(&mut self, ftl: usize, lpn: u32, change: impl Fn(u8, u8) -> u8) -> u8 {
        if self.classes <= 1 {
            return 0;
        }
        let heat = &mut self.heat[ftl][lpn as usize];
        *heat = change(*heat, self.classes);
        *heat - 1
    }
}

/// The class of a page that is moved.
fn cooler(heat: u8, _: u8) -> u8 {
    heat.saturating_sub(1).max(1)
}

impl<C: Contents> Drive<C> {
    pub(super) fn set_streams(&mut self, drive: &Parameters) {
        let (classes, hold) = (drive.classes, drive.policies.levelling.migrates);
        let moved = drive.gc.separate.then_some(classes);
        let tables = drive.tables_from.map(|first| (first, drive.streams - 1));
        let several = drive.streams > 1;
        if several || hold {
            self.ftl.blocks.set_streams(drive.streams, hold);
        }
        let heat =
            self.ftl.leaves.iter().filter(|_| classes > 1).map(|_| vec![0; self.ftl.maps.len() as usize]);
        self.ftl.streams = Streams { several, classes, moved, tables, heat: heat.collect() };
    }

    /// Programs a page that a collection has read.
    pub(super) fn program_moved(&mut self, ftl: usize, plane: PlaneId, lpn: u32, contents: C) -> Ppn {
        let migrates = self.gc.collections[plane.0 as usize].levelled == Levelled::Out;
        if migrates && self.ftl.blocks.has_held(plane) {
            return self.ftl.blocks.program_held(plane, lpn, contents);
        }
        let table = self.ftl.streams.of_table(lpn);
        let stream = table.unwrap_or_else(|| {
            let cooled = self.ftl.streams.warm(ftl, lpn, cooler);
            self.ftl.streams.moved.unwrap_or(cooled)
        });
        self.ftl.blocks.program_in(stream, plane, lpn, contents)
    }
}
