//! Work in a copy of this process, which shares its memory until one of them writes: power cuts and saving, while the
//! original continues to serve.

use std::io::{self, PipeReader, Read, Write, pipe};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::thread;

/// Calls the function that forks, as `fork` of POSIX does, and returns what that returns, in both processes.
type AroundFork = fn(&mut dyn FnMut() -> i32) -> i32;

static AROUND_FORK: OnceLock<AroundFork> = OnceLock::new();

/// Has all forks pass through this function from now on: an interpreter that the model calls makes its locks usable in
/// the copy there. The first one stays.
pub fn fork_with(around: AroundFork) {
    AROUND_FORK.get_or_init(|| around);
}

/// Does some work in a copy of this process. What it returns goes to `done`, in a thread of its own; an error if the copy
/// ended before. The copy has this thread only: the work must not wait for others.
///
/// # Errors
/// The system's, if there is no copy.
pub(crate) fn in_a_copy(
    work: impl FnOnce() -> String,
    done: impl FnOnce(io::Result<String>) + Send + 'static,
) -> io::Result<()> {
    let (answers, mut answer) = pipe()?;
    let mut problem = None;
    let around = AROUND_FORK.get().copied().unwrap_or(|fork| fork());
    let child = around(&mut || {
        let child = fork();
        if child < 0 {
            problem = Some(io::Error::last_os_error());
        }
        child
    });
    if let Some(problem) = problem {
        return Err(problem);
    }
    if child == 0 {
        // A panic has been printed.
        let worked = catch_unwind(AssertUnwindSafe(work));
        let told = worked.is_ok_and(|told| answer.write_all(told.as_bytes()).is_ok());
        exit(i32::from(!told));
    }
    drop(answer);
    thread::Builder::new().name("copy".into()).spawn(move || done(wait(child, answers)))?;
    Ok(())
}

fn wait(child: i32, mut answers: PipeReader) -> io::Result<String> {
    let mut told = String::new();
    let read = answers.read_to_string(&mut told);
    let mut status = 0;
    reap(child, &mut status)?;
    read?;
    if status == 0 { Ok(told) } else { Err(io::Error::other("the copy of the server ended early")) }
}

#[allow(unsafe_code)]
fn fork() -> i32 {
    // SAFETY: the child uses memory, files, the allocator, which the C library makes usable in it, and what
    // `fork_with` makes usable; it ends with `exit`.
    unsafe { libc::fork() }
}

/// Ends the copy; nothing is flushed or removed, which is the original's.
#[allow(unsafe_code)]
fn exit(code: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}

#[allow(unsafe_code)]
fn reap(child: i32, status: &mut i32) -> io::Result<()> {
    loop {
        // SAFETY: the pointer is to a local variable.
        if unsafe { libc::waitpid(child, status, 0) } == child {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
