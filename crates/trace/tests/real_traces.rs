//! Golden figures of real traces, where these are at hand: `../shared/traces` beside the workspace.

use std::fs::File;
use std::path::PathBuf;

use flashkeep_trace::{Format, Info, OpenOptions, info, open, open_reader};

/// The path of a real trace, or `None` with a note.
fn trace(name: &str) -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("../shared/traces").join(name);
    if path.is_file() {
        return Some(path.to_string_lossy().into_owned());
    }
    println!("skipped: {name} is not in ../shared/traces");
    None
}

fn info_of(name: &str, options: &OpenOptions) -> Option<Info> {
    let mut source = open(&trace(name)?, options).expect("a readable trace");
    Some(info(&mut *source, None).expect("sound records"))
}

/// Format and figures as the table of these traces has them, and no warnings.
fn check(name: &str, format: &str, requests: u64, writes: u64, span_s: f64, mean_kib: f64, devices: u64) {
    let Some(found) = info_of(name, &OpenOptions::default()) else { return };
    assert_eq!(found.format, format, "{name}");
    assert_eq!((found.requests, found.writes, found.trims), (requests, writes, 0), "{name}");
    assert_eq!(found.reads, requests - writes, "{name}");
    assert!((found.span_s - span_s).abs() < 1e-6, "{name}: {} s", found.span_s);
    assert!((found.mean_kib.unwrap() - mean_kib).abs() < 0.001, "{name}: {:?} KiB", found.mean_kib);
    assert_eq!(found.devices, devices, "{name}");
    assert_eq!(found.warnings, Vec::<String>::new(), "{name}");
}

#[test]
fn cloudphysics() {
    check("cloudphysics-2h.vscsi.zst", "vscsi", 113_872, 66_898, 7200.089885, 36.0703, 1);
}

#[test]
fn exchange() {
    let name = "exchange-disk0-33k.mqsim.zst";
    check(name, "ssdsim", 33_241, 30_066, 652.925982, 226.1381, 1);
    let options =
        OpenOptions { format: Some(Format::Mqsim), sector_bytes: Some(64), ..OpenOptions::default() };
    let Some(found) = info_of(name, &options) else { return };
    assert_eq!(found.format, "mqsim");
    assert!((found.mean_kib.unwrap() - 28.267).abs() < 0.001, "{:?} KiB", found.mean_kib);
}

#[test]
fn financial1() {
    check("financial1-head-10k.ssdsim.zst", "ssdsim", 10_000, 5923, 259.601203125, 5.3984, 22);
}

#[test]
fn iozone() {
    check("iozone-100k.disksim.zst", "disksim", 100_000, 100_000, 936.449109, 359.9191, 1);
}

#[test]
fn msr() {
    check("msr-hm0-1k.csv.zst", "msr", 1000, 492, 127.2334941, 9.4625, 1);
}

#[test]
fn tpcc() {
    check("tpcc-7k.ssdsim.zst", "ssdsim", 6999, 2618, 0.136489, 8.3325, 16);
}

#[test]
fn websearch() {
    check("websearch-60s.ssdsim.zst", "ssdsim", 24_783, 4, 60.055212, 15.0572, 6);
}

/// The trace with reads and writes swapped.
fn inverted(name: &str) -> Option<String> {
    let packed = File::open(trace(name)?).unwrap();
    let text = std::io::read_to_string(zstd::stream::read::Decoder::new(packed).unwrap()).unwrap();
    let swapped = text.lines().map(|line| {
        let (columns, op) = line.rsplit_once(' ').unwrap();
        format!("{columns} {}\n", if op == "0" { 1 } else { 0 })
    });
    Some(swapped.collect())
}

#[test]
fn inverted_op_codes_are_noticed() {
    for name in ["exchange-disk0-33k.mqsim.zst", "financial1-head-10k.ssdsim.zst"] {
        let Some(text) = inverted(name) else { return };
        let bytes = std::io::Cursor::new(text.into_bytes());
        let mut source = open_reader("t", Box::new(bytes), &OpenOptions::default()).unwrap();
        let warnings = info(&mut *source, None).unwrap().warnings;
        assert!(warnings.iter().any(|warning| warning.contains("inverted")), "{name}: {warnings:?}");
    }
}

/// Formats that are not read yet are refused by name, not misread.
#[test]
fn other_formats_are_refused() {
    for name in ["hadoop-9s.blkparse.zst", "systor17-1k.csv.zst", "tencent-cbs-50k.csv.zst"] {
        let Some(path) = trace(name) else { return };
        let error = open(&path, &OpenOptions::default()).err().expect("no format fits");
        assert!(error.message.starts_with("no known format fits"), "{name}: {error}");
    }
}
