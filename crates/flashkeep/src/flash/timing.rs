//! Times of operations, in whole nanoseconds (rounded up once, when the specification is resolved).

use super::program_spread::ProgramSpread;
use super::slow::SlowParts;
use super::{FlashSpec, Geometry, PageTypes, Ppn, SlowPart};
use crate::kernel::Span;

/// The times of a drive in whole ns, rounded up once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Array to page register, of pages of the first type.
    pub read_ns: u64,
    /// Page register to array, of pages of the first type.
    pub program_ns: u64,
    /// A block's erase.
    pub erase_ns: u64,
    /// Command and address cycles of a page operation.
    pub command_ns: u64,
    /// Command and address cycles of an erase.
    pub erase_command_ns: u64,
    /// Between an erase command and the erase.
    pub erase_setup_ns: u64,
    /// Between the transfers of a multi-plane program, and until a cache register is free.
    pub register_ns: u64,
    /// The time of a request that the controller's memory serves.
    pub hit_ns: u64,
    /// The transfer time of a byte in fs: fractions of a ns are summed before rounding.
    pub bus_fs_per_byte: u64,
}

impl Times {
    /// The transfer time of some bytes.
    #[must_use]
    pub fn transfer_ns(&self, bytes: u64) -> u64 {
        let fs = u128::from(bytes) * u128::from(self.bus_fs_per_byte);
        u64::try_from(fs.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// The times of a drive's flash operations.
#[derive(Clone, Debug)]
pub struct Timing {
    read: Span,
    program: Span,
    /// Read and program time of every page of a block; empty if all pages have the same times.
    by_page: Vec<[Span; 2]>,
    /// How the program times of word lines differ, if they do; then `by_page` is not empty.
    spread: Option<ProgramSpread>,
    /// The same of a page with one bit per cell, if the drive has any; then `by_page` is not empty.
    slc: Option<[Span; 2]>,
    /// The parts that are slow, if any may be; then `by_page` is not empty.
    slow: Option<Box<SlowParts>>,
    /// Erase of a block, set-up included.
    pub(super) erase: Span,
    /// Command and address cycles of a page operation.
    pub(super) command: Span,
    /// Command and address cycles of an erase.
    pub(super) erase_command: Span,
    /// Between the transfers of a multi-plane program, and until a cache register is free (`flash.commands.register_ns`).
    pub(super) register: Span,
    /// The time of a block's summary page: transfer of a sector and program; 0 without summary pages. Then the transfer
    /// alone.
    pub(super) summary: Span,
    pub(super) summary_sent: Span,
    /// The time of a request that the controller's memory serves.
    pub memory: Span,
    /// Time on the channel for this many sectors, up to those of a page of the flash; place 0 is a whole page of the map.
    transfer: Vec<Span>,
}

impl Timing {
    /// The times of pages of `sectors` sectors, `places` of which share a flash page, whose blocks have pages of
    /// these types. The pages of a word line are programmed in the time of the slowest one.
    #[must_use]
    pub fn new(flash: &FlashSpec, timing: &Times, types: &PageTypes, sectors: u64, places: u32) -> Self {
        let bytes = u64::from(flash.pin_bytes_per_sector);
        let transfer = |sectors: u64| Span(timing.transfer_ns(sectors * bytes));
        let of_page = |page: u32| {
            let (page, together) = (page / places, flash.pages_per_program);
            let programs = (page / together * together..).take(together as usize);
            let program = programs.map(|page| types.program_ns[types.of(page)]).max();
            [Span(types.read_ns[types.of(page)]), Span(program.unwrap_or_default())]
        };
        // One entry for each page number that the address has bits for.
        let slc = flash.slc.times();
        let spread = ProgramSpread::new(flash.timing.program_sigma, flash.pages_per_program * places);
        let uniform = types.is_single() && slc.is_none() && spread.is_none();
        let pages = if uniform { 0 } else { flash.pages_per_block.next_power_of_two() };
        Timing {
            by_page: (0..pages).map(of_page).collect(),
            slc,
            slow: None,
            spread,
            read: Span(timing.read_ns),
            program: Span(timing.program_ns),
            erase: Span(timing.erase_setup_ns + timing.erase_ns),
            command: Span(timing.command_ns),
            erase_command: Span(timing.erase_command_ns),
            register: Span(timing.register_ns),
            summary: if flash.summary_page { transfer(1) + Span(timing.program_ns) } else { Span::ZERO },
            summary_sent: if flash.summary_page { transfer(1) } else { Span::ZERO },
            memory: Span(timing.hit_ns),
            transfer: std::iter::once(sectors).chain(1..=sectors * u64::from(places)).map(transfer).collect(),
        }
    }

    /// Parts will be slow.
    pub(super) fn expect_slow_parts(&mut self, geometry: &Geometry) {
        if self.by_page.is_empty() {
            self.by_page = vec![[self.read, self.program]; geometry.pages.next_power_of_two() as usize];
        }
        self.slow.get_or_insert_with(|| Box::new(SlowParts::new(geometry.clone())));
    }

    pub(super) fn set_slow_parts(&mut self, parts: Vec<SlowPart>) {
        self.slow.as_mut().expect("a drive that expects slow parts").set(parts);
    }

    /// Whether parts may be slow.
    #[must_use]
    #[inline]
    pub fn may_be_slow(&self) -> bool {
        self.slow.is_some()
    }

    /// Whether all pages have the same times.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.by_page.is_empty()
    }

    /// Command and address cycles of a page operation.
    #[must_use]
    pub fn command_time(&self) -> Span {
        self.command
    }

    /// Array to register, of a page.
    #[must_use]
    #[inline]
    pub(super) fn read_of(&self, geometry: &Geometry, ppn: Ppn) -> Span {
        if self.by_page.is_empty() { self.read } else { self.of(geometry, ppn)[0] }
    }

    /// Read and program time of a page where not all pages have the same.
    #[inline(never)]
    fn of(&self, geometry: &Geometry, ppn: Ppn) -> [Span; 2] {
        let [read, program] = match self.slc {
            Some(times) if geometry.is_slc(ppn) => times,
            _ => self.by_page[geometry.page_of(ppn) as usize],
        };
        let program = self.spread.as_ref().map_or(program, |spread| spread.of(geometry, ppn, program));
        [read, program].map(|span| self.in_array(ppn, span))
    }

    /// What takes a sound array `span`, in the array of a page.
    #[must_use]
    #[inline]
    pub fn in_array(&self, ppn: Ppn, span: Span) -> Span {
        if self.by_page.is_empty() {
            return span;
        }
        self.slow.as_ref().map_or(span, |slow| slow.in_array(ppn, span))
    }

    /// What takes `span` on a sound channel, on the channel of a page.
    #[must_use]
    #[inline(always)]
    pub(super) fn on_channel(&self, ppn: Ppn, span: Span) -> Span {
        if self.by_page.is_empty() {
            return span;
        }
        self.slow.as_ref().map_or(span, |slow| slow.on_channel(ppn, span))
    }

    /// Array to register, of the slowest page of a block.
    #[must_use]
    pub(super) fn longest_read(&self) -> Span {
        let longest = self.by_page.iter().chain(&self.slc).map(|[read, _]| *read).max().unwrap_or(self.read);
        self.slow.as_ref().map_or(longest, |slow| slow.longest(longest, Span::ZERO)[0])
    }

    /// Register to array, of a page.
    #[must_use]
    #[inline(always)]
    pub(super) fn program_of(&self, geometry: &Geometry, ppn: Ppn) -> Span {
        if self.by_page.is_empty() { self.program } else { self.of(geometry, ppn)[1] }
    }

    /// The time of the summary pages of blocks, of one of which this is the last data page.
    #[must_use]
    pub(super) fn summaries_of(&self, geometry: &Geometry, page: Ppn, blocks: u32) -> Span {
        let program = match self.slc {
            Some([_, program]) if geometry.is_slc(page) => program,
            _ => self.summary.beyond(self.summary_sent),
        };
        self.on_channel(page, self.summary_sent * u64::from(blocks)) + self.in_array(page, program)
    }

    /// Time on the channel of a page of the flash.
    #[must_use]
    pub(super) fn longest_transfer(&self) -> Span {
        let longest = self.transfer.last().copied().unwrap_or_default();
        self.slow.as_ref().map_or(longest, |slow| slow.longest(Span::ZERO, longest)[1])
    }

    /// Time on the channel of the data-out phase of a read: `sectors` sectors; 0 means a whole page.
    #[must_use]
    #[inline]
    pub fn transfer(&self, sectors: u16) -> Span {
        self.transfer[usize::from(sectors)]
    }

    /// The same on the channel of a page.
    #[must_use]
    #[inline]
    pub fn transfer_of(&self, ppn: Ppn, sectors: u16) -> Span {
        self.on_channel(ppn, self.transfer(sectors))
    }
}
