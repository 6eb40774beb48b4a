//! The integration tests of the trace crate, in one binary.

mod dialects;
mod hybrid;
mod reading;
mod real_traces;
mod writing;
