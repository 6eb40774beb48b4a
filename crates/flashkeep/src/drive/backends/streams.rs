//! Selection of the open block for a page, by its placement handle and its class ([`Heat`]). With `ftl.gc.separate` moved
//! pages have a block of their own in addition; they still cool. So they have where the handles of a drive are isolated only
//! initially. Translation pages (`ftl.map = "dftl"`) have one without data pages.
//!
//! The streams are numbered: those of the first handle by class, those of the next handle, …, parity's, that of moved pages
//! (or one of each handle), that of translation pages.

use super::{Gc, Translation};
use crate::blocks::Heat;
use crate::drive::{Drive, Parameters};
use crate::engine::{Cause, Command, Contents};
use crate::flash::{PlaneId, Ppn};
use crate::ftl::{Blocks, HandleCounts};

/// The streams of a drive.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct PageStreams {
    /// There is more than one.
    several: bool,
    /// The stream of moved pages, where they have their own; with isolated handles that of the first one.
    moved: Option<u8>,
    /// The first translation page, and the stream of those.
    tables: Option<(u32, u8)>,
    /// The classes of each FTL's pages, a stream each, the coldest first; none with a single class.
    heat: Vec<Heat>,
    handles: PageHandles,
}

/// The placement handles of pages.
#[derive(Clone, Debug, Default)]
struct PageHandles {
    /// The handles that commands can name; parity has the one after them.
    count: u8,
    /// Classes of each.
    classes: u8,
    /// Moved pages of each handle have a stream of their own, if any have.
    apart: bool,
    /// Whether there is one for parity.
    parity: bool,
    /// The handle of each FTL's pages; none with a single handle.
    of: Vec<Vec<u8>>,
}

impl PageHandles {
    #[inline]
    fn of(&self, ftl: usize, lpn: u32) -> u8 {
        self.of.get(ftl).map_or(0, |of| of[lpn as usize])
    }

    /// The handle of a page that a command writes. A page that is rebuilt or moved keeps the one that it had.
    #[inline]
    fn of_written(&self, ftl: usize, lpn: u32, command: &Command) -> u8 {
        match command.cause {
            Cause::Parity | Cause::PartialParity | Cause::ParityGc if self.parity => self.count,
            Cause::Host | Cause::Mirror | Cause::Update => {
                command.flags.handle().min(self.count.saturating_sub(1))
            }
            _ => self.of(ftl, lpn),
        }
    }

    /// The first stream of a handle.
    #[inline]
    fn first(&self, handle: u8) -> u8 {
        handle * self.classes
    }
}

impl PageStreams {
    /// Whether there is more than one.
    pub(in crate::drive) fn are_several(&self) -> bool {
        self.several
    }

    /// Each page's class, of each FTL; nothing with a single class. Then each page's handle, if there are several.
    pub(in crate::drive) fn heat(&self) -> Vec<&[u8]> {
        let handles = self.handles.of.iter().map(|of| &of[..]);
        self.heat.iter().map(Heat::of_pages).chain(handles).collect()
    }

    pub(in crate::drive) fn set_heat(&mut self, of: Vec<Vec<u8>>) {
        let mut of = of.into_iter();
        self.heat.iter_mut().zip(&mut of).for_each(|(heat, of)| heat.restore(of));
        self.handles.of.iter_mut().zip(of).for_each(|(handles, of)| *handles = of);
    }

    /// A page of a command is placed: from now on it belongs to the command's handle.
    #[inline]
    pub(super) fn take_handle(&mut self, ftl: usize, lpn: u32, command: &Command) {
        let handle = self.handles.of_written(ftl, lpn, command);
        if let Some(of) = self.handles.of.get_mut(ftl) {
            of[lpn as usize] = handle;
        }
    }

    /// The stream of a translation page; none for one that holds data.
    pub(super) fn of_table(&self, lpn: u32) -> Option<u8> {
        self.tables.filter(|&(first, _)| lpn >= first).map(|(_, stream)| stream)
    }

    /// The stream that a page goes to if it is moved now.
    pub(super) fn of_moved(&self, ftl: usize, lpn: u32) -> u8 {
        let own = || self.first_of(ftl, lpn) + self.heat.get(ftl).map_or(0, |heat| heat.of_moved(lpn));
        self.of_table(lpn).or_else(|| self.apart(ftl, lpn)).unwrap_or_else(own)
    }

    /// The stream of a moved page, if moved pages have their own.
    fn apart(&self, ftl: usize, lpn: u32) -> Option<u8> {
        let moved = self.moved?;
        Some(if self.handles.apart { moved + self.handles.of(ftl, lpn) } else { moved })
    }

    /// The first stream of a page's handle.
    #[inline]
    fn first_of(&self, ftl: usize, lpn: u32) -> u8 {
        self.handles.first(self.handles.of(ftl, lpn))
    }

    /// The stream that a page goes to if it is written now.
    pub(super) fn of_written(&self, ftl: usize, lpn: u32) -> u8 {
        self.of_placed(ftl, lpn, self.handles.of(ftl, lpn))
    }

    /// The stream that a page of a command goes to if it is placed now.
    pub(super) fn of_command(&self, ftl: usize, lpn: u32, command: &Command) -> u8 {
        self.of_placed(ftl, lpn, self.handles.of_written(ftl, lpn, command))
    }

    #[inline]
    fn of_placed(&self, ftl: usize, lpn: u32, handle: u8) -> u8 {
        let own = || self.handles.first(handle) + self.heat.get(ftl).map_or(0, |heat| heat.of_written(lpn));
        self.of_table(lpn).unwrap_or_else(own)
    }

    /// The stream of a page if it is neither written nor moved.
    pub(super) fn of_present(&self, ftl: usize, lpn: u32) -> u8 {
        let own = || self.first_of(ftl, lpn) + self.heat.get(ftl).map_or(0, |heat| heat.of_present(lpn));
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
            let first = self.first_of(ftl, lpn);
            let warmed = |this: &mut Self| this.heat.get_mut(ftl).map_or(0, |heat| heat.write(lpn));
            let stream = self.of_table(lpn).unwrap_or_else(|| first + warmed(self));
            return blocks.program_in(stream, plane, lpn, contents);
        }
        blocks.program(plane, lpn, contents)
    }

    /// A page has been programmed: counts it for its handle.
    pub(super) fn note_handle<C: Contents>(
        &self,
        blocks: &mut Blocks<C>,
        ftl: usize,
        lpn: u32,
        ppn: Ppn,
        moved: bool,
    ) {
        if self.of_table(lpn).is_none() {
            blocks.note_handle(ppn, self.handles.of(ftl, lpn), moved);
        }
    }
}

impl<C: Contents> Drive<C> {
    /// What each placement handle has programmed, parity's after those of the host; then the erased pages of none. Empty where
    /// there is one handle.
    #[must_use]
    pub fn handle_counts(&self) -> &[HandleCounts] {
        self.backends.ftl.blocks.handle_counts()
    }
}

impl<C: Contents> Translation<C> {
    pub(in crate::drive) fn set_streams(&mut self, drive: &Parameters) {
        let (classes, hold) = (drive.classes, drive.policies.levelling.migrates);
        let (handles, several) = (drive.handles, drive.streams > 1);
        let moved = (drive.gc.separate || handles.mixes()).then_some(handles.all() * classes);
        let tables = drive.tables_from.map(|first| (first, drive.streams - 1));
        if several || hold {
            self.blocks.set_streams(drive.streams, hold);
        }
        let backends = self.backends.iter().filter(|_| classes > 1);
        let heat = backends.map(|_| Heat::new(classes, self.maps.len())).collect();
        let mut of = Vec::new();
        if handles.count > 1 {
            self.blocks.count_handles(handles.all());
            of = vec![vec![0; self.maps.len() as usize]; self.backends.len()];
        }
        let handles = PageHandles {
            count: handles.count,
            classes,
            apart: handles.keeps_apart(),
            parity: handles.parity,
            of,
        };
        self.streams = PageStreams { several, moved, tables, heat, handles };
    }

    fn program_of_moved(&mut self, ftl: usize, plane: PlaneId, lpn: u32, contents: C, gc: &Gc) -> Ppn {
        let migrates = gc.collections[plane.0 as usize].migrates();
        if migrates && self.blocks.has_held(plane) {
            return self.blocks.program_held(plane, lpn, contents);
        }
        if gc.folds(plane, self) {
            let stream = self.streams.of_present(ftl, lpn);
            return self.blocks.program_in(stream, plane, lpn, contents);
        }
        let table = self.streams.of_table(lpn);
        let stream = table.unwrap_or_else(|| {
            let streams = &mut self.streams;
            let cooled = streams.heat.get_mut(ftl).map_or(0, |heat| heat.shift(lpn));
            streams.apart(ftl, lpn).unwrap_or_else(|| streams.first_of(ftl, lpn) + cooled)
        });
        self.blocks.program_in(stream, plane, lpn, contents)
    }

    /// Programs a page that a collection has read.
    pub(super) fn program_moved(&mut self, plane: PlaneId, lpn: u32, contents: C, gc: &Gc) -> Ppn {
        let ftl = self.ftl_of(plane);
        let ppn = self.program_of_moved(ftl, plane, lpn, contents, gc);
        self.streams.note_handle(&mut self.blocks, ftl, lpn, ppn, true);
        ppn
    }
}
