//! The flash itself: where things are, how long they take, and who goes first on a channel.

mod geometry;
mod pools;
mod rows;
pub mod scheduler;
mod timing;

pub use geometry::{Domain, Geometry, Place, PlaneId, Ppn, UnitId};
pub use pools::Pools;
pub use rows::Rows;
pub use scheduler::Scheduler;
pub use timing::Timing;
