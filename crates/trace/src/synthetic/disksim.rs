//! Requests as DiskSim's generator draws them, number by number: `drand48`, seeded once before the first request and
//! again after it.
//!
//! Draws for each request: whether it continues where the last one ended (it then keeps size and kind); the time since
//! the last one; for a request that does not continue, a device, a place and a size (again until both fit) and whether
//! it reads; finally a class, which flashkeep does not use. Times are uniform up to twice their mean, sizes exponential
//! with a mean of 8 sectors, cut to whole sectors and rounded up to pages of 8; none is empty.
//!
//! *Source*: DiskSim 4.0 (Bucy, Schindler, Schlosser, Ganger, 2008), its synthetic generator and its `drand48`; the
//! parameters are those of the validation runs of the SSD extension (Agrawal et al., USENIX ATC 2008).

use super::arguments::{Arguments, Pace};
use crate::{BATCH, Op, Provenance, Request, Source, TraceError};

const PAGE_BYTES: u64 = 4096;
const MEAN_SECTORS: f64 = 8.0;
const PAGE_SECTORS: u64 = 8;
/// The seeds of the extension's results; `--seed N` adds N − 1 to them.
const FIRST: u64 = 42;
const REST: u64 = 1_000_003;

/// The generator of POSIX: 48 bits of a linear congruence.
struct Drand48(u64);

impl Drand48 {
    fn seeded(seed: u64) -> Self {
        Drand48((seed & 0xFFFF_FFFF) << 16 | 0x330E)
    }

    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & ((1 << 48) - 1);
        self.0 as f64 / (1_u64 << 48) as f64
    }
}

/// The stream of a seed.
pub(super) struct Disksim {
    name: String,
    requests: u64,
    made: u64,
    depth: Option<u32>,
    offset: u64,
    pages: u64,
    write: f64,
    continued: f64,
    mean_ms: f64,
    seed: u64,
    random: Drand48,
    now_ms: f64,
    page: u64,
    count: u64,
    reads: bool,
}

impl Disksim {
    pub(super) fn boxed(arguments: Arguments, seed: u64) -> Box<dyn Source> {
        let (mean_ms, depth) = match arguments.pace {
            Pace::Rate(per_second) => (1e3 / per_second, None),
            Pace::Depth(depth) => (0.0, Some(depth)),
        };
        Box::new(Disksim {
            name: arguments.text,
            requests: arguments.requests,
            made: 0,
            depth,
            offset: arguments.offset,
            pages: (arguments.footprint_bytes / PAGE_BYTES).max(2),
            write: arguments.write,
            continued: arguments.recipe.continued,
            mean_ms,
            seed: seed.wrapping_sub(1),
            random: Drand48::seeded(FIRST.wrapping_add(seed).wrapping_sub(1)),
            now_ms: 0.0,
            page: 0,
            count: 0,
            reads: false,
        })
    }

    fn next(&mut self) -> Request {
        if self.made == 1 {
            self.random = Drand48::seeded(REST.wrapping_add(self.seed));
        }
        let goes_on =
            self.made > 0 && self.random.draw() < self.continued && self.page + 2 * self.count < self.pages;
        self.now_ms += 2.0 * self.mean_ms * self.random.draw();
        if goes_on {
            self.page += self.count;
        } else {
            self.random.draw();
            loop {
                self.page = (self.random.draw() * self.pages as f64) as u64;
                let sectors = (-MEAN_SECTORS * libm::log(1.0 - self.random.draw())) as u64;
                self.count = sectors.div_ceil(PAGE_SECTORS);
                if self.count > 0 && self.page + self.count < self.pages {
                    break;
                }
            }
            self.reads = self.random.draw() < 1.0 - self.write;
        }
        self.random.draw();
        self.made += 1;
        Request {
            arrival_ns: if self.depth.is_some() { 0 } else { (self.now_ms * 1e6).round() as u64 },
            offset: self.offset + self.page * PAGE_BYTES,
            length: (self.count * PAGE_BYTES) as u32,
            device: 0,
            op: if self.reads { Op::Read } else { Op::Write },
            fua: false,
            handle: 0,
        }
    }
}

impl Source for Disksim {
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError> {
        let count = (self.requests - self.made).min(BATCH as u64);
        for _ in 0..count {
            let request = self.next();
            batch.push(request);
        }
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
            extent: None,
        }
    }
}
