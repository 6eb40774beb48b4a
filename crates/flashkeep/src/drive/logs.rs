//! Output files that cover several drives: adds the drive to each entry.

use super::OperationObserver;
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

/// An observer of the operations of several drives.
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

    /// A request of the host is over.
    fn request(&mut self, request: &HostRequest) {
        let _ = request;
    }

    /// Commands of this age are those of the host's request of this number, in order of arrival.
    fn opened(&mut self, age: u32, number: u64) {
        let _ = (age, number);
    }

    /// Commands of this age are for the same request of the host as those of the age `from`.
    fn passed_on(&mut self, age: u32, from: u32) {
        let _ = (age, from);
    }

    /// The state of the run, reported when requests begin and end.
    fn state(&mut self, state: &RunState) {
        let _ = state;
    }

    /// Something happens to the run: a failure, a replacement, the end of a rebuild.
    fn mark(&mut self, at: SimTime, text: &str) {
        let _ = (at, text);
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

/// The logs of a lone drive.
pub struct Alone(pub Box<dyn DeviceObserver>);

impl OperationObserver for Alone {
    fn add(&mut self, operation: &LoggedOperation) {
        self.0.add(0, operation);
    }

    fn hold(&mut self, hold: &BusyPeriod) {
        self.0.hold(0, hold);
    }

    fn request(&mut self, request: &HostRequest) {
        self.0.request(request);
    }

    fn opened(&mut self, age: u32, number: u64) {
        self.0.opened(age, number);
    }

    fn state(&mut self, state: &RunState) {
        self.0.state(state);
    }

    fn mark(&mut self, at: SimTime, text: &str) {
        self.0.mark(at, text);
    }

    fn note(&self, end: SimTime) -> Option<String> {
        self.0.note(end)
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        self.0.close()
    }
}

/// A report of a drive.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// An operation.
    Operation(LoggedOperation),
    /// A channel or a unit is in use.
    Hold(BusyPeriod),
}
