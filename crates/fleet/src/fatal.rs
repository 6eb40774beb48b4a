//! Codes that survive some patterns of more failures than they survive for certain: local parities, chains of copies.

use crate::{Invalid, within};

/// The largest number of missing drives whose patterns are distinguished.
pub const MOST: usize = 24;

/// For each number of missing drives the share of their patterns that lose data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fatal {
    shares: [f64; MOST + 1],
    /// The largest number of drives that may be missing.
    tolerance: u32,
}

impl Fatal {
    /// The shares of 0, 1, … missing drives. More than are listed lose data.
    pub fn new(shares: &[f64]) -> Result<Fatal, Invalid> {
        let mut all = [1.0; MOST + 1];
        let mut before = 0.0;
        for (to, share) in all.iter_mut().zip(shares) {
            *to = within("fatal", *share, before, 1.0)?;
            before = *share;
        }
        if all[0] > 0.0 {
            return Err(Invalid::new("fatal", "no missing drive loses no data: the first share is 0"));
        }
        let tolerance = all.iter().rposition(|share| *share < 1.0).unwrap_or(0) as u32;
        Ok(Fatal { shares: all, tolerance })
    }

    /// The largest number of drives that may be missing.
    #[must_use]
    pub fn tolerance(&self) -> u32 {
        self.tolerance
    }

    /// The largest number of drives that may be missing, whichever they are.
    #[must_use]
    pub fn certain(&self) -> u32 {
        self.shares.iter().take_while(|share| **share == 0.0).count() as u32 - 1
    }

    /// The probability that the last of `missing` failures loses data, if those before it did not.
    #[must_use]
    pub fn next(&self, missing: u32) -> f64 {
        if missing > self.tolerance {
            return 1.0;
        }
        let at = missing as usize;
        if at == 0 {
            return 0.0;
        }
        let before = self.shares[at - 1];
        (self.shares[at] - before) / (1.0 - before)
    }
}

/// The share of fatal patterns of a code with local parities: groups of this number of drives, each with one parity
/// of its own, and global parities. The code is as good as one of its shape can be: a pattern is survived if the
/// global parities are as many as the failures of global parities, and those of each group beyond the first.
#[must_use]
pub fn of_local_parities(groups: &[u32], globals: u32) -> Vec<f64> {
    let drives = groups.iter().sum::<u32>() + globals;
    let most = groups.len() + globals as usize;
    // patterns[failures][used]: the number of failures, and of those that the global parities have to restore.
    let mut patterns = vec![vec![0.0; most + 1]; most + 2];
    patterns[0][0] = 1.0;
    let parts = groups.iter().map(|drives| (*drives, 1)).chain([(globals, 0)]);
    for (drives, own) in parts {
        let mut with = vec![vec![0.0; most + 1]; most + 2];
        for (failures, row) in patterns.iter().enumerate() {
            for (used, count) in row.iter().enumerate() {
                for more in 0..=drives.min((most + 1 - failures) as u32) {
                    let needed = used + (more as usize).saturating_sub(own);
                    if needed <= most {
                        with[failures + more as usize][needed] += count * choose(drives, more);
                    }
                }
            }
        }
        patterns = with;
    }
    let fatal = |failures: usize| {
        let survived: f64 = patterns[failures][..=globals as usize].iter().sum();
        (1.0 - survived / choose(drives, failures as u32)).max(0.0)
    };
    let exact = |share: f64| if share < 1e-12 { 0.0 } else { share };
    (0..=most.min(drives as usize)).map(|failures| exact(fatal(failures))).collect()
}

/// The share of fatal patterns of a chain of copies: each of n drives shares data with the next one, around a circle, so
/// two neighbours lose data. Of C(n, j) patterns n/(n − j)·C(n − j, j) have no neighbours.
#[must_use]
pub fn of_chain(drives: u32) -> Vec<f64> {
    let survived = |missing: u32| match missing {
        0 => 1.0,
        _ if 2 * missing > drives => 0.0,
        _ => {
            let (n, j) = (f64::from(drives), f64::from(missing));
            n / (n - j) * choose(drives - missing, missing) / choose(drives, missing)
        }
    };
    (0..=drives.min(MOST as u32)).map(|missing| 1.0 - survived(missing)).collect()
}

/// Binomial coefficients, as floats.
pub(crate) fn choose(of: u32, count: u32) -> f64 {
    (0..count).fold(1.0, |product, at| product * f64::from(of - at) / f64::from(at + 1))
}

#[cfg(test)]
mod tests {
    use super::{Fatal, of_chain, of_local_parities};

    /// The shares by looking at every pattern.
    fn by_patterns(drives: u32, most: u32, lost: impl Fn(u32) -> bool) -> Vec<f64> {
        let share = |count| {
            let patterns: Vec<u32> =
                (0..1 << drives).filter(|pattern: &u32| pattern.count_ones() == count).collect();
            let fatal = patterns.iter().filter(|pattern| lost(**pattern)).count();
            fatal as f64 / patterns.len() as f64
        };
        (0..=most).map(share).collect()
    }

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (one, other) in found.iter().zip(expected) {
            assert!((one - other).abs() < 1e-12, "{found:?} instead of {expected:?}");
        }
    }

    #[test]
    fn local_parities_lose_what_their_patterns_say() {
        for (groups, globals) in [(vec![7, 7], 2), (vec![4, 4, 3], 1), (vec![5], 3), (vec![3, 3, 3, 3], 2)] {
            let drives = groups.iter().sum::<u32>() + globals;
            let lost = |pattern: u32| {
                let (mut from, mut needed) = (0, 0);
                for group in &groups {
                    let missing = (pattern >> from & ((1 << group) - 1)).count_ones();
                    needed += missing.saturating_sub(1);
                    from += group;
                }
                needed + (pattern >> from).count_ones() > globals
            };
            let most = (groups.len() as u32 + globals).min(drives);
            near(&of_local_parities(&groups, globals), &by_patterns(drives, most, lost));
        }
    }

    #[test]
    fn the_code_of_azure_survives_three_failures_and_86_per_cent_of_four() {
        // Huang et al., USENIX ATC 2012: LRC(12, 2, 2).
        let found = of_local_parities(&[7, 7], 2);
        assert_eq!(found[..4], [0.0; 4]);
        assert!((1.0 - found[4] - 0.86).abs() < 0.005, "{found:?}");
        let fatal = Fatal::new(&found).unwrap();
        assert_eq!((fatal.certain(), fatal.tolerance()), (3, 4));
        assert_eq!((fatal.next(3), fatal.next(4), fatal.next(5)), (0.0, found[4], 1.0));
    }

    #[test]
    fn chains_lose_neighbours() {
        for drives in [3, 4, 7, 12] {
            let lost =
                |pattern: u32| (0..drives).any(|at| pattern >> at & pattern >> ((at + 1) % drives) & 1 > 0);
            near(&of_chain(drives), &by_patterns(drives, drives, lost));
        }
    }

    #[test]
    fn conditional_shares_make_up_the_whole() {
        let shares = of_chain(9);
        let fatal = Fatal::new(&shares).unwrap();
        let mut left = 1.0;
        for (missing, share) in shares.iter().enumerate() {
            left *= 1.0 - fatal.next(missing as u32);
            assert!((1.0 - left - share).abs() < 1e-12);
        }
        assert!(Fatal::new(&[0.0, 0.5, 0.4]).is_err());
        assert!(Fatal::new(&[0.1]).is_err());
    }
}
