//! Any of the stub schemes.

use super::deferred::Deferred;
use super::log::Log;
use super::mirror::{Mirror, Plain};
use super::partial::Partial;
use super::raid::Raid;
use crate::engine::{
    BackgroundWork, Capabilities, Change, Command, Key, Lock, Member, Page, Plan, PlanVerdict, Protection,
    Recoverable, RepairOutcome, Scheme, Step, Verb, View, Why,
};

macro_rules! stubs {
    ($($variant:ident)*) => {
        #[derive(Debug)]
        pub(super) enum Stub {
            $($variant($variant),)*
        }

        $(impl From<$variant> for Stub {
            fn from(scheme: $variant) -> Stub {
                Stub::$variant(scheme)
            }
        })*

        impl Scheme for Stub {
            fn capacity(&self) -> u64 {
                match self { $(Stub::$variant(s) => s.capacity(),)* }
            }
            fn grain(&self, verb: Verb) -> u32 {
                match self { $(Stub::$variant(s) => s.grain(verb),)* }
            }
            fn capabilities(&self) -> Capabilities {
                match self { $(Stub::$variant(s) => s.capabilities(),)* }
            }
            fn protection(&self) -> Protection<'_> {
                match self { $(Stub::$variant(s) => s.protection(),)* }
            }
            fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
                match self { $(Stub::$variant(s) => s.places(page, tell),)* }
            }
            fn lock(&self, command: &Command) -> Lock {
                match self { $(Stub::$variant(s) => s.lock(command),)* }
            }
            fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
                match self { $(Stub::$variant(s) => s.plan(command, view, plan),)* }
            }
            fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
                match self { $(Stub::$variant(s) => s.repair(failed, view, plan),)* }
            }
            fn owner(&self, member: Member, page: Page) -> Option<Page> {
                match self { $(Stub::$variant(s) => s.owner(member, page),)* }
            }
            fn settled(&mut self, key: Key, view: &View<'_>) {
                match self { $(Stub::$variant(s) => s.settled(key, view),)* }
            }
            fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
                match self { $(Stub::$variant(s) => s.member(member, change, view),)* }
            }
        }

        impl BackgroundWork for Stub {
            fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
                match self { $(Stub::$variant(s) => s.background(why, view, plan),)* }
            }
            fn rebuilding(&self, restoring: bool) -> bool {
                match self { $(Stub::$variant(s) => s.rebuilding(restoring),)* }
            }
        }

        impl Recoverable for Stub {}
    };
}

stubs! { Plain Mirror Raid Deferred Partial Log }
