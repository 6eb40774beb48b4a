//! What stands between a drive and whoever asks it: its link, and its DRAM. Without flash and without a tree, so that a
//! lone drive (`simulation`, `buffer`) and a member of an array (`engine`) have the same.

mod dram;
mod link;
mod lru;
mod options;

pub use dram::{Dram, Hits, side_by_side};
pub use link::{Crossing, Link, ps_per_sector};
pub use lru::{Held, Lru};
pub use options::{BufferSpec, DramEnergySpec, Evict};

use crate::kernel::Span;

/// What stands before a member of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Front {
    /// What a sector takes on its link, ps; 0 for nothing.
    pub link_ps_per_sector: u64,
    /// Sectors that its DRAM has room for; 0 for none.
    pub dram_sectors: u64,
    /// Pages of a stripe, which the DRAM gives up together; none where each page is given up alone.
    pub stripe: Option<u32>,
    /// Sectors in a page.
    pub page_sectors: u32,
    /// What its controller's memory takes to serve a command alone.
    pub memory: Span,
}

impl Front {
    /// It, unless there is nothing to it.
    #[must_use]
    pub fn if_any(self) -> Option<Front> {
        (self.link_ps_per_sector > 0 || self.dram_sectors > 0).then_some(self)
    }
}
