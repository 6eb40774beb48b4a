//! The end of a run: reads all pages back and builds the report.

use super::{Plot, Simulation, Totals};
use crate::buffer::Below;
use crate::device::port::Hits;
use crate::devices::Body;
use crate::drive::Work;
use crate::engine::Contents;
use crate::host::Expected;
use crate::kernel::Span;
use crate::mapping::Counts;
use crate::metrics::{Facts, MemberFacts, Tally, summary};
use crate::schemes::Any;
use crate::workload::Replay;

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Reads every page that there is, without time and without counting: what cannot be read is lost, whether
    /// anybody has asked for it or not.
    pub(super) fn read_everything(&mut self) {
        for page in 0..self.buffer.pages().len() {
            if !self.buffer.is_in_flash(page) {
                continue;
            }
            let request = self.engine.open(u32::MAX, 0);
            let mut expected = Vec::new();
            let Simulation { engine, drive, buffer, now, .. } = self;
            let mut below = Below { engine, leaves: drive, now: *now, request, expected: &mut expected };
            buffer.read_back(page, &mut below);
            self.engine.close(&mut self.drive, self.now, request);
            for finished in std::mem::take(self.engine.finished()) {
                if C::KEEP && finished.lost == 0 {
                    let pages = self.engine.pages(finished.join);
                    let wrong = |expected: &&Expected<C>| {
                        !self.buffer.accepts(expected, pages[expected.slot as usize], false)
                    };
                    self.statistics.checked_reads += expected.len() as u64;
                    self.statistics.wrong_reads += expected.iter().filter(wrong).count() as u64;
                }
                self.engine.forget(finished.join);
            }
        }
    }

    /// What the maps of all members have done; none where they are the leaves' own.
    pub(super) fn mapping_counts(&self) -> Option<Counts> {
        let maps = self.engine.schemes().filter_map(|scheme| match scheme {
            Any::Mapped(map) => Some(map.counts()),
            _ => None,
        });
        maps.reduce(|all, one| all.with(one, |all, one| all + one))
    }

    /// Erases of each block since time 0.
    pub(super) fn erases(&self) -> Vec<u32> {
        let mut erases = self.drive.erases();
        for (now, before) in erases.iter_mut().zip(&self.erases_before) {
            *now = now.saturating_sub(*before);
        }
        erases
    }

    /// Sector hits and misses of a member's DRAM.
    fn hits_of(&self, plot: &Plot) -> Option<Hits> {
        self.engine.hits(self.engine.descendant(&plot.path)?)
    }

    /// The same of all that has a place.
    pub(super) fn member_hits(&self) -> Vec<Option<Hits>> {
        self.plots.iter().map(|plot| self.hits_of(plot)).collect()
    }

    /// What each drive or disk of an array has done since counting began; memories have nothing to tell.
    fn member_facts(&self, totals: &Totals) -> Vec<MemberFacts<'_>> {
        let mut facts = Vec::new();
        let mut before = self.baseline.devices.iter();
        let span = totals.at.since(self.baseline.at);
        let mut hits_before = self.baseline.member_hits.iter().copied();
        let members = self.plots.iter().zip(totals.devices.iter().cloned()).zip(&totals.member_hits);
        for (((plot, now), hits), marks) in members.zip(&self.ends) {
            let before = before.next().cloned().unwrap_or_default();
            let hits_before = hits_before.next().flatten().unwrap_or_default();
            let Some(drive) = self.resolved.descendant(&plot.path).filter(|drive| !drive.is_array()) else {
                continue;
            };
            let (first_death, first_refusal) = (marks.first_death, marks.first_refusal);
            let end = self.last;
            facts.push(MemberFacts {
                path: &plot.path,
                drive,
                now,
                before,
                hits: hits.map(|hits| hits.since(hits_before)),
                end,
                span,
                busy_within: self.busy_within(totals),
                first_death,
                first_refusal,
            });
        }
        facts
    }

    /// From when counting began until the last request was answered, and whatever was granted by then was over: what is
    /// counted as busy lies within.
    fn busy_within(&self, totals: &Totals) -> Span {
        self.last.max(totals.at_rest).since(self.busy_from)
    }

    pub(super) fn summary(&self, totals: &Totals, tally: &Tally, warnings: Vec<String>) -> serde_json::Value {
        let since = |now: &[Span], before: &[Span]| -> Vec<Span> {
            let before = before.iter().copied().chain(std::iter::repeat(Span::ZERO));
            now.iter().zip(before).map(|(&now, before)| now - before).collect()
        };
        let before = &self.baseline;
        let [channels, units] = &totals.busy;
        let mapping = before.mapping.unwrap_or_default();
        summary(&Facts {
            drive: self.resolved,
            seed: self.job.seed.unwrap_or(1),
            workload: &self.facts,
            statistics: &self.statistics,
            counters: &totals.counters.since(&before.counters),
            work: totals
                .work
                .as_ref()
                .map(|work| work.since(before.work.as_ref().unwrap_or(&Work::default()))),
            hits: totals.hits.since(before.hits),
            from: before.at,
            until: self.last,
            queue_max: self.window.most(),
            busy: [since(channels, &before.busy[0]), since(units, &before.busy[1])],
            busy_within: self.busy_within(totals),
            wear: self.wear(),
            members: self.member_facts(totals),
            scheme: self.scheme_figures(),
            conditioned: self.conditioned.clone(),
            filled: self.drive.filled(),
            lost_pages: self.engine.lost().count(),
            reconstructed_reads: tally.reconstructed,
            unprotected_page_ns: (self.resolved.survives().0 > 0).then_some(tally.unprotected_page_ns),
            untimed: self.untimed.then_some(self.workload.replay == Replay::Open),
            phases: &self.phases,
            mapping: totals
                .mapping
                .map(|counts| (self.resolved.map().name, counts.with(mapping, |now, before| now - before))),
            power_cuts: self.ledger.as_ref().map_or(&[], |ledger| &ledger.cuts),
            warnings,
        })
    }
}
