//! Checks for contradictory options of a job.

use crate::config::Resolved;
use crate::error::{DriveError, Error};
use crate::faults::{What, events};
use crate::host::Existing;
use crate::job::Job;
use crate::output;
use crate::workload::Workload;

/// Whether the job has power cuts.
pub(super) fn asks_for_power_cuts(job: &Job, drive: &Resolved) -> Result<bool, Error> {
    if job.expects_power_cuts {
        return Ok(true);
    }
    let events = events(&job.fail, job.scenario.as_deref(), drive)?;
    Ok(events.iter().any(|event| event.what == What::Power))
}

/// An error in the value of `--existing` is reported for that option, not for the key.
pub(super) fn name_option(error: DriveError, job: &Job) -> Error {
    match &job.existing {
        Some(found) if error.field.as_deref() == Some("start.existing") => Error::Option(format!(
            "--existing: found `{found}`; `reads`, `all`, `none` and `steady` are accepted"
        )),
        _ => Error::Drive(error),
    }
}

/// Checks that the options for used drives do not contradict each other, and that only a drive at rest is saved.
pub(super) fn check_ageing(job: &Job, drive: &Resolved) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Option(why.to_owned()));
    match (&job.aged, job.condition, drive.is_aged()) {
        (Some(_), true, _) => refuse("--aged starts with a used drive; it excludes --condition"),
        (_, true, true) => refuse("--condition and ageing.model exclude each other"),
        _ if job.save_aged.is_some() && !job.untimed && job.has_workload() => {
            refuse("--save-aged saves a drive at rest, after an untimed run: add --untimed")
        }
        _ => Ok(()),
    }
}

/// Checks before the run that output files can be written. Pipes are not tried: their reader would take the attempt for
/// the end of the data.
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
