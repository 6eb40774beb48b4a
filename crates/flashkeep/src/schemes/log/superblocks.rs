//! The state of superblocks: current pages, erase counts, and which are free.

use crate::blocks::EraseUnits;
use std::collections::VecDeque;

/// The state of a superblock.
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

/// The bit of a score that excludes the superblock from GC.
const BUSY: u32 = 1 << 31;

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Superblocks {
    /// Superpages of a superblock, and the first ones, which are not for data.
    pages: u32,
    head: u32,
    /// Current pages of each superblock, and whether it must be left alone: what victims are chosen by.
    scores: Vec<u32>,
    states: Vec<SuperblockState>,
    erases: Vec<u32>,
    /// The erases that a superblock endures; none if superblocks never wear out.
    budget: Option<u32>,
    /// Superblocks whose next erase is the last, and retired ones.
    worn: u32,
    retired: u32,
    /// When each superblock was closed last, counted over all of them, and that count now.
    closed_at: Vec<u32>,
    closings: u32,
    /// That count at the last FLUSH of the members: what had been closed by then is on their media.
    #[serde(skip)]
    flushed: u32,
    /// Erases of all superblocks.
    all_erases: u64,
    /// The free ones, the longest free first.
    free: VecDeque<u32>,
    /// Among equal superblocks, the first one from here on is the victim.
    hand: usize,
}

impl Superblocks {
    pub(super) fn new(superblocks: u32, pages: u32, head: u32, budget: Option<u32>) -> Self {
        assert!(pages > head, "a group has pages");
        let mut this = Superblocks {
            pages,
            head,
            scores: vec![BUSY; superblocks as usize],
            states: vec![SuperblockState::Free; superblocks as usize],
            erases: vec![0; superblocks as usize],
            budget,
            worn: 0,
            retired: 0,
            closed_at: vec![0; superblocks as usize],
            closings: 0,
            flushed: 0,
            all_erases: 0,
            free: (0..superblocks).collect(),
            hand: 0,
        };
        this.count_worn();
        this
    }

    /// Superblocks take over another budget.
    pub(super) fn set_budget_of(&mut self, other: &Superblocks) {
        self.budget = other.budget;
        self.count_worn();
    }

    fn count_worn(&mut self) {
        let is_retired = |&superblock: &u32| self.state(superblock) == SuperblockState::Retired;
        let (retired, others): (Vec<u32>, Vec<u32>) = (0..self.count()).partition(is_retired);
        self.retired = retired.len() as u32;
        self.worn = others.into_iter().filter(|&superblock| self.is_last_erase(superblock)).count() as u32;
    }

    /// After a power cut: how often each superblock has been erased, where blocks wear out.
    pub(super) fn look_up(&mut self, erases: impl Fn(u32) -> u32) {
        if self.budget.is_some() {
            (0..self.count()).for_each(|superblock| self.erases[superblock as usize] = erases(superblock));
            self.all_erases = self.erases.iter().copied().map(u64::from).sum();
            self.count_worn();
        }
    }

    /// Whether the next erase of a superblock is its last.
    pub(super) fn is_last_erase(&self, superblock: u32) -> bool {
        self.budget.is_some_and(|budget| self.erases(superblock) + 1 >= budget)
    }

    /// Whether any superblock has had its last erase, or is about to.
    #[inline]
    pub(super) fn are_worn(&self) -> bool {
        self.worn + self.retired > 0
    }

    pub(super) fn retired(&self) -> u32 {
        self.retired
    }

    /// Marks all superblocks that are not free as closed and empty; returns those that were open.
    pub(super) fn restart(&mut self) -> Vec<u32> {
        self.hand = 0;
        let mut open = Vec::new();
        for superblock in 0..self.states.len() {
            open.extend((self.states[superblock] == SuperblockState::Open).then_some(superblock as u32));
            if self.states[superblock] == SuperblockState::Open {
                self.closings += 1;
                self.closed_at[superblock] = self.closings;
            }
            if !matches!(self.states[superblock], SuperblockState::Free | SuperblockState::Retired) {
                (self.states[superblock], self.scores[superblock]) = (SuperblockState::Closed, 0);
            }
        }
        // Caches are empty after a power cut.
        self.flushed = self.closings;
        open
    }

    /// A closed superblock is gone on with.
    pub(super) fn reopen(&mut self, superblock: u32) {
        self.states[superblock as usize] = SuperblockState::Open;
        self.set_busy(superblock, true);
    }

    pub(super) fn is_free(&self, superblock: u32) -> bool {
        self.state(superblock) == SuperblockState::Free
    }

    /// Whether a superblock has pages: it is being filled or has been, and is not on its way out.
    pub(super) fn is_written(&self, superblock: u32) -> bool {
        matches!(self.state(superblock), SuperblockState::Open | SuperblockState::Closed)
    }

    pub(super) fn count(&self) -> u32 {
        self.states.len() as u32
    }

    /// Superpages of each that take data.
    pub(super) fn pages(&self) -> u32 {
        self.pages - self.head
    }

    #[inline]
    pub(super) fn of_superpage(&self, superpage: u32) -> u32 {
        superpage / self.pages
    }

    /// The superpages of a superblock that take data.
    pub(super) fn superpages(&self, superblock: u32) -> std::ops::Range<u32> {
        superblock * self.pages + self.head..(superblock + 1) * self.pages
    }

    /// All of its superpages, which are erased as one.
    pub(super) fn extent(&self, superblock: u32) -> std::ops::Range<u32> {
        superblock * self.pages..(superblock + 1) * self.pages
    }

    pub(super) fn state(&self, superblock: u32) -> SuperblockState {
        self.states[superblock as usize]
    }

    /// How often it has been erased.
    pub(super) fn erases(&self, superblock: u32) -> u32 {
        self.erases[superblock as usize]
    }

    /// Its current pages.
    pub(super) fn current(&self, superblock: u32) -> u32 {
        self.scores[superblock as usize] & !BUSY
    }

    #[inline]
    pub(super) fn more(&mut self, superblock: u32) {
        self.scores[superblock as usize] += 1;
    }

    #[inline]
    pub(super) fn less(&mut self, superblock: u32) {
        self.scores[superblock as usize] -= 1;
    }

    /// Whether a plan works on it, or it is not closed.
    pub(super) fn is_busy(&self, superblock: u32) -> bool {
        self.scores[superblock as usize] & BUSY != 0
    }

    /// The closed superblocks that no plan works on.
    pub(super) fn idle(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.count()).filter(|&superblock| !self.is_busy(superblock))
    }

    /// A plan begins or ends its work on a closed superblock.
    pub(super) fn set_busy(&mut self, superblock: u32, busy: bool) {
        let score = &mut self.scores[superblock as usize];
        *score = if busy { *score | BUSY } else { *score & !BUSY };
    }

    /// The superblock that has been free for longest is filled from now on.
    pub(super) fn open(&mut self) -> Option<u32> {
        let superblock = self.free.pop_front()?;
        self.states[superblock as usize] = SuperblockState::Open;
        Some(superblock)
    }

    /// This superblock, which is free, is filled from now on.
    pub(super) fn open_this(&mut self, superblock: u32) {
        self.free.retain(|&free| free != superblock);
        self.states[superblock as usize] = SuperblockState::Open;
    }

    /// A superblock that was opened and not touched is free again.
    pub(super) fn give_back(&mut self, superblock: u32) {
        self.states[superblock as usize] = SuperblockState::Free;
        self.free.push_front(superblock);
    }

    pub(super) fn close(&mut self, superblock: u32) {
        self.closings += 1;
        self.closed_at[superblock as usize] = self.closings;
        self.states[superblock as usize] = SuperblockState::Closed;
        self.set_busy(superblock, false);
    }

    /// The number of superblocks closed so far.
    pub(super) fn closings(&self) -> u32 {
        self.closings
    }

    /// The members have been flushed since this many superblocks had been closed.
    pub(super) fn note_flush(&mut self, closings: u32) {
        self.flushed = self.flushed.max(closings);
    }

    /// Whether a closed superblock is on the media of members with write caches.
    pub(super) fn is_flushed(&self, superblock: u32) -> bool {
        self.closed_at[superblock as usize] <= self.flushed
    }

    pub(super) fn erase(&mut self, superblock: u32) {
        assert_eq!(self.current(superblock), 0, "only groups without current pages are erased");
        self.states[superblock as usize] = SuperblockState::Erasing;
        self.set_busy(superblock, true);
    }

    pub(super) fn erased(&mut self, superblock: u32) {
        let was_last = self.is_last_erase(superblock);
        self.erases[superblock as usize] += 1;
        self.all_erases += 1;
        if was_last {
            self.states[superblock as usize] = SuperblockState::Retired;
            (self.worn, self.retired) = (self.worn - 1, self.retired + 1);
            return;
        }
        self.worn += u32::from(self.is_last_erase(superblock));
        self.states[superblock as usize] = SuperblockState::Free;
        self.free.push_back(superblock);
    }

    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// The free superblock that comes `n`th.
    pub(super) fn nth_free(&self, n: usize) -> Option<u32> {
        self.free.get(n).copied()
    }

    /// The superblock with the fewest current pages, of those that may be cleaned; of equals, each in its turn.
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

    /// The same among superblocks that are `wanted`.
    pub(super) fn least_of(&self, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let (count, hand) = (self.count(), self.hand as u32);
        let wanted = self.idle().filter(|&superblock| wanted(superblock));
        wanted.min_by_key(|&superblock| (self.current(superblock), (superblock + count - hand) % count))
    }

    /// The superblock is the victim: the next of its equals is the one after it.
    pub(super) fn take_turn(&mut self, superblock: u32) {
        self.hand = (superblock as usize + 1) % self.scores.len();
    }
}

/// The superblocks that may be cleaned: those with fewer than `worth` current pages.
pub(super) struct Victims<'a> {
    pub(super) superblocks: &'a Superblocks,
    pub(super) worth: u32,
    /// The number of data slots in a superblock.
    pub(super) slots: u32,
}

impl EraseUnits for Victims<'_> {
    type Score = u32;

    fn scores(&self) -> &[u32] {
        &self.superblocks.scores
    }

    fn closed_at(&self) -> &[u32] {
        &self.superblocks.closed_at
    }

    fn closings(&self) -> u32 {
        self.superblocks.closings
    }

    fn worth(&self) -> u32 {
        self.worth
    }

    fn first(&self) -> u32 {
        self.superblocks.hand as u32
    }

    fn pages(&self) -> u32 {
        self.slots
    }

    fn erases_of(&self, superblock: u32) -> u32 {
        self.superblocks.erases(superblock)
    }

    fn erases(&self) -> u64 {
        self.superblocks.all_erases
    }
}
