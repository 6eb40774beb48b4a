//! Probabilities of data loss: arrays as the fleet's model sees them, and its estimates.

use crate::errors::{OptionError, detached, raise_drive};
use flashkeep::config::{self, Resolved};
use flashkeep::schemes::{self, MemberFacts, RedundancySpec, SchemeEntry};
use flashkeep_fleet::estimate::{Found, Method, Wanted, estimate};
use flashkeep_fleet::fatal::{self, Fatal};
use flashkeep_fleet::levels::{Level, above, any};
use flashkeep_fleet::model::{Group, Latent, Spares, Wear, on_read};
use flashkeep_fleet::sampling::Stopped;
use flashkeep_fleet::times::{Life, Time};
use flashkeep_fleet::{Invalid, YEAR};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// The page in which the capacity of an array without a drive model is counted.
const PAGE: u64 = 4096;

/// A drive file or preset as a tree: `{"name", "scheme", "tolerance", "fatal", "capacity_bytes", "disk", "cost_usd",
/// "uber", "layout", "members": […]}`; `fatal` and `layout` as of [`fleet_scheme`], `uber` as the drive states it.
#[pyfunction]
#[pyo3(signature = (drive, overrides, text=None, /))]
pub(crate) fn fleet_array(
    py: Python<'_>,
    drive: &str,
    overrides: Vec<String>,
    text: Option<&str>,
) -> PyResult<String> {
    let read = match text {
        Some(text) => config::load_text(drive, text, &overrides),
        None => config::load(drive, &overrides),
    };
    Ok(tree(&read.map_err(|error| raise_drive(py, &error))?).to_string())
}

fn tree(drive: &Resolved) -> Value {
    let over_members = drive.is_array();
    let tolerance =
        if over_members { drive.scheme().survivable(drive.members(), &drive.spec.redundancy) } else { 0 };
    json!({
        "name": drive.spec.name,
        "scheme": if over_members { drive.scheme().name } else { "none" },
        "tolerance": tolerance,
        "fatal": if over_members {
            drive.scheme().fatal_shares(drive.members(), &drive.spec.redundancy)
        } else {
            None
        },
        "layout": if over_members { layout(drive.scheme(), drive.members(), &drive.spec.redundancy) } else { None },
        "capacity_bytes": drive.capacity_bytes(),
        "disk": drive.is_disk(),
        "cost_usd": drive.cost_usd(),
        "uber": drive.stated_uber,
        "members": drive.array.iter().map(tree).collect::<Vec<_>>(),
    })
}

/// Declustered stripes: their units, and the members that spare places have room for.
fn layout(scheme: &SchemeEntry, members: u32, redundancy: &RedundancySpec) -> Option<Value> {
    (scheme.declustered)(members, redundancy)
        .map(|found| json!({"stripe": found.units, "spares": found.spares}))
}

/// A scheme over `members` members of `bytes` bytes each, with options in JSON: `{"tolerance", "usable_bytes",
/// "fatal", "layout"}`.
/// `layout` is `{"stripe", "spares"}` for declustered stripes of `stripe` units, with spare places for `spares` members, or
/// null. `fatal` has, for each number of members that fail at once, from 0 to that of the parities, the share of the
/// sets of that many members whose failure loses data; null if that is 0 up to the tolerance and 1 beyond.
#[pyfunction]
#[pyo3(signature = (name, members, bytes, options=None, /))]
pub(crate) fn fleet_scheme(name: &str, members: u32, bytes: u64, options: Option<&str>) -> PyResult<String> {
    let wrong = |why: String| OptionError::new_err(format!("{members} members under {name}: {why}"));
    let scheme = schemes::named(name).ok_or_else(|| OptionError::new_err(format!("no scheme {name:?}")))?;
    let mut redundancy = RedundancySpec::of(name);
    let given: Map<String, Value> = serde_json::from_str(options.unwrap_or("{}"))
        .map_err(|error| OptionError::new_err(format!("options of {name}: {error}")))?;
    given.iter().for_each(|(key, value)| redundancy.set(key, value));
    let facts = MemberFacts { pages: bytes / PAGE, page_bytes: PAGE, disk: false };
    let pages = (scheme.over_drives)(&vec![facts; members as usize], &redundancy).map_err(wrong)?;
    let told = json!({
        "tolerance": scheme.survivable(members, &redundancy),
        "usable_bytes": pages * PAGE,
        "fatal": scheme.fatal_shares(members, &redundancy),
        "layout": layout(scheme, members, &redundancy),
    });
    Ok(told.to_string())
}

/// For 0, 1, … missing members of a code with local parities the share of their patterns that lose data.
#[pyfunction]
pub(crate) fn fleet_local_code(data: u32, local: u32, parity: u32) -> String {
    let groups: Vec<u32> = (0..local).map(|at| data / local + u32::from(at < data % local) + 1).collect();
    json!(fatal::of_local_parities(&groups, parity)).to_string()
}

/// What sets schemes over drives apart: `[{"name", "copies", "defers", "memory", "disks", "file", "sizes", "in_rows"}, …]`.
/// `disks`: it needs some beside the drives; `sizes`: it is for drives of different sizes; `in_rows`: a full array of it
/// starts at once.
#[pyfunction]
pub(crate) fn fleet_schemes() -> String {
    let (options, drives) = (RedundancySpec::default(), 8);
    let facts = schemes::SCHEMES.iter().map(|scheme| {
        // Over equal drives these would give up more drives than they survive.
        let data = scheme.data_members.map(|data| data(drives, &options));
        let parities = scheme.fatal_shares(drives, &options).map(|fatal| fatal.len() as u32 - 1);
        let parities = parities.unwrap_or_else(|| scheme.survivable(drives, &options));
        let spreads = (scheme.declustered)(drives, &options).is_some();
        let sizes = !spreads && data.is_some_and(|data| data + parities < drives);
        json!({
            "name": scheme.name,
            "copies": scheme.copies,
            "defers": scheme.defers,
            "memory": scheme.memory,
            "disks": scheme.tried_with.iter().all(|tried| tried.disks > 0),
            "file": scheme.file.is_some(),
            "sizes": sizes,
            "in_rows": scheme.in_rows,
        })
    });
    Value::Array(facts.collect()).to_string()
}

/// Estimates the probability that an array loses data, from the options as JSON; the keys of the result are those of
/// `Found`, for the array as a whole, and the times in words.
#[pyfunction]
pub(crate) fn fleet(py: Python<'_>, options: &str) -> PyResult<String> {
    let options: Value =
        serde_json::from_str(options).map_err(|error| OptionError::new_err(error.to_string()))?;
    let options = Options(options.as_object().cloned().unwrap_or_default());
    let found = detached(py, || options.found())?;
    let told = found.map_err(|wrong| {
        OptionError::new_err(format!("--{}: {}", wrong.field.replace('_', "-"), wrong.message))
    })?;
    Ok(told.to_string())
}

/// The options of the command, by name.
struct Options(Map<String, Value>);

impl Options {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    fn whole(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    fn time(&self, field: &'static str) -> Result<Option<Time>, Invalid> {
        self.text(field).map(|text| Time::parse(field, text)).transpose()
    }

    fn found(&self) -> Result<Value, Invalid> {
        let (group, wanted) = (self.group()?, self.wanted());
        let mut found = estimate(&group, &wanted)?;
        for level in self.0.get("levels").and_then(Value::as_array).into_iter().flatten() {
            let at = |place: usize| level[place].as_u64().unwrap_or(0) as u32;
            found = above(
                &found,
                &group,
                Level { members: at(0), tolerance: at(1), fatal: shares(&level[2])? },
                wanted.years,
            )?;
        }
        let groups = self.number("groups").unwrap_or(1.0);
        Ok(told(&found, &group, groups))
    }

    fn wanted(&self) -> Wanted {
        let usual = Wanted::default();
        let method = self.text("method").unwrap_or("auto");
        let method = Method::NAMES.iter().find(|(name, _)| *name == method);
        Wanted {
            years: self.number("years").unwrap_or(usual.years),
            method: method.map_or(Method::Auto, |(_, method)| *method),
            seed: self.whole("seed").unwrap_or(usual.seed),
            relative_error: self.number("rel_error").unwrap_or(usual.relative_error),
            samples: self.whole("samples").unwrap_or(usual.samples),
            threads: self.whole("threads").unwrap_or(1) as usize,
        }
    }

    fn group(&self) -> Result<Group, Invalid> {
        let life = match (self.text("life"), self.number("afr")) {
            (Some(life), _) => Life::parse(life)?,
            (None, afr) => Life::of_afr(afr.unwrap_or(0.01))?,
        };
        let repair = self.time("mttr_hours")?.unwrap_or(Time::Exponential { mean: 24.0 });
        let count = |name| self.whole(name).unwrap_or(0) as u32;
        let spares = match self.whole("spares") {
            Some(spares) => {
                let restock = self.time("restock_hours")?.unwrap_or(Time::Exponential { mean: 24.0 });
                Some(Spares { count: spares as u32, restock })
            }
            None => None,
        };
        let latent = match (self.number("latent_hours"), self.number("uber")) {
            (Some(mean), _) => Latent::Arising { mean, scrub: self.time("scrub_hours")? },
            (None, Some(uber)) if uber > 0.0 => {
                Latent::OnRead { probability: on_read(uber, self.number("rebuild_bits").unwrap_or(0.0)) }
            }
            _ => Latent::Never,
        };
        let wear = match self.text("wear") {
            Some(life) => {
                let spread = self.number("wear_spread").unwrap_or(0.0);
                Some(Wear { life: Life::parse_as("wear", life)?, spread })
            }
            None => None,
        };
        let plain = Group::new(count("drives"), count("tolerance"), life, repair)?;
        let group = match self.0.get("fatal").map(shares).transpose()?.flatten() {
            Some(fatal) => plain.with_fatal(fatal)?,
            None => plain,
        };
        Ok(Group {
            wear,
            serial: self.text("repair") == Some("serial"),
            detect: self.time("detect_hours")?,
            spares,
            latent,
            shock: self.number("shock").unwrap_or(0.0),
            shock_share: self.number("shock_share"),
            frailty: self.number("batch_frailty").unwrap_or(0.0),
            ..group
        })
    }
}

/// The shares of fatal patterns of failures, if there are any.
fn shares(of: &Value) -> Result<Option<Fatal>, Invalid> {
    let Some(list) = of.as_array() else { return Ok(None) };
    Fatal::new(&list.iter().filter_map(Value::as_f64).collect::<Vec<_>>()).map(Some)
}

fn told(found: &Found, group: &Group, groups: f64) -> Value {
    let of_latent = match group.latent {
        Latent::Arising { scrub, .. } => scrub,
        Latent::Never | Latent::OnRead { .. } => None,
    };
    let on_read = match group.latent {
        Latent::OnRead { probability } => Some(probability),
        _ => None,
    };
    let words = |time: Option<Time>| time.map(|time| time.to_string());
    let stopped = found.sampled.map(|sampled| match sampled.stopped {
        Stopped::Error => "rel_error",
        Stopped::Samples => "samples",
    });
    json!({
        "method": found.method.name(),
        "reason": found.reason,
        "p_loss": {"value": found.p_loss.value, "low": found.p_loss.low, "high": found.p_loss.high},
        "p_any_loss": any(found.p_loss.value, groups),
        "nines": (found.p_loss.value > 0.0).then(|| -libm::log10(found.p_loss.value)),
        "p_loss_by_year": found.by_year,
        "causes": found.causes,
        "losses": found.losses,
        "repeats": found.repeats,
        "unrebuilt": found.unrebuilt,
        "of_members": found.of_members,
        "mttdl_years": found.mttdl_years,
        "samples": found.sampled.map(|sampled| sampled.samples),
        "hits": found.sampled.map(|sampled| sampled.hits),
        "standard_error": found.sampled.map(|sampled| sampled.standard_error),
        "stopped": stopped,
        "afr": -libm::expm1(-group.life.0.cumulative_hazard(YEAR)),
        "on_read": on_read,
        "words": {
            "life": match group.life.0.rate() {
                Some(rate) => format!("exponential, mean {:.0} h", 1.0 / rate),
                None => group.life.0.to_string(),
            },
            "wear": group.wear.map(|wear| wear.life.0.to_string()),
            "mttr_hours": group.repair.to_string(),
            "detect_hours": words(group.detect),
            "restock_hours": words(group.spares.map(|spares| spares.restock)),
            "scrub_hours": words(of_latent),
        },
    })
}
