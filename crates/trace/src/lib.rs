//! Block traces and synthetic workloads: read, detect, generate, describe. Knows no flash.
//!
//! Everything that yields requests is a [`Source`]: a trace in one of the [`Format`]s ([`open`]), a synthetic
//! workload ([`synthetic()`]), several of them as one ([`combine()`]) or merged by time ([`merge()`]). [`info()`] computes the statistics of a source,
//! [`write()`] writes a source as a trace.
#![forbid(unsafe_code)]

mod devices;
mod encoding;
mod error;
mod files;
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
mod together;
mod write;

pub mod random;

pub use error::TraceError;
pub use files::files_of;
pub use formats::{Action, CSV_COLUMNS, Columns, Format, csv_record};
pub use info::{Info, Lengths, QueueDepth, info};
pub use merge::merge;
pub use reader::{BadRecords, OpenOptions, open, open_bytes, open_reader, parts_of};
pub use request::{HANDLES, Op, Request};
pub use source::{BATCH, DeviceName, Provenance, Source, TraceClock};
pub use synthetic::{DriveSize, has_footprint, is_synthetic, size, synthetic, workload_manual, workloads};
pub use together::{Combination, Opener, Part, combine};
pub use write::{Output, WriteError, WriteOptions, Written, convert, create, create_plain, write};
