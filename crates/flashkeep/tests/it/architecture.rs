//! Which module may know which: computed from the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules, and what they must not reach, even through others.
const MUST_NOT_REACH: &[(&str, &[&str])] = &[
    ("kernel", &["config", "engine", "flash", "ftl"]),
    ("blocks", &["config", "engine", "flash", "ftl", "drive", "disk", "schemes", "mapping"]),
    ("device", &["config", "engine", "flash", "ftl"]),
    ("engine", &["config", "flash", "ftl", "drive", "disk", "schemes", "mapping"]),
    ("flash", &["config", "engine", "ftl", "drive", "schemes", "mapping"]),
    ("ftl", &["config", "drive", "disk", "schemes", "mapping"]),
    ("mapping", &["config", "flash", "drive", "disk", "schemes"]),
    ("schemes", &["config", "ftl", "drive", "disk"]),
    ("drive", &["config", "disk", "schemes", "mapping"]),
    ("disk", &["config", "schemes", "mapping"]),
    ("host", &["config", "flash", "ftl", "drive", "disk", "schemes"]),
    ("config", &["simulation", "metrics"]),
    ("figures", &["config", "kernel", "metrics", "schemes"]),
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

/// The source without its tests: their files, and modules in other files, which are at the end.
fn without_tests() -> Vec<(PathBuf, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&source, &mut found);
    found.sort();
    let is_test = |path: &PathBuf| {
        let name = |part: &std::path::Component<'_>| part.as_os_str() == "tests";
        path.components().any(|part| name(&part)) || path.file_name().is_some_and(|name| name == "tests.rs")
    };
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("source in UTF-8");
        let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
        let path = path.strip_prefix(&source).expect("a file of the source").to_owned();
        (path, text[..end].to_owned())
    };
    found.into_iter().filter(|path| !is_test(path)).map(read).collect()
}

/// The module that a file belongs to: its folder below the root, or its own name.
fn module(path: &Path) -> String {
    let first = path.components().next().expect("a path has a first part").as_os_str();
    first.to_string_lossy().trim_end_matches(".rs").to_owned()
}

/// Each module, and the modules that it names.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in without_tests() {
        let own = module(&path);
        let names = text.split("crate::").skip(1);
        let names = names.map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '_').next());
        let named = modules.entry(own.clone()).or_default();
        named.extend(names.flatten().filter(|name| *name != own).map(str::to_owned));
    }
    let known: BTreeSet<String> = modules.keys().cloned().collect();
    modules.values_mut().for_each(|named| named.retain(|name| known.contains(name)));
    modules
}

/// A way from one module to another along what they name.
fn way(modules: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> Option<Vec<String>> {
    let mut ways = vec![vec![from.to_owned()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for next in &modules[way.last().expect("a way begins somewhere")] {
            let longer: Vec<String> = way.iter().chain([next]).cloned().collect();
            if next == to {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push(longer);
            }
        }
    }
    None
}

#[test]
fn no_module_depends_on_itself_through_others() {
    let modules = dependencies();
    assert!(modules.len() > 15, "the sources have been found");
    for name in modules.keys() {
        let cycle = way(&modules, name, name);
        assert!(cycle.is_none(), "a cycle: {}", cycle.unwrap_or_default().join(" → "));
    }
}

#[test]
fn dependencies_run_one_way() {
    let modules = dependencies();
    for (from, others) in MUST_NOT_REACH {
        for to in *others {
            assert!(modules.contains_key(*to), "there is a module called {to}");
            let found = way(&modules, from, to);
            assert!(found.is_none(), "{from} reaches {to}: {}", found.unwrap_or_default().join(" → "));
        }
    }
}

#[test]
fn the_controller_of_a_drive_knows_no_backend() {
    let own = |(path, _): &(PathBuf, String)| path.to_string_lossy().contains("drive/controller/");
    let files: Vec<_> = without_tests().into_iter().filter(own).collect();
    assert!(files.len() > 20, "the sources have been found");
    for (path, text) in files {
        for name in ["backends::", "DriveBackends", "Translation<"] {
            assert!(!text.contains(name), "{} names {name}: it asks a `PageOwner`", path.display());
        }
    }
}

/// The dependency table of ARCHITECTURE.md, in which `lib.rs` and the module at the top have no row. Modules that name the
/// same ones share a row.
fn dependency_table() -> String {
    let modules = dependencies();
    let mut rows: Vec<_> =
        modules.iter().filter(|(module, _)| !["lib", "simulation"].contains(&module.as_str())).collect();
    // Each module is below those that it names.
    let height = |module: &str| modules.keys().filter(|to| way(&modules, module, to).is_some()).count();
    rows.sort_by_key(|(module, named)| (height(module), *named, module.as_str()));
    let list = |names: &mut dyn Iterator<Item = &String>| {
        names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let row = |rows: &[(&String, &BTreeSet<String>)]| {
        let names = list(&mut rows[0].1.iter());
        let names = if names.is_empty() { "nothing" } else { &names };
        format!("| {} | {names} |\n", list(&mut rows.iter().map(|row| row.0)))
    };
    rows.chunk_by(|one, next| one.1 == next.1).map(row).collect()
}

#[test]
fn the_dependency_table_is_that_of_the_sources() {
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let text = fs::read_to_string(text).expect("ARCHITECTURE.md");
    let table = dependency_table();
    assert!(text.contains(&table), "the dependency table in ARCHITECTURE.md should be:\n{table}");
}

#[test]
fn no_code_but_its_own_knows_a_scheme_by_name() {
    // Causes of operations have names of their own, one of which is what a scheme is called; so has a figure, and a victim
    // policy. The drives of which the conformance suite makes arrays have schemes inside.
    let causes = ["device/command.rs", "conformance/arrays.rs", "blocks/victim/python.rs"];
    let figures = ["\"lifespan\""];
    let known = |name: &&str| *name != "none";
    for (path, text) in without_tests() {
        if module(&path) == "schemes" || causes.iter().any(|cause| path.ends_with(cause)) {
            continue;
        }
        let text = figures.iter().fold(text, |text, figure| text.replace(figure, ""));
        for scheme in flashkeep::schemes::names().into_iter().filter(known) {
            assert!(!text.contains(&format!("\"{scheme}\"")), "{} names the scheme {scheme}", path.display());
        }
    }
}

#[test]
fn names_of_policies_and_keys_are_not_compared() {
    let kinds = ["scheme", "scheme.name", "redundancy.scheme", "map.name", "ftl.map", "victim", "levelling"];
    for (path, text) in without_tests() {
        for kind in kinds {
            for comparison in ["==", "!="] {
                let found = text.contains(&format!("{kind} {comparison} \""));
                assert!(!found, "{} compares a name: {kind} {comparison} …", path.display());
            }
        }
        assert!(!text.contains("keys.contains(&\""), "{} looks for the name of a key", path.display());
    }
}

#[test]
fn nothing_reads_a_clock() {
    for (path, text) in without_tests() {
        for clock in ["std::time", "SystemTime"] {
            assert!(!text.contains(clock), "{} reads a clock", path.display());
        }
    }
}
