//! The fixed properties of a drive's flash array, which do not change during a run.

use super::{Acknowledge, BusUse, CommandsSpec, Geometry, Pools, Timing};

/// The fixed properties of a flash array.
#[derive(Clone, Debug)]
pub struct FlashArray {
    /// Channels, chips, dies, planes, blocks and pages, as the FTLs see them.
    pub geometry: Geometry,
    /// The planes of the chips that each plane of the geometry consists of.
    pub pools: Pools,
    /// The times of operations.
    pub timing: Timing,
    /// How long operations hold a channel.
    pub bus: BusUse,
    /// The command modes that controller and chips have.
    pub commands: CommandsSpec,
    /// When a program counts as acknowledged.
    pub acknowledge: Acknowledge,
}
