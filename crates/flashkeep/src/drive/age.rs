//! Ages a drive: slots of its flash are filled page by page, or planes are set to the state that an ageing model gives.

use super::Drive;
use crate::engine::{Cause, Contents};
use crate::flash::PlaneId;
use crate::ftl::ageing::{Model, Wish, shuffled, valid_places};
use crate::ftl::{Allocation, MapEntry, SteadyPlaces};
use flashkeep_trace::random::Random;

impl<C: Contents> Drive<C> {
    /// Ages every plane of the first leaves; pages created from now on fill the slots until [`Drive::end_ageing`].
    ///
    /// # Panics
    /// With physical-page backends, or flash that has been used.
    pub fn begin_ageing(&mut self, model: Model, wish: &Wish, seed: u64, backends: u16) {
        assert!(
            !self.backends.ftl.physical && self.controller.is_quiet(),
            "the flash of FTLs is aged, before it is used"
        );
        let mut random = Random::stream(seed, "ageing");
        let planes = self.controller.flash.geometry.plane_count() as usize;
        self.backends.immediate.slots.clear(planes);
        if model.fills {
            let shuffled = shuffled(self.controller.flash.geometry.pages, &mut random);
            let mut initial = SteadyPlaces::new(&self.controller.flash.geometry, shuffled.clone());
            self.backends.immediate.slots.shuffled = shuffled;
            for backend in 0..usize::from(backends) {
                match self.backends.ftl.backends[backend].allocation {
                    Allocation::Dynamic => self.backends.place_steady(backend, &mut initial, &mut random),
                    _ => self.backends.begin_steady(backend, &mut initial, &mut random),
                }
            }
            return self.backends.set_initial(initial);
        }
        let planes: Vec<PlaneId> =
            (0..usize::from(backends)).flat_map(|backend| self.backends.ftl.planes_of(backend)).collect();
        for plane in planes {
            let aged = model.aged(wish, &mut random);
            let mut slots = Vec::with_capacity(aged.iter().map(|aged| aged.valid as usize).sum());
            let mut first = None;
            for aged in aged {
                let block = self.backends.ftl.blocks.age(plane, aged.written);
                first.get_or_insert(block);
                valid_places(aged, &mut random, |page| {
                    slots.push(self.controller.flash.geometry.ppn(plane, block, page))
                });
            }
            slots.reverse();
            self.backends.immediate.slots.left += slots.len() as u64;
            self.backends.immediate.slots.of_plane[plane.0 as usize].drawn = slots;
            if let Some(first) = first {
                self.backends.ftl.blocks.go_on_aged(plane, first);
            }
        }
    }

    /// From now on pages are created as usual. Slots that no page has filled become invalid pages.
    pub fn end_ageing(&mut self) {
        let slots = std::mem::take(&mut self.backends.immediate.slots);
        for (backend, created) in slots.created.into_iter().enumerate() {
            let Some(created) = created else { continue };
            for lpn in created.others() {
                if let MapEntry::At(ppn) = self.backends.ftl.maps.get(backend, lpn) {
                    self.backends.ftl.blocks.invalidate(ppn);
                    self.backends.ftl.maps.set(backend, lpn, MapEntry::Unmapped);
                }
            }
            for lpn in self.backends.ftl.maps.without_place(backend) {
                if created.has(lpn) && self.backends.ftl.maps.get(backend, lpn) == MapEntry::Unmapped {
                    self.backends.place_immediately(
                        backend,
                        lpn,
                        Cause::Host,
                        C::default(),
                        &mut self.controller,
                    );
                }
            }
        }
    }
}
