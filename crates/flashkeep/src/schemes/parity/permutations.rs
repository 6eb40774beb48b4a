//! Balanced permutations of members.
//!
//! A base permutation says how far from the first member the member at each position is; each base is used once with
//! each first member in turn (cyclic development), so that every member is at every position equally often. How evenly
//! the survivors of a failure are read then follows from the distances between the units of stripes. Of random bases,
//! those are taken that even out the distances best.

use super::permuted::Shape;
use crate::kernel::{Divisor, Random};
use std::ops::Range;

/// The most base permutations.
const MOST_BASES: u64 = 64;
/// The most random permutations of which one base is chosen.
const MOST_CANDIDATES: u64 = 32;
/// Distances that are counted to choose all bases.
const EFFORT: u64 = 1 << 24;

/// The permutations of members, each for one slice.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Permutations {
    members: u8,
    by_members: Divisor,
    by_bases: Divisor,
    /// For each base and position, the distance of its member from the first one.
    distances: Vec<u8>,
    /// The reverse: for each base and distance, the position.
    positions: Vec<u8>,
}

/// The permutation of one slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation<'a> {
    distances: &'a [u8],
    positions: &'a [u8],
    first: u8,
}

impl Permutation<'_> {
    /// The member at a position.
    #[inline]
    pub(super) fn member(self, position: u8) -> u8 {
        let (at, members) =
            (u16::from(self.first) + u16::from(self.distances[usize::from(position)]), self.members());
        (if at < members { at } else { at - members }) as u8
    }

    /// The position of a member.
    #[inline]
    pub(super) fn position(self, member: u8) -> u8 {
        let from = u16::from(member) + if member < self.first { self.members() } else { 0 };
        self.positions[usize::from(from - u16::from(self.first))]
    }

    #[inline]
    fn members(self) -> u16 {
        self.distances.len() as u16
    }
}

impl Permutations {
    /// The permutations for arrays of this shape.
    pub(super) fn new(shape: &Shape) -> Self {
        let (members, units, places) = (usize::from(shape.members), shape.reads(), shape.places());
        let cost = units.iter().map(|(_, read)| read.len() as u64).sum::<u64>().max(1);
        let bases = (EFFORT / cost).clamp(1, MOST_BASES);
        let candidates = (EFFORT / (cost * bases)).clamp(1, MOST_CANDIDATES);
        let mut random = Random::stream(0, "declustering");
        let (mut distances, mut positions) = (Vec::new(), Vec::new());
        let mut counts = vec![0; members * (1 + usize::from(shape.spares))];
        for _ in 0..bases {
            let candidate = |_| {
                let base = shuffled(shape.members, &mut random);
                let mut counts = counts.clone();
                count(&units, places, &base, &mut counts);
                (counts.iter().map(|&count: &u64| count * count).sum::<u64>(), base, counts)
            };
            let best = (0..candidates).map(candidate).min_by_key(|&(unevenness, ..)| unevenness);
            let (_, base, after) = best.expect("there are candidates");
            counts = after;
            let mut reverse = vec![0; members];
            (0..).zip(&base).for_each(|(position, &distance)| reverse[usize::from(distance)] = position);
            distances.extend(base);
            positions.extend(reverse);
        }
        let by_members = Divisor::new(u32::from(shape.members));
        Permutations {
            members: shape.members,
            by_members,
            by_bases: Divisor::new(bases as u32),
            distances,
            positions,
        }
    }

    /// The permutation of a slice.
    #[inline]
    pub(super) fn of(&self, slice: u32) -> Permutation<'_> {
        let (round, first) = self.by_members.split(slice);
        let (_, base) = self.by_bases.split_any(round);
        let members = usize::from(self.members);
        let at: Range<usize> = base as usize * members..(base as usize + 1) * members;
        Permutation {
            distances: &self.distances[at.clone()],
            positions: &self.positions[at],
            first: first as u8,
        }
    }

    /// The number of slices after which the permutations repeat.
    #[cfg(test)]
    pub(super) fn period(&self) -> u32 {
        u32::from(self.members) * self.by_bases.by()
    }
}

/// The numbers below `members` in random order.
fn shuffled(members: u8, random: &mut Random) -> Vec<u8> {
    let mut base: Vec<u8> = (0..members).collect();
    for at in (1..base.len()).rev() {
        base.swap(at, random.below(at as u64 + 1) as usize);
    }
    base
}

/// Counts, by distance from the failed member, the pages that rebuilds read in a slice with this base, and, after these,
/// the pages that they write to each spare column.
fn count(units: &[(u8, Vec<u8>)], places: u8, base: &[u8], counts: &mut [u64]) {
    let members = base.len();
    let distance = |from: u8, to: usize| {
        let (from, to) = (usize::from(base[usize::from(from)]), usize::from(base[to]));
        if to < from { to + members - from } else { to - from }
    };
    let (read, written) = counts.split_at_mut(members);
    for (lost, others) in units {
        others.iter().for_each(|&other| read[distance(*lost, usize::from(other))] += 1);
        for (column, counts) in written.chunks_mut(members).enumerate() {
            counts[distance(*lost, usize::from(places) + column)] += 1;
        }
    }
}
