//! The digest: a hash of all simulated results of a run.

use super::registry;
use flashkeep_trace::random::mix;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// A running hash of every request's times; the digest is SHA-256 over it and the figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digest(u64);

impl Digest {
    /// Adds a request: its number and its times. The order of calls matters.
    #[inline]
    pub fn add(&mut self, request: u64, acknowledged: u64, service: u64) {
        self.0 = mix(self.0 ^ request.rotate_left(40) ^ acknowledged.rotate_left(16) ^ service);
    }

    /// The digest, as 64 hexadecimal digits, of all requests and of the figures in `summary`.
    ///
    /// The figures are pairs of id and value, sorted by id, so that neither their order nor a new name changes the
    /// digest. Text is left out (names may change), and so are figures that are zero or have no value: so a new counter
    /// does not change the digests of runs in which it stays zero.
    #[must_use]
    pub fn finish(self, summary: &Value) -> String {
        let mut hash = Sha256::new();
        hash.update(self.0.to_le_bytes());
        let registry = registry();
        let derived: BTreeSet<&str> =
            registry.iter().filter(|figure| !figure.digest).map(|figure| figure.path.as_str()).collect();
        let places = |path: &str| path.replace("[]", ".*");
        let renamed = registry.iter().filter(|figure| figure.id != figure.path);
        let ids: Vec<(String, String)> =
            renamed.map(|figure| (places(&figure.path), places(&figure.id))).collect();
        for (id, value) in pairs(summary, &ids, &derived) {
            hash.update(format!("{id}={value}\n"));
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The digested figures of a summary: ids and values, sorted. `ids` has the paths whose id differs from the path,
/// `derived` the figures that the digest leaves out.
fn pairs(summary: &Value, ids: &[(String, String)], derived: &BTreeSet<&str>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (key, value) in summary.as_object().into_iter().flatten() {
        if !derived.contains(key.as_str()) {
            collect(value, &mut key.clone(), &mut pairs);
        }
    }
    pairs.retain(|(path, _)| !derived.contains(&*declared(path)));
    for (path, _) in &mut pairs {
        if let Some(id) = ids.iter().find_map(|(now, id)| renamed(path, now, id)) {
            *path = id;
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The path of a figure as in the registry: `[]` instead of indices of lists.
fn declared(path: &str) -> String {
    let mut declared = String::new();
    for part in path.split('.') {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            declared.push_str("[]");
        } else {
            declared.push_str(if declared.is_empty() { "" } else { "." });
            declared.push_str(part);
        }
    }
    declared
}

/// Collects the figures at or below `value`, whose path is `path`.
fn collect(value: &Value, path: &mut String, pairs: &mut Vec<(String, String)>) {
    let mut below = |key: &str, value: &Value| {
        let length = path.len();
        path.push('.');
        path.push_str(key);
        collect(value, path, pairs);
        path.truncate(length);
    };
    match value {
        Value::Object(figures) => figures.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(place, value)| below(&place.to_string(), value));
        }
        Value::Bool(true) => pairs.push((path.clone(), "1".to_owned())),
        Value::Number(number) if number.as_f64() != Some(0.0) => {
            // A whole number is written in the same way whether it was counted or computed.
            let text = number.to_string();
            pairs.push((path.clone(), text.strip_suffix(".0").map_or(text.clone(), str::to_owned)));
        }
        Value::Number(_) | Value::Bool(false) | Value::Null | Value::String(_) => {}
    }
}

/// The id of the figure at `path` if `now` is the pattern of its path; list indices are copied from the path.
fn renamed(path: &str, now: &str, id: &str) -> Option<String> {
    let mut places = Vec::new();
    let mut parts = path.split('.');
    for pattern in now.split('.') {
        let part = parts.next()?;
        match pattern {
            "*" if part.bytes().all(|byte| byte.is_ascii_digit()) => places.push(part),
            _ if pattern == part => {}
            _ => return None,
        }
    }
    let mut places = places.into_iter();
    let mut words: Vec<&str> =
        id.split('.').map(|word| if word == "*" { places.next().unwrap_or(word) } else { word }).collect();
    words.extend(parts); // a group that has moved takes its figures with it
    Some(words.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLAIN: Digest = Digest(7);

    #[test]
    fn a_figure_that_is_renamed_or_moved_keeps_the_digest() {
        let old = json!({"operations": {"read": {"host": 5}}, "members": [{"wear": {"mean": 1.5}}, {"wear": {"mean": 2}}]});
        let new = json!({"parts": [{"mean": 1.5}, {"mean": 2}], "flash": {"reads": {"host": 5}}});
        let ids = [("flash.reads", "operations.read"), ("parts.*.mean", "members.*.wear.mean")];
        let ids = ids.map(|(now, id)| (now.to_owned(), id.to_owned()));
        let none = BTreeSet::new();
        assert_eq!(pairs(&old, &[], &none), pairs(&new, &ids, &none));
        assert_ne!(pairs(&old, &[], &none), pairs(&new, &[], &none));
    }

    #[test]
    fn what_the_registry_calls_derived_is_not_digested() {
        let more = json!({
            "operations": {"read": {"host": 5}}, "energy": {"total_j": 2.5}, "drive": {"flash": {"channels": 4}},
            "wear": {"erases_histogram": [{"from": 1, "to": 2, "blocks": 3}]}, "schema": 1,
        });
        assert_eq!(PLAIN.finish(&more), PLAIN.finish(&json!({"operations": {"read": {"host": 5}}})));
    }

    #[test]
    fn neither_order_nor_text_nor_a_figure_without_a_value_is_digested() {
        let one: Value = serde_json::from_str(r#"{"a": 1, "b": {"c": 2.0, "d": true}}"#).expect("JSON");
        let other: Value = serde_json::from_str(
            r#"{"b": {"d": true, "c": 2, "e": null, "f": "words", "g": 0}, "a": 1.0, "drive": {"h": 9}, "list": []}"#,
        )
        .expect("JSON");
        assert_eq!(PLAIN.finish(&one), PLAIN.finish(&other));
    }

    #[test]
    fn every_value_every_place_and_every_request_is_digested() {
        let summary = json!({"a": 1, "b": [{"c": 2.25}, {"c": 3}], "d": false});
        let changed = [
            json!({"a": 2, "b": [{"c": 2.25}, {"c": 3}], "d": false}),
            json!({"a": 1, "b": [{"c": 2.250000001}, {"c": 3}], "d": false}),
            json!({"a": 1, "b": [{"c": 3}, {"c": 2.25}], "d": false}),
            json!({"a": 1, "b": [{"c": 2.25}, {"c": 3}], "d": true}),
            json!({"a": 1, "b": [{"c": 2.25}], "d": false}),
        ];
        for each in changed {
            assert_ne!(PLAIN.finish(&summary), PLAIN.finish(&each), "{each}");
        }
        let mut more = PLAIN;
        more.add(1, 2, 3);
        assert_ne!(PLAIN.finish(&summary), more.finish(&summary));
    }
}
