//! Address computation: segments of the SSDs on the disks and free segments between them, without a table.
//!
//! With S pages per segment, K data segments per free one, M SSDs and N disks: segment σ of an SSD is segment
//! σ' of its part of disk h, at segment σ' + ⌊σ'/K⌋ of that part. Free segment φ is at φ·(K + 1) + K, or
//! directly after the last data segment. A disk has a part for each SSD, one after another from its first
//! page, each only as long as needed.

use super::super::MemberFacts;
use super::{BackupOptions, Spread};
use crate::engine::{Member, Page};

/// The longest segment: the pages read in one pass can be numbered within one plan.
const LONGEST_SEGMENT: u32 = 8192;

/// Sizes and counts that all addresses follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct BackupLayout {
    /// SSDs, the first members.
    pub(super) ssds: u8,
    /// Disks, the members after them.
    pub(super) disks: u8,
    /// Pages of a segment.
    pub(super) segment: u32,
    /// Data segments for each free one.
    pub(super) every: u32,
    /// Segments of each SSD.
    pub(super) each: u32,
    pub(super) spread: Spread,
}

impl BackupLayout {
    /// The layout over these members, or why there is none.
    pub(super) fn over(members: &[MemberFacts], own: &BackupOptions) -> Result<BackupLayout, String> {
        let ssds = members.iter().take_while(|member| !member.disk).count();
        let disks = members.len() - ssds;
        if let Some(late) = members[ssds..].iter().position(|member| !member.disk) {
            return Err(format!(
                "member {} is not a disk but follows one: SSDs come first, then disks",
                ssds + late
            ));
        }
        if ssds == 0 || disks == 0 {
            let (what, of) = if disks == 0 { ("disk", "SSDs") } else { ("SSD", "disks") };
            return Err(format!(
                "no {what} among {} {of}: disks back up SSDs, so it needs one of each",
                members.len()
            ));
        }
        if members.len() > 250 {
            return Err(format!("{} members: at most 250 are accepted", members.len()));
        }
        let (bytes, page) = (u64::from(own.segment_kib) * 1024, members[0].page_bytes);
        if bytes % page != 0 || bytes / page > u64::from(LONGEST_SEGMENT) {
            return Err(format!(
                "a segment of {} KiB (redundancy.segment_kib) over pages of {page} bytes: a whole number of pages is \
                 accepted, at most {LONGEST_SEGMENT}",
                own.segment_kib
            ));
        }
        let segment = (bytes / page) as u32;
        let segments = |disk: bool| {
            let pages = members.iter().filter(|member| member.disk == disk).map(|member| member.pages);
            let pages = pages.min().unwrap_or(0).min(u64::from(u32::MAX));
            pages / u64::from(segment)
        };
        // The most data segments that fit into an M-th of the smallest disk together with their free ones.
        let (part, every) = (segments(true) / ssds as u64, u64::from(own.free_every));
        let share = part / (every + 1) * every + (part % (every + 1)).saturating_sub(1);
        let each = segments(false).min(share * disks as u64);
        let each = each.min(u64::from(u32::MAX / segment) / ssds as u64);
        if each == 0 {
            return Err(format!(
                "the smallest SSD or an SSD's part of the smallest disk is shorter than a segment of {} KiB and the \
                 free one beside it (redundancy.segment_kib)",
                own.segment_kib
            ));
        }
        Ok(BackupLayout {
            ssds: ssds as u8,
            disks: disks as u8,
            segment,
            every: own.free_every,
            each: each as u32,
            spread: own.spread,
        })
    }

    /// Pages that the host sees: one SSD after another.
    pub(super) fn pages(&self) -> u32 {
        u32::from(self.ssds) * self.each_pages()
    }

    fn each_pages(&self) -> u32 {
        self.each * self.segment
    }

    /// The SSD that has a page, and where.
    #[inline]
    pub(super) fn on_ssd(&self, page: Page) -> (Member, Page) {
        let each = self.each_pages();
        (Member((page.low() / each) as u8), Page::of(page.low() % each))
    }

    /// The page that an SSD's page is.
    pub(super) fn of_ssd(&self, ssd: Member, page: Page) -> Option<Page> {
        (page.low() < self.each_pages()).then(|| Page::of(u32::from(ssd.0) * self.each_pages() + page.low()))
    }

    /// The member that a disk is.
    pub(super) fn disk(&self, disk: usize) -> Member {
        Member(self.ssds + disk as u8)
    }

    /// Data segments that each disk has of each SSD, at most.
    fn share(&self) -> u32 {
        self.each.div_ceil(u32::from(self.disks))
    }

    /// Free segments of an SSD's part of a disk.
    fn part_free(&self) -> u32 {
        self.share().div_ceil(self.every)
    }

    /// Segments of an SSD's part of a disk.
    pub(super) fn part(&self) -> u32 {
        self.share() + self.part_free()
    }

    /// Free segments of a disk, all SSDs'.
    pub(super) fn free_segments(&self) -> u32 {
        u32::from(self.ssds) * self.part_free()
    }

    /// The disk that backs up a page.
    #[inline]
    pub(super) fn disk_of(&self, page: Page) -> usize {
        self.home(page).0
    }

    /// The disk that backs up a page, and where its data segment has it.
    pub(super) fn home(&self, page: Page) -> (usize, Page) {
        let (ssd, on_ssd) = self.on_ssd(page);
        let (segment, within) = (on_ssd.low() / self.segment, on_ssd.low() % self.segment);
        let (disk, nth) = match self.spread {
            Spread::Interleaved => (segment % u32::from(self.disks), segment / u32::from(self.disks)),
            Spread::Contiguous => (segment / self.share(), segment % self.share()),
        };
        let at = u32::from(ssd.0) * self.part() + nth + nth / self.every;
        (disk as usize, Page::of(at * self.segment + within))
    }

    /// The page that a page of a disk's data segments is; none where it lies in a free one, or beyond.
    pub(super) fn page_at(&self, disk: usize, place: Page) -> Option<Page> {
        let (at, within) = (place.low() / self.segment, place.low() % self.segment);
        let (ssd, rest) = (at / self.part(), at % self.part());
        if ssd >= u32::from(self.ssds) || self.free_at(place).is_some() {
            return None;
        }
        let (nth, disk) = (rest - rest / (self.every + 1), disk as u32);
        let segment = match self.spread {
            Spread::Interleaved => nth * u32::from(self.disks) + disk,
            Spread::Contiguous => disk * self.share() + nth,
        };
        let there = segment < self.each;
        there.then(|| Page::of(ssd * self.each_pages() + segment * self.segment + within))
    }

    /// The free segment, of all on a disk, that a place lies in.
    pub(super) fn free_at(&self, place: Page) -> Option<u32> {
        let at = place.low() / self.segment;
        let (part, rest) = (at / self.part(), at % self.part());
        let free = rest % (self.every + 1) == self.every || rest + 1 == self.part();
        (free && part < u32::from(self.ssds)).then(|| part * self.part_free() + rest / (self.every + 1))
    }

    /// Where a free segment begins.
    pub(super) fn free_start(&self, number: u32) -> Page {
        let (part, nth) = (number / self.part_free(), number % self.part_free());
        let within = (nth * (self.every + 1) + self.every).min(self.part() - 1);
        Page::of((part * self.part() + within) * self.segment)
    }

    /// How many free segments of a disk begin before a place.
    pub(super) fn free_before(&self, place: Page) -> u32 {
        let at = place.low().div_ceil(self.segment);
        let (part, rest) = (at / self.part(), at % self.part());
        (part * self.part_free() + rest / (self.every + 1)).min(self.free_segments())
    }

    /// How far the head is from a segment; 0 where it is inside.
    pub(super) fn distance(&self, head: Page, start: Page) -> u32 {
        let last = start.low() + self.segment - 1;
        start.low().saturating_sub(head.low()).max(head.low().saturating_sub(last))
    }

    /// Where the segment begins that a place lies in.
    pub(super) fn start_of(&self, place: Page) -> Page {
        Page::of(place.low() - place.low() % self.segment)
    }

    /// The pages of an SSD.
    pub(super) fn pages_of_ssd(&self, ssd: Member) -> std::ops::Range<u32> {
        let first = u32::from(ssd.0) * self.each_pages();
        first..first + self.each_pages()
    }

    /// The pages that a disk backs up, ascending.
    pub(super) fn pages_of_disk(&self, disk: usize) -> impl Iterator<Item = u32> + use<> {
        let layout = *self;
        let segments = (0..u32::from(self.ssds) * self.each).map(move |segment| segment * layout.segment);
        let own = segments.filter(move |&first| layout.disk_of(Page::of(first)) == disk);
        own.flat_map(move |first| first..first + layout.segment)
    }

    /// The longest pieces into which commands are cut, none above `most`: a segment, or an equal part of one.
    pub(super) fn grain(&self, most: u32) -> u32 {
        let parts = (1..=self.segment).filter(|&parts| self.segment.is_multiple_of(parts));
        parts.map(|parts| self.segment / parts).find(|&grain| grain <= most).unwrap_or(1)
    }
}
