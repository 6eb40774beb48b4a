//! The control socket: JSON lines over a Unix socket, an answer for each.

use crate::model::{Message, problem};
use crate::verbs::Verb;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// The longest line, bytes.
const LONGEST: u64 = 64 << 10;

/// The most clients at a time.
const CLIENTS: usize = 16;

/// A control socket that listens; dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Control {
    path: PathBuf,
}

impl Control {
    /// Listens at a path, for its owner only.
    pub(crate) fn listen(path: &Path, messages: Sender<Message>) -> Result<Control, String> {
        let named = |problem: &dyn std::fmt::Display| format!("--control: {}: {problem}", path.display());
        if let Ok(found) = std::fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                return Err(named(&"there is a file; the path of a new socket is accepted"));
            }
            if UnixStream::connect(path).is_ok() {
                return Err(named(&"another server listens there"));
            }
            std::fs::remove_file(path).map_err(|error| named(&error))?;
        }
        // Nobody can connect before the mode is set: the socket gets its name afterwards.
        let mut hidden = path.as_os_str().to_owned();
        hidden.push(".part");
        let hidden = PathBuf::from(hidden);
        let listener = UnixListener::bind(&hidden).map_err(|error| named(&error))?;
        let placed = std::fs::set_permissions(&hidden, PermissionsExt::from_mode(0o600))
            .and_then(|()| std::fs::rename(&hidden, path));
        if let Err(error) = placed {
            _ = std::fs::remove_file(&hidden);
            return Err(named(&error));
        }
        let clients = Arc::new(AtomicUsize::new(0));
        let accept = move || {
            for client in listener.incoming().flatten() {
                if clients.load(Ordering::Acquire) >= CLIENTS {
                    continue; // it is closed
                }
                clients.fetch_add(1, Ordering::AcqRel);
                let (messages, clients) = (messages.clone(), Arc::clone(&clients));
                thread::spawn(move || {
                    serve(client, &messages);
                    clients.fetch_sub(1, Ordering::AcqRel);
                });
            }
        };
        thread::Builder::new().name("control".into()).spawn(accept).map_err(|error| named(&error))?;
        Ok(Control { path: path.to_owned() })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.path);
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
