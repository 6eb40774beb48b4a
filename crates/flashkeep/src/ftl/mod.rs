//! The flash translation layer: page maps, placement of pages, and management of blocks.

pub mod ageing;
pub mod allocation;
mod blocks;
mod defects;
mod handles;
mod initial;
mod initial_pages;
mod look;
mod map;
mod options;
mod packing;
mod places_in_turn;
mod reverse_map;
mod slc;
mod steady_places;
mod streams;
mod take_back;

pub use allocation::Allocation;
pub use blocks::{Blocks, Plane};
pub use handles::{HandleCounts, HandleSpec, Isolation};
pub use initial::InitialPlaces;
pub use look::PlaneBlocks;
pub use map::{MapEntry, Maps};
pub use options::{
    AgeingSpec, BUDGET, Copyback, Fold, GatherOptions, GcRun, GcSpec, InFlight, MAP_MEMORY, MapMemory,
    MapWriteOptions, PlaneChoice, Pool, SHARED_PAGES, SLC_CACHE, SlcCacheOptions, SlcCacheSpec,
    WarrantyOptions, WearSpec,
};
pub use places_in_turn::{PlacesInTurn, TurnCursor};
pub use slc::{SLC_STREAM, SlcCache};
pub use steady_places::SteadyPlaces;
