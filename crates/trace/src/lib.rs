//! Block traces and synthetic workloads: read, detect, generate, describe. Knows no flash.
//!
//! Everything that yields requests is a [`Source`]: a trace in one of the [`Format`]s ([`open`]), a synthetic
//! workload ([`synthetic()`]), several of them merged by time ([`merge()`]). [`info()`] computes the statistics of a source,
//! [`write()`] writes a source as a trace.
#![forbid(unsafe_code)]

mod devices;
mod error;
mod formats;
mod frames;
mod hasher;
mod hints;
mod info;
mod input;
mod line;
mod merge;
mod order;
mod reader;
mod request;
mod source;
mod suggest;
mod synthetic;
mod write;

pub mod random;

pub use error::TraceError;
pub use formats::{Columns, Format};
pub use info::{Info, info};
pub use merge::merge;
pub use reader::{BadRecords, OpenOptions, open, open_bytes, open_reader};
pub use request::{Op, Request};
pub use source::{BATCH, Provenance, Source};
pub use synthetic::{DriveSize, has_footprint, is_synthetic, synthetic, workload_manual, workloads};
pub use write::{Output, WriteError, WriteOptions, Written, convert, create, create_plain, write};
