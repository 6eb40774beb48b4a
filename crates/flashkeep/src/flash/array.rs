//! What the flash array of a drive is: nothing of it changes during a run.

use super::{Acknowledge, BusUse, CommandsSpec, Geometry, Pools, Timing};

/// A flash array as it was built.
#[derive(Clone, Debug)]
pub struct FlashArray {
    /// Channels, chips, dies, planes, blocks and pages, as the FTLs see them.
    pub geometry: Geometry,
    /// The planes of the chips that each plane of the geometry consists of.
    pub pools: Pools,
    /// How long operations take.
    pub timing: Timing,
    /// How operations share a channel.
    pub bus: BusUse,
    /// The command modes that controller and chips have.
    pub commands: CommandsSpec,
    /// When a program counts as acknowledged.
    pub acknowledge: Acknowledge,
}
