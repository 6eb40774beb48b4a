//! The house keeps its shape: which part may know which.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each part and the parts it may name. What is further up the list may not name what is further down, but for the
/// specification, which everybody reads and which itself reads the names in the policy tables.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("front", &["kernel"]),
    ("engine", &["front", "kernel"]),
    ("error", &[]),
    ("spec", &["disk", "error", "ftl", "mapping", "media", "schemes"]),
    ("media", &["kernel", "spec"]),
    ("ftl", &["engine", "kernel", "media", "spec"]),
    ("mapping", &["engine", "kernel"]),
    ("schemes", &["engine", "kernel", "mapping", "spec"]),
    ("faults", &["drive", "error", "kernel", "mapping", "media", "spec"]),
    ("image", &["spec"]),
    ("drive", &["engine", "ftl", "image", "kernel", "media", "spec"]),
    ("disk", &["drive", "engine", "image", "kernel", "spec"]),
    ("devices", &["disk", "drive", "engine", "ftl", "image", "kernel", "media"]),
    ("host", &["engine", "kernel"]),
    ("buffer", &["engine", "front", "host", "image", "kernel", "spec"]),
    ("report", &["disk", "drive", "engine", "front", "kernel", "mapping", "devices", "spec"]),
    ("output", &["drive", "engine", "error", "ftl", "media"]),
    ("timeline", &["drive", "engine", "error", "kernel", "media", "output"]),
    ("workload", &["error", "host", "job", "spec"]),
];

fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder of the source") {
            sources(&entry.expect("an entry").path(), found);
        }
    } else if path.extension().is_some_and(|ending| ending == "rs") {
        found.push(path.to_owned());
    }
}

fn part(name: &str) -> Vec<(PathBuf, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folder = source.join(name);
    let place = if folder.is_dir() { folder } else { source.join(format!("{name}.rs")) };
    let mut found = Vec::new();
    sources(&place, &mut found);
    assert!(!found.is_empty(), "there is a part called {name}");
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("source in UTF-8"))).collect()
}

/// The parts that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let names = text.split("crate::").skip(1);
    names.map(|rest| rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or("")).collect()
}

#[test]
fn dependencies_run_one_way() {
    for (name, may) in MAY_KNOW {
        for (path, text) in part(name) {
            for other in named(&text) {
                let known = other == *name || may.contains(&other);
                assert!(known, "{} names `{other}`; {name} may name {may:?}", path.display());
            }
        }
    }
}

#[test]
fn no_scheme_is_named_where_schemes_are_carried_out() {
    for name in ["kernel", "engine", "media", "ftl", "drive", "disk", "host", "buffer"] {
        for (path, text) in part(name) {
            // Causes have names of their own, and one of them is what a scheme is called.
            if path.ends_with("engine/command.rs")
                || path.components().any(|part| part.as_os_str() == "tests")
            {
                continue;
            }
            for scheme in
                flashkeep::schemes::SCHEMES.iter().map(|entry| entry.name).filter(|name| *name != "none")
            {
                let quoted = format!("\"{scheme}\"");
                assert!(!text.contains(&quoted), "{} names the scheme {scheme}", path.display());
            }
        }
    }
}

#[test]
fn nothing_reads_a_clock() {
    for name in MAY_KNOW.iter().map(|(name, _)| *name).chain(["simulation"]) {
        for (path, text) in part(name) {
            for clock in ["std::time", "SystemTime"] {
                assert!(!text.contains(clock), "{} reads a clock", path.display());
            }
        }
    }
}
