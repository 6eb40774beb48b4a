//! Errors of a command.

use flashkeep_trace::TraceError;
use std::fmt;

/// An error in a drive file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriveError {
    /// The file, or the preset's name.
    pub path: String,
    /// The line in the file, counted from 1.
    pub line: Option<u64>,
    /// The key, dotted: `flash.channels`.
    pub field: Option<String>,
    /// States the value found, the values accepted, and what to do.
    pub message: String,
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ": {field}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Why a command ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The drive is wrong (exit code 2).
    Drive(DriveError),
    /// The trace or workload is wrong (exit code 2).
    Trace(TraceError),
    /// An option is wrong (exit code 2): the option, and what to do.
    Option(String),
    /// An output could not be written (exit code 1): the path and the system's message.
    Output(String),
    /// The caller interrupted the command (exit codes 130 and 143).
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Drive(error) => error.fmt(f),
            Error::Trace(error) => error.fmt(f),
            Error::Option(message) | Error::Output(message) => f.write_str(message),
            Error::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for DriveError {}
impl std::error::Error for Error {}

impl From<DriveError> for Error {
    fn from(error: DriveError) -> Self {
        Error::Drive(error)
    }
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Self {
        Error::Trace(error)
    }
}

/// `; did you mean …?`, or empty if no name is near.
#[must_use]
pub fn did_you_mean<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(found, names).map_or(String::new(), |(name, _)| format!("; did you mean `{name}`?"))
}

/// The name nearest to the one found, and their similarity: 1 if they differ by case only. An abbreviation (`read` for
/// `read_us`) is near too.
#[must_use]
pub fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, f64)> {
    let found = found.to_lowercase();
    let mut best = None;
    for name in names {
        let lower = name.to_lowercase();
        let cut = found.len() > 2 && lower.starts_with(&found);
        let near = strsim::normalized_damerau_levenshtein(&found, &lower).max(if cut { 0.75 } else { 0.0 });
        // Of equally near names, the one with the same first letter: few people mistype the first letter.
        let alike = found.chars().zip(lower.chars()).take_while(|(a, b)| a == b).count();
        let near = near + alike as f64 * 1e-3;
        if near >= 0.6 && best.is_none_or(|(_, nearest)| near > nearest) {
            best = Some((name, near));
        }
    }
    best
}
