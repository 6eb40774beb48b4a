//! The writes of a batch in rounds are dealt out before the rounds begin, if planes do not take turns
//! (`flash.bus = "rounds"`, `ftl.plane_choice`): in order, each to the plane with the most room of all units of the
//! channel, less what the batch has given to that plane. A unit then takes the first of its own writes in every round,
//! and is idle in those for which it has none. So all units run short of pages together, and collect side by side.
//!
//! Source: the DiskSim extension of Agrawal et al., USENIX ATC 2008.

use super::Translation;
use crate::drive::controller::{BATCH, Controller, DriveOp};
use crate::engine::Contents;
use crate::flash::PlaneId;
use crate::ftl::{Allocation, PlaneChoice};
use crate::kernel::Id;
use std::ops::Range;

impl<C: Contents> Translation<C> {
    /// Which of the planes takes a write, and whose turn it is then.
    fn deal_one(
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

    /// Deals out the writes that the channels of a gang take next; the write queues that this has put in another order.
    pub(in crate::drive) fn deal_out(&self, gang: &Range<usize>, controller: &mut Controller<C>) -> Vec<u32> {
        let chooses = self.placement.plane_choice != PlaneChoice::InTurn && !controller.dies.is_spread();
        if !chooses
            || controller.dies.units_in(0).len() == 1
            || self.blocks.geometry().word_line > 1
            || !controller.queues.are_waiting()
        {
            return Vec::new();
        }
        let mut write_queues = Vec::new();
        for channel in gang.clone() {
            let all = controller.dies.channel(channel).die_queues.iter();
            let all = all.map(|&(die_queue, _)| die_queue as usize);
            let die_queues: Vec<usize> = all.filter(|&die_queue| self.may_deal(die_queue)).collect();
            for &die_queue in &die_queues {
                let write_queue = self.die_queues[die_queue].write_queue;
                if controller.queues.has_writes(write_queue) && !write_queues.contains(&write_queue) {
                    let own = |&&die_queue: &&usize| self.die_queues[die_queue].write_queue == write_queue;
                    let die_queues: Vec<usize> = die_queues.iter().filter(own).copied().collect();
                    self.deal_write_queue(write_queue, &die_queues, controller);
                    write_queues.push(write_queue);
                }
            }
        }
        write_queues
    }

    /// Deals out the writes of a write queue to these die queues, which are its own.
    fn deal_write_queue(&self, write_queue: u32, die_queues: &[usize], controller: &mut Controller<C>) {
        let planes = |die_queue: &usize| self.die_queues[*die_queue].planes.clone();
        let planes: Vec<PlaneId> = die_queues.iter().flat_map(planes).collect();
        let mut given = vec![0; planes.len()];
        let (mut dealt, mut rest) = (vec![Vec::new(); die_queues.len()], Vec::new());
        let mut turn = controller.dies.turn_of_planes(write_queue);
        for (n, op) in controller.queues.take(write_queue, |_| true).into_iter().enumerate() {
            let plane = if n < BATCH { self.deal_one(op, &planes, &given, turn, controller) } else { None };
            let Some((at, next)) = plane else {
                rest.push(op);
                continue;
            };
            (given[at], turn) = (given[at] + 1, next);
            controller.queues[op].dealt = Some(planes[at]);
            let die_queue = self.die_queue_of(planes[at]);
            let place = die_queues
                .iter()
                .position(|&other| other == die_queue)
                .expect("a plane of one of these die queues");
            dealt[place].push(op);
        }
        controller.dies.set_turn_of_planes(write_queue, turn);
        let rounds = dealt.iter().map(Vec::len).max().unwrap_or(0);
        let in_rounds = (0..rounds).flat_map(|round| dealt.iter().filter_map(move |own| own.get(round)));
        let order: Vec<Id<DriveOp>> = in_rounds.copied().chain(rest).collect();
        controller.queues.put_in_order(write_queue, &order);
    }
}
