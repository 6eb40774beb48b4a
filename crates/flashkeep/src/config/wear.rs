//! Open blocks and wear: derived values, and unsupported combinations.

use super::check::{Check, Resolved};
use super::keys::DriveSpec;
use crate::blocks::wear;
use crate::error::DriveError;
use crate::ftl::HandleSpec;
use crate::mapping::{self, BackendKind};
use crate::options::WrongOption;
use crate::schemes::{self, Members};

/// Open blocks of a plane, one for each stream of pages. Parity of an array that the drive is in counts, too.
pub(super) fn streams(spec: &DriveSpec) -> u8 {
    streams_with(spec, handles(spec, true))
}

/// The placement handles; `parity` says whether parity has one.
fn handles(spec: &DriveSpec, parity: bool) -> HandleSpec {
    let count = spec.ftl.handles;
    HandleSpec { count, isolation: spec.ftl.handle_isolation, parity: parity && count > 1 }
}

fn streams_with(spec: &DriveSpec, handles: HandleSpec) -> u8 {
    let tables = mapping::named(&spec.ftl.map).is_some_and(|map| map.below == BackendKind::Mapped);
    let moved = match spec.ftl.gc.separate || handles.mixes() {
        false => 0,
        true if handles.keeps_apart() => handles.all(),
        true => 1,
    };
    spec.ftl.streams * handles.all() + moved + u8::from(tables)
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
        streams_with(&self.spec, self.handle_spec())
    }

    /// The placement handles of a drive's blocks.
    #[must_use]
    pub fn handle_spec(&self) -> HandleSpec {
        handles(&self.spec, self.has_parity_above || self.has_sums())
    }

    /// The placement handles that a write can name: those that all drives have.
    #[must_use]
    pub fn handles(&self) -> u8 {
        if self.is_array() {
            let flash = self.array.iter().filter(|member| !member.is_disk());
            return flash.map(Resolved::handles).min().unwrap_or(1);
        }
        if self.is_disk() { 1 } else { self.spec.ftl.handles }
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
    /// Handles are for drives that can put a page into any block.
    pub(super) fn handles(&mut self) -> Result<(), DriveError> {
        let (spec, given) = (&self.spec, self.spec.ftl.handles);
        let scheme = schemes::named(&spec.redundancy.scheme);
        let map = mapping::named(&spec.ftl.map);
        if given > 1 && map.is_some_and(|map| map.below == BackendKind::Blocks) {
            let message = format!(
                "found {given}; with ftl.map = \"{}\" the address of a page decides in which block it is: 1 is accepted",
                spec.ftl.map
            );
            return Err(self.wrong(&["ftl.handles", "ftl.map"], message));
        }
        if given > 1 && scheme.is_some_and(|scheme| scheme.kind == Members::Physical) {
            let message = format!(
                "found {given}; with redundancy.scheme = \"{}\" stripes of all data fill the blocks of all members in \
                 order: 1 is accepted",
                spec.redundancy.scheme
            );
            return Err(self.wrong(&["ftl.handles", "redundancy.scheme"], message));
        }
        Ok(())
    }

    pub(super) fn wear(&mut self) -> Result<(), DriveError> {
        let wear = &self.spec.ftl.wear;
        let Some(levelling) = wear::named(&wear.levelling) else { return Ok(()) };
        if let Err(WrongOption { key, message }) = (levelling.check)(&wear.options) {
            return Err(self.wrong(&[key, "ftl.wear.levelling"], message));
        }
        Ok(())
    }
}
