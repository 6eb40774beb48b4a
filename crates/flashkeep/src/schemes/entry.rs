//! The declaration of a scheme: its properties before it is built.

use super::options::{Extents, Groups, Inside, Striping};
use super::{RedundancySpec, hybrid, members};
use crate::blocks::Policies;
use crate::engine::Code;
use crate::figures::FigureShape;
use crate::flash::ErrorModel;
use crate::options::{OptionsPart, WrongOption};
use flashkeep_errors::stripe::Stripe;
use schemars::SchemaGenerator;
use serde_json::Value;

/// The properties of an array's member that its scheme may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberFacts {
    /// The number of pages that it offers.
    pub pages: u64,
    /// Whether it is a disk; otherwise it is a flash drive or an array.
    pub disk: bool,
    /// Bytes of a page, the same for all members.
    pub page_bytes: u64,
}

/// The parameters from which a scheme is built.
#[derive(Clone, Debug)]
pub struct SchemeOptions<'a> {
    /// The keys of the drive file.
    pub redundancy: &'a RedundancySpec,
    /// Pages that each member offers.
    pub member_pages: u64,
    /// The number of members, without a non-volatile memory.
    pub members: u8,
    /// The size of each member's hidden LBA range in pages, at the addresses from `member_pages` on.
    pub hidden_pages: u32,
    /// Pages of the non-volatile memory, which is the member after the last one; 0 without a memory.
    pub memory_pages: u32,
    /// Raw members only: pages of a group (the same block of every plane of a member, erased as one) in each member,
    /// and how many groups there are.
    pub superblock_pages: u32,
    /// Physical pages only: the number of superblocks.
    pub superblocks: u32,
    /// Physical pages only: GC starts when no more than this many superblocks are free.
    pub clean_below: u32,
    /// Physical pages only: the same in idle time; 0 for never.
    pub soft_below: u32,
    /// Physical pages only: the victim policy and wear leveling.
    pub policies: Policies,
    /// Raw members only: classes of pages, each with a superblock of its own, and whether moved pages have another.
    pub streams: u8,
    /// See `streams`.
    pub separate: bool,
    /// The run's seed.
    pub seed: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// In an array: the facts about each member. Empty in a drive, where all members are flash.
    pub array: &'a [MemberFacts],
    /// Parity stays with a member for this many consecutive stripes: 1 in a drive.
    pub unit_pages: u32,
    /// In a drive: the errors of its flash; none without an error model.
    pub errors: Option<&'a ErrorModel>,
}

/// The kind of a scheme's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// Each member has an FTL of its own, so that any page can be overwritten.
    Mapped,
    /// The same, with a hidden LBA range for old versions.
    WithHiddenRange,
    /// Physical pages: the scheme decides where each page is, and erases blocks.
    Physical,
}

/// Flash with errors below a scheme, and the options of the scheme.
#[derive(Clone, Copy, Debug)]
pub struct WornFlash<'a> {
    /// The keys of the drive file.
    pub redundancy: &'a RedundancySpec,
    /// Its errors.
    pub errors: &'a ErrorModel,
    /// P/E cycles of its blocks.
    pub cycles: f64,
    /// Bytes of a page.
    pub page_bytes: u64,
}

/// The cost of a GB and the life of the flash, by the formulas of table 1 of the hybrid-backup paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// GB of drives per GB of capacity.
    pub ssd: f64,
    /// GB of disks per GB of capacity.
    pub disk: f64,
    /// The life of the drives, relative to that of a lone drive.
    pub life: f64,
}

/// A member in these formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberTerms {
    /// Whether it is a single drive; otherwise it is a disk or an array.
    pub drive: bool,
    /// Its own cost and life, if a formula applies.
    pub terms: Option<Terms>,
}

/// The parameters with which the conformance suite tries a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriedWith {
    /// Parts of a drive.
    pub parts: u32,
    /// Drives of an array.
    pub drives: u32,
    /// Disks of an array, which follow the drives.
    pub disks: u32,
    /// Options (`redundancy.KEY=VALUE`) beside the first examples of all others.
    pub set: &'static [&'static str],
}

impl TriedWith {
    /// The defaults.
    pub(super) const BASE: TriedWith = TriedWith { parts: 5, drives: 5, disks: 0, set: &[] };
}

/// How many pages a scheme over drives can number. (Numbers in a drive, and a scheme's numbers of stripes, have 31 bits.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageNumbers {
    /// [`PageNumbers::NARROW`] in all: its tables have 32-bit page numbers.
    Narrow,
    /// [`PageNumbers::NARROW`] stripes: a stripe has a page of each member.
    Stripes,
    /// Any number of pages.
    Wide,
}

impl PageNumbers {
    /// The most pages whose numbers have 31 bits; two numbers represent no page.
    pub const NARROW: u64 = (1 << 31) - 2;
    /// The most pages of any array: contents name the page that they are of ([`Version`](crate::engine::Version)).
    pub const WIDE: u64 = 1 << 40;
}

/// A scheme's line in the table: its capabilities, and everything that is known before it is built. Fields that the
/// file of a scheme does not set are those of [`SchemeEntry::BASE`].
#[derive(Clone, Copy)]
pub struct SchemeEntry {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    pub(super) source: &'static str,
    /// The parts of its options. The scheme works inside drives if [`Inside`] is among them, and computes parity if
    /// [`Sums`] is.
    pub(super) options: &'static [OptionsPart],
    /// The number of members over `parts` parts of the level, if the user asks for `width` members; or a message why it
    /// is not possible. `level` is the level's name for the message.
    pub members: fn(parts: u64, width: Option<u32>, level: &str) -> Result<u32, String>,
    /// For schemes with stripes of one page per member: the number of data pages in a stripe. Over drives, the engine
    /// then maps chunks of several pages to such stripes; schemes without stripes place chunks themselves.
    pub data_members: Option<fn(members: u32, redundancy: &RedundancySpec) -> u32>,
    /// The capacity inside a drive, of members that offer `each`. By default `each` times the data pages of a stripe,
    /// or `each`. Called with pages and with sectors: the drive offers the smaller capacity.
    pub capacity: Option<fn(each: u64, members: u32, redundancy: &RedundancySpec) -> u64>,
    /// The pages that restore a page in flash with this error model, after this number of P/E cycles, if that does
    /// not follow from
    /// `data_members` or `copies`.
    pub stripe: Option<fn(members: u32, worn: &WornFlash<'_>) -> Stripe>,
    /// The share of a member's pages that hold something when the array is full; the others are spare places.
    pub occupied: fn(members: u32, redundancy: &RedundancySpec) -> f64,
    /// The layout of declustered stripes; none where each stripe is over all members.
    pub declustered: fn(members: u32, redundancy: &RedundancySpec) -> Option<DeclusteredLayout>,
    /// The number of members that the rebuild of one writes to at the same time.
    pub rebuild_targets: fn(members: u32, redundancy: &RedundancySpec) -> u32,
    /// Checks its options for this number of members; the error names the key and the reason.
    pub check: fn(members: u32, redundancy: &RedundancySpec) -> Result<(), WrongOption>,
    /// The number of units that may fail, one after the other, without loss of data.
    pub survives: fn(members: u32) -> u32,
    /// The same where it follows from the options as well.
    pub survives_with: Option<fn(members: u32, redundancy: &RedundancySpec) -> u32>,
    /// The code of a stripe, where it restores some of the larger sets of missing units than those that it survives.
    pub code: Option<fn(members: u32, redundancy: &RedundancySpec) -> Code>,
    /// For schemes in a file: its path, if it is set.
    pub file: Option<fn(redundancy: &RedundancySpec) -> Option<String>>,
    /// In an array: the number of pages that it offers over these members, or a message why it does not work over them.
    pub over_drives: fn(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String>,
    /// Over drives: how many pages it can number.
    pub numbers: PageNumbers,
    /// The kind of its members.
    pub kind: Members,
    /// Whether it writes parity in idle time: until then, pages written are exposed.
    pub defers: bool,
    /// Whether it only passes commands on: one member in a drive, and no stripes over drives.
    pub plain: bool,
    /// Whether members may be concatenated (`stripe_kib = 0`).
    pub concatenates: bool,
    /// Whether a full array can be created in rows ([`Scheme::row`](crate::engine::Scheme::row)), so that it starts at once.
    pub in_rows: bool,
    /// Whether each member has a copy of every page, at the page's own address.
    pub copies: bool,
    /// Whether it chooses the least busy member with these options.
    pub follows_load: fn(redundancy: &RedundancySpec) -> bool,
    /// Whether it has a non-volatile memory.
    pub memory: bool,
    /// Whether the loss of its non-volatile memory loses no data.
    pub survives_memory: bool,
    /// Whether the occupancy of its memory by each disk is recorded during the run.
    pub shows_occupancy: bool,
    /// Bytes of a slot of that memory.
    pub memory_page: fn(redundancy: &RedundancySpec, page_bytes: u64) -> u64,
    /// The key by which it is notified, with these options, of old versions that GC will move; none if it is not.
    pub told_of_moves: fn(redundancy: &RedundancySpec) -> Option<&'static str>,
    /// The parameters for the conformance suite: it always uses the first ones, and the others in tests where options
    /// or odd numbers of members may matter.
    pub tried_with: &'static [TriedWith],
    /// The shape of its own section of the summary, which [`Scheme::figures`] returns and whose key is the scheme's
    /// name.
    pub figures: Option<fn() -> FigureShape>,
    /// Cost and life over such members; none without a formula.
    pub formula: fn(members: &[MemberTerms]) -> Option<Terms>,
}

/// Stripes over some of the members, which differ from stripe to stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclusteredLayout {
    /// Units of a stripe, parities included.
    pub units: u32,
    /// Members whose units fit into spare places.
    pub spares: u32,
}

impl SchemeEntry {
    /// The defaults.
    pub(super) const BASE: SchemeEntry = SchemeEntry {
        name: "",
        summary: "",
        source: "",
        options: &[],
        members: hybrid::only_over_drives,
        data_members: None,
        capacity: None,
        stripe: None,
        occupied: |_, _| 1.0,
        declustered: |_, _| None,
        rebuild_targets: |_, _| 1,
        check: |_, _| Ok(()),
        survives: |_| 0,
        survives_with: None,
        code: None,
        file: None,
        over_drives: members::striped,
        kind: Members::Mapped,
        numbers: PageNumbers::Narrow,
        defers: false,
        plain: false,
        concatenates: false,
        in_rows: false,
        copies: false,
        follows_load: |_| false,
        memory: false,
        survives_memory: false,
        shows_occupancy: false,
        memory_page: |_, page_bytes| page_bytes,
        told_of_moves: |_| None,
        tried_with: &[TriedWith::BASE],
        figures: None,
        formula: |_| None,
    };

    /// Whether it works inside drives; other schemes run over drives only.
    #[must_use]
    pub fn is_for_drives(&self) -> bool {
        self.plain || self.has::<Inside>()
    }

    /// How many of the units may fail with these options.
    #[must_use]
    pub fn survivable(&self, members: u32, redundancy: &RedundancySpec) -> u32 {
        match self.survives_with {
            Some(survives) => survives(members, redundancy),
            None => (self.survives)(members),
        }
    }

    /// For each number of units that fail at once, from 0 to that of the parities: the share of the sets of that many
    /// units whose failure loses data. None where that is 0 up to what the scheme survives, and 1 beyond.
    #[must_use]
    pub fn fatal_shares(&self, members: u32, redundancy: &RedundancySpec) -> Option<Vec<f64>> {
        let code = (self.code?)(members, redundancy);
        let data = members.saturating_sub(u32::from(code.parities())) as u8;
        Some((0..=code.parities()).map(|missing| code.fatal_share(data, missing)).collect())
    }

    /// The pages that restore a page; none if there are no such pages, or if the scheme does not know them beforehand.
    #[must_use]
    pub fn stripe(&self, members: u32, worn: &WornFlash<'_>) -> Option<Stripe> {
        if let Some(stripe) = self.stripe {
            return Some(stripe(members, worn));
        }
        if self.copies {
            return Some(Stripe { others: members - 1, spare: members.saturating_sub(2) });
        }
        let parities = self.survivable(members, worn.redundancy);
        let data = self.data_members.map(|data| data(members, worn.redundancy)).filter(|_| parities > 0)?;
        Some(Stripe { others: data + parities - 1, spare: parities - 1 })
    }

    /// Whether this part is among its options.
    #[must_use]
    pub fn has<T: 'static>(&self) -> bool {
        self.options.iter().any(OptionsPart::is::<T>)
    }

    /// The capacity inside a drive, of members that offer `each`.
    #[must_use]
    pub fn offers(&self, each: u64, members: u32, redundancy: &RedundancySpec) -> u64 {
        match (self.capacity, self.data_members) {
            (Some(capacity), _) => capacity(each, members, redundancy),
            (None, Some(data_members)) => each * u64::from(data_members(members, redundancy)),
            (None, None) => each,
        }
    }

    /// Pages of each member of an array for the scheme's stripes, and for old versions, which its drives know nothing
    /// of.
    #[must_use]
    pub fn divide_members(&self, members: &[MemberFacts], redundancy: &RedundancySpec) -> (u64, u64) {
        let pages = members::common_pages(members);
        let kept = if self.kind == Members::WithHiddenRange {
            members::stripes_beside_old(pages, redundancy)
        } else {
            pages
        };
        (kept, pages - kept)
    }

    /// The keys of its options, over drives or inside one.
    #[must_use]
    pub fn keys(&self, over_drives: bool) -> Vec<String> {
        self.parts(over_drives).into_iter().flat_map(OptionsPart::keys).collect()
    }

    /// The first example of each option that has examples: values with short delays and small logs.
    #[must_use]
    pub fn examples(&self, over_drives: bool) -> Vec<(String, Value)> {
        let mut generator = SchemaGenerator::default();
        let keys = self.parts(over_drives).into_iter().flat_map(|part| part.properties(&mut generator));
        keys.filter_map(|(key, schema)| Some((key, schema.get("examples")?.get(0)?.clone()))).collect()
    }

    /// Reduces options to those of this scheme, with defaults for missing ones.
    pub fn keep_options(&self, redundancy: &mut RedundancySpec, over_drives: bool) {
        redundancy.keep(&self.parts(over_drives));
    }

    /// The parts of its options that apply over drives, or inside one.
    fn parts(&self, over_drives: bool) -> Vec<&'static OptionsPart> {
        let other = |part: &&OptionsPart| match over_drives {
            true => part.is::<Inside>(),
            false => part.is::<Striping>() || part.is::<Extents>(),
        };
        let parts = self.options.iter().filter(|part| !other(part));
        // A scheme with a `width` inside drives has it over drives as well, as the width of groups.
        let superblocks = (over_drives && self.has::<Inside>()).then_some(&GROUPS);
        parts.chain(superblocks).collect()
    }
}

const GROUPS: OptionsPart = OptionsPart::of::<Groups>();

impl std::fmt::Debug for SchemeEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
