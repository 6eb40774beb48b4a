//! A set of small numbers: one bit each, grown on demand.

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Bits {
    words: Vec<u64>,
    count: u64,
}

impl Bits {
    /// Whether it has the number.
    #[must_use]
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    /// Prefetches the number's bit.
    #[inline]
    pub fn prefetch(&self, number: u32) {
        super::prefetch(&self.words, number as usize / 64);
    }

    /// Adds or removes the number; returns whether that changed the set.
    #[inline]
    pub fn set(&mut self, number: u32, present: bool) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if word >= self.words.len() {
            if !present {
                return false;
            }
            self.words.resize(word + 1, 0);
        }
        let changed = (self.words[word] & bit != 0) != present;
        if changed {
            self.words[word] ^= bit;
            self.count = if present { self.count + 1 } else { self.count - 1 };
        }
        changed
    }

    /// The number of its elements.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The numbers `first..first + width` as a mask, the first as its lowest bit; at most 64 of them.
    #[must_use]
    #[inline]
    pub fn mask(&self, first: u32, width: u32) -> u64 {
        let (word, shift) = (first as usize / 64, first % 64);
        let at = |word: usize| self.words.get(word).copied().unwrap_or(0);
        let mut mask = at(word) >> shift;
        if shift > 0 && shift + width > 64 {
            mask |= at(word + 1) << (64 - shift);
        }
        if width >= 64 { mask } else { mask & ((1 << width) - 1) }
    }

    /// Its numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let words = self.words.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| at as u32 * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_in_and_out() {
        let mut bits = Bits::default();
        assert!(!bits.has(700) && !bits.set(700, false));
        assert!(bits.set(700, true) && !bits.set(700, true) && bits.set(63, true) && bits.set(64, true));
        assert_eq!((bits.count(), bits.iter().collect::<Vec<_>>()), (3, vec![63, 64, 700]));
        assert_eq!((bits.mask(62, 4), bits.mask(64, 64), bits.mask(699, 2)), (0b0110, 1, 0b10));
        assert!(bits.set(64, false) && !bits.has(64) && bits.count() == 2);
    }
}
