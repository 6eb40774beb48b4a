//! The journal of a log over devices, which have no OOB area to read: for each place of a superblock its logical page,
//! version and stripe.
//!
//! Its pages are the first of a superblock, each for a *section* of superpages, and are written again with every write
//! to that section: on one member with every write, which is durable when both are; on a second member when a stripe is
//! closed, as long as which a page is protected by the controller's memory alone anyway. The controller's memory has
//! the map: the journal is read after a power loss only, before the first command. A record that was being written then
//! counts as written if its page has been.

use super::health::LogHealth;
use super::medium::Medium;
use super::{LogHold, StripeLog};
use crate::engine::{Cause, Member, Page, Plan, Role, Step, View};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Pages of the journal that a plan reads, or writes again.
const BATCH: usize = 64;

/// The journal of a log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Superpages whose records a page has.
    section: u32,
    /// Pages that members lack which have been replaced, or came back.
    lacking: VecDeque<(u8, u32)>,
    /// After a power loss: pages that have not been read, and whether some are being read.
    #[serde(skip)]
    unread: VecDeque<(u8, u32)>,
    #[serde(skip)]
    reading: bool,
}

impl Journal {
    pub(super) fn new(section: u32) -> Self {
        Journal { section, ..Journal::default() }
    }

    /// The page of the journal that has a superpage's records.
    fn record_of(&self, superpage: u32, medium: &Medium) -> u32 {
        let (first, at) = (superpage / medium.pages * medium.pages, superpage % medium.pages);
        first + (at - medium.journal_pages) / self.section
    }

    // ---------------------------------------------------------------- after a power loss

    /// Whether the log does not have its map yet.
    #[inline]
    pub(super) fn is_reading(&self) -> bool {
        self.reading || !self.unread.is_empty()
    }

    pub(super) fn wants_to_read(&self) -> bool {
        !self.reading && !self.unread.is_empty()
    }

    /// Reads the next pages of the journal.
    pub(super) fn read(&mut self, plan: &mut Plan) -> bool {
        if !self.wants_to_read() {
            return false;
        }
        let count = self.unread.len().min(BATCH);
        for (member, page) in self.unread.drain(..count) {
            plan.push(Step::fetch(Member(member), Page::of(page), Role::Plain, Cause::Metadata));
        }
        plan.hold = Some(LogHold::Journal.key());
        self.reading = true;
        true
    }

    /// The pages that were being read have come.
    pub(super) fn note_read(&mut self) {
        self.reading = false;
    }

    // ---------------------------------------------------------------- after a failure

    /// The superblock's journal has been erased with it.
    pub(super) fn erase(&mut self, superblock: u32, medium: &Medium) {
        self.lacking.retain(|&(_, page)| page / medium.pages != superblock);
    }

    /// Whether members that answer lack pages of the journal.
    pub(super) fn lacks_records(&self, health: &LogHealth) -> bool {
        self.lacking.iter().any(|&(member, _)| health.alive(member))
    }

    /// Writes pages of the journal again that members lack: the controller's memory has them.
    pub(super) fn store_records(&mut self, health: &LogHealth, plan: &mut Plan) -> bool {
        let mut kept = VecDeque::new();
        while plan.steps.len() < BATCH
            && let Some((member, page)) = self.lacking.pop_front()
        {
            if health.alive(member) {
                plan.push(Step::store(Member(member), Page::of(page), Role::Plain, Cause::Rebuild));
            } else {
                kept.push_back((member, page));
            }
        }
        self.lacking.append(&mut kept);
        !plan.steps.is_empty()
    }
}

impl StripeLog {
    /// Writes the new state of these superpages, which ascend, to the journal: to one copy, and if stripes of them are
    /// `closed`, to both.
    pub(super) fn record(
        &self,
        superpages: impl Iterator<Item = u32>,
        closed: bool,
        stage: u8,
        plan: &mut Plan,
    ) {
        if self.medium.oob {
            return;
        }
        let mut last = None;
        for page in superpages.map(|superpage| self.journal.record_of(superpage, &self.medium)) {
            if last.replace(page) == Some(page) {
                continue;
            }
            let [first, second] = self.medium.copies(page, self.members);
            let store = |member| {
                Step::store(Member(member), Page::of(page), Role::Plain, Cause::Metadata).stage(stage)
            };
            let (one, other) = if self.health.alive(first) { (first, second) } else { (second, first) };
            plan.push(store(one));
            if closed {
                plan.push(store(other).later());
            }
        }
    }

    /// Pages of the journal in superblocks that are not free.
    fn journal_pages(&self) -> impl Iterator<Item = (u8, u32)> + '_ {
        let superblocks = (0..self.stripes.superblocks.count())
            .filter(|&superblock| !self.stripes.superblocks.is_free(superblock));
        let pages = superblocks.flat_map(|superblock| {
            let first = superblock * self.medium.pages;
            first..first + self.medium.journal_pages
        });
        pages.flat_map(|page| self.medium.copies(page, self.members).map(|member| (member, page)))
    }

    // ---------------------------------------------------------------- after a power loss

    /// The journal must be read before any other work.
    pub(super) fn lose_journal(&mut self, view: &View<'_>) {
        let readable = |&(member, page): &(u8, u32)| {
            view.has(Member(member), Page::of(page)) && view.holds(Member(member), Page::of(page))
        };
        let unread = self.journal_pages().filter(readable).collect();
        self.journal.unread = unread;
        self.journal.reading = false;
    }

    // ---------------------------------------------------------------- after a failure

    /// A member lacks this page of the journal.
    pub(super) fn lose_record(&mut self, member: u8, page: u32) {
        let is_copy = self.medium.copies(page, self.members).contains(&member);
        if is_copy
            && !self.stripes.superblocks.is_free(page / self.medium.pages)
            && !self.journal.lacking.contains(&(member, page))
        {
            self.journal.lacking.push_back((member, page));
        }
    }

    /// A member has been replaced by an empty one, or has returned without some pages.
    pub(super) fn lose_records(&mut self, member: u8, lacks: impl Fn(u32) -> bool) {
        let lost: Vec<(u8, u32)> =
            self.journal_pages().filter(|&(of, page)| of == member && lacks(page)).collect();
        lost.into_iter().for_each(|(member, page)| self.lose_record(member, page));
    }
}
