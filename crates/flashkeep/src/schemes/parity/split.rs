//! Parity on dedicated members, assigned stripe by stripe in turn.

use super::layout::{ParityLayout, RowLayout, Seats};
use crate::engine::{Member, Page};
use crate::kernel::Divisor;
use crate::schemes::SchemeOptions;
use crate::schemes::published::spd_raid4::SplitOptions;

/// The last members have the parity, in turn: each has a page for as many stripes as there are of them.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Split {
    data: u8,
    parities: u8,
    by_parities: Divisor,
}

impl ParityLayout for Split {
    type Seats = Seats;
    const IN_ROWS: bool = false;

    fn new(options: &SchemeOptions<'_>) -> Self {
        let parities = options.redundancy.read::<SplitOptions>().parity_drives as u8;
        let by_parities = Divisor::new(u32::from(parities));
        Split { data: options.members - parities, parities, by_parities }
    }

    fn members(&self) -> u8 {
        self.data + self.parities
    }

    fn data(&self) -> u8 {
        self.data
    }

    #[inline(always)]
    fn parities(&self) -> u8 {
        1
    }

    #[inline]
    fn seats(&self, stripe: u32) -> Seats {
        Seats::of(self, stripe)
    }

    #[inline]
    fn stripe_of(&self, Member(member): Member, page: Page) -> u32 {
        let page = page.low();
        match member.checked_sub(self.data) {
            Some(parity) => page.saturating_mul(u32::from(self.parities)).saturating_add(u32::from(parity)),
            None => page,
        }
    }
}

impl RowLayout for Split {
    #[inline]
    fn parity(&self, stripe: u32) -> u8 {
        self.data + self.by_parities.split(stripe).1 as u8
    }

    #[inline]
    fn parity_page(&self, stripe: u32) -> u32 {
        self.by_parities.split(stripe).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Role;
    use crate::schemes::RedundancySpec;

    #[test]
    fn stripes_and_their_parities() {
        let redundancy = RedundancySpec::of("spd-raid4").with("parity_drives", 3);
        let options = SchemeOptions { members: 7, ..SchemeOptions::of(&redundancy) };
        let layout = Split::new(&options);
        assert_eq!((layout.data(), layout.members()), (4, 7));
        for stripe in 0..50 {
            let seats = Seats::of(&layout, stripe);
            let (parity, page) = (seats.member(Role::P), seats.parity_page());
            assert_eq!((parity.0, page.low()), (4 + (stripe % 3) as u8, stripe / 3));
            assert_eq!((layout.stripe_of(parity, page), seats.role(parity)), (stripe, Role::P));
            for index in 0..4 {
                assert_eq!(
                    (seats.data(index), seats.role(Member(index))),
                    (Member(index), Role::Data(index))
                );
                assert_eq!(layout.stripe_of(Member(index), seats.page()), stripe);
            }
        }
    }
}
