//! How long things take, in whole nanoseconds (rounded up once, where the specification is resolved).

use crate::kernel::Span;
use crate::spec::Resolved;

/// The times of a drive's flash operations.
#[derive(Clone, Debug)]
pub struct Timing {
    read: Span,
    /// Register to array, where all pages are alike.
    pub program: Span,
    /// Both of every page of a block; empty where all pages are alike.
    by_page: Vec<[Span; 2]>,
    /// Erase of a block, set-up included.
    pub erase: Span,
    /// Command and address cycles of a page operation.
    pub command: Span,
    /// Command and address cycles of an erase.
    pub erase_command: Span,
    /// What a block's summary takes: a sector's transfer, and its program; nothing where there is none.
    pub summary: Span,
    /// What the controller's memory takes to serve.
    pub memory: Span,
    /// Time on the channel of so many sectors, up to those of a page of the flash; place 0 is a whole page of the map.
    transfer: Vec<Span>,
}

impl Timing {
    /// The times of a drive.
    #[must_use]
    pub fn new(drive: &Resolved) -> Self {
        let timing = &drive.timing;
        let (sectors, places) = (drive.page_sectors(), drive.places());
        let bytes = u64::from(drive.spec.flash.pin_bytes_per_sector);
        let transfer = |sectors: u64| Span(timing.transfer_ns(sectors * bytes));
        let types = &drive.page_types;
        let of_page = |page: u32| {
            let kind = types.of(page / places);
            [Span(types.read_ns[kind]), Span(types.program_ns[kind])]
        };
        // As many as a page's number has room for.
        let pages = if types.is_single() { 0 } else { drive.block_pages().next_power_of_two() };
        Timing {
            by_page: (0..pages).map(of_page).collect(),
            read: Span(timing.read_ns),
            program: Span(timing.program_ns),
            erase: Span(timing.erase_setup_ns + timing.erase_ns),
            command: Span(timing.command_ns),
            erase_command: Span(timing.erase_command_ns),
            summary: if drive.spec.flash.summary_page {
                transfer(1) + Span(timing.program_ns)
            } else {
                Span::ZERO
            },
            memory: Span(timing.hit_ns),
            transfer: std::iter::once(sectors).chain(1..=sectors * u64::from(places)).map(transfer).collect(),
        }
    }

    /// Array to register, of a page of a block.
    #[must_use]
    #[inline]
    pub fn read_of(&self, page: u32) -> Span {
        if self.by_page.is_empty() { self.read } else { self.by_page[page as usize][0] }
    }

    /// Array to register, of the slowest page of a block.
    #[must_use]
    pub fn longest_read(&self) -> Span {
        self.by_page.iter().map(|[read, _]| *read).max().unwrap_or(self.read)
    }

    /// Register to array, of a page of a block.
    #[must_use]
    #[inline]
    pub fn program_of(&self, page: u32) -> Span {
        if self.by_page.is_empty() { self.program } else { self.by_page[page as usize][1] }
    }

    /// Time on the channel of a page of the flash.
    #[must_use]
    pub fn longest_transfer(&self) -> Span {
        self.transfer.last().copied().unwrap_or_default()
    }

    /// Time on the channel of `sectors` sectors; 0 means a whole page.
    #[must_use]
    #[inline]
    pub fn transfer(&self, sectors: u16) -> Span {
        self.transfer[usize::from(sectors)]
    }
}
