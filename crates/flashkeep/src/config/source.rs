//! Finds and reads drive files: presets by name, others by path.

use super::files::DriveFiles;
use super::presets;
use crate::error::DriveError;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::DeTable;

/// A larger file is not a drive file.
const LARGEST_FILE: u64 = 1 << 20;

/// A drive's name, and the `key=value` pairs that follow it.
pub(super) fn with_pairs(drive: &str) -> (&str, Vec<&str>) {
    // A comma within brackets belongs to a list.
    let mut depth = 0_i32;
    let mut parts = drive.split(|letter| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        letter == ',' && depth == 0
    });
    let name = parts.next().unwrap_or_default();
    let own: Vec<_> = parts.collect();
    if own.iter().all(|pair| pair.contains('=')) { (name, own) } else { (drive, Vec::new()) }
}

/// Whether a drive is named by a path, not by a preset's name.
pub(super) fn is_path(drive: &str) -> bool {
    let (name, _) = with_pairs(drive);
    name.contains('/') || name.ends_with(".toml")
}

/// A drive file that has been read but not parsed.
#[derive(Debug)]
pub(super) struct Source {
    /// Its name in messages.
    pub(super) label: String,
    pub(super) text: String,
    /// The folder to which its `base` is relative.
    pub(super) directory: Option<PathBuf>,
    /// Its canonical path, to detect cycles.
    pub(super) identity: String,
}

impl Source {
    /// Reads a file by a preset's name or a path.
    pub(super) fn named(name: &str, directory: Option<&Path>, files: &DriveFiles) -> Result<Source, String> {
        if is_path(name) {
            let path = directory.map_or(PathBuf::from(name), |directory| directory.join(name));
            return Source::file(name, &path, files);
        }
        match presets::find(name) {
            Some((name, text)) => {
                Ok(Source { label: name.into(), text: text.into(), directory: None, identity: name.into() })
            }
            None if !name.is_empty() && Path::new(name).is_file() => {
                Err(format!("no preset has this name; to read the file, write `./{name}`"))
            }
            None => Err(presets::unknown(name)),
        }
    }

    fn file(name: &str, path: &Path, files: &DriveFiles) -> Result<Source, String> {
        let label = path.to_string_lossy().into_owned();
        let text = files.text(&label).map_or_else(|| read(name, path), Ok)?;
        files.note(&label, &text);
        let identity = path.canonicalize().unwrap_or(path.into()).to_string_lossy().into_owned();
        let directory = path.parent().map(Path::to_path_buf);
        Ok(Source { label, text, directory, identity })
    }

    /// The name of a drive without a `name` key.
    pub(super) fn stem(&self) -> String {
        match &self.directory {
            Some(_) => Path::new(&self.label).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            None => self.label.clone(),
        }
    }

    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'_>>, DriveError> {
        DeTable::parse(&self.text).map_err(|error| DriveError {
            path: self.label.clone(),
            line: error.span().map(|span| line(&self.text, span.start)),
            field: None,
            message: format!("not TOML: {}", error.message()),
        })
    }
}

/// Reads a drive file from disk.
fn read(name: &str, path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).map_err(|error| missing(name, &error))?;
    if opened.metadata().is_ok_and(|data| data.is_dir()) {
        return Err("a directory; a drive file (TOML) is accepted".into());
    }
    opened
        .take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err("larger than 1 MiB, so not a drive file".into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..good].iter().filter(|&&byte| byte == b'\n').count();
        format!("not UTF-8 text (byte {good}, line {line}); a drive file (TOML) is accepted")
    })
}

fn missing(name: &str, error: &std::io::Error) -> String {
    if error.kind() != std::io::ErrorKind::NotFound {
        return format!("cannot be opened: {error}");
    }
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    match presets::find(&stem) {
        Some((preset, _)) => format!("no such file; the preset of this name is called `{preset}`"),
        None => "no such file; `flashkeep drives` lists the presets".into(),
    }
}

/// The line of a byte of the text, counted from 1.
pub(super) fn line(text: &str, at: usize) -> u64 {
    let at = at.min(text.trim_end().len());
    1 + text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() as u64
}
