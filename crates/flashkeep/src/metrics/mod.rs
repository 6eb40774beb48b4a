//! What a run reports: counts by cause, response times, wear. Every figure is declared in one place, as a field of the
//! struct that carries it; ratios are computed here and nowhere else.

mod conditioned;
mod counts;
mod digest;
mod disk;
mod economy;
mod energy;
mod figure;
mod histogram;
mod members;
mod phases;
mod summary;
mod wear;
mod wear_out;

pub use crate::figures;
pub use conditioned::Conditioned;
pub use digest::Digest;
pub use disk::disk_energy;
pub use figure::{Better, Entry, Figure, Group, IfAny, Kind, Reported, Row, Shape, plain, unit};
pub use histogram::Histogram;
pub use members::{MemberFacts, called};
pub use phases::{Phases, Tally};
pub use summary::{Facts, PowerCut, Statistics, WorkloadFacts, summary};
pub use wear::{Mark, WearFacts};
