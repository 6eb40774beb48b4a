//! Slots in order of use: doubly linked lists over slot numbers, for caches.

/// A slot's neighbours in its list. A list is a ring that its head closes.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Neighbours {
    older: u32,
    newer: u32,
}

/// `LISTS` lists of slots, each in order of use. A slot is in one of them, or in none.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct UseOrder<const LISTS: usize> {
    /// The heads of the lists, then the slots. `newer` of a head is the oldest slot, `older` the newest one.
    links: Vec<Neighbours>,
}

impl<const LISTS: usize> Default for UseOrder<LISTS> {
    fn default() -> Self {
        UseOrder { links: (0..LISTS as u32).map(|head| Neighbours { older: head, newer: head }).collect() }
    }
}

impl<const LISTS: usize> UseOrder<LISTS> {
    /// Adds a slot, which gets the next number, as the newest one of a list.
    pub fn grow(&mut self, list: usize) {
        self.links.push(Neighbours { older: 0, newer: 0 });
        self.add((self.links.len() - 1 - LISTS) as u32, list);
    }

    /// Adds a slot that is in no list as the newest one of a list.
    #[inline]
    pub fn add(&mut self, slot: u32, list: usize) {
        let at = slot + LISTS as u32;
        let newest = std::mem::replace(&mut self.links[list].older, at);
        self.links[at as usize] = Neighbours { older: newest, newer: list as u32 };
        self.links[newest as usize].newer = at;
    }

    /// Takes a slot out of its list.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        let Neighbours { older, newer } = self.links[slot as usize + LISTS];
        self.links[newer as usize].older = older;
        self.links[older as usize].newer = newer;
    }

    /// The oldest slot of a list.
    #[must_use]
    #[inline]
    pub fn oldest(&self, list: usize) -> Option<u32> {
        self.links[list].newer.checked_sub(LISTS as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_leave_in_the_order_in_which_they_were_used() {
        let mut order = UseOrder::<2>::default();
        (0..4).for_each(|slot| order.grow(slot % 2));
        assert_eq!((order.oldest(0), order.oldest(1)), (Some(0), Some(1)));
        // Used again, one of them in the other list.
        order.remove(0);
        order.add(0, 0);
        order.remove(1);
        order.add(1, 0);
        let mut left = Vec::new();
        for list in [0, 1] {
            while let Some(slot) = order.oldest(list) {
                order.remove(slot);
                left.push((list, slot));
            }
        }
        assert_eq!(left, [(0, 2), (0, 0), (0, 1), (1, 3)]);
    }
}
