//! Statistics of the phases of a run: before a failure, degraded, rebuilding, after; slow and stalled.

use super::Histogram;
use super::counts::Operations;
use super::histogram::TimesByOperation;
use super::{figures, plain, unit};
use crate::drive::Counters;
use crate::kernel::{SimTime, Span};
use flashkeep_trace::Op;

/// Counters at an instant.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Flash operations.
    pub counters: Counters,
    /// Page reads that a failed unit would have served.
    pub reconstructed: u64,
    /// Pages lost.
    pub lost: u64,
    /// Page-nanoseconds without protection.
    pub unprotected_page_ns: u128,
}

/// A phase of a run.
#[derive(Clone, Debug)]
struct RunPhase {
    name: &'static str,
    /// The event that began it.
    event: Option<String>,
    from: SimTime,
    until: SimTime,
    before: Tally,
    after: Tally,
    read: Histogram,
    write: Histogram,
    flush: Histogram,
}

/// Whether in a phase nothing is missing, and a part is slow or stalls.
fn is_slow(name: &str) -> bool {
    matches!(name, "slow" | "stalled")
}

/// The phases of a run; none if the job has no failures.
#[derive(Clone, Debug, Default)]
pub struct RunPhases {
    all: Vec<RunPhase>,
    /// When full redundancy was last reached after an event.
    whole_at: Option<SimTime>,
    /// A rebuild has ended that could not restore everything: further attempts do not begin a phase.
    in_vain: bool,
    injected_at: Option<SimTime>,
}

impl RunPhases {
    /// Whether the run has phases.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The name of the current phase.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.all.last().map_or("", |phase| phase.name)
    }

    /// Ends the current phase and begins another.
    pub fn begin(&mut self, name: &'static str, event: Option<&str>, now: SimTime, tally: Tally) {
        self.end(now, tally.clone());
        self.in_vain = event.is_none() && (self.in_vain || (self.name(), name) == ("rebuilding", "degraded"));
        if event.is_some() {
            (self.injected_at, self.whole_at) = (Some(now), None);
        }
        if name == "after" || is_slow(name) {
            self.whole_at = Some(now);
        }
        // No redundancy is known to be missing, but effects of the failure may still show.
        let name = if name == "after" && event.is_some() { "latent" } else { name };
        self.all.push(RunPhase::new(name, event.map(str::to_owned), now, tally));
    }

    /// Ends the current phase and begins another because a part becomes slow, stalls or recovers. Nothing else changes:
    /// `state` is what the run would be in otherwise.
    pub fn begin_slow(&mut self, state: &'static str, event: Option<&str>, now: SimTime, tally: Tally) {
        self.end(now, tally.clone());
        let mut others = self.all.iter().rev().map(|phase| phase.name);
        let name = match state {
            _ if self.name() == "recovering" => "recovering",
            "after" if others.find(|name| !is_slow(name)) == Some("latent") => "latent",
            state => state,
        };
        self.all.push(RunPhase::new(name, event.map(str::to_owned), now, tally));
    }

    /// Counting begins: earlier figures are left out, and the current phase, or `before`, begins again.
    pub fn count_from(&mut self, now: SimTime, tally: Tally) {
        let (name, event) = self.all.pop().map_or(("before", None), |phase| (phase.name, phase.event));
        self.all.clear();
        self.all.push(RunPhase::new(name, event, now, tally));
    }

    /// A part has been replaced: a rebuild may now succeed where it failed before.
    pub fn hope(&mut self) {
        self.in_vain = false;
    }

    /// Whether another phase begins if the drive is in the state `name`.
    #[must_use]
    pub fn is_news(&self, name: &str) -> bool {
        let same = name == self.name() || (self.name(), name) == ("latent", "after");
        !(same || self.in_vain && name == "rebuilding")
    }

    /// Ends the current phase.
    pub fn end(&mut self, now: SimTime, tally: Tally) {
        if let Some(phase) = self.all.last_mut() {
            (phase.until, phase.after) = (phase.from.max(now), tally);
        }
    }

    /// A request, an [`Op`] as a number, was acknowledged.
    pub fn add(&mut self, op: u8, response: Span) {
        if let Some(phase) = self.all.last_mut() {
            let times = match op {
                op if op == Op::Read as u8 => &mut phase.read,
                op if op == Op::Flush as u8 => &mut phase.flush,
                _ => &mut phase.write,
            };
            times.add(response.0);
        }
    }

    /// From the last event until full redundancy; none if it was not reached.
    #[must_use]
    pub fn recovery(&self) -> Option<Span> {
        Some(self.whole_at?.since(self.injected_at?))
    }

    /// What happened in each phase.
    pub(super) fn spans(&self) -> impl Iterator<Item = PhaseSpan<'_>> {
        (1..).zip(&self.all).map(|(number, phase)| PhaseSpan {
            name: phase.name,
            event: phase.event.as_deref(),
            from: phase.from.0 as f64 / 1e9,
            until: phase.until.0 as f64 / 1e9,
            counters: phase.after.counters.since(&phase.before.counters),
            is_last: number == self.all.len(),
        })
    }

    /// The section of the summary.
    #[must_use]
    pub fn figures(&self) -> Vec<PhaseFigures> {
        self.all.iter().map(RunPhase::figures).collect()
    }
}

/// A phase: its time in seconds, and its operations.
pub(super) struct PhaseSpan<'a> {
    pub(super) name: &'static str,
    /// The event that began it.
    pub(super) event: Option<&'a str>,
    pub(super) from: f64,
    pub(super) until: f64,
    pub(super) counters: Counters,
    /// Whether the run ended in it.
    pub(super) is_last: bool,
}

impl RunPhase {
    fn new(name: &'static str, event: Option<String>, now: SimTime, tally: Tally) -> Self {
        let after = Tally::default();
        let (read, write, flush) = Default::default();
        RunPhase { name, event, from: now, until: now, before: tally, after, read, write, flush }
    }

    fn figures(&self) -> PhaseFigures {
        let counted = self.after.counters.since(&self.before.counters);
        let seconds = |time: SimTime| time.0 as f64 / 1e9;
        let unprotected = self.after.unprotected_page_ns - self.before.unprotected_page_ns;
        PhaseFigures {
            phase: self.name,
            event: self.event.clone(),
            from_s: seconds(self.from),
            until_s: seconds(self.until),
            response_us: TimesByOperation::new(&self.read, &self.write, &self.flush),
            operations: Operations::new(|kind, cause| counted.of(kind, cause)),
            reconstructed_reads: self.after.reconstructed - self.before.reconstructed,
            lost_pages: self.after.lost - self.before.lost,
            unprotected_page_s: unprotected as f64 / 1e9,
        }
    }
}

figures! {
    /// A part of the run: before a failure, while something is missing, while it is rebuilt, while a part is slow, or after.
    pub struct PhaseFigures {
        /// Name of the phase: `before`, `degraded`, `rebuilding`, `moving back` (units leave distributed spares for the
        /// member that has been replaced), `slow`, `stalled` (nothing is missing, and a part is slow or stalls) or `after`.
        phase: &'static str => plain(),
        /// The fault event that began the phase.
        event: Option<String> => plain(),
        /// Start of the phase.
        from_s: f64 => unit("s"),
        /// End of the phase.
        until_s: f64 => unit("s"),
        /// Response times of requests acknowledged in the phase.
        response_us: TimesByOperation => plain(),
        /// Operations in the phase.
        operations: Operations => plain(),
        /// Page reads of a failed part that another copy or parity served.
        reconstructed_reads: u64 => unit("pages").lower(),
        /// Pages lost in the phase.
        lost_pages: u64 => unit("pages").lower(),
        /// Pages that one more failure would have cost, times how long.
        unprotected_page_s: f64 => unit("page·s").lower(),
    }
}
