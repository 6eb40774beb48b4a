//! A set of numbers, for any number of pages: one bit each, in chunks that are allocated when they are mixed.

use std::ops::Range;

/// Numbers in a chunk.
const CHUNK: u64 = 1 << 15;
/// Words in a chunk.
const WORDS: usize = CHUNK as usize / 64;

/// Consecutive numbers of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Chunk {
    /// The set has none of them.
    #[default]
    Empty,
    /// The set has all of them.
    Full,
    /// One bit each.
    Mixed(Box<[u64]>),
}

/// A set of numbers. Its memory is that of the chunks of which it has some numbers, but not all.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Bits {
    chunks: Vec<Chunk>,
    count: u64,
}

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.runs().eq(other.runs())
    }
}

impl Eq for Bits {}

impl Chunk {
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        match self {
            Chunk::Mixed(words) => words[at],
            Chunk::Empty => 0,
            Chunk::Full => u64::MAX,
        }
    }

    #[inline]
    fn words(&mut self) -> &mut [u64] {
        if !matches!(self, Chunk::Mixed(_)) {
            *self = Chunk::Mixed(vec![self.word(0); WORDS].into_boxed_slice());
        }
        match self {
            Chunk::Mixed(words) => words,
            Chunk::Empty | Chunk::Full => unreachable!("it is mixed now"),
        }
    }
}

/// The chunk of a number, and its bit there.
#[inline(always)]
fn split(number: u64) -> (usize, usize) {
    ((number / CHUNK) as usize, (number % CHUNK) as usize)
}

/// The bits `first..end` of a word.
#[inline]
fn ones(first: u64, end: u64) -> u64 {
    (u64::MAX >> (64 - (end - first))) << first
}

impl Bits {
    /// Whether it has the number.
    #[must_use]
    #[inline]
    pub fn has(&self, number: impl Into<u64>) -> bool {
        let (chunk, bit) = split(number.into());
        self.chunks.get(chunk).is_some_and(|chunk| chunk.word(bit / 64) >> (bit % 64) & 1 != 0)
    }

    /// Prefetches the number's bit.
    #[inline]
    pub fn prefetch(&self, number: impl Into<u64>) {
        let (chunk, bit) = split(number.into());
        if let Some(Chunk::Mixed(words)) = self.chunks.get(chunk) {
            super::prefetch(words, bit / 64);
        }
    }

    /// Adds or removes the number; returns whether that changed the set.
    #[inline]
    pub fn set(&mut self, number: impl Into<u64>, present: bool) -> bool {
        let number = number.into();
        if self.has(number) == present {
            return false;
        }
        let (chunk, bit) = split(number);
        self.chunk(chunk).words()[bit / 64] ^= 1 << (bit % 64);
        self.count = if present { self.count + 1 } else { self.count - 1 };
        true
    }

    /// Adds or removes consecutive numbers.
    #[inline]
    pub fn set_run(&mut self, numbers: Range<u64>, present: bool) {
        if numbers.end <= numbers.start / 64 * 64 + 64 {
            self.set_in_word(numbers, present);
        } else {
            self.set_long_run(numbers, present);
        }
    }

    /// Numbers that share a word.
    #[inline]
    fn set_in_word(&mut self, numbers: Range<u64>, present: bool) {
        if numbers.is_empty() {
            return;
        }
        let (chunk, bit) = split(numbers.start);
        let (first, count) = (numbers.start % 64, numbers.end - numbers.start);
        let bits = ones(first, first + count);
        let had = u64::from((self.word(numbers.start) & bits).count_ones());
        let has = if present { count } else { 0 };
        if had != has {
            let word = &mut self.chunk(chunk).words()[bit / 64];
            *word = if present { *word | bits } else { *word & !bits };
            self.count = self.count - had + has;
        }
    }

    #[inline(never)]
    fn set_long_run(&mut self, numbers: Range<u64>, present: bool) {
        let (mut at, all) = (numbers.start, if present { Chunk::Full } else { Chunk::Empty });
        while at < numbers.end {
            let (chunk, bit) = split(at);
            let end = if bit == 0 && numbers.end - at >= CHUNK {
                let has = if present { CHUNK } else { 0 };
                self.count = self.count - self.ones_in(chunk) + has;
                *self.chunk(chunk) = all.clone();
                at + CHUNK
            } else {
                let end = numbers.end.min(at / 64 * 64 + 64);
                self.set_in_word(at..end, present);
                end
            };
            at = end;
        }
    }

    #[inline]
    fn chunk(&mut self, at: usize) -> &mut Chunk {
        super::memory::reach(&mut self.chunks, at)
    }

    fn ones_in(&self, chunk: usize) -> u64 {
        match self.chunks.get(chunk) {
            None | Some(Chunk::Empty) => 0,
            Some(Chunk::Full) => CHUNK,
            Some(Chunk::Mixed(words)) => words.iter().map(|word| u64::from(word.count_ones())).sum(),
        }
    }

    /// The number of its elements.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The numbers `first..first + width` as a mask, the first as its lowest bit; at most 64 of them.
    #[must_use]
    #[inline]
    pub fn mask(&self, first: impl Into<u64>, width: u32) -> u64 {
        let first = first.into();
        let shift = (first % 64) as u32;
        let mut mask = self.word(first) >> shift;
        if shift > 0 && shift + width > 64 {
            mask |= self.word(first + 64) << (64 - shift);
        }
        if width >= 64 { mask } else { mask & ((1 << width) - 1) }
    }

    /// The word with a number's bit.
    #[inline]
    fn word(&self, number: u64) -> u64 {
        let (chunk, bit) = split(number);
        self.chunks.get(chunk).map_or(0, |chunk| chunk.word(bit / 64))
    }

    /// The next number from `from` on, and before `end`, that the set has, or lacks; `end` if there is none.
    #[must_use]
    pub fn next(&self, from: u64, end: u64, present: bool) -> u64 {
        let mut at = from;
        while at < end {
            let (chunk, bit) = split(at);
            match (self.chunks.get(chunk).unwrap_or(&Chunk::Empty), present) {
                (Chunk::Full, true) | (Chunk::Empty, false) => return at,
                (Chunk::Full, false) | (Chunk::Empty, true) if chunk >= self.chunks.len() => return end,
                (Chunk::Full, false) | (Chunk::Empty, true) => at = (at / CHUNK + 1) * CHUNK,
                (Chunk::Mixed(words), _) => {
                    let word = words[bit / 64] ^ if present { 0 } else { u64::MAX };
                    let rest = word >> (at % 64);
                    if rest != 0 {
                        return (at + u64::from(rest.trailing_zeros())).min(end);
                    }
                    at = (at / 64 + 1) * 64;
                }
            }
        }
        end
    }

    /// Whether it has all of these numbers, or none of them; none if it has some.
    #[must_use]
    pub fn uniform(&self, numbers: Range<u64>) -> Option<bool> {
        let has = self.has(numbers.start);
        (self.next(numbers.start, numbers.end, !has) == numbers.end).then_some(has)
    }

    /// Its runs of consecutive numbers, ascending.
    pub fn runs(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let end = self.chunks.len() as u64 * CHUNK;
        let mut at = 0;
        std::iter::from_fn(move || {
            let first = self.next(at, end, true);
            at = self.next(first, end, false);
            (first < end).then_some(first..at)
        })
    }

    /// The numbers that both sets have.
    #[must_use]
    pub fn common(&self, other: &Bits) -> Bits {
        let mut common = Bits::default();
        for run in self.runs() {
            let mut at = other.next(run.start, run.end, true);
            while at < run.end {
                let end = other.next(at, run.end, false);
                common.set_run(at..end, true);
                at = other.next(end, run.end, true);
            }
        }
        common
    }

    /// Its numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_go_in_and_out() {
        let mut bits = Bits::default();
        assert!(!bits.has(700u32) && !bits.set(700u32, false));
        assert!(
            bits.set(700u32, true)
                && !bits.set(700u32, true)
                && bits.set(63u32, true)
                && bits.set(64u32, true)
        );
        assert_eq!((bits.count(), bits.iter().collect::<Vec<_>>()), (3, vec![63, 64, 700]));
        assert_eq!((bits.mask(62u32, 4), bits.mask(64u32, 64), bits.mask(699u32, 2)), (0b0110, 1, 0b10));
        assert!(bits.set(64u32, false) && !bits.has(64u32) && bits.count() == 2);
    }

    #[test]
    fn runs_of_any_length_take_little_memory() {
        let mut bits = Bits::default();
        let many = 1 << 36;
        bits.set_run(5..many, true);
        assert!(bits.count() == many - 5 && bits.runs().eq(std::iter::once(5..many)));
        bits.set(many / 2 + 7, false);
        let rest = [5..many / 2 + 7, many / 2 + 8..many];
        assert_eq!(bits.runs().collect::<Vec<_>>(), rest);
        assert_eq!((bits.next(6, many, false), bits.uniform(5..1000)), (many / 2 + 7, Some(true)));
        assert_eq!(bits.uniform(0..1000), None);
        bits.set_run(0..many, false);
        assert!(bits == Bits::default() && bits.next(0, many, true) == many);
    }

    proptest! {
        #[test]
        fn a_set_is_a_set(steps in prop::collection::vec((0u64..200_000, 0u64..100_000, any::<bool>()), 1..12)) {
            let (mut bits, mut plain) = (Bits::default(), vec![false; 300_000]);
            for (first, length, present) in steps {
                bits.set_run(first..first + length, present);
                plain[first as usize..(first + length) as usize].fill(present);
                prop_assert_eq!(bits.count(), plain.iter().filter(|&&has| has).count() as u64);
                prop_assert!((0..300_000).all(|at| bits.has(at as u64) == plain[at]));
            }
            let found: Vec<u64> = (0..300_000).filter(|&at| plain[at as usize]).collect();
            let mut half = Bits::default();
            half.set_run(70_001..170_000, true);
            let within: Vec<u64> = found.iter().copied().filter(|at| (70_001..170_000).contains(at)).collect();
            prop_assert_eq!(bits.common(&half).iter().collect::<Vec<_>>(), &within[..]);
            prop_assert_eq!(half.common(&bits).iter().collect::<Vec<_>>(), within);
            prop_assert_eq!(bits.iter().collect::<Vec<_>>(), found);
        }
    }
}
