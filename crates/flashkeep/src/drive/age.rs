//! Flash that was written before time 0, by construction: an ageing model gives the state of its planes, and
//! the valid pages wait as *slots* for host pages.

use super::{Drive, Ftl};
use crate::engine::{BackendId, Contents, Page};
use crate::flash::{PlaneId, Ppn};
use crate::ftl::ageing::{Model, Wish, valid_places};
use crate::ftl::{Allocation, MapEntry};
use flashkeep_trace::random::Random;

/// Slots that are still empty, by plane; the first is filled last.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    of_plane: Vec<Vec<Ppn>>,
    left: u64,
}

impl<C: Contents> Drive<C> {
    /// Ages every plane of the first leaves; pages created from now on fill the slots until [`Drive::end_ageing`].
    ///
    /// # Panics
    /// With physical-page backends, or flash that has been used.
    pub fn begin_ageing(&mut self, model: Model, wish: &Wish, seed: u64, backends: u16) {
        assert!(!self.ftl.physical && self.is_quiet(), "the flash of FTLs is aged, before it is used");
        let mut random = Random::stream(seed, "ageing");
        self.immediate.slots.of_plane = vec![Vec::new(); self.flash.geometry.plane_count() as usize];
        let planes: Vec<PlaneId> =
            (0..usize::from(backends)).flat_map(|backend| self.planes_of(backend)).collect();
        for plane in planes {
            let aged = model.aged(wish, &mut random);
            let mut slots = Vec::with_capacity(aged.iter().map(|aged| aged.valid as usize).sum());
            let mut first = None;
            for aged in aged {
                let block = self.ftl.blocks.age(plane, aged.written);
                first.get_or_insert(block);
                valid_places(aged, &mut random, |page| {
                    slots.push(self.flash.geometry.ppn(plane, block, page))
                });
            }
            slots.reverse();
            self.immediate.slots.left += slots.len() as u64;
            self.immediate.slots.of_plane[plane.0 as usize] = slots;
            if let Some(first) = first {
                self.ftl.blocks.go_on_aged(plane, first);
            }
        }
    }

    /// The number of empty slots.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.immediate.slots.left
    }

    /// Whether a backend's page may go to one of the slots that are left, or to anywhere, as flash is not being aged.
    #[must_use]
    pub fn has_slot(&self, backend: BackendId, page: Page) -> bool {
        let backend = usize::from(backend.0);
        let free = matches!(self.ftl.backends[backend].allocation, Allocation::Dynamic);
        let die_queues = &self.queues.die_queues[self.ftl.backends[backend].die_queues_range()];
        let mut planes = die_queues.iter().flat_map(|die_queue| die_queue.planes.iter().copied());
        let fits = |plane: PlaneId| {
            (free || self.may_go_to(backend, page.0, plane))
                && !self.immediate.slots.of_plane[plane.0 as usize].is_empty()
        };
        !self.is_ageing() || planes.any(fits)
    }

    fn may_go_to(&self, ftl: usize, lpn: u32, plane: PlaneId) -> bool {
        let Ftl { allocation, domain, .. } = &self.ftl.backends[ftl];
        allocation.allows(&self.flash.geometry, domain, lpn, plane)
    }

    /// A page is created while the flash is aged: false if there is no slot for it. A page that was created before (a
    /// parity) stays where it is, with other contents.
    pub(super) fn age_page(&mut self, ftl: usize, lpn: u32, contents: C) -> bool {
        let backend = BackendId(ftl as u16);
        if let MapEntry::At(ppn) = self.ftl.maps.get(ftl, lpn) {
            self.put_before(ppn, lpn, contents);
        } else if self.has_slot(backend, Page(lpn)) {
            self.fill_slot(backend, lpn, contents);
        } else {
            return false;
        }
        true
    }

    /// A created page fills a slot; die queues take turns, and so do the planes of each.
    pub fn fill_slot(&mut self, backend: BackendId, lpn: u32, contents: C) {
        let ftl = usize::from(backend.0);
        debug_assert_eq!(self.ftl.maps.get(ftl, lpn), MapEntry::Unmapped);
        let free = matches!(self.ftl.backends[ftl].allocation, Allocation::Dynamic);
        let ppn = loop {
            let plane = self.next_to_fill(ftl);
            if (free || self.may_go_to(ftl, lpn, plane))
                && let Some(ppn) = self.immediate.slots.of_plane[plane.0 as usize].pop()
            {
                break ppn;
            }
        };
        self.immediate.slots.left -= 1;
        self.put_before(ppn, lpn, contents);
        self.ftl.blocks.validate(ppn);
        self.ftl.maps.set(ftl, lpn, MapEntry::At(ppn));
    }

    fn put_before(&mut self, ppn: Ppn, lpn: u32, contents: C) {
        self.ftl.blocks.age_page(ppn, lpn, contents);
        self.queues.sequence += 1;
        self.note_oob(ppn, lpn, self.queues.sequence);
    }

    fn next_to_fill(&mut self, ftl: usize) -> PlaneId {
        let this = &mut self.ftl.backends[ftl];
        let die_queue = &mut self.queues.die_queues[this.in_turn[this.untimed_turn] as usize];
        let plane = die_queue.planes[die_queue.turn as usize];
        let next = |at: usize, count: usize| if at + 1 == count { 0 } else { at + 1 };
        die_queue.turn = next(die_queue.turn as usize, die_queue.planes.len()) as u32;
        this.untimed_turn = next(this.untimed_turn, this.in_turn.len());
        plane
    }

    /// Whether pages that are created fill slots.
    #[inline]
    pub(super) fn is_ageing(&self) -> bool {
        !self.immediate.slots.of_plane.is_empty()
    }

    /// From now on pages are created as usual. Slots that no page has filled become invalid pages.
    pub fn end_ageing(&mut self) {
        self.immediate.slots = Slots::default();
    }
}
