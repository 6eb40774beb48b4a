//! A table of numbers that are 0 at first.

use super::{make_room, prefetch, zeros_in_large_pages};

/// Entries in a chunk of a large table: as many as two lines of the processor's cache hold.
const CHUNK: usize = 32;

/// Chunks in a group.
const GROUP: usize = 64;

/// Tables with more entries have memory only for the chunks that were set.
const MOST_WHOLE: usize = 16 << 20;

/// A table of numbers that are 0 at first. A fresh one touches no memory. A small one has all entries side by side; a
/// large one has those of the chunks in which one was set, so that a run that sets few entries, far from each other, takes
/// little memory.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct NumberTable {
    /// All entries, or those of the chunks that exist. The first of these is that of all others: it stays 0.
    entries: Vec<u32>,
    /// Which of the chunks that exist each chunk is, for the groups in which one exists. The first of these is that of all
    /// others.
    chunks: Vec<u32>,
    /// Which of the groups in `chunks` each group is; empty in a small table. Were these tables one, of a line for each
    /// chunk, runs would spend a tenth of their time on memory that is zero.
    groups: Vec<u32>,
    len: usize,
}

impl NumberTable {
    /// A table of zeros.
    #[must_use]
    pub fn new(len: usize) -> Self {
        if len <= MOST_WHOLE {
            return NumberTable { entries: zeros_in_large_pages(len), len, ..NumberTable::default() };
        }
        let groups = vec![0; len.div_ceil(CHUNK * GROUP)];
        NumberTable { entries: vec![0; CHUNK], chunks: vec![0; GROUP], groups, len }
    }

    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn place(&self, at: usize) -> usize {
        if self.groups.is_empty() {
            return at;
        }
        self.chunks[self.place_of_chunk(at / CHUNK)] as usize * CHUNK + at % CHUNK
    }

    /// In `chunks`.
    #[inline]
    fn place_of_chunk(&self, chunk: usize) -> usize {
        self.groups[chunk / GROUP] as usize * GROUP + chunk % GROUP
    }

    /// The number at a place.
    #[must_use]
    #[inline]
    pub fn get(&self, at: usize) -> u32 {
        self.entries[self.place(at)]
    }

    /// The number at a place, to be set.
    #[inline(always)]
    pub fn reach(&mut self, at: usize) -> &mut u32 {
        if self.groups.is_empty() { &mut self.entries[at] } else { self.reach_in_chunk(at) }
    }

    #[inline(never)]
    fn reach_in_chunk(&mut self, at: usize) -> &mut u32 {
        let place = self.place(at);
        if place < CHUNK { self.create(at) } else { &mut self.entries[place] }
    }

    #[cold]
    #[inline(never)]
    fn create(&mut self, at: usize) -> &mut u32 {
        let group = &mut self.groups[at / (CHUNK * GROUP)];
        if *group == 0 {
            *group = append(&mut self.chunks, GROUP);
        }
        let place = self.place_of_chunk(at / CHUNK);
        self.chunks[place] = append(&mut self.entries, CHUNK);
        &mut self.entries[self.chunks[place] as usize * CHUNK + at % CHUNK]
    }

    /// Prefetches an entry.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        if at < self.len {
            prefetch(&self.entries, self.place(at));
        }
    }

    /// The places of a chunk whose numbers may differ from 0.
    fn places_of(&self, chunk: usize) -> std::ops::Range<usize> {
        let exists = self.groups.is_empty() || self.chunks[self.place_of_chunk(chunk)] != 0;
        let end = if exists { (chunk + 1) * CHUNK } else { chunk * CHUNK };
        chunk * CHUNK..end.min(self.len)
    }

    /// The groups in which numbers may differ from 0.
    fn groups_in_use(&self) -> impl Iterator<Item = usize> + '_ {
        let all = 0..self.len.div_ceil(CHUNK * GROUP);
        all.filter(|&group| self.groups.get(group).is_none_or(|&place| place != 0))
    }

    /// The chunks of a group.
    fn chunks_of(&self, group: usize) -> std::ops::Range<usize> {
        group * GROUP..self.len.div_ceil(CHUNK).min((group + 1) * GROUP)
    }

    /// The places of numbers other than 0, ascending.
    pub fn used(&self) -> impl Iterator<Item = usize> + '_ {
        let chunks = self.groups_in_use().flat_map(|group| self.chunks_of(group));
        chunks.flat_map(|chunk| self.places_of(chunk)).filter(|&at| self.get(at) != 0)
    }

    /// Numbers at these places become 0.
    pub fn clear(&mut self, is_cleared: impl Fn(usize) -> bool) {
        let groups: Vec<usize> = self.groups_in_use().collect();
        for group in groups {
            for chunk in self.chunks_of(group) {
                for at in self.places_of(chunk).filter(|&at| is_cleared(at)) {
                    if self.get(at) != 0 {
                        *self.reach(at) = 0;
                    }
                }
            }
        }
    }
}

/// Appends a part of zeros to a table of parts of this length. Returns the part's number.
fn append(parts: &mut Vec<u32>, len: usize) -> u32 {
    let first = parts.len();
    make_room(parts, len);
    parts.resize(first + len, 0);
    u32::try_from(first / len).expect("fewer parts than entries")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_table_has_memory_for_what_was_set() {
        for len in [100, MOST_WHOLE + 5] {
            let mut numbers = NumberTable::new(len);
            for at in [len - 1, 3, 40, 3] {
                *numbers.reach(at) += at as u32;
            }
            assert_eq!([0, 3, 40, len - 1].map(|at| numbers.get(at)), [0, 6, 40, len as u32 - 1]);
            *numbers.reach(40) = 0;
            assert_eq!(numbers.used().collect::<Vec<_>>(), [3, len - 1]);
            numbers.clear(|at| at % 2 == 1);
            assert_eq!(numbers.used().count(), len % 2);
            assert_eq!(numbers.entries.len(), if len == 100 { 100 } else { 4 * CHUNK });
        }
    }
}
