//! The backends of the tree, which store pages.

use super::command::{Command, Page};
use super::contents::Contents;
use super::requests::CompletionCounter;
use crate::device::latency::{Breakdown, TimeSpent};
use crate::kernel::{Id, SimTime, Span};
use std::ops::Range;

/// The number of a backend (backend) of the tree: an FTL with its dies, a disk, an NVRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackendId(pub u16);

/// The owner of a command's pages, who is notified when they are done, and the places of the pages among the owner's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletionToken {
    /// The owner: a request or a plan.
    pub owner: Id<CompletionCounter>,
    /// The first page's place among the owner's.
    pub slot: u32,
    /// The number of its request in order of opening (modulo 2³²). Operations of older requests go first, even if they
    /// are submitted later because other pages had to be read before.
    pub age: u32,
    /// The distance between places of consecutive pages, minus one.
    pub gap: u32,
}

/// An open request, as its commands are submitted.
#[derive(Clone, Copy, Debug)]
pub struct OpenRequest {
    /// Its completion counter.
    pub owner: Id<CompletionCounter>,
    /// Its number in order of opening: [`CompletionToken::age`].
    pub age: u32,
}

impl OpenRequest {
    /// Its pages, from the first on.
    #[must_use]
    #[inline]
    pub fn pages(self) -> CompletionToken {
        CompletionToken::at(self.owner, 0, self.age)
    }
}

impl CompletionToken {
    /// Pages at consecutive places from this one on.
    #[must_use]
    #[inline]
    pub(super) fn at(owner: Id<CompletionCounter>, slot: u32, age: u32) -> CompletionToken {
        CompletionToken { owner, slot, age, gap: 0 }
    }

    /// The same owner, `n` pages on.
    #[must_use]
    #[inline]
    pub fn plus(self, n: u32) -> CompletionToken {
        CompletionToken { slot: self.slot + n * (self.gap + 1), ..self }
    }

    /// The same first page, with the others `stride` places apart.
    #[must_use]
    pub(super) fn apart(self, stride: u32) -> CompletionToken {
        CompletionToken { gap: (self.gap + 1) * stride - 1, ..self }
    }

    /// Whether its pages have consecutive places.
    #[must_use]
    pub(super) fn is_run(self) -> bool {
        self.gap == 0
    }
}

/// Which of the two completions a [`Done`] reports, or which event of the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompletionPart {
    /// Both instants are known.
    #[default]
    Both,
    /// The command is acknowledged.
    Acknowledged,
    /// The pages are on the media.
    Durable,
    /// An event of the backend: the page that [`Done::failed`] names cannot be read any more.
    Lost,
    /// An event of the backend: it had no room for the page that [`Done::failed`] names, although the page was written.
    Refused,
    /// An event of the backend: it is about to collect the page that [`Done::failed`] names, of a hidden LBA range.
    Leaving,
    /// An event of the backend: garbage collection has moved the page that [`Done::failed`] names.
    Moved,
    /// An event of the backend: the block of the page that [`Done::failed`] names cannot be programmed any more.
    Retired,
    /// An event of the backend, whose parent decides where pages are: the data of the block of the page that
    /// [`Done::failed`] names must be moved.
    Due,
}

/// The completion of pages. Its instants may lie ahead: the end of a granted operation is known when it is granted.
#[derive(Clone, Copy, Debug)]
pub struct Done<C> {
    /// The owner, and the places of the pages.
    pub token: CompletionToken,
    /// The number of pages.
    pub pages: u32,
    /// Which completion, or which event.
    pub part: CompletionPart,
    /// When they are acknowledged.
    pub acknowledged: SimTime,
    /// When they are on the media.
    pub durable: SimTime,
    /// Service time, without waiting.
    pub service: Span,
    /// The contents that a read of one page returned.
    pub contents: C,
    /// Where the time since the submission went, or its entry in [`Backends::breakdowns`].
    pub spent: TimeSpent,
    /// The backend and page of a *read* that failed. Writes never fail: a backend that cannot store a page reports this
    /// when the page is read.
    pub failed: Option<(BackendId, Page)>,
}

/// The OOB metadata of a page on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OobData {
    /// The sequence number of its write: of two versions, the one with the higher number is newer.
    pub sequence: u64,
    /// The stamp of its contents ([`Version`](super::Version)); for a parity, the sum of the stamps.
    pub stamp: u64,
    /// The writer's metadata ([`Command::to`]); only for physical pages without an FTL.
    pub mark: u32,
}

impl OobData {
    /// The sequence number of pages that were created by a rule ([`Backends::create_by_rule`]): writes have higher ones.
    pub const INITIAL: u64 = 1;
}

/// How long a read of a page is expected to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadEstimate {
    /// Until it could start: the rest of what is under way, and what goes first.
    pub wait: Span,
    /// From then on.
    pub read: Span,
}

impl ReadEstimate {
    /// Until its data are there.
    #[must_use]
    pub fn total(self) -> Span {
        self.wait + self.read
    }
}

/// Queries to backends, without side effects.
pub trait BackendView {
    /// A lower bound of the time until a read of the page could start.
    fn backlog(&self, backend: BackendId, page: Page) -> Span;
    /// How long a read of the page that is submitted now is expected to take. Unlike the bound, it includes the rest of
    /// an operation that cannot be interrupted and collections that go first.
    fn expected(&self, backend: BackendId, page: Page) -> ReadEstimate {
        ReadEstimate { wait: self.backlog(backend, page), read: Span::ZERO }
    }
    /// The number of block erases so far.
    fn wear(&self, backend: BackendId) -> u64;
    /// The number of its blocks; 0 for devices without flash.
    fn erase_blocks(&self, backend: BackendId) -> u64 {
        let _ = backend;
        0
    }
    /// Whether it has room for every page that it offers. One that has lost a part of its flash may refuse pages.
    fn takes_all(&self, backend: BackendId) -> bool {
        let _ = backend;
        true
    }
    /// The number of pages that it can write before it must collect garbage.
    fn room(&self, backend: BackendId) -> u64;
    /// Whether the page has been written to the backend; if not, it is a known zero.
    fn holds(&self, backend: BackendId, page: Page) -> bool;
    /// Whether the backend has the page but cannot read it.
    fn is_unreadable(&self, backend: BackendId, page: Page) -> bool;
    /// The OOB metadata of the page; none if the page is not there or cannot be read, and in runs without power cuts.
    fn oob(&self, backend: BackendId, page: Page) -> Option<OobData> {
        let _ = (backend, page);
        None
    }
    /// The sequence number of the last write submitted; none in runs without power cuts.
    fn last_write(&self, backend: BackendId) -> Option<u64> {
        let _ = backend;
        None
    }
    /// How often the erase unit of a physical page has been erased: the most worn of its blocks.
    fn erases_at(&self, backend: BackendId, page: Page) -> u32 {
        let _ = (backend, page);
        0
    }
    /// Whether a physical page is erased, so that it can be programmed. Called after a power cut only.
    fn is_erased(&self, backend: BackendId, page: Page) -> bool {
        let _ = (backend, page);
        false
    }
    /// Whether the backend's pages can get other addresses ([`Verb::Remap`](crate::engine::Verb::Remap)).
    fn remaps(&self, backend: BackendId) -> bool {
        let _ = backend;
        true
    }
    /// Whether a physical page can never be programmed again.
    fn has_failed(&self, backend: BackendId, page: Page) -> bool {
        let _ = (backend, page);
        false
    }
}

/// The backends of the tree, which carry out commands.
pub trait Backends<C: Contents>: BackendView {
    /// Submits a command. It takes effect now, whenever it ends: later commands see it. `contents` has one entry for
    /// each page of a write, and is empty for other commands. The backend answers every page by a [`Done`], now or
    /// later; each page of a read by its own.
    fn submit(
        &mut self,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
    );

    /// Prefetches the map entry of a page that will be used soon. Affects speed only.
    fn prefetch(&self, backend: BackendId, page: Page) {
        let _ = (backend, page);
    }

    /// Whether pages that are created in order need no commands ([`Backends::place_in_order`]).
    fn places_in_order(&self, backend: BackendId) -> bool {
        let _ = backend;
        false
    }

    /// Pages that did not exist are created in order, before time 0, as by commands that nothing waits for.
    fn place_in_order(&mut self, backend: BackendId, pages: Range<u64>) {
        let _ = (backend, pages);
    }

    /// Pages that have been created in order, of the only backend that there is, have the contents of the host's pages of the
    /// same numbers ([`Contents::initial`]), as far as their places follow from a rule. Returns the first page beyond these.
    fn create_by_rule(&mut self, backend: BackendId) -> u32 {
        let _ = backend;
        0
    }

    /// From now on, or no longer, pages that are written before time 0 and have a place stay there, and only take the
    /// contents.
    fn fill(&mut self, fills: bool) {
        let _ = fills;
    }

    /// Sets the instant to which answers of [`BackendView`] refer.
    fn set_now(&mut self, now: SimTime) {
        let _ = now;
    }

    /// After a power cut: invalidates the OOB metadata of this page, so that the next recovery does not find it.
    fn invalidate(&mut self, backend: BackendId, page: Page) {
        let _ = (backend, page);
    }

    /// Poisons a page: the contents of its last write could not be reconstructed. Its OOB metadata says so after a
    /// power cut.
    fn poison(&mut self, backend: BackendId, page: Page) {
        let _ = (backend, page);
    }

    /// The map above a backend of physical pages has no room for a page that was written.
    fn note_refusal(&mut self, now: SimTime, backend: BackendId) {
        let _ = (now, backend);
    }

    /// Commands of this age are for the same request of the host as those of the age `from`.
    fn note_age(&mut self, age: u32, from: u32) {
        let _ = (age, from);
    }

    /// A FLUSH: no write waits any longer for others to be programmed with it.
    fn end_gathering(&mut self, now: SimTime) {
        let _ = now;
    }

    /// Parts of a request come: none begins before [`Backends::parts_have_come`].
    fn await_parts(&mut self) {}

    /// All parts of the request have come.
    fn parts_have_come(&mut self, now: SimTime) {
        let _ = now;
    }

    /// The completions and events since the last call, in order; the caller empties the list.
    fn done(&mut self) -> &mut Vec<Done<C>>;

    /// Where the time of these completions went ([`Done::spent`]), from their submission to their acknowledgement; that
    /// of a durable one until then. None if this is not measured. The caller empties the list together with the other.
    fn breakdowns(&mut self) -> Option<&mut Vec<Breakdown>> {
        None
    }
}

impl<C: Contents> Done<C> {
    /// An event: a backend has lost one of its pages.
    #[must_use]
    pub fn gone(backend: BackendId, page: Page) -> Self {
        let done = Done::at(CompletionToken::default(), 0, SimTime::ZERO);
        Done { part: CompletionPart::Lost, failed: Some((backend, page)), ..done }
    }

    /// An event: a backend had no room for a page that was written to it.
    #[must_use]
    pub fn refused(backend: BackendId, page: Page) -> Self {
        Done { part: CompletionPart::Refused, ..Done::gone(backend, page) }
    }

    /// An event: a backend is about to collect a page of its hidden LBA range.
    #[must_use]
    pub fn leaving(backend: BackendId, page: Page) -> Self {
        Done { part: CompletionPart::Leaving, ..Done::gone(backend, page) }
    }

    /// An event: garbage collection has moved a backend's page.
    #[must_use]
    pub fn moved(backend: BackendId, page: Page) -> Self {
        Done { part: CompletionPart::Moved, ..Done::gone(backend, page) }
    }

    /// An event: a block of a backend, which begins with this page, cannot be programmed any more.
    #[must_use]
    pub fn retired(backend: BackendId, page: Page) -> Self {
        Done { part: CompletionPart::Retired, ..Done::gone(backend, page) }
    }

    /// An event: the data of the block of a backend's page must be moved, because they are old or were read often.
    #[must_use]
    pub fn due(backend: BackendId, page: Page) -> Self {
        Done { part: CompletionPart::Due, ..Done::gone(backend, page) }
    }

    /// The completion of this many pages at `now`, with a service time of 0.
    #[must_use]
    #[inline]
    pub fn at(token: CompletionToken, pages: u32, now: SimTime) -> Self {
        Done {
            token,
            pages,
            part: CompletionPart::Both,
            acknowledged: now,
            durable: now,
            service: Span::ZERO,
            contents: C::default(),
            spent: TimeSpent::Memory,
            failed: None,
        }
    }
}
