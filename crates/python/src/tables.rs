//! The tables that `--out` leaves: every request, compressed, and a line a second of them.

use crate::errors::detached;
use flate2::Compression;
use flate2::write::GzEncoder;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

/// What one simulated second brought, by arrival.
#[derive(Default)]
struct Second {
    requests: u64,
    reads: u64,
    writes: u64,
    read_bytes: u64,
    write_bytes: u64,
    response_ns_sum: u128,
    response_ns_max: u64,
}

/// Compresses the table of requests at `csv` to `requests`, and sums it up a second at a time in `seconds`.
#[pyfunction]
pub(crate) fn pack_requests(py: Python<'_>, csv: &str, requests: &str, seconds: &str) -> PyResult<()> {
    detached(py, || pack(csv, requests).and_then(|table| write_seconds(&table, seconds)))?
        .map_err(|error| PyOSError::new_err(error.to_string()))
}

fn pack(csv: &str, requests: &str) -> io::Result<BTreeMap<u64, Second>> {
    let mut lines = BufReader::with_capacity(1 << 20, File::open(csv)?);
    let mut packed = compressed(requests)?;
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line)?;
    packed.write_all(&line)?;
    let columns = Columns::find(&line).ok_or_else(|| damaged(csv))?;
    let mut table = BTreeMap::<u64, Second>::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            packed.finish()?.flush()?;
            return Ok(table);
        }
        packed.write_all(&line)?;
        columns.add(&line, &mut table).ok_or_else(|| damaged(csv))?;
    }
}

/// Where in a line the figures stand that a second sums up.
struct Columns {
    arrival_ns: usize,
    response_ns: usize,
    length: usize,
    op: usize,
}

impl Columns {
    fn find(head: &[u8]) -> Option<Columns> {
        let place = |name: &str| fields(head).position(|field| field == name.as_bytes());
        Some(Columns {
            arrival_ns: place("arrival_ns")?,
            response_ns: place("response_ns")?,
            length: place("length")?,
            op: place("op")?,
        })
    }

    /// Adds a line to its second.
    fn add(&self, line: &[u8], table: &mut BTreeMap<u64, Second>) -> Option<()> {
        let (mut arrival_ns, mut response_ns, mut length, mut op) = (None, None, None, None);
        for (place, field) in fields(line).enumerate() {
            match place {
                place if place == self.arrival_ns => arrival_ns = number(field),
                place if place == self.response_ns => response_ns = number(field),
                place if place == self.length => length = number(field),
                place if place == self.op => op = field.first(),
                _ => {}
            }
        }
        let (response_ns, length) = (response_ns?, length?);
        let second = table.entry(arrival_ns? / 1_000_000_000).or_default();
        second.requests += 1;
        second.response_ns_sum += u128::from(response_ns);
        second.response_ns_max = second.response_ns_max.max(response_ns);
        match op? {
            b'r' | b'0' => {
                second.reads += 1;
                second.read_bytes += length;
            }
            b'w' | b'1' => {
                second.writes += 1;
                second.write_bytes += length;
            }
            _ => {}
        }
        Some(())
    }
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.trim_ascii_end().split(|&byte| byte == b',')
}

fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn write_seconds(table: &BTreeMap<u64, Second>, path: &str) -> io::Result<()> {
    let mut out = compressed(path)?;
    writeln!(out, "second,requests,reads,writes,read_bytes,write_bytes,response_us_mean,response_us_max")?;
    for (at, second) in table {
        let Second { requests, reads, writes, read_bytes, write_bytes, .. } = second;
        let mean = second.response_ns_sum as f64 / *requests as f64 / 1000.0;
        let max = second.response_ns_max as f64 / 1000.0;
        writeln!(out, "{at},{requests},{reads},{writes},{read_bytes},{write_bytes},{mean:.3},{max:.3}")?;
    }
    out.finish()?.flush()
}

/// A compressed file; its head holds no time, so that equal runs leave equal files.
fn compressed(path: &str) -> io::Result<GzEncoder<BufWriter<File>>> {
    Ok(GzEncoder::new(BufWriter::new(File::create(path)?), Compression::fast()))
}

fn damaged(csv: &str) -> io::Error {
    io::Error::other(format!("{csv}: this is no table of requests"))
}
