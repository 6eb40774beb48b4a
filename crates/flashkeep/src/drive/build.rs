//! From a resolved drive to its leaves, lanes and pools.

use super::*;
use crate::kernel::Bits;

/// From so many planes on, what is known of their open blocks is asked for ahead: below, it is at hand anyway.
const MANY_PLANES: u32 = 256;

impl<C: Contents> Drive<C> {
    /// The flash of a drive, erased, a leaf for each of `domains`.
    #[must_use]
    pub fn new(drive: &Parameters, domains: &[Domain]) -> Self {
        let kind = drive.kind;
        let geometry = Geometry::new(&drive.flash).with_places(drive.places);
        let packs = geometry.places > 1;
        let threshold = drive.gc.threshold * geometry.pages_per_plane() as f64;
        let raw = matches!(kind, LeafKind::Raw | LeafKind::Blocks);
        // A block's worth of free pages for each stream is kept from the host, so collection starts before it is reached.
        let collect_below = (threshold as u32).max(u32::from(drive.streams) * geometry.pages + 1);
        let soft = drive.gc.soft_threshold.filter(|_| !raw).unwrap_or(0.0);
        let soft_below = (soft * geometry.pages_per_plane() as f64) as u32;
        let commands = &drive.flash.commands;
        let mut this = Drive {
            plain: !raw,
            simple: false,
            many_planes: geometry.plane_count() >= MANY_PLANES,
            untimed: false,
            counting: false,
            owners: Vec::new(),
            slots: age::Slots::default(),
            damaged: false,
            raw,
            notify_leaving: matches!(kind, LeafKind::Mapped { notify_leaving: true, .. }),
            notify_moves: matches!(kind, LeafKind::Mapped { notify_moves: true, .. }),
            // The order in which the rows of a raw leaf go over its planes, each of which takes its own.
            configured: if raw {
                Allocation::Static(Order::new(&Level::ALL, 1))
            } else {
                Allocation::new(drive.binding, drive.stride)
            },
            timing: Timing::new(
                &drive.flash,
                &drive.times,
                &drive.page_types,
                drive.page_sectors,
                drive.places,
            ),
            scheduler: drive.scheduler,
            chooser: Chooser::new(drive),
            streams: Streams::default(),
            life: Life::new(drive),
            acknowledge: drive.flash.acknowledge,
            bus: drive.flash.bus,
            commands: commands.clone(),
            selective: false,
            packs,
            packing: Packing::new(drive, domains.len()),
            hands: vec![Vec::new(); geometry.plane_count() as usize],
            joins_reads: packs || commands.multi_plane != MultiPlane::Off,
            stride: drive.stride,
            gang: drive.flash.control_gang as usize,
            rounds: vec![GangRound::default(); (geometry.channels / drive.flash.control_gang) as usize],
            in_step: Round::default(),
            gc: drive.gc.run,
            coalesce: drive.coalesce_reads,
            plane_choice: drive.plane_choice,
            read_behind: drive.read_in_flight == InFlight::Flash,
            summaries: drive.flash.summary_page,
            map_write: Span(drive.map_write_ns),
            map_survives: drive.map_survives,
            background: drive.gc.background,
            copyback: drive.gc.copyback,
            planes: drive.pools,
            collect_below,
            look_below: collect_below.max(soft_below),
            minds_units: commands.cache_program || soft_below > collect_below,
            blocks: Blocks::new(&geometry),
            ftls: Vec::new(),
            maps: Maps::default(),
            nvrams: Vec::new(),
            raw_next: vec![0; if raw { geometry.block_space() } else { 0 }],
            lanes: Vec::new(),
            lane_of: vec![0; geometry.plane_count() as usize],
            pools: Vec::new(),
            pools_waiting: 0,
            units: dies::units(&geometry),
            free_at: vec![SimTime::ZERO; geometry.unit_count() as usize],
            accepts_at: vec![SimTime::ZERO; geometry.unit_count() as usize],
            units_per_channel: geometry.units_per_channel() as usize,
            unit_of: (0..geometry.plane_count()).map(|plane| geometry.unit_of(PlaneId(plane))).collect(),
            channels: dies::channels(&geometry),
            collections: vec![Collection::default(); geometry.plane_count() as usize],
            ops: Arena::default(),
            replaces: Vec::new(),
            carried: Vec::new(),
            pages: Vec::new(),
            free_planes: Vec::new(),
            agenda: Agenda::new((geometry.unit_count() + geometry.channels) as usize),
            done: Vec::new(),
            sequence: 0,
            now: SimTime::ZERO,
            admitted: SimTime::ZERO,
            counters: Counters::new(domains.len()),
            work: drive.draws.then(Box::default),
            watch: None,
            power: None,
            geometry,
        };
        for domain in domains {
            this.add_leaf(domain, kind, domains.len() > 1);
        }
        let shadow = if let LeafKind::Mapped { shadow, .. } = kind { shadow } else { 0 };
        this.maps = Maps::new(domains.len(), this.ftls.first().map_or(0, |ftl| ftl.pages) + shadow);
        if !raw {
            this.blocks.set_padding(drive.padding);
            this.set_streams(drive);
        }
        this.simplify();
        this
    }

    /// Finds out whether programs take the short way. What fails later does not change it.
    pub(super) fn simplify(&mut self) {
        let chooses = self.plane_choice != PlaneChoice::InTurn;
        self.selective = match &self.configured {
            Allocation::Dynamic => chooses,
            Allocation::Partial(order) => (chooses || order.binds_planes()) && !order.binds(Level::Channel),
            Allocation::Static(_) => false,
        };
        self.simple = !self.selective
            && !self.packs
            && self.commands.multi_plane == MultiPlane::Off
            && !self.commands.cache_program
            && self.timing.is_uniform()
            && self.bus == BusUse::Transfers
            && !self.summaries
            && self.plane_choice == PlaneChoice::InTurn
            && !self.streams.are_several()
            && self.look_below == self.collect_below
            && self.watch.is_none()
            && self.power.is_none();
    }

    pub(super) fn add_leaf(&mut self, domain: &Domain, kind: LeafKind, siblings: bool) {
        let leaf = self.ftls.len();
        let first_lane = self.lanes.len() as u32;
        for plane in domain.planes(&self.geometry) {
            let unit = self.geometry.unit_of(plane);
            let found = self.lanes[first_lane as usize..].iter().position(|lane| lane.unit == unit);
            let lane = found.map_or(self.lanes.len(), |at| at + first_lane as usize);
            if lane == self.lanes.len() {
                let channel = &mut self.channels[self.geometry.channel_of(unit) as usize];
                channel.lanes.push((lane as u32, unit.0 - channel.first_unit));
                self.lanes.push(Lane { ftl: leaf as u16, unit, planes: Vec::new(), turn: 0, pool: 0 });
            }
            self.lanes[lane].planes.push(plane);
            self.lane_of[plane.0 as usize] = lane as u32;
        }
        let lanes = first_lane..self.lanes.len() as u32;
        let (pages, rows) = match kind {
            LeafKind::Mapped { pages, .. } => (pages, None),
            LeafKind::Raw | LeafKind::Blocks => {
                let single = kind == LeafKind::Blocks;
                let rows = Rows::new(&self.geometry, domain);
                let rows = if single { rows.by_block() } else { rows };
                (rows.pages(), Some(rows))
            }
        };
        self.ftls.push(Ftl {
            pages,
            rows,
            lost: Bits::default(),
            dead: false,
            limit: None,
            domain: *domain,
            allocation: self.allocation_of(domain),
            first_pool: self.pools.len() as u32,
            in_turn: self.lanes_in_turn(lanes.clone(), domain.extent[0], siblings),
            lanes,
            turn: 0,
            untimed_turn: 0,
            erases: 0,
            renamed: Vec::new(),
        });
        self.assign_pools(leaf);
    }

    /// Says which pool each lane of a leaf takes from; whatever waits has been taken out before.
    pub(super) fn assign_pools(&mut self, leaf: usize) {
        let Ftl { first_pool, allocation, domain, lanes, .. } = &self.ftls[leaf];
        let mut needed = self.pools.len();
        for at in lanes.clone() {
            let lane = &mut self.lanes[at as usize];
            let place = self.geometry.place(lane.planes[0]);
            let pool = match allocation {
                Allocation::Dynamic => 0,
                Allocation::Partial(order) => {
                    order.index(domain, self.geometry.unit_levels(), domain.within(place))
                }
                Allocation::Static(_) => at - lanes.start,
            };
            lane.pool = first_pool + pool;
            needed = needed.max(lane.pool as usize + 1);
        }
        self.pools.resize(needed, Queue::default());
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

    /// How pages are placed in a domain: in a single plane there is no choice, and so nothing to work out.
    pub(super) fn allocation_of(&self, domain: &Domain) -> Allocation {
        let choice = self.raw || domain.plane_count() > 1;
        if choice { self.configured.clone() } else { Allocation::Dynamic }
    }
}
