//! Recorded sessions of a served drive: a trace that also has what was injected, so that a run of it has the response
//! times of the session.
//!
//! A session is a CSV trace of flashkeep's own columns, with the connection of each request in one more column. Its
//! first line is a comment with how the drive started, in JSON, and each fault is a comment at its place:
//! ```text
//! # flashkeep session 1 {"drive":"tlc-client","existing":"none","seed":1}
//! time_ns,device,op,offset_B,size_B,connection
//! 0,0,W,4096,4096,1
//! # fault 120000 chip:0.0,transient
//! ```
//! Times are counted from the first request.

use crate::error::Error;
use crate::faults;
use crate::job::Job;
use crate::kernel::SimTime;
use flashkeep_trace::{CSV_COLUMNS, Request, TraceError, csv_record};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

const MARK: &str = "# flashkeep session 1 ";
const FAULT: &str = "# fault ";

/// How the drive of a session started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStart {
    /// The preset or drive file.
    pub drive: String,
    /// Pages that existed before time 0, as for `--existing`.
    pub existing: String,
    /// The placement handles of addresses, as for `--handle`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handle: Vec<String>,
    /// The seed of every random stream.
    pub seed: u64,
}

/// A session that is being recorded.
#[derive(Debug)]
pub struct SessionWriter {
    file: BufWriter<File>,
}

impl SessionWriter {
    /// Begins a session in a file.
    ///
    /// # Errors
    /// The system's.
    pub fn create(path: &Path, start: &SessionStart) -> std::io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "{MARK}{}", serde_json::to_string(start)?)?;
        writeln!(file, "{CSV_COLUMNS},connection")?;
        Ok(SessionWriter { file })
    }

    /// Records a request of a connection.
    ///
    /// # Errors
    /// The system's.
    pub fn request(&mut self, request: &Request, connection: u64) -> std::io::Result<()> {
        writeln!(self.file, "{},{connection}", csv_record(request))
    }

    /// Records a fault.
    ///
    /// # Errors
    /// The system's.
    pub fn fault(&mut self, what: &str, at: SimTime) -> std::io::Result<()> {
        writeln!(self.file, "{FAULT}{} {what}", at.0)
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// The system's.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// The job, with how the drive of its session started and what was injected, if its trace is a session.
///
/// # Errors
/// A session whose comments cannot be read.
pub(crate) fn applied(job: &Job) -> Result<Cow<'_, Job>, Error> {
    let [trace] = &job.traces[..] else { return Ok(Cow::Borrowed(job)) };
    // A pipe can be read only once.
    if !std::fs::metadata(trace).is_ok_and(|found| found.is_file()) {
        return Ok(Cow::Borrowed(job));
    }
    let Ok(file) = File::open(trace) else { return Ok(Cow::Borrowed(job)) };
    let mut lines = BufReader::new(file).split(b'\n');
    let Some(Ok(first)) = lines.next() else { return Ok(Cow::Borrowed(job)) };
    let Some(start) = first.strip_prefix(MARK.as_bytes()) else { return Ok(Cow::Borrowed(job)) };
    let wrong = |line: usize, problem: String| {
        Error::Trace(TraceError { line: Some(line as u64), ..TraceError::new(trace, problem) })
    };
    let start: SessionStart = serde_json::from_slice(start)
        .map_err(|error| wrong(1, format!("how the drive started cannot be read: {error}")))?;
    let mut job = job.clone();
    job.expects_power_cuts = true;
    job.seed = job.seed.or(Some(start.seed));
    job.existing = job.existing.or(Some(start.existing));
    if job.handle.is_empty() {
        job.handle = start.handle;
    }
    job.stop_rebuild.get_or_insert_with(|| "end".into());
    for (number, line) in (2..).zip(lines) {
        let line = line.map_err(|error| wrong(number, format!("cannot be read: {error}")))?;
        let Some(fault) = line.strip_prefix(FAULT.as_bytes()) else { continue };
        let fault = String::from_utf8_lossy(fault);
        let Some((at, what)) =
            fault.split_once(' ').and_then(|(at, what)| Some((at.parse::<u64>().ok()?, what)))
        else {
            return Err(wrong(number, format!("found `{fault}`; accepted: `{FAULT}NS WHAT`")));
        };
        job.fail.push(faults::at_instant(what.trim_end(), SimTime(at)));
    }
    Ok(Cow::Owned(job))
}
