//! RBERs that a user has measured: a CSV file, and interpolation between its rows.
//!
//! The first line names the columns: `cycles` and `rber`, and where they matter `days` and `reads`, in any order. Each
//! other line is a measurement. Empty lines and lines that begin with `#` are passed over. The rows form a grid: every
//! combination of the cycles, days and reads that occur has one row. RBERs lie above 0 and up to 0.5, and never fall
//! while cycles, days or reads rise, so that lifetimes are defined.
//!
//! Between rows ln RBER is linear in cycles, days and reads. Beyond the first and last rows their value holds.

use std::collections::BTreeMap;
use std::fmt;

/// An error in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    /// The line in the file, counted from 1.
    pub line: Option<u64>,
    /// The column.
    pub field: Option<String>,
    /// States the value found and the accepted ones.
    pub message: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for TableError {}

/// Measured RBERs on a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The values of cycles, days and reads, each rising. A column that the file lacks has no value.
    axes: [Vec<f64>; 3],
    /// ln RBER, with the last axis varying fastest.
    ln_rber: Vec<f64>,
}

const AXES: [&str; 3] = ["cycles", "days", "reads"];
const COLUMNS: [&str; 4] = ["cycles", "days", "reads", "rber"];

struct Row {
    line: u64,
    at: [f64; 3],
    rber: f64,
}

fn error(line: u64, field: &str, message: String) -> TableError {
    TableError { line: Some(line), field: (!field.is_empty()).then(|| field.to_owned()), message }
}

impl Table {
    /// Reads a table from the text of a CSV file.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines().map(str::trim));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let Some((line, header)) = lines.next() else {
            let message =
                "the table is empty; its first line names columns: cycles,days,reads,rber".to_owned();
            return Err(TableError { line: None, field: None, message });
        };
        let columns = columns(line, header)?;
        let rows = lines.map(|(line, text)| row(line, text, &columns)).collect::<Result<Vec<_>, _>>()?;
        if rows.is_empty() {
            return Err(error(line, "", "no rows follow the names of the columns".to_owned()));
        }
        let axes = std::array::from_fn(|axis| {
            let given = columns.contains(&axis);
            let mut values: Vec<f64> = rows.iter().filter(|_| given).map(|row| row.at[axis]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        });
        Self::on_grid(axes, &rows)
    }

    fn on_grid(axes: [Vec<f64>; 3], rows: &[Row]) -> Result<Self, TableError> {
        let sizes = axes.each_ref().map(|axis| axis.len().max(1));
        let mut grid: BTreeMap<usize, &Row> = BTreeMap::new();
        for row in rows {
            let place = (0..3).fold(0, |place, axis| {
                place * sizes[axis] + axes[axis].iter().position(|value| *value == row.at[axis]).unwrap_or(0)
            });
            if let Some(first) = grid.insert(place, row) {
                let message = format!("the same cycles, days and reads as in line {}", first.line);
                return Err(error(row.line, "", message));
            }
        }
        let cells = sizes.iter().fold(1, |cells: usize, size| cells.saturating_mul(*size));
        if let Some(missing) = (0..cells).find(|place| !grid.contains_key(place)) {
            let at = [missing / (sizes[1] * sizes[2]), missing / sizes[2] % sizes[1], missing % sizes[2]];
            let named =
                (0..3).filter_map(|axis| Some(format!("{} {}", AXES[axis], axes[axis].get(at[axis])?)));
            let named = named.collect::<Vec<_>>().join(", ");
            let message = format!("no row for {named}: every combination of the values that occur needs one");
            return Err(TableError { line: None, field: None, message });
        }
        rising(&sizes, &grid)?;
        let ln_rber = grid.values().map(|row| libm::log(row.rber)).collect();
        Ok(Table { axes, ln_rber })
    }

    /// The RBER there: that of a row, between rows interpolated, beyond them that of the nearest.
    #[must_use]
    pub fn at(&self, cycles: f64, days: f64, reads: f64) -> f64 {
        let [(c, c_share), (d, d_share), (r, r_share)] =
            [(0, cycles), (1, days), (2, reads)].map(|(axis, value)| cell(&self.axes[axis], value));
        let sizes = self.axes.each_ref().map(|axis| axis.len().max(1));
        let value = |c: usize, d: usize, r: usize| {
            let last = |axis: usize, place: usize| place.min(sizes[axis] - 1);
            self.ln_rber[(last(0, c) * sizes[1] + last(1, d)) * sizes[2] + last(2, r)]
        };
        let between =
            |low: f64, high: f64, share: f64| if share == 0.0 { low } else { low + (high - low) * share };
        let along_reads = |c, d| between(value(c, d, r), value(c, d, r + 1), r_share);
        let along_days = |c| between(along_reads(c, d), along_reads(c, d + 1), d_share);
        libm::exp(between(along_days(c), along_days(c + 1), c_share)).min(0.5)
    }

    /// Whether rows surround this place. What the file has no column for does not matter.
    #[must_use]
    pub fn in_range(&self, cycles: f64, days: f64, reads: f64) -> bool {
        let inside = |axis: &Vec<f64>, value: f64| match (axis.first(), axis.last()) {
            (Some(first), Some(last)) => *first <= value && value <= *last,
            _ => true,
        };
        [cycles, days, reads].into_iter().zip(&self.axes).all(|(value, axis)| inside(axis, value))
    }
}

/// The number of each column: 0 to 2 an axis, 3 the RBER.
fn columns(line: u64, header: &str) -> Result<Vec<usize>, TableError> {
    let mut columns = Vec::new();
    for name in header.split(',').map(str::trim) {
        let Some(column) = COLUMNS.iter().position(|known| *known == name) else {
            let message = format!("there is no column `{name}`; accepted: {}", COLUMNS.join(", "));
            return Err(error(line, "", message));
        };
        if columns.contains(&column) {
            return Err(error(line, name, "the column is named twice".to_owned()));
        }
        columns.push(column);
    }
    for needed in [0, 3] {
        if !columns.contains(&needed) {
            return Err(error(line, COLUMNS[needed], "the table needs this column".to_owned()));
        }
    }
    Ok(columns)
}

fn row(line: u64, text: &str, columns: &[usize]) -> Result<Row, TableError> {
    let fields: Vec<_> = text.split(',').map(str::trim).collect();
    if fields.len() != columns.len() {
        let message = format!("{} values, where the table has {} columns", fields.len(), columns.len());
        return Err(error(line, "", message));
    }
    let mut values = [0.0; 4];
    for (field, &column) in fields.iter().zip(columns) {
        let (accepted, allowed): (_, fn(f64) -> bool) = match column {
            3 => ("a number above 0 and up to 0.5", |value| value > 0.0 && value <= 0.5),
            _ => ("a number from 0", |value| value >= 0.0 && value.is_finite()),
        };
        match field.parse() {
            Ok(value) if allowed(value) => values[column] = value + 0.0,
            _ => return Err(error(line, COLUMNS[column], format!("`{field}` is not {accepted}"))),
        }
    }
    Ok(Row { line, at: [values[0], values[1], values[2]], rber: values[3] })
}

/// Refuses a grid in which the RBER falls along an axis.
fn rising(sizes: &[usize; 3], grid: &BTreeMap<usize, &Row>) -> Result<(), TableError> {
    for (axis, step) in [sizes[1] * sizes[2], sizes[2], 1].into_iter().enumerate() {
        for (place, row) in grid.iter().filter(|(place, _)| *place / step % sizes[axis] > 0) {
            let before = grid[&(place - step)];
            if row.rber < before.rber {
                let message = format!(
                    "{} is less than {} in line {}, which has fewer {} and is otherwise alike; an RBER must not fall \
                     while cycles, days or reads rise",
                    row.rber, before.rber, before.line, AXES[axis]
                );
                return Err(error(row.line, "rber", message));
            }
        }
    }
    Ok(())
}

/// The grid line below a value, and how far the value lies on the way to the next: 0 to 1.
fn cell(axis: &[f64], value: f64) -> (usize, f64) {
    match axis.partition_point(|line| *line <= value) {
        0 => (0, 0.0),
        above if above == axis.len() => (above - 1, 0.0),
        above => (above - 1, (value - axis[above - 1]) / (axis[above] - axis[above - 1])),
    }
}
