//! The rule that parity waits until its stripe is full.
//!
//! Data of a stripe that has never been full are programmed and acknowledged without parity; the controller
//! keeps their running sum. With the last page the sum becomes the parity, without reads. In idle time it
//! becomes the parity of the existing pages, and the stripe is an ordinary one from then on.

use super::codeword::{Coverage, ParityLocation};
use super::layout::{ParityLayout, StripeSeats};
use super::stripes::{Settling, StripePart, Stripes, Touch};
use super::units::UnitSet;
use super::update::{fetch, give, read_old};
use crate::engine::{Command, Key, Page, Plan, RepairOutcome, Role, Step, Verb, View};
use crate::kernel::{Bits, RebuildQueue, Span};

/// The stripes that wait for their parity.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct WaitingStripes {
    pub(super) idle_after: Span,
    /// Stripes that have had parity: they do not wait again.
    closed: Bits,
    /// Stripes that have data and no parity yet.
    open: RebuildQueue,
    /// Stripes whose running sum lacks a page that could not be read.
    broken: Bits,
}

impl WaitingStripes {
    pub(super) fn new(idle_after: Span) -> Self {
        WaitingStripes {
            idle_after,
            closed: Bits::default(),
            open: RebuildQueue::default(),
            broken: Bits::default(),
        }
    }

    #[inline]
    pub(super) fn has(&self, stripe: u32) -> bool {
        !self.closed.has(stripe)
    }

    pub(super) fn close(&mut self, stripe: u32) {
        self.closed.set(stripe, true);
        self.open.set(stripe, false);
        self.broken.set(stripe, false);
    }

    /// Whether a command only adds pages to a stripe that still waits: nothing is read, and no plan need be kept
    /// from the stripe.
    pub(super) fn adds<L: ParityLayout>(
        &self,
        command: &Command,
        stripes: &Stripes<L>,
        place: StripePart<L::Seats>,
    ) -> bool {
        let stripe = place.seats.stripe();
        if command.verb != Verb::Write || !self.has(stripe) || self.broken.has(stripe) {
            return false;
        }
        let touch = stripes.touch(command, place);
        touch.old().is_empty() && !is_full(stripes, touch.after)
    }

    /// Writes or trims data of a stripe that waits, and its parity if that is the end of it.
    pub(super) fn write<L: ParityLayout>(
        &mut self,
        command: &Command,
        stripes: &mut Stripes<L>,
        place: StripePart<L::Seats>,
        touch: &Touch,
        plan: &mut Plan,
    ) {
        let (seats, stripe, key) = (place.seats, place.seats.stripe(), place.seats.lock());
        let broken = self.broken.has(stripe);
        let closes = broken || is_full(stripes, touch.after);
        if broken {
            fetch(seats, touch.rest(), plan);
        } else {
            read_old(command, place, touch.old(), plan);
            // The pages that are read may have to be worked out from the earlier sum.
            let kept = (!touch.before.is_empty()).then_some(key);
            if plan.steps.is_empty() {
                plan.carry = kept
            } else {
                plan.peek = kept
            }
            plan.keep = (!closes).then_some(key);
        }
        let stage = u8::from(!plan.steps.is_empty());
        for index in touch.touched.iter() {
            plan.push(give(command, place, index).stage(stage));
        }
        if closes {
            stripes.close(seats, touch.after, stage, plan);
        }
        self.open.set(stripe, true);
        let (touched, trims) = (touch.touched, command.verb == Verb::Trim);
        if stage == 0 && !closes {
            // Everything is submitted at once, and the stripe still waits.
            return stripes.set_written(stripe, touched, trims);
        }
        stripes.settling.insert(stripe, Settling { touched, trims, renews: closes, ..Settling::default() });
    }

    /// Writes the parity of a stripe that waits; false where none does that could be had now.
    pub(super) fn flush<L: ParityLayout>(
        &mut self,
        stripes: &mut Stripes<L>,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> bool {
        let Some(stripe) = self.open.next(|stripe| view.held(Key(stripe))) else {
            return false;
        };
        let stripe = stripe as u32;
        let (seats, written) = (stripes.seats(stripe), stripes.written(stripe));
        plan.hold = Some(seats.lock());
        if self.broken.has(stripe) {
            fetch(seats, written, plan);
        } else {
            plan.carry = plan.hold;
        }
        let stage = u8::from(!plan.steps.is_empty());
        stripes.close(seats, written, stage, plan);
        self.open.set(stripe, false);
        stripes.settling.insert(stripe, Settling { renews: true, ..Settling::default() });
        true
    }

    /// A page of a stripe that waits cannot be read. To a reader it is lost: no parity has it. Where the running sum
    /// needs it, the sum itself, less the other pages, is it.
    pub(super) fn repair<F: Fn(u8) -> Page, S: StripeSeats>(
        &mut self,
        word: Coverage<F, S>,
        role: Role,
        failed: &[Step],
        view: &View<'_>,
        plan: &mut Plan,
    ) -> RepairOutcome {
        let (stripe, wanted) = (word.seats.stripe(), failed[failed.len() - 1]);
        if !matches!(wanted.role, Role::Data(_)) || self.broken.has(stripe) {
            return RepairOutcome::Lost;
        }
        plan.peek = Some(word.seats.lock());
        let outcome =
            Coverage { parity: ParityLocation::Carried, ..word }.bring_back(role, failed, view, plan);
        self.broken.set(stripe, outcome == RepairOutcome::Lost);
        outcome
    }
}

fn is_full<L: ParityLayout>(stripes: &Stripes<L>, units: UnitSet) -> bool {
    units == UnitSet::range(0, stripes.data())
}
