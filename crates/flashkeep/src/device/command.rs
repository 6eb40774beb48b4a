//! What travels down the tree: a verb over a run of pages, and why.

use serde::Serialize;

/// A page address in the address space of the command's receiver.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Page(pub u32);

impl Page {
    /// The page `n` pages on.
    #[must_use]
    #[inline]
    pub fn plus(self, n: u32) -> Page {
        Page(self.0 + n)
    }
}

/// What is to be done with the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    /// Bring their contents up.
    #[default]
    Read,
    /// Give them new contents.
    Write,
    /// Forget them: from now on they are known zeros.
    Trim,
    /// Give their contents another address ([`Command::to`]); metadata only, costs no flash time.
    Rename,
}

/// Why a flash operation happens. Every one is accounted to exactly one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The host asked for it.
    #[default]
    Host,
    /// A second or later copy.
    Mirror,
    /// The old part of a page that is written in part.
    Update,
    /// Collection.
    Gc,
    /// Wear levelling.
    Wear,
    /// Parity, and what is read to compute it.
    Parity,
    /// Parity written anew by a collection.
    ParityGc,
    /// Parity of a stripe that is not full.
    PartialParity,
    /// Rebuild after a failure.
    Rebuild,
    /// Data moved between media.
    Migrate,
    /// The drive's own tables.
    Metadata,
}

impl Cause {
    /// All of them, in order.
    pub const ALL: [Cause; 11] = [
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
        }
    }
}

/// Marks on a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No mark.
    pub const NONE: Flags = Flags(0);
    /// The writer has just read the old contents: parity need not read them again, but takes them from the
    /// caller's hand ([`super::Step::in_hand`]).
    pub const OLD_IN_HAND: Flags = Flags(1);
    /// No request waits for it.
    pub const BACKGROUND: Flags = Flags(2);
    /// It happened before time 0: no time passes and nothing is counted.
    pub const BEFORE: Flags = Flags(4);
    /// The next command continues this one at the sector after its last: a port takes both in as one request.
    pub const CONTINUES: Flags = Flags(8);

    /// These marks and those.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These marks without those.
    #[must_use]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// The marks that a plan's steps have from the command that they are for; the others are each step's own.
    #[must_use]
    #[inline]
    pub(crate) const fn inherited(self) -> Flags {
        self.without(Flags::OLD_IN_HAND)
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
    /// The first.
    pub first: u8,
    /// How many; 0 for all of the page.
    pub count: u16,
}

impl Sectors {
    /// All of the page.
    pub const ALL: Sectors = Sectors { first: 0, count: 0 };

    /// So many sectors, wherever they are; 0 for all.
    #[must_use]
    #[inline]
    pub fn first(count: u16) -> Sectors {
        Sectors { first: 0, count }
    }
}

/// A verb over a run of pages: 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The first page.
    pub start: Page,
    /// Where `Rename` puts the first page; the others follow. Of a `Write` to bare flash, what is written beside the
    /// first page, in its spare area; likewise.
    pub to: Page,
    /// How many pages.
    pub count: u16,
    /// Sectors that really travel of a one-page command; 0 for all of the page.
    pub sectors: u16,
    /// The first of those; only ports look at it.
    pub first: u8,
    /// What to do.
    pub verb: Verb,
    /// Why.
    pub cause: Cause,
    /// Marks.
    pub flags: Flags,
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

    /// The same for these sectors of its only page.
    #[must_use]
    #[inline]
    pub fn of(self, sectors: Sectors) -> Self {
        Command { sectors: sectors.count, first: sectors.first, ..self }
    }

    /// Which sectors of its only page it is for.
    #[must_use]
    #[inline]
    pub fn part_of_page(&self) -> Sectors {
        Sectors { first: self.first, count: self.sectors }
    }

    /// The same for whoever carries it out later than what it is a part of.
    #[must_use]
    pub fn alone(self) -> Self {
        Command { flags: self.flags.without(Flags::CONTINUES), ..self }
    }

    /// The same over other pages.
    #[must_use]
    pub fn over(self, start: Page, count: u16) -> Self {
        Command { start, count, ..self }
    }

    /// Its `count` pages from the `from`th on, and where a `Rename` puts those.
    #[must_use]
    #[inline]
    pub fn part(self, from: u32, count: u16) -> Self {
        Command { to: self.to.plus(from), ..self.over(self.start.plus(from), count) }
    }

    /// The page after the last.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.start.0 + u32::from(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_small() {
        assert!(size_of::<Command>() <= 16);
    }
}
