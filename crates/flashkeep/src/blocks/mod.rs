//! Block management for all kinds of erase units: victim selection, wear leveling, and the course of collections.
//!
//! An *erase unit* is erased as one: a block of a plane, a superblock of a log of stripes, or a log block.
//! Their owner implements [`EraseUnits`]; a [`Chooser`] decides which of them is reclaimed next. The owner determines
//! the order of equal units ([`EraseUnits::first`]).

mod choose;
mod collection;
mod heat;
mod random;
mod units;
pub mod victim;
pub mod wear;

pub use choose::{Chooser, Levelled, Policies};
pub use collection::{CollectedUnits, Collection, GcThresholds, GcTurns};
pub use heat::Heat;
pub use random::RandomStream;
pub use units::{EraseUnits, Score};
pub use victim::Victim;
pub use wear::Levelling;
