//! One client: its outstanding requests, its reader and its writer.

use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::mem;
use std::net::Shutdown;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::device::{ConnectionId, Device, Extent, Outcome, Submit};
use crate::export::Export;
use crate::limits::{Counters, Limits};
use crate::messages::{Command, Header, read_header, skip};
use crate::negotiate::{End, Session, negotiate};
use crate::replies::{Batch, MAX_EXTENTS, Verdict};
use crate::requests::{Decision, decide, request};
use crate::stream::{Stream, Timed};

/// The reader's buffer: the headers of many requests, or a few small writes, with one system call.
const BUFFER_BYTES: usize = 64 << 10;

/// Memory that a question for block status may need.
const STATUS_BYTES: u64 = (MAX_EXTENTS * size_of::<Extent>()) as u64;

/// All that the connections of a server have in common.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) export: Export,
    pub(crate) limits: Limits,
    pub(crate) counters: Counters,
}

/// A client, shared by its two threads and the device.
#[derive(Debug)]
pub(crate) struct Connection {
    id: ConnectionId,
    stream: Stream,
    state: Mutex<State>,
    /// The reader waits here for room.
    room: Condvar,
    /// The writer waits here for answers, or the end.
    work: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Requests that the device has.
    pending: HashMap<u64, InFlight>,
    /// Answers that the writer has not taken yet.
    answered: Vec<(InFlight, Outcome)>,
    /// Requests of which the reply has not left yet, and their bytes.
    requests: usize,
    bytes: u64,
    next_tag: u64,
    reader_waits: bool,
    writer_waits: bool,
    /// The reader takes nothing more; the writer still sends the answers.
    closing: bool,
    /// The connection has ended: nothing can be sent any more.
    gone: bool,
}

/// A request of which the reply has not left yet.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    header: Header,
    bytes: u64,
}

impl Connection {
    pub(crate) fn new(id: ConnectionId, stream: Stream) -> Self {
        let (state, room, work) = <(Mutex<State>, Condvar, Condvar)>::default();
        Self { id, stream, state, room, work }
    }

    /// Takes the device's answer. It never waits for the client.
    pub(crate) fn complete(&self, tag: u64, mut outcome: Outcome) -> bool {
        if let Outcome::Extents(extents) = &mut outcome {
            extents.truncate(MAX_EXTENTS);
            extents.shrink_to_fit();
        }
        let mut state = self.state();
        let Some(request) = state.pending.remove(&tag) else { return false };
        self.answer(&mut state, request, outcome);
        true
    }

    fn answer(&self, state: &mut State, request: InFlight, outcome: Outcome) {
        state.answered.push((request, outcome));
        if mem::take(&mut state.writer_waits) {
            self.work.notify_one();
        }
    }

    /// Reads nothing more; the answers to outstanding requests are still sent.
    pub(crate) fn stop_reading(&self) {
        self.state().closing = true;
        self.stream.close(Shutdown::Read);
        self.notify();
    }

    /// Ends the connection at once.
    pub(crate) fn abort(&self) {
        let mut state = self.state();
        state.gone = true;
        state.pending.clear();
        drop(state);
        self.stream.close(Shutdown::Both);
        self.notify();
    }

    fn notify(&self) {
        self.room.notify_all();
        self.work.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The whole life of the connection, in its reader's thread.
    pub(crate) fn serve(&self, service: &Service, device: &dyn Device) {
        let Counters { timed_out, malformed, .. } = &service.counters;
        match self.converse(service, device).unwrap_or_else(|end| end) {
            End::TimedOut => timed_out.add(1),
            End::Malformed => malformed.add(1),
            End::Clean | End::Broken => {}
        }
        self.stream.close(Shutdown::Both);
    }

    fn converse(&self, service: &Service, device: &dyn Device) -> Result<End, End> {
        let timed = Timed::new(&self.stream, Instant::now() + service.limits.negotiation);
        let mut client = BufReader::with_capacity(BUFFER_BYTES, timed);
        let session = negotiate(&mut client, &service.export, service.limits.payload_bytes)?;
        client.get_mut().remove_deadline()?;
        let _goodbye = Goodbye { device, id: self.id };
        device.connected(self.id);
        thread::scope(|scope| {
            let _end = EndOfRequests(self);
            let writer = thread::Builder::new().name(format!("nbd-write-{}", self.id));
            writer.spawn_scoped(scope, || self.write(service, session))?;
            let end = self.read(&mut client, service, session, device);
            if end != End::Clean {
                self.abort();
            }
            Ok(end)
        })
    }

    /// Takes requests until the client ends, or the server stops: then a request that is cut off is no
    /// mistake of the client.
    fn read(&self, client: &mut impl Read, service: &Service, session: Session, device: &dyn Device) -> End {
        loop {
            if let Err(end) = self.take_request(client, service, session, device) {
                return if self.state().closing { End::Clean } else { end };
            }
        }
    }

    fn take_request(
        &self,
        client: &mut impl Read,
        service: &Service,
        session: Session,
        device: &dyn Device,
    ) -> Result<(), End> {
        let bytes = read_header(client)?.ok_or(End::Clean)?;
        let header = Header::parse(&bytes).ok_or(End::Malformed)?;
        let payload = if header.command == Command::Write { header.length } else { 0 };
        if header.command == Command::Disconnect {
            return Err(End::Clean);
        }
        if payload > service.limits.payload_bytes {
            return Err(End::Malformed);
        }
        let decision = decide(&header, &service.export, session);
        let cost = match (&decision, header.command) {
            (Decision::Submit, Command::Read | Command::Write) => header.length.into(),
            (Decision::Submit, Command::BlockStatus) => STATUS_BYTES,
            _ => 0,
        };
        let in_flight = InFlight { header, bytes: cost };
        let outcome = match decision {
            Decision::Submit => {
                let tag = self.admit(in_flight, &service.limits, true)?;
                let mut data = vec![0; payload as usize];
                client.read_exact(&mut data).inspect_err(|_| self.withdraw(tag, in_flight))?;
                let request = request(&header, data, &service.counters);
                device.submit(Submit { connection: self.id, tag, arrived: Instant::now(), request });
                return Ok(());
            }
            Decision::Succeed if header.command == Command::Read => Outcome::Read(Vec::new()),
            Decision::Succeed => Outcome::Done,
            Decision::Refuse(failure) => {
                service.counters.invalid.add(1);
                Outcome::Failed(failure)
            }
        };
        let tag = self.admit(in_flight, &service.limits, false)?;
        skip(client, payload).inspect_err(|_| self.withdraw(tag, in_flight))?;
        self.answer(&mut self.state(), in_flight, outcome);
        Ok(())
    }

    /// Waits until the request has room, and gives it its tag if the device will get it.
    fn admit(&self, request: InFlight, limits: &Limits, pending: bool) -> Result<u64, End> {
        let mut state = self.state();
        loop {
            if state.gone || state.closing {
                return Err(if state.gone { End::Broken } else { End::Clean });
            }
            let fits = state.bytes == 0 || state.bytes + request.bytes <= limits.in_flight_bytes;
            if state.requests < limits.outstanding && fits {
                break;
            }
            state.reader_waits = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let tag = state.next_tag;
        state.next_tag += 1;
        state.requests += 1;
        state.bytes += request.bytes;
        if pending {
            state.pending.insert(tag, request);
        }
        Ok(tag)
    }

    /// Forgets an admitted request of which the data did not arrive.
    fn withdraw(&self, tag: u64, request: InFlight) {
        let mut state = self.state();
        state.pending.remove(&tag);
        state.requests -= 1;
        state.bytes -= request.bytes;
    }

    /// Sends answers until all requests of an ended client are answered.
    fn write(&self, service: &Service, session: Session) {
        let mut batch = Batch::default();
        let mut answers = Vec::new();
        while self.next_answers(&mut answers) {
            let requests = answers.len();
            let bytes = answers.iter().map(|(request, _)| request.bytes).sum::<u64>();
            for (request, outcome) in answers.drain(..) {
                match batch.add(&request.header, session.structured, outcome) {
                    Verdict::Good => {}
                    Verdict::Failed => service.counters.failed.add(1),
                    Verdict::Wrong => service.counters.wrong_answers.add(1),
                }
            }
            if batch.send(&self.stream).is_err() {
                return self.abort();
            }
            let mut state = self.state();
            state.requests -= requests;
            state.bytes -= bytes;
            if mem::take(&mut state.reader_waits) {
                self.room.notify_one();
            }
        }
    }

    /// Waits for answers and moves them to `answers`, which is empty; `false` at the end.
    fn next_answers(&self, answers: &mut Vec<(InFlight, Outcome)>) -> bool {
        let mut state = self.state();
        while state.answered.is_empty() {
            if state.gone || (state.closing && state.requests == 0) {
                return false;
            }
            state.writer_waits = true;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        mem::swap(&mut state.answered, answers);
        !state.gone
    }
}

/// Lets the writer end, also if the device panics in the reader's thread.
struct EndOfRequests<'a>(&'a Connection);

impl Drop for EndOfRequests<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abort();
        }
        self.0.state().closing = true;
        self.0.notify();
    }
}

/// Says goodbye to the device, also if it panicked.
struct Goodbye<'a> {
    device: &'a dyn Device,
    id: ConnectionId,
}

impl Drop for Goodbye<'_> {
    fn drop(&mut self) {
        self.device.disconnected(self.id);
    }
}
