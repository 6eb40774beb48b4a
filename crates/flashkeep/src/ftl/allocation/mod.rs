//! Where the next page goes: one file a policy.
//!
//! A write waits in a *pool* until a die that may take it is idle and its channel free; the policy says which pool,
//! and which plane of the die.

mod dynamic;
mod order;

pub use order::Order;

use crate::media::{Domain, Geometry, PlaneId};
use crate::spec;

/// An allocation policy, over the domain of one FTL.
#[derive(Clone, Debug)]
pub enum Allocation {
    /// Any idle die takes the oldest write ([`dynamic`]).
    Dynamic,
    /// The address fixes the channel; within it any idle die.
    DynamicInChannel,
    /// The address fixes the plane ([`order`]).
    Static(Order),
}

/// How writes are pooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// One pool for the whole domain.
    Domain,
    /// One for each channel.
    Channel,
    /// One for each unit.
    Unit,
}

impl From<spec::Allocation> for Allocation {
    fn from(named: spec::Allocation) -> Self {
        match named {
            spec::Allocation::Dynamic => Allocation::Dynamic,
            spec::Allocation::DynamicInChannel => Allocation::DynamicInChannel,
            spec::Allocation::Static(levels) => Allocation::Static(Order::new(levels)),
        }
    }
}

impl Allocation {
    /// How writes are pooled.
    #[must_use]
    pub fn pooling(&self) -> Pooling {
        match self {
            Allocation::Dynamic => Pooling::Domain,
            Allocation::DynamicInChannel => Pooling::Channel,
            Allocation::Static(_) => Pooling::Unit,
        }
    }

    /// The channel, within the domain, that the address is bound to.
    #[must_use]
    pub fn channel(&self, domain: &Domain, lpn: u32) -> Option<u32> {
        match self {
            Allocation::Dynamic => None,
            Allocation::DynamicInChannel => Some(lpn % domain.extent[0]),
            Allocation::Static(order) => Some(order.coordinates(domain, lpn)[0]),
        }
    }

    /// The plane that the address is bound to.
    #[must_use]
    pub fn plane(&self, geometry: &Geometry, domain: &Domain, lpn: u32) -> Option<PlaneId> {
        match self {
            Allocation::Dynamic | Allocation::DynamicInChannel => None,
            Allocation::Static(order) => Some(domain.plane(geometry, order.coordinates(domain, lpn))),
        }
    }

    /// The plane that takes the next page of a unit whose planes take turns from `turn` on: the first with room.
    #[must_use]
    #[inline]
    pub fn next_plane(
        planes: &[PlaneId],
        turn: u32,
        has_room: impl Fn(PlaneId) -> bool,
    ) -> Option<(PlaneId, u32)> {
        dynamic::next_plane(planes, turn, has_room)
    }
}
