//! Copies of this process in which the model can call Python.

use flashkeep_serve::fork_with;
use pyo3::prelude::*;

/// The model calls Python from now on, in copies of the process, too. Where it does not, the GIL is not needed: a thread
/// may hold it that waits for the drive.
pub(crate) fn can_be_copied() {
    fork_with(around_fork);
}

/// Forks as `os.fork` does, so that the copy has the GIL.
#[allow(unsafe_code)]
fn around_fork(fork: &mut dyn FnMut() -> i32) -> i32 {
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
