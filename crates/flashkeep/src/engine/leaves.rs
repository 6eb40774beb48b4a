//! The bottom of the tree: devices that hold pages.

use super::command::{Command, Page};
use super::contents::{Contents, Version};
use super::requests::Join;
use crate::kernel::{Id, SimTime, Span};

/// A leaf of the tree: an FTL with its dies, a disk, an NVRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafId(pub u16);

/// Who is to be told, and which of its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket {
    /// Whose pages they are.
    pub owner: Id<Join>,
    /// The first page's place among the owner's.
    pub slot: u32,
    /// When its request was opened, counted (modulo 2³²): what is part of an older request goes first, even where
    /// it comes later because something had to be read before.
    pub age: u32,
    /// Places between one page's and the next one's: none where they follow each other.
    pub gap: u32,
}

impl Ticket {
    /// The pages from this place on, each following the one before.
    #[must_use]
    #[inline]
    pub(super) fn at(owner: Id<Join>, slot: u32, age: u32) -> Ticket {
        Ticket { owner, slot, age, gap: 0 }
    }

    /// The same owner, `n` pages on.
    #[must_use]
    #[inline]
    pub fn plus(self, n: u32) -> Ticket {
        Ticket { slot: self.slot + n * (self.gap + 1), ..self }
    }

    /// The same first page, the others `stride` pages apart.
    #[must_use]
    pub(super) fn apart(self, stride: u32) -> Ticket {
        Ticket { gap: (self.gap + 1) * stride - 1, ..self }
    }

    /// Whether its pages follow each other.
    #[must_use]
    pub(super) fn is_run(self) -> bool {
        self.gap == 0
    }
}

/// Which of the two completions is being told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// Both instants are known.
    #[default]
    Both,
    /// The caller may go on.
    Acknowledged,
    /// It is on the media.
    Durable,
    /// Unasked: the page that [`Done::failed`] names cannot be read any more.
    Gone,
    /// Unasked: the page that [`Done::failed`] names was written and is not there: it had no place left.
    Refused,
    /// Unasked: the page that [`Done::failed`] names, one of a shadow, is about to be collected.
    Leaving,
    /// Unasked: collection has moved the page that [`Done::failed`] names.
    Moved,
    /// Unasked: the block of the page that [`Done::failed`] names cannot be programmed any more.
    Retired,
}

/// Pages are done. The instants may lie ahead: the end of a granted operation is known when it is granted.
#[derive(Clone, Copy, Debug)]
pub struct Done<C> {
    /// Who is told.
    pub ticket: Ticket,
    /// How many pages.
    pub pages: u32,
    /// Which completion.
    pub part: Part,
    /// When the caller may go on.
    pub acknowledged: SimTime,
    /// When it is on the media.
    pub durable: SimTime,
    /// Time spent being served, waiting excluded.
    pub service: Span,
    /// What a read of one page brought.
    pub contents: C,
    /// The page could not be *read*: which leaf and which of its pages. Writes are always answered plainly; a
    /// leaf that cannot hold what it was given says so when that is read.
    pub failed: Option<(LeafId, Page)>,
}

/// What a page on flash says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// The number of its write: of two versions, that with the higher one is newer.
    pub sequence: u64,
    /// What it holds, or, of a parity, the sum of that ([`Version`](crate::engine::Version)).
    pub stamp: u64,
    /// What its writer said of it ([`Command::to`]); only of pages that are no FTL's.
    pub mark: u32,
}

impl Spare {
    /// Whether this copy of a page is newer than that one. Of two that say which version they are, that decides: members
    /// that have to wait before they write do not number their writes in the order in which they were asked.
    #[must_use]
    pub fn is_newer_than(&self, other: &Spare) -> bool {
        match (Version::of(self.stamp), Version::of(other.stamp)) {
            (Some(version), Some(than)) if version.page() == than.page() => version.is_newer_than(than),
            _ => self.sequence > other.sequence,
        }
    }
}

/// What the tree's leaves can be asked without disturbing them.
pub trait Below {
    /// How long a read of the leaf's page would wait at least.
    fn backlog(&self, leaf: LeafId, page: Page) -> Span;
    /// Erases so far.
    fn wear(&self, leaf: LeafId) -> u64;
    /// Blocks that are erased; none of what is no flash.
    fn erase_blocks(&self, leaf: LeafId) -> u64 {
        let _ = leaf;
        0
    }
    /// Pages that can be written before it must collect.
    fn room(&self, leaf: LeafId) -> u64;
    /// Whether the leaf has been given the page: if not, it is a known zero.
    fn holds(&self, leaf: LeafId, page: Page) -> bool;
    /// Whether what the leaf holds of the page cannot be read.
    fn is_unreadable(&self, leaf: LeafId, page: Page) -> bool;
    /// What the leaf's page says of itself on flash; none where nothing is there, or nothing that can be read, and in
    /// runs without power cuts.
    fn spare(&self, leaf: LeafId, page: Page) -> Option<Spare> {
        let _ = (leaf, page);
        None
    }
    /// The number of the last write that was submitted; none in runs without power cuts.
    fn last_write(&self, leaf: LeafId) -> Option<u64> {
        let _ = leaf;
        None
    }
    /// Whether a page of raw flash can be programmed as it is. Asked after a power cut only.
    fn is_erased(&self, leaf: LeafId, page: Page) -> bool {
        let _ = (leaf, page);
        false
    }
    /// Whether the leaf's pages can get other addresses ([`Verb::Rename`](crate::engine::Verb::Rename)).
    fn remaps(&self, leaf: LeafId) -> bool {
        let _ = leaf;
        true
    }
    /// Whether a page of raw flash can never be programmed again.
    fn has_failed(&self, leaf: LeafId, page: Page) -> bool {
        let _ = (leaf, page);
        false
    }
}

/// What carries commands out at the end of the tree.
pub trait Leaves<C: Contents>: Below {
    /// Takes a command, which takes effect now, whenever it is done: later commands see it.
    /// `contents` are the pages of a write. Every page of it is answered by a [`Done`], now or later, reads one
    /// page at a time.
    fn submit(&mut self, now: SimTime, leaf: LeafId, command: &Command, ticket: Ticket, contents: &[C]);

    /// A request comes in at `now`, to which answers of [`Below`] refer.
    fn set_now(&mut self, now: SimTime) {
        let _ = now;
    }

    /// After a power cut: what the leaf has of this page fits nothing, and is not to be found again by the next one.
    fn disown(&mut self, leaf: LeafId, page: Page) {
        let _ = (leaf, page);
    }

    /// What was written to this page last could not be worked out: what is there is nothing, and says so of itself after a
    /// power cut.
    fn spoil(&mut self, leaf: LeafId, page: Page) {
        let _ = (leaf, page);
    }

    /// The map above a leaf of physical pages has no place for a page that was written.
    fn note_refusal(&mut self, now: SimTime, leaf: LeafId) {
        let _ = (now, leaf);
    }

    /// What has been done since the last call, in order.
    fn done(&mut self) -> &mut Vec<Done<C>>;
}

impl<C: Contents> Done<C> {
    /// Unasked: a leaf has lost one of its pages.
    #[must_use]
    pub fn gone(leaf: LeafId, page: Page) -> Self {
        let done = Done::at(Ticket::default(), 0, SimTime::ZERO);
        Done { part: Part::Gone, failed: Some((leaf, page)), ..done }
    }

    /// Unasked: a leaf did not take a page that was written to it.
    #[must_use]
    pub fn refused(leaf: LeafId, page: Page) -> Self {
        Done { part: Part::Refused, ..Done::gone(leaf, page) }
    }

    /// Unasked: a leaf is about to collect one of its shadow's pages.
    #[must_use]
    pub fn leaving(leaf: LeafId, page: Page) -> Self {
        Done { part: Part::Leaving, ..Done::gone(leaf, page) }
    }

    /// Unasked: collection has moved a leaf's page.
    #[must_use]
    pub fn moved(leaf: LeafId, page: Page) -> Self {
        Done { part: Part::Moved, ..Done::gone(leaf, page) }
    }

    /// Unasked: a block of a leaf, which begins with this page, cannot be programmed any more.
    #[must_use]
    pub fn retired(leaf: LeafId, page: Page) -> Self {
        Done { part: Part::Retired, ..Done::gone(leaf, page) }
    }

    /// This many pages are done at `now`, without any service.
    #[must_use]
    #[inline]
    pub fn at(ticket: Ticket, pages: u32, now: SimTime) -> Self {
        Done {
            ticket,
            pages,
            part: Part::Both,
            acknowledged: now,
            durable: now,
            service: Span::ZERO,
            contents: C::default(),
            failed: None,
        }
    }
}
