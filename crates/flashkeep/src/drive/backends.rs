//! The backends of a drive: which pages they hold, and where. They enqueue reads and erases at the controller, and place
//! a page when the controller has a die and a channel for its program.

use super::*;

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
