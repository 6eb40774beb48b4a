//! The reports to observers of a drive: operations, busy periods, requests, and the state of the run.

use crate::engine::Cause;
use crate::flash::{OpKind, Ppn, UnitId};
use crate::kernel::SimTime;

/// A resource: a channel or a busy unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A bus.
    Channel(u32),
    /// A chip, die or plane.
    Unit(UnitId),
}

/// A busy period of a channel or a unit.
#[derive(Clone, Copy, Debug)]
pub struct BusyPeriod {
    /// The resource.
    pub what: Resource,
    /// When it was granted.
    pub start: SimTime,
    /// When it is free again.
    pub end: SimTime,
    /// The kind of operation.
    pub kind: OpKind,
    /// Why.
    pub cause: Cause,
}

/// What files show of a run's state at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunState {
    /// When.
    pub at: SimTime,
    /// Erased blocks that are free, of all drives.
    pub free_blocks: u64,
    /// Pages that the write buffer holds, of which parts count as such.
    pub buffered_pages: u64,
}

/// A completed request of the host.
#[derive(Clone, Copy, Debug)]
pub struct HostRequest {
    /// Its number in order of arrival.
    pub number: u64,
    /// `read`, `write` or `trim`.
    pub op: &'static str,
    /// First byte on the drive.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Arrival.
    pub start: SimTime,
    /// When it was acknowledged.
    pub end: SimTime,
}

/// A flash operation in the log.
#[derive(Clone, Copy, Debug)]
pub struct LoggedOperation {
    /// When its first resource was granted.
    pub start: SimTime,
    /// When its unit is free again.
    pub end: SimTime,
    /// The page, or the first page of the block.
    pub ppn: Ppn,
    /// The kind of operation.
    pub kind: OpKind,
    /// Why.
    pub cause: Cause,
    /// Whether it is the summary page after the data pages of this page's block.
    pub summary: bool,
    /// The age of the request that it is done for, if it is done for one ([`CompletionToken::age`](crate::engine::CompletionToken::age)).
    pub age: Option<u32>,
    /// The logical page of its backend that the page holds.
    pub logical_page: Option<u32>,
}

impl LoggedOperation {
    /// An operation that no request has asked for.
    pub(super) fn new([start, end]: [SimTime; 2], ppn: Ppn, kind: OpKind, cause: Cause) -> LoggedOperation {
        LoggedOperation { start, end, ppn, kind, cause, summary: false, age: None, logical_page: None }
    }
}
