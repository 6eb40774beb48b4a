//! The layout of a stripe's units on members.

use crate::engine::{Code, Key, Member, Page, Role};
use crate::kernel::Divisor;
use crate::schemes::SchemeOptions;
use std::fmt::Debug;
use std::ops::Range;

/// The layout of stripes: which members have the parities. Stripe `s` consists of page `s` of every member with data of
/// it; data units are numbered upwards over the members and skip the parities.
pub trait ParityLayout: Clone + Debug + Send + 'static {
    /// The places of a stripe's units.
    type Seats: StripeSeats;

    /// Whether some parities do not cover all data units of a stripe.
    const HAS_GROUPS: bool = false;

    /// Data units do not skip the parity: the one whose place it takes is on the last member.
    const SWAPS: bool = false;

    /// Stripe `n` has page `n` of every member.
    const IN_ROWS: bool = true;

    /// The layout over the given members.
    fn new(options: &SchemeOptions<'_>) -> Self;

    /// The number of members.
    fn members(&self) -> u8;

    /// The number of parities in a stripe.
    fn parities(&self) -> u8;

    /// The code of a stripe.
    fn code(&self) -> Code {
        Code::mds(self.parities())
    }

    /// Data units of a stripe.
    #[inline]
    fn data(&self) -> u8 {
        self.members() - self.parities()
    }

    /// The number of stripes over members of this many pages.
    fn count(&self, member_pages: u32) -> u32 {
        member_pages
    }

    /// The places of the units of a stripe.
    fn seats(&self, stripe: u32) -> Self::Seats;

    /// After how many stripes of a run the places of units repeat, where stripe `n` has page `n` of each member.
    fn period(&self, stripes: Range<u64>) -> Option<u32> {
        let _ = stripes;
        None
    }

    /// The stripe that a member's page belongs to.
    #[inline]
    fn stripe_of(&self, member: Member, page: Page) -> u32 {
        let _ = member;
        page.low()
    }
}

/// The places of the units of one stripe.
pub trait StripeSeats: Copy + Debug {
    /// The stripe.
    fn stripe(self) -> u32;

    /// The member and page of a unit.
    fn at(self, role: Role) -> (Member, Page);

    /// The unit of a member; none if it has none of the stripe.
    fn role_of(self, member: Member) -> Option<Role>;

    /// The roles of the parities.
    fn parity_roles(self) -> &'static [Role];

    /// The key of the stripe's lock.
    #[inline]
    fn lock(self) -> Key {
        Key(u64::from(self.stripe()))
    }
}

/// Layouts whose parities are on consecutive members, at one page.
pub(crate) trait RowLayout: ParityLayout {
    /// The member that has the first parity of a stripe.
    fn parity(&self, stripe: u32) -> u8;

    /// The parity's page on that member.
    #[inline]
    fn parity_page(&self, stripe: u32) -> u32 {
        stripe
    }
}

/// Parity moves one member to the left from unit to unit, beginning with the last one.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Rotated<const PARITIES: u8> {
    members: u8,
    by_members: Divisor,
    /// None where a unit is a page.
    by_unit: Option<Divisor>,
}

impl<const PARITIES: u8> Rotated<PARITIES> {
    /// Over `members`, each of which has this many pages of consecutive stripes before parities move on.
    pub(super) fn over(members: u8, unit_pages: u32) -> Self {
        let by_unit = (unit_pages > 1).then(|| Divisor::new(unit_pages));
        Rotated { members, by_members: Divisor::new(u32::from(members)), by_unit }
    }
}

impl<const PARITIES: u8> ParityLayout for Rotated<PARITIES> {
    type Seats = Seats;

    fn new(options: &SchemeOptions<'_>) -> Self {
        Rotated::over(options.members, options.unit_pages)
    }

    fn members(&self) -> u8 {
        self.members
    }

    #[inline(always)]
    fn parities(&self) -> u8 {
        PARITIES
    }

    fn period(&self, _: Range<u64>) -> Option<u32> {
        u32::from(self.members).checked_mul(self.by_unit.map_or(1, Divisor::by))
    }

    #[inline]
    fn seats(&self, stripe: u32) -> Seats {
        Seats::of(self, stripe)
    }
}

impl<const PARITIES: u8> RowLayout for Rotated<PARITIES> {
    #[inline]
    fn parity(&self, stripe: u32) -> u8 {
        let row = self.by_unit.map_or(stripe, |by| by.split(stripe).0);
        self.members - 1 - self.by_members.split(row).1 as u8
    }
}

/// The last member has all parity.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Fixed {
    members: u8,
}

impl ParityLayout for Fixed {
    type Seats = Seats;

    fn new(options: &SchemeOptions<'_>) -> Self {
        Fixed { members: options.members }
    }

    fn members(&self) -> u8 {
        self.members
    }

    #[inline(always)]
    fn parities(&self) -> u8 {
        1
    }

    fn period(&self, _: Range<u64>) -> Option<u32> {
        Some(1)
    }

    #[inline]
    fn seats(&self, stripe: u32) -> Seats {
        Seats::of(self, stripe)
    }
}

impl RowLayout for Fixed {
    fn parity(&self, _: u32) -> u8 {
        self.members - 1
    }
}

/// The roles of all parities that a stripe can have.
pub(super) static PARITIES: [Role; Code::MOST] = {
    let (mut roles, mut number) = ([Role::P; Code::MOST], 0);
    while number < Code::MOST {
        roles[number] = Role::Parity(number as u8);
        number += 1;
    }
    roles
};

/// The places of the units of one stripe.
#[derive(Clone, Copy, Debug)]
pub struct Seats {
    pub(crate) stripe: u32,
    members: u8,
    parities: u8,
    /// The member with the first parity.
    parity: u8,
    parity_page: Page,
    /// The data unit whose place the parity takes is on the last member.
    swaps: bool,
}

impl Seats {
    #[inline]
    pub(crate) fn of<L: RowLayout>(layout: &L, stripe: u32) -> Self {
        Seats {
            stripe,
            members: layout.members(),
            parities: layout.parities(),
            parity: layout.parity(stripe),
            parity_page: Page::of(layout.parity_page(stripe)),
            swaps: L::SWAPS,
        }
    }

    /// The page that each member has of the stripe's data.
    pub(crate) fn page(self) -> Page {
        Page::of(self.stripe)
    }

    /// The page that the members with the parities have of the stripe.
    #[inline]
    pub(crate) fn parity_page(self) -> Page {
        self.parity_page
    }

    /// The key of the stripe's lock.
    pub(crate) fn key(self) -> Key {
        Key(u64::from(self.stripe))
    }

    /// The number of parities at the front, because those before them reach the last member.
    #[inline]
    fn wrapped(self) -> u8 {
        if self.parities == 1 { 0 } else { self.parities.saturating_sub(self.members - self.parity) }
    }

    /// The member of a data unit.
    #[inline]
    pub(crate) fn data(self, index: u8) -> Member {
        if self.swaps {
            return Member(if index == self.parity { self.members - 1 } else { index });
        }
        let wrapped = self.wrapped();
        let skipped = if wrapped == 0 && index >= self.parity { self.parities } else { wrapped };
        Member(index + skipped)
    }

    /// The member of a unit.
    #[inline]
    pub(crate) fn member(self, role: Role) -> Member {
        match role {
            Role::Data(index) => self.data(index),
            Role::Parity(number) => {
                let behind = self.members - self.parity;
                Member(if number < behind { self.parity + number } else { number - behind })
            }
            _ => Member(self.parity),
        }
    }

    /// The unit of a member.
    pub(crate) fn role(self, member: Member) -> Role {
        let Member(m) = member;
        let number = if m >= self.parity { m - self.parity } else { m + (self.members - self.parity) };
        if number < self.parities {
            Role::Parity(number)
        } else if self.swaps {
            Role::Data(if m == self.members - 1 { self.parity } else { m })
        } else if m < self.parity {
            Role::Data(m - self.wrapped())
        } else {
            Role::Data(m - self.parities)
        }
    }

    /// The roles of the parities.
    pub(crate) fn parities(self) -> &'static [Role] {
        &PARITIES[..usize::from(self.parities)]
    }
}

impl StripeSeats for Seats {
    #[inline]
    fn stripe(self) -> u32 {
        self.stripe
    }

    #[inline]
    fn at(self, role: Role) -> (Member, Page) {
        match role {
            Role::Data(index) => (self.data(index), self.page()),
            _ => (self.member(role), self.parity_page()),
        }
    }

    fn role_of(self, member: Member) -> Option<Role> {
        Some(self.role(member))
    }

    #[inline]
    fn parity_roles(self) -> &'static [Role] {
        self.parities()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Weighted;
    use super::*;
    use crate::schemes::RedundancySpec;

    /// Every member has one unit of every stripe, and both ways to look that up agree.
    fn seats_are_right<L: RowLayout>(layout: &L, in_order: bool) {
        let members = layout.members();
        for stripe in 0..3 * u32::from(members) {
            let seats = Seats::of(layout, stripe);
            let data = (0..layout.data()).map(Role::Data);
            let mut taken = vec![false; usize::from(members)];
            let mut last = None;
            for role in data {
                let member = seats.member(role);
                assert_eq!((member, seats.role(member)), (seats.data(data_index(role)), role));
                assert!(last.replace(member) < Some(member) || !in_order, "data units count upwards");
                assert!(!std::mem::replace(&mut taken[usize::from(member.0)], true));
            }
            for &role in seats.parities() {
                let member = seats.member(role);
                assert_eq!(seats.role(member), role);
                assert!(!std::mem::replace(&mut taken[usize::from(member.0)], true));
            }
        }
    }

    fn data_index(role: Role) -> u8 {
        match role {
            Role::Data(index) => index,
            _ => panic!("a data unit"),
        }
    }

    #[test]
    fn every_member_has_one_unit() {
        for members in 3..20 {
            seats_are_right(&Rotated::<1>::over(members, 1), true);
            seats_are_right(&Fixed { members }, true);
            let redundancy = RedundancySpec::default();
            let options = SchemeOptions { members, ..SchemeOptions::of(&redundancy) };
            seats_are_right(&Weighted::new(&options), false);
        }
        for members in (4..20).chain([255]) {
            seats_are_right(&Rotated::<2>::over(members, 1), true);
            seats_are_right(&Rotated::<3>::over(members + u8::from(members < 255), 1), true);
        }
    }

    #[test]
    fn parity_is_rotated_to_the_left() {
        // The paper's two examples with five chips: page 3 has its parity on chip 1, page 60 on chip 4.
        let parity = |stripe| Rotated::<1>::over(5, 1).parity(stripe);
        assert_eq!((parity(3), parity(60)), (1, 4));
        // With units of four pages it stays for four stripes.
        let units = |stripe| Rotated::<1>::over(5, 4).parity(stripe);
        assert_eq!([3, 4, 7, 8, 19, 20].map(units), [4, 3, 3, 2, 0, 4]);
        let seats = Seats::of(&Rotated::<2>::over(6, 1), 0);
        assert_eq!(
            (seats.member(Role::P), seats.member(Role::Q), seats.data(0)),
            (Member(5), Member(0), Member(1))
        );
    }
}
