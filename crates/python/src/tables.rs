//! The tables that `--out` writes: every request, one line per second, and figures over time.

use flashkeep::job::{RequestRecord, RunOutcome, SeriesColumn, SeriesColumns};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// The requests that arrived in one simulated second.
#[derive(Default)]
struct Second {
    requests: u64,
    /// Reads, writes, trims, flushes.
    of_op: [u64; 4],
    bytes_of_op: [u64; 4],
    response_ns_sum: u128,
    response_ns_max: u64,
}

/// Writes the tables as compressed CSV; that of figures over time only if the job asks for it.
pub(crate) fn write_tables(outcome: &RunOutcome, [requests, seconds, series]: [&str; 3]) -> io::Result<()> {
    let named = |path: &str, error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
    let RunOutcome { requests: records, parts, .. } = outcome;
    write_requests(records, parts, requests).map_err(|error| named(requests, error))?;
    write_seconds(records, seconds).map_err(|error| named(seconds, error))?;
    if outcome.series.is_empty() {
        return Ok(());
    }
    write_series(&outcome.series, series).map_err(|error| named(series, error))
}

fn write_requests(records: &[RequestRecord], parts: &[[u64; 16]], path: &str) -> io::Result<()> {
    let mut out = compressed(path)?;
    write!(out, "arrival_ns,response_ns,service_ns,offset,length,op")?;
    for name in flashkeep::metrics::part_names().iter().filter(|_| !parts.is_empty()) {
        write!(out, ",{name}_ns")?;
    }
    writeln!(out)?;
    let mut parts = parts.iter();
    for record in records {
        let RequestRecord { arrival_ns, response_ns, service_ns, offset, length, op } = record;
        let op = ["read", "write", "trim", "flush"][usize::from(*op)];
        write!(out, "{arrival_ns},{response_ns},{service_ns},{offset},{length},{op}")?;
        for ns in parts.next().into_iter().flatten() {
            write!(out, ",{ns}")?;
        }
        writeln!(out)?;
    }
    finish(out)
}

fn write_seconds(records: &[RequestRecord], path: &str) -> io::Result<()> {
    let mut table = BTreeMap::<u64, Second>::new();
    for record in records {
        let second = table.entry(record.arrival_ns / 1_000_000_000).or_default();
        second.requests += 1;
        second.of_op[usize::from(record.op)] += 1;
        second.bytes_of_op[usize::from(record.op)] += u64::from(record.length);
        second.response_ns_sum += u128::from(record.response_ns);
        second.response_ns_max = second.response_ns_max.max(record.response_ns);
    }
    let mut out = compressed(path)?;
    writeln!(
        out,
        "second,requests,reads,writes,trims,bytes_read,bytes_written,response_us_mean,response_us_max,flushes"
    )?;
    for (at, second) in &table {
        let Second {
            requests, of_op: [reads, writes, trims, flushes], bytes_of_op: [read, written, ..], ..
        } = second;
        let mean = second.response_ns_sum as f64 / *requests as f64 / 1000.0;
        let max = second.response_ns_max as f64 / 1000.0;
        writeln!(
            out,
            "{at},{requests},{reads},{writes},{trims},{read},{written},{mean:.3},{max:.3},{flushes}"
        )?;
    }
    finish(out)
}

/// A figure without a value is an empty field.
fn write_series(columns: &SeriesColumns, path: &str) -> io::Result<()> {
    let mut out = compressed(path)?;
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    writeln!(out, "{}", names.join(","))?;
    let rows = columns.first().map_or(0, |(_, column)| match column {
        SeriesColumn::Count(values) => values.len(),
        SeriesColumn::Number(values) => values.len(),
    });
    for row in 0..rows {
        for (at, (_, column)) in columns.iter().enumerate() {
            if at > 0 {
                write!(out, ",")?;
            }
            match column {
                SeriesColumn::Count(values) => write!(out, "{}", values[row])?,
                SeriesColumn::Number(values) if values[row].is_nan() => {}
                SeriesColumn::Number(values) => write!(out, "{}", values[row])?,
            }
        }
        writeln!(out)?;
    }
    finish(out)
}

/// A compressed file. Its header holds no time, so equal runs write equal files.
fn compressed(path: &str) -> io::Result<BufWriter<GzEncoder<File>>> {
    Ok(BufWriter::with_capacity(1 << 16, GzEncoder::new(File::create(path)?, Compression::fast())))
}

fn finish(out: BufWriter<GzEncoder<File>>) -> io::Result<()> {
    out.into_inner()?.finish()?.flush()
}
