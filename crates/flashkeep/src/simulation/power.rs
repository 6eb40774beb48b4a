//! Power loss: its effects, and the comparison with the versions that were acknowledged to the host.
//!
//! The durability oracle records, outside the drive, the newest *acknowledged* and the newest *durable*
//! version of each page ([`Finished::durable`]). After a power loss it compares every page with both, without
//! simulated time: a missing acknowledged version is counted, a missing durable one is lost.

use super::{Device, Failures, Host, OutstandingRequest, RunClock, Simulation};
use crate::devices::Body;
use crate::engine::{Contents, Finished, Page, Version};
use crate::faults::Event;
use crate::kernel::{Arena, Bits, Id, SimTime};
use crate::metrics::PowerCut;
use std::collections::{BTreeMap, BTreeSet};

/// The promised versions of a page, counted like the oracle's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Promise {
    acknowledged: Option<u16>,
    durable: Option<u16>,
    /// The newest version at the last trim: this one and older ones may exist or not.
    trimmed: Option<u16>,
}

/// The durability oracle of a run with power cuts.
#[derive(Debug, Default)]
pub(super) struct DurabilityOracle {
    /// Those that differ from what was there at time 0.
    promises: BTreeMap<u64, Promise>,
    /// Pages that existed at time 0.
    initial: Bits,
    /// Pages whose acknowledged version is newer than the durable one: what a FLUSH waits for.
    unsettled: BTreeSet<u64>,
    /// Versions that will be durable.
    coming: Vec<(SimTime, u64, u16)>,
    /// Requests whose end is known and lies ahead.
    held: Vec<Finished>,
    /// The latest instant up to which requests have ended. With `host.late_requests = "from-arrival"` the clock goes
    /// back afterwards; the power does not fail before it.
    reached: SimTime,
    /// When the drive accepts requests again.
    ready: SimTime,
    recovering: bool,
    pub(super) cuts: Vec<PowerCut>,
}

/// Whether one version is newer than another, which may be missing.
fn is_newer(version: Option<u16>, than: Option<u16>) -> bool {
    match (version, than) {
        (Some(version), Some(than)) => (version.wrapping_sub(than) as i16) > 0,
        (version, _) => version.is_some(),
    }
}

impl Promise {
    /// Of a page that exists at time 0.
    fn of_existing(version: u16) -> Promise {
        Promise { acknowledged: Some(version), durable: Some(version), trimmed: None }
    }

    fn take(&mut self, version: u16, durable: bool) {
        if self.trimmed.is_some() && !is_newer(Some(version), self.trimmed) {
            return;
        }
        let promised = if durable { &mut self.durable } else { &mut self.acknowledged };
        if is_newer(Some(version), *promised) {
            *promised = Some(version);
        }
    }
}

impl DurabilityOracle {
    /// An oracle for a drive on which some pages exist already, of which some were `written`, with their versions.
    pub(super) fn new(existing: &Bits, written: impl Iterator<Item = (u64, u16)>) -> Self {
        let mut oracle = DurabilityOracle { initial: existing.clone(), ..DurabilityOracle::default() };
        for (page, version) in written.filter(|&(page, _)| existing.has(page)) {
            oracle.promises.insert(page, Promise::of_existing(version));
        }
        oracle
    }

    /// The promise of a page.
    fn promise_of(&self, page: u64) -> Promise {
        let at_first = || if self.initial.has(page) { Promise::of_existing(0) } else { Promise::default() };
        self.promises.get(&page).copied().unwrap_or_else(at_first)
    }

    /// Requests whose end is known and lies ahead.
    pub(super) fn ended(&self) -> usize {
        self.held.len()
    }

    /// Pages whose acknowledged version is newer than the durable one.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = u64> + '_ {
        self.unsettled.iter().copied()
    }

    /// The durable and the acknowledged version of a page.
    pub(super) fn promised_of(&self, page: u64) -> (Option<u16>, Option<u16>) {
        let Promise { durable, acknowledged, .. } = self.promise_of(page);
        (durable, acknowledged)
    }

    /// When the drive accepts requests again.
    pub(super) fn ready(&self) -> SimTime {
        self.ready
    }

    pub(super) fn trim(&mut self, page: u64, latest: u16) {
        self.promise(page, Promise { trimmed: Some(latest), ..Promise::default() });
    }

    /// The acknowledged versions that are not known to be durable.
    fn promised(&self) -> Vec<(u64, u16)> {
        let version = |&page: &u64| Some((page, self.promise_of(page).acknowledged?));
        self.unsettled.iter().filter_map(version).collect()
    }

    /// From now on, this is promised of a page.
    fn promise(&mut self, page: u64, promise: Promise) {
        self.promises.insert(page, promise);
        if is_newer(promise.acknowledged, promise.durable) {
            self.unsettled.insert(page);
        } else {
            self.unsettled.remove(&page);
        }
    }

    fn take(&mut self, page: u64, version: u16, durable: bool) {
        let mut promise = self.promise_of(page);
        promise.take(version, durable);
        self.promise(page, promise);
    }

    /// A request that wrote these versions is acknowledged.
    fn acknowledge(&mut self, written: &[(u64, u16)]) {
        for &(page, version) in written {
            self.take(page, version, false);
        }
    }

    /// These versions will be durable at an instant.
    fn await_durable(&mut self, written: &[(u64, u16)], durable: SimTime) {
        self.coming.extend(written.iter().map(|&(page, version)| (durable, page, version)));
    }

    fn come(&mut self, now: SimTime) {
        if now < SimTime::NEVER {
            self.reached = self.reached.max(now);
        }
        let (come, coming) = std::mem::take(&mut self.coming).into_iter().partition(|&(at, ..)| at <= now);
        self.coming = coming;
        let come: Vec<(SimTime, u64, u16)> = come;
        for (_, page, version) in come {
            self.take(page, version, true);
        }
    }
}

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// When the host has the answer of a request that the device has done: from memory it takes its time.
    fn answered_at(&self, finished: &Finished, host: &Host<C>) -> SimTime {
        finished.acknowledged + self.time_in_memory(Id::new(finished.tag), host)
    }

    /// Whether written pages may be only in a write cache, of the device or of a member.
    fn is_volatile(&self) -> bool {
        let port = self.port();
        !port.is_protected() && (port.has_cache() || self.engine.ports().has_caches())
    }

    /// When what a request has written is durable, if that is known: a protected cache has it when it acknowledges it.
    fn durable_at(&self, finished: &Finished) -> Option<SimTime> {
        if self.port().is_protected() { Some(finished.acknowledged) } else { finished.durable }
    }

    /// Pages that exist, that the host has written or trimmed, or that are lost, ascending; but for those that are as they
    /// were created, unless all are reported to the host.
    fn pages_to_look_at(&self, durability: &DurabilityOracle, are_reported: bool) -> Vec<u64> {
        let existing = self.port().pages().existing();
        let changed = self.changed_pages().filter(|_| !are_reported);
        let mut pages = changed.map_or_else(|| existing.clone(), |changed| changed.common(existing));
        let promised = durability.promises.iter().filter(|(_, promise)| **promise != Promise::default());
        promised.for_each(|(&page, _)| _ = pages.set(page, true));
        self.engine.tree().exposure().lost().iter().for_each(|page| _ = pages.set(page, true));
        pages.iter().collect()
    }

    /// The contents of a page that the backends have without a reconstruction.
    pub(super) fn intact(&self, page: u64) -> Option<C> {
        let body = &self.body;
        let engine = &self.engine;
        let contents = |backend, page| body.contents_of(backend, page);
        engine.tree().intact_contents(Page(page), &contents, engine.ports())
    }

    /// The contents of a page that its stripe reconstructs, without time; none if it is unrecoverable.
    fn reconstructed(&mut self, page: u64, awaited: bool, clock: &RunClock) -> Option<C> {
        if !awaited {
            return None;
        }
        let request = self.engine.open(u32::MAX, 0);
        let now = clock.now;
        self.engine.work_mut().begin_request(request, now);
        self.access(now, request, &mut Vec::new()).look(page);
        self.engine.close(&mut self.body, clock.now, request);
        let mut found = None;
        for finished in std::mem::take(self.engine.work_mut().finished()) {
            if finished.lost == 0 {
                found = self.engine.work_mut().pages(finished.counter).first().copied();
            }
            self.engine.work_mut().forget(finished.counter);
        }
        found
    }
}

impl<C: Contents> Host<C> {
    /// A request is acknowledged to the host.
    pub(super) fn acknowledge(&mut self, id: Id<OutstandingRequest<C>>, failures: &mut Failures) {
        let written = std::mem::take(&mut self.in_flight[id].written);
        if let Some(durability) = &mut failures.durability {
            durability.acknowledge(&written);
        }
    }
}

impl Failures {
    /// What a FLUSH makes durable.
    pub(super) fn promised(&self) -> Vec<(u64, u16)> {
        self.durability.as_ref().map_or_else(Vec::new, |durability| durability.promised())
    }

    /// When the first of these requests is over.
    pub(super) fn next_known_end<C: Contents, H: Body<C>>(
        &self,
        device: &Device<C, H>,
        host: &Host<C>,
    ) -> SimTime {
        let held = self.durability.iter().flat_map(|durability| &durability.held);
        held.map(|finished| device.answered_at(finished, host)).min().unwrap_or(SimTime::NEVER)
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Requests end only when their time has come, so that an earlier power cut still affects them.
    #[cold]
    pub(super) fn hold_finished(&mut self) {
        let finished = std::mem::take(self.device.engine.work_mut().finished());
        if self.device.engine.ports().host_link().is_some() {
            self.hand_to_link(finished);
            return self.end_requests(self.clock.now);
        }
        for mut finished in finished {
            #[cfg(debug_assertions)]
            if crate::kernel::is_planted(crate::kernel::Planted::EarlyAcknowledgement) {
                finished.acknowledged = finished.acknowledged.min(self.clock.now);
            }
            if !self.is_over(&mut finished) {
                continue;
            }
            // A FLUSH that comes before the host is answered waits for it, too.
            self.device.note_settled(&finished);
            if self.device.port().has_copies() {
                self.device.end_reads(&finished, &self.host);
            }
            self.host.window.leave(self.device.answered_at(&finished, &self.host));
            if let Some(durability) = &mut self.failures.durability {
                durability.held.push(finished);
            }
        }
        self.end_requests(self.clock.now);
    }

    /// Requests that wait for the link end when their data have crossed it; their writes are durable before or after
    /// that.
    fn hand_to_link(&mut self, finished: Vec<Finished>) {
        for mut finished in finished {
            if !self.is_over(&mut finished) {
                continue;
            }
            let (is_volatile, durable_at) = (self.device.is_volatile(), self.device.durable_at(&finished));
            let OutstandingRequest { written, durable, .. } = &self.host.in_flight[Id::new(finished.tag)];
            if let (true, Some(durability), Some(at)) =
                (*durable || !is_volatile, &mut self.failures.durability, durable_at)
            {
                durability.await_durable(written, at);
            }
            self.finish(&mut finished);
        }
    }

    /// Requests that have ended by `now` are over.
    #[cold]
    pub(super) fn end_requests(&mut self, now: SimTime) {
        let is_volatile = self.device.is_volatile();
        let Some(durability) = &mut self.failures.durability else { return };
        let mut held = std::mem::take(&mut durability.held);
        held.sort_by_key(|finished| self.device.answered_at(finished, &self.host));
        let over = held.partition_point(|finished| self.device.answered_at(finished, &self.host) <= now);
        for mut finished in held.drain(..over) {
            let durable_at = self.device.durable_at(&finished);
            let this = &mut self.host.in_flight[Id::new(finished.tag)];
            let (written, settled) = (std::mem::take(&mut this.written), this.durable);
            if let Some(durability) = &mut self.failures.durability {
                // The page may be only in DRAM.
                let durable = durable_at.filter(|_| settled || !is_volatile);
                durability.acknowledge(&written);
                durable.into_iter().for_each(|at| durability.await_durable(&written, at));
            }
            self.finish(&mut finished);
        }
        if let Some(durability) = &mut self.failures.durability {
            durability.held = held;
            durability.come(now);
        }
    }

    /// Requests whose end is known are over if that comes before `next`, when something else happens: the device may be
    /// idle from then on. False if none of them ends before that.
    pub(super) fn end_known(&mut self, next: SimTime) -> bool {
        let end = self.failures.next_known_end(&self.device, &self.host);
        if end < next {
            self.end_requests(end);
        }
        end < next
    }

    /// Another event happens: a recovery has ended by then.
    #[cold]
    pub(super) fn end_recovery(&mut self) {
        let Some(durability) = &mut self.failures.durability else { return };
        if std::mem::take(&mut durability.recovering) {
            let ready = durability.ready;
            let tally = self.device.tally(self.resolved, &self.clock);
            self.begin_phase(self.failures.phase(&self.device), None, ready, tally);
        }
    }

    /// The power fails and returns immediately.
    #[cold]
    pub(super) fn cut_power(&mut self, event: &Event, at: SimTime) {
        let at = self.failures.durability.as_ref().map_or(at, |durability| at.max(durability.reached));
        self.end_requests(at);
        let interrupted = self.host.in_flight.live() as u64;
        self.accounts.end_series_of_interrupted(at, &self.host);
        self.note_unanswered();
        self.host.in_flight = Arena::default();
        self.host.window.empty();
        self.device.engine.ports_mut().host_mut().cut_power();
        let tally = self.device.tally(self.resolved, &self.clock);
        self.begin_phase("recovering", Some(&event.text), at, tally);
        let recovery = self.device.body.cut_power(at);
        self.clock.now = recovery.ready;
        self.host.flows.iter_mut().for_each(|flows| flows.empty(recovery.ready));
        self.device.engine.recover(&mut self.device.body, recovery.ready);
        let drive = &self.device.body;
        self.device.engine.fall_back_ports(|backend, page| drive.contents_of(backend, page));
        let volatile_pages_lost = self.look_at_all_pages();
        let Some(durability) = &mut self.failures.durability else { return };
        durability.held.clear();
        durability.coming.clear();
        durability.recovering = true;
        durability.cuts.push(PowerCut {
            recovery: recovery.ready.since(at),
            interrupted,
            volatile_pages_lost,
            reads: recovery.reads,
            erases: recovery.erases,
        });
        let cuts = durability.cuts.len();
        self.restore_pages();
        self.write_out_saved();
        let ready = self.clock.now.max(recovery.ready);
        self.device.body.resume(ready);
        let Some(durability) = &mut self.failures.durability else { return };
        // The power may have failed again meanwhile.
        if durability.cuts.len() == cuts {
            durability.ready = ready;
            durability.cuts[cuts - 1].recovery = ready.since(at);
            self.clock.last = self.clock.last.max(ready);
            if let Some(link) = self.device.engine.ports_mut().host_link_mut() {
                link.cut(ready);
            }
            self.tell_power_cut(at, ready);
        }
    }

    /// The schemes restore pages that the power loss took, before requests are served. Events by time happen meanwhile.
    fn restore_pages(&mut self) {
        while self.device.engine.tree().is_recovering() {
            let event = self.device.next_event();
            if event.min(self.failures.fault_events.next_fault_at()) == SimTime::NEVER {
                return;
            }
            let fault_event = self.failures.fault_events.next_at;
            if fault_event < event {
                self.inject_by_time(event);
            } else {
                self.happen(fault_event);
            }
        }
    }

    /// What a protected cache has saved is written out, by a request of the port's own.
    fn write_out_saved(&mut self) {
        if !self.device.port().is_protected() {
            return;
        }
        self.device.engine.write_out_saved_of_host(&mut self.device.body, self.clock.now);
        self.collect_finished();
    }

    /// Checks every page; returns the number of pages older than the acknowledged version.
    fn look_at_all_pages(&mut self) -> u64 {
        let Some(mut durability) = self.failures.durability.take() else { return 0 };
        let rescued = self.device.engine.tree().exposure().rescued();
        let is_volatile = self.device.engine.ports().has_caches() && !self.device.port().is_protected();
        let mut volatile = 0;
        for page in self.device.pages_to_look_at(&durability, self.live.is_some()) {
            let promise = durability.promise_of(page);
            // If an unacknowledged write reached the media, later reads must return it.
            let awaited = self.device.port().pages().sectors(page) != 0
                || promise.durable.or(promise.acknowledged).is_some();
            // A trim in progress may have been interrupted: its page may still have its old contents.
            let was_lost = self.device.engine.tree().exposure().lost().has(page);
            let intact = self.device.intact(page);
            let found = intact.or_else(|| {
                self.device.reconstructed(page, awaited || promise.trimmed.is_some(), &self.clock)
            });
            if !awaited && !was_lost {
                self.device.engine.tree_mut().exposure_mut().set_lost(Page(page), false);
            }
            // A page that must be reconstructed may come to a cache that the next power loss empties.
            let saved = self.device.engine.ports_mut().host_mut().saved(page, intact);
            let Some(contents) = saved.or(found) else {
                self.note_missing(page);
                continue;
            };
            self.note_found(page, contents);
            let version = match Version::of(contents.stamp()) {
                Some(Version::Written(whose, version)) if whose == page => Some(version),
                Some(Version::Before(whose)) if whose == page => None,
                _ if contents == C::default() => None,
                _ if self.device.engine.tree_mut().lose_if_poisoned(Page(page)) => {
                    self.device.engine.tree_mut().exposure_mut().set_lost(Page(page), true);
                    continue;
                }
                _ => {
                    self.accounts.statistics.wrong_reads += 1;
                    None
                }
            };
            if promise.durable.is_some() && is_newer(promise.durable, version) {
                self.device.engine.tree_mut().exposure_mut().set_lost(Page(page), true);
            } else if promise.acknowledged.is_some() && is_newer(promise.acknowledged, version) {
                volatile += 1;
            }
            let is_durable = !is_volatile || intact.is_some();
            let durable = version.filter(|_| is_durable);
            let kept = Promise { acknowledged: version, durable, trimmed: promise.trimmed };
            durability.promise(page, kept);
            self.device.pages.fall_back(page, contents);
            self.device.engine.ports_mut().host_mut().fall_back(page, contents);
        }
        self.device.engine.tree_mut().exposure_mut().set_rescued(rescued);
        self.failures.durability = Some(durability);
        volatile
    }

    /// Records the writes and trims of a request that has been submitted.
    pub(super) fn note_versions(&mut self, id: Id<OutstandingRequest<C>>, trims: bool) {
        let sector_bytes = u64::from(self.resolved.spec.flash.sector_bytes);
        let page_sectors = self.device.port().pages().page_sectors();
        let Some(durability) = &mut self.failures.durability else { return };
        let written = &mut self.host.in_flight[id].written;
        written.clear();
        for &crate::host::Range { offset, length } in &self.host.ranges {
            for fragment in super::fragments(offset, length, sector_bytes, page_sectors) {
                for page in fragment.page..fragment.page + u64::from(fragment.count) {
                    let version = self.device.pages.version(page);
                    if trims && fragment.mask == self.device.port().pages().whole() {
                        durability.trim(page, version);
                    } else if !trims {
                        written.push((page, version));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_waits_for_what_was_written_since_the_last_one() {
        let mut existing = Bits::default();
        existing.set_run(0..500, true);
        let mut oracle = DurabilityOracle::new(&existing, std::iter::empty());
        assert_eq!(oracle.promised(), [], "pages that exist at time 0 are durable");
        oracle.acknowledge(&[(700, 1), (3, 1), (4, 1), (4, 2)]);
        assert_eq!(oracle.promised(), [(3, 1), (4, 2), (700, 1)]);
        // Of page 4 an older version becomes durable; page 700 is trimmed.
        oracle.await_durable(&[(3, 1), (4, 1)], SimTime(10));
        oracle.trim(700, 1);
        oracle.come(SimTime(9));
        assert_eq!(oracle.promised(), [(3, 1), (4, 2)]);
        oracle.come(SimTime(10));
        assert_eq!(oracle.promised(), [(4, 2)]);
        oracle.await_durable(&oracle.promised(), SimTime(20));
        oracle.come(SimTime(20));
        assert_eq!(oracle.promised(), []);
        // A request of before the trim is acknowledged late: its version need not be durable.
        oracle.acknowledge(&[(700, 1)]);
        assert_eq!(oracle.promised(), []);
    }
}
