//! Open blocks and wear: derived values, and unsupported combinations.

use super::check::{Check, Resolved};
use super::keys::DriveSpec;
use crate::blocks::{victim, wear};
use crate::error::DriveError;
use crate::mapping::{self, BackendKind};
use crate::schemes::{self, Members};

/// Open blocks of a plane, one for each stream of pages.
pub(super) fn streams(spec: &DriveSpec) -> u8 {
    let tables = mapping::named(&spec.ftl.map).is_some_and(|map| map.below == BackendKind::Mapped);
    spec.ftl.streams + u8::from(spec.ftl.gc.separate) + u8::from(tables)
}

fn migrates(spec: &DriveSpec) -> bool {
    wear::named(&spec.ftl.wear.levelling).is_some_and(|levelling| levelling.migrates)
}

/// Blocks of a plane without data if the drive is full, and the reasons.
pub(super) fn spare_blocks(spec: &DriveSpec) -> (u32, &'static str) {
    let blocks = 2 * u32::from(streams(spec)) + u32::from(migrates(spec));
    let why = match blocks {
        2 => "one being written, one to collect into",
        3 => "one being written, one to collect into, one to migrate into",
        _ if migrates(spec) => {
            "one being written and one to collect into for each stream, one to migrate into"
        }
        _ => "one being written and one to collect into for each stream",
    };
    (blocks, why)
}

impl Resolved {
    /// Open blocks of a plane, one for each stream of pages.
    #[must_use]
    pub fn streams(&self) -> u8 {
        streams(&self.spec)
    }

    /// The policy of wear levelling.
    ///
    /// # Panics
    /// Never: a drive with an unknown policy is not resolved.
    #[must_use]
    pub fn levelling(&self) -> wear::Levelling {
        wear::named(&self.spec.ftl.wear.levelling).expect("checked when the drive was resolved")
    }

    /// Blocks of a plane without data if the drive is full.
    #[must_use]
    pub fn spare_blocks(&self) -> u32 {
        spare_blocks(&self.spec).0
    }
}

impl Check<'_> {
    pub(super) fn wear(&mut self) -> Result<(), DriveError> {
        let wear = &self.spec.ftl.wear;
        let Some(levelling) = wear::named(&wear.levelling) else { return Ok(()) };
        let (below, window) = (wear.rate_limit_below, wear.rate_limit_window);
        if window > below {
            let message = format!(
                "found {window}; at most ftl.wear.rate_limit_below ({below}) is accepted: the probability \
                 falls from 1 there to 0 over this distance"
            );
            return Err(self.wrong(&["ftl.wear.rate_limit_window", "ftl.wear.rate_limit_below"], message));
        }
        self.point_out_unread_policies(levelling);
        self.point_out_raw();
        Ok(())
    }

    fn point_out(&mut self, keys: &[&str], policy: &str) {
        let given: Vec<&str> = keys.iter().copied().filter(|key| self.given.by_hand(key)).collect();
        if !given.is_empty() {
            self.warnings.push(format!("{}: no effect with {policy}", given.join(", ")));
        }
    }

    fn point_out_unread_policies(&mut self, levelling: wear::Levelling) {
        let name = &self.spec.ftl.gc.victim;
        if let Some(victim) = victim::named(name) {
            let unread = ["choices", "window"].into_iter().filter(|key| !victim.keys.contains(key));
            let unread: Vec<String> = unread.map(|key| format!("ftl.gc.{key}")).collect();
            let unread: Vec<&str> = unread.iter().map(String::as_str).collect();
            self.point_out(&unread, &format!("ftl.gc.victim = \"{name}\""));
        }
        let keys = ["rate_limit_below", "rate_limit_window", "migrate_below"];
        let unread = keys.into_iter().filter(|key| !levelling.keys.contains(key));
        let unread: Vec<String> = unread.map(|key| format!("ftl.wear.{key}")).collect();
        let unread: Vec<&str> = unread.iter().map(String::as_str).collect();
        self.point_out(&unread, &format!("ftl.wear.levelling = \"{}\"", levelling.name));
        if self.spec.ftl.wear.erase_budget.is_none() {
            self.point_out(&["ftl.wear.warranty_years"], "no ftl.wear.erase_budget");
        }
    }

    /// A log erases superblocks, and retires none.
    fn point_out_raw(&mut self) {
        let scheme = self.spec.redundancy.scheme.clone();
        if schemes::named(&scheme).is_none_or(|scheme| scheme.kind != Members::Raw) {
            return;
        }
        if self.spec.ftl.wear.erase_budget.is_some() {
            self.warnings.push(format!(
                "ftl.wear.erase_budget: no block is retired with redundancy.scheme = \"{scheme}\"; wear leveling uses \
                 it, and lifetimes are reported"
            ));
        }
    }
}
