//! Redundancy: one file a scheme, one line in the table.
//!
//! The table yields the enum, the dispatch, the names in messages and the manual pages.

use crate::engine::{
    Change, Command, Key, Lock, Member, Outcome, Page, Plan, Rhythm, Scheme, Step, Verdict, View, Why,
};

mod mirror;
mod none;

pub use mirror::Mirror;
pub use none::Plain;

/// What a scheme is made from.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The keys of the drive file.
    pub redundancy: &'a crate::spec::RedundancySpec,
    /// Pages that each member offers.
    pub member_pages: u64,
    /// How many members there are.
    pub members: u8,
}

/// A scheme in the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its manual page.
    pub manual: &'static str,
}

macro_rules! schemes {
    ($($name:literal $variant:ident($type:ty) $summary:literal $file:literal;)*) => {
        /// Any scheme.
        #[derive(Clone, Debug)]
        pub enum Any {
            $(#[doc = $summary] $variant($type),)*
        }

        /// The table of schemes.
        pub const SCHEMES: &[Entry] = &[
            $(Entry { name: $name, summary: $summary, manual: include_str!($file) },)*
        ];

        /// The scheme that `options` ask for; none of that name is a mistake of the caller, who has checked.
        #[must_use]
        pub fn build(options: &Options<'_>) -> Option<Any> {
            match options.redundancy.scheme.as_str() {
                $($name => Some(Any::$variant(<$type>::new(options))),)*
                _ => None,
            }
        }

        impl Scheme for Any {
            fn capacity(&self) -> u64 { match self { $(Any::$variant(s) => s.capacity(),)* } }
            fn grain(&self) -> u32 { match self { $(Any::$variant(s) => s.grain(),)* } }
            fn rhythm(&self) -> Rhythm { match self { $(Any::$variant(s) => s.rhythm(),)* } }
            fn lock(&self, c: &Command) -> Lock { match self { $(Any::$variant(s) => s.lock(c),)* } }
            #[inline]
            fn plan(&mut self, c: &Command, view: &View<'_>, plan: &mut Plan) -> Verdict {
                match self { $(Any::$variant(s) => s.plan(c, view, plan),)* }
            }
            fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
                match self { $(Any::$variant(s) => s.background(why, view, plan),)* }
            }
            fn repair_key(&self, member: Member, page: Page) -> Option<Key> {
                match self { $(Any::$variant(s) => s.repair_key(member, page),)* }
            }
            fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> Outcome {
                match self { $(Any::$variant(s) => s.repair(failed, view, plan),)* }
            }
            fn owner(&self, member: Member, page: Page) -> Option<Page> {
                match self { $(Any::$variant(s) => s.owner(member, page),)* }
            }
            fn rebuilding(&self) -> bool { match self { $(Any::$variant(s) => s.rebuilding(),)* } }
            fn settled(&mut self, key: Key) { match self { $(Any::$variant(s) => s.settled(key),)* } }
            fn member(&mut self, member: Member, change: Change) {
                match self { $(Any::$variant(s) => s.member(member, change),)* }
            }
        }
    };
}

schemes! {
    "none" Plain(Plain) "no redundancy: every page once, placed by ftl.allocation" "none.rs";
    "mirror" Mirror(Mirror) "SIRF-1: every page once in each group of channels, chips or dies" "mirror.rs";
}

/// The manual page of a scheme: the doc comment at the head of its file.
#[must_use]
pub fn manual(name: &str) -> Option<String> {
    let entry = SCHEMES.iter().find(|entry| entry.name == name)?;
    let lines = entry.manual.lines().take_while(|line| line.starts_with("//!"));
    Some(lines.map(|line| format!("{}\n", line.trim_start_matches("//!").trim_start())).collect())
}
