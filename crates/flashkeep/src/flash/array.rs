//! The fixed properties of a drive's flash array, which do not change during a run. Only slow parts do ([`SlowPart`]).

use super::{Acknowledge, BusUse, CommandsSpec, Geometry, PlaneId, Pools, SlowPart, Timing};

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

impl FlashArray {
    /// Channel, chip and die of the flash that a block is in.
    #[must_use]
    pub fn die_of(&self, plane: PlaneId, block: u32) -> (u32, u32, u32) {
        let (geometry, pools) = (&self.geometry, self.pools);
        let place = match pools == Pools::PLANES {
            true => geometry.place(plane),
            false => pools.place(geometry, geometry.ppn(plane, block, 0)).0,
        };
        (place.channel, place.chip, place.die)
    }

    /// Parts will be slow: from now on every operation looks up its own times.
    pub fn expect_slow_parts(&mut self) {
        self.timing.expect_slow_parts(&self.geometry);
    }

    /// Operations that are granted from now on are slow in these parts, and in no others.
    pub fn set_slow_parts(&mut self, parts: Vec<SlowPart>) {
        self.timing.set_slow_parts(parts);
    }
}
