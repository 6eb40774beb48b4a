//! The names that a drive file may choose from, where the choice is a policy with a table of its own.

use crate::disk::scheduler;
use crate::ftl::ageing::MODELS;
use crate::ftl::victim::VICTIMS;
use crate::ftl::wear::LEVELLINGS;
use crate::mapping::MAPS;
use crate::media::scheduler::SCHEDULERS;
use crate::schemes::SCHEMES;

/// What `redundancy.scheme` may be.
#[must_use]
pub fn schemes() -> Vec<&'static str> {
    SCHEMES.iter().map(|scheme| scheme.name).collect()
}

/// What `ftl.map` may be.
#[must_use]
pub(super) fn maps() -> Vec<&'static str> {
    MAPS.iter().map(|map| map.name).collect()
}

/// What `ageing.model` may be.
#[must_use]
pub(super) fn ageing_models() -> Vec<&'static str> {
    std::iter::once("none").chain(MODELS.iter().map(|model| model.name)).collect()
}

/// What `ftl.gc.victim` may be.
#[must_use]
pub fn victims() -> Vec<&'static str> {
    VICTIMS.iter().map(|policy| policy.name).collect()
}

/// What `flash.scheduler` may be.
#[must_use]
pub fn schedulers() -> Vec<&'static str> {
    SCHEDULERS.iter().map(|rule| rule.name).collect()
}

/// What `disk.scheduler` may be.
#[must_use]
pub(super) fn disk_schedulers() -> Vec<&'static str> {
    scheduler::RULES.iter().map(|rule| rule.name).collect()
}

/// What `ftl.wear.levelling` may be.
#[must_use]
pub fn levellings() -> Vec<&'static str> {
    LEVELLINGS.iter().map(|policy| policy.name).collect()
}
