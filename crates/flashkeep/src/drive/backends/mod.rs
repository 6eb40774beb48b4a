//! The backends of a drive: which pages they hold, and where. They enqueue reads and erases at the controller, and place
//! a page when the controller has a die and a channel for its program.

mod addresses;
mod age;
mod audit;
mod backend;
mod before;
mod build;
mod by_address;
mod choose;
mod collect;
mod collection;
mod copyback;
mod created;
mod deal;
mod faults;
mod gc;
mod limit;
mod look;
mod maintenance;
mod nvram;
mod older;
mod overflow;
mod packing;
mod parts;
mod physical;
mod power;
mod recovery;
mod renew;
mod retire;
mod slc;
mod snapshot;
mod soft;
mod spread;
mod streams;
mod submit;
mod untimed;
mod versions;
mod write;

pub use backend::FlashBackendKind;
pub(super) use backend::{DieQueue, Translation};
pub(super) use faults::DriveHealth;
pub(super) use gc::Gc;
pub(super) use limit::UNASKED;
pub(super) use maintenance::Maintenance;
pub use nvram::Nvram;
pub(super) use packing::Packing;
pub(super) use parts::Parts;
pub(super) use power::{Oob, Power};
pub(super) use slc::SlcPolicy;
pub(super) use untimed::{AHEAD, Immediate};

use crate::flash::FlashArray;
use crate::ftl::allocation::PagePlacement;

/// FTLs or backends of physical pages, and NVRAMs.
#[derive(Clone)]
pub(super) struct DriveBackends<C> {
    /// The fixed properties of the flash array.
    pub(super) flash: FlashArray,
    /// Address mapping and blocks.
    pub(super) ftl: Translation<C>,
    /// Placement of pages by the FTLs.
    pub(super) placement: PagePlacement,
    /// Logical pages that share pages of the flash.
    pub(super) packing: Packing,
    /// What has come of a request whose parts come now.
    pub(super) parts: Parts,
    pub(super) gc: Gc,
    /// The SLC cache.
    pub(super) slc: SlcPolicy,
    /// The immediate driver: pages that are placed without time.
    pub(super) immediate: Immediate,
    pub(super) health: DriveHealth,
    /// Recovery data, kept in a drive that will lose its power.
    pub(super) power: Option<Box<Power>>,
    /// Non-volatile memories beside the flash, whose numbers as backends follow those of the flash.
    pub(super) nvrams: Vec<Nvram<C>>,
    /// What keeps data readable.
    pub(super) maintenance: Maintenance,
}
