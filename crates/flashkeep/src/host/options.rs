//! `[host]`: the host interface.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// Requests in the drive at once; later ones wait outside (their response time runs from arrival). 0: no
    /// bound.
    #[schemars(range(max = 1_048_576))]
    pub queue_depth: u32,
    /// From when a request is served that had to wait for a place in the queue.
    pub late_requests: LateRequests,
    /// Who comes in next of those that wait outside: by `arrival`, or `c-look` (the next one upwards by address).
    pub order: HostOrder,
    /// What a sector takes on the link to the host, µs: in before a write's pages go to flash, out after a read's have
    /// come, one request at a time. Part of response times, not of service times. 0: nothing.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub link_us_per_sector: f64,
}

/// From when a request is served that had to wait for a place in the queue.
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

/// Who comes in next of the requests that wait outside the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostOrder {
    /// The one that arrived first.
    #[default]
    Arrival,
    /// The one at the lowest address that is not below that of the last one, or else at the lowest of all.
    CLook,
}
