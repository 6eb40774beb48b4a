//! The control socket: JSON lines over a Unix socket, an answer for each.

use crate::model::{Message, problem};
use crate::verbs::Verb;
use flashkeep_nbd::PrivateSocket;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The longest line, bytes.
const LONGEST: u64 = 64 << 10;

/// A pause after an error of `accept`.
const PAUSE: Duration = Duration::from_millis(20);

/// The most clients at a time.
const CLIENTS: usize = 16;

/// A control socket that listens; dropped, it stops and is removed.
#[derive(Debug)]
pub(crate) struct Control {
    shared: Arc<Shared>,
    accepts: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    socket: PrivateSocket,
    stopping: AtomicBool,
}

impl Control {
    /// Listens at a path, for its owner only.
    pub(crate) fn listen(path: &Path, messages: Sender<Message>) -> Result<Control, String> {
        let named = |problem: &dyn std::fmt::Display| format!("--control: {problem}");
        let socket = PrivateSocket::bind(path).map_err(|error| named(&error))?;
        let shared = Arc::new(Shared { socket, stopping: AtomicBool::new(false) });
        let theirs = Arc::clone(&shared);
        let accepts = thread::Builder::new()
            .name("control".into())
            .spawn(move || accept_all(&theirs, &messages))
            .map_err(|error| named(&error))?;
        Ok(Control { shared, accepts: Some(accepts) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        if self.shared.socket.stop().is_ok() {
            // A panic of the thread has been printed.
            self.accepts.take().into_iter().for_each(|thread| _ = thread.join());
        }
    }
}

/// Gives each client a thread, as long as there are not too many.
fn accept_all(shared: &Shared, messages: &Sender<Message>) {
    let clients = Arc::new(AtomicUsize::new(0));
    loop {
        match shared.socket.accept() {
            _ if shared.stopping.load(Ordering::Acquire) => return,
            Err(_) => thread::sleep(PAUSE), // such as too many open files
            Ok(_) if clients.load(Ordering::Acquire) >= CLIENTS => {} // it is closed
            Ok(client) => {
                clients.fetch_add(1, Ordering::AcqRel);
                let (messages, clients) = (messages.clone(), Arc::clone(&clients));
                thread::spawn(move || {
                    serve(client, &messages);
                    clients.fetch_sub(1, Ordering::AcqRel);
                });
            }
        }
    }
}

/// Answers one client until it goes.
fn serve(client: UnixStream, messages: &Sender<Message>) {
    let Ok(mut answers) = client.try_clone() else { return };
    let mut lines = BufReader::new(client);
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.last() != Some(&b'\n') && line.len() as u64 >= LONGEST {
            let answer = problem(format!("a line of more than {LONGEST} bytes"));
            _ = writeln!(answers, "{answer}");
            return;
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            continue;
        }
        let answer = match Verb::read(text.trim()) {
            Err(message) => problem(message),
            Ok(verb) => {
                let (reply, answer) = channel();
                if messages.send(Message::Control(verb, reply)).is_err() {
                    return;
                }
                match answer.recv() {
                    Ok(answer) => answer,
                    Err(_) => problem("the server is ending"),
                }
            }
        };
        if writeln!(answers, "{answer}").is_err() {
            return;
        }
    }
}
