//! How the options of a policy are declared.
//!
//! A policy is what the value of a key names: a redundancy scheme, a victim policy, an address map. Its file declares
//! its options: parts, each a struct with doc comments (the schema's descriptions), ranges and defaults. A table of a
//! drive file has a field [`Options`] beside its own keys, for the options of what these keys select, and a
//! [`Selector`] for each such key. The keys, their ranges, defaults, descriptions and messages come from these.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::any::TypeId;

/// The values of options by key, beside the other keys of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Options(Value);

impl Default for Options {
    fn default() -> Self {
        Options(Value::Object(Map::new()))
    }
}

impl Options {
    /// Reads a part of the options, with defaults for missing ones.
    ///
    /// # Panics
    /// If a value does not fit its key, which the readers of drive files check.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self) -> T {
        T::deserialize(&self.0).expect("values fit their keys")
    }

    /// Sets an option.
    ///
    /// # Panics
    /// Never: values of options can be written as JSON.
    pub fn set(&mut self, key: &str, value: impl Serialize) {
        self.0[key] = serde_json::to_value(value).expect("an option");
    }

    /// Sets all options of a part; one without a value is removed, so that its default applies.
    ///
    /// # Panics
    /// Never: parts can be written as JSON.
    pub fn put(&mut self, part: impl Serialize) {
        let values = serde_json::to_value(part).expect("a part");
        let (Some(options), Some(values)) = (self.0.as_object_mut(), values.as_object()) else { return };
        for (key, value) in values {
            match value {
                Value::Null => options.remove(key),
                value => options.insert(key.clone(), value.clone()),
            };
        }
    }

    /// The options that are set, by key.
    pub fn given(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.as_object().into_iter().flatten()
    }

    /// Replaces all options by those of these parts, with defaults for missing ones.
    pub fn keep(&mut self, parts: &[&OptionsPart]) {
        let values = parts.iter().flat_map(|part| (part.values)(&self.0));
        self.0 = Value::Object(values.filter(|(_, value)| !value.is_null()).collect());
    }
}

/// A part of a policy's options: the keys of a struct.
#[derive(Clone, Copy, Debug)]
pub struct OptionsPart {
    id: fn() -> TypeId,
    schema: fn(&mut SchemaGenerator) -> Schema,
    /// Its values among all options, with defaults for missing ones; null for an option without a value.
    values: fn(&Value) -> Map<String, Value>,
}

impl OptionsPart {
    /// The part that this struct is.
    #[must_use]
    pub const fn of<T: JsonSchema + Serialize + DeserializeOwned + 'static>() -> OptionsPart {
        OptionsPart { id: TypeId::of::<T>, schema: T::json_schema, values: values::<T> }
    }

    /// Whether it is the part of that struct.
    #[must_use]
    pub fn is<T: 'static>(&self) -> bool {
        (self.id)() == TypeId::of::<T>()
    }

    /// Its keys.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        (self.values)(&Value::Object(Map::new())).into_iter().map(|(key, _)| key).collect()
    }

    /// The schema of each of its keys.
    pub fn properties(&self, generator: &mut SchemaGenerator) -> Map<String, Value> {
        let schema = (self.schema)(generator).to_value();
        schema["properties"].as_object().cloned().unwrap_or_default()
    }
}

fn values<T: Serialize + DeserializeOwned>(given: &Value) -> Map<String, Value> {
    let part = T::deserialize(given).expect("values fit their keys");
    match serde_json::to_value(part) {
        Ok(Value::Object(values)) => values,
        _ => Map::new(),
    }
}

/// A value of a key, and the options that it brings.
#[derive(Clone, Copy, Debug)]
pub struct SelectorValue {
    /// The value.
    pub name: &'static str,
    /// Its options.
    pub options: &'static [OptionsPart],
}

/// A key of a table whose values have options.
#[derive(Clone, Copy, Debug)]
pub struct Selector {
    /// The key, within its table.
    pub key: &'static str,
    /// Its values. A key that is a number or a switch has one, the empty text, which represents all values with which
    /// the options have an effect.
    pub values: fn() -> Vec<SelectorValue>,
    /// Whether the state of a drive depends on these options: if so, a saved drive is loaded only with the same ones.
    pub shapes_state: bool,
}

impl Selector {
    /// A key that is a number or a switch, and a part of options on which the state of a drive does not depend.
    #[must_use]
    pub const fn of<T: JsonSchema + Serialize + DeserializeOwned + 'static>(key: &'static str) -> Selector {
        let values = || vec![SelectorValue { name: "", options: const { &[OptionsPart::of::<T>()] } }];
        Selector { key, values, shapes_state: false }
    }

    /// The options that a value of its key brings.
    #[must_use]
    pub fn options(&self, name: &str) -> &'static [OptionsPart] {
        (self.values)().iter().find(|value| value.name == name).map_or(&[], |value| value.options)
    }

    /// The options of all values, each part once, and the values that have it.
    fn parts(&self) -> Vec<(&'static OptionsPart, Vec<&'static str>)> {
        let mut parts: Vec<(&'static OptionsPart, Vec<&'static str>)> = Vec::new();
        for value in (self.values)() {
            for part in value.options {
                match parts.iter_mut().find(|(known, _)| (known.id)() == (part.id)()) {
                    Some((_, names)) => names.push(value.name),
                    None => parts.push((part, vec![value.name])),
                }
            }
        }
        parts
    }

    /// The keys of the options of all values.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.parts().iter().flat_map(|(part, _)| part.keys()).collect()
    }
}

/// The schema of a table's options: those of all values of its selectors.
pub fn schema(generator: &mut SchemaGenerator, selectors: &[Selector]) -> Schema {
    let mut properties = Map::new();
    for selector in selectors {
        for (part, names) in selector.parts() {
            for (key, mut schema) in part.properties(generator) {
                // A list without a default has no number.
                if schema.get("default") == Some(&Value::Array(Vec::new()))
                    && let Some(schema) = schema.as_object_mut()
                {
                    schema.remove("default");
                }
                if names != [""] {
                    schema["x-selected-by"] = serde_json::json!({ selector.key: &names });
                }
                properties.entry(key).or_insert(schema);
            }
        }
    }
    json_schema!({ "type": "object", "properties": properties })
}

/// An option that contradicts the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongOption {
    /// Its key in a drive file, such as `redundancy.KEY`.
    pub key: &'static str,
    /// The value found, and the values accepted.
    pub message: String,
}
