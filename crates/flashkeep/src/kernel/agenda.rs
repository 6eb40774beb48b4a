//! Pending events.
//!
//! [`Agenda`]: every resource has one slot, which holds the instant of its one pending event or [`SimTime::NEVER`].
//! Equal instants are served in order of slot number, so the order is total.
//!
//! [`Deadlines`]: a small queue for events without a slot (a plan's next stage, a request that leaves), in order of
//! instant and then of insertion.

use super::SimTime;
use super::runs::{LAST, SortKey, SortedRuns};

/// Runs of events that an agenda keeps. Events of the same kind come in order of time: the ends of programs, those of
/// reads, those of erases.
const RUNS: usize = 3;

/// One pending instant per slot, and the earliest of them. The key of an event is its instant, and below it the number of
/// its slot plus one.
///
/// An event whose slot was given another instant meanwhile stays where it is, and is skipped when its turn comes.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The pending instant of each slot.
    at: Vec<SimTime>,
    /// The first of them is pending.
    events: SortedRuns<RUNS, ()>,
}

impl Agenda {
    /// An agenda with `slots` empty slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Agenda { at: vec![SimTime::NEVER; slots], events: SortedRuns::default() }
    }

    /// Sets the slot's event to `at`; replaces an earlier one.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, at: SimTime) {
        let old = std::mem::replace(&mut self.at[slot], at);
        if old != SimTime::NEVER || at == SimTime::NEVER {
            if old != at {
                self.replace(slot, at);
            }
            return;
        }
        self.events.push(event(slot, at), ());
    }

    /// [`Agenda::set`] of a slot that has an event.
    #[inline(never)]
    fn replace(&mut self, slot: usize, at: SimTime) {
        if at != SimTime::NEVER {
            self.events.push(event(slot, at), ());
        }
        self.drop_replaced();
    }

    /// Empties all slots.
    pub fn clear(&mut self) {
        (0..self.at.len()).for_each(|slot| self.set(slot, SimTime::NEVER));
    }

    /// The number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are no slots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The instant of the slot's event.
    #[must_use]
    #[inline]
    pub fn at(&self, slot: usize) -> SimTime {
        self.at[slot]
    }

    /// The instant of the next event, [`SimTime::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> SimTime {
        SimTime((self.events.first() >> 32) as u64)
    }

    /// Takes out the next event, if it is due by `until`: its instant and its slot, the lowest of those at that instant.
    #[must_use]
    #[inline(always)]
    pub fn pop_due(&mut self, until: SimTime) -> Option<(SimTime, usize)> {
        let at = self.next();
        if at > until || at == SimTime::NEVER {
            return None;
        }
        let slot = slot_of(self.events.first());
        self.at[slot] = SimTime::NEVER;
        self.events.pop();
        self.drop_replaced();
        Some((at, slot))
    }

    /// Drops events that are not pending any more until the first one is.
    #[inline(always)]
    fn drop_replaced(&mut self) {
        while self.events.first() != LAST && self.at[slot_of(self.events.first())] != self.next() {
            self.events.pop();
        }
    }
}

#[inline(always)]
fn event(slot: usize, at: SimTime) -> SortKey {
    SortKey::from(at.0) << 32 | (slot as SortKey + 1)
}

#[inline(always)]
fn slot_of(event: SortKey) -> usize {
    (event as u32 - 1) as usize
}

/// Items due at an instant, in order of instant and then of insertion. The key of an item is its instant, and below it
/// the number of the insertion. `RUNS` is the number of kinds of items that each come in order.
#[derive(Clone, Debug)]
pub struct Deadlines<T, const RUNS: usize = 1> {
    items: SortedRuns<RUNS, T>,
    inserted: u64,
}

impl<T: Ord + Copy, const RUNS: usize> Default for Deadlines<T, RUNS> {
    fn default() -> Self {
        Deadlines { items: SortedRuns::default(), inserted: 0 }
    }
}

impl<T: Ord + Copy, const RUNS: usize> Deadlines<T, RUNS> {
    /// Adds `what`, due at `at`.
    #[inline]
    pub fn push(&mut self, at: SimTime, what: T) {
        self.inserted += 1;
        self.items.push(SortKey::from(at.0) << 64 | SortKey::from(self.inserted), what);
    }

    /// When the next item is due, [`SimTime::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> SimTime {
        SimTime((self.items.first() >> 64) as u64)
    }

    /// When the last item is due, [`SimTime::ZERO`] if there is none.
    #[must_use]
    pub fn last(&self) -> SimTime {
        SimTime((self.items.last() >> 64) as u64)
    }

    /// The number of items.
    #[must_use]
    pub fn count(&self) -> usize {
        self.items.count()
    }

    /// Removes and returns the next item that is due by `now`.
    #[inline(always)]
    pub fn pop_due(&mut self, now: SimTime) -> Option<T> {
        if self.next() > now { None } else { self.items.pop() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Removes and returns everything that is due by `until`, in order.
    fn drain(agenda: &mut Agenda, until: u64) -> Vec<(u64, usize)> {
        let mut taken = Vec::new();
        while let Some((at, slot)) = agenda.pop_due(SimTime(until)) {
            assert!(at <= agenda.next() && agenda.at(slot) == SimTime::NEVER);
            taken.push((at.0, slot));
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
                let (now, slot) = agenda.pop_due(SimTime(9)).expect("one is due");
                assert_eq!(agenda.at(slot), SimTime::NEVER);
                if let Some(at) = again {
                    agenda.set(slot, SimTime(at));
                }
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
            let (mut deadlines, mut expected) = (Deadlines::<usize, 2>::default(), Vec::new());
            for (n, &at) in times.iter().enumerate() {
                deadlines.push(SimTime(at), n);
                expected.push((at, n));
                expected.sort_unstable();
                prop_assert_eq!(deadlines.next(), SimTime(expected[0].0));
                prop_assert_eq!(deadlines.last(), SimTime(expected[expected.len() - 1].0));
                prop_assert_eq!(deadlines.count(), expected.len());
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
