//! Flash that was written before time 0, by construction: an ageing model gives the state of its planes, and
//! the valid pages wait as *slots* for host pages. In steady state, where a page may go to any plane, all pages have
//! their places at once, by a rule ([`InitialPlaces`]); those that are not created lose them in the end.

use super::backend::Ftl;
use super::created::Created;
use super::{DriveBackends, Gc, Halves, Immediate, Power, Slots, Translation};
use crate::blocks::victim::SteadyUnits;
use crate::drive::controller::Controller;
use crate::engine::{BackendId, Cause, Contents};
use crate::flash::{PlaneId, Ppn};
use crate::ftl::ageing::{Aged, Model, SteadyPlanes, Wish, shuffled, valid_places};
use crate::ftl::{Allocation, InitialPlaces, MapEntry, SteadyPlaces};
use flashkeep_trace::random::Random;
use std::ops::Range;
use std::sync::Arc;

/// The slots of a plane.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct PlaneSlots {
    /// Those whose places have been drawn; the first is filled last.
    pub(super) drawn: Vec<Ppn>,
    /// Blocks whose slots have not; the first is filled last.
    blocks: Vec<BlockSlots>,
}

/// The slots of a block in steady state.
#[derive(Clone, Copy, Debug)]
struct BlockSlots {
    first: Ppn,
    aged: Aged,
    /// Where its page numbers begin in the shuffled ones.
    from: u32,
}

impl Slots {
    /// No plane has slots.
    pub(in crate::drive) fn clear(&mut self, planes: usize) {
        self.of_plane = vec![PlaneSlots::default(); planes];
    }

    /// The numbers of the pages in a block that are slots.
    fn numbers<'a>(shuffled: &'a [u32], block: &BlockSlots) -> impl Iterator<Item = u32> + 'a {
        let (from, count, written) = (block.from as usize, shuffled.len() / 2, block.aged.written);
        let numbers = shuffled[from..from + count].iter().copied();
        numbers.filter(move |&number| number < written).take(block.aged.valid as usize)
    }

    /// The pages created before time 0 of a backend all of whose pages have places.
    fn created(&self, backend: usize) -> Option<&Created> {
        self.created.get(backend)?.as_ref()
    }

    /// Whether pages of a backend have their places.
    pub(super) fn knows_places(&self, backend: usize) -> bool {
        self.created(backend).is_some()
    }

    /// Pages of a backend are created, if they have places.
    pub(super) fn note_created(&mut self, backend: usize, pages: Range<u32>) {
        if let Some(created) = self.created.get_mut(backend).and_then(Option::as_mut) {
            self.left -= created.add(pages);
        }
    }

    fn is_filled(&self, plane: PlaneId) -> bool {
        let slots = &self.of_plane[plane.0 as usize];
        slots.drawn.is_empty() && slots.blocks.is_empty()
    }

    fn pop(&mut self, plane: PlaneId) -> Option<Ppn> {
        let PlaneSlots { drawn, blocks } = &mut self.of_plane[plane.0 as usize];
        while drawn.is_empty()
            && let Some(block) = blocks.pop()
        {
            drawn.extend(Self::numbers(&self.shuffled, &block).map(|number| Ppn(block.first.0 + number)));
            drawn.reverse();
        }
        let slot = drawn.pop()?;
        self.left -= 1;
        Some(slot)
    }
}

impl<C: Contents> Translation<C> {
    pub(super) fn may_go_to(&self, ftl: usize, lpn: u32, plane: PlaneId) -> bool {
        let Ftl { allocation, domain, .. } = &self.backends[ftl];
        allocation.allows(self.blocks.geometry(), domain, lpn, plane)
    }

    fn put_before(&mut self, ppn: Ppn, lpn: u32, contents: C, number: u64, power: &mut Power) {
        self.blocks.program_at(ppn, lpn, contents);
        power.note_oob(ppn, lpn, number);
    }

    /// Pages have had their places by this rule from the beginning.
    pub(super) fn set_initial(&mut self, initial: InitialPlaces) {
        self.maps.set_initial(initial.clone());
        self.blocks.set_initial(initial);
    }
}

impl Gc {
    /// The blocks of each plane of a backend in steady state, in the order in which they were filled; nothing in them is
    /// valid yet.
    fn steady_blocks<C: Contents>(
        &self,
        backend: usize,
        wander: bool,
        random: &mut Random,
        ftl: &mut Translation<C>,
    ) -> Vec<(PlaneId, Vec<BlockSlots>)> {
        let planes = ftl.planes_of(backend);
        let (geometry, pages) = (ftl.blocks.geometry(), ftl.backends[backend].pages);
        let units = SteadyUnits {
            units: geometry.blocks,
            pages: geometry.pages,
            worth: u32::from(ftl.blocks.worth()),
            below: self.thresholds.below,
            enough: self.enough.next_multiple_of(geometry.pages),
            valid: f64::from(pages) / planes.len() as f64,
        };
        let state = self.chooser.steady_state(&units).expect("checked when the drive was resolved");
        let steady = SteadyPlanes { units, state, places: geometry.word_line };
        let valid = SteadyPlanes::valid(u64::from(pages), planes.len(), wander, random);
        let mut of_plane = |plane, valid| {
            let mut blocks = Vec::new();
            for aged in steady.blocks(valid, random) {
                let block = match aged.written == ftl.blocks.geometry().pages {
                    true => ftl.blocks.age(plane, aged.written),
                    false => ftl.blocks.age_open(plane, aged.written),
                };
                let first = ftl.blocks.geometry().ppn(plane, block, 0);
                let from = random.below(u64::from(ftl.blocks.geometry().pages)) as u32;
                blocks.push(BlockSlots { first, aged, from });
            }
            (plane, blocks)
        };
        planes.into_iter().zip(valid).map(|(plane, valid)| of_plane(plane, valid)).collect()
    }
}

impl<C: Contents> DriveBackends<C> {
    /// A page is created while the flash is aged: false if there is no slot for it. A page that was created before (a
    /// parity), or that has its place anyway, stays where it is, with other contents.
    pub(super) fn age_page(
        &mut self,
        ftl: usize,
        lpn: u32,
        contents: C,
        controller: &mut Controller<C>,
    ) -> bool {
        self.immediate.slots.note_created(ftl, lpn..lpn + 1);
        if let MapEntry::At(ppn) = self.ftl.maps.get(ftl, lpn) {
            self.ftl.put_before(ppn, lpn, contents, controller.queues.next_numbers(1), &mut self.power);
            return true;
        }
        let fills = !self.immediate.slots.knows_places(ftl) && self.immediate.has_slot(ftl, lpn, &self.ftl);
        if fills {
            self.fill_slot(BackendId(ftl as u16), lpn, contents, controller);
        }
        fills
    }

    /// A created page fills a slot; die queues take turns, and so do the planes of each.
    pub(in crate::drive) fn fill_slot(
        &mut self,
        backend: BackendId,
        lpn: u32,
        contents: C,
        controller: &mut Controller<C>,
    ) {
        let ftl = usize::from(backend.0);
        if self.immediate.slots.knows_places(ftl) {
            return self.place_immediately(ftl, lpn, Cause::Host, contents, controller);
        }
        debug_assert_eq!(self.ftl.maps.get(ftl, lpn), MapEntry::Unmapped);
        let free = matches!(self.ftl.backends[ftl].allocation, Allocation::Dynamic);
        let ppn = loop {
            let plane = self.ftl.next_to_fill(ftl);
            if (free || self.ftl.may_go_to(ftl, lpn, plane))
                && let Some(ppn) = self.immediate.slots.pop(plane)
            {
                break ppn;
            }
        };
        self.ftl.put_before(ppn, lpn, contents, controller.queues.next_numbers(1), &mut self.power);
        self.ftl.blocks.validate(ppn);
        self.ftl.maps.set(ftl, lpn, MapEntry::At(ppn));
    }
}

impl Immediate {
    /// The number of empty slots.
    #[must_use]
    pub(in crate::drive) fn slots(&self) -> u64 {
        self.slots.left
    }

    /// Whether pages that are created fill slots.
    #[inline]
    pub(super) fn is_ageing(&self) -> bool {
        !self.slots.of_plane.is_empty()
    }

    /// Whether a backend's page may go to one of the slots that are left, or to anywhere, as flash is not being aged.
    #[must_use]
    pub(in crate::drive) fn has_slot<C: Contents>(
        &self,
        backend: usize,
        lpn: u32,
        ftl: &Translation<C>,
    ) -> bool {
        if let Some(created) = self.slots.created(backend) {
            return lpn < created.limit() && !created.has(lpn);
        }
        let free = matches!(ftl.backends[backend].allocation, Allocation::Dynamic);
        let die_queues = &ftl.die_queues[ftl.backends[backend].die_queues_range()];
        let mut planes = die_queues.iter().flat_map(|die_queue| die_queue.planes.iter().copied());
        let fits =
            |plane: PlaneId| (free || ftl.may_go_to(backend, lpn, plane)) && !self.slots.is_filled(plane);
        !self.is_ageing() || planes.any(fits)
    }
}

impl<C: Contents> Halves<'_, C> {
    pub(in crate::drive) fn begin_ageing(&mut self, model: Model, wish: &Wish, seed: u64, backends: u16) {
        assert!(
            !self.backends.ftl.physical && self.controller.is_quiet(),
            "the flash of FTLs is aged, before it is used"
        );
        let mut random = Random::stream(seed, "ageing");
        let planes = self.backends.flash.geometry.plane_count() as usize;
        self.backends.immediate.slots.clear(planes);
        if model.fills {
            let shuffled = shuffled(self.backends.flash.geometry.pages, &mut random);
            let mut initial = SteadyPlaces::new(&self.backends.flash.geometry, shuffled.clone());
            self.backends.immediate.slots.shuffled = shuffled;
            for backend in 0..usize::from(backends) {
                match self.backends.ftl.backends[backend].allocation {
                    Allocation::Dynamic => self.place_steady(backend, &mut initial, &mut random),
                    _ => self.begin_steady(backend, &mut initial, &mut random),
                }
            }
            if self.backends.immediate.slots.created.iter().any(Option::is_some) {
                self.backends.ftl.set_initial(InitialPlaces::Steady(Arc::new(initial)));
            }
            return;
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
                    slots.push(self.backends.flash.geometry.ppn(plane, block, page))
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

    pub(in crate::drive) fn end_ageing(&mut self) {
        let Halves { controller, backends } = self;
        let slots = std::mem::take(&mut backends.immediate.slots);
        for (backend, created) in slots.created.into_iter().enumerate() {
            let Some(created) = created else { continue };
            for lpn in created.others() {
                if let MapEntry::At(ppn) = backends.ftl.maps.get(backend, lpn) {
                    backends.ftl.blocks.invalidate(ppn);
                    backends.ftl.maps.set(backend, lpn, MapEntry::Unmapped);
                }
            }
            for lpn in backends.ftl.maps.without_place(backend) {
                if created.has(lpn) && backends.ftl.maps.get(backend, lpn) == MapEntry::Unmapped {
                    backends.place_immediately(backend, lpn, Cause::Host, C::initial(lpn.into()), controller);
                }
            }
        }
    }

    /// The planes of a backend are in steady state: a slot for each of its pages.
    pub(in crate::drive) fn begin_steady(
        &mut self,
        backend: usize,
        initial: &mut SteadyPlaces,
        random: &mut Random,
    ) {
        let Halves { backends, .. } = self;
        initial.skip_backend();
        backends.immediate.slots.created.push(None);
        for (plane, blocks) in backends.gc.steady_blocks(backend, false, random, &mut backends.ftl) {
            let mut slots = blocks;
            slots.retain(|block| block.aged.valid > 0);
            slots.reverse();
            backends.immediate.slots.left +=
                slots.iter().map(|block| u64::from(block.aged.valid)).sum::<u64>();
            backends.immediate.slots.of_plane[plane.0 as usize].blocks = slots;
        }
    }

    /// The planes of a backend are in steady state, and each of its pages has a place.
    pub(in crate::drive) fn place_steady(
        &mut self,
        backend: usize,
        initial: &mut SteadyPlaces,
        random: &mut Random,
    ) {
        let Halves { backends, .. } = self;
        let all = backends.gc.steady_blocks(backend, true, random, &mut backends.ftl);
        initial.add_backend(backends.ftl.backends[backend].pages, random);
        for BlockSlots { first, aged, from } in all.into_iter().flat_map(|(_, blocks)| blocks) {
            let full = aged.written == backends.flash.geometry.pages;
            initial.add_block(first, aged.valid, full.then_some(from));
            backends.ftl.blocks.validate_aged(first, aged.valid);
        }
        let pages = backends.ftl.backends[backend].pages;
        backends.immediate.slots.created.push(Some(Created::none_of(pages)));
        backends.immediate.slots.left += u64::from(pages);
    }
}
