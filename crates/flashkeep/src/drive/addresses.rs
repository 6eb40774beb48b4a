//! Commands without simulated time: trims, dropped pages, remapped pages.

use super::{Drive, Remapped};
use crate::engine::{Command, Contents};
use crate::flash::Ppn;
use crate::ftl::MapEntry;
use crate::kernel::Id;

impl<C: Contents> Drive<C> {
    /// Trims pages: they are known zeros from now on.
    pub(super) fn trim(&mut self, ftl: usize, command: &Command) {
        for lpn in command.low_pages() {
            self.forget(ftl, lpn);
            if self.power.is_some() {
                self.note_trim(ftl, lpn);
            }
        }
    }

    /// Invalidates a page and unmaps it.
    #[inline]
    pub(super) fn forget(&mut self, ftl: usize, lpn: u32) {
        if self.power.is_some() {
            self.forget_hidden(ftl, lpn);
        }
        self.give_up(ftl, lpn);
        self.ftl.maps.set(ftl, lpn, MapEntry::Unmapped);
        if self.health.damaged {
            self.ftl.backends[ftl].lost.set(lpn, false);
        }
    }

    /// Invalidates a page, and the copy of it that a write in flight would have replaced; the caller sets the new map
    /// entry.
    pub(super) fn give_up(&mut self, ftl: usize, lpn: u32) {
        let copy = match self.ftl.maps.get(ftl, lpn) {
            MapEntry::At(ppn) => Some(ppn),
            MapEntry::Pending(op) => self.leave_write(ftl, op, lpn),
            MapEntry::Unmapped => None,
        };
        if let Some(ppn) = copy
            && !(self.power.is_some() && self.outlive(ftl, lpn, ppn))
        {
            self.discard(ppn);
        }
    }

    /// Invalidates a physical page; its plane may have waited for a page to collect.
    #[inline]
    pub(super) fn discard(&mut self, ppn: Ppn) {
        self.ftl.blocks.invalidate(ppn);
        self.ask_if_full(self.flash.geometry.plane_of(ppn));
    }

    /// Renames pages: their contents get another address, whose old contents become invalid.
    pub(super) fn remap(&mut self, ftl: usize, command: &Command) {
        for n in 0..u32::from(command.count) {
            let (from, to) = (command.start.low() + n, command.to.low() + n);
            self.forget(ftl, to);
            let entry = self.ftl.maps.get(ftl, from);
            match entry {
                MapEntry::At(ppn) => self.ftl.blocks.remap(ppn, to),
                MapEntry::Pending(op) => self.remap_in_flight(ftl, op, from, to),
                MapEntry::Unmapped => {}
            }
            self.ftl.maps.set(ftl, to, entry);
            self.ftl.maps.set(ftl, from, MapEntry::Unmapped);
            if self.health.damaged {
                let lost = &mut self.ftl.backends[ftl].lost;
                lost.set(to, entry == MapEntry::Unmapped && lost.has(from));
                lost.set(from, false);
            }
            if self.power.is_some() {
                self.note_remap(ftl, from, to, entry);
            }
        }
    }

    /// A page in flight gets another address.
    pub(super) fn remap_in_flight(&mut self, ftl: usize, op: u32, from: u32, to: u32) {
        if self.ftl.backends[ftl].reverse_map(op).is_none() {
            let Command { start, count, .. } = self.queues.ops[Id::new(op)].command;
            let maps = &self.ftl.maps;
            let pages = start.low()..start.low() + u32::from(count);
            let reverse_map =
                pages.map(|lpn| (maps.get(ftl, lpn) == MapEntry::Pending(op)).then_some(lpn)).collect();
            self.ftl.backends[ftl].remapped.push(Remapped { op, reverse_map });
        }
        let reverse_map = self.ftl.backends[ftl].reverse_map(op).expect("just made sure");
        let owner = reverse_map.iter_mut().find(|owner| **owner == Some(from));
        *owner.expect("a pending page is one of its operation's") = Some(to);
        // So does the copy that it replaces.
        if let Some(older) = self.older_copy(ftl, op, to) {
            self.ftl.blocks.remap(older, to);
        }
    }
}
