//! Stripes: pages that restore each other.

use crate::ecc::codeword_failure;

/// The pages of a stripe beside any one of them.
///
/// RAID-5 over n units: n − 1 others, all of which are needed; RAID-6: one may fail; m copies: m − 1 others, all but one of
/// which may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// The other pages.
    pub others: u32,
    /// How many of them may fail: the rest still restores the page.
    pub spare: u32,
}

impl Stripe {
    /// How likely it is that a page cannot be restored: more of the others than may fail do. Pages fail independently, each
    /// with probability `page`.
    #[must_use]
    pub fn unrestored(&self, page: f64) -> f64 {
        match self.spare {
            0 => any(page, self.others),
            spare => codeword_failure(self.others, spare, page),
        }
    }

    /// How likely it is that a page is lost: it fails, and cannot be restored. With one parity and k others this is
    /// p·[1 − (1 − p)^k].
    #[must_use]
    pub fn loss(&self, page: f64) -> f64 {
        page * self.unrestored(page)
    }
}

/// How likely it is that at least one of `count` fails, if each does with probability `each`: 1 − (1 − p)^count, exact
/// to the last digits for any p.
#[must_use]
pub fn any(each: f64, count: u32) -> f64 {
    match count {
        0 => 0.0,
        1 => each,
        _ => -libm::expm1(f64::from(count) * libm::log1p(-each)),
    }
}
