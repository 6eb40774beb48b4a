//! A read that errs: hard decoding, retries with other reference voltages, soft decoding.
//!
//! Retry j senses the page again with an RBER of max(floor, RBER·factor^j); an RBER below the floor stays. Soft
//! decoding has the RBER of the last retry. The stages are nested: a page that a later stage cannot correct, no
//! earlier one can. So one uniform number decides a read, and the probability that all stages fail is that of the
//! last.

use crate::ecc::{Code, FailureTable, threshold};
use crate::{Invalid, within};

/// Retries, after hard decoding has failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    steps: u32,
    factor: f64,
    floor: f64,
}

impl Retry {
    /// Up to `steps` retries (at most 64), each with an RBER of `factor` (0 to 1) times the one before, not less than
    /// `floor`.
    pub fn new(steps: u32, factor: f64, floor: f64) -> Result<Self, Invalid> {
        within("steps", f64::from(steps), 0.0, 64.0)?;
        Ok(Retry {
            steps,
            factor: within("factor", factor, 0.0, 1.0)?,
            floor: within("floor", floor, 0.0, 0.5)?,
        })
    }

    /// No retries.
    #[must_use]
    pub fn none() -> Self {
        Retry { steps: 0, factor: 1.0, floor: 0.0 }
    }

    /// Retries at most.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// The RBER at retry `step`, of a page with `rber`. Step 0 is the first attempt.
    #[must_use]
    pub fn rber(&self, rber: f64, step: u32) -> f64 {
        if step == 0 || rber <= self.floor {
            return rber;
        }
        (rber * libm::pow(self.factor, f64::from(step))).max(self.floor)
    }
}

/// Which stage corrects a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Hard decoding, after this many retries.
    Corrected(u32),
    /// Soft decoding, after all retries.
    Soft,
    /// None.
    Uncorrectable,
}

/// How a read ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOutcome {
    /// The stage that corrects the page.
    pub stage: Stage,
    /// Retries that were made.
    pub retries: u32,
}

/// One attempt to correct a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    /// What it is if it succeeds.
    pub stage: Stage,
    /// The RBER that it has to do with.
    pub rber: f64,
    /// The probability that it fails for a codeword.
    pub codeword_failure: f64,
    /// The probability that it fails for at least one codeword of the page.
    pub page_failure: f64,
}

/// What a controller does to correct a page.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadChain {
    code: Code,
    retry: Retry,
    hard: FailureTable,
    soft: Option<FailureTable>,
}

impl ReadChain {
    /// Computes the tables.
    #[must_use]
    pub fn new(code: Code, retry: Retry) -> Self {
        let table = |corrects| FailureTable::new(code.codeword_bits(), corrects);
        ReadChain { code, retry, hard: table(code.corrects()), soft: code.corrects_soft().map(table) }
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The retries.
    #[must_use]
    pub fn retry(&self) -> &Retry {
        &self.retry
    }

    /// All attempts, in order. Their probabilities of failure do not rise.
    pub fn attempts(&self, rber: f64, codewords: u32) -> impl Iterator<Item = Attempt> {
        let steps = self.retry.steps;
        let hard = (0..=steps).map(|step| (Stage::Corrected(step), step, &self.hard));
        let soft = self.soft.iter().map(move |table| (Stage::Soft, steps, table));
        hard.chain(soft).map(move |(stage, step, table)| {
            let rber = self.retry.rber(rber, step);
            let codeword_failure = table.codeword(rber);
            Attempt {
                stage,
                rber,
                codeword_failure,
                page_failure: crate::stripe::any(codeword_failure, codewords),
            }
        })
    }

    /// What happens to a read of `codewords` of a page whose uniform number is `draw`
    /// ([`uniform`](crate::draw::uniform)).
    #[must_use]
    pub fn read(&self, rber: f64, codewords: u32, draw: u64) -> ReadOutcome {
        let corrects = |attempt: &Attempt| draw >= threshold(attempt.page_failure);
        let stage =
            self.attempts(rber, codewords).find(corrects).map_or(Stage::Uncorrectable, |found| found.stage);
        let retries = if let Stage::Corrected(retries) = stage { retries } else { self.retry.steps };
        ReadOutcome { stage, retries }
    }

    /// The probability that no stage corrects all of `codewords`. Its sum over reads is the expected number of
    /// uncorrectable reads.
    #[must_use]
    pub fn uncorrectable(&self, rber: f64, codewords: u32) -> f64 {
        let last = self.retry.rber(rber, self.retry.steps);
        self.soft.as_ref().unwrap_or(&self.hard).probability(last, codewords)
    }

    /// The uncorrectable bit error rate after all stages.
    #[must_use]
    pub fn uber(&self, rber: f64) -> f64 {
        self.code.uber(self.uncorrectable(rber, 1))
    }

    /// The probability of each outcome: of all stages in order, then of none of them.
    #[must_use]
    pub fn outcomes(&self, rber: f64, codewords: u32) -> Vec<(Stage, f64)> {
        let mut arrives = 1.0;
        let mut outcomes = Vec::new();
        for attempt in self.attempts(rber, codewords) {
            outcomes.push((attempt.stage, (arrives - attempt.page_failure).max(0.0)));
            arrives = attempt.page_failure;
        }
        outcomes.push((Stage::Uncorrectable, arrives));
        outcomes
    }

    /// The mean number of retries of a read.
    #[must_use]
    pub fn expected_retries(&self, rber: f64, codewords: u32) -> f64 {
        self.attempts(rber, codewords)
            .take(self.retry.steps as usize)
            .map(|attempt| attempt.page_failure)
            .sum()
    }
}

/// What a read takes on an idle die and channel. All times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLatency {
    /// One sensing, tR.
    pub sense: u64,
    /// One transfer to the controller, tDMA.
    pub transfer: u64,
    /// One hard decoding, tECC.
    pub decode: u64,
    /// Soft decoding.
    pub decode_soft: u64,
    /// Sensings, each with its transfer, that soft decoding needs in addition.
    pub soft_sensings: u32,
    /// Whether the die senses the next retry while the controller transfers and decodes the last.
    pub pipelined: bool,
}

impl ReadLatency {
    /// From command to corrected data, or to the failure of the last stage of `chain`.
    ///
    /// With N retries: serial (N + 1)·(tR + tDMA + tECC), pipelined (N + 1)·tR + tDMA + tECC (where another part takes longer
    /// than tR, that part sets the pace). Soft decoding begins when the last hard decoding has failed.
    #[must_use]
    pub fn of(&self, outcome: ReadOutcome, chain: &ReadChain) -> u64 {
        let hard = self.repeated(outcome.retries + 1, self.decode);
        let soft = match outcome.stage {
            Stage::Corrected(_) => false,
            Stage::Soft => true,
            Stage::Uncorrectable => chain.soft.is_some(),
        };
        if !soft {
            return hard;
        }
        let sensed = if self.soft_sensings == 0 { 0 } else { self.repeated(self.soft_sensings, 0) };
        hard + sensed + self.decode_soft
    }

    /// Sensing, transfer and decoding `times` over.
    fn repeated(&self, times: u32, decode: u64) -> u64 {
        let once = self.sense + self.transfer + decode;
        let pace = if self.pipelined { self.sense.max(self.transfer).max(decode) } else { once };
        once + u64::from(times - 1) * pace
    }
}
