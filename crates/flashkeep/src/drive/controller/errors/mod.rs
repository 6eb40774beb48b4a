//! Bit errors of reads (`[errors]`): which stage of the read chain corrects a page, drawn when the read is submitted.
//!
//! The outcome of a read is a function of its page, of what has happened to the page and its block, and of a number drawn
//! for (seed, block, page, erases, number of the read of the block). Timed and untimed runs submit the reads of a trace in
//! the same order, so they have the same outcomes.
//!
//! Of what the RBER depends on, the age of data and the reads of a block change with each read. They count in steps of a
//! sixteenth of an octave, the reads from one a page on and the age from an hour after the program on, so that probabilities
//! are computed once for many reads of a block, and blocks in the same condition share them. What the drive counts in
//! floating point are sums of these probabilities, condition by condition.
//!
//! A page that no stage corrects is *unreadable* until its block is erased, as after a transient fault
//! ([`faults`](super::faults)). From its submission until its answer such a read is listed as pending (it will
//! fail): later reads of the page fail like it, without a draw of their own.

mod blocks;
mod counts;

pub use counts::ErrorCounts;

use super::Parameters;
use super::queue::DriveOp;
use crate::drive::controller::Controller;
use crate::drive::controller::PageOwner;
use crate::engine::Contents;
use crate::flash::{
    ErrorModel, FlashArray, Geometry, OpKind, OpPhases, PageTypes, PlaneId, Ppn, SoftSensing, Target,
};
use crate::kernel::{Bits, FixedMap, SimTime, Span, filled_in_large_pages};
use blocks::{BlockState, DataCondition, RateTable, ReadRates};
use flashkeep_errors::chain::Stage;
use flashkeep_errors::draw::uniform;
use flashkeep_errors::rber::Conditions;
use std::sync::Arc;

/// How a read ends, as far as is known when it is submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::drive) enum Verdict {
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
pub(in crate::drive) struct ReadAttempts {
    /// Retries to come.
    pub retries: u8,
    /// Sensings for soft decoding to come.
    pub sensings: u8,
    /// Whether soft decoding follows.
    pub soft: bool,
    /// Whether this is a retry, or a sensing for soft decoding.
    pub again: bool,
    /// Whether these are data of an attempt that is known to fail: they cross the channel, and that is all.
    pub discarded: bool,
    pub verdict: Verdict,
}

impl ReadAttempts {
    /// Whether the page is sensed again after this.
    #[inline]
    pub(super) fn goes_on(self) -> bool {
        self.retries > 0 || self.sensings > 0
    }

    /// The attempt under way is the last one.
    pub(in crate::drive) fn give_up(&mut self) {
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

/// The bit errors of a drive's flash; none if reads of healthy flash cannot fail.
#[derive(Clone, Debug)]
pub(in crate::drive) struct BitErrors(Option<Box<ReadErrors>>);

/// The errors of a drive's reads.
#[derive(Clone, Debug)]
struct ReadErrors {
    model: Arc<ErrorModel>,
    geometry: Geometry,
    seed: u64,
    types: PageTypes,
    /// Pages of the map that share a page of the flash.
    places: u32,
    /// Pages of the flash in a block.
    flash_pages: u32,
    /// Codewords of a read of this many sectors; place 0 is a whole page.
    codewords: Vec<u32>,
    /// The factor of each flash page of a block; empty where they are alike.
    page_factors: Vec<f64>,
    blocks: Vec<BlockState>,
    /// When the first page of each block was programmed in the run, if one was.
    programmed: Vec<SimTime>,
    rates: RateTable,
    /// Pages programmed since time 0.
    fresh: Bits,
    /// By block, for each of its pages: the RBER of the data that a copyback brought there, since nothing corrects them on
    /// the way.
    carried: FixedMap<u32, Vec<f64>>,
    /// By block: its pages that no stage has corrected, in all of its life.
    given_up: FixedMap<u32, u32>,
    /// Pages of reads under way that will fail.
    pending_uncorrectable: Vec<Ppn>,
    /// A page of a block that was found to be due for a refresh by the last draw.
    due: Option<Ppn>,
    counts: ErrorCounts,
}

impl ReadErrors {
    fn new(model: Arc<ErrorModel>, drive: &Parameters, geometry: &Geometry) -> ReadErrors {
        let sector_bytes = u64::from(drive.flash.sector_bytes);
        let sectors = drive.page_sectors;
        let codewords = std::iter::once(sectors).chain(1..=sectors * u64::from(drive.places));
        ReadErrors {
            geometry: geometry.clone(),
            seed: 0,
            types: drive.page_types.clone(),
            places: drive.places,
            flash_pages: geometry.pages / drive.places,
            codewords: codewords.map(|sectors| model.codewords(sectors * sector_bytes)).collect(),
            page_factors: Vec::new(),
            blocks: filled_in_large_pages(BlockState::default(), geometry.block_space()),
            programmed: filled_in_large_pages(SimTime::ZERO, geometry.block_space()),
            rates: RateTable::default(),
            fresh: Bits::default(),
            carried: FixedMap::default(),
            given_up: FixedMap::default(),
            pending_uncorrectable: Vec::new(),
            due: None,
            counts: ErrorCounts::default(),
            model,
        }
    }

    /// The seed of the drive's random numbers.
    fn seed(&mut self, seed: u64) {
        self.seed = seed;
        self.page_factors = self.model.page_factors(seed, &self.types, self.flash_pages);
    }

    /// Time 0: reads and programs before it are no part of the run.
    fn begin(&mut self) {
        self.blocks.fill(BlockState::default());
        self.rates = RateTable::default();
        self.fresh = Bits::default();
        self.carried = FixedMap::default();
        self.given_up = FixedMap::default();
        self.pending_uncorrectable.clear();
        self.counts = ErrorCounts::default();
    }

    /// The time of decoding after a transfer of a read without further retries that soft decoding follows.
    fn soft_decoding(&self, course: ReadAttempts) -> Span {
        let Some(SoftSensing { sensings, decode: soft }) = self.model.soft else { return self.model.decode };
        // The last hard decoding comes before the first sensing for soft decoding.
        let first = if course.sensings == sensings { self.model.decode } else { Span::ZERO };
        let last = if course.sensings == 0 { soft } else { Span::ZERO };
        first + last
    }

    /// A page is programmed at `now`.
    #[inline(never)]
    fn note_programmed(&mut self, now: SimTime, ppn: Ppn) {
        let block = self.geometry.block_index_of(ppn);
        let state = &self.blocks[block];
        if state.erased || !state.programmed {
            self.begin_to_fill(now, block);
        }
        self.fresh.set(ppn.0, true);
    }

    /// The first page of a block in the run, or since its last erase, is programmed at `now`.
    fn begin_to_fill(&mut self, now: SimTime, block: usize) {
        self.look_at_block(block);
        self.blocks[block].programmed = true;
        self.programmed[block] = now;
    }

    /// The data of a page are copied to another one without error correction: the errors that they have now stay in them.
    fn note_copied(&mut self, now: SimTime, from: Sensed, to: Sensed) {
        self.look_at_block(from.block);
        self.look_at_block(to.block);
        let carried = self.condition(now, from).data.rber(&self.model);
        self.blocks[from.block].sense(1);
        self.blocks[to.block].end_rates();
        let pages = self.carried.entry(to.block as u32).or_default();
        pages.resize(pages.len().max(to.page as usize + 1), 0.0);
        pages[to.page as usize] = carried;
    }

    /// A block is read or programmed: if it was erased before, its state begins again.
    #[inline]
    fn look_at_block(&mut self, block: usize) {
        if self.blocks[block].erased {
            self.begin_block(block);
        }
    }

    #[inline(never)]
    fn begin_block(&mut self, block: usize) {
        self.blocks[block].begin_anew();
        self.carried.remove(&(block as u32));
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
    pub ppn: Ppn,
    /// Its block, and its number within it.
    pub block: usize,
    pub page: u32,
    /// The erases of its block, and those before time 0.
    pub erases: u32,
    pub erases_before: u32,
    pub slc: bool,
}

impl Sensed {
    fn of<C>(ppn: Ppn, geometry: &Geometry, backends: &impl PageOwner<C>) -> Sensed {
        let (plane, number) = (geometry.plane_of(ppn), geometry.block_of(ppn));
        let [erases, erases_before] = backends.erases_of(plane, number);
        Sensed {
            ppn,
            block: geometry.block_index_of(ppn),
            page: geometry.page_of(ppn),
            erases,
            erases_before,
            slc: geometry.is_slc_block(number),
        }
    }
}

/// The condition of the data of a page, and how long it counts as this one.
struct LastingCondition {
    pub data: DataCondition,
    /// Reads of the page before time 0.
    pub before: f64,
    /// Sensings of its block.
    pub sensings: u64,
    /// The number of sensings, and the instant, from which on it is another one.
    pub until_reads: u64,
    pub until: SimTime,
}

impl ReadErrors {
    /// A read of `sectors` sectors begins, 0 for a whole page. If it has the rates of its block's last read, it is
    /// counted, and these are returned.
    #[inline]
    fn repeat_read(&mut self, now: SimTime, block: usize, ppn: Ppn, sectors: u16) -> Option<&ReadRates> {
        let old = self.is_old(block, ppn);
        let state = &mut self.blocks[block];
        let last = self.rates.at(state.rates);
        let repeats = state.keeps_rates(now)
            && last.old == old
            && last.codewords == self.codewords[usize::from(sectors)];
        repeats.then(|| {
            state.sense(1);
            self.rates.note_read(state.rates)
        })
    }

    /// Whether a page existed at time 0.
    #[inline]
    fn is_old(&self, block: usize, ppn: Ppn) -> bool {
        !self.blocks[block].programmed || !self.fresh.has(ppn.0)
    }

    /// A read of `sectors` sectors begins that has rates of its own: computes these.
    fn begin_read(&mut self, now: SimTime, sensed: Sensed, sectors: u16) {
        self.look_at_block(sensed.block);
        self.blocks[sensed.block].sense(1);
        let LastingCondition { data, before, sensings, until_reads, until } = self.condition(now, sensed);
        let until_reads = self.limit(sensed.ppn, before, data.conditions.days, [sensings, until_reads]);
        let data = (&*self.model, data, self.codewords[usize::from(sectors)]);
        let state = &mut self.blocks[sensed.block];
        let rates = self.rates.replace(state.rates, data, &mut self.counts);
        let pages_differ = !self.page_factors.is_empty() || self.carried.contains_key(&(sensed.block as u32));
        let sensings = if pages_differ { 0 } else { until_reads - sensings };
        state.set_rates(rates, sensings, until);
        self.rates.note_read(rates);
    }

    /// Draws what becomes of a read that has the rates of its block's last read.
    #[inline(never)]
    fn draw_again(&mut self, sensed: Sensed) -> (ReadAttempts, Option<Ppn>) {
        (self.draw(sensed), None)
    }

    /// Computes the rates of a read, and draws what becomes of it. With it the page, if its block is due for a refresh.
    #[inline(never)]
    fn draw_anew(&mut self, now: SimTime, sensed: Sensed, sectors: u16) -> (ReadAttempts, Option<Ppn>) {
        self.begin_read(now, sensed, sectors);
        (self.draw(sensed), self.due.take())
    }

    /// The condition of the data of a page.
    fn condition(&self, now: SimTime, sensed: Sensed) -> LastingCondition {
        let (model, state) = (&*self.model, &self.blocks[sensed.block]);
        let old = self.is_old(sensed.block, sensed.ppn);
        let pages = u64::from(self.flash_pages);
        let sensings = u64::from(state.reads);
        let (reads, until_reads) = step(sensings, pages);
        let before = if sensed.erases == sensed.erases_before { model.page_reads } else { 0.0 };
        let since = if old { SimTime::ZERO } else { self.programmed[sensed.block] };
        let (age, until_age) = step(now.since(since).0, HOUR);
        let cycles = match model.cycles {
            Some(cycles) => cycles + f64::from(sensed.erases.saturating_sub(sensed.erases_before)),
            None => f64::from(sensed.erases),
        };
        let days = age / DAY + if old { model.retention_days } else { 0.0 };
        let conditions = Conditions { cycles, days, reads: before + reads / pages as f64 };
        let of_page = self.page_factors.get((sensed.page / self.places) as usize).copied().unwrap_or(1.0);
        let cells = if sensed.slc { model.slc_factor } else { of_page };
        let carried =
            self.carried.get(&(sensed.block as u32)).and_then(|pages| pages.get(sensed.page as usize));
        let carried = carried.copied().unwrap_or(0.0);
        let factor = model.block_factor(self.seed, sensed.block as u64) * cells;
        let data = DataCondition { old, conditions, factor, carried };
        LastingCondition { data, before, sensings, until_reads, until: since + Span(until_age) }
    }

    /// Checks whether the data of a block must be moved now. Returns the number of its reads at which it checks
    /// again: at the next step or when they are due. The age of the data is looked at in steps only.
    fn limit(&mut self, ppn: Ppn, before: f64, days: f64, [reads, until_reads]: [u64; 2]) -> u64 {
        let ErrorModel { reclaim_reads, refresh_days, .. } = &*self.model;
        let pages = f64::from(self.flash_pages);
        let by_reads = reclaim_reads.map(|most| libm::ceil((most - before).max(0.0) * pages) as u64);
        if by_reads.is_some_and(|most| reads >= most) || refresh_days.is_some_and(|most| days >= most) {
            self.due = Some(ppn);
        }
        by_reads.filter(|&at| at > reads).map_or(until_reads, |at| at.min(until_reads))
    }

    /// Draws what becomes of the read that began last in its block.
    fn draw(&mut self, Sensed { ppn, block, page, erases, .. }: Sensed) -> ReadAttempts {
        let BlockState { rates, reads, .. } = self.blocks[block];
        let rates = *self.rates.at(rates);
        if rates.first_failure == 0 {
            return ReadAttempts::default();
        }
        let number = u64::from(reads.saturating_sub(1));
        let drawn = uniform(self.seed, block as u64, page.into(), erases.into(), number);
        if drawn >= rates.first_failure {
            return ReadAttempts::default();
        }
        let outcome = self.model.chain.read(rates.rber, rates.codewords, drawn);
        let soft = self.model.soft.filter(|_| !matches!(outcome.stage, Stage::Corrected(_)));
        let mut course = ReadAttempts {
            retries: outcome.retries as u8,
            sensings: soft.map_or(0, |soft| soft.sensings),
            soft: soft.is_some(),
            ..ReadAttempts::default()
        };
        self.blocks[block].sense(u32::from(course.retries) + u32::from(course.sensings));
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
        *self.given_up.entry(block as u32).or_default() += 1;
        self.pending_uncorrectable.push(ppn);
        Verdict::Unreadable
    }
}

impl BitErrors {
    /// Of a drive whose model has errors.
    pub(in crate::drive) fn of(drive: &Parameters, geometry: &Geometry) -> BitErrors {
        BitErrors(drive.errors.clone().map(|model| Box::new(ReadErrors::new(model, drive, geometry))))
    }

    /// Whether reads of healthy flash can fail.
    #[inline(always)]
    pub(in crate::drive) fn may_occur(&self) -> bool {
        self.0.is_some()
    }

    pub(in crate::drive) fn model(&self) -> Option<&ErrorModel> {
        self.0.as_ref().map(|errors| &*errors.model)
    }

    /// The seed of the drive's random numbers.
    pub(in crate::drive) fn seed(&mut self, seed: u64) {
        if let Some(errors) = &mut self.0 {
            errors.seed(seed);
        }
    }

    /// Time 0: reads and programs before it are no part of the run.
    pub(in crate::drive) fn begin(&mut self) {
        if let Some(errors) = &mut self.0 {
            errors.begin();
        }
    }

    /// Counting begins.
    pub(in crate::drive) fn reset_counts(&mut self) {
        if let Some(errors) = &mut self.0 {
            errors.rates.forget_reads();
            errors.counts = ErrorCounts::default();
        }
    }

    /// What has been counted; none without errors.
    pub(in crate::drive) fn counts(&self) -> Option<ErrorCounts> {
        let errors = self.0.as_ref()?;
        let mut counts = errors.counts.clone();
        errors.rates.add_to(&mut counts);
        Some(counts)
    }

    // ---------------------------------------------------------------- reads

    /// Draws what becomes of a read that begins: of one with the rates of its block's last read, or of another one, which
    /// may find a page whose block is due for a refresh.
    #[inline(never)]
    fn draw<C: Contents>(
        &mut self,
        now: SimTime,
        ppn: Ppn,
        sectors: u16,
        backends: &impl PageOwner<C>,
    ) -> (ReadAttempts, Option<Ppn>) {
        let Some(errors) = &mut self.0 else { return Default::default() };
        let unreadable = backends.is_unreadable(ppn);
        if unreadable || errors.pending_uncorrectable.contains(&ppn) {
            return (ReadAttempts { verdict: Verdict::Unreadable, ..ReadAttempts::default() }, None);
        }
        let block = errors.geometry.block_index_of(ppn);
        match errors.repeat_read(now, block, ppn, sectors) {
            Some(rates) if rates.first_failure == 0 => Default::default(),
            Some(_) => errors.draw_again(Sensed::of(ppn, &errors.geometry, backends)),
            None => errors.draw_anew(now, Sensed::of(ppn, &errors.geometry, backends), sectors),
        }
    }

    /// A page has been copied to another one inside its plane.
    #[inline]
    pub(in crate::drive) fn note_copied<C: Contents>(
        &mut self,
        now: SimTime,
        from: Ppn,
        to: Ppn,
        backends: &impl PageOwner<C>,
    ) {
        if let Some(errors) = &mut self.0 {
            let sensed = |ppn| Sensed::of(ppn, &errors.geometry, backends);
            let (from, to) = (sensed(from), sensed(to));
            errors.note_copied(now, from, to);
        }
    }

    /// A read that would have failed has ended otherwise.
    pub(in crate::drive) fn forget_doomed(&mut self, ppn: Ppn) {
        if let Some(errors) = &mut self.0
            && let Some(at) = errors.pending_uncorrectable.iter().position(|&page| page == ppn)
        {
            errors.pending_uncorrectable.swap_remove(at);
        }
    }

    /// A page has moved, and reads that wait for it follow.
    pub(in crate::drive) fn move_doomed(&mut self, from: Ppn, to: Ppn) {
        if let Some(errors) = &mut self.0
            && let Some(page) = errors.pending_uncorrectable.iter_mut().find(|page| **page == from)
        {
            *page = to;
        }
    }

    /// All reads under way are gone.
    pub(super) fn forget_all_doomed(&mut self) {
        if let Some(errors) = &mut self.0 {
            errors.pending_uncorrectable.clear();
        }
    }

    // ---------------------------------------------------------------- times

    /// The time of decoding after a transfer of a read with this course, until it is answered or sensed again.
    #[inline]
    pub(super) fn decoding(&self, course: ReadAttempts) -> Span {
        let Some(errors) = &self.0 else { return Span::ZERO };
        if course.soft && course.retries == 0 { errors.soft_decoding(course) } else { errors.model.decode }
    }

    /// How long a read was served, and when its data are decoded, which have left the unit at `end`.
    #[inline]
    pub(super) fn decoded(&self, op: &DriveOp, service: Span, end: SimTime) -> (Span, SimTime) {
        if self.0.is_none() {
            return (service, end);
        }
        let decoding = self.decoding(op.course);
        (service + decoding + op.durable.since(SimTime::ZERO), end + decoding)
    }

    /// What decoding takes of a read in rounds, attempts before included; none without errors.
    pub(super) fn decoding_in_rounds(&self, op: &DriveOp) -> Option<Span> {
        self.may_occur().then(|| self.decoding(op.course) + op.durable.since(SimTime::ZERO))
    }

    /// The phases of a retry of a page.
    pub(super) fn phases_of_retry(&self, flash: &FlashArray, ppn: Ppn) -> OpPhases {
        let phases = flash.timing.cost_of(&flash.geometry, OpKind::Read, Target::page(ppn));
        let sense = self.model().and_then(|model| model.retry_sense);
        let sense = sense.map(|sense| flash.timing.in_array(ppn, sense));
        OpPhases { sense: sense.unwrap_or(phases.sense), ..phases }
    }

    // ---------------------------------------------------------------- blocks

    /// Whether too many pages of a block were unreadable for it to be used again.
    pub(in crate::drive) fn is_given_up_block(&self, plane: PlaneId, block: u32) -> bool {
        let Some(errors) = &self.0 else { return false };
        let block = errors.geometry.block_index(plane, block) as u32;
        let given_up = errors.given_up.get(&block).copied().unwrap_or(0);
        errors.model.retire_after.is_some_and(|most| given_up >= most)
    }

    /// A page that existed at time 0 is created.
    #[inline]
    pub(in crate::drive) fn note_old_data(&mut self, ppn: Ppn) {
        if let Some(errors) = &mut self.0 {
            errors.fresh.set(ppn.0, false);
        }
    }

    /// A page is programmed at `now`.
    #[inline]
    pub(in crate::drive) fn note_data(&mut self, now: SimTime, ppn: Ppn) {
        if let Some(errors) = &mut self.0 {
            errors.note_programmed(now, ppn);
        }
    }

    /// A block is erased.
    pub(in crate::drive) fn note_erased(&mut self, plane: PlaneId, block: u32) {
        if let Some(errors) = &mut self.0 {
            let block = errors.geometry.block_index(plane, block);
            errors.blocks[block].erase();
        }
    }

    /// A new, erased block replaces another one.
    pub(in crate::drive) fn note_renewed(&mut self, plane: PlaneId, block: u32) {
        if let Some(errors) = &mut self.0 {
            let block = errors.geometry.block_index(plane, block);
            errors.blocks[block].erase();
            errors.given_up.remove(&(block as u32));
        }
    }

    /// The last erase of a block has not taken place.
    pub(in crate::drive) fn note_erase_taken_back(&mut self, plane: PlaneId, block: u32) {
        if let Some(errors) = &mut self.0 {
            let block = errors.geometry.block_index(plane, block);
            errors.blocks[block].erased = false;
        }
    }
}

impl<C: Contents> Controller<C> {
    /// Draws what becomes of a read of a page that can be read so far.
    #[inline]
    pub(in crate::drive) fn draw_errors(
        &mut self,
        now: SimTime,
        ppn: Ppn,
        sectors: u16,
        backends: &mut impl PageOwner<C>,
    ) -> ReadAttempts {
        if !self.errors.may_occur() {
            return ReadAttempts::default();
        }
        let (course, due) = self.errors.draw(now, ppn, sectors, backends);
        // An unreadable page stays where it is until its read has ended.
        if let Some(due) = due.filter(|_| course.verdict != Verdict::Unreadable) {
            backends.ask_for_refresh(now, due, self);
        }
        course
    }

    /// Whether a read ends in an error.
    #[inline]
    pub(in crate::drive) fn fails(
        &mut self,
        course: ReadAttempts,
        ppn: Ppn,
        backends: &mut impl PageOwner<C>,
    ) -> bool {
        if course.verdict == Verdict::Unreadable {
            self.note_uncorrectable(ppn, backends);
            return true;
        }
        backends.is_unreadable(ppn)
    }

    /// A read of a page has ended in an error: the page is unreadable from now on, which every command checks.
    #[cold]
    pub(in crate::drive) fn note_uncorrectable(&mut self, ppn: Ppn, backends: &mut impl PageOwner<C>) {
        self.errors.forget_doomed(ppn);
        backends.lose_page(ppn);
        self.paths.check_commands(true);
    }
}
