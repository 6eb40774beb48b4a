//! What a run says: counts by cause, response times, wear. Ratios are computed here and nowhere else.

mod conditioned;
mod counts;
mod digest;
mod disk;
mod economy;
mod energy;
mod histogram;
mod members;
mod phases;
mod summary;
mod wear;
mod wear_out;

pub use conditioned::Conditioned;
pub use digest::Digest;
pub use disk::disk_energy;
pub use histogram::Histogram;
pub use members::{MemberFacts, called};
pub use phases::{Phases, Tally};
pub use summary::{Facts, PowerCut, Statistics, WorkloadFacts, summary};
pub use wear::{Mark, WearFacts};
