//! The host interface, between the workload and the drive: addresses, logical pages, the queue, the oracle.

mod address;
mod interleave;
mod options;
mod oracle;
mod split;
mod window;

pub use address::{AddressError, AddressMode, Addresses, Range};
pub use interleave::Interleave;
pub use options::{HostOrder, HostSpec, LateRequests};
pub use oracle::{Expected, Oracle};
pub use split::{Fragments, SectorRange, fragments};
pub use window::HostQueue;
