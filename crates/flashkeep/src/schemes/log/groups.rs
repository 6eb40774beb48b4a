//! The state of superblocks: current pages, erase counts, and which are free.

use crate::blocks::EraseUnits;
use std::collections::VecDeque;

/// The state of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum SuperblockState {
    /// Erased, and empty.
    Free,
    /// Being filled.
    Open,
    /// Full, or closed early.
    Closed,
    /// Being erased.
    Erasing,
    /// Erased for the last time.
    Retired,
}

/// The bit of a score that excludes the group from GC.
const BUSY: u32 = 1 << 31;

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Superblocks {
    /// Rows of a group, and the first ones, which are not for data.
    pages: u32,
    head: u32,
    /// Current pages of each group, and whether it must be left alone: what victims are chosen by.
    scores: Vec<u32>,
    states: Vec<SuperblockState>,
    erases: Vec<u32>,
    /// The erases that a group endures; none if groups never wear out.
    budget: Option<u32>,
    /// Groups whose next erase is the last, and retired ones.
    worn: u32,
    retired: u32,
    /// When each group was closed last, counted over all of them, and that count now.
    closed_at: Vec<u32>,
    closings: u32,
    /// Erases of all groups.
    all_erases: u64,
    /// The free ones, the longest free first.
    free: VecDeque<u32>,
    /// Among equal groups, the first one from here on is the victim.
    hand: usize,
}

impl Superblocks {
    pub(super) fn new(groups: u32, pages: u32, head: u32, budget: Option<u32>) -> Self {
        assert!(pages > head, "a group has pages");
        let mut this = Superblocks {
            pages,
            head,
            scores: vec![BUSY; groups as usize],
            states: vec![SuperblockState::Free; groups as usize],
            erases: vec![0; groups as usize],
            budget,
            worn: 0,
            retired: 0,
            closed_at: vec![0; groups as usize],
            closings: 0,
            all_erases: 0,
            free: (0..groups).collect(),
            hand: 0,
        };
        this.count_worn();
        this
    }

    /// Groups go on with another budget.
    pub(super) fn set_budget_of(&mut self, other: &Superblocks) {
        self.budget = other.budget;
        self.count_worn();
    }

    fn count_worn(&mut self) {
        let is_retired = |&group: &u32| self.state(group) == SuperblockState::Retired;
        let (retired, others): (Vec<u32>, Vec<u32>) = (0..self.count()).partition(is_retired);
        self.retired = retired.len() as u32;
        self.worn = others.into_iter().filter(|&group| self.is_last_erase(group)).count() as u32;
    }

    /// After a power cut: how often each group has been erased, where blocks wear out.
    pub(super) fn look_up(&mut self, erases: impl Fn(u32) -> u32) {
        if self.budget.is_some() {
            (0..self.count()).for_each(|group| self.erases[group as usize] = erases(group));
            self.all_erases = self.erases.iter().copied().map(u64::from).sum();
            self.count_worn();
        }
    }

    /// Whether the next erase of a group is its last.
    pub(super) fn is_last_erase(&self, group: u32) -> bool {
        self.budget.is_some_and(|budget| self.erases(group) + 1 >= budget)
    }

    /// Whether any group has had its last erase, or is about to.
    #[inline]
    pub(super) fn are_worn(&self) -> bool {
        self.worn + self.retired > 0
    }

    pub(super) fn retired(&self) -> u32 {
        self.retired
    }

    /// Marks all groups that are not free as closed and empty; returns those that were open.
    pub(super) fn restart(&mut self) -> Vec<u32> {
        self.hand = 0;
        let mut open = Vec::new();
        for group in 0..self.states.len() {
            open.extend((self.states[group] == SuperblockState::Open).then_some(group as u32));
            if self.states[group] == SuperblockState::Open {
                self.closings += 1;
                self.closed_at[group] = self.closings;
            }
            if !matches!(self.states[group], SuperblockState::Free | SuperblockState::Retired) {
                (self.states[group], self.scores[group]) = (SuperblockState::Closed, 0);
            }
        }
        open
    }

    /// A closed group is gone on with.
    pub(super) fn reopen(&mut self, group: u32) {
        self.states[group as usize] = SuperblockState::Open;
        self.set_busy(group, true);
    }

    pub(super) fn is_free(&self, group: u32) -> bool {
        self.state(group) == SuperblockState::Free
    }

    pub(super) fn count(&self) -> u32 {
        self.states.len() as u32
    }

    /// Rows of each that take data.
    pub(super) fn pages(&self) -> u32 {
        self.pages - self.head
    }

    #[inline]
    pub(super) fn of_row(&self, row: u32) -> u32 {
        row / self.pages
    }

    /// The rows of a group that take data.
    pub(super) fn rows(&self, group: u32) -> std::ops::Range<u32> {
        group * self.pages + self.head..(group + 1) * self.pages
    }

    /// All of its rows, which are erased as one.
    pub(super) fn extent(&self, group: u32) -> std::ops::Range<u32> {
        group * self.pages..(group + 1) * self.pages
    }

    pub(super) fn state(&self, group: u32) -> SuperblockState {
        self.states[group as usize]
    }

    /// How often it has been erased.
    pub(super) fn erases(&self, group: u32) -> u32 {
        self.erases[group as usize]
    }

    /// Its current pages.
    pub(super) fn current(&self, group: u32) -> u32 {
        self.scores[group as usize] & !BUSY
    }

    #[inline]
    pub(super) fn more(&mut self, group: u32) {
        self.scores[group as usize] += 1;
    }

    #[inline]
    pub(super) fn less(&mut self, group: u32) {
        self.scores[group as usize] -= 1;
    }

    /// Whether a plan works on it, or it is not closed.
    pub(super) fn is_busy(&self, group: u32) -> bool {
        self.scores[group as usize] & BUSY != 0
    }

    /// The closed groups that no plan works on.
    pub(super) fn idle(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.count()).filter(|&group| !self.is_busy(group))
    }

    /// A plan begins or ends its work on a closed group.
    pub(super) fn set_busy(&mut self, group: u32, busy: bool) {
        let score = &mut self.scores[group as usize];
        *score = if busy { *score | BUSY } else { *score & !BUSY };
    }

    /// The group that has been free for longest is filled from now on.
    pub(super) fn open(&mut self) -> Option<u32> {
        let group = self.free.pop_front()?;
        self.states[group as usize] = SuperblockState::Open;
        Some(group)
    }

    /// This group, which is free, is filled from now on.
    pub(super) fn open_this(&mut self, group: u32) {
        self.free.retain(|&free| free != group);
        self.states[group as usize] = SuperblockState::Open;
    }

    /// A group that was opened and not touched is free again.
    pub(super) fn give_back(&mut self, group: u32) {
        self.states[group as usize] = SuperblockState::Free;
        self.free.push_front(group);
    }

    pub(super) fn close(&mut self, group: u32) {
        self.closings += 1;
        self.closed_at[group as usize] = self.closings;
        self.states[group as usize] = SuperblockState::Closed;
        self.set_busy(group, false);
    }

    pub(super) fn erase(&mut self, group: u32) {
        assert_eq!(self.current(group), 0, "only groups without current pages are erased");
        self.states[group as usize] = SuperblockState::Erasing;
        self.set_busy(group, true);
    }

    pub(super) fn erased(&mut self, group: u32) {
        let was_last = self.is_last_erase(group);
        self.erases[group as usize] += 1;
        self.all_erases += 1;
        if was_last {
            self.states[group as usize] = SuperblockState::Retired;
            (self.worn, self.retired) = (self.worn - 1, self.retired + 1);
            return;
        }
        self.worn += u32::from(self.is_last_erase(group));
        self.states[group as usize] = SuperblockState::Free;
        self.free.push_back(group);
    }

    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// The free group that comes `n`th.
    pub(super) fn nth_free(&self, n: usize) -> Option<u32> {
        self.free.get(n).copied()
    }

    /// The group with the fewest current pages, of those that may be cleaned; of equals, each in its turn.
    pub(super) fn least(&self) -> Option<u32> {
        let least = self.scores.iter().copied().fold(u32::MAX, u32::min);
        if least >= BUSY {
            return None;
        }
        let (before, after) = self.scores.split_at(self.hand);
        let find = |scores: &[u32]| scores.iter().position(|&score| score == least);
        let found = find(after).map(|at| at + self.hand).or_else(|| find(before));
        found.map(|at| at as u32)
    }

    /// The same among groups that are `wanted`.
    pub(super) fn least_of(&self, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let (count, hand) = (self.count(), self.hand as u32);
        let wanted = self.idle().filter(|&group| wanted(group));
        wanted.min_by_key(|&group| (self.current(group), (group + count - hand) % count))
    }

    /// The group is the victim: the next of its equals is the one after it.
    pub(super) fn take_turn(&mut self, group: u32) {
        self.hand = (group as usize + 1) % self.scores.len();
    }
}

/// The groups, one of which is to be cleaned: those with fewer than `worth` current pages.
pub(super) struct Victims<'a> {
    pub(super) groups: &'a Superblocks,
    pub(super) worth: u32,
    /// The number of data slots in a group.
    pub(super) slots: u32,
}

impl EraseUnits for Victims<'_> {
    type Score = u32;

    fn scores(&self) -> &[u32] {
        &self.groups.scores
    }

    fn closed_at(&self) -> &[u32] {
        &self.groups.closed_at
    }

    fn closings(&self) -> u32 {
        self.groups.closings
    }

    fn worth(&self) -> u32 {
        self.worth
    }

    fn first(&self) -> u32 {
        self.groups.hand as u32
    }

    fn pages(&self) -> u32 {
        self.slots
    }

    fn erases_of(&self, group: u32) -> u32 {
        self.groups.erases(group)
    }

    fn erases(&self) -> u64 {
        self.groups.all_erases
    }
}
