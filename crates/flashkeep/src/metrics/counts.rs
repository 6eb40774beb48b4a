//! Counts by cause and what they make of each other, of a drive, an array or a member.

use super::{figures, unit};
use crate::drive::{Counters, Kind};
use crate::engine::Cause;
use crate::front::Hits;
use crate::kernel::Span;
use serde_json::{Map, Value, json};

/// A ratio, or null where it has no value.
pub(super) fn per(part: f64, whole: f64) -> Value {
    if whole > 0.0 { json!(part / whole) } else { Value::Null }
}

figures! {
    /// How the DRAM served the host, in sectors.
    pub(super) struct BufferHits {
        /// Sectors of reads that the DRAM held.
        read_hits: u64 => unit("sectors").higher(),
        /// Sectors of reads that had to come from the media.
        read_misses: u64 => unit("sectors").lower(),
        /// Sectors of writes whose old version the DRAM still held.
        write_hits: u64 => unit("sectors").higher(),
        /// Sectors of writes that were new to the DRAM.
        write_misses: u64 => unit("sectors").lower(),
    }
}

impl BufferHits {
    pub(super) fn new(hits: Hits) -> Self {
        let Hits { read_hits, read_misses, write_hits, write_misses } = hits;
        BufferHits { read_hits, read_misses, write_hits, write_misses }
    }
}

/// Pages by kind and cause. Every cause that any scheme can have is there, so that scripts need not ask.
pub(super) fn operations(of: impl Fn(Kind, Cause) -> u64) -> Value {
    let mut all = Map::new();
    for kind in Kind::ALL {
        let causes = Cause::ALL.into_iter().map(|cause| (cause.name().to_owned(), json!(of(kind, cause))));
        all.insert(kind.name().to_owned(), Value::Object(causes.collect()));
    }
    Value::Object(all)
}

/// Pages programmed for each page that the host wrote: 1 and the parts add up to the total. Where a page of the flash
/// has several places, those that stayed empty are a part.
pub(super) fn write_amplification(counters: &Counters, places: u32, host_pages: u64) -> Value {
    let programs = |causes: &[Cause]| causes.iter().map(|&cause| programs_for(counters, cause)).sum::<u64>();
    let part = |causes: &[Cause]| per(programs(causes) as f64, host_pages as f64);
    let host = programs(&[Cause::Host, Cause::Update]) as f64 - host_pages as f64;
    let empty = counters.empty_places;
    let mut all = json!({
        "total": per((programs(&Cause::ALL) + empty) as f64, host_pages as f64),
        "buffer": per(host, host_pages as f64),
        "mirror": part(&[Cause::Mirror]),
        "gc": part(&[Cause::Gc]),
        "parity": part(&[Cause::Parity, Cause::PartialParity, Cause::ParityGc]),
        "wear": part(&[Cause::Wear, Cause::Migrate]),
        "metadata": part(&[Cause::Metadata]),
        "rebuild": part(&[Cause::Rebuild]),
    });
    if places > 1 {
        all["empty"] = per(empty as f64, host_pages as f64);
    }
    all
}

/// Pages programmed for a cause, with or without crossing the pins.
fn programs_for(counters: &Counters, cause: Cause) -> u64 {
    counters.of(Kind::Program, cause) + counters.of(Kind::Copyback, cause)
}

/// The share of a span that channels and units were busy.
pub(super) fn utilization([channels, units]: &[Vec<Span>; 2], within: Span) -> Value {
    let share = |busy: &Span| per(busy.0 as f64, within.0 as f64);
    let sum: u64 = units.iter().map(|busy| busy.0).sum();
    let most = units.iter().max().copied().unwrap_or_default();
    json!({
        "channel": channels.iter().map(share).collect::<Vec<_>>(),
        "die_mean": per(sum as f64, within.0 as f64 * units.len() as f64),
        "die_max": share(&most),
    })
}
