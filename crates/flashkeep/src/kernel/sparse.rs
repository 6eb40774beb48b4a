//! A table with an entry for each of any number of pages, most of which are alike.

use std::ops::Range;

/// Entries in a chunk.
const CHUNK: u64 = 1 << 9;

/// Consecutive entries of a table.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
enum Chunk<T> {
    /// All are alike.
    Alike(T),
    /// One each.
    Mixed(Box<[T]>),
}

/// A table of entries that are the default at first. Its memory is that of the chunks whose entries differ.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Sparse<T> {
    chunks: Vec<Chunk<T>>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Sparse { chunks: Vec::new() }
    }
}

impl<T: Default> Default for Chunk<T> {
    fn default() -> Self {
        Chunk::Alike(T::default())
    }
}

impl<T: Copy + PartialEq> Chunk<T> {
    #[inline]
    fn get(&self, at: usize) -> T {
        match self {
            Chunk::Alike(entry) => *entry,
            Chunk::Mixed(entries) => entries[at],
        }
    }

    #[inline]
    fn set(&mut self, at: usize, entry: T) {
        match self {
            Chunk::Mixed(entries) => entries[at] = entry,
            Chunk::Alike(all) if *all == entry => {}
            Chunk::Alike(all) => {
                let mut entries = vec![*all; CHUNK as usize].into_boxed_slice();
                entries[at] = entry;
                *self = Chunk::Mixed(entries);
            }
        }
    }
}

impl<T: Copy + Default + PartialEq> Sparse<T> {
    /// The entry at a number.
    #[must_use]
    #[inline]
    pub fn get(&self, at: u64) -> T {
        let chunk = self.chunks.get((at / CHUNK) as usize);
        chunk.map_or_else(T::default, |chunk| chunk.get((at % CHUNK) as usize))
    }

    /// Sets the entry at a number.
    #[inline]
    pub fn set(&mut self, at: u64, entry: T) {
        let chunk = (at / CHUNK) as usize;
        if chunk < self.chunks.len() || entry != T::default() {
            super::memory::reach(&mut self.chunks, chunk).set((at % CHUNK) as usize, entry);
        }
    }

    /// Sets consecutive entries.
    pub fn set_run(&mut self, numbers: Range<u64>, entry: T) {
        let mut at = numbers.start;
        while at < numbers.end {
            if at.is_multiple_of(CHUNK) && numbers.end - at >= CHUNK {
                *super::memory::reach(&mut self.chunks, (at / CHUNK) as usize) = Chunk::Alike(entry);
                at += CHUNK;
            } else {
                self.set(at, entry);
                at += 1;
            }
        }
    }

    /// The entry of all of these numbers; none if they differ, or may differ.
    #[must_use]
    pub fn alike(&self, numbers: Range<u64>) -> Option<T> {
        let first = self.get(numbers.start);
        let mut at = numbers.start;
        while at < numbers.end {
            match self.chunks.get((at / CHUNK) as usize) {
                Some(Chunk::Mixed(entries)) if entries[(at % CHUNK) as usize] == first => at += 1,
                Some(Chunk::Mixed(_)) => return None,
                _ if self.get(at) == first => at = (at / CHUNK + 1) * CHUNK,
                _ => return None,
            }
        }
        Some(first)
    }

    /// The sum of the entries of these numbers.
    #[must_use]
    pub fn sum(&self, numbers: Range<u64>) -> u64
    where
        T: Into<u64>,
    {
        let (mut at, mut sum) = (numbers.start, 0);
        while at < numbers.end {
            let end = numbers.end.min((at / CHUNK + 1) * CHUNK);
            let within = (at % CHUNK) as usize..(at % CHUNK + end - at) as usize;
            sum += match self.chunks.get((at / CHUNK) as usize) {
                Some(Chunk::Mixed(entries)) => entries[within].iter().map(|&entry| entry.into()).sum(),
                Some(Chunk::Alike(entry)) => (*entry).into() * (end - at),
                None => 0,
            };
            at = end;
        }
        sum
    }

    /// The table of what each entry is mapped to. The default is mapped to the default.
    #[must_use]
    pub fn map<U: Copy>(&self, to: impl Fn(T) -> U) -> Sparse<U> {
        let chunk = |chunk: &Chunk<T>| match chunk {
            Chunk::Alike(entry) => Chunk::Alike(to(*entry)),
            Chunk::Mixed(entries) => Chunk::Mixed(entries.iter().map(|&entry| to(entry)).collect()),
        };
        Sparse { chunks: self.chunks.iter().map(chunk).collect() }
    }

    /// Its entries that are not the default, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, T)> + '_ {
        let is_empty = |chunk: &Chunk<T>| matches!(chunk, Chunk::Alike(entry) if *entry == T::default());
        let chunks = (0..).zip(&self.chunks).filter(move |(_, chunk)| !is_empty(chunk));
        let entries =
            chunks.flat_map(|(at, chunk)| (0..CHUNK).map(move |n| (at * CHUNK + n, chunk.get(n as usize))));
        entries.filter(|(_, entry)| *entry != T::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_that_differ_take_memory() {
        let mut table = Sparse::default();
        let far = (1 << 36) + 5;
        table.set(far, 7u16);
        table.set(3, 1);
        table.set(4, 0);
        assert_eq!((table.get(3), table.get(4), table.get(far), table.get(far + 1)), (1, 0, 7, 0));
        assert_eq!(table.iter().collect::<Vec<_>>(), [(3, 1), (far, 7)]);
        table.set(3, 0);
        assert_eq!(table.iter().collect::<Vec<_>>(), [(far, 7)]);
        let mixed = |table: &Sparse<u16>| {
            table.chunks.iter().filter(|chunk| matches!(chunk, Chunk::Mixed(_))).count()
        };
        assert_eq!(mixed(&table), 2);
        table.set_run(1..3 * CHUNK, 9);
        assert_eq!((table.get(0), table.get(1), table.get(3 * CHUNK)), (0, 9, 0));
        assert_eq!([table.sum(0..2), table.sum(0..4 * CHUNK)], [9, 9 * (3 * CHUNK - 1)]);
        assert_eq!(mixed(&table), 2);
        assert_eq!(
            (table.alike(1..3 * CHUNK), table.alike(0..2), table.alike(5 * CHUNK..6 * CHUNK)),
            (Some(9), None, Some(0))
        );
    }
}
