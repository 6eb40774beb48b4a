//! Reported figures: counts by cause, response times, wear. Every figure is declared in one place, as a field
//! of the struct that carries it. All ratios are computed here.

mod conditioned;
mod counts;
mod digest;
mod disk;
mod economy;
mod energy;
mod histogram;
mod members;
mod phases;
mod registry;
mod summary;
mod wear;
mod wear_out;

pub use crate::figures;
pub use crate::figures::{Better, Entry, Figure, Group, IfAny, Kind, Reported, Row, Shape, plain, unit};
pub use conditioned::{Conditioned, Conditioning};
pub use counts::{BufferHits, Operations, Utilization, WriteAmplification};
pub use digest::Digest;
pub use disk::{DiskActivity, DiskEnergy, disk_energy};
pub use economy::{Economy, Formula};
pub use energy::{Energy, FlashEnergy};
pub use histogram::{Histogram, Times, TimesByOperation};
pub use members::{Member, MemberFacts, called};
pub use phases::{PhaseFigures, Phases, Tally};
pub use registry::{Metric, describe, registry, rows};
pub use summary::{
    CacheCommands, Commands, Facts, FlashPages, Integrity, Machine, MappingFigures, MultiPlane, Packing,
    PowerCut, Queue, Redundancy, Rest, Statistics, Summary, Throughput, Workload, WorkloadFacts, summary,
};
pub use wear::{Bar, Mark, Wear, WearFacts};
pub use wear_out::{MemberEnd, WearOut};
