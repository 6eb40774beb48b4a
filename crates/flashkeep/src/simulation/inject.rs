//! Fault events: failures, replacements, and the phases between them. Parts that are slow or stall are in
//! [`fail_slow`](super::fail_slow).

use super::build::{DevicePlacement, build_array};
use super::fail_slow::SlowEvents;
use super::{Device, Failures, RunClock, Simulation};
use crate::config::Resolved;
use crate::devices::{Body, Inspect};
use crate::drive::{Drive, Fault, RunEvent};
use crate::engine::{BackendId, Change, Contents, NodeId, Page};
use crate::error::Error;
use crate::faults::{Event, What, When, events};
use crate::flash::Domain;
use crate::kernel::SimTime;
use crate::metrics::Tally;
use crate::schemes::Any;
use crate::workload::Workload;
use std::collections::{BTreeSet, VecDeque};

/// A fault event to come.
#[derive(Clone, Debug)]
enum FaultEvent {
    /// The part fails.
    Fail(Event),
    /// An empty part replaces it.
    Renew(Event),
    /// A hot spare replaces a failed backend.
    StandIn(BackendId),
    /// A part is no longer slow, or no longer stalls: the number of its event.
    Recover(u64),
}

/// The fault events to come.
#[derive(Debug, Default)]
pub(super) struct FaultEvents {
    /// By time, the next one last.
    timed: Vec<(SimTime, FaultEvent)>,
    /// By requests admitted, the next one first.
    counted: VecDeque<(u64, Event)>,
    /// By the end of a member's life.
    worn: Vec<Event>,
    /// The next instant, and the next number of requests, with an event. The end of an interval of a series is one.
    pub(super) next_at: SimTime,
    pub(super) next_count: u64,
    /// When the next interval of a series ends, or the timeline shows the state of the run.
    pub(super) sample_at: SimTime,
    /// Whether anything has happened yet.
    pub(super) injected: bool,
    /// Hot spares.
    spares: VecDeque<BackendId>,
    /// The paths of members that have failed as a whole, and have not been replaced.
    gone: BTreeSet<Vec<u32>>,
    /// Parts that are slow or stall.
    pub(super) slow: SlowEvents,
}

impl FaultEvents {
    /// The events of a job.
    pub(super) fn new(
        job: &crate::job::Job,
        drive: &crate::config::Resolved,
        workload: &Workload<'_>,
        spares: std::ops::Range<u16>,
    ) -> Result<Self, Error> {
        let spares = spares.map(BackendId).collect();
        let mut this = FaultEvents { spares, sample_at: SimTime::NEVER, ..FaultEvents::default() };
        let mut counted = Vec::new();
        for event in events(&job.fail, job.scenario.as_deref(), drive)? {
            match event.when {
                When::At(at) => this.timed.push((at, FaultEvent::Fail(event))),
                When::After(requests) => counted.push((requests, event)),
                When::Worn => this.worn.push(event),
                When::Share(share) => {
                    let all = workload.length(&format!("fail {}", event.text))?;
                    counted.push(((all as f64 * share / 100.0) as u64, event));
                }
            }
        }
        counted.sort_by_key(|&(requests, _)| requests);
        this.timed.sort_by_key(|&(at, _)| at);
        this.timed.reverse();
        this.counted = counted.into();
        this.look_ahead();
        Ok(this)
    }

    fn look_ahead(&mut self) {
        self.next_at = self.sample_at.min(self.next_fault_at());
        self.next_count = self.counted.front().map_or(u64::MAX, |&(requests, _)| requests);
    }

    /// When the next failure or replacement by time happens.
    pub(super) fn next_fault_at(&self) -> SimTime {
        self.timed.last().map_or(SimTime::NEVER, |&(at, _)| at)
    }

    /// The interval of a series ends at `at`.
    pub(super) fn sample_at(&mut self, at: SimTime) {
        self.sample_at = at;
        self.look_ahead();
    }

    /// Whether the next event by time is a replacement.
    pub(super) fn replaces_next(&self) -> bool {
        let mut next = self.timed.iter().rev().map(|(_, event)| event);
        let next = next.find(|event| !matches!(event, FaultEvent::Recover(_)));
        matches!(next, Some(FaultEvent::Renew(_) | FaultEvent::StandIn(_)))
    }

    /// Whether no failures or replacements by time are left.
    pub(super) fn are_over(&self) -> bool {
        self.timed.iter().all(|(_, event)| matches!(event, FaultEvent::Recover(_)))
    }

    /// Whether a part will be slow or stall.
    pub(super) fn has_slow_parts(&self) -> bool {
        let timed = self.timed.iter().filter_map(|(_, event)| match event {
            FaultEvent::Fail(event) => Some(event),
            _ => None,
        });
        timed.chain(self.counted.iter().map(|(_, event)| event)).any(|event| event.fail_slow.is_some())
    }

    /// A part that is slow or stalls will recover.
    pub(super) fn recover_at(&mut self, at: SimTime, number: u64) {
        self.later(at, FaultEvent::Recover(number));
    }

    /// Whether no events are left.
    pub(super) fn is_empty(&self) -> bool {
        self.timed.is_empty() && self.counted.is_empty() && self.worn.is_empty()
    }

    /// The events that did not happen before the end.
    pub(super) fn left(&self) -> impl Iterator<Item = &str> {
        let timed = self.timed.iter().filter_map(|(_, fault_event)| match fault_event {
            FaultEvent::Fail(event) => Some(event.text.as_str()),
            FaultEvent::Renew(_) | FaultEvent::StandIn(_) | FaultEvent::Recover(_) => None,
        });
        let others = self.counted.iter().map(|(_, event)| event).chain(&self.worn);
        timed.chain(others.map(|event| event.text.as_str()))
    }

    /// A failure happens at an instant.
    pub(super) fn add(&mut self, at: SimTime, event: Event) {
        self.later(at, FaultEvent::Fail(event));
    }

    fn later(&mut self, at: SimTime, fault_event: FaultEvent) {
        let place = self.timed.partition_point(|&(other, _)| other > at);
        self.timed.insert(place, (at, fault_event));
        self.look_ahead();
    }
}

impl<C: Contents, H: Body<C>> Device<C, H> {
    fn is_worn(&self, event: &Event) -> bool {
        if event.what == What::Whole {
            let mut devices =
                (0..).zip(&self.placements).filter(|(_, placement)| placement.path.starts_with(&event.path));
            return devices
                .any(|(device, _)| self.body.drive(device).is_some_and(|drive| drive.life().has_ended()));
        }
        let worn = |(device, fault)| self.body.drive(device).is_some_and(|drive| drive.is_worn(fault));
        self.faults(event, false).into_iter().all(worn)
    }

    fn backends(&self) -> impl Iterator<Item = BackendId> + use<C, H> {
        (0..self.backend_count).map(BackendId)
    }

    /// The node of the whole member that an event concerns.
    fn subtree(&self, event: &Event) -> Option<NodeId> {
        if event.what == What::Whole { self.engine.tree().descendant(&event.path) } else { None }
    }

    /// The drive or disk that an event concerns, and its part. A member with physical pages that permanently loses a
    /// plane is given up as a whole, because a superblock is the same block of every plane.
    pub(super) fn faults(&self, event: &Event, lasting: bool) -> Vec<(u16, Fault)> {
        let mut faults = Vec::new();
        for (device, placement) in (0..).zip(&self.placements) {
            if event.what == What::Whole && placement.path.starts_with(&event.path) {
                faults.extend(placement.whole.iter().map(|&fault| (device, fault)));
            } else if event.what != What::Whole && placement.path == event.path {
                let here = self.faults_within(device, placement, event.what, lasting);
                faults.extend(here.into_iter().map(|fault| (device, fault)));
            }
        }
        faults
    }

    fn faults_within(
        &self,
        device: u16,
        placement: &DevicePlacement,
        what: What,
        lasting: bool,
    ) -> Vec<Fault> {
        let memory = placement.whole.iter().copied().filter(|fault| matches!(fault, Fault::Nvram(_)));
        let Some(geometry) = self.body.drive(device).map(Drive::geometry) else {
            return match what {
                What::Memory => memory.collect(),
                What::Disk => placement.whole.clone(),
                What::DiskPage(page) => vec![Fault::DiskPage(Page::of(page))],
                _ => Vec::new(),
            };
        };
        let whole = |domain: &Domain| {
            let first = domain.plane(geometry, [0; 4]);
            Fault::Planes { first, count: domain.plane_count() }
        };
        match what {
            What::Flash(fault @ (Fault::Planes { .. } | Fault::PoolPart { .. }))
                if lasting && placement.physical =>
            {
                let injected = fault.planes(geometry);
                let touched = |domain: &&Domain| {
                    let start = domain.plane(geometry, [0; 4]).0;
                    start < injected.end && injected.start < start + domain.plane_count()
                };
                placement.domains.iter().filter(touched).map(whole).collect()
            }
            What::Flash(fault) => vec![fault],
            What::Memory => memory.collect(),
            What::Member(member) => vec![whole(&placement.domains[member as usize])],
            What::Power | What::Whole | What::Disk | What::DiskPage(_) => Vec::new(),
        }
    }

    /// The present counters.
    pub(super) fn tally(&mut self, resolved: &Resolved, clock: &RunClock) -> Tally {
        self.tally_until(clock.now, resolved, clock)
    }

    /// The present counters; pages that are unprotected now stay so until `end`.
    pub(super) fn tally_until(&mut self, end: SimTime, resolved: &Resolved, clock: &RunClock) -> Tally {
        Tally {
            counters: self.body.counters(),
            reconstructed: self.engine.tree().exposure().rescued(),
            lost: self.engine.tree().exposure().lost().count(),
            // Page-seconds have no meaning in an untimed run, or for a scheme that survives no failure.
            unprotected_page_ns: if clock.untimed || resolved.survives().0 == 0 {
                0
            } else {
                self.engine.tree_mut().exposure_mut().unprotected_page_ns(end)
            },
        }
    }
}

impl Failures {
    /// The name of the phase that the drive is in, once something has failed.
    pub(super) fn phase<C: Contents, H: Body<C>>(&self, device: &Device<C, H>) -> &'static str {
        match (device.engine.schedule().is_rebuilding(), device.engine.tree().is_whole()) {
            (true, _) if device.engine.tree().moves_back() => "moving back",
            (true, _) => "rebuilding",
            (false, true) => self.fault_events.slow.phase().unwrap_or("after"),
            (false, false) => "degraded",
        }
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// A hot spare replaces a failed backend, if there is one.
    fn stand_in(&mut self, dead: BackendId) {
        let (Some(node), Some(spare)) =
            (self.device.engine.tree().of_backend(dead), self.failures.fault_events.spares.front().copied())
        else {
            return;
        };
        if self.device.engine.is_map_at_work(dead) {
            return self.try_again(FaultEvent::StandIn(dead));
        }
        self.failures.fault_events.spares.pop_front();
        self.device.engine.replace(&mut self.device.body, self.clock.now, node, spare);
        self.device.engine.settle(&mut self.device.body, self.clock.now);
    }

    /// Operations in progress must end first: advances to the next instant at which they may have ended.
    fn try_again(&mut self, fault_event: FaultEvent) {
        let next = self.device.next_event();
        assert!(next < SimTime::NEVER, "what is under way comes to an end");
        self.failures.fault_events.later(SimTime(next.0.max(self.clock.now.0) + 1), fault_event);
    }

    /// Logs show the phase that has begun.
    pub(super) fn mark_phase(&mut self, event: Option<&str>, now: SimTime) {
        if self.job.timeline.is_some() {
            let name = self.accounts.phases.name();
            let text = event.map_or_else(|| name.to_owned(), |event| format!("{event}: {name}"));
            self.device.body.tell(&RunEvent::Mark(now, &text));
        }
    }

    /// A phase begins, with an event or by itself; logs show it.
    pub(super) fn begin_phase(
        &mut self,
        name: &'static str,
        event: Option<&str>,
        now: SimTime,
        tally: Tally,
    ) {
        self.accounts.phases.begin(name, event, now, tally);
        self.mark_phase(event, now);
    }

    /// The events due when this many requests have been admitted.
    #[cold]
    pub(super) fn inject_by_count(&mut self) {
        while self.failures.fault_events.next_count <= self.host.admitted
            && let Some((_, event)) = self.failures.fault_events.counted.pop_front()
        {
            self.failures.fault_events.look_ahead();
            self.fail(&event);
        }
    }

    /// The next event by time. Nothing else happens before `until`.
    #[cold]
    pub(super) fn inject_by_time(&mut self, until: SimTime) {
        let fault_at = self.failures.fault_events.next_fault_at();
        if self.failures.fault_events.sample_at <= fault_at {
            return self.sample(until.min(fault_at));
        }
        if !self.device.engine.tree().is_recovering() {
            self.end_recovery();
        }
        let Some((at, fault_event)) = self.failures.fault_events.timed.pop() else { return };
        self.failures.fault_events.look_ahead();
        if let FaultEvent::Fail(event) = &fault_event
            && event.what == What::Power
        {
            return self.cut_power(event, at);
        }
        self.clock.now = self.clock.now.max(at);
        match fault_event {
            FaultEvent::Fail(event) => self.fail(&event),
            FaultEvent::Renew(event) => self.renew(&event),
            FaultEvent::StandIn(backend) => self.stand_in(backend),
            FaultEvent::Recover(number) => self.end_slow(number),
        }
    }

    /// Members at their end of life and worn parts fail, if the job says so.
    pub(super) fn inject_into_worn(&mut self) {
        let mut at = 0;
        while at < self.failures.fault_events.worn.len() {
            if self.device.is_worn(&self.failures.fault_events.worn[at]) {
                let event = self.failures.fault_events.worn.remove(at);
                self.fail(&event);
            } else {
                at += 1;
            }
        }
    }

    fn fail(&mut self, event: &Event) {
        if event.what == What::Power {
            return self.cut_power(event, self.clock.now);
        }
        if let Some(fail_slow) = event.fail_slow {
            return self.begin_slow(event, fail_slow);
        }
        let now = self.clock.now;
        // The costs of the failure belong to the phase that it begins.
        let tally = self.device.tally(self.resolved, &self.clock);
        self.failures.fault_events.injected = true;
        let alive: Vec<_> =
            self.device.backends().filter(|&backend| !self.device.body.is_dead(backend)).collect();
        for (device, fault) in self.device.faults(event, !event.transient) {
            self.device.body.fail(now, device, fault, !event.transient);
        }
        let dead: Vec<_> = alive.into_iter().filter(|&backend| self.device.body.is_dead(backend)).collect();
        let subtree = self.device.subtree(event).filter(|_| !event.transient);
        for &backend in &dead {
            self.failures.fault_events.spares.retain(|&spare| spare != backend);
            if let Some(node) = self.device.engine.tree().of_backend(backend)
                && subtree.is_none()
            {
                self.device.engine.change(&mut self.device.body, now, node, Change::Failed);
            }
        }
        if let Some(node) = subtree {
            self.failures.fault_events.gone.insert(event.path.clone());
            self.device.engine.change(&mut self.device.body, now, node, Change::Failed);
        }
        self.device.engine.settle(&mut self.device.body, now);
        for backend in dead {
            self.stand_in(backend);
        }
        self.collect_finished();
        self.begin_phase(self.failures.phase(&self.device), Some(&event.text), now, tally);
        if let Some(span) = event.replace_after {
            self.failures.fault_events.later(now + span, FaultEvent::Renew(event.clone()));
        }
    }

    /// Empty parts replace failed ones; a backend that a hot spare has replaced becomes a hot spare itself.
    fn renew(&mut self, event: &Event) {
        let now = self.clock.now;
        // Operations within the array's member end first, which takes little time on a failed one.
        let dead: Vec<_> =
            self.device.backends().filter(|&backend| self.device.body.is_dead(backend)).collect();
        let engine = &self.device.engine;
        // A part of a member that has failed as a whole is replaced with it.
        let is_whole = event.what == What::Whole;
        let is_part_of = |gone: &[u32]| event.path.starts_with(gone) && !(is_whole && event.path == gone);
        if self.failures.fault_events.gone.iter().any(|gone| is_part_of(gone)) {
            return;
        }
        let failed = self.device.subtree(event).filter(|_| engine.tree().has_failed(&event.path));
        if failed.is_some_and(|node| engine.is_at_work(node))
            || dead.iter().any(|&backend| engine.is_map_at_work(backend))
        {
            return self.try_again(FaultEvent::Renew(event.clone()));
        }
        if is_whole {
            self.failures.fault_events.gone.retain(|gone| !gone.starts_with(&event.path));
        }
        for (device, fault) in self.device.faults(event, true) {
            self.device.body.renew(now, device, fault);
        }
        self.failures.replace_slow(event, &mut self.device);
        if let Some(node) = failed {
            let fresh = build_array::<C>(self.resolved, 0);
            self.device.engine.refresh(&mut self.device.body, now, node, fresh.tree, Any::inherit_counts);
            return self.begin_anew(now);
        }
        for backend in self.device.backends().collect::<Vec<_>>() {
            if self.device.body.is_dead(backend) {
                continue;
            }
            match self.device.engine.tree().of_backend(backend) {
                Some(node) if dead.contains(&backend) => {
                    self.device.engine.change(&mut self.device.body, now, node, Change::Replaced);
                }
                // Parts are new: pages that did not fit before may fit now.
                Some(node) => self.device.engine.change(&mut self.device.body, now, node, Change::Returned),
                None if dead.contains(&backend) => self.failures.fault_events.spares.push_back(backend),
                None => {}
            }
        }
        self.begin_anew(now);
    }

    /// An empty part has replaced a failed one.
    fn begin_anew(&mut self, now: SimTime) {
        self.device.engine.settle(&mut self.device.body, now);
        self.collect_finished();
        self.accounts.phases.hope();
        self.watch_phase();
    }

    // ---------------------------------------------------------------- phases

    /// Detects the end of a phase and begins the next one.
    #[cold]
    pub(super) fn watch_phase(&mut self) {
        if matches!(self.accounts.phases.name(), "" | "before" | "recovering")
            || self.device.engine.schedule().has_stopped_rebuilds()
            || self.device.engine.tree().heals_in_passing()
        {
            return;
        }
        let phase = self.failures.phase(&self.device);
        if self.accounts.phases.is_news(phase) {
            let tally = self.device.tally(self.resolved, &self.clock);
            self.begin_phase(phase, None, self.clock.now, tally);
        }
        if phase == "after" {
            self.device.engine.tree_mut().forget_announced();
        }
    }
}
