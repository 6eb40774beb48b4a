//! Where the time of a request goes: its response time divided into parts.
//!
//! Each operation measures its own waits and phases when it is granted, so the parts of a completion add up to the time
//! since its submission. The executor adds what happened before the submission. A wait for a resource is divided by what
//! the resource did meanwhile ([`BusyHistory`]).

use super::command::Cause;
use crate::kernel::{SimTime, Span};

/// A part of a response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Waiting for a slot in the host queue.
    Queue,
    /// Access to DRAM or NVRAM.
    Cache,
    /// Waiting for an eviction, or for room in NVRAM or in a log.
    Buffer,
    /// Another plan holds the stripe or the page.
    Lock,
    /// Deliberate delays.
    Timer,
    /// Parity and decoding.
    Compute,
    /// Waiting for a die that works for the host.
    Die,
    /// Waiting for a channel that works for the host.
    Channel,
    /// Sensing, programming or erasing.
    Array,
    /// Commands and data on the channel.
    Transfer,
    /// A disk: waiting for its arm, seek, rotation and transfer.
    Disk,
    /// Waiting for GC.
    Gc,
    /// Waiting for wear leveling, migration and the drive's own tables.
    Maintenance,
    /// Waiting for a rebuild.
    Rebuild,
    /// Repeated sensing.
    Retry,
    /// Waiting for links and crossing them.
    Link,
}

/// The number of parts.
pub const PARTS: usize = 16;

impl Part {
    /// What a resource is busy with that works for this cause; none for the host's work, parity included.
    #[must_use]
    #[inline]
    pub fn of_other(cause: Cause) -> Option<Part> {
        match cause {
            Cause::Gc | Cause::ParityGc => Some(Part::Gc),
            Cause::Wear | Cause::Migrate | Cause::Metadata | Cause::Fold | Cause::Refresh | Cause::Scrub => {
                Some(Part::Maintenance)
            }
            Cause::Rebuild => Some(Part::Rebuild),
            Cause::Host
            | Cause::Mirror
            | Cause::Update
            | Cause::Parity
            | Cause::PartialParity
            | Cause::Retry => None,
        }
    }
}

/// A span divided into parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breakdown {
    ns: [u64; PARTS],
}

impl Breakdown {
    /// A span that is one part.
    #[must_use]
    #[inline]
    pub fn of(part: Part, span: Span) -> Breakdown {
        let mut breakdown = Breakdown::default();
        breakdown.add(part, span);
        breakdown
    }

    /// Adds a span to a part.
    #[inline]
    pub fn add(&mut self, part: Part, span: Span) {
        self.ns[part as usize] += span.0;
    }

    /// The sum of both.
    #[must_use]
    #[inline]
    pub fn plus(&self, other: &Breakdown) -> Breakdown {
        let mut sum = *self;
        sum.ns.iter_mut().zip(&other.ns).for_each(|(ns, more)| *ns += more);
        sum
    }

    /// The span of a part.
    #[must_use]
    #[inline]
    pub fn get(&self, part: Part) -> Span {
        Span(self.ns[part as usize])
    }

    /// All parts, ns, in their order.
    #[must_use]
    #[inline]
    pub fn ns(&self) -> &[u64; PARTS] {
        &self.ns
    }

    /// The span that is divided.
    #[must_use]
    #[inline]
    pub fn total(&self) -> Span {
        Span(self.ns.iter().sum())
    }

    /// The same span as a single part.
    #[must_use]
    pub fn as_part(&self, part: Part) -> Breakdown {
        Breakdown::of(part, self.total())
    }

    /// Takes a span from the end: from what an operation does last.
    pub fn shorten(&mut self, by: Span) {
        let mut left = by.0;
        let last = [Part::Link, Part::Transfer, Part::Array, Part::Disk, Part::Channel, Part::Die];
        for at in last.map(|part| part as usize).into_iter().chain(0..PARTS) {
            let taken = left.min(self.ns[at]);
            self.ns[at] -= taken;
            left -= taken;
            if left == 0 {
                return;
            }
        }
    }

    /// Makes it as long as `length`: time that is missing belongs to `rest`.
    #[inline]
    pub fn fit(&mut self, length: Span, rest: Part) {
        let total = self.total();
        if total != length {
            self.shorten(total.beyond(length));
            self.add(rest, length.beyond(total));
        }
    }
}

/// The parts of an operation in flash that waited for no other work than the host's and for GC: nearly all of them, in a
/// third of the memory of a [`Breakdown`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlashTimes {
    /// Waiting for the die.
    pub die: Span,
    /// Waiting for the channel.
    pub channel: Span,
    /// Sensing or programming.
    pub array: Span,
    /// Commands and data on the channel.
    pub transfer: Span,
    /// Waiting for GC.
    pub gc: Span,
}

impl FlashTimes {
    /// The span that is divided.
    #[must_use]
    #[inline]
    pub fn total(&self) -> Span {
        self.die + self.channel + self.array + self.transfer + self.gc
    }

    /// Adds the parts of another operation.
    #[inline(always)]
    pub fn add(&mut self, other: &FlashTimes) {
        self.die += other.die;
        self.channel += other.channel;
        self.array += other.array;
        self.transfer += other.transfer;
        self.gc += other.gc;
    }

    /// The same with all parts.
    #[must_use]
    #[inline]
    pub fn breakdown(&self) -> Breakdown {
        let mut parts = Breakdown::default();
        self.parts().into_iter().for_each(|(part, span)| parts.add(part, span));
        parts
    }

    /// Each part.
    #[must_use]
    #[inline]
    pub fn parts(&self) -> [(Part, Span); 5] {
        [
            (Part::Die, self.die),
            (Part::Channel, self.channel),
            (Part::Array, self.array),
            (Part::Transfer, self.transfer),
            (Part::Gc, self.gc),
        ]
    }
}

/// Where the time of a completion went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeSpent {
    /// It was an access to memory, or is not measured.
    #[default]
    Memory,
    /// In flash, for the host and waiting for GC.
    Flash(FlashTimes),
    /// An entry of a list of breakdowns.
    Listed(u32),
}

impl TimeSpent {
    /// Adds a breakdown to a list.
    #[inline]
    pub fn list(list: &mut Vec<Breakdown>, parts: Breakdown) -> TimeSpent {
        list.push(parts);
        TimeSpent::Listed(list.len() as u32 - 1)
    }
}

/// The kinds of work besides that for the host, GC first.
const OTHERS: [Part; 3] = [Part::Gc, Part::Maintenance, Part::Rebuild];

/// A period in which a resource was busy with one kind of other work.
#[derive(Clone, Copy, Debug)]
struct BusyRun {
    since: SimTime,
    until: SimTime,
    with: Part,
    /// The time of each kind of work before this period, ns.
    before: [u64; OTHERS.len()],
}

impl BusyRun {
    /// The time of each kind of work until `at`, which is not before the period.
    #[inline]
    fn sums(&self, at: SimTime) -> [u64; OTHERS.len()] {
        let mut sums = self.before;
        let kind = OTHERS.iter().position(|&part| part == self.with);
        sums[kind.expect("work that is not the host's")] += at.min(self.until).since(self.since).0;
        sums
    }
}

/// When a resource was busy with other work than the host's, as far back as operations still wait for it.
#[derive(Clone, Debug)]
pub struct BusyHistory {
    /// The last period; its end may lie ahead.
    last: BusyRun,
    past: Vec<BusyRun>,
    /// No operation waited when the last period began: those before it are no longer needed.
    stale: bool,
}

impl Default for BusyHistory {
    fn default() -> Self {
        let (with, before) = (OTHERS[0], [0; OTHERS.len()]);
        let last = BusyRun { since: SimTime::ZERO, until: SimTime::ZERO, with, before };
        BusyHistory { last, past: Vec::new(), stale: true }
    }
}

impl BusyHistory {
    /// The resource is busy with this from `now` until `until`. `awaited` says whether operations wait for it, which
    /// includes the one that begins now.
    pub fn record(&mut self, now: SimTime, until: SimTime, with: Part, awaited: bool) {
        if self.stale {
            self.past.clear();
        }
        self.stale = !awaited;
        if with == self.last.with && now <= self.last.until {
            self.last.until = until;
            return;
        }
        let last = BusyRun { until: self.last.until.min(now), ..self.last };
        if last.since < last.until {
            self.past.push(last);
        }
        self.last = BusyRun { since: now, until, with, before: last.sums(now) };
    }

    /// Work for the host follows before the recorded end: the last period ends now.
    #[inline]
    pub fn end(&mut self, now: SimTime) {
        if self.last.until > now {
            self.last.until = now.max(self.last.since);
        }
    }

    /// The number of periods that are kept besides the last one.
    #[inline]
    #[must_use]
    pub fn kept(&self) -> usize {
        self.past.len()
    }

    /// Forgets what ended before `since`.
    pub fn forget_before(&mut self, since: SimTime) {
        let old = self.past.partition_point(|run| run.until <= since);
        self.past.drain(..old);
    }

    /// The time of each kind of work until `at`.
    fn sums(&self, at: SimTime) -> [u64; OTHERS.len()] {
        if self.last.since <= at {
            return self.last.sums(at);
        }
        let begun = self.past.partition_point(|run| run.since <= at);
        match begun.checked_sub(1) {
            Some(run) => self.past[run].sums(at),
            None => self.past.first().unwrap_or(&self.last).before,
        }
    }

    /// Whether the resource did no other work than the host's after `since`, as far as is known.
    #[inline]
    #[must_use]
    pub fn is_quiet_after(&self, since: SimTime) -> bool {
        // Earlier periods end before the last one begins.
        self.last.until <= since
    }

    /// How long GC made an operation wait that waited from `since` until `until`; none if other work did so too.
    #[inline]
    #[must_use]
    pub fn gc_between(&self, since: SimTime, until: SimTime) -> Option<Span> {
        let wait = until.since(since);
        if wait == Span::ZERO || self.is_quiet_after(since) {
            return Some(Span::ZERO);
        }
        let ([from_gc, from @ ..], [to_gc, to @ ..]) = (self.sums(since), self.sums(until));
        (from == to).then(|| Span(to_gc.saturating_sub(from_gc)).min(wait))
    }

    /// Divides a wait from `since` until `until`: what the resource was busy with besides the host's work, and `host`.
    #[inline]
    pub fn divide(&self, since: SimTime, until: SimTime, host: Part, parts: &mut Breakdown) {
        let wait = until.since(since);
        if wait == Span::ZERO {
            return;
        }
        let mut left = wait.0;
        if !self.is_quiet_after(since) {
            let (from, to) = (self.sums(since), self.sums(until));
            for (part, (to, from)) in OTHERS.into_iter().zip(to.iter().zip(&from)) {
                let ns = to.saturating_sub(*from).min(left);
                parts.add(part, Span(ns));
                left -= ns;
            }
        }
        parts.add(host, Span(left));
    }

    /// What the resource begins after `since`, if that is not the host's work.
    #[must_use]
    pub fn next(&self, since: SimTime) -> Option<Part> {
        let begun = self.past.partition_point(|run| run.since < since);
        let next = self.past.get(begun).unwrap_or(&self.last);
        (next.since >= since && next.since < next.until).then_some(next.with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_divided_by_what_the_resource_did() {
        let us = |us: u64| SimTime(us * 1000);
        let mut die = BusyHistory::default();
        die.record(us(20), us(40), Part::Gc, true);
        die.record(us(40), us(50), Part::Gc, true);
        die.record(us(60), SimTime::NEVER, Part::Rebuild, true);
        let mut parts = Breakdown::default();
        die.divide(us(5), us(70), Part::Die, &mut parts);
        for (part, us) in [(Part::Die, 25), (Part::Gc, 30), (Part::Rebuild, 10)] {
            assert_eq!(parts.get(part), Span(us * 1000), "{part:?}");
        }
        assert_eq!(parts.total(), Span(65_000));
        assert_eq!(die.gc_between(us(5), us(59)), Some(Span(30_000)));
        assert_eq!((die.gc_between(us(5), us(70)), die.gc_between(us(50), us(50))), (None, Some(Span::ZERO)));
        assert_eq!((die.next(us(55)), die.next(us(61))), (Some(Part::Rebuild), None));
        // The next period without waiting operations ends the memory of those before the last.
        die.end(us(75));
        die.record(us(80), us(90), Part::Maintenance, false);
        die.record(us(95), us(99), Part::Gc, true);
        assert_eq!(die.kept(), 1);
    }

    #[test]
    fn long_waits_cost_no_more_than_short_ones() {
        let mut die = BusyHistory::default();
        for n in 0..1000 {
            die.record(SimTime(n * 100 + 30), SimTime(n * 100 + 50), Part::Gc, true);
        }
        let mut parts = Breakdown::default();
        die.divide(SimTime(40), SimTime(100_000), Part::Die, &mut parts);
        assert_eq!((parts.get(Part::Gc), parts.total()), (Span(19_990), Span(99_960)));
    }

    #[test]
    fn a_breakdown_is_made_as_long_as_the_span() {
        let mut parts = Breakdown::of(Part::Array, Span(10)).plus(&Breakdown::of(Part::Queue, Span(5)));
        parts.fit(Span(20), Part::Link);
        assert_eq!((parts.total(), parts.get(Part::Link)), (Span(20), Span(5)));
        parts.fit(Span(7), Part::Link);
        assert_eq!(
            (parts.total(), parts.get(Part::Array), parts.get(Part::Queue)),
            (Span(7), Span(2), Span(5))
        );
        assert_eq!(parts.as_part(Part::Gc), Breakdown::of(Part::Gc, Span(7)));
    }
}
