//! The thread of the model: takes requests of clients and verbs of the control socket, advances the device, and answers.

use crate::asked::{Asked, Asker, Data, Part, Units, answer, cut, lost, refused};
use crate::pace::Clock;
use crate::saved;
use crate::store::{Bytes, Store};
use crate::verbs::Verb;
use flashkeep::error::Error;
use flashkeep::kernel::SimTime;
use flashkeep::session::SessionWriter;
use flashkeep::simulation::{Held, LiveDevice, LiveEvent, PagePart};
use flashkeep_nbd::{Completions, Extent, Failure, Outcome, Piece, Request as Ask, Submit};
use flashkeep_trace::{Op, Request};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// The longest time for which the model runs without a look at messages.
const SLICE: Duration = Duration::from_millis(20);

/// How long before a reply is due the thread stays awake.
const EARLY: Duration = Duration::from_micros(60);

/// How often the caller is asked whether to continue.
const TICK: Duration = Duration::from_millis(100);

/// The longest range whose allocation one answer has, bytes.
const LONGEST_STATUS: u64 = 1 << 30;

/// A reply that leaves later than this after its virtual time is late.
const LATE: Duration = Duration::from_micros(100);

/// What comes to the model's thread.
#[derive(Debug)]
pub(crate) enum Message {
    Ask(Submit),
    Control(Verb, Sender<Value>),
}

/// What the server has done, besides what the model counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Served {
    answered: u64,
    failed: u64,
    late: u64,
    latest: Duration,
    unknown_pages: u64,
}

/// What happens to requests that a power cut ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnCut {
    /// They fail with `EIO`.
    Fail,
    /// They are asked again after the recovery, but for FLUSH, which fails: writes before it may be gone.
    Wait,
}

pub(crate) struct Model<'a> {
    pub(crate) device: &'a mut dyn LiveDevice,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) session: Option<SessionWriter>,
    completions: Completions,
    units: Units,
    on_cut: OnCut,
    /// FLUSH is answered at once, and FUA ignored: the drive lies.
    ignores_flush: bool,
    /// Requests to the model that are not answered, by their arrival.
    parts: BTreeMap<u64, Part>,
    asked: BTreeMap<u64, Asked>,
    next: u64,
    /// Everything has happened that happens before this instant.
    horizon: SimTime,
    /// The next arrival or fault is at this instant or later.
    free: SimTime,
    /// What the last power cut did.
    pub(crate) last_cut: Option<Value>,
    served: Served,
}

/// The options of a model's thread.
pub(crate) struct ModelOptions {
    pub(crate) completions: Completions,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) session: Option<SessionWriter>,
    pub(crate) on_cut: OnCut,
    pub(crate) ignores_flush: bool,
}

fn failed(error: &io::Error) -> Error {
    Error::Output(format!("the server's files: {error}"))
}

impl<'a> Model<'a> {
    pub(crate) fn new(device: &'a mut dyn LiveDevice, options: ModelOptions) -> Self {
        let units = Units { sector: device.sector_bytes().into(), page: device.page_bytes().into() };
        let ModelOptions { completions, store, clock, session, on_cut, ignores_flush } = options;
        Model {
            device,
            store,
            clock,
            session,
            completions,
            units,
            on_cut,
            ignores_flush,
            parts: BTreeMap::new(),
            asked: BTreeMap::new(),
            next: 0,
            horizon: SimTime::ZERO,
            free: SimTime::ZERO,
            last_cut: None,
            served: Served::default(),
        }
    }

    /// Serves until `tick` ends it, or all that could ask are gone.
    pub(crate) fn run(
        &mut self,
        messages: &Receiver<Message>,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut told = Instant::now();
        loop {
            self.advance()?;
            loop {
                match messages.try_recv() {
                    Ok(message) => self.take(message)?,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return self.end(),
                }
            }
            let now = Instant::now();
            if now.duration_since(told) >= TICK {
                told = now;
                if tick().is_break() {
                    return self.end();
                }
            }
            if self.store.is_due() {
                let device = &self.device;
                self.store.sweep(|page| device.kept(page));
            }
            let wait = self.until_next(now);
            // The system may wake a thread late, and a reply is due.
            let sleep = if self.asked.is_empty() { wait } else { wait.saturating_sub(EARLY) };
            if sleep.is_zero() {
                std::hint::spin_loop();
                continue;
            }
            match messages.recv_timeout(sleep.min(TICK)) {
                Ok(message) => self.take(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.end(),
            }
        }
    }

    /// How long nothing happens if no message comes.
    fn until_next(&mut self, now: Instant) -> Duration {
        if !self.clock.waits() && !self.asked.is_empty() {
            return Duration::ZERO;
        }
        let next = self.device.next_at();
        let wall = if next == SimTime::NEVER { None } else { self.clock.wall(next) };
        wall.map_or(TICK, |at| at.saturating_duration_since(now))
    }

    /// The virtual time now: nothing that happens before it is left.
    pub(crate) fn now(&mut self) -> Result<SimTime, Error> {
        self.advance()?;
        Ok(self.free.max(self.horizon))
    }

    /// Lets happen what has happened by now; without waiting, what happens until the next answer. It returns after a
    /// while even if there is more: messages come first. The model of a busy array may be slower than the wall clock.
    fn advance(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        if self.clock.waits() || self.asked.is_empty() {
            let until = self.clock.at(began);
            while began.elapsed() < SLICE {
                if !self.device.step(until)? {
                    self.horizon = self.horizon.max(until);
                    return self.take_events();
                }
                self.take_events()?;
            }
            self.horizon = self.horizon.max(self.device.next_at().min(until));
            if self.clock.waits() {
                return Ok(());
            }
        } else {
            let waiting = self.asked.len();
            while self.asked.len() == waiting && began.elapsed() < SLICE {
                let next = self.device.next_at();
                if next == SimTime::NEVER {
                    break;
                }
                self.horizon = self.horizon.max(next);
                self.device.step(next)?;
                self.take_events()?;
            }
        }
        // Idle time continues from here.
        self.clock.set(self.horizon.max(self.free), Instant::now());
        Ok(())
    }

    /// Lets everything happen that is due by an instant.
    pub(crate) fn advance_to(&mut self, until: SimTime) -> Result<(), Error> {
        while self.device.step(until)? {
            self.take_events()?;
        }
        self.horizon = self.horizon.max(until);
        self.take_events()
    }

    /// An instant for an arrival or a fault: after all that has happened, and after all others. The first one is 0, from
    /// which a trace counts.
    pub(crate) fn instant(&mut self, wall: Instant) -> SimTime {
        let is_first = !self.clock.has_begun();
        self.clock.begin(wall);
        let after = if is_first { SimTime::ZERO } else { SimTime(self.horizon.0 + 1) };
        let at = self.clock.at(wall).max(after).max(self.free);
        self.free = SimTime(at.0 + 1);
        at
    }

    /// The first instant at which a fault can happen.
    pub(crate) fn next_instant(&mut self) -> SimTime {
        let at = SimTime(self.horizon.0 + 1).max(self.free);
        self.free = SimTime(at.0 + 1);
        at
    }

    fn take(&mut self, message: Message) -> Result<(), Error> {
        match message {
            Message::Ask(Submit { connection, tag, arrived, request }) => {
                self.ask(Asker::Client { connection, tag }, arrived, request)
            }
            Message::Control(verb, reply) => self.carry_out(verb, reply),
        }
    }

    /// A client's request becomes requests to the model.
    pub(crate) fn ask(&mut self, asker: Asker, arrived: Instant, request: Ask) -> Result<(), Error> {
        if let Ask::BlockStatus { offset, length, .. } = request {
            answer(&self.completions, &asker, Outcome::Extents(self.extents(offset, length)));
            return Ok(());
        }
        let reads = matches!(request, Ask::Read { .. });
        let parts = match request {
            Ask::Flush if self.ignores_flush && asker.number() > 0 => Vec::new(),
            Ask::WriteZeroes { offset, length, fua, .. } => self.zeros(offset..offset + length, fua),
            request => self.units.parts(request),
        };
        if parts.is_empty() {
            answer(&self.completions, &asker, Outcome::Done);
            return Ok(());
        }
        let of = self.next;
        self.next += 1;
        let count = parts.len() as u32;
        let mut first = None;
        for (mut request, bytes, data) in parts {
            request.fua &= !self.ignores_flush;
            let part = Part { of, request, bytes, data };
            let arrival_ns = self.arrive(part, arrived, asker.number())?;
            first.get_or_insert(arrival_ns);
        }
        let arrival_ns = first.unwrap_or_default();
        let asked = Asked { asker, arrival_ns, parts: count, reads, pieces: Vec::new(), failure: None };
        self.asked.insert(of, asked);
        Ok(())
    }

    /// Zeros are written where there may be others, also under a trim: that may not survive a power cut. Pages that have
    /// never been written hold zeros.
    fn zeros(&self, bytes: Range<u64>, fua: bool) -> Vec<(Request, Range<u64>, Data)> {
        let (page, mut parts) = (self.units.page, Vec::new());
        for run in self.store.known(bytes.start / page..bytes.end.div_ceil(page)) {
            let written = bytes.start.max(run.start * page)..bytes.end.min(run.end * page);
            self.units.zeros(written, fua, &mut parts);
        }
        parts
    }

    /// A request arrives at the model.
    fn arrive(&mut self, mut part: Part, arrived: Instant, connection: u64) -> Result<u64, Error> {
        let at = self.instant(arrived);
        part.request.arrival_ns = at.0;
        if let Some(session) = &mut self.session {
            session.request(&part.request, connection).map_err(|error| failed(&error))?;
        }
        self.device.arrive(part.request);
        self.parts.insert(at.0, part);
        Ok(at.0)
    }

    /// Which parts of a range are allocated.
    fn extents(&self, offset: u64, length: u64) -> Vec<Extent> {
        let end = offset + length.min(LONGEST_STATUS);
        let page = self.units.page;
        let mut extents: Vec<Extent> = Vec::new();
        let mut at = offset;
        let mut add = |length: u64, hole: bool| match extents.last_mut() {
            Some(last) if last.hole == hole => last.length += length,
            _ if length > 0 => extents.push(Extent { length, hole, zero: hole }),
            _ => {}
        };
        for written in self.store.written(offset / page..end.div_ceil(page)) {
            let (from, to) = ((written * page).max(at), ((written + 1) * page).min(end));
            add(from - at, true);
            add(to - from, false);
            at = to;
        }
        add(end - at, true);
        extents
    }

    /// Takes what has happened to the device.
    fn take_events(&mut self) -> Result<(), Error> {
        for event in self.device.take_events() {
            match event {
                LiveEvent::Written { arrival, parts } => self.written(arrival, &parts)?,
                LiveEvent::Trimmed { pages } => self.store.trim(&pages),
                LiveEvent::Answered { arrival, at, failed, parts } => {
                    self.answered(arrival, at, failed, parts)?;
                }
                LiveEvent::Refused { arrival } => self.end_part(arrival.0, arrival, Some(refused())),
                LiveEvent::PowerCut { at, unanswered, ready, pages } => {
                    self.store.fall_back(&pages);
                    self.power_cut(at, ready, &unanswered)?;
                }
            }
        }
        Ok(())
    }

    /// A write has reached the device: its pages have new versions.
    fn written(&mut self, arrival: SimTime, parts: &[PagePart]) -> Result<(), Error> {
        let Some(part) = self.parts.get(&arrival.0) else { return Ok(()) };
        let zeros;
        let data: &[u8] = match &part.data {
            Data::Bytes(data) => data,
            Data::Zeros | Data::None => {
                zeros = vec![0; (part.bytes.end - part.bytes.start) as usize];
                &zeros
            }
        };
        for &PagePart { page, from, to, held } in parts {
            let Held::Version(version) = held else { continue };
            let start = page * self.units.page;
            let from = (start + u64::from(from)).max(part.bytes.start);
            let to = (start + u64::from(to)).min(part.bytes.end);
            if from < to {
                let of = |at: u64| (at - part.bytes.start) as usize;
                let within = (from - start) as usize..(to - start) as usize;
                let wrote = self.store.write(page, version, within, &data[of(from)..of(to)]);
                wrote.map_err(|error| failed(&error))?;
            }
        }
        Ok(())
    }

    fn answered(
        &mut self,
        arrival: SimTime,
        at: SimTime,
        is_lost: bool,
        mut parts: Vec<PagePart>,
    ) -> Result<(), Error> {
        let Some(part) = self.parts.get(&arrival.0) else { return Ok(()) };
        let failure = is_lost.then(|| lost(part.bytes.start));
        let (of, bytes) = (part.of, part.bytes.clone());
        if self.asked.get(&of).is_some_and(|asked| asked.reads) {
            parts.sort_unstable_by_key(|part| (part.page, part.from));
            let mut pieces = Vec::new();
            for PagePart { page, from, to, held } in parts {
                let start = page * self.units.page;
                let from = (start + u64::from(from)).max(bytes.start);
                let to = (start + u64::from(to)).min(bytes.end);
                let found = self.store.read(page, held).map_err(|error| failed(&error))?;
                if matches!(found, Bytes::Unknown) {
                    self.served.unknown_pages += 1;
                }
                add_piece(&mut pieces, found, start, from, to, (bytes.end - from) as usize);
            }
            if let Some(asked) = self.asked.get_mut(&of) {
                asked.pieces.append(&mut pieces);
            }
        }
        self.end_part(arrival.0, at, failure);
        Ok(())
    }

    /// A request to the model has its answer; if it was the last one of a client's, that has its answer too.
    fn end_part(&mut self, arrival: u64, at: SimTime, failure: Option<Failure>) {
        let Some(part) = self.parts.remove(&arrival) else { return };
        let Some(asked) = self.asked.get_mut(&part.of) else { return };
        asked.parts -= 1;
        asked.failure = asked.failure.take().or(failure);
        if asked.parts > 0 {
            return;
        }
        let Some(mut asked) = self.asked.remove(&part.of) else { return };
        self.served.answered += 1;
        self.served.failed += u64::from(asked.failure.is_some());
        if self.clock.waits()
            && let Some(due) = self.clock.wall(at)
        {
            let late = Instant::now().saturating_duration_since(due);
            self.served.late += u64::from(late > LATE);
            self.served.latest = self.served.latest.max(late);
        }
        if let Asker::Control(reply) = &asked.asker {
            let response_us = (at.0 - asked.arrival_ns) as f64 / 1e3;
            _ = reply.send(json!({"ok": true, "time_ns": at.0, "response_us": response_us}));
            return;
        }
        let outcome = asked.outcome();
        answer(&self.completions, &asked.asker, outcome);
    }

    /// The power was cut: requests that the device had fail, or are asked again.
    fn power_cut(&mut self, at: SimTime, ready: SimTime, unanswered: &[SimTime]) -> Result<(), Error> {
        self.last_cut = Some(json!({
            "time_ns": at.0,
            "ready_ns": ready.0,
            "recovery_ms": ready.since(at).0 as f64 / 1e6,
            "unanswered": unanswered.len(),
        }));
        // Where the recovery has ended, the clock of the device has gone on.
        self.horizon = self.horizon.max(at);
        for arrival in unanswered {
            let flushes = self.parts.get(&arrival.0).is_some_and(|part| part.request.op == Op::Flush);
            // Writes before a FLUSH may be gone.
            if self.on_cut == OnCut::Fail || flushes {
                self.end_part(arrival.0, at, Some(cut()));
            } else if let Some(part) = self.parts.remove(&arrival.0) {
                let connection = self.asked.get(&part.of).map_or(0, |asked| asked.asker.number());
                self.arrive(part, Instant::now(), connection)?;
            }
        }
        Ok(())
    }

    /// Everything has happened that happens before this instant.
    pub(crate) fn horizon(&self) -> SimTime {
        self.horizon
    }

    /// Records a fault in the session.
    pub(crate) fn record_fault(&mut self, what: &str, at: SimTime) -> Result<(), Error> {
        let recorded = self.session.as_mut().map_or(Ok(()), |session| session.fault(what, at));
        recorded.map_err(|error| failed(&error))
    }

    /// Versions of pages that writes without an answer have made.
    pub(crate) fn unanswered_pages(&self) -> impl Iterator<Item = u64> + '_ {
        let page = self.units.page;
        let writes = self.parts.values().filter(|part| part.request.op == Op::Write);
        writes.flat_map(move |part| part.bytes.start / page..part.bytes.end.div_ceil(page))
    }

    /// Saves the drive when all work has ended, and its bytes; to be called in a copy.
    pub(crate) fn save(&mut self, path: &Path) -> Result<(), String> {
        self.device.rest_and_save(path).map_err(|error| error.to_string())?;
        saved::write(path, &mut self.store).map_err(|error| format!("{}.bytes: {error}", path.display()))
    }

    /// What the server has done.
    pub(crate) fn served(&self) -> Value {
        let Served { answered, failed, late, latest, unknown_pages } = self.served;
        json!({
            "requests": answered,
            "failed_requests": failed,
            "outstanding": self.asked.len(),
            "late_replies": late,
            "latest_reply_us": latest.as_secs_f64() * 1e6,
            "stored_bytes": self.store.stored_bytes(),
            "sweeps": self.store.sweeps(),
            "unknown_pages": unknown_pages,
        })
    }

    /// Answers all that is outstanding, in virtual time, and writes out the session.
    fn end(&mut self) -> Result<(), Error> {
        while !self.asked.is_empty() {
            let next = self.device.next_at();
            if next == SimTime::NEVER {
                break;
            }
            self.advance_to(next)?;
        }
        self.session.iter_mut().try_for_each(SessionWriter::flush).map_err(|error| failed(&error))
    }
}

/// Adds the bytes from `from` to `to` of a page that starts at `start` to the pieces of a read, of which this many bytes
/// are left.
fn add_piece(pieces: &mut Vec<Piece>, found: Bytes<'_>, start: u64, from: u64, to: u64, left: usize) {
    let length = to - from;
    match (found, pieces.last_mut()) {
        (Bytes::Data(page), Some(Piece::Data { bytes, .. })) => {
            bytes.extend_from_slice(&page[(from - start) as usize..(to - start) as usize]);
        }
        (Bytes::Data(page), _) => {
            let mut bytes = Vec::with_capacity(left);
            bytes.extend_from_slice(&page[(from - start) as usize..(to - start) as usize]);
            pieces.push(Piece::Data { offset: from, bytes });
        }
        (Bytes::Zeros, Some(Piece::Hole { length: before, .. })) => *before += length,
        (Bytes::Zeros, _) => pieces.push(Piece::Hole { offset: from, length }),
        (Bytes::Unreadable | Bytes::Unknown, Some(Piece::Unreadable { length: before, .. })) => {
            *before += length;
        }
        (Bytes::Unreadable | Bytes::Unknown, _) => pieces.push(Piece::Unreadable { offset: from, length }),
    }
}

/// The failure of a control verb.
pub(crate) fn problem(message: impl Into<String>) -> Value {
    json!({"ok": false, "error": message.into()})
}
