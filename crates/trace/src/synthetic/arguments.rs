//! The parameters of `synth:NAME[,key=value…]`, checked.

use super::draw::Bursts;
use super::durable::CommandKeys;
use super::number::{count, decimal, size};
use super::{DriveSize, Places, RECIPES, Recipe};
use crate::suggest::unknown;
use crate::{HANDLES, TraceError};

/// Marks a synthetic workload.
pub(super) const PREFIX: &str = "synth:";

const KEYS: &[&str] = &[
    "requests",
    "write",
    "size",
    "footprint",
    "offset",
    "align",
    "theta",
    "rewrite",
    "rate",
    "bursts",
    "depth",
    "flush_every",
    "fua",
    "trim",
    "handle",
];

/// The keys of a workload.
pub(super) fn keys(recipe: &Recipe) -> impl Iterator<Item = &'static str> {
    let places = recipe.places;
    KEYS.iter().copied().filter(move |key| match *key {
        "theta" => matches!(places, Places::Zipf | Places::Threads),
        "rewrite" => places == Places::Threads,
        "size" | "align" | "bursts" => places != Places::Disksim,
        _ => true,
    })
}

/// The largest Zipf exponent accepted: beyond it nearly all requests go to one place.
const THETA_MAX: f64 = 5.0;

/// One request per nanosecond.
const RATE_MAX: f64 = 1e9;

/// A size and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) bytes: u32,
    pub(super) weight: f64,
}

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// Poisson arrivals with this many requests a second.
    Rate(f64),
    /// A fixed number of outstanding requests.
    Depth(u32),
}

/// A workload's parameters, each in range and consistent with the others.
pub(super) struct Arguments {
    pub(super) text: String,
    pub(super) recipe: &'static Recipe,
    pub(super) requests: u64,
    pub(super) write: f64,
    pub(super) sizes: Vec<Size>,
    pub(super) footprint_bytes: u64,
    pub(super) offset: u64,
    pub(super) align_bytes: u64,
    pub(super) theta: f64,
    /// The share of writes whose pages were written before.
    pub(super) rewrite: f64,
    pub(super) pace: Pace,
    /// Whether the rate is the mean of bursts and pauses.
    pub(super) bursts: Option<Bursts>,
    pub(super) commands: CommandKeys,
}

/// The keys that were given.
struct Given<'a> {
    text: &'a str,
    pairs: Vec<(&'static str, &'a str)>,
}

impl<'a> Given<'a> {
    fn parse(text: &'a str) -> Result<(&'static Recipe, Self), TraceError> {
        let body = text.strip_prefix(PREFIX).unwrap_or(text);
        let mut parts = body.split(',');
        let name = parts.next().unwrap_or_default();
        let recipe = RECIPES.iter().find(|recipe| recipe.name == name).ok_or_else(|| {
            let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
            TraceError::new(text, unknown("workload", name, &names))
        })?;
        let mut given = Given { text, pairs: Vec::new() };
        for part in parts {
            given.add(recipe, part)?;
        }
        Ok((recipe, given))
    }

    fn add(&mut self, recipe: &Recipe, part: &'a str) -> Result<(), TraceError> {
        let Some((found, value)) = part.split_once('=') else {
            return Err(TraceError::new(self.text, format!("found `{part}`; accepted: key=value")));
        };
        let accepted: Vec<&'static str> = keys(recipe).collect();
        let Some(&key) = accepted.iter().find(|&&key| key == found) else {
            return Err(TraceError::new(self.text, unknown("key", found, &accepted)));
        };
        if self.value(key).is_some() {
            return Err(self.error(key, "given twice; accepted: once"));
        }
        self.pairs.push((key, value));
        Ok(())
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn error(&self, key: &str, message: impl Into<String>) -> TraceError {
        TraceError::new(self.text, message).field(key)
    }

    /// Parses a key's value with `parse`, whose error says which values are accepted.
    fn parsed<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, TraceError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        parse(value)
            .map(Some)
            .map_err(|accepted| self.error(key, format!("found `{value}`; accepted: {accepted}")))
    }
}

impl Arguments {
    pub(super) fn parse(text: &str, drive: &DriveSize) -> Result<Self, TraceError> {
        let (recipe, given) = Given::parse(text)?;
        let requests = given.parsed("requests", |value| at_least_1(value, "100000, 100k or 1M"))?;
        let write = given.parsed("write", share)?;
        let theta = given.parsed("theta", |value| {
            let accepted = || format!("a skew from 0 (none) to {THETA_MAX}, such as 0.99");
            decimal(value).filter(|theta| *theta <= THETA_MAX).ok_or_else(accepted)
        })?;
        let sizes = sizes(&given, recipe, drive)?;
        let (offset, footprint_bytes) = extent(&given, recipe, drive)?;
        let largest = sizes.iter().map(|size| size.bytes).max().unwrap_or(0);
        if u64::from(largest) > footprint_bytes {
            let message = format!(
                "found requests of {largest} bytes; accepted: up to the footprint, {footprint_bytes} bytes"
            );
            return Err(given.error("size", message));
        }
        let pace = pace(&given, recipe)?;
        Ok(Arguments {
            text: text.into(),
            recipe,
            requests: requests.unwrap_or(recipe.requests),
            write: write.unwrap_or(recipe.write),
            align_bytes: align(&given, &sizes, footprint_bytes)?,
            sizes,
            footprint_bytes,
            offset,
            theta: theta.unwrap_or(recipe.theta),
            rewrite: given.parsed("rewrite", share)?.unwrap_or(recipe.rewrite),
            bursts: bursts(&given, recipe, pace)?,
            pace,
            commands: CommandKeys {
                flush_every: given.parsed("flush_every", |value| at_least_1(value, "100 or 1k"))?,
                fua: given.parsed("fua", share)?.unwrap_or(0.0),
                trim: given.parsed("trim", share)?.unwrap_or(0.0),
                handle: given.parsed("handle", handle)?.unwrap_or(0),
            },
        })
    }
}

fn at_least_1(value: &str, examples: &str) -> Result<u64, String> {
    match count(value) {
        Ok(0) | Err(_) => Err(format!("a whole number from 1, such as {examples}")),
        count => count,
    }
}

fn handle(value: &str) -> Result<u8, String> {
    let handle = value.parse::<u8>().ok().filter(|handle| *handle < HANDLES);
    handle.ok_or_else(|| format!("a placement handle from 0 to {}", HANDLES - 1))
}

fn share(value: &str) -> Result<f64, String> {
    let share = decimal(value).filter(|share| *share <= 1.0);
    share.ok_or_else(|| "a share from 0 to 1, such as 0.3".into())
}

fn sizes(given: &Given<'_>, recipe: &Recipe, drive: &DriveSize) -> Result<Vec<Size>, TraceError> {
    match (given.parsed("size", weighted_sizes)?, recipe.size) {
        (Some(sizes), _) => Ok(sizes),
        (None, Some(sizes)) => weighted_sizes(sizes).map_err(|message| given.error("size", message)),
        (None, None) if drive.page_bytes == 0 => {
            Err(given.error("size", "missing, and the drive has no page size"))
        }
        (None, None) => Ok(vec![Size { bytes: drive.page_bytes, weight: 1.0 }]),
    }
}

/// One size, or several with their weights.
fn weighted_sizes(text: &str) -> Result<Vec<Size>, String> {
    let accepted = || {
        "one size from 1 byte to below 4 GiB, such as 4KiB, or several, each with a positive weight: \
                       4KiB:0.7/8KiB:0.3"
            .to_owned()
    };
    let bytes =
        |text: &str| size(text).and_then(|bytes| u32::try_from(bytes).ok()).filter(|bytes| *bytes > 0);
    if !text.contains([':', '/']) {
        return Ok(vec![Size { bytes: bytes(text).ok_or_else(accepted)?, weight: 1.0 }]);
    }
    let one = |part: &str| {
        let (text, weight) = part.split_once(':')?;
        Some(Size { bytes: bytes(text)?, weight: decimal(weight).filter(|weight| *weight > 0.0)? })
    };
    text.split('/').map(|part| one(part).ok_or_else(accepted)).collect()
}

/// Where the footprint begins and how long it is.
fn extent(given: &Given<'_>, recipe: &Recipe, drive: &DriveSize) -> Result<(u64, u64), TraceError> {
    let capacity = drive.capacity_bytes;
    let a_size =
        |text: &str| size(text).ok_or_else(|| "a size in bytes, such as 8GiB or 8589934592".to_owned());
    let offset = given.parsed("offset", a_size)?.unwrap_or(0);
    if offset >= capacity {
        let message = format!("found {offset} bytes; accepted: below the drive's capacity, {capacity} bytes");
        return Err(given.error("offset", message));
    }
    let rest = capacity - offset;
    let by_recipe = recipe.footprint.and_then(size).unwrap_or(rest).min(rest);
    let footprint = given.parsed("footprint", a_size)?.unwrap_or(by_recipe);
    if footprint > rest {
        let message = format!(
            "found {footprint} bytes; accepted: up to {rest} bytes, the drive's capacity of {capacity} bytes \
             less the offset of {offset} bytes"
        );
        return Err(given.error("footprint", message));
    }
    Ok((offset, footprint))
}

fn align(given: &Given<'_>, sizes: &[Size], footprint_bytes: u64) -> Result<u64, TraceError> {
    let smallest = sizes.iter().map(|size| u64::from(size.bytes)).min().unwrap_or(1);
    let given = given.parsed("align", |text| {
        let accepted = || "a size from 1 byte to the footprint, such as 4KiB".to_owned();
        size(text).filter(|bytes| (1..=footprint_bytes).contains(bytes)).ok_or_else(accepted)
    })?;
    Ok(given.unwrap_or(smallest))
}

fn pace(given: &Given<'_>, recipe: &Recipe) -> Result<Pace, TraceError> {
    let rate = given.parsed("rate", |text| {
        let accepted = || "requests a second above 0 and up to 1G, such as 20k or 0.5".to_owned();
        decimal(text).filter(|rate| *rate > 0.0 && *rate <= RATE_MAX).ok_or_else(accepted)
    })?;
    let depth = given.parsed("depth", |text| {
        let accepted = || "a whole number of outstanding requests from 1".to_owned();
        count(text)
            .ok()
            .and_then(|depth| u32::try_from(depth).ok())
            .filter(|depth| *depth > 0)
            .ok_or_else(accepted)
    })?;
    match (rate, depth, recipe.rate) {
        (Some(_), Some(_), _) => Err(given
            .error("depth", "given together with rate; accepted: one of the two, an open or a closed loop")),
        (Some(rate), None, _) | (None, None, Some(rate)) => Ok(Pace::Rate(rate)),
        (None, depth, _) => Ok(Pace::Depth(depth.unwrap_or(1))),
    }
}

fn bursts(given: &Given<'_>, recipe: &Recipe, pace: Pace) -> Result<Option<Bursts>, TraceError> {
    let bursts = given.parsed("bursts", |text| {
        let accepted = || {
            "the share of gaps that are pauses, between 0 and 1, and how much faster requests come between \
             them, above 1, such as 0.1:100"
                .to_owned()
        };
        let (pauses, speedup) = text.split_once(':').ok_or_else(accepted)?;
        let pauses = decimal(pauses).filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(accepted)?;
        let speedup = decimal(speedup).filter(|speedup| *speedup > 1.0).ok_or_else(accepted)?;
        Ok(Bursts { pauses, speedup })
    })?;
    match pace {
        Pace::Depth(_) if bursts.is_some() => {
            Err(given.error("bursts", "given to a closed loop; accepted: together with rate"))
        }
        _ => Ok(bursts.or(recipe.bursts)),
    }
}
