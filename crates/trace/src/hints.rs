//! Warnings about traces with readable but implausible records: units, op codes.
//!
//! *Time.* More than 10 million requests per second, or a span of more than a year, is not plausible: the time unit
//! differs from the format's. In formats to which people convert traces, more than 200,000 requests per second within
//! less than ten seconds are not plausible either: the busiest public traces have some 50,000.
//!
//! *Addresses and sizes*, in the same formats. Not plausible are a mean request above 1 MiB, an address above 64 TiB, and
//! addresses and sizes that are all multiples of 64 sectors or more, if the sizes differ (`formats/sectors.rs`).
//!
//! *Op codes.* SSDSim writes with 0, others with 1, and a trace that was converted with inverted codes is
//! read without an error. Two properties of real workloads reveal it: a place that is read is often written soon after
//! (read, modify, write), while a place that was just written is seldom read soon after, because the host's cache still
//! holds it; and for the same reason a place is rewritten soon more often than reread soon. Within 64 requests of the
//! same first byte, the public traces that have such pairs (CloudPhysics, Exchange, Financial1, Tencent) show the first
//! pattern 1.8 to 16 times as often as its opposite, and the second 2 to 44 times; random synthetic workloads show
//! neither. A warning is given if 200 places or more are read soon after a write, at least 1.5 times as often as they
//! are written soon after a read, and if there are more rereads than rewrites. It is not an error: traces without such
//! pairs decide nothing, and a job that repeatedly reads the data it wrote looks the same.

use crate::formats::{Units, likely_sector_bytes};
use crate::random::mix;
use crate::{Op, Request};

/// With fewer requests no warning is given about rates that are possible and unusual, or that all arrive at once.
const ENOUGH_REQUESTS: u64 = 100;

/// With fewer requests no warning is given about rates that are impossible.
const ENOUGH_FOR_IMPOSSIBLE: u64 = 20;

/// With fewer requests no warning about sizes is given.
const ENOUGH_SIZES: u64 = 100;

/// More requests a second than any device takes.
const REQUESTS_PER_SECOND_MAX: u64 = 10_000_000;

/// More requests a second than a trace of less than [`SHORT_NS`] is believed to have.
const REQUESTS_PER_SECOND_USUAL: u64 = 200_000;

/// Recordings are longer.
const SHORT_NS: u64 = 10_000_000_000;

/// Requests are smaller on average: hosts split larger ones.
const MEAN_BYTES_MAX: u64 = 1 << 20;

/// Devices are smaller.
const ADDRESS_MAX: u64 = 64 << 40;

/// The sector that a format assumes.
const SECTOR: u64 = 512;

/// Longer than any real recording.
const SPAN_NS_MAX: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// The resolution of the coarsest clock of all formats.
const COARSE_NS: u64 = 1_000_000_000;

/// "Soon" means within this many requests.
const SOON: u64 = 64;

/// How many requests of a trace the check of op codes looks at.
const LOOKED_AT: u64 = 1_000_000;

/// With fewer pairs no warning is given.
const ENOUGH_PAIRS: u64 = 200;

/// Statistics of the requests seen so far.
pub(crate) struct Hints {
    requests: u64,
    last_ns: u64,
    units: Units,
    /// Whether the user has scaled the times, and whether the size of a sector was given or found.
    pub(crate) time_is_known: bool,
    pub(crate) sizes_are_known: bool,
    /// For formats whose units may be wrong.
    sizes: Option<Sizes>,
    /// For formats with op codes: which op follows which.
    pairs: Option<Box<Pairs>>,
}

/// Addresses and sizes of requests.
#[derive(Default)]
struct Sizes {
    requests: u64,
    bytes: u64,
    /// All bits that addresses and sizes have.
    bits: u64,
    end: u64,
    /// The length of the first request, and whether all have it.
    first: u32,
    differ: bool,
}

impl Sizes {
    #[inline]
    fn observe(&mut self, request: &Request) {
        if request.length == 0 {
            return;
        }
        let length = u64::from(request.length);
        self.first = if self.requests == 0 { request.length } else { self.first };
        self.differ |= request.length != self.first;
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(length);
        self.bits |= request.offset | length;
        self.end = self.end.max(request.offset + length);
    }

    /// The sectors of [`SECTOR`] bytes that divide all addresses and sizes, if these differ.
    fn divisor(&self) -> Option<u64> {
        let divisor = 1_u64.checked_shl(self.bits.trailing_zeros()).unwrap_or(0) / SECTOR;
        (self.differ && likely_sector_bytes(divisor).is_some()).then_some(divisor)
    }

    /// The warning about sizes; `in_sectors` if the format counts sectors.
    fn warning(&self, in_sectors: bool) -> Option<String> {
        if self.requests < ENOUGH_SIZES {
            return None;
        }
        let mean = self.bytes / self.requests;
        let divisor = self.divisor().filter(|_| in_sectors);
        if divisor.is_none() && mean <= MEAN_BYTES_MAX && self.end <= ADDRESS_MAX {
            return None;
        }
        let multiples = divisor.map_or(String::new(), |divisor| {
            format!("all addresses and sizes are multiples of {divisor} sectors of {SECTOR} bytes, ")
        });
        let found = format!(
            "{multiples}the mean request has {} and the highest address is {}; usual are requests of 4 KiB to 512 KiB",
            size(mean),
            size(self.end)
        );
        let sector_bytes = divisor.and_then(likely_sector_bytes);
        let correction = match sector_bytes {
            _ if !in_sectors => "see the units of offset and size in --columns".to_owned(),
            Some(bytes) if bytes > 1 => {
                format!(
                    "sectors may have {bytes} bytes, which makes these multiples 4 KiB: --sector-bytes {bytes}"
                )
            }
            _ => {
                let (mean, end) = (size(mean / SECTOR), size(self.end / SECTOR));
                format!("they may be bytes: --sector-bytes 1 (mean request {mean}, highest address {end})")
            }
        };
        Some(format!("the unit of addresses and sizes looks wrong: {found}; {correction}"))
    }
}

/// Pairs of requests for the same first byte within [`SOON`] requests of one another.
struct Pairs {
    /// The last request of each place, at the slot of the place's hash: hash, number, op.
    recent: [(u64, u64, Op); Pairs::SLOTS],
    read_then_written: u64,
    written_then_read: u64,
    reread: u64,
    rewritten: u64,
}

impl Pairs {
    /// Many more slots than recent requests, so that few of them collide.
    const SLOTS: usize = 1024;

    fn new() -> Self {
        Pairs {
            recent: [(0, 0, Op::Trim); Pairs::SLOTS],
            read_then_written: 0,
            written_then_read: 0,
            reread: 0,
            rewritten: 0,
        }
    }

    #[inline]
    fn observe(&mut self, number: u64, request: &Request) {
        let place = mix(request.offset ^ u64::from(request.device) << 56);
        let slot = &mut self.recent[place as usize % Pairs::SLOTS];
        let (known, then, op) = std::mem::replace(slot, (place, number, request.op));
        if known == place && number - then <= SOON {
            match (op, request.op) {
                (Op::Read, Op::Write) => self.read_then_written += 1,
                (Op::Write, Op::Read) => self.written_then_read += 1,
                (Op::Read, Op::Read) => self.reread += 1,
                (Op::Write, Op::Write) => self.rewritten += 1,
                _ => {}
            }
        }
    }

    fn warning(&self) -> Option<String> {
        let odd = self.written_then_read >= ENOUGH_PAIRS
            && 2 * self.written_then_read >= 3 * self.read_then_written
            && self.reread > self.rewritten;
        odd.then(|| {
            format!(
                "the op codes look inverted: {} places were read soon after a write, {} written soon after a read, \
                 and in most traces it is the other way round; see which code writes in this format",
                self.written_then_read, self.read_then_written
            )
        })
    }
}

impl Hints {
    pub(crate) fn new(op_coded: bool, units: Units) -> Self {
        Hints {
            requests: 0,
            last_ns: 0,
            units,
            time_is_known: false,
            sizes_are_known: false,
            sizes: (units != Units::Fixed).then(Sizes::default),
            pairs: op_coded.then(|| Box::new(Pairs::new())),
        }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    #[inline]
    pub(crate) fn observe(&mut self, request: &Request) {
        self.requests += 1;
        self.last_ns = request.arrival_ns;
        if let Some(sizes) = &mut self.sizes {
            sizes.observe(request);
        }
        if let Some(pairs) = &mut self.pairs
            && self.requests <= LOOKED_AT
        {
            pairs.observe(self.requests, request);
        }
    }

    /// Lists the warnings. If the clock is `coarse`, many requests share an instant, which is no reason for a warning.
    pub(crate) fn warnings(&self, coarse: bool) -> Vec<String> {
        let inverted = self.pairs.as_ref().and_then(|pairs| pairs.warning());
        let coarse = coarse && self.last_ns <= COARSE_NS;
        let time = if coarse || self.time_is_known { None } else { self.time_warning() };
        let in_sectors = self.units != Units::Given;
        let sizes = self.sizes.as_ref().filter(|_| !self.sizes_are_known);
        let sizes = sizes.and_then(|sizes| sizes.warning(in_sectors));
        time.into_iter().chain(sizes).chain(inverted).collect()
    }

    fn time_warning(&self) -> Option<String> {
        let (requests, span_ns) = (self.requests, self.last_ns);
        let more_than = |per_second: u64| {
            u128::from(requests) * 1_000_000_000 > u128::from(per_second) * u128::from(span_ns)
        };
        let is_converted = matches!(self.units, Units::Converted { .. });
        let found = if span_ns > SPAN_NS_MAX {
            format!("{requests} requests span {}, and recordings are shorter than a year", time(span_ns))
        } else if requests < ENOUGH_FOR_IMPOSSIBLE || requests < ENOUGH_REQUESTS && span_ns == 0 {
            return None;
        } else if span_ns == 0 {
            format!("all {requests} requests arrive at the same instant")
        } else if more_than(REQUESTS_PER_SECOND_MAX) {
            format!("{requests} requests in {} are more than 10 million a second", time(span_ns))
        } else if requests >= ENOUGH_REQUESTS
            && is_converted
            && span_ns < SHORT_NS
            && more_than(REQUESTS_PER_SECOND_USUAL)
        {
            let rate = self.rate(1);
            format!("{requests} requests in {} are {rate} a second; usual are up to 50,000", time(span_ns))
        } else {
            return None;
        };
        Some(format!("the unit of time looks wrong: {found}; {}", self.time_correction()))
    }

    /// Requests a second if times were `factor` times as long, with separators.
    fn rate(&self, factor: u64) -> String {
        let span_ns = u128::from(self.last_ns.max(1)) * u128::from(factor);
        let rate = u128::from(self.requests) * 1_000_000_000 / span_ns;
        let digits = rate.to_string();
        let parts: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
        parts.join(",")
    }

    /// Which option corrects the unit.
    fn time_correction(&self) -> String {
        const UNITS: [(&str, u64); 4] = [("ns", 1), ("µs", 1000), ("ms", 1_000_000), ("s", 1_000_000_000)];
        let own = match self.units {
            Units::Converted { time } => UNITS.iter().position(|(name, _)| *name == time),
            Units::Given => return "see the unit of time in --columns".into(),
            Units::Fixed => None,
        };
        let Some(own) = own else { return "try --time-scale or --format".into() };
        let is_plausible = |factor: u64| {
            let span_ns = u128::from(self.last_ns) * u128::from(factor);
            u128::from(self.requests) * 1_000_000_000 <= u128::from(REQUESTS_PER_SECOND_USUAL) * span_ns
        };
        let (name, own_ns) = UNITS[own];
        let larger = UNITS[own + 1..].iter().map(|(name, ns)| (*name, ns / own_ns));
        match larger.into_iter().find(|(_, factor)| self.last_ns > 0 && is_plausible(*factor)) {
            Some((other, factor)) if self.last_ns <= SPAN_NS_MAX => format!(
                "the format has {name}; if these are {other}, --time-scale {factor} makes them {} a second",
                self.rate(factor)
            ),
            _ => format!("the format has {name}; try --time-scale or --format"),
        }
    }
}

/// Bytes with a binary unit.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 { 0 } else { 1 };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// A time in a suitable unit.
pub(crate) fn time(ns: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (365 * 86_400_000_000_000, "years"),
        (86_400_000_000_000, "days"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
    ];
    match UNITS.iter().find(|(unit, _)| ns >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", ns as f64 / *unit as f64),
        None => format!("{:.1} µs", ns as f64 / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn request(arrival_ns: u64, place: u64, op: Op) -> Request {
        Request { arrival_ns, offset: place * 4096, length: 4096, device: 0, op, fua: false, handle: 0 }
    }

    fn warnings(requests: impl Iterator<Item = Request>) -> String {
        let mut hints = Hints::new(true, Units::Fixed);
        requests.for_each(|request| hints.observe(&request));
        hints.warnings(false).join("\n")
    }

    #[test]
    fn impossible_rates_and_spans_are_told() {
        let every = |gap_ns: u64| warnings((0..2000).map(move |n| request(n * gap_ns, n, Op::Read)));
        assert_eq!(every(100_000), "");
        assert!(
            every(1).contains("2000 requests in 2.0 µs are more than 10 million a second; try --time-scale")
        );
        assert!(every(0).contains("at the same instant"));
        assert!(every(86_400_000_000_000).contains("2000 requests span 5.5 years"));
        assert_eq!(warnings((0..10).map(|n| request(n, n, Op::Read))), "", "ten requests prove nothing");
        let few = warnings((0..20).map(|n| request(n, n, Op::Read)));
        assert!(few.contains("20 requests in 0.0 µs are more than 10 million a second"), "{few}");
        assert_eq!(warnings((0..20).map(|n| request(0, n, Op::Read))), "", "a burst");
    }

    #[test]
    fn inverted_op_codes_are_told() {
        let modify = |first, second| {
            warnings((0..4000).map(move |n| {
                let op = if n % 3 == 0 { first } else { second };
                request(n * 100_000, n / 3, op)
            }))
        };
        assert_eq!(modify(Op::Read, Op::Write), "", "read, write, write");
        assert!(modify(Op::Write, Op::Read).contains("op codes look inverted"), "write, read, read");
    }

    #[test]
    fn chance_does_not_look_inverted() {
        for seed in 0..5 {
            let mut random = Random::stream(seed, "hints");
            let mixed = (0..200_000).map(move |n| {
                let op = if random.below(10) < 7 { Op::Read } else { Op::Write };
                request(n * 100_000, random.below(50), op)
            });
            assert_eq!(warnings(mixed), "");
        }
    }

    fn converted(time: &'static str, requests: impl Iterator<Item = Request>) -> String {
        let mut hints = Hints::new(false, Units::Converted { time });
        requests.for_each(|request| hints.observe(&request));
        hints.warnings(false).join("\n")
    }

    #[test]
    fn odd_rates_of_converted_traces_are_told_with_the_factor() {
        let every = |gap_ns: u64| (0..2000).map(move |n| request(n * gap_ns, n, Op::Read));
        assert_eq!(converted("ns", every(20_000)), "", "TPC-C has 51,000 a second");
        assert_eq!(
            converted("ns", every(2600)),
            "the unit of time looks wrong: 2000 requests in 5.2 ms are 384,807 a second; usual are up to 50,000; the \
             format has ns; if these are µs, --time-scale 1000 makes them 384 a second"
        );
        assert!(
            converted("ns", every(1))
                .contains("if these are ms, --time-scale 1000000 makes them 1,000 a second")
        );
        assert!(
            converted("ms", every(2600))
                .contains("the format has ms; if these are s, --time-scale 1000 makes")
        );
        let many = (0..4_000_000).map(|n| request(n * 3000, n, Op::Read));
        assert_eq!(converted("ns", many), "", "333,000 a second for 12 s");
        assert!(!warnings(every(2600)).contains("unit"), "the format is sure");
    }

    fn sized(count: u64, unit: u64, lengths: [u32; 2]) -> impl Iterator<Item = Request> {
        (0..count).map(move |n| Request {
            arrival_ns: n * 1_000_000,
            offset: n * 7 * unit,
            length: lengths[n as usize % 2],
            device: 0,
            op: Op::Write,
            fua: false,
            handle: 0,
        })
    }

    #[test]
    fn odd_sizes_are_told_with_the_size_of_a_sector() {
        let bytes = converted("ms", sized(500, 512 * 512, [4096 * 512, 8192 * 512]));
        assert!(
            bytes.contains("all addresses and sizes are multiples of 512 sectors of 512 bytes, the mean request has 3.0 MiB"),
            "{bytes}"
        );
        assert!(
            bytes.ends_with(
                "they may be bytes: --sector-bytes 1 (mean request 6.0 KiB, highest address 1.7 MiB)"
            ),
            "{bytes}"
        );
        let pages = converted("ns", sized(500, 64 * 512, [32 << 10, 256 << 10]));
        assert!(
            pages
                .ends_with("sectors may have 64 bytes, which makes these multiples 4 KiB: --sector-bytes 64"),
            "{pages}"
        );
        assert!(converted("ns", sized(500, 512, [2 << 20, 3 << 20])).contains("mean request has 2.5 MiB"));
        assert!(converted("ns", sized(500, 1 << 40, [4096, 8704])).contains("highest address is 3493.0 TiB"));
        assert_eq!(converted("ns", sized(500, 1 << 20, [64 << 10; 2])), "", "one size, made so");
        assert_eq!(converted("ns", sized(500, 4096, [4096, 1 << 20])), "");
        assert_eq!(converted("ns", sized(99, 1 << 20, [4 << 20, 5 << 20])), "", "too few");
    }

    #[test]
    fn what_the_user_has_given_is_believed() {
        let mut hints = Hints::new(false, Units::Converted { time: "ns" });
        (hints.time_is_known, hints.sizes_are_known) = (true, true);
        sized(2000, 512 * 512, [4096 * 512, 8192 * 512]).for_each(|request| {
            hints.observe(&Request { arrival_ns: request.arrival_ns / 1000, ..request });
        });
        assert_eq!(hints.warnings(false), Vec::<String>::new());
    }
}
