//! Traces without a drive: their statistics, conversion and generation.

use crate::errors::{OptionError, detached, raise, raise_drive, raise_trace};
use flashkeep::config;
use flashkeep::job::Job;
use flashkeep_trace::{
    Action, BadRecords, Columns, Combination, DeviceName, DriveSize, Format, OpenOptions, Part, Provenance,
    Request, Source, TraceClock, TraceError, WriteError, WriteOptions, Written, combine, convert, create,
    files_of, info, is_synthetic, open_bytes, parts_of, synthetic,
};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The statistics of a trace, or of several together: the keys of `trace info --json`.
#[pyfunction]
#[pyo3(signature = (
    traces, *, format=None, sector_bytes=None, columns=None, bad_records=None, action=None, overlay=false, repeat=None,
    limit=None, seed=None, drive=None, set=Vec::new(), in_memory=Vec::new()
))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub(crate) fn trace_info(
    py: Python<'_>,
    traces: Vec<String>,
    format: Option<&str>,
    sector_bytes: Option<u32>,
    columns: Option<&str>,
    bad_records: Option<&str>,
    action: Option<&str>,
    overlay: bool,
    repeat: Option<u64>,
    limit: Option<u64>,
    seed: Option<u64>,
    drive: Option<&str>,
    set: Vec<String>,
    in_memory: Vec<(String, PyBackedBytes)>,
) -> PyResult<String> {
    let options = reading(format, sector_bytes, columns, bad_records, action)?;
    let mut parts = Vec::new();
    for trace in &traces {
        if is_synthetic(trace) {
            parts.push(synthetic_part(py, trace, seed, drive, &set)?);
        } else if let Some((name, bytes)) = in_memory.iter().find(|(name, _)| name == trace) {
            let (name, bytes): (String, Arc<[u8]>) = (name.clone(), Arc::from(&**bytes));
            let (table, options) = (name.clone(), options.clone());
            let open = Arc::new(move || open_bytes(&table, bytes.clone(), &options));
            parts.push(Part { name, open, again: true });
        } else {
            parts.extend(file_parts(py, trace, &options)?);
        }
    }
    let how = Combination { overlay, repeat: repeat.unwrap_or(1) };
    let source = detached(py, || combine(parts, how))?.map_err(|error| raise_trace(py, &error))?;
    Ok(json!(Heard::new(source).read(py, |source| info(source, limit))?).to_string())
}

/// The files that a trace's path names, in order: itself, those of a directory, or those that fit a pattern.
#[pyfunction]
pub(crate) fn trace_files(py: Python<'_>, trace: &str) -> PyResult<Vec<String>> {
    files_of(trace).map_err(|error| raise_trace(py, &error))
}

/// The flows of options `flow` and `flows` as tables in JSON that need no other file.
#[pyfunction]
#[pyo3(signature = (flow, flows=None, /))]
pub(crate) fn flow_tables(
    py: Python<'_>,
    flow: Vec<String>,
    flows: Option<std::path::PathBuf>,
) -> PyResult<Vec<String>> {
    let job = Job { flow, flows, ..Job::default() };
    flashkeep::workload::flow_tables(&job).map_err(|error| raise(py, error))
}

fn file_parts(py: Python<'_>, trace: &str, options: &OpenOptions) -> PyResult<Vec<Part>> {
    parts_of(trace, options).map_err(|error| raise_trace(py, &error))
}

/// How a trace is read.
fn reading(
    format: Option<&str>,
    sector_bytes: Option<u32>,
    columns: Option<&str>,
    bad_records: Option<&str>,
    action: Option<&str>,
) -> PyResult<OpenOptions> {
    let unmapped = |message| OptionError::new_err(format!("--columns: {message}"));
    let unknown = |message| OptionError::new_err(format!("--action: {message}"));
    Ok(OpenOptions {
        format: format.map(Format::parse).transpose().map_err(OptionError::new_err)?,
        sector_bytes,
        columns: columns.map(Columns::parse).transpose().map_err(unmapped)?,
        action: action.map(Action::parse).transpose().map_err(unknown)?,
        bad_records: if bad_records == Some("skip") { BadRecords::Skip } else { BadRecords::Refuse },
        time_is_scaled: false,
    })
}

/// Rewrites a trace in another format: `{"requests", "from", "format", "lost", "warnings"}`.
#[pyfunction]
#[pyo3(signature = (
    traces, out, *, to=None, format=None, sector_bytes=None, columns=None, bad_records=None, action=None, overlay=false,
    repeat=None, limit=None, merge_devices=false
))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub(crate) fn trace_convert(
    py: Python<'_>,
    traces: Vec<String>,
    out: &str,
    to: Option<&str>,
    format: Option<&str>,
    sector_bytes: Option<u32>,
    columns: Option<&str>,
    bad_records: Option<&str>,
    action: Option<&str>,
    overlay: bool,
    repeat: Option<u64>,
    limit: Option<u64>,
    merge_devices: bool,
) -> PyResult<String> {
    if let Some(trace) = traces.iter().find(|trace| is_synthetic(trace)) {
        return Err(OptionError::new_err(format!(
            "{trace} is a workload; `flashkeep trace synth` writes it"
        )));
    }
    let target = format_of(out, to)?;
    let reading = reading(format, sector_bytes, columns, bad_records, action)?;
    let mut parts = Vec::new();
    for trace in &traces {
        parts.extend(file_parts(py, trace, &reading)?);
    }
    let writing = WriteOptions { unsayable: reading.bad_records, merge_devices, limit };
    let how = Combination { overlay, repeat: repeat.unwrap_or(1) };
    let source = detached(py, || combine(parts, how))?.map_err(|error| raise_trace(py, &error))?;
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
    let part = synthetic_part(py, text, seed, drive, set)?;
    Ok(Heard::new((part.open)().map_err(|error| raise_trace(py, &error))?))
}

fn synthetic_part(
    py: Python<'_>,
    text: &str,
    seed: Option<u64>,
    drive: Option<&str>,
    set: &[String],
) -> PyResult<Part> {
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
    let (name, text, seed) = (text.to_owned(), text.to_owned(), seed.unwrap_or(1));
    Ok(Part { name, open: Arc::new(move || synthetic(&text, seed, &size)), again: true })
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

    fn has_handles(&self) -> bool {
        self.source.has_handles()
    }

    fn clock(&self) -> TraceClock {
        self.source.clock()
    }

    fn device(&self, number: u32) -> DeviceName {
        self.source.device(number)
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
