//! Rust's errors and panics as Python's exceptions.

use flashkeep::error::{DriveError as WrongDrive, Error};
use flashkeep::kernel::OutOfMemory;
use flashkeep_trace::TraceError as WrongTrace;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

create_exception!(
    flashkeep,
    DriveError,
    PyValueError,
    "A drive that cannot be meant: where it is wrong, and what is accepted."
);
create_exception!(
    flashkeep,
    TraceError,
    PyValueError,
    "A trace that cannot be read, or a workload that makes no sense."
);
create_exception!(
    flashkeep,
    OptionError,
    PyValueError,
    "An option that cannot be taken, or that contradicts another."
);

/// The exception for an error of a job.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Drive(error) => raise_drive(py, &error),
        Error::Trace(error) => raise_trace(py, &error),
        Error::Option(message) => OptionError::new_err(message),
        Error::Output(message) => PyOSError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
    }
}

/// The exception for a wrong drive.
pub(crate) fn raise_drive(py: Python<'_>, error: &WrongDrive) -> PyErr {
    located(py, DriveError::new_err(error.to_string()), &error.path, error.line, error.field.as_deref())
}

/// The exception for a wrong trace.
pub(crate) fn raise_trace(py: Python<'_>, error: &WrongTrace) -> PyErr {
    located(py, TraceError::new_err(error.to_string()), &error.path, error.line, error.field.as_deref())
}

/// The exception with `.path`, `.line` and `.field`.
fn located(py: Python<'_>, raised: PyErr, path: &str, line: Option<u64>, field: Option<&str>) -> PyErr {
    let value = raised.value(py);
    let set = value
        .setattr("path", path)
        .and_then(|()| value.setattr("line", line))
        .and_then(|()| value.setattr("field", field));
    match set {
        Ok(()) => raised,
        Err(error) => error,
    }
}

thread_local! {
    /// Where and why this thread panicked last.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps a panic's message for the exception instead of printing it; `FLASHKEEP_TRACEBACK` prints it as well.
pub(crate) fn quiet_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if std::env::var_os("FLASHKEEP_TRACEBACK").is_some() {
            print(info);
        }
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic");
        let place =
            info.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
        PANIC.with_borrow_mut(|last| *last = Some(format!("{text}{place}")));
    }));
}

/// Calls `work` without the GIL; a panic in it is a `RuntimeError`, a lack of memory a `MemoryError`. A panic with an
/// exception is that exception.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| {
        panic::catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
            let panic = match panic.downcast::<PyErr>() {
                Ok(error) => return *error,
                Err(panic) => panic,
            };
            if let Some(lack) = panic.downcast_ref::<OutOfMemory>() {
                return PyMemoryError::new_err(lack.to_string());
            }
            let why = PANIC.take().unwrap_or_else(|| "panic".into());
            PyRuntimeError::new_err(format!("internal error: {why}"))
        })
    })
}
