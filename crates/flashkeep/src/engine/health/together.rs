//! Codewords that are examined together: where all of a run's pages are there, and the same members lack all of their pages
//! of it, or none, codewords repeat with the layout's period.

use super::{Codeword, CodewordHealth, NodeHealth, Protection, copies};
use crate::engine::command::Page;
use crate::engine::plan::Member;
use crate::engine::scheme::Scheme;
use crate::engine::view::View;
use std::ops::Range;

/// The codewords of a run: the first length that fits and whose codewords are alike.
const TOGETHER: [u64; 3] = [1 << 15, 1 << 10, 64];

/// What the codewords of a run lack.
struct RunCondition {
    /// The members that lack all of their pages of the run; the others lack none.
    lacking: Vec<u8>,
    /// The number of the first codeword in its period.
    phase: u64,
    /// Of each codeword of a period; one if all lack the same.
    conditions: Vec<CodewordHealth>,
    /// Data units that are lost, in each period.
    lost: Vec<(u64, u8)>,
}

impl RunCondition {
    /// Whether a run that lacks the pages of the same members, and begins there in its period, lacks the same.
    fn holds(&self, lacking: &[u8], phase: u64) -> bool {
        let in_any_phase = self.conditions.len() == 1 && self.lost.is_empty();
        self.lacking == lacking && (in_any_phase || self.phase == phase)
    }
}

impl NodeHealth {
    /// Examines all codewords with pages that are no known zeros, or of which a member is recorded to lack single pages.
    pub(super) fn examine_all<S: Scheme>(&mut self, scheme: &S, again: bool, view: &View<'_>) {
        let (data, count) = match scheme.protection() {
            Protection::None | Protection::Own(_) => return,
            Protection::Copies => (1, scheme.capacity()),
            Protection::Stripes(stripes) => (u64::from(stripes.data()), u64::from(stripes.count())),
        };
        let (mut at, mut like) = (0, None);
        while at < count {
            at = next_codeword(scheme, at..count, data, view);
            let fits = |length: &u64| at.is_multiple_of(*length) && at + length <= count;
            let alike = TOGETHER
                .into_iter()
                .filter(fits)
                .find(|length| self.examine_together(scheme, at..at + length, again, view, &mut like));
            if let Some(length) = alike {
                at += length;
            } else if at < count {
                self.examine(scheme, at, again, view, |member, page| view.has(member, page));
                at += 1;
            }
        }
    }

    /// Examines a run of codewords at once, or takes what was found of one that lacks the pages of the same members; false
    /// if they may differ.
    fn examine_together<S: Scheme>(
        &mut self,
        scheme: &S,
        run: Range<u64>,
        again: bool,
        view: &View<'_>,
        like: &mut Option<RunCondition>,
    ) -> bool {
        let (Some(used), Some(period)) = (scheme.used(), scheme.period(run.clone())) else { return false };
        let (stripes, data) = match scheme.protection() {
            Protection::Stripes(stripes) => (Some(stripes), u64::from(stripes.data())),
            _ => (None, 1),
        };
        let pages = run.start * data..run.end * data;
        let alike = used.uniform(pages.clone()) == Some(true)
            && (0..view.members()).all(|member| view.lacks_alike(Member(member), run.clone()))
            && self.is_alike(run.clone(), stripes.is_some());
        if !alike || u64::from(period) > run.end - run.start {
            return false;
        }
        let lacking: Vec<u8> =
            (0..view.members()).filter(|&member| !view.has(Member(member), Page(run.start))).collect();
        let phase = run.start % u64::from(period);
        let one_layout = stripes.is_some() && scheme.period(0..run.end).is_some();
        let found = like.take().filter(|like| one_layout && like.holds(&lacking, phase));
        let found = found.unwrap_or_else(|| {
            let (conditions, lost) = self.examine_period(scheme, run.start, period, view);
            RunCondition { lacking, phase, conditions, lost }
        });
        self.note_run(run.clone(), &found.conditions, again);
        if stripes.is_some() {
            self.lost.set_run(pages, false);
            self.lose_alike(run, u64::from(period), data, &found.lost);
        }
        *like = Some(found);
        true
    }

    /// What each codeword of a period lacks, or all of them, and which of their data units are lost.
    fn examine_period<S: Scheme>(
        &mut self,
        scheme: &S,
        first: u64,
        period: u32,
        view: &View<'_>,
    ) -> (Vec<CodewordHealth>, Vec<(u64, u8)>) {
        let (mut conditions, mut lost) = (Vec::new(), Vec::new());
        for n in 0..u64::from(period) {
            self.word.take_from(scheme, first + n);
            conditions.push(match scheme.protection() {
                Protection::Copies => copies::condition(&self.word, false, view),
                _ => self.word.condition_of_stripe(view, &mut |index| lost.push((n, index))),
            });
        }
        if conditions.iter().all(|condition| *condition == conditions[0]) {
            conditions.truncate(1);
        }
        (conditions, lost)
    }

    /// The codewords of a run lack this, in turn. What a member refused is not tried `again` until something changes.
    fn note_run(&mut self, run: Range<u64>, conditions: &[CodewordHealth], again: bool) {
        let found = |&CodewordHealth { degraded, at_risk, restorable }: &CodewordHealth| CodewordHealth {
            degraded,
            at_risk,
            restorable: restorable && again,
        };
        let [one] = conditions else {
            return run
                .zip(conditions.iter().cycle())
                .for_each(|(codeword, one)| self.note(codeword, found(one)));
        };
        let CodewordHealth { degraded, at_risk, restorable } = found(one);
        self.exposed += (run.end - run.start) * u64::from(at_risk);
        self.exposed -= self.at_risk.sum(run.clone());
        self.degraded.set_run(run.clone(), degraded);
        self.queue.set_run(run.clone(), restorable);
        self.at_risk.set_run(run, at_risk);
    }

    /// Whether what a run of codewords lacks follows from one period: none of them waits for a recovery or has two codewords,
    /// and of copies, all are alike so far.
    fn is_alike(&self, run: Range<u64>, stripes: bool) -> bool {
        self.first.uniform(run.clone()) == Some(false)
            && self.newer_missing.uniform(run.clone()) == Some(false)
            && (stripes || self.degraded.uniform(run.clone()).is_some() && self.queue.uniform(run).is_some())
    }

    /// Data units of each period are lost.
    fn lose_alike(&mut self, run: Range<u64>, period: u64, data: u64, lost: &[(u64, u8)]) {
        let mut from = run.start;
        while from < run.end && !lost.is_empty() {
            for &(n, index) in lost.iter().filter(|&&(n, _)| from + n < run.end) {
                self.lost.set((from + n) * data + u64::from(index), true);
            }
            from += period;
        }
    }
}

impl Codeword {
    /// The condition of a stripe of which every parity is as new as its data.
    fn condition_of_stripe(&self, view: &View<'_>, lose: &mut dyn FnMut(u8)) -> CodewordHealth {
        let found = self.condition(view, |member, page| view.has(member, page), |_| true, lose);
        CodewordHealth { degraded: found.degraded, at_risk: found.at_risk, restorable: found.restorable }
    }
}

/// The next codeword of a run of which a page is no known zero, or of which a member lacks single pages; its end if there is
/// none, and its first if the scheme does not say which pages are known zeros.
fn next_codeword<S: Scheme>(scheme: &S, run: Range<u64>, data: u64, view: &View<'_>) -> u64 {
    let Some(used) = scheme.used() else { return run.start };
    let in_period = scheme.period(run.clone()).is_some();
    // A member that was away may hold a page that was trimmed meanwhile; where it lacks one does not say which that is.
    let ever_used = scheme.ever_used().filter(|_| !in_period).unwrap_or(used);
    let mut next = ever_used.next(run.start * data, run.end * data, true) / data;
    if !in_period {
        return next;
    }
    for member in (0..view.members()).map(Member) {
        next = next.min(view.next_single_lack(member, run.start..next));
    }
    next
}
