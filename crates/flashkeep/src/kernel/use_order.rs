//! Slots in order of use: doubly linked lists over slot numbers, for caches.

/// A slot's neighbours in its list. A list is a ring that its head closes.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Neighbours {
    older: u32,
    newer: u32,
}

/// Lists of slots, each in order of use. A slot is in one of them, or in none.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct UseOrder {
    lists: u32,
    /// The heads of the lists, then the slots. `newer` of a head is the oldest slot, `older` the newest one.
    links: Vec<Neighbours>,
}

impl UseOrder {
    /// This many lists without slots.
    #[must_use]
    pub fn new(lists: u32) -> Self {
        UseOrder { lists, links: (0..lists).map(|head| Neighbours { older: head, newer: head }).collect() }
    }

    /// Adds a slot, which gets the next number, as the newest one of a list.
    pub fn grow(&mut self, list: usize) {
        self.links.push(Neighbours { older: 0, newer: 0 });
        self.add(self.links.len() as u32 - 1 - self.lists, list);
    }

    /// Adds a slot that is in no list as the newest one of a list.
    #[inline]
    pub fn add(&mut self, slot: u32, list: usize) {
        let at = slot + self.lists;
        let newest = std::mem::replace(&mut self.links[list].older, at);
        self.links[at as usize] = Neighbours { older: newest, newer: list as u32 };
        self.links[newest as usize].newer = at;
    }

    /// Takes a slot out of its list.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        let Neighbours { older, newer } = self.links[(slot + self.lists) as usize];
        self.links[newer as usize].older = older;
        self.links[older as usize].newer = newer;
    }

    /// The oldest slot of a list.
    #[must_use]
    #[inline]
    pub fn oldest(&self, list: usize) -> Option<u32> {
        self.links[list].newer.checked_sub(self.lists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_leave_in_the_order_in_which_they_were_used() {
        let mut order = UseOrder::new(2);
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
