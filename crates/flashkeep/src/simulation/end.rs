//! The end of a run: what is left of the data, and what is said about it all.

use super::{Plot, Simulation};
use crate::buffer::Below;
use crate::devices::Body;
use crate::engine::Contents;
use crate::front::Hits;
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
                    let wrong =
                        expected.iter().filter(|&&(slot, token)| pages[slot as usize] != token).count();
                    self.statistics.checked_reads += expected.len() as u64;
                    self.statistics.wrong_reads += wrong as u64;
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
    fn member_facts(&self) -> Vec<MemberFacts<'_>> {
        let mut facts = Vec::new();
        let mut before = self.baseline.devices.iter();
        let end = self.now.max(self.last);
        let span = end.since(self.baseline.at);
        let mut hits_before = self.baseline.member_hits.iter().copied();
        for ((plot, now), marks) in self.plots.iter().zip(self.drive.statistics(end)).zip(&self.ends) {
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
                hits: self.hits_of(plot).map(|hits| hits.since(hits_before)),
                end,
                span,
                busy_within: self.busy_within(),
                first_death,
                first_refusal,
            });
        }
        facts
    }

    /// From when counting began until the last request was answered, and whatever was granted by then was over: what is
    /// counted as busy lies within.
    fn busy_within(&self) -> Span {
        self.last.max(self.drive.at_rest()).since(self.baseline.at)
    }

    pub(super) fn summary(&self, tally: &Tally, warnings: Vec<String>) -> serde_json::Value {
        let since = |now: Vec<Span>, before: &[Span]| -> Vec<Span> {
            let before = before.iter().copied().chain(std::iter::repeat(Span::ZERO));
            now.into_iter().zip(before).map(|(now, before)| now - before).collect()
        };
        let [channels, units] = &self.baseline.busy;
        let [channels_now, units_now] = self.drive.busy();
        let hits = self.buffer.hits();
        let before = self.baseline.hits;
        summary(&Facts {
            drive: self.resolved,
            seed: self.job.seed.unwrap_or(1),
            workload: &self.facts,
            statistics: &self.statistics,
            counters: &self.drive.counters().since(&self.baseline.counters),
            work: self.work().map(|work| work.since(&self.baseline.work)),
            hits: hits.since(before),
            from: self.baseline.at,
            until: self.last,
            queue_max: self.window.most(),
            busy: [since(channels_now, channels), since(units_now, units)],
            busy_within: self.busy_within(),
            wear: self.wear(),
            members: self.member_facts(),
            scheme: self.scheme_figures(),
            conditioned: self.conditioned.clone(),
            filled: self.drive.filled(),
            lost_pages: self.engine.lost().count(),
            reconstructed_reads: tally.reconstructed,
            unprotected_page_ns: (self.resolved.survives().0 > 0).then_some(tally.unprotected_page_ns),
            untimed: self.untimed.then_some(self.workload.replay == Replay::Open),
            phases: &self.phases,
            mapping: self.mapping_counts().map(|counts| {
                (self.resolved.map().name, counts.with(self.baseline.mapping, |now, before| now - before))
            }),
            power_cuts: self.ledger.as_ref().map_or(&[], |ledger| &ledger.cuts),
            warnings,
        })
    }
}
