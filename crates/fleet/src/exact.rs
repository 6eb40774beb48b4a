//! The transient solution of a group's Markov chain: P(loss within T) is the last entry of row 0 of exp(Q·T).
//!
//! All sums have terms of one sign, so no digits cancel, and the relative error is small however small the
//! probability. exp(Q·t) = e^(−θ)·exp(θ·B), where θ is above every rate of leaving times t, and B = I + Q·t/θ has no
//! entry below 0: a Taylor series for θ up to 1, and squares of that. Mean times come from the elimination of Grassmann,
//! Taksar and Heyman (1985), which never subtracts.

use crate::chain::{Cause, Chain, Goal};
use crate::model::Group;
use crate::{Invalid, YEAR};

/// A chain with more states than this is not integrated over a gamma factor.
const MOST_STATES_WITH_FRAILTY: usize = 40;

/// The causes of losses.
pub const CAUSES: usize = Cause::ALL.len();

/// A square matrix without negative entries.
#[derive(Clone)]
struct Matrix {
    size: usize,
    at: Vec<f64>,
}

impl Matrix {
    fn zero(size: usize) -> Matrix {
        Matrix { size, at: vec![0.0; size * size] }
    }

    fn identity(size: usize) -> Matrix {
        let mut one = Matrix::zero(size);
        (0..size).for_each(|at| one.at[at * size + at] = 1.0);
        one
    }

    fn times(&self, other: &Matrix) -> Matrix {
        let size = self.size;
        let mut product = Matrix::zero(size);
        for row in 0..size {
            for inner in 0..size {
                let factor = self.at[row * size + inner];
                if factor == 0.0 {
                    continue;
                }
                let from = &other.at[inner * size..(inner + 1) * size];
                let to = &mut product.at[row * size..(row + 1) * size];
                to.iter_mut().zip(from).for_each(|(sum, value)| *sum += factor * value);
            }
        }
        product
    }

    /// A row times the matrix.
    fn after(&self, row: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.size];
        for (value, from) in row.iter().zip(self.at.chunks(self.size)) {
            sum.iter_mut().zip(from).for_each(|(sum, entry)| *sum += value * entry);
        }
        sum
    }
}

/// The rates of a chain as a matrix with rows of states, and after them one place for each cause of a loss and one
/// that counts losses. With `renewed`, a group that has lost data starts again as a whole one.
struct Generator {
    /// Rates between different places.
    rates: Matrix,
    /// The rate of leaving each place.
    leaving: Vec<f64>,
    states: usize,
}

impl Generator {
    fn new(chain: &Chain, renewed: bool) -> Generator {
        let states = chain.steps.len();
        let size = states + CAUSES + 1;
        let mut rates = Matrix::zero(size);
        let mut leaving = vec![0.0; size];
        for (from, steps) in chain.steps.iter().enumerate() {
            for step in steps {
                let to = match step.to {
                    Goal::State(to) => to,
                    Goal::Loss(_) if renewed => {
                        rates.at[from * size + size - 1] += step.rate;
                        0
                    }
                    Goal::Loss(cause) => states + cause as usize,
                };
                // From the whole group to the whole group again is no move.
                if to != from {
                    rates.at[from * size + to] += step.rate;
                    leaving[from] += step.rate;
                }
            }
        }
        Generator { rates, leaving, states }
    }

    /// exp(Q·hours).
    fn exponential(&self, hours: f64) -> Matrix {
        let size = self.rates.size;
        let fastest = self.leaving.iter().copied().fold(0.0, f64::max) * hours;
        let mut halvings = 0;
        while libm::scalbn(fastest, -halvings) > 1.0 {
            halvings += 1;
        }
        let (theta, step) = (libm::scalbn(fastest, -halvings), libm::scalbn(hours, -halvings));
        // θ·B = θ·I + Q·step.
        let mut scaled = Matrix::zero(size);
        scaled.at.iter_mut().zip(&self.rates.at).for_each(|(to, rate)| *to = rate * step);
        for at in 0..size {
            scaled.at[at * size + at] = theta - self.leaving[at] * step;
        }
        let mut sum = Matrix::identity(size);
        let mut term = Matrix::identity(size);
        for power in 1..=30 {
            term = term.times(&scaled);
            term.at.iter_mut().for_each(|value| *value /= f64::from(power));
            sum.at.iter_mut().zip(&term.at).for_each(|(sum, value)| *sum += value);
        }
        let damped = libm::exp(-theta);
        sum.at.iter_mut().for_each(|value| *value *= damped);
        (0..halvings).for_each(|_| sum = sum.times(&sum));
        sum
    }
}

/// What the chain says.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// P(loss) at the end of each year, and at the end of the mission, by cause.
    pub by_year: Vec<[f64; CAUSES]>,
    /// The expected number of losses of a group that starts again after each of them.
    pub losses: f64,
}

impl Solution {
    /// P(loss) within the mission, by cause.
    #[must_use]
    pub fn causes(&self) -> [f64; CAUSES] {
        self.by_year.last().copied().unwrap_or_default()
    }

    fn add(&mut self, other: &Solution, weight: f64) {
        self.by_year.resize(other.by_year.len(), [0.0; CAUSES]);
        for (sum, value) in self.by_year.iter_mut().flatten().zip(other.by_year.iter().flatten()) {
            *sum += weight * value;
        }
        self.losses += weight * other.losses;
    }
}

/// Solves the chain of a group for a mission of this number of years.
pub fn solve(group: &Group, years: f64) -> Result<Solution, Invalid> {
    let chain = Chain::of(group)?;
    if group.frailty == 0.0 {
        return Ok(of_chain(&chain, years));
    }
    if chain.steps.len() > MOST_STATES_WITH_FRAILTY {
        let message = format!(
            "with a batch frailty the Markov chain may have {MOST_STATES_WITH_FRAILTY} states, and has {}; plain and \
             splitting need none",
            chain.steps.len()
        );
        return Err(Invalid::new("method", message));
    }
    let mut mean = Solution::default();
    for (factor, weight) in gamma_points(group.frailty, group.certain()) {
        mean.add(&of_chain(&with_factor(&chain, factor), years), weight);
    }
    Ok(mean)
}

/// Whether [`solve`] takes a group whose chain there is.
#[must_use]
pub fn is_solvable(group: &Group) -> bool {
    group.frailty == 0.0 || Chain::of(group).is_ok_and(|chain| chain.steps.len() <= MOST_STATES_WITH_FRAILTY)
}

/// The chain with all rates of failures times a factor.
fn with_factor(chain: &Chain, factor: f64) -> Chain {
    let mut chain = chain.clone();
    for step in chain.steps.iter_mut().flatten().filter(|step| step.failure) {
        step.rate *= factor;
    }
    chain
}

/// Solves a chain for a mission of this number of years.
pub(crate) fn of_chain(chain: &Chain, years: f64) -> Solution {
    let generator = Generator::new(chain, false);
    let whole = libm::floor(years) as usize;
    let rest = (years - libm::floor(years)) * YEAR;
    let mut row = vec![0.0; generator.rates.size];
    row[0] = 1.0;
    let mut by_year = Vec::new();
    let mut advance = |hours: f64, times: usize| {
        let step = generator.exponential(hours);
        for _ in 0..times {
            row = step.after(&row);
            by_year.push(std::array::from_fn(|cause| row[generator.states + cause]));
        }
    };
    if whole > 0 {
        advance(YEAR, whole);
    }
    if rest > 0.0 {
        advance(rest, 1);
    }
    let renewed = Generator::new(chain, true).exponential(years * YEAR);
    Solution { by_year, losses: renewed.at[renewed.size - 1] }
}

/// Points and weights of a gamma factor z of mean 1 and this variance, for means of functions that grow as
/// z^(tolerance + 1) where z is small. With z = e^x the trapezoidal rule over x converges as fast as the step shrinks.
fn gamma_points(variance: f64, tolerance: u32) -> Vec<(f64, f64)> {
    let shape = 1.0 / variance;
    let scale = libm::lgamma(shape) - shape * libm::log(shape);
    let density = |x: f64| libm::exp(shape * (x - libm::exp(x)) - scale);
    let step = (0.4 / libm::sqrt(shape + f64::from(tolerance) + 1.0)).min(0.1);
    let low = -40.0 / (shape + f64::from(tolerance) + 1.0) - 10.0 * libm::sqrt(variance).min(1.0);
    let high = libm::log(1.0 + 80.0 * variance + 10.0 * libm::sqrt(variance));
    let count = libm::ceil((high - low) / step) as u32;
    (0..=count)
        .map(|at| low + f64::from(at) * step)
        .map(|x| (libm::exp(x), step * density(x)))
        .filter(|(_, weight)| *weight > 0.0)
        .collect()
}

/// The mean time to the first loss, hours, by elimination of all states but the whole one.
pub fn mean_time_to_loss(group: &Group) -> Result<f64, Invalid> {
    Ok(mean_time(&Chain::of(group)?))
}

/// The same of a chain.
pub(crate) fn mean_time(chain: &Chain) -> f64 {
    let generator = Generator::new(chain, false);
    let (states, size) = (generator.states, generator.rates.size);
    let mut rates = generator.rates.at;
    let mut stay = vec![1.0; states];
    let lost =
        |rates: &[f64], from: usize| rates[from * size + states..(from + 1) * size].iter().sum::<f64>();
    for gone in (1..states).rev() {
        let out = (0..gone).map(|to| rates[gone * size + to]).sum::<f64>() + lost(&rates, gone);
        for from in 0..gone {
            let share = rates[from * size + gone] / out;
            if share == 0.0 {
                continue;
            }
            for to in (0..gone).chain(states..size).filter(|to| *to != from) {
                rates[from * size + to] += share * rates[gone * size + to];
            }
            stay[from] += share * stay[gone];
        }
    }
    stay[0] / lost(&rates, 0)
}
