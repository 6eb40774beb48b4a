//! Lists of presets, schemes, policies and formats, the schema, and the check of a drive.

use crate::errors::{OptionError, raise_drive};
use flashkeep::config::{self, DriveFiles, Resolved};
use flashkeep::flash::errors::{Conditions, Stage};
use flashkeep::schemes::SCHEMES;
use flashkeep_trace::Format;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::rc::Rc;

/// `{"drive": resolved, "members": [resolved], "files", "capacity_bytes", "tree": drawn, "warnings": […]}`, where `files`
/// are the drive files that were read, by their paths. With a text, `drive` represents its path.
#[pyfunction]
#[pyo3(signature = (drive, overrides, text=None, /))]
pub(crate) fn check(
    py: Python<'_>,
    drive: &str,
    overrides: Vec<String>,
    text: Option<&str>,
) -> PyResult<String> {
    let files = Rc::default();
    let drive =
        config::load_with(&files, drive, text, &overrides).map_err(|error| raise_drive(py, &error))?;
    let checked = json!({
        "drive": drive.to_json(),
        "members": members(&drive),
        "files": files.read(),
        "capacity_bytes": drive.capacity_bytes(),
        "tree": config::draw(&drive),
        "warnings": drive.warnings,
    });
    Ok(checked.to_string())
}

/// The members of an array, and theirs, resolved: what a drive file says only by their names.
fn members(drive: &Resolved) -> Vec<Value> {
    let told = |member: &Resolved| json!({"drive": member.to_json(), "members": members(member)});
    drive.array.iter().map(told).collect()
}

/// What becomes of a page of a drive with an error model, of `bytes` or as long as the drive's:
/// `{"rber", "codeword_failure", "page_failure", "uber", "codewords", "stages": [{"stage", "retries", "rber",
/// "codeword_failure", "page_failure", "uber"}, …], "lifetime_cycles", "in_fitted_range", "redundancy": {"scheme", "others",
/// "spare", "page_loss", "uber", "lifetime_cycles"} or null}`.
#[pyfunction]
pub(crate) fn page_errors(
    py: Python<'_>,
    drive: &str,
    overrides: Vec<String>,
    text: Option<&str>,
    bytes: Option<u64>,
    conditions: (f64, f64, f64),
) -> PyResult<String> {
    let drive = config::load_with(&Rc::default(), drive, text, &overrides)
        .map_err(|error| raise_drive(py, &error))?;
    let Some(model) = drive.error_models().next() else {
        let message = format!("{}: errors.model is \"none\": its pages have no errors", drive.path);
        return Err(OptionError::new_err(message));
    };
    let (cycles, days, reads) = conditions;
    let (bytes, conditions) =
        (bytes.unwrap_or_else(|| drive.page_bytes()), Conditions { cycles, days, reads });
    let page = model.page(bytes, conditions);
    let protected = drive.protected_page(model, bytes, conditions).map(|page| {
        json!({
            "scheme": drive.spec.redundancy.scheme,
            "others": page.stripe.others,
            "spare": page.stripe.spare,
            "page_loss": page.loss,
            "uber": page.uber,
            "lifetime_cycles": page.lifetime_cycles,
        })
    });
    let uber = |codeword_failure: f64| codeword_failure / f64::from(page.user_bits);
    let stages = page.attempts.iter().map(|attempt| {
        let (stage, retries) = match attempt.stage {
            Stage::Corrected(retries) => (if retries == 0 { "hard" } else { "retry" }, Some(retries)),
            Stage::Soft => ("soft", None),
            Stage::Uncorrectable => ("none", None),
        };
        json!({
            "stage": stage,
            "retries": retries,
            "rber": attempt.rber,
            "codeword_failure": attempt.codeword_failure,
            "page_failure": attempt.page_failure,
            "uber": uber(attempt.codeword_failure),
        })
    });
    let first = page.attempts.first().map_or((0.0, 0.0), |one| (one.codeword_failure, one.page_failure));
    let told = json!({
        "rber": page.rber,
        "codeword_failure": first.0,
        "page_failure": first.1,
        "uber": uber(first.0),
        "codewords": page.codewords,
        "stages": stages.collect::<Vec<_>>(),
        "lifetime_cycles": page.lifetime_cycles,
        "in_fitted_range": page.in_fitted_range,
        "redundancy": protected,
    });
    Ok(told.to_string())
}

/// `[{"name", "description"}, …]`: the presets.
#[pyfunction]
pub(crate) fn drives() -> String {
    let presets = config::presets();
    listed(presets.iter().map(|preset| (preset.name, preset.description.as_str())))
}

/// The text of a preset's file.
#[pyfunction]
pub(crate) fn drive_text(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    match config::preset_text(name) {
        Some(text) => Ok(text),
        None => Err(config::load(name, &[]).map_or_else(
            |error| raise_drive(py, &error),
            |_| {
                OptionError::new_err(format!(
                    "{name} is a file; `flashkeep check {name}` shows what it means"
                ))
            },
        )),
    }
}

/// `[{"name", "description"}, …]`: the redundancy schemes.
#[pyfunction]
pub(crate) fn schemes() -> String {
    listed(SCHEMES.iter().map(|scheme| (scheme.name, scheme.summary)))
}

/// A scheme's manual page: the doc comment at the head of its file, as Markdown.
#[pyfunction]
pub(crate) fn scheme_text(name: &str) -> PyResult<String> {
    flashkeep::schemes::manual(name).ok_or_else(|| {
        let names: Vec<_> = SCHEMES.iter().map(|scheme| scheme.name).collect();
        OptionError::new_err(format!("there is no scheme `{name}`; there are {}", names.join(", ")))
    })
}

/// Every figure that a summary can hold: `{"types": {NAME: {…}}, "metrics": [{"id", "path", …}, …]}`.
#[pyfunction]
pub(crate) fn metrics() -> String {
    flashkeep::metrics::describe().to_string()
}

/// The options of a run: `[{"name", "about", "scope", "metavar", "kind", "least", "bits", "repeat"}, …]`.
#[pyfunction]
pub(crate) fn run_options() -> String {
    serde_json::to_string(&flashkeep::job::run_options()).expect("options are plain data")
}

/// The rows of the tables: `[[heading, [[label, path, kind, unit, better, always], …]], …]`.
#[pyfunction]
pub(crate) fn table_rows() -> String {
    flashkeep::metrics::rows().to_string()
}

/// `[{"name", "key", "description"}, …]`: the policies that a drive file may name, except schemes.
#[pyfunction]
pub(crate) fn policies() -> String {
    let all = config::policies().into_iter();
    let entries: Vec<_> = all
        .map(|policy| json!({ "name": policy.name, "key": policy.key, "description": policy.summary }))
        .collect();
    json!(entries).to_string()
}

/// The manual pages of all policies of that name, each under its key in a drive file.
#[pyfunction]
pub(crate) fn policy_text(name: &str) -> PyResult<String> {
    let all = config::policies();
    let page = |policy: &config::PolicyInfo| {
        format!("{} = \"{}\": {}\n\n{}", policy.key, policy.name, policy.summary, policy.manual())
    };
    let pages: Vec<_> = all.iter().filter(|policy| policy.name == name).map(page).collect();
    if pages.is_empty() {
        let mut names: Vec<_> = all.iter().map(|policy| policy.name).collect();
        names.sort_unstable();
        names.dedup();
        let message = format!("there is no policy `{name}`; there are {}", names.join(", "));
        return Err(OptionError::new_err(message));
    }
    Ok(pages.join("\n"))
}

/// `[{"name", "description"}, …]`: the trace formats.
#[pyfunction]
pub(crate) fn formats() -> String {
    listed(Format::ALL.iter().map(|format| (format.name(), format.summary())))
}

/// A format's manual page.
#[pyfunction]
pub(crate) fn format_text(name: &str) -> PyResult<String> {
    Format::parse(name).map(Format::manual).map_err(OptionError::new_err)
}

/// `[{"name", "description"}, …]`: the synthetic workloads.
#[pyfunction]
pub(crate) fn workloads() -> String {
    listed(flashkeep_trace::workloads())
}

/// A synthetic workload's manual page.
#[pyfunction]
pub(crate) fn workload_text(name: &str) -> PyResult<String> {
    let name = name.strip_prefix("synth:").unwrap_or(name);
    flashkeep_trace::workload_manual(name).ok_or_else(|| {
        let names: Vec<_> = flashkeep_trace::workloads().map(|(name, _)| name).collect();
        OptionError::new_err(format!("there is no workload `{name}`; there are {}", names.join(", ")))
    })
}

/// `{"key": [before, here], …}`: values of the resolved drive that differ from the preset it is based on, or from its
/// file if there is no preset below it. With a text, `drive` represents its path. `files` and `copies` are those of a
/// job.
#[pyfunction]
#[pyo3(signature = (drive, overrides, text=None, files=BTreeMap::new(), copies=BTreeMap::new(), /))]
pub(crate) fn drive_changes(
    py: Python<'_>,
    drive: &str,
    overrides: Vec<String>,
    text: Option<&str>,
    files: BTreeMap<String, String>,
    copies: BTreeMap<String, String>,
) -> PyResult<String> {
    let files = Rc::new(DriveFiles::new(files, copies));
    let changes =
        config::changes(&files, drive, text, &overrides).map_err(|error| raise_drive(py, &error))?;
    Ok(changes.to_string())
}

/// The JSON Schema of a drive file.
#[pyfunction]
pub(crate) fn schema() -> String {
    config::schema()
}

fn listed<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let entries: Vec<_> =
        entries.map(|(name, description)| json!({ "name": name, "description": description })).collect();
    json!(entries).to_string()
}
