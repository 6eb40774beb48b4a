//! Redundancy over flash: the number and kind of members, and the capacity that the host sees.

use super::check::{Check, Resolved, product};
use super::keys::DriveSpec;
use super::load::Given;
use super::packing::{padding, page_bytes, spare_pages, word_line};
use super::pools::pooled;
use super::wear::{spare_blocks, streams};
use crate::error::DriveError;
use crate::flash::{Across, Geometry};
use crate::kernel::whole;
use crate::options::{OptionsPart, WrongOption};
use crate::schemes::{
    self, Groups, Inside, Members, NvramOptions, OldVersions, RedundancySpec, SchemeEntry, Striping,
};

/// Logical pages (or sectors) of this many physical ones.
pub(super) fn logical(physical: u64, over_provisioning: f64) -> u64 {
    whole(physical as f64 / (1.0 + over_provisioning)).floor() as u64
}

impl Resolved {
    /// The parts that a drive's redundancy runs over.
    #[must_use]
    pub fn inside(&self) -> Inside {
        self.spec.redundancy.read()
    }

    /// The scheme, from the table of schemes.
    ///
    /// # Panics
    /// Never: a drive without a known scheme is not resolved.
    #[must_use]
    pub fn scheme(&self) -> &'static SchemeEntry {
        schemes::named(&self.spec.redundancy.scheme).expect("checked when the drive was resolved")
    }

    /// The number of members of the redundancy; 1 without redundancy.
    #[must_use]
    pub fn members(&self) -> u32 {
        if self.is_array() {
            return self.array.len() as u32;
        }
        self.inside().width.unwrap_or(1)
    }

    /// The number of equal parts of the flash: members and hot spares.
    #[must_use]
    pub fn parts(&self) -> u32 {
        if self.is_array() {
            return self.members();
        }
        parts(&self.spec.redundancy)
    }

    /// Physical pages of each part.
    #[must_use]
    pub fn part_pages(&self) -> u64 {
        self.physical_pages() / u64::from(self.parts())
    }

    /// Pages of each member: those of its part of the flash without over-provisioning.
    #[must_use]
    pub fn member_pages(&self) -> u64 {
        let sectors = self.part_pages() * self.page_sectors();
        logical(sectors, self.spec.ftl.over_provisioning).div_ceil(self.page_sectors())
    }

    /// Bytes of those pages.
    #[must_use]
    pub fn member_bytes(&self) -> u64 {
        let sectors = logical(self.part_pages() * self.page_sectors(), self.spec.ftl.over_provisioning);
        sectors * u64::from(self.spec.flash.sector_bytes)
    }

    /// Pages of each member for old versions, in addition (the hidden LBA range).
    #[must_use]
    pub fn hidden_pages(&self) -> u64 {
        hidden(self.scheme(), self.member_pages(), &self.spec.redundancy)
    }

    /// Pages of the non-volatile memory, 0 if the scheme has none.
    #[must_use]
    pub fn memory_pages(&self) -> u64 {
        if !self.scheme().memory {
            return 0;
        }
        let redundancy = &self.spec.redundancy;
        let each = (self.scheme().memory_page)(redundancy, self.page_bytes());
        (redundancy.read::<NvramOptions>().nvram_mib * 1_048_576.0) as u64 / each
    }

    /// Pages per superblock of a member: the same block of every plane, or of every block pool.
    #[must_use]
    pub fn superblock_pages(&self) -> u64 {
        self.pooled_planes() / u64::from(self.parts()) * u64::from(self.block_pages())
    }

    /// GC of a log starts when only this many superblocks are free.
    #[must_use]
    pub fn clean_below(&self) -> u32 {
        let groups = self.part_pages() / self.superblock_pages();
        // One for each stream that may need one next.
        ((self.spec.ftl.gc.threshold * groups as f64) as u32).max(u32::from(self.spec.ftl.streams))
    }

    /// The same in idle time; 0 for never.
    #[must_use]
    pub fn soft_below(&self) -> u32 {
        let groups = self.part_pages() / self.superblock_pages();
        self.spec.ftl.gc.soft_threshold.map_or(0, |soft| (soft * groups as f64) as u32)
    }

    /// The number of sectors that the host sees; as in SSDSim they need not fill the last page.
    #[must_use]
    pub fn capacity_sectors(&self) -> u64 {
        if self.is_array() {
            return self.array_pages() * self.page_sectors();
        }
        if let Some(disk) = self.disk() {
            return disk.sectors();
        }
        let offers = |each| self.scheme().offers(each, self.members(), &self.spec.redundancy);
        let sectors = self.member_bytes() / u64::from(self.spec.flash.sector_bytes);
        offers(sectors).min(offers(self.member_pages()) * self.page_sectors())
    }

    /// Whether each stripe has a page of every member, or the scheme has no stripes.
    #[must_use]
    pub fn has_stripes_of_all(&self) -> bool {
        let (scheme, redundancy, members) = (self.scheme(), &self.spec.redundancy, self.members());
        let units = |data: fn(u32, &RedundancySpec) -> u32| {
            data(members, redundancy) + scheme.survivable(members, redundancy)
        };
        scheme.data_members.is_none_or(|data| units(data) == members)
    }

    /// The number of failures of a unit, one after the other, that lose no data, and the unit.
    #[must_use]
    pub fn survives(&self) -> (u32, &'static str) {
        if self.grouped.is_some() {
            return self.array[0].survives();
        }
        let unit = if self.is_array() { "member" } else { level(self.inside().across) };
        (self.scheme().survivable(self.members(), &self.spec.redundancy), unit)
    }
}

pub(super) fn parts(redundancy: &RedundancySpec) -> u32 {
    let Inside { width, spares, .. } = redundancy.read();
    width.map_or(1, |width| width + spares)
}

/// Pages for old versions of a member that offers this number.
pub(super) fn hidden(scheme: &SchemeEntry, pages: u64, redundancy: &RedundancySpec) -> u64 {
    if scheme.kind == Members::WithHiddenRange { shadow(pages, redundancy) } else { 0 }
}

fn shadow(member_pages: u64, redundancy: &RedundancySpec) -> u64 {
    ((member_pages as f64 * redundancy.read::<OldVersions>().shadow) as u64).max(1)
}

pub(super) fn level(across: Across) -> &'static str {
    match across {
        Across::Channel => "channel",
        Across::Chip => "chip",
        Across::Die => "die",
    }
}

/// Warnings about options set by the user that this scheme does not have.
pub(super) fn unread(
    scheme: &SchemeEntry,
    redundancy: &RedundancySpec,
    given: &Given,
    over_drives: bool,
) -> Vec<String> {
    // Stripes go over groups of members with every scheme.
    let striping = OptionsPart::of::<Striping>();
    let is_of_groups = |key: &String| {
        over_drives && redundancy.read::<Groups>().width.is_some() && striping.keys().contains(key)
    };
    let by_hand = |key: &&String| given.by_hand(&format!("redundancy.{key}")) && !is_of_groups(key);
    let given: Vec<&String> = redundancy.given().map(|(key, _)| key).filter(by_hand).collect();
    // Key names come from schemas, which take longer to build than everything else here.
    if given.is_empty() {
        return Vec::new();
    }
    let (here, there) = (scheme.keys(over_drives), scheme.keys(!over_drives));
    let unread = given.into_iter().filter(|key| !here.contains(key));
    let (misplaced, unknown): (Vec<&String>, Vec<&String>) = unread.partition(|key| there.contains(key));
    let listed =
        |keys: &[&String]| keys.iter().map(|key| format!("redundancy.{key}")).collect::<Vec<_>>().join(", ");
    let mut warnings = Vec::new();
    if !misplaced.is_empty() {
        let why = match over_drives {
            true => "no effect over drives: the drives are the members",
            false => "no effect in a drive: its stripes have one page per member",
        };
        warnings.push(format!("{}: {why}", listed(&misplaced)));
    }
    if !unknown.is_empty() {
        warnings.push(format!(
            "{}: no effect with redundancy.scheme = \"{}\"",
            listed(&unknown),
            scheme.name
        ));
    }
    warnings
}

/// Checks the non-volatile memory of a scheme.
pub(super) fn memory(spec: &DriveSpec, scheme: &SchemeEntry, given: &Given) -> Result<(), DriveError> {
    let (NvramOptions { nvram_mib: mib, .. }, page) = (spec.redundancy.read(), page_bytes(spec));
    if scheme.memory && mib * 1_048_576.0 < page as f64 {
        let message = format!("{mib} MiB is less than one page ({page} bytes)");
        return Err(given.error(&["redundancy.nvram_mib", "flash.page_kib"], message));
    }
    Ok(())
}

impl Check<'_> {
    /// Checks that the scheme fits the geometry, and warns about keys of other schemes.
    pub(super) fn redundancy(&mut self) -> Result<(), DriveError> {
        let Some(scheme) = schemes::named(&self.spec.redundancy.scheme) else { return Ok(()) };
        let unread = unread(scheme, &self.spec.redundancy, self.given, false);
        self.warnings.extend(unread);
        scheme.keep_options(&mut self.spec.redundancy, false);
        if scheme.plain {
            return Ok(());
        }
        match self.width(scheme) {
            Ok(width) => {
                let redundancy = &mut self.spec.redundancy;
                redundancy.put(Inside { width: Some(width), ..redundancy.read() });
                // Inserted again to keep the order of keys.
                scheme.keep_options(&mut self.spec.redundancy, false);
            }
            Err(message) => {
                let (_, depth) = self.level_parts();
                let geometry = ["flash.channels", "flash.chips_per_channel", "flash.dies_per_chip"];
                let mut keys = vec!["redundancy.width", "redundancy.scheme", "redundancy.across"];
                keys.push("redundancy.spares");
                keys.extend_from_slice(&geometry[..depth]);
                return Err(self.wrong(&keys, message));
            }
        }
        self.boxes()?;
        let members = self.spec.redundancy.read::<Inside>().width.unwrap_or(1);
        if let Err(WrongOption { key, message }) = (scheme.check)(members, &self.spec.redundancy) {
            return Err(self.wrong(&[key, "redundancy.width", "redundancy.scheme"], message));
        }
        memory(&self.spec, scheme, self.given)
    }

    /// Each member is a box: whole channels, whole chips of one channel, or whole dies of one chip.
    fn boxes(&self) -> Result<(), DriveError> {
        let across = self.spec.redundancy.read::<Inside>().across;
        let parts = parts(&self.spec.redundancy);
        if Geometry::new(&pooled(&self.spec)).part(across, parts, 0).is_some() {
            return Ok(());
        }
        let level = level(across);
        let message = format!(
            "{parts} equal parts of the drive's {level}s are not whole channels, nor whole chips of one channel, nor whole \
             dies of one chip; choose a width or a geometry that divides evenly"
        );
        let keys = ["redundancy.width", "redundancy.across", "redundancy.scheme", "flash.channels"];
        Err(self.wrong(&keys, message))
    }

    /// The number of parts at the level that the redundancy runs over, and the depth of that level.
    fn level_parts(&self) -> (u64, usize) {
        let flash = &self.spec.flash;
        let depth = match self.spec.redundancy.read::<Inside>().across {
            Across::Channel => 1,
            Across::Chip => 2,
            Across::Die => 3,
        };
        (product(&[flash.channels, flash.chips_per_channel, flash.dies_per_chip][..depth]), depth)
    }

    /// The number of members that the scheme has at that level, without spares.
    fn width(&self, scheme: &SchemeEntry) -> Result<u32, String> {
        let inside: Inside = self.spec.redundancy.read();
        let (level, (parts, _)) = (level(inside.across), self.level_parts());
        let spares = u64::from(inside.spares);
        let wrong = |width: u64| {
            format!(
                "{width} members and {spares} hot spares over {parts} {level}s: each takes the same \
                 number of {level}s, so {} must divide {parts}",
                width + spares
            )
        };
        let left = match inside.width.map(u64::from) {
            Some(width) if spares > 0 && !parts.is_multiple_of(width + spares) => return Err(wrong(width)),
            Some(width) if spares > 0 => parts / (width + spares) * width,
            Some(_) => parts,
            None => parts.saturating_sub(spares),
        };
        let width = (scheme.members)(left, inside.width, level)?;
        if !parts.is_multiple_of(u64::from(width) + spares) {
            return Err(wrong(u64::from(width)));
        }
        Ok(width)
    }

    /// Pages of each block that may stay empty while the others are moved.
    fn padding(&self, scheme: &SchemeEntry) -> u32 {
        if scheme.kind == Members::Physical { 0 } else { padding(&self.spec) }
    }

    /// The message, with the keys that let pages stay empty where these take spare area.
    fn with_padding(&self, message: String, scheme: &SchemeEntry, block: u64) -> String {
        match self.padding(scheme) {
            0 => message,
            pages => format!(
                "{message}; of each other block {pages} of {block} pages may stay empty, because \
                 ftl.logical_page_kib and flash.pages_per_program put {} pages into a program",
                word_line(&self.spec)
            ),
        }
    }

    /// Places that may stay empty take what the drive has to spare, however many blocks it has.
    fn too_much_padding(&self, blocks: u32, block: u64) -> DriveError {
        let message = format!(
            "{blocks} blocks of {block} pages in a {}: up to {} pages of each may stay empty, because \
             ftl.logical_page_kib and flash.pages_per_program put {} pages into a program, for each stream \
             of writes; set more flash.pages_per_block, or less of these",
            self.spec.ftl.pool.noun(),
            padding(&self.spec),
            word_line(&self.spec)
        );
        self.wrong(&["flash.pages_per_program", "ftl.logical_page_kib"], message)
    }

    /// Checks that each member has at least one page, and that every plane keeps room for GC.
    pub(super) fn room(&self) -> Result<(), DriveError> {
        let (flash, redundancy) = (&pooled(&self.spec), &self.spec.redundancy);
        let plane = self.spec.ftl.pool.noun();
        let Some(scheme) = schemes::named(&redundancy.scheme) else { return Ok(()) };
        let planes =
            product(&[flash.channels, flash.chips_per_channel, flash.dies_per_chip, flash.planes_per_die]);
        let planes = planes / u64::from(parts(redundancy));
        let physical = planes * product(&[flash.blocks_per_plane, flash.pages_per_block]);
        let logical = logical(physical, self.spec.ftl.over_provisioning);
        let keys = ["ftl.over_provisioning", "flash.blocks_per_plane", "flash.pages_per_block"];
        let keys = if spare_blocks(&self.spec).0 > 2 { [keys[0], keys[1], "ftl.streams"] } else { keys };
        if logical == 0 {
            return Err(self.wrong(
                &keys,
                "the drive has no room for a page: set less over-provisioning, \
                or more blocks",
            ));
        }
        let block = u64::from(flash.pages_per_block);
        let (kept, why) = match scheme.kind {
            Members::Physical => {
                let streams = u64::from(streams(&self.spec));
                let why = match streams {
                    1 => "one being written, one to collect into, and one to gain space from",
                    _ => "one being written for each stream, one to collect into, and one to gain space from",
                };
                ((2 + streams) * block, why)
            }
            _ => (spare_pages(&self.spec, flash), spare_blocks(&self.spec).1),
        };
        // More than whole blocks if flash pages may be partly empty.
        let blocks = kept as f64 / block as f64;
        let old = if scheme.kind == Members::WithHiddenRange { shadow(logical, redundancy) } else { 0 };
        let spare = kept * planes;
        if physical - logical >= spare + old {
            return Ok(());
        }
        if old > 0 && physical - logical >= spare {
            let message = format!(
                "{} takes {old} of the {} over-provisioned pages of a member; garbage collection needs \
                 {spare} of them: set less, or more ftl.over_provisioning",
                redundancy.read::<OldVersions>().shadow,
                physical - logical
            );
            let message = self.with_padding(message, scheme, block);
            return Err(self.wrong(&["redundancy.shadow", keys[0], keys[1], keys[2]], message));
        }
        if f64::from(flash.blocks_per_plane) <= blocks {
            if self.padding(scheme) > 0 {
                return Err(self.too_much_padding(flash.blocks_per_plane, block));
            }
            let message = format!(
                "{} blocks in a {plane}; this scheme needs at least {} ({why})",
                flash.blocks_per_plane,
                blocks.floor() + 1.0
            );
            return Err(self.wrong(&["flash.blocks_per_plane", "redundancy.scheme"], message));
        }
        let share = if old > 0 { redundancy.read::<OldVersions>().shadow } else { 0.0 };
        let data = f64::from(flash.blocks_per_plane) - blocks;
        let least = (blocks + share * data) / data;
        // Rounds up to a short number that is still enough.
        let least = (least * 1e6).ceil() / 1e6;
        let message = format!(
            "{} leaves {:.1} blocks free in a {plane} of the full drive, which leaves no room for garbage \
             collection; at least {least} is accepted with {} blocks in a {plane}, which leaves the {} \
             blocks that garbage collection needs ({why})",
            self.spec.ftl.over_provisioning,
            (physical - logical - old.min(physical - logical)) as f64
                / planes as f64
                / f64::from(flash.pages_per_block),
            flash.blocks_per_plane,
            (blocks * 10.0).ceil() / 10.0
        );
        Err(self.wrong(&keys, self.with_padding(message, scheme, block)))
    }
}
