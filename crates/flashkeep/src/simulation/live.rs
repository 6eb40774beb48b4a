//! A device that a caller asks request by request while time advances: the model of `flashkeep serve`.
//!
//! The caller has the clock. It hands in requests with their instants ([`LiveDevice::arrive`]), advances the device event
//! by event ([`LiveDevice::step`]), and takes what has happened, in order ([`LiveDevice::take_events`]). Everything that
//! affects times goes through the same functions as in a replay, in the same order, so that the replay of the arrivals
//! has the same response times.

use super::{
    Failures, Host, OutstandingRequest, Simulation, Stop, build, build_array, check_memory, checked_workload,
    load_drive,
};
use crate::devices::Body;
use crate::engine::{Contents, Finished, Token, Version};
use crate::error::Error;
use crate::faults;
use crate::host::{Expected, Range};
use crate::job::{Halt, Job, Progress, RunOutcome};
use crate::kernel::{Id, SimTime, free_large_tables};
use crate::metrics::Tally;
use flashkeep_trace::{Op, Request};
use serde_json::Value;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::Path;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Zeros: it has never been written, or has been trimmed.
    Zeros,
    /// What this write of the page wrote, counted modulo 2¹⁶.
    Version(u16),
    /// It cannot be read.
    Unreadable,
}

/// A part of a page of the host, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePart {
    /// The page, in the host's address space.
    pub page: u64,
    /// Its first byte in the page.
    pub from: u32,
    /// The byte after its last.
    pub to: u32,
    /// What the page holds.
    pub held: Held,
}

/// What has happened to a live device. A request is named by the instant of its arrival; no two have the same.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveEvent {
    /// A write has reached the device: these are the new versions of its pages.
    Written {
        /// The request.
        arrival: SimTime,
        /// Its parts.
        parts: Vec<PagePart>,
    },
    /// Pages are zeros from now on.
    Trimmed {
        /// The pages, of the host.
        pages: Vec<u64>,
    },
    /// A request is answered.
    Answered {
        /// The request.
        arrival: SimTime,
        /// When.
        at: SimTime,
        /// Whether it failed: a read of pages that are lost, or a write into one of them.
        failed: bool,
        /// What a read has found, in order of the device's addresses.
        parts: Vec<PagePart>,
    },
    /// The drive is at the end of its life and refuses the write or trim.
    Refused {
        /// The request.
        arrival: SimTime,
    },
    /// The power was cut.
    PowerCut {
        /// When.
        at: SimTime,
        /// Requests that the device had, which get no answer.
        unanswered: Vec<SimTime>,
        /// When the device accepts requests again.
        ready: SimTime,
        /// What each page holds; those that are not here hold zeros.
        pages: Vec<(u64, Held)>,
    },
}

/// A page whose newest version is not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolatilePage {
    /// The page, in the host's address space.
    pub page: u64,
    /// What it holds at least after a power cut; none if nothing is promised.
    pub durable: Option<Held>,
}

/// A device that is asked from outside while time advances.
pub trait LiveDevice {
    /// Bytes of the device.
    fn capacity_bytes(&self) -> u64;
    /// Bytes of a page of the host.
    fn page_bytes(&self) -> u32;
    /// Bytes of a sector.
    fn sector_bytes(&self) -> u32;
    /// When something happens next, if no request arrives before; [`SimTime::NEVER`] if nothing does.
    fn next_at(&mut self) -> SimTime;
    /// Handles the next event if it is due by `until`; false if none is.
    ///
    /// # Errors
    /// A run that cannot continue.
    fn step(&mut self, until: SimTime) -> Result<bool, Error>;
    /// A request arrives, later than all before it.
    fn arrive(&mut self, request: Request);
    /// Injects a fault at an instant that has not passed: `WHAT[,transient][,replace_after=TIME]` as for `--fail`.
    ///
    /// # Errors
    /// A message that says what is accepted.
    fn fail(&mut self, what: &str, at: SimTime) -> Result<(), Error>;
    /// What has happened since the last call, in order.
    fn take_events(&mut self) -> Vec<LiveEvent>;
    /// Pages that a power cut now may take back to an older version.
    fn volatile_pages(&mut self) -> Vec<VolatilePage>;
    /// The same of a page that may be durable.
    fn promised(&self, page: u64) -> VolatilePage;
    /// Cuts the power at an instant. What each page holds after the recovery; those that are not in the list hold zeros.
    fn cut_power(&mut self, at: SimTime) -> Vec<(u64, Held)>;
    /// The versions of a page that may be read again, besides the newest few: what is promised of it, and what is on the
    /// media. None if it cannot be read from there, so that all may be needed.
    fn kept(&self, page: u64) -> Option<Vec<u16>>;
    /// Whether pages may be lost that no request has asked for.
    fn may_have_lost(&self) -> bool;
    /// Looks for pages that cannot be read: from now on they are known to be lost.
    fn find_lost_pages(&mut self);
    /// The pages that are known to be lost, ascending.
    fn lost_pages(&self) -> Vec<u64>;
    /// Lets all work end and saves the drive, as `--save-aged` does.
    ///
    /// # Errors
    /// A file that cannot be written, or a drive with failed parts.
    fn rest_and_save(&mut self, path: &Path) -> Result<(), Error>;
    /// The summary of the run until now.
    fn summary(&mut self) -> Value;
}

/// What a simulation keeps if it is driven from outside.
#[derive(Debug, Default)]
pub(super) struct LiveRecord {
    /// Requests that have arrived and have not been admitted.
    waiting: VecDeque<Request>,
    events: Vec<LiveEvent>,
    /// The arrivals of requests that the power cut ended.
    unanswered: Vec<SimTime>,
    /// What each page that exists was found to hold after a power cut.
    found: Vec<(u64, Held)>,
}

/// Builds the device of a job whose workload has no requests, hands it to `ask` at time 0, and ends it as a run ends: the
/// result is that of a run of the requests that arrived.
///
/// # Errors
/// As [`run`](super::run), and those of `ask`.
pub fn serve(
    job: &Job,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
    ask: &mut dyn FnMut(&mut dyn LiveDevice) -> Result<(), Error>,
) -> Result<RunOutcome, Error> {
    let job = Job { expects_power_cuts: true, ..job.clone() };
    let drive = load_drive(&job)?;
    let workload = checked_workload(&job, &drive)?;
    free_large_tables();
    check_memory::<Token>(&drive);
    let seed = job.seed.unwrap_or(1);
    let ended = if drive.is_device_set() {
        Simulation::<Token, _>::new(&job, &drive, &workload, build_array(&drive, seed))?.live(progress, ask)
    } else {
        Simulation::<Token, _>::new(&job, &drive, &workload, build(&drive, seed))?.live(progress, ask)
    };
    ended.map_err(|stop| match stop {
        Stop::Error(error) => error,
        Stop::SecondDevice => unreachable!("requests of a live device name no other"),
    })
}

impl<C: Contents> Host<C> {
    /// The promise of a page of the scheme.
    fn promise_of(&self, page: u64, failures: &Failures) -> VolatilePage {
        let durability = failures.durability.as_ref();
        let durable = durability.and_then(|durability| durability.promised_of(page).0);
        let durable = durable.map(|version| if version == 0 { Held::Zeros } else { Held::Version(version) });
        VolatilePage { page: self.page_of(page), durable }
    }
}

impl<H: Body<Token>> Simulation<'_, Token, H> {
    fn live(
        mut self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<Halt>,
        ask: &mut dyn FnMut(&mut dyn LiveDevice) -> Result<(), Error>,
    ) -> Result<RunOutcome, Stop> {
        let mut requests = self.workload.requests()?;
        self.accounts.facts.provenance = requests.provenance.clone();
        self.begin(progress)?;
        (self.live, self.accounts.tells_requests) = (Some(Box::default()), true);
        ask(&mut self)?;
        self.live = None;
        self.replay(&mut requests, progress)?;
        self.device.engine.work_mut().break_down(false);
        self.conclude_run(&requests, &[])
    }

    /// The record of a live device.
    fn record(&mut self) -> &mut LiveRecord {
        self.live.as_mut().expect("the device is live")
    }

    /// The next requests of the host to be admitted, or to arrive where they wait outside, and when.
    fn next_waiting(&mut self) -> (Option<Request>, SimTime) {
        let next = self.record().waiting.front().copied();
        (next, self.host.next_admission(next, false, &self.clock))
    }

    /// Handles what comes next, as a replay does; false if nothing is due by `until`.
    fn step_live(&mut self, until: SimTime) -> Result<bool, Stop> {
        let event = self.device.next_event();
        let fault_event = self.failures.fault_events.next_at;
        let (next, admission) = self.next_waiting();
        let crossing = self.device.next_crossing();
        let limit = admission.min(fault_event).min(crossing);
        let soonest = event.min(limit);
        if self.end_known(soonest.min(SimTime(until.0.saturating_add(1)))) {
            return Ok(true);
        }
        if soonest > until || soonest == SimTime::NEVER {
            return Ok(false);
        }
        if event <= limit {
            self.end_recovery();
            self.happen(limit.min(until).min(self.failures.next_known_end(&self.device, &self.host)));
        } else if crossing <= limit {
            self.cross_at(crossing);
        } else if fault_event <= admission {
            self.inject_by_time(event.min(crossing).min(admission));
            self.accounts.check_series(self.job)?;
        } else {
            self.clock.now = admission;
            self.end_recovery();
            self.admit_waiting(next)?;
        }
        Ok(true)
    }

    /// Admits the next request, or has it wait in the host.
    fn admit_waiting(&mut self, next: Option<Request>) -> Result<(), Stop> {
        self.fail_before_admission();
        if let Some(request) = next {
            self.locate(&request, self.host.admitted + 1)?;
        }
        let taken = if self.host.arrived.is_some() {
            self.take_arrived(next)
        } else {
            self.admit(&next.expect("a request is due"), false);
            true
        };
        if taken {
            self.record().waiting.pop_front();
        }
        Ok(())
    }
}

/// What a page of the scheme holds, by its token.
pub(super) fn held(page: u64, stamp: u64) -> Held {
    match Version::of(stamp) {
        _ if stamp == 0 => Held::Zeros,
        // What existed before time 0 was not written by this host.
        Some(Version::Written(whose, 0) | Version::Before(whose)) if whose == page => Held::Zeros,
        Some(Version::Written(whose, version)) if whose == page => Held::Version(version),
        _ => Held::Unreadable,
    }
}

/// Splits ranges into parts of pages.
fn parts(ranges: &[Range], page_bytes: u64) -> impl Iterator<Item = (u64, u32, u32)> + '_ {
    ranges.iter().flat_map(move |&Range { offset, length }| {
        let end = offset + length;
        (offset / page_bytes..end.div_ceil(page_bytes)).map(move |page| {
            let start = page * page_bytes;
            (page, offset.saturating_sub(start) as u32, (end - start).min(page_bytes) as u32)
        })
    })
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Keeps the ranges of a request that reaches a live device.
    pub(super) fn keep_ranges(&mut self, id: Id<OutstandingRequest<C>>) {
        if self.live.is_some() {
            self.host.in_flight[id].asked.clone_from(&self.host.ranges);
        }
    }

    /// Tells what a request has changed that has reached a live device.
    pub(super) fn tell_changed(&mut self, id: Id<OutstandingRequest<C>>, op: Op) {
        let Some(mut live) = self.live.take() else { return };
        let page_bytes = self.resolved.page_bytes();
        let this = &self.host.in_flight[id];
        if op == Op::Trim {
            let whole = |&(_, from, to): &(u64, u32, u32)| from == 0 && u64::from(to) == page_bytes;
            let pages =
                parts(&this.asked, page_bytes).filter(whole).map(|(page, ..)| self.host.page_of(page));
            live.events.push(LiveEvent::Trimmed { pages: pages.collect() });
        } else {
            let part = |(page, from, to)| PagePart {
                page: self.host.page_of(page),
                from,
                to,
                held: Held::Version(self.device.pages.version(page)),
            };
            let parts = parts(&this.asked, page_bytes).map(part).collect();
            live.events.push(LiveEvent::Written { arrival: this.arrival, parts });
        }
        self.live = Some(live);
    }

    /// Tells that a request of a live device is answered, and what it has read.
    pub(super) fn tell_answered(&mut self, finished: &Finished, at: SimTime) {
        let Some(mut live) = self.live.take() else { return };
        let this = &self.host.in_flight[Id::new(finished.tag)];
        let (arrival, reads) = (this.arrival, this.record.op == Op::Read as u8);
        let mut found = Vec::new();
        if reads {
            let mut expected = this.expected.iter().peekable();
            for (slot, (page, from, to)) in (0..).zip(parts(&this.asked, self.resolved.page_bytes())) {
                let contents = self.device.engine.work_mut().pages(finished.counter)[slot as usize];
                let expected = expected.next_if(|expected| expected.slot == slot);
                let accepts = |expected: &Expected<C>| {
                    let may_be_newer = finished.may_be_newer || finished.lost > 0;
                    self.device.pages.accepts(expected, contents, may_be_newer)
                };
                let cached = self.device.engine.work().cached_difference(finished.counter, slot);
                let newest = match expected {
                    Some(below) if cached != C::default() => below.contents().plus(1, cached),
                    _ => contents,
                };
                let readable = expected.is_none_or(accepts);
                let held = if readable { held(page, newest.stamp()) } else { Held::Unreadable };
                found.push(PagePart { page, from, to, held });
            }
            for part in &mut found {
                // After a power cut an older version of a lost page may be readable.
                if self.device.engine.tree().exposure().lost().has(part.page) {
                    part.held = Held::Unreadable;
                }
                part.page = self.host.page_of(part.page);
            }
        }
        let failed = !reads && finished.lost > 0;
        live.events.push(LiveEvent::Answered { arrival, at, failed, parts: found });
        self.live = Some(live);
    }

    /// A live device refuses a write or trim.
    pub(super) fn tell_refused(&mut self, arrival: SimTime) {
        if let Some(live) = &mut self.live {
            live.events.push(LiveEvent::Refused { arrival });
        }
    }

    /// A power cut ends the requests that a live device has.
    pub(super) fn note_unanswered(&mut self) {
        if let Some(live) = &mut self.live {
            live.unanswered.extend(self.host.in_flight.objects().map(|request| request.arrival));
        }
    }

    /// A page was found to hold this after a power cut.
    pub(super) fn note_found(&mut self, page: u64, contents: C) {
        if let Some(live) = &mut self.live {
            live.found.push((page, held(page, contents.stamp())));
        }
    }

    /// A page was not found after a power cut: it is restored as it was, or lost.
    pub(super) fn note_missing(&mut self, page: u64) {
        let stored = self.device.port().stored(page);
        self.note_found(page, stored);
    }

    /// Tells what all pages hold after a power cut at `at`, and the recovery from it.
    pub(super) fn tell_power_cut(&mut self, at: SimTime, ready: SimTime) {
        let Some(mut live) = self.live.take() else { return };
        let unanswered = std::mem::take(&mut live.unanswered);
        let mut pages = std::mem::take(&mut live.found);
        let lost = self.device.engine.tree().exposure().lost();
        pages.retain(|&(page, _)| !lost.has(page));
        pages.extend(lost.iter().map(|page| (page, Held::Unreadable)));
        let host = &self.host;
        pages.iter_mut().for_each(|(page, _)| *page = host.page_of(*page));
        live.events.push(LiveEvent::PowerCut { at, unanswered, ready, pages });
        self.live = Some(live);
    }
}

impl<H: Body<Token>> LiveDevice for Simulation<'_, Token, H> {
    fn capacity_bytes(&self) -> u64 {
        self.resolved.capacity_bytes()
    }

    fn page_bytes(&self) -> u32 {
        self.resolved.page_bytes() as u32
    }

    fn sector_bytes(&self) -> u32 {
        self.resolved.spec.flash.sector_bytes
    }

    fn next_at(&mut self) -> SimTime {
        let (_, admission) = self.next_waiting();
        let answer = self.failures.next_known_end(&self.device, &self.host);
        let crossing = self.device.next_crossing();
        let event = self.device.next_event();
        event.min(admission).min(answer).min(crossing).min(self.failures.fault_events.next_at)
    }

    fn step(&mut self, until: SimTime) -> Result<bool, Error> {
        match self.step_live(until) {
            Err(Stop::Error(error)) => Err(error),
            stepped => Ok(matches!(stepped, Ok(true))),
        }
    }

    fn arrive(&mut self, request: Request) {
        self.record().waiting.push_back(request);
    }

    fn fail(&mut self, what: &str, at: SimTime) -> Result<(), Error> {
        let event = faults::at(what, at, self.resolved)?;
        self.failures.fault_events.add(at, event);
        Ok(())
    }

    fn take_events(&mut self) -> Vec<LiveEvent> {
        std::mem::take(&mut self.record().events)
    }

    fn volatile_pages(&mut self) -> Vec<VolatilePage> {
        let durability = self.failures.durability.as_ref();
        let pages = durability.into_iter().flat_map(|durability| durability.unsettled());
        pages.map(|page| self.host.promise_of(page, &self.failures)).collect()
    }

    fn promised(&self, page: u64) -> VolatilePage {
        let page = self.host.interleave.map_or(page, |interleave| interleave.place(page));
        self.host.promise_of(page, &self.failures)
    }

    fn cut_power(&mut self, at: SimTime) -> Vec<(u64, Held)> {
        let Ok(event) = faults::at("power", at, self.resolved) else { return Vec::new() };
        Simulation::cut_power(self, &event, at);
        let cut = self.take_events().into_iter().rev().find_map(|event| match event {
            LiveEvent::PowerCut { pages, .. } => Some(pages),
            _ => None,
        });
        cut.unwrap_or_default()
    }

    fn kept(&self, page: u64) -> Option<Vec<u16>> {
        let page = self.host.interleave.map_or(page, |interleave| interleave.place(page));
        let on_media = [self.device.intact(page)?, self.device.port().stored(page)];
        let durability = self.failures.durability.as_ref();
        let (durable, acknowledged) =
            durability.map_or((None, None), |durability| durability.promised_of(page));
        let version = |contents: Token| match held(page, contents.stamp()) {
            Held::Version(version) => Some(version),
            Held::Zeros | Held::Unreadable => None,
        };
        Some(on_media.into_iter().filter_map(version).chain(durable).chain(acknowledged).collect())
    }

    fn may_have_lost(&self) -> bool {
        Simulation::may_have_lost(self)
    }

    fn find_lost_pages(&mut self) {
        Simulation::find_lost_pages(self);
    }

    fn lost_pages(&self) -> Vec<u64> {
        let mut pages: Vec<u64> =
            self.device.engine.tree().exposure().lost().iter().map(|page| self.host.page_of(page)).collect();
        pages.sort_unstable();
        pages
    }

    fn rest_and_save(&mut self, path: &Path) -> Result<(), Error> {
        let live = self.live.take();
        self.run_out();
        // Saved drives are at rest at once, as after an untimed run.
        self.device.body.set_untimed(true);
        let saved = self.save(path);
        self.live = live;
        saved
    }

    fn summary(&mut self) -> Value {
        let end = self.clock.now.max(self.clock.last);
        let (counted, tally) = (self.count(end), self.device.tally_until(end, self.resolved, &self.clock));
        // The last phase has its figures until now; it continues.
        let lost = self.device.engine.tree().exposure().lost().count();
        self.accounts.phases.end(end, Tally { lost, ..tally.clone() });
        Simulation::summary(self, &counted, &tally, self.resolved.warnings.clone())
    }
}
