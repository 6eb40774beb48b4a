//! `[ftl]`: mapping, allocation, collection, wear levelling.

use crate::buffer::PartialWrites;
use crate::ftl::{GcSpec, InFlight, MapMemory, PlaneChoice, Pool, WearSpec};
use crate::mapping;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlSpec {
    /// (physical − logical) / logical pages, of what one copy can use.
    #[schemars(range(max = 100.0), extend("exclusiveMinimum" = 0.0))]
    pub over_provisioning: f64,
    /// `dynamic` (any idle chip, placed late), `dynamic-in-channel` (the channel fixed by the address),
    /// `dynamic-in-chip` (channel and chip, the chips of a channel side by side), or the levels that the address fixes:
    /// letters of C (channel), W (chip), D (die), P (plane), each at most once, the one that varies fastest first.
    /// `CWDP` leaves no choice, `CWD` one (the plane), `CW` two.
    #[schemars(extend("pattern" = "^(dynamic|dynamic-in-channel|dynamic-in-chip|[CWDP]{1,4})$"))]
    pub allocation: String,
    /// With `dynamic-in-channel` and `dynamic-in-chip`: this many consecutive pages go to the same one. 0: a logical page, or
    /// as many as share a flash page.
    #[schemars(range(max = 65_536))]
    pub stride_pages: u32,
    /// A page of the map, KiB; 0 for a flash page. Several flash pages are written as one: a write of a part reads the
    /// rest and writes all of it, flash page by flash page. Of pages that are smaller, a whole number share a flash page:
    /// a program takes as many as wait, and leaves the other places empty.
    #[schemars(range(min = 0.0, max = 65_536.0))]
    pub logical_page_kib: f64,
    /// How long a page waits at most for others with which it can share a flash page, µs; 0: it does not.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub gather_us: f64,
    /// What has one open block, and is collected as one: a `plane`, an `element` (all planes of a chip) or a `gang` (all
    /// chips of a channel), within a member of the redundancy; with multi-plane commands the planes of one number in their
    /// dies. What is said of planes elsewhere in `[ftl]` and `[ageing]`, thresholds above all, is then said of that.
    pub pool: Pool,
    /// Which plane of a chip takes the next page, where the address does not say: `in-turn`, `most-free`, or `same`
    /// (that of the page's older copy).
    pub plane_choice: PlaneChoice,
    /// What a write of a part of a page does about the rest: `merge` (it is read first) or `whole` (nothing: the whole
    /// page is programmed, as in the DiskSim extension).
    pub partial_writes: PartialWrites,
    /// Where a page is read that is still on its way to flash: from the controller's `memory`, or from `flash`, behind
    /// the program.
    pub read_in_flight: InFlight,
    /// A read of a page that is already being read on the same channel rides along (SSDSim).
    pub coalesce_reads: bool,
    /// How pages are found: `page` (an entry a page, in memory), `dftl` (the same in flash, cached), `block` (an entry
    /// a block), or `hybrid` (an entry a block, and logs of pages).
    #[schemars(extend("enum" = mapping::names()))]
    pub map: String,
    /// What memory the map is in, or what of it is not in flash: `dram` (gone with the power, and found again from spare
    /// areas), `pcm` or `mram`.
    pub map_memory: MapMemory,
    /// What a write to a map in `pcm` or `mram` takes, after each program, before that is acknowledged. Left out, what is
    /// known of the memory.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub map_write_us: Option<f64>,
    /// The cache of `dftl`, in KiB for each member: 8 bytes an entry.
    #[schemars(range(min = 0.03125, max = 16_777_216.0))]
    pub cache_kib: f64,
    /// Blocks of each plane that `hybrid` gives to logs, or `block` to replacements; all that are not needed otherwise
    /// where left out.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub log_blocks: Option<u32>,
    /// Open blocks a plane for data of different temperature: a page gets one class hotter with each write of the
    /// host, one colder each time that it is moved. 1: one block for all.
    #[schemars(range(min = 1, max = 16))]
    pub streams: u8,
    /// Collection.
    pub gc: GcSpec,
    /// Wear, and what is done against it.
    pub wear: WearSpec,
}

impl Default for FtlSpec {
    fn default() -> Self {
        FtlSpec {
            over_provisioning: 0.15,
            allocation: "dynamic".into(),
            stride_pages: 0,
            logical_page_kib: 0.0,
            gather_us: 0.0,
            pool: Pool::Plane,
            plane_choice: PlaneChoice::InTurn,
            partial_writes: PartialWrites::Merge,
            read_in_flight: InFlight::Memory,
            coalesce_reads: false,
            map: "page".into(),
            map_memory: MapMemory::Dram,
            map_write_us: None,
            cache_kib: 64.0,
            log_blocks: None,
            streams: 1,
            gc: GcSpec::default(),
            wear: WearSpec::default(),
        }
    }
}
