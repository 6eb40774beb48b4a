//! The widest stripe for a given wear, from the probability of losing it, which follows from the bit error
//! rate of its pages.
//!
//! With an error model in the drive that probability is the model's, for data as old as `errors.uber_days`. Otherwise the
//! scheme's own options say it:
//!
//! A block erased c times has a raw bit error rate r = a·(b/a)^(c/k): a when it is new, b after k erases. The
//! code of 512 bytes corrects t bits of its n. A page of w such words is unreadable with probability q = 1 −
//! (1 − P)^w, where P = Σ C(n, i)·rⁱ·(1 − r)^(n − i) over i > t. A stripe is lost when two or more of its
//! units are unreadable. This becomes a table of erase counts when the drive is set up.

use crate::engine::{Member, View};
use crate::flash::ErrorModel;
use crate::schemes::lifespan::LifespanOptions;
use libm::{exp, expm1, log, log1p};

/// What a code word holds.
const WORD_BYTES: u64 = 512;

/// Check bits for each bit that the code corrects (BCH over GF(2¹³)).
const CHECK_BITS: u32 = 13;

/// The widths that stripes may have: up to how many erases each.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::schemes) struct Widths {
    /// Widest first.
    upto: Vec<(u8, u32)>,
    /// From there on.
    narrowest: u8,
}

impl Widths {
    /// As wide as there are members, always.
    pub(in crate::schemes) fn all(members: u8) -> Self {
        Widths { upto: Vec::new(), narrowest: members }
    }

    /// The widest that keep the chance of losing a stripe below the tolerated one, and never below the narrowest.
    pub(in crate::schemes) fn by_wear(members: u8, reliability: &Reliability<'_>) -> Self {
        let narrowest = u8::try_from(reliability.narrowest).unwrap_or(members).clamp(2, members);
        let widths = (narrowest + 1..=members).rev();
        let upto = widths.filter_map(|width| Some((width, reliability.last_erase(width.into())?)));
        Widths { upto: upto.collect(), narrowest }
    }

    pub(super) fn narrowest(&self) -> u8 {
        self.narrowest
    }

    /// The width of stripes in a superblock that has been erased so often.
    pub(in crate::schemes) fn after(&self, erases: u32) -> u8 {
        let found = self.upto.iter().find(|&&(_, upto)| erases <= upto);
        found.map_or(self.narrowest, |&(width, _)| width)
    }
}

/// What the chance of losing a stripe follows from.
#[derive(Clone, Copy, Debug)]
pub(in crate::schemes) struct Reliability<'a> {
    pages: PageLoss<'a>,
    tolerated: f64,
    narrowest: u32,
}

/// What the chance of an unreadable page follows from.
#[derive(Clone, Copy, Debug)]
enum PageLoss<'a> {
    /// The drive's error model, for pages of this size in blocks that had this number of cycles before time 0.
    Model { errors: &'a ErrorModel, bytes: u64, before: f64 },
    /// The options of the scheme.
    Anchors(Anchors),
}

/// A bit error rate that rises exponentially.
#[derive(Clone, Copy, Debug)]
struct Anchors {
    /// Bits of a code word, and how many of them it corrects.
    bits: u32,
    corrects: u32,
    /// Code words of a page.
    words: f64,
    /// The logarithm of a new block's bit error rate, and what an erase adds to it.
    new: f64,
    erase: f64,
}

impl Anchors {
    fn new(options: &LifespanOptions, page_bytes: u64) -> Self {
        let new = log(options.rber_new);
        Anchors {
            bits: WORD_BYTES as u32 * 8 + CHECK_BITS * options.ecc_bits,
            corrects: options.ecc_bits,
            words: page_bytes.div_ceil(WORD_BYTES) as f64,
            new,
            erase: (log(options.rber_worn) - new) / f64::from(options.rber_cycles),
        }
    }

    fn page_loss(&self, erases: u32) -> f64 {
        let bit = exp(self.new + self.erase * f64::from(erases)).min(0.5);
        page_loss(tail(self.bits, self.corrects, bit), self.words)
    }
}

impl<'a> Reliability<'a> {
    /// Pages of `page_bytes` in flash with these errors, if there is a model of them; its blocks had `before` P/E cycles when
    /// erases began to count.
    pub(in crate::schemes) fn new(
        options: &LifespanOptions,
        page_bytes: u64,
        errors: Option<&'a ErrorModel>,
        before: f64,
    ) -> Self {
        let pages = match errors {
            Some(errors) => PageLoss::Model { errors, bytes: page_bytes, before },
            None => PageLoss::Anchors(Anchors::new(options, page_bytes)),
        };
        Reliability { pages, tolerated: options.stripe_loss, narrowest: options.narrowest }
    }

    /// The chance that a stripe of `units` is lost after `erases`.
    fn stripe_loss(&self, width: u32, erases: u32) -> f64 {
        let page = match self.pages {
            PageLoss::Model { errors, bytes, before } => {
                errors.old_page_failure(bytes, before + f64::from(erases))
            }
            PageLoss::Anchors(anchors) => anchors.page_loss(erases),
        };
        tail(width, 1, page)
    }

    /// The last erase after which stripes of that width are safe enough.
    fn last_erase(&self, width: u32) -> Option<u32> {
        let safe = |erases| self.stripe_loss(width, erases) <= self.tolerated;
        if !safe(0) {
            return None;
        }
        // Safe at the lower end, not safe beyond the upper one.
        let (mut low, mut high) = (0, u32::MAX);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if safe(middle) { low = middle } else { high = middle - 1 }
        }
        Some(low)
    }
}

/// The chance that one of a page's words cannot be corrected.
fn page_loss(word: f64, words: f64) -> f64 {
    if word < 1.0 { -expm1(words * log1p(-word)) } else { 1.0 }
}

/// The chance that more than `most` of `n` happen, each of which does with probability `p`.
fn tail(n: u32, most: u32, p: f64) -> f64 {
    if p <= 0.0 || most >= n {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let [n, first] = [n, most + 1].map(f64::from);
    // C(n, first), then the first term; each that follows is the one before times a ratio.
    let chosen: f64 = (0..=most).map(f64::from).map(|i| log((n - i) / (i + 1.0))).sum();
    let term = chosen + first * log(p) + (n - first) * log1p(-p);
    let odds = p / (1.0 - p);
    let (mut sum, mut ratio, mut i) = (1.0_f64, 1.0_f64, first);
    while i < n && ratio > sum * 1e-18 {
        ratio *= odds * (n - i) / (i + 1.0);
        sum += ratio;
        i += 1.0;
    }
    if sum.is_finite() { exp(term + log(sum)).min(1.0) } else { 1.0 }
}

/// How often a block of each member has been erased on average; empty where superblocks wear, and not members.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct MemberWear(Vec<u32>);

impl MemberWear {
    pub(super) fn new(members: u8) -> MemberWear {
        MemberWear(vec![0; members.into()])
    }

    /// Looks how worn each member is.
    #[inline]
    pub(super) fn note(&mut self, view: &View<'_>) {
        for (member, worn) in (0..).zip(&mut self.0) {
            *worn = view.mean_erases(Member(member));
        }
    }

    /// How wide a stripe over some members may be: as the most worn of them allows; none if members do not wear.
    pub(super) fn widest(&self, members: impl Iterator<Item = u8>, widths: &Widths) -> Option<u8> {
        let worn = members.filter_map(|member| self.0.get(usize::from(member)));
        worn.map(|&worn| widths.after(worn)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, share: f64) {
        assert!((found - expected).abs() <= expected * share, "{found:e} instead of {expected:e}");
    }

    #[test]
    fn code_words_fail_as_published() {
        // Bits corrected, bits in all, and the chances at bit error rates of 1e-6 to 1e-3.
        let rates = [1e-6, 1e-5, 1e-4, 5e-4, 1e-3];
        for (corrects, bits, chances) in [
            (4, 4148, [1.0e-14, 9.9e-10, 7.2e-5, 6.0e-2, 4.0e-1]),
            (8, 4200, [1.1e-27, 1.1e-18, 7.6e-10, 3.4e-4, 2.8e-2]),
            (12, 4252, [2.3e-41, 2.3e-28, 1.6e-15, 4.0e-7, 4.8e-4]),
            (15, 4291, [6.1e-52, 5.9e-36, 4.1e-20, 1.3e-9, 1.1e-5]),
        ] {
            for (rate, chance) in rates.into_iter().zip(chances) {
                close(tail(bits, corrects, rate), chance, 0.05);
            }
        }
        close(tail(4291, 15, 3.4e-4), 5.0e-12, 0.02);
    }

    #[test]
    fn stripes_are_lost_when_two_units_are() {
        close(tail(8, 1, 1e-4), 2.8e-7, 0.001);
        close(tail(2, 1, 1e-4), 1e-8, 1e-9);
        // Where nothing cancels, the formula itself.
        let (n, q) = (5, 0.3_f64);
        let formula = 1.0 - (1.0 - q).powi(n) - f64::from(n) * q * (1.0 - q).powi(n - 1);
        close(tail(5, 1, 0.3), formula, 1e-12);
        close(page_loss(1e-20, 8.0), 8e-20, 1e-12);
        assert_eq!((tail(5, 1, 0.0), tail(5, 1, 1.0), page_loss(1.0, 8.0)), (0.0, 1.0, 1.0));
        assert_eq!(tail(4148, 4, 0.5), 1.0);
    }

    fn anchors() -> Anchors {
        let new = log(1e-6);
        Anchors { bits: 4148, corrects: 4, words: 8.0, new, erase: (log(1e-4) - new) / 5000.0 }
    }

    fn reliability(tolerated: f64) -> Reliability<'static> {
        Reliability { pages: PageLoss::Anchors(anchors()), tolerated, narrowest: 3 }
    }

    #[test]
    fn the_bit_error_rate_goes_through_both_anchors() {
        let r = anchors();
        close(exp(r.new), 1e-6, 1e-12);
        close(exp(r.new + r.erase * 5000.0), 1e-4, 1e-12);
        close(r.erase, 9.21e-4, 1e-3);
    }

    #[test]
    fn widths_shrink_with_wear() {
        let r = reliability(1e-9);
        let widths = Widths::by_wear(8, &r);
        assert_eq!(widths.after(0), 8);
        for pair in widths.upto.windows(2) {
            assert!(pair[0].0 > pair[1].0 && pair[0].1 < pair[1].1, "narrower ones last longer");
        }
        // On both sides of every threshold the width is the largest that is safe.
        for &(width, upto) in &widths.upto {
            assert!(
                r.stripe_loss(width.into(), upto) <= 1e-9 && r.stripe_loss(width.into(), upto + 1) > 1e-9
            );
            assert_eq!((widths.after(upto), widths.after(upto + 1)), (width, width - 1));
        }
        assert_eq!((widths.after(u32::MAX), widths.narrowest()), (3, 3));
        // A width that is never safe has no threshold, and one that always is has no end.
        assert_eq!(Widths::by_wear(8, &reliability(1e-300)).after(0), 3);
        assert_eq!(Widths::by_wear(8, &reliability(1.0)).after(u32::MAX), 8);
        assert_eq!(Widths::all(5).after(7), 5);
    }
}
