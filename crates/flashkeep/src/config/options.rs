//! The options of policies: a resolved drive has those of what it selects; others have no effect, with a warning.

use super::check::Resolved;
use super::keys::DriveSpec;
use super::load::Given;
use super::packing::places;
use crate::blocks::{victim, wear};
use crate::device::port::{DRAM, Evict, EvictOptions};
use crate::disk::{CURVE, SeekSpec};
use crate::flash::COMMANDS;
use crate::ftl::ageing::{self, AgedOptions, ValidOptions};
use crate::ftl::allocation::{self, StrideOptions};
use crate::ftl::{BUDGET, GatherOptions, MAP_MEMORY, MapWriteOptions, SHARED_PAGES, WarrantyOptions};
use crate::mapping::{self, BackendKind, DftlOptions, LogBlocks};
use crate::options::{Options, Selector};
use crate::schemes::{self, Members};
use serde_json::Value;

/// A table of a drive file that has options of policies.
struct OptionTable {
    name: &'static str,
    options: fn(&mut DriveSpec) -> Option<&mut Options>,
    selectors: &'static [Selecting],
}

/// A key that selects, and what it selects in a drive.
type Selecting = (Selector, fn(&DriveSpec) -> Selection);

/// What a key selects, and why the options of its other values have no effect.
struct Selection {
    /// The value; none if it has no options.
    value: Option<String>,
    why: String,
}

/// The value of a key that names a policy.
fn named(key: &str, name: impl serde::Serialize) -> Selection {
    let name = serde_json::to_value(name).unwrap_or_default();
    Selection { value: name.as_str().map(String::from), why: format!("with {key} = {name}") }
}

/// A key whose options have an effect under a condition.
fn only(condition: bool, why: &str) -> Selection {
    Selection { value: condition.then(String::new), why: why.into() }
}

const TABLES: &[OptionTable] = &[
    OptionTable {
        name: "flash.commands",
        options: |spec| Some(&mut spec.flash.commands.options),
        selectors: &[(COMMANDS, |spec| {
            only(spec.flash.commands.are_used(), "unless a command of flash.commands is on")
        })],
    },
    OptionTable {
        name: "ftl",
        options: |spec| Some(&mut spec.ftl.options),
        selectors: &[
            (allocation::SELECTOR, |spec| {
                named("ftl.allocation", allocation::named(&spec.ftl.allocation).name)
            }),
            (SHARED_PAGES, |spec| match places(spec) > 1 {
                true => only(!fixes_places(spec), "if the scheme or the map determines each page's place"),
                false => only(false, "unless ftl.logical_page_kib is less than flash.page_kib"),
            }),
            (mapping::SELECTOR, |spec| named("ftl.map", &spec.ftl.map)),
            (MAP_MEMORY, |spec| named("ftl.map_memory", spec.ftl.map_memory)),
        ],
    },
    OptionTable {
        name: "ftl.gc",
        options: |spec| Some(&mut spec.ftl.gc.options),
        selectors: &[(victim::SELECTOR, |spec| named("ftl.gc.victim", &spec.ftl.gc.victim))],
    },
    OptionTable {
        name: "ftl.wear",
        options: |spec| Some(&mut spec.ftl.wear.options),
        selectors: &[
            (wear::SELECTOR, |spec| named("ftl.wear.levelling", &spec.ftl.wear.levelling)),
            (BUDGET, |spec| only(spec.ftl.wear.erase_budget.is_some(), "without ftl.wear.erase_budget")),
        ],
    },
    OptionTable {
        name: "buffer",
        options: |spec| Some(&mut spec.buffer.options),
        selectors: &[(DRAM, |spec| only(spec.buffer.dram_mib > 0.0, "with buffer.dram_mib = 0"))],
    },
    OptionTable {
        name: "disk.seek",
        options: |spec| Some(&mut spec.disk.as_mut()?.seek.options),
        selectors: &[(CURVE, |spec| {
            let curve = spec.disk.as_ref().map(|disk| disk.seek.curve);
            named("disk.seek.curve", curve.unwrap_or(SeekSpec::default().curve))
        })],
    },
    OptionTable {
        name: "ageing",
        options: |spec| Some(&mut spec.ageing.options),
        selectors: &[(ageing::SELECTOR, |spec| named("ageing.model", &spec.ageing.model))],
    },
];

/// Whether the scheme or the map determines the place of each page.
fn fixes_places(spec: &DriveSpec) -> bool {
    let scheme = schemes::named(&spec.redundancy.scheme);
    let map = mapping::named(&spec.ftl.map);
    scheme.is_some_and(|scheme| scheme.kind == Members::Physical)
        || map.is_some_and(|map| map.below == BackendKind::Blocks)
}

/// Reduces the options of a drive to those of what it selects, with defaults for missing ones. Returns warnings about
/// others that the user set.
pub(super) fn select(spec: &mut DriveSpec, given: &Given) -> Vec<String> {
    let mut warnings = Vec::new();
    for table in TABLES {
        let Some(options) = (table.options)(spec) else { continue };
        let path = |key: &str| format!("{}.{key}", table.name);
        let by_hand = |key: &&String| given.by_hand(&path(key));
        let by_hand: Vec<String> = options.given().map(|(key, _)| key).filter(by_hand).cloned().collect();
        let mut kept = Vec::new();
        for (selector, select) in table.selectors {
            let Selection { value, why } = select(spec);
            let own = value.map_or(&[][..], |value| selector.options(&value));
            kept.extend(own);
            if by_hand.is_empty() {
                continue;
            }
            let (own, all) = (own.iter().flat_map(|part| part.keys()).collect::<Vec<_>>(), selector.keys());
            let unread = by_hand.iter().filter(|key| all.contains(key) && !own.contains(key));
            let unread: Vec<String> = unread.map(|key| path(key)).collect();
            if !unread.is_empty() {
                warnings.push(format!("{}: no effect {why}", unread.join(", ")));
            }
        }
        if let Some(options) = (table.options)(spec) {
            options.keep(&kept);
        }
    }
    warnings
}

/// Removes the options on which the state of a drive does not depend.
pub(super) fn drop_stateless(drive: &mut Value) {
    for table in TABLES {
        let Some(Value::Object(keys)) = drive.pointer_mut(&format!("/{}", table.name.replace('.', "/")))
        else {
            continue;
        };
        for (selector, _) in table.selectors.iter().filter(|(selector, _)| !selector.shapes_state) {
            let options = selector.keys();
            keys.retain(|key, _| !options.contains(key));
        }
    }
}

impl Resolved {
    /// The share of the pages that an ageing model writes.
    #[must_use]
    pub fn aged_ratio(&self) -> f64 {
        self.spec.ageing.options.read::<AgedOptions>().aged_ratio
    }

    /// The mean share of valid pages that it leaves.
    #[must_use]
    pub fn valid_ratio(&self) -> f64 {
        self.spec.ageing.options.read::<ValidOptions>().valid_ratio
    }

    /// The number of entries in the cache of the map.
    #[must_use]
    pub fn cache_entries(&self) -> u32 {
        self.spec.ftl.options.read::<DftlOptions>().entries()
    }

    /// The largest number of log or replacement blocks of each plane; none for all spare blocks.
    #[must_use]
    pub fn log_blocks(&self) -> Option<u32> {
        self.spec.ftl.options.read::<LogBlocks>().log_blocks
    }

    /// The time of a write to the map's memory, if the user chose one, µs.
    pub(super) fn map_write_us(&self) -> Option<f64> {
        self.spec.ftl.options.read::<MapWriteOptions>().map_write_us
    }

    /// `ftl.stride_pages`.
    pub(super) fn stride_pages(&self) -> u32 {
        self.spec.ftl.options.read::<StrideOptions>().stride_pages
    }

    /// The longest time that a page waits for others to share its flash page, µs.
    pub(super) fn gather_us(&self) -> f64 {
        self.spec.ftl.options.read::<GatherOptions>().gather_us
    }

    /// What a full write cache evicts.
    #[must_use]
    pub fn evicts(&self) -> Evict {
        self.spec.buffer.options.read::<EvictOptions>().evict
    }

    /// The warranty for which drive writes per day are reported.
    #[must_use]
    pub fn warranty_years(&self) -> f64 {
        self.spec.ftl.wear.options.read::<WarrantyOptions>().warranty_years
    }
}
