//! Common parts of the integration tests: drives and traces in files, and complete runs of jobs.

use flashkeep::config::load_text;
use flashkeep::job::{Job, RunOutcome};
use flashkeep::run;
use proptest::prelude::*;
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file of this test run with `text` in it.
pub(crate) fn file(name: &str, text: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}-{name}", std::process::id()));
    std::fs::write(&path, text).expect("the target folder can be written");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Whether `make test-all` runs: all cases, not a sample of them.
pub(crate) fn full() -> bool {
    std::env::var_os("FLASHKEEP_FULL").is_some()
}

/// `0..end`, or every third of them unless all cases run.
pub(crate) fn sampled(end: u64) -> impl Iterator<Item = u64> + Clone {
    (0..end).step_by(if full() { 1 } else { 3 })
}

/// A path of this test run for output.
pub(crate) fn output(name: &str) -> PathBuf {
    PathBuf::from(file(name, ""))
}

/// A job on a drive (a preset's name, or a file's text) and a trace (`synth:…`, or SSDSim lines).
pub(crate) fn job(drive: &str, trace: &str, set: &[&str]) -> Job {
    let drive = if drive.contains('\n') { file("drive.toml", drive) } else { drive.to_owned() };
    let trace = if trace.starts_with("synth:") { trace.to_owned() } else { file("trace.ssdsim", trace) };
    Job { drive, traces: vec![trace], set: set.iter().map(|&s| s.to_owned()).collect(), ..Job::default() }
}

/// Runs a job that must succeed.
pub(crate) fn done(job: &Job) -> RunOutcome {
    run(job, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|error| panic!("{error}"))
}

/// The summary of a job that must succeed.
pub(crate) fn summary(job: &Job) -> Value {
    done(job).summary
}

/// A figure of a summary.
pub(crate) fn figure(summary: &Value, path: &str) -> f64 {
    let pointer = format!("/{}", path.replace('.', "/"));
    summary.pointer(&pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no figure {path}"))
}

/// The phases of a run have all of its operations, each once.
pub(crate) fn check_sums_of_phases(run: &Value, told: &str) {
    let phases = run["phases"].as_array().expect("a list");
    for kind in ["read", "program", "erase"] {
        for (cause, pages) in run["operations"][kind].as_object().expect("causes") {
            let of_phase = |phase: &Value| phase["operations"][kind][cause].as_f64().expect("a number");
            let sum: f64 = phases.iter().map(of_phase).sum();
            assert_eq!(Some(sum), pages.as_f64(), "{told}: {kind} {cause}");
        }
    }
}

/// The records of a CSV file, header first.
pub(crate) fn records(path: &std::path::Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).expect("the run wrote it");
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// One of the possible values of each key, as `--set` takes it; an empty one leaves the key out.
pub(crate) fn picked(
    lists: &'static [(&'static str, &'static [&'static str])],
) -> impl Strategy<Value = Vec<String>> {
    let quote = |value: &str| {
        let bare = value.parse::<f64>().is_ok() || value == "true" || value == "false";
        if bare { value.to_owned() } else { format!("\"{value}\"") }
    };
    let pick = move |&(key, values): &(&'static str, &'static [&'static str])| {
        prop::sample::select(values.to_vec())
            .prop_map(move |value| (!value.is_empty()).then(|| format!("{key}={}", quote(value))))
    };
    lists.iter().map(pick).collect::<Vec<_>>().prop_map(|sets| sets.into_iter().flatten().collect())
}

/// Removes, one after the other, keys that the error message names; the first `kept` keys stay as long as the message
/// names another one.
pub(crate) fn accepted(drive: &str, mut set: Vec<String>, kept: usize) -> Vec<String> {
    while let Err(error) = load_text("drive", drive, &set) {
        let said = error.to_string();
        let is_named = |set: &String| said.contains(set.split('=').next().expect("a key"));
        let named = set.iter().skip(kept).position(is_named).map(|at| at + kept);
        let named = named.or_else(|| set.iter().position(is_named));
        set.remove(named.unwrap_or_else(|| panic!("{said}: none of {set:?}")));
    }
    set
}
