//! Recovery, after a power loss, of stripes with two versions of some pages.
//!
//! The non-volatile memory still knows which units a stripe's partial parity covers and where their old
//! versions are kept. If the write of such a unit had not reached flash, its old version is current again,
//! and the unit is no longer covered. Then each sum is checked separately: the parity against the old
//! versions and the unchanged units, the partial parity against the current versions of the others. If one
//! unit is unavailable, its reconstruction must be the page that belongs there. A sum that does not match was
//! being written and is marked as missing; the stripe's parity is rewritten. If neither matches, or if
//! nothing is known of a stripe, it has one version of every page ([`Stripes::recover_stripe`]).

use super::layout::Rotated;
use super::recover::{Logged, PagesOfStripe};
use super::stripes::Stripes;
use super::units::UnitSet;
use super::versions::{Partial, Versions};
use crate::engine::{Contents, Member, Page, Role, Token, View};

/// The versions of a stripe's units that exist.
struct Pair {
    /// The units that the partial parity covers.
    changed: UnitSet,
    /// The versions that the parity covers, and the current ones.
    old: Vec<Token>,
    new: Vec<Token>,
    /// Units whose old version was kept and is not there.
    blank: UnitSet,
    /// Units of members that do not answer, and others that are not there.
    dead: Vec<u8>,
    absent: Vec<u8>,
    /// None where its member does not answer.
    parity: Option<Token>,
    partial: Token,
}

/// Which of the sums fit, and the unit that was worked out from them.
#[derive(Clone, Copy, Default)]
struct Fit {
    parity: bool,
    partial: bool,
    solved: Option<(u8, Token)>,
}

impl Versions {
    /// Looks at every stripe after a power cut; `partial` says where the memory has its entry of one.
    pub(crate) fn recover(
        &mut self,
        partial: impl Fn(u32) -> Partial,
        view: &View<'_>,
        lacks: &mut dyn FnMut(Member, Page),
    ) {
        let settled = std::mem::take(&mut self.changed);
        let settling = self.stripes.settling.clone();
        // The memory knows which of the units that it covers are known zeros.
        let written = self.stripes.written.clone();
        let lost = view.lost().cloned().unwrap_or_default();
        let mut logged = self.stripes.forget(lost, view);
        for stripe in 0..self.stripes.count() {
            let known = self.stripes.units(&settled, stripe);
            // A partial parity is written together with the units that it covers.
            let under_way = settling.get(&stripe).filter(|settling| settling.puts_off);
            let number = |(memory, slot)| view.oob(memory, slot).map(|oob| oob.sequence);
            let commits = settling.get(&stripe).is_some_and(|settling| settling.renews);
            let under_way = under_way.filter(|settling| {
                partial(stripe).and_then(number).is_some_and(|number| number != settling.partial_before)
            });
            let coming = under_way.map_or(UnitSet::default(), |settling| settling.touched);
            let trimmed = settling.get(&stripe).filter(|settling| settling.trims);
            let trimmed = trimmed.map_or(UnitSet::default(), |settling| settling.touched);
            let there = self.stripes.units(&written, stripe).within(known).without(trimmed);
            let owed = there.with(self.stripes.units(&logged.owed, stripe));
            let known = known.with(coming);
            // If every unit exists, the data suffice. (A unit that does not exist, and is owed to no reader, had
            // not been programmed.)
            let seats = self.stripes.seats(stripe);
            let is_short = (0..self.stripes.data()).any(|index| {
                let member = seats.data(index);
                !view.alive(member) || owed.has(index) && view.oob(member, seats.page()).is_none()
            });
            let never_there = known.without(owed);
            let owed = owed.without(self.stripes.in_caches(stripe, view));
            let entry = partial(stripe);
            let at = entry.filter(|&(memory, slot)| view.oob(memory, slot).is_some());
            // Where the entry could not be worked out, the parity knows only the earlier state.
            if entry.is_some() && at.is_none() && !commits {
                self.lose_unsaid(stripe, known, owed, &mut logged, view);
            }
            let at = at.filter(|_| is_short);
            if !at.is_some_and(|at| self.recover_partial(stripe, [known, owed], at, &mut logged, view, lacks))
            {
                self.let_go(stripe, UnitSet::range(0, self.stripes.data()));
                let zeros = if entry.is_some() { never_there } else { UnitSet::default() };
                self.stripes.recover_stripe(stripe, &logged, zeros, view, lacks);
            }
        }
    }

    /// Units that only a partial parity of no use knows are lost, where they are not to be had.
    fn lose_unsaid(&self, stripe: u32, known: UnitSet, owed: UnitSet, logged: &mut Logged, view: &View<'_>) {
        let seats = self.stripes.seats(stripe);
        let mut lost = known.within(owed);
        let dead = known.iter().filter(|&index| !view.alive(seats.data(index)));
        dead.for_each(|index| lost.add(index));
        Stripes::<Rotated<1>>::mark(&mut logged.lost, self.stripes.number(stripe, 0), lost, true);
    }

    /// Old versions of these units are kept no more.
    fn let_go(&mut self, stripe: u32, units: UnitSet) {
        let seats = self.stripes.seats(stripe);
        units.iter().for_each(|index| {
            self.hidden.release(seats.data(index), self.stripes.number(stripe, index));
        });
    }

    /// A stripe that the memory knows; false where that is of no use.
    fn recover_partial(
        &mut self,
        stripe: u32,
        [known, owed]: [UnitSet; 2],
        at: (Member, Page),
        logged: &mut Logged,
        view: &View<'_>,
        lacks: &mut dyn FnMut(Member, Page),
    ) -> bool {
        let seats = self.stripes.seats(stripe);
        let pair = self.pair(stripe, known, at, view);
        let names = PagesOfStripe { first: self.stripes.number(stripe, 0), view };
        let fits: Vec<Fit> = pair.fits(names).filter(|fit| fit.parity || fit.partial).collect();
        let both = fits.iter().find(|fit| fit.parity && fit.partial);
        let Some(&fit) = both.or(fits.first()) else {
            // What the parity says of those was so before they were written.
            self.lose_unsaid(stripe, known, owed, logged, view);
            return false;
        };
        // Of units of which neither version is there, the parity knows the old one.
        let is_gone = |index: u8| pair.blank.has(index) && pair.absent.contains(&index);
        if !fit.partial && pair.changed.iter().all(is_gone) {
            return false;
        }
        let was_lost = self.stripes.units(&logged.lost, stripe);
        let missing = || pair.dead.iter().chain(&pair.absent).copied();
        if pair.changed.is_empty() || missing().any(|index| was_lost.has(index)) {
            return false;
        }
        let first = self.stripes.number(stripe, 0);
        let mut written = pair.written();
        match fit.solved {
            Some((index, token)) if token != Token::default() => written.add(index),
            _ => {}
        }
        // What no sum says anything of is lost, and no known zero.
        let said = |index: u8| if pair.changed.has(index) { fit.partial } else { fit.parity };
        let absent = pair.absent.iter().copied().filter(|&index| owed.has(index));
        let unsaid = pair.dead.iter().copied().chain(absent).filter(|&index| !said(index));
        unsaid.for_each(|index| written.add(index));
        self.let_go(stripe, UnitSet::range(0, self.stripes.data()).without(pair.changed));
        Stripes::<Rotated<1>>::mark(&mut self.changed, first, pair.changed, true);
        Stripes::<Rotated<1>>::mark(&mut self.stripes.written, first, written, true);
        for &index in pair.absent.iter().filter(|&&index| written.has(index)) {
            lacks(seats.data(index), seats.page());
        }
        for index in pair.blank.iter().filter(|&index| view.alive(seats.data(index))) {
            if let Some(kept) = self.hidden.of(first + u64::from(index)) {
                lacks(seats.data(index), kept);
            }
        }
        if !fit.parity && view.alive(seats.member(Role::P)) {
            lacks(seats.member(Role::P), seats.page());
        }
        if !fit.partial {
            lacks(at.0, at.1);
        }
        true
    }

    fn pair(&self, stripe: u32, candidates: UnitSet, at: (Member, Page), view: &View<'_>) -> Pair {
        let (seats, data) = (self.stripes.seats(stripe), self.stripes.data());
        let nothing = vec![Token::default(); usize::from(data)];
        let oob = |member, page| view.oob(member, page).map(|oob| Token(oob.stamp));
        let parity = seats.member(Role::P);
        let mut pair = Pair {
            changed: UnitSet::default(),
            old: nothing.clone(),
            new: nothing,
            blank: UnitSet::default(),
            dead: Vec::new(),
            absent: Vec::new(),
            parity: view.alive(parity).then(|| oob(parity, seats.page()).unwrap_or_default()),
            partial: oob(at.0, at.1).unwrap_or_default(),
        };
        for index in 0..data {
            let member = seats.data(index);
            let current = oob(member, seats.page());
            let kept = self.hidden.of(self.stripes.number(stripe, index));
            let old = kept.and_then(|page| oob(member, page));
            let place = usize::from(index);
            if !view.alive(member) {
                pair.dead.push(index);
            } else {
                pair.new[place] = current.unwrap_or_default();
                if current.is_none() {
                    pair.absent.push(index);
                }
            }
            // Where neither version is there, the member may have lost both.
            let came = kept.is_none() || old.is_some() || current.is_none();
            if candidates.has(index) && (came || !view.alive(member)) {
                pair.changed.add(index);
                pair.old[place] = old.unwrap_or_default();
                if kept.is_some() && old.is_none() {
                    pair.blank.add(index);
                }
            } else {
                pair.old[place] = pair.new[place];
            }
        }
        pair
    }
}

impl Pair {
    /// Units whose current version is no known zero, of those that are there.
    fn written(&self) -> UnitSet {
        let mut units = UnitSet::default();
        let there = (0..).zip(&self.new).filter(|(_, token)| **token != Token::default());
        there.for_each(|(index, _)| units.add(index));
        units
    }

    /// How the sums fit with the unit that does not answer worked out; if all do, with none or one of the others.
    fn fits(&self, names: PagesOfStripe<'_>) -> impl Iterator<Item = Fit> {
        let unknown: Vec<Option<u8>> = match *self.dead {
            [] => std::iter::once(None).chain(self.absent.iter().copied().map(Some)).collect(),
            [dead] => vec![Some(dead)],
            _ => Vec::new(),
        };
        unknown.into_iter().map(move |unknown| self.fit(unknown, names))
    }

    fn fit(&self, unknown: Option<u8>, names: PagesOfStripe<'_>) -> Fit {
        let zero = Token::default();
        let sum = |from: Token, tokens: &[Token], of: &dyn Fn(u8) -> bool| {
            let chosen = (0..).zip(tokens).filter(|&(index, _)| of(index));
            chosen.fold(from, |sum, (_, &token)| sum.plus(1, token))
        };
        let is_unknown = |index: u8| unknown == Some(index);
        let new = sum(self.partial, &self.new, &|index| self.changed.has(index) && !is_unknown(index));
        let old = self.parity.map(|parity| sum(parity, &self.old, &|index| !is_unknown(index)));
        let sensible = |index: u8, token: Token| names.fits(index, token);
        match unknown {
            Some(index) if self.changed.has(index) => Fit {
                parity: old.is_none_or(|old| {
                    if self.blank.has(index) {
                        sensible(index, old)
                    } else {
                        old.plus(1, self.old[usize::from(index)]) == zero
                    }
                }),
                partial: sensible(index, new),
                solved: Some((index, new)).filter(|_| sensible(index, new)),
            },
            Some(index) => Fit {
                parity: old.is_some_and(|old| sensible(index, old)),
                partial: new == zero,
                solved: old.map(|old| (index, old)).filter(|&(_, old)| sensible(index, old)),
            },
            None => Fit { parity: old.is_none_or(|old| old == zero), partial: new == zero, solved: None },
        }
    }
}
