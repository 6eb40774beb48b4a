//! Redundancy: one file a scheme, one line in the table.
//!
//! The table yields the enum, the dispatch, the names in messages, what `check` knows of a scheme, and the manual
//! pages.

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

/// A scheme as the table has it: what is known of it before it is made.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Its file, whose doc comment is its manual page.
    source: &'static str,
    /// The keys of `[redundancy]` that it reads, besides `scheme`.
    pub keys: &'static [&'static str],
    /// How many members it makes of so many parts of the level it runs over, `width` of them being asked for; or why
    /// that cannot be. The level's name is for the message.
    pub members: fn(parts: u64, width: Option<u32>, level: &str) -> Result<u32, String>,
    /// Of so many members, how many hold the host's data.
    pub data_members: fn(members: u32) -> u32,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The scheme of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Entry> {
    SCHEMES.iter().find(|entry| entry.name == name)
}

macro_rules! schemes {
    ($($module:ident $variant:ident;)*) => {
        /// Any scheme.
        #[derive(Clone, Debug)]
        pub enum Any {
            $(#[doc = concat!("See the file `", stringify!($module), ".rs`.")] $variant($module::$variant),)*
        }

        /// The table of schemes.
        pub const SCHEMES: &[Entry] = &[$($module::ENTRY,)*];

        /// The scheme that `options` ask for; none of that name is a mistake of the caller, who has checked.
        #[must_use]
        pub fn build(options: &Options<'_>) -> Option<Any> {
            let name = options.redundancy.scheme.as_str();
            $(if name == $module::ENTRY.name {
                return Some(Any::$variant($module::$variant::new(options)));
            })*
            None
        }

        impl Scheme for Any {
            fn capacity(&self) -> u64 { match self { $(Any::$variant(s) => s.capacity(),)* } }
            fn grain(&self) -> u32 { match self { $(Any::$variant(s) => s.grain(),)* } }
            fn read_grain(&self) -> u32 { match self { $(Any::$variant(s) => s.read_grain(),)* } }
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
    none Plain;
    mirror Mirror;
}

/// The manual page of a scheme: the doc comment at the head of its file.
#[must_use]
pub fn manual(name: &str) -> Option<String> {
    let lines = named(name)?.source.lines().take_while(|line| line.starts_with("//!"));
    Some(lines.map(|line| format!("{}\n", line.trim_start_matches("//!").trim_start())).collect())
}
