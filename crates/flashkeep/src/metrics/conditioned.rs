//! The test for a steady state during conditioning: SNIA's rule over five rounds.

use super::{figures, plain, unit};
use serde_json::Value;

/// Rounds that the rule looks at.
const WINDOW: usize = 5;

/// Pages programmed in each round of random writes, all of them of the same length.
///
/// The last five rounds are steady if the largest and the smallest differ by at most 20 % of their average, and the
/// line fitted by least squares rises or falls by at most 10 % of the average from the first to the last (SNIA, *Solid
/// State Storage Performance Test Specification*, "steady state"). SNIA applies the rule to throughput; here it applies
/// to write amplification, because conditioning takes no time.
#[derive(Clone, Debug)]
pub struct Conditioned {
    host_pages: u64,
    programs: Vec<u64>,
}

impl Conditioned {
    /// No round is over yet; the host writes `host_pages` pages in each.
    #[must_use]
    pub fn new(host_pages: u64) -> Self {
        Conditioned { host_pages, programs: Vec::new() }
    }

    /// Records a round that programmed `programs` pages.
    pub fn add(&mut self, programs: u64) {
        self.programs.push(programs);
    }

    /// Whether the last five rounds are steady.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        let Some(&[a, b, c, d, e]) = self.programs.last_chunk::<WINDOW>() else { return false };
        let sum = a + b + c + d + e;
        let most = a.max(b).max(c).max(d).max(e);
        let least = a.min(b).min(c).min(d).min(e);
        // The slope is (2e + d − b − 2a) / 10 per round, and there are four steps from the first round to the last.
        let rise = (2 * e + d).abs_diff(2 * a + b);
        25 * (most - least) <= sum && 20 * rise <= sum
    }

    /// The section of the summary.
    #[must_use]
    pub fn conditioning(&self) -> Conditioning {
        let last = self.programs.iter().rev().take(WINDOW).sum::<u64>() as f64;
        let rounds = self.programs.len().min(WINDOW) as f64;
        Conditioning {
            rounds: self.programs.len(),
            pages_per_round: self.host_pages,
            write_amplification: last / (rounds * self.host_pages as f64),
            steady: self.is_steady(),
        }
    }
}

figures! {
    /// How the drive was conditioned before time 0.
    pub struct Conditioning {
        /// Rounds of random writes before time 0.
        rounds: usize => unit("rounds").row("rounds of writes"),
        /// Pages that the host wrote in each round.
        pages_per_round: u64 => unit("pages"),
        /// Write amplification of the last five rounds.
        write_amplification: f64 => unit("ratio").lower().row("write amplification of the last"),
        /// Whether the drive is in a steady state by SNIA's rule over the last five rounds.
        steady: bool => plain(),
    }
}

impl Conditioning {
    /// Reads back the output of [`Reported::to_json`](super::Reported::to_json); none for any other value.
    #[must_use]
    pub fn from_json(found: &Value) -> Option<Self> {
        Some(Conditioning {
            rounds: usize::try_from(found["rounds"].as_u64()?).ok()?,
            pages_per_round: found["pages_per_round"].as_u64()?,
            write_amplification: found["write_amplification"].as_f64()?,
            steady: found["steady"].as_bool()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(rounds: &[u64]) -> bool {
        let mut conditioned = Conditioned::new(100);
        rounds.iter().for_each(|&programs| conditioned.add(programs));
        conditioned.is_steady()
    }

    #[test]
    fn both_sides_of_the_rule() {
        // Four rounds are not five.
        assert!(!steady(&[1000; 4]) && steady(&[1000; 5]));
        // A range of 20 % of the average, and a page more; no slope.
        assert!(steady(&[1000, 1100, 900, 1000, 1000][..]) && steady(&[1000, 900, 1100, 900, 1100]));
        assert!(!steady(&[1000, 901, 1102, 900, 1097]));
        // A line that rises by 10 % from the first to the last: 950 to 1050; and a page more.
        assert!(steady(&[950, 975, 1000, 1025, 1050]) && !steady(&[949, 975, 1000, 1025, 1051]));
        // Rounds before the last five do not matter.
        assert!(steady(&[1, 50_000, 1000, 1000, 1000, 1000, 1000]));
    }
}
