//! Redundancy: one file per scheme, one line in the table.
//!
//! The table defines the enum, the dispatch, the names in messages, what `check` knows of a scheme, and the
//! manual pages.

use crate::engine::{
    Change, Command, Hazard, Key, Lock, Member, Outcome, Page, Plan, Rhythm, Scheme, Spare, Step, Unit,
    Verdict, View, Why,
};

use crate::blocks::Policies;
use crate::figures::{self, Shape};
use crate::kernel::head_comment;
use crate::mapping::Mapping;
use schemars::SchemaGenerator;
use serde_json::Value;

mod backup;
mod chained;
mod diff_raid;
mod ds;
mod dvs;
mod fra;
mod griffin;
mod hpda;
mod hybrid;
mod i_cash;
mod lifespan;
mod log;
mod members;
mod mirror;
mod none;
mod options;
mod parity;
mod ppc;
mod raid4;
mod raid5;
mod raid6;
mod ring;
mod shares;
mod spd_raid4;
#[cfg(test)]
mod tests;
mod todo;

pub use backup::{Backup, BackupDiskFigures, BackupFacts, BackupFigures, DiskFacts, Moved, Spread};
pub use diff_raid::DiffRaid;
pub use ds::Ds;
pub use dvs::Dvs;
pub use fra::Fra;
pub use griffin::Griffin;
pub use hpda::Hpda;
pub use i_cash::ICash;
pub use lifespan::Lifespan;
pub use log::{Log, least_groups};
pub use mirror::{Mirror, MirrorAcknowledge, ReadPolicy};
pub use none::Plain;
pub use options::{
    DiskLog, Extents, Groups, Idle, Incomplete, Incompletes, Inside, NvramOptions, NvramPrice, OldVersions,
    Part, Rebuilds, RedundancySpec, Striping, Sums,
};
pub use parity::{Fixed, Layout, Parity, Rotated, Split, Weighted};
pub use ppc::Ppc;
pub use raid4::Raid4;
pub use raid5::Raid5;
pub use raid6::Raid6;
pub use shares::{SHARES_OF, Shares};
pub use spd_raid4::SpdRaid4;

/// The sections that schemes add to the summary.
pub(crate) fn figures() -> Vec<figures::Entry> {
    let section = |scheme: &Entry| {
        let shape = (scheme.figures?)();
        let about = if let Shape::Group(group) = &shape { group.about } else { "" };
        let about = format!("{}; only with the scheme `{}`.", about.trim_end_matches('.'), scheme.name);
        let (name, figure, shape) = (scheme.name.into(), figures::plain(), shape.optional());
        Some(figures::Entry { name, about: about.into(), figure, shape })
    };
    SCHEMES.iter().filter_map(section).collect()
}

/// A member of an array, as its scheme may know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberFacts {
    /// Pages that it offers.
    pub pages: u64,
    /// Whether it is a disk; otherwise it is flash, or a tree of its own.
    pub disk: bool,
    /// Bytes of a page, the same for all members.
    pub page_bytes: u64,
}

/// What a scheme is made from.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The keys of the drive file.
    pub redundancy: &'a RedundancySpec,
    /// Pages that each member offers.
    pub member_pages: u64,
    /// How many members there are, not counting a non-volatile memory.
    pub members: u8,
    /// Pages that each member has beyond `member_pages`, at the addresses from there on: its shadow.
    pub shadow_pages: u32,
    /// Pages of the non-volatile memory, which is the member after the last; 0 where there is none.
    pub memory_pages: u32,
    /// Raw members only: pages of a group (the same block of every plane of a member, erased as one) in each member,
    /// and how many groups there are.
    pub group_pages: u32,
    /// Raw members only: how many groups there are.
    pub groups: u32,
    /// Raw members only: groups are cleaned when no more than this many are free.
    pub clean_below: u32,
    /// Raw members only: the same in idle moments; 0 for never.
    pub soft_below: u32,
    /// Raw members only: which group is cleaned, and how wear is spread.
    pub policies: Policies,
    /// Raw members only: classes of pages, each with a superblock of its own, and whether moved pages have another.
    pub streams: u8,
    /// See `streams`.
    pub separate: bool,
    /// The run's seed.
    pub seed: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// In an array: what each member is. Empty in a drive, where all of them are flash.
    pub array: &'a [MemberFacts],
    /// A member has this many pages of consecutive stripes before parities move on: 1 in a drive.
    pub unit_pages: u32,
    /// Its pages have the host's numbers, which OOB metadata names.
    pub numbered: bool,
}

/// What a scheme's members are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// Each with an FTL of its own: pages can be written again anywhere.
    Mapped,
    /// The same, with room for old versions beyond its pages.
    Shadowed,
    /// Bare flash: the scheme decides where each page lies, and erases.
    Raw,
}

/// Whether a scheme finds its pages again after a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovers {
    /// What it keeps in memory cannot be recovered.
    No,
    /// From the host's page numbers, which OOB metadata names: inside a drive, and over drives if it is on top.
    Numbered,
    /// Whatever its pages are: also below other schemes.
    Always,
}

/// What it takes to offer a GB, and how long flash lasts, by the formulas of table 1 of the hybrid-backup paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// GB of drives.
    pub ssd: f64,
    /// GB of disks.
    pub disk: f64,
    /// The life of the drives over that of one alone.
    pub life: f64,
}

/// A member, as these formulas see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberTerms {
    /// Whether it is a single drive; otherwise it is a disk or an array.
    pub drive: bool,
    /// What it takes itself, if a formula says so.
    pub terms: Option<Terms>,
}

/// An option that does not go with the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongOption {
    /// Its key: `redundancy.KEY`.
    pub key: &'static str,
    /// What was found, and what is accepted.
    pub message: String,
}

/// What the conformance suite tries a scheme with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriedWith {
    /// Parts of a drive.
    pub parts: u32,
    /// Drives of an array.
    pub drives: u32,
    /// Disks of an array, behind the drives.
    pub disks: u32,
    /// Options (`redundancy.KEY=VALUE`) beside the first examples of all others.
    pub set: &'static [&'static str],
}

impl TriedWith {
    /// What holds where a scheme declares nothing else.
    const BASE: TriedWith = TriedWith { parts: 5, drives: 5, disks: 0, set: &[] };
}

/// A scheme as the table has it: its capabilities, and what is known of it before it is made. What the file of a scheme
/// does not declare is as in [`Entry::BASE`].
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    source: &'static str,
    /// Its options, part by part. Drives can have it if members inside a drive are among them ([`Inside`]), it works out
    /// sums if [`Sums`] are.
    options: &'static [Part],
    /// How many members it makes of this many parts of the level it runs over, `width` of them being asked for; or why
    /// that cannot be. The level's name is for the message.
    pub members: fn(parts: u64, width: Option<u32>, level: &str) -> Result<u32, String>,
    /// For schemes that think in stripes of a page of each member: how many of those pages are data. Over drives, units of
    /// several pages are a permutation of the host's pages then; other schemes find units themselves.
    pub data_members: Option<fn(members: u32, redundancy: &RedundancySpec) -> u32>,
    /// What it offers inside a drive, of members that offer `each`; if it does not say, what the data of a stripe take, or
    /// what a member offers. In pages and in sectors: the drive offers whichever is less.
    pub capacity: Option<fn(each: u64, members: u32, redundancy: &RedundancySpec) -> u64>,
    /// Whether its options go with this many members; the key that does not, and why.
    pub check: fn(members: u32, redundancy: &RedundancySpec) -> Result<(), WrongOption>,
    /// How many of the units that it runs over may fail, one after the other, before anything is lost.
    pub survives: fn(members: u32) -> u32,
    /// In an array: the pages that it offers over these members, or why it cannot be had over them.
    pub over_drives: fn(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String>,
    /// What its members are.
    pub kind: Members,
    /// Whether it does nothing but pass commands on: one member in a drive, and no stripes over drives.
    pub plain: bool,
    /// Whether members may lie one after another (`stripe_kib = 0`).
    pub concatenates: bool,
    /// Whether each member has a copy of every page, at the page's own address.
    pub copies: bool,
    /// Whether it finds its pages again after a power loss.
    pub recovers: Recovers,
    /// Whether it asks, with these options, which member is free soonest.
    pub follows_load: fn(redundancy: &RedundancySpec) -> bool,
    /// Whether it has a non-volatile memory.
    pub memory: bool,
    /// Whether nothing is lost with it.
    pub survives_memory: bool,
    /// Whether its memory is looked at while it runs, for what it holds of each disk.
    pub shows_occupancy: bool,
    /// Bytes of a place of that memory.
    pub memory_page: fn(redundancy: &RedundancySpec, page_bytes: u64) -> u64,
    /// Whether it is told, with these options, of old versions that collection is about to move.
    pub told_of_moves: fn(redundancy: &RedundancySpec) -> bool,
    /// What the conformance suite tries it with: the first one always, the others where options or odd numbers of members
    /// may matter.
    pub tried_with: &'static [TriedWith],
    /// The section of its own figures in the summary, whose key is its name: the shape of what [`Scheme::figures`] returns.
    pub figures: Option<fn() -> Shape>,
    /// Costs and lives over such members; none where no formula says.
    pub formula: fn(members: &[MemberTerms]) -> Option<Terms>,
}

impl Entry {
    /// What holds where a scheme declares nothing else.
    const BASE: Entry = Entry {
        name: "",
        summary: "",
        source: "",
        options: &[],
        members: hybrid::only_over_drives,
        data_members: None,
        capacity: None,
        check: |_, _| Ok(()),
        survives: |_| 0,
        over_drives: members::striped,
        kind: Members::Mapped,
        plain: false,
        concatenates: false,
        copies: false,
        recovers: Recovers::Numbered,
        follows_load: |_| false,
        memory: false,
        survives_memory: false,
        shows_occupancy: false,
        memory_page: |_, page_bytes| page_bytes,
        told_of_moves: |_| false,
        tried_with: &[TriedWith::BASE],
        figures: None,
        formula: |_| None,
    };

    /// Whether drives can have it; the others run over drives only.
    #[must_use]
    pub fn is_for_drives(&self) -> bool {
        self.plain || self.has::<Inside>()
    }

    /// Whether this part is among its options.
    #[must_use]
    pub fn has<T: 'static>(&self) -> bool {
        self.options.iter().any(Part::is::<T>)
    }

    /// What it offers inside a drive, of members that offer `each`.
    #[must_use]
    pub fn offers(&self, each: u64, members: u32, redundancy: &RedundancySpec) -> u64 {
        match (self.capacity, self.data_members) {
            (Some(capacity), _) => capacity(each, members, redundancy),
            (None, Some(data_members)) => each * u64::from(data_members(members, redundancy)),
            (None, None) => each,
        }
    }

    /// Pages of each member of an array for the scheme's stripes, and for old versions, which its drives know nothing of.
    #[must_use]
    pub fn divide_members(&self, members: &[MemberFacts], redundancy: &RedundancySpec) -> (u64, u64) {
        let pages = members::common_pages(members);
        let kept = if self.kind == Members::Shadowed {
            members::stripes_beside_old(pages, redundancy)
        } else {
            pages
        };
        (kept, pages - kept)
    }

    /// The keys of its options, over drives or inside one.
    #[must_use]
    pub fn keys(&self, over_drives: bool) -> Vec<String> {
        let mut generator = SchemaGenerator::default();
        let keys = self.parts(over_drives).into_iter().flat_map(|part| part.properties(&mut generator));
        keys.map(|(key, _)| key).collect()
    }

    /// The first example of each of its options that has examples: values with which delays are short and logs are small.
    #[must_use]
    pub fn examples(&self, over_drives: bool) -> Vec<(String, Value)> {
        let mut generator = SchemaGenerator::default();
        let keys = self.parts(over_drives).into_iter().flat_map(|part| part.properties(&mut generator));
        keys.filter_map(|(key, schema)| Some((key, schema.get("examples")?.get(0)?.clone()))).collect()
    }

    /// Leaves the options that it has, with defaults for what was not given.
    pub fn keep_options(&self, redundancy: &mut RedundancySpec, over_drives: bool) {
        redundancy.keep(&self.parts(over_drives));
    }

    /// Parts of its options that have a meaning over drives, or inside one.
    fn parts(&self, over_drives: bool) -> Vec<&'static Part> {
        let other = |part: &&Part| match over_drives {
            true => part.is::<Inside>(),
            false => part.is::<Striping>() || part.is::<Extents>(),
        };
        let parts = self.options.iter().filter(|part| !other(part));
        // A scheme whose members inside a drive can be chosen has it over drives, too, in groups.
        let groups = (over_drives && self.has::<Inside>()).then_some(&GROUPS);
        parts.chain(groups).collect()
    }
}

const GROUPS: Part = Part::of::<Groups>();

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// No redundancy over one member of this many pages.
#[must_use]
pub fn alone(redundancy: &RedundancySpec, pages: u64) -> Any {
    let options = Options {
        redundancy,
        member_pages: pages,
        members: 1,
        shadow_pages: 0,
        memory_pages: 0,
        group_pages: 0,
        groups: 0,
        clean_below: 0,
        soft_below: 0,
        streams: 1,
        separate: false,
        policies: Policies::default(),
        seed: 1,
        page_bytes: 0,
        array: &[],
        unit_pages: 1,
        numbered: true,
    };
    Any::Plain(Plain::new(&options))
}

/// The names of the schemes that run over drives as they do inside them, in a sentence.
#[must_use]
pub fn anywhere() -> String {
    members::listed(members::anywhere(), "", "or")
}

/// The schemes that a drive can have.
pub fn for_drives() -> impl Iterator<Item = &'static Entry> {
    SCHEMES.iter().filter(|entry| entry.is_for_drives())
}

/// What `redundancy.scheme` may be.
#[must_use]
pub fn names() -> Vec<&'static str> {
    SCHEMES.iter().map(|scheme| scheme.name).collect()
}

/// The scheme of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Entry> {
    SCHEMES.iter().find(|entry| entry.name == name)
}

impl Any {
    /// A state that was loaded goes on as the scheme that was built for the drive, whose policies may be others.
    pub fn go_on_as(&mut self, built: &Any) {
        if let (Any::Mapped(map), Any::Mapped(built)) = (&mut *self, built) {
            return map.go_on_as(built);
        }
        if let (Some(log), Some(built)) = (self.log_mut(), built.log()) {
            log.go_on_as(built);
        }
    }

    /// The log that it is, if it is one.
    #[must_use]
    pub fn log(&self) -> Option<&Log> {
        match self {
            Any::Ds(log) | Any::Dvs(log) | Any::Lifespan(log) => Some(log),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn log_mut(&mut self) -> Option<&mut Log> {
        match self {
            Any::Ds(log) | Any::Dvs(log) | Any::Lifespan(log) => Some(log),
            _ => None,
        }
    }
}

macro_rules! schemes {
    ($($module:ident $variant:ident;)*) => {
        /// Any scheme.
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
        pub enum Any {
            $(#[doc = concat!("See the file `", stringify!($module), ".rs`.")] $variant($module::$variant),)*
            /// Below a scheme: how one of its members finds its pages.
            Mapped(Box<Mapping>),
        }

        /// The table of schemes.
        pub const SCHEMES: &[Entry] = &[$($module::ENTRY,)*];

        /// The scheme that `options` ask for; none of that name is a mistake of the caller, who has checked.
        #[must_use]
        pub fn build(options: &Options<'_>) -> Option<Any> {
            let name = options.redundancy.scheme.as_str();
            $(if name == $module::ENTRY.name {
                return Some(Any::$variant($module::build(options)));
            })*
            None
        }

        impl Scheme for Any {
            fn capacity(&self) -> u64 { match self { $(Any::$variant(s) => s.capacity(),)* Any::Mapped(s) => s.capacity() } }
            #[inline(always)]
            fn grain(&self) -> u32 { match self { $(Any::$variant(s) => s.grain(),)* Any::Mapped(s) => s.grain() } }
            fn is_transparent(&self) -> bool {
                match self { $(Any::$variant(s) => s.is_transparent(),)* Any::Mapped(s) => s.is_transparent() }
            }
            fn is_map(&self) -> bool { match self { $(Any::$variant(s) => s.is_map(),)* Any::Mapped(s) => s.is_map() } }
            fn remaps(&self) -> bool { match self { $(Any::$variant(s) => s.remaps(),)* Any::Mapped(s) => s.remaps() } }
            fn losses(&mut self) -> Vec<Change> { match self { $(Any::$variant(s) => s.losses(),)* Any::Mapped(s) => s.losses() } }
            #[inline(always)]
            fn read_grain(&self) -> u32 { match self { $(Any::$variant(s) => s.read_grain(),)* Any::Mapped(s) => s.read_grain() } }
            fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
                match self { $(Any::$variant(s) => s.places(page, tell),)* Any::Mapped(s) => s.places(page, tell) }
            }
            #[inline]
            fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
                match self { $(Any::$variant(s) => s.prefetch(page, ask),)* Any::Mapped(s) => s.prefetch(page, ask) }
            }
            fn rhythm(&self) -> Rhythm { match self { $(Any::$variant(s) => s.rhythm(),)* Any::Mapped(s) => s.rhythm() } }
            #[inline(always)]
            fn lock(&self, c: &Command) -> Lock { match self { $(Any::$variant(s) => s.lock(c),)* Any::Mapped(s) => s.lock(c) } }
            #[inline(always)]
            fn plan(&mut self, c: &Command, view: &View<'_>, plan: &mut Plan) -> Verdict {
                match self { $(Any::$variant(s) => s.plan(c, view, plan),)* Any::Mapped(s) => s.plan(c, view, plan) }
            }
            fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
                match self { $(Any::$variant(s) => s.background(why, view, plan),)* Any::Mapped(s) => s.background(why, view, plan) }
            }
            fn repair_key(&self, member: Member, page: Page) -> Option<Key> {
                match self { $(Any::$variant(s) => s.repair_key(member, page),)* Any::Mapped(s) => s.repair_key(member, page) }
            }
            fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> Outcome {
                match self { $(Any::$variant(s) => s.repair(failed, view, plan),)* Any::Mapped(s) => s.repair(failed, view, plan) }
            }
            fn owner(&self, member: Member, page: Page) -> Option<Page> {
                match self { $(Any::$variant(s) => s.owner(member, page),)* Any::Mapped(s) => s.owner(member, page) }
            }
            fn is_whole(&self) -> bool { match self { $(Any::$variant(s) => s.is_whole(),)* Any::Mapped(s) => s.is_whole() } }
            fn passes_parts(&self) -> bool { match self { $(Any::$variant(s) => s.passes_parts(),)* Any::Mapped(s) => s.passes_parts() } }
            fn is_carefree(&self) -> bool { match self { $(Any::$variant(s) => s.is_carefree(),)* Any::Mapped(s) => s.is_carefree() } }
            #[inline(always)]
            fn exposed(&self) -> u64 { match self { $(Any::$variant(s) => s.exposed(),)* Any::Mapped(s) => s.exposed() } }
            fn is_exposed(&self, page: Page, hazard: Hazard) -> bool {
                match self { $(Any::$variant(s) => s.is_exposed(page, hazard),)* Any::Mapped(s) => s.is_exposed(page, hazard) }
            }
            fn figures(&self) -> Option<serde_json::Value> {
                match self { $(Any::$variant(s) => s.figures(),)* Any::Mapped(s) => s.figures() }
            }
            fn covers(&self, visit: &mut dyn FnMut(&[Unit])) {
                match self { $(Any::$variant(s) => s.covers(visit),)* Any::Mapped(s) => s.covers(visit) }
            }
            #[inline]
            fn pressed(&self) -> bool { match self { $(Any::$variant(s) => s.pressed(),)* Any::Mapped(s) => s.pressed() } }
            fn rebuilding(&self) -> bool { match self { $(Any::$variant(s) => s.rebuilding(),)* Any::Mapped(s) => s.rebuilding() } }
            #[inline(always)]
            fn settled(&mut self, key: Key, view: &View<'_>) {
                match self { $(Any::$variant(s) => s.settled(key, view),)* Any::Mapped(s) => s.settled(key, view) }
            }
            fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
                match self { $(Any::$variant(s) => s.recover(view, lacks),)* Any::Mapped(s) => s.recover(view, lacks) }
            }
            fn spare(&self, page: Page, view: &View<'_>) -> Option<Spare> {
                match self { $(Any::$variant(s) => s.spare(page, view),)* Any::Mapped(s) => s.spare(page, view) }
            }
            fn disown(&mut self, page: Page, view: &View<'_>, tell: &mut dyn FnMut(Member, Page)) {
                match self { $(Any::$variant(s) => s.disown(page, view, tell),)* Any::Mapped(s) => s.disown(page, view, tell) }
            }
            fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
                match self { $(Any::$variant(s) => s.member(member, change, view),)* Any::Mapped(s) => s.member(member, change, view) }
            }
        }
    };
}

schemes! {
    none Plain;
    mirror Mirror;
    chained Chained;
    raid4 Raid4;
    raid5 Raid5;
    raid6 Raid6;
    ds Ds;
    dvs Dvs;
    fra Fra;
    ppc Ppc;
    lifespan Lifespan;
    hpda Hpda;
    diff_raid DiffRaid;
    griffin Griffin;
    i_cash ICash;
    spd_raid4 SpdRaid4;
    backup Backup;
}

/// The manual page of a scheme: the doc comment at the head of its file.
#[must_use]
pub fn manual(name: &str) -> Option<String> {
    Some(head_comment(named(name)?.source))
}
