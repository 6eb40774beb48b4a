//! The medium of a log: physical pages, or devices with maps of their own. The log uses only these properties of it.

use crate::engine::{Command, Member, Step, Verb, View};
use crate::schemes::{Extents, MemberFacts, RedundancySpec, SchemeOptions, least_superblocks, members};
use serde::{Deserialize, Serialize};

/// The properties of the level below the log, and its division into superblocks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Medium {
    /// Superblocks.
    pub(super) superblocks: u32,
    /// Pages of each member in a superblock, which are erased as one.
    pub(super) pages: u32,
    /// The first pages of these, which have the journal.
    pub(super) journal_pages: u32,
    /// Pages of each member that the log offers.
    pub(super) offered: u64,
    /// Pages must be erased before they are programmed, in order: a page that turned out bad, or that missed an erase,
    /// cannot be written as it is.
    pub(super) erases_first: bool,
    /// Every page has an OOB area that says what it is, and an erase waits for programs that were submitted before it.
    /// Otherwise the log writes a journal, and waits itself.
    pub(super) oob: bool,
}

/// Bytes of a journal's record: logical page, version, member and stripe of a place.
const RECORD_BYTES: u64 = 16;

/// The fewest superblocks of a log over devices: one being written, one to collect into, and one to gain space from.
const LEAST_EXTENTS: u64 = 3;

impl Medium {
    /// The medium of a scheme.
    pub(super) fn of(options: &SchemeOptions<'_>) -> Medium {
        if options.array.is_empty() {
            return Medium {
                superblocks: options.superblocks,
                pages: options.superblock_pages,
                journal_pages: 0,
                offered: options.member_pages,
                erases_first: true,
                oob: true,
            };
        }
        Medium::over_drives(options.array, options.redundancy).expect("checked when the array was resolved")
    }

    /// Superblocks that are extents of drives.
    fn over_drives(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<Medium, String> {
        let Extents { extent_kib, log_over_provisioning } = redundancy.read();
        let page_bytes = members[0].page_bytes;
        let common = members::common_pages(members);
        let pages = ((extent_kib * 1024.0) as u64 / page_bytes).min(u64::from(u32::MAX));
        let superblocks = common.checked_div(pages).unwrap_or(0);
        let section = u64::from(section_superpages(page_bytes, members.len()));
        let journal_pages = (1..pages).find(|head| (pages - head) <= head * section);
        let Some(journal_pages) = journal_pages else {
            return Err(format!(
                "redundancy.extent_kib = {extent_kib}: {pages} pages of {page_bytes} bytes; for data and the journal \
                 at least 2 are accepted"
            ));
        };
        let superpages = pages - journal_pages;
        // One superblock is kept empty, and another must have a page to spare.
        let most = (superblocks.saturating_sub(1) * superpages).saturating_sub(1);
        let offered = ((superblocks * superpages) as f64 / (1.0 + log_over_provisioning)) as u64;
        let offered = offered.min(most);
        if superblocks < LEAST_EXTENTS || offered == 0 {
            return Err(format!(
                "members of {common} pages hold {superblocks} superblocks of redundancy.extent_kib = {extent_kib}; GC needs \
                 {LEAST_EXTENTS}: one being written, one to collect into, and one to gain space from"
            ));
        }
        debug_assert!(superblocks >= least_superblocks(offered, superpages as u32));
        Ok(Medium {
            superblocks: superblocks as u32,
            pages: pages as u32,
            journal_pages: journal_pages as u32,
            offered,
            erases_first: false,
            oob: false,
        })
    }

    /// Whether a superpage has pages of the journal.
    pub(super) fn is_journal(&self, superpage: u32) -> bool {
        superpage % self.pages < self.journal_pages
    }

    /// The members that have a page of the journal.
    pub(super) fn copies(&self, page: u32, members: u8) -> [u8; 2] {
        let (superblock, section) = (page / self.pages, page % self.pages);
        let first = (superblock + section) % u32::from(members);
        [first, (first + 1) % u32::from(members)].map(|member| member as u8)
    }

    /// Another copy of a page of the journal that could not be read.
    pub(super) fn other_record(
        &self,
        members: u8,
        wanted: &Step,
        tried: &dyn Fn(u8) -> bool,
        view: &View<'_>,
    ) -> Option<Step> {
        let page = wanted.command.start;
        let mut others = self.copies(page.low(), members).into_iter();
        let other = others.find(|&member| !tried(member) && view.has(Member(member), page))?;
        Some(Step::new(Member(other), Command { verb: Verb::Read, ..wanted.command.over(page, 1) }, 0))
    }
}

/// Superpages whose records a page of the journal has.
pub(super) fn section_superpages(page_bytes: u64, members: usize) -> u32 {
    (page_bytes / RECORD_BYTES / members as u64).max(1) as u32
}

/// The number of pages that a log over these drives offers, with this many data pages in a superpage; or a message why
/// it does not work over them.
pub(in crate::schemes) fn over_drives(
    members: &[MemberFacts],
    redundancy: &RedundancySpec,
    data_in_superpage: fn(members: u32, redundancy: &RedundancySpec) -> u32,
) -> Result<u64, String> {
    let number = super::members(members.len() as u64, None, "member")?;
    if members.iter().any(|member| member.disk) {
        return Err("a log-structured scheme over disks: they write in place at no cost, and reading a log back would \
                    cost a seek for each page; only drives are accepted"
            .into());
    }
    let medium = Medium::over_drives(members, redundancy)?;
    Ok(medium.offered * u64::from(data_in_superpage(number, redundancy)))
}
