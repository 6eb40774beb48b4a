//! Builds the backends, die queues and write queues of a resolved drive.

use super::submit::Commands;
use super::*;
use crate::flash::{BusUse, Domain, FlashArray, Geometry, MultiPlane, Rows, StripingLevel, Timing};
use crate::ftl::allocation::Order;
use crate::ftl::{Allocation, InFlight, Maps, PlaneChoice};
use crate::kernel::Bits;
use smallvec::SmallVec;

impl<C: Contents> Drive<C> {
    /// The flash of a drive, erased, a backend for each of `domains`.
    #[must_use]
    pub fn new(drive: &Parameters, domains: &[Domain]) -> Self {
        let flash = FlashArray::of(drive);
        let geometry = &flash.geometry.clone();
        let gc = Gc::new(drive, geometry);
        let slc = SlcPolicy::new(drive, geometry);
        let ftl = Translation::new(drive, geometry);
        let units = geometry.unit_count() as usize;
        let suspension = drive.suspend.map(|rules| Box::new(Suspension::new(rules, units)));
        let multi_plane = flash.commands.multi_plane != MultiPlane::Off;
        // The rows of a backend of physical pages go over its planes, each of which takes its own.
        let configured = match ftl.physical {
            true => Allocation::Static(Order::new(&StripingLevel::ALL, 1)),
            false => Allocation::new(drive.binding, drive.stride),
        };
        let controller = Controller {
            dies: Dies::new(
                drive,
                geometry,
                flash.commands.cache_program || gc.is_soft() || slc.uses_idle_time(),
            ),
            queues: Queues::default(),
            reads: ReadRules {
                joins: geometry.places > 1 || multi_plane,
                together: geometry.word_line > 1 || multi_plane,
                coalesce: drive.coalesce_reads,
                behind: drive.read_in_flight == InFlight::Flash,
            },
            paths: Paths { commands: Commands::of_mapped(!ftl.physical), programs: Programs::Full },
            accounts: DriveAccounts {
                erases_before: BlockErases::none(geometry.block_count()),
                counters: Counters::new(domains.len()),
                work: drive.draws.then(Box::default),
                watch: None,
            },
            done: Vec::new(),
            scratch: Scratch::default(),
            latencies: None,
            suspension,
            errors: ReadErrors::of(drive, geometry),
            now: SimTime::ZERO,
            admitted: SimTime::ZERO,
            flash: flash.clone(),
        };
        let backends = DriveBackends {
            placement: PagePlacement::new(
                configured,
                drive.plane_choice,
                drive.stride,
                geometry.plane_count(),
            ),
            packing: Packing::new(drive, geometry, domains.len()),
            parts: Parts::default(),
            gc,
            slc,
            ftl,
            immediate: Immediate::default(),
            health: DriveHealth { damaged: false, unreadable: false, life: DriveLife::new(drive) },
            power: None,
            nvrams: Vec::new(),
            maintenance: Maintenance::of(geometry),
            flash,
        };
        let mut this = Drive { controller, backends };
        for domain in domains {
            this.backends.add_backend(domain, drive.kind, domains.len() > 1, &mut this.controller);
        }
        let hidden = if let FlashBackendKind::Mapped { hidden, .. } = drive.kind { hidden } else { 0 };
        let pages = this.backends.ftl.backends.first().map_or(0, |backend| backend.pages);
        this.backends.ftl.maps = Maps::new(domains.len(), pages + hidden);
        this.backends.ftl.remaps = hidden > 0;
        if !this.backends.ftl.physical {
            this.backends.ftl.blocks.set_padding(drive.padding);
            this.backends.ftl.set_streams(drive);
        }
        this.backends.simplify(&mut this.controller);
        this
    }
}

impl<C: Contents> Controller<C> {
    /// Die queues, which come channel by channel, one of each channel after the other. Where there are several FTLs each
    /// round begins one channel further on: a scheme that reads its members in turn, page by page, would otherwise
    /// ask for pages of always the same channels.
    pub(super) fn die_queues_in_turn(
        &self,
        die_queues: std::ops::Range<u32>,
        channels: u32,
        siblings: bool,
    ) -> Vec<u32> {
        let per_channel = (die_queues.end - die_queues.start) / channels;
        let skew = |n: u32| if siblings { n } else { 0 };
        let nth = |n: u32| (0..channels).map(move |at| (at + skew(n)) % channels * per_channel + n);
        (0..per_channel).flat_map(nth).map(|die_queue| die_queues.start + die_queue).collect()
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Determines whether programs take the fast path. Later failures do not change it.
    pub(super) fn simplify(&self, controller: &mut Controller<C>) {
        let simple = !self.placement.selective
            && !self.packing.active
            && self.flash.commands.multi_plane == MultiPlane::Off
            && !self.flash.commands.cache_program
            && self.flash.timing.is_uniform()
            && self.flash.bus == BusUse::Transfers
            && controller.dies.gangs.size == 1
            && controller.dies.spread.is_none()
            && !self.ftl.summaries
            && !controller.reads.behind
            && self.placement.plane_choice == PlaneChoice::InTurn
            && !self.ftl.streams.are_several()
            && !self.gc.is_soft()
            && controller.accounts.watch.is_none()
            && self.power.is_none()
            && controller.suspension.is_none();
        controller.paths.programs = match (simple, self.ftl.physical) {
            (true, false) => Programs::Plain,
            (true, true) => Programs::PlainPhysical,
            (false, _) => Programs::Full,
        };
    }

    pub(super) fn add_backend(
        &mut self,
        domain: &Domain,
        kind: FlashBackendKind,
        siblings: bool,
        controller: &mut Controller<C>,
    ) {
        let backend = self.ftl.backends.len();
        let first_die_queue = self.ftl.die_queues.len() as u32;
        let planes = domain.planes(&self.flash.geometry).into_iter();
        let parts = planes
            .flat_map(|plane| controller.dies.units_of(plane).into_iter().map(move |unit| (plane, unit)));
        for (plane, unit) in parts.collect::<Vec<_>>() {
            let found = self.ftl.die_queues[first_die_queue as usize..]
                .iter()
                .position(|die_queue| die_queue.unit == unit);
            let die_queue = found.map_or(self.ftl.die_queues.len(), |at| at + first_die_queue as usize);
            if die_queue == self.ftl.die_queues.len() {
                let channel = &mut controller.dies.channels[self.flash.geometry.channel_of(unit) as usize];
                channel.die_queues.push((die_queue as u32, unit.0 - channel.first_unit));
                self.ftl.die_queues.push(DieQueue {
                    ftl: backend as u16,
                    unit,
                    planes: SmallVec::new(),
                    turn: 0,
                    write_queue: 0,
                });
            }
            self.ftl.die_queues[die_queue].planes.push(plane);
            if unit == controller.dies.of_plane[plane.0 as usize] {
                self.ftl.die_queue_of[plane.0 as usize] = die_queue as u32;
            }
        }
        let die_queues = first_die_queue..self.ftl.die_queues.len() as u32;
        let (pages, rows) = match kind {
            FlashBackendKind::Mapped { pages, .. } => (pages, None),
            FlashBackendKind::Physical | FlashBackendKind::Blocks => {
                let single = kind == FlashBackendKind::Blocks;
                let rows = Rows::new(&self.flash.geometry, domain);
                let rows = if single { rows.by_block() } else { rows };
                (rows.pages(), Some(rows))
            }
        };
        self.ftl.backends.push(Ftl {
            pages,
            rows,
            lost: Bits::default(),
            dead: false,
            limit: None,
            domain: *domain,
            allocation: self.allocation_of(domain),
            first_write_queue: controller.queues.write_queues.len() as u32,
            in_turn: controller.die_queues_in_turn(die_queues.clone(), domain.extent[0], siblings),
            die_queues,
            turn: 0,
            untimed_turn: 0,
            erases: 0,
            remapped: Vec::new(),
        });
        self.assign_write_queues(backend, controller);
    }

    /// Assigns a write queue to each die queue of a backend; waiting writes have been removed before.
    pub(super) fn assign_write_queues(&mut self, backend: usize, controller: &mut Controller<C>) {
        let Ftl { first_write_queue, allocation, domain, die_queues, .. } = &self.ftl.backends[backend];
        let mut needed = controller.queues.write_queues.len();
        for at in die_queues.clone() {
            let die_queue = &mut self.ftl.die_queues[at as usize];
            let place = self.flash.geometry.place(die_queue.planes[0]);
            let write_queue = match allocation {
                Allocation::Dynamic => 0,
                Allocation::Partial(order) => {
                    order.index(domain, self.flash.geometry.unit_levels(), domain.within(place))
                }
                Allocation::Static(_) if self.ftl.physical => at - die_queues.start,
                // The die queues of a pool's units take what is bound to the pool.
                Allocation::Static(_) => {
                    self.ftl.die_queue_of[die_queue.planes[0].0 as usize] - die_queues.start
                }
            };
            die_queue.write_queue = first_write_queue + write_queue;
            needed = needed.max(die_queue.write_queue as usize + 1);
        }
        controller.queues.write_queues.resize(needed, OpQueue::default());
    }

    /// The placement of pages in a domain; in a single plane there is no choice.
    pub(super) fn allocation_of(&self, domain: &Domain) -> Allocation {
        let choice = self.ftl.physical || domain.plane_count() > 1;
        if choice { self.placement.configured.clone() } else { Allocation::Dynamic }
    }
}

impl FlashArray {
    /// The flash array of a drive.
    fn of(drive: &Parameters) -> FlashArray {
        FlashArray {
            geometry: Geometry::new(&drive.flash)
                .with_places(drive.places)
                .with_pools(&drive.flash, drive.pools),
            pools: drive.pools,
            timing: Timing::new(
                &drive.flash,
                &drive.times,
                &drive.page_types,
                drive.page_sectors,
                drive.places,
            ),
            bus: drive.flash.bus,
            commands: drive.flash.commands.clone(),
            acknowledge: drive.flash.acknowledge,
        }
    }
}
