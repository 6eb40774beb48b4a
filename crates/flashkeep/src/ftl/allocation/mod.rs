//! Placement of the next page: one file per policy.
//!
//! A write waits in a *write queue* until a die that may take it is idle and its channel free. The policy
//! selects the queue, and the plane of the die.

mod binding;
mod dynamic;
mod most_free;
mod order;

pub use binding::Binding;
pub use order::{Order, StrideOptions};

use super::PlaneChoice;
use crate::flash::{Domain, Geometry, PlaneId, StripingLevel};
use crate::options::{OptionsPart, Selector, SelectorValue};

/// A placement policy, for users.
#[derive(Clone, Copy, Debug)]
pub struct AllocationEntry {
    /// The value of `ftl.allocation`, or an example.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    pub source: &'static str,
    /// The levels that the address fixes, the one that varies fastest first; none for an order of the user's.
    pub levels: Option<&'static [StripingLevel]>,
    /// Its options in `[ftl]`.
    pub options: &'static [OptionsPart],
}

/// Options of placements by the address.
const BY_ADDRESS: &[OptionsPart] = &[OptionsPart::of::<StrideOptions>()];

/// The table of placements.
pub static ALLOCATIONS: [AllocationEntry; 4] = [
    AllocationEntry {
        name: "dynamic",
        summary: "any idle die, selected when a page is written",
        source: include_str!("dynamic.rs"),
        levels: Some(&[]),
        options: &[],
    },
    AllocationEntry {
        name: "dynamic-in-channel",
        summary: "channel from the address, the rest selected when a page is written",
        source: include_str!("order.rs"),
        levels: Some(&[StripingLevel::Channel]),
        options: BY_ADDRESS,
    },
    AllocationEntry {
        name: "dynamic-in-chip",
        summary: "channel and chip from the address, the plane selected when a page is written",
        source: include_str!("order.rs"),
        levels: Some(&[StripingLevel::Chip, StripingLevel::Channel]),
        options: BY_ADDRESS,
    },
    AllocationEntry {
        name: "CWDP",
        summary: "from the address: some of C, W, D, P in any order, the fastest first; omitted levels \
                  are free",
        source: include_str!("order.rs"),
        levels: None,
        options: BY_ADDRESS,
    },
];

/// The placement that a value of `ftl.allocation` selects; any order is that of the table.
#[must_use]
pub fn named(value: &str) -> &'static AllocationEntry {
    let entry = ALLOCATIONS.iter().find(|entry| entry.name == value);
    entry.unwrap_or(&ALLOCATIONS[ALLOCATIONS.len() - 1])
}

/// The placements with names of their own, and the levels that the address fixes.
fn names() -> impl Iterator<Item = (&'static str, &'static [StripingLevel])> {
    ALLOCATIONS.iter().filter_map(|entry| Some((entry.name, entry.levels?)))
}

/// The values that `ftl.allocation` accepts, as a regular expression.
#[must_use]
pub fn pattern() -> String {
    let names: Vec<&str> = names().map(|(name, _)| name).collect();
    let letters: String = StripingLevel::ALL.iter().map(|level| level.letter()).collect();
    format!("^({}|[{letters}]{{1,{}}})$", names.join("|"), StripingLevel::ALL.len())
}

/// `ftl.allocation` and the options of the placements.
pub const SELECTOR: Selector = Selector {
    key: "allocation",
    values: || {
        let values =
            ALLOCATIONS.iter().map(|entry| SelectorValue { name: entry.name, options: entry.options });
        values.collect()
    },
    shapes_state: true,
};

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
