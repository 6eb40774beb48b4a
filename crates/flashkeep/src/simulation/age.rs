//! Used drives at time 0: aged by construction, or written until writes are in a steady state.

use super::age_blocks::AgedBlocks;
use super::age_log::begin_ageing_log;
use super::{Device, Flows, RunClock, Simulation, Stop};
use crate::config::Resolved;
use crate::devices::Body;
use crate::engine::{BackendId, Contents, NodeId, Page, Scheme, Verb};
use crate::error::{DriveError, Error};
use crate::host::Existing;
use crate::job::{Halt, Progress};
use crate::kernel::{Bits, Permutation, SimTime};
use crate::mapping;
use crate::metrics::Conditioned;
use crate::schemes::{Any, StripeLog};
use crate::workload::Requests;
use flashkeep_trace::Op;
use flashkeep_trace::random::Random;
use std::ops::ControlFlow;

/// The number of failed draws per page of the drive after which no place is assumed to be left.
const PATIENCE: u64 = 64;

/// The number of random writes between two checks for an interruption.
const BATCH: usize = 4096;

pub(super) type Tell<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<Halt>;

/// All numbers below a limit, in a pseudo-random order.
struct Scattered {
    order: Permutation,
    /// The next step; none at the end.
    at: Option<u32>,
    /// Numbers of the last steps that have not been taken.
    drawn: Vec<u32>,
    taken: usize,
}

impl Scattered {
    /// The steps that are taken together.
    const TOGETHER: u32 = 1024;

    /// Numbers above the limit are left out without a branch.
    fn draw(&mut self) -> bool {
        let Some(from) = self.at else { return false };
        let (order, limit, mask) = (self.order, self.order.limit(), self.order.mask());
        let to = from.saturating_add(Self::TOGETHER - 1).min(mask);
        self.drawn.resize(Self::TOGETHER as usize, 0);
        let mut count = 0;
        for at in from..=to {
            let at = order.scatter(at);
            self.drawn[count] = at;
            count += usize::from(at < limit);
        }
        self.drawn.truncate(count);
        self.taken = 0;
        self.at = (to < mask).then(|| to + 1);
        true
    }
}

impl Iterator for Scattered {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.taken == self.drawn.len() {
            if !self.draw() {
                return None;
            }
        }
        self.taken += 1;
        Some(self.drawn[self.taken - 1])
    }
}

fn scattered(limit: u32, seed: u64) -> Scattered {
    Scattered {
        order: Permutation::new(limit, &mut Random::stream(seed, "aged pages")),
        at: Some(0),
        drawn: Vec::new(),
        taken: 0,
    }
}

/// Parts that are aged, beside the planes of drives.
#[derive(Default)]
struct AgedParts {
    /// Whether any pages will be valid.
    valid: bool,
    /// Whether any drive is in steady state.
    steady: bool,
    blocks: Option<AgedBlocks>,
    /// The nodes of logs that fill their superblocks themselves.
    logs: Vec<NodeId>,
}

/// Valid pages are left that no page may fill.
fn no_place(resolved: &Resolved, left: u64) -> Stop {
    Stop::Error(Error::Drive(DriveError {
        path: resolved.path.clone(),
        line: None,
        field: Some("ageing.valid_ratio".into()),
        message: format!(
            "{}: {left} valid pages cannot be assigned to host pages that the workload does not read \
             and that may be placed there; set a lower ratio",
            resolved.valid_ratio()
        ),
    }))
}

/// The number of pages that conditioning writes with one command.
const WRITTEN: u64 = 4096;

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// Tells drives and logs what they are aged to.
    fn begin_ageing(&mut self, existing: Existing, seed: u64, resolved: &Resolved) -> AgedParts {
        let mut parts = AgedParts::default();
        let Device { engine, body, placements, .. } = self;
        for (device, placement) in (0..).zip(&*placements) {
            let drive = resolved.descendant(&placement.path).filter(|drive| !drive.is_device_set());
            let Some((drive, (model, wish))) = drive.and_then(|drive| Some((drive, drive.ageing(existing)?)))
            else {
                continue;
            };
            let node = engine.tree().descendant(&placement.path).filter(|_| placement.physical);
            if let Some(node) = node
                && let Some(log) = engine.tree_mut().scheme_mut(node).log_mut()
            {
                // Each device draws a stream of its own.
                parts.valid |= begin_ageing_log(drive, log, existing, seed.wrapping_add(u64::from(device)));
                parts.logs.push(node);
                continue;
            }
            parts.valid |= wish.valid_ppm > 0;
            parts.steady |= model.fills;
            if drive.map().below == mapping::BackendKind::Blocks {
                parts.blocks = Some(AgedBlocks::new(drive, model, wish));
                continue;
            }
            body.begin_ageing(device, model, &wish, seed, drive.members() as u16);
        }
        parts
    }

    /// Consecutive pages that put equally many copies on each backend of a drive, where a page has copies on some of
    /// them only: drawn one by one, they would leave valid places that no page can take.
    fn row_of_copies(&self, resolved: &Resolved) -> u32 {
        let backends = resolved.members() as usize;
        let copies = |page: u32| self.engine.tree().places(Page::of(page));
        if resolved.is_array() || [1, backends].contains(&copies(0).len()) {
            return 1;
        }
        let mut on_each = vec![0_u32; backends];
        for page in 0..64 * backends as u32 {
            copies(page).into_iter().for_each(|(backend, _)| on_each[usize::from(backend.0)] += 1);
            if on_each.iter().all(|&copies| copies == on_each[0]) {
                return page + 1;
            }
        }
        1
    }

    /// Creates stripes of pages in random order until the schemes have filled all slots, or no page is left that may go
    /// to one. The slots that are left become invalid pages.
    fn fill_as_placed(
        &mut self,
        read: &Bits,
        existing: Existing,
        seed: u64,
        logs: &[NodeId],
        clock: &RunClock,
    ) {
        let pages = self.port().pages().len();
        let unit =
            Some(self.engine.tree().stripe_pages()).filter(|&unit| u64::from(unit) <= pages).unwrap_or(1);
        for first in
            scattered((pages / u64::from(unit)) as u32, seed).map(|at| u64::from(at) * u64::from(unit))
        {
            if self.slots(logs) == 0 {
                return;
            }
            let taken = |page: u64| self.port().pages().sectors(page) != 0 || read.has(page);
            let free = existing == Existing::All || !(first..first + u64::from(unit)).any(taken);
            if free && self.fits(first, unit, logs) {
                self.create_run(first, unit, clock);
            }
        }
    }

    fn end_ageing(&mut self, logs: &[NodeId], clock: &RunClock) {
        self.body.end_ageing();
        logs.iter().for_each(|&log| self.end_ageing_log(log, clock));
        self.body.set_untimed(clock.untimed);
    }

    /// Pages of the host fill valid places.
    fn fill_slot(&mut self, fast_path: Option<BackendId>, first: u64, count: u32, clock: &RunClock) {
        if let Some(backend) = fast_path {
            self.flash_mut().fill_slot(backend, first as u32, C::default());
            self.engine.ports_mut().host_mut().pages_mut().set_all(&[first as u32]);
        } else {
            self.create_run(first, count, clock);
        }
    }

    /// The number of valid slots that are left.
    fn slots(&self, logs: &[NodeId]) -> u64 {
        let of_log =
            |&node: &NodeId| self.engine.tree().scheme(node).and_then(Any::log).map_or(0, StripeLog::slots);
        self.body.slots() + logs.iter().map(of_log).sum::<u64>()
    }

    /// Whether the remaining valid slots can take these pages.
    fn fits(&self, first: u64, count: u32, logs: &[NodeId]) -> bool {
        let mut places =
            (first..first + u64::from(count)).flat_map(|page| self.engine.tree().places(Page(page)));
        places.all(|(backend, page)| self.body.has_slot(backend, page))
            && (logs.is_empty() || (first..first + u64::from(count)).all(|page| self.fits_logs(page)))
    }

    /// The only backend of a drive, if whole pages can be written to it directly.
    pub(super) fn fast_path_drive(&self) -> Option<BackendId> {
        self.body.flash().filter(|_| self.engine.tree().is_healthy())?;
        self.engine.tree().only_backend()
    }

    /// The same for writes that the engine does not see. With a model of errors GC may lose pages, and the engine must learn
    /// that before it writes or reads them.
    pub(super) fn fast_path_of_writes(&self, resolved: &Resolved) -> Option<BackendId> {
        let loses_pages = resolved.error_models().next().is_some();
        if C::KEEP || loses_pages { None } else { self.fast_path_drive() }
    }

    fn programs(&self) -> u64 {
        self.body.counters().total(crate::drive::OpKind::Program)
    }

    /// Writes a run of whole pages past the DRAM.
    fn write_run(&mut self, first: u64, count: u32, clock: &RunClock) {
        let request = self.engine.open(u32::MAX, 0);
        let now = clock.now;
        self.access(now, request, &mut Vec::new()).write_run(first, count);
        self.end_preparation(request, clock);
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Ages the flash by construction. Valid pages belong to host pages that are drawn at random, except those that the
    /// workload is known to read, which are created afterwards. With parity whole stripes are drawn, which puts one
    /// page on each member.
    pub(super) fn age(&mut self, tell: Tell<'_>) -> Result<(), Stop> {
        let start = &self.resolved.spec.start;
        let seed = self.job.seed.unwrap_or(1);
        let AgedParts { valid, steady, blocks, logs } =
            self.device.begin_ageing(start.existing, seed, self.resolved);
        let scans = valid && start.scan && start.existing == Existing::Reads;
        let read = if scans { self.pages_read(tell)? } else { Bits::default() };
        let (device, resolved, clock) = (&mut self.device, self.resolved, &self.clock);
        device.body.set_untimed(true);
        let grain = device.engine.tree().scheme(NodeId::ROOT).map_or(1, |scheme| scheme.grain(Verb::Write));
        let unit = if resolved.scheme().data_members.is_none() {
            device.row_of_copies(resolved)
        } else if grain == u32::MAX {
            1
        } else {
            grain
        };
        if let Some(blocks) = blocks.filter(|_| start.existing != Existing::All) {
            device.age_blocks(
                &blocks,
                |units| scattered(units, seed).collect(),
                &read,
                seed,
                resolved,
                clock,
            );
        }
        let in_rows = steady && start.existing == Existing::All && !device.port().holds_pages();
        let row = if in_rows { device.engine.tree().row(&device.body) } else { None };
        if row.is_some() {
            // All pages have their places already.
            device.create_missing(row, clock);
            device.end_ageing(&logs, clock);
            return Ok(());
        }
        if resolved.is_array() && !resolved.knows_places() {
            device.fill_as_placed(&read, start.existing, seed, &logs, clock);
            device.end_ageing(&logs, clock);
            return Ok(());
        }
        let units = (device.port().pages().len() / u64::from(unit)) as u32;
        let fast_path = if C::KEEP { None } else { device.fast_path_drive() };
        // Within a drive one page of a stripe that has a page of each member represents all.
        let asked = if resolved.is_array() || !resolved.has_stripes_of_all() { unit } else { 1 };
        let bound = resolved.is_array() || resolved.spec.ftl.allocation != "dynamic";
        if start.existing == Existing::All {
            for first in scattered(units, seed).map(|at| u64::from(at) * u64::from(unit)) {
                if device.slots(&logs) == 0 {
                    break;
                }
                if !bound || device.fits(first, asked, &logs) {
                    device.fill_slot(fast_path, first, unit, clock);
                }
            }
            if steady && device.slots(&logs) > 0 {
                device.create_missing(None, clock);
            }
            device.end_ageing(&logs, clock);
            return Ok(());
        }
        let mut random = Random::stream(seed, "aged pages");
        let mut patience = PATIENCE * u64::from(units.max(64));
        while device.slots(&logs) > 0 {
            patience -= 1;
            if patience == 0 || units == 0 {
                // Places that no page may go to become invalid.
                if bound && !(0..units).any(|at| device.fits(u64::from(at) * u64::from(unit), asked, &logs)) {
                    break;
                }
                return Err(no_place(resolved, device.slots(&logs)));
            }
            let first = random.below(u64::from(units)) * u64::from(unit);
            let taken = |page: u64| device.port().pages().sectors(page) != 0 || read.has(page);
            if (first..first + u64::from(unit)).any(taken) || (bound && !device.fits(first, asked, &logs)) {
                continue;
            }
            device.fill_slot(fast_path, first, unit, clock);
        }
        device.end_ageing(&logs, clock);
        Ok(())
    }

    /// The pages that the workload reads.
    fn pages_read(&mut self, tell: Tell<'_>) -> Result<Bits, Stop> {
        let mut read = Bits::default();
        self.each_read(tell, |_, fragment| {
            for page in fragment.page..fragment.page + u64::from(fragment.count) {
                read.set(page, true);
            }
        })?;
        Ok(read)
    }

    // ---------------------------------------------------------------- by writing

    /// Writes the whole drive once in order, then random pages until the rounds show a steady state.
    pub(super) fn condition(&mut self, tell: Tell<'_>) -> Result<(), Stop> {
        self.device.body.set_untimed(true);
        self.device.engine.schedule_mut().untimed = true;
        self.device.engine.ports_mut().bypass(true);
        let pages = self.device.port().pages().len();
        for first in (0..pages).step_by(WRITTEN as usize) {
            self.device.write_run(first, (pages - first).min(WRITTEN) as u32, &self.clock);
        }
        let keys = &self.resolved.spec.condition;
        let size = ((keys.write_kib * 1024.0) as u64).div_ceil(self.resolved.page_bytes());
        let size = size.max(1).min(pages) as u32;
        let writes = ((pages as f64 * keys.round) as u64 / u64::from(size)).max(1);
        let mut random = Random::stream(self.job.seed.unwrap_or(1), "conditioning");
        let mut conditioned = Conditioned::new(writes * u64::from(size));
        for _ in 0..keys.most_rounds {
            let before = self.device.programs();
            self.write_randomly(writes, size, &mut random, tell)?;
            conditioned.add(self.device.programs() - before);
            if conditioned.is_steady() {
                break;
            }
        }
        self.rest();
        self.device.engine.schedule_mut().untimed = self.clock.untimed;
        self.device.engine.ports_mut().bypass(false);
        self.accounts.conditioned = Some(conditioned.conditioning());
        Ok(())
    }

    /// Writes runs of `size` pages that start anywhere at a multiple of it.
    fn write_randomly(
        &mut self,
        writes: u64,
        size: u32,
        random: &mut Random,
        tell: Tell<'_>,
    ) -> Result<(), Stop> {
        let places = self.device.port().pages().len() / u64::from(size);
        let fast_path = self.device.fast_path_of_writes(self.resolved);
        let mut pages = std::mem::take(&mut self.host.pages);
        let mut left = writes;
        while left > 0 {
            pages.clear();
            for _ in 0..left.min(BATCH as u64) {
                let first = random.below(places) * u64::from(size);
                match fast_path {
                    Some(_) => pages.extend(first as u32..first as u32 + size),
                    None => self.device.write_run(first, size, &self.clock),
                }
            }
            if let Some(backend) = fast_path {
                self.device.flash_mut().write_untimed(backend, &pages);
            }
            left -= left.min(BATCH as u64);
            self.clock.look(None, tell, &self.host)?;
        }
        self.host.pages = pages;
        Ok(())
    }

    /// Lets the drive finish all work; then sets the time to 0 and clears the counters.
    pub(super) fn rest(&mut self) {
        let now = self.clock.now;
        self.device.engine.rest(&mut self.device.body);
        // A drive with worn-out blocks keeps pages in memory for which GC found no room; their writes take time even
        // here, and so does the rebuild of pages that could not be read.
        while self.device.body.next_event() < SimTime::NEVER {
            self.device.engine.give_up_hopeless_rebuilds();
            self.happen(SimTime::NEVER);
            self.device.engine.rest(&mut self.device.body);
        }
        self.device.engine.assert_idle();
        self.clock.now = now;
        self.device.end_finished();
        self.device.body.set_untimed(self.clock.untimed);
        self.device.body.reset_counters();
    }

    /// Creates what the workload reads before time 0.
    pub(super) fn each_read(
        &mut self,
        tell: Tell<'_>,
        mut act: impl FnMut(&mut Self, crate::device::port::Fragment),
    ) -> Result<(), Stop> {
        if self.workload.flows.is_empty() {
            self.each_read_of(None, self.workload.requests()?, tell, &mut act)?;
        }
        for (at, requests) in self.workload.streams()?.into_iter().enumerate() {
            self.each_read_of(Some(at), requests, tell, &mut act)?;
        }
        self.host.addresses = self.host.addresses.rewound();
        self.host.flows.iter_mut().for_each(Flows::rewind);
        self.host.misplaced = 0;
        Ok(())
    }

    /// The same for one workload: that of a flow, or the only one.
    fn each_read_of(
        &mut self,
        flow: Option<usize>,
        mut requests: Requests,
        tell: Tell<'_>,
        act: &mut impl FnMut(&mut Self, crate::device::port::Fragment),
    ) -> Result<(), Stop> {
        let (mut number, most) = (0_u64, self.workload.limit());
        while number < most
            && let Some(read) = requests.next()?
        {
            number += 1;
            if number.is_multiple_of(super::LOOK) {
                self.clock.look(None, tell, &self.host)?;
            }
            let has_place = match flow {
                Some(flow) => self.locate_in_flow(flow, &read, number)?,
                None => self.locate(&read, number)?,
            };
            if !has_place || read.op != Op::Read {
                continue;
            }
            self.host.interleave();
            let sector_bytes = u64::from(self.resolved.spec.flash.sector_bytes);
            for at in 0..self.host.ranges.len() {
                let crate::host::Range { offset, length } = self.host.ranges[at];
                for fragment in crate::host::fragments(
                    offset,
                    length,
                    sector_bytes,
                    self.device.port().pages().page_sectors(),
                ) {
                    act(self, fragment);
                }
            }
        }
        Ok(())
    }
}
