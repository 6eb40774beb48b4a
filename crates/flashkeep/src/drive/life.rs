//! The life of a drive: when blocks were retired, and when it could write no more.

use super::parameters::Parameters;
use crate::kernel::SimTime;

/// The wear of a drive: retired blocks, and the end of life.
#[derive(Clone, Debug)]
pub struct DriveLife {
    budget: u32,
    /// Blocks that have reached the erase budget.
    pub expired: u32,
    /// When the first one reached it.
    pub first_worn_block: Option<SimTime>,
    /// When the first write was refused, for want of good blocks.
    pub first_refusal: Option<SimTime>,
}

impl DriveLife {
    pub(super) fn new(drive: &Parameters) -> Self {
        DriveLife {
            budget: drive.policies.erase_budget.unwrap_or(u32::MAX),
            expired: 0,
            first_worn_block: None,
            first_refusal: None,
        }
    }

    /// The values for a device that does not wear out.
    #[must_use]
    pub fn endless() -> Self {
        DriveLife { budget: u32::MAX, expired: 0, first_worn_block: None, first_refusal: None }
    }

    /// Adds those of another drive.
    pub fn add(&mut self, other: &DriveLife) {
        let earlier = |a: Option<SimTime>, b: Option<SimTime>| a.into_iter().chain(b).min();
        self.expired += other.expired;
        self.first_worn_block = earlier(self.first_worn_block, other.first_worn_block);
        self.first_refusal = earlier(self.first_refusal, other.first_refusal.filter(|_| other.has_ended()));
    }

    /// All blocks are new.
    pub(super) fn begin_anew(&mut self) {
        *self = DriveLife { expired: 0, first_worn_block: None, first_refusal: None, ..self.clone() };
    }

    /// Erases that a block has in all.
    pub(super) fn budget(&self) -> u32 {
        self.budget
    }

    /// Whether a block that was erased so often has no erase left.
    pub(super) fn is_over(&self, erases: u32) -> bool {
        erases >= self.budget
    }

    pub(super) fn refuse(&mut self, now: SimTime) {
        self.first_refusal.get_or_insert(now);
    }

    /// Whether blocks have died, and a write was refused since.
    #[must_use]
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.expired > 0 && self.first_refusal.is_some()
    }

    /// The erase by which a block expired has not begun when the power was cut.
    #[cold]
    pub(super) fn take_back_expiry(&mut self) {
        self.expired -= 1;
        if self.expired == 0 {
            self.first_worn_block = None;
        }
    }
}
