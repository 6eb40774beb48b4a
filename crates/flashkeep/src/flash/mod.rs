//! Flash hardware: geometry, timing, and arbitration of channels.

mod array;
mod commands;
mod cost;
mod energy;
pub mod errors;
mod geometry;
mod options;
mod page_types;
mod pools;
mod program_spread;
mod rows;
pub mod scheduler;
mod slc;
mod slow;
mod timing;

pub use array::FlashArray;
pub use commands::{
    COMMANDS, CommandsSpec, MultiPlane, RegisterOptions, SUSPEND_TIMES, SUSPENSIONS, Suspend, SuspendRules,
};
pub use cost::{FlashOp, OpKind, OpPhases, Round, Target};
pub use energy::{FlashEnergySpec, nanowatts};
pub use errors::{ErrorModel, ErrorsSpec, SoftSensing};
pub use geometry::{Domain, Geometry, PlaneId, PlanePlace, Ppn, UnitId};
pub use options::{Acknowledge, Across, BusUse, BusyUnit, FlashSpec, StripingLevel, TimingSpec};
pub use page_types::{PageTypes, PerType};
pub use pools::{PoolPart, Pools};
pub use rows::Rows;
pub use scheduler::Scheduler;
pub use slc::{SLC, SlcOptions, SlcSpec};
pub use slow::SlowPart;
pub use timing::{Times, Timing};
