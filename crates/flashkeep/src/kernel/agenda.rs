//! What happens next.
//!
//! [`Agenda`]: every resource has one slot, which holds the instant of its one pending event or
//! [`SimTime::NEVER`]. Setting a slot is a store and a walk up a tree of minima; the next event is at its
//! root. Equal instants are served in order of slot number, so the order is total.
//!
//! [`Deadlines`]: a small queue for what has no slot of its own (a plan's next stage, a request that leaves),
//! in order of instant and then of insertion.

use super::SimTime;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Children of each node of the tree.
const FAN: usize = 4;

/// One pending instant a slot, and the earliest of them all.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// A complete tree in which each node is the minimum of its four children; the leaves come last.
    tree: Vec<[u64; FAN]>,
    /// Where the leaves begin, in groups of four.
    leaves: usize,
    /// The minimum of them all.
    next: SimTime,
}

impl Agenda {
    /// An agenda with `slots` empty slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let (mut groups, mut inner) = (1, 0);
        while groups * FAN < slots {
            inner += groups;
            groups *= FAN;
        }
        Agenda { tree: vec![[u64::MAX; FAN]; inner + groups], leaves: inner, next: SimTime::NEVER }
    }

    /// Puts the slot's event at `at`, in place of what it held.
    #[inline]
    pub fn set(&mut self, slot: usize, at: SimTime) {
        let tree = self.tree.as_mut_slice();
        let mut group = self.leaves + slot / FAN;
        let mut four = &mut tree[group];
        four[slot % FAN] = at.0;
        while group > 0 {
            let least = least(four);
            let place = (group - 1) % FAN;
            group = (group - 1) / FAN;
            four = &mut tree[group];
            if four[place] == least {
                return;
            }
            four[place] = least;
        }
        self.next = SimTime(least(four));
    }

    /// When the slot's event is.
    #[must_use]
    #[inline]
    pub fn at(&self, slot: usize) -> SimTime {
        SimTime(self.tree[self.leaves + slot / FAN][slot % FAN])
    }

    /// The instant of the next event, [`SimTime::NEVER`] where there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> SimTime {
        self.next
    }

    /// The slot's event is being handled: the slot is empty from now on, although [`Agenda::next`] still counts it.
    /// [`Agenda::end`] must be called before the next event is asked for.
    #[inline]
    pub fn begin(&mut self, slot: usize) {
        self.tree[self.leaves + slot / FAN][slot % FAN] = u64::MAX;
    }

    /// The slot's event has been handled. A slot that got another one meanwhile, be it at the same instant, keeps it.
    #[inline]
    pub fn end(&mut self, slot: usize) {
        if self.at(slot) == SimTime::NEVER {
            self.set(slot, SimTime::NEVER);
        }
    }

    /// The instant of the next event, if it is due by `until`, and its slot: the lowest of those at that instant.
    #[must_use]
    #[inline]
    pub fn first(&self, until: SimTime) -> Option<(SimTime, usize)> {
        let SimTime(earliest) = self.next;
        if earliest > until.0 || earliest == u64::MAX {
            return None;
        }
        let mut group = 0;
        loop {
            let four = &self.tree[group];
            // The first of the four that is it, without a branch to guess: one is.
            let not_first = four[0] != earliest;
            let not_second = not_first & (four[1] != earliest);
            let not_third = not_second & (four[2] != earliest);
            let place = usize::from(not_first) + usize::from(not_second) + usize::from(not_third);
            if group >= self.leaves {
                return Some((SimTime(earliest), (group - self.leaves) * FAN + place));
            }
            group = group * FAN + 1 + place;
        }
    }
}

#[inline]
fn least(four: &[u64; FAN]) -> u64 {
    four[0].min(four[1]).min(four[2].min(four[3]))
}

/// Things due at an instant, in order of instant and then of insertion. What is inserted in order, as most is, goes to
/// the end of a list; only the rest needs a heap.
#[derive(Clone, Debug)]
pub struct Deadlines<T> {
    next: SimTime,
    list: VecDeque<(SimTime, u64, T)>,
    heap: BinaryHeap<Reverse<(SimTime, u64, T)>>,
    inserted: u64,
}

impl<T: Ord + Copy> Default for Deadlines<T> {
    fn default() -> Self {
        Deadlines { next: SimTime::NEVER, list: VecDeque::new(), heap: BinaryHeap::new(), inserted: 0 }
    }
}

impl<T: Ord + Copy> Deadlines<T> {
    /// Adds `what`, due at `at`.
    pub fn push(&mut self, at: SimTime, what: T) {
        self.next = self.next.min(at);
        self.inserted += 1;
        let entry = (at, self.inserted, what);
        if self.list.back().is_none_or(|last| last.0 <= at) {
            self.list.push_back(entry);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    /// When the next one is due, [`SimTime::NEVER`] where there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> SimTime {
        self.next
    }

    /// Takes out the next one that is due by `now`.
    #[inline(always)]
    pub fn pop_due(&mut self, now: SimTime) -> Option<T> {
        if self.next > now { None } else { self.pop() }
    }

    fn pop(&mut self) -> Option<T> {
        if self.heap.is_empty() {
            let (_, _, what) = self.list.pop_front()?;
            self.next = self.list.front().map_or(SimTime::NEVER, |listed| listed.0);
            return Some(what);
        }
        let before = |listed: &(SimTime, u64, T), heaped: &(SimTime, u64, T)| {
            (listed.0, listed.1) < (heaped.0, heaped.1)
        };
        let in_list = match (self.list.front(), self.heap.peek()) {
            (Some(listed), Some(Reverse(heaped))) => before(listed, heaped),
            (_, heaped) => heaped.is_none(),
        };
        let (_, _, what) = if in_list { self.list.pop_front()? } else { self.heap.pop()?.0 };
        let listed = self.list.front().map_or(SimTime::NEVER, |listed| listed.0);
        self.next = self.heap.peek().map_or(listed, |Reverse(heaped)| heaped.0.min(listed));
        Some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Takes out everything that is due by `until`, in order.
    fn drain(agenda: &mut Agenda, until: u64) -> Vec<(u64, usize)> {
        let mut taken = Vec::new();
        while let Some((at, slot)) = agenda.first(SimTime(until)) {
            assert_eq!(at, agenda.next());
            taken.push((at.0, slot));
            agenda.set(slot, SimTime::NEVER);
        }
        taken
    }

    #[test]
    fn equal_instants_in_order_of_slot() {
        let mut agenda = Agenda::new(5);
        for slot in [4, 2, 3] {
            agenda.set(slot, SimTime(7));
        }
        agenda.set(0, SimTime(9));
        assert_eq!(drain(&mut agenda, 6), []);
        assert_eq!(drain(&mut agenda, 8), [(7, 2), (7, 3), (7, 4)]);
        assert_eq!(drain(&mut agenda, u64::MAX), [(9, 0)]);
        assert_eq!(agenda.next(), SimTime::NEVER);
    }

    #[test]
    fn an_event_may_set_its_own_slot_to_the_same_instant() {
        for slots in [1, 4, 5, 70] {
            let mut agenda = Agenda::new(slots);
            for slot in 0..slots {
                agenda.set(slot, SimTime(3));
            }
            let handle = |agenda: &mut Agenda, again: Option<u64>| {
                let (now, slot) = agenda.first(SimTime(9)).expect("one is due");
                agenda.begin(slot);
                assert_eq!(agenda.at(slot), SimTime::NEVER);
                if let Some(at) = again {
                    agenda.set(slot, SimTime(at));
                }
                agenda.end(slot);
                (now.0, slot)
            };
            assert_eq!(handle(&mut agenda, Some(3)), (3, 0));
            assert_eq!(handle(&mut agenda, Some(7)), (3, 0));
            for slot in 1..slots {
                assert_eq!(handle(&mut agenda, None), (3, slot));
            }
            assert_eq!(handle(&mut agenda, None), (7, 0));
            assert_eq!(agenda.next(), SimTime::NEVER);
        }
    }

    proptest! {
        #[test]
        fn deadlines_come_in_the_order_a_stable_sort_would(times in prop::collection::vec(0u64..20, 1..70)) {
            let (mut deadlines, mut expected) = (Deadlines::default(), Vec::new());
            for (n, &at) in times.iter().enumerate() {
                deadlines.push(SimTime(at), n);
                expected.push((at, n));
                expected.sort_unstable();
                prop_assert_eq!(deadlines.next(), SimTime(expected[0].0));
                if at % 3 == 0 {
                    prop_assert_eq!(deadlines.pop_due(SimTime(20)), Some(expected.remove(0).1));
                }
            }
            for (at, n) in expected {
                prop_assert!(at == 0 || deadlines.pop_due(SimTime(at - 1)).is_none());
                prop_assert_eq!(deadlines.pop_due(SimTime(at)), Some(n));
            }
            prop_assert_eq!((deadlines.next(), deadlines.pop_due(SimTime::NEVER)), (SimTime::NEVER, None));
        }

        #[test]
        fn comes_in_the_order_a_sort_would(times in prop::collection::vec(0u64..20, 1..70)) {
            let mut agenda = Agenda::new(times.len());
            for (slot, &at) in times.iter().enumerate() {
                agenda.set(slot, SimTime(at + 5));
                agenda.set(slot, SimTime(at));
            }
            let mut expected: Vec<_> = times.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            prop_assert_eq!(drain(&mut agenda, u64::MAX), expected);
        }
    }
}
