//! The flash translation layer: where logical pages are, where new ones go, and how space comes back.

pub mod ageing;
pub mod allocation;
mod blocks;
mod defects;
mod map;
pub mod victim;

pub use allocation::Allocation;
pub use blocks::{Blocks, Plane};
pub use map::{Entry, Map};
pub use victim::Victim;
