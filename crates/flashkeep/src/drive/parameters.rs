//! Parameters of a drive: numbers and policies derived from the keys of a drive file.

use crate::blocks::Policies;
use crate::drive::backends::FlashBackendKind;
use crate::flash::{ErrorModel, FlashSpec, PageTypes, Pools, Scheduler, SuspendRules, Times};
use crate::ftl::allocation::Binding;
use crate::ftl::{GcSpec, HandleSpec, InFlight, PlaneChoice, SlcCacheOptions};
use std::sync::Arc;

/// The parameters of a drive.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// The flash as its FTLs see it: each pool is a plane, and pages are those of the map.
    pub flash: FlashSpec,
    /// What each plane of that consists of.
    pub pools: Pools,
    /// How long operations take, in whole ns.
    pub times: Times,
    /// The types of a block's pages.
    pub page_types: PageTypes,
    /// Sectors of a page of the map.
    pub page_sectors: u64,
    /// Pages of the map that share a page of the flash.
    pub places: u32,
    /// The kind of its backends.
    pub kind: FlashBackendKind,
    /// The scheduling rule.
    pub scheduler: Scheduler,
    /// The levels that a page's address fixes.
    pub binding: Binding,
    /// Consecutive pages that the address binds to the same place.
    pub stride: u32,
    /// Which plane takes the next page.
    pub plane_choice: PlaneChoice,
    /// How pages in flight are read.
    pub read_in_flight: InFlight,
    /// Whether a read of a page that is already being read on the same channel shares that operation.
    pub coalesce_reads: bool,
    /// How long a write waits for others with which it shares a page of the flash, ns.
    pub gather_ns: u64,
    /// What the memory of the map takes to note where a program went, ns.
    pub map_write_ns: u64,
    /// Whether the map is there after a power cut as it was before.
    pub map_survives: bool,
    /// Garbage collection.
    pub gc: GcSpec,
    /// The policy of the SLC cache.
    pub slc: SlcCacheOptions,
    /// Victim policy and wear leveling.
    pub policies: Policies,
    /// Open blocks of a plane for data of different temperature.
    pub classes: u8,
    /// The placement handles, each of which has open blocks of its own.
    pub handles: HandleSpec,
    /// Open blocks of a plane in all.
    pub streams: u8,
    /// The first page of the map's own tables, where these are in flash.
    pub tables_from: Option<u32>,
    /// Blocks of each plane without data if the drive is full.
    pub spare_blocks: u32,
    /// Places of each other block that may stay empty while its pages are moved.
    pub padding: u32,
    /// Whether the times of operations are noted for the energy that they take.
    pub draws: bool,
    /// How operations are suspended for reads, if they are.
    pub suspend: Option<SuspendRules>,
    /// Bit errors, if reads of healthy flash can fail.
    pub errors: Option<Arc<ErrorModel>>,
}
