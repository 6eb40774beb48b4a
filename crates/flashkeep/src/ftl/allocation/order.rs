//! # What it does
//! The address fixes the place: a mixed-radix number whose digits are channel, chip, die and plane, in any order,
//! the first varying fastest. `CWDP` is channel, then chip (way), then die, then plane.
//!
//! # What it costs
//! Nothing to decide; a page waits for its die even when others are idle.
//!
//! # Source
//! Hu et al., ICS 2011 (SSDSim's `static_allocation`: 0 is `WDPC`, 1 `CWDP`, 2 `CPWD`, 3 `CDWP`, 4 `CPDW`,
//! 5 `CDPW`); Tavakkol et al., MQSim, FAST 2018, for the letters.

use crate::media::Domain;
use crate::spec::Level;

/// A static order: indices into channel, chip, die, plane, fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order([usize; 4]);

impl Order {
    /// The order of these levels, fastest first.
    #[must_use]
    pub fn new(levels: [Level; 4]) -> Order {
        Order(levels.map(|level| level as usize))
    }

    /// Channel, chip, die and plane, within the domain, of an address.
    #[must_use]
    pub fn coordinates(&self, domain: &Domain, lpn: u32) -> [u32; 4] {
        let mut rest = lpn;
        let mut at = [0; 4];
        for level in self.0 {
            at[level] = rest % domain.extent[level];
            rest /= domain.extent[level];
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Place;

    #[test]
    fn the_published_example() {
        // SSDSim's static allocation 2, two of everything, address 13: channel 1, plane 0, chip 1, die 1.
        let domain = Domain { first: Place::default(), extent: [2, 2, 2, 2] };
        let order = Order::new([Level::Channel, Level::Plane, Level::Chip, Level::Die]);
        assert_eq!(order.coordinates(&domain, 13), [1, 1, 1, 0]);
    }
}
