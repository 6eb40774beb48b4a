//! Builds the leaves, die queues and write queues of a resolved drive.

use super::submit::Commands;
use super::*;
use crate::flash::{BusUse, Domain, FlashArray, Geometry, MultiPlane, Rows, StripingLevel, Timing};
use crate::ftl::allocation::Order;
use crate::ftl::{Allocation, InFlight, Maps, PlaneChoice};
use crate::kernel::Bits;

impl<C: Contents> Drive<C> {
    /// The flash of a drive, erased, a leaf for each of `domains`.
    #[must_use]
    pub fn new(drive: &Parameters, domains: &[Domain]) -> Self {
        let flash = FlashArray::of(drive);
        let geometry = &flash.geometry;
        let gc = Gc::new(drive, geometry);
        let ftl = Translation::new(drive, geometry);
        let packs = geometry.places > 1;
        let multi_plane = flash.commands.multi_plane != MultiPlane::Off;
        // The rows of a leaf of physical pages go over its planes, each of which takes its own.
        let configured = match ftl.physical {
            true => Allocation::Static(Order::new(&StripingLevel::ALL, 1)),
            false => Allocation::new(drive.binding, drive.stride),
        };
        let mut this = Drive {
            dies: Dies::new(drive, geometry, flash.commands.cache_program || gc.is_soft()),
            placement: PagePlacement::new(
                configured,
                drive.plane_choice,
                drive.stride,
                geometry.plane_count(),
            ),
            packing: Packing::new(drive, domains.len()),
            queues: Queues { lane_of: vec![0; geometry.plane_count() as usize], ..Queues::default() },
            reads: ReadRules {
                join: packs || multi_plane,
                coalesce: drive.coalesce_reads,
                behind: drive.read_in_flight == InFlight::Flash,
            },
            paths: Paths { commands: Commands::of_mapped(!ftl.physical), programs: Programs::Full },
            gc,
            ftl,
            immediate: Immediate::default(),
            health: DriveHealth { damaged: false, life: DriveLife::new(drive) },
            accounts: DriveAccounts {
                erases_before: BlockErases::none(geometry.block_count()),
                counters: Counters::new(domains.len()),
                work: drive.draws.then(Box::default),
                watch: None,
            },
            power: None,
            nvrams: Vec::new(),
            done: Vec::new(),
            scratch: Scratch::default(),
            now: SimTime::ZERO,
            admitted: SimTime::ZERO,
            flash,
        };
        for domain in domains {
            this.add_leaf(domain, drive.kind, domains.len() > 1);
        }
        let hidden = if let LeafKind::Mapped { shadow, .. } = drive.kind { shadow } else { 0 };
        let pages = this.ftl.leaves.first().map_or(0, |leaf| leaf.pages);
        this.ftl.maps = Maps::new(domains.len(), pages + hidden);
        this.ftl.remaps = hidden > 0;
        if !this.ftl.physical {
            this.ftl.blocks.set_padding(drive.padding);
            this.set_streams(drive);
        }
        this.simplify();
        this
    }

    /// Determines whether programs take the fast path. Later failures do not change it.
    pub(super) fn simplify(&mut self) {
        let simple = !self.placement.selective
            && !self.packing.active
            && self.flash.commands.multi_plane == MultiPlane::Off
            && !self.flash.commands.cache_program
            && self.flash.timing.is_uniform()
            && self.flash.bus == BusUse::Transfers
            && self.dies.gangs.size == 1
            && self.dies.spread.is_none()
            && !self.ftl.summaries
            && !self.reads.behind
            && self.placement.plane_choice == PlaneChoice::InTurn
            && !self.ftl.streams.are_several()
            && !self.gc.is_soft()
            && self.accounts.watch.is_none()
            && self.power.is_none();
        self.paths.programs = match (simple, self.ftl.physical) {
            (true, false) => Programs::Plain,
            (true, true) => Programs::PlainPhysical,
            (false, _) => Programs::Full,
        };
    }

    pub(super) fn add_leaf(&mut self, domain: &Domain, kind: LeafKind, siblings: bool) {
        let leaf = self.ftl.leaves.len();
        let first_lane = self.queues.lanes.len() as u32;
        let planes = domain.planes(&self.flash.geometry).into_iter();
        let parts = planes.flat_map(|plane| self.units_of(plane).into_iter().map(move |unit| (plane, unit)));
        for (plane, unit) in parts.collect::<Vec<_>>() {
            let found = self.queues.lanes[first_lane as usize..].iter().position(|lane| lane.unit == unit);
            let lane = found.map_or(self.queues.lanes.len(), |at| at + first_lane as usize);
            if lane == self.queues.lanes.len() {
                let channel = &mut self.dies.channels[self.flash.geometry.channel_of(unit) as usize];
                channel.lanes.push((lane as u32, unit.0 - channel.first_unit));
                self.queues.lanes.push(Lane { ftl: leaf as u16, unit, planes: Vec::new(), turn: 0, pool: 0 });
            }
            self.queues.lanes[lane].planes.push(plane);
            if unit == self.dies.of_plane[plane.0 as usize] {
                self.queues.lane_of[plane.0 as usize] = lane as u32;
            }
        }
        let lanes = first_lane..self.queues.lanes.len() as u32;
        let (pages, rows) = match kind {
            LeafKind::Mapped { pages, .. } => (pages, None),
            LeafKind::Raw | LeafKind::Blocks => {
                let single = kind == LeafKind::Blocks;
                let rows = Rows::new(&self.flash.geometry, domain);
                let rows = if single { rows.by_block() } else { rows };
                (rows.pages(), Some(rows))
            }
        };
        self.ftl.leaves.push(Ftl {
            pages,
            rows,
            lost: Bits::default(),
            dead: false,
            limit: None,
            domain: *domain,
            allocation: self.allocation_of(domain),
            first_pool: self.queues.pools.len() as u32,
            in_turn: self.lanes_in_turn(lanes.clone(), domain.extent[0], siblings),
            lanes,
            turn: 0,
            untimed_turn: 0,
            erases: 0,
            renamed: Vec::new(),
        });
        self.assign_pools(leaf);
    }

    /// Assigns a write queue to each die queue of a backend; waiting writes have been removed before.
    pub(super) fn assign_pools(&mut self, leaf: usize) {
        let Ftl { first_pool, allocation, domain, lanes, .. } = &self.ftl.leaves[leaf];
        let mut needed = self.queues.pools.len();
        for at in lanes.clone() {
            let lane = &mut self.queues.lanes[at as usize];
            let place = self.flash.geometry.place(lane.planes[0]);
            let pool = match allocation {
                Allocation::Dynamic => 0,
                Allocation::Partial(order) => {
                    order.index(domain, self.flash.geometry.unit_levels(), domain.within(place))
                }
                Allocation::Static(_) if self.ftl.physical => at - lanes.start,
                // The lanes of a pool's units take what is bound to the pool.
                Allocation::Static(_) => self.queues.lane_of[lane.planes[0].0 as usize] - lanes.start,
            };
            lane.pool = first_pool + pool;
            needed = needed.max(lane.pool as usize + 1);
        }
        self.queues.pools.resize(needed, OpQueue::default());
    }

    /// Lanes, which come channel by channel, one of each channel after the other. Where there are several FTLs each
    /// round begins one channel further on: a scheme that reads its members in turn, page by page, would otherwise
    /// ask for pages of always the same channels.
    pub(super) fn lanes_in_turn(
        &self,
        lanes: std::ops::Range<u32>,
        channels: u32,
        siblings: bool,
    ) -> Vec<u32> {
        let per_channel = (lanes.end - lanes.start) / channels;
        let skew = |n: u32| if siblings { n } else { 0 };
        let nth = |n: u32| (0..channels).map(move |at| (at + skew(n)) % channels * per_channel + n);
        (0..per_channel).flat_map(nth).map(|lane| lanes.start + lane).collect()
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
