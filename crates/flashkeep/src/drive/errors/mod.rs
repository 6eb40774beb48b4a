//! Bit errors of reads (`[errors]`): which stage of the read chain corrects a page, drawn when the read is submitted.
//!
//! The outcome of a read is a function of its page, of what has happened to the page and its block, and of a number drawn
//! for (seed, block, page, erases, number of the read of the block). Timed and untimed runs submit the reads of a trace in
//! the same order, so they have the same outcomes.
//!
//! Of what the RBER depends on, the age of data and the reads of a block change with each read. They count in steps of a
//! sixteenth of an octave, the reads from one a page on and the age from an hour after the program on, so that probabilities
//! are computed once for many reads of a block. What the drive counts in floating point are sums of these probabilities,
//! block by block.
//!
//! A page that no stage corrects is *unreadable* until its block is erased, as after a transient fault
//! ([`faults`](super::faults)). From its submission until its answer such a read is listed as *doomed*: later reads of the
//! page fail like it, without a draw of their own.

mod blocks;
mod counts;

pub use counts::ErrorCounts;

use super::{Drive, OpKind, Parameters};
use crate::engine::{Cause, Contents};
use crate::flash::{ErrorModel, Geometry, PageTypes, PlaneId, Ppn, SoftSensing};
use crate::kernel::{Bits, FixedMap, SimTime, Span, filled_in_large_pages};
use blocks::{BlockRates, BlockState, DataCondition, RecentRates, UNSEEN};
use flashkeep_errors::chain::Stage;
use flashkeep_errors::draw::uniform;
use flashkeep_errors::rber::Conditions;
use std::sync::Arc;

/// How a read ends, as far as is known when it is submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    /// With the data of the page.
    #[default]
    Right,
    /// With an error.
    Unreadable,
    /// With other data.
    Wrong,
}

/// What a read still has to do before its data are right, or given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Course {
    /// Retries to come.
    pub(super) retries: u8,
    /// Sensings for soft decoding to come.
    pub(super) sensings: u8,
    /// Whether soft decoding follows.
    pub(super) soft: bool,
    /// Whether this is a retry, or a sensing for soft decoding.
    pub(super) again: bool,
    /// Whether these are data of an attempt that is known to fail: they cross the channel, and that is all.
    pub(super) discarded: bool,
    pub(super) verdict: Verdict,
}

impl Course {
    /// Whether the page is sensed again after this.
    #[inline]
    pub(super) fn goes_on(self) -> bool {
        self.retries > 0 || self.sensings > 0
    }

    /// The attempt under way is the last one.
    pub(super) fn give_up(&mut self) {
        (self.retries, self.sensings) = (0, 0);
    }

    /// The next attempt begins.
    pub(super) fn advance(&mut self) {
        self.again = true;
        match self.retries {
            0 => self.sensings -= 1,
            _ => self.retries -= 1,
        }
    }
}

/// The errors of a drive's reads.
#[derive(Clone, Debug)]
pub(super) struct ReadErrors {
    pub(super) model: Arc<ErrorModel>,
    seed: u64,
    types: PageTypes,
    /// Pages of the map that share a page of the flash.
    places: u32,
    /// Pages of the flash in a block.
    flash_pages: u32,
    /// Bits of data of a codeword.
    user_bits: u32,
    /// Codewords of a read of this many sectors; place 0 is a whole page.
    codewords: Vec<u32>,
    /// The factor of each flash page of a block; empty where they are alike.
    page_factors: Vec<f64>,
    blocks: Vec<BlockState>,
    rates: Vec<BlockRates>,
    /// No block has been looked at.
    untouched: bool,
    recent: RecentRates,
    /// Pages programmed since time 0; only where data have an age at time 0.
    fresh: Bits,
    /// By block, for each of its pages: the RBER of the data that a copyback brought there, since nothing corrects them on
    /// the way.
    carried: FixedMap<u32, Vec<f64>>,
    /// Pages of reads under way that will fail.
    doomed: Vec<Ppn>,
    /// A page of a block that was found to be due for a refresh by the last draw.
    due: Option<Ppn>,
    counts: ErrorCounts,
}

impl ReadErrors {
    pub(super) fn of(drive: &Parameters, geometry: &Geometry) -> Option<Box<ReadErrors>> {
        let model = drive.errors.clone()?;
        let sector_bytes = u64::from(drive.flash.sector_bytes);
        let sectors = drive.page_sectors;
        let codewords = std::iter::once(sectors).chain(1..=sectors * u64::from(drive.places));
        Some(Box::new(ReadErrors {
            seed: 0,
            user_bits: model.chain.code().user_bits(),
            types: drive.page_types.clone(),
            places: drive.places,
            flash_pages: geometry.pages / drive.places,
            codewords: codewords.map(|sectors| model.codewords(sectors * sector_bytes)).collect(),
            page_factors: Vec::new(),
            blocks: filled_in_large_pages(BlockState::of(UNSEEN), geometry.block_space()),
            rates: filled_in_large_pages(BlockRates::default(), geometry.block_space()),
            untouched: true,
            recent: RecentRates::default(),
            fresh: Bits::default(),
            carried: FixedMap::default(),
            doomed: Vec::new(),
            due: None,
            counts: ErrorCounts::default(),
            model,
        }))
    }

    /// The seed of the drive's random numbers.
    pub(super) fn seed(&mut self, seed: u64) {
        self.seed = seed;
        self.page_factors = self.model.page_factors(seed, &self.types, self.flash_pages);
        self.forget_blocks();
    }

    fn forget_blocks(&mut self) {
        if std::mem::replace(&mut self.untouched, true) {
            return;
        }
        self.blocks.fill(BlockState::of(UNSEEN));
        self.rates.fill(BlockRates::default());
    }

    /// Time 0: what was read and programmed before is no part of the run.
    pub(super) fn begin(&mut self) {
        self.forget_blocks();
        self.fresh = Bits::default();
        self.carried = FixedMap::default();
        self.doomed.clear();
        self.counts = ErrorCounts::default();
    }

    /// Counting begins.
    pub(super) fn reset_counts(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.pending = 0);
        self.counts = ErrorCounts::default();
    }

    /// What has been counted.
    pub(super) fn counts(&self) -> ErrorCounts {
        let mut counts = self.counts.clone();
        for (state, rates) in self.blocks.iter().zip(&self.rates).filter(|(state, _)| state.pending > 0) {
            counts.count(state.pending, &rates.rates, self.user_bits);
        }
        counts
    }

    /// Counts the reads of a block that are not counted yet.
    fn count_pending(&mut self, at: usize) {
        let pending = std::mem::take(&mut self.blocks[at].pending);
        if pending > 0 {
            self.counts.count(pending, &self.rates[at].rates, self.user_bits);
        }
    }

    /// A page is programmed at `now`.
    fn note_programmed(&mut self, now: SimTime, place: BlockPlace, ppn: Ppn) {
        self.look_at_block(place);
        let at = place.block;
        let block = &mut self.blocks[at];
        if !block.programmed {
            (block.programmed, self.rates[at].programmed) = (true, now);
        }
        self.fresh.set(ppn.0, true);
    }

    /// The data of a page are copied to another one without error correction: the errors that they have now stay in them.
    fn note_copied(&mut self, now: SimTime, from: Sensed, to: Sensed) {
        self.look_at_block(from.place);
        self.look_at_block(to.place);
        let carried = self.condition(now, from, !self.fresh.has(from.ppn.0)).data.rber(&self.model);
        let block = &mut self.blocks[from.place.block];
        block.reads = block.reads.saturating_add(1);
        self.blocks[to.place.block].carries = true;
        let pages = self.carried.entry(to.place.block as u32).or_default();
        pages.resize(pages.len().max(to.page as usize + 1), 0.0);
        pages[to.page as usize] = carried;
    }

    #[inline]
    fn look_at_block(&mut self, place: BlockPlace) {
        if self.blocks[place.block].erases != place.erases {
            self.begin_block(place);
        }
    }

    /// A block is seen for the first time, or for the first time since it was erased.
    #[inline(never)]
    fn begin_block(&mut self, BlockPlace { block: at, erases }: BlockPlace) {
        self.untouched = false;
        self.count_pending(at);
        if self.blocks[at].erases == UNSEEN {
            self.rates[at].factor = self.model.block_factor(self.seed, at as u64);
        }
        self.blocks[at] = BlockState::of(erases);
        self.carried.remove(&(at as u32));
    }
}

/// The largest step at or below a value, in sixteenths of an octave from `unit` on, and the next step. Below `unit` it is
/// 0.
fn step(value: u64, unit: u64) -> (f64, u64) {
    let unit = unit.max(1);
    if value < unit {
        return (0.0, unit);
    }
    let at = |step: f64| libm::exp2(step / 16.0) * unit as f64;
    let step = libm::floor(16.0 * libm::log2(value as f64 / unit as f64));
    (at(step), (libm::ceil(at(step + 1.0)) as u64).max(value + 1))
}

/// An hour in ns: the age of data counts from then on.
const HOUR: u64 = 3_600_000_000_000;
const DAY: f64 = 24.0 * HOUR as f64;

/// A block, and how often it has been erased.
#[derive(Clone, Copy)]
struct BlockPlace {
    block: usize,
    erases: u32,
}

/// A page that is read: where it is, and what its block has been through.
#[derive(Clone, Copy)]
struct Sensed {
    ppn: Ppn,
    /// Its block, and its number within it.
    place: BlockPlace,
    page: u32,
    /// The erases of its block before time 0.
    erases_before: u32,
    slc: bool,
}

/// The condition of the data of a page, and how long it counts as this one.
struct LastingCondition {
    data: DataCondition,
    /// Reads of the page before time 0.
    before: f64,
    /// Sensings of its block.
    sensings: u64,
    /// The number of sensings, and the instant, from which on it is another one.
    until_reads: u64,
    until: SimTime,
}

impl ReadErrors {
    /// A read of so many sectors begins, 0 for a whole page: its number among those of its block. Whether its probabilities
    /// are not those of the read before.
    #[inline]
    fn begin_read(&mut self, now: SimTime, place: BlockPlace, ppn: Ppn, sectors: u16) -> (u32, bool) {
        self.look_at_block(place);
        let old = !self.fresh.has(ppn.0);
        let block = &mut self.blocks[place.block];
        let number = block.reads;
        block.reads = number.saturating_add(1);
        let is_other = number >= block.until_reads
            || now >= block.until
            || sectors != block.sectors
            || old != block.old
            || block.pending == u16::MAX
            || !self.page_factors.is_empty()
            || block.carries;
        (number, is_other)
    }

    /// Draws what becomes of the read of its block that has this number.
    #[inline]
    fn draw(&mut self, place: BlockPlace, page: u32, ppn: Ppn, number: u32) -> Course {
        let block = &mut self.blocks[place.block];
        block.pending += 1;
        if !block.can_fail {
            return Course::default();
        }
        let drawn = uniform(self.seed, place.block as u64, page.into(), place.erases.into(), number.into());
        if (drawn >> 32) as u32 > block.first_failure {
            return Course::default();
        }
        self.draw_further(place.block, page, ppn, drawn)
    }

    /// Computes the probabilities of reads from now on.
    #[inline(never)]
    fn renew(&mut self, now: SimTime, sensed: Sensed, sectors: u16) {
        let old = !self.fresh.has(sensed.ppn.0);
        let model = Arc::clone(&self.model);
        self.count_pending(sensed.place.block);
        let LastingCondition { data, before, sensings, until_reads, until } =
            self.condition(now, sensed, old);
        let until_reads = self.limit(sensed.ppn, before, data.conditions.days, [sensings, until_reads]);
        let codewords = self.codewords[usize::from(sectors)];
        let (block, rates) = (&mut self.blocks[sensed.place.block], &mut self.rates[sensed.place.block]);
        rates.rates = self.recent.of(&model, data, codewords);
        block.can_fail = rates.rates.first_failure > 0;
        block.first_failure = (rates.rates.first_failure >> 32) as u32;
        (block.until_reads, block.until) = (until_reads.min(u32::MAX.into()) as u32, until);
        (block.sectors, block.old) = (sectors, old);
    }

    /// The condition of the data of a page; `old` data existed at time 0.
    fn condition(&self, now: SimTime, sensed: Sensed, old: bool) -> LastingCondition {
        let model = &*self.model;
        let (block, rates) = (&self.blocks[sensed.place.block], &self.rates[sensed.place.block]);
        let pages = u64::from(self.flash_pages);
        let sensings = u64::from(block.reads);
        let (reads, until_reads) = step(sensings, pages);
        let before = if sensed.place.erases == sensed.erases_before { model.page_reads } else { 0.0 };
        let since = if old || !block.programmed { SimTime::ZERO } else { rates.programmed };
        let (age, until_age) = step(now.since(since).0, HOUR);
        let cycles = match model.cycles {
            Some(cycles) => cycles + f64::from(sensed.place.erases.saturating_sub(sensed.erases_before)),
            None => f64::from(sensed.place.erases),
        };
        let days = age / DAY + if old { model.retention_days } else { 0.0 };
        let conditions = Conditions { cycles, days, reads: before + reads / pages as f64 };
        let of_page = self.page_factors.get((sensed.page / self.places) as usize).copied().unwrap_or(1.0);
        let cells = if sensed.slc { model.slc_factor } else { of_page };
        let carried =
            self.carried.get(&(sensed.place.block as u32)).and_then(|pages| pages.get(sensed.page as usize));
        let carried = carried.copied().unwrap_or(0.0);
        let data = DataCondition { conditions, factor: rates.factor * cells, carried };
        LastingCondition { data, before, sensings, until_reads, until: since + Span(until_age) }
    }

    /// Looks whether the data of a block are to be moved now. Returns the number of its reads at which it looks again: at the
    /// next step or when they are due. The age of the data is looked at in steps only.
    fn limit(&mut self, ppn: Ppn, before: f64, days: f64, [reads, until_reads]: [u64; 2]) -> u64 {
        let ErrorModel { reclaim_reads, refresh_days, .. } = &*self.model;
        let pages = f64::from(self.flash_pages);
        let by_reads = reclaim_reads.map(|most| libm::ceil((most - before).max(0.0) * pages) as u64);
        if by_reads.is_some_and(|most| reads >= most) || refresh_days.is_some_and(|most| days >= most) {
            self.due = Some(ppn);
        }
        by_reads.filter(|&at| at > reads).map_or(until_reads, |at| at.min(until_reads))
    }

    /// The first attempt fails, or nearly so.
    #[inline(never)]
    fn draw_further(&mut self, block: usize, page: u32, ppn: Ppn, drawn: u64) -> Course {
        let rates = self.rates[block].rates;
        if drawn >= rates.first_failure {
            return Course::default();
        }
        let outcome = self.model.chain.read(rates.rber, rates.codewords, drawn);
        let soft = self.model.soft.filter(|_| !matches!(outcome.stage, Stage::Corrected(_)));
        let mut course = Course {
            retries: outcome.retries as u8,
            sensings: soft.map_or(0, |soft| soft.sensings),
            soft: soft.is_some(),
            ..Course::default()
        };
        let state = &mut self.blocks[block];
        state.reads = state.reads.saturating_add(u32::from(course.retries) + u32::from(course.sensings));
        self.counts.retries += u64::from(course.retries);
        match outcome.stage {
            Stage::Corrected(retries) => self.counts.corrected += u64::from(retries > 0),
            Stage::Soft => self.counts.soft += 1,
            Stage::Uncorrectable => course.verdict = self.give_up(block, page, ppn, drawn),
        }
        course
    }

    /// No stage corrects a page.
    fn give_up(&mut self, block: usize, page: u32, ppn: Ppn, drawn: u64) -> Verdict {
        let passes = uniform(!self.seed, drawn, u64::from(page), 0, 0) < self.model.miscorrects;
        if passes && !self.model.end_to_end {
            self.counts.miscorrected += 1;
            return Verdict::Wrong;
        }
        self.counts.caught += u64::from(passes);
        self.counts.uncorrectable += 1;
        self.rates[block].given_up += 1;
        self.doomed.push(ppn);
        Verdict::Unreadable
    }
}

impl<C: Contents> Drive<C> {
    /// The seed of the drive's errors.
    pub fn seed_errors(&mut self, seed: u64) {
        if let Some(errors) = &mut self.errors {
            errors.seed(seed);
        }
    }

    /// What error correction had to do; none without an error model.
    #[must_use]
    pub fn error_counts(&self) -> Option<ErrorCounts> {
        self.errors.as_ref().map(|errors| errors.counts())
    }

    /// Forgets what was counted.
    pub fn reset_error_counts(&mut self) {
        if let Some(errors) = &mut self.errors {
            errors.reset_counts();
        }
    }

    /// Whether pages may be unreadable.
    #[inline]
    pub(super) fn checks_pages(&self) -> bool {
        self.health.damaged || self.health.unreadable
    }

    /// Draws what becomes of a read of a page that can be read so far.
    #[inline]
    pub(super) fn draw_errors(&mut self, now: SimTime, ppn: Ppn, sectors: u16) -> Course {
        if self.errors.is_none() { Course::default() } else { self.draw_course(now, ppn, sectors) }
    }

    #[inline(never)]
    fn draw_course(&mut self, now: SimTime, ppn: Ppn, sectors: u16) -> Course {
        let unreadable = self.checks_pages() && self.ftl.blocks.is_unreadable(ppn);
        let (place, page) = (self.block_place(ppn), self.flash.geometry.page_of(ppn));
        let Some(errors) = &mut self.errors else { return Course::default() };
        if unreadable || errors.doomed.contains(&ppn) {
            return Course { verdict: Verdict::Unreadable, ..Course::default() };
        }
        let (number, is_other) = errors.begin_read(now, place, ppn, sectors);
        if is_other {
            self.renew_probabilities(now, ppn, sectors);
        }
        let Some(errors) = &mut self.errors else { return Course::default() };
        let course = errors.draw(place, page, ppn, number);
        // An unreadable page stays where it is until its read has ended.
        if let Some(due) = errors.due.take()
            && course.verdict != Verdict::Unreadable
        {
            self.ask_for_refresh(now, due);
        }
        course
    }

    #[inline(never)]
    fn renew_probabilities(&mut self, now: SimTime, ppn: Ppn, sectors: u16) {
        let sensed = self.sensed(ppn);
        if let Some(errors) = &mut self.errors {
            errors.renew(now, sensed, sectors);
        }
    }

    #[inline]
    fn block_place(&self, ppn: Ppn) -> BlockPlace {
        let geometry = &self.flash.geometry;
        let (plane, number) = (geometry.plane_of(ppn), geometry.block_of(ppn));
        BlockPlace { block: geometry.block_index_of(ppn), erases: self.ftl.blocks.erases_of(plane, number) }
    }

    fn sensed(&self, ppn: Ppn) -> Sensed {
        let geometry = &self.flash.geometry;
        let (plane, number) = (geometry.plane_of(ppn), geometry.block_of(ppn));
        let slc = geometry.is_slc_block(number);
        Sensed {
            ppn,
            place: self.block_place(ppn),
            page: geometry.page_of(ppn),
            erases_before: match slc {
                true => 0,
                false => self.accounts.erases_before.at((plane.0 * geometry.blocks + number) as usize),
            },
            slc,
        }
    }

    /// A page has been copied to another one inside its plane.
    #[inline]
    pub(super) fn note_copied(&mut self, now: SimTime, from: Ppn, to: Ppn) {
        if self.errors.is_none() {
            return;
        }
        let (from, to) = (self.sensed(from), self.sensed(to));
        if let Some(errors) = &mut self.errors {
            errors.note_copied(now, from, to);
        }
    }

    /// Whether too many pages of a block were unreadable for it to be used again.
    pub(super) fn is_given_up_block(&self, plane: PlaneId, block: u32) -> bool {
        let Some(errors) = &self.errors else { return false };
        let given_up = errors.rates[self.flash.geometry.block_index(plane, block)].given_up;
        errors.model.retire_after.is_some_and(|most| given_up >= most)
    }

    /// A page that existed at time 0 is created.
    #[inline]
    pub(super) fn note_old_data(&mut self, ppn: Ppn) {
        if let Some(errors) = &mut self.errors {
            errors.fresh.set(ppn.0, false);
        }
    }

    /// A page is programmed at `now`, if its errors matter.
    #[inline]
    pub(super) fn note_data(&mut self, now: SimTime, ppn: Ppn) {
        if self.errors.is_some() {
            self.note_program(now, ppn);
        }
    }

    #[inline(never)]
    fn note_program(&mut self, now: SimTime, ppn: Ppn) {
        let place = self.block_place(ppn);
        if let Some(errors) = &mut self.errors {
            errors.note_programmed(now, place, ppn);
        }
    }

    /// A read of a page has ended in an error: the page is unreadable from now on.
    #[cold]
    pub(super) fn note_uncorrectable(&mut self, ppn: Ppn) {
        self.forget_doomed(ppn);
        self.ftl.blocks.poison(ppn);
        self.set_unreadable();
    }

    /// From now on every command checks for unreadable pages.
    fn set_unreadable(&mut self) {
        self.health.unreadable = true;
        self.paths.commands = super::submit::Commands::Checked;
    }

    /// A read that would have failed has ended otherwise.
    pub(super) fn forget_doomed(&mut self, ppn: Ppn) {
        if let Some(errors) = &mut self.errors
            && let Some(at) = errors.doomed.iter().position(|&page| page == ppn)
        {
            errors.doomed.swap_remove(at);
        }
    }

    /// A page has moved, and reads that wait for it follow.
    pub(super) fn move_doomed(&mut self, from: Ppn, to: Ppn) {
        if let Some(errors) = &mut self.errors
            && let Some(page) = errors.doomed.iter_mut().find(|page| **page == from)
        {
            *page = to;
        }
    }

    /// All reads under way are gone.
    pub(super) fn forget_all_doomed(&mut self) {
        if let Some(errors) = &mut self.errors {
            errors.doomed.clear();
        }
    }

    /// Counts the retries and further sensings of a read without time.
    pub(super) fn count_attempts(&mut self, ftl: usize, course: Course) {
        let again = u64::from(course.retries) + u64::from(course.sensings);
        if again > 0 {
            self.accounts.counters.add(ftl as u16, OpKind::Read, Cause::Retry, again);
        }
    }

    /// A read without time has this course: whether it fails, and what it returns otherwise.
    pub(super) fn end_untimed(&mut self, ftl: usize, course: Course, ppn: Ppn, contents: C) -> Option<C> {
        self.count_attempts(ftl, course);
        match course.verdict {
            Verdict::Right => Some(contents),
            Verdict::Wrong => Some(contents.corrupted()),
            Verdict::Unreadable => {
                self.note_uncorrectable(ppn);
                None
            }
        }
    }

    /// The time of decoding behind a transfer of a read with this course, until it is answered or sensed again.
    #[inline]
    pub(super) fn decoding(&self, course: Course) -> Span {
        self.errors.as_ref().map_or(Span::ZERO, |errors| {
            let ErrorModel { decode, soft, .. } = &*errors.model;
            // The last hard decoding comes before the first sensing for soft decoding.
            match (soft, course.soft && course.retries == 0) {
                (Some(SoftSensing { sensings, decode: soft }), true) => {
                    let first = if course.sensings == *sensings { *decode } else { Span::ZERO };
                    let last = if course.sensings == 0 { *soft } else { Span::ZERO };
                    first + last
                }
                _ => *decode,
            }
        })
    }
}
