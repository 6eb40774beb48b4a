//! Flash hardware: geometry, timing, and arbitration of channels.

mod array;
mod commands;
mod cost;
mod energy;
mod geometry;
mod options;
mod page_types;
mod pools;
mod rows;
pub mod scheduler;
mod timing;

pub use array::FlashArray;
pub use commands::{CommandsSpec, MultiPlane};
pub use cost::{FlashOp, Kind, Phases, Round, Target};
pub use energy::{FlashEnergySpec, nanowatts};
pub use geometry::{Domain, Geometry, Place, PlaneId, Ppn, UnitId};
pub use options::{Acknowledge, Across, BusUse, BusyUnit, FlashSpec, Level, TimingSpec};
pub use page_types::{PageTypes, PerType};
pub use pools::Pools;
pub use rows::Rows;
pub use scheduler::Scheduler;
pub use timing::{Times, Timing};
