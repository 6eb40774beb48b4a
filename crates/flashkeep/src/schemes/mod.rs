//! Redundancy: one file per scheme, one line in the table.
//!
//! The enum, the dispatch, the names in messages, the checks and the manual pages are all derived from the table.

use crate::engine::{
    AddressMap, Capabilities, Change, Command, Key, Lock, Member, Page, Plan, PlanVerdict, Protection,
    RepairOutcome, Scheme, Spare, Step, Verb, View, Why,
};

use crate::blocks::Policies;
use crate::figures::{self, FigureShape};
use crate::kernel::head_comment;
use crate::mapping::Mapping;
use crate::options::{OptionsPart, WrongOption};

mod backup;
mod chained;
mod diff_raid;
mod ds;
mod dvs;
mod entry;
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

pub use backup::{Backup, BackupDiskFigures, BackupFacts, BackupFigures, DiskFacts, Moved, Spread};
pub use diff_raid::DiffRaid;
pub use ds::Ds;
pub use dvs::Dvs;
pub use entry::{MemberFacts, MemberTerms, Members, SchemeEntry, SchemeOptions, Terms, TriedWith};
pub use fra::Fra;
pub use griffin::Griffin;
pub use hpda::Hpda;
pub use i_cash::ICash;
pub use lifespan::Lifespan;
pub use log::{StripeLog, least_groups};
pub use mirror::{Mirror, MirrorAcknowledge, ReadPolicy};
pub use none::Plain;
pub use options::{
    DiskLog, Extents, Groups, Idle, Incomplete, Incompletes, Inside, NvramOptions, NvramPrice, OldVersions,
    Rebuilds, RedundancySpec, Striping, Sums,
};
pub use parity::{Fixed, Parity, ParityLayout, Rotated, Split, Weighted};
pub use ppc::Ppc;
pub use raid4::Raid4;
pub use raid5::Raid5;
pub use raid6::Raid6;
pub use shares::{SHARES_OF, Shares};
pub use spd_raid4::SpdRaid4;

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
    };
    Any::Plain(Plain::new(&options))
}

/// The schemes that work inside drives.
pub fn for_drives() -> impl Iterator<Item = &'static SchemeEntry> {
    SCHEMES.iter().filter(|entry| entry.is_for_drives())
}

/// The values of `redundancy.scheme`.
#[must_use]
pub fn names() -> Vec<&'static str> {
    SCHEMES.iter().map(|scheme| scheme.name).collect()
}

/// The scheme of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static SchemeEntry> {
    SCHEMES.iter().find(|entry| entry.name == name)
}

impl Any {
    /// A state that was loaded takes over the policies of the scheme that was built for the drive, which may differ.
    pub fn go_on_as(&mut self, built: &Any) {
        if let (Any::Mapped(map), Any::Mapped(built)) = (&mut *self, built) {
            return map.go_on_as(built);
        }
        if let (Some(log), Some(built)) = (self.log_mut(), built.log()) {
            log.go_on_as(built);
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
    ($($module:ident $variant:ident;)*) => {
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

        impl Scheme for Any {
            fn capacity(&self) -> u64 { match self { $(Any::$variant(s) => s.capacity(),)* Any::Mapped(s) => s.capacity() } }
            #[inline(always)]
            fn grain(&self, verb: Verb) -> u32 { match self { $(Any::$variant(s) => s.grain(verb),)* Any::Mapped(s) => s.grain(verb) } }
            fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
                match self { $(Any::$variant(s) => s.places(page, tell),)* Any::Mapped(s) => s.places(page, tell) }
            }
            fn takes_all(&self) -> bool { match self { $(Any::$variant(s) => s.takes_all(),)* Any::Mapped(s) => s.takes_all() } }
            fn is_sum(&self, page: Page) -> bool {
                match self { $(Any::$variant(s) => s.is_sum(page),)* Any::Mapped(s) => s.is_sum(page) }
            }
            #[inline]
            fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
                match self { $(Any::$variant(s) => s.prefetch(page, ask),)* Any::Mapped(s) => s.prefetch(page, ask) }
            }
            fn renew_parity(&mut self, stripe: u32, plan: &mut Plan) -> bool {
                match self { $(Any::$variant(s) => s.renew_parity(stripe, plan),)* Any::Mapped(s) => s.renew_parity(stripe, plan) }
            }
            fn examined(&mut self, codeword: u32, view: &View<'_>) {
                match self { $(Any::$variant(s) => s.examined(codeword, view),)* Any::Mapped(s) => s.examined(codeword, view) }
            }
            #[inline(always)]
            fn lock(&self, c: &Command) -> Lock { match self { $(Any::$variant(s) => s.lock(c),)* Any::Mapped(s) => s.lock(c) } }
            #[inline(always)]
            fn plan(&mut self, c: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
                match self { $(Any::$variant(s) => s.plan(c, view, plan),)* Any::Mapped(s) => s.plan(c, view, plan) }
            }
            fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
                match self { $(Any::$variant(s) => s.background(why, view, plan),)* Any::Mapped(s) => s.background(why, view, plan) }
            }
            fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
                match self { $(Any::$variant(s) => s.repair(failed, view, plan),)* Any::Mapped(s) => s.repair(failed, view, plan) }
            }
            fn owner(&self, member: Member, page: Page) -> Option<Page> {
                match self { $(Any::$variant(s) => s.owner(member, page),)* Any::Mapped(s) => s.owner(member, page) }
            }
            fn figures(&self) -> Option<serde_json::Value> {
                match self { $(Any::$variant(s) => s.figures(),)* Any::Mapped(s) => s.figures() }
            }
            #[inline(always)]
            fn exposed(&self) -> u64 { match self { $(Any::$variant(s) => s.exposed(),)* Any::Mapped(s) => s.exposed() } }
            #[inline]
            fn pressed(&self) -> bool { match self { $(Any::$variant(s) => s.pressed(),)* Any::Mapped(s) => s.pressed() } }
            fn rebuilding(&self, restoring: bool) -> bool {
                match self { $(Any::$variant(s) => s.rebuilding(restoring),)* Any::Mapped(s) => s.rebuilding(restoring) }
            }
            fn capabilities(&self) -> Capabilities {
                match self { $(Any::$variant(s) => s.capabilities(),)* Any::Mapped(s) => s.capabilities() }
            }
            fn protection(&self) -> Protection<'_> {
                match self { $(Any::$variant(s) => s.protection(),)* Any::Mapped(s) => s.protection() }
            }
            fn map(&mut self) -> Option<&mut dyn AddressMap> {
                match self { $(Any::$variant(s) => s.map(),)* Any::Mapped(s) => s.map() }
            }
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
            fn count_on(&mut self, replaced: &Any) {
                match (self, replaced) {
                    $((Any::$variant(scheme), Any::$variant(replaced)) => scheme.count_on(replaced),)*
                    (Any::Mapped(map), Any::Mapped(replaced)) => map.count_on(replaced),
                    _ => {}
                }
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
