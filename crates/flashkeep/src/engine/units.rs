//! Chunks: several consecutive pages on one member, then on the next, over schemes whose stripes have one page per
//! member.
//!
//! A permutation of pages connects the two: page `k` of chunk `n` is page `k` of row `n / data`, and data
//! page `n % data` there. Above a tree the host's addresses pass through it. In an array within an array a command
//! passes through it on entry, split into runs of pages that are consecutive to its scheme.

use super::backends::{Backends, CompletionToken};
use super::command::{Command, Page, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::scheme::Scheme;
use super::tree::NodeId;
use crate::kernel::SimTime;

/// The permutation of an array's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkOrder {
    unit: u64,
    data: u64,
}

impl ChunkOrder {
    /// Chunks of `pages` pages over `data` data members; none if the permutation is the identity.
    #[must_use]
    pub fn new(unit: u32, data: u32) -> Option<ChunkOrder> {
        (unit > 1 && data > 1).then_some(ChunkOrder { unit: unit.into(), data: data.into() })
    }

    /// The scheme's number of a page of its parent.
    #[inline]
    #[must_use]
    pub fn inner(self, page: Page) -> Page {
        let (unit, within) = (page.0 / self.unit, page.0 % self.unit);
        Page((unit / self.data * self.unit + within) * self.data + unit % self.data)
    }

    /// The parent's number of a page of the scheme.
    #[inline]
    #[must_use]
    pub fn outer(self, page: Page) -> Page {
        let (stripe, at) = (page.0 / self.data, page.0 % self.data);
        let (row, within) = (stripe / self.unit, stripe % self.unit);
        Page((row * self.data + at) * self.unit + within)
    }

    /// The runs of the scheme's pages for a run of the parent's, in order. Each has its first page, its length, and the
    /// place of its first page in the parent's run; the places of the others are a chunk apart.
    fn runs(self, start: Page, count: u16, mut tell: impl FnMut(Page, u16, u32)) {
        let row = self.unit * self.data;
        let (mut at, end) = (start.0, start.0 + u64::from(count));
        while at < end {
            let base = at - at % row;
            let (from, until) = (at - base, (end - base).min(row));
            // The pages of each chunk that are within the row's part of the run.
            for within in 0..self.unit {
                let first = from.saturating_sub(within).div_ceil(self.unit);
                let last = until.saturating_sub(within).div_ceil(self.unit);
                if first < last {
                    let outer = base + first * self.unit + within;
                    tell(self.inner(Page(outer)), (last - first) as u16, (outer - start.0) as u32);
                }
            }
            at = base + until;
        }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Submits a command to a node whose scheme numbers its pages differently from the node's parent.
    #[inline(never)]
    pub(super) fn enter_by_units<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        units: ChunkOrder,
        command: Command,
        token: CompletionToken,
    ) {
        if command.count == 1 || command.verb == Verb::Remap {
            for n in 0..u32::from(command.count) {
                let mut one = command.part(n, 1);
                (one.start, one.to) = (units.inner(one.start), units.inner(one.to));
                self.enter(backends, now, node, one, token.plus(n));
            }
            return;
        }
        units.runs(command.start, command.count, |start, count, at| {
            let run = command.over(start, count);
            self.enter(backends, now, node, run, token.plus(at).apart(units.unit as u32));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_permutation_that_keeps_rows_together() {
        let units = ChunkOrder::new(4, 3).expect("pages move");
        let mut inner: Vec<u64> = (0..48).map(|page| units.inner(Page(page)).0).collect();
        // The first chunk is the first data page of the first four stripes, the second chunk the second.
        assert_eq!(inner[..8], [0, 3, 6, 9, 1, 4, 7, 10]);
        for (outer, &inner) in (0..).zip(&inner) {
            assert_eq!(units.outer(Page(inner)), Page(outer));
        }
        inner.sort_unstable();
        assert!(inner.into_iter().eq(0..48));
        assert!(ChunkOrder::new(1, 3).is_none() && ChunkOrder::new(16, 1).is_none());
    }

    /// Each page of a run is in one run of the scheme's, at its place; what covers a row of units
    /// is a number of whole stripes.
    #[test]
    fn runs_are_cut_into_stripes() {
        for (unit, data) in [(2, 2), (4, 3), (3, 5), (16, 4)] {
            let units = ChunkOrder::new(unit, data).expect("pages move");
            for start in 0..2 * unit * data {
                for count in 1..=(3 * unit * data) as u16 {
                    let (mut seen, mut whole) = (vec![false; usize::from(count)], 0);
                    units.runs(Page::of(start), count, |first, run, at| {
                        assert!(first.low() % data + u32::from(run) <= data, "within a stripe");
                        whole += u32::from(u32::from(run) == data);
                        for n in 0..u32::from(run) {
                            let place = at + n * unit;
                            assert_eq!(units.inner(Page::of(start + place)), first.plus(n));
                            assert!(!std::mem::replace(&mut seen[place as usize], true));
                        }
                    });
                    assert!(seen.into_iter().all(|seen| seen), "{unit} × {data}: {start} + {count}");
                    let [from, until] =
                        [start.div_ceil(unit * data), (start + u32::from(count)) / (unit * data)];
                    assert!(whole >= until.saturating_sub(from) * unit, "{unit} × {data}: {start} + {count}");
                }
            }
        }
    }
}
