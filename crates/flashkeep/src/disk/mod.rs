//! A disk: a backend with one arm, which executes one command at a time.
//!
//! A command is one operation over its run of pages. Its contents take effect at submission. It starts when
//! the arm is free and the scheduler selects it ([`queue`]); its end is known from then on. [`serve`]
//! computes its duration from the seek curve ([`seek`]) and the places of its sectors ([`surface`]).

mod cache;
mod faults;
mod mechanics;
mod options;
mod pages;
mod power;
mod queue;
pub mod scheduler;
mod seek;
mod serve;
mod snapshot;
mod statistics;
mod surface;
#[cfg(test)]
mod tests;

pub use options::{DISK_SECTOR_BYTES, DiskPowerSpec, DiskSpec, Numbers, Rotation};
pub use seek::{CURVE, SeekCurve, SeekPoints, SeekSettle, SeekSpec, SeekTable, SeekTimes, Wrong};
pub use statistics::DiskStatistics;
pub use surface::{SectorPlace, Surface, sectors_of};

use crate::drive::{Counters, DiskAccess, OpKind};
use crate::engine::{
    BackendId, BackendView, Backends, Breakdown, BusyHistory, Command, CompletionToken, Contents, Done,
    FixedMap, Flags, OobData, Page, ReadEstimate, Verb,
};
use crate::kernel::{Bits, Factor, SimTime, Span};
use cache::DiskCache;
use mechanics::Mechanics;
use pages::DiskPages;
use power::Platter;
use queue::{DiskOp, DiskQueue, Owed};
use scheduler::Rule;
use serve::{Arm, UnderWay};
use std::ops::Range;

/// A disk, with its waiting commands.
#[derive(Clone, Debug)]
pub struct Disk<C> {
    backend: BackendId,
    page_sectors: u64,
    mechanics: Mechanics,
    rule: Rule,
    arm: Arm,
    /// When the current command ends.
    free_at: SimTime,
    /// How much longer commands take than those of a sound disk.
    slow: Factor,
    /// No command begins before.
    stalled_until: SimTime,
    under_way: UnderWay,
    queue: DiskQueue<C>,
    /// The estimated time of the waiting commands.
    queued: Span,
    pages: DiskPages<C>,
    /// Which write a page waits for.
    in_memory: FixedMap<u32, u64>,
    cache: DiskCache<C>,
    /// When the arm is free and something waits for it.
    wake_at: SimTime,
    sequence: u64,
    untimed: bool,
    dead: bool,
    spoilt: bool,
    /// In runs with power cuts: the state of the platter.
    platter: Option<Box<Platter<C>>>,
    now: SimTime,
    done: Vec<Done<C>>,
    counters: Counters,
    statistics: DiskStatistics,
    /// Where the time of commands goes, if that is measured: what the arm was busy with, and the breakdowns of the
    /// completions that have not been taken.
    latencies: Option<Box<(BusyHistory, Vec<Breakdown>)>>,
    /// Its accesses since they were taken last, if accesses are reported.
    told: Option<Vec<DiskAccess>>,
}

impl<C: Contents> Disk<C> {
    /// A disk, empty and turning. With `disk.rotation = "random"` it draws from a stream of `seed`.
    ///
    /// # Panics
    /// If a value is inconsistent that the reader of drive files did not check.
    #[must_use]
    pub fn new(spec: &DiskSpec, backend: BackendId, seed: u64) -> Self {
        let pages =
            u32::try_from(spec.sectors() / spec.page_sectors()).expect("checked when it was resolved");
        Disk {
            backend,
            page_sectors: spec.page_sectors(),
            mechanics: Mechanics::new(spec, backend, seed),
            rule: scheduler::named(&spec.scheduler).expect("checked when it was resolved"),
            arm: Arm::default(),
            free_at: SimTime::ZERO,
            slow: Factor::ONE,
            stalled_until: SimTime::ZERO,
            under_way: UnderWay::default(),
            queue: DiskQueue::new(spec.queue_depth),
            queued: Span::ZERO,
            pages: DiskPages::new(pages),
            in_memory: FixedMap::default(),
            cache: DiskCache::new((spec.write_cache_mib * 1_048_576.0) as u64),
            wake_at: SimTime::NEVER,
            sequence: 0,
            untimed: false,
            dead: false,
            spoilt: false,
            platter: None,
            now: SimTime::ZERO,
            done: Vec::new(),
            counters: Counters::new(1),
            statistics: DiskStatistics::default(),
            latencies: None,
            told: None,
        }
    }

    /// The instant of the next event, [`SimTime::NEVER`] where nothing is pending.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> SimTime {
        self.wake_at
    }

    /// Handles the next event if it is due by `until`; false if none is.
    #[inline]
    pub fn step(&mut self, until: SimTime) -> bool {
        if self.wake_at > until || self.wake_at == SimTime::NEVER {
            return false;
        }
        self.now = self.wake_at;
        self.go_on(self.now);
        true
    }

    /// A request is admitted and served from `now` on.
    #[inline]
    pub fn admit(&mut self, _admitted: SimTime, now: SimTime) {
        self.now = now;
    }

    /// The instant of the last step.
    #[must_use]
    #[inline]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// A lower bound of the waiting time of a read submitted at `now`.
    #[must_use]
    pub fn backlog_at(&self, now: SimTime) -> Span {
        self.free_at.since(now) + self.queued
    }

    /// How long a read submitted at `now` is expected to take.
    #[must_use]
    pub fn expected_at(&self, now: SimTime) -> ReadEstimate {
        ReadEstimate { wait: self.backlog_at(now), read: self.mechanics.typical[0] }
    }

    /// Whether no command is queued or under way that a request waits for.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.queue.is_empty() && self.done.is_empty()
    }

    /// Pages read and written by their causes, as those of member 0.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Forgets what has been counted.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::new(1);
        self.statistics = DiskStatistics::default();
    }

    /// Measures where the time of commands goes, from now on.
    pub fn break_down(&mut self) {
        self.latencies = Some(Box::default());
    }

    /// From now on what it does is kept for [`Disk::take_told`].
    pub fn keep_told(&mut self) {
        self.told.get_or_insert_default();
    }

    /// What it has done since the last call, in order.
    pub fn take_told(&mut self) -> impl Iterator<Item = DiskAccess> + '_ {
        self.told.iter_mut().flat_map(|told| told.drain(..))
    }

    /// Counts an operation over a run of pages, and reports it.
    fn count(&mut self, start: SimTime, end: SimTime, kind: OpKind, command: &Command) {
        let Command { start: page, count: pages, cause, .. } = *command;
        self.counters.add(0, kind, cause, pages.into());
        if let Some(told) = &mut self.told {
            told.push(DiskAccess { start, end, page, pages, kind, cause });
        }
    }

    /// Its time by activity until `until`.
    #[must_use]
    pub fn statistics(&self, until: SimTime) -> DiskStatistics {
        let mut statistics = self.statistics.clone();
        statistics.rest(until.since(self.free_at), self.mechanics.standby_after);
        statistics
    }

    /// Where its sectors are.
    #[must_use]
    pub fn surface(&self) -> &Surface {
        &self.mechanics.surface
    }

    /// Pages that it has.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.pages.len()
    }

    /// The pages before this one were created by a rule.
    #[must_use]
    pub fn created(&self) -> u32 {
        self.pages.created()
    }

    /// The pages that are not known to be as they were created by the rule.
    #[must_use]
    pub fn changed_pages(&self) -> Bits {
        self.pages.changed()
    }

    /// The time in which the memory serves a page.
    #[must_use]
    pub fn memory_time(&self) -> Span {
        self.mechanics.through_memory(self.page_sectors)
    }

    /// The contents of a page, including waiting writes; none if the page does not exist or cannot be read. Without
    /// time and side effects.
    #[must_use]
    pub fn contents_of(&self, page: Page) -> Option<C> {
        let there = self.pages.holds(page.low()) && !self.pages.is_unreadable(page.low());
        there.then(|| self.pages.contents(page.low()))
    }

    /// Sets the time to 0; from now on commands complete at submission, or take time again.
    ///
    /// # Panics
    /// Where something is under way.
    pub fn set_untimed(&mut self, untimed: bool) {
        assert!(self.is_quiet(), "nothing is under way");
        (self.untimed, self.now, self.free_at) = (untimed, SimTime::ZERO, SimTime::ZERO);
        (self.arm, self.under_way) = (Arm::default(), UnderWay::default());
        self.cache.empty();
    }

    fn answer(&mut self, token: CompletionToken, pages: u32, at: SimTime, service: Span) {
        self.done.push(Done { service, ..Done::at(token, pages, at) });
    }

    fn range(command: &Command) -> Range<u32> {
        command.low_pages()
    }

    /// The number of sectors that are transferred.
    fn sectors(&self, command: &Command) -> u64 {
        match command.sectors {
            0 => u64::from(command.count) * self.page_sectors,
            sectors => u64::from(sectors),
        }
    }

    fn read(&mut self, now: SimTime, command: &Command, token: CompletionToken) {
        let at_once = self.untimed || command.flags.has(Flags::BEFORE);
        let in_memory = !at_once && Self::range(command).all(|page| self.is_in_memory(now, page));
        if !at_once && !in_memory {
            return self.wait(now, command, token);
        }
        if self.untimed && !command.flags.has(Flags::BEFORE) {
            self.count(now, now, OpKind::Read, command);
        }
        let service =
            if in_memory { self.mechanics.through_memory(self.sectors(command)) } else { Span::ZERO };
        self.counters.reads_from_memory += if in_memory { u64::from(command.count) } else { 0 };
        for n in 0..u32::from(command.count) {
            let page = command.start.plus(n);
            let failed = self.pages.is_unreadable(page.low()).then_some((self.backend, page));
            let contents = if failed.is_some() { C::default() } else { self.pages.contents(page.low()) };
            let done = Done { service, contents, failed, ..Done::at(token.plus(n), 1, now + service) };
            self.done.push(done);
        }
    }

    fn write(&mut self, now: SimTime, command: &Command, token: CompletionToken, contents: &[C]) {
        let before = command.flags.has(Flags::BEFORE);
        let coming = (!self.untimed && !before).then_some(self.sequence + 1);
        for (n, page) in Self::range(command).enumerate() {
            let contents = contents.get(n).copied().unwrap_or_default();
            self.note_coming(now, page, contents, coming);
            self.pages.write(page, contents);
        }
        if !self.untimed && !before {
            return self.wait(now, command, token);
        }
        if !before {
            self.count(now, now, OpKind::Program, command);
        }
        self.answer(token, command.count.into(), now, Span::ZERO);
    }

    fn trim(&mut self, now: SimTime, command: &Command, token: CompletionToken) {
        for page in Self::range(command) {
            self.pages.forget(page);
            self.drop_fate(page);
            self.in_memory.remove(&page);
        }
        self.under_way.forget(&Self::range(command));
        self.answer(token, command.count.into(), now, Span::ZERO);
    }

    /// A command waits for the arm.
    fn wait(&mut self, now: SimTime, command: &Command, token: CompletionToken) {
        self.sequence += 1;
        let first = u64::from(command.start.low()) * self.page_sectors;
        let (sectors, writes) = (self.sectors(command), command.verb == Verb::Write);
        let transfer =
            self.mechanics.surface.end_of(first + sectors - 1) - self.mechanics.surface.place(first).along;
        let id = self.queue.ops.claim();
        let mut owed = std::mem::take(&mut self.queue.ops[id].owed);
        owed.clear();
        if writes {
            self.in_memory.extend(Self::range(command).map(|page| (page, self.sequence)));
        } else if C::KEEP || self.spoilt {
            owed.extend(Self::range(command).map(|page| Owed {
                contents: self.pages.contents(page),
                unreadable: self.pages.is_unreadable(page),
            }));
        }
        let typical = self.mechanics.typical[usize::from(writes)] + Span(transfer);
        self.queue.ops[id] = DiskOp {
            token,
            command: *command,
            sequence: self.sequence,
            first,
            sectors,
            cylinder: self.mechanics.surface.place(first).cylinder,
            owed,
            typical,
            background: command.flags.has(Flags::BACKGROUND),
            asked: now,
            ..DiskOp::default()
        };
        self.queued += typical;
        self.queue.push(id);
        if writes {
            self.offer_to_cache(now, id);
        }
        self.go_on(now);
    }

    /// The second law: a page that waits to be written, or is being written, is still in memory.
    fn is_in_memory(&self, now: SimTime, page: u32) -> bool {
        self.in_memory.contains_key(&page) || self.under_way.writes(now, page)
    }
}

impl<C: Contents> Backends<C> for Disk<C> {
    fn submit(
        &mut self,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
    ) {
        debug_assert_eq!(backend, self.backend, "a disk is one backend");
        self.now = now;
        if self.dead {
            return self.answer_for_dead(now, command, token);
        }
        match command.verb {
            Verb::Read => self.read(now, command, token),
            Verb::Write => self.write(now, command, token, contents),
            Verb::Trim => self.trim(now, command, token),
            Verb::Remap => panic!("a disk's pages have no other address"),
        }
    }

    fn invalidate(&mut self, _: BackendId, page: Page) {
        self.invalidate_page(page);
    }

    fn poison(&mut self, _: BackendId, page: Page) {
        self.poison_page(page);
    }

    fn done(&mut self) -> &mut Vec<Done<C>> {
        &mut self.done
    }

    fn breakdowns(&mut self) -> Option<&mut Vec<Breakdown>> {
        self.latencies.as_mut().map(|latencies| &mut latencies.1)
    }
}

impl<C: Contents> BackendView for Disk<C> {
    /// What has been begun, and about what all that waits will take: it has but one arm.
    fn backlog(&self, _backend: BackendId, _page: Page) -> Span {
        self.backlog_at(self.now)
    }

    fn expected(&self, _backend: BackendId, _page: Page) -> ReadEstimate {
        self.expected_at(self.now)
    }

    fn wear(&self, _backend: BackendId) -> u64 {
        0
    }

    fn room(&self, _backend: BackendId) -> u64 {
        u64::MAX
    }

    fn holds(&self, _backend: BackendId, page: Page) -> bool {
        self.pages.holds(page.low())
    }

    fn is_unreadable(&self, _backend: BackendId, page: Page) -> bool {
        self.pages.is_unreadable(page.low())
    }

    fn oob(&self, _backend: BackendId, page: Page) -> Option<OobData> {
        self.oob_of(page)
    }
}
