//! `hybrid-…`: stand-ins for the nine traces of the hybrid SSD and disk backup paper.
//!
//! *Published*: reads and writes (Table 2); of the writes, sequences and the mean lengths of requests and of
//! sequences, in pages (Table 3). A sequence is what one thread writes in order; other threads' requests come
//! in between, and sorting by address restores it ([`info`](crate::info()) counts them so).
//!
//! *Where the tables disagree*, with themselves or with each other:
//! - SRC1 and SRC2 are swapped between Table 2 and Tables 3 and 5. `hybrid-src1` writes 16.3 M times, as
//!   there and as src1_0 of MSR Cambridge; `hybrid-src2` writes 2.2 M times, as src1_1;
//! - requests ÷ sequences × mean length of a request should be the mean length of a sequence. SRC1 and SRC2
//!   deviate by 2.7 and 2.4 %, MSNFile by 3.7, Develop by 5.5, Exchange by 7.5 %. Each of the three figures
//!   is adjusted by a third of that;
//! - LiveMaps is off by a factor of five. Its lengths are kept, and 148,815 sequences are read as 745,000;
//! - Proxy has no row in Table 3. Ours: lengths as USR's, 7 and 12 pages;
//! - Table 2's writes are taken where Table 3 has up to 20,000 more. USR's do not add up to a round number,
//!   as all others do; they are taken as printed.
//!
//! *Rewrites*, the share of what is written that was written before. The paper says of a related scheme that
//! applications overwrite a lot and seldom read what they wrote recently (section 5). How much, is published
//! elsewhere:
//! - USR, SRC1, SRC2 and Proj, volumes of MSR Cambridge: 0.84, the share over all its 36 volumes (2.01 of
//!   2.39 TiB written: Li et al., An in-depth analysis of cloud block storage workloads in production, IISWC
//!   2020; not checked against the text, of which only the abstract was at hand). A count per volume is only
//!   known of reads and writes together: libCacheSim's tables have 5,659,341 different addresses for src1_0, so
//!   at least 65 % of SRC1's writes are rewrites;
//! - Proxy (prxy_1): 0.993, from 390,226 different addresses in the same tables and 58.2 M writes;
//! - LiveMaps, Develop, MSNFile and Exchange: no count was found. 0.5, the bottom of the range: a log that
//!   drops what is overwritten halves the writes to an SSD on Windows traces, Exchange's among them
//!   (Soundararajan et al., Extending SSD lifetimes with disk-based write caches, FAST 2010).
//!
//! *Ours*, not given in the paper; in each case the plainest choice that fits:
//! - a page is 4 KiB, the size of which the paper computes its disk's rate. Published totals speak for about
//!   half of it: all requests to src1_0 have 1.65 TB (Salkhordeh et al., IEEE TPDS 2019, Table 2), and 16.3 M
//!   writes of 25 pages of 4 KiB alone would have 1.67 TB. Sizes are 4, 16 and 64 KiB (30 % the middle one) or
//!   4, 64 and 256 KiB (40 %), in the shares that give the mean;
//! - four threads write sequences, of geometrically distributed length, 32 requests on average; the share of
//!   requests in them is chosen to give the published number of sequences. The others have random places,
//!   each a sequence of its own;
//! - reads have the lengths and the sequences of the writes, and four threads of their own;
//! - a new sequence of reads begins by Zipf (θ = 0.9) over 128 GiB, aligned to 4 KiB: nearly all of the paper's
//!   SSD of 160 GB. One of writes begins anywhere there, or writes an earlier one again, each of the last
//!   million equally likely; single requests rewrite earlier ones of the same length;
//! - the mean rate is all requests over the time of the recording: a week for those of MSR Cambridge, and a
//!   day for the others (LiveMaps and Exchange by the paper, Develop and MSNFile by analogy);
//! - in bursts: one gap in a thousand is a pause, the others are of a twentieth of the mean, so that the
//!   memory between SSD and disk has bursts to absorb.

use super::draw::Bursts;
use super::{Places, Recipe};

const WEEK_S: f64 = 604_800.0;
const DAY_S: f64 = 86_400.0;

/// What the paper says of a trace, fitted.
struct FittedTrace {
    reads: u64,
    writes: u64,
    /// The share of requests that continue a sequence: 1 − sequences / requests.
    continued: f64,
    size: &'static str,
    rewrite: f64,
    recorded_s: f64,
}

/// All volumes of MSR Cambridge together.
const MSR_REWRITES: f64 = 0.84;
/// The bottom of the published range.
const LEAST_REWRITES: f64 = 0.5;

const fn recipe(name: &'static str, summary: &'static str, trace: &FittedTrace) -> Recipe {
    let requests = trace.reads + trace.writes;
    Recipe {
        name,
        summary,
        source: include_str!("hybrid.rs"),
        places: Places::Threads,
        requests,
        write: trace.writes as f64 / requests as f64,
        size: Some(trace.size),
        footprint: Some("128GiB"),
        rate: Some(requests as f64 / trace.recorded_s),
        bursts: Some(Bursts { pauses: 0.001, speedup: 20.0 }),
        theta: 0.9,
        rewrite: trace.rewrite,
        continued: trace.continued,
    }
}

pub(super) const USR: Recipe = recipe(
    "hybrid-usr",
    "as USR in the hybrid backup's Tables 2 and 3: 8.5 % writes of 28 KiB, sequences of 48 KiB",
    &FittedTrace {
        reads: 41_362_884,
        writes: 3_837_166,
        continued: 0.4162,
        size: "4KiB:0.3598/16KiB:0.3/64KiB:0.3402",
        rewrite: MSR_REWRITES,
        recorded_s: WEEK_S,
    },
);

pub(super) const SRC1: Recipe = recipe(
    "hybrid-src1",
    "as SRC1 in the hybrid backup's Tables 2 and 3: 44 % writes of 100 KiB, sequences of 176 KiB",
    &FittedTrace {
        reads: 21_110_497,
        writes: 16_289_503,
        continued: 0.4215,
        size: "4KiB:0.3107/64KiB:0.4/256KiB:0.2893",
        rewrite: MSR_REWRITES,
        recorded_s: WEEK_S,
    },
);

pub(super) const SRC2: Recipe = recipe(
    "hybrid-src2",
    "as SRC2 in the hybrid backup's Tables 2 and 3: 4.7 % writes of 28 KiB, sequences of 44 KiB",
    &FittedTrace {
        reads: 43_544_675,
        writes: 2_155_325,
        continued: 0.3534,
        size: "4KiB:0.3563/16KiB:0.3/64KiB:0.3437",
        rewrite: MSR_REWRITES,
        recorded_s: WEEK_S,
    },
);

pub(super) const PROJ: Recipe = recipe(
    "hybrid-proj",
    "as Proj in the hybrid backup's Tables 2 and 3: 17 % writes of 72 KiB, sequences of 136 KiB",
    &FittedTrace {
        reads: 47_281_632,
        writes: 9_818_368,
        continued: 0.4697,
        size: "4KiB:0.4252/64KiB:0.4/256KiB:0.1748",
        rewrite: MSR_REWRITES,
        recorded_s: WEEK_S,
    },
);

pub(super) const PROXY: Recipe = recipe(
    "hybrid-proxy",
    "as Proxy in the hybrid backup's Table 2: 35 % writes; lengths as hybrid-usr",
    &FittedTrace {
        reads: 110_389_290,
        writes: 58_210_710,
        continued: 0.4167,
        size: "4KiB:0.36/16KiB:0.3/64KiB:0.34",
        rewrite: 0.993,
        recorded_s: WEEK_S,
    },
);

pub(super) const LIVEMAPS: Recipe = recipe(
    "hybrid-livemaps",
    "as LiveMaps in the hybrid backup's Tables 2 and 3: 22 % writes of 124 KiB, sequences of 1.8 MiB",
    &FittedTrace {
        reads: 38_616_344,
        writes: 11_033_656,
        continued: 0.9325,
        size: "4KiB:0.219/64KiB:0.4/256KiB:0.381",
        rewrite: LEAST_REWRITES,
        recorded_s: DAY_S,
    },
);

pub(super) const DEVELOP: Recipe = recipe(
    "hybrid-develop",
    "as Develop in the hybrid backup's Tables 2 and 3: 32 % writes of 60 KiB, sequences of 192 KiB",
    &FittedTrace {
        reads: 12_324_273,
        writes: 5_865_727,
        continued: 0.6758,
        size: "4KiB:0.4686/64KiB:0.4/256KiB:0.1314",
        rewrite: LEAST_REWRITES,
        recorded_s: DAY_S,
    },
);

pub(super) const MSNFILE: Recipe = recipe(
    "hybrid-msnfile",
    "as MSNFile in the hybrid backup's Tables 2 and 3: 33 % writes of 20 KiB, sequences of 28 KiB",
    &FittedTrace {
        reads: 19_725_455,
        writes: 9_614_545,
        continued: 0.2677,
        size: "4KiB:0.4892/16KiB:0.3/64KiB:0.2108",
        rewrite: LEAST_REWRITES,
        recorded_s: DAY_S,
    },
);

pub(super) const EXCHANGE: Recipe = recipe(
    "hybrid-exchange",
    "as Exchange in the hybrid backup's Tables 2 and 3: 56 % writes of 28 KiB, sequences of 48 KiB",
    &FittedTrace {
        reads: 25_246_721,
        writes: 31_823_279,
        continued: 0.4452,
        size: "4KiB:0.3716/16KiB:0.3/64KiB:0.3284",
        rewrite: LEAST_REWRITES,
        recorded_s: DAY_S,
    },
);
