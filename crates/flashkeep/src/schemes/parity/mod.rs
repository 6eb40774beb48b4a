//! The parity engine: layout × time at which the parity is written × number of parities.
//!
//! `Parity` writes parity with the data, and is RAID-4, -5 and -6 by its layout. `Versions` is the common
//! part of schemes that defer the parity and keep old versions meanwhile. Both use `Stripes`, which knows the
//! pages that are known zeros and the missing ones, and `Coverage`, which reconstructs missing units.

mod codeword;
mod hidden;
mod layout;
mod local_groups;
mod moves;
mod permutations;
mod permuted;
mod recover;
mod remains;
mod split;
mod stripes;
mod surviving;
mod units;
mod update;
mod versions;
mod waiting;
mod weighted;

pub use layout::{Fixed, ParityLayout, Rotated, Seats, StripeSeats};
pub use local_groups::LocalGroups;
pub(super) use moves::Moves;
pub(super) use permuted::Shape;
pub use permuted::{Permuted, PermutedSeats};
pub(super) use recover::{PlacedStripe, RecoveredUnits};
pub use split::Split;
pub(super) use stripes::{Settling, StripePart, Stripes, Touch};
pub(super) use units::UnitSet;
pub(super) use update::{fetch, read_old};
pub(super) use versions::Versions;
pub(super) use weighted::Reshuffle;
pub use weighted::Weighted;

use super::{
    Idle, Incomplete, Incompletes, Inside, OptionsPart, PageNumbers, Reads, Rebuilds, SchemeEntry,
    SchemeOptions, Striping, Sums, members,
};
use crate::engine::{
    BackgroundWork, Capabilities, Code, Codewords, Command, Flags, Key, Lock, Member, MemberRow, Page, Plan,
    PlanVerdict, Protection, Recoverable, RepairOutcome, Scheme, Step, StripeUnit, Triggers, Verb, View, Why,
};
use crate::kernel::{Bits, Span};
use codeword::{Coverage, ParityLocation};
use std::ops::Range;
use waiting::WaitingStripes;

/// The defaults of schemes that write data and parity together; unchanged for schemes with one parity.
pub(super) const WRITTEN_TOGETHER: SchemeEntry = SchemeEntry {
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<Striping>(),
        OptionsPart::of::<Incompletes>(),
        OptionsPart::of::<Idle>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    numbers: PageNumbers::Stripes,
    members: members::one_parity,
    data_members: Some(|members, _| members - 1),
    survives: |_| 1,
    in_rows: true,
    over_drives: members::over_one_parity,
    ..SchemeEntry::BASE
};

/// A span of time from the milliseconds of a drive file.
pub(super) fn milliseconds(ms: f64) -> Span {
    Span((ms * 1e6).round() as u64)
}

/// Data and parity written together.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Parity<L> {
    stripes: Stripes<L>,
    /// Stripes whose parity waits until they are full, where that is the rule.
    waiting: Option<WaitingStripes>,
}

impl<L: ParityLayout> Parity<L> {
    /// Parity over the given members.
    #[must_use]
    pub fn new(options: &SchemeOptions<'_>) -> Self {
        let idle = milliseconds(options.redundancy.read::<Idle>().idle_ms);
        let waits = options.redundancy.read::<Incompletes>().incomplete == Incomplete::Wait;
        Parity { stripes: Stripes::new(options), waiting: waits.then(|| WaitingStripes::new(idle)) }
    }

    #[inline]
    fn waits(&self, stripe: u32) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.has(stripe))
    }
}

/// Whether it is the first of its stripe's pages that were there before time 0: their parity was there too.
fn is_first_before<L: ParityLayout>(command: &Command, stripes: &Stripes<L>) -> bool {
    command.flags.has(Flags::BEFORE) && stripes.written(stripes.split(command.start).0).is_empty()
}

impl<L: ParityLayout> Scheme for Parity<L> {
    fn capacity(&self) -> u64 {
        self.stripes.capacity()
    }

    fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
        self.stripes.whereabouts(page, tell);
    }

    fn capabilities(&self) -> Capabilities {
        let idle_after = self.waiting.as_ref().map(|waiting| waiting.idle_after);
        let triggers = Triggers { idle_after, ..Triggers::default() };
        let reads_submitted = self.waiting.is_none();
        Capabilities { reads_submitted, triggers, ..Capabilities::default() }
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Stripes(self)
    }

    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        self.stripes.prefetch(page, ask);
    }

    fn row(&self) -> Option<MemberRow> {
        let row = MemberRow { pages: u32::from(self.stripes.data()), each: 1, reads: true };
        (L::IN_ROWS && self.waiting.is_none()).then_some(row)
    }

    fn used(&self) -> Option<&Bits> {
        self.waiting.is_none().then_some(&self.stripes.written)
    }

    fn period(&self, stripes: Range<u64>) -> Option<u32> {
        self.stripes.layout.period(stripes)
    }

    fn note_rows(&mut self, rows: Range<u64>) {
        let data = u64::from(self.stripes.data());
        self.stripes.written.set_run(rows.start * data..rows.end * data, true);
    }

    fn grain(&self, _: Verb) -> u32 {
        u32::from(self.stripes.data())
    }

    /// An update locks its stripe until it is durable. Reads wait for it, because it may delay its data until it has
    /// read their old versions.
    #[inline(never)]
    fn lock(&self, command: &Command) -> Lock {
        let key = Key(u64::from(self.stripes.split(command.start).0));
        if command.verb == Verb::Read {
            return Lock::Pass(key);
        }
        match &self.waiting {
            Some(waiting)
                if !is_first_before(command, &self.stripes)
                    && waiting.adds(command, &self.stripes, self.stripes.place(command)) =>
            {
                Lock::Pass(key)
            }
            _ => Lock::Hold(key),
        }
    }

    #[inline(never)]
    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        assert!(command.verb != Verb::Remap, "old versions are kept below a parity, not above it");
        let place = self.stripes.place(command);
        if command.verb == Verb::Read {
            self.stripes.read(command, place, view, plan);
            return PlanVerdict::Go;
        }
        if let Some(waiting) = self.waiting.as_mut().filter(|_| is_first_before(command, &self.stripes)) {
            waiting.close(place.seats.stripe());
        }
        let waiting = self.waiting.as_mut().filter(|waiting| waiting.has(place.seats.stripe()));
        let Some(waiting) = waiting else {
            self.stripes.update(command, place, view, plan);
            return PlanVerdict::Go;
        };
        let touch = self.stripes.touch(command, place);
        if !touch.touched.is_empty() {
            waiting.write(command, &mut self.stripes, place, &touch, plan);
        }
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        let word = self.stripes.codeword(self.stripes.stripe_of(wanted.member, wanted.command.start));
        let Some(role) = word.seats.role_of(wanted.member) else { return RepairOutcome::Lost };
        match &mut self.waiting {
            Some(waiting) if waiting.has(word.seats.stripe()) => {
                waiting.repair(word, role, failed, view, plan)
            }
            _ => word.bring_back(role, failed, view, plan),
        }
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        self.stripes.owner(member, page)
    }

    #[inline(never)]
    fn settled(&mut self, key: Key, view: &View<'_>) {
        let Some((stripe, settling)) = self.stripes.settle(key, view) else { return };
        self.stripes.set_written(stripe, settling.touched, settling.trims);
        if let Some(waiting) = self.waiting.as_mut().filter(|_| settling.renews) {
            waiting.close(stripe);
        }
    }
}

impl<L: ParityLayout> BackgroundWork for Parity<L> {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        match &mut self.waiting {
            Some(waiting) if why == Why::Idle => waiting.flush(&mut self.stripes, view, plan),
            _ => false,
        }
    }
}

impl<L: ParityLayout> Recoverable for Parity<L> {
    /// Running sums are gone: every stripe has its parity, or gets one.
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        if self.waiting.is_some() {
            // The pages of such a stripe may be in flight; lost ones are logged as lost.
            let all = UnitSet::range(0, self.stripes.data());
            for stripe in (0..self.stripes.count()).filter(|&stripe| self.waits(stripe)).collect::<Vec<_>>() {
                self.stripes.set_written(stripe, all, true);
            }
        }
        let lost = view.lost().cloned().unwrap_or_default();
        self.stripes.recover(lost, view, lacks);
        if let Some(waiting) = &mut self.waiting {
            *waiting = WaitingStripes::new(waiting.idle_after);
            let begun = |stripe: &u32| !self.stripes.written(*stripe).is_empty();
            (0..self.stripes.count()).filter(begun).for_each(|stripe| waiting.close(stripe));
        }
    }
}

impl<L: ParityLayout> Codewords for Parity<L> {
    fn count(&self) -> u32 {
        self.stripes.count()
    }

    fn data(&self) -> u8 {
        self.stripes.data()
    }

    fn code(&self) -> Code {
        self.stripes.layout.code()
    }

    fn defers(&self) -> bool {
        self.waiting.is_some()
    }

    fn unprotected(&self, stripe: u32) -> u8 {
        if self.waits(stripe) { self.stripes.written(stripe).count() as u8 } else { 0 }
    }

    fn units(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit)) {
        let coverage = self.stripes.codeword(stripe);
        match self.waits(stripe) {
            true => Coverage { parity: ParityLocation::Carried, ..coverage }.each(tell),
            false => coverage.each(tell),
        }
    }

    fn stripe_of(&self, member: Member, page: Page) -> Option<u32> {
        Some(self.stripes.stripe_of(member, page)).filter(|&stripe| stripe < self.stripes.count())
    }
}
