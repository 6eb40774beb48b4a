//! The copy of a page that a write in flight replaces. It stays valid until the page has its new place, as in firmware
//! that changes its map then; until then GC moves it like any other page. If the page is written again meanwhile, it is
//! the later write's to replace.

use super::{DriveBackends, Power, Translation};
use crate::drive::controller::Controller;
use crate::engine::Contents;
use crate::flash::Ppn;
use crate::ftl::MapEntry;

impl<C: Contents> Translation<C> {
    /// The copy of a page that the flash has.
    pub(in crate::drive) fn copy_on_flash(
        &self,
        ftl: usize,
        lpn: u32,
        controller: &Controller<C>,
    ) -> Option<Ppn> {
        match self.maps.get(ftl, lpn) {
            MapEntry::At(ppn) => Some(ppn),
            MapEntry::Pending(op) => controller.queues.older_copy(ftl, op, lpn, self),
            MapEntry::Unmapped => None,
        }
    }

    /// Whether a write in flight replaces the copy at `ppn`.
    #[inline]
    pub(super) fn is_older_copy(&self, ftl: usize, lpn: u32, ppn: Ppn, controller: &Controller<C>) -> bool {
        let op = self.maps.pending(ftl, lpn);
        op.is_some_and(|op| controller.queues.older_copy(ftl, op, lpn, self) == Some(ppn))
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
        let older = controller.queues.older_place(ftl, op, lpn, self).take();
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
        let older = controller.queues.older_place(ftl, op, lpn, self);
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
        let older = controller.queues.older_copy(ftl, op, lpn, self);
        if older.is_some_and(|older| power.is_newer(older, sequence, &self.blocks)) {
            return Err(());
        }
        Ok(controller.queues.older_place(ftl, op, lpn, self).replace(ppn))
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Of a page whose write will not be placed: gives up the copy that it would have replaced.
    pub(super) fn give_up_older(&mut self, ftl: usize, lpn: u32, controller: &mut Controller<C>) {
        if let Some(op) = self.ftl.maps.pending(ftl, lpn)
            && controller.queues.older_copy(ftl, op, lpn, &self.ftl).is_some()
        {
            let older = controller.queues.older_place(ftl, op, lpn, &self.ftl).take();
            older.into_iter().for_each(|ppn| self.discard(ppn, controller));
        }
    }
}
