//! Pending events.
//!
//! [`Agenda`]: every resource has one slot, which holds the instant of its one pending event or
//! [`SimTime::NEVER`]. Events are kept in a few sorted runs, so that most are appended, and taken from the front.
//! Equal instants are served in order of slot number, so the order is total.
//!
//! [`Deadlines`]: a small queue for events without a slot (a plan's next stage, a request that leaves), in order of
//! instant and then of insertion.

use super::SimTime;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Runs of events that an agenda keeps. Events of the same kind come in order of time: the ends of programs, those of
/// reads, those of erases.
const RUNS: usize = 3;

/// An event: its instant, and below it the number of its slot plus one, so that no event is 0. Comparing single numbers takes
/// no branch.
type Event = u128;

/// Later than any event.
const NONE: Event = Event::MAX;

/// One pending instant per slot, and the earliest of them.
///
/// An event is appended to the first run that it does not precede, and goes to a heap if it precedes the end of each.
/// An event whose slot was given another instant meanwhile stays where it is, and is skipped when its turn comes.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// What is pending for each slot.
    at: Vec<SimTime>,
    runs: [VecDeque<Event>; RUNS],
    heap: BinaryHeap<Reverse<Event>>,
    /// The first event of each run, then that of the heap; [`NONE`] if there is none.
    firsts: [Event; RUNS + 1],
    /// The last event of each run; 0 if it is empty.
    lasts: [Event; RUNS],
    /// The next event of all, which is pending.
    next: Event,
}

impl Agenda {
    /// An agenda with `slots` empty slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Agenda {
            at: vec![SimTime::NEVER; slots],
            runs: Default::default(),
            heap: BinaryHeap::new(),
            firsts: [NONE; RUNS + 1],
            lasts: [0; RUNS],
            next: NONE,
        }
    }

    /// Sets the slot's event to `at`; replaces an earlier one.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, at: SimTime) {
        let old = std::mem::replace(&mut self.at[slot], at);
        if old != SimTime::NEVER || at == SimTime::NEVER {
            return self.replace(slot, old, at);
        }
        let event = event(slot, at);
        if self.lasts[0] <= event {
            self.append(0, event);
        } else {
            self.insert(event);
        }
    }

    /// [`Agenda::set`] of a slot that has an event.
    #[inline(never)]
    fn replace(&mut self, slot: usize, old: SimTime, at: SimTime) {
        if old == at {
            return;
        }
        if at != SimTime::NEVER {
            self.insert(event(slot, at));
        }
        if event(slot, old) == self.next {
            self.find_next();
        }
    }

    #[inline(always)]
    fn append(&mut self, run: usize, event: Event) {
        if self.lasts[run] == 0 {
            self.firsts[run] = event;
            self.next = self.next.min(event);
        }
        self.lasts[run] = event;
        self.runs[run].push_back(event);
    }

    #[inline(never)]
    fn insert(&mut self, event: Event) {
        match self.lasts.iter().position(|&last| last <= event) {
            Some(run) => self.append(run, event),
            None => {
                self.heap.push(Reverse(event));
                self.firsts[RUNS] = self.firsts[RUNS].min(event);
                self.next = self.next.min(event);
            }
        }
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
        SimTime((self.next >> 32) as u64)
    }

    /// Takes out the next event, if it is due by `until`: its instant and its slot, the lowest of those at that instant.
    #[must_use]
    #[inline(always)]
    pub fn pop_due(&mut self, until: SimTime) -> Option<(SimTime, usize)> {
        let at = self.next();
        if at > until || at == SimTime::NEVER {
            return None;
        }
        let slot = slot_of(self.next);
        self.at[slot] = SimTime::NEVER;
        self.drop_first();
        self.find_next();
        Some((at, slot))
    }

    /// Drops events that are not pending any more until the first one is.
    #[inline(always)]
    fn find_next(&mut self) {
        loop {
            let [mut next, ..] = self.firsts;
            for first in &self.firsts[1..] {
                next = next.min(*first);
            }
            self.next = next;
            if next == NONE || self.at[slot_of(next)] == self.next() {
                return;
            }
            self.drop_first();
        }
    }

    /// Drops the earliest event of all.
    #[inline(always)]
    fn drop_first(&mut self) {
        for run in 0..RUNS {
            if self.firsts[run] == self.next {
                self.runs[run].pop_front();
                return match self.runs[run].front() {
                    Some(&first) => self.firsts[run] = first,
                    None => (self.firsts[run], self.lasts[run]) = (NONE, 0),
                };
            }
        }
        self.heap.pop();
        self.firsts[RUNS] = self.heap.peek().map_or(NONE, |&Reverse(first)| first);
    }
}

#[inline(always)]
fn event(slot: usize, at: SimTime) -> Event {
    Event::from(at.0) << 32 | (slot as Event + 1)
}

#[inline(always)]
fn slot_of(event: Event) -> usize {
    (event as u32 - 1) as usize
}

/// Items due at an instant, in order of instant and then of insertion. Items that are inserted in order (most are) go
/// to the end of a list; only the others need a heap.
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

    /// When the next item is due, [`SimTime::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn next(&self) -> SimTime {
        self.next
    }

    /// Removes and returns the next item that is due by `now`.
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
