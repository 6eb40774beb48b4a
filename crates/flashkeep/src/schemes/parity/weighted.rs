//! Unequal shares of parity, and their reassignment.

use super::layout::{ParityLayout, RowLayout, Seats};
use super::stripes::Settling;
use super::update::drop_page;
use super::{Parity, UnitSet};
use crate::engine::{Cause, Command, Key, Page, Plan, Role, Step, Verb, View};
use crate::kernel::{Bits, Divisor, RebuildQueue};
use crate::schemes::SchemeOptions;
use crate::schemes::published::diff_raid::DiffOptions;
use std::ops::Range;

/// Members have different shares of the parities, in a pattern that repeats. A data unit is on the member of its
/// number, or, where that has the parity, on the last one: where another member gets a stripe's parity, the parity and
/// at most two data units change places.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Weighted {
    members: u8,
    /// None where a unit is a page.
    by_unit: Option<Divisor>,
    by_pattern: Divisor,
    /// Which share each unit of the pattern counts for.
    pattern: Vec<u8>,
    /// Stripes of each share in the pattern.
    counts: Vec<u32>,
    /// Who has each share, now and before the last change.
    now: Vec<u8>,
    before: Vec<u8>,
    /// Stripes that still are as they were before the last change.
    old: Bits,
}

/// The shares, one by one so that each comes as regularly as it can: the one that lags most is next (smooth
/// weighted round robin).
fn spread(counts: &[u32]) -> Vec<u8> {
    let total: u32 = counts.iter().sum();
    let mut credit = vec![0i64; counts.len()];
    let next = |_| {
        credit.iter_mut().zip(counts).for_each(|(credit, &count)| *credit += i64::from(count));
        let most = credit.iter().copied().max().unwrap_or_default();
        let share = credit.iter().position(|&credit| credit == most).unwrap_or_default();
        credit[share] -= i64::from(total);
        share as u8
    };
    (0..total).map(next).collect()
}

impl ParityLayout for Weighted {
    type Seats = Seats;
    const SWAPS: bool = true;

    fn new(options: &SchemeOptions<'_>) -> Self {
        let counts = options.redundancy.read::<DiffOptions>().shares.counts(usize::from(options.members));
        let counts = counts.expect("shares were checked with the array");
        let pattern = spread(&counts);
        let now: Vec<u8> = (0..options.members).collect();
        Weighted {
            members: options.members,
            by_unit: (options.unit_pages > 1).then(|| Divisor::new(options.unit_pages)),
            by_pattern: Divisor::new(pattern.len() as u32),
            pattern,
            counts,
            before: now.clone(),
            now,
            old: Bits::default(),
        }
    }

    fn members(&self) -> u8 {
        self.members
    }

    #[inline(always)]
    fn parities(&self) -> u8 {
        1
    }

    #[inline]
    fn seats(&self, stripe: u32) -> Seats {
        Seats::of(self, stripe)
    }

    fn period(&self, stripes: Range<u64>) -> Option<u32> {
        let period = (self.pattern.len() as u32).checked_mul(self.by_unit.map_or(1, Divisor::by));
        period.filter(|_| self.old.uniform(stripes).is_some())
    }
}

impl RowLayout for Weighted {
    #[inline]
    fn parity(&self, stripe: u32) -> u8 {
        let row = self.by_unit.map_or(stripe, |by| by.split(stripe).0);
        let share = usize::from(self.pattern[self.by_pattern.split(row).1 as usize]);
        if self.old.has(stripe) { self.before[share] } else { self.now[share] }
    }
}

impl Weighted {
    /// The share that each member has, in stripes of the pattern.
    #[cfg(test)]
    pub(crate) fn shares(&self) -> Vec<u32> {
        let mut shares = vec![0; usize::from(self.members)];
        self.now.iter().zip(&self.counts).for_each(|(&member, &count)| shares[usize::from(member)] = count);
        shares
    }

    /// Gives the largest share to the first of `order`, and so on.
    fn assign(&mut self, order: &[u8]) {
        self.before.clone_from(&self.now);
        let mut shares: Vec<usize> = (0..self.counts.len()).collect();
        shares.sort_by_key(|&share| (std::cmp::Reverse(self.counts[share]), share));
        shares.into_iter().zip(order).for_each(|(share, &member)| self.now[share] = member);
    }
}

/// Stripes whose parity is still to go to another member.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(in crate::schemes) struct Reshuffle {
    rebuild_queue: RebuildQueue,
    /// Stripes that are being changed.
    moving: Bits,
}

impl Reshuffle {
    /// Whether no stripe can be moved now.
    pub(in crate::schemes) fn is_empty(&self) -> bool {
        self.rebuild_queue.is_empty()
    }
}

impl Parity<Weighted> {
    /// Whether a change of the shares is still under way.
    pub(in crate::schemes) fn is_reshuffling(&self) -> bool {
        self.stripes.layout.old.count() > 0
    }

    /// Whether stripes whose state is unknown so far may be ready to move when the operations under way are over.
    pub(in crate::schemes) fn may_go_on(&self, restoring: bool) -> bool {
        self.is_reshuffling() && (restoring || !self.stripes.settling.is_empty())
    }

    /// The layout, for tests.
    #[cfg(test)]
    pub(in crate::schemes) fn layout(&self) -> &Weighted {
        &self.stripes.layout
    }

    /// Shares the parities out again, the largest share to the first of `order`: stripes follow one by one.
    pub(in crate::schemes) fn share_out(&mut self, order: &[u8], view: &View<'_>, reshuffle: &mut Reshuffle) {
        let stripes = &mut self.stripes;
        stripes.layout.assign(order);
        if stripes.layout.now != stripes.layout.before {
            stripes.layout.old.set_run(0..stripes.count().into(), true);
        }
        self.look_at_all(view, reshuffle);
    }

    /// Whether a stripe waits for its parity to move, and nothing of it is missing.
    pub(in crate::schemes) fn look_at(&self, stripe: u32, view: &View<'_>, reshuffle: &mut Reshuffle) {
        let waits = self.stripes.layout.old.has(stripe);
        reshuffle.rebuild_queue.set(stripe, waits && !view.is_degraded(stripe.into()));
    }

    /// The same for all stripes.
    pub(in crate::schemes) fn look_at_all(&self, view: &View<'_>, reshuffle: &mut Reshuffle) {
        for run in self.stripes.layout.old.runs() {
            let mut at = run.start;
            while at < run.end {
                let alike = at..view.degraded_until(at..run.end);
                reshuffle.rebuild_queue.set_run(alike.clone(), !view.is_degraded(at));
                at = alike.end;
            }
        }
    }

    /// Moves the parity of one stripe to who is to have it from now on; false where there is none that can be moved.
    pub(in crate::schemes) fn reshuffle(
        &mut self,
        reshuffle: &mut Reshuffle,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> bool {
        // Stripes that a plan holds are looked at again when it ends (`look_at`).
        while let Some(stripe) = reshuffle.rebuild_queue.next_idle(|stripe| view.held(Key(stripe))) {
            let stripe = stripe as u32;
            reshuffle.rebuild_queue.set(stripe, false);
            if view.is_degraded(stripe.into()) {
                continue;
            }
            let (from, written) = (self.stripes.seats(stripe), self.stripes.written(stripe));
            self.stripes.layout.old.set(stripe, false);
            let to = self.stripes.seats(stripe);
            if written.is_empty() || from.member(Role::P) == to.member(Role::P) {
                continue;
            }
            self.stripes.layout.old.set(stripe, true);
            change_places(from, to, written, plan);
            plan.hold = Some(from.key());
            reshuffle.moving.set(stripe, true);
            self.stripes.settling.insert(stripe, Settling::default());
            return true;
        }
        false
    }

    /// After a power loss: a stripe that was being changed is in its old or in its new layout, whichever its units fit
    /// better. In between, all of its data are there, or can be worked out, in one of the two.
    pub(in crate::schemes) fn settle_layout(&mut self, view: &View<'_>) {
        let stripes = &mut self.stripes;
        if stripes.layout.now == stripes.layout.before {
            return;
        }
        for stripe in 0..stripes.count() {
            let was_old = stripes.layout.old.has(stripe);
            let seats = stripes.seats(stripe);
            let misfit = stripes.misfit(stripe, view);
            stripes.layout.old.set(stripe, !was_old);
            let moves = seats.member(Role::P) != stripes.seats(stripe).member(Role::P);
            if !moves || misfit <= stripes.misfit(stripe, view) {
                stripes.layout.old.set(stripe, was_old);
            }
        }
    }

    /// A plan that held the stripe is durable: whether that has moved its parity.
    pub(in crate::schemes) fn moved(&mut self, stripe: u32, reshuffle: &mut Reshuffle) {
        if reshuffle.moving.set(stripe, false) {
            self.stripes.layout.old.set(stripe, false);
        }
    }
}

/// Units that move are read, then written to their new place; where no other unit takes its place, a member
/// forgets what it had.
fn change_places(from: Seats, to: Seats, written: UnitSet, plan: &mut Plan) {
    let roles = || written.iter().map(Role::Data).chain([Role::P]);
    let moving = || (0..).zip(roles().filter(|&role| from.member(role) != to.member(role)));
    let command = |verb| Command::new(verb, from.page(), 1).because(Cause::Migrate);
    for (at, role) in moving() {
        plan.push(Step::new(from.member(role), command(Verb::Read), at));
    }
    for (at, role) in moving() {
        plan.push(Step::new(to.member(role), command(Verb::Write), at).stage(1));
    }
    let taken = |member| roles().any(|role| to.member(role) == member);
    for (_, role) in moving().filter(|&(_, role)| !taken(from.member(role))) {
        plan.push(drop_page(from.member(role), Page::of(from.stripe)).stage(1));
    }
    // Each of these writes replaces a unit of the same stripe.
    plan.force();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_spread() {
        assert_eq!(spread(&[3, 1]), [0, 0, 1, 0]);
        let pattern = spread(&[40, 15, 15, 15, 15]);
        let counts = |from: usize, to: usize| pattern[from..to].iter().filter(|&&share| share == 0).count();
        assert_eq!((pattern.len(), counts(0, 100)), (100, 40));
        // In any ten in a row four are the first one's, give or take one.
        assert!((0..90).all(|from| (3..=5).contains(&counts(from, from + 10))));
    }
}
