//! The codes of stripes: each parity of a stripe is a sum of data units, each multiplied by a coefficient of GF(2⁸).
//!
//! A code without local groups is MDS: with m ≤ 3 parities it restores any m missing units. The coefficients of the
//! first parity are 1, those of the second gⁱ, those of the third g²ⁱ (Vandermonde). Each minor of these three rows is
//! a product of differences of powers of g, or of their squares, and so is not 0 for up to 255 data units.
//!
//! A code with local groups (LRC) has one XOR parity a group, and one or two global parities, with the coefficients α
//! and α². It restores every set of missing units that any code of this shape can restore (it is maximally
//! recoverable): with two global parities, this needs α + β of two units of a group, or α of one, to differ from those
//! of every other group. Group j takes its α from gʲ·GF(16), and the multiples of a subfield by gʲ, j < 17, have only 0
//! in common. The same construction as in Huang et al., "Erasure coding in Windows Azure Storage", USENIX ATC 2012.

use super::contents::gf;
use std::ops::Range;

/// The code of a stripe's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Code {
    /// Data units, if there are local groups.
    data: u8,
    locals: u8,
    /// Parities that cover all data units.
    globals: u8,
}

impl Default for Code {
    fn default() -> Self {
        Code::mds(2)
    }
}

impl Code {
    /// The most parities of a stripe.
    pub const MOST: usize = Self::MOST_GROUPS as usize + 2;
    /// The most local groups.
    pub const MOST_GROUPS: u8 = 17;
    /// The most data units of a group, if there are several groups and two global parities: 2⁸ = (15 + 1)².
    pub const MOST_IN_GROUP: u8 = 15;

    /// Up to three parities of all data units.
    #[must_use]
    pub const fn mds(parities: u8) -> Code {
        Code { data: 0, locals: 0, globals: parities }
    }

    /// A parity for each of `locals` groups of the data units, and one or two of all of them. The groups are
    /// consecutive units, and differ by at most one in size.
    #[must_use]
    pub const fn local(data: u8, locals: u8, globals: u8) -> Code {
        Code { data, locals, globals }
    }

    /// The number of parities. Local ones come first.
    #[must_use]
    #[inline]
    pub const fn parities(self) -> u8 {
        self.locals + self.globals
    }

    /// Whether there are local groups.
    #[must_use]
    #[inline]
    pub const fn has_groups(self) -> bool {
        self.locals > 0
    }

    /// The number of missing units that can be reconstructed whichever they are.
    #[must_use]
    pub const fn tolerance(self) -> u8 {
        if self.has_groups() { self.globals + 1 } else { self.globals }
    }

    /// The data units of a local group.
    #[must_use]
    pub fn group(self, group: u8) -> Range<u8> {
        let first = |group: u8| {
            (u16::from(group) * u16::from(self.data)).div_ceil(u16::from(self.locals.max(1))) as u8
        };
        first(group)..first(group + 1)
    }

    /// The data units of a parity.
    #[must_use]
    pub fn covered(self, parity: u8) -> Range<u8> {
        if parity < self.locals { self.group(parity) } else { 0..u8::MAX }
    }

    /// Whether a data unit is part of a parity.
    #[must_use]
    #[inline]
    pub fn covers(self, parity: u8, index: u8) -> bool {
        parity >= self.locals || self.group(parity).contains(&index)
    }

    /// Whether a data unit is part of one of these parities: bit `j` represents parity `j`.
    #[must_use]
    #[inline]
    pub fn is_in_any(self, parities: u32, index: u8) -> bool {
        let globals = parities >> self.locals != 0;
        globals || (0..self.locals).any(|number| parities >> number & 1 != 0 && self.covers(number, index))
    }

    /// The factor of a data unit in a parity.
    #[must_use]
    pub fn coefficient(self, parity: u8, index: u8) -> u8 {
        if parity < self.locals {
            return u8::from(self.covers(parity, index));
        }
        // The power of α.
        let power = u32::from(parity - self.locals) + u32::from(self.has_groups());
        gf::power(self.logarithm(index) * power)
    }

    /// The logarithm of a data unit's α.
    fn logarithm(self, index: u8) -> u32 {
        if self.locals < 2 || self.globals < 2 {
            return u32::from(index);
        }
        let group = (u16::from(index) * u16::from(self.locals) / u16::from(self.data)) as u8;
        u32::from(index - self.group(group).start) * 17 + u32::from(group)
    }

    /// How unknown data units follow from what `parities` say of them, earlier parities before later ones: for each
    /// unit a factor for each parity, none if these parities do not determine it.
    #[must_use]
    pub fn solve(self, parities: &[u8], unknown: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut rows: Vec<Equation> = Vec::with_capacity(unknown.len());
        for (n, &parity) in parities.iter().enumerate() {
            if rows.len() == unknown.len() {
                break;
            }
            let mut row = Equation {
                units: unknown.iter().map(|&index| self.coefficient(parity, index)).collect(),
                weights: (0..parities.len()).map(|m| u8::from(m == n)).collect(),
                pivot: 0,
            };
            rows.iter().for_each(|other| row.eliminate(other));
            let Some(pivot) = row.units.iter().position(|&factor| factor != 0) else { continue };
            row.pivot = pivot;
            row.scale(gf::inverse(row.units[pivot]));
            rows.iter_mut().for_each(|other| other.eliminate(&row));
            rows.push(row);
        }
        let known = |n: usize| rows.iter().find(|row| row.pivot == n && row.is_of_one());
        (0..unknown.len()).map(|n| known(n).map(|row| row.weights.clone())).collect()
    }

    /// The parities from which unknown data units are computed, of those that are there: bit `j` for parity `j`. None
    /// for units that they do not determine.
    #[must_use]
    pub fn parities_for(self, parities: u32, unknown: &[u8]) -> Vec<Option<u32>> {
        let there = || (0..self.parities()).filter(|&number| parities >> number & 1 != 0);
        if !self.has_groups() {
            let first = there().take(unknown.len()).fold(0u32, |set, number| set | 1 << number);
            let used = (first.count_ones() as usize == unknown.len()).then_some(first);
            return vec![used; unknown.len()];
        }
        let parities: Vec<u8> = there().collect();
        let used = |weights: Vec<u8>| {
            let used = parities.iter().zip(weights).filter(|&(_, weight)| weight != 0);
            used.fold(0, |set, (&number, _)| set | 1 << number)
        };
        self.solve(&parities, unknown).into_iter().map(|weights| weights.map(used)).collect()
    }

    /// The share of the sets of `missing` units of a stripe of `data` units that cannot be reconstructed.
    ///
    /// A set can be reconstructed if the global parities that are there are as many as what the groups lack beyond one
    /// unit each: the construction above meets this bound.
    #[must_use]
    pub fn fatal_share(self, data: u8, missing: u8) -> f64 {
        let members = u32::from(data) + u32::from(self.parities());
        let lacking = usize::from(missing);
        // `ways[k][e]`: ways in which k units are missing, of which globals must restore e.
        let mut ways = vec![vec![0.0f64; lacking + 1]; lacking + 1];
        ways[0][0] = 1.0;
        let mut add = |units: u32, local: usize| {
            let mut next = vec![vec![0.0f64; lacking + 1]; lacking + 1];
            for (k, by_excess) in ways.iter().enumerate() {
                for gone in 0..=(lacking - k).min(units as usize) {
                    // More cannot be: what globals must restore is missing.
                    let more = gone.saturating_sub(local);
                    for (e, &count) in by_excess[..=lacking - more].iter().enumerate() {
                        next[k + gone][e + more] += count * choose(units, gone as u32);
                    }
                }
            }
            ways = next;
        };
        if self.has_groups() {
            (0..self.locals).for_each(|group| add(self.group(group).len() as u32 + 1, 1));
            add(u32::from(self.globals), 0);
        } else {
            add(members, 0);
        }
        let fatal: f64 = ways[lacking].iter().skip(usize::from(self.globals) + 1).sum();
        fatal / choose(members, u32::from(missing))
    }
}

/// A sum of unknown units, as a sum of what parities say.
#[derive(Debug)]
struct Equation {
    units: Vec<u8>,
    weights: Vec<u8>,
    /// The first of the units, with the factor 1.
    pivot: usize,
}

impl Equation {
    /// Removes another equation's pivot.
    fn eliminate(&mut self, other: &Equation) {
        let factor = self.units[other.pivot];
        let add = |to: &mut [u8], from: &[u8]| {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to ^= gf::multiply(factor, from));
        };
        add(&mut self.units, &other.units);
        add(&mut self.weights, &other.weights);
    }

    fn scale(&mut self, factor: u8) {
        let all = self.units.iter_mut().chain(&mut self.weights);
        all.for_each(|symbol| *symbol = gf::multiply(factor, *symbol));
    }

    /// Whether it has no unit but its pivot.
    fn is_of_one(&self) -> bool {
        self.units.iter().enumerate().all(|(n, &factor)| n == self.pivot || factor == 0)
    }
}

/// The number of sets of `some` of `all`.
fn choose(all: u32, some: u32) -> f64 {
    if some > all { 0.0 } else { (0..some).fold(1.0, |n, k| n * f64::from(all - k) / f64::from(k + 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the missing units follow from the rest, by the rank of their equations.
    fn is_restorable(code: Code, data: u8, missing: &[usize]) -> bool {
        let is_there = |number: &u8| !missing.contains(&usize::from(data + number));
        let parities: Vec<u8> = (0..code.parities()).filter(is_there).collect();
        let unknown: Vec<u8> = (0..data).filter(|&index| missing.contains(&usize::from(index))).collect();
        code.solve(&parities, &unknown).iter().all(Option::is_some)
    }

    /// The sets of `size` numbers below `count`.
    fn each_set(count: usize, size: usize, visit: &mut dyn FnMut(&[usize])) {
        let mut set: Vec<usize> = (0..size).collect();
        loop {
            visit(&set);
            let Some(at) = (0..size).rev().find(|&at| set[at] < count - size + at) else { return };
            set[at] += 1;
            (at + 1..size).for_each(|next| set[next] = set[next - 1] + 1);
        }
    }

    /// What no linear code of this shape can restore: more units than the global parities and one of each group.
    fn is_beyond_any_code(code: Code, data: u8, missing: &[usize]) -> bool {
        let gone = |of: Range<u8>| of.filter(|&unit| missing.contains(&usize::from(unit))).count();
        let excess = |group: u8| {
            let parity = data + group;
            (gone(code.group(group)) + gone(parity..parity + 1)).saturating_sub(1)
        };
        let globals = gone(data + code.locals..data + code.parities());
        (0..code.locals).map(excess).sum::<usize>() + globals > usize::from(code.globals)
    }

    #[test]
    fn three_parities_restore_any_three_units() {
        for data in [1, 2, 5, 13, 30] {
            let members = usize::from(data) + 3;
            for size in 1..=3 {
                each_set(members, size, &mut |set| {
                    assert!(is_restorable(Code::mds(3), data, set), "{set:?}")
                });
            }
            each_set(members, 4, &mut |set| {
                assert!(
                    !is_restorable(Code::mds(3), data, set) || set.iter().all(|&unit| unit >= data.into())
                );
            });
        }
        // The widest: it is enough that each minor of the three rows is not 0.
        let coefficients = |index| [0, 1, 2].map(|parity| Code::mds(3).coefficient(parity, index));
        for index in 0..252 {
            assert!(coefficients(index).iter().all(|&factor| factor != 0));
            for other in 0..index {
                let (one, two) = (coefficients(index), coefficients(other));
                for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                    assert_ne!(gf::multiply(one[a], two[b]), gf::multiply(one[b], two[a]));
                }
                // With a third unit: Vandermonde, so the second row must have no equal factors.
                assert_ne!(one[1], two[1]);
                assert_eq!([one[2], two[2]], [gf::multiply(one[1], one[1]), gf::multiply(two[1], two[1])]);
            }
        }
    }

    #[test]
    fn local_codes_restore_all_that_any_code_can() {
        let shapes =
            [(12, 2, 2), (6, 2, 2), (2, 2, 2), (7, 2, 2), (9, 3, 2), (5, 4, 2), (4, 1, 2), (30, 2, 2)];
        for (data, locals, globals) in shapes.into_iter().chain([(12, 2, 1), (11, 3, 1), (4, 1, 1)]) {
            let code = Code::local(data, locals, globals);
            let members = usize::from(data + code.parities());
            let most =
                usize::from(code.parities()).min(if data > 12 { 4 } else { 6 }) + usize::from(data <= 12);
            for size in 0..=most {
                let (mut all, mut fatal) = (0u64, 0u64);
                each_set(members, size, &mut |set| {
                    let lost = is_beyond_any_code(code, data, set);
                    assert_eq!(is_restorable(code, data, set), !lost, "{code:?} without {set:?}");
                    all += 1;
                    fatal += u64::from(lost);
                });
                let (counted, share) = (fatal as f64 / all as f64, code.fatal_share(data, size as u8));
                assert!((counted - share).abs() < 1e-12, "{code:?}: {size} of {members}: {counted}, {share}");
                assert!(size > usize::from(code.tolerance()) || fatal == 0);
            }
        }
    }

    #[test]
    fn azures_code_survives_86_percent_of_four_failures() {
        // Huang et al., section 2: LRC (6, 2, 2) as well as (12, 2, 2).
        let survived = |data| 1.0 - Code::local(data, 2, 2).fatal_share(data, 4);
        assert!((survived(6) - 0.86).abs() < 0.005, "{}", survived(6));
        assert!(survived(12) > 0.85, "{}", survived(12));
        assert_eq!([0, 3].map(|missing| Code::local(12, 2, 2).fatal_share(12, missing)), [0.0; 2]);
        assert_eq!(Code::local(12, 2, 2).fatal_share(12, 5), 1.0);
    }

    #[test]
    fn the_widest_groups() {
        // Groups of 15: differences of no two of them coincide.
        let code = Code::local(255 - 17 - 2 - 4, 17, 2);
        let alphas =
            |group: u8| code.group(group).map(|index| code.coefficient(17, index)).collect::<Vec<_>>();
        let mut seen = [false; 256];
        for group in 0..17 {
            let mut members = alphas(group);
            assert!(members.len() <= usize::from(Code::MOST_IN_GROUP));
            members.push(0);
            let sums: std::collections::BTreeSet<u8> = members
                .iter()
                .flat_map(|a| members.iter().map(move |b| a ^ b))
                .filter(|&sum| sum != 0)
                .collect();
            assert!(sums.into_iter().all(|sum| !std::mem::replace(&mut seen[usize::from(sum)], true)));
        }
    }

    #[test]
    fn a_local_repair_needs_its_group_only() {
        let code = Code::local(12, 2, 2);
        assert_eq!(code.parities_for(0b1111, &[3]), [Some(0b1)]);
        assert_eq!(code.parities_for(0b1111, &[3, 8]), [Some(0b1), Some(0b10)]);
        assert_eq!(code.parities_for(0b1110, &[3]), [Some(0b100)]);
        assert_eq!(code.parities_for(0b0010, &[3, 8]), [None, Some(0b10)]);
        assert!(code.parities_for(0b1111, &[0, 1]).iter().all(|used| *used == Some(0b101)));
        assert_eq!((code.group(0), code.group(1), Code::local(7, 2, 1).group(0)), (0..6, 6..12, 0..4));
    }
}
