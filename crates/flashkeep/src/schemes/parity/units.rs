//! Sets of a stripe's data units.

use crate::engine::{Code, Role};
use crate::kernel::Bits;

/// Some of a stripe's data units, of which there are at most 254.
#[derive(Clone, Copy, Debug, Default, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct UnitSet([u64; 4]);

impl PartialEq for UnitSet {
    #[inline]
    fn eq(&self, other: &UnitSet) -> bool {
        self.each(*other, |a, b| a ^ b).is_empty()
    }
}

impl UnitSet {
    /// Units `first..end`.
    #[inline]
    pub(crate) fn range(first: u8, end: u8) -> Self {
        // Most stripes have no more units than a word has bits.
        if first < end && end <= 64 {
            return UnitSet([u64::MAX << first & u64::MAX >> (64 - end), 0, 0, 0]);
        }
        UnitSet([0, 64, 128, 192].map(|base: u16| {
            let below = |number: u8| match u16::from(number).saturating_sub(base) {
                0 => 0,
                bits @ 1..64 => (1u64 << bits) - 1,
                _ => u64::MAX,
            };
            below(end) & !below(first)
        }))
    }

    /// The `count` members of a set from `first` on.
    #[inline]
    pub(crate) fn of(bits: &Bits, first: impl Into<u64>, count: u8) -> Self {
        let first = first.into();
        let mut words = [0; 4];
        for (word, base) in words.iter_mut().zip([0, 64, 128, 192]) {
            if count <= base {
                break;
            }
            *word = bits.mask(first + u64::from(base), u32::from(count - base).min(64));
        }
        UnitSet(words)
    }

    fn each(self, other: UnitSet, counter: impl Fn(u64, u64) -> u64) -> Self {
        let mut words = self.0;
        for (word, other) in words.iter_mut().zip(other.0) {
            *word = counter(*word, other);
        }
        UnitSet(words)
    }

    /// Those of this set or the other.
    #[inline]
    pub(crate) fn with(self, other: UnitSet) -> Self {
        self.each(other, |a, b| a | b)
    }

    /// Those of this set and not of the other.
    #[inline]
    pub(crate) fn without(self, other: UnitSet) -> Self {
        self.each(other, |a, b| a & !b)
    }

    /// Those of this set and the other.
    #[inline]
    pub(crate) fn within(self, other: UnitSet) -> Self {
        self.each(other, |a, b| a & b)
    }

    /// Whether a parity covers some of these units: if not, it is a known zero.
    #[inline]
    pub(crate) fn has_part_of(self, parity: Role, code: Code) -> bool {
        let covered = parity.parity().map_or(0..0, |number| code.covered(number));
        if !code.has_groups() {
            return !self.is_empty();
        }
        !self.within(UnitSet::range(covered.start, covered.end)).is_empty()
    }

    /// Takes a unit in.
    pub(crate) fn add(&mut self, index: u8) {
        self.0[usize::from(index / 64)] |= 1 << (index % 64);
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        let [a, b, c, d] = self.0;
        a | b | c | d == 0
    }

    #[inline]
    pub(crate) fn count(self) -> u32 {
        let some = self.0.iter().filter(|&&word| word != 0);
        some.map(|word| word.count_ones()).sum()
    }

    #[inline]
    pub(crate) fn has(self, index: u8) -> bool {
        self.0[usize::from(index / 64)] >> (index % 64) & 1 != 0
    }

    /// Does something with each of its units, ascending.
    #[inline(always)]
    pub(crate) fn for_each(self, mut act: impl FnMut(u8)) {
        for (base, mut word) in [0, 64, 128, 192].into_iter().zip(self.0) {
            while word != 0 {
                act(base + word.trailing_zeros() as u8);
                word &= word - 1;
            }
        }
    }

    /// Its units, ascending.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        let mut words = self.0;
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < 4 {
                let word = &mut words[at];
                if *word != 0 {
                    let index = at as u8 * 64 + word.trailing_zeros() as u8;
                    *word &= *word - 1;
                    return Some(index);
                }
                at += 1;
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_units() {
        for (first, end) in [(0, 0), (0, 64), (3, 5), (60, 70), (0, 254), (64, 128), (130, 193), (191, 192)] {
            let units = UnitSet::range(first, end);
            assert_eq!(units.iter().collect::<Vec<_>>(), (first..end).collect::<Vec<_>>());
            assert_eq!(units.count(), u32::from(end - first));
            assert!((0..254).all(|index| units.has(index) == (first..end).contains(&index)));
        }
        let (some, others) = (UnitSet::range(60, 70), UnitSet::range(65, 72));
        assert_eq!(some.with(others), UnitSet::range(60, 72));
        assert_eq!(
            (some.without(others), some.within(others)),
            (UnitSet::range(60, 65), UnitSet::range(65, 70))
        );
        assert!(some.without(some).is_empty() && !some.is_empty());
        let mut bits = Bits::default();
        (500..600).for_each(|number| {
            bits.set(number as u64, true);
        });
        assert_eq!(UnitSet::of(&bits, 490u32, 254), UnitSet::range(10, 110));
        assert_eq!(UnitSet::of(&bits, 490u32, 7), UnitSet::default());
    }
}
