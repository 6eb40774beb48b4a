//! Requests to a port, and its requests to the device below it.

use super::{EvictedPages, FlushRule, LinkTimes};
use crate::device::command::{Flags, Origin, Sectors};
use crate::kernel::{SimTime, Span};

/// A run of pages, and the sectors that are meant in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The first page.
    pub page: u64,
    /// The number of pages; 1 if only a part of the page is meant.
    pub count: u32,
    /// The sectors of each page, a bit each.
    pub mask: u64,
    /// The next fragment of the request follows at the sector after its last.
    pub continues: bool,
}

/// The options of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortOptions {
    /// The times of its link.
    pub link: LinkTimes,
    /// The capacity of its write cache in sectors; 0 for none.
    pub cache_sectors: u64,
    /// The room for clean copies in sectors; 0 for none.
    pub copied_sectors: u64,
    /// Whether the cache survives a power loss.
    pub protected: bool,
    /// What the cache evicts at a time.
    pub evicts: EvictedPages,
    /// When the cache writes back although it has room.
    pub flush: FlushRule,
    /// Pages of the device.
    pub pages: u64,
    /// Sectors in a page.
    pub page_sectors: u32,
    /// The time of a request that the controller's memory serves.
    pub memory: Span,
    /// Whether requests may cover parts of pages.
    pub parts: PartialPages,
    /// Pages that are written as one logical page; 0 counts as 1.
    pub logical_page: u32,
}

impl PortOptions {
    /// The options, or none if such a port would do nothing.
    #[must_use]
    pub fn if_any(self) -> Option<PortOptions> {
        let memory = self.cache_sectors > 0 || self.copied_sectors > 0;
        let any = self.link.is_any() || memory || self.parts != PartialPages::AsTheyAre;
        any.then_some(self)
    }
}

/// What a port does with a request for a part of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartialPages {
    /// There are no such requests: the caller has merged the pages.
    #[default]
    AsTheyAre,
    /// The port merges the part with the rest of the page.
    Merge,
    /// The port passes the part on: the devices below it merge.
    PassOn,
}

/// The backend of a port: executes the port's operations as parts of the request that the port is handling. `at` is the
/// index of the first page among the pages of that request.
pub trait PortBackend<C> {
    /// Reads pages. `stored` returns the expected contents of each below the port; `newest` is what the cache holds of
    /// the page, if the run has only one.
    fn read(&mut self, pages: Run, at: u32, stored: impl Fn(u64) -> C, newest: Option<C>);
    /// The cache served all sectors of a page.
    fn hit(&mut self, at: u32, newest: C);
    /// Writes pages; `at` unless they come from the cache.
    fn write(&mut self, pages: Run, origin: Origin, at: Option<u32>, contents: impl Fn(u64) -> C);
    /// Reads the old part of a page and writes it together with the new part. `difference` is the new contents minus
    /// the contents that the read is expected to return.
    fn merge(&mut self, merge: Merge, difference: C);
    /// Forgets pages.
    fn trim(&mut self, pages: Run, at: u32);
    /// Creates pages before time 0, without time.
    fn create(&mut self, pages: Run, at: u32, contents: impl Fn(u64) -> C);
    /// A page will be written soon. Affects speed only.
    fn prefetch(&self, page: u64);
    /// A clean copy served all sectors of a page, which have these contents.
    fn copied(&mut self, page: u64, at: u32, contents: C);
    /// Whether nothing below the port ever failed or lacked a page: parts of pages can be handed on, because all devices
    /// can merge them.
    fn is_healthy(&self) -> bool;
    /// Whether everything that is written now will be below the port: nothing is missing there but pages that reads have
    /// found unreadable.
    fn stores(&self) -> bool;
    /// The number of failures below the port so far: parts that failed or were replaced, pages lost or refused.
    fn failures(&self) -> u64;
    /// The instant.
    fn now(&self) -> SimTime;
    /// The number of the request that reads, and the place among its pages of the next ones that it reads from below the
    /// port.
    fn places(&mut self, at: u32) -> (u32, u32);
}

/// Consecutive pages, or sectors of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first page.
    pub page: u64,
    /// Their number.
    pub count: u32,
    /// The sectors of the page, if there is only one.
    pub sectors: Sectors,
    /// The next run continues this one: a port below this port treats both as one request.
    pub continues: bool,
}

impl Run {
    pub(super) fn whole(page: u64, count: u32) -> Run {
        Run { page, count, sectors: Sectors::ALL, continues: false }
    }

    /// One page.
    #[must_use]
    pub fn of_page(page: u64) -> Run {
        Run::whole(page, 1)
    }

    pub(super) fn part(page: u64, sectors: Sectors) -> Run {
        Run { page, count: 1, sectors, continues: false }
    }
}

/// The merge of a page that is written in part.
#[derive(Clone, Copy, Debug)]
pub struct Merge {
    /// The page.
    pub page: u64,
    /// The number of its sectors to read, 0 for all.
    pub old_sectors: u16,
    /// The number of sectors to write after that, 0 for all.
    pub all_sectors: u16,
    /// Where the write comes from.
    pub origin: Origin,
    /// How the page is written, as what is below the port says: [`Flags::FUA`] and [`Flags::SOON`], and the handle.
    pub flags: Flags,
}

impl Merge {
    /// A merge with this number of old sectors of a page; then all its sectors.
    pub(super) fn new(page: u64, [old_sectors, all_sectors]: [u16; 2], origin: Origin) -> Merge {
        Merge { page, old_sectors, all_sectors, origin, flags: Flags::NONE }
    }
}
