//! The changes of a drive: its resolved values beside those of the preset that it is based on.

use super::files::DriveFiles;
use super::load::{load, load_with};
use super::source::{Source, is_path, with_pairs};
use crate::error::DriveError;
use serde_json::{Map, Value, json};
use std::rc::Rc;
use toml::de::DeValue;

/// `{"key": [before, here], …}`: the values of the resolved drive that differ from the nearest preset among its bases,
/// or from its own file if it has none. A key that one of them does not have is null there. `text` is the drive file, if
/// it is not in a file; `files` are as in [`load_with`].
///
/// # Errors
/// As [`load`](super::load()).
pub fn changes(
    files: &Rc<DriveFiles>,
    drive: &str,
    text: Option<&str>,
    set: &[String],
) -> Result<Value, DriveError> {
    let mut here = Map::new();
    flatten("", &load_with(files, drive, text, set)?.to_json(), &mut here);
    let own = if text.is_some() { drive } else { with_pairs(drive).0 };
    let below = preset_below(files, drive, text)
        .map_or_else(|| load_with(files, own, text, &[]), |preset| load(&preset, &[]));
    let mut before = Map::new();
    flatten("", &below?.to_json(), &mut before);
    let mut found = Map::new();
    for (key, value) in &here {
        let was = before.get(key).unwrap_or(&Value::Null);
        if was != value {
            found.insert(key.clone(), json!([was, value]));
        }
    }
    for (key, was) in before.iter().filter(|(key, was)| !was.is_null() && !here.contains_key(*key)) {
        found.insert(key.clone(), json!([was, null]));
    }
    Ok(Value::Object(found))
}

/// The nearest preset among a drive's bases. A drive that cannot be read has been refused before.
fn preset_below(files: &DriveFiles, drive: &str, text: Option<&str>) -> Option<String> {
    let (mut name, mut directory) = (with_pairs(drive).0.to_owned(), None);
    if let Some(text) = text {
        let source =
            Source { label: name.clone(), text: text.into(), directory: None, identity: name.clone() };
        name = base(&source)?;
    }
    while is_path(&name) {
        let source = Source::named(&name, directory.as_deref(), files).ok()?;
        name = base(&source)?;
        directory = source.directory;
    }
    Some(name)
}

fn base(source: &Source) -> Option<String> {
    match source.parse().ok()?.get_ref().get("base")?.get_ref() {
        DeValue::String(base) => Some(base.to_string()),
        _ => None,
    }
}

/// The values by dotted key, but for names and descriptions. Lists of tables are numbered: `members.0.name`.
fn flatten(prefix: &str, value: &Value, into: &mut Map<String, Value>) {
    let join = |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
    match value {
        Value::Object(table) => {
            let own = |key: &&String| !matches!(key.as_str(), "name" | "description");
            table.keys().filter(own).for_each(|key| flatten(&join(key), &table[key], into));
        }
        Value::Array(list) if list.iter().any(Value::is_object) => {
            list.iter().enumerate().for_each(|(at, item)| flatten(&join(&at.to_string()), item, into));
        }
        _ => {
            into.insert(prefix.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(drive: &str, set: &[&str]) -> Value {
        changes(&Rc::default(), drive, None, &set.iter().map(|&pair| pair.to_owned()).collect::<Vec<_>>())
            .expect("a drive")
    }

    #[test]
    fn a_preset_is_unchanged_and_values_set_to_what_they_are_change_nothing() {
        assert_eq!(changed("1CNM-64", &[]), json!({}));
        assert_eq!(changed("1CNM-64", &["redundancy.scheme=none"]), json!({}));
    }

    #[test]
    fn what_was_set_stands_beside_the_value_of_the_preset() {
        let found = changed("2CNM-64", &["redundancy.scheme=mirror", "buffer.dram_mib=16"]);
        assert_eq!(found["redundancy.scheme"], json!(["none", "mirror"]));
        assert_eq!(found["buffer.dram_mib"][1], json!(16.0));
        assert_eq!(changed("2CNM-64,redundancy.scheme=mirror,buffer.dram_mib=16", &[]), found);
    }

    #[test]
    fn a_file_is_compared_with_the_preset_below_it() {
        let folder = std::env::temp_dir().join(format!("flashkeep-changes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        std::fs::write(path("below.toml"), "base = \"1CNM-64\"\n[flash]\nchannels = 4\n").expect("a file");
        std::fs::write(path("above.toml"), "base = \"./below.toml\"\n[flash]\npage_kib = 8\n")
            .expect("a file");
        let found = changed(&path("above.toml"), &["flash.pages_per_block=32"]);
        for key in ["flash.channels", "flash.page_kib", "flash.pages_per_block"] {
            assert!(found.get(key).is_some(), "{key} in {found}");
        }
        std::fs::write(path("own.toml"), "[flash]\nchannels = 4\n").expect("a file");
        assert_eq!(changed(&path("own.toml"), &[]), json!({}));
        let text = "base = \"1CNM-64\"\n[flash]\nchannels = 4\n";
        let found = changes(&Rc::default(), "a mapping", Some(text), &[]).expect("a drive");
        assert_eq!(found["flash.channels"][1], json!(4));
        assert_eq!(changed(&path("own.toml"), &["flash.channels=2"])["flash.channels"], json!([4, 2]));
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
