//! Which files a path names: one, those of a directory, those of a pattern, or those of blktrace's processors.

use crate::TraceError;
use std::cmp::Ordering;
use std::path::Path;

/// Linux runs on no more processors.
const PROCESSORS_MAX: u32 = 8192;

/// The traces that `path` names: itself, or if it is a directory the files in it, or if there is no such file and its
/// last part has `*` or `?` those that fit. Files are in order of their names, with numbers in them by value; hidden and
/// empty files are left out.
///
/// # Errors
/// A directory that cannot be read, or has no files; a pattern that nothing fits.
pub fn files_of(path: &str) -> Result<Vec<String>, TraceError> {
    let as_path = Path::new(path);
    if path == "-" {
        return Ok(vec![path.to_owned()]);
    }
    if as_path.is_dir() {
        let found = listed(path, path.trim_end_matches('/'), |_| true)?;
        return if found.is_empty() {
            Err(TraceError::new(path, "the directory has no files; a trace is one file or several"))
        } else {
            Ok(found)
        };
    }
    let (folder, pattern) = path.rsplit_once('/').map_or((".", path), |(folder, name)| (folder, name));
    if !pattern.contains(['*', '?']) || as_path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    let found = listed(path, folder, |name| fits(pattern.as_bytes(), name.as_bytes()))?;
    if found.is_empty() {
        return Err(TraceError::new(
            path,
            "no file fits this pattern; `*` and `?` are accepted in a file's name",
        ));
    }
    let bare =
        |file: String| if path.contains('/') { file } else { file.trim_start_matches("./").to_owned() };
    Ok(found.into_iter().map(bare).collect())
}

/// The files of a folder whose names are wanted.
fn listed(path: &str, folder: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, TraceError> {
    let unread =
        |error: std::io::Error| TraceError::new(path, format!("the directory cannot be read: {error}"));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(if folder.is_empty() { "/" } else { folder }).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        let is_file = std::fs::metadata(entry.path()).is_ok_and(|file| file.is_file() && file.len() > 0);
        if let Ok(name) = entry.file_name().into_string()
            && is_file
            && !name.starts_with('.')
            && wanted(&name)
        {
            names.push(name);
        }
    }
    names.sort_by(|one, other| natural(one.as_bytes(), other.as_bytes()));
    Ok(names.into_iter().map(|name| format!("{folder}/{name}")).collect())
}

/// Compares names with the numbers in them by value: `a2` before `a10`.
fn natural(mut one: &[u8], mut other: &[u8]) -> Ordering {
    loop {
        let digits = |name: &[u8]| name.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match (digits(one), digits(other)) {
            (0, _) | (_, 0) => match (one.split_first(), other.split_first()) {
                (Some((first, rest)), Some((second, others))) if first == second => {
                    (one, other) = (rest, others)
                }
                _ => return one.cmp(other),
            },
            (first, second) => {
                let value = |name: &[u8], count: usize| {
                    let zeros = name[..count].iter().take_while(|byte| **byte == b'0').count();
                    name[zeros..count].to_vec()
                };
                let (left, right) = (value(one, first), value(other, second));
                let order = left.len().cmp(&right.len()).then(left.cmp(&right)).then(first.cmp(&second));
                if order != Ordering::Equal {
                    return order;
                }
                (one, other) = (&one[first..], &other[second..]);
            }
        }
    }
}

/// Whether a name fits a pattern with `*` and `?`.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            fits(rest, name) || name.split_first().is_some_and(|(_, name)| fits(pattern, name))
        }
        (Some((b'?', rest)), Some((_, name))) => fits(rest, name),
        (Some((letter, rest)), Some((other, name))) => letter == other && fits(rest, name),
        _ => false,
    }
}

/// The files `path.blktrace.0`, `path.blktrace.1`, … that blktrace made, one for each processor that queued something, if
/// there is no file called `path`.
pub(crate) fn of_processors(path: &str) -> Vec<String> {
    let is_there = |file: &String| std::fs::metadata(file).is_ok_and(|file| file.len() > 0);
    if path == "-" || std::fs::metadata(path).is_ok() {
        return Vec::new();
    }
    (0..PROCESSORS_MAX).map(|processor| format!("{path}.blktrace.{processor}")).filter(is_there).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count() {
        let mut names = ["a.10", "a.2", "a.1", "b", "a", "a.02"];
        names.sort_by(|one, other| natural(one.as_bytes(), other.as_bytes()));
        assert_eq!(names, ["a", "a.1", "a.2", "a.02", "a.10", "b"]);
    }

    #[test]
    fn patterns_fit() {
        for (pattern, name, expected) in [
            ("*.csv", "a.csv", true),
            ("a?.csv", "a1.csv", true),
            ("a?", "a", false),
            ("*", "", true),
            ("a*b*", "axxb", true),
            ("a*c", "ab", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
        assert!(files_of("/nowhere-at-all/*.csv").is_err());
        assert_eq!(files_of("a.csv"), Ok(vec!["a.csv".to_owned()]));
    }
}
