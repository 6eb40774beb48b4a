//! Checks across keys: sizes that fit each other, room for garbage collection, schemes that suit the
//! geometry.

use super::keys::DriveSpec;
use super::load::Given;
use super::options;
use super::packing::page_bytes;
use super::pools::pooled;
use crate::device::port::Watermarks;
use crate::error::DriveError;
use crate::flash::{
    BusUse, BusyUnit, ErrorModel, FlashEnergySpec, MultiPlane, PageTypes, RegisterOptions, Suspend, Times,
};
use crate::ftl::Pool;
use crate::ftl::allocation::Binding;
use crate::host::Existing;
use crate::kernel::whole;
use crate::schemes::RedundancySpec;
use serde_json::Value;
use std::sync::Arc;

/// Page addresses have 32 bits, and 0 represents no page.
const MOST_PAGES: u128 = (1 << 31) - 2;

/// A page's sectors are a mask of 64 bits.
const MOST_SECTORS: u64 = 64;

/// A channel's busy units are a mask of 64 bits.
const MOST_UNITS: u64 = 64;

/// A checked drive, with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// All keys of the drive file.
    pub spec: DriveSpec,
    /// The drive as the user named it: a path or a preset's name.
    pub path: String,
    /// Warnings about values that can be simulated but are probably not intended, one line each.
    pub warnings: Vec<String>,
    /// The parsed `ftl.allocation`.
    pub allocation: Binding,
    /// The times in whole ns.
    pub timing: Times,
    /// The page types and their times.
    pub page_types: PageTypes,
    /// The error model; none if reads of healthy flash never fail.
    pub errors: Option<Arc<ErrorModel>>,
    /// The members of an array; empty for other drives.
    pub array: Vec<Resolved>,
    /// For an array whose members form groups (`redundancy.width`): the redundancy as in the drive file. `members` are
    /// then the groups, and the array stripes over them.
    pub grouped: Option<RedundancySpec>,
    /// `errors.uber_target`, if a file or `--set` states it, whether or not there is an error model.
    pub stated_uber: Option<f64>,
    /// Whether it, or a member, was given `start.existing = "steady"`.
    pub starts_steady: bool,
    /// Whether an array that it is in computes parity.
    pub has_parity_above: bool,
}

impl Resolved {
    /// The resolved drive as summaries carry it: the keys of a drive file that have an effect, defaults filled in.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut keys = serde_json::to_value(&self.spec).unwrap_or_default();
        if let Some(keys) = keys.as_object_mut() {
            if let Some(redundancy) = &self.grouped {
                keys.insert("redundancy".into(), serde_json::to_value(redundancy).unwrap_or_default());
            }
            if self.is_array() {
                keys.retain(|key, _| !super::array::OF_DRIVES.contains(&key.as_str()));
            } else {
                keys.remove("array");
            }
        }
        self.without_flash(keys)
    }

    /// A spec and the values derived from its flash alone, unchecked.
    pub(super) fn plain(spec: DriveSpec, path: &str) -> Resolved {
        let page_types = PageTypes::alike(&spec.flash.timing);
        Resolved {
            timing: timing(&spec, &page_types),
            spec,
            path: path.into(),
            warnings: Vec::new(),
            allocation: Binding::DYNAMIC,
            page_types,
            errors: None,
            array: Vec::new(),
            grouped: None,
            stated_uber: None,
            starts_steady: false,
            has_parity_above: false,
        }
    }

    /// Bytes in a page.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        page_bytes(&self.spec)
    }

    /// Flash pages per logical page.
    #[must_use]
    pub fn logical_page(&self) -> u32 {
        let pages = self.spec.ftl.logical_page_kib / self.spec.flash.page_kib;
        (pages as u32).max(1)
    }

    /// The number of consecutive pages on one channel or chip, if the address fixes it.
    #[must_use]
    pub fn stride(&self) -> u32 {
        match self.stride_pages() {
            0 => self.logical_page().max(self.word_line()),
            pages => pages,
        }
    }

    /// Sectors in a page.
    #[must_use]
    pub fn page_sectors(&self) -> u64 {
        self.page_bytes() / u64::from(self.spec.flash.sector_bytes)
    }

    /// Bytes that cross the pins for a whole page.
    #[must_use]
    pub fn pin_bytes(&self) -> u64 {
        self.page_sectors() * u64::from(self.spec.flash.pin_bytes_per_sector)
    }

    /// Planes in the drive.
    #[must_use]
    pub fn planes(&self) -> u64 {
        let flash = &self.spec.flash;
        product(&[flash.channels, flash.chips_per_channel, flash.dies_per_chip, flash.planes_per_die])
    }

    /// Data pages in all of the flash.
    #[must_use]
    pub fn physical_pages(&self) -> u64 {
        self.planes() * product(&[self.spec.flash.blocks_per_plane, self.block_pages()])
    }

    /// Bytes of all of the flash.
    #[must_use]
    pub fn physical_bytes(&self) -> u64 {
        if self.is_array() {
            return self.array.iter().map(Resolved::physical_bytes).sum();
        }
        self.physical_pages() * self.page_bytes()
    }

    /// The number of pages that the host sees.
    #[must_use]
    pub fn logical_pages(&self) -> u64 {
        self.capacity_sectors().div_ceil(self.page_sectors())
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_sectors() * u64::from(self.spec.flash.sector_bytes)
    }

    /// Bytes of the DRAM buffer, 0 without one.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        (self.spec.buffer.dram_mib * 1_048_576.0) as u64
    }

    /// Whether the drive file gives currents of the flash.
    #[must_use]
    pub fn draws(&self) -> bool {
        let energy = &self.spec.flash.energy;
        energy.voltage_v.is_some()
            && *energy != FlashEnergySpec { voltage_v: energy.voltage_v, ..Default::default() }
    }

    /// Busy units (chips, dies or planes, by `flash.busy_unit`) on a channel.
    #[must_use]
    pub fn units_per_channel(&self) -> u64 {
        units_per_channel(&self.spec)
    }
}

/// Checks a drive across its keys and computes the derived values.
pub(super) fn resolve(spec: DriveSpec, given: &Given) -> Result<Resolved, DriveError> {
    let mut check = Check { spec, given, warnings: Vec::new() };
    check.choose_victims();
    let starts_steady = check.choose_start();
    let stated_errors = check.spec.errors.clone();
    check.warnings = options::select(&mut check.spec, given);
    check.disk()?;
    check.page()?;
    check.size()?;
    let allocation = check.spec.ftl.allocation.parse();
    let allocation = allocation.map_err(|message: String| check.wrong(&["ftl.allocation"], message))?;
    check.pools();
    check.redundancy()?;
    check.wear()?;
    check.handles()?;
    check.room()?;
    check.mapping()?;
    check.victim_file()?;
    check.threshold();
    buffer(&check.spec, given)?;
    check.start();
    check.elements(allocation)?;
    check.host()?;
    check.commands();
    check.slc()?;
    check.cleaning()?;
    check.ageing()?;
    check.energy()?;
    let page_types = check.page_types()?;
    check.word_lines(&page_types)?;
    let errors = check.errors(&stated_errors, &page_types)?;
    let timing = timing(&check.spec, &page_types);
    let Check { spec, warnings, .. } = check;
    Ok(Resolved {
        spec,
        path: given.drive().into(),
        warnings,
        allocation,
        timing,
        page_types,
        errors,
        array: Vec::new(),
        grouped: None,
        stated_uber: given.number("errors.uber_target"),
        has_parity_above: false,
        starts_steady,
    })
}

pub(super) struct Check<'a> {
    pub(super) spec: DriveSpec,
    pub(super) given: &'a Given,
    pub(super) warnings: Vec<String>,
}

/// Checks the DRAM of a drive or an array.
pub(super) fn buffer(spec: &DriveSpec, given: &Given) -> Result<(), DriveError> {
    let (mib, page) = (spec.buffer.dram_mib, page_bytes(spec));
    if mib > 0.0 && mib * 1_048_576.0 < page as f64 {
        let message = format!("{mib} MiB is less than one page ({page} bytes); 0 means no buffer");
        return Err(given.error(&["buffer.dram_mib", "flash.page_kib"], message));
    }
    let marks: Watermarks = spec.buffer.options.read();
    if marks.stop() > marks.flush_above {
        let (stop, start) = (marks.stop(), marks.flush_above);
        let message = format!("the write-back stops at {stop} and begins above {start}");
        return Err(given.error(&["buffer.flush_below", "buffer.flush_above"], message));
    }
    Ok(())
}

impl Check<'_> {
    pub(super) fn wrong(&self, keys: &[&str], message: impl Into<String>) -> DriveError {
        self.given.error(keys, message)
    }

    /// Checks that a page is a whole number of sectors, and that sectors are transferred whole.
    fn page(&mut self) -> Result<(), DriveError> {
        // Bytes transferred in addition to a sector are the drive's metadata; default: none.
        let pins = "flash.pin_bytes_per_sector";
        if !self.given.by_user(pins) && (!self.given.has(pins) || self.given.by_user("flash.sector_bytes")) {
            self.spec.flash.pin_bytes_per_sector = self.spec.flash.sector_bytes;
        }
        let flash = &self.spec.flash;
        let keys = ["flash.page_kib", "flash.sector_bytes"];
        let (bytes, sector) = (flash.page_kib * 1024.0, flash.sector_bytes);
        let page = format!("a page of {} KiB ({bytes} bytes)", flash.page_kib);
        if bytes < f64::from(sector) {
            return Err(self.wrong(&keys, format!("{page} is smaller than a sector of {sector} bytes")));
        }
        if bytes % f64::from(sector) != 0.0 {
            return Err(
                self.wrong(&keys, format!("{page} is not a whole number of sectors of {sector} bytes"))
            );
        }
        let sectors = page_bytes(&self.spec) / u64::from(sector);
        if sectors > MOST_SECTORS {
            let message = format!(
                "{page} has {sectors} sectors of {sector} bytes; at most {MOST_SECTORS} are accepted: \
                 smaller pages, or larger sectors"
            );
            return Err(self.wrong(&keys, message));
        }
        if flash.pin_bytes_per_sector < sector {
            let message = format!("found {}; at least a sector's {sector} bytes", flash.pin_bytes_per_sector);
            return Err(self.wrong(&[pins, "flash.sector_bytes"], message + " cross the pins"));
        }
        self.logical_page()
    }

    /// The flash can be addressed.
    fn size(&self) -> Result<(), DriveError> {
        let flash = &self.spec.flash;
        if flash.blocks_per_plane < 3 {
            let message = format!(
                "found {}; at least 3 are accepted: one being written, one reserved to collect into, one \
                 with data",
                flash.blocks_per_plane
            );
            return Err(self.wrong(&["flash.blocks_per_plane"], message));
        }
        if flash.busy_unit == BusyUnit::PlanePair && !flash.planes_per_die.is_multiple_of(2) {
            let message =
                format!("a die of {} planes has no pairs; an even number is accepted", flash.planes_per_die);
            return Err(self.wrong(&["flash.busy_unit", "flash.planes_per_die"], message));
        }
        let units = units_per_channel(&self.spec);
        if units > MOST_UNITS {
            let keys =
                ["flash.chips_per_channel", "flash.dies_per_chip", "flash.planes_per_die", "flash.busy_unit"];
            let message = format!(
                "{units} {} on one channel; at most {MOST_UNITS} units that are busy on their own are \
                 accepted: more channels, or a larger flash.busy_unit",
                plural(flash.busy_unit)
            );
            return Err(self.wrong(&keys, message));
        }
        let pools = pooled(&self.spec);
        let counts = [pools.channels, pools.chips_per_channel, pools.dies_per_chip, pools.planes_per_die];
        let blocks = pools.blocks_per_plane.saturating_add(pools.slc.blocks).min(1 << 31);
        let block = [blocks, pools.pages_per_block].map(u32::next_power_of_two);
        let pages = counts.iter().chain(&block).map(|&count| u128::from(count)).product::<u128>();
        if pages > MOST_PAGES {
            let keys = [
                "flash.channels",
                "flash.chips_per_channel",
                "flash.dies_per_chip",
                "flash.planes_per_die",
                "flash.blocks_per_plane",
                "flash.pages_per_block",
            ];
            let message = format!(
                "{pages} page addresses, where blocks_per_plane and pages_per_block count as the next power \
                 of two ({} and {}); at most {MOST_PAGES} (32 bits) are accepted: larger pages, or \
                 fewer of them",
                block[0], block[1]
            );
            return Err(self.wrong(&keys, message));
        }
        Ok(())
    }

    /// A page map of its own decides where pages go, so that it can use an SLC cache.
    fn slc(&self) -> Result<(), DriveError> {
        let flash = &self.spec.flash;
        if flash.slc.blocks == 0 {
            return Ok(());
        }
        let pages = flash.slc.pages(flash);
        if pages > flash.pages_per_block {
            let message = format!(
                "found {pages}; a block with one bit per cell has at most the {} pages of others",
                flash.pages_per_block
            );
            return Err(self.wrong(&["flash.slc.pages_per_block", "flash.pages_per_block"], message));
        }
        if options::fixes_places(&self.spec) {
            let message = format!(
                "found {}; 0 is accepted if the scheme or the map determines each page's place: an SLC cache needs \
                 a page map that can move its pages",
                flash.slc.blocks
            );
            return Err(self.wrong(&["flash.slc.blocks", "redundancy.scheme", "ftl.map"], message));
        }
        Ok(())
    }

    /// With the drive full, collection can reach its threshold.
    fn threshold(&mut self) {
        if self.maps_blocks() {
            return;
        }
        let op = self.spec.ftl.over_provisioning;
        let (threshold, share) = (self.spec.ftl.gc.threshold, op / (1.0 + op));
        if threshold >= share {
            self.warnings.push(format!(
                "ftl.gc.threshold: {threshold} cannot be reached with a full drive: over-provisioning of \
                 {op:.4} leaves at most {share:.4} of its pages free, so each write triggers garbage \
                 collection as long as a block has an invalid page"
            ));
        }
    }

    fn start(&mut self) {
        let start = &self.spec.start;
        if start.scan && start.existing != Existing::Reads {
            let text = "start.scan: no effect unless start.existing = \"reads\"";
            self.warnings.push(text.into());
        }
    }

    fn commands(&mut self) {
        let flash = &self.spec.flash;
        let alone = flash.planes_per_die == 1 || flash.busy_unit == BusyUnit::Plane;
        if flash.commands.multi_plane != MultiPlane::Off && alone {
            let text = "flash.commands.multi_plane: no effect if a busy unit has only one plane per die";
            self.warnings.push(text.into());
        }
        let held = match flash.bus {
            BusUse::Transfers => return,
            BusUse::Operations => "operations",
            BusUse::Rounds => "rounds",
        };
        if flash.commands.cache_program || flash.commands.cache_read {
            let text = format!("flash.commands: cache registers have no effect with flash.bus = \"{held}\"");
            self.warnings.push(text);
        }
        if flash.commands.suspend != Suspend::Off {
            let text = format!("flash.commands.suspend: no effect with flash.bus = \"{held}\"");
            self.warnings.push(text);
        }
    }
}

fn timing(spec: &DriveSpec, page_types: &PageTypes) -> Times {
    let timing = &spec.flash.timing;
    Times {
        read_ns: page_types.read_ns[0],
        program_ns: page_types.program_ns[0],
        erase_ns: whole(timing.erase_us * 1e3).ceil() as u64,
        command_ns: whole(timing.command_ns).ceil() as u64,
        erase_command_ns: whole(timing.erase_command_ns).ceil() as u64,
        erase_setup_ns: whole(timing.erase_setup_ns).ceil() as u64,
        register_ns: whole(spec.flash.commands.options.read::<RegisterOptions>().register_ns).ceil() as u64,
        hit_ns: whole(spec.buffer.hit_us * 1e3).ceil() as u64,
        bus_fs_per_byte: whole(timing.bus_ns_per_byte * 1e6).ceil() as u64,
    }
}

pub(super) fn units_per_channel(spec: &DriveSpec) -> u64 {
    let flash = &spec.flash;
    // A pool on a channel that is held for whole operations does one thing at a time.
    let held = flash.bus == BusUse::Operations;
    match flash.busy_unit {
        _ if held && spec.ftl.pool == Pool::Gang => 1,
        _ if held && spec.ftl.pool == Pool::Element => u64::from(flash.chips_per_channel),
        BusyUnit::Chip => u64::from(flash.chips_per_channel),
        BusyUnit::Die => product(&[flash.chips_per_channel, flash.dies_per_chip]),
        BusyUnit::PlanePair => {
            product(&[flash.chips_per_channel, flash.dies_per_chip, flash.planes_per_die]).div_ceil(2)
        }
        BusyUnit::Plane => product(&[flash.chips_per_channel, flash.dies_per_chip, flash.planes_per_die]),
    }
}

pub(super) fn product(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).product()
}

fn plural(unit: BusyUnit) -> &'static str {
    match unit {
        BusyUnit::Chip => "chips",
        BusyUnit::Die => "dies",
        BusyUnit::PlanePair => "pairs of planes",
        BusyUnit::Plane => "planes",
    }
}
