//! Observers of drives and of runs, and what is reported to them.

use super::holds::{BusyPeriod, HostRequest, LoggedOperation, RunState};
use crate::engine::{Cause, Page};
use crate::flash::OpKind;
use crate::kernel::SimTime;

/// An operation of a disk: a run of pages that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct DiskAccess {
    /// When it began.
    pub start: SimTime,
    /// When the last page had passed.
    pub end: SimTime,
    /// The first page.
    pub page: Page,
    /// How many.
    pub pages: u16,
    /// The kind of operation.
    pub kind: OpKind,
    /// Why.
    pub cause: Cause,
}

/// What happens to a run.
#[derive(Clone, Copy, Debug)]
pub enum RunEvent<'a> {
    /// Commands of this age are those of the host's request of this number, in order of arrival.
    Opened {
        /// The age.
        age: u32,
        /// The number.
        number: u64,
    },
    /// A request of the host is over.
    Answered(HostRequest),
    /// The state of the run when requests begin and end.
    State(RunState),
    /// A failure, a replacement, the end of a rebuild: when, and what.
    Mark(SimTime, &'a str),
}

/// An observer of the operations of drives.
pub trait DeviceObserver: Send {
    /// An operation, when its end is known.
    fn add(&mut self, device: u16, operation: &LoggedOperation) {
        let _ = (device, operation);
    }

    /// An operation of a disk, when its end is known.
    fn access(&mut self, device: u16, access: &DiskAccess) {
        let _ = (device, access);
    }

    /// A channel or a unit is in use, reported when it is granted.
    fn hold(&mut self, device: u16, hold: &BusyPeriod) {
        let _ = (device, hold);
    }

    /// Something happens to the run.
    fn tell(&mut self, event: &RunEvent<'_>) {
        let _ = event;
    }

    /// Commands of this age are for the same request of the host as those of the age `from`.
    fn passed_on(&mut self, age: u32, from: u32) {
        let _ = (age, from);
    }

    /// Warnings for the reader of the log of a run that ended at `end`.
    fn note(&self, end: SimTime) -> Option<String> {
        let _ = end;
        None
    }

    /// Ends the log.
    ///
    /// # Errors
    /// A message, if the log could not be written.
    fn close(self: Box<Self>) -> Result<(), String>;
}

/// A report of a drive.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// An operation.
    Operation(LoggedOperation),
    /// A channel or a unit is in use.
    Hold(BusyPeriod),
}
