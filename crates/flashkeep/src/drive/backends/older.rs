//! The copy of a page that a write in flight replaces. It stays valid until the page has its new place, as in firmware
//! that changes its map then; until then GC moves it like any other page. If the page is written again meanwhile, it is
//! the later write's to replace.

use super::{DriveBackends, Power, Translation};
use crate::drive::controller::Controller;
use crate::engine::Contents;
use crate::flash::Ppn;
use crate::ftl::MapEntry;
use crate::kernel::Id;

impl<C: Contents> Translation<C> {
    /// The contents of a page in a write in flight.
    pub(super) fn carried_page(&self, ftl: usize, op: u32, lpn: u32, controller: &Controller<C>) -> C {
        if !C::KEEP {
            return C::default();
        }
        controller.queues.carried(Id::new(op), self.place_in_write(ftl, op, lpn, controller))
    }

    /// The copy that a page of a write in flight replaces.
    pub(super) fn older_copy(
        &self,
        ftl: usize,
        op: u32,
        lpn: u32,
        controller: &Controller<C>,
    ) -> Option<Ppn> {
        controller.queues.older(Id::new(op), self.place_in_write(ftl, op, lpn, controller))
    }

    /// The copy that a page of a write in flight replaces, where that is noted.
    fn older_place<'a>(
        &self,
        ftl: usize,
        op: u32,
        lpn: u32,
        controller: &'a mut Controller<C>,
    ) -> &'a mut Option<Ppn> {
        let n = self.place_in_write(ftl, op, lpn, controller);
        controller.queues.older_mut(Id::new(op), n)
    }

    /// The copy of a page that the flash has.
    pub(in crate::drive) fn copy_on_flash(
        &self,
        ftl: usize,
        lpn: u32,
        controller: &Controller<C>,
    ) -> Option<Ppn> {
        match self.maps.get(ftl, lpn) {
            MapEntry::At(ppn) => Some(ppn),
            MapEntry::Pending(op) => self.older_copy(ftl, op, lpn, controller),
            MapEntry::Unmapped => None,
        }
    }

    /// Whether a write in flight replaces the copy at `ppn`.
    #[inline]
    pub(super) fn is_older_copy(&self, ftl: usize, lpn: u32, ppn: Ppn, controller: &Controller<C>) -> bool {
        let op = self.maps.pending(ftl, lpn);
        op.is_some_and(|op| self.older_copy(ftl, op, lpn, controller) == Some(ppn))
    }

    /// A page of a write in flight is no longer that write's: the copy that it would have replaced.
    #[inline(never)]
    pub(super) fn leave_write(
        &mut self,
        ftl: usize,
        op: u32,
        lpn: u32,
        controller: &mut Controller<C>,
    ) -> Option<Ppn> {
        let older = self.older_place(ftl, op, lpn, controller).take();
        if !self.backends[ftl].remapped.is_empty() {
            self.backends[ftl].displace(op, lpn);
        }
        older
    }

    /// The page moves while a write in flight replaces it: the write replaces it at its new place. Whether that is so.
    #[inline]
    pub(super) fn move_older(
        &self,
        ftl: usize,
        lpn: u32,
        from: Ppn,
        to: Ppn,
        controller: &mut Controller<C>,
    ) -> bool {
        let Some(op) = self.maps.pending(ftl, lpn) else { return false };
        let older = self.older_place(ftl, op, lpn, controller);
        debug_assert_eq!(*older, Some(from), "only current pages move");
        *older = Some(to);
        true
    }

    /// The copy at `ppn` is the one that the write in flight of its page replaces. The one that it replaced so far, if
    /// that is not newer; otherwise nothing changes and there is none.
    pub(super) fn replace_older(
        &self,
        ftl: usize,
        lpn: u32,
        sequence: u64,
        ppn: Ppn,
        power: &Power,
        controller: &mut Controller<C>,
    ) -> Result<Option<Ppn>, ()> {
        let Some(op) = self.maps.pending(ftl, lpn) else { return Err(()) };
        let older = self.older_copy(ftl, op, lpn, controller);
        if older.is_some_and(|older| power.is_newer(older, sequence, &self.blocks)) {
            return Err(());
        }
        Ok(self.older_place(ftl, op, lpn, controller).replace(ppn))
    }

    /// Which page of a write in flight belongs to an address.
    pub(super) fn place_in_write(&self, ftl: usize, op: u32, lpn: u32, controller: &Controller<C>) -> u16 {
        let remapped = self.backends[ftl].remapped.iter().find(|remapped| remapped.op == op);
        let place =
            remapped.and_then(|remapped| remapped.reverse_map.iter().position(|owner| *owner == Some(lpn)));
        place.map_or_else(|| (lpn - controller.queues[Id::new(op)].command.start.low()) as u16, |n| n as u16)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Of a page whose write will not be placed: gives up the copy that it would have replaced.
    pub(super) fn give_up_older(&mut self, ftl: usize, lpn: u32, controller: &mut Controller<C>) {
        if let Some(op) = self.ftl.maps.pending(ftl, lpn)
            && self.ftl.older_copy(ftl, op, lpn, controller).is_some()
        {
            let older = self.ftl.older_place(ftl, op, lpn, controller).take();
            older.into_iter().for_each(|ppn| self.discard(ppn, controller));
        }
    }
}
