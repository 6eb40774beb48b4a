//! Placement of the next page: one file per policy.
//!
//! A write waits in a *write queue* until a die that may take it is idle and its channel free. The policy
//! selects the queue, and the plane of the die.

mod binding;
mod dynamic;
mod most_free;
mod order;

pub use binding::Binding;
pub use order::Order;

use super::PlaneChoice;
use crate::flash::{Domain, Geometry, PlaneId, StripingLevel};

/// A placement policy, for users.
#[derive(Clone, Copy, Debug)]
pub struct AllocationEntry {
    /// The value of `ftl.allocation`, or an example.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    pub source: &'static str,
}

/// The table of placements.
pub const ALLOCATIONS: [AllocationEntry; 4] = [
    AllocationEntry {
        name: "dynamic",
        summary: "any idle die, selected when a page is written",
        source: include_str!("dynamic.rs"),
    },
    AllocationEntry {
        name: "dynamic-in-channel",
        summary: "channel from the address, the rest selected when a page is written",
        source: include_str!("order.rs"),
    },
    AllocationEntry {
        name: "dynamic-in-chip",
        summary: "channel and chip from the address, the plane selected when a page is written",
        source: include_str!("order.rs"),
    },
    AllocationEntry {
        name: "CWDP",
        summary: "from the address: some of C, W, D, P in any order, the fastest first; omitted levels \
                  are free",
        source: include_str!("order.rs"),
    },
];

/// How the FTLs of a drive place pages, as long as no plane has failed.
#[derive(Clone, Debug)]
pub struct PagePlacement {
    /// The levels that the address fixes.
    pub configured: Allocation,
    /// Which plane of a die takes the next page.
    pub plane_choice: PlaneChoice,
    /// The number of consecutive pages that the address binds to the same place.
    pub stride: u32,
    /// Whether planes are bound, or chosen, but not channels: the first write of a queue decides which channels may take
    /// it.
    pub selective: bool,
    /// Whether there are more planes than the processor keeps open blocks' tables at hand for.
    pub many_planes: bool,
}

/// From this number of planes on, the state of open blocks is prefetched; with fewer planes it is in the processor's
/// cache.
const MANY_PLANES: u32 = 256;

impl PagePlacement {
    /// The placement of a drive's keys.
    #[must_use]
    pub fn new(configured: Allocation, plane_choice: PlaneChoice, stride: u32, planes: u32) -> Self {
        let chooses = plane_choice != PlaneChoice::InTurn;
        let selective = match &configured {
            Allocation::Dynamic => chooses,
            Allocation::Partial(order) => {
                (chooses || order.binds_planes()) && !order.binds(StripingLevel::Channel)
            }
            Allocation::Static(_) => false,
        };
        PagePlacement { configured, plane_choice, stride, selective, many_planes: planes >= MANY_PLANES }
    }
}

/// An allocation policy, over the domain of one FTL.
#[derive(Clone, Debug)]
pub enum Allocation {
    /// Any idle die takes the oldest write ([`dynamic`]).
    Dynamic,
    /// The address fixes some levels ([`order`]); within them as [`Allocation::Dynamic`].
    Partial(Order),
    /// The address fixes the plane ([`order`]).
    Static(Order),
}

impl Allocation {
    /// Parses a drive's key, with this many consecutive pages at the same place.
    #[must_use]
    pub fn new(binding: Binding, stride: u32) -> Self {
        match binding.levels() {
            [] => Allocation::Dynamic,
            levels @ [_, _, _, _] => Allocation::Static(Order::new(levels, stride)),
            levels => Allocation::Partial(Order::new(levels, stride)),
        }
    }

    /// The plane that the address is bound to.
    #[must_use]
    #[inline]
    pub fn plane(&self, geometry: &Geometry, domain: &Domain, lpn: u32) -> Option<PlaneId> {
        match self {
            Allocation::Dynamic | Allocation::Partial(_) => None,
            Allocation::Static(order) => Some(domain.plane(geometry, order.coordinates(domain, lpn))),
        }
    }

    /// Whether an address may go to a plane.
    #[must_use]
    pub fn allows(&self, geometry: &Geometry, domain: &Domain, lpn: u32, plane: PlaneId) -> bool {
        match self {
            Allocation::Dynamic => true,
            Allocation::Partial(order) | Allocation::Static(order) => {
                order.allows(domain, lpn, geometry.place(plane))
            }
        }
    }

    /// The plane with the most room, and the turn after it; `room` is none for a plane that cannot take the page.
    #[must_use]
    pub fn roomiest(
        planes: &[PlaneId],
        turn: u32,
        room: impl Fn(PlaneId) -> Option<u32>,
    ) -> Option<(PlaneId, u32)> {
        let picked = most_free::pick(planes.len() as u32, turn, |at| room(planes[at as usize]));
        picked.map(|(at, turn)| (planes[at as usize], turn))
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
