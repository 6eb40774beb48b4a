//! Programs of several logical pages: their number per flash page and per word line.

use super::check::{Check, Resolved};
use super::keys::DriveSpec;
use super::options::fixes_places;
use super::wear::{spare_blocks, streams};
use crate::error::DriveError;
use crate::flash::{FlashSpec, PageTypes};
use crate::kernel::whole;

/// A block's pages are counted by 15 bits.
const MOST_BLOCK_PAGES: u64 = 32_768;

/// Logical pages per flash page.
pub(super) fn places(spec: &DriveSpec) -> u32 {
    let (logical, page) = (spec.ftl.logical_page_kib, spec.flash.page_kib);
    if logical > 0.0 && logical < page { (page / logical) as u32 } else { 1 }
}

/// Logical pages per word line, which one operation programs.
pub(super) fn word_line(spec: &DriveSpec) -> u32 {
    places(spec).saturating_mul(spec.flash.pages_per_program)
}

/// Bytes of a logical page.
pub(super) fn page_bytes(spec: &DriveSpec) -> u64 {
    let smaller = places(spec) > 1;
    ((if smaller { spec.ftl.logical_page_kib } else { spec.flash.page_kib }) * 1024.0) as u64
}

/// Logical pages per block.
pub(super) fn block_pages(spec: &DriveSpec) -> u32 {
    spec.flash.pages_per_block.saturating_mul(places(spec))
}

/// Places that may stay empty while the pages of a block are moved: in each of its streams all but one of the last word
/// line. A block with less than that to gain is left alone.
pub(super) fn padding(spec: &DriveSpec) -> u32 {
    u32::from(streams(spec)).saturating_mul(word_line(spec) - 1)
}

/// Pages of a plane without data if the drive is full; `flash` as the FTL sees it.
pub(super) fn spare_pages(spec: &DriveSpec, flash: &FlashSpec) -> u64 {
    let blocks = u64::from(spare_blocks(spec).0);
    let others = u64::from(flash.blocks_per_plane).saturating_sub(blocks);
    blocks * u64::from(flash.pages_per_block) + others * u64::from(padding(spec))
}

impl Resolved {
    /// Pages of the map that have their places in a page of the flash: 1 unless `ftl.logical_page_kib` is less than that.
    /// Of an array, the most that any of its members has.
    #[must_use]
    pub fn places(&self) -> u32 {
        self.array.iter().map(Resolved::places).max().unwrap_or_else(|| places(&self.spec))
    }

    /// Pages of the map that one operation programs in a plane. Of an array, the most that any of its members programs.
    #[must_use]
    pub fn word_line(&self) -> u32 {
        self.array.iter().map(Resolved::word_line).max().unwrap_or_else(|| word_line(&self.spec))
    }

    /// Pages that are to come together because one program takes them: those of a word line of several flash pages.
    #[must_use]
    pub fn filled_together(&self) -> u32 {
        let several = !self.is_array() && self.spec.flash.pages_per_program > 1;
        if several { self.word_line() } else { 1 }
    }

    /// Logical pages per block.
    #[must_use]
    pub fn block_pages(&self) -> u32 {
        block_pages(&self.spec)
    }

    /// The longest time that a page waits for others to be programmed with it, ns. A page that begins a word line of
    /// several flash pages waits at least for those that come at the same instant.
    #[must_use]
    pub fn gather_ns(&self) -> u64 {
        let least = u64::from(self.spec.flash.pages_per_program > 1);
        let waits = word_line(&self.spec) > 1;
        if waits { (whole(self.gather_us() * 1e3).ceil() as u64).max(least) } else { 0 }
    }

    /// Slots that may stay empty while GC moves the pages of a block.
    #[must_use]
    pub fn padding(&self) -> u32 {
        padding(&self.spec)
    }
}

impl Check<'_> {
    /// Checks that a logical page is a whole number of sectors, and that logical and flash page divide each other.
    pub(super) fn logical_page(&self) -> Result<(), DriveError> {
        let (logical, page) = (self.spec.ftl.logical_page_kib, self.spec.flash.page_kib);
        let keys = ["ftl.logical_page_kib", "flash.page_kib"];
        if logical > 0.0 && logical < page {
            return self.part_of_a_page(&keys);
        }
        if logical != 0.0 && logical % page != 0.0 {
            let message = format!("{logical} KiB is not a whole number of flash pages of {page} KiB");
            return Err(self.wrong(&keys, message));
        }
        Ok(())
    }

    /// A block consists of whole word lines, which the drive fills and whose pages have the same types in each.
    pub(super) fn word_lines(&self, types: &PageTypes) -> Result<(), DriveError> {
        let (pages, block) = (self.spec.flash.pages_per_program, self.spec.flash.pages_per_block);
        let key = "flash.pages_per_program";
        if !block.is_multiple_of(pages) {
            let message = format!("a block of {block} pages is not a whole number of word lines of {pages}");
            return Err(self.wrong(&[key, "flash.pages_per_block"], message));
        }
        if pages > 1 && fixes_places(&self.spec) {
            let message = format!(
                "found {pages}; 1 is accepted if the scheme or the map determines each page's place: the flash \
                 forbids a second program of a word line that was not full"
            );
            return Err(self.wrong(&[key, "redundancy.scheme", "ftl.map"], message));
        }
        if !types.repeats_by(pages) {
            let message = format!(
                "the types do not repeat from one word line of {pages} pages to the next; `interleaved` or `{}` \
                 is accepted",
                "01234567".chars().cycle().take(pages as usize).collect::<String>()
            );
            return Err(self.wrong(&["flash.page_types", key], message));
        }
        Ok(())
    }

    fn part_of_a_page(&self, keys: &[&str]) -> Result<(), DriveError> {
        let flash = &self.spec.flash;
        let (logical, page, sector) = (self.spec.ftl.logical_page_kib, flash.page_kib, flash.sector_bytes);
        let bytes = logical * 1024.0;
        let wrong = |message: String| Err(self.wrong(keys, message));
        if bytes % f64::from(sector) != 0.0 {
            return wrong(format!("{logical} KiB is not a whole number of sectors of {sector} bytes"));
        }
        if page % logical != 0.0 {
            return wrong(format!(
                "a flash page of {page} KiB does not hold a whole number of pages of {logical} KiB; a \
                 fraction of it such as {} is accepted, or a multiple",
                page / (page / logical).ceil()
            ));
        }
        let sectors = bytes / f64::from(sector) * f64::from(places(&self.spec));
        if sectors > f64::from(u16::MAX) {
            return wrong(format!(
                "a flash page of {page} KiB has {sectors} sectors; at most 65535 are accepted"
            ));
        }
        let pages = u64::from(flash.pages_per_block) * u64::from(places(&self.spec));
        if pages > MOST_BLOCK_PAGES {
            return wrong(format!(
                "a block has {} flash pages, so {pages} of {logical} KiB; at most {MOST_BLOCK_PAGES} are accepted: larger \
                 ones, or smaller blocks",
                flash.pages_per_block
            ));
        }
        Ok(())
    }
}
