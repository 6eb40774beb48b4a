//! Operations that have no end yet when a failure or a power loss interrupts them, or when the run ends: reads whose data
//! have not left the die, and what may be suspended for reads. They are counted when they are granted, so logs have them
//! too.

use super::dies::{BusyUnitState, UnitPhase};
use super::queue::DriveOp;
use super::{Controller, PageOwner};
use crate::drive::LoggedOperation;
use crate::engine::Contents;
use crate::flash::{OpKind, UnitId};
use crate::kernel::{Id, SimTime};

impl<C: Contents> Controller<C> {
    /// The run ends at `end`: logs get the operations under way.
    pub(in crate::drive) fn log_under_way(&mut self, end: SimTime, backends: &impl PageOwner<C>) {
        if self.accounts.is_watched() {
            self.log_interrupted_reads(end, backends);
            self.log_open_operations(end, backends);
        }
    }

    /// Logs all reads whose data have not left their dies at `now`.
    pub(in crate::drive) fn log_interrupted_reads(&mut self, now: SimTime, backends: &impl PageOwner<C>) {
        for unit in (0..self.dies.unit_count() as u32).map(UnitId) {
            let BusyUnitState { phase, cached, current, .. } = self.dies[unit];
            for first in [cached, current] {
                let mut at = if phase == UnitPhase::Free { Id::NONE } else { first };
                while at.is_some() {
                    self.log_interrupted_read(now, at, backends);
                    at = self.queues[at].next;
                }
            }
            self.log_interrupted_collection(now, unit, backends);
        }
    }

    /// Logs a read whose data have not left its die at `now`.
    pub(in crate::drive) fn log_interrupted_read(
        &mut self,
        now: SimTime,
        op: Id<DriveOp>,
        backends: &impl PageOwner<C>,
    ) {
        let DriveOp { token, ppn, command, acknowledged: start, course, .. } = self.queues[op];
        // An attempt whose data are given up was logged when its unit continued sensing.
        if !course.discarded {
            let read = LoggedOperation::new([start, now.max(start)], ppn, OpKind::Read, command.cause);
            self.accounts.log_operation(&LoggedOperation { age: Some(token.age), ..read }, backends);
        }
    }

    /// Logs the reads of a unit's collection whose data have not left the die at `now`.
    pub(in crate::drive) fn log_interrupted_collection(
        &mut self,
        now: SimTime,
        unit: UnitId,
        backends: &impl PageOwner<C>,
    ) {
        for operation in self.collection_reads.interrupted(unit, now) {
            self.accounts.log_operation(&operation, backends);
        }
    }
}
