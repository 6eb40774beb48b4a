//! Where the response times of requests went: their mean, and that of the slowest 1 %.

use super::{FigureShape, Reported, figures, plain, unit};
use crate::device::latency::{Breakdown, FlashTimes, PARTS, Part};
use crate::kernel::{Span, reach};

/// Buckets for each power of two, as a number of bits: 1/64 is 1.6 %.
const SUB_BITS: u32 = 6;

/// The requests of a bucket of response times, and the sums of the parts that nearly all of them have.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    count: u64,
    queue: Span,
    flash: FlashTimes,
}

/// The breakdowns of requests, in buckets of their response times.
#[derive(Clone, Debug, Default)]
pub struct BreakdownSums {
    buckets: Vec<Bucket>,
    /// What a bucket has besides: separate, so that the buckets take little of the processor's cache.
    others: Vec<Breakdown>,
}

impl BreakdownSums {
    /// Adds the breakdown of a response time: its parts, and more of some.
    #[inline]
    pub fn add(&mut self, response_ns: u64, parts: &Breakdown, more: &[(Part, Span)]) {
        let at = bucket_of(response_ns);
        reach(&mut self.buckets, at).count += 1;
        let others = reach(&mut self.others, at);
        *others = others.plus(parts);
        more.iter().for_each(|&(part, span)| others.add(part, span));
    }

    /// The same of an operation in flash, whose request waited in a full host queue for `queue`.
    #[inline(always)]
    pub fn add_flash(&mut self, response_ns: u64, flash: &FlashTimes, queue: Span) {
        let bucket = reach(&mut self.buckets, bucket_of(response_ns));
        bucket.count += 1;
        bucket.queue += queue;
        bucket.flash.add(flash);
    }

    /// The requests of each bucket, and the sums of their parts, in order.
    fn sums(&self) -> impl DoubleEndedIterator<Item = (u64, Breakdown)> {
        self.buckets.iter().enumerate().map(|(at, bucket)| {
            let mut sums = bucket.flash.breakdown();
            sums.add(Part::Queue, bucket.queue);
            (bucket.count, self.others.get(at).map_or(sums, |others| sums.plus(others)))
        })
    }

    /// The share of all the time that this part takes.
    #[must_use]
    pub fn share(&self, part: Part) -> f64 {
        let sum = |of: &dyn Fn(&Breakdown) -> Span| {
            self.sums().map(|(_, sums)| u128::from(of(&sums).0)).sum::<u128>() as f64
        };
        let all = sum(&Breakdown::total);
        if all > 0.0 { sum(&|sums: &Breakdown| sums.get(part)) / all } else { 0.0 }
    }

    /// The mean parts of this many requests, the slowest ones, in µs. Of the bucket where they begin, the mean counts.
    fn slowest(&self, requests: u64) -> PartTimes {
        let (mut left, mut sums) = (requests, [0.0; PARTS]);
        for (count, parts) in self.sums().rev().filter(|&(count, _)| count > 0) {
            let taken = left.min(count);
            let share = taken as f64 / count as f64;
            sums.iter_mut().zip(parts.ns()).for_each(|(sum, &ns)| *sum += ns as f64 * share);
            left -= taken;
        }
        PartTimes::new(&sums.map(|sum| sum / requests as f64 / 1000.0))
    }

    fn figures(&self) -> Option<LatencyMeans> {
        let count: u64 = self.buckets.iter().map(|bucket| bucket.count).sum();
        let slowest = count.div_ceil(100);
        (count > 0).then(|| LatencyMeans { mean: self.slowest(count), slowest: self.slowest(slowest) })
    }
}

/// The bucket of a response time.
#[inline(always)]
fn bucket_of(response_ns: u64) -> usize {
    let shift = (response_ns | 1 << SUB_BITS).ilog2() - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (response_ns >> shift)) as usize
}

figures! {
    /// A time divided by what requests waited for or did. The parts add up to it.
    pub struct PartTimes {
        /// Waiting for a slot in the host queue, which is full.
        queue: f64 => unit("µs").lower().row("  {}: waiting for a slot in the host queue"),
        /// Access to DRAM and NVRAM.
        cache: f64 => unit("µs").lower().row("  {}: memory"),
        /// Waiting for an eviction from a write cache, or for room in NVRAM or in a log.
        buffer: f64 => unit("µs").lower().row("  {}: waiting for an eviction"),
        /// Waiting for another plan that holds the stripe or the page.
        lock: f64 => unit("µs").lower().row("  {}: stripe locked"),
        /// Deliberate delays.
        timer: f64 => unit("µs").lower().row("  {}: timers"),
        /// Parity computation and decoding.
        compute: f64 => unit("µs").lower().row("  {}: parity and decoding"),
        /// Waiting for a die that served other host work.
        die: f64 => unit("µs").lower().row("  {}: waiting for a die"),
        /// Waiting for a channel that served other host work.
        channel: f64 => unit("µs").lower().row("  {}: waiting for a channel"),
        /// The operation's own sensing, programming or erasing.
        array: f64 => unit("µs").lower().row("  {}: array"),
        /// The operation's own commands and data on the channel.
        transfer: f64 => unit("µs").lower().row("  {}: transfer"),
        /// Disks: waiting for the arm, seek, rotation and transfer.
        disk: f64 => unit("µs").lower().row("  {}: disk"),
        /// Waiting for garbage collection.
        gc: f64 => unit("µs").lower().row("  {}: waiting for GC"),
        /// Waiting for wear leveling, migration, and the drive's own tables, such as map fetches.
        maintenance: f64 => unit("µs").lower().row("  {}: waiting for maintenance"),
        /// Waiting for a rebuild.
        rebuild: f64 => unit("µs").lower().row("  {}: waiting for a rebuild"),
        /// Repeated sensing.
        retry: f64 => unit("µs").lower().row("  {}: read retries"),
        /// Waiting for links and crossing them.
        link: f64 => unit("µs").lower().row("  {}: link"),
    }
}

/// The names of the parts of a response time, in order.
#[must_use]
pub fn part_names() -> Vec<String> {
    let FigureShape::Group(group) = PartTimes::shape() else { unreachable!("a group") };
    group.entries.iter().map(|entry| entry.name.clone().into_owned()).collect()
}

impl PartTimes {
    fn new(us: &[f64; PARTS]) -> Self {
        let of = |part: Part| us[part as usize];
        PartTimes {
            queue: of(Part::Queue),
            cache: of(Part::Cache),
            buffer: of(Part::Buffer),
            lock: of(Part::Lock),
            timer: of(Part::Timer),
            compute: of(Part::Compute),
            die: of(Part::Die),
            channel: of(Part::Channel),
            array: of(Part::Array),
            transfer: of(Part::Transfer),
            disk: of(Part::Disk),
            gc: of(Part::Gc),
            maintenance: of(Part::Maintenance),
            rebuild: of(Part::Rebuild),
            retry: of(Part::Retry),
            link: of(Part::Link),
        }
    }
}

figures! {
    /// Where the response times of an operation went.
    pub struct LatencyMeans {
        /// The mean of all requests.
        mean: PartTimes => plain().label("{}"),
        /// The mean of the slowest 1 % of them, at least one; requests within 1.6 % of the limit count as equally slow.
        slowest: PartTimes => plain().label("slowest 1 % of {}").brief(),
    }
}

figures! {
    /// Where response times went, by operation.
    pub struct LatencyByOperation {
        /// Reads.
        read: Option<LatencyMeans> => plain().label("reads"),
        /// Writes and trims.
        write: Option<LatencyMeans> => plain().label("writes"),
    }
}

impl LatencyByOperation {
    /// Of reads and writes.
    pub(super) fn new([read, write]: &[BreakdownSums; 2]) -> Self {
        LatencyByOperation { read: read.figures(), write: write.figures() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_hundredth_is_told_apart() {
        let mut sums = BreakdownSums::default();
        for _ in 0..198 {
            sums.add(1000, &Breakdown::of(Part::Array, Span(900)), &[(Part::Array, Span(100))]);
        }
        for ns in [100_000, 300_000] {
            sums.add(ns, &Breakdown::of(Part::Gc, Span(ns)), &[]);
        }
        let LatencyMeans { mean, slowest } = sums.figures().expect("there are requests");
        assert_eq!((mean.array, mean.gc), (0.99, 2.0));
        assert_eq!((slowest.array, slowest.gc), (0.0, 200.0));
        assert_eq!(sums.share(Part::Gc), 400_000.0 / 598_000.0);
        assert!(BreakdownSums::default().figures().is_none());
    }
}
