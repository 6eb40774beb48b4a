//! The interface between traces and the code that replays them.

use crate::{Request, TraceError};

/// A source hands over at most this many requests at once.
pub const BATCH: usize = 1024;

/// A stream of requests in order of arrival.
pub trait Source: Send {
    /// Appends up to [`BATCH`] requests to `batch`; 0 means that the stream has ended.
    ///
    /// # Errors
    /// A record that cannot be read, unless bad records are skipped.
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError>;

    /// The number of requests in the whole stream, if it is known beforehand (a synthetic workload).
    fn total(&self) -> Option<u64> {
        None
    }

    /// The share of the stream that has been handed over, 0 to 1, if it is known (from the bytes of a file).
    fn share_done(&self) -> Option<f64> {
        None
    }

    /// The time of the first request that has been handed over, on the clock of the machine that recorded the stream.
    fn first_ns(&self) -> Option<u64> {
        None
    }

    /// The clock of its times, if it has begun.
    fn clock(&self) -> TraceClock {
        TraceClock::Own
    }

    /// What the stream calls a device that has appeared.
    fn device(&self, number: u32) -> DeviceName {
        DeviceName::Number(number.into())
    }

    /// Records skipped so far because they could not be read.
    fn skipped(&self) -> u64 {
        0
    }

    /// Whether its writes may name placement handles.
    fn has_handles(&self) -> bool {
        false
    }

    /// SHA-256, in hexadecimal, of all bytes of standard input or a pipe, if it was read to its end. None for a file,
    /// which can be read again.
    fn sha256(&self) -> Option<String> {
        None
    }

    /// Warnings for the user about the stream so far: implausible units, op codes that seem inverted.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Describes the stream for the report.
    fn provenance(&self) -> Provenance;
}

/// The clock of a stream, which others may have in common with it, and its time at the first request, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceClock {
    /// A clock of its own.
    Own,
    /// Time since 1970.
    Calendar(u64),
    /// Time on the machine that recorded the stream.
    Machine(u64),
}

/// What a stream calls a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceName {
    /// A number.
    Number(u64),
    /// A word.
    Name(Box<[u8]>),
}

/// Describes a stream: its name, its format, whether it is synthetic, and how it must be replayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// The path, or `synth:…` as the user wrote it.
    pub name: String,
    /// The format's name, `synthetic` for a synthetic workload.
    pub format: String,
    /// Generated, not recorded.
    pub synthetic: bool,
    /// A synthetic workload with `depth`: replay as a closed loop with that many outstanding.
    pub depth: Option<u32>,
    /// Where its requests lie, if that is known beforehand: the first byte, and how many.
    pub extent: Option<(u64, u64)>,
}
