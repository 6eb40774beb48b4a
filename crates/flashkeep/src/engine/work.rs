//! The requests and plans in progress, and the commands that wait for them.

use super::background::Parked;
use super::coming::{OutstandingWork, Unfinished};
use super::contents::Contents;
use super::hedge::Hedges;
use super::latency::Latencies;
use super::locks::Locks;
use super::ports::Fences;
use super::requests::{CompletionCounter, Finished};
use super::running::RunningPlan;
use super::sums::PageBuffers;
use crate::kernel::{Arena, Id};

/// The requests and plans in progress.
#[derive(Clone, Debug)]
pub struct WorkInProgress<C> {
    pub(super) counters: Arena<CompletionCounter>,
    pub(super) running_plans: Arena<RunningPlan>,
    pub(super) unfinished: Unfinished,
    pub(super) buffers: PageBuffers<C>,
    pub(super) locks: Locks,
    pub(super) parked: Parked,
    /// What waits until requests, of the host or at a port, are durable.
    pub(super) fences: Fences,
    pub(super) finished: Vec<Finished>,
    /// The number of requests opened so far, which is the age of the next one.
    pub(super) opened: u32,
    /// Where the time of requests goes, if that is measured.
    pub(super) latencies: Latencies,
    /// Reads that are done in another way as well if they take long.
    pub(super) hedges: Hedges<C>,
}

impl<C: Contents> WorkInProgress<C> {
    pub(super) fn new(nodes: usize) -> Self {
        WorkInProgress {
            counters: Arena::default(),
            running_plans: Arena::default(),
            unfinished: Unfinished::new(nodes),
            buffers: PageBuffers::default(),
            locks: Locks::default(),
            parked: Parked::new(nodes),
            fences: Fences::default(),
            finished: Vec::new(),
            opened: 0,
            latencies: Latencies::default(),
            hedges: Hedges::default(),
        }
    }

    /// A power loss ends all of it. Returns the locks that were held.
    pub(super) fn cut(&mut self, nodes: usize) -> Locks {
        let (opened, latencies) = (self.opened, std::mem::take(&mut self.latencies));
        std::mem::replace(self, WorkInProgress { opened, latencies, ..WorkInProgress::new(nodes) }).locks
    }

    /// What nodes have accepted but not yet passed on.
    #[inline(always)]
    pub(super) fn outstanding(&self) -> OutstandingWork<'_> {
        let WorkInProgress { running_plans, unfinished, locks, parked, .. } = self;
        OutstandingWork { running_plans, unfinished, locks, parked }
    }

    /// A completion counter for this many pages.
    #[inline]
    pub(super) fn claim_counter(&mut self, pages: u32) -> Id<CompletionCounter> {
        let counter = self.counters.claim();
        self.buffers.open(counter, pages as usize);
        counter
    }

    /// Whether no operation is in progress.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.counters.live() == 0 && self.running_plans.live() == 0 && self.parked.is_empty()
    }
}
