//! Non-volatile memory: a few pages that are written in place, keep their contents without power, and are not
//! flash.
//!
//! A command takes the latency for each of its pages, one page after the other; commands do not wait for each
//! other. Accesses do not count as flash operations.

use crate::engine::{BackendId, Command, CompletionToken, Contents, Done, Flags, OobData, Verb};
use crate::kernel::{SimTime, Span};

/// The contents of a page of an NVRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cell<C> {
    /// Zeros.
    #[default]
    Nothing,
    Held(C),
    /// Unreadable contents.
    Unreadable,
}

/// An NVRAM, which is a backend of its own.
#[derive(Clone, Debug)]
pub struct Nvram<C> {
    cells: Vec<Cell<C>>,
    /// How often each page was written: of two versions, that with the higher number is newer.
    writes: Vec<u32>,
    latency: Span,
    untimed: bool,
    pub(super) dead: bool,
}

impl<C: Contents> Nvram<C> {
    /// An NVRAM of `pages` pages, each of which takes `latency`.
    #[must_use]
    pub fn new(pages: u32, latency: Span) -> Self {
        Nvram {
            cells: vec![Cell::default(); pages as usize],
            writes: vec![0; pages as usize],
            latency,
            untimed: false,
            dead: false,
        }
    }

    /// Whether commands take no time from now on.
    pub fn set_untimed(&mut self, untimed: bool) {
        self.untimed = untimed;
    }

    /// Whether it has failed.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Whether a page has been written.
    #[must_use]
    pub fn holds(&self, page: u32) -> bool {
        self.cells[page as usize] != Cell::Nothing
    }

    /// Whether a page cannot be read.
    #[must_use]
    pub fn is_unreadable(&self, page: u32) -> bool {
        self.cells[page as usize] == Cell::Unreadable
    }

    /// It fails as a whole: permanently, or only its contents become unreadable.
    pub fn fail(&mut self, lasting: bool) {
        self.dead |= lasting;
        for cell in &mut self.cells {
            *cell = if lasting || *cell == Cell::Nothing { Cell::Nothing } else { Cell::Unreadable };
        }
    }

    /// Poisons a page: its contents are invalid.
    pub fn poison(&mut self, page: u32) {
        self.cells[page as usize] = Cell::Unreadable;
    }

    /// An empty NVRAM replaces it, if it has failed.
    pub fn renew(&mut self) {
        if std::mem::take(&mut self.dead) {
            self.cells.fill(Cell::Nothing);
        }
    }

    /// Carries out a command submitted at `now`; its completions go to `answers`.
    pub fn ask(
        &mut self,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        answers: &mut Vec<Done<C>>,
    ) {
        let each = if self.untimed || command.flags.has(Flags::BEFORE) { Span::ZERO } else { self.latency };
        let pages = u32::from(command.count);
        let done =
            |n: u32| Done { service: each * u64::from(n), ..Done::at(token, n, now + each * u64::from(n)) };
        if command.verb == Verb::Read {
            let read = |n: u32| {
                let page = command.start.plus(n);
                let failed = self.dead || self.cells[page.low() as usize] == Cell::Unreadable;
                let contents = self.contents(page.low()).unwrap_or_default();
                let failed = failed.then_some((backend, page));
                Done { token: token.plus(n), pages: 1, contents, failed, ..done(n + 1) }
            };
            return answers.extend((0..pages).map(read));
        }
        for n in (0..pages as usize).filter(|_| !self.dead) {
            let at = command.start.low() as usize + n;
            match command.verb {
                Verb::Write => {
                    self.cells[at] = Cell::Held(contents.get(n).copied().unwrap_or_default());
                    self.writes[at] = self.writes[at].wrapping_add(1);
                }
                Verb::Trim => self.cells[at] = Cell::Nothing,
                Verb::Remap => {
                    self.cells[command.to.low() as usize + n] = std::mem::take(&mut self.cells[at])
                }
                Verb::Read => {}
            }
        }
        answers.push(done(pages));
    }

    pub(super) fn len(&self) -> u32 {
        self.cells.len() as u32
    }

    /// The number of the last write to a page, and the stamp of its contents.
    #[must_use]
    pub fn oob(&self, page: u32) -> Option<OobData> {
        let sequence = u64::from(self.writes[page as usize]);
        self.contents(page).map(|contents| OobData { sequence, stamp: contents.stamp(), mark: 0 })
    }

    pub(crate) fn contents(&self, page: u32) -> Option<C> {
        match self.cells[page as usize] {
            Cell::Held(contents) => Some(contents),
            Cell::Nothing | Cell::Unreadable => None,
        }
    }

    /// The contents of each page, as tokens.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Option<u64>> {
        (0..self.len()).map(|page| self.contents(page).map(C::stamp)).collect()
    }

    /// Restores the contents from a snapshot.
    pub fn restore(&mut self, snapshot: Vec<Option<u64>>) {
        let cell = |token: Option<u64>| token.map_or(Cell::Nothing, |token| Cell::Held(C::token(token)));
        self.cells = snapshot.into_iter().map(cell).collect();
    }
}

/// The NVRAMs of a drive, whose numbers as backends follow those of the flash.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Nvrams<C> {
    /// The number of the first one.
    first: usize,
    all: Vec<Nvram<C>>,
}

impl<C> Default for Nvrams<C> {
    fn default() -> Self {
        Nvrams { first: usize::MAX, all: Vec::new() }
    }
}

impl<C> Nvrams<C> {
    /// Adds one to a drive with this many backends of flash; its number as a backend.
    pub(in crate::drive) fn add(&mut self, nvram: Nvram<C>, flash: usize) -> BackendId {
        self.first = flash;
        self.all.push(nvram);
        BackendId((flash + self.all.len() - 1) as u16)
    }

    /// Whether a backend is one of them.
    pub(in crate::drive) fn has(&self, backend: BackendId) -> bool {
        usize::from(backend.0) >= self.first
    }

    pub(in crate::drive) fn of(&self, backend: BackendId) -> &Nvram<C> {
        &self.all[usize::from(backend.0) - self.first]
    }

    pub(in crate::drive) fn of_mut(&mut self, backend: BackendId) -> &mut Nvram<C> {
        &mut self.all[usize::from(backend.0) - self.first]
    }

    pub(in crate::drive) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Nvram<C>> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Nvram<C>> {
        self.all.iter_mut()
    }
}
