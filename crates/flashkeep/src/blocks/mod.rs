//! Block management that does not depend on what is managed: which erase unit is reclaimed, and how wear is spread.
//!
//! An *erase unit* is what is erased as one: a block of a plane, a superblock of a log of stripes, or a log block. Who
//! owns such units shows them as [`EraseUnits`]; a [`Chooser`] decides which of them is reclaimed next. The order of equals
//! is the owner's: [`EraseUnits::first`].

mod choose;
mod draws;
mod heat;
mod units;
pub mod victim;
pub mod wear;

pub use choose::{Chooser, Levelled, Policies};
pub use draws::Draws;
pub use heat::Heat;
pub use units::{EraseUnits, Score};
pub use victim::{Tuning, Victim};
pub use wear::Levelling;
