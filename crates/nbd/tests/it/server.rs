//! Servers for the tests: in front of memory, or of a device that the test answers for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use flashkeep_nbd::{
    Complete, Completions, ConnectionId, Device, Export, Limits, Listen, Outcome, Running, Server, Submit,
};

use crate::client::Client;
use crate::memory::Memory;

/// The size of most exports.
pub(crate) const SIZE: u64 = 1 << 20;

/// A folder that is removed with its contents.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("flashkeep-nbd-{}-{number}", std::process::id()));
        fs::create_dir(&path).expect("the folder is new");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running server on a Unix socket.
pub(crate) struct Served<D> {
    pub(crate) running: Running,
    pub(crate) device: Arc<D>,
    pub(crate) folder: Folder,
}

impl<D: Device + 'static> Served<D> {
    pub(crate) fn new(export: Export, limits: Limits, device: impl FnOnce(Completions) -> D) -> Self {
        let folder = Folder::new();
        let listen = [Listen::Unix(folder.socket())];
        let server = Server::bind(&listen, false, export, limits).expect("the folder is new");
        let device = Arc::new(device(server.completions()));
        let running = server.start(device.clone()).expect("threads can be started");
        Self { running, device, folder }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.folder.socket())
    }

    /// A client that is ready to send requests.
    pub(crate) fn ready(&self, structured: bool) -> Client {
        let mut client = self.client();
        client.go(structured);
        client
    }

    /// Waits until all clients have gone.
    pub(crate) fn wait_until_alone(&self) {
        wait_until(|| self.running.connections() == 0);
    }
}

/// Memory of [`SIZE`] bytes with the default limits.
pub(crate) fn serve_memory() -> Served<Memory> {
    serve_export(Export { multi_conn: true, ..Export::new("drive", SIZE) })
}

pub(crate) fn serve_export(export: Export) -> Served<Memory> {
    let size = export.size;
    Served::new(export, Limits::default(), |completions| Memory::new(completions, size))
}

/// Polls a condition that another thread makes true.
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "the condition does not become true");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A device for which the test answers.
pub(crate) struct Manual {
    completions: Completions,
    sender: Sender<Event>,
    events: Mutex<Receiver<Event>>,
}

/// A call of the device.
#[derive(Debug)]
pub(crate) enum Event {
    Connected(ConnectionId),
    Submit(Submit),
    Disconnected(ConnectionId),
}

impl Manual {
    pub(crate) fn new(completions: Completions) -> Self {
        let (sender, events) = channel();
        Self { completions, sender, events: Mutex::new(events) }
    }

    /// The next call.
    pub(crate) fn next(&self) -> Event {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.recv_timeout(Duration::from_secs(10)).expect("the device is called")
    }

    /// The next request, after calls of other kinds.
    pub(crate) fn next_request(&self) -> Submit {
        loop {
            if let Event::Submit(submit) = self.next() {
                return submit;
            }
        }
    }

    pub(crate) fn answer(&self, submit: &Submit, outcome: Outcome) -> bool {
        self.completions.complete(Complete { connection: submit.connection, request: submit.tag, outcome })
    }
}

impl Device for Manual {
    fn submit(&self, submit: Submit) {
        self.sender.send(Event::Submit(submit)).expect("the receiver is in the device");
    }

    fn connected(&self, connection: ConnectionId) {
        self.sender.send(Event::Connected(connection)).expect("the receiver is in the device");
    }

    fn disconnected(&self, connection: ConnectionId) {
        self.sender.send(Event::Disconnected(connection)).expect("the receiver is in the device");
    }
}

pub(crate) fn serve_manual(limits: Limits) -> Served<Manual> {
    Served::new(Export::new("", SIZE), limits, Manual::new)
}
