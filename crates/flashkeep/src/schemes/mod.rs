//! Redundancy: one file per scheme, one line in the table.
//!
//! The enum, the dispatch, the names in messages, the checks and the manual pages are all derived from the table.

use crate::engine::{
    BackgroundWork, Capabilities, Change, Command, Key, Lock, Member, MemberRow, OobData, Page, Plan,
    PlanVerdict, Protection, Recoverable, RepairOutcome, Scheme, Step, Verb, View, Why,
};
use crate::kernel::Bits;
use std::ops::Range;

use crate::blocks::Policies;
use crate::figures::{self, FigureShape};
use crate::kernel::head_comment;
use crate::mapping::Mapping;
use crate::options::{OptionsPart, WrongOption};

use published::{diff_raid, fra, griffin, hpda, i_cash, ppc, spd_raid4};

mod backup;
mod chained;
mod copied;
mod declustered;
mod doubts;
mod ds;
mod dvs;
mod entry;
mod hybrid;
mod lifespan;
mod log;
mod lrc;
mod members;
mod mirror;
mod none;
mod options;
mod parity;
mod published;
mod python;
mod raid4;
mod raid5;
mod raid6;
mod raid_tp;
mod ring;
mod shares;
#[cfg(test)]
mod tests;

pub use backup::{Backup, BackupDiskFigures, BackupFacts, BackupFigures, DiskFacts, Moved, Spread};
pub use declustered::Declustered;
pub use ds::Ds;
pub use dvs::Dvs;
pub use entry::{
    DeclusteredLayout, MemberFacts, MemberTerms, Members, PageNumbers, SchemeEntry, SchemeOptions, Terms,
    TriedWith, WornFlash,
};
pub use lifespan::Lifespan;
pub use log::{AgedSuperblock, StripeLog, least_superblocks};
pub use lrc::Lrc;
pub use mirror::{Mirror, MirrorAcknowledge, ReadPolicy};
pub use none::Plain;
pub use options::{
    DiskLog, Extents, Groups, Idle, Incomplete, Incompletes, Inside, NvramOptions, NvramPrice, OldVersions,
    Reading, Reads, Rebuilds, RedundancySpec, Striping, Sums,
};
pub use parity::{
    Fixed, LocalGroups, Parity, ParityLayout, Permuted, PermutedSeats, Rotated, Seats, Split, StripeSeats,
    Weighted,
};
pub use published::{DiffRaid, Fra, Griffin, Hpda, ICash, Ppc, SpdRaid4};
pub use python::{
    ForeignCodeword, ForeignCommand, ForeignError, ForeignLoader, ForeignPlace, ForeignScheme, ForeignStep,
    ForeignView, LoadScheme, Python, load_schemes_with,
};
pub use raid_tp::RaidTp;
pub use raid4::Raid4;
pub use raid5::Raid5;
pub use raid6::Raid6;
pub use shares::{SHARES_OF, Shares};

/// The sections that schemes add to the summary.
pub(crate) fn figures() -> Vec<figures::FigureEntry> {
    let section = |scheme: &SchemeEntry| {
        let shape = (scheme.figures?)();
        let about = if let FigureShape::Group(group) = &shape { group.about } else { "" };
        let about = format!("{}; only with the scheme `{}`.", about.trim_end_matches('.'), scheme.name);
        let (name, figure, shape) = (scheme.name.into(), figures::plain(), shape.optional());
        Some(figures::FigureEntry { name, about: about.into(), figure, shape })
    };
    SCHEMES.iter().filter_map(section).collect()
}

/// No redundancy over one member of this many pages.
#[must_use]
pub fn alone(redundancy: &RedundancySpec, pages: u64) -> Any {
    let options = SchemeOptions {
        redundancy,
        member_pages: pages,
        members: 1,
        hidden_pages: 0,
        memory_pages: 0,
        superblock_pages: 0,
        superblocks: 0,
        clean_below: 0,
        soft_below: 0,
        streams: 1,
        separate: false,
        policies: Policies::default(),
        seed: 1,
        page_bytes: 0,
        array: &[],
        unit_pages: 1,
        errors: None,
    };
    Any::Plain(Plain::new(&options))
}

/// The schemes that work inside drives and need no file.
pub fn for_drives() -> impl Iterator<Item = &'static SchemeEntry> {
    SCHEMES.iter().filter(|entry| entry.is_for_drives() && entry.file.is_none())
}

/// The values of `redundancy.scheme`.
#[must_use]
pub fn names() -> Vec<&'static str> {
    SCHEMES.iter().map(|scheme| scheme.name).collect()
}

/// The scheme of a RAID level that has another name here, and the width of its groups if the level says so.
#[must_use]
pub fn of_raid_level(level: &str) -> Option<(&'static str, Option<i64>)> {
    match level {
        "raid0" => Some(("none", None)),
        "raid1" => Some(("mirror", None)),
        "raid10" => Some(("mirror", Some(2))),
        _ => None,
    }
}

/// The scheme of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static SchemeEntry> {
    SCHEMES.iter().find(|entry| entry.name == name)
}

impl Any {
    /// A state that was loaded takes over the policies of the scheme that was built for the drive, which may differ.
    pub fn adopt_policies(&mut self, built: &Any) {
        if let (Any::Mapped(map), Any::Mapped(built)) = (&mut *self, built) {
            return map.adopt_policies(built);
        }
        if let (Any::Python(scheme), Any::Python(built)) = (&mut *self, built) {
            return scheme.adopt_policies(built);
        }
        if let (Some(log), Some(built)) = (self.log_mut(), built.log()) {
            log.adopt_policies(built);
        }
    }

    /// It takes the place of a scheme whose members were all replaced: what that has counted is part of the run.
    pub fn inherit_counts(&mut self, replaced: &Any) {
        if let (Any::Mapped(map), Any::Mapped(replaced)) = (self, replaced) {
            map.inherit_counts(replaced);
        }
    }

    /// The log, if the scheme is log-structured.
    #[must_use]
    pub fn log(&self) -> Option<&StripeLog> {
        match self {
            Any::Ds(log) | Any::Dvs(log) | Any::Lifespan(log) => Some(log),
            _ => None,
        }
    }

    /// The same, mutable.
    pub fn log_mut(&mut self) -> Option<&mut StripeLog> {
        match self {
            Any::Ds(log) | Any::Dvs(log) | Any::Lifespan(log) => Some(log),
            _ => None,
        }
    }
}

macro_rules! schemes {
    ($d:tt $($module:ident $variant:ident;)*) => {
        /// Any scheme.
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
        pub enum Any {
            $(#[doc = concat!("See the file `", stringify!($module), ".rs`.")] $variant($module::$variant),)*
            /// The address map of one member, below a scheme.
            Mapped(Box<Mapping>),
        }

        /// The table of schemes.
        pub const SCHEMES: &[SchemeEntry] = &[$($module::ENTRY,)*];

        /// Builds the scheme that `options` name; none if there is no such scheme, which the caller has checked.
        #[must_use]
        pub fn build(options: &SchemeOptions<'_>) -> Option<Any> {
            let name = options.redundancy.scheme.as_str();
            $(if name == $module::ENTRY.name {
                return Some(Any::$variant($module::build(options)));
            })*
            None
        }

        /// The call of any scheme; `$d` is a dollar sign, for the parameters of this macro.
        macro_rules! of_any {
            ($d any:expr, $d scheme:ident => $d call:expr) => {
                match $d any {
                    $(Any::$variant($d scheme) => $d call,)*
                    Any::Mapped($d scheme) => $d call,
                }
            };
        }
    };
}

// The first token is for a macro that this one defines.
schemes! { $
    none Plain;
    mirror Mirror;
    chained Chained;
    raid4 Raid4;
    raid5 Raid5;
    raid6 Raid6;
    raid_tp RaidTp;
    lrc Lrc;
    ds Ds;
    dvs Dvs;
    fra Fra;
    ppc Ppc;
    lifespan Lifespan;
    hpda Hpda;
    diff_raid DiffRaid;
    declustered Declustered;
    griffin Griffin;
    i_cash ICash;
    spd_raid4 SpdRaid4;
    backup Backup;
    python Python;
}

impl Scheme for Any {
    fn capacity(&self) -> u64 {
        of_any!(self, s => s.capacity())
    }

    fn capabilities(&self) -> Capabilities {
        of_any!(self, s => s.capabilities())
    }

    #[inline(always)]
    fn grain(&self, verb: Verb) -> u32 {
        of_any!(self, s => s.grain(verb))
    }

    fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
        of_any!(self, s => s.places(page, tell))
    }

    fn row(&self) -> Option<MemberRow> {
        of_any!(self, s => s.row())
    }

    fn used(&self) -> Option<&Bits> {
        of_any!(self, s => s.used())
    }

    fn ever_used(&self) -> Option<&Bits> {
        of_any!(self, s => s.ever_used())
    }

    fn period(&self, codewords: Range<u64>) -> Option<u32> {
        of_any!(self, s => s.period(codewords))
    }

    fn note_rows(&mut self, rows: Range<u64>) {
        of_any!(self, s => s.note_rows(rows))
    }

    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        of_any!(self, s => s.prefetch(page, ask))
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        of_any!(self, s => s.owner(member, page))
    }

    #[inline]
    fn protection(&self) -> Protection<'_> {
        of_any!(self, s => s.protection())
    }

    #[inline(always)]
    fn lock(&self, command: &Command) -> Lock {
        of_any!(self, s => s.lock(command))
    }

    #[inline(always)]
    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        of_any!(self, s => s.plan(command, view, plan))
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        of_any!(self, s => s.repair(failed, view, plan))
    }

    #[inline(always)]
    fn settled(&mut self, key: Key, view: &View<'_>) {
        of_any!(self, s => s.settled(key, view))
    }

    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        of_any!(self, s => s.member(member, change, view))
    }

    fn figures(&self) -> Option<serde_json::Value> {
        of_any!(self, s => s.figures())
    }
}

impl BackgroundWork for Any {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        of_any!(self, s => s.background(why, view, plan))
    }

    #[inline]
    fn urgent(&self) -> bool {
        of_any!(self, s => s.urgent())
    }

    fn rebuilding(&self, restoring: bool) -> bool {
        of_any!(self, s => s.rebuilding(restoring))
    }

    fn moves_back(&self) -> bool {
        of_any!(self, s => s.moves_back())
    }

    fn examined(&mut self, stripe: u32, view: &View<'_>) {
        of_any!(self, s => s.examined(stripe, view))
    }
}

impl Recoverable for Any {
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        of_any!(self, s => s.recover(view, lacks))
    }

    fn oob(&self, page: Page, view: &View<'_>) -> Option<OobData> {
        of_any!(self, s => s.oob(page, view))
    }

    fn losses(&mut self) -> Vec<Change> {
        of_any!(self, s => s.losses())
    }
}

/// The manual page of a scheme: the doc comment at the head of its file.
#[must_use]
pub fn manual(name: &str) -> Option<String> {
    Some(head_comment(named(name)?.source))
}
