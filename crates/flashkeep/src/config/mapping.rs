//! `ftl.map`: the flash that a map's tables take, and the combinations that it does not support.

use super::check::{Check, Resolved, product};
use super::packing::{block_pages, page_bytes, spare_pages};
use super::pools::pooled;
use super::redundancy::{hidden, logical, parts};
use crate::blocks::victim;
use crate::error::DriveError;
use crate::ftl::MapMemory;
use crate::mapping::{self, BackendKind, LogBlocks, MappingEntry};
use crate::schemes::{self, Members};

/// A write to phase-change memory: the SET that decides it in Lee et al., "Architecting phase change memory as a
/// scalable DRAM alternative", ISCA 2009.
const PCM_WRITE_US: f64 = 0.15;

/// A write cycle of toggle MRAM: Everspin MR4A16B, data sheet.
const MRAM_WRITE_US: f64 = 0.035;

/// A plan names the pages of a block, and those of one more, by 16 bits.
const MOST_BLOCK_PAGES: u32 = 16_384;

impl Resolved {
    /// The member's map, from the table of maps.
    ///
    /// # Panics
    /// Never: a drive without a known map is not resolved.
    #[must_use]
    pub fn map(&self) -> &'static MappingEntry {
        mapping::named(&self.spec.ftl.map).expect("checked when the drive was resolved")
    }

    /// Pages of each member that the map itself takes.
    #[must_use]
    pub fn translation_pages(&self) -> u64 {
        match self.map().below {
            BackendKind::Mapped => mapping::translation_pages(self.mapped_pages(), self.page_bytes()),
            BackendKind::Itself | BackendKind::Blocks => 0,
        }
    }

    /// Pages that each member's map has entries for: those that it offers, and hidden ones.
    #[must_use]
    pub fn mapped_pages(&self) -> u64 {
        self.member_pages() + self.hidden_pages()
    }

    /// Whether the map survives a power cut unchanged.
    #[must_use]
    pub fn map_survives(&self) -> bool {
        self.spec.ftl.map_memory != MapMemory::Dram
    }

    /// The time of a write to the map's memory; 0 for DRAM.
    #[must_use]
    pub fn map_write_ns(&self) -> u64 {
        let known = match self.spec.ftl.map_memory {
            MapMemory::Dram => return 0,
            MapMemory::Pcm => PCM_WRITE_US,
            MapMemory::Mram => MRAM_WRITE_US,
        };
        (self.map_write_us().unwrap_or(known) * 1e3).ceil() as u64
    }
}

impl Check<'_> {
    /// Whether the map has entries for blocks and manages them itself.
    pub(super) fn maps_blocks(&self) -> bool {
        mapping::named(&self.spec.ftl.map).is_some_and(|map| map.below == BackendKind::Blocks)
    }

    /// Checks that the map works with the scheme and has the space that it needs.
    pub(super) fn mapping(&mut self) -> Result<(), DriveError> {
        let (Some(map), Some(scheme)) =
            (mapping::named(&self.spec.ftl.map), schemes::named(&self.spec.redundancy.scheme))
        else {
            return Ok(());
        };
        self.point_out_unread_map_keys(map);
        if map.below == BackendKind::Itself {
            return Ok(());
        }
        let why = match scheme.kind {
            Members::Mapped | Members::WithHiddenRange => None,
            Members::Physical => Some("is its own translation layer and maps pages itself"),
        };
        let keys = ["ftl.map", "redundancy.scheme"];
        if let Some(why) = why {
            let message = format!("{}: `{}` {why}; `page` is accepted", map.name, scheme.name);
            return Err(self.wrong(&keys, message));
        }
        if map.below == BackendKind::Mapped {
            self.room_for_translations(map)
        } else {
            self.room_for_logs(map)
        }
    }

    /// A victim policy in a file needs the file.
    pub(super) fn victim_file(&self) -> Result<(), DriveError> {
        let gc = &self.spec.ftl.gc;
        let Some(file) = victim::named(&gc.victim).and_then(|policy| policy.file) else { return Ok(()) };
        let Some(path) = file(&gc.options) else {
            let message =
                "\"python\" needs ftl.gc.file, the Python file with the function choose(valid, age, erases)";
            return Err(self.wrong(&["ftl.gc.victim"], message));
        };
        match victim::load(&path) {
            Ok(_) => Ok(()),
            Err(message) => Err(self.wrong(&["ftl.gc.file"], format!("{path:?}: {message}"))),
        }
    }

    /// The default victim policy of log blocks.
    pub(super) fn choose_victims(&mut self) {
        let Some(map) = mapping::named(&self.spec.ftl.map) else { return };
        let key = "ftl.gc.victim";
        let echoed = self.given.has(key) && !self.given.by_user(key);
        if let Some(victim) = map.own_victim.filter(|_| !echoed && !self.given.by_hand(key)) {
            self.spec.ftl.gc.victim = victim.into();
        }
    }

    fn point_out_unread_map_keys(&mut self, map: &MappingEntry) {
        let mut unread = match map.below {
            BackendKind::Itself | BackendKind::Mapped => return,
            BackendKind::Blocks => vec!["ftl.allocation", "ftl.gc.threshold", "ftl.gc.run"],
        };
        if map.below == BackendKind::Blocks && map.own_victim.is_none() {
            unread.push("ftl.gc.victim");
        }
        if map.below == BackendKind::Blocks {
            let scheme = schemes::named(&self.spec.redundancy.scheme);
            unread.extend(scheme.and_then(|scheme| (scheme.told_of_moves)(&self.spec.redundancy)));
        }
        unread.retain(|key| self.given.by_hand(key));
        if !unread.is_empty() {
            self.warnings.push(format!("{}: no effect with ftl.map = \"{}\"", unread.join(", "), map.name));
        }
    }

    /// Planes of a member, and its pages: physical and logical ones, hidden ones included.
    fn member(&self) -> (u64, u64, u64) {
        let flash = &pooled(&self.spec);
        let planes =
            product(&[flash.channels, flash.chips_per_channel, flash.dies_per_chip, flash.planes_per_die]);
        let planes = planes / u64::from(parts(&self.spec.redundancy));
        let physical = planes * product(&[flash.blocks_per_plane, flash.pages_per_block]);
        let sectors = page_bytes(&self.spec) / u64::from(flash.sector_bytes);
        let pages = logical(physical * sectors, self.spec.ftl.over_provisioning).div_ceil(sectors);
        let hidden = schemes::named(&self.spec.redundancy.scheme)
            .map_or(0, |scheme| hidden(scheme, pages, &self.spec.redundancy));
        (planes, physical, pages + hidden)
    }

    fn room_for_translations(&self, map: &MappingEntry) -> Result<(), DriveError> {
        let (planes, physical, pages) = self.member();
        let tables = mapping::translation_pages(pages, page_bytes(&self.spec));
        let kept = spare_pages(&self.spec, &pooled(&self.spec)) * planes;
        if physical - pages >= kept + tables {
            return Ok(());
        }
        let message = format!(
            "{}: its tables take {tables} of the {} over-provisioned pages of a member, and collection needs {kept} of \
             them; more ftl.over_provisioning, or `page`",
            map.name,
            physical - pages
        );
        Err(self.wrong(&["ftl.map", "ftl.over_provisioning"], message))
    }

    fn room_for_logs(&self, map: &MappingEntry) -> Result<(), DriveError> {
        let flash = &pooled(&self.spec);
        let (least, what) = map.least_spare;
        let block = block_pages(&self.spec);
        if block > MOST_BLOCK_PAGES {
            let message =
                format!("{}: blocks of {block} pages; at most {MOST_BLOCK_PAGES} are accepted", map.name);
            return Err(self.wrong(&["ftl.map", "flash.pages_per_block"], message));
        }
        let (planes, _, pages) = self.member();
        let used = pages.div_ceil(u64::from(block)).div_ceil(planes);
        let spare = u64::from(flash.blocks_per_plane).saturating_sub(used);
        if spare < u64::from(least) {
            let message = format!(
                "{}: {spare} of {} blocks of a plane are not needed for its data; at least {least} are accepted ({what})",
                map.name, flash.blocks_per_plane
            );
            return Err(self.wrong(&["ftl.map", "ftl.over_provisioning", "flash.blocks_per_plane"], message));
        }
        let (fewest, most) = (u64::from(least).div_ceil(2), spare - u64::from(least).div_ceil(2));
        match self.spec.ftl.options.read::<LogBlocks>().log_blocks.map(u64::from) {
            Some(logs) if !(fewest..=most).contains(&logs) => {
                let message = format!(
                    "found {logs}; {fewest} to {most} are accepted with {spare} blocks of a plane that are not needed \
                     for its data ({what})"
                );
                Err(self.wrong(&["ftl.log_blocks", "ftl.map", "ftl.over_provisioning"], message))
            }
            _ => Ok(()),
        }
    }
}
