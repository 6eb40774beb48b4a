//! Hash maps with a fixed hash, the same on every machine.

use super::mix;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The same hash on every machine and in every run; the maps it serves are never iterated.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixedHasher(u64);

impl Hasher for FixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
}

/// A map with the fixed hash.
pub type FixedMap<K, V> = HashMap<K, V, BuildHasherDefault<FixedHasher>>;

/// The entries of a map in the order of their keys: hashes decide no order.
#[must_use]
pub fn sorted<K: Copy + Ord, V: Copy>(map: &FixedMap<K, V>) -> Vec<(K, V)> {
    #[allow(clippy::iter_over_hash_type)]
    let mut entries: Vec<_> = map.iter().map(|(&key, &value)| (key, value)).collect();
    entries.sort_unstable_by_key(|&(key, _)| key);
    entries
}
