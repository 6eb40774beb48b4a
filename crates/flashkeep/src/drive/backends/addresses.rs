//! Commands without simulated time: trims, dropped pages, remapped pages.

use super::backend::Remapped;
use super::{DriveBackends, Translation};
use crate::drive::controller::Controller;
use crate::engine::{Command, Contents};
use crate::flash::Ppn;
use crate::ftl::MapEntry;
use crate::kernel::Id;

impl<C: Contents> Translation<C> {
    /// A page in flight gets another address.
    pub(super) fn remap_in_flight(
        &mut self,
        ftl: usize,
        op: u32,
        from: u32,
        to: u32,
        controller: &Controller<C>,
    ) {
        if self.backends[ftl].reverse_map(op).is_none() {
            let Command { start, count, .. } = controller.queues[Id::new(op)].command;
            let maps = &self.maps;
            let pages = start.low()..start.low() + u32::from(count);
            let reverse_map = pages.map(|lpn| (maps.pending(ftl, lpn) == Some(op)).then_some(lpn)).collect();
            self.backends[ftl].remapped.push(Remapped { op, reverse_map });
        }
        let reverse_map = self.backends[ftl].reverse_map(op).expect("just made sure");
        let owner = reverse_map.iter_mut().find(|owner| **owner == Some(from));
        *owner.expect("a pending page is one of its operation's") = Some(to);
        // So does the copy that it replaces.
        if let Some(older) = self.older_copy(ftl, op, to, controller) {
            self.blocks.remap(older, to);
        }
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Trims pages: they are known zeros from now on.
    pub(super) fn trim(&mut self, ftl: usize, command: &Command, controller: &mut Controller<C>) {
        for lpn in command.low_pages() {
            self.forget(ftl, lpn, controller);
            self.power.note_trim(ftl, lpn, controller.queues.last_number());
        }
    }

    /// Invalidates a page and unmaps it.
    #[inline]
    pub(in crate::drive) fn forget(&mut self, ftl: usize, lpn: u32, controller: &mut Controller<C>) {
        self.power.forget_hidden(ftl, lpn);
        self.give_up(ftl, lpn, controller);
        self.ftl.maps.set(ftl, lpn, MapEntry::Unmapped);
        if self.health.damaged {
            self.ftl.backends[ftl].lost.set(lpn, false);
        }
    }

    /// Invalidates a page, and the copy of it that a write in flight would have replaced; the caller sets the new map
    /// entry.
    pub(super) fn give_up(&mut self, ftl: usize, lpn: u32, controller: &mut Controller<C>) {
        // A write that waits for the plane of the page's copy may go to another one.
        if self.ftl.placement.selective && controller.queues.are_waiting() {
            self.ftl.wake_all(controller.now, ftl, controller);
        }
        let copy = match self.ftl.maps.get(ftl, lpn) {
            MapEntry::At(ppn) => Some(ppn),
            MapEntry::Pending(op) => self.ftl.leave_write(ftl, op, lpn, controller),
            MapEntry::Unmapped => None,
        };
        if let Some(ppn) = copy
            && !(self.power.is_kept() && self.outlive(ftl, lpn, ppn, controller))
        {
            self.discard(ppn, controller);
        }
    }

    /// Invalidates a physical page; its plane may have waited for a page to collect.
    #[inline]
    pub(super) fn discard(&mut self, ppn: Ppn, controller: &mut Controller<C>) {
        self.ftl.blocks.invalidate(ppn);
        self.ask_if_full(self.flash.geometry.plane_of(ppn), controller);
    }

    /// Renames pages: their contents get another address, whose old contents become invalid.
    pub(super) fn remap(&mut self, ftl: usize, command: &Command, controller: &mut Controller<C>) {
        for n in 0..u32::from(command.count) {
            let (from, to) = (command.start.low() + n, command.to.low() + n);
            self.forget(ftl, to, controller);
            let entry = self.ftl.maps.get(ftl, from);
            match entry {
                MapEntry::At(ppn) => self.ftl.blocks.remap(ppn, to),
                MapEntry::Pending(op) => self.ftl.remap_in_flight(ftl, op, from, to, controller),
                MapEntry::Unmapped => {}
            }
            self.ftl.maps.set(ftl, to, entry);
            self.ftl.maps.set(ftl, from, MapEntry::Unmapped);
            if self.health.damaged {
                let lost = &mut self.ftl.backends[ftl].lost;
                lost.set(to, entry == MapEntry::Unmapped && lost.has(from));
                lost.set(from, false);
            }
            if self.power.is_kept() && !self.nvrams.is_empty() {
                self.power.note_remap(ftl, from, to, entry, (&self.ftl.blocks, controller));
            }
        }
    }
}
