//! The end of a run: reads all pages back and builds the report.

use super::{Device, DevicePlacement, RunAccounts, RunClock, Simulation, Totals};
use crate::device::port::Hits;
use crate::devices::Body;
use crate::drive::{ErrorCounts, OperationTimes};
use crate::engine::Contents;
use crate::host::Expected;
use crate::kernel::{Bits, SimTime, Span};
use crate::mapping::Counts;
use crate::metrics::{
    ErrorEffects, Facts, FlowFacts, MemberActivity, RunPhases, Tally, WearFacts, handle_counts_since, summary,
};
use crate::schemes::Any;
use crate::workload::Replay;
use serde_json::Value;

/// What the run has done before its pages are read back, which is no part of it.
pub(super) struct CountedRun {
    totals: Totals,
    wear: WearFacts,
    /// Valid pages, and all pages.
    filled: (u64, u64),
    scheme: Option<(&'static str, Value)>,
    pub(super) log_notes: Vec<String>,
    /// Whether the logs were written.
    pub(super) logged: Result<(), String>,
}

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// The pages that cannot be read, and the few that must be read to know; none if that is so of all, as where contents are
    /// compared, or where error correction may have failed unseen.
    fn unreadable_pages(&self) -> Option<(Bits, Bits)> {
        let Device { engine, body, .. } = self;
        let port = engine.ports().host();
        let gave_up = |errors: ErrorCounts| errors.uncorrectable > 0;
        if C::KEEP || body.error_counts().is_some_and(gave_up) {
            return None;
        }
        let mut pages = port.pages().existing().clone();
        port.cached_pages().for_each(|page| _ = pages.set(page, false));
        engine.tree().unreadable(&pages, &|backend| body.is_sound(backend))
    }

    /// The pages of a lone drive that are not known to be as they were created by a rule with contents; none if there is no
    /// such rule. All others can be read and have these contents: nothing was written to their places, or erased, since.
    pub(super) fn changed_pages(&self) -> Option<Bits> {
        let mut changed = self.body.changed_pages(self.engine.tree().only_backend()?)?;
        self.port().changed_pages().for_each(|page| _ = changed.set(page, true));
        Some(changed)
    }

    /// The counts of all members' maps; none if the backends have page maps.
    pub(super) fn mapping_counts(&self) -> Option<Counts> {
        let maps = self.engine.tree().schemes().filter_map(|scheme| match scheme {
            Any::Mapped(map) => Some(map.counts()),
            _ => None,
        });
        maps.reduce(|all, one| all.with(one, |all, one| all + one))
    }

    /// Sector hits and misses of a member's DRAM.
    fn hits_of(&self, placement: &DevicePlacement) -> Option<Hits> {
        let engine = &self.engine;
        engine.ports().hits(engine.tree().descendant(&placement.path)?, engine.tree())
    }

    /// The same for all devices.
    pub(super) fn member_hits(&self) -> Vec<Option<Hits>> {
        self.placements.iter().map(|placement| self.hits_of(placement)).collect()
    }
}

impl RunAccounts {
    /// The time from the start of counting until the last request was answered and all operations granted by then had
    /// ended; counted busy times lie within it.
    fn busy_within(&self, totals: &Totals, clock: &RunClock) -> Span {
        clock.last.max(totals.at_rest).since(self.busy_from)
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// The host has its last answer: caches write nothing back by themselves any more. Where they did, counting ends when
    /// what is under way for requests and by schemes has ended too: GC of drives that continues then, for what caches wrote
    /// back before, would be work of the run that takes no time of the run. A run with failures or power
    /// losses is counted to its end, as its phases are: a rebuild is part of what it shows.
    #[cold]
    pub(super) fn end_counting(&mut self) {
        if self.host.comes(false) || self.host.has_requests(&self.failures) {
            return;
        }
        self.device.engine.give_up_hopeless_rebuilds();
        if self.accounts.counted.is_some() {
            return;
        }
        self.clock.drains |= self.device.engine.ports_mut().stop_writing_back();
        let failed = !self.accounts.phases.is_empty() || !self.device.engine.tree().is_healthy();
        let quiet = self.device.engine.work().is_quiet() && self.device.engine.next_due() == SimTime::NEVER;
        if self.clock.drains && quiet && !failed && !self.job.flush_at_end {
            self.accounts.counted = Some(self.count_up());
        }
    }

    /// All counters of the run until now, and the end of its logs.
    pub(super) fn count_up(&mut self) -> CountedRun {
        let end = self.clock.now.max(self.clock.last);
        self.end_showing();
        let counted = self.count(end);
        // The files of a run that was interrupted would pass for those of a whole one.
        let logged = if self.clock.interrupted { Ok(()) } else { self.device.body.close_log(end) };
        CountedRun { logged, ..counted }
    }

    /// All counters of the run until `end`, without ending its logs.
    pub(super) fn count(&mut self, end: SimTime) -> CountedRun {
        CountedRun {
            totals: self.device.totals(end, &self.host),
            wear: self.wear(self.device.body.erases()),
            filled: self.device.body.filled(),
            scheme: self.scheme_figures(),
            log_notes: self.device.body.log_notes(end),
            logged: Ok(()),
        }
    }

    /// Whether pages may be lost that no request has asked for.
    pub(super) fn may_have_lost(&self) -> bool {
        let gave_up = |errors: ErrorCounts| errors.uncorrectable > 0;
        self.failures.fault_events.injected
            || !self.device.engine.tree().is_healthy()
            || self.device.body.error_counts().is_some_and(gave_up)
    }

    /// Finds the pages that cannot be read: these are lost, even if no request needed them. Call it after
    /// [`Simulation::count_up`].
    pub(super) fn find_lost_pages(&mut self) {
        match self.device.unreadable_pages() {
            Some((lost, unknown)) => {
                self.device.engine.tree_mut().exposure_mut().lose_pages(&lost);
                self.read_pages(&unknown);
                debug_assert!(self.agrees_with_reading(), "lost pages are those that cannot be read");
            }
            None => self.read_everything(),
        }
    }

    /// Reads every existing page, without time and without counting.
    fn read_everything(&mut self) {
        let existing = self.device.port().pages().existing();
        let Some(changed) = self.device.changed_pages() else {
            let pages = existing.clone();
            return self.read_pages(&pages);
        };
        let changed = changed.common(existing);
        if C::KEEP {
            let is_as_created = |&page: &u64| existing.has(page) && !changed.has(page);
            let cached = self.device.port().cached_pages().filter(is_as_created).count();
            self.accounts.statistics.pages_read_back += existing.count() - changed.count() - cached as u64;
        }
        self.read_pages(&changed);
    }

    /// Whether reading the pages of a small drive finds the same ones lost.
    fn agrees_with_reading(&mut self) -> bool {
        let before = self.device.engine.tree().exposure().lost().count();
        if self.device.port().pages().existing().count() < 1 << 16 {
            self.read_everything();
        }
        before == self.device.engine.tree().exposure().lost().count()
    }

    /// Reads existing pages, without time and without counting.
    fn read_pages(&mut self, pages: &Bits) {
        for page in pages.iter() {
            // Not where the cache holds newer sectors.
            if self.device.port().cached(page) == 0 {
                self.read_back(page);
            }
        }
    }

    fn read_back(&mut self, page: u64) {
        let request = self.device.engine.open(u32::MAX, 0);
        let mut expected = Vec::new();
        let now = self.clock.now;
        self.device.access(now, request, &mut expected).read_back(page);
        self.device.engine.close(&mut self.device.body, self.clock.now, request);
        for finished in std::mem::take(self.device.engine.work_mut().finished()) {
            if C::KEEP && finished.lost == 0 {
                let pages = self.device.engine.work_mut().pages(finished.counter);
                let wrong = |expected: &&Expected<C>| {
                    !self.device.pages.accepts(expected, pages[expected.slot as usize], false)
                };
                self.accounts.statistics.pages_read_back += expected.len() as u64;
                self.accounts.statistics.wrong_reads += expected.iter().filter(wrong).count() as u64;
            }
            self.device.engine.work_mut().forget(finished.counter);
        }
    }

    /// The statistics of each drive or disk of an array since counting began; memories have none.
    fn member_facts(&self, totals: &Totals) -> Vec<MemberActivity<'_>> {
        let mut facts = Vec::new();
        let mut before = self.accounts.baseline.devices.iter();
        let span = totals.at.since(self.accounts.baseline.at);
        let mut hits_before = self.accounts.baseline.member_hits.iter().copied();
        let members =
            self.device.placements.iter().zip(totals.devices.iter().cloned()).zip(&totals.member_hits);
        for (((placement, now), hits), marks) in members.zip(&self.accounts.ends) {
            let before = before.next().cloned().unwrap_or_default();
            let hits_before = hits_before.next().flatten().unwrap_or_default();
            let Some(drive) = self.resolved.descendant(&placement.path).filter(|drive| !drive.is_array())
            else {
                continue;
            };
            let (first_worn_block, first_refusal) = (marks.first_worn_block, marks.first_refusal);
            let end = self.clock.last;
            facts.push(MemberActivity {
                path: &placement.path,
                drive,
                now,
                before,
                hits: hits.map(|hits| hits.since(hits_before)),
                end,
                span,
                busy_within: self.accounts.busy_within(totals, &self.clock),
                first_worn_block,
                first_refusal,
            });
        }
        facts
    }

    /// How the drive starts, in words.
    fn start_in_words(&self) -> String {
        match &self.job.aged {
            Some(_) => "as it was saved".into(),
            None if self.accounts.conditioned.is_some() => "full, conditioned by random writes".into(),
            None => self.resolved.start_in_words(),
        }
    }

    /// Whether something has failed, or the job says that something will: a drive that is only expected to lose its power
    /// has one phase.
    fn shows_phases(&self) -> bool {
        let was_cut = self.failures.durability.as_ref().is_some_and(|durability| !durability.cuts.is_empty());
        !self.job.expects_power_cuts || self.failures.fault_events.injected || was_cut
    }

    /// The statistics of each flow.
    fn flow_facts(&self) -> Vec<FlowFacts<'_>> {
        let flows = self.host.flows.as_ref().map_or_else(Vec::new, |flows| flows.facts(self.workload));
        let with_counts = |(at, facts)| FlowFacts {
            operations: self.host.operations.as_ref().map(|counts| counts.of(at)),
            ..facts
        };
        flows.into_iter().enumerate().map(with_counts).collect()
    }

    pub(super) fn summary(&self, counted: &CountedRun, tally: &Tally, warnings: Vec<String>) -> Value {
        let CountedRun { totals, wear, filled, scheme, .. } = counted;
        let since = |now: &[Span], before: &[Span]| -> Vec<Span> {
            let before = before.iter().copied().chain(std::iter::repeat(Span::ZERO));
            // A power loss takes back what was granted ahead before counting began.
            now.iter().zip(before).map(|(now, before)| now.beyond(before)).collect()
        };
        let before = &self.accounts.baseline;
        let [channels, units] = &totals.busy;
        let mapping = before.mapping.unwrap_or_default();
        let nothing = RunPhases::default();
        summary(&Facts {
            drive: self.resolved,
            seed: self.job.seed.unwrap_or(1),
            workload: &self.accounts.facts,
            statistics: &self.accounts.statistics,
            counters: &totals.counters.since(&before.counters),
            work: totals
                .work
                .as_ref()
                .map(|work| work.since(before.work.as_ref().unwrap_or(&OperationTimes::default()))),
            errors: totals.errors.clone().map(|counts| {
                // Pages that were recovered may be lost since.
                let recovered = totals.recovered.saturating_sub(before.recovered);
                (counts, ErrorEffects { recovered, host_errors: self.accounts.statistics.failed_reads })
            }),
            hits: totals.hits.since(before.hits),
            held: [before.held, totals.held],
            from: before.at,
            until: self.clock.last,
            queue_max: self.host.window.most(),
            // With `late_requests = "from-arrival"` requests wait while others that came later are over.
            queue_full: self
                .host
                .window
                .full()
                .beyond(before.queue_full)
                .min(self.clock.last.since(before.at)),
            busy: [since(channels, &before.busy[0]), since(units, &before.busy[1])],
            busy_within: self.accounts.busy_within(totals, &self.clock),
            wear: wear.clone(),
            members: self.member_facts(totals),
            handles: handle_counts_since(&totals.handles, &before.handles),
            scheme: scheme.clone(),
            conditioned: self.accounts.conditioned.clone(),
            start: self.start_in_words(),
            filled: *filled,
            lost_pages: self.device.engine.tree().exposure().lost().count(),
            reconstructed_reads: tally.reconstructed,
            unprotected_page_ns: (self.resolved.survives().0 > 0).then_some(tally.unprotected_page_ns),
            interrupted: self.clock.interrupted,
            untimed: self.clock.untimed.then_some(self.workload.replay == Replay::Open),
            phases: if self.shows_phases() { &self.accounts.phases } else { &nothing },
            flows: self.flow_facts(),
            has_tenants: self.workload.has_tenants,
            mapping: totals
                .mapping
                .map(|counts| (self.resolved.map().name, counts.with(mapping, |now, before| now - before))),
            reads: self.resolved.reads_around().then(|| totals.reads.since(before.reads)),
            turns: totals.turns.map(|[on, off]| {
                let [on_before, off_before] = before.turns.unwrap_or_default();
                [on - on_before, off - off_before]
            }),
            power_cuts: self.failures.durability.as_ref().map_or(&[], |durability| &durability.cuts),
            warnings,
        })
    }
}
