//! The raw bit error rate (RBER): the share of a page's bits that are wrong when it is read.
//!
//! Kim, Choi and Min, *Design Tradeoffs for SSD Reliability* (FAST '19) fit
//!
//! ```text
//! RBER(c, t, r) = ε + α·c^k + β·c^m·t^n + γ·c^p·r^q
//! ```
//!
//! to measurements of real chips: c is P/E cycles of the block, t the time since the page was programmed, r reads of
//! the block. A block that has never been erased (c = 0) has ε only. No RBER exceeds 0.5.

use crate::table::Table;
use crate::{Invalid, within};

/// What has happened to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// P/E cycles of the block.
    pub cycles: f64,
    /// Days since the page was programmed.
    pub days: f64,
    /// Reads of the block since it was erased, divided by its pages.
    pub reads: f64,
}

/// The constants of Kim et al., with t in days and r in reads of the block divided by its pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kim {
    /// RBER of a new block: ε.
    pub epsilon: f64,
    /// Wear, α·c^k: the factor.
    pub alpha: f64,
    /// Wear: the exponent of cycles.
    pub k: f64,
    /// Retention, β·c^m·t^n: the factor.
    pub beta: f64,
    /// Retention: the exponent of cycles.
    pub m: f64,
    /// Retention: the exponent of days.
    pub n: f64,
    /// Read disturb, γ·c^p·r^q: the factor.
    pub gamma: f64,
    /// Read disturb: the exponent of cycles.
    pub p: f64,
    /// Read disturb: the exponent of reads.
    pub q: f64,
}

/// What a number of P/E cycles makes of the three terms of [`Kim`]: two powers less to compute for each page of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worn {
    base: f64,
    retention: f64,
    disturb: f64,
    n: f64,
    q: f64,
}

impl Kim {
    /// The terms after that many P/E cycles.
    #[must_use]
    pub fn worn(&self, cycles: f64) -> Worn {
        let term = |factor: f64, exponent: f64| {
            if cycles > 0.0 { factor * libm::pow(cycles, exponent) } else { 0.0 }
        };
        Worn {
            base: self.epsilon + term(self.alpha, self.k),
            retention: term(self.beta, self.m),
            disturb: term(self.gamma, self.p),
            n: self.n,
            q: self.q,
        }
    }
}

impl Worn {
    /// The RBER of a page that was programmed `days` days ago, in a block with `reads` reads a page. At most 0.5.
    #[must_use]
    pub fn at(&self, days: f64, reads: f64) -> f64 {
        let term = |factor: f64, of: f64, exponent: f64| {
            if factor > 0.0 && of > 0.0 { factor * libm::pow(of, exponent) } else { 0.0 }
        };
        let sum = self.base + term(self.retention, days, self.n) + term(self.disturb, reads, self.q);
        sum.min(0.5)
    }
}

/// Constants that were fitted to a kind of chip, and the facts known about them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// As in a drive file.
    pub name: &'static str,
    /// The chips, in a few words.
    pub chips: &'static str,
    /// The constants.
    pub model: Kim,
    /// The unit of t.
    pub time_unit: &'static str,
    /// The unit of r.
    pub reads_unit: &'static str,
    /// P/E cycles up to which the constants were fitted.
    pub fitted_cycles: f64,
    /// Days up to which the constants were fitted.
    pub fitted_days: f64,
    /// Where the constants were read.
    pub source: &'static str,
    /// Whether they were read in that source. If not, they were noted from memory.
    pub confirmed: bool,
}

const DAYS: &str = "days (assumed: the paper's unit is not certain)";
const READS: &str = "reads of the block divided by its pages (as MQSim-JW counts)";
const KIM: &str = "Kim, Choi and Min, Design Tradeoffs for SSD Reliability, FAST '19; noted from memory";

/// The constants that are known.
pub const PRESETS: [Preset; 3] = [
    Preset {
        name: "tlc-72l",
        chips: "TLC, 3D, 72 layers",
        model: Kim {
            epsilon: 1.48e-3,
            alpha: 3.90e-10,
            k: 2.05,
            beta: 6.28e-5,
            m: 0.14,
            n: 0.54,
            gamma: 3.73e-9,
            p: 0.33,
            q: 1.71,
        },
        time_unit: DAYS,
        reads_unit: READS,
        fitted_cycles: 3000.0,
        fitted_days: 365.0,
        source: "Kim, Choi and Min, FAST '19, as in the source of MQSim-JW (jwjeong92/MQSim-JW)",
        confirmed: true,
    },
    Preset {
        name: "mlc-3xnm",
        chips: "MLC, 30 to 39 nm",
        model: Kim {
            epsilon: 5.06e-8,
            alpha: 1.05e-14,
            k: 2.16,
            beta: 9.31e-14,
            m: 1.80,
            n: 0.80,
            gamma: 4.17e-15,
            p: 1.07,
            q: 1.45,
        },
        time_unit: DAYS,
        reads_unit: READS,
        fitted_cycles: 3000.0,
        fitted_days: 365.0,
        source: KIM,
        confirmed: false,
    },
    Preset {
        name: "mlc-2ynm",
        chips: "MLC, 20 to 29 nm",
        model: Kim {
            epsilon: 8.34e-5,
            alpha: 3.30e-11,
            k: 1.71,
            beta: 5.56e-19,
            m: 2.49,
            n: 3.33,
            gamma: 6.26e-13,
            p: 1.76,
            q: 0.47,
        },
        time_unit: DAYS,
        reads_unit: READS,
        fitted_cycles: 3000.0,
        fitted_days: 365.0,
        source: KIM,
        confirmed: false,
    },
];

/// The preset of that name. An unknown name is an error that lists the known ones.
pub fn preset(name: &str) -> Result<&'static Preset, Invalid> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        Invalid { field: "preset", message: format!("there is no `{name}`; accepted: {}", known.join(", ")) }
    })
}

/// How much faster charge leaks at `celsius` than at `reference`, in °C: Arrhenius' law with an activation energy of
/// 1.1 eV (unconfirmed). 55 against 40 °C: 6.45.
pub fn acceleration(celsius: f64, reference: f64) -> Result<f64, Invalid> {
    const ACTIVATION_EV: f64 = 1.1;
    const BOLTZMANN_EV_PER_K: f64 = 8.617_333_262e-5;
    let kelvin = |celsius| Ok(within("temperature", celsius, -55.0, 150.0)? + 273.15);
    let (at, reference) = (kelvin(celsius)?, kelvin(reference)?);
    Ok(libm::exp(ACTIVATION_EV / BOLTZMANN_EV_PER_K * (1.0 / reference - 1.0 / at)))
}

/// Where RBERs come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// The formula of Kim et al.
    Kim(Kim),
    /// Measurements.
    Table(Table),
}

/// The RBER of pages: a model, the range in which it is known, a factor on all RBERs and one on time.
#[derive(Clone, Debug, PartialEq)]
pub struct Rber {
    model: Model,
    fitted: Option<(f64, f64)>,
    scale: f64,
    acceleration: f64,
}

impl Rber {
    /// By the formula of Kim et al. The range it was fitted in is unknown, thus all conditions are inside.
    #[must_use]
    pub fn kim(model: Kim) -> Self {
        Rber { model: Model::Kim(model), fitted: None, scale: 1.0, acceleration: 1.0 }
    }

    /// By a preset, with its range.
    #[must_use]
    pub fn preset(preset: &Preset) -> Self {
        Rber { fitted: Some((preset.fitted_cycles, preset.fitted_days)), ..Rber::kim(preset.model) }
    }

    /// By measurements.
    #[must_use]
    pub fn table(table: Table) -> Self {
        Rber { model: Model::Table(table), fitted: None, scale: 1.0, acceleration: 1.0 }
    }

    /// All RBERs multiplied, by 0 to 1,000.
    pub fn with_scale(self, scale: f64) -> Result<Self, Invalid> {
        Ok(Rber { scale: within("scale", scale, 0.0, 1000.0)?, ..self })
    }

    /// Days pass that much faster ([`acceleration`]).
    pub fn with_acceleration(self, acceleration: f64) -> Result<Self, Invalid> {
        Ok(Rber { acceleration: within("acceleration", acceleration, 0.0, 1e9)?, ..self })
    }

    /// The RBER of a page: 0 to 0.5. `factor` is what distinguishes the page (its type, its block, its layer).
    #[must_use]
    pub fn at(&self, conditions: Conditions, factor: f64) -> f64 {
        let Conditions { cycles, days, reads } = self.accelerated(conditions);
        let rber = match &self.model {
            Model::Kim(kim) => kim.worn(cycles).at(days, reads),
            Model::Table(table) => table.at(cycles, days, reads),
        };
        (rber * factor * self.scale).min(0.5)
    }

    /// Whether the model was fitted, or measured, under conditions like these. Outside, a formula is extrapolated, a
    /// table answers with its nearest value, and the user should be warned. No range of reads is known for the presets.
    #[must_use]
    pub fn in_fitted_range(&self, conditions: Conditions) -> bool {
        let Conditions { cycles, days, reads } = self.accelerated(conditions);
        match (&self.model, self.fitted) {
            (Model::Table(table), _) => table.in_range(cycles, days, reads),
            (Model::Kim(_), Some((most_cycles, most_days))) => cycles <= most_cycles && days <= most_days,
            (Model::Kim(_), None) => true,
        }
    }

    fn accelerated(&self, conditions: Conditions) -> Conditions {
        Conditions { days: conditions.days * self.acceleration, ..conditions }
    }
}
