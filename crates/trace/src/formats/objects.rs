//! Places of objects that a trace names by numbers, not by addresses: in order of first appearance.

use crate::hasher::FixedState;
use std::cell::RefCell;
use std::collections::HashMap;

/// Where objects lie. Memory grows with their number.
#[derive(Default)]
pub(super) struct Places {
    known: RefCell<HashMap<u64, (u64, u64), FixedState>>,
    end: RefCell<u64>,
}

/// Objects begin at multiples of this many bytes: a page.
const GRAIN: u64 = 4096;

impl Places {
    /// The first byte of object `id` of at least `bytes`; one that has grown moves to the end. `None` beyond 2^63 bytes.
    #[inline]
    pub(super) fn of(&self, id: u64, bytes: u64) -> Option<u64> {
        let mut known = self.known.borrow_mut();
        match known.get(&id) {
            Some(&(start, room)) if bytes <= room => Some(start),
            _ => {
                let mut end = self.end.borrow_mut();
                let (start, room) = (*end, bytes.checked_next_multiple_of(GRAIN)?);
                *end = start.checked_add(room).filter(|end| *end < 1 << 63)?;
                known.insert(id, (start, room));
                Some(start)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_lie_in_order_of_appearance() {
        let places = Places::default();
        assert_eq!(
            [(7, 100), (9, 5000), (7, 4096), (7, 4097), (9, 1)]
                .map(|(id, bytes)| places.of(id, bytes).unwrap()),
            [0, 4096, 0, 12_288, 4096]
        );
        assert_eq!(places.of(1, u64::MAX), None);
    }
}
