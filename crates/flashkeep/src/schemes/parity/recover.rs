//! Recovery of a stripe after a power loss: whether its parity matches its data.
//!
//! A parity also covers the OOB areas of its stripe, so that the OOB areas alone show whether it matches:
//! their sum equals the parity's. If a unit is unavailable, its OOB area is reconstructed, and must be that
//! of the expected page or of a known zero. A parity that does not match is marked as missing and rewritten
//! from the data, like one lost by a failure; this closes the write hole. If a unit is missing at the same
//! time, that unit's page is lost: its stripe was being written when the power failed.

use super::layout::{ParityLayout, StripeSeats};
use super::stripes::Stripes;
use super::surviving::SurvivingUnits;
use super::units::UnitSet;
use crate::engine::{Code, Contents, Member, OobData, Page, Role, Token, View, gf};
use crate::kernel::Bits;

/// The names of a stripe's pages.
#[derive(Clone, Copy)]
pub(super) struct PagesOfStripe<'a> {
    /// The first data page.
    pub(super) first: u64,
    pub(super) view: &'a View<'a>,
}

impl PagesOfStripe<'_> {
    /// Whether a token is that of the data page that belongs there, or a known zero.
    pub(super) fn fits(self, index: u8, token: Token) -> bool {
        token == Token::default() || self.view.version(Page(self.first + u64::from(index)), token.0).is_some()
    }
}

/// The log of data pages: which were lost, when that was found, and which must exist once something has
/// failed. A page that is missing then has not been given back to its member: it is logged when
/// its program is over, and a torn program leaves the version before.
pub(crate) struct Logged {
    pub(crate) lost: Bits,
    pub(crate) owed: Bits,
}

impl<L: ParityLayout> Stripes<L> {
    /// Only the layout and the log are still known.
    pub(crate) fn forget(&mut self, lost: Bits, view: &View<'_>) -> Logged {
        let mut owed = std::mem::take(&mut self.written);
        if view.is_healthy() {
            owed = Bits::default();
        }
        let trims = std::mem::take(&mut self.settling);
        #[allow(clippy::iter_over_hash_type)] // The order does not matter.
        for (stripe, settling) in trims.into_iter().filter(|(_, settling)| settling.trims) {
            Self::mark(&mut owed, self.number(stripe, 0), settling.touched, false);
        }
        Logged { lost, owed }
    }

    /// Looks at every stripe of which anything may be on the media, `lost` being the pages known to be lost. Tells what members lack.
    pub(crate) fn recover(&mut self, lost: Bits, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        let stripes = self.ever_touched();
        let logged = self.forget(lost, view);
        let none = UnitSet::default();
        stripes.into_iter().for_each(|stripe| self.recover_stripe(stripe, &logged, none, view, lacks));
    }

    /// Looks at a stripe with one version of everything. What a parity says of a page that was lost before is older
    /// than that, and of `zeros`, if they are not there, it has nothing to say.
    pub(crate) fn recover_stripe(
        &mut self,
        stripe: u32,
        logged: &Logged,
        zeros: UnitSet,
        view: &View<'_>,
        lacks: &mut dyn FnMut(Member, Page),
    ) {
        let (owed, lost) = (self.units(&logged.owed, stripe), self.units(&logged.lost, stripe));
        let placed = self.placed(stripe);
        let written = placed.recover(RecoveredUnits { owed, lost, zeros }, view, lacks);
        Self::mark(&mut self.written, placed.first, written, true);
    }

    /// Where the units of a stripe are.
    fn placed(&self, stripe: u32) -> PlacedStripe {
        let seats = self.seats(stripe);
        PlacedStripe {
            first: self.number(stripe, 0),
            code: self.layout.code(),
            data: (0..self.data()).map(|index| seats.at(Role::Data(index))).collect(),
            parities: seats.parity_roles().iter().map(|&role| (role, seats.at(role))).collect(),
        }
    }

    /// How badly a stripe's units fit together where they are now: how many data units are lost, whether no parity fits, and
    /// how many units are not there.
    pub(super) fn misfit(&self, stripe: u32, view: &View<'_>) -> (usize, bool, usize) {
        let placed = self.placed(stripe);
        let names = PagesOfStripe { first: placed.first, view };
        let lost = view.lost().map_or(UnitSet::default(), |lost| self.units(lost, stripe));
        let remains = placed.remains(names);
        let found = remains.settle(lost, self.written(stripe), names);
        (found.lost.len(), found.parities.is_empty(), remains.absent.len())
    }

    /// Data units that are missing on members with write caches: they may never have left these.
    pub(super) fn in_caches(&self, stripe: u32, view: &View<'_>) -> UnitSet {
        self.placed(stripe).in_caches(view)
    }

    /// What a data page says of itself: where it is lacking, what the rest of its stripe says of it.
    pub(crate) fn oob_of(&self, page: Page, view: &View<'_>) -> Option<OobData> {
        let (stripe, index) = self.split(page);
        self.placed(stripe).oob_of(index, view)
    }
}

/// The state of a stripe's data units before its spare areas are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecoveredUnits {
    /// Those that there ought to be ([`Logged`]).
    pub(crate) owed: UnitSet,
    /// Those that were lost before.
    pub(crate) lost: UnitSet,
    /// Those of which no parity knows anything.
    pub(crate) zeros: UnitSet,
}

/// The places of a stripe's units, one version of each.
#[derive(Clone, Debug)]
pub(crate) struct PlacedStripe {
    /// The first data page.
    pub(crate) first: u64,
    pub(crate) code: Code,
    /// The data units in order.
    pub(crate) data: Vec<(Member, Page)>,
    /// The parities.
    pub(crate) parities: Vec<(Role, (Member, Page))>,
}

impl PlacedStripe {
    /// Finds out which data units are no known zeros, and tells what members lack.
    pub(crate) fn recover(
        &self,
        units: RecoveredUnits,
        view: &View<'_>,
        lacks: &mut dyn FnMut(Member, Page),
    ) -> UnitSet {
        let names = PagesOfStripe { first: self.first, view };
        let mut remains = self.remains(names);
        remains.absent.retain(|&index| !units.zeros.has(index));
        let owed = units.owed.without(self.in_caches(view));
        let found = remains.settle(units.lost, owed, names);
        let written = found.written(&remains);
        // A page in the place of a known zero must not be found again, either.
        let is_lacking = |index: &u8| written.has(*index) || remains.misplaced.has(*index);
        for index in remains.absent.iter().copied().filter(is_lacking) {
            let (member, page) = self.data[usize::from(index)];
            lacks(member, page);
        }
        // A parity that exists must not be found again, even where no unit exists.
        let is_there = |role: Role| remains.parities.iter().any(|&(other, _)| other == role);
        let is_owed = |role: Role| written.has_part_of(role, self.code) || is_there(role);
        let unfit = |role: Role| is_owed(role) && !found.parities.contains(&role);
        for &(_, (member, page)) in self.parities.iter().filter(|&&(role, _)| unfit(role)) {
            if view.alive(member) {
                lacks(member, page);
            }
        }
        written
    }

    /// Data units that are missing on members with write caches: they may never have left these.
    pub(crate) fn in_caches(&self, view: &View<'_>) -> UnitSet {
        let mut units = UnitSet::default();
        for (index, &(member, page)) in (0..).zip(&self.data) {
            if view.is_cached(member) && view.alive(member) && view.oob(member, page).is_none() {
                units.add(index);
            }
        }
        units
    }

    /// What a data page says of itself: where it is lacking, what the rest of its stripe says of it.
    fn oob_of(&self, index: u8, view: &View<'_>) -> Option<OobData> {
        let data = |other: u8| self.data[usize::from(other)];
        let has = |(member, page): (Member, Page)| view.has(member, page);
        if has(data(index)) {
            let (member, page) = data(index);
            return view.oob(member, page);
        }
        let code = self.code;
        let others_of = move |number: u8| {
            (0..self.data.len() as u8).filter(move |&other| other != index && code.covers(number, other))
        };
        let says = |number: u8| code.covers(number, index) && others_of(number).all(|other| has(data(other)));
        let found = self.parities.iter().find_map(|&(role, place)| {
            role.parity().filter(|&number| has(place) && says(number)).map(|number| (number, place))
        });
        let (number, (member, page)) = found?;
        let token = |(member, page)| view.oob(member, page).map_or(Token::default(), |oob| Token(oob.stamp));
        let parity = view.oob(member, page)?;
        let rest = others_of(number).fold(Token(parity.stamp), |sum, other| {
            sum.plus(code.coefficient(number, other), token(data(other)))
        });
        let Token(stamp) = scaled(gf::inverse(code.coefficient(number, index)), rest);
        (stamp != 0).then_some(OobData { stamp, ..parity })
    }

    fn remains(&self, names: PagesOfStripe<'_>) -> SurvivingUnits {
        let view = names.view;
        let mut remains = SurvivingUnits {
            code: self.code,
            data: vec![Token::default(); self.data.len()],
            dead: Vec::new(),
            absent: Vec::new(),
            misplaced: UnitSet::default(),
            parities: Vec::new(),
        };
        for (index, &(member, page)) in (0..).zip(&self.data) {
            match view.oob(member, page) {
                Some(oob) if !names.fits(index, Token(oob.stamp)) => {
                    remains.absent.push(index);
                    remains.misplaced.add(index);
                }
                Some(oob) => remains.data[usize::from(index)] = Token(oob.stamp),
                None if view.alive(member) => remains.absent.push(index),
                None => remains.dead.push(index),
            }
        }
        for &(role, (member, page)) in &self.parities {
            if let Some(oob) = view.oob(member, page) {
                remains.parities.push((role, Token(oob.stamp)));
            }
        }
        remains
    }
}

fn scaled(factor: u8, token: Token) -> Token {
    Token::default().plus(factor, token)
}
