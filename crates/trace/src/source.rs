//! The interface between traces and the code that replays them.

use crate::{Request, TraceError};

/// How many requests a source hands over at most at once.
pub const BATCH: usize = 1024;

/// A stream of requests in order of arrival.
pub trait Source: Send {
    /// Appends up to [`BATCH`] requests to `batch`; 0 means that the stream has ended.
    ///
    /// # Errors
    /// A record that cannot be read, unless bad records are to be skipped.
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError>;

    /// The number of requests in the whole stream, where that is known beforehand (a synthetic workload).
    fn total(&self) -> Option<u64> {
        None
    }

    /// The share of the stream that has been handed over, 0 to 1, where that can be told (bytes of a file).
    fn share_done(&self) -> Option<f64> {
        None
    }

    /// Records skipped so far because they could not be read.
    fn skipped(&self) -> u64 {
        0
    }

    /// What the user should be told about the stream so far: units that look wrong, op codes that look inverted.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the stream is, for the report.
    fn provenance(&self) -> Provenance;
}

/// What a stream is: its name, its format, whether it was made up, and how it is to be replayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// The path, or `synth:…` as the user wrote it.
    pub name: String,
    /// The format's name, `synthetic` for a synthetic workload.
    pub format: String,
    /// Made up, not recorded.
    pub synthetic: bool,
    /// A synthetic workload with `depth`: replay as a closed loop with that many outstanding.
    pub depth: Option<u32>,
}
