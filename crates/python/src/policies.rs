//! Victim policies in Python files.

use crate::fork::can_be_copied;
use flashkeep::blocks::victim::{ForeignVictim, load_victims_with};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::panic::panic_any;
use std::sync::Arc;

/// Lets drives name Python files.
pub(crate) fn accept_files() {
    load_victims_with(|path| {
        let text = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
        can_be_copied();
        Python::attach(|py| load(py, path, &text).map_err(|error| in_words(&error)))
    });
}

/// The function of a file. It is loaded again for each drive, so that drives and runs share nothing that it keeps.
struct PythonVictim {
    path: String,
    choose: Py<PyAny>,
}

fn load(py: Python<'_>, path: &str, text: &[u8]) -> PyResult<Arc<dyn ForeignVictim>> {
    let builtins = py.import("builtins")?;
    let names = PyDict::new(py);
    names.set_item("__name__", "flashkeep_policy")?;
    names.set_item("__file__", path)?;
    let code = builtins.getattr("compile")?.call1((PyBytes::new(py, text), path, "exec"))?;
    builtins.getattr("exec")?.call1((code, &names))?;
    match names.get_item("choose")? {
        Some(choose) if choose.is_callable() => {
            Ok(Arc::new(PythonVictim { path: path.into(), choose: choose.unbind() }))
        }
        _ => Err(PyValueError::new_err("it has no function choose(valid, age, erases)")),
    }
}

/// An error of Python in one line.
pub(crate) fn in_words(error: &PyErr) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

impl PythonVictim {
    fn ask(&self, py: Python<'_>, valid: &[u32], age: &[u32], erases: &[u32]) -> PyResult<usize> {
        let answer = self.choose.bind(py).call1((valid.to_vec(), age.to_vec(), erases.to_vec()))?;
        let wrong = || {
            let found = answer.repr().map_or_else(|_| "an object".into(), |repr| repr.to_string());
            let message =
                format!("choose returned {found}; a place from 0 to {} is accepted", valid.len() - 1);
            PyValueError::new_err(message)
        };
        let place = answer.extract::<usize>().map_err(|_| wrong())?;
        if place < valid.len() { Ok(place) } else { Err(wrong()) }
    }
}

impl ForeignVictim for PythonVictim {
    fn choose(&self, valid: &[u32], age: &[u32], erases: &[u32]) -> usize {
        Python::attach(|py| {
            self.ask(py, valid, age, erases).unwrap_or_else(|error| panic_any(self.raised(py, &error)))
        })
    }
}

impl PythonVictim {
    /// What the caller of the run gets: a drive error, caused by the error of the function.
    fn raised(&self, py: Python<'_>, error: &PyErr) -> PyErr {
        let message = format!("{}: ftl.gc.file: {}", self.path, in_words(error));
        let raised = crate::errors::DriveError::new_err(message);
        raised.set_cause(py, Some(error.clone_ref(py)));
        let value = raised.value(py);
        let located = value
            .setattr("path", &self.path)
            .and_then(|()| value.setattr("line", line(py, error)))
            .and_then(|()| value.setattr("field", "ftl.gc.file"));
        match located {
            Ok(()) => raised,
            Err(other) => other,
        }
    }
}

/// The line where an error was raised.
pub(crate) fn line(py: Python<'_>, error: &PyErr) -> Option<u32> {
    let mut place = error.traceback(py)?.into_any();
    while let Ok(next) = place.getattr("tb_next") {
        if next.is_none() {
            break;
        }
        place = next;
    }
    place.getattr("tb_lineno").ok()?.extract().ok()
}
