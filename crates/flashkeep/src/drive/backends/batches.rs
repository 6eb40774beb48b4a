//! The writes of a batch in rounds are dealt out before the rounds begin, if planes do not take turns
//! (`flash.bus = "rounds"`, `ftl.plane_choice`): in order, each to the plane with the most room of all units of the
//! channel, less what the batch has given to that plane. A unit then takes the first of its own writes in every round,
//! and is idle in those for which it has none. So all units run short of pages together, and collect side by side.
//!
//! Source: the DiskSim extension of Agrawal et al., USENIX ATC 2008.

use super::{DriveBackends, Translation};
use crate::drive::controller::{Controller, DriveOp};
use crate::engine::Contents;
use crate::flash::PlaneId;
use crate::ftl::{Allocation, PlaneChoice};
use crate::kernel::Id;
use std::ops::Range;

impl<C: Contents> Translation<C> {
    /// Which of the planes takes a write, and whose turn it is then.
    pub(in crate::drive) fn deal_one(
        &self,
        op: Id<DriveOp>,
        planes: &[PlaneId],
        given: &[u32],
        turn: u32,
        controller: &Controller<C>,
    ) -> Option<(usize, u32)> {
        let older = self.replaced_by(op, controller);
        let given = |plane: PlaneId| {
            let at = planes.iter().position(|&other| other == plane);
            at.map_or(0, |at| given[at])
        };
        let room = |plane: PlaneId| {
            let has_room = self.blocks.has_room_for(plane, given(plane));
            (has_room && self.may_replace(older, plane))
                .then(|| self.blocks.room(plane).saturating_sub(given(plane)))
        };
        let (plane, turn) = Allocation::roomiest(planes, turn, room)?;
        Some((planes.iter().position(|&other| other == plane)?, turn))
    }
}

impl<C: Contents> DriveBackends<C> {
    /// Deals out the writes that the channels of a gang take next; the write queues that this has put in another order.
    pub(in crate::drive) fn deal_out(&self, gang: &Range<usize>, controller: &mut Controller<C>) -> Vec<u32> {
        let chooses = self.ftl.placement.plane_choice != PlaneChoice::InTurn && !controller.dies.is_spread();
        if !chooses
            || controller.dies.units_in(0).len() == 1
            || self.packing.active
            || !controller.queues.are_waiting()
        {
            return Vec::new();
        }
        let mut write_queues = Vec::new();
        for channel in gang.clone() {
            let die_queues = &controller.dies.channel(channel).die_queues;
            let die_queues = die_queues
                .iter()
                .map(|&(die_queue, _)| die_queue as usize)
                .filter(|&die_queue| self.ftl.may_deal(die_queue));
            let die_queues: Vec<usize> = die_queues.collect();
            for &die_queue in &die_queues {
                let write_queue = self.ftl.die_queues[die_queue].write_queue;
                if controller.queues.has_writes(write_queue) && !write_queues.contains(&write_queue) {
                    let own =
                        |&&die_queue: &&usize| self.ftl.die_queues[die_queue].write_queue == write_queue;
                    let die_queues: Vec<usize> = die_queues.iter().filter(own).copied().collect();
                    controller.deal_write_queue(write_queue, &die_queues, self);
                    write_queues.push(write_queue);
                }
            }
        }
        write_queues
    }
}
