//! Copies of this process in which the model can call Python.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a file of Python has been loaded that the model calls.
static CALLED: AtomicBool = AtomicBool::new(false);

/// The model calls Python from now on.
pub(crate) fn note_called() {
    CALLED.store(true, Ordering::Release);
}

/// Forks as `os.fork` does, so that the copy has the GIL. Where the model does not call Python, the GIL is not needed: a
/// thread may hold it that waits for the drive.
#[allow(unsafe_code)]
pub(crate) fn around_fork(fork: &mut dyn FnMut() -> i32) -> i32 {
    if !CALLED.load(Ordering::Acquire) {
        return fork();
    }
    Python::attach(|_| {
        // SAFETY: this thread has the GIL, and calls what belongs to the process it is in.
        unsafe { pyo3::ffi::PyOS_BeforeFork() };
        let child = fork();
        match child {
            // SAFETY: as above.
            0 => unsafe { pyo3::ffi::PyOS_AfterFork_Child() },
            // SAFETY: as above.
            _ => unsafe { pyo3::ffi::PyOS_AfterFork_Parent() },
        }
        child
    })
}
