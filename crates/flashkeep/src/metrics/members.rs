//! What the parts of a drive and the members of an array have done.

use super::Reported;
use super::counts::{BufferHits, operations, per, utilization, write_amplification};
use super::{Mark, WearFacts, disk_energy};
use crate::config::Resolved;
use crate::devices::DeviceStatistics;
use crate::drive::{Counters, Kind};
use crate::engine::Cause;
use crate::front::Hits;
use crate::kernel::{SimTime, Span};
use serde_json::{Value, json};

/// What a member of an array has done while requests were counted.
#[derive(Clone, Debug)]
pub struct MemberFacts<'a> {
    /// Which member, from the root downwards.
    pub path: &'a [u32],
    /// What it is.
    pub drive: &'a Resolved,
    /// By the end.
    pub now: DeviceStatistics,
    /// When counting began.
    pub before: DeviceStatistics,
    /// The end of the last request.
    pub end: SimTime,
    /// What its DRAM in the array had of what was asked for, where it has any.
    pub hits: Option<Hits>,
    /// From where counting began until nothing was under way any more: disks go on after the host.
    pub span: Span,
    /// The time that what is counted as busy is a part of.
    pub busy_within: Span,
    /// When its first block had had its last erase, with the bytes that the host had written to the array.
    pub first_death: Option<Mark>,
    /// When it first refused a write, which is its end.
    pub first_refusal: Option<Mark>,
}

/// The redundancy's parts of a drive.
pub(super) fn of_drive(counters: &Counters) -> Value {
    if counters.members() < 2 {
        return json!([]);
    }
    let member = |at| json!({ "operations": operations(|kind, cause| counters.of_member(at, kind, cause)) });
    (0..counters.members()).map(member).collect()
}

/// The members of an array.
pub(super) fn of_array(members: &[MemberFacts<'_>], seconds: f64) -> Value {
    members.iter().map(|member| member.to_json(seconds)).collect()
}

/// A member's place in words: `2`, or `2/0` in an array of arrays.
#[must_use]
pub fn called(path: &[u32]) -> String {
    path.iter().map(u32::to_string).collect::<Vec<_>>().join("/")
}

impl MemberFacts<'_> {
    /// Its place in words.
    pub(super) fn called(&self) -> String {
        called(self.path)
    }

    /// Erases of each block while requests were counted.
    pub(super) fn erases(&self) -> impl Iterator<Item = u32> {
        let before = self.before.erases.iter().copied().chain(std::iter::repeat(0));
        self.now.erases.iter().zip(before).map(|(&now, before)| now.saturating_sub(before))
    }

    /// Pages that it was given to write.
    pub(super) fn given(&self) -> u64 {
        given(&self.now.counters.since(&self.before.counters))
    }

    pub(super) fn to_json(&self, seconds: f64) -> Value {
        let counters = self.now.counters.since(&self.before.counters);
        let given = given(&counters);
        let wear = &self.drive.spec.ftl.wear;
        let wear = WearFacts {
            erases: self.erases().collect(),
            before: self.before.erases.clone(),
            budget: wear.erase_budget,
            expired: self.now.expired,
            first_death: self.first_death,
            first_refusal: self.first_refusal,
            refused_requests: None,
            end: (self.end, given * self.drive.page_bytes()),
            capacity: self.drive.capacity_bytes(),
            warranty_years: wear.warranty_years,
        };
        let since = |at: usize| -> Vec<Span> {
            let before = self.before.busy[at].iter().copied().chain(std::iter::repeat(Span::ZERO));
            self.now.busy[at].iter().zip(before).map(|(&now, before)| now - before).collect()
        };
        let mut member = json!({
            "member": self.called(),
            "name": self.drive.spec.name,
            "operations": operations(|kind, cause| counters.of(kind, cause)),
            "write_amplification": write_amplification(&counters, self.drive.places(), given),
            "wear": wear.to_json(),
            "utilization": utilization(&[since(0), since(1)], self.busy_within),
            "host_pages_written": given,
            "written_mib_s": per(given as f64 * self.drive.page_bytes() as f64 / f64::from(1 << 20), seconds),
        });
        if let Some(hits) = self.hits {
            member["buffer"] = BufferHits::new(hits).to_json();
        }
        if let (Some(did), Some(disk)) = (&self.now.disk, self.drive.disk()) {
            let did = self.before.disk.as_ref().map_or_else(|| did.clone(), |before| did.since(before));
            let bytes = given * self.drive.page_bytes();
            member["energy"] = disk_energy(&disk.power, &did, self.span.0, bytes);
            member["disk"] = super::disk::deeds(&did, self.span.0 as f64 / 1e9);
            // It has neither blocks nor channels.
            member["wear"] = Value::Null;
            member["utilization"] = Value::Null;
        }
        member
    }
}

/// Pages that a member was given to write: what it programmed for reasons other than its own.
fn given(counters: &Counters) -> u64 {
    let own = [Cause::Gc, Cause::Wear, Cause::Migrate, Cause::Metadata, Cause::ParityGc];
    let causes = Cause::ALL.into_iter().filter(|cause| !own.contains(cause));
    causes.map(|cause| counters.of(Kind::Program, cause)).sum()
}
