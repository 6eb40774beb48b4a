//! Placement of pages in pools of several busy units.

use super::backend::DieQueue;
use super::{DriveBackends, Gc, Translation};
use crate::drive::controller::{Controller, DriveOp};
use crate::engine::Contents;
use crate::flash::{PlaneId, UnitId};
use crate::kernel::Id;

impl<C: Contents> Translation<C> {
    /// The block that a stream of a plane programs next.
    pub(super) fn next_block(&self, plane: PlaneId, stream: Option<u8>) -> Option<u32> {
        let front = self.blocks.front(stream, plane);
        front
            .map(|ppn| self.blocks.geometry().block_of(ppn))
            .or_else(|| self.blocks.next_block(stream, plane))
    }
}

impl Gc {
    #[inline(never)]
    pub(in crate::drive) fn unit_in_pool<C: Contents>(
        &mut self,
        plane: PlaneId,
        victim: u32,
        idle: u64,
        whole: bool,
        ftl: &Translation<C>,
        controller: &Controller<C>,
    ) -> Option<UnitId> {
        let source = controller.dies.unit_of_block(plane, victim);
        if whole {
            let mut units = controller.dies.units_of(plane).into_iter();
            return units.all(|unit| controller.dies.is_among(idle, unit)).then_some(source);
        }
        if controller.dies.reads_for_collection(source) {
            return None;
        }
        // Where nothing is free, the pages that are read go to the controller's memory.
        let stream = self.stream_of_step(plane, victim, ftl, controller);
        let block = stream.and_then(|stream| ftl.next_block(plane, stream));
        let unit = block.map_or(source, |block| controller.dies.unit_of_block(plane, block));
        controller.dies.is_among(idle, unit).then_some(unit)
    }
}

impl<C: Contents> DriveBackends<C> {
    /// The plane of a die queue that would take the first write of its write queue, in the die queue's unit.
    #[inline(never)]
    pub(super) fn plane_in_unit(
        &self,
        die_queue: &DieQueue,
        head: Id<DriveOp>,
        controller: &Controller<C>,
    ) -> Option<(PlaneId, u32)> {
        if self.ftl.physical {
            return self.ftl.physical_plane_for(die_queue, head, &self.power, controller);
        }
        let op = &controller.queues[head];
        let lpn = op.command.start.low() + u32::from(op.placed);
        self.bound_plane(die_queue, lpn, |plane| {
            let stream = self.ftl.stream_into(plane, usize::from(die_queue.ftl), head, op.placed, controller);
            let block = self.ftl.next_block(plane, Some(stream));
            block.is_some_and(|block| controller.dies.unit_of_block(plane, block) == die_queue.unit)
        })
    }
}
