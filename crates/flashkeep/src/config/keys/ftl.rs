//! `[ftl]`: mapping, allocation, collection, wear levelling.

use crate::ftl::{GcSpec, InFlight, Isolation, MapMemory, PlaneChoice, Pool, SlcCacheSpec, WearSpec};
use crate::ftl::{MAP_MEMORY, SHARED_PAGES, allocation};
use crate::host::PartialWrites;
use crate::mapping;
use crate::options::{self, Options};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct FtlSpec {
    /// Over-provisioning: (physical − logical) / logical pages, of the flash of one copy.
    #[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0.0))]
    pub over_provisioning: f64,
    /// Placement of pages: `dynamic` (any idle chip, chosen when it is free), `dynamic-in-channel` (the address fixes
    /// the channel), `dynamic-in-chip` (the address fixes channel and chip), or the levels that the address fixes:
    /// letters of C (channel), W (chip), D (die), P (plane), each at most once, the fastest varying first. `CWDP`
    /// leaves no choice, `CWD` one (the plane), `CW` two.
    #[schemars(extend("pattern" = allocation::pattern()))]
    pub allocation: String,
    /// Size of a logical page (a page of the map), KiB; 0 for that of a flash page. A larger logical page is written as
    /// a whole: a write of a part reads the rest and writes all its flash pages. Smaller ones share a flash page, a
    /// whole number of them: a program takes as many as wait, and leaves the other slots empty.
    #[schemars(range(min = 0.0, max = 65_536.0))]
    pub logical_page_kib: f64,
    /// The block pool, which has one open block and is collected as a whole: a `plane`, an `element` (all planes of a
    /// chip) or a `gang` (all chips of a channel), within a member of the redundancy; with multi-plane commands the
    /// planes with the same number in their dies. Other keys of `[ftl]` and `[ageing]` that refer to planes, such as
    /// thresholds, then refer to pools.
    pub pool: Pool,
    /// The plane of a chip that takes the next page, if the address does not fix it: `in-turn`, `most-free`, or `same`
    /// (the plane of the page's older copy).
    pub plane_choice: PlaneChoice,
    /// How a write of a part of a page handles the rest: `merge` (reads it first) or `whole` (programs the whole page
    /// without reading, as in the DiskSim extension).
    pub partial_writes: PartialWrites,
    /// How a page in flight to flash is read: from the controller's `memory`, or from `flash`, after the program.
    pub read_in_flight: InFlight,
    /// A read of a page that is already being read on the same channel shares that operation (SSDSim).
    pub coalesce_reads: bool,
    /// The address map: `page` (an entry per page, in memory), `dftl` (the same in flash, with a cache), `block` (an
    /// entry per block), or `hybrid` (log-block map: an entry per block, and log blocks with an entry per page).
    #[schemars(extend("enum" = mapping::names()))]
    pub map: String,
    /// The memory of the map, or of the part of it that is not in flash: `dram` (lost with the power, and restored from
    /// OOB metadata), `pcm` or `mram` (both non-volatile).
    pub map_memory: MapMemory,
    /// Open blocks per plane for data of different temperature: a page becomes one class hotter with each write of the
    /// host, and one colder each time that GC moves it. 1: one block for all data.
    #[schemars(range(min = 1, max = 16))]
    pub streams: u8,
    /// Placement handles (reclaim unit handles of NVMe's Flexible Data Placement) that writes can name, from 0. Data of
    /// each handle have open blocks of their own, and so has parity, if there is any. 1: data are not placed by handles.
    #[schemars(range(min = 1, max = 8))]
    pub handles: u8,
    /// What collection does with the data of several handles: `initially` (isolated when they are written; moved pages of
    /// all handles share open blocks) or `persistently` (isolated also when they are moved).
    pub handle_isolation: Isolation,
    /// The options of placement, map and logical pages.
    #[serde(flatten)]
    #[schemars(schema_with = "of_ftl")]
    pub options: Options,
    /// Collection.
    pub gc: GcSpec,
    /// Wear leveling.
    pub wear: WearSpec,
    /// The SLC cache.
    #[serde(skip_serializing_if = "SlcCacheSpec::is_empty")]
    pub slc: SlcCacheSpec,
}

fn of_ftl(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[allocation::SELECTOR, SHARED_PAGES, mapping::SELECTOR, MAP_MEMORY])
}

impl Default for FtlSpec {
    fn default() -> Self {
        FtlSpec {
            over_provisioning: 0.15,
            allocation: "dynamic".into(),
            logical_page_kib: 0.0,
            pool: Pool::Plane,
            plane_choice: PlaneChoice::InTurn,
            partial_writes: PartialWrites::Merge,
            read_in_flight: InFlight::Memory,
            coalesce_reads: false,
            map: "page".into(),
            map_memory: MapMemory::Dram,
            streams: 1,
            handles: 1,
            handle_isolation: Isolation::Initially,
            options: Options::default(),
            gc: GcSpec::default(),
            wear: WearSpec::default(),
            slc: SlcCacheSpec::default(),
        }
    }
}
