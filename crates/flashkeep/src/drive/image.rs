//! The drive's part of a snapshot: the complete state at rest.

use super::Drive;
use super::power::Oob;
use crate::engine::Contents;
use crate::ftl::Blocks;
use crate::image::{Reader, Writer};

impl<C: Contents> Drive<C> {
    /// Adds the state of a drive that is at rest and of which nothing has failed; with what its pages hold, if that is
    /// anything.
    ///
    /// # Panics
    /// Where something is under way, or has failed.
    pub fn save(&self, image: &mut Writer) {
        assert!(self.is_quiet() && !self.health.damaged, "a drive at rest, and whole");
        image.put(&self.ftl.blocks);
        let tokens: Vec<u64> = self.ftl.blocks.all_contents().iter().map(|&page| page.stamp()).collect();
        image.put(&tokens);
        image.put(&self.ftl.maps);
        for ftl in &self.ftl.leaves {
            image.put(&(ftl.turn, ftl.untimed_turn as u64, ftl.erases));
        }
        image.put(&self.queues.lanes.iter().map(|lane| lane.turn).collect::<Vec<u32>>());
        image.put(&self.dies.channels.iter().map(|channel| channel.turn).collect::<Vec<u32>>());
        image.put(&self.ftl.next_pages);
        image.put(&(self.ftl.streams.heat(), self.gc.chooser.turn()));
        for nvram in &self.nvrams {
            image.put(&nvram.image());
        }
        image.put(&self.power.as_ref().map(|power| power.image(self.queues.sequence)));
    }

    /// Takes over a state.
    ///
    /// # Errors
    /// In words: it is not one of a drive like this.
    pub fn load(&mut self, image: &mut Reader) -> Result<(), String> {
        let mut blocks: Blocks<C> = image.take()?;
        let tokens: Vec<u64> = image.take()?;
        if C::KEEP {
            blocks.set_all_contents(tokens.into_iter().map(C::token).collect());
        }
        blocks.pack_as(&self.ftl.blocks);
        self.ftl.blocks = blocks;
        self.ftl.maps = image.take()?;
        for ftl in &mut self.ftl.leaves {
            let (turn, untimed_turn, erases): (u32, u64, u64) = image.take()?;
            (ftl.turn, ftl.untimed_turn, ftl.erases) = (turn, untimed_turn as usize, erases);
        }
        let turns: Vec<u32> = image.take()?;
        self.queues.lanes.iter_mut().zip(turns).for_each(|(lane, turn)| lane.turn = turn);
        let turns: Vec<u32> = image.take()?;
        self.dies.channels.iter_mut().zip(turns).for_each(|(channel, turn)| channel.turn = turn);
        self.ftl.next_pages = image.take()?;
        let (heat, turn): (Vec<Vec<u8>>, u64) = image.take()?;
        self.ftl.streams.set_heat(heat);
        self.gc.chooser.set_turn(turn);
        for nvram in &mut self.nvrams {
            nvram.restore(image.take()?);
        }
        let oob: Option<Oob> = image.take()?;
        if let (Some(power), Some(oob)) = (&mut self.power, oob) {
            self.queues.sequence = power.restore(oob);
        }
        Ok(())
    }
}
