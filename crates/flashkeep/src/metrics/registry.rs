//! The registry: every figure that a summary can have, collected from the declarations. Tables,
//! documentation, the types of the Python package and the digest use it.

use super::summary::shape;
use super::{Better, Figure, FigureEntry, FigureKind, FigureShape, Group, TableRow};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A figure of the summary.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its stable name: its path when it was first reported.
    pub id: String,
    /// Its path in the summary: keys joined by dots, `[]` after those of lists of groups.
    pub path: String,
    /// The type of its values.
    pub kind: FigureKind,
    /// Whether it is a list of values.
    pub list: bool,
    /// Its unit.
    pub unit: &'static str,
    /// Its label in tables.
    pub label: String,
    /// Which direction is better.
    pub better: Better,
    /// Whether it is part of the digest.
    pub digest: bool,
    /// Its description, in a sentence.
    pub about: String,
    /// The heading of its section in tables; empty where tables do not show it.
    pub heading: &'static str,
    /// Whether tables show it.
    pub row: TableRow,
}

/// Properties that a figure inherits from its groups.
#[derive(Clone, Copy)]
struct Within<'a> {
    path: &'a str,
    id: &'a str,
    label: &'a str,
    heading: &'static str,
    brief: bool,
    derived: bool,
}

/// Every figure that a summary can hold, in order.
#[must_use]
pub fn registry() -> Vec<Metric> {
    let mut all = Vec::new();
    let within = Within { path: "", id: "", label: "", heading: "", brief: false, derived: false };
    shape().iter().for_each(|entry| within.add(entry, &mut all));
    all
}

impl Within<'_> {
    fn add(self, entry: &FigureEntry, all: &mut Vec<Metric>) {
        let FigureEntry { name, about, figure, shape } = entry;
        let Figure { label, heading, id, .. } = *figure;
        let joined = |prefix: &str, key: &str| match prefix {
            "" => key.to_owned(),
            _ => format!("{prefix}.{key}"),
        };
        let path = joined(self.path, name);
        let id = if id.is_empty() { joined(self.id, name) } else { id.to_owned() };
        let label = if label.is_empty() { name.replace('_', " ") } else { label.replace("{}", self.label) };
        let derived = self.derived || figure.derived;
        let heading = if heading.is_empty() { self.heading } else { heading };
        let (shape, list) = inner(shape);
        match shape {
            FigureShape::Group(group) => {
                let mark = if list { "[]" } else { "" };
                let (path, id) = (format!("{path}{mark}"), format!("{id}{mark}"));
                // Tables do not show the members of a list.
                let heading = if list { "" } else { heading };
                let within =
                    Within { path: &path, id: &id, label: &label, heading, brief: figure.brief, derived };
                group.entries.iter().for_each(|entry| within.add(entry, all));
            }
            FigureShape::Figure(kind) => {
                let hidden = heading.is_empty() || self.brief && label.starts_with(' ');
                all.push(Metric {
                    id,
                    path,
                    kind: *kind,
                    list,
                    unit: figure.unit,
                    label,
                    better: figure.better,
                    digest: !derived,
                    about: about.clone().into_owned(),
                    heading,
                    row: if hidden { TableRow::No } else { figure.row },
                });
            }
            _ => unreachable!("`inner` goes down to a group or a figure"),
        }
    }
}

/// The group or figure of a shape, and whether it is a list.
fn inner(shape: &FigureShape) -> (&FigureShape, bool) {
    match shape {
        FigureShape::List(of) => (inner(of).0, true),
        FigureShape::Nullable(of) | FigureShape::Optional(of) => inner(of),
        FigureShape::Figure(_) | FigureShape::Group(_) => (shape, false),
    }
}

/// The headings of tables, in order. Other headings, of schemes, come before the last one.
const HEADINGS: [&str; 13] = [
    "Response time, µs",
    "Where the time goes, mean, µs",
    "Throughput",
    "Write amplification",
    "Wear and use",
    "Redundancy",
    "Money and life",
    "Before time 0",
    "Map",
    "Several at once",
    "Errors of flash",
    "Energy",
    "Integrity",
];

/// The rows of the tables: `[[heading, [[label, path, kind, unit, better, always], …]], …]`. Better is −1 for lower, 1
/// for higher.
#[must_use]
pub fn rows() -> Value {
    let mut sections: Vec<(&str, Vec<Value>)> = Vec::new();
    for metric in registry().into_iter().filter(|metric| metric.row != TableRow::No) {
        let row = json!([
            metric.label,
            metric.path,
            kind(metric.kind),
            metric.unit,
            better(metric.better),
            metric.row == TableRow::Always
        ]);
        match sections.iter_mut().find(|(heading, _)| *heading == metric.heading) {
            Some((_, rows)) => rows.push(row),
            None => sections.push((metric.heading, vec![row])),
        }
    }
    let last = HEADINGS.len() - 1;
    sections.sort_by_key(|(heading, _)| {
        let place = HEADINGS.iter().position(|other| other == heading);
        place.map_or(2 * last - 1, |place| 2 * place)
    });
    json!(sections)
}

/// The whole registry: `{"types": {NAME: {"about", "absent", "fields": [{"name", "type", …}]}}, "metrics": […]}`.
#[must_use]
pub fn describe() -> Value {
    let mut types = Map::new();
    let summary = Group { name: "Summary", about: "What a run reports.", entries: shape() };
    add_type(&summary, &mut types);
    let mut absent = BTreeSet::new();
    find_absent(&summary, false, &mut absent);
    for name in absent {
        types[name]["absent"] = json!(true);
    }
    let metrics: Vec<Value> = registry().into_iter().map(|metric| metric.to_json()).collect();
    json!({ "types": types, "metrics": metrics })
}

impl Metric {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id, "path": self.path, "kind": kind(self.kind), "list": self.list, "unit": self.unit,
            "label": self.label.trim_start(), "better": better(self.better), "digest": self.digest,
            "about": self.about,
        })
    }
}

/// The types of a group and of all below it.
fn add_type(group: &Group, types: &mut Map<String, Value>) {
    let name = type_name(group);
    if types.contains_key(name) {
        return;
    }
    types.insert(name.to_owned(), Value::Null); // its place, before that of those below
    let fields = group.entries.iter().map(|entry| {
        let (shape, list) = inner(&entry.shape);
        let of = match shape {
            FigureShape::Group(group) => {
                add_type(group, types);
                type_name(group)
            }
            FigureShape::Figure(of) => kind(*of),
            _ => "",
        };
        json!({
            "name": entry.name, "type": of, "list": list,
            "nullable": has(&entry.shape, |shape| matches!(shape, FigureShape::Nullable(_))),
            "optional": has(&entry.shape, |shape| matches!(shape, FigureShape::Optional(_))),
            "unit": entry.figure.unit, "better": better(entry.figure.better),
            "derived": entry.figure.derived, "about": entry.about,
        })
    });
    let fields: Vec<Value> = fields.collect();
    types[name] = json!({ "about": group.about, "absent": false, "fields": fields });
}

/// Groups that some runs do not have.
fn find_absent(group: &Group, absent: bool, found: &mut BTreeSet<&'static str>) {
    if absent {
        found.insert(type_name(group));
    }
    for entry in &group.entries {
        if let (FigureShape::Group(group), list) = inner(&entry.shape) {
            // A list may be empty, but its key exists.
            let outer = if list { false } else { absent || !matches!(entry.shape, FigureShape::Group(_)) };
            find_absent(group, outer, found);
        }
    }
}

fn has(shape: &FigureShape, is: fn(&FigureShape) -> bool) -> bool {
    is(shape)
        || match shape {
            FigureShape::Nullable(of) | FigureShape::Optional(of) => has(of, is),
            _ => false,
        }
}

fn type_name(group: &Group) -> &'static str {
    group.name.strip_suffix("Figures").unwrap_or(group.name)
}

fn kind(kind: FigureKind) -> &'static str {
    match kind {
        FigureKind::Count => "count",
        FigureKind::Number => "number",
        FigureKind::Flag => "flag",
        FigureKind::Text => "text",
        FigureKind::Open => "open",
    }
}

fn better(better: Better) -> i8 {
    match better {
        Better::Neither => 0,
        Better::Lower => -1,
        Better::Higher => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_names_of_their_own_and_are_described() {
        let all = registry();
        let (ids, paths): (BTreeSet<_>, BTreeSet<_>) =
            all.iter().map(|metric| (&metric.id, &metric.path)).unzip();
        assert_eq!((ids.len(), paths.len()), (all.len(), all.len()));
        for metric in &all {
            assert!(metric.about.ends_with('.'), "{}: a sentence ends with a full stop", metric.path);
            let numeric = matches!(metric.kind, FigureKind::Count | FigureKind::Number);
            assert_eq!(
                numeric,
                !metric.unit.is_empty() || ["schema", "seed"].contains(&&*metric.path),
                "{}: its unit",
                metric.path
            );
        }
    }

    #[test]
    fn a_type_name_means_one_type() {
        fn collect(group: &Group, found: &mut Vec<(&'static str, Vec<String>)>) {
            let keys: Vec<String> =
                group.entries.iter().map(|entry| entry.name.clone().into_owned()).collect();
            match found.iter().find(|(name, _)| *name == type_name(group)) {
                Some((name, other)) => assert_eq!(&keys, other, "{name}"),
                None => found.push((type_name(group), keys)),
            }
            for entry in &group.entries {
                if let (FigureShape::Group(group), _) = inner(&entry.shape) {
                    collect(group, found);
                }
            }
        }
        collect(&Group { name: "Summary", about: "", entries: shape() }, &mut Vec::new());
    }
}
