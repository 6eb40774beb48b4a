//! Counts by cause and the ratios between them, for a drive, an array or a member.

use super::{Figure, FigureEntry, FigureShape, Group, IfAny, Reported, figures, plain, unit};
use crate::device::port::Hits;
use crate::drive::{Counters, OpKind};
use crate::engine::Cause;
use crate::kernel::Span;
use serde_json::{Value, json};

/// A ratio; none where it has no value.
pub(super) fn per(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

figures! {
    /// Hits and misses of the DRAM, in sectors.
    pub struct BufferHits {
        /// Sectors of reads that the DRAM held.
        read_hits: u64 => unit("sectors").higher(),
        /// Sectors of reads that had to be read from the media.
        read_misses: u64 => unit("sectors").lower(),
        /// Sectors of writes whose old version the DRAM still held.
        write_hits: u64 => unit("sectors").higher(),
        /// Sectors of writes that were new to the DRAM.
        write_misses: u64 => unit("sectors").lower(),
    }
}

impl BufferHits {
    pub(super) fn new(hits: Hits) -> Self {
        let Hits { read_hits, read_misses, write_hits, write_misses } = hits;
        BufferHits { read_hits, read_misses, write_hits, write_misses }
    }
}

/// A value for each kind of operation and each cause. Causes that do not occur under the drive's scheme are included as
/// well, so that scripts can rely on the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Operations<T = u64>([[T; Cause::ALL.len()]; OpKind::ALL.len()]);

impl<T> Operations<T> {
    pub(super) fn new(of: impl Fn(OpKind, Cause) -> T) -> Self {
        Operations(OpKind::ALL.map(|kind| Cause::ALL.map(|cause| of(kind, cause))))
    }

    fn told(&self, value: impl Fn(&T) -> Value) -> Value {
        let kinds = OpKind::ALL.into_iter().zip(&self.0).map(|(kind, of_kind)| {
            let causes = Cause::ALL.into_iter().zip(of_kind);
            let causes = causes.map(|(cause, one)| (cause.name().to_owned(), value(one)));
            (kind.name().to_owned(), Value::Object(causes.collect()))
        });
        Value::Object(kinds.collect())
    }
}

/// The entries of [`Operations`]; `what(kind)` describes a figure of that kind.
fn by_kind_and_cause(
    [name, of_a_kind]: [&'static str; 2],
    [about, about_kind]: [&'static str; 2],
    figure: Figure,
    shape: &FigureShape,
    what: fn(OpKind) -> &'static str,
) -> FigureShape {
    let entry = |name: &'static str, about: String, figure, shape| FigureEntry {
        name: name.into(),
        about: about.into(),
        figure,
        shape,
    };
    let kinds = OpKind::ALL.into_iter().map(|kind| {
        let causes = Cause::ALL.into_iter().map(|cause| {
            // A drive without an SLC cache has none; what one with a cache has is counted in `slc_cache` as well.
            // Repeated sensings and maintenance are counted in `errors`.
            let counted_elsewhere =
                matches!(cause, Cause::Fold | Cause::Retry | Cause::Refresh | Cause::Scrub);
            let figure = if counted_elsewhere { figure.derived() } else { figure };
            entry(cause.name(), format!("{} {}.", what(kind), because(cause)), figure, shape.clone())
        });
        let group = Group { name: of_a_kind, about: about_kind, entries: causes.collect() };
        entry(kind.name(), format!("{}, by cause.", what(kind)), plain(), FigureShape::Group(group))
    });
    FigureShape::Group(Group { name, about, entries: kinds.collect() })
}

fn because(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "for the host",
        Cause::Mirror => "for second and later copies",
        Cause::Update => "to complete pages that are written in part",
        Cause::Gc => "by garbage collection",
        Cause::Wear => "by wear leveling",
        Cause::Parity => "for parity",
        Cause::ParityGc => "for parity that garbage collection writes again",
        Cause::PartialParity => "for the parity of stripes that are not full",
        Cause::Rebuild => "by a rebuild",
        Cause::Migrate => "to move data between media",
        Cause::Metadata => "for the tables of the drive",
        Cause::Fold => "to empty the SLC cache",
        Cause::Retry => "of pages whose data could not be corrected before",
        Cause::Refresh => "to move data before they become unreadable",
        Cause::Scrub => "to see whether pages can be read",
    }
}

impl Reported for Operations {
    fn told(&self) -> Option<Value> {
        Some(Operations::told(self, |&count| json!(count)))
    }

    fn shape() -> FigureShape {
        by_kind_and_cause(
            ["Operations", "OperationsByCause"],
            ["Operations by kind and cause.", "Operations of one kind by cause."],
            unit("pages").lower(),
            &u64::shape(),
            |kind| match kind {
                OpKind::Read => "Pages read",
                OpKind::Program => "Pages programmed",
                OpKind::Erase => "Blocks erased",
                OpKind::Copyback => "Pages copied inside their plane",
            },
        )
    }
}

impl Reported for Operations<Option<u64>> {
    fn told(&self) -> Option<Value> {
        Some(Operations::told(self, |count| json!(count)))
    }

    fn shape() -> FigureShape {
        by_kind_and_cause(
            ["FlowOperations", "FlowOperationsByCause"],
            ["Operations of a flow by kind and cause.", "Operations of a flow of one kind by cause."],
            unit("pages").lower(),
            &Option::<u64>::shape(),
            |kind| match kind {
                OpKind::Read => "Pages read",
                OpKind::Program => "Pages programmed",
                OpKind::Erase => "Blocks erased",
                OpKind::Copyback => "Pages copied inside their plane",
            },
        )
    }
}

impl Reported for Operations<Option<f64>> {
    fn told(&self) -> Option<Value> {
        Some(Operations::told(self, |energy| json!(energy)))
    }

    fn shape() -> FigureShape {
        by_kind_and_cause(
            ["OperationEnergy", "EnergyByCause"],
            ["Energy of operations by kind and cause.", "Energy of operations of one kind by cause."],
            unit("J").lower(),
            &Option::<f64>::shape(),
            |kind| match kind {
                OpKind::Read => "Energy of reads",
                OpKind::Program => "Energy of programs",
                OpKind::Erase => "Energy of erases",
                OpKind::Copyback => "Energy of copies inside a plane",
            },
        )
    }
}

figures! {
    /// Pages programmed for each page that the host wrote; 1 and the parts add up to the total.
    pub struct WriteAmplification {
        /// Pages programmed for each page that the host wrote.
        total: Option<f64> => unit("ratio").lower().row_always("pages programmed for a page"),
        /// Host pages programmed beyond one for each page written; negative where the DRAM saved programs.
        buffer: Option<f64> => unit("ratio").lower().row("  saved by the buffer"),
        /// Second and later copies programmed.
        mirror: Option<f64> => unit("ratio").lower().row("  mirror"),
        /// Pages programmed by garbage collection.
        gc: Option<f64> => unit("ratio").lower().row("  garbage collection"),
        /// Parity pages programmed.
        parity: Option<f64> => unit("ratio").lower().row("  parity"),
        /// Pages programmed by wear leveling, migration and refresh.
        wear: Option<f64> => unit("ratio").lower().row("  wear leveling"),
        /// Pages programmed for the tables of the drive.
        metadata: Option<f64> => unit("ratio").lower().row("  metadata"),
        /// Pages programmed by rebuilds.
        rebuild: Option<f64> => unit("ratio").lower().row("  rebuild"),
        /// Pages moved out of the SLC cache; only with such pages.
        fold: IfAny<Option<f64>> => unit("ratio").lower().row("  SLC cache"),
        /// Places left empty in programs of several logical pages.
        empty: IfAny<Option<f64>> => unit("ratio").lower().row("  places left empty"),
    }
}

impl WriteAmplification {
    /// `word_line`: logical pages that one operation programs in a plane.
    pub(super) fn new(counters: &Counters, word_line: u32, host_pages: u64) -> Self {
        let programs =
            |causes: &[Cause]| causes.iter().map(|&cause| programs_for(counters, cause)).sum::<u64>();
        let part = |causes: &[Cause]| per(programs(causes) as f64, host_pages as f64);
        let host = programs(&[Cause::Host, Cause::Update]) as f64 - host_pages as f64;
        let empty = counters.empty_places;
        WriteAmplification {
            total: per((programs(&Cause::ALL) + empty) as f64, host_pages as f64),
            buffer: per(host, host_pages as f64),
            mirror: part(&[Cause::Mirror]),
            gc: part(&[Cause::Gc]),
            parity: part(&[Cause::Parity, Cause::PartialParity, Cause::ParityGc]),
            wear: part(&[Cause::Wear, Cause::Migrate, Cause::Refresh]),
            metadata: part(&[Cause::Metadata]),
            rebuild: part(&[Cause::Rebuild]),
            fold: IfAny((programs(&[Cause::Fold]) > 0).then(|| part(&[Cause::Fold]))),
            empty: IfAny((word_line > 1).then(|| per(empty as f64, host_pages as f64))),
        }
    }
}

/// Pages programmed for a cause, with or without crossing the pins.
fn programs_for(counters: &Counters, cause: Cause) -> u64 {
    counters.of(OpKind::Program, cause) + counters.of(OpKind::Copyback, cause)
}

figures! {
    /// The share of the time that channels and dies were busy.
    pub struct Utilization {
        /// The share of the time that each channel was in use.
        channel: Vec<Option<f64>> => unit("share").row("channels busy, mean"),
        /// The share of the time that a die was busy, mean over all dies.
        die_mean: Option<f64> => unit("share").row_always("dies busy, mean"),
        /// The share of the time that the busiest die was busy.
        die_max: Option<f64> => unit("share").row("dies busy, busiest"),
    }
}

impl Utilization {
    pub(super) fn new([channels, units]: &[Vec<Span>; 2], within: Span) -> Self {
        let share = |busy: &Span| per(busy.0 as f64, within.0 as f64);
        let sum: u64 = units.iter().map(|busy| busy.0).sum();
        let most = units.iter().max().copied().unwrap_or_default();
        Utilization {
            channel: channels.iter().map(share).collect(),
            die_mean: per(sum as f64, within.0 as f64 * units.len() as f64),
            die_max: share(&most),
        }
    }

    /// The figures of an untimed run.
    pub(super) fn untimed() -> Self {
        Utilization { channel: Vec::new(), die_mean: None, die_max: None }
    }
}
