//! Seek times by the number of cylinders: a table, computed once.
//!
//! Three points (Lee and Katz, "An analytic performance model of disk arrays", SIGMETRICS 1993): with the
//! times to the next track t, on average a, and over all C cylinders f, seek(d) = A √(d − 1) + B (d − 1) + t,
//! A = (−10 t + 15 a − 5 f) / (3 √C), B = (7 t − 15 a + 8 f) / (3 C).
//!
//! Two pieces (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer, 1994): c1 + c2
//! √d below D cylinders, c3 + c4 d from D on.

use super::Numbers;
use crate::kernel::Span;
use crate::options::{self, Options, OptionsPart, Selector, SelectorValue};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// How long the arm takes, by the number of cylinders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SeekSpec {
    /// `three-points` (Lee and Katz, through the times to the next track, in the mean, and over all), `two-pieces`
    /// (Ruemmler and Wilkes: a root for short distances, a line for long ones), or `table` (straight lines between
    /// points).
    pub curve: SeekCurve,
    /// The options of the curve.
    #[serde(flatten)]
    #[schemars(schema_with = "of_curves")]
    pub options: Options,
}

impl Default for SeekSpec {
    fn default() -> Self {
        SeekSpec { curve: SeekCurve::ThreePoints, options: Options::default() }
    }
}

fn of_curves(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[CURVE])
}

/// `disk.seek.curve` and the options of the curves.
pub const CURVE: Selector = Selector {
    key: "curve",
    values: || {
        let value = |name, options| SelectorValue { name, options };
        vec![
            value("three-points", const { &[OptionsPart::of::<SeekTimes>()] }),
            value(
                "two-pieces",
                const { &[OptionsPart::of::<SeekPieces>(), OptionsPart::of::<SeekSettle>()] },
            ),
            value("table", const { &[OptionsPart::of::<SeekPoints>(), OptionsPart::of::<SeekSettle>()] }),
        ]
    },
    shapes_state: true,
};

/// The form of the seek curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SeekCurve {
    /// a √(d − 1) + b (d − 1) + the time to the next track.
    ThreePoints,
    /// A root and a line.
    TwoPieces,
    /// Measured points.
    Table,
}

/// The times of `three-points`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SeekTimes {
    /// To the next track, to read, ms.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub read_track_ms: f64,
    /// In the mean over random pairs of cylinders, to read, ms.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub read_average_ms: f64,
    /// Over all cylinders, to read, ms.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub read_full_ms: f64,
    /// To the next track, to write, ms.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub write_track_ms: f64,
    /// In the mean over random pairs of cylinders, to write, ms.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub write_average_ms: f64,
    /// Over all cylinders, to write, ms.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub write_full_ms: f64,
}

impl Default for SeekTimes {
    fn default() -> Self {
        SeekTimes {
            read_track_ms: 0.8,
            read_average_ms: 8.5,
            read_full_ms: 18.0,
            write_track_ms: 1.0,
            write_average_ms: 10.0,
            write_full_ms: 18.0,
        }
    }
}

/// The pieces of `two-pieces`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct SeekPieces {
    /// `two-pieces`: c1, c2, D, c3, c4 of c1 + c2 √d ms below D cylinders, and c3 + c4 d ms from there on, to read.
    pub pieces: Numbers,
}

/// The points of `table`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SeekPoints {
    /// `table`: cylinders and ms of one point after the other, to read.
    pub points: Numbers,
}

/// Writes of curves that are given for reads.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SeekSettle {
    /// `two-pieces` and `table`: what a write takes longer to settle, ms.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub write_settle_ms: f64,
}

/// Times by distance, ns.
#[derive(Clone, Debug)]
pub struct SeekTable {
    read: Vec<u32>,
    write: Vec<u32>,
}

/// Where a curve is impossible: the key, and the error.
pub type Wrong = (&'static str, String);

impl SeekTable {
    /// The table of a disk with this many cylinders.
    ///
    /// # Errors
    /// A curve that does not exist, or falls.
    pub fn new(seek: &SeekSpec, cylinders: u32) -> Result<Self, Wrong> {
        let SeekSettle { write_settle_ms: settle } = seek.options.read();
        match seek.curve {
            SeekCurve::ThreePoints => {
                let seek: SeekTimes = seek.options.read();
                let reads = (seek.read_track_ms, seek.read_average_ms, seek.read_full_ms);
                let writes = (seek.write_track_ms, seek.write_average_ms, seek.write_full_ms);
                let [read, write] =
                    [("disk.seek.read_average_ms", reads), ("disk.seek.write_average_ms", writes)]
                        .map(|(key, points)| three_points(key, points, cylinders));
                Ok(SeekTable { read: table(cylinders, read?), write: table(cylinders, write?) })
            }
            SeekCurve::TwoPieces => {
                let SeekPieces { pieces } = seek.options.read();
                let curve = two_pieces(&pieces.0)?;
                let write = table(cylinders, |distance| curve(distance) + settle);
                Ok(SeekTable { read: table(cylinders, curve), write })
            }
            SeekCurve::Table => {
                let given: SeekPoints = seek.options.read();
                let curve = points(&given.points.0)?;
                let write = table(cylinders, |distance| curve(distance) + settle);
                Ok(SeekTable { read: table(cylinders, curve), write })
            }
        }
    }

    /// How long the arm takes to cross this many cylinders.
    #[must_use]
    pub fn time(&self, writes: bool, cylinders: u32) -> Span {
        let table = if writes { &self.write } else { &self.read };
        Span(u64::from(table[cylinders as usize]))
    }

    /// Over a third of the cylinders: as far as it is between two of them in the mean.
    #[must_use]
    pub fn typical(&self, writes: bool) -> Span {
        self.time(writes, (self.read.len() as u32 - 1) / 3)
    }
}

/// In whole ns; nothing for no cylinder.
fn table(cylinders: u32, curve: impl Fn(f64) -> f64) -> Vec<u32> {
    let ns = |distance: u32| libm::round(curve(f64::from(distance)) * 1e6) as u32;
    std::iter::once(0).chain((1..=cylinders).map(ns)).collect()
}

fn three_points(
    key: &'static str,
    (track, average, full): (f64, f64, f64),
    cylinders: u32,
) -> Result<impl Fn(f64) -> f64, Wrong> {
    // The root's part may not fall, nor the whole at its far end.
    let (least, most) = ((2.0 * track + full) / 3.0, (4.0 * track + 11.0 * full) / 15.0);
    if !(least - 1e-9..=most + 1e-9).contains(&average) {
        let message = format!(
            "found {average}; from {least:.3} up to {most:.3} is accepted with {track} to the next track \
             and {full} over all: otherwise no monotonic curve exists"
        );
        return Err((key, message));
    }
    let all = f64::from(cylinders);
    let root = (-10.0 * track + 15.0 * average - 5.0 * full) / (3.0 * libm::sqrt(all));
    let slope = (7.0 * track - 15.0 * average + 8.0 * full) / (3.0 * all);
    Ok(move |distance: f64| root * libm::sqrt(distance - 1.0) + slope * (distance - 1.0) + track)
}

fn two_pieces(pieces: &[f64]) -> Result<impl Fn(f64) -> f64, Wrong> {
    let &[c1, c2, limit, c3, c4] = pieces else {
        let message = format!("found {} numbers; five are accepted: c1, c2, D, c3, c4", pieces.len());
        return Err(("disk.seek.pieces", message));
    };
    Ok(move |d: f64| if d < limit { c1 + c2 * libm::sqrt(d) } else { c3 + c4 * d })
}

fn points(numbers: &[f64]) -> Result<impl Fn(f64) -> f64, Wrong> {
    let points: Vec<(f64, f64)> = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let rises = points.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1);
    if points.is_empty() || !numbers.len().is_multiple_of(2) || !rises {
        let message = "pairs of cylinders and ms, both rising, are accepted, such as [1, 1.9, 100, 4.2]";
        return Err(("disk.seek.points", message.into()));
    }
    Ok(move |distance: f64| {
        let after = points.partition_point(|point| point.0 < distance);
        let Some(before) = after.checked_sub(1) else { return points[0].1 };
        // Beyond the last point it continues as before it.
        let (from, to) = match points.get(after) {
            Some(&to) => (points[before], to),
            None => (points[before.saturating_sub(1)], points[before]),
        };
        if to.0 <= from.0 {
            return to.1;
        }
        from.1 + (to.1 - from.1) * (distance - from.0) / (to.0 - from.0)
    })
}
