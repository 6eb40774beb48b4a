//! Warnings about traces with readable but implausible records: units, op codes.
//!
//! *Units.* More than 10 million requests per second, or a span of more than a year, is not plausible: the
//! time unit differs from the format's.
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

use crate::random::mix;
use crate::{Op, Request};

/// With fewer requests no warning is given.
const ENOUGH_REQUESTS: u64 = 1000;

/// More requests a second than any device takes.
const REQUESTS_PER_SECOND_MAX: u128 = 10_000_000;

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
    /// For formats with op codes: which op follows which.
    pairs: Option<Box<Pairs>>,
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
    pub(crate) fn new(op_coded: bool) -> Self {
        Hints { requests: 0, last_ns: 0, pairs: op_coded.then(|| Box::new(Pairs::new())) }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    #[inline]
    pub(crate) fn observe(&mut self, request: &Request) {
        self.requests += 1;
        self.last_ns = request.arrival_ns;
        if let Some(pairs) = &mut self.pairs
            && self.requests <= LOOKED_AT
        {
            pairs.observe(self.requests, request);
        }
    }

    /// Lists the warnings. If the clock is `coarse`, many requests share an instant, which is no reason for a warning.
    pub(crate) fn warnings(&self, coarse: bool) -> Vec<String> {
        let inverted = self.pairs.as_ref().and_then(|pairs| pairs.warning());
        let unit = if coarse && self.last_ns <= COARSE_NS { None } else { self.unit_warning() };
        unit.into_iter().chain(inverted).collect()
    }

    fn unit_warning(&self) -> Option<String> {
        let (requests, span_ns) = (self.requests, self.last_ns);
        let found = if span_ns > SPAN_NS_MAX {
            format!("{requests} requests span {}", time(span_ns))
        } else if requests < ENOUGH_REQUESTS {
            return None;
        } else if span_ns == 0 {
            format!("all {requests} requests arrive at the same instant")
        } else if u128::from(requests) * 1_000_000_000 > REQUESTS_PER_SECOND_MAX * u128::from(span_ns) {
            format!("{requests} requests in {} are more than 10 million a second", time(span_ns))
        } else {
            return None;
        };
        Some(format!("the unit of time looks wrong: {found}; try --time-scale or --format"))
    }
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
        Request { arrival_ns, offset: place * 4096, length: 4096, device: 0, op }
    }

    fn warnings(requests: impl Iterator<Item = Request>) -> String {
        let mut hints = Hints::new(true);
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
}
