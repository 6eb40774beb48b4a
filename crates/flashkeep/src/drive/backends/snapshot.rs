//! The drive's part of a snapshot: the complete state at rest.

use super::power::Oob;
use super::{DriveBackends, Halves};
use crate::drive::controller::Controller;
use crate::engine::Contents;
use crate::ftl::Blocks;
use crate::kernel::Sparse;
use crate::snapshot::{Reader, Writer};

impl<C: Contents> DriveBackends<C> {
    pub(in crate::drive) fn save(&self, snapshot: &mut Writer, controller: &Controller<C>) {
        assert!(controller.is_quiet() && !self.health.is_damaged(), "a drive at rest, and whole");
        snapshot.put(&self.ftl.blocks);
        snapshot.put(&self.ftl.blocks.all_contents().map(C::stamp));
        snapshot.put(&self.ftl.maps);
        for ftl in &self.ftl.backends {
            snapshot.put(&(ftl.turn, ftl.untimed_turn as u64, ftl.erases));
        }
        snapshot.put(&self.ftl.die_queues.iter().map(|die_queue| die_queue.turn).collect::<Vec<u32>>());
        snapshot.put(&controller.dies.turns());
        snapshot.put(&self.ftl.next_pages);
        snapshot.put(&(self.ftl.streams.heat(), self.gc.chooser.turn()));
        for nvram in self.nvrams.iter() {
            snapshot.put(&nvram.snapshot());
        }
        snapshot.put(&self.power.snapshot(controller.queues.last_number()));
        if self.slc.active {
            snapshot.put(self.ftl.blocks.slc());
        }
    }
}

impl<C: Contents> Halves<'_, C> {
    pub(in crate::drive) fn load(&mut self, snapshot: &mut Reader) -> Result<(), String> {
        let Halves { controller, backends } = self;
        let mut blocks: Blocks<C> = snapshot.take()?;
        let tokens: Sparse<u64> = snapshot.take()?;
        if C::KEEP {
            blocks.set_all_contents(tokens.map(C::token));
        }
        blocks.pack_as(&backends.ftl.blocks);
        backends.ftl.blocks = blocks;
        backends.ftl.maps = snapshot.take()?;
        for ftl in &mut backends.ftl.backends {
            let (turn, untimed_turn, erases): (u32, u64, u64) = snapshot.take()?;
            (ftl.turn, ftl.untimed_turn, ftl.erases) = (turn, untimed_turn as usize, erases);
        }
        let turns: Vec<u32> = snapshot.take()?;
        backends.ftl.die_queues.iter_mut().zip(turns).for_each(|(die_queue, turn)| die_queue.turn = turn);
        let turns: Vec<u32> = snapshot.take()?;
        controller.dies.set_turns(turns);
        backends.ftl.next_pages = snapshot.take()?;
        let (heat, turn): (Vec<Vec<u8>>, u64) = snapshot.take()?;
        backends.ftl.streams.set_heat(heat);
        backends.gc.chooser.set_turn(turn);
        for nvram in backends.nvrams.iter_mut() {
            nvram.restore(snapshot.take()?);
        }
        let oob: Option<Oob> = snapshot.take()?;
        if let Some(last) = oob.and_then(|oob| backends.power.restore(oob)) {
            controller.queues.number_from(last);
        }
        if backends.slc.active {
            backends.ftl.blocks.restore_slc(snapshot.take()?);
        }
        Ok(())
    }
}
