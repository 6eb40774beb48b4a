//! The server: its sockets, its connections, and the device's way to answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::{BindError, Complete, Counts, Device, Export, Limits, Listen};

/// A server that is bound to its addresses and accepts nobody yet.
#[derive(Debug)]
pub struct Server {}

impl Server {
    /// Binds all addresses, or none. Without `allow_remote` only loopback addresses and Unix sockets are accepted.
    pub fn bind(
        _listen: &[Listen],
        _allow_remote: bool,
        _export: Export,
        _limits: Limits,
    ) -> Result<Self, BindError> {
        unimplemented!("follows")
    }

    /// The way to answer requests, to be given to the device.
    pub fn completions(&self) -> Completions {
        unimplemented!("follows")
    }

    /// Starts to accept clients, whose requests `device` gets.
    pub fn start(self, _device: Arc<dyn Device>) -> io::Result<Running> {
        unimplemented!("follows")
    }
}

/// The device's way to answer requests, from any thread.
#[derive(Clone, Debug)]
pub struct Completions {}

impl Completions {
    /// Hands an answer to the connection's writer. It never waits for the client.
    ///
    /// `false`: the connection has gone, or the request was answered before.
    pub fn complete(&self, _complete: Complete) -> bool {
        unimplemented!("follows")
    }
}

/// A server that accepts clients. Dropping it shuts it down without grace.
#[derive(Debug)]
pub struct Running {}

impl Running {
    /// The addresses, with the port that the system chose for port 0.
    pub fn addresses(&self) -> &[Listen] {
        unimplemented!("follows")
    }

    /// The number of clients now, negotiating or served.
    pub fn connections(&self) -> usize {
        unimplemented!("follows")
    }

    /// Events since the start.
    pub fn counts(&self) -> Counts {
        unimplemented!("follows")
    }

    /// Stops: accepts and reads nothing more, waits up to `grace` for the answers to outstanding requests, closes
    /// all connections, and removes the Unix sockets. `true`: all requests were answered in time.
    pub fn shutdown(self, _grace: Duration) -> bool {
        unimplemented!("follows")
    }
}
