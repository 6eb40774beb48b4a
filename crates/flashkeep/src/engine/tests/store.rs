//! The backends of the tests: pages in memory, which take effect when they are submitted and are done some time later, in
//! any order; and chips with physical pages, which assert that they are programmed as flash must be, erase no page
//! before its reads are served, and may have places that take no page any more.

use crate::engine::{
    BackendId, BackendView, Backends, Cause, Command, CompletionPart, CompletionToken, Contents, Done, Flags,
    Page, Verb,
};
use crate::kernel::{Random, SimTime, Span};
use std::collections::BTreeMap;

/// How a backend reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// Everything at once, at the instant of submission.
    AtOnce,
    /// At once, with instants so far ahead.
    Ahead(u64),
    /// After this time.
    After(u64),
    /// Acknowledged after the one time, durable after the other.
    TwoParts(u64, u64),
    /// Any of these, with delays drawn below this limit.
    Random(u64),
}

#[derive(Clone, Debug)]
struct Backend<C> {
    pages: Vec<C>,
    /// Pages that cannot be read until they are written again.
    bad: Vec<bool>,
    /// Physical pages that hold nothing they are given.
    broken: Vec<bool>,
    /// Pages that it has been given, and holds.
    given: Vec<bool>,
    dead: bool,
    report: Report,
    backlog: Span,
    /// Pages of an erase block; 0 for memory that can be written anywhere.
    block: u32,
    programmed: Vec<bool>,
    /// When the last read will have been reported.
    served: SimTime,
    /// Pages written to it, but for those that were moved, rebuilt, or there before time 0.
    worn: u64,
}

/// All backends of a tree.
#[derive(Debug)]
pub(crate) struct Store<C> {
    backends: Vec<Backend<C>>,
    random: Random,
    pending: BTreeMap<(SimTime, u64), Done<C>>,
    reported: u64,
    done: Vec<Done<C>>,
    /// The backend whose read is being answered.
    reading: Option<BackendId>,
    /// Every command, in the order of submission.
    pub(crate) log: Vec<(SimTime, BackendId, Command)>,
    /// Whether backends say how much has been written to them.
    pub(crate) counts_wear: bool,
}

impl<C: Contents> Store<C> {
    pub(crate) fn new(seed: u64) -> Self {
        Store {
            backends: Vec::new(),
            random: Random::stream(seed, "store"),
            pending: BTreeMap::new(),
            reported: 0,
            done: Vec::new(),
            reading: None,
            log: Vec::new(),
            counts_wear: false,
        }
    }

    /// A backend with this many pages, in erase blocks of `block` pages.
    pub(crate) fn add(&mut self, pages: u32, block: u32, report: Report) -> BackendId {
        let (n, backlog) = (pages as usize, Span::ZERO);
        let [bad, broken, given, programmed] = [(); 4].map(|()| vec![false; n]);
        let (pages, served) = (vec![C::default(); n], SimTime::ZERO);
        let dead = false;
        self.backends.push(Backend {
            pages,
            bad,
            broken,
            given,
            dead,
            report,
            backlog,
            block,
            programmed,
            served,
            worn: 0,
        });
        BackendId(self.backends.len() as u16 - 1)
    }

    /// Pages written to a backend, but for those that were moved, rebuilt, or there before time 0.
    pub(crate) fn worn(&self, backend: u16) -> u64 {
        self.backends[usize::from(backend)].worn
    }

    pub(crate) fn page(&self, backend: u16, page: u32) -> C {
        self.backends[usize::from(backend)].pages[page as usize]
    }

    pub(crate) fn set_report(&mut self, backend: u16, report: Report) {
        self.backends[usize::from(backend)].report = report;
    }

    pub(crate) fn set_backlog(&mut self, backend: u16, ns: u64) {
        self.backends[usize::from(backend)].backlog = Span(ns);
    }

    /// The page cannot be read until it is written again.
    pub(crate) fn lose_page(&mut self, backend: u16, page: u32) {
        self.backends[usize::from(backend)].bad[page as usize] = true;
    }

    /// The page of a chip with physical pages cannot be read any more, nor be written; its owner is notified.
    pub(crate) fn break_page(&mut self, backend: u16, page: u32) {
        let this = &mut self.backends[usize::from(backend)];
        this.broken[page as usize] = true;
        if this.programmed[page as usize] {
            this.bad[page as usize] = true;
            self.done.push(Done::gone(BackendId(backend), Page::of(page)));
        }
    }

    /// The page is lost, and the backend says so.
    pub(crate) fn damage(&mut self, backend: BackendId, page: u32) {
        let this = &mut self.backends[usize::from(backend.0)];
        (this.bad[page as usize], this.given[page as usize]) = (true, false);
        self.done.push(Done::gone(backend, Page::of(page)));
    }

    /// No page can be read any more.
    pub(crate) fn kill(&mut self, backend: u16) {
        self.backends[usize::from(backend)].dead = true;
    }

    /// Puts an empty backend in its place. Earlier reads of the old one are still on their way.
    pub(crate) fn replace(&mut self, backend: u16) {
        let backend = &mut self.backends[usize::from(backend)];
        backend.dead = false;
        backend.pages.fill(C::default());
        backend.bad.fill(false);
        backend.broken.fill(false);
        backend.given.fill(false);
        backend.programmed.fill(false);
        backend.worn = 0;
    }

    /// The same backend again, with what it held.
    pub(crate) fn revive(&mut self, backend: u16) {
        self.backends[usize::from(backend)].dead = false;
    }

    pub(crate) fn next(&self) -> SimTime {
        self.pending.first_key_value().map_or(SimTime::NEVER, |((at, _), _)| *at)
    }

    /// Reports the commands that are done by `now`.
    pub(crate) fn deliver(&mut self, now: SimTime) {
        while self.next() <= now {
            let (_, done) = self.pending.pop_first().expect("something is pending");
            self.done.push(done);
        }
    }

    /// Pages asked for by commands that `which` picks.
    pub(crate) fn count(&self, which: impl Fn(BackendId, &Command) -> bool) -> u32 {
        let picked = self.log.iter().filter(|(_, backend, command)| which(*backend, command));
        picked.map(|(_, _, command)| u32::from(command.count)).sum()
    }

    fn later(&mut self, at: SimTime, done: Done<C>) {
        if let Some(backend) = self.reading {
            let served = &mut self.backends[usize::from(backend.0)].served;
            *served = at.max(*served);
        }
        self.reported += 1;
        self.pending.insert((at, self.reported), done);
    }

    fn report(&mut self, now: SimTime, report: Report, done: Done<C>) {
        let whole = |acknowledged, durable| Done {
            acknowledged: now + Span(acknowledged),
            durable: now + Span(durable),
            service: Span(acknowledged),
            ..done
        };
        match report {
            // It is not known ahead that a page will be unreadable.
            Report::AtOnce => self.done.push(done),
            Report::Ahead(delay) if done.failed.is_none() => self.done.push(whole(delay, delay)),
            Report::Ahead(delay) | Report::After(delay) => self.later(now + Span(delay), whole(delay, delay)),
            Report::TwoParts(first, _) if done.failed.is_some() => {
                self.later(now + Span(first), whole(first, first));
            }
            Report::TwoParts(first, second) => {
                let part = |part| Done { part, ..whole(first, second) };
                self.later(now + Span(first), part(CompletionPart::Acknowledged));
                self.later(now + Span(second), part(CompletionPart::Durable));
            }
            Report::Random(bound) => {
                let (a, b) = (self.random.below(bound), self.random.below(bound));
                let report = match self.random.below(4) {
                    0 => Report::AtOnce,
                    1 => Report::Ahead(a),
                    2 => Report::After(a),
                    _ => Report::TwoParts(a, a + b),
                };
                self.report(now, report, done);
            }
        }
    }
}

impl<C: Contents> Backend<C> {
    /// The command takes effect; which of its pages could not be read, and what the others hold.
    fn take(&mut self, command: &Command, contents: &[C]) -> Vec<(bool, C)> {
        let pages = (0..u32::from(command.count)).map(|n| (n as usize, (command.start.low() + n) as usize));
        if self.block > 0 && command.verb == Verb::Trim {
            assert!(command.start.low().is_multiple_of(self.block), "whole blocks are erased");
            assert_eq!(u32::from(command.count), self.block, "whole blocks are erased");
        }
        let mut read = Vec::new();
        for (n, page) in pages {
            match command.verb {
                Verb::Read => {
                    assert!(
                        self.block == 0 || self.programmed[page] || self.dead,
                        "unprogrammed page {page} read"
                    );
                    let failed = self.dead || self.bad[page];
                    read.push((failed, if failed { C::default() } else { self.pages[page] }));
                }
                Verb::Write if self.block > 0 => self.program(page, contents.get(n).copied()),
                Verb::Write => {
                    (self.bad[page], self.given[page]) = (false, true);
                    self.pages[page] = contents.get(n).copied().unwrap_or_default();
                }
                Verb::Trim => {
                    (self.bad[page], self.given[page]) = (false, false);
                    (self.programmed[page], self.pages[page]) = (false, C::default());
                }
                Verb::Remap => {
                    assert_eq!(self.block, 0, "raw pages have no other address");
                    let to = command.to.low() as usize + n;
                    self.pages[to] = std::mem::take(&mut self.pages[page]);
                    self.given[to] = std::mem::take(&mut self.given[page]);
                    self.bad[to] = std::mem::take(&mut self.bad[page]);
                }
            }
        }
        read
    }

    fn program(&mut self, page: usize, contents: Option<C>) {
        let first = page - page % self.block as usize;
        let rest = &self.programmed[page..first + self.block as usize];
        assert!(!rest.contains(&true), "page {page} is programmed out of order, or twice");
        (self.programmed[page], self.given[page]) = (true, true);
        self.bad[page] = self.broken[page];
        self.pages[page] = contents.unwrap_or_default();
    }
}

impl<C: Contents> BackendView for Store<C> {
    fn backlog(&self, backend: BackendId, _: Page) -> Span {
        self.backends[usize::from(backend.0)].backlog
    }
    fn wear(&self, backend: BackendId) -> u64 {
        if self.counts_wear { self.worn(backend.0) } else { 0 }
    }
    fn room(&self, _: BackendId) -> u64 {
        u64::MAX
    }
    fn holds(&self, backend: BackendId, page: Page) -> bool {
        let this = &self.backends[usize::from(backend.0)];
        let raw = this.programmed[page.low() as usize] && !this.bad[page.low() as usize];
        if this.block > 0 { raw } else { this.given[page.low() as usize] }
    }
    fn is_unreadable(&self, backend: BackendId, page: Page) -> bool {
        self.backends[usize::from(backend.0)].bad[page.low() as usize]
    }
}

impl<C: Contents> Backends<C> for Store<C> {
    fn submit(
        &mut self,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
    ) {
        self.log.push((now, backend, *command));
        if C::KEEP && command.verb == Verb::Write {
            assert_eq!(contents.len(), usize::from(command.count));
        }
        let this = &mut self.backends[usize::from(backend.0)];
        let report = if command.flags.has(Flags::BEFORE) { Report::AtOnce } else { this.report };
        let moves =
            matches!(command.cause, Cause::Rebuild | Cause::Migrate) || command.flags.has(Flags::BEFORE);
        this.worn += if command.verb == Verb::Write && !moves { u64::from(command.count) } else { 0 };
        let read = this.take(command, contents);
        if command.verb != Verb::Read {
            let broken = |page: &u32| command.verb == Verb::Write && this.broken[*page as usize];
            let gone: Vec<u32> = command.low_pages().filter(broken).collect();
            // Physical pages are not erased before the reads of them are served.
            let owed = if this.block > 0 && command.verb == Verb::Trim {
                this.served.since(now)
            } else {
                Span::ZERO
            };
            let report = if owed > Span::ZERO { Report::After(owed.0) } else { report };
            self.done.extend(gone.into_iter().map(|page| Done::refused(backend, Page::of(page))));
            return self.report(now, report, Done::at(token, u32::from(command.count), now));
        }
        self.reading = Some(backend);
        for (n, (failed, contents)) in (0..).zip(read) {
            let failed = failed.then(|| (backend, command.start.plus(n)));
            let done = Done { contents, failed, ..Done::at(token.plus(n), 1, now) };
            self.report(now, report, done);
        }
        self.reading = None;
    }

    fn done(&mut self) -> &mut Vec<Done<C>> {
        &mut self.done
    }
}
