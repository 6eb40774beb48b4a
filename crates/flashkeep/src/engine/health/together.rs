//! Codewords that are examined together: where all of a run's pages are there, and the same members lack all of their pages
//! of it, or none, codewords repeat with the layout's period.

use super::{Codeword, CodewordHealth, NodeHealth, Protection, copies};
use crate::engine::plan::Member;
use crate::engine::scheme::Scheme;
use crate::engine::view::View;
use std::ops::Range;

/// The codewords of a run: the first length that fits and whose codewords are alike.
const TOGETHER: [u64; 2] = [1 << 15, 64];

impl NodeHealth {
    /// Examines all codewords with pages that are no known zeros, or of which a member is recorded to lack single pages.
    pub(super) fn examine_all<S: Scheme>(&mut self, scheme: &S, again: bool, view: &View<'_>) {
        let (data, count) = match scheme.protection() {
            Protection::None | Protection::Own(_) => return,
            Protection::Copies => (1, scheme.capacity()),
            Protection::Stripes(stripes) => (u64::from(stripes.data()), u64::from(stripes.count())),
        };
        let mut at = 0;
        while at < count {
            at = next_codeword(scheme, at..count, data, view);
            let fits = |length: &u64| at.is_multiple_of(*length) && at + length <= count;
            let alike = TOGETHER
                .into_iter()
                .filter(fits)
                .find(|length| self.examine_together(scheme, at..at + length, again, view));
            if let Some(length) = alike {
                at += length;
            } else if at < count {
                self.examine(scheme, at, again, view, |member, page| view.has(member, page));
                at += 1;
            }
        }
    }

    /// Examines a run of codewords at once; false if they may differ.
    fn examine_together<S: Scheme>(
        &mut self,
        scheme: &S,
        run: Range<u64>,
        again: bool,
        view: &View<'_>,
    ) -> bool {
        let (Some(used), Some(period)) = (scheme.used(), scheme.period()) else { return false };
        let (stripes, data) = match scheme.protection() {
            Protection::Stripes(stripes) => (Some(stripes), u64::from(stripes.data())),
            _ => (None, 1),
        };
        let pages = run.start * data..run.end * data;
        let alike = used.uniform(pages.clone()) == Some(true)
            && (0..view.members()).all(|member| view.lacks_alike(Member(member), run.clone()))
            && self.is_alike(run.clone());
        let fits = u64::from(period) <= run.end - run.start;
        let Some(was) = self.at_risk.alike(run.clone()).filter(|_| alike && fits) else {
            return false;
        };
        let mut lost = Vec::new();
        let mut all: Option<CodewordHealth> = None;
        for n in 0..u64::from(period) {
            self.word.take_from(scheme, run.start + n);
            let condition = match stripes {
                Some(_) => self.word.condition_of_stripe(view, &mut |index| lost.push((n, index))),
                None => copies::condition(&self.word, false, view),
            };
            if *all.get_or_insert(condition) != condition {
                return false;
            }
        }
        let condition = all.unwrap_or_default();
        let length = run.end - run.start;
        self.degraded.set_run(run.clone(), condition.degraded);
        self.queue.set_run(run.clone(), condition.restorable && again);
        self.at_risk.set_run(run.clone(), condition.at_risk);
        self.exposed = self.exposed + length * u64::from(condition.at_risk) - length * u64::from(was);
        if stripes.is_some() {
            self.lost.set_run(pages, false);
            self.lose_alike(run, u64::from(period), data, &lost);
        }
        true
    }

    /// Whether a run of codewords is alike so far, and none of them waits for a recovery.
    fn is_alike(&self, run: Range<u64>) -> bool {
        self.degraded.uniform(run.clone()).is_some()
            && self.queue.uniform(run.clone()).is_some()
            && self.first.uniform(run.clone()) == Some(false)
            && self.newer_missing.uniform(run) == Some(false)
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
    let mut next = used.next(run.start * data, run.end * data, true) / data;
    if scheme.period().is_none() {
        return next;
    }
    for member in (0..view.members()).map(Member) {
        next = next.min(view.next_single_lack(member, run.start..next));
    }
    next
}
