//! Checks for contradictory options of a job.

use crate::buffer::Existing;
use crate::config::Resolved;
use crate::error::{DriveError, Error};
use crate::faults::{What, events};
use crate::job::Job;
use crate::output;
use crate::workload::Workload;

/// Whether the power is to fail.
pub(super) fn asks_for_power_cuts(job: &Job, drive: &Resolved) -> Result<bool, Error> {
    let events = events(&job.fail, job.scenario.as_deref(), drive)?;
    Ok(events.iter().any(|event| event.what == What::Power))
}

/// A value given by `--existing` is a mistake of that option, not of a key.
pub(super) fn name_option(error: DriveError, job: &Job) -> Error {
    match &job.existing {
        Some(found) if error.field.as_deref() == Some("start.existing") => {
            Error::Option(format!("--existing: found `{found}`; `reads`, `all` and `none` are accepted"))
        }
        _ => Error::Drive(error),
    }
}

/// The ways to have a drive that is not new do not go together, and only what is at rest can be saved.
pub(super) fn check_ageing(job: &Job, drive: &Resolved) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Option(why.to_owned()));
    match (&job.aged, job.condition, drive.is_aged()) {
        (Some(_), true, _) => refuse("--aged starts with a used drive; it excludes --condition"),
        (_, true, true) => refuse("--condition and ageing.model exclude each other"),
        _ if job.save_aged.is_some() && !job.untimed && !job.traces.is_empty() => {
            refuse("--save-aged saves a drive at rest, after an untimed run: add --untimed")
        }
        _ => Ok(()),
    }
}

/// Files that are written at the end can be written: said before the run, not after it. Pipes are not tried: whoever reads
/// from one would take that for the end.
pub(super) fn check_places(job: &Job) -> Result<(), Error> {
    let mut files = job.map.iter().chain(&job.save_aged).filter(|path| path.is_file() || !path.exists());
    files.try_for_each(|path| output::open(path).map(drop))
}

pub(super) fn check_scan(drive: &Resolved, workload: &Workload<'_>) -> Result<(), Error> {
    let scans = drive.spec.start.scan && drive.spec.start.existing == Existing::Reads;
    if scans && workload.is_stream() {
        return Err(Error::Option(format!(
            "{}: start.scan reads the whole workload before time 0, which standard input does not allow; give a file, \
             or --existing all or none, or --set start.scan=false",
            drive.path
        )));
    }
    Ok(())
}
