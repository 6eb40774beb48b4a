//! Open blocks and wear: derived values, and unsupported combinations.

use super::check::{Check, Resolved};
use super::keys::DriveSpec;
use crate::blocks::wear;
use crate::error::DriveError;
use crate::mapping::{self, BackendKind};
use crate::options::WrongOption;

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
        if let Err(WrongOption { key, message }) = (levelling.check)(&wear.options) {
            return Err(self.wrong(&[key, "ftl.wear.levelling"], message));
        }
        Ok(())
    }
}
