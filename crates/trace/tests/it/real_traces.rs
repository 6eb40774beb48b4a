//! Golden figures of real traces, where these are at hand: `../shared/traces` beside the workspace.

use std::fs::File;
use std::path::PathBuf;

use flashkeep_trace::{
    Format, Info, OpenOptions, Request, Source, WriteOptions, convert, info, open, open_reader,
};

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
    let Some(found) = info_of(name, &OpenOptions::default()) else { return };
    assert_eq!((found.format.as_str(), found.requests, found.writes), ("mqsim", 33_241, 30_066));
    assert!((found.mean_kib.unwrap() - 28.267).abs() < 0.001, "{:?} KiB", found.mean_kib);
    assert!(found.warnings.len() == 1 && found.warnings[0].contains("in sectors of 64 bytes"), "{found:?}");
    let with = |format, sector_bytes| OpenOptions { format, sector_bytes, ..OpenOptions::default() };
    for format in [Some(Format::Ssdsim), None] {
        let found = info_of(name, &with(format, Some(512))).expect("it is there");
        assert!((found.mean_kib.unwrap() - 226.138).abs() < 0.001, "{:?} KiB", found.mean_kib);
        assert_eq!(found.warnings, Vec::<String>::new(), "given");
    }
    let assumed = info_of(name, &with(Some(Format::Ssdsim), None)).expect("it is there").warnings.join("\n");
    assert!(
        assumed.contains("multiples of 64 sectors of 512 bytes") && assumed.ends_with("--sector-bytes 64")
    );
}

/// Times, places and sizes of a real trace in another unit than the format's.
#[test]
fn other_units_are_noticed() {
    let warnings = |text: String, format| {
        let options = OpenOptions { format: Some(format), ..OpenOptions::default() };
        let mut source =
            open_reader("t", Box::new(std::io::Cursor::new(text.into_bytes())), &options).unwrap();
        info(&mut *source, None).unwrap().warnings.join("\n")
    };
    let Some(lines) = text_of("exchange-disk0-33k.mqsim.zst") else { return };
    let in_us: String = lines
        .lines()
        .map(|line| {
            let (ns, rest) = line.split_once(' ').unwrap();
            format!("{} {rest}\n", ns.parse::<u64>().unwrap() / 2_000_000)
        })
        .collect();
    let found = warnings(in_us, Format::Ssdsim);
    assert!(
        found.contains("if these are ms, --time-scale 1000000") || found.contains("more than 10 million"),
        "{found}"
    );
    let Some(lines) = text_of("msr-hm0-1k.csv.zst") else { return };
    let as_sectors: String = lines
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let ms = fields[0].parse::<u64>().unwrap() / 10_000 - 12_816_638_529_551;
            format!("{ms}.0 0 {} {} {}\n", fields[4], fields[5], u8::from(fields[3] == "Read"))
        })
        .collect();
    let found = warnings(as_sectors, Format::Disksim);
    assert!(
        found.contains("multiples of 512 sectors") && found.contains("--sector-bytes 1 (mean request 9."),
        "{found}"
    );
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

fn text_of(name: &str) -> Option<String> {
    let packed = File::open(trace(name)?).unwrap();
    Some(std::io::read_to_string(zstd::stream::read::Decoder::new(packed).unwrap()).unwrap())
}

/// The trace with reads and writes swapped.
fn inverted(name: &str) -> Option<String> {
    let text = text_of(name)?;
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

#[test]
fn hadoop() {
    check("hadoop-9s.blkparse.zst", "blkparse", 15_524, 15_444, 9.378425476, 4.60706, 1);
}

#[test]
fn systor() {
    check("systor17-1k.csv.zst", "systor", 999, 173, 2.447767, 38.2437, 1);
}

#[test]
fn tencent() {
    let Some(found) = info_of("tencent-cbs-50k.csv.zst", &OpenOptions::default()) else { return };
    assert_eq!((found.format.as_str(), found.requests, found.devices), ("tencent", 50_000, 2038));
    assert_eq!(found.span_s, 1.0);
    assert!((found.mean_kib.unwrap() - 29.7).abs() < 0.05, "{:?} KiB", found.mean_kib);
    assert!((found.writes as f64 / 50_000.0 - 0.51).abs() < 0.005, "{} writes", found.writes);
    let warnings = found.warnings;
    assert!(warnings.len() == 1 && warnings[0].starts_with("the clock is coarse"), "{warnings:?}");
}

/// Every real trace, written in every format that can say it and read again: the same requests, at that clock.
#[test]
fn every_trace_in_every_format() {
    let names = [
        "cloudphysics-2h.vscsi.zst",
        "financial1-head-10k.ssdsim.zst",
        "hadoop-9s.blkparse.zst",
        "iozone-100k.disksim.zst",
        "msr-hm0-1k.csv.zst",
        "systor17-1k.csv.zst",
        "tencent-cbs-50k.csv.zst",
    ];
    for name in names {
        let Some(path) = trace(name) else { return };
        let requests = drain(&mut *open(&path, &OpenOptions::default()).unwrap());
        let devices = requests.iter().map(|request| request.device).max().unwrap() + 1;
        for &format in Format::ALL {
            if matches!(format, Format::Baleen | Format::OracleGeneral) {
                continue; // they cannot be written
            }
            let mut bytes = Vec::new();
            let source = &mut *open(&path, &OpenOptions::default()).unwrap();
            let result = convert(source, format, &WriteOptions::default(), &mut bytes);
            let has_devices = !matches!(format, Format::Vscsi | Format::FioLog);
            assert_eq!(result.is_ok(), has_devices || devices == 1, "{name} as {format}");
            if result.is_err() {
                continue;
            }
            let options = OpenOptions { format: Some(format), ..OpenOptions::default() };
            let mut again = open_reader("t", Box::new(std::io::Cursor::new(bytes)), &options).unwrap();
            let tick_ns = format.tick_ns();
            let cut = |each: &Request| Request { arrival_ns: each.arrival_ns / tick_ns * tick_ns, ..*each };
            let expected: Vec<Request> = requests.iter().map(cut).collect();
            assert!(drain(&mut *again) == expected, "{name} as {format}");
        }
    }
}

fn drain(source: &mut dyn Source) -> Vec<Request> {
    let mut all = Vec::new();
    while source.fill(&mut all).expect("sound records") > 0 {}
    all
}
