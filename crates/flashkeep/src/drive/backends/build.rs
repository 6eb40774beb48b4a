//! Builds the backends, die queues and write queues of a resolved drive.

use super::backend::{DieQueue, FlashBackendKind, Ftl};
use super::nvram::Nvrams;
use super::parts::Parts;
use super::{
    DriveBackends, DriveHealth, Gc, Halves, Immediate, Maintenance, Packing, Power, SlcPolicy, Translation,
};
use crate::drive::controller::{Controller, Programs};
use crate::drive::{BlockErases, DriveLife, Parameters};
use crate::engine::Contents;
use crate::flash::{BusUse, Domain, FlashArray, MultiPlane, Rows};
use crate::ftl::{Allocation, Maps, PlaneChoice};
use crate::kernel::Bits;
use smallvec::SmallVec;
use std::ops::Range;

impl<C: Contents> Translation<C> {
    /// Assigns a write queue to each die queue of a backend; waiting writes have been removed before.
    pub(super) fn assign_write_queues(&mut self, backend: usize, controller: &mut Controller<C>) {
        let Ftl { first_write_queue, allocation, domain, die_queues, .. } = &self.backends[backend];
        let mut needed = controller.queues.write_queue_count();
        for at in die_queues.clone() {
            let die_queue = &mut self.die_queues[at as usize];
            let place = self.blocks.geometry().place(die_queue.planes[0]);
            let write_queue = match allocation {
                Allocation::Dynamic => 0,
                Allocation::Partial(order) => {
                    order.index(domain, self.blocks.geometry().unit_levels(), domain.within(place))
                }
                Allocation::Static(_) if self.physical => at - die_queues.start,
                // The die queues of a pool's units take the pages that are bound to the pool.
                Allocation::Static(_) => self.die_queue_of[die_queue.planes[0].0 as usize] - die_queues.start,
            };
            die_queue.write_queue = first_write_queue + write_queue;
            needed = needed.max(die_queue.write_queue as usize + 1);
        }
        controller.queues.set_write_queues(needed);
    }

    /// All backends have been added.
    pub(in crate::drive) fn complete(&mut self, drive: &Parameters) {
        let hidden = if let FlashBackendKind::Mapped { hidden, .. } = drive.kind { hidden } else { 0 };
        let pages = self.backends.first().map_or(0, |backend| backend.pages);
        self.maps = Maps::new(self.backends.len(), pages + hidden);
        self.remaps = hidden > 0;
        if !self.physical {
            self.blocks.set_padding(drive.padding);
            self.set_streams(drive);
        }
    }

    /// The placement of pages in a domain; in a single plane there is no choice.
    pub(super) fn allocation_of(&self, domain: &Domain) -> Allocation {
        let choice = self.physical || domain.plane_count() > 1;
        if choice { self.placement.configured.clone() } else { Allocation::Dynamic }
    }

    pub(in crate::drive) fn add_backend(
        &mut self,
        domain: &Domain,
        kind: FlashBackendKind,
        siblings: bool,
        controller: &mut Controller<C>,
    ) {
        let backend = self.backends.len();
        let first_die_queue = self.die_queues.len() as u32;
        let planes = domain.planes(self.blocks.geometry()).into_iter();
        let parts = planes
            .flat_map(|plane| controller.dies.units_of(plane).into_iter().map(move |unit| (plane, unit)));
        for (plane, unit) in parts.collect::<Vec<_>>() {
            let found = self.die_queues[first_die_queue as usize..]
                .iter()
                .position(|die_queue| die_queue.unit == unit);
            let die_queue = found.map_or(self.die_queues.len(), |at| at + first_die_queue as usize);
            if die_queue == self.die_queues.len() {
                let channel = controller.dies.channel_mut(self.blocks.geometry().channel_of(unit) as usize);
                channel.die_queues.push((die_queue as u32, unit.0 - channel.first_unit));
                self.die_queues.push(DieQueue {
                    ftl: backend as u16,
                    unit,
                    planes: SmallVec::new(),
                    turn: 0,
                    write_queue: 0,
                });
            }
            self.die_queues[die_queue].planes.push(plane);
            if unit == controller.dies.unit_of(plane) {
                self.die_queue_of[plane.0 as usize] = die_queue as u32;
            }
        }
        let die_queues = first_die_queue..self.die_queues.len() as u32;
        let (pages, rows) = match kind {
            FlashBackendKind::Mapped { pages, .. } => (pages, None),
            FlashBackendKind::Physical | FlashBackendKind::Blocks => {
                let single = kind == FlashBackendKind::Blocks;
                let rows = Rows::new(self.blocks.geometry(), domain);
                let rows = if single { rows.by_block() } else { rows };
                (rows.pages(), Some(rows))
            }
        };
        self.backends.push(Ftl {
            pages,
            rows,
            lost: Bits::default(),
            dead: false,
            limit: None,
            domain: *domain,
            allocation: self.allocation_of(domain),
            first_write_queue: controller.queues.write_queue_count() as u32,
            in_turn: die_queues_in_turn(die_queues.clone(), domain.extent[0], siblings),
            die_queues,
            turn: 0,
            untimed_turn: 0,
            erases: 0,
            remapped: Vec::new(),
        });
        self.assign_write_queues(backend, controller);
    }
}

impl<C: Contents> DriveBackends<C> {
    /// The backends of `flash`, erased; [`Translation::add_backend`] adds each of `count`.
    pub(in crate::drive) fn new(drive: &Parameters, flash: FlashArray, count: usize) -> Self {
        let geometry = &flash.geometry;
        let ftl = Translation::new(drive, geometry);
        DriveBackends {
            packing: Packing::new(drive, geometry, count),
            parts: Parts::default(),
            gc: Gc::new(drive, &flash),
            slc: SlcPolicy::new(drive, geometry),
            ftl,
            immediate: Immediate::default(),
            health: DriveHealth {
                damaged: false,
                unreadable: false,
                life: DriveLife::new(drive),
                erases_before: BlockErases::none(flash.geometry.block_count()),
            },
            power: Power::default(),
            nvrams: Nvrams::default(),
            maintenance: Maintenance::of(geometry),
            flash,
        }
    }
}

/// Die queues, which come channel by channel, one of each channel after the other. Where there are several FTLs each
/// round begins one channel further on: a scheme that reads its members in turn, page by page, would otherwise
/// ask for pages of always the same channels.
fn die_queues_in_turn(die_queues: Range<u32>, channels: u32, siblings: bool) -> Vec<u32> {
    let per_channel = (die_queues.end - die_queues.start) / channels;
    let skew = |n: u32| if siblings { n } else { 0 };
    let nth = |n: u32| (0..channels).map(move |at| (at + skew(n)) % channels * per_channel + n);
    (0..per_channel).flat_map(nth).map(|die_queue| die_queues.start + die_queue).collect()
}

impl<C: Contents> Halves<'_, C> {
    /// Determines whether programs take the fast path. Later failures do not change it.
    pub(in crate::drive) fn simplify(&mut self) {
        let Halves { controller, backends } = self;
        let simple = !backends.ftl.placement.selective
            && !backends.packing.active
            && backends.flash.commands.multi_plane == MultiPlane::Off
            && !backends.flash.commands.cache_program
            && backends.flash.timing.is_uniform()
            && backends.flash.bus == BusUse::Transfers
            && !controller.dies.has_gangs()
            && !controller.dies.is_spread()
            && !backends.ftl.summaries
            && !controller.reads.wait_for_writes()
            && backends.ftl.placement.plane_choice == PlaneChoice::InTurn
            && !backends.ftl.streams.are_several()
            && !backends.gc.is_soft()
            && !controller.accounts.is_watched()
            && !backends.power.is_kept()
            && !controller.open.may_exist();
        controller.paths.take(match (simple, backends.ftl.physical) {
            (true, false) => Programs::Plain,
            (true, true) => Programs::PlainPhysical,
            (false, _) => Programs::Full,
        });
    }
}
