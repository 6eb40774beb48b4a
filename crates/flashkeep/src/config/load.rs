//! Loads the drive that the user named, and checks it: files over their bases, `--set` over the files.

use super::array;
use super::check::{self, Resolved};
use super::fields::{KeyKind, Scalar, field, join, unknown};
use super::files::DriveFiles;
use super::keys::DriveSpec;
use super::source::{Source, is_path, line, with_pairs};
use super::values::{bare_word, list, scalar, texts};
use crate::error::DriveError;
use crate::host::Existing;
use crate::schemes;
use serde_json::{Map, Value};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use toml::de::{DeTable, DeValue};

/// Reads a drive by a preset's name or a path (it has a `/` or ends in `.toml`), applies `key=value` pairs, and checks
/// it. Such pairs may also follow the name, with commas between: `dvs-8chip,redundancy.scheme=raid5`.
///
/// # Errors
/// [`DriveError`] names the file, the line and the key, the value found and the accepted ones.
pub fn load(drive: &str, set: &[String]) -> Result<Resolved, DriveError> {
    load_with(&Rc::default(), drive, None, set)
}

/// Reads a drive from the text of a drive file; `name` represents the path in messages.
///
/// # Errors
/// As [`load`].
pub fn load_text(name: &str, text: &str, set: &[String]) -> Result<Resolved, DriveError> {
    load_with(&Rc::default(), name, Some(text), set)
}

/// Reads a drive as [`load`] does or, with a text, as [`load_text`]. `files` replace those on disk, and
/// know afterwards which drive files were read.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    files: &Rc<DriveFiles>,
    drive: &str,
    text: Option<&str>,
    set: &[String],
) -> Result<Resolved, DriveError> {
    if let Some(text) = text {
        let mut given = Given::new(drive, files);
        let source =
            Source { label: drive.into(), text: text.into(), directory: None, identity: drive.into() };
        given.layer(source, &mut Vec::new())?;
        return given.finish(drive, set);
    }
    let (drive, own) = with_pairs(drive);
    let mut given = Given::new(drive, files);
    let source = Source::named(drive, None, files).map_err(|message| given.error(&[], message))?;
    let stem = source.stem();
    given.layer(source, &mut Vec::new())?;
    let set: Vec<String> = set.iter().cloned().chain(own.iter().map(|&pair| pair.to_owned())).collect();
    given.finish(&stem, &set)
}

/// Reads a drive back from [`Resolved::to_json`].
///
/// # Errors
/// As [`load`], without lines.
pub fn from_json(name: &str, drive: &Value, set: &[String]) -> Result<Resolved, DriveError> {
    let mut given = Given::new(name, &Rc::default());
    given.json("", drive)?;
    given.finish(name, set)
}

/// Reads a member of the array `above`, which starts as `start` says; a path is relative to `directory`.
pub(super) fn member(
    drive: &str,
    directory: Option<&Path>,
    above: &Given,
    start: Option<Existing>,
) -> Result<Resolved, DriveError> {
    let (name, own) = with_pairs(drive);
    let source = Source::named(name, directory, &above.files)
        .map_err(|message| above.error(&["members"], format!("\"{name}\": {message}")))?;
    let mut given = Given { depth: above.depth + 1, start_above: start, ..Given::new(name, &above.files) };
    let stem = source.stem();
    given.layer(source, &mut Vec::new())?;
    let own = own.iter().map(|&pair| pair.to_owned());
    let set: Vec<String> = own.chain(above.member_set.iter().cloned()).collect();
    given.finish(&stem, &set)
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Giver {
    /// A resolved drive that is read back. The user did not write these keys, so there are no warnings.
    Echo,
    /// A file, this many bases below the one that the user named.
    File {
        depth: usize,
        label: String,
        line: u64,
    },
    Set,
}

/// A value that was set, and its source.
#[derive(Clone, Debug)]
struct SetValue {
    giver: Giver,
    value: Scalar,
}

/// All values that were set, by dotted key.
#[derive(Debug)]
pub(super) struct Given {
    /// The drive as the user named it.
    drive: String,
    entries: BTreeMap<String, SetValue>,
    /// Pairs for the members of an array.
    member_set: Vec<String>,
    /// Arrays above this one.
    depth: usize,
    /// `start.existing` of the array above, if the user gave it.
    start_above: Option<Existing>,
    files: Rc<DriveFiles>,
}

impl Given {
    fn new(drive: &str, files: &Rc<DriveFiles>) -> Self {
        let (entries, member_set) = (BTreeMap::new(), Vec::new());
        let files = Rc::clone(files);
        Given { drive: drive.into(), entries, member_set, depth: 0, start_above: None, files }
    }

    /// The nesting depth: the number of arrays that it is a member of.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// `start.existing` of the array above, if the user gave it.
    pub(super) fn start_above(&self) -> Option<Existing> {
        self.start_above
    }

    /// The folder to which paths in this key are relative, if it is not the current one.
    pub(super) fn directory(&self, key: &str) -> Option<PathBuf> {
        match &self.entries.get(key)?.giver {
            Giver::File { label, .. } if is_path(label) => Path::new(label).parent().map(Path::to_path_buf),
            _ => None,
        }
    }

    /// Whether a file or `--set` gave this key.
    pub(super) fn by_user(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.giver != Giver::Echo)
    }

    /// Whether the user gave this key: in a file of their own, or with `--set`; a preset's keys are not theirs.
    pub(super) fn by_hand(&self, key: &str) -> bool {
        match self.entries.get(key).map(|entry| &entry.giver) {
            Some(Giver::File { label, .. }) => super::preset_text(label).is_none(),
            Some(Giver::Set) => true,
            Some(Giver::Echo) | None => false,
        }
    }

    /// Whether any source set this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// A number that a source set.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match self.entries.get(key)?.value {
            Scalar::Number(number) => Some(number),
            Scalar::Whole(number) => Some(number as f64),
            _ => None,
        }
    }

    /// The first key of some tables that a file or `--set` set.
    pub(super) fn first_in(&self, tables: &[&str]) -> Option<&str> {
        let in_tables = |key: &str| tables.contains(&key.split('.').next().unwrap_or_default());
        self.entries.keys().map(String::as_str).find(|key| in_tables(key) && self.by_user(key))
    }

    /// An error about several keys. It names the key that was set last (the first one listed if they are equal),
    /// because the user has probably just written it.
    pub(super) fn error(&self, keys: &[&str], message: impl Into<String>) -> DriveError {
        let giver = |key: &str| self.entries.get(key).map(|entry| &entry.giver);
        let mut named = keys.first().copied();
        for key in keys {
            if named.is_some_and(|best| rank(giver(key)) > rank(giver(best))) {
                named = Some(key);
            }
        }
        let giver = named.and_then(giver);
        self.error_by(giver, named, message.into())
    }

    fn error_by(&self, giver: Option<&Giver>, field: Option<&str>, message: String) -> DriveError {
        let field = field.map(Into::into);
        match giver {
            Some(Giver::File { label, line, .. }) => {
                DriveError { path: label.clone(), line: Some(*line), field, message }
            }
            Some(Giver::Set) => {
                let message = format!("{message} (given by --set)");
                DriveError { path: self.drive.clone(), line: None, field, message }
            }
            _ => DriveError { path: self.drive.clone(), line: None, field, message },
        }
    }

    /// Reads a file and its bases; the file's values replace those of its bases.
    fn layer(&mut self, source: Source, above: &mut Vec<String>) -> Result<(), DriveError> {
        let document = source.parse()?;
        let depth = above.len();
        let giver =
            |at: usize| Giver::File { depth, label: source.label.clone(), line: line(&source.text, at) };
        let mut entries = Vec::new();
        self.walk("", document.get_ref(), &giver, &mut entries)?;
        above.push(source.identity.clone());
        if let Some((_, entry)) = entries.iter().find(|(key, _)| key == "base") {
            let Scalar::Text(base) = &entry.value else { unreachable!("a text, as its kind says") };
            let wrong = |message| self.error_by(Some(&entry.giver), Some("base"), message);
            let below = Source::named(base, source.directory.as_deref(), &self.files)
                .map_err(|message| wrong(format!("\"{base}\": {message}")))?;
            if above.contains(&below.identity) {
                return Err(wrong(format!("\"{base}\" is based on this file: bases must not form a cycle")));
            }
            self.layer(below, above)?;
            // Name and description are not inherited from a base.
            self.entries.retain(|key, _| key != "name" && key != "description");
        }
        self.entries.extend(entries.into_iter().filter(|(key, _)| key != "base"));
        Ok(())
    }

    /// Reads the values of a table in the order of the text, so that the first mistake is reported.
    fn walk(
        &self,
        table: &str,
        found: &DeTable<'_>,
        giver: &dyn Fn(usize) -> Giver,
        entries: &mut Vec<(String, SetValue)>,
    ) -> Result<(), DriveError> {
        let mut found: Vec<_> = found.iter().collect();
        found.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in found {
            let key = join(table, name.get_ref());
            let giver_here = giver(name.span().start);
            let wrong = |message| self.error_by(Some(&giver_here), Some(&key), message);
            match (field(&key), value.get_ref()) {
                (None, _) => return Err(wrong(unknown(table, name.get_ref()))),
                // An empty `[disk]` table is kept, because it makes the drive a disk.
                (Some(KeyKind::Table(_)), DeValue::Table(inner)) if key == "disk" && inner.is_empty() => {
                    return Err(wrong("an empty table; a disk has at least disk.capacity_gb".into()));
                }
                (Some(KeyKind::Table(_)), DeValue::Table(inner)) => self.walk(&key, inner, giver, entries)?,
                (Some(kind), _) => {
                    let (value, raw) = scalar(value);
                    let value = plain_name(&key, value, &giver_here, entries);
                    kind.check(&value, &raw).map_err(wrong)?;
                    entries.push((key, SetValue { giver: giver_here, value }));
                }
            }
        }
        Ok(())
    }

    /// Reads the values of a resolved drive.
    fn json(&mut self, key: &str, found: &Value) -> Result<(), DriveError> {
        let value = match found {
            Value::Object(inner) => {
                for (name, value) in inner {
                    let inner = join(key, name);
                    if field(&inner).is_none() {
                        return Err(self.error_by(None, Some(&inner), unknown(key, name)));
                    }
                    self.json(&inner, value)?;
                }
                return Ok(());
            }
            Value::Null => return Ok(()),
            Value::Bool(flag) => Scalar::Flag(*flag),
            Value::String(text) => Scalar::Text(text.clone()),
            Value::Array(items) => texts(items.iter().map(|item| item.as_str().map(String::from)))
                .unwrap_or_else(|| list(items.iter().map(Value::as_f64))),
            Value::Number(number) => match number.as_i128() {
                Some(whole) => Scalar::Whole(whole),
                None => Scalar::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
        };
        let kind = field(key).expect("looked up on the way here");
        let named = Some(key).filter(|key| !key.is_empty());
        kind.check(&value, &found.to_string()).map_err(|message| self.error_by(None, named, message))?;
        self.entries.insert(key.into(), SetValue { giver: Giver::Echo, value });
        Ok(())
    }

    /// Applies one `key=value`.
    fn set(&mut self, pair: &str) -> Result<(), DriveError> {
        let Some((key, raw)) = pair.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
            let message = format!("found `{pair}`; `key=value` is accepted, such as `flash.channels=4`");
            return Err(self.error_by(Some(&Giver::Set), None, message));
        };
        let (key, raw) = (key.trim(), raw.trim());
        if key.starts_with("member.") {
            self.member_set.push(pair.trim_start()["member.".len()..].to_owned());
            return Ok(());
        }
        let wrong = |message: String| self.error_by(Some(&Giver::Set), Some(key), message);
        let Some(kind) = field(key) else {
            let (table, name) = known_table(key);
            return Err(wrong(unknown(table, name)));
        };
        if key == "base" {
            return Err(wrong(
                "a drive's base is part of its file; name the other drive as DRIVE instead".into(),
            ));
        }
        let quoted = raw.starts_with(['"', '\'']);
        let text = matches!(kind, KeyKind::Text | KeyKind::Choice(_) | KeyKind::Reading(..)) && !quoted;
        let mut entries = Vec::new();
        match DeValue::parse(raw) {
            Ok(value) if !text => match (kind, value.get_ref()) {
                (KeyKind::Table(_), DeValue::Table(inner)) => {
                    self.walk(key, inner, &|_| Giver::Set, &mut entries)?;
                }
                _ => {
                    let (value, raw) = scalar(&value);
                    let value = plain_name(key, value, &Giver::Set, &mut entries);
                    kind.check(&value, &raw).map_err(wrong)?;
                    entries.push((key.into(), SetValue { giver: Giver::Set, value }));
                }
            },
            Err(error) if quoted || raw.starts_with(['[', '{']) => {
                return Err(wrong(format!(
                    "found `{raw}`: {}; {} is accepted",
                    error.message(),
                    kind.accepts()
                )));
            }
            _ => {
                let value = plain_name(key, bare_word(raw, kind), &Giver::Set, &mut entries);
                kind.check(&value, raw).map_err(wrong)?;
                entries.push((key.into(), SetValue { giver: Giver::Set, value }));
            }
        }
        self.entries.extend(entries);
        Ok(())
    }

    /// Applies `--set`, fills in the defaults, and checks across keys.
    fn finish(mut self, stem: &str, set: &[String]) -> Result<Resolved, DriveError> {
        for pair in set {
            self.set(pair)?;
        }
        let mut tree = Value::Object(Map::new());
        for (key, entry) in &self.entries {
            let mut node = &mut tree;
            for part in key.split('.') {
                node = &mut node[part];
            }
            *node = self.files.here(key, &entry.value).to_json();
        }
        let mut spec: DriveSpec =
            serde_json::from_value(tree).map_err(|error| self.error(&[], error.to_string()))?;
        if spec.name.is_empty() {
            spec.name = stem.into();
        }
        if spec.members.is_empty() {
            if let Some(pair) = self.member_set.first() {
                let message = "this sets keys of an array's members; this drive has none".to_owned();
                let key = format!("member.{}", pair.split('=').next().unwrap_or_default());
                return Err(self.error_by(Some(&Giver::Set), Some(&key), message));
            }
            return check::resolve(spec, &self);
        }
        array::resolve(spec, &self)
    }

    /// The drive as the user named it.
    pub(super) fn drive(&self) -> &str {
        &self.drive
    }
}

/// The scheme of a RAID level; RAID-10 also sets the width of pairs, unless the same source sets another.
fn plain_name(key: &str, value: Scalar, giver: &Giver, entries: &mut Vec<(String, SetValue)>) -> Scalar {
    let Scalar::Text(name) = &value else { return value };
    let Some((plain, width)) = schemes::of_raid_level(name).filter(|_| key == "redundancy.scheme") else {
        return value;
    };
    if let Some(width) = width {
        let pairs = SetValue { giver: giver.clone(), value: Scalar::Whole(width.into()) };
        entries.insert(0, ("redundancy.width".into(), pairs));
    }
    Scalar::Text(plain.into())
}

/// The rank of a value's source: bases first, then the files built on them, then `--set`.
fn rank(giver: Option<&Giver>) -> (u8, Reverse<usize>) {
    match giver {
        None | Some(Giver::Echo) => (0, Reverse(0)),
        Some(Giver::File { depth, .. }) => (1, Reverse(*depth)),
        Some(Giver::Set) => (2, Reverse(0)),
    }
}

/// Splits a dotted key into its table and the name within it.
fn known_table(key: &str) -> (&str, &str) {
    let dots = key.rmatch_indices('.').map(|(at, _)| at);
    let table = dots.map(|at| (&key[..at], &key[at + 1..]));
    table.into_iter().find(|(table, _)| field(table).is_some()).unwrap_or(("", key))
}
