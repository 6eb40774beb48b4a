//! Reads for collections whose data are still in their die. They are kept only if operations are observed: their end, which
//! logs want to know, is when the channel has taken the data.

use super::{Controller, PageOwner};
use crate::drive::LoggedOperation;
use crate::engine::{Cause, Contents};
use crate::flash::{OpKind, Ppn, UnitId};
use crate::kernel::{SimTime, Span};
use std::collections::VecDeque;

/// A read of a flash page for a collection.
#[derive(Clone, Debug)]
pub(in crate::drive) struct CollectionRead {
    pub start: SimTime,
    pub cause: Cause,
    /// The logical pages that share the flash page.
    pub ppns: Vec<Ppn>,
    /// What crosses the channel.
    pub sectors: u16,
}

/// Those of each unit, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct CollectionReads(Vec<VecDeque<CollectionRead>>);

impl CollectionReads {
    fn of(&mut self, unit: UnitId) -> Option<&mut VecDeque<CollectionRead>> {
        self.0.get_mut(unit.0 as usize)
    }

    /// Those of a unit are cut off.
    pub(super) fn forget(&mut self, unit: UnitId) {
        self.of(unit).into_iter().for_each(VecDeque::clear);
    }

    /// All are cut off.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Those of a unit as logs show them that are interrupted at `now`: an operation for each page.
    pub(super) fn interrupted(&self, unit: UnitId, now: SimTime) -> Vec<LoggedOperation> {
        let operations = |read: &CollectionRead| {
            let CollectionRead { start, cause, .. } = *read;
            let operation =
                move |&ppn| LoggedOperation::new([start, now.max(start)], ppn, OpKind::Read, cause);
            read.ppns.iter().map(operation).collect::<Vec<_>>()
        };
        self.0.get(unit.0 as usize).into_iter().flatten().flat_map(operations).collect()
    }
}

impl<C: Contents> Controller<C> {
    /// A unit reads a page for a collection.
    pub(in crate::drive) fn note_collection_read(&mut self, unit: UnitId, read: CollectionRead) {
        self.collection_reads.0.resize_with(self.dies.unit_count(), VecDeque::new);
        self.collection_reads.of(unit).expect("a unit of this drive").push_back(read);
    }

    /// The data of a unit's first read for a collection have left it at `end`.
    #[inline]
    pub(super) fn end_collection_read(
        &mut self,
        unit: UnitId,
        end: SimTime,
        backends: &mut impl PageOwner<C>,
    ) {
        if let Some(read) = self.collection_reads.of(unit).and_then(VecDeque::pop_front) {
            self.tell_collection_read(&read, end, backends);
        }
    }

    /// They could not be corrected: the read is repeated from `begins` on.
    pub(super) fn repeat_collection_read(
        &mut self,
        unit: UnitId,
        begins: SimTime,
        end: SimTime,
        backends: &mut impl PageOwner<C>,
    ) {
        let Some(read) = self.collection_reads.of(unit).and_then(VecDeque::front_mut) else { return };
        let ppns = vec![read.ppns[0]];
        let sectors = read.sectors / read.ppns.len() as u16;
        let retry = CollectionRead { start: begins, cause: Cause::Retry, ppns, sectors };
        let failed = std::mem::replace(read, retry);
        self.tell_collection_read(&failed, end, backends);
    }

    /// Reports a read for a collection whose data have left the die at `end`.
    #[inline]
    pub(in crate::drive) fn tell_collection_read(
        &mut self,
        read: &CollectionRead,
        end: SimTime,
        backends: &mut impl PageOwner<C>,
    ) {
        let CollectionRead { start, cause, ref ppns, sectors } = *read;
        self.tell(start, end, ppns[0], OpKind::Read, cause, sectors, None, backends);
        for &ppn in &ppns[1..] {
            self.tell_along(start, end, ppn, OpKind::Read, cause, Span::ZERO, None, backends);
        }
    }
}
