//! Bit errors of reads (`[errors]`): which stage of the read chain corrects a page, drawn when the read is submitted.
//!
//! The outcome of a read is a function of its page, of what has happened to the page and its block, and of a number drawn
//! for (seed, block, page, erases, number of the read of the block). Timed and untimed runs submit the reads of a trace in
//! the same order, so they have the same outcomes.
//!
//! Of what the RBER depends on, the age of data and the reads of a block change with each read. They count in steps of a
//! sixteenth of an octave, the age from an hour after the program on, so that probabilities are computed once for many
//! reads of a block. What the drive counts in floating point are sums of these probabilities, block by block.
//!
//! A page that no stage corrects is *unreadable* until its block is erased, as after a transient fault
//! ([`faults`](super::faults)). From its submission until its answer such a read is listed as *doomed*: later reads of the
//! page fail like it, without a draw of their own.

use super::{Drive, OpKind, Parameters};
use crate::engine::{Cause, Contents};
use crate::flash::{ErrorModel, Geometry, PageTypes, PlaneId, Ppn, SoftSensing};
use crate::kernel::{Bits, SimTime, Span};
use flashkeep_errors::chain::Stage;
use flashkeep_errors::draw::uniform;
use flashkeep_errors::ecc::threshold;
use flashkeep_errors::rber::Conditions;
use std::sync::Arc;

/// The RBERs of reads by their logarithm.
const BINS_PER_DECADE: f64 = 256.0;
/// The lowest RBER that has a bin of its own.
const LEAST: f64 = 1e-10;
const BINS: usize = 2560;

/// What error correction had to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorCounts {
    /// Pages read for whose reads an outcome was drawn.
    pub reads: u64,
    /// Retries of these.
    pub retries: u64,
    /// Pages that hard decoding corrected after at least one retry.
    pub corrected: u64,
    /// Pages that soft decoding corrected.
    pub soft: u64,
    /// Pages that no stage corrected.
    pub uncorrectable: u64,
    /// The probability that no stage corrects a page, summed over all reads.
    pub expected: f64,
    /// Bits of data read.
    pub user_bits: f64,
    /// The probability that no stage corrects a codeword, summed over these.
    pub expected_codewords: f64,
    /// Wrong data that the decoder passed on.
    pub miscorrected: u64,
    /// Wrong data that were noticed, because data are checked end to end.
    pub caught: u64,
    /// The RBER of the page, summed over reads.
    rber_sum: f64,
    rber_max: f64,
    /// Reads by RBER.
    bins: Vec<u64>,
}

impl ErrorCounts {
    /// Adds those of another drive.
    pub fn add(&mut self, other: &ErrorCounts) {
        self.reads += other.reads;
        self.retries += other.retries;
        self.corrected += other.corrected;
        self.soft += other.soft;
        self.uncorrectable += other.uncorrectable;
        self.expected += other.expected;
        self.user_bits += other.user_bits;
        self.expected_codewords += other.expected_codewords;
        self.miscorrected += other.miscorrected;
        self.caught += other.caught;
        self.rber_sum += other.rber_sum;
        self.rber_max = self.rber_max.max(other.rber_max);
        self.bins.resize(self.bins.len().max(other.bins.len()), 0);
        self.bins.iter_mut().zip(&other.bins).for_each(|(count, more)| *count += more);
    }

    /// The mean RBER of the pages read.
    #[must_use]
    pub fn mean_rber(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.rber_sum / self.reads as f64)
    }

    /// The largest RBER of a page read.
    #[must_use]
    pub fn largest_rber(&self) -> Option<f64> {
        (self.reads > 0).then_some(self.rber_max)
    }

    /// The RBER that this share of the reads does not exceed, at most 0.5 % too high.
    #[must_use]
    pub fn rber_at(&self, share: f64) -> Option<f64> {
        let wanted = libm::ceil(self.reads as f64 * share) as u64;
        let mut sum = 0;
        let bin = self.bins.iter().position(|count| {
            sum += count;
            sum >= wanted
        })?;
        let upper = LEAST * libm::pow(10.0, (bin as f64 + 1.0) / BINS_PER_DECADE);
        (self.reads > 0).then(|| upper.min(self.rber_max))
    }

    fn count(&mut self, state: &PageState, codeword_bits: u32) {
        let reads = state.pending;
        if reads == 0 {
            return;
        }
        let times = reads as f64;
        self.reads += reads;
        self.expected += times * state.failure;
        self.user_bits += times * f64::from(state.codewords) * f64::from(codeword_bits);
        self.expected_codewords += times * f64::from(state.codewords) * state.codeword_failure;
        self.rber_sum += times * state.rber;
        self.rber_max = self.rber_max.max(state.rber);
        let place = BINS_PER_DECADE * (libm::log10(state.rber.max(LEAST)) - libm::log10(LEAST));
        self.bins.resize(BINS, 0);
        self.bins[(place as usize).min(BINS - 1)] += reads;
    }
}

/// What reads of some pages of a block have in common, until `reads` or `time`.
#[derive(Clone, Debug, Default)]
struct PageState {
    until_reads: u64,
    until: SimTime,
    codewords: u32,
    /// Reads in this state that have not been counted yet.
    pending: u64,
    rber: f64,
    /// The probability that the first attempt fails, in units of 2⁻⁶⁴.
    first_failure: u64,
    /// The probability that no stage corrects the page, and a codeword.
    failure: f64,
    codeword_failure: f64,
}

/// What has happened to a block, as far as its errors depend on it.
#[derive(Clone, Debug, Default)]
struct BlockState {
    /// Its erases when it was looked at last; none if it was not.
    erases: Option<u32>,
    /// Sensings of its pages since its last erase, or since time 0.
    reads: u64,
    /// When the first of its pages was programmed that did not exist at time 0; none if there are none.
    programmed: Option<SimTime>,
    /// The factor on its RBER.
    factor: f64,
    /// Pages of it that no stage has corrected, in all of its life.
    given_up: u32,
    /// Pages that existed at time 0, and others.
    states: [PageState; 2],
}

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
    /// Pages programmed since time 0; only where data have an age at time 0.
    fresh: Bits,
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
            blocks: vec![BlockState::default(); geometry.block_space()],
            fresh: Bits::default(),
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
        self.blocks.fill(BlockState::default());
    }

    /// Time 0: what was read and programmed before is no part of the run.
    pub(super) fn begin(&mut self) {
        self.blocks.fill(BlockState::default());
        self.fresh = Bits::default();
        self.doomed.clear();
        self.counts = ErrorCounts::default();
    }

    /// Counting begins.
    pub(super) fn reset_counts(&mut self) {
        for state in self.blocks.iter_mut().flat_map(|block| &mut block.states) {
            state.pending = 0;
        }
        self.counts = ErrorCounts::default();
    }

    /// What has been counted.
    pub(super) fn counts(&self) -> ErrorCounts {
        let mut counts = self.counts.clone();
        self.blocks
            .iter()
            .flat_map(|block| &block.states)
            .for_each(|state| counts.count(state, self.user_bits));
        counts
    }

    /// A page is programmed at `now`.
    fn note_programmed(&mut self, now: SimTime, at: usize, ppn: Ppn, erases: u32) {
        if self.blocks[at].erases != Some(erases) {
            self.begin_block(at, erases);
        }
        self.blocks[at].programmed.get_or_insert(now);
        self.fresh.set(ppn.0, true);
    }

    /// A block is seen for the first time, or for the first time since it was erased.
    #[inline(never)]
    fn begin_block(&mut self, at: usize, erases: u32) {
        let block = &mut self.blocks[at];
        for state in &mut block.states {
            self.counts.count(state, self.user_bits);
            *state = PageState::default();
        }
        if block.erases.is_none() {
            block.factor = self.model.block_factor(self.seed, at as u64);
        }
        (block.erases, block.reads, block.programmed) = (Some(erases), 0, None);
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

/// A page that is read: where it is, and what its block has been through.
#[derive(Clone, Copy)]
struct Sensed {
    ppn: Ppn,
    /// Its block, and its number within it.
    block: usize,
    page: u32,
    erases: u32,
    /// Those before time 0.
    erases_before: u32,
    slc: bool,
}

impl ReadErrors {
    /// Draws what becomes of a read of so many sectors, 0 for a whole page.
    #[inline]
    fn draw(&mut self, now: SimTime, sensed: Sensed, sectors: u16) -> Course {
        let Sensed { ppn, block: at, page, erases, .. } = sensed;
        if self.blocks[at].erases != Some(erases) {
            self.begin_block(at, erases);
        }
        let old = !self.fresh.has(ppn.0);
        let codewords = self.codewords[usize::from(sectors)];
        let block = &mut self.blocks[at];
        let number = block.reads;
        block.reads += 1;
        let state = &mut block.states[usize::from(old)];
        if number >= state.until_reads
            || now >= state.until
            || codewords != state.codewords
            || !self.page_factors.is_empty()
        {
            self.renew(now, sensed, old, codewords);
        }
        let state = &mut self.blocks[at].states[usize::from(old)];
        state.pending += 1;
        let drawn = uniform(self.seed, at as u64, u64::from(page), u64::from(erases), number);
        if drawn >= state.first_failure {
            return Course::default();
        }
        self.draw_further(sensed, old, drawn)
    }

    /// Computes the probabilities of reads from now on.
    #[inline(never)]
    fn renew(&mut self, now: SimTime, sensed: Sensed, old: bool, codewords: u32) {
        let model = Arc::clone(&self.model);
        let block = &self.blocks[sensed.block];
        self.counts.count(&block.states[usize::from(old)], self.user_bits);
        let pages = u64::from(self.flash_pages);
        let (reads, until_reads) = step(block.reads, pages / 16);
        let before = if sensed.erases == sensed.erases_before { model.page_reads } else { 0.0 };
        let since = block.programmed.filter(|_| !old).unwrap_or(SimTime::ZERO);
        let (age, until_age) = step(now.since(since).0, HOUR);
        let cycles = match model.cycles {
            Some(cycles) => cycles + f64::from(sensed.erases.saturating_sub(sensed.erases_before)),
            None => f64::from(sensed.erases),
        };
        let days = age / DAY + if old { model.retention_days } else { 0.0 };
        let [until_reads, until_age] =
            self.limits(sensed.ppn, before, block.reads, until_reads, days, until_age);
        let block = &self.blocks[sensed.block];
        let conditions = Conditions { cycles, days, reads: before + reads / pages as f64 };
        let of_page = self.page_factors.get((sensed.page / self.places) as usize).copied().unwrap_or(1.0);
        let cells = if sensed.slc { model.slc_factor } else { of_page };
        let rber = model.rber.at(conditions, block.factor * cells);
        let first = model.chain.attempts(rber, codewords).next().map_or(0.0, |attempt| attempt.page_failure);
        self.blocks[sensed.block].states[usize::from(old)] = PageState {
            until_reads,
            until: since + Span(until_age),
            codewords,
            pending: 0,
            rber,
            first_failure: threshold(first),
            failure: model.chain.uncorrectable(rber, codewords),
            codeword_failure: model.chain.uncorrectable(rber, 1),
        };
    }

    /// Looks whether the data of a block are to be moved now. Returns the number of its reads, and the age of its data in the
    /// run, at which it looks again: at the next step or when they are due.
    fn limits(
        &mut self,
        ppn: Ppn,
        before: f64,
        reads: u64,
        until_reads: u64,
        days: f64,
        until_age: u64,
    ) -> [u64; 2] {
        let ErrorModel { reclaim_reads, refresh_days, .. } = &*self.model;
        let pages = f64::from(self.flash_pages);
        let by_reads = reclaim_reads.map(|most| libm::ceil((most - before).max(0.0) * pages) as u64);
        if by_reads.is_some_and(|most| reads >= most) || refresh_days.is_some_and(|most| days >= most) {
            self.due = Some(ppn);
        }
        let later = |limit: Option<u64>, now: u64, until: u64| {
            limit.filter(|&at| at > now).map_or(until, |at| at.min(until))
        };
        [later(by_reads, reads, until_reads), until_age]
    }

    /// The first attempt fails.
    #[inline(never)]
    fn draw_further(&mut self, sensed: Sensed, old: bool, drawn: u64) -> Course {
        let block = &mut self.blocks[sensed.block];
        let state = &mut block.states[usize::from(old)];
        self.counts.count(state, self.user_bits);
        state.pending = 0;
        let outcome = self.model.chain.read(state.rber, state.codewords, drawn);
        let soft = self.model.soft.filter(|_| !matches!(outcome.stage, Stage::Corrected(_)));
        let mut course = Course {
            retries: outcome.retries as u8,
            sensings: soft.map_or(0, |soft| soft.sensings),
            soft: soft.is_some(),
            ..Course::default()
        };
        block.reads += u64::from(course.retries) + u64::from(course.sensings);
        self.counts.retries += u64::from(course.retries);
        match outcome.stage {
            Stage::Corrected(retries) => self.counts.corrected += u64::from(retries > 0),
            Stage::Soft => self.counts.soft += 1,
            Stage::Uncorrectable => course.verdict = self.give_up(sensed, drawn),
        }
        course
    }

    /// No stage corrects a page.
    fn give_up(&mut self, sensed: Sensed, drawn: u64) -> Verdict {
        let passes = uniform(!self.seed, drawn, u64::from(sensed.page), 0, 0) < self.model.miscorrects;
        if passes && !self.model.end_to_end {
            self.counts.miscorrected += 1;
            return Verdict::Wrong;
        }
        self.counts.caught += u64::from(passes);
        self.counts.uncorrectable += 1;
        self.blocks[sensed.block].given_up += 1;
        self.doomed.push(sensed.ppn);
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
        let geometry = &self.flash.geometry;
        let (plane, number) = (geometry.plane_of(ppn), geometry.block_of(ppn));
        let slc = geometry.is_slc_block(number);
        let sensed = Sensed {
            ppn,
            block: geometry.block_index_of(ppn),
            page: geometry.page_of(ppn),
            erases: self.ftl.blocks.erases_of(plane, number),
            erases_before: match slc {
                true => 0,
                false => self.accounts.erases_before.at((plane.0 * geometry.blocks + number) as usize),
            },
            slc,
        };
        let Some(errors) = &mut self.errors else { return Course::default() };
        if unreadable || errors.doomed.contains(&ppn) {
            return Course { verdict: Verdict::Unreadable, ..Course::default() };
        }
        let course = errors.draw(now, sensed, sectors);
        // An unreadable page stays where it is until its read has ended.
        if let Some(due) = errors.due.take()
            && course.verdict != Verdict::Unreadable
        {
            self.ask_for_refresh(now, due);
        }
        course
    }

    /// Whether too many pages of a block were unreadable for it to be used again.
    pub(super) fn is_given_up_block(&self, plane: PlaneId, block: u32) -> bool {
        let Some(errors) = &self.errors else { return false };
        let given_up = errors.blocks[self.flash.geometry.block_index(plane, block)].given_up;
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
        let geometry = &self.flash.geometry;
        let erases = self.ftl.blocks.erases_of(geometry.plane_of(ppn), geometry.block_of(ppn));
        let at = geometry.block_index_of(ppn);
        if let Some(errors) = &mut self.errors {
            errors.note_programmed(now, at, ppn, erases);
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
