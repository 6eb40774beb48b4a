//! Commands, which travel down the tree: a verb over a run of pages, and its cause.

use flashkeep_trace::HANDLES;
use serde::Serialize;

/// A page address in the address space of the command's receiver.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Page(pub u64);

impl Page {
    /// The page of this number, of a device or scheme whose page numbers have 32 bits.
    #[must_use]
    #[inline(always)]
    pub fn of(number: u32) -> Page {
        Page(number as u64)
    }

    /// The page `n` pages later.
    #[must_use]
    #[inline]
    pub fn plus(self, n: u32) -> Page {
        Page(self.0 + u64::from(n))
    }

    /// Its number, of a device or scheme whose page numbers have 32 bits.
    #[must_use]
    #[inline(always)]
    pub fn low(self) -> u32 {
        debug_assert!(self.0 <= u64::from(u32::MAX), "page {} of a device with 32-bit page numbers", self.0);
        self.0 as u32
    }
}

/// The operation that a command asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    /// Read the pages.
    #[default]
    Read,
    /// Write the pages.
    Write,
    /// Discard the pages: from now on they are known zeros.
    Trim,
    /// Move their contents to another address ([`Command::to`]); changes the map only and takes no flash time.
    Remap,
}

/// The cause of a flash operation. Every operation has exactly one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A request of the host.
    #[default]
    Host,
    /// The second or a later copy of a page.
    Mirror,
    /// The merge of a page that is written in part.
    Update,
    /// Garbage collection.
    Gc,
    /// Wear leveling and migration.
    Wear,
    /// Parity, and the reads to compute it.
    Parity,
    /// Parity that garbage collection writes again.
    ParityGc,
    /// Parity of a stripe that is not full.
    PartialParity,
    /// Rebuild after a failure.
    Rebuild,
    /// Data moved between media.
    Migrate,
    /// The drive's own tables.
    Metadata,
    /// Data moved out of the SLC cache.
    Fold,
    /// A page that is sensed again, because its data could not be corrected.
    Retry,
    /// Data moved before they become unreadable, because they are old or their block was read often.
    Refresh,
    /// Pages read in turn to see whether they can be read.
    Scrub,
}

impl Cause {
    /// All causes, in order.
    pub const ALL: [Cause; 15] = [
        Cause::Host,
        Cause::Mirror,
        Cause::Update,
        Cause::Gc,
        Cause::Wear,
        Cause::Parity,
        Cause::ParityGc,
        Cause::PartialParity,
        Cause::Rebuild,
        Cause::Migrate,
        Cause::Metadata,
        Cause::Fold,
        Cause::Retry,
        Cause::Refresh,
        Cause::Scrub,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cause::Host => "host",
            Cause::Mirror => "mirror",
            Cause::Update => "update",
            Cause::Gc => "gc",
            Cause::Wear => "wear",
            Cause::Parity => "parity",
            Cause::ParityGc => "parity_gc",
            Cause::PartialParity => "partial_parity",
            Cause::Rebuild => "rebuild",
            Cause::Migrate => "migrate",
            Cause::Metadata => "metadata",
            Cause::Fold => "fold",
            Cause::Retry => "retry",
            Cause::Refresh => "refresh",
            Cause::Scrub => "scrub",
        }
    }
}

/// Flags of a command, with its placement handle, and, for ports, the first of its sectors: a bit each for the flags, three
/// bits for the handle, six for the sector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

const HANDLE_AT: u32 = 7;
const HANDLE_BITS: u16 = (HANDLES as u16 - 1) << HANDLE_AT;
const SECTOR_AT: u32 = 10;
const SECTOR_BITS: u16 = u16::MAX << SECTOR_AT;

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// The caller has just read the old contents: for parity they need not be read again, but are taken from the
    /// caller's buffer (`Step::in_hand`).
    pub const OLD_IN_HAND: Flags = Flags(1);
    /// No request waits for the command.
    pub const BACKGROUND: Flags = Flags(2);
    /// The command is executed before time 0: it takes no time and is not counted.
    pub const BEFORE: Flags = Flags(4);
    /// The next command continues this one at the following sector: a port treats both as one request.
    pub const CONTINUES: Flags = Flags(8);

    /// The map that was asked lacks the page: nothing is read, and the page is repaired above.
    pub const MISSING: Flags = Flags(16);

    /// Forced unit access: a write that does not stay in the write caches on its way, and is durable only when it is on
    /// the media.
    pub const FUA: Flags = Flags(32);

    /// A write that does not wait for others to be programmed with it: a FLUSH or a write with FUA waits for it.
    pub const SOON: Flags = Flags(64);

    /// A read that goes to the page's own place, however busy that is.
    pub const DIRECT: Flags = Flags(128);

    /// The flags of both.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These flags without the others.
    #[must_use]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// The flags that the steps of a plan inherit from its command, and its handle; each step has its own other flags.
    #[must_use]
    #[inline]
    pub(crate) const fn inherited(self) -> Flags {
        Flags(self.0 & !SECTOR_BITS).without(Flags::OLD_IN_HAND.with(Flags::MISSING))
    }

    /// Of these flags, those that what a port writes for a command has, too.
    pub(crate) const fn forced(self) -> Flags {
        Flags(self.0 & Flags::FUA.with(Flags::SOON).0)
    }

    /// The placement handle of a write.
    #[must_use]
    #[inline]
    pub const fn handle(self) -> u8 {
        ((self.0 & HANDLE_BITS) >> HANDLE_AT) as u8
    }

    /// The same flags for a placement handle.
    #[must_use]
    #[inline]
    pub const fn for_handle(self, handle: u8) -> Flags {
        debug_assert!(handle < HANDLES, "a handle has three bits");
        Flags(self.0 & !HANDLE_BITS | (handle as u16) << HANDLE_AT)
    }

    /// The first of a command's sectors.
    const fn first_sector(self) -> u8 {
        (self.0 >> SECTOR_AT) as u8
    }

    const fn at_sector(self, first: u8) -> Flags {
        debug_assert!(first < 1 << (u16::BITS - SECTOR_AT), "a page has at most 64 sectors");
        Flags(self.0 & !SECTOR_BITS | (first as u16) << SECTOR_AT)
    }

    /// Whether all of `other` are set.
    #[must_use]
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Consecutive sectors of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sectors {
    /// The first sector.
    pub first: u8,
    /// The number of sectors; 0 for the whole page.
    pub count: u16,
}

impl Sectors {
    /// The whole page.
    pub const ALL: Sectors = Sectors { first: 0, count: 0 };

    /// This many sectors, at any offset; 0 for the whole page.
    #[must_use]
    #[inline]
    pub fn first(count: u16) -> Sectors {
        Sectors { first: 0, count }
    }
}

/// A verb over a run of pages: 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The first page.
    pub start: Page,
    /// For `Remap`, the new address of the first page; the others follow. For a `Write` to physical pages, the OOB
    /// metadata of the first page; those of the others follow.
    pub to: Page,
    /// The number of pages.
    pub count: u16,
    /// For a command of one page, the number of sectors transferred; 0 for the whole page.
    pub sectors: u16,
    /// The operation.
    pub verb: Verb,
    /// The cause.
    pub cause: Cause,
    /// The flags, and the placement handle of a write.
    pub flags: Flags,
}

/// Where written pages come from: what ports keep of each page in a write cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The cause of the write.
    pub cause: Cause,
    /// Its placement handle.
    pub handle: u8,
    /// The share of the write cache that it counts against: that of a flow, or 0, what these leave to all others.
    pub cache_share: u8,
}

impl Origin {
    /// A write of the host with a placement handle.
    #[must_use]
    pub fn host(handle: u8) -> Origin {
        Origin { cause: Cause::Host, handle, cache_share: 0 }
    }
}

impl Command {
    /// `verb` over `count` pages from `start`, for the host.
    #[must_use]
    pub fn new(verb: Verb, start: Page, count: u16) -> Self {
        Command { start, count, verb, ..Command::default() }
    }

    /// The same for another cause.
    #[must_use]
    pub fn because(self, cause: Cause) -> Self {
        Command { cause, ..self }
    }

    /// Where the pages of a write come from.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin { cause: self.cause, handle: self.flags.handle(), cache_share: 0 }
    }

    /// The same command for these sectors of its only page.
    #[must_use]
    #[inline]
    pub fn of(self, sectors: Sectors) -> Self {
        Command { sectors: sectors.count, flags: self.flags.at_sector(sectors.first), ..self }
    }

    /// The sectors of its only page that it is for.
    #[must_use]
    #[inline]
    pub fn part_of_page(&self) -> Sectors {
        Sectors { first: self.flags.first_sector(), count: self.sectors }
    }

    /// Whether its pages hold the same afterwards: a read, or a trim of a part of a page, which has no effect.
    #[must_use]
    #[inline]
    pub fn changes_nothing(&self) -> bool {
        self.verb == Verb::Read || self.verb == Verb::Trim && self.sectors != 0
    }

    /// The same command, for a caller that submits it later and apart from the commands after it.
    #[must_use]
    pub fn alone(self) -> Self {
        Command { flags: self.flags.without(Flags::CONTINUES), ..self }
    }

    /// The same over other pages.
    #[must_use]
    pub fn over(self, start: Page, count: u16) -> Self {
        Command { start, count, ..self }
    }

    /// The part of the command that covers `count` pages from its page number `from` on.
    #[must_use]
    #[inline]
    pub fn part(self, from: u32, count: u16) -> Self {
        Command { to: self.to.plus(from), ..self.over(self.start.plus(from), count) }
    }

    /// Whether its pages have other contents afterwards.
    #[must_use]
    #[inline]
    pub fn changes_pages(&self) -> bool {
        matches!(self.verb, Verb::Write | Verb::Trim)
    }

    /// Its pages, where page numbers have 32 bits ([`Page::low`]).
    #[must_use]
    #[inline]
    pub fn low_pages(&self) -> std::ops::Range<u32> {
        self.start.low()..self.end() as u32
    }

    /// The page after the last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start.0 + u64::from(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_small() {
        assert!(size_of::<Command>() <= 24);
    }

    #[test]
    fn handle_and_first_sector_do_not_disturb_the_flags() {
        let all = [Flags::FUA, Flags::SOON, Flags::BEFORE, Flags::MISSING, Flags::CONTINUES];
        let flags = all.into_iter().fold(Flags::NONE, Flags::with);
        let sectors = Sectors { first: 63, count: 1 };
        let command = Command { flags: flags.for_handle(7), ..Command::default() }.of(sectors);
        assert!(all.iter().all(|&flag| command.flags.has(flag)) && !command.flags.has(Flags::OLD_IN_HAND));
        assert_eq!((command.flags.handle(), command.part_of_page()), (7, sectors));
        let inherited = command.flags.inherited();
        assert_eq!((inherited.handle(), inherited.first_sector()), (7, 0));
        assert_eq!(command.flags.for_handle(2).handle(), 2);
    }
}
