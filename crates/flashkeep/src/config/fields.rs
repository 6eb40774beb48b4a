//! Accepted values of each key, read from the JSON Schema of the types in `keys`, and their description in
//! messages.
//!
//! The schema of all keys takes longer to build than a small run takes, so reading a drive builds only the
//! parts that the drive mentions.

use super::keys::{ArraySpec, ConditionSpec, DriveSpec, FtlSpec, StartSpec};
use crate::device::port::BufferSpec;
use crate::disk::DiskSpec;
use crate::error::{did_you_mean, nearest};
use crate::flash::{ErrorsSpec, FlashSpec};
use crate::ftl::AgeingSpec;
use crate::host::HostSpec;
use crate::schemes::{Reading, RedundancySpec};
use schemars::{Schema, schema_for};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The JSON Schema of a drive file.
#[must_use]
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(schema_value()).unwrap_or_default();
    text.push('\n');
    text
}

fn schema_value() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schema_for!(DriveSpec);
        schema.insert("title".into(), "flashkeep drive".into());
        schema.to_value()
    })
}

/// A limit of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NumberBound {
    /// The limit itself is valid.
    Closed(f64),
    /// The limit itself is not.
    Open(f64),
}

/// The values that a key accepts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum KeyKind {
    Table(Vec<String>),
    Whole(Option<NumberBound>, Option<NumberBound>),
    Number(Option<NumberBound>, Option<NumberBound>),
    /// A number, or a list of at most this many.
    Numbers(Option<NumberBound>, Option<NumberBound>, usize),
    Flag,
    Text,
    /// A list of texts.
    Texts,
    Choice(Vec<String>),
    /// Words, and words of a form: ways to read.
    Reading(Vec<String>, String),
}

/// A value as written in the drive file.
#[derive(Clone, Debug)]
pub(super) enum Scalar {
    Whole(i128),
    Number(f64),
    Flag(bool),
    Text(String),
    /// Numbers in brackets.
    List(Vec<f64>),
    /// Texts in brackets.
    Texts(Vec<String>),
    /// A value that no key accepts: an array, a date, a table in place of a value.
    Other(&'static str),
}

/// Keys and what they accept.
type Fields = BTreeMap<String, KeyKind>;

/// A table of a drive: its name, the schema of its type, and its keys, made on first use.
struct Table(&'static str, fn() -> Schema, OnceLock<Fields>);

/// The tables of a drive.
static TABLES: [Table; 11] = [
    Table("ageing", || schema_for!(AgeingSpec), OnceLock::new()),
    Table("array", || schema_for!(ArraySpec), OnceLock::new()),
    Table("buffer", || schema_for!(BufferSpec), OnceLock::new()),
    Table("condition", || schema_for!(ConditionSpec), OnceLock::new()),
    Table("disk", || schema_for!(DiskSpec), OnceLock::new()),
    Table("errors", || schema_for!(ErrorsSpec), OnceLock::new()),
    Table("flash", || schema_for!(FlashSpec), OnceLock::new()),
    Table("ftl", || schema_for!(FtlSpec), OnceLock::new()),
    Table("host", || schema_for!(HostSpec), OnceLock::new()),
    Table("redundancy", || schema_for!(RedundancySpec), OnceLock::new()),
    Table("start", || schema_for!(StartSpec), OnceLock::new()),
];

/// The values that a dotted key accepts; none if there is no such key.
pub(super) fn field(key: &str) -> Option<&'static KeyKind> {
    let name = key.split('.').next().unwrap_or_default();
    match TABLES.iter().find(|table| table.0 == name) {
        Some(Table(name, schema, keys)) => {
            keys.get_or_init(|| fields_of(name, &schema().to_value())).get(key)
        }
        // The tables that nearly every drive file uses.
        None if matches!(key, "base" | "name" | "description") => Some(&KeyKind::Text),
        None if key == "members" => Some(&KeyKind::Texts),
        None => fields().get(key),
    }
}

/// Every key, dotted; the drive itself is the key `""`.
pub(super) fn fields() -> &'static Fields {
    static FIELDS: OnceLock<Fields> = OnceLock::new();
    FIELDS.get_or_init(|| fields_of("", schema_value()))
}

fn fields_of(key: &str, schema: &Value) -> Fields {
    let mut fields = BTreeMap::new();
    collect(key, schema, schema, &mut fields);
    fields
}

fn collect(key: &str, node: &Value, schema: &Value, fields: &mut Fields) {
    let reference = node.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|name| schema.pointer(name.trim_start_matches('#'))).unwrap_or(node);
    let Some(properties) = target.get("properties").and_then(Value::as_object) else {
        fields.insert(key.into(), backend(target));
        return;
    };
    fields.insert(key.into(), KeyKind::Table(properties.keys().cloned().collect()));
    for (name, child) in properties {
        collect(&join(key, name), child, schema, fields);
    }
}

fn backend(node: &Value) -> KeyKind {
    let names = |list: &[Value]| list.iter().filter_map(|name| name.as_str().map(String::from)).collect();
    if let Some(list) = node.get("enum").and_then(Value::as_array) {
        return KeyKind::Choice(names(list));
    }
    if let Some(list) = node.get("oneOf").and_then(Value::as_array) {
        let words = list.iter().filter_map(|one| one.get("const")?.as_str().map(String::from)).collect();
        return match list.iter().find_map(|one| one.get("pattern").and(one["title"].as_str())) {
            Some(form) => KeyKind::Reading(words, form.into()),
            None => KeyKind::Choice(words),
        };
    }
    let is = |name: &str| match node.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one == name),
        other => other.is_some_and(|one| one == name),
    };
    let (low, high) = limits(node);
    match () {
        () if node.get("anyOf").is_some() => {
            let list = &node["anyOf"][1];
            let (low, high) = limits(&list["items"]);
            KeyKind::Numbers(low, high, list["maxItems"].as_u64().unwrap_or_default() as usize)
        }
        () if is("integer") => KeyKind::Whole(low, high),
        () if is("number") => KeyKind::Number(low, high),
        () if is("boolean") => KeyKind::Flag,
        () if is("array") => KeyKind::Texts,
        () => KeyKind::Text,
    }
}

fn limits(node: &Value) -> (Option<NumberBound>, Option<NumberBound>) {
    let limit = |closed: &str, open: &str| {
        let at = |name: &str| node.get(name).and_then(Value::as_f64);
        at(open).map(NumberBound::Open).or(at(closed).map(NumberBound::Closed))
    };
    (limit("minimum", "exclusiveMinimum"), limit("maximum", "exclusiveMaximum"))
}

impl KeyKind {
    /// Checks whether this kind of key accepts the value; the error describes the mismatch.
    pub(super) fn check(&self, value: &Scalar, raw: &str) -> Result<(), String> {
        let fits = match (self, value) {
            (KeyKind::Whole(low, high), Scalar::Whole(number)) => within(*number as f64, *low, *high),
            (KeyKind::Number(low, high) | KeyKind::Numbers(low, high, _), Scalar::Whole(number)) => {
                within(*number as f64, *low, *high)
            }
            (KeyKind::Number(low, high) | KeyKind::Numbers(low, high, _), Scalar::Number(number)) => {
                within(*number, *low, *high)
            }
            (KeyKind::Numbers(low, high, most), Scalar::List(numbers)) => {
                let all = numbers.iter().all(|&number| within(number, *low, *high));
                all && (1..=*most).contains(&numbers.len())
            }
            (KeyKind::Choice(names), Scalar::Text(text)) => names.contains(text),
            (KeyKind::Reading(..), Scalar::Text(text)) => Reading::try_from(text.clone()).is_ok(),
            (KeyKind::Flag, Scalar::Flag(_))
            | (KeyKind::Text, Scalar::Text(_))
            | (KeyKind::Texts, Scalar::Texts(_)) => true,
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let hint = match (self, value) {
            (KeyKind::Choice(names) | KeyKind::Reading(names, _), Scalar::Text(text)) => {
                did_you_mean(text, names.iter().map(String::as_str))
            }
            _ => String::new(),
        };
        let found = match (self, value) {
            (KeyKind::Numbers(..), Scalar::List(_)) => raw.to_string(),
            _ => value.describe(raw),
        };
        Err(format!("found {found}; {} is accepted{hint}", self.accepts()))
    }

    /// The accepted values, in words.
    pub(super) fn accepts(&self) -> String {
        match self {
            KeyKind::Table(names) => format!("a table with the keys {}", listed(names)),
            KeyKind::Whole(low, high) => format!("a whole number{}", range(*low, *high)),
            KeyKind::Number(low, high) => format!("a number{}", range(*low, *high)),
            KeyKind::Numbers(low, high, most) => {
                let range = range(*low, *high);
                format!("a number{range}, or a list in brackets of 1 to {most} such numbers")
            }
            KeyKind::Flag => "`true` or `false`".into(),
            KeyKind::Text => "text in quotes".into(),
            KeyKind::Texts => "a list of quoted strings in brackets".into(),
            KeyKind::Choice(names) => format!("one of {}", listed(names)),
            KeyKind::Reading(names, form) => format!("one of {}, {form}", listed(names)),
        }
    }
}

impl Scalar {
    fn describe(&self, raw: &str) -> String {
        match self {
            Scalar::Whole(_) | Scalar::Number(_) => raw.to_string(),
            Scalar::Flag(flag) => format!("`{flag}`"),
            Scalar::Text(text) => format!("the text {text:?}"),
            Scalar::List(_) | Scalar::Texts(_) => "an array".into(),
            Scalar::Other(what) => (*what).into(),
        }
    }
}

fn within(number: f64, low: Option<NumberBound>, high: Option<NumberBound>) -> bool {
    // `nan` fails every comparison and so every limit; every number has at least one limit.
    let above = match low {
        Some(NumberBound::Closed(limit)) => number >= limit,
        Some(NumberBound::Open(limit)) => number > limit,
        None => true,
    };
    let below = match high {
        Some(NumberBound::Closed(limit)) => number <= limit,
        Some(NumberBound::Open(limit)) => number < limit,
        None => true,
    };
    above && below && number.is_finite()
}

fn range(low: Option<NumberBound>, high: Option<NumberBound>) -> String {
    let low = match low {
        Some(NumberBound::Closed(limit)) => format!(" from {limit}"),
        Some(NumberBound::Open(limit)) => format!(" above {limit}"),
        None => String::new(),
    };
    let high = match high {
        Some(NumberBound::Closed(limit)) => format!(" up to {limit}"),
        Some(NumberBound::Open(limit)) => format!(" to below {limit}"),
        None => String::new(),
    };
    low + &high
}

/// `a.b` from `a` and `b`, and `b` at the top.
pub(super) fn join(table: &str, key: &str) -> String {
    if table.is_empty() { key.into() } else { format!("{table}.{key}") }
}

/// `` `a`, `b` ``.
pub(super) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The message for an unknown key: the keys that exist, and the one that was probably meant.
pub(super) fn unknown(table: &str, key: &str) -> String {
    let fields = fields();
    let siblings = match fields.get(table) {
        Some(KeyKind::Table(names)) => names.as_slice(),
        _ => &[],
    };
    let own = nearest(key, siblings.iter().map(String::as_str)).map(|(name, near)| (join(table, name), near));
    let last = |path: &'static str| path.rsplit('.').next().unwrap_or_default();
    let paths = || fields.keys().map(String::as_str).filter(|path| !path.is_empty());
    let other = nearest(key, paths().map(last));
    // Several tables may have a key of that name; those below this table come first.
    let other = other.map(|(name, near)| {
        let mut all: Vec<&str> = paths().filter(|path| last(path) == name).collect();
        all.sort_by_key(|path| !path.strip_prefix(table).is_some_and(|rest| rest.starts_with('.')));
        all.truncate(3);
        (all.join("` or `"), near)
    });
    // A key of the same table, unless a key of another table is nearer.
    let best = match (own, other) {
        (Some(own), Some(other)) => Some(if other.1 > own.1 { other } else { own }),
        (own, other) => own.or(other),
    };
    let hint = best.map_or(".".into(), |(path, _)| format!("; did you mean `{path}`?"));
    let place = if table.is_empty() { "a drive".into() } else { format!("[{table}]") };
    format!("unknown key{hint} The keys of {place} are {}", listed(siblings))
}
