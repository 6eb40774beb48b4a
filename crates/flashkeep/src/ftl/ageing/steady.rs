//! # What it does
//! The drive is full, in the state that it reaches under uniform random writes of single pages, whichever were written
//! before: each plane has as many free pages as between two collections, one open block, and closed blocks with as many
//! valid pages as the mean-field equations of `ftl.gc.victim` say, the block closed first with the fewest. The spare
//! area is what the drive really uses: the share below `ftl.gc.threshold` and half of what a collection frees do not
//! count. Valid pages lie anywhere in a block and belong to random pages of the host; all places of a flash page are
//! filled. A plane holds as many pages of the host as dynamic allocation leaves there, which varies a little.
//! `start.existing` is `all`. Erase counts are zero.
//!
//! For one stream of writes, a map of pages, no wear leveling, and every victim policy but `cost-benefit`. Other drives
//! are conditioned by writing (`flashkeep age`, `--condition`).
//!
//! # What it costs
//! No writes: 512 GB with pages of 4 KiB take tenths of a second instead of minutes. Write amplification is within 3 % of a
//! drive that was conditioned with three drive writes. Under parity, pages are not rewritten equally often, and the
//! state is an approximation.
//!
//! # Source
//! Van Houdt, SIGMETRICS 2013; Desnoyers, ACM TOS 2014; Hu et al., SYSTOR 2009. The state of a plane, number by
//! number, is ours (`docs/ageing.md`).

use super::{Aged, Model};
use crate::blocks::victim::{SteadyState, SteadyUnits, normal};
use flashkeep_trace::random::Random;

/// A full drive in steady state.
pub(super) const MODEL: Model = Model {
    name: "steady",
    summary: "the full drive in steady state under random writes",
    source: include_str!("steady.rs"),
    leaves_valid: true,
    fills: true,
    options: &[],
    blocks: |_, _| Vec::new(),
};

/// The planes of a backend in steady state.
#[derive(Clone, Debug)]
pub struct SteadyPlanes {
    /// The blocks of a plane.
    pub units: SteadyUnits,
    /// Their state.
    pub state: SteadyState,
    /// Pages of the map that are programmed together.
    pub places: u32,
}

impl SteadyPlanes {
    /// The valid pages of each of `planes` planes that have `pages` in all. If pages `wander`, a plane loses and gets them
    /// at random: the variance of what it has is half the mean.
    #[must_use]
    pub fn valid(pages: u64, planes: usize, wander: bool, random: &mut Random) -> Vec<u64> {
        let count = planes as u64;
        let mut valid: Vec<u64> =
            (0..count).map(|at| pages / count + u64::from(at < pages % count)).collect();
        if !wander || planes < 2 {
            return valid;
        }
        let mean = pages as f64 / planes as f64;
        let spread = libm::sqrt(mean / 2.0 * (1.0 - 1.0 / planes as f64));
        for at in 0..planes {
            // What one plane gets another one loses; the factor keeps the variance.
            let other = (at + 1) % planes;
            let moved = libm::round(spread * normal(random) / std::f64::consts::SQRT_2);
            let moved = (moved.abs() as u64, moved > 0.0);
            let (from, to) = if moved.1 { (at, other) } else { (other, at) };
            let moved = moved.0.min(valid[from]);
            valid[from] -= moved;
            valid[to] += moved;
        }
        valid
    }

    /// The blocks of a plane with this many valid pages, in the order in which they were filled; the last one is open.
    #[must_use]
    pub fn blocks(&self, valid: u64, random: &mut Random) -> Vec<Aged> {
        let SteadyUnits { units, pages, below, .. } = self.units;
        let free = below + random.below(u64::from(self.state.swing())) as u32;
        let written = (units * pages).saturating_sub(free) / self.places * self.places;
        let (full, rest) = (written / pages, written % pages);
        let open = Aged { written: rest, valid: u64::from(rest).min(valid) as u32 };
        let counts = self.state.valid_counts(full, f64::from(rest) / f64::from(pages), random);
        let mut aged: Vec<Aged> = counts.into_iter().map(|valid| Aged { written: pages, valid }).collect();
        add_up(&mut aged, valid - u64::from(open.valid), random);
        aged.extend((rest > 0).then_some(open));
        aged
    }
}

/// Adds valid pages to random blocks, or takes them away, until there are as many as wanted.
fn add_up(aged: &mut [Aged], wanted: u64, random: &mut Random) {
    let wanted = wanted.min(aged.iter().map(|block| u64::from(block.written)).sum());
    let mut found: u64 = aged.iter().map(|block| u64::from(block.valid)).sum();
    while found != wanted {
        let block = &mut aged[random.below(aged.len() as u64) as usize];
        if found < wanted && block.valid < block.written {
            (block.valid, found) = (block.valid + 1, found + 1);
        } else if found > wanted && block.valid > 0 {
            (block.valid, found) = (block.valid - 1, found - 1);
        }
    }
}

/// The numbers of a block's pages in a random order, twice: from any of the first on, those of one block.
#[must_use]
pub fn shuffled(pages: u32, random: &mut Random) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..pages).collect();
    for at in (1..numbers.len()).rev() {
        numbers.swap(at, random.below(at as u64 + 1) as usize);
    }
    numbers.extend_from_within(..);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::victim::named;

    #[test]
    fn planes_have_all_pages_and_as_much_room_as_between_collections() {
        let units = SteadyUnits { units: 128, pages: 64, worth: 64, below: 200, enough: 0, valid: 7000.0 };
        let greedy = named("greedy").expect("a policy");
        let state = SteadyState::of(&greedy, 0, &units).expect("its equations are known");
        let planes = SteadyPlanes { units, state, places: 4 };
        let mut random = Random::stream(1, "test");
        let all = SteadyPlanes::valid(8 * 7000 + 3, 8, true, &mut random);
        assert_eq!(all.iter().sum::<u64>(), 8 * 7000 + 3);
        assert!(all.iter().any(|&valid| valid != all[0]));
        for valid in all {
            let blocks = planes.blocks(valid, &mut random);
            assert_eq!(blocks.iter().map(|block| u64::from(block.valid)).sum::<u64>(), valid);
            let written: u32 = blocks.iter().map(|block| block.written).sum();
            let free = 128 * 64 - written;
            assert!(
                (200..200 + planes.state.swing() + 4).contains(&free) && written.is_multiple_of(4),
                "{free}"
            );
            let (open, closed) = blocks.split_last().expect("blocks");
            assert!(closed.iter().all(|block| block.written == 64 && block.valid <= 64));
            assert_eq!(open.valid, open.written);
        }
    }

    #[test]
    fn planes_that_keep_their_pages_have_equally_many() {
        let mut random = Random::stream(1, "test");
        assert_eq!(SteadyPlanes::valid(11, 4, false, &mut random), [3, 3, 3, 2]);
    }
}
