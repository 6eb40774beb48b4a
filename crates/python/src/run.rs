//! Runs a job: the job comes in JSON; the summary is returned in JSON, the requests in columns.

use crate::errors::{OptionError, detached, raise};
use crate::tables::write_tables;
use flashkeep::job::{Halt, Job, Progress, RequestRecord, SeriesColumn, SeriesColumns};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyBytes, PyDict, PyTuple};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The interval at which progress is reported to Python.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Simulates a job; `progress(requests, share, simulated_ns)` is called about every tenth of a second and ends the run
/// early by returning true: the result is of the requests admitted until then. `tables` are the files for the requests,
/// for their sums per second, and for the figures over time. `in_memory` has traces by the name that the job gives them.
/// Into `series` go the columns of the figures over time, each with NumPy's name of its type and its memory.
#[pyfunction]
#[pyo3(signature = (job, progress=None, tables=None, in_memory=Vec::new(), series=None, /))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    job: &str,
    progress: Option<Py<PyAny>>,
    tables: Option<(String, String, String)>,
    in_memory: Vec<(String, PyBackedBytes)>,
    series: Option<Bound<'py, PyDict>>,
) -> PyResult<(String, Bound<'py, PyTuple>)> {
    let mut job: Job = serde_json::from_str(job).map_err(|error| OptionError::new_err(error.to_string()))?;
    job.in_memory = in_memory.into_iter().map(|(name, bytes)| (name, Arc::from(&*bytes))).collect();
    let wanted = job.keep_requests;
    job.keep_requests |= tables.is_some();
    let mut raised = None;
    let mut told = Instant::now();
    let outcome = detached(py, || {
        flashkeep::run(&job, &mut |now| {
            if told.elapsed() < TELL_EVERY {
                return ControlFlow::Continue(());
            }
            told = Instant::now();
            match Python::attach(|py| tell(py, progress.as_ref(), now)) {
                Ok(false) => ControlFlow::Continue(()),
                Ok(true) => ControlFlow::Break(Halt::AfterAdmitted),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(Halt::AtOnce)
                }
            }
        })
    })?;
    if let Some(error) = raised {
        return Err(error);
    }
    let outcome = outcome.map_err(|error| raise(py, error))?;
    if let Some((requests, seconds, series)) = &tables {
        detached(py, || write_tables(&outcome, [requests, seconds, series]))?
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
    }
    if let Some(series) = series {
        fill(py, &series, &outcome.series)?;
    }
    let columns = if wanted { columns(py, &outcome.requests, &outcome.parts)? } else { PyTuple::empty(py) };
    Ok((outcome.summary.to_string(), columns))
}

/// Reports progress to Python and handles signals there; an exception of either ends the run. Returns whether the run is
/// to end early.
fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, now: Progress) -> PyResult<bool> {
    py.check_signals()?;
    if let Some(progress) = progress {
        let ends = progress.call1(py, (now.requests, now.share, now.simulated_ns))?;
        return Ok(ends.bind(py).is(PyBool::new(py, true)));
    }
    Ok(false)
}

/// The requests as columns, little-endian, in the order of `flashkeep.results.result.ALL_COLUMNS`.
fn columns<'py>(
    py: Python<'py>,
    requests: &[RequestRecord],
    parts: &[[u64; 16]],
) -> PyResult<Bound<'py, PyTuple>> {
    let mut columns = vec![
        column(py, requests, |request| request.arrival_ns.to_le_bytes())?,
        column(py, requests, |request| request.response_ns.to_le_bytes())?,
        column(py, requests, |request| request.service_ns.to_le_bytes())?,
        column(py, requests, |request| request.offset.to_le_bytes())?,
        column(py, requests, |request| request.length.to_le_bytes())?,
        column(py, requests, |request| [request.op])?,
    ];
    // Runs that do not measure where the time goes lack these columns.
    for part in (0..16).filter(|_| !parts.is_empty()) {
        columns.push(column(py, parts, |parts| parts[part].to_le_bytes())?);
    }
    PyTuple::new(py, columns)
}

/// Adds the columns of figures over time.
fn fill<'py>(py: Python<'py>, series: &Bound<'py, PyDict>, columns: &SeriesColumns) -> PyResult<()> {
    for (name, values) in columns {
        let (kind, memory) = match values {
            SeriesColumn::Count(values) => ("<u8", column(py, values, |value| value.to_le_bytes())?),
            SeriesColumn::Number(values) => ("<f8", column(py, values, |value| value.to_le_bytes())?),
        };
        series.set_item(name, (kind, memory))?;
    }
    Ok(())
}

/// One column, written directly into Python's memory.
fn column<'py, Row, const WIDTH: usize>(
    py: Python<'py>,
    requests: &[Row],
    value: impl Fn(&Row) -> [u8; WIDTH],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, requests.len() * WIDTH, |memory| {
        for (place, request) in memory.chunks_exact_mut(WIDTH).zip(requests) {
            place.copy_from_slice(&value(request));
        }
        Ok(())
    })
}
