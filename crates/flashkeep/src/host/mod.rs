//! The host interface, between the workload and the drive: addresses, logical pages and what they are expected to hold,
//! queues.

mod address;
mod arbitration;
mod handles;
mod interleave;
mod options;
mod oracle;
mod pages;
mod split;
mod window;

pub use address::{AddressError, AddressMode, Addresses, Range};
pub use arbitration::{Arbiter, Chosen};
pub use handles::{HandleRanges, Handles};
pub use interleave::Interleave;
pub use options::{Arbitration, Existing, HostOrder, HostSpec, LateRequests, PartialWrites, PriorityClass};
pub use oracle::{Expected, Oracle};
pub use pages::{HostAccess, HostPages};
pub use split::{Fragments, SectorRange, fragments};
pub use window::HostQueue;
