//! Busy time of arrays and pins by kind and cause, from which the report computes energy. Recorded only if
//! the drive file has currents.

use super::errors::ReadAttempts;
use super::program::PageWrite;
use super::{Controller, DriveAccounts, PageOwner, Watch};
use crate::drive::{ByKindAndCause, Counters, LoggedOperation, Parameters, RunEvent, Told};
use crate::engine::{Cause, Contents};
use crate::flash::{FlashArray, Geometry, OpKind, Ppn, Target};
use crate::kernel::{SimTime, Span};

/// Time in the arrays and on the pins, ns; an erase has no data to move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationTimes {
    array: ByKindAndCause,
    pins: ByKindAndCause,
}

impl OperationTimes {
    fn add(&mut self, kind: OpKind, cause: Cause, array: Span, pins: Span) {
        self.array[kind as usize][cause as usize] += array.0;
        self.pins[kind as usize][cause as usize] += pins.0;
    }

    #[inline(never)]
    fn note(&mut self, ppn: Ppn, kind: OpKind, cause: Cause, sectors: u16, flash: &FlashArray) {
        let target = Target { from: ppn, ..Target::sectors(ppn, sectors) };
        let phases = flash.timing.cost_of(&flash.geometry, kind, target);
        if kind == OpKind::Copyback {
            // It reads and programs, and nothing crosses the pins.
            self.add(OpKind::Read, cause, phases.sense, Span::ZERO);
            return self.add(OpKind::Program, cause, phases.program, Span::ZERO);
        }
        self.add(kind, cause, phases.array(), phases.data_in + phases.data_out);
    }

    /// Time that arrays worked, ns, each page or block on its own.
    #[must_use]
    pub fn array_ns(&self, kind: OpKind, cause: Cause) -> u64 {
        self.array[kind as usize][cause as usize]
    }

    /// Time that data crossed the channels, ns.
    #[must_use]
    pub fn pins_ns(&self, kind: OpKind, cause: Cause) -> u64 {
        self.pins[kind as usize][cause as usize]
    }

    /// What has been done since `before`.
    #[must_use]
    pub fn since(&self, before: &OperationTimes) -> OperationTimes {
        let mut difference = self.clone();
        for (all, old) in [(&mut difference.array, &before.array), (&mut difference.pins, &before.pins)] {
            for (ns, old) in all.as_flattened_mut().iter_mut().zip(old.as_flattened()) {
                *ns -= old;
            }
        }
        difference
    }
}

/// A copy of a drive tells no log of the original.
impl Clone for Watch {
    fn clone(&self) -> Self {
        Watch { logs: Vec::new(), told: self.told.clone(), kept: self.kept.clone() }
    }
}

impl Watch {
    /// Keeps reports that another component passes on.
    #[inline]
    pub(super) fn keep(&mut self, told: Told) {
        if let Some(kept) = &mut self.kept {
            kept.push(told);
        }
    }
}

impl DriveAccounts {
    /// Whether operations are reported to observers.
    #[inline(always)]
    pub(in crate::drive) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Recovery data are derived from all operations.
    pub(in crate::drive) fn begin_watch(&mut self) {
        self.watch.get_or_insert_default();
    }

    /// Whether only the number of operations matters.
    #[inline(always)]
    pub(in crate::drive) fn only_counts(&self) -> bool {
        self.watch.is_none() && self.work.is_none()
    }

    #[inline(always)]
    pub(in crate::drive) fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Accounts of a drive of `backends` backends that counts nothing yet.
    pub(super) fn new(drive: &Parameters, geometry: &Geometry, backends: usize) -> DriveAccounts {
        DriveAccounts {
            units: geometry.unit_count() as usize,
            counters: Counters::new(backends),
            work: drive.draws.then(Box::default),
            watch: None,
        }
    }

    /// Counts the retries and further sensings of a read without time.
    pub(in crate::drive) fn count_attempts(&mut self, ftl: usize, course: ReadAttempts) {
        let again = u64::from(course.retries) + u64::from(course.sensings);
        if again > 0 {
            self.counters.add(ftl as u16, OpKind::Read, Cause::Retry, again);
        }
    }

    /// Tells the logs what happens to the run.
    pub(in crate::drive) fn tell_run(&mut self, event: &RunEvent<'_>) {
        let logs = self.watch.iter_mut().flat_map(|watch| &mut watch.logs);
        logs.for_each(|log| log.tell(event));
    }

    /// The reports since the last call, in order.
    pub(in crate::drive) fn take_told(&mut self) -> impl Iterator<Item = Told> + '_ {
        self.watch.iter_mut().flat_map(|watch| &mut watch.kept).flat_map(|kept| kept.drain(..))
    }

    /// The counters.
    #[must_use]
    pub(in crate::drive) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The warnings of the logs of a run that ended at `end`.
    #[must_use]
    pub(in crate::drive) fn log_notes(&self, end: SimTime) -> Vec<String> {
        self.watch.iter().flat_map(|watch| &watch.logs).filter_map(|log| log.note(end)).collect()
    }

    /// Ends the logs of operations.
    ///
    /// # Errors
    /// A message, if a log could not be written.
    pub(in crate::drive) fn close_log(&mut self) -> Result<(), String> {
        let logs = self.watch.as_mut().map(|watch| std::mem::take(&mut watch.logs));
        logs.into_iter().flatten().try_for_each(|log| log.close())
    }

    /// The summary pages of blocks that these pages have filled, after an operation that ends at `end`.
    #[cold]
    pub(in crate::drive) fn tell_summaries(
        &mut self,
        end: SimTime,
        summary: Span,
        pages: &[PageWrite],
        summaries: u32,
    ) {
        let is_first = |&at: &usize| at == 0 || pages[at - 1].plane != pages[at].plane;
        for at in (0..pages.len()).filter(is_first).cycle().take(summaries as usize) {
            self.tell_summary(SimTime(end.0 - summary.0), end, pages[at].target.to);
        }
    }

    /// The summary page of the block of this page.
    #[cold]
    pub(in crate::drive) fn tell_summary(&mut self, start: SimTime, end: SimTime, ppn: Ppn) {
        let Some(watch) = &mut self.watch else { return };
        let (kind, cause) = (OpKind::Program, Cause::Metadata);
        let operation =
            LoggedOperation { summary: true, ..LoggedOperation::new([start, end], ppn, kind, cause) };
        watch.logs.iter_mut().for_each(|log| log.add(0, &operation));
        watch.keep(Told::Operation(operation));
    }

    /// Busy times of arrays and pins; none if they are not recorded.
    #[must_use]
    pub(in crate::drive) fn work(&self) -> Option<&OperationTimes> {
        self.work.as_deref()
    }

    /// Counts a page that is programmed, or a block that is erased, besides its kind and cause: whether it shares a flash
    /// page, or joins another page of its word line, and the time that it takes.
    #[inline]
    pub(super) fn count_page(&mut self, kind: OpKind, page: &PageWrite, joins: bool, flash: &FlashArray) {
        let PageWrite { target, cause, .. } = *page;
        if target.along {
            self.counters.along[kind as usize] += 1;
        } else if joins {
            self.counters.joined[kind as usize] += 1;
            self.note_joined(kind, cause, target, flash);
        } else {
            self.note_work(target.to, kind, cause, target.sectors, flash);
        }
    }

    /// A page is programmed in the operation of another one of the same word line: the array programs once.
    fn note_joined(&mut self, kind: OpKind, cause: Cause, target: Target, flash: &FlashArray) {
        if let Some(work) = &mut self.work {
            let target = Target { from: target.to, ..target };
            let phases = flash.timing.cost_of(&flash.geometry, kind, target);
            work.add(OpKind::Read, cause, phases.sense, Span::ZERO);
            work.add(kind, cause, Span::ZERO, phases.data_in);
        }
    }

    /// The busy times of an operation, if they are recorded; `sectors` cross the channel, 0 for a whole page.
    #[inline]
    pub(super) fn note_work(
        &mut self,
        ppn: Ppn,
        kind: OpKind,
        cause: Cause,
        sectors: u16,
        flash: &FlashArray,
    ) {
        if let Some(work) = &mut self.work {
            work.note(ppn, kind, cause, sectors, flash);
        }
    }

    /// Tells the observers of an operation.
    pub(in crate::drive) fn log_operation<C>(
        &mut self,
        operation: &LoggedOperation,
        backends: &impl PageOwner<C>,
    ) {
        let operation = &LoggedOperation { logical_page: backends.logical_page(operation), ..*operation };
        if let Some(watch) = &mut self.watch {
            watch.logs.iter_mut().for_each(|log| log.add(0, operation));
            watch.keep(Told::Operation(*operation));
        }
    }
}

impl<C: Contents> Controller<C> {
    /// An operation whose end is known; `sectors` cross the channel, 0 for a whole page. `age` is that of its request.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub(in crate::drive) fn tell(
        &mut self,
        start: SimTime,
        end: SimTime,
        ppn: Ppn,
        kind: OpKind,
        cause: Cause,
        sectors: u16,
        age: Option<u32>,
        backends: &mut impl PageOwner<C>,
    ) {
        debug_assert!(
            !backends.is_dead(self.flash.geometry.plane_of(ppn)),
            "nothing is done in a plane that has failed"
        );
        self.accounts.note_work(ppn, kind, cause, sectors, &self.flash);
        if self.accounts.watch.is_some() {
            let operation = LoggedOperation { age, ..LoggedOperation::new([start, end], ppn, kind, cause) };
            self.tell_watch(start, &operation, backends);
        }
    }

    /// Tells the observers of a part of an operation that begins at `begun`.
    #[inline(never)]
    pub(super) fn tell_watch(
        &mut self,
        begun: SimTime,
        operation: &LoggedOperation,
        backends: &mut impl PageOwner<C>,
    ) {
        let LoggedOperation { start, ppn, kind, cause, .. } = *operation;
        self.accounts.log_operation(operation, backends);
        backends.note_flight(self.now, begun, operation);
        // Reads hold their unit and their channel at other times.
        if kind != OpKind::Read {
            self.tell_granted(start, self.dies.unit_of_page(&self.flash.geometry, ppn), kind, cause);
        }
    }

    /// A page that was read or programmed together with another one of the same page of the flash, and its time on
    /// the pins.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::drive) fn tell_along(
        &mut self,
        start: SimTime,
        end: SimTime,
        ppn: Ppn,
        kind: OpKind,
        cause: Cause,
        pins: Span,
        age: Option<u32>,
        backends: &mut impl PageOwner<C>,
    ) {
        if let Some(work) = &mut self.accounts.work {
            work.add(kind, cause, Span::ZERO, pins);
        }
        if self.accounts.watch.is_some() {
            let operation = LoggedOperation { age, ..LoggedOperation::new([start, end], ppn, kind, cause) };
            self.tell_watch(start, &operation, backends);
        }
    }
}
