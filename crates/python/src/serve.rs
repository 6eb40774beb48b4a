//! Serves the drive of a job over NBD: job and options come in JSON, the summary is returned in JSON.

use crate::errors::{OptionError, detached, raise};
use flashkeep::job::Job;
use flashkeep_nbd::Listen;
use flashkeep_serve::ServeOptions;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends a server: `set()`. The server reads it without the GIL, which a program may hold that waits for the drive.
#[pyclass(frozen)]
#[derive(Default)]
pub(crate) struct ServeStop(AtomicBool);

#[pymethods]
impl ServeStop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The server is to end.
    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Serves until `stop` is set; `started(addresses, capacity)` is called when clients can connect. To be called in a thread
/// of its own, so that the others can handle signals.
#[pyfunction]
#[pyo3(signature = (job, options, started, stop, /))]
pub(crate) fn serve(
    py: Python<'_>,
    job: &str,
    options: &str,
    started: Py<PyAny>,
    stop: Py<ServeStop>,
) -> PyResult<String> {
    let wrong = |error: serde_json::Error| OptionError::new_err(error.to_string());
    let job: Job = serde_json::from_str(job).map_err(wrong)?;
    let options: ServeOptions = serde_json::from_str(options).map_err(wrong)?;
    let stop = stop.get();
    let mut raised = None;
    let outcome = detached(py, || {
        let mut tell = |addresses: &[Listen], capacity: u64| {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            raised = Python::attach(|py| started.call1(py, (addresses, capacity)).err());
            if raised.is_some() {
                stop.set();
            }
        };
        let mut tick = || match stop.0.load(Ordering::Acquire) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        flashkeep_serve::serve(&job, &options, &mut tell, &mut tick)
    })?;
    if let Some(error) = raised {
        return Err(error);
    }
    outcome.map(|outcome| outcome.summary.to_string()).map_err(|error| raise(py, error))
}
