//! The spread of program times over word lines (`flash.timing.program_sigma`). A program repeats pulses until all cells
//! of its word line have their voltage; how many it takes depends on the layer and on the word line.

use super::{Geometry, Ppn};
use crate::kernel::Span;
use flashkeep_errors::draw::Stream;

/// The number of different factors: enough for the 99.9th percentile.
const FACTORS: usize = 1 << 14;

/// A factor is a multiple of 2⁻²⁰.
const ONE: u32 = 20;

/// A factor on the program time of each word line. They do not depend on a run's seed: they are properties of the flash.
#[derive(Clone, Debug)]
pub(super) struct ProgramSpread {
    factors: Vec<u64>,
    /// Pages that are programmed together.
    word_line: u32,
}

impl ProgramSpread {
    /// Log-normal factors of mean 1, `sigma` being the standard deviation of their logarithms; none if that is 0.
    pub(super) fn new(sigma: f64, word_line: u32) -> Option<ProgramSpread> {
        if sigma == 0.0 {
            return None;
        }
        let mut normal = Stream::new(0, "program times", 0);
        let drawn: Vec<f64> = (0..FACTORS).map(|_| libm::exp(sigma * normal.normal())).collect();
        let mean = drawn.iter().sum::<f64>() / FACTORS as f64;
        let whole = |factor: f64| (factor / mean * f64::from(1 << ONE)).round() as u64;
        Some(ProgramSpread { factors: drawn.into_iter().map(whole).collect(), word_line })
    }

    /// What the program of a page takes, in whole ns, that takes `time` on the average.
    pub(super) fn of(&self, geometry: &Geometry, ppn: Ppn, time: Span) -> Span {
        let word_line = u64::from(geometry.page_of(ppn) / self.word_line);
        let key = (geometry.block_index_of(ppn) as u64) << 32 | word_line;
        // Fibonacci hashing: neighbours get different factors.
        let at = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - FACTORS.ilog2());
        Span(((u128::from(time.0) * u128::from(self.factors[at as usize])) >> ONE) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::FlashSpec;

    /// The factors of all word lines of a drive with the default geometry, sorted.
    fn factors(sigma: f64, word_line: u32) -> Vec<f64> {
        let geometry = Geometry::new(&FlashSpec::default());
        let spread = ProgramSpread::new(sigma, word_line).expect("a spread");
        let blocks = (0..64).map(|block| geometry.ppn(crate::flash::PlaneId(0), block, 0));
        let pages = blocks.flat_map(|first| (0..geometry.pages).map(move |page| Ppn(first.0 + page)));
        let mut factors: Vec<f64> =
            pages.map(|ppn| spread.of(&geometry, ppn, Span(1_000_000)).0 as f64 / 1e6).collect();
        factors.sort_by(f64::total_cmp);
        factors
    }

    #[test]
    fn factors_are_log_normal_with_mean_1() {
        let sigma: f64 = 0.2;
        let factors = factors(sigma, 1);
        let mean = factors.iter().sum::<f64>() / factors.len() as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        for (quantile, z) in [(0.5, 0.0), (0.9, 1.2816), (0.99, 2.3263)] {
            let found = factors[(factors.len() as f64 * quantile) as usize];
            let expected = (sigma * z - sigma * sigma / 2.0).exp();
            assert!((found / expected - 1.0).abs() < 0.03, "{quantile}: {found}, expected {expected}");
        }
    }

    #[test]
    fn pages_of_a_word_line_take_the_same_time() {
        let geometry = Geometry::new(&FlashSpec::default());
        let spread = ProgramSpread::new(0.3, 3).expect("a spread");
        let time =
            |page| spread.of(&geometry, geometry.ppn(crate::flash::PlaneId(0), 5, page), Span(300_000));
        assert_eq!((time(3), time(4)), (time(5), time(5)));
        assert_ne!(time(2), time(3));
    }

    #[test]
    fn without_a_spread_nothing_is_drawn() {
        assert!(ProgramSpread::new(0.0, 1).is_none());
    }
}
