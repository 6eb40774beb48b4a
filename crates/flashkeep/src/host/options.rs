//! `[host]`: the host interface; which pages exist before time 0, and how writes of parts of pages are handled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// The queue depth: at most this many requests are in the drive, and later ones wait in the host (their response
    /// time counts from arrival). 0: no limit.
    #[schemars(range(max = 1_048_576))]
    pub queue_depth: u32,
    /// The instant from which a request that waited for a place in the queue is served.
    pub late_requests: LateRequests,
    /// The order in which waiting requests are admitted: by `arrival`, or `c-look` (the next higher address first).
    pub order: HostOrder,
    /// The number of host queues (submission queues) of a run with several flows: these are assigned to them in turn. 0:
    /// one for each flow.
    #[schemars(range(max = 65_535))]
    pub queues: u32,
    /// Entries of a host queue, which its requests hold until they are done: a closed loop keeps no more requests outstanding,
    /// and other requests wait in the host. 0: no limit.
    #[schemars(range(max = 1_048_576))]
    pub entries: u32,
    /// Requests of one host queue that are in the drive at a time at most; later ones wait in their queue. A run of one
    /// workload has one queue. 0: no limit.
    #[schemars(range(max = 1_048_576))]
    pub fetch: u32,
    /// The order in which the drive fetches requests from several host queues: `round-robin`; `weighted` by the weights of
    /// flows; or `priority` by their classes: urgent first, then high, medium and low, which get 4, 2 and 1 of 7 fetches
    /// while all of them have requests.
    pub arbitration: Arbitration,
    /// Transfer time of a sector on the link to the host, µs: data of a write cross it before its pages are programmed,
    /// data of a read after its pages are read, one request at a time. Part of response times, not of service times. 0:
    /// no link.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub link_us_per_sector: f64,
    /// The controller's time for a request with data, one request at a time, µs: it follows the transfer, and bounds
    /// requests per second.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub command_us: f64,
    /// The controller's time for a request that other requests do not wait for, µs: part of each response time.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub latency_us: f64,
    /// The power of the drive's controller, W.
    #[schemars(range(min = 0.0, max = 1e3))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_w: Option<f64>,
    /// The power that it draws in addition while data cross the link, W.
    #[schemars(range(min = 0.0, max = 1e3))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_w: Option<f64>,
}

impl HostSpec {
    /// Requests of one host queue that are in the drive at a time at most; 0 for no limit. Requests hold their entries until
    /// they are done.
    #[must_use]
    pub fn fetched(&self) -> u32 {
        [self.fetch, self.entries].into_iter().filter(|&limit| limit > 0).min().unwrap_or(0)
    }

    /// Requests of a run of one workload that are in the drive at a time at most; 0 for no limit.
    #[must_use]
    pub fn admitted(&self) -> u32 {
        [self.queue_depth, self.fetched()].into_iter().filter(|&limit| limit > 0).min().unwrap_or(0)
    }

    /// The number of requests that a closed loop of this depth keeps outstanding, as the queue depth and the entries of its
    /// queue allow.
    #[must_use]
    pub fn bounded(&self, depth: u32) -> u32 {
        let limits = [self.queue_depth, self.entries].into_iter().filter(|&limit| limit > 0);
        limits.fold(depth, u32::min)
    }

    /// The same of the only workload of a run, whose requests arrive when they are fetched.
    #[must_use]
    pub fn bounded_alone(&self, depth: u32) -> u32 {
        match self.admitted() {
            0 => depth,
            limit => limit.min(depth),
        }
    }

    /// Whether link or controller take time.
    #[must_use]
    pub fn has_link(&self) -> bool {
        [self.link_us_per_sector, self.command_us, self.latency_us].iter().any(|&us| us > 0.0)
    }
}

/// The instant from which a request that waited for a place in the queue is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LateRequests {
    /// From its admission.
    #[default]
    FromAdmission,
    /// From its arrival, by every resource that has been idle since, and by the controller's memory: SSDSim sets its clock back to
    /// the arrival of a request that it admits late.
    FromArrival,
}

/// Which of the requests that wait outside the queue is admitted next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostOrder {
    /// The one that arrived first.
    #[default]
    Arrival,
    /// The request at the lowest address that is not below that of the last one; if there is none, the one at the
    /// lowest address.
    CLook,
}

/// The order in which the drive fetches requests from several host queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// Queues take turns.
    #[default]
    RoundRobin,
    /// By the weights of their flows.
    Weighted,
    /// By the classes of their flows.
    Priority,
}

/// The class of a flow, as NVMe has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PriorityClass {
    /// Before all others.
    Urgent,
    /// The largest weight of the others.
    High,
    /// The class of flows that name none.
    #[default]
    Medium,
    /// The smallest weight.
    Low,
}

impl PriorityClass {
    /// All classes, from the first.
    pub const ALL: [PriorityClass; 4] =
        [PriorityClass::Urgent, PriorityClass::High, PriorityClass::Medium, PriorityClass::Low];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PriorityClass::Urgent => "urgent",
            PriorityClass::High => "high",
            PriorityClass::Medium => "medium",
            PriorityClass::Low => "low",
        }
    }
}

/// Which pages exist before time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Existing {
    /// The pages that the workload reads.
    Reads,
    /// All of the drive.
    All,
    /// None; a read of a page that does not exist costs no flash time and is counted.
    None,
    /// All of the drive, in the steady state of random writes (`ageing.model = "steady"`); where that is not known, each
    /// page written once. With another `ageing.model`, `--aged` or `--condition`: the same as `reads`.
    Steady,
}

/// How a write of a part of a page handles the rest of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialWrites {
    /// The rest is read, and written together with the new part.
    Merge,
    /// The rest is ignored: the page is programmed as if all of it were new.
    Whole,
}
