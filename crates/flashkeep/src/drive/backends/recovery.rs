//! Recovery after a power loss: what remains on flash, and how the maps are rebuilt. `power` ensures that
//! every durable page remains.

use super::collection::PlaneCollection;
use super::{DriveBackends, Halves, RecoveryData, Translation};
use crate::drive::controller::{Controller, Flight};
use crate::drive::{Recovery, Resource};
use crate::engine::{Cause, Contents};
use crate::flash::{BusUse, OpKind, OpPhases, PlaneId, Ppn, Target, UnitId};
use crate::ftl::{GcRun, MapEntry};
use crate::kernel::{SimTime, Span};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

impl RecoveryData {
    /// A page was being programmed: the page and its OOB area stay unreadable until the block is erased.
    fn tear<C: Contents>(&mut self, ppn: Ppn, ftl: &mut Translation<C>) {
        ftl.blocks.poison(ppn);
        self.sequences.set(ppn.0.into(), 0);
    }

    /// Programs that were granted together with the moves before them had not been begun: their pages are clean. A page that
    /// cannot be programmed next, since the rest of its word line was left out or a page of its block has failed, counts
    /// as torn.
    fn take_back_programs<C: Contents>(&mut self, mut ppns: Vec<Ppn>, ftl: &mut Translation<C>) {
        ppns.sort_unstable_by_key(|&ppn| Reverse(ftl.blocks.version(ppn)));
        for ppn in ppns {
            let (plane, block) = (ftl.blocks.geometry().plane_of(ppn), ftl.blocks.geometry().block_of(ppn));
            if ftl.blocks.is_failed_block(plane, block) {
                continue;
            }
            if !ftl.blocks.take_back_program(ppn) {
                self.tear(ppn, ftl);
            } else {
                self.sequences.set(ppn.0.into(), 0);
            }
        }
    }

    /// How many pages of a block have been programmed, torn ones included.
    fn programmed_in<C: Contents>(&self, plane: PlaneId, block: u32, ftl: &Translation<C>) -> u32 {
        let first = ftl.blocks.geometry().ppn(plane, block, 0);
        let pages = ftl.blocks.geometry().pages_in(block);
        let erased = if ftl.physical {
            let numbers = first.0.into()..(first.0 + pages).into();
            self.sequences.alike(numbers) == Some(0) && !ftl.blocks.has_unreadable()
        } else {
            !ftl.blocks.is_programmed(first)
        };
        if erased {
            return 0;
        }
        let page = |page: &u32| {
            let ppn = ftl.blocks.geometry().ppn(plane, block, *page);
            if ftl.physical {
                self.sequences.get(ppn.0.into()) != 0 || ftl.blocks.is_unreadable(ppn)
            } else {
                ftl.blocks.is_programmed(ppn)
            }
        };
        (0..pages).rev().find(page).map_or(0, |last| last + 1)
    }

    /// Maps each page to its newest version on flash.
    pub(in crate::drive) fn read_oobs<C: Contents>(&mut self, backend: usize, ftl: &mut Translation<C>) {
        if ftl.backends[backend].dead {
            return;
        }
        let old = self.old_versions(backend, ftl);
        let blocks = 0..ftl.blocks.geometry().all_blocks();
        let of_plane = |plane: PlaneId| blocks.clone().map(move |block| (plane, block));
        let all = ftl.planes_of(backend).into_iter().flat_map(of_plane);
        let changed: Vec<_> = all.filter(|&(plane, block)| !self.is_as_created(plane, block, ftl)).collect();
        if ftl.blocks.have_initial() {
            self.forget_initial_places(backend, &changed, ftl);
        }
        for (plane, block) in changed {
            if ftl.blocks.is_failed_block(plane, block) {
                continue;
            }
            let end = self.programmed_in(plane, block, ftl);
            if ftl.physical {
                ftl.next_pages[ftl.blocks.geometry().block_index(plane, block)] = end;
            }
            for page in 0..end {
                self.read_oob(backend, ftl.blocks.geometry().ppn(plane, block, page), &old, ftl);
            }
        }
        self.tell_apart(backend, &old, ftl);
    }

    /// Whether all that a block holds are pages that were created by a rule and can be read. (Pages programmed after them may
    /// be empty: those that could not be merged.)
    fn is_as_created<C: Contents>(&self, plane: PlaneId, block: u32, ftl: &Translation<C>) -> bool {
        let first = u64::from(ftl.blocks.geometry().ppn(plane, block, 0).0);
        let pages = u64::from(ftl.blocks.geometry().pages_in(block));
        ftl.blocks.is_as_created(plane, block) && self.sequences.alike(first..first + pages) == Some(0)
    }

    /// Pages that were created by a rule are not where they were then if that place is erased, has failed or cannot be read,
    /// or if the page has been trimmed.
    fn forget_initial_places<C: Contents>(
        &self,
        backend: usize,
        changed: &[(PlaneId, u32)],
        ftl: &mut Translation<C>,
    ) {
        debug_assert!(self.hidden_pages.is_empty(), "the only backend of a drive keeps no old versions");
        let Translation { blocks, maps, .. } = ftl;
        for &(plane, block) in changed {
            for (ppn, lpn) in blocks.initial_owners(plane, block) {
                let is_erased = blocks.initial_owner(ppn).is_none();
                if is_erased || blocks.is_unreadable(ppn) || blocks.is_failed(ppn) {
                    maps.set(backend, lpn, MapEntry::Unmapped);
                }
            }
        }
        for &(_, lpn) in self.trims.keys().filter(|&&(of, _)| usize::from(of) == backend) {
            maps.set(backend, lpn, MapEntry::Unmapped);
        }
    }

    /// Where old versions were kept, by their page and the number of its write, as the non-volatile memory says.
    fn old_versions<C: Contents>(&self, backend: usize, ftl: &Translation<C>) -> BTreeMap<(u32, u64), u32> {
        let version = |to| self.hidden_pages.get(&(backend as u16, to)).map(|&version| (version, to));
        (ftl.backends[backend].pages..ftl.maps.len()).filter_map(version).collect()
    }

    /// An old version whose successor has not come to flash is the page itself, as before.
    fn tell_apart<C: Contents>(
        &mut self,
        backend: usize,
        old: &BTreeMap<(u32, u64), u32>,
        ftl: &mut Translation<C>,
    ) {
        let maps = &mut ftl.maps;
        for (&(lpn, sequence), &to) in old {
            let newer = match maps.get(backend, lpn) {
                MapEntry::At(ppn) => self.oob(ppn, &ftl.blocks).1 > sequence,
                _ => self.trims.get(&(backend as u16, lpn)).is_some_and(|&trimmed| sequence <= trimmed),
            };
            match maps.get(backend, to) {
                MapEntry::At(ppn) if newer => ftl.blocks.remap(ppn, to),
                _ => {
                    maps.set(backend, to, MapEntry::Unmapped);
                    self.hidden_pages.remove(&(backend as u16, to));
                }
            }
        }
    }

    fn read_oob<C: Contents>(
        &self,
        backend: usize,
        ppn: Ppn,
        old: &BTreeMap<(u32, u64), u32>,
        ftl: &mut Translation<C>,
    ) {
        let (lpn, sequence) = self.oob(ppn, &ftl.blocks);
        if sequence == 0 || ftl.blocks.is_unreadable(ppn) || ftl.blocks.is_failed(ppn) {
            return;
        }
        #[cfg(debug_assertions)]
        if crate::kernel::is_planted(crate::kernel::Planted::ForgottenPage) && lpn % 8 == 5 {
            return;
        }
        ftl.blocks.remap(ppn, lpn);
        let trimmed = self.trims.get(&(backend as u16, lpn)).is_some_and(|&trimmed| sequence <= trimmed);
        // An address at which an old version is kept belongs to that.
        let taken = self.hidden_pages.contains_key(&(backend as u16, lpn));
        if let Some(&to) = old.get(&(lpn, sequence)) {
            self.take_newer(backend, to, ppn, ftl);
        }
        if !trimmed && !taken {
            self.take_newer(backend, lpn, ppn, ftl);
        }
    }

    /// A version of a page, if it is the newest so far. Of a page and its copy, that outside of the cache, or in the
    /// younger block: collections would lack the room to begin again.
    fn take_newer<C: Contents>(&self, backend: usize, lpn: u32, ppn: Ppn, ftl: &mut Translation<C>) {
        let age = |ppn: Ppn| {
            let folded = !ftl.blocks.geometry().is_slc(ppn);
            (self.oob(ppn, &ftl.blocks).1, folded, ftl.blocks.block_age(ppn))
        };
        let older = |other: MapEntry| matches!(other, MapEntry::At(other) if age(ppn) <= age(other));
        if !older(ftl.maps.get(backend, lpn)) {
            ftl.maps.set(backend, lpn, MapEntry::At(ppn));
        }
    }
}

impl<C: Contents> Translation<C> {
    /// An erase that was granted together with the moves before it had not been begun.
    fn take_back_erase(&mut self, ppn: Ppn, controller: &mut Controller<C>) {
        let (plane, block) = (self.blocks.geometry().plane_of(ppn), self.blocks.geometry().block_of(ppn));
        self.blocks.take_back_erase(plane, block);
        controller.errors.note_erase_taken_back(plane, block);
        let (ftl, cached) = (self.ftl_of(plane), self.blocks.geometry().is_slc_block(block));
        self.backends[ftl].erases -= u64::from(!cached);
        controller.accounts.counters_mut().slc.erases -= u64::from(cached);
    }

    /// Counts the valid pages of each block again, as the maps say.
    fn count_valid(&mut self) {
        let mut valid = vec![0; self.blocks.geometry().block_space()];
        let geometry = self.blocks.geometry();
        for plane in (0..geometry.plane_count()).map(PlaneId) {
            for block in 0..geometry.blocks {
                let first = geometry.ppn(plane, block, 0);
                valid[geometry.block_index(plane, block)] = self.maps.initial_pages_in(first, geometry.pages);
            }
        }
        for backend in 0..self.backends.len() {
            for lpn in self.maps.moved(backend).iter().map(|lpn| lpn as u32) {
                if let Some(ppn) = self.maps.initial_place(backend, lpn) {
                    valid[geometry.block_index_of(ppn)] -= 1;
                }
                if let MapEntry::At(ppn) = self.maps.get(backend, lpn) {
                    valid[geometry.block_index_of(ppn)] += 1;
                }
            }
        }
        self.blocks.recount(&valid);
    }

    /// Whether a block that is programmed up to `end` has its summary, which comes with the last page.
    fn has_summary(&self, plane: PlaneId, block: u32, end: u32) -> bool {
        let geometry = self.blocks.geometry();
        let together = geometry.word_line_of(block);
        let last = || geometry.ppn(plane, block, (end - 1) / together * together);
        let full = self.summaries && !self.physical && end == geometry.pages_in(block);
        full && !self.blocks.is_unreadable(last())
    }
}

impl<C: Contents> Halves<'_, C> {
    /// Cuts off the operations under way at `now`. Returns the blocks that must be erased again, by their first pages.
    pub(in crate::drive) fn cut_flights(
        &mut self,
        now: SimTime,
        flights: Vec<Flight>,
        recovering: bool,
    ) -> Vec<Ppn> {
        let Halves { controller, backends } = self;
        let mut erased_anew = Vec::new();
        let (waiting, others): (Vec<_>, Vec<_>) = flights.into_iter().partition(|flight| {
            let programs = matches!(flight.kind, OpKind::Program | OpKind::Copyback);
            programs && flight.begun > now && !backends.ftl.physical
        });
        let waiting = waiting.into_iter().map(|flight| flight.ppn).collect();
        backends.power.data_mut().take_back_programs(waiting, &mut backends.ftl);
        for flight in others {
            let erase = backends.flash.timing.cost_of(
                &backends.flash.geometry,
                OpKind::Erase,
                Target::page(flight.ppn),
            );
            // Taken in steps, an erase is granted when all that it follows is on flash.
            let begun = backends.gc.run == GcRun::Steps || now + erase.busy() >= flight.end;
            let (plane, block) =
                (backends.flash.geometry.plane_of(flight.ppn), backends.flash.geometry.block_of(flight.ppn));
            match flight.kind {
                OpKind::Erase
                    if !begun
                        && !backends.ftl.physical
                        && backends.is_used_up(plane, block, controller)
                        && backends.ftl.blocks.is_failed_block(plane, block)
                        && !backends.ftl.blocks.is_dead(plane) =>
                {
                    // It was granted together with the moves before it.
                    backends.ftl.blocks.reinstate_block(plane, block);
                    if !backends.flash.geometry.is_slc_block(block) {
                        backends.health.life.take_back_expiry();
                    }
                    backends.ftl.take_back_erase(flight.ppn, controller);
                }
                _ if backends.ftl.blocks.is_failed_block(plane, block) => {}
                // Blocks whose erase is repeated have no pages, whether or not the erase had begun.
                OpKind::Erase if begun || backends.ftl.physical || recovering => erased_anew.push(flight.ppn),
                OpKind::Erase => backends.ftl.take_back_erase(flight.ppn, controller),
                OpKind::Program | OpKind::Copyback | OpKind::Read => {
                    backends.power.data_mut().tear(flight.ppn, &mut backends.ftl)
                }
            }
        }
        erased_anew
    }

    pub(in crate::drive) fn forget_everything(&mut self) {
        let Halves { controller, backends } = self;
        controller.lose_power();
        backends.gc.collections.fill(PlaneCollection::default());
        backends.gc.hands.iter_mut().for_each(Vec::clear);
        for ftl in &mut backends.ftl.backends {
            ftl.remapped.clear();
        }
        backends.packing.word_lines.clear();
        backends.ftl.maps.forget(backends.ftl.blocks.have_initial());
    }

    /// The flash pages that a recovery reads, by unit: of each block the first one, and which, the last block first. Nothing is
    /// read if the map and the OOB metadata are in non-volatile memory. Otherwise a block that has a summary is known
    /// from that, one read; of another every page is read, for its spare area.
    fn to_read(&self) -> Vec<Vec<(Ppn, Range<u32>)>> {
        let DriveBackends { flash, ftl, power, .. } = &*self.backends;
        let (geometry, mut left) = (&flash.geometry, vec![Vec::new(); self.controller.dies.unit_count()]);
        for plane in (0..geometry.plane_count()).rev().map(PlaneId) {
            for block in (0..geometry.all_blocks()).rev() {
                if ftl.memory.survives || ftl.blocks.is_failed_block(plane, block) {
                    continue;
                }
                let end = power.data().programmed_in(plane, block, ftl);
                let first = if ftl.has_summary(plane, block, end) { end - 1 } else { 0 };
                let pages = first / geometry.places..end.div_ceil(geometry.places);
                if !pages.is_empty() {
                    let unit = self.controller.dies.unit_of_block(plane, block);
                    left[unit.0 as usize].push((geometry.ppn(plane, block, 0), pages));
                }
            }
        }
        left
    }

    /// Reads what a recovery needs, and erases those blocks whose erase was cut off.
    fn take_time(&mut self, now: SimTime, erased_anew: &[Ppn]) -> Recovery {
        self.controller.dies.free_all(now);
        self.controller.dies.forget_planned();
        self.controller.accounts.tell_all_cut_off(now);
        let mut free_at = vec![now; self.controller.dies.unit_count()];
        let reads = self.read_for_recovery(now, &mut free_at);
        erased_anew.iter().for_each(|&ppn| self.erase_again(ppn, &mut free_at));
        let ready = free_at.iter().copied().max().unwrap_or(now);
        self.controller.dies.free_all(ready);
        self.controller.probe.record_recovery(now, ready);
        Recovery { ready, reads, erases: erased_anew.len() as u64 }
    }

    /// The units of a channel read side by side and hand over what they have one after the other. How many pages that are.
    fn read_for_recovery(&mut self, now: SimTime, free_at: &mut [SimTime]) -> u64 {
        let mut left = self.to_read();
        let untimed = self.backends.immediate.active;
        let read = if untimed { OpPhases::default() } else { self.backends.flash.timing.slowest_read() };
        let (access, transfer) = (read.busy(), read.data_out);
        let (places, mut reads) = (self.backends.flash.geometry.places, 0);
        for channel in 0..self.controller.dies.channel_count() {
            let units = self.controller.dies.units_in(channel);
            let mut bus_free = self.controller.dies.channel(channel).stall.over_at(now);
            loop {
                let next = units.clone().filter(|&unit| !left[unit].is_empty());
                let Some(unit) = next.min_by_key(|&unit| free_at[unit]) else { break };
                let Some((first, pages)) = left[unit].last_mut() else { break };
                let Some(page) = pages.next() else { break };
                let ppn = Ppn(first.0 + page * places);
                if pages.start == pages.end {
                    left[unit].pop();
                }
                let id = UnitId(unit as u32);
                let Controller { dies, accounts, .. } = &mut *self.controller;
                let start = dies[id].stall.over_at(free_at[unit]);
                let sent = (start + access).max(bus_free);
                let end = sent + transfer;
                (free_at[unit], bus_free) = (end, end);
                dies.plan_unit(id, start, end);
                dies.plan_channel(channel, sent, end);
                reads += 1;
                for (what, from) in [(Resource::Unit(id), start), (Resource::Channel(channel as u32), sent)] {
                    accounts.tell_hold(what, from, end, OpKind::Read, Cause::Metadata);
                }
                self.count_recovery(start, end, ppn, OpKind::Read);
            }
        }
        reads
    }

    /// Erases a block, named by its first page, whose erase was cut off.
    fn erase_again(&mut self, ppn: Ppn, free_at: &mut [SimTime]) {
        let Halves { controller, backends } = self;
        let geometry = &controller.flash.geometry;
        let plane = geometry.plane_of(ppn);
        let unit = controller.dies.unit_of_page(geometry, ppn);
        let start = controller.dies[unit].stall.over_at(free_at[unit.0 as usize]);
        let erase = controller.flash.timing.cost_of(geometry, OpKind::Erase, Target::page(ppn)).busy();
        let end = start + if backends.immediate.active { Span::ZERO } else { erase };
        free_at[unit.0 as usize] = end;
        controller.dies.plan_unit(unit, start, end);
        backends.ftl.blocks.wear_out(plane, geometry.block_of(ppn));
        let (ftl, cached) = (backends.ftl.ftl_of(plane), geometry.is_slc(ppn));
        backends.ftl.backends[ftl].erases += u64::from(!cached);
        controller.accounts.counters_mut().slc.erases += u64::from(cached);
        controller.accounts.tell_hold(Resource::Unit(unit), start, end, OpKind::Erase, Cause::Metadata);
        self.count_recovery(start, end, ppn, OpKind::Erase);
    }

    pub(in crate::drive) fn cut_power(&mut self, now: SimTime) -> Recovery {
        self.controller.now = now;
        self.backends.health.damaged |= self.backends.ftl.physical;
        let under_way = self.controller.cut_under_way(now, self.backends);
        self.controller.log_interrupted_reads(now, self.backends);
        let power = self.backends.power.data_mut();
        let flights = std::mem::take(&mut power.flights).into_iter().chain(under_way);
        let recovering = now < power.ready;
        self.controller.dies.cut_off(now, self.controller.flash.bus == BusUse::Rounds, recovering);
        power.numbered.clear();
        if self.backends.nvrams.iter().all(|memory| memory.dead) {
            power.hidden_pages.clear();
        }
        power.guard.fill(SimTime::ZERO);
        for plane in (0..self.backends.flash.geometry.plane_count()).map(PlaneId) {
            // Migrations are not continued.
            self.backends.power.forget_held(plane, &self.backends.ftl);
            self.backends.ftl.blocks.let_go(plane);
        }
        // In an untimed run what has been granted is done, and more may have been done after it.
        let timed = !self.backends.immediate.active;
        let flights = flights.filter(|flight| timed && flight.end > now).collect();
        let erased_anew = self.cut_flights(now, flights, recovering);
        self.forget_everything();
        for backend in 0..self.backends.ftl.backends.len() {
            self.backends.power.data_mut().read_oobs(backend, &mut self.backends.ftl);
        }
        self.backends.ftl.count_valid();
        let recovery = self.take_time(now, &erased_anew);
        for &ppn in &erased_anew {
            let (plane, block) =
                (self.backends.flash.geometry.plane_of(ppn), self.backends.flash.geometry.block_of(ppn));
            if self.backends.is_used_up(plane, block, self.controller) {
                self.backends.expire(recovery.ready, plane, block, self.controller);
            }
        }
        for backend in 0..self.backends.ftl.backends.len() {
            if self.backends.ftl.backends[backend].limit.is_some() {
                self.backends.set_limit(recovery.ready, backend, self.controller);
            }
        }
        for plane in (0..self.backends.flash.geometry.plane_count()).map(PlaneId) {
            let short = self.backends.gc.is_low(plane, &self.backends.ftl);
            if !self.backends.ftl.physical && !self.backends.ftl.blocks.is_dead(plane) && short {
                self.backends.ask_for_collection(plane, self.controller);
                self.backends.gc.wake_collector(recovery.ready, plane, self.controller);
            }
        }
        self.look_at_caches(recovery.ready);
        self.backends.maintenance.forget_maintenance();
        self.controller.now = recovery.ready;
        self.backends.power.data_mut().ready = recovery.ready;
        recovery
    }

    pub(in crate::drive) fn expect_power_cuts(&mut self) {
        let Halves { controller, backends } = self;
        controller.accounts.begin_watch();
        backends.power.begin_recording(&backends.flash.geometry);
        self.simplify();
    }

    fn count_recovery(&mut self, start: SimTime, end: SimTime, ppn: Ppn, kind: OpKind) {
        let Halves { controller, backends } = self;
        let ftl = backends.ftl.ftl_of(backends.flash.geometry.plane_of(ppn)) as u16;
        controller.accounts.counters_mut().count(ftl, kind, Cause::Metadata);
        controller.tell(start, end, ppn, kind, Cause::Metadata, 0, None, *backends);
    }
}
