//! Reported figures: counts by cause, response times, wear. Every figure is declared in one place, as a field
//! of the struct that carries it. All ratios are computed here.

mod conditioned;
mod counts;
mod digest;
mod disk;
mod economy;
mod energy;
mod errors;
mod flows;
mod handles;
mod histogram;
mod latency;
mod members;
mod phases;
mod rebuilds;
mod registry;
mod sections;
mod series;
mod summary;
mod wear;
mod wear_out;

pub use crate::figures;
pub use crate::figures::{
    Better, Figure, FigureEntry, FigureKind, FigureShape, Group, IfAny, Reported, TableRow, plain, unit,
};
pub use conditioned::{Conditioned, Conditioning};
pub use counts::{BufferHits, Operations, Utilization, WriteAmplification};
pub use digest::Digest;
pub use disk::{DiskActivity, DiskEnergy, disk_energy};
pub use economy::{Economy, Formula};
pub use energy::{Energy, FlashEnergy};
pub use errors::{
    ErrorEffects, ErrorFigures, ErrorsLeft, FieldRates, MemberErrors, RberFigures, Uncorrectable,
};
pub use flows::{FlowFacts, FlowFigures, FlowStatistics, VolumeFigures};
pub use handles::{HandleFigures, handle_counts_since};
pub use histogram::{Histogram, Times, TimesByOperation};
pub use latency::{BreakdownSums, LatencyByOperation, LatencyMeans, PartTimes, part_names};
pub use members::{Member, MemberActivity, called};
pub use phases::{PhaseFigures, RunPhases, Tally};
pub use registry::{Metric, describe, registry, rows};
pub use sections::{
    CacheCommands, Commands, FlashPages, Integrity, Machine, MappingFigures, MultiPlane, Packing, Queue,
    Redundancy, Rest, Summary, Throughput, Workload,
};
pub use series::{Series, SeriesIntervals, SeriesRequest, SeriesSample};
pub use summary::{Facts, PowerCut, RequestStatistics, WorkloadFacts, summary};
pub use wear::{Bar, Mark, Wear, WearFacts};
pub use wear_out::{MemberEnd, WearOut};
