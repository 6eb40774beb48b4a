//! # What it does
//! The address fixes the place: a mixed-radix number whose digits are channel, chip, die and plane, in any
//! order, the first varying fastest. `CWDP` is channel, then chip (way), then die, then plane. Omitted levels
//! are free: the first die and plane to become available that match the other levels take the page.
//!
//! # What it costs
//! No decision; a page waits for its die even if others are idle, less so the more levels are free.
//!
//! # Source
//! Hu et al., ICS 2011 (SSDSim's `static_allocation`: 0 is `WDPC`, 1 `CWDP`, 2 `CPWD`, 3 `CDWP`, 4 `CPDW`, 5
//! `CDPW`); Tavakkol et al., MQSim, FAST 2018, for the letters; Tavakkol et al., SIGMETRICS 2014, for one and
//! two free choices.

use crate::flash::{Domain, PlanePlace, StripingLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Consecutive pages at the same place.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StrideOptions {
    /// If the address fixes levels (all placements but `dynamic`): the number of consecutive pages that go to the same
    /// place at these levels, such as a channel or chip. 0: those of one logical page, or those that share a flash page.
    #[schemars(range(max = 65_536))]
    pub stride_pages: u32,
}

/// The levels that an address decides, fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    levels: [usize; 4],
    bound: usize,
    /// Consecutive pages at the same place.
    stride: u32,
}

impl Order {
    /// The order of these levels, fastest first, of each at most one; this many consecutive pages go to the same place.
    #[must_use]
    pub fn new(levels: &[StripingLevel], stride: u32) -> Order {
        let mut order = Order { levels: [0; 4], bound: levels.len(), stride };
        for (place, level) in order.levels.iter_mut().zip(levels) {
            *place = *level as usize;
        }
        order
    }

    /// Whether it decides this level.
    #[must_use]
    pub fn binds(&self, level: StripingLevel) -> bool {
        self.levels[..self.bound].contains(&(level as usize))
    }

    /// Whether it decides anything within a chip.
    #[must_use]
    pub fn binds_planes(&self) -> bool {
        self.binds(StripingLevel::Die) || self.binds(StripingLevel::Plane)
    }

    /// Channel, chip, die and plane, within the domain, of an address; 0 where it does not decide.
    #[must_use]
    #[inline]
    pub fn coordinates(&self, domain: &Domain, lpn: u32) -> [u32; 4] {
        let mut rest = if self.stride == 1 { lpn } else { lpn / self.stride };
        let mut at = [0; 4];
        for &level in &self.levels[..self.bound] {
            at[level] = rest % domain.extent[level];
            rest /= domain.extent[level];
        }
        at
    }

    /// Whether an address may go to a place.
    #[must_use]
    pub fn allows(&self, domain: &Domain, lpn: u32, place: PlanePlace) -> bool {
        let (at, there) = (self.coordinates(domain, lpn), domain.within(place));
        self.levels[..self.bound].iter().all(|&level| at[level] == there[level])
    }

    /// A number for the levels among `levels` that it decides, the same for all addresses and places that agree in
    /// them.
    #[must_use]
    pub fn index(&self, domain: &Domain, levels: &[StripingLevel], at: [u32; 4]) -> u32 {
        let decided = levels.iter().filter(|&&level| self.binds(level));
        decided.fold(0, |index, &level| index * domain.extent[level as usize] + at[level as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_example() {
        // SSDSim's static allocation 2, two of everything, address 13: channel 1, plane 0, chip 1, die 1.
        let domain = Domain { first: PlanePlace::default(), extent: [2, 2, 2, 2] };
        let order = Order::new(
            &[StripingLevel::Channel, StripingLevel::Plane, StripingLevel::Chip, StripingLevel::Die],
            1,
        );
        assert_eq!(order.coordinates(&domain, 13), [1, 1, 1, 0]);
    }
}
