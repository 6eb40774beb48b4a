//! The drives that come with flashkeep, each a file in `drives/` and a line here.

use crate::error::did_you_mean;

/// A preset, as `flashkeep drives` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetInfo {
    /// Its name: the file's stem.
    pub name: &'static str,
    /// One line about it.
    pub description: String,
    /// The file, comments and sources included.
    pub text: &'static str,
}

macro_rules! table {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../drives/", $name, ".toml")))),*]
    };
}

/// The table of presets. Files that end in `-base` have values that several presets share; they are read by name, but
/// not listed.
const TABLE: &[(&str, &str)] = table![
    "ssdsim-base",
    "ssdsim-basic",
    "aging-8gb",
    "aging-8gb-aged",
    "sirf-1-base",
    "1CNM-64",
    "2CM-128",
    "2CNM-64",
    "4CM-128",
    "4CNM-64",
    "8CM-128",
    "4CNM-32",
    "8CM-64",
    "4CNM-128",
    "8CM-256",
    "dvs-8chip",
    "tlc-client",
    "tlc-datacenter",
    "tlc-datacenter-3dwpd",
    "8-tlc-datacenter-raid6",
    "12-tlc-datacenter-draid2",
    "qlc-capacity",
    "st3500630a",
    "nearline-18tb",
    "atc08-32gb",
    "atc08-ideal",
    "atc08-interleaved",
    "atc08-rounds",
    "atc08-interplane",
    "atc08-element",
    "atc08-gang8-bus",
    "atc08-gang16-bus",
    "atc08-gang8-async",
    "atc08-gang8-sync",
    "asplos21-tlc",
    "intel-320-160",
    "t7-mirror-base",
    "t7-ssd-raid1",
    "t7-ssd-raid5",
    "t7-hybrid-mirror-base",
    "t7-hybrid-raid1",
    "t7-hpda",
    "t7-backup-pair",
    "t7-backup-8",
    "t7-backup-16",
    "t7-backup-32",
    "t7-backup-64",
    "t7-backup-3disks",
];

/// The presets in the order of the table.
#[must_use]
pub fn presets() -> Vec<PresetInfo> {
    let listed = TABLE.iter().filter(|(name, _)| !name.ends_with("-base"));
    listed.map(|&(name, text)| PresetInfo { name, description: description(text), text }).collect()
}

/// A preset's file, comments and sources included.
#[must_use]
pub fn preset_text(name: &str) -> Option<&'static str> {
    find(name).map(|(_, text)| text)
}

pub(super) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    TABLE.iter().copied().find(|(known, _)| *known == name)
}

/// The message for an unknown preset.
pub(super) fn unknown(name: &str) -> String {
    let hint =
        did_you_mean(name, TABLE.iter().map(|(known, _)| *known).filter(|known| !known.ends_with("-base")));
    let end = if hint.is_empty() { "." } else { "" };
    format!(
        "no preset has this name{hint}{end} `flashkeep drives` lists the presets; a drive file is a path \
         that has a `/` or ends in `.toml`"
    )
}

fn description(text: &str) -> String {
    let table = text.parse::<toml::Table>().unwrap_or_default();
    table.get("description").and_then(toml::Value::as_str).unwrap_or_default().into()
}
