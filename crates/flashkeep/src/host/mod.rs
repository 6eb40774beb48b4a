//! The host interface, between the workload and the drive: addresses, logical pages and what they are expected to hold, the
//! queue.

mod address;
mod interleave;
mod options;
mod oracle;
mod pages;
mod split;
mod window;

pub use address::{AddressError, AddressMode, Addresses, Range};
pub use interleave::Interleave;
pub use options::{Existing, HostOrder, HostSpec, LateRequests, PartialWrites};
pub use oracle::{Expected, Oracle};
pub use pages::{HostAccess, HostPages};
pub use split::{Fragments, SectorRange, fragments};
pub use window::HostQueue;
