//! Erase units in steady state under uniform random writes, by mean-field equations.
//!
//! Each host write invalidates a page, all valid pages equally likely. In a *cycle* one unit is reclaimed and another
//! one filled. So in the mean a share of all valid pages, the *decay*, is invalidated per cycle: a unit with j valid
//! pages continues to j − 1 at a rate of j · decay. If F(j) is the share of units that get that far before they are
//! reclaimed, F(j) / (j · decay) units have j valid pages. The policy determines F; a unit loses the sum of all F(j)
//! pages in its life, and as many are invalidated per cycle: decay · valid pages. The decay for which both are equal
//! is found by halving.
//!
//! Sources: Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state
//! drives", SIGMETRICS 2013 (random, d choices); Hu et al., SYSTOR 2009 (windows); Desnoyers, "Analytic models of SSD
//! write performance", ACM TOS 2014 (greedy, FIFO).

use super::Victim;
use flashkeep_trace::random::Random;

/// Halvings of the interval in which the decay lies: more than a float has bits.
const HALVINGS: u32 = 60;

/// Steps after which the equation of a level is solved, or as close as floats come.
const STEPS: u32 = 40;

/// Erase units that are collected together, full of valid pages but for the spare area.
#[derive(Clone, Copy, Debug)]
pub struct SteadyUnits {
    /// Units.
    pub units: u32,
    /// Pages of a unit.
    pub pages: u32,
    /// A unit with fewer valid pages than this is worth collecting.
    pub worth: u32,
    /// With fewer free pages than this, units are collected.
    pub below: u32,
    /// Collection continues until this many pages are free; 0 if it ends with a unit.
    pub enough: u32,
    /// Valid pages.
    pub valid: f64,
}

impl SteadyUnits {
    /// Free pages between the least and the most, where this many pages are written per cycle.
    fn swing(&self, cycle: f64) -> f64 {
        let missing = f64::from(self.enough) - f64::from(self.below - 1);
        if missing > cycle { libm::ceil(missing / cycle) * cycle } else { cycle }
    }

    /// Units that are written, in the mean over time, where this many pages are written per cycle.
    fn written(&self, cycle: f64) -> f64 {
        let all = f64::from(self.units) * f64::from(self.pages);
        (all - f64::from(self.below - 1) - self.swing(cycle) / 2.0) / f64::from(self.pages)
    }
}

/// A decay that is tried.
#[derive(Clone, Copy, Debug)]
pub struct TriedDecay {
    /// Pages of a unit.
    pages: u32,
    /// A unit with fewer valid pages than this is worth collecting.
    worth: u32,
    /// Units that are written.
    written: f64,
    /// The share of valid pages that is invalidated per cycle.
    decay: f64,
    /// What the policy considers, from its options; or all units.
    pub considered: u32,
    /// Units in all.
    pub units: u32,
}

/// How many units have how many valid pages.
#[derive(Clone, Debug)]
pub struct ValidLevels {
    /// The mean number of competing units with 0, 1, … valid pages.
    of_old: Vec<f64>,
    /// Units too young to compete.
    young: f64,
    /// Pages that a unit loses in its life.
    lost: f64,
}

impl TriedDecay {
    /// The unit with the fewest valid pages of the oldest ones is reclaimed, as many as the `window` has: all of them for
    /// greedy, none for FIFO.
    #[must_use]
    pub fn windowed(&self, window: f64) -> ValidLevels {
        let mut left = window.min(self.written);
        let young = self.written - left;
        let entering = self.as_many_left(young);
        let mut lost = f64::from(self.pages) - entering[1..].iter().sum::<f64>();
        let mut of_old = vec![0.0; self.pages as usize + 1];
        for valid in (1..=self.pages as usize).rev() {
            let rate = valid as f64 * self.decay;
            let here = (entering[valid] / rate).min(left);
            of_old[valid] = here;
            left -= here;
            lost += here * rate;
            if left <= 0.0 {
                // None has fewer.
                break;
            }
        }
        of_old[0] = left;
        ValidLevels { of_old, young, lost }
    }

    /// The unit with the fewest valid pages of as many `choices` is reclaimed, drawn from those worth collecting.
    #[must_use]
    pub fn chosen(&self, choices: u32) -> ValidLevels {
        let mut of_old = vec![0.0; self.pages as usize + 1];
        let mut lost = 0.0;
        for valid in (self.worth as usize..=self.pages as usize).rev() {
            of_old[valid] = 1.0 / (valid as f64 * self.decay);
            lost += 1.0;
        }
        let competing = self.written - of_old.iter().sum::<f64>();
        if competing <= 0.0 {
            // All units are full: the decay is too small.
            return ValidLevels { of_old, young: 0.0, lost: f64::from(self.pages) };
        }
        // The share of competing units with at least that many valid pages; all units drawn have them with its power.
        let mut share = 0.0;
        for valid in (1..self.worth as usize).rev() {
            let step = 1.0 / (valid as f64 * self.decay * competing);
            let next = solve_level(share, step, choices);
            of_old[valid] = competing * (next - share);
            lost += 1.0 - power(next, choices);
            share = next;
        }
        of_old[0] = competing * (1.0 - share);
        ValidLevels { of_old, young: 0.0, lost }
    }

    /// The probability that a unit of this age, in cycles, has at least 0, 1, … valid pages left.
    fn as_many_left(&self, age: f64) -> Vec<f64> {
        let pages = self.pages as usize;
        let mut left = vec![1.0; pages + 1];
        let valid = libm::exp(-age * self.decay);
        if age <= 0.0 || valid >= 1.0 {
            return left;
        }
        // A binomial distribution, from its most likely value outwards.
        let (top, odds) = (((pages as f64 + 1.0) * valid) as usize, valid / (1.0 - valid));
        let top = top.min(pages);
        for at in top + 1..=pages {
            left[at] = left[at - 1] * ((pages + 1 - at) as f64 / at as f64 * odds);
        }
        for at in (1..=top).rev() {
            left[at - 1] = left[at] * (at as f64 / (pages + 1 - at) as f64 / odds);
        }
        let all: f64 = left.iter().sum();
        let mut sum = 0.0;
        for share in left.iter_mut().rev() {
            sum += *share / all;
            *share = sum;
        }
        left
    }
}

/// The root x of x + step · x^choices = share + step, by Newton's method; the function is convex.
fn solve_level(share: f64, step: f64, choices: u32) -> f64 {
    let mut x = share;
    for _ in 0..STEPS {
        let below = power(x, choices - 1);
        let slope = 1.0 + step * f64::from(choices) * below;
        let next = (x - (x + step * below * x - share - step) / slope).min(1.0);
        if (next - x).abs() < 1e-15 {
            return next;
        }
        x = next;
    }
    x
}

/// A whole power by squaring, with the same rounding on every machine.
fn power(base: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

/// Erase units in steady state.
#[derive(Clone, Debug)]
pub struct SteadyState {
    levels: ValidLevels,
    decay: f64,
    written: f64,
    pages: u32,
    /// Pages that the host writes per cycle.
    cycle: f64,
    /// Free pages between the least and the most.
    swing: f64,
}

impl SteadyState {
    /// The steady state under a policy with this number of considered units; none if its equations are not known.
    #[must_use]
    pub fn of(victim: &Victim, considered: u32, units: &SteadyUnits) -> Option<SteadyState> {
        let levels = victim.steady?;
        let at = |decay: f64| TriedDecay {
            pages: units.pages,
            worth: units.worth,
            written: units.written(decay * units.valid),
            decay,
            considered,
            units: units.units,
        };
        let (mut low, mut high) = (0.0, f64::from(units.pages) / units.valid);
        for _ in 0..HALVINGS {
            let decay = (low + high) / 2.0;
            let is_low = levels(&at(decay)).lost > decay * units.valid;
            if is_low { low = decay } else { high = decay }
        }
        let tried = at(high);
        Some(SteadyState {
            levels: levels(&tried),
            decay: high,
            written: tried.written,
            pages: units.pages,
            cycle: high * units.valid,
            swing: units.swing(high * units.valid),
        })
    }

    /// Pages programmed for each page that the host writes.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        f64::from(self.pages) / self.cycle
    }

    /// Free pages between the least and the most.
    #[must_use]
    pub fn swing(&self) -> u32 {
        (self.swing as u32).max(1)
    }

    /// The valid pages of each of `count` closed units, in the order in which they were closed; after them the open one
    /// is programmed to this share.
    #[must_use]
    pub fn valid_counts(&self, count: u32, open: f64, random: &mut Random) -> Vec<u32> {
        let step = (self.written - open).max(0.0) / f64::from(count);
        let old = self.written - self.levels.young;
        let (mut level, mut up_to) = (0, self.levels.of_old[0]);
        let mut counts = Vec::with_capacity(count as usize);
        for at in 0..count {
            let place = (f64::from(at) + 0.5) * step;
            if place >= old {
                counts.push(self.valid_at_age(self.written - place, random));
                continue;
            }
            while up_to < place && level < self.pages {
                level += 1;
                up_to += self.levels.of_old[level as usize];
            }
            counts.push(level);
        }
        counts
    }

    /// Valid pages of a unit of this age, in cycles, that has not competed: binomial, as a normal number.
    fn valid_at_age(&self, age: f64, random: &mut Random) -> u32 {
        let (share, pages) = (libm::exp(-age * self.decay), f64::from(self.pages));
        let spread = libm::sqrt(pages * share * (1.0 - share));
        libm::round(pages * share + spread * normal(random)).clamp(0.0, pages) as u32
    }
}

/// A number that is nearly normally distributed, with mean 0 and variance 1: the sum of twelve uniform ones.
#[must_use]
pub fn normal(random: &mut Random) -> f64 {
    let sum: u64 = (0..12).map(|_| random.bits() >> 32).sum();
    sum as f64 / 4_294_967_296.0 - 6.0
}

#[cfg(test)]
mod tests {
    use super::super::named;
    use super::*;

    /// A plane of 1,024 blocks of 64 pages, collected when only the block that GC needs is free.
    fn plane(spare: f64) -> SteadyUnits {
        let (units, pages) = (1024, 64);
        let valid = (f64::from((units - 1) * pages) / (1.0 + spare)).floor();
        SteadyUnits { units, pages, worth: pages, below: pages + 1, enough: 0, valid }
    }

    fn amplification(victim: &str, considered: u32, spare: f64) -> f64 {
        let victim = named(victim).expect("a policy");
        let state = SteadyState::of(&victim, considered, &plane(spare)).expect("its equations are known");
        state.write_amplification()
    }

    fn within(found: f64, expected: f64, share: f64, what: &str) {
        assert!((found / expected - 1.0).abs() < share, "{what}: {found} instead of {expected}");
    }

    /// The principal branch of Lambert's function, by Newton's method.
    fn lambert_w(x: f64) -> f64 {
        let mut w = x;
        for _ in 0..100 {
            let e = w.exp();
            w -= (w * e - x) / (e * (w + 1.0));
        }
        w
    }

    #[test]
    fn closed_forms_and_published_figures() {
        for (spare, greedy) in [(0.07, 7.010), (0.15, 3.800), (0.28, 2.403)] {
            within(amplification("greedy", 0, spare), greedy, 0.002, "greedy");
            within(amplification("greedy-last", 0, spare), greedy, 0.002, "greedy-last");
            let a: f64 = 1.0 + spare;
            within(amplification("fifo", 0, spare), a / (a + lambert_w(-a * (-a).exp())), 0.002, "FIFO");
            let used = 1.0 / (1.0 + spare);
            within(amplification("random", 0, spare), 64.0 / (64.0 * (1.0 - used) + used), 0.002, "random");
            within(
                amplification("d-choices", 1, spare),
                amplification("random", 0, spare),
                1e-9,
                "one choice",
            );
            within(amplification("d-choices", 10, spare), amplification("rga", 0, spare), 1e-9, "log2(1024)");
            within(amplification("d-choices", 1 << 14, spare), greedy, 0.003, "many choices");
            within(amplification("windowed-greedy", 1 << 14, spare), greedy, 0.002, "a window over all");
        }
        // As measured (docs/wear.md).
        for (spare, rga, windowed) in [(0.07, 7.281, 7.476), (0.15, 3.930, 3.904), (0.28, 2.470, 2.434)] {
            within(amplification("rga", 0, spare), rga, 0.005, "rga");
            within(amplification("windowed-greedy", 64, spare), windowed, 0.005, "a window of 64");
        }
    }

    #[test]
    fn counts_of_valid_pages_add_up_and_grow_with_youth() {
        let plane = plane(0.15);
        for victim in super::super::VICTIMS.iter().filter(|victim| victim.steady.is_some()) {
            let state = SteadyState::of(victim, 10, &plane).expect("its equations are known");
            let counts = state.valid_counts(1023, 0.0, &mut Random::stream(1, "test"));
            let sum: u32 = counts.iter().sum();
            within(f64::from(sum), plane.valid, 0.003, victim.name);
            let half = |counts: &[u32]| counts.iter().sum::<u32>();
            assert!(half(&counts[..511]) < half(&counts[512..]), "{}", victim.name);
        }
    }
}
