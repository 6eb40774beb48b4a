//! Timelines of channels and busy units, as a file for Perfetto (`--timeline`).
//!
//! Trace events in JSON, as Chrome writes them. Each channel is a process (in an array, each channel of each
//! flash member), whose threads are its bus and its units, with a slice for each time that one of them is
//! busy. Host requests are asynchronous slices of a process of their own. Times are in µs with three
//! decimals, so that no nanosecond is lost. Its counters are the number of requests that have arrived and are not over,
//! free blocks, and pages in the write buffer; failures, replacements and phases of rebuilds are marks. Slices are named by kind and cause, which determines their
//! colours in Perfetto; `cname` does so in `chrome://tracing`, by cause.
//!
//! *Source*: the Trace Event Format (Google, 2016).

use crate::drive::{
    BusyPeriod, DeviceObserver, DiskAccess, HostRequest, OpKind, Resource, RunEvent, RunState,
};
use crate::engine::Cause;
use crate::error::Error;
use crate::flash::{Geometry, UnitId};
use crate::kernel::SimTime;
use crate::output::{self, Site, Sites};
use std::fmt;
use std::io::Write;
use std::path::Path;

/// The default limit of a timeline's slices: some 100 MB, which a browser still takes.
pub const MOST: u64 = 1_000_000;

/// The part of a run that a timeline shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineWindow {
    /// Its start.
    pub from: SimTime,
    /// Its end.
    pub until: SimTime,
}

/// The process of the host's requests; those of channels follow.
const HOST: u32 = 1;

struct Timeline {
    out: flashkeep_trace::Output,
    path: String,
    failed: Option<String>,
    /// The drives, by the numbers of their devices.
    shown: Vec<Option<Shown>>,
    window: Option<TimelineWindow>,
    slices: u64,
    /// The last values of counters.
    state: Option<RunState>,
    /// When requests came and left, one more or one less each.
    queue: Vec<(SimTime, bool)>,
    /// The time of the first slice beyond the limit.
    full_at: Option<SimTime>,
}

/// A drive in a timeline.
struct Shown {
    geometry: Geometry,
    /// Its first channel's process, and the first number of a thread.
    process: u32,
    thread: u32,
    /// The last busy period of each unit, and then of each channel: a later report may shorten it.
    last: Vec<Option<BusyPeriod>>,
}

/// The process and the thread of the arm of a disk that is no member of an array.
const ARM: (u32, u32) = (HOST + 1, HOST + 2);

/// The drives with numbers for their processes and threads, no two of which are the same.
fn number(sites: &[Option<Site>]) -> Vec<Option<Shown>> {
    let of = |count: &dyn Fn(&Site) -> u32| sites.iter().flatten().map(count).sum::<u32>();
    let (mut process, mut thread) = (HOST + 1, HOST + 1 + of(&|site| site.geometry.channels));
    let mut shown = |site: &Site| {
        let geometry = site.geometry.clone();
        let places = geometry.unit_count() + geometry.channels;
        let shown = Shown { process, thread, last: vec![None; places as usize], geometry };
        (process, thread) = (process + shown.geometry.channels, thread + places);
        shown
    };
    sites.iter().map(|site| site.as_ref().map(&mut shown)).collect()
}

/// A log that shows `window` of a run, or as much of it as [`MOST`] slices hold.
///
/// # Errors
/// A file that cannot be written.
pub fn timeline(
    path: &Path,
    sites: &Sites,
    window: Option<TimelineWindow>,
) -> Result<Box<dyn DeviceObserver>, Error> {
    let (mut out, path) = output::open(path)?;
    let shown = number(sites.drives());
    let failed = head(&mut out, sites, &shown).err().map(|error| output::problem(&path, &error));
    Ok(Box::new(Timeline {
        out,
        path,
        failed,
        shown,
        window,
        slices: 0,
        state: None,
        queue: Vec::new(),
        full_at: None,
    }))
}

/// The names of processes and threads.
fn head(out: &mut impl Write, sites: &Sites, shown: &[Option<Shown>]) -> std::io::Result<()> {
    let mut name = |what: &str, process: u32, thread: u32, name: &str| {
        let separator =
            if process == HOST { "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" } else { ",\n" };
        let at = if thread > 0 { format!(",\"tid\":{thread}") } else { String::new() };
        write!(
            out,
            "{separator}{{\"ph\":\"M\",\"pid\":{process}{at},\"name\":\"{what}\",\"args\":{{\"name\":\"{name}\"}}}}"
        )
    };
    name("process_name", HOST, 0, "host")?;
    if let Sites::Disk(_) = sites {
        name("process_name", ARM.0, 0, "disk")?;
        name("thread_name", ARM.0, ARM.1, "arm")?;
    }
    for (site, shown) in sites.drives().iter().zip(shown) {
        let (Some(site), Some(shown)) = (site, shown) else { continue };
        let member = if site.member.is_empty() { String::new() } else { format!("member {} ", site.member) };
        let geometry = &site.geometry;
        for channel in 0..geometry.channels {
            let (process, thread) = shown.ids(Resource::Channel(channel));
            name("process_name", process, 0, &format!("{member}channel {channel}"))?;
            name("thread_name", process, thread, "bus")?;
        }
        for unit in (0..geometry.unit_count()).map(UnitId) {
            let (process, thread) = shown.ids(Resource::Unit(unit));
            name("thread_name", process, thread, &unit_name(geometry, unit))?;
        }
    }
    Ok(())
}

impl Shown {
    /// The process and the thread of a resource. No two threads share a number, not even of different processes.
    fn ids(&self, what: Resource) -> (u32, u32) {
        let (channel, at) = match what {
            Resource::Channel(channel) => (channel, 0),
            Resource::Unit(unit) => {
                let channel = self.geometry.channel_of(unit);
                (channel, 1 + unit.0 - channel * self.geometry.units_per_channel())
            }
        };
        let thread = self.thread + channel * (1 + self.geometry.units_per_channel()) + at;
        (self.process + channel, thread)
    }
}

/// The name of a unit within its channel: `chip 3`, `die 3.0`, `plane 3.0.1`.
fn unit_name(geometry: &Geometry, unit: UnitId) -> String {
    let geometry = geometry.of_units();
    let at = geometry.place(geometry.plane_of(geometry.first_page(unit)));
    match geometry.planes_per_unit {
        planes if planes == geometry.dies * geometry.planes => format!("chip {}", at.chip),
        planes if planes == geometry.planes => format!("die {}.{}", at.chip, at.die),
        1 => format!("plane {}.{}.{}", at.chip, at.die, at.plane),
        planes => format!("planes {}.{}.{}-{}", at.chip, at.die, at.plane, at.plane + planes - 1),
    }
}

/// Colours of `chrome://tracing`, one for each cause.
fn colour(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "thread_state_running",
        Cause::Mirror => "rail_response",
        Cause::Update => "thread_state_runnable",
        Cause::Gc => "bad",
        Cause::Wear => "olive",
        Cause::Parity => "rail_animation",
        Cause::ParityGc => "rail_load",
        Cause::PartialParity => "vsync_highlight_color",
        Cause::Rebuild => "terrible",
        Cause::Migrate => "yellow",
        Cause::Fold => "olive",
        Cause::Retry => "startup",
        Cause::Refresh => "olive",
        Cause::Scrub => "grey",
        Cause::Metadata => "grey",
    }
}

/// Nanoseconds as µs.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl Timeline {
    /// The part of a period that lies in the window, ns; none if the file is full.
    fn within(&mut self, start: SimTime, end: SimTime) -> Option<(u64, u64)> {
        let (start, end) =
            self.window.map_or((start, end), |window| (start.max(window.from), end.min(window.until)));
        if start >= end || self.failed.is_some() || self.full_at.is_some() {
            return None;
        }
        if self.window.is_none() && self.slices == MOST {
            self.full_at = Some(start);
            return None;
        }
        self.slices += 1;
        Some((start.0, end.0))
    }

    fn check(&mut self, written: std::io::Result<()>) {
        self.failed = written.err().map(|error| output::problem(&self.path, &error));
    }

    /// A counter changes, if that is within the window.
    fn write_counter(&mut self, at: SimTime, name: &str, unit: &str, value: u64) {
        let window = self.window.unwrap_or(TimelineWindow { from: SimTime::ZERO, until: SimTime::NEVER });
        if at < window.from || at >= window.until || self.failed.is_some() || self.full_at.is_some() {
            return;
        }
        let at = Micros(at.0);
        let written = write!(
            self.out,
            ",\n{{\"ph\":\"C\",\"pid\":{HOST},\"name\":\"{name}\",\"ts\":{at},\"args\":{{\"{unit}\":{value}}}}}"
        );
        self.check(written);
    }

    /// The number of requests that are not over, over time.
    fn write_queue(&mut self) {
        let mut queue = std::mem::take(&mut self.queue);
        // At equal instants requests leave before others come.
        queue.sort_unstable();
        let mut depth = 0_u64;
        for (at, changes) in queue.chunk_by(|one, next| one.0 == next.0).map(|same| (same[0].0, same)) {
            let before = depth;
            let came = changes.iter().filter(|(_, came)| *came).count() as u64;
            depth = depth + came - (changes.len() as u64 - came);
            if depth != before {
                self.write_counter(at, "queue depth", "requests", depth);
            }
        }
    }

    fn write_hold(&mut self, ids: (u32, u32), hold: &BusyPeriod) {
        self.write_slice(ids, [hold.start, hold.end], hold.kind, hold.cause);
    }

    fn write_slice(
        &mut self,
        (process, thread): (u32, u32),
        [start, end]: [SimTime; 2],
        kind: OpKind,
        cause: Cause,
    ) {
        let Some((start, end)) = self.within(start, end) else { return };
        let (kind, cause, colour) = (kind.name(), cause.name(), colour(cause));
        let (at, long) = (Micros(start), Micros(end - start));
        let written = write!(
            self.out,
            ",\n{{\"ph\":\"X\",\"pid\":{process},\"tid\":{thread},\"ts\":{at},\"dur\":{long},\
             \"name\":\"{kind} {cause}\",\"cat\":\"{cause}\",\"cname\":\"{colour}\"}}"
        );
        self.check(written);
    }

    /// Counters that have changed.
    fn write_state(&mut self, state: &RunState) {
        let before = self.state.replace(*state);
        let changed = |of: fn(&RunState) -> u64| before.as_ref().map(of) != Some(of(state));
        if !self.shown.is_empty() && changed(|state| state.free_blocks) {
            self.write_counter(state.at, "free blocks", "blocks", state.free_blocks);
        }
        if changed(|state| state.buffered_pages) {
            self.write_counter(state.at, "write buffer", "pages", state.buffered_pages);
        }
    }

    /// A failure or the like.
    fn write_mark(&mut self, at: SimTime, text: &str) {
        let within = self.window.is_none_or(|window| window.from <= at && at < window.until);
        if !within || self.failed.is_some() {
            return;
        }
        let (at, text) = (Micros(at.0), serde_json::Value::from(text));
        let written = write!(
            self.out,
            ",\n{{\"ph\":\"i\",\"s\":\"g\",\"pid\":{HOST},\"ts\":{at},\"name\":{text},\"cat\":\"event\"}}"
        );
        self.check(written);
    }

    /// A request of the host, and the length of the queue.
    fn write_request(&mut self, request: &HostRequest) {
        if self.full_at.is_none() {
            self.queue.extend([(request.start, true), (request.end, false)]);
        }
        let Some((start, end)) = self.within(request.start, request.end) else { return };
        let HostRequest { number, op, offset, length, .. } = request;
        let about = format!("\"pid\":{HOST},\"id\":{number},\"name\":\"{op}\",\"cat\":\"request\"");
        let written = write!(
            self.out,
            ",\n{{\"ph\":\"b\",{about},\"ts\":{},\"args\":{{\"offset\":{offset},\"length\":{length}}}}},\n\
             {{\"ph\":\"e\",{about},\"ts\":{}}}",
            Micros(start),
            Micros(end)
        );
        self.check(written);
    }
}

impl DeviceObserver for Timeline {
    fn access(&mut self, _: u16, access: &DiskAccess) {
        // Disks of arrays are not shown.
        if self.shown.is_empty() {
            self.write_slice(ARM, [access.start, access.end], access.kind, access.cause);
        }
    }

    fn hold(&mut self, device: u16, hold: &BusyPeriod) {
        let Some(shown) = &mut self.shown[usize::from(device)] else { return };
        let place = match hold.what {
            Resource::Unit(unit) => unit.0,
            Resource::Channel(channel) => shown.geometry.unit_count() + channel,
        };
        if let Some(mut last) = shown.last[place as usize].replace(*hold) {
            last.end = last.end.min(hold.start);
            let ids = shown.ids(hold.what);
            self.write_hold(ids, &last);
        }
    }

    fn tell(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Opened { .. } => {}
            RunEvent::Answered(request) => self.write_request(request),
            RunEvent::State(state) => self.write_state(state),
            RunEvent::Mark(at, text) => self.write_mark(*at, text),
        }
    }

    fn note(&self, end: SimTime) -> Option<String> {
        if let Some(full_at) = self.full_at {
            let (from, next) = (seconds(full_at), seconds(SimTime(full_at.0 + full_at.0.max(1))));
            return Some(format!(
                "--timeline: it holds the first {MOST} slices, up to {from} of {}; --timeline-window \
                 {from}..{next} shows the following ones",
                seconds(end)
            ));
        }
        let window = self.window.filter(|window| window.from >= end)?;
        Some(format!(
            "--timeline-window: it starts at {}, but the run ended at {}: the timeline is empty",
            seconds(window.from),
            seconds(end)
        ))
    }

    /// Gives the file its final name.
    fn close(mut self: Box<Self>) -> Result<(), String> {
        for mut shown in std::mem::take(&mut self.shown).into_iter().flatten() {
            for last in std::mem::take(&mut shown.last).into_iter().flatten() {
                self.write_hold(shown.ids(last.what), &last);
            }
        }
        self.write_queue();
        let Timeline { mut out, path, failed, .. } = *self;
        if let Some(failed) = failed {
            return Err(failed);
        }
        let ended = out.write_all(b"\n]}\n").and_then(|()| out.finish());
        ended.map_err(|error| output::problem(&path, &error))
    }
}

/// An instant as `--timeline-window` takes it.
fn seconds(at: SimTime) -> String {
    let text = format!("{}.{:09}", at.0 / 1_000_000_000, at.0 % 1_000_000_000);
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}
