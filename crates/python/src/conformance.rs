//! The conformance suite on a scheme in a file.

use crate::errors::{DriveError, OptionError};
use flashkeep::conformance::{CHECKS, Check, Suite, Tried};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Tries the scheme of a file; `folder` is an empty one for drive files. `only` picks checks by a part of
/// their names. `tell(number, total, name)` is called before each check. Returns `{"file", "members", "kept", "checks": [{"name", "promise", "members", "kept", "message"}, …]}`.
#[pyfunction]
#[pyo3(signature = (path, folder, only=None, tell=None, /))]
pub(crate) fn conformance(
    py: Python<'_>,
    path: &str,
    folder: &str,
    only: Option<&str>,
    tell: Option<Py<PyAny>>,
) -> PyResult<String> {
    let suite = Suite::new(Path::new(folder)).map_err(|error| PyOSError::new_err(error.to_string()))?;
    let tried = suite.in_file(path).map_err(|why| refused(py, path, why))?;
    let only = only.unwrap_or_default();
    let wanted = |(_, check): &(&Tried, &Check)| check.name.contains(only);
    let all: Vec<(&Tried, &Check)> = tried.iter().enumerate().flat_map(checks_of).filter(wanted).collect();
    if all.is_empty() {
        return Err(OptionError::new_err(format!("no check of this scheme has {only:?} in its name")));
    }
    let mut checks = Vec::new();
    for (number, &(tried, check)) in all.iter().enumerate() {
        py.check_signals()?;
        if let Some(tell) = &tell {
            tell.call1(py, (number, all.len(), check.name))?;
        }
        let broken = py.detach(|| try_it(tried, check))?;
        checks.push(json!({
            "name": check.name,
            "promise": check.promise,
            "members": tried.with.parts,
            "kept": broken.is_none(),
            "message": broken,
        }));
    }
    let members: Vec<u32> = tried.iter().map(|tried| tried.with.parts).collect();
    let kept = checks.iter().all(|check| check["kept"] == Value::Bool(true));
    Ok(json!({"file": path, "members": members, "kept": kept, "checks": checks}).to_string())
}

/// The checks that concern a scheme with this number of members; `at` is 0 for the first number.
fn checks_of((at, tried): (usize, &Tried)) -> impl Iterator<Item = (&Tried, &'static Check)> {
    let concerns = move |check: &&Check| (check.concerns)(tried) && (at == 0 || !check.first);
    CHECKS.iter().filter(concerns).map(move |check| (tried, check))
}

/// A file that cannot be tried.
fn refused(py: Python<'_>, path: &str, why: String) -> PyErr {
    let raised = DriveError::new_err(why);
    let value = raised.value(py);
    let located = value.setattr("path", path).and_then(|()| value.setattr("line", py.None()));
    match located.and_then(|()| value.setattr("field", "redundancy.file")) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

/// Tries a promise: why it is not kept, if it is not. An error in the file is an exception.
fn try_it(tried: &Tried, check: &Check) -> PyResult<Option<String>> {
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| (check.run)(tried))) else { return Ok(None) };
    let panic = match panic.downcast::<PyErr>() {
        Ok(error) => return Err(*error),
        Err(panic) => panic,
    };
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    Ok(Some(text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "not kept".into())))
}
