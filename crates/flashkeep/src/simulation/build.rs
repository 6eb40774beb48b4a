//! Builds the flash of a resolved drive and its redundancy tree.

use crate::config::Resolved;
use crate::device::port::{Evict, EvictedPages, LinkTimes, PartialPages, PortOptions, ps_per_sector};
use crate::devices::{AnyDevice, DeviceSet};
use crate::disk::Disk;
use crate::drive::{Drive, Fault, FlashBackendKind, Nvram};
use crate::engine::{ArrayController, BackendId, ChunkOrder, Contents, Scheme, Tree, TreeLevel, Verb};
use crate::flash::{Domain, Geometry, PlaneId};
use crate::kernel::Span;
use crate::mapping::{self, BackendKind};
use crate::schemes::{self, Any, Members, NvramOptions, Reads, Rebuilds, Sums};
use std::ops::Range;

/// A drive or an array, ready for commands.
pub struct Built<H> {
    /// The devices below its tree.
    pub hardware: H,
    /// The tree of schemes.
    pub tree: Tree<Any>,
    /// Its controller.
    pub controller: ArrayController,
    /// The drives, disks and memories, in order of their backends.
    pub placements: Vec<DevicePlacement>,
    /// The number of backends: members, hot spares, and a non-volatile memory.
    pub backend_count: u16,
}

/// One drive, disk or memory, and its place in the tree.
#[derive(Clone, Debug)]
pub struct DevicePlacement {
    /// Its leaves.
    pub backends: Range<u16>,
    /// Its path of member numbers from the root.
    pub path: Vec<u32>,
    /// The part of its flash of each of its members, and then of the hot spares.
    pub domains: Vec<Domain>,
    /// Whether its scheme decides where each page is (physical-page backends).
    pub physical: bool,
    /// The whole tree.
    pub whole: Vec<Fault>,
}

/// The flash of a drive, and the tree of its redundancy over it.
#[must_use]
pub fn build<C: Contents>(drive: &Resolved, seed: u64) -> Built<Drive<C>> {
    let domains = domains(drive);
    let mut flash = flash(drive, &domains);
    flash.seed_errors(seed);
    let (scheme, redundancy) = (drive.scheme(), &drive.spec.redundancy);
    let (pages, hidden) = (narrow(drive.member_pages()), narrow(drive.hidden_pages()));
    let (superblock_pages, memory_pages) = (narrow(drive.superblock_pages()), narrow(drive.memory_pages()));
    let superblocks = narrow(drive.part_pages()) / superblock_pages;
    let physical = scheme.kind == Members::Physical;
    debug_assert!(
        !physical || u64::from(superblocks) >= schemes::least_superblocks(u64::from(pages), superblock_pages)
    );
    let options = schemes::SchemeOptions {
        redundancy,
        member_pages: u64::from(pages),
        members: drive.members() as u8,
        hidden_pages: hidden,
        memory_pages,
        superblock_pages,
        superblocks,
        clean_below: drive.clean_below(),
        soft_below: drive.soft_below(),
        streams: drive.spec.ftl.streams,
        separate: drive.spec.ftl.gc.separate,
        policies: drive.policies(),
        seed,
        page_bytes: drive.page_bytes(),
        array: &[],
        unit_pages: 1,
        errors: drive.errors.as_deref(),
    };
    let root = schemes::build(&options).expect("checked when the drive was resolved");
    debug_assert!(root.capacity() >= drive.logical_pages(), "a scheme offers what its table line declares");
    let member = |backend| match (drive.map().build)(&mapping_options(drive, seed)) {
        Some(mapping) => Tree::Node(Any::Mapped(Box::new(mapping)), vec![Tree::Backend(BackendId(backend))]),
        None => Tree::Backend(BackendId(backend)),
    };
    let mut backends: Vec<_> = (0..drive.members() as u16).map(member).collect();
    let planes = flash.geometry().plane_count();
    let mut whole = vec![Fault::Planes { first: PlaneId(0), count: planes }];
    if scheme.memory {
        let backend = flash.add_nvram(memory_pages, latency(drive));
        backends.push(Tree::Backend(backend));
        whole.push(Fault::Nvram(backend));
    }
    let backend_count = flash.ftl_count() + u16::from(scheme.memory);
    let placement =
        DevicePlacement { backends: 0..backend_count, path: Vec::new(), domains, physical, whole };
    let tree = Tree::Node(root, backends);
    Built { hardware: flash, tree, controller: controller(drive), placements: vec![placement], backend_count }
}

/// The flash of a drive, divided among its backends.
fn flash<C: Contents>(drive: &Resolved, domains: &[Domain]) -> Drive<C> {
    let (pages, hidden) = (narrow(drive.member_pages()), narrow(drive.hidden_pages()));
    let notify_leaving = hidden > 0 && (drive.scheme().told_of_moves)(&drive.spec.redundancy).is_some();
    let (map, tables) = (drive.map(), narrow(drive.translation_pages()));
    let notify_moves = map.below == BackendKind::Mapped;
    let kind = match drive.scheme().kind {
        Members::Physical => FlashBackendKind::Physical,
        _ if map.below == BackendKind::Blocks => FlashBackendKind::Blocks,
        Members::Mapped | Members::WithHiddenRange => {
            // Hidden addresses lie between those of data and those of tables.
            let (pages, hidden) = if hidden > 0 { (pages, hidden + tables) } else { (pages + tables, 0) };
            FlashBackendKind::Mapped { pages, hidden, notify_leaving, notify_moves }
        }
    };
    Drive::new(&drive.drive_parameters(kind), domains)
}

/// The drives of an array, and the tree of its redundancy over them and within them.
#[must_use]
pub fn build_array<C: Contents>(array: &Resolved, seed: u64) -> Built<DeviceSet<C>> {
    let mut builder = DeviceBuilder { seed, devices: Vec::new(), placements: Vec::new(), backends: 0 };
    let mut tree = builder.take_in(array, &[], false);
    if let Tree::Backend(_) = tree {
        // A lone disk gets a scheme that passes commands on.
        let pages = array.whole_pages();
        tree = Tree::Node(schemes::alone(&array.spec.redundancy, pages), vec![tree]);
    }
    let DeviceBuilder { devices, placements, backends, .. } = builder;
    let hardware = DeviceSet::new(devices, memory(array));
    Built { hardware, tree, controller: controller(array), placements, backend_count: backends }
}

/// The parts built so far.
struct DeviceBuilder<C> {
    seed: u64,
    devices: Vec<(AnyDevice<C>, u16)>,
    placements: Vec<DevicePlacement>,
    backends: u16,
}

impl<C: Contents> DeviceBuilder<C> {
    /// Adds a drive, or all drives of an array; returns the tree over it. `parts` says whether it gets requests for
    /// parts of pages.
    fn take_in(&mut self, drive: &Resolved, path: &[u32], parts: bool) -> Tree<Any> {
        if let Some(disk) = drive.disk() {
            let disk = AnyDevice::Disk(Box::new(Disk::new(disk, BackendId(0), self.seed(path))));
            let backend =
                self.put(disk, 1, DevicePlacement { path: path.to_vec(), ..DevicePlacement::of_no_flash() });
            let tree = Tree::Backend(BackendId(backend));
            // The port of a lone drive is the host's.
            return if path.is_empty() { tree } else { behind(port(drive, None, parts), tree) };
        }
        if !drive.is_array() {
            return self.take_drive(drive, path, parts);
        }
        let facts = drive.used_facts();
        let memory_pages = narrow(drive.memory_pages());
        let (member_pages, hidden) = drive.scheme().divide_members(&facts, &drive.spec.redundancy);
        let options = schemes::SchemeOptions {
            redundancy: &drive.spec.redundancy,
            member_pages,
            members: facts.len() as u8,
            hidden_pages: narrow(hidden),
            memory_pages,
            superblock_pages: 0,
            superblocks: 0,
            clean_below: 0,
            soft_below: 0,
            streams: 1,
            separate: false,
            policies: drive.policies(),
            seed: self.seed,
            page_bytes: drive.page_bytes(),
            array: &facts,
            unit_pages: drive.unit_pages(),
            errors: None,
        };
        let root = schemes::build(&options).expect("checked when the drive was resolved");
        debug_assert!(
            root.capacity() >= drive.logical_pages(),
            "a scheme offers what its table line declares"
        );
        let on_top = path.is_empty();
        let passes = parts_over(Some(&root), on_top || parts) == PartialPages::PassOn;
        let mut members = Vec::with_capacity(drive.array.len());
        for (number, member) in (0..).zip(&drive.array) {
            let first = self.devices.len();
            members.push(self.take_in(member, &[path, &[number]].concat(), passes));
            if let [(AnyDevice::Flash(flash), _)] = &mut self.devices[first..] {
                flash.take_place(u64::from(number), drive.array.len() as u64);
            }
        }
        if drive.scheme().memory {
            let memory = AnyDevice::Memory(Nvram::new(memory_pages, latency(drive)));
            let backend = self.put(
                memory,
                1,
                DevicePlacement { path: path.to_vec(), ..DevicePlacement::of_no_flash() },
            );
            members.push(Tree::Backend(BackendId(backend)));
        }
        if on_top {
            return Tree::Node(root, members);
        }
        let [unit, data] = drive.units();
        let level = TreeLevel {
            units: ChunkOrder::new(unit, data),
            controller: controller(drive),
            port: port(drive, Some(&root), parts),
        };
        Tree::Level(level, Box::new(Tree::Node(root, members)))
    }

    /// Each disk draws a stream of its own.
    fn seed(&self, path: &[u32]) -> u64 {
        path.iter().fold(self.seed, |seed, &member| seed.wrapping_mul(257).wrapping_add(u64::from(member)))
    }

    fn take_drive(&mut self, drive: &Resolved, path: &[u32], parts: bool) -> Tree<Any> {
        let Built { mut hardware, mut tree, controller, placements, backend_count } =
            build(drive, self.seed(path));
        // An array of one drive has the errors of that drive.
        let number = (self.devices.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hardware.seed_errors(self.seed.wrapping_add(number));
        let placement = DevicePlacement { path: path.to_vec(), ..placements[0].clone() };
        let first = self.put(AnyDevice::Flash(Box::new(hardware)), backend_count, placement);
        tree.shift(first);
        // A scheme without effect is left out.
        match tree {
            Tree::Node(Any::Plain(_), mut only) if matches!(only[..], [Tree::Backend(_)]) => {
                behind(port(drive, None, parts), only.remove(0))
            }
            tree => {
                let scheme = if let Tree::Node(scheme, _) = &tree { Some(scheme) } else { None };
                let port = port(drive, scheme, parts);
                Tree::Level(TreeLevel { units: None, controller, port }, Box::new(tree))
            }
        }
    }

    /// Adds a device to the set; its first backend.
    fn put(&mut self, device: AnyDevice<C>, backends: u16, placement: DevicePlacement) -> u16 {
        let first = self.backends;
        self.backends += backends;
        self.devices.push((device, backends));
        self.placements.push(DevicePlacement { backends: first..self.backends, ..placement });
        first
    }
}

impl DevicePlacement {
    fn of_no_flash() -> DevicePlacement {
        let whole = vec![Fault::Nvram(BackendId(0))];
        DevicePlacement { backends: 0..1, path: Vec::new(), domains: Vec::new(), physical: false, whole }
    }
}

/// The port of a member with this scheme, if it has one. `parts` says whether it gets requests for parts of pages.
fn port(drive: &Resolved, scheme: Option<&Any>, parts: bool) -> Option<PortOptions> {
    // Below an array, pages of a logical page are written on their own.
    PortOptions { logical_page: 1, ..port_options(drive, scheme, parts) }.if_any()
}

/// The same, also for the host's port.
pub(super) fn port_options(drive: &Resolved, scheme: Option<&Any>, parts: bool) -> PortOptions {
    PortOptions {
        link: link_times(drive),
        cache_sectors: drive.cache_sectors(),
        copied_sectors: drive.copied_sectors(),
        protected: drive.has_protected_buffer(),
        evicts: evicted_together(drive, scheme),
        flush: drive.flush_rule(),
        pages: drive.logical_pages(),
        page_sectors: drive.page_sectors() as u32,
        memory: memory(drive),
        parts: if parts { parts_over(scheme, drive.is_array()) } else { PartialPages::AsTheyAre },
        logical_page: drive.logical_page(),
    }
}

/// The times of the link to a drive or an array.
fn link_times(drive: &Resolved) -> LinkTimes {
    let host = &drive.spec.host;
    let span = |us: f64| Span((us * 1e3).round() as u64);
    LinkTimes {
        ps_per_sector: ps_per_sector(host.link_us_per_sector),
        command: span(host.command_us),
        latency: span(host.latency_us),
    }
}

/// How a port over such a scheme handles parts of pages: only an array can pass them on to its members.
fn parts_over(scheme: Option<&Any>, is_array: bool) -> PartialPages {
    let passes = is_array && scheme.is_some_and(|scheme| scheme.capabilities().passes_parts);
    if passes { PartialPages::PassOn } else { PartialPages::Merge }
}

/// The time of a request that the controller's memory serves. An array without DRAM passes on all requests: its members
/// answer those that ask for nothing.
fn memory(drive: &Resolved) -> Span {
    if drive.is_device_set() && drive.buffer_bytes() == 0 {
        return drive.array.iter().map(memory).max().unwrap_or_default();
    }
    Span(drive.timing.hit_ns)
}

/// What a drive's write cache evicts at a time: stripes, runs, or as many pages as fill a program, but not more than half of
/// what it holds.
fn evicted_together(drive: &Resolved, scheme: Option<&Any>) -> EvictedPages {
    if drive.evicts() == Evict::Run {
        return EvictedPages::Run(1);
    }
    let grain = scheme.map_or(u32::MAX, |scheme| scheme.grain(Verb::Write));
    if drive.evicts() == Evict::Stripe && grain < u32::MAX {
        return EvictedPages::Stripe(grain);
    }
    let half = drive.cache_sectors() / drive.page_sectors() / 2;
    EvictedPages::Oldest(narrow(u64::from(drive.filled_together()).min(half).max(1)))
}

/// A backend, below its port if it has one.
fn behind(port: Option<PortOptions>, backend: Tree<Any>) -> Tree<Any> {
    match port {
        Some(_) => Tree::Level(TreeLevel { port, ..TreeLevel::default() }, Box::new(backend)),
        None => backend,
    }
}

fn narrow(pages: u64) -> u32 {
    u32::try_from(pages).expect("checked when the drive was resolved")
}

fn latency(drive: &Resolved) -> Span {
    Span((drive.spec.redundancy.read::<NvramOptions>().nvram_us * 1e3).round() as u64)
}

fn controller(drive: &Resolved) -> ArrayController {
    let redundancy = &drive.spec.redundancy;
    let rebuilds = redundancy.read::<Rebuilds>();
    ArrayController {
        xor: Span((redundancy.read::<Sums>().xor_us * 1e3).round() as u64),
        rebuild_permille: ((rebuilds.rebuild_share * 1e3).round() as u32).max(1),
        rebuild_depth: rebuilds.rebuild_depth.unwrap_or_else(|| drive.rebuild_depth()),
        reading: redundancy.read::<Reads>().read,
    }
}

fn mapping_options(drive: &Resolved, seed: u64) -> mapping::MappingOptions {
    mapping::MappingOptions {
        pages: drive.mapped_pages() as u32,
        page_bytes: drive.page_bytes(),
        cache_entries: drive.cache_entries(),
        warm: drive.starts_with_warm_map(),
        survives: drive.map_survives(),
        planes: (drive.pooled_planes() / u64::from(drive.parts())) as u32,
        blocks: drive.pooled_flash().blocks_per_plane,
        block_pages: drive.block_pages(),
        log_blocks: drive.log_blocks(),
        policies: drive.policies(),
        seed,
    }
}

fn domains(drive: &Resolved) -> Vec<Domain> {
    let geometry = Geometry::new(&drive.pooled_flash());
    let (parts, across) = (drive.parts(), drive.inside().across);
    let part = |index| geometry.part(across, parts, index).expect("boxes, as was checked");
    (0..parts).map(part).collect()
}
