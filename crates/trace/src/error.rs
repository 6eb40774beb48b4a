//! Errors of traces and workloads.

use std::fmt;

/// A trace that cannot be read, or an invalid workload: one message that says where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceError {
    /// The file, `-` for standard input, or the workload as the user wrote it.
    pub path: String,
    /// The line of a text trace or the record of a binary one, counted from 1.
    pub line: Option<u64>,
    /// The column of the trace or the key of the workload.
    pub field: Option<String>,
    /// States the value found, the values accepted, and what to do.
    pub message: String,
}

impl TraceError {
    /// An error about the whole of `path`.
    #[must_use]
    pub fn new(path: &str, message: impl Into<String>) -> Self {
        TraceError { path: path.into(), message: message.into(), ..Self::default() }
    }

    /// Adds the line or record.
    #[must_use]
    pub fn at(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Adds the column or key.
    #[must_use]
    pub fn field(mut self, field: &str) -> Self {
        self.field = Some(field.into());
        self
    }
}

impl fmt::Display for TraceError {
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

impl std::error::Error for TraceError {}
