//! Flash that was written before time 0, by construction: an ageing model gives the state of its planes, and
//! the valid pages wait as *slots* for host pages.

use super::{Drive, Ftl};
use crate::blocks::victim::SteadyUnits;
use crate::engine::{BackendId, Contents, Page};
use crate::flash::{PlaneId, Pools, Ppn};
use crate::ftl::ageing::{Aged, Model, SteadyPlanes, Wish, shuffled, valid_places};
use crate::ftl::{Allocation, MapEntry};
use flashkeep_trace::random::Random;

/// Slots that are still empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    of_plane: Vec<PlaneSlots>,
    left: u64,
    /// Of a drive in steady state: page numbers of a block in random order, twice.
    shuffled: Vec<u32>,
    /// The planes of each backend in steady state that have slots; the last one is filled first.
    waiting: Vec<Vec<PlaneId>>,
}

/// The slots of a plane.
#[derive(Clone, Debug, Default)]
struct PlaneSlots {
    /// Those whose places have been drawn; the first is filled last.
    drawn: Vec<Ppn>,
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
    /// The numbers of the pages in a block that are slots.
    fn numbers<'a>(shuffled: &'a [u32], block: &BlockSlots) -> impl Iterator<Item = u32> + 'a {
        let (from, count, written) = (block.from as usize, shuffled.len() / 2, block.aged.written);
        let numbers = shuffled[from..from + count].iter().copied();
        numbers.filter(move |&number| number < written).take(block.aged.valid as usize)
    }

    fn is_filled(&self, plane: PlaneId) -> bool {
        let slots = &self.of_plane[plane.0 as usize];
        slots.drawn.is_empty() && slots.blocks.is_empty()
    }

    /// The plane of a backend in steady state that is being filled.
    fn next_plane(&mut self, backend: usize) -> Option<PlaneId> {
        loop {
            let plane = *self.waiting.get(backend)?.last()?;
            if !self.is_filled(plane) {
                return Some(plane);
            }
            self.waiting[backend].pop();
        }
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

impl<C: Contents> Drive<C> {
    /// Ages every plane of the first leaves; pages created from now on fill the slots until [`Drive::end_ageing`].
    ///
    /// # Panics
    /// With physical-page backends, or flash that has been used.
    pub fn begin_ageing(&mut self, model: Model, wish: &Wish, seed: u64, backends: u16) {
        assert!(!self.ftl.physical && self.is_quiet(), "the flash of FTLs is aged, before it is used");
        let mut random = Random::stream(seed, "ageing");
        let planes = self.flash.geometry.plane_count() as usize;
        self.immediate.slots.of_plane = vec![PlaneSlots::default(); planes];
        if model.fills {
            self.immediate.slots.shuffled = shuffled(self.flash.geometry.pages, &mut random);
            return (0..usize::from(backends)).for_each(|backend| self.begin_steady(backend, &mut random));
        }
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
            self.immediate.slots.of_plane[plane.0 as usize].drawn = slots;
            if let Some(first) = first {
                self.ftl.blocks.go_on_aged(plane, first);
            }
        }
    }

    /// The planes of a backend are in steady state: a slot for each of its pages.
    fn begin_steady(&mut self, backend: usize, random: &mut Random) {
        let planes = self.planes_of(backend);
        let steady = self.steady_planes(backend, planes.len());
        let wander = matches!(self.ftl.backends[backend].allocation, Allocation::Dynamic);
        let pages = u64::from(self.ftl.backends[backend].pages);
        let valid = SteadyPlanes::valid(pages, planes.len(), wander, random);
        self.immediate.slots.waiting.push(planes.iter().rev().copied().collect());
        for (plane, valid) in planes.into_iter().zip(valid) {
            let mut slots = Vec::new();
            for aged in steady.blocks(valid, random) {
                let block = match aged.written == self.flash.geometry.pages {
                    true => self.ftl.blocks.age(plane, aged.written),
                    false => self.ftl.blocks.age_open(plane, aged.written),
                };
                let first = self.flash.geometry.ppn(plane, block, 0);
                let from = random.below(u64::from(self.flash.geometry.pages)) as u32;
                slots.extend((aged.valid > 0).then_some(BlockSlots { first, aged, from }));
                self.immediate.slots.left += u64::from(aged.valid);
            }
            slots.reverse();
            self.immediate.slots.of_plane[plane.0 as usize].blocks = slots;
        }
    }

    fn steady_planes(&self, backend: usize, planes: usize) -> SteadyPlanes {
        let geometry = &self.flash.geometry;
        let below = self.gc.thresholds.below;
        let enough = match self.flash.pools == Pools::PLANES {
            true => 0,
            false => (below + geometry.pages).next_multiple_of(geometry.pages),
        };
        let units = SteadyUnits {
            units: geometry.blocks,
            pages: geometry.pages,
            worth: u32::from(self.ftl.blocks.worth()),
            below,
            enough,
            valid: f64::from(self.ftl.backends[backend].pages) / planes as f64,
        };
        let state = self.gc.chooser.steady_state(&units).expect("checked when the drive was resolved");
        SteadyPlanes { units, state, places: geometry.word_line }
    }

    /// Pages of the host, in random order, fill the slots of a drive's only backend; those that are left have none.
    pub fn fill_slots(&mut self, backend: BackendId, mut pages: impl Iterator<Item = u32>) -> Vec<u32> {
        let ftl = usize::from(backend.0);
        let free = matches!(self.ftl.backends[ftl].allocation, Allocation::Dynamic);
        debug_assert!(!C::KEEP, "contents are not kept");
        if !free || self.power.is_some() {
            return pages
                .filter(|&page| {
                    let fits = self.has_slot(backend, Page(page));
                    if fits {
                        self.fill_slot(backend, page, C::default());
                    }
                    !fits
                })
                .collect();
        }
        self.ftl.maps.expect_use();
        self.ftl.blocks.expect_use();
        let shuffled = std::mem::take(&mut self.immediate.slots.shuffled);
        let (mut places, mut lpns) = (Vec::new(), Vec::new());
        while let Some(plane) = self.immediate.slots.next_plane(ftl) {
            let blocks = std::mem::take(&mut self.immediate.slots.of_plane[plane.0 as usize].blocks);
            for block in blocks.into_iter().rev() {
                lpns.clear();
                lpns.extend(pages.by_ref().take(block.aged.valid as usize));
                let places = if block.aged.written == self.flash.geometry.pages {
                    &shuffled[block.from as usize..]
                } else {
                    places.clear();
                    places.extend(Slots::numbers(&shuffled, &block));
                    &places
                };
                for (&lpn, &number) in lpns.iter().zip(places) {
                    self.ftl.maps.set(ftl, lpn, MapEntry::At(Ppn(block.first.0 + number)));
                }
                self.ftl.blocks.fill_aged(plane, block.first, places, &lpns);
            }
        }
        self.immediate.slots.left = 0;
        pages.collect()
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
            (free || self.may_go_to(backend, page.0, plane)) && !self.immediate.slots.is_filled(plane)
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

    /// A created page fills a slot; die queues take turns, and so do the planes of each. In steady state pages come in
    /// random order, and planes are filled one after the other.
    pub fn fill_slot(&mut self, backend: BackendId, lpn: u32, contents: C) {
        let ftl = usize::from(backend.0);
        debug_assert_eq!(self.ftl.maps.get(ftl, lpn), MapEntry::Unmapped);
        let free = matches!(self.ftl.backends[ftl].allocation, Allocation::Dynamic);
        let ppn = loop {
            let in_order = if free { self.immediate.slots.next_plane(ftl) } else { None };
            let plane = in_order.unwrap_or_else(|| self.next_to_fill(ftl));
            if (free || self.may_go_to(ftl, lpn, plane))
                && let Some(ppn) = self.immediate.slots.pop(plane)
            {
                break ppn;
            }
        };
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
