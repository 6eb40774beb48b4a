//! The policies that a drive file may name, except redundancy schemes: key by key, from the policies' tables.

use crate::blocks::victim::VICTIMS;
use crate::blocks::wear::LEVELLINGS;
use crate::disk::scheduler::RULES;
use crate::flash::scheduler::SCHEDULERS;
use crate::ftl::ageing::MODELS;
use crate::ftl::allocation::ALLOCATIONS;
use crate::kernel::head_comment;
use crate::mapping::MAPS;

/// A policy as users find it.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// The key whose value it is.
    pub key: &'static str,
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    source: &'static str,
}

impl PolicyInfo {
    /// Its manual page: the doc comment at the head of its file, as Markdown.
    #[must_use]
    pub fn manual(&self) -> String {
        head_comment(self.source)
    }
}

/// All policies, in the order of a drive file's keys.
#[must_use]
pub fn policies() -> Vec<PolicyInfo> {
    let mut all = Vec::new();
    let mut add = |key, name, summary, source| all.push(PolicyInfo { key, name, summary, source });
    SCHEDULERS.iter().for_each(|rule| add("flash.scheduler", rule.name, rule.summary, rule.source));
    ALLOCATIONS.iter().for_each(|rule| add("ftl.allocation", rule.name, rule.summary, rule.source));
    MAPS.iter().for_each(|map| add("ftl.map", map.name, map.summary, map.source));
    VICTIMS.iter().for_each(|policy| add("ftl.gc.victim", policy.name, policy.summary, policy.source));
    LEVELLINGS
        .iter()
        .for_each(|policy| add("ftl.wear.levelling", policy.name, policy.summary, policy.source));
    RULES.iter().for_each(|rule| add("disk.scheduler", rule.name, rule.summary, rule.source));
    MODELS.iter().for_each(|model| add("ageing.model", model.name, model.summary, model.source));
    all
}
