//! # What it does
//! The plane with the most room takes the page, among those whose open block is younger than the block of the
//! page's older copy. Ties go to the first plane after the last choice.
//!
//! # What it costs
//! A look at every plane of the chip for each page. No simulated time.
//!
//! # Source
//! The DiskSim extension of Agrawal et al., USENIX ATC 2008: if a drive rebuilds its map from metadata in its
//! pages, the later copy of a page must have the greater version.

/// The place, in a chip's list of planes, of the one that takes the next page, and the turn after it. `room` is none
/// for a plane that cannot take it.
pub(super) fn pick(count: u32, turn: u32, room: impl Fn(u32) -> Option<u32>) -> Option<(u32, u32)> {
    let mut best: Option<(u32, u32)> = None;
    for n in 0..count {
        let at = (turn + n) % count;
        if let Some(room) = room(at)
            && best.is_none_or(|(_, most)| room > most)
        {
            best = Some((at, room));
        }
    }
    best.map(|(at, _)| (at, (at + 1) % count))
}

#[cfg(test)]
mod tests {
    use super::pick;

    #[test]
    fn the_most_room_then_the_turn() {
        let room = [Some(5), Some(9), None, Some(9)];
        let of = |at: u32| room[at as usize];
        assert_eq!(pick(4, 0, of), Some((1, 2)));
        assert_eq!(pick(4, 2, of), Some((3, 0)), "of equals the first from the turn on");
        assert_eq!(pick(4, 0, |_| None), None);
    }
}
