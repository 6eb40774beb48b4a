//! The options of policies: a resolved drive has those of what it selects; others have no effect, with a warning.

use super::check::Resolved;
use super::keys::DriveSpec;
use super::load::Given;
use super::packing::word_line;
use crate::blocks::{victim, wear};
use crate::device::port::{
    DRAM, DramOptions, Evict, FLUSH, Flush, FlushBatch, FlushRule, IdleFlush, WRITE_POLICY, Watermarks,
    WriteBackOptions, WritePolicy,
};
use crate::disk::{CURVE, SeekSpec};
use crate::flash::errors::{ECC, ERRORS, MAINTENANCE, RETRY};
use crate::flash::{COMMANDS, SLC, SUSPEND_TIMES, SUSPENSIONS, Suspend};
use crate::ftl::ageing::{self, AgedOptions, ValidOptions};
use crate::ftl::allocation::{self, StrideOptions};
use crate::ftl::{
    BUDGET, GatherOptions, MAP_MEMORY, MapWriteOptions, SHARED_PAGES, SLC_CACHE, WarrantyOptions,
};
use crate::kernel::Span;
use crate::mapping::{self, BackendKind, CacheStart, DftlOptions, LogBlocks};
use crate::options::{Options, Selector};
use crate::schemes::{self, Members, SchemeEntry, Sums};
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

const NO_SUSPENSIONS: &str = "with flash.commands.suspend = \"off\"";

fn suspends(spec: &DriveSpec) -> bool {
    spec.flash.commands.suspend != Suspend::Off
}

/// Whether the DRAM acknowledges no writes.
fn writes_through(spec: &DriveSpec) -> bool {
    spec.buffer.options.read::<DramOptions>().write_policy == WritePolicy::Through
}

const NO_DRAM: &str = "with buffer.dram_mib = 0";
const NO_ERRORS: &str = "with errors.model = \"none\"";
const NO_SLC: &str = "with flash.slc.blocks = 0";

const TABLES: &[OptionTable] = &[
    OptionTable {
        name: "flash.commands",
        options: |spec| Some(&mut spec.flash.commands.options),
        selectors: &[
            (COMMANDS, |spec| {
                let sends_several = spec.flash.commands.are_used() || spec.flash.pages_per_program > 1;
                only(
                    sends_several,
                    "unless a command of flash.commands is on, or flash.pages_per_program more than 1",
                )
            }),
            (SUSPENSIONS, |spec| only(suspends(spec), NO_SUSPENSIONS)),
        ],
    },
    OptionTable {
        name: "flash.timing",
        options: |spec| Some(&mut spec.flash.timing.options),
        selectors: &[(SUSPEND_TIMES, |spec| only(suspends(spec), NO_SUSPENSIONS))],
    },
    OptionTable {
        name: "flash.slc",
        options: |spec| Some(&mut spec.flash.slc.options),
        selectors: &[(SLC, |spec| only(spec.flash.slc.blocks > 0, NO_SLC))],
    },
    OptionTable {
        name: "ftl.slc",
        options: |spec| Some(&mut spec.ftl.slc.options),
        selectors: &[(SLC_CACHE, |spec| only(spec.flash.slc.blocks > 0, NO_SLC))],
    },
    OptionTable {
        name: "errors",
        options: |spec| Some(&mut spec.errors.options),
        selectors: &[(ERRORS, |spec| named("errors.model", &spec.errors.model))],
    },
    OptionTable {
        name: "errors.ecc",
        options: |spec| Some(&mut spec.errors.ecc.options),
        selectors: &[(ECC, |spec| only(spec.errors.is_on(), NO_ERRORS))],
    },
    OptionTable {
        name: "errors.retry",
        options: |spec| Some(&mut spec.errors.retry.options),
        selectors: &[(RETRY, |spec| only(spec.errors.is_on(), NO_ERRORS))],
    },
    OptionTable {
        name: "errors.maintenance",
        options: |spec| Some(&mut spec.errors.maintenance.options),
        selectors: &[(MAINTENANCE, |spec| only(spec.errors.is_on(), NO_ERRORS))],
    },
    OptionTable {
        name: "ftl",
        options: |spec| Some(&mut spec.ftl.options),
        selectors: &[
            (allocation::SELECTOR, |spec| {
                named("ftl.allocation", allocation::named(&spec.ftl.allocation).name)
            }),
            (SHARED_PAGES, |spec| match word_line(spec) > 1 {
                true => only(!fixes_places(spec), "if the scheme or the map determines each page's place"),
                false => only(
                    false,
                    "unless ftl.logical_page_kib is less than flash.page_kib, or flash.pages_per_program more than 1",
                ),
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
        selectors: &[
            (DRAM, |spec| only(spec.buffer.dram_mib > 0.0, NO_DRAM)),
            (WRITE_POLICY, |spec| match spec.buffer.dram_mib > 0.0 {
                true => named("buffer.write_policy", spec.buffer.options.read::<DramOptions>().write_policy),
                false => only(false, NO_DRAM),
            }),
            (FLUSH, |spec| match (spec.buffer.dram_mib > 0.0, writes_through(spec)) {
                (true, false) => named("buffer.flush", spec.buffer.options.read::<WriteBackOptions>().flush),
                (true, true) => only(false, "with buffer.write_policy = \"through\""),
                (false, _) => only(false, NO_DRAM),
            }),
        ],
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
pub(super) fn fixes_places(spec: &DriveSpec) -> bool {
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
    choose_evicted(spec);
    warnings
}

/// Stripes of a parity scheme leave the write buffer together, unless the drive file says otherwise: the parity of a
/// full stripe needs no reads.
fn choose_evicted(spec: &mut DriveSpec) {
    let parity = schemes::named(&spec.redundancy.scheme).is_some_and(SchemeEntry::has::<Sums>);
    let through = writes_through(spec);
    let options = &mut spec.buffer.options;
    let buffers = spec.buffer.dram_mib > 0.0 && !through;
    if buffers && options.read::<WriteBackOptions>().evict.is_none() {
        options.set("evict", if parity { Evict::Stripe } else { Evict::Page });
    }
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

/// Chunks that are rebuilt at a time for each member, if the rebuild of one writes to several.
const CHUNKS_AT_A_TIME: u64 = 8;

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

    /// The number of entries in the cache of its map, or of that of a member.
    #[must_use]
    pub fn map_cache_entries(&self) -> u32 {
        self.array.iter().map(Resolved::map_cache_entries).max().unwrap_or_else(|| self.cache_entries())
    }

    /// Whether the cache of its map has entries at time 0.
    #[must_use]
    pub fn starts_with_warm_map(&self) -> bool {
        self.map().below == BackendKind::Mapped
            && self.spec.ftl.options.read::<DftlOptions>().cache_start == CacheStart::Warm
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

    /// The longest time that a page waits for others to be programmed with it, µs.
    pub(super) fn gather_us(&self) -> f64 {
        self.spec.ftl.options.read::<GatherOptions>().gather_us
    }

    /// What a full write cache evicts.
    #[must_use]
    pub fn evicts(&self) -> Evict {
        self.spec.buffer.options.read::<WriteBackOptions>().evict.unwrap_or(Evict::Page)
    }

    /// Whether its DRAM holds clean copies only, and acknowledges no writes.
    #[must_use]
    pub fn writes_through(&self) -> bool {
        writes_through(&self.spec)
    }

    /// The capacity of its write cache in sectors.
    #[must_use]
    pub fn cache_sectors(&self) -> u64 {
        if self.writes_through() { 0 } else { self.dram_sectors() }
    }

    /// The room for clean copies in its DRAM, in sectors.
    #[must_use]
    pub fn copied_sectors(&self) -> u64 {
        if self.writes_through() { self.dram_sectors() } else { 0 }
    }

    fn dram_sectors(&self) -> u64 {
        self.buffer_bytes() / u64::from(self.spec.flash.sector_bytes)
    }

    /// Whether its write cache survives a power loss.
    #[must_use]
    pub fn has_protected_buffer(&self) -> bool {
        self.spec.buffer.options.read::<WriteBackOptions>().protected
    }

    /// When its write cache writes back although it has room.
    #[must_use]
    pub fn flush_rule(&self) -> FlushRule {
        let options = &self.spec.buffer.options;
        let capacity = self.buffer_bytes() / u64::from(self.spec.flash.sector_bytes);
        let pages =
            options.read::<FlushBatch>().flush_pages.map_or_else(|| self.programmed_at_once(), u64::from);
        let most = (pages * self.page_sectors()).min(capacity / 2).max(1);
        let share = |share: f64| (capacity as f64 * share) as u64;
        match options.read::<WriteBackOptions>().flush {
            Flush::None => FlushRule::Never,
            Flush::Idle => {
                let after = Span((options.read::<IdleFlush>().flush_after_us * 1e3).round() as u64);
                FlushRule::Idle { after, most }
            }
            Flush::Watermark => {
                let marks = options.read::<Watermarks>();
                FlushRule::Watermark { above: share(marks.flush_above), below: share(marks.stop()), most }
            }
        }
    }

    /// Pages of a member that are rebuilt at a time, if the user does not say.
    #[must_use]
    pub fn rebuild_depth(&self) -> u32 {
        let member = match self.is_array() {
            true => self.array.iter().map(Resolved::parallelism).max(),
            false => Some(self.parallelism() / u64::from(self.parts().max(1))),
        };
        let targets = u64::from((self.scheme().rebuild_targets)(self.members(), &self.spec.redundancy));
        // Consecutive stripes of a chunk are on the same members: with several chunks for each, none waits for work.
        let each = |pages: u64| {
            if targets > 1 {
                pages.max(u64::from(self.unit_pages())) * targets * CHUNKS_AT_A_TIME
            } else {
                pages
            }
        };
        member.map(each).and_then(|pages| u32::try_from(pages).ok()).unwrap_or(0).clamp(8, 65_536)
    }

    /// Programs that can be under way at a time: one for each plane, or for each disk.
    fn parallelism(&self) -> u64 {
        if self.is_array() {
            return self.array.iter().map(Resolved::parallelism).sum();
        }
        let flash = &self.spec.flash;
        let planes = [flash.channels, flash.chips_per_channel, flash.dies_per_chip, flash.planes_per_die];
        if self.is_disk() { 1 } else { planes.into_iter().map(u64::from).product() }
    }

    /// Pages that programs under way at a time can hold.
    fn programmed_at_once(&self) -> u64 {
        match self.is_array() {
            true => self.array.iter().map(Resolved::programmed_at_once).sum(),
            false => self.parallelism() * u64::from(self.word_line()),
        }
    }

    /// The warranty for which drive writes per day are reported.
    #[must_use]
    pub fn warranty_years(&self) -> f64 {
        self.spec.ftl.wear.options.read::<WarrantyOptions>().warranty_years
    }
}
