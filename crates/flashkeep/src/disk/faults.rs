//! Failures: of the whole disk, or of a page that can no longer be read.

use super::serve::{Arm, UnderWay};
use super::{Disk, DiskPages};
use crate::engine::{Command, CompletionPart, CompletionToken, Contents, Done, Page, Verb};
use crate::kernel::{Factor, SimTime, Span};

impl<C: Contents> Disk<C> {
    /// All of it fails at `now`, for good. Reads that wait fail, writes are answered plainly; what had been begun is
    /// not taken back: its end was reported when it began.
    #[cold]
    pub fn fail(&mut self, now: SimTime) {
        self.now = now;
        self.dead = true;
        for id in self.queue.take_all() {
            let op = &self.queue.ops[id];
            let (token, command, cached) = (op.token, op.command, op.cached);
            if cached {
                let done = Done::at(token, command.count.into(), now);
                self.done.push(Done { part: CompletionPart::Durable, ..done });
            } else {
                self.answer_for_dead(now, &command, token);
            }
            self.queue.ops.release(id);
        }
        self.pages = DiskPages::new(self.pages.len());
        self.forget_fates();
        self.in_memory.clear();
        self.cache.empty();
        self.under_way = UnderWay::default();
        (self.queued, self.wake_at, self.spoilt) = (Span::ZERO, SimTime::NEVER, false);
    }

    /// At `now` a new and empty disk takes its place.
    pub fn renew(&mut self, now: SimTime) {
        self.now = now;
        if std::mem::take(&mut self.dead) {
            self.arm = Arm::default();
            self.free_at = self.free_at.min(now);
        }
    }

    /// Commands that begin from now on take longer: their overhead, seek, rotation and transfer.
    #[cold]
    pub fn set_slow(&mut self, factor: Factor) {
        self.slow = factor;
    }

    /// No command begins before `until`; the one under way ends as planned.
    #[cold]
    pub fn stall(&mut self, now: SimTime, until: SimTime) {
        self.now = now;
        self.stalled_until = self.stalled_until.max(until);
        if self.wake_at < SimTime::NEVER {
            self.wake_at = self.wake_at.max(self.stalled_until);
        }
    }

    /// Whether it has failed: it must get no commands until it is renewed.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Whether it has not failed and no page is unreadable.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        !self.dead && !self.spoilt
    }

    /// A page on the platter cannot be read any more (a latent sector error) until it is written again; a command that
    /// reads it is answered with an error. A page that is still in memory is not affected.
    #[cold]
    pub fn fail_page(&mut self, now: SimTime, page: Page) {
        self.now = now;
        if !self.dead && !self.is_in_memory(now, page.low()) {
            self.spoilt = true;
            self.pages.poison(page.low());
            self.drop_fate(page.low());
        }
    }

    /// A page fails for good, and the disk reports it. Later writes of it go to spare sectors (which cost no
    /// time).
    #[cold]
    pub fn lose_page(&mut self, now: SimTime, page: Page) {
        self.now = now;
        if !self.dead && !self.is_in_memory(now, page.low()) && self.pages.holds(page.low()) {
            self.spoilt = true;
            self.pages.lose(page.low());
            self.drop_fate(page.low());
            self.done.push(Done::gone(self.backend, page));
        }
    }

    /// Nothing that the platter has can be read any more, until it is written again.
    #[cold]
    pub fn forget(&mut self, now: SimTime) {
        let held: Vec<u32> = self.pages.held().collect();
        held.into_iter().for_each(|page| self.fail_page(now, Page::of(page)));
    }

    /// Answers commands for a failed disk.
    pub(super) fn answer_for_dead(&mut self, now: SimTime, command: &Command, token: CompletionToken) {
        if command.verb != Verb::Read {
            return self.answer(token, command.count.into(), now, Span::ZERO);
        }
        for n in 0..u32::from(command.count) {
            let failed = Some((self.backend, command.start.plus(n)));
            self.done.push(Done { failed, ..Done::at(token.plus(n), 1, now) });
        }
    }
}
