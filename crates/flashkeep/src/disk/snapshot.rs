//! A disk's part of a snapshot: the contents of its pages.

use super::Disk;
use crate::engine::Contents;
use crate::snapshot::{Reader, Writer};

impl<C: Contents> Disk<C> {
    /// Adds the state of a disk that is at rest and has not failed.
    ///
    /// # Panics
    /// Where something is under way, or it has failed.
    pub fn save(&self, snapshot: &mut Writer) {
        assert!(self.is_quiet() && !self.dead && !self.spoilt, "a disk at rest, and whole");
        snapshot.put(&self.pages.state());
        snapshot.put(&self.numbers());
    }

    /// Takes over a state.
    ///
    /// # Errors
    /// In words: it is not one of a disk like this.
    pub fn load(&mut self, snapshot: &mut Reader) -> Result<(), String> {
        self.pages.restore(snapshot.take()?);
        self.take_numbers(snapshot.take()?);
        Ok(())
    }
}
