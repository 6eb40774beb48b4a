//! A connected socket of either family, shared by its reader and its writer.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// Calls one method of the socket, of either family.
macro_rules! either {
    ($stream:expr, $socket:ident => $call:expr) => {
        match $stream {
            Stream::Unix($socket) => $call,
            Stream::Tcp($socket) => $call,
        }
    };
}

impl Stream {
    /// Closes one direction or both, also for threads that are blocked in it. A socket that is closed already
    /// is fine.
    pub(crate) fn close(&self, direction: Shutdown) {
        let _ = either!(self, socket => socket.shutdown(direction));
    }

    /// Sends all slices with as few system calls as possible.
    pub(crate) fn write_all(&self, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        let mut rest = slices;
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match either!(self, socket => (&mut &*socket).write_vectored(rest)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut rest, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn set_timeouts(&self, limit: Option<Duration>) -> io::Result<()> {
        either!(self, socket => socket.set_read_timeout(limit).and_then(|()| socket.set_write_timeout(limit)))
    }
}

/// The socket as its reader uses it: every call fails after the deadline, if there is one.
#[derive(Debug)]
pub(crate) struct Timed<'a> {
    stream: &'a Stream,
    deadline: Option<Instant>,
}

impl<'a> Timed<'a> {
    /// A socket that must have finished its negotiation at `deadline`.
    pub(crate) fn new(stream: &'a Stream, deadline: Instant) -> Self {
        Self { stream, deadline: Some(deadline) }
    }

    /// Lets the client be idle from now on.
    pub(crate) fn remove_deadline(&mut self) -> io::Result<()> {
        self.deadline = None;
        self.stream.set_timeouts(None)
    }

    /// Allows the next call the remaining time.
    fn limit(&self) -> io::Result<()> {
        let Some(deadline) = self.deadline else { return Ok(()) };
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            self.stream.set_timeouts(Some(remaining))
        }
    }
}

/// Sockets report a timeout as `WouldBlock`.
fn as_timeout(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.limit()?;
        either!(self.stream, socket => (&mut &*socket).read(buffer)).map_err(as_timeout)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.limit()?;
        either!(self.stream, socket => (&mut &*socket).write(buffer)).map_err(as_timeout)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
