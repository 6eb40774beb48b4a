//! Power loss: the information that the flash keeps for rebuilding its maps (see `recovery`).
//!
//! Everything in the controller's memory is lost: map, queues, pending work. An interrupted program leaves an
//! unreadable page, and its block continues after it; an interrupted erase is repeated. The *OOB area* of a
//! programmed page has its logical address and the sequence number of its write. The newest version of a page
//! is the one with the highest number; GC copies the number with the page. Trims are logged as they come (the
//! log itself is not modelled).
//!
//! To find every page that was ever durable, a drive that will lose its power delays two actions; other
//! drives do not, so their results do not change:
//! - a version that got another address stays valid as long as the write that has superseded it has no place;
//! - a block is not erased before the successors of its pages are programmed (`guard`).

use super::{DriveBackends, Power, RecoveryData, Translation};
use crate::drive::LoggedOperation;
use crate::drive::controller::{Controller, DriveOp, Flight};
use crate::engine::{BackendId, Contents, OobData, Verb};
use crate::flash::{Geometry, OpKind, PlaneId, Ppn, UnitId};
use crate::ftl::{Blocks, MapEntry};
use crate::kernel::{Id, SimTime, Sparse, sorted};
use serde::{Deserialize, Serialize};

/// What a snapshot has of a drive's OOB areas, and of what its FTLs and its non-volatile memory log.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::drive) struct Oob {
    pub reverse_map: Sparse<u32>,
    pub sequences: Sparse<u64>,
    pub marks: Sparse<u32>,
    pub trims: Vec<((u16, u32), u64)>,
    pub hidden_pages: Vec<((u16, u32), (u32, u64))>,
    /// The number of the last write.
    pub last: u64,
}

impl RecoveryData {
    /// The logical page of a physical one and the number of its write; 0 if it is erased or torn.
    pub(super) fn oob<C: Contents>(&self, ppn: Ppn, blocks: &Blocks<C>) -> (u32, u64) {
        let at = ppn.0.into();
        let noted = (self.reverse_map.get(at), self.sequences.get(at));
        let initial = if noted.1 == 0 { blocks.initial_owner(ppn) } else { None };
        initial.map_or(noted, |lpn| (lpn, OobData::INITIAL))
    }
}

impl Power {
    /// The time begins again at 0: operations done before, in idle time for instance, are not under way at an instant
    /// that has the same number.
    pub(in crate::drive) fn begin_anew(&mut self) {
        if let Some(data) = &mut self.data {
            (data.flights, data.numbered) = Default::default();
            data.guard.fill(SimTime::ZERO);
        }
    }

    /// The state that a snapshot of a drive at rest keeps.
    pub(in crate::drive) fn snapshot(&self, last: u64) -> Option<Oob> {
        self.data.as_ref().map(|data| Oob {
            reverse_map: data.reverse_map.clone(),
            sequences: data.sequences.clone(),
            marks: data.marks.clone(),
            trims: sorted(&data.trims),
            hidden_pages: sorted(&data.hidden_pages),
            last,
        })
    }

    /// Takes over what a snapshot has; the number of the last write, if recovery data are kept.
    pub(in crate::drive) fn restore(&mut self, oob: Oob) -> Option<u64> {
        let data = self.data.as_mut()?;
        (data.reverse_map, data.sequences, data.marks) = (oob.reverse_map, oob.sequences, oob.marks);
        data.trims = oob.trims.into_iter().collect();
        data.hidden_pages = oob.hidden_pages.into_iter().collect();
        Some(oob.last)
    }

    /// Whether recovery data are kept.
    #[inline(always)]
    pub(in crate::drive) fn is_kept(&self) -> bool {
        self.data.is_some()
    }

    pub(super) fn data(&self) -> &RecoveryData {
        self.data.as_ref().expect("a drive that was told")
    }

    pub(super) fn data_mut(&mut self) -> &mut RecoveryData {
        self.data.as_mut().expect("a drive that was told")
    }

    /// A part of an operation that begins at `begun` has been granted.
    pub(in crate::drive) fn note_flight(
        &mut self,
        now: SimTime,
        begun: SimTime,
        operation: &LoggedOperation,
    ) {
        let Some(data) = &mut self.data else { return };
        let LoggedOperation { end, ppn, kind, .. } = *operation;
        if kind == OpKind::Read {
            return;
        }
        if data.flights.len() >= data.prune_at {
            data.flights.retain(|flight| flight.end > now);
            data.prune_at = FLIGHTS.max(2 * data.flights.len());
        }
        data.flights.push(Flight { begun, end, ppn, kind });
    }

    /// A page is programmed for `lpn`, in a write with this number.
    #[inline]
    pub(in crate::drive) fn note_oob(&mut self, ppn: Ppn, lpn: u32, sequence: u64) {
        if let Some(data) = &mut self.data {
            data.reverse_map.set(ppn.0.into(), lpn);
            data.sequences.set(ppn.0.into(), sequence);
        }
    }

    /// A page of a physical-page backend is programmed, with this beside it.
    #[inline]
    pub(super) fn note_mark(&mut self, ppn: Ppn, mark: u32) {
        if let Some(data) = &mut self.data {
            data.marks.set(ppn.0.into(), mark);
        }
    }

    /// A page is copied as it is.
    #[inline]
    pub(super) fn note_move<C: Contents>(&mut self, from: Ppn, to: Ppn, blocks: &Blocks<C>) {
        let Some(data) = &mut self.data else { return };
        let (lpn, sequence) = data.oob(from, blocks);
        data.reverse_map.set(to.0.into(), lpn);
        data.sequences.set(to.0.into(), sequence);
    }

    /// Whether the version at a place is known to be newer than a write.
    #[inline]
    pub(super) fn is_newer<C: Contents>(&self, ppn: Ppn, sequence: u64, blocks: &Blocks<C>) -> bool {
        self.data.as_ref().is_some_and(|data| data.oob(ppn, blocks).1 > sequence)
    }

    /// A page is forgotten: so is what non-volatile memory says of it.
    pub(super) fn forget_hidden(&mut self, ftl: usize, lpn: u32) {
        if let Some(data) = &mut self.data {
            data.hidden_pages.remove(&(ftl as u16, lpn));
        }
    }

    /// A whole backend has failed.
    pub(super) fn forget_all_hidden(&mut self, ftl: usize) {
        if let Some(data) = &mut self.data {
            data.hidden_pages.retain(|&(backend, _), _| usize::from(backend) != ftl);
        }
    }

    /// A block is not erased before `until`.
    #[inline]
    pub(in crate::drive) fn guard(&mut self, block: Option<usize>, until: SimTime) {
        if let (Some(data), Some(block)) = (&mut self.data, block) {
            data.guard[block] = data.guard[block].max(until);
        }
    }

    /// A write of a physical-page backend has been granted; its program ends at `durable`, if that is known.
    pub(super) fn note_number(&mut self, now: SimTime, sequence: u64, durable: SimTime) {
        let Some(data) = &mut self.data else { return };
        data.numbered.retain(|&(_, end)| end > now);
        data.numbered.push((sequence, durable));
    }

    /// The program of a write of a physical-page backend is over, whose end was open.
    #[inline]
    pub(in crate::drive) fn note_over(&mut self, sequence: u64) {
        if let Some(data) = &mut self.data {
            data.numbered.retain(|&(number, _)| number != sequence);
        }
    }

    /// In physical-page backends operations have their places from the beginning: a block is not erased before
    /// everything is programmed that was submitted before.
    pub(in crate::drive) fn is_ahead<C: Contents>(&self, sequence: u64, controller: &Controller<C>) -> bool {
        let Some(data) = &self.data else { return false };
        let older = |op: &DriveOp| op.sequence < sequence && op.command.verb == Verb::Write;
        data.numbered.iter().any(|&(number, end)| number < sequence && end > controller.now)
            || controller.queues.is_any_write(older)
    }

    /// A page is trimmed after the write with this number, which is logged.
    pub(in crate::drive) fn note_trim(&mut self, ftl: usize, lpn: u32, last: u64) {
        if let Some(data) = &mut self.data {
            data.trims.insert((ftl as u16, lpn), last);
        }
    }

    /// Recovery data are kept from now on.
    pub(in crate::drive) fn begin_recording(&mut self, geometry: &Geometry) {
        let guard = vec![SimTime::ZERO; geometry.block_space()];
        self.data = Some(Box::new(RecoveryData { guard, ..RecoveryData::default() }));
    }

    /// The block of a version is not erased before its successor is programmed, if that is under way.
    fn guard_older<C: Contents>(&mut self, older: Ppn, newer: Ppn, controller: &mut Controller<C>) {
        let block = controller.flash.geometry.block_index_of(older);
        let Some(data) = &mut self.data else { return };
        if let Some(flight) = data.flights.iter().find(|flight| flight.ppn == newer) {
            data.guard[block] = data.guard[block].max(flight.end);
        }
        let unit = controller.dies.unit_of_page(&controller.flash.geometry, newer);
        controller.open.guard_while_programmed(unit, newer, block);
    }

    /// In a pool of several units: a block is not erased before the operation that has moved pages of it, which was
    /// granted last in a unit and ends at `end`, as far as is known.
    pub(super) fn guard_moved<C: Contents>(
        &mut self,
        unit: UnitId,
        block: usize,
        end: SimTime,
        controller: &mut Controller<C>,
    ) {
        self.guard(Some(block), end);
        if self.is_kept() {
            controller.open.guard(unit, block);
        }
    }

    /// Whether a victim whose pages have moved must not be erased yet: a read waits for it, or a program that supersedes
    /// one of its pages is not over.
    #[inline]
    pub(in crate::drive) fn must_stay<C: Contents>(
        &self,
        now: SimTime,
        unit: UnitId,
        (plane, victim): (PlaneId, u32),
        ftl: &Translation<C>,
        controller: &mut Controller<C>,
    ) -> bool {
        ftl.is_owed(unit, plane, victim, controller) || self.is_guarded(now, unit, plane, victim, controller)
    }

    /// Whether a block must not be erased yet; the unit is woken when it may be.
    fn is_guarded<C: Contents>(
        &self,
        now: SimTime,
        unit: UnitId,
        plane: PlaneId,
        block: u32,
        controller: &mut Controller<C>,
    ) -> bool {
        let Some(data) = &self.data else { return false };
        let block = controller.flash.geometry.block_index(plane, block);
        let until = data.guard[block];
        if until <= now {
            // The end of the operations under way wakes the units that wait for it.
            return controller.open.guards(block);
        }
        controller.dies.wake_channel_by(controller.dies[unit].channel as usize, until);
        true
    }

    /// Completes the operations under way on these pages: an access before time 0 follows.
    pub(super) fn land<C: Contents>(&mut self, which: impl Fn(Ppn) -> bool, controller: &mut Controller<C>) {
        if let Some(data) = &mut self.data {
            data.flights.retain(|flight| !which(flight.ppn));
            controller.open.land(which);
        }
    }

    /// A block of a physical-page backend is erased.
    pub(super) fn forget_oobs(&mut self, plane: PlaneId, block: u32, geometry: &Geometry) {
        if let Some(data) = &mut self.data {
            let first = u64::from(geometry.ppn(plane, block, 0).0);
            let pages = u64::from(geometry.pages_in(block));
            data.sequences.set_run(first..first + pages, 0);
        }
    }

    /// A version gets another address. Only a non-volatile memory remembers that.
    pub(super) fn note_remap<C: Contents>(
        &mut self,
        ftl: usize,
        from: u32,
        to: u32,
        entry: MapEntry,
        (blocks, controller): (&Blocks<C>, &Controller<C>),
    ) {
        let Some(data) = &mut self.data else { return };
        let version = match entry {
            MapEntry::At(ppn) => data.oob(ppn, blocks),
            MapEntry::Pending(op) => (from, controller.queues[Id::new(op)].sequence),
            MapEntry::Unmapped => return,
        };
        data.hidden_pages.insert((ftl as u16, to), version);
    }

    /// The held block of a plane is closed as it is: its places that have not been programmed count as empty.
    pub(in crate::drive) fn forget_held<C: Contents>(&mut self, plane: PlaneId, ftl: &Translation<C>) {
        let geometry = ftl.blocks.geometry();
        if let Some(data) = &mut self.data
            && let Some(next) = ftl.blocks.next_held(plane)
        {
            let left = geometry.pages - geometry.page_of(next);
            data.sequences.set_run(next.0.into()..(next.0 + left).into(), 0);
        }
    }

    /// Whether a plane lacks the room to move the valid pages of a victim, as it may after power losses only: torn pages take
    /// room.
    pub(super) fn lacks_room<C: Contents>(&self, plane: PlaneId, victim: u32, ftl: &Translation<C>) -> bool {
        self.is_kept() && ftl.lacks_room(plane, victim)
    }
}

/// The least number of flights at which those that have ended are taken out.
const FLIGHTS: usize = 256;

impl<C: Contents> Translation<C> {
    /// Whether torn pages have left a plane too little to move what a victim holds: it waits until more of that is
    /// garbage.
    pub(super) fn lacks_room(&self, plane: PlaneId, victim: u32) -> bool {
        let free = self.blocks.plane(plane).free_pages;
        self.room_to_move(self.blocks.valid_in(plane, victim)) > free && !self.blocks.has_held(plane)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// The OOB metadata of a backend's page; none if the page does not exist or cannot be read.
    pub(in crate::drive) fn oob_of(&self, backend: usize, page: u32) -> Option<OobData> {
        let data = self.power.data.as_ref()?;
        let Some(entry) = self.ftl.entry(backend, page) else {
            return self.nvrams.of(BackendId(backend as u16)).oob(page);
        };
        let MapEntry::At(ppn) = entry else { return None };
        let readable = !self.ftl.blocks.is_unreadable(ppn);
        readable.then(|| OobData {
            sequence: data.oob(ppn, &self.ftl.blocks).1,
            stamp: self.ftl.blocks.contents(ppn).stamp(),
            mark: data.marks.get(ppn.0.into()),
        })
    }

    /// An old version that has got another address is needed there no more; where its successor is not programmed
    /// yet, it is kept for that.
    pub(super) fn outlive(
        &mut self,
        ftl: usize,
        address: u32,
        ppn: Ppn,
        controller: &mut Controller<C>,
    ) -> bool {
        let Some(data) = &self.power.data else { return false };
        let (lpn, sequence) = data.oob(ppn, &self.ftl.blocks);
        if lpn == address {
            return false;
        }
        match self.ftl.maps.get(ftl, lpn) {
            MapEntry::Pending(_) => {
                let older = self.ftl.replace_older(ftl, lpn, sequence, ppn, &self.power, controller);
                let Ok(older) = older else { return false };
                self.ftl.blocks.remap(ppn, lpn);
                if let Some(older) = older {
                    self.power.guard_older(older, ppn, controller);
                    self.discard(older, controller);
                }
                true
            }
            MapEntry::At(newer) => {
                self.power.guard_older(ppn, newer, controller);
                false
            }
            MapEntry::Unmapped => false,
        }
    }

    /// Whether all planes for some of an FTL's writes are in that state, so that waiting would never end. Such an FTL is
    /// degraded: it places pages in any plane, evicts pages to the controller's memory, and a power loss may lose those.
    pub(super) fn must_evict(&mut self, now: SimTime, ftl: usize, controller: &mut Controller<C>) -> bool {
        let is_stopped = |&plane: &PlaneId| {
            self.ftl.blocks.is_dead(plane) || self.gc.is_wedged(plane, &self.ftl, &self.power)
        };
        let write_queue = |&plane: &PlaneId| self.ftl.die_queues[self.ftl.die_queue_of(plane)].write_queue;
        let mut planes = self.ftl.planes_of(ftl);
        planes.sort_by_key(write_queue);
        if !planes.chunk_by(|a, b| write_queue(a) == write_queue(b)).any(|all| all.iter().all(is_stopped)) {
            return false;
        }
        if self.ftl.backends[ftl].limit.is_none() {
            self.health.set_damaged(controller);
            self.set_limit(now, ftl, controller);
        }
        true
    }

    /// A plane has nothing to collect. If it has no room either, and was the last one that could have had some, the
    /// planes that have been left alone for want of room are collected, by eviction.
    pub(super) fn turn_to_others(&mut self, now: SimTime, plane: PlaneId, controller: &mut Controller<C>) {
        let ftl = self.ftl.ftl_of(plane);
        if !self.power.is_kept()
            || !self.gc.is_wedged(plane, &self.ftl, &self.power)
            || !self.must_evict(now, ftl, controller)
        {
            return;
        }
        for other in self.ftl.planes_of(ftl) {
            if other != plane && self.gc.garbage_of(other, &self.ftl, &self.health).is_some() {
                self.ask_for_collection(other, controller);
                self.gc.wake_collector(now, other, controller);
            }
        }
    }
}
