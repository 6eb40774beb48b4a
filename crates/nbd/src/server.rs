//! The server: its sockets, its connections, and the device's way to answer.

use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::connection::{Connection, Service};
use crate::limits::Counters;
use crate::listen::Listener;
use crate::stream::Stream;
use crate::{BindError, Complete, ConnectionId, Counts, Device, Export, Limits, Listen};

/// A pause after an error of `accept`, such as too many open files, and after a shutdown for threads that
/// still run.
const PAUSE: Duration = Duration::from_millis(20);

/// A server that is bound to its addresses and does not accept clients yet.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
}

/// What all threads of a server share.
#[derive(Debug)]
struct Shared {
    service: Service,
    clients: Mutex<Clients>,
    /// A client has gone.
    gone: Condvar,
    stopping: AtomicBool,
}

/// The clients now, and the number of the next one.
#[derive(Debug, Default)]
struct Clients {
    open: BTreeMap<ConnectionId, Arc<Connection>>,
    next: u64,
}

impl Server {
    /// Binds all addresses, or none. Without `allow_remote` only loopback addresses and Unix sockets are
    /// accepted.
    pub fn bind(
        listen: &[Listen],
        allow_remote: bool,
        export: Export,
        limits: Limits,
    ) -> Result<Self, BindError> {
        export.check(limits.payload_bytes).and_then(|()| limits.check()).map_err(BindError::Invalid)?;
        if listen.is_empty() {
            return Err(BindError::Nowhere);
        }
        let bind = |one| Listener::bind(one, allow_remote);
        let listeners = listen.iter().map(bind).collect::<Result<_, _>>()?;
        let service = Service { export, limits, counters: Counters::default() };
        let shared = Shared {
            service,
            clients: Mutex::default(),
            gone: Condvar::new(),
            stopping: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared), listeners })
    }

    /// The way to answer requests, to be given to the device.
    pub fn completions(&self) -> Completions {
        Completions { shared: Arc::clone(&self.shared) }
    }

    /// Starts to accept clients, whose requests `device` gets.
    pub fn start(self, device: Arc<dyn Device>) -> io::Result<Running> {
        let Self { shared, listeners } = self;
        let addresses = listeners.iter().map(|listener| listener.address.clone()).collect();
        let mut running = Running { shared, addresses, acceptors: Vec::new() };
        for listener in listeners {
            let listener = Arc::new(listener);
            let (shared, device) = (Arc::clone(&running.shared), Arc::clone(&device));
            let theirs = Arc::clone(&listener);
            let builder = thread::Builder::new().name(format!("nbd-{}", listener.address));
            let thread = builder.spawn(move || shared.accept_all(&theirs, &device))?;
            running.acceptors.push((listener, thread));
        }
        Ok(running)
    }
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    fn accept_all(self: &Arc<Self>, listener: &Listener, device: &Arc<dyn Device>) {
        loop {
            let accepted = listener.accept();
            if self.stopping() {
                return;
            }
            match accepted {
                Ok(stream) => self.accept(stream, device),
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// Gives a client its thread, or closes it if there are too many.
    fn accept(self: &Arc<Self>, stream: Stream, device: &Arc<dyn Device>) {
        let Service { limits, counters, .. } = &self.service;
        let mut clients = self.clients();
        if clients.open.len() >= limits.connections {
            counters.refused.add(1);
            return stream.close(Shutdown::Both);
        }
        counters.accepted.add(1);
        let id = ConnectionId(clients.next);
        clients.next += 1;
        let connection = Arc::new(Connection::new(id, stream));
        clients.open.insert(id, Arc::clone(&connection));
        drop(clients);
        let leaving = Leaving { shared: Arc::clone(self), id };
        let device = Arc::clone(device);
        // If there is no thread to be had, the closure is dropped, and the client with it.
        let _ = thread::Builder::new().name(format!("nbd-read-{id}")).spawn(move || {
            let leaving = leaving;
            connection.serve(&leaving.shared.service, &*device);
        });
    }

    /// Waits until all clients have gone; `false` if some are left at the deadline.
    fn wait(&self, deadline: Instant) -> bool {
        let mut clients = self.clients();
        while !clients.open.is_empty() {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return false;
            }
            clients = self.gone.wait_timeout(clients, remaining).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn for_each(&self, action: impl Fn(&Connection)) {
        let open = self.clients().open.values().cloned().collect::<Vec<_>>();
        open.iter().for_each(|connection| action(connection));
    }
}

/// Takes a client off the list at the end of its thread, also after a panic of the device.
struct Leaving {
    shared: Arc<Shared>,
    id: ConnectionId,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.shared.clients().open.remove(&self.id);
        self.shared.gone.notify_all();
    }
}

/// The device's way to answer requests, from any thread.
#[derive(Clone, Debug)]
pub struct Completions {
    shared: Arc<Shared>,
}

impl Completions {
    /// Hands an answer to the connection's writer. It never waits for the client.
    ///
    /// `false`: the connection has gone, or the request was answered before.
    pub fn complete(&self, complete: Complete) -> bool {
        let connection = self.shared.clients().open.get(&complete.connection).cloned();
        connection.is_some_and(|connection| connection.complete(complete.request, complete.outcome))
    }
}

/// A server that accepts clients. Dropping it shuts it down without grace.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    addresses: Vec<Listen>,
    acceptors: Vec<(Arc<Listener>, JoinHandle<()>)>,
}

impl Running {
    /// The addresses, with the port that the system chose for port 0.
    pub fn addresses(&self) -> &[Listen] {
        &self.addresses
    }

    /// The number of clients now, negotiating or served.
    pub fn connections(&self) -> usize {
        self.shared.clients().open.len()
    }

    /// Events since the start.
    pub fn counts(&self) -> Counts {
        self.shared.service.counters.snapshot()
    }

    /// Stops: accepts and reads nothing more, waits up to `grace` for the answers to outstanding requests,
    /// closes all connections, and removes the Unix sockets. `true`: all requests were answered in time.
    ///
    /// A thread that a device blocks in [`Device::submit`] is left to end by itself.
    pub fn shutdown(mut self, grace: Duration) -> bool {
        self.stop(grace)
    }

    fn stop(&mut self, grace: Duration) -> bool {
        self.shared.stopping.store(true, Ordering::Release);
        for (listener, thread) in self.acceptors.drain(..) {
            if listener.stop().is_ok() {
                // A panic of the thread has been printed, and changes nothing here.
                let _ = thread.join();
            }
        }
        self.shared.for_each(Connection::stop_reading);
        let answered = self.shared.wait(Instant::now() + grace);
        self.shared.for_each(Connection::abort);
        self.shared.wait(Instant::now() + 10 * PAUSE);
        answered
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}
