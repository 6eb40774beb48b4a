//! Synthetic workloads: `synth:NAME[,key=value…]`.
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `requests` | number of requests | 100k, or the paper's |
//! | `write` | the share of writes, 0 to 1 | 0.5, or the paper's |
//! | `size` | bytes of a request: one (`4KiB`) or weighted (`4KiB:0.7/8KiB:0.3`) | a page of the drive |
//! | `offset` | start of the footprint | 0 |
//! | `footprint` | bytes of the range of requests | the drive from `offset` on |
//! | `align` | requests start at multiples of it, counted from `offset` | the smallest size |
//! | `theta` | the skew of `zipf`: the k-th most popular place has weight k^−θ | 0.99 |
//! | `rewrite` | the share of what is written that was written before, 0 to 1 | 0, or the paper's |
//! | `rate` | requests per second, Poisson arrivals; the mean if the workload has bursts | |
//! | `bursts` | `0.1:100`: a tenth of the gaps are pauses, all others 100 times shorter than the mean | none |
//! | `flush_every` | a flush after each that many writes, at the time of the last one; one of the `requests` | none |
//! | `fua` | the share of writes that must be durable before they are acknowledged, 0 to 1 | 0 |
//! | `trim` | the share of requests that are trims instead of what they would be, 0 to 1 | 0 |
//! | `handle` | the placement handle of its writes, for drives with `ftl.handles` | 0 |
//! | `depth` | a closed loop with this many requests outstanding; every arrival is then 0 | 1, without `rate` |
//!
//! Counts and rates take `k`, `M` and `G` (decimal), sizes `KiB`, `MiB`, `GiB`, `TiB`, `KB`, `MB`, `GB` and
//! `TB`; a bare number is bytes.
//!
//! The text, the seed and the drive's size determine a workload: the same requests on every machine.
//! Arrivals, addresses, sizes, ops and FUA come from random streams of their own, so that a change of one does
//! not affect the others.

mod ageing_financial1;
mod ageing_src2;
mod ageing_ts;
mod ageing_wdev;
mod arguments;
mod atc08_exchange;
mod atc08_iozone;
mod atc08_postmark;
mod atc08_random;
mod atc08_sequential;
mod atc08_tpcc;
mod disksim;
mod draw;
mod durable;
mod dvs_financial;
mod dvs_postmark;
mod dvs_random;
mod dvs_sequential;
mod hybrid;
mod manual;
mod number;
mod places;
mod random;
mod rewrites;
mod sequential;
mod sirf_build;
mod sirf_exchange;
mod sirf_fin1;
mod sirf_fin2;
mod sirf_tpcc;
mod threads;
mod zipf;

use arguments::{Arguments, Pace, Size};
use draw::{Arrivals, Bursts, Chance, Sizes};
use durable::Durable;
use places::{Place, Runs};

pub use manual::workload_manual;
pub use number::size;

use crate::random::Random;
use crate::{BATCH, Op, Provenance, Request, Source, TraceError};

/// The properties of a drive that a workload's defaults depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveSize {
    /// Bytes that the host can address.
    pub capacity_bytes: u64,
    /// Bytes in a flash page.
    pub page_bytes: u32,
}

/// A workload: its name and the defaults of its keys.
struct Recipe {
    name: &'static str,
    /// One line on what it is.
    summary: &'static str,
    /// Its file; the comment at the head is its manual page.
    source: &'static str,
    places: Places,
    requests: u64,
    write: f64,
    /// The default of `size`; `None` for a page.
    size: Option<&'static str>,
    /// The default of `footprint`, at most the drive's size; `None` for the whole drive.
    footprint: Option<&'static str>,
    /// Requests a second; `None` for a closed loop.
    rate: Option<f64>,
    /// The bursts and pauses whose mean rate is `rate`; `None` for Poisson arrivals.
    bursts: Option<Bursts>,
    theta: f64,
    /// Of `Threads`: the share of writes whose pages were written before.
    rewrite: f64,
    /// The share of requests that continue where the one before ended; with `Threads`, where the one before of their
    /// thread ended.
    continued: f64,
}

/// How places are chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Places {
    Sequential,
    Random,
    Zipf,
    /// Reads as `Zipf`, writes to new and to earlier places, and several threads in order.
    Threads,
    /// As DiskSim draws them, sizes and arrivals too.
    Disksim,
}

/// The defaults of a recipe's fields.
const PLAIN: Recipe = Recipe {
    name: "",
    summary: "",
    source: "",
    places: Places::Random,
    requests: 100_000,
    write: 0.5,
    size: None,
    footprint: None,
    rate: None,
    bursts: None,
    theta: 0.99,
    rewrite: 0.0,
    continued: 0.0,
};

/// Every workload.
const RECIPES: &[Recipe] = &[
    sequential::RECIPE,
    random::RECIPE,
    zipf::RECIPE,
    sirf_exchange::RECIPE,
    sirf_build::RECIPE,
    sirf_tpcc::RECIPE,
    sirf_fin1::RECIPE,
    sirf_fin2::RECIPE,
    dvs_sequential::RECIPE,
    dvs_random::RECIPE,
    dvs_postmark::RECIPE,
    dvs_financial::RECIPE,
    ageing_src2::RECIPE,
    ageing_ts::RECIPE,
    ageing_wdev::RECIPE,
    ageing_financial1::RECIPE,
    atc08_random::RECIPE,
    atc08_sequential::RECIPE,
    atc08_tpcc::RECIPE,
    atc08_exchange::RECIPE,
    atc08_iozone::RECIPE,
    atc08_postmark::RECIPE,
    hybrid::USR,
    hybrid::SRC1,
    hybrid::SRC2,
    hybrid::PROJ,
    hybrid::PROXY,
    hybrid::LIVEMAPS,
    hybrid::DEVELOP,
    hybrid::MSNFILE,
    hybrid::EXCHANGE,
];

/// The names of all workloads, each with a line on what it is.
pub fn workloads() -> impl Iterator<Item = (&'static str, &'static str)> {
    RECIPES.iter().map(|recipe| (recipe.name, recipe.summary))
}

/// Whether `text` names a synthetic workload and not a file.
#[must_use]
pub fn is_synthetic(text: &str) -> bool {
    text.starts_with(arguments::PREFIX)
}

/// Whether the workload determines its footprint itself, so that no drive need be given.
#[must_use]
pub fn has_footprint(text: &str) -> bool {
    let name = text.trim_start_matches(arguments::PREFIX).split(',').next().unwrap_or_default();
    let own = RECIPES.iter().any(|recipe| recipe.name == name && recipe.footprint.is_some());
    own || text.contains(",footprint=")
}

/// The workload `text` describes, `synth:NAME[,key=value…]`, for a drive of a size.
///
/// # Errors
/// An unknown name or key, a value out of range, a footprint that the drive does not have.
pub fn synthetic(text: &str, seed: u64, drive: &DriveSize) -> Result<Box<dyn Source>, TraceError> {
    let arguments = Arguments::parse(text, drive)?;
    let durability = arguments.commands;
    let source = of_arguments(arguments, seed);
    Ok(if durability.is_needed() { Durable::boxed(source, durability, seed) } else { source })
}

/// The requests of a workload, without flushes and FUA.
fn of_arguments(arguments: Arguments, seed: u64) -> Box<dyn Source> {
    let slots = (arguments.footprint_bytes / arguments.align_bytes).max(1);
    let footprint =
        places::Footprint { bytes: arguments.footprint_bytes, align_bytes: arguments.align_bytes };
    let stream = Random::stream(seed, "addresses");
    match arguments.recipe.places {
        Places::Disksim => disksim::Disksim::boxed(arguments, seed),
        Places::Threads => {
            let zipf = zipf::Zipf::new(footprint, slots, arguments.theta, stream);
            let rewrites = rewrites::Rewrites::new(arguments.rewrite, footprint, seed);
            let (continued, stream) = (arguments.recipe.continued, Random::stream(seed, "threads"));
            let threads = threads::Threads::new(zipf, rewrites, footprint, continued, stream);
            Workload::boxed(arguments, seed, threads)
        }
        Places::Sequential => Workload::boxed(arguments, seed, sequential::Sequential::new(footprint)),
        Places::Random => Workload::boxed(arguments, seed, random::Uniform::new(footprint, stream)),
        Places::Zipf => {
            let zipf = zipf::Zipf::new(footprint, slots, arguments.theta, stream);
            if arguments.recipe.continued > 0.0 {
                let runs = Random::stream(seed, "runs");
                let runs = Runs::new(zipf, footprint, Chance::new(arguments.recipe.continued), runs);
                Workload::boxed(arguments, seed, runs)
            } else {
                Workload::boxed(arguments, seed, zipf)
            }
        }
    }
}

/// A workload being generated.
struct Workload<P> {
    name: String,
    requests: u64,
    made: u64,
    depth: Option<u32>,
    offset: u64,
    /// The first byte of its footprint, and how many there are.
    extent: (u64, u64),
    places: P,
    sizes: Sizes,
    size_stream: Random,
    writes: Chance,
    op_stream: Random,
    arrivals: Arrivals,
}

impl<P: Place + 'static> Workload<P> {
    fn boxed(arguments: Arguments, seed: u64, places: P) -> Box<dyn Source> {
        let (arrivals, depth) = match arguments.pace {
            Pace::Rate(per_second) => (Arrivals::timed(per_second, arguments.bursts, seed), None),
            Pace::Depth(depth) => (Arrivals::AtOnce, Some(depth)),
        };
        Box::new(Workload {
            name: arguments.text,
            requests: arguments.requests,
            made: 0,
            depth,
            offset: arguments.offset,
            extent: (arguments.offset, arguments.footprint_bytes),
            places,
            sizes: Sizes::new(&arguments.sizes),
            size_stream: Random::stream(seed, "sizes"),
            writes: Chance::new(arguments.write),
            op_stream: Random::stream(seed, "ops"),
            arrivals,
        })
    }
}

impl<P: Place> Source for Workload<P> {
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError> {
        let count = (self.requests - self.made).min(BATCH as u64);
        batch.reserve(count as usize);
        for _ in 0..count {
            let length = self.sizes.draw(&mut self.size_stream);
            let op = if self.writes.draw(&mut self.op_stream) { Op::Write } else { Op::Read };
            batch.push(Request {
                arrival_ns: self.arrivals.next_ns(),
                offset: self.offset + self.places.next(length, op),
                length,
                device: 0,
                op,
                fua: false,
                handle: 0,
            });
        }
        self.made += count;
        Ok(count as usize)
    }

    fn total(&self) -> Option<u64> {
        Some(self.requests)
    }

    fn share_done(&self) -> Option<f64> {
        Some(self.made as f64 / self.requests as f64)
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            name: self.name.clone(),
            format: "synthetic".into(),
            synthetic: true,
            depth: self.depth,
            extent: Some(self.extent),
        }
    }
}

#[cfg(test)]
mod tests;
