//! The drive's part of a snapshot: the complete state at rest.

use super::Drive;
use crate::drive::backends::Oob;
use crate::engine::Contents;
use crate::ftl::Blocks;
use crate::kernel::Sparse;
use crate::snapshot::{Reader, Writer};

impl<C: Contents> Drive<C> {
    /// Adds the state of a drive that is at rest and of which nothing has failed; with what its pages hold, if that is
    /// anything.
    ///
    /// # Panics
    /// Where something is under way, or has failed.
    pub fn save(&self, snapshot: &mut Writer) {
        assert!(self.controller.is_quiet() && !self.backends.health.damaged, "a drive at rest, and whole");
        snapshot.put(&self.backends.ftl.blocks);
        snapshot.put(&self.backends.ftl.blocks.all_contents().map(C::stamp));
        snapshot.put(&self.backends.ftl.maps);
        for ftl in &self.backends.ftl.backends {
            snapshot.put(&(ftl.turn, ftl.untimed_turn as u64, ftl.erases));
        }
        snapshot
            .put(&self.backends.ftl.die_queues.iter().map(|die_queue| die_queue.turn).collect::<Vec<u32>>());
        snapshot.put(&self.controller.dies.channels.iter().map(|channel| channel.turn).collect::<Vec<u32>>());
        snapshot.put(&self.backends.ftl.next_pages);
        snapshot.put(&(self.backends.ftl.streams.heat(), self.backends.gc.chooser.turn()));
        for nvram in &self.backends.nvrams {
            snapshot.put(&nvram.snapshot());
        }
        snapshot
            .put(&self.backends.power.as_ref().map(|power| power.snapshot(self.controller.queues.sequence)));
        if self.backends.slc.active {
            snapshot.put(self.backends.ftl.blocks.slc());
        }
    }

    /// Takes over a state.
    ///
    /// # Errors
    /// In words: it is not one of a drive like this.
    pub fn load(&mut self, snapshot: &mut Reader) -> Result<(), String> {
        let mut blocks: Blocks<C> = snapshot.take()?;
        let tokens: Sparse<u64> = snapshot.take()?;
        if C::KEEP {
            blocks.set_all_contents(tokens.map(C::token));
        }
        blocks.pack_as(&self.backends.ftl.blocks);
        self.backends.ftl.blocks = blocks;
        self.backends.ftl.maps = snapshot.take()?;
        for ftl in &mut self.backends.ftl.backends {
            let (turn, untimed_turn, erases): (u32, u64, u64) = snapshot.take()?;
            (ftl.turn, ftl.untimed_turn, ftl.erases) = (turn, untimed_turn as usize, erases);
        }
        let turns: Vec<u32> = snapshot.take()?;
        self.backends
            .ftl
            .die_queues
            .iter_mut()
            .zip(turns)
            .for_each(|(die_queue, turn)| die_queue.turn = turn);
        let turns: Vec<u32> = snapshot.take()?;
        self.controller.dies.channels.iter_mut().zip(turns).for_each(|(channel, turn)| channel.turn = turn);
        self.backends.ftl.next_pages = snapshot.take()?;
        let (heat, turn): (Vec<Vec<u8>>, u64) = snapshot.take()?;
        self.backends.ftl.streams.set_heat(heat);
        self.backends.gc.chooser.set_turn(turn);
        for nvram in &mut self.backends.nvrams {
            nvram.restore(snapshot.take()?);
        }
        let oob: Option<Oob> = snapshot.take()?;
        if let (Some(power), Some(oob)) = (&mut self.backends.power, oob) {
            self.controller.queues.sequence = power.restore(oob);
        }
        if self.backends.slc.active {
            self.backends.ftl.blocks.restore_slc(snapshot.take()?);
        }
        Ok(())
    }
}
