//! Traces without a drive: their statistics, conversion and generation.

use crate::errors::{OptionError, detached, raise_drive, raise_trace};
use flashkeep::config;
use flashkeep_trace::{
    BadRecords, Columns, DriveSize, Format, OpenOptions, Provenance, Request, Source, TraceError, WriteError,
    WriteOptions, Written, convert, create, info, is_synthetic, open, open_bytes, synthetic,
};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The statistics of a trace: the keys of `trace info --json`.
#[pyfunction]
#[pyo3(signature = (
    trace, *, format=None, sector_bytes=None, columns=None, bad_records=None, limit=None, seed=None, drive=None,
    set=Vec::new(), in_memory=None
))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub(crate) fn trace_info(
    py: Python<'_>,
    trace: &str,
    format: Option<&str>,
    sector_bytes: Option<u32>,
    columns: Option<&str>,
    bad_records: Option<&str>,
    limit: Option<u64>,
    seed: Option<u64>,
    drive: Option<&str>,
    set: Vec<String>,
    in_memory: Option<PyBackedBytes>,
) -> PyResult<String> {
    if is_synthetic(trace) {
        let mut source = workload(py, trace, seed, drive, &set)?;
        return Ok(json!(source.read(py, |source| info(source, limit))?).to_string());
    }
    let options = reading(format, sector_bytes, columns, bad_records)?;
    let opened = detached(py, || match in_memory {
        Some(bytes) => open_bytes(trace, Arc::from(&*bytes), &options),
        None => open(trace, &options),
    })?;
    let source = opened.map_err(|error| raise_trace(py, &error))?;
    Ok(json!(Heard::new(source).read(py, |source| info(source, limit))?).to_string())
}

/// How a trace is to be read.
fn reading(
    format: Option<&str>,
    sector_bytes: Option<u32>,
    columns: Option<&str>,
    bad_records: Option<&str>,
) -> PyResult<OpenOptions> {
    let unmapped = |message| OptionError::new_err(format!("--columns: {message}"));
    Ok(OpenOptions {
        format: format.map(Format::parse).transpose().map_err(OptionError::new_err)?,
        sector_bytes,
        columns: columns.map(Columns::parse).transpose().map_err(unmapped)?,
        bad_records: if bad_records == Some("skip") { BadRecords::Skip } else { BadRecords::Refuse },
        time_is_scaled: false,
    })
}

/// Rewrites a trace in another format: `{"requests", "from", "format", "lost", "warnings"}`.
#[pyfunction]
#[pyo3(signature = (
    trace, out, *, to=None, format=None, sector_bytes=None, columns=None, bad_records=None, limit=None,
    merge_devices=false
))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub(crate) fn trace_convert(
    py: Python<'_>,
    trace: &str,
    out: &str,
    to: Option<&str>,
    format: Option<&str>,
    sector_bytes: Option<u32>,
    columns: Option<&str>,
    bad_records: Option<&str>,
    limit: Option<u64>,
    merge_devices: bool,
) -> PyResult<String> {
    if is_synthetic(trace) {
        return Err(OptionError::new_err(format!(
            "{trace} is a workload; `flashkeep trace synth` writes it"
        )));
    }
    let target = format_of(out, to)?;
    let reading = reading(format, sector_bytes, columns, bad_records)?;
    let writing = WriteOptions { unsayable: reading.bad_records, merge_devices, limit };
    let source = detached(py, || open(trace, &reading))?.map_err(|error| raise_trace(py, &error))?;
    let mut source = Heard::new(source);
    let written = write_out(py, &mut source, target, &writing, out)?;
    Ok(json!({
        "requests": written.requests,
        "from": source.provenance().format,
        "format": target.name(),
        "lost": written.lost,
        "warnings": source.warnings(),
    })
    .to_string())
}

/// Writes a source to a file, which exists only if it is complete.
fn write_out(
    py: Python<'_>,
    source: &mut Heard,
    format: Format,
    options: &WriteOptions,
    out: &str,
) -> PyResult<Written> {
    let unwritable = |error: std::io::Error| PyOSError::new_err(format!("{out}: {error}"));
    let mut output = create(out).map_err(unwritable)?;
    let written = source.read(py, |source| match convert(source, format, options, &mut output) {
        Ok(written) => Ok(Ok(written)),
        Err(WriteError::Output(error)) => Ok(Err(error)),
        Err(WriteError::Trace(error)) => Err(error),
    })?;
    written.and_then(|written| output.finish().map(|()| written)).map_err(unwritable)
}

/// Generates a workload and writes it as a trace: `{"requests", "format"}`, and `"lost"` if information was lost.
#[pyfunction]
#[pyo3(signature = (workload, out, *, to=None, seed=None, drive=None, set=Vec::new()))]
pub(crate) fn trace_synth(
    py: Python<'_>,
    workload: &str,
    out: &str,
    to: Option<&str>,
    seed: Option<u64>,
    drive: Option<&str>,
    set: Vec<String>,
) -> PyResult<String> {
    let format = format_of(out, to)?;
    let mut source = self::workload(py, workload, seed, drive, &set)?;
    let written = write_out(py, &mut source, format, &WriteOptions::default(), out)?;
    let mut made = json!({ "requests": written.requests, "format": format.name() });
    if !written.lost.is_empty() {
        made["lost"] = json!(written.lost);
    }
    Ok(made.to_string())
}

/// The format to write: the given one, else by the ending of the file's name (without that of a compression).
fn format_of(out: &str, to: Option<&str>) -> PyResult<Format> {
    if let Some(name) = to {
        return Format::parse(name).map_err(OptionError::new_err);
    }
    let plain = out.strip_suffix(".zst").or_else(|| out.strip_suffix(".gz")).unwrap_or(out);
    let ending = plain.rsplit_once('.').map(|(_, ending)| ending);
    ending.and_then(|ending| Format::parse(ending).ok()).ok_or_else(|| {
        let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        OptionError::new_err(format!(
            "{out}: the name does not end in a format's; choose one with --to: {}",
            names.join(", ")
        ))
    })
}

/// A synthetic workload for the given drive.
fn workload(
    py: Python<'_>,
    text: &str,
    seed: Option<u64>,
    drive: Option<&str>,
    set: &[String],
) -> PyResult<Heard> {
    if !is_synthetic(text) {
        return Err(OptionError::new_err(format!("{text} is no workload; they begin with `synth:`")));
    }
    let size = match drive {
        Some(drive) => {
            let drive = config::load(drive, set).map_err(|error| raise_drive(py, &error))?;
            DriveSize { capacity_bytes: drive.capacity_bytes(), page_bytes: drive.page_bytes() as u32 }
        }
        // The workload determines its footprint itself.
        None if has_footprint(text) => DriveSize { capacity_bytes: 1 << 60, page_bytes: 4096 },
        None => {
            return Err(OptionError::new_err(format!(
                "{text}: say how large it is: --drive DRIVE, or footprint=SIZE in the workload (such as footprint=8GiB)"
            )));
        }
    };
    let source = synthetic(text, seed.unwrap_or(1), &size).map_err(|error| raise_trace(py, &error))?;
    Ok(Heard::new(source))
}

/// A source that handles signals between batches, so that Ctrl-C ends its reader.
struct Heard {
    source: Box<dyn Source>,
    last: Instant,
    raised: Option<PyErr>,
}

impl Heard {
    fn new(source: Box<dyn Source>) -> Heard {
        Heard { source, last: Instant::now(), raised: None }
    }

    /// Calls a function with the source, without the GIL.
    fn read<T: Send>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn Source) -> Result<T, TraceError> + Send,
    ) -> PyResult<T> {
        let done = detached(py, || work(self))?;
        match self.raised.take() {
            Some(raised) => Err(raised),
            None => done.map_err(|error| raise_trace(py, &error)),
        }
    }
}

impl Source for Heard {
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError> {
        if self.last.elapsed() > Duration::from_millis(100) {
            self.last = Instant::now();
            if let Err(raised) = Python::attach(|py| py.check_signals()) {
                self.raised = Some(raised);
                return Err(TraceError::new(&self.provenance().name, "interrupted"));
            }
        }
        self.source.fill(batch)
    }

    fn total(&self) -> Option<u64> {
        self.source.total()
    }

    fn share_done(&self) -> Option<f64> {
        self.source.share_done()
    }

    fn skipped(&self) -> u64 {
        self.source.skipped()
    }

    fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }

    fn provenance(&self) -> Provenance {
        self.source.provenance()
    }
}

/// Whether a synthetic workload determines its footprint itself.
#[pyfunction]
pub(crate) fn has_footprint(workload: &str) -> bool {
    flashkeep_trace::has_footprint(workload)
}
