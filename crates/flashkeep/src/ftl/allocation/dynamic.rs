//! # What it does
//! Writes wait in one queue; the first free channel with an idle die takes the oldest one. The dies of a
//! channel take turns, and so do the planes of a die, dies varying fastest; a plane without room is skipped.
//!
//! # What it costs
//! Neighbouring pages are placed wherever there is room, so two pages of a sequential read may be on the same
//! die.
//!
//! # Source
//! Hu et al., ICS 2011: full dynamic allocation, `dynamic_allocation 0` of SSDSim.

use crate::flash::PlaneId;

/// The first plane with room from `turn` on, and the turn after it.
#[inline]
pub(super) fn next_plane(
    planes: &[PlaneId],
    turn: u32,
    has_room: impl Fn(PlaneId) -> bool,
) -> Option<(PlaneId, u32)> {
    let count = planes.len() as u32;
    let mut at = turn;
    for _ in 0..count {
        let plane = planes[at as usize];
        at = if at + 1 == count { 0 } else { at + 1 };
        if has_room(plane) {
            return Some((plane, at));
        }
    }
    None
}
