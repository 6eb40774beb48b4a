//! Reading traces: any input gives requests or one clear message.

use std::io::{Read, Write};

use flashkeep_trace::{
    BATCH, BadRecords, Columns, Format, Op, OpenOptions, Request, Source, TraceError, WriteOptions, convert,
    open, open_reader, write,
};
use proptest::prelude::*;

fn from_bytes(bytes: impl Into<Vec<u8>>, options: &OpenOptions) -> Result<Box<dyn Source>, TraceError> {
    open_reader("t", Box::new(std::io::Cursor::new(bytes.into())), options)
}

fn drain(source: &mut dyn Source) -> Result<Vec<Request>, TraceError> {
    let mut all = Vec::new();
    loop {
        let before = all.len();
        let count = source.fill(&mut all)?;
        assert_eq!(all.len(), before + count);
        assert!(count <= BATCH);
        if count == 0 {
            return Ok(all);
        }
    }
}

fn read(bytes: impl Into<Vec<u8>>, options: &OpenOptions) -> Result<Vec<Request>, TraceError> {
    drain(&mut *from_bytes(bytes, options)?)
}

fn message(bytes: impl Into<Vec<u8>>) -> String {
    read(bytes, &OpenOptions::default()).unwrap_err().to_string()
}

fn as_format(format: Format) -> OpenOptions {
    OpenOptions { format: Some(format), ..OpenOptions::default() }
}

fn skipping() -> OpenOptions {
    OpenOptions { bad_records: BadRecords::Skip, ..OpenOptions::default() }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}

/// Enough lines for many batches and more than one buffer.
fn long_trace() -> String {
    (0..40_000_u64).map(|n| format!("{} {} {} 8 {}\n", n * 1000, n % 3, n * 8, n % 2)).collect()
}

#[test]
fn times_count_from_the_first_request_and_devices_by_appearance() {
    let requests =
        read("1000 7 0 8 1\r\n\r\n# note\r\n\t1500  900 8 8 0 \n1500 7 16 8 0", &OpenOptions::default());
    let request = |arrival_ns, device, sector: u64, op| Request {
        arrival_ns,
        offset: sector * 512,
        length: 4096,
        device,
        op,
        fua: false,
        handle: 0,
    };
    let expected =
        [request(0, 0, 0, Op::Read), request(500, 1, 8, Op::Write), request(500, 0, 16, Op::Write)];
    assert_eq!(requests.unwrap(), expected);
}

#[test]
fn named_devices_are_numbered_too() {
    let text = "10,a,0,Read,0,512,1\n11,a,1,Read,0,512,1\n12,b,0,Read,0,512,1\n13,a,0,Write,0,512,1\n";
    let devices: Vec<u32> =
        read(text, &OpenOptions::default()).unwrap().iter().map(|request| request.device).collect();
    assert_eq!(devices, [0, 1, 2, 0]);
}

#[test]
fn a_record_that_is_earlier_waits_for_the_one_before_it() {
    let mut source =
        from_bytes("100 0 0 8 1\n50 0 8 8 1\n90 0 8 8 1\n200 0 8 8 1\n", &OpenOptions::default());
    let source = source.as_mut().unwrap();
    let times: Vec<u64> = drain(&mut **source).unwrap().iter().map(|request| request.arrival_ns).collect();
    assert_eq!(times, [0, 0, 0, 100]);
    let warnings = source.warnings();
    assert_eq!(
        warnings,
        ["2 records were earlier than the one before them, by up to 0.1 µs; they arrive with it"]
    );
}

#[test]
fn compression_is_found_by_content_even_in_several_parts() {
    let text = long_trace();
    let plain = read(text.as_str(), &OpenOptions::default()).unwrap();
    assert_eq!(plain.len(), 40_000);
    let (head, tail) = text.as_bytes().split_at(text.len() / 3);
    for packed in [
        gzip(text.as_bytes()),
        zstd(text.as_bytes()),
        [gzip(head), gzip(tail)].concat(),
        [zstd(head), zstd(tail)].concat(),
    ] {
        assert!(read(packed, &OpenOptions::default()).unwrap() == plain);
    }
}

#[test]
fn truncated_compression_is_one_clear_message_after_what_could_be_read() {
    let text = long_trace();
    for (name, packed) in [("gzip", gzip(text.as_bytes())), ("zstd", zstd(text.as_bytes()))] {
        for part in [1, 2, 3] {
            let cut = &packed[..packed.len() * part / 4];
            let error = read(cut, &as_format(Format::Ssdsim)).unwrap_err().to_string();
            let expected = format!("the {name} data end before their time: the file is truncated");
            assert!(error.contains(&expected), "{error}");
        }
        let mut source = from_bytes(&packed[..packed.len() - 5], &OpenOptions::default()).unwrap();
        let mut batch = Vec::new();
        assert_eq!(source.fill(&mut batch).unwrap(), BATCH, "the readable part is handed over first");
    }
}

#[test]
fn damaged_compression_is_told() {
    let mut packed = zstd(long_trace().as_bytes());
    let middle = packed.len() / 2;
    packed[middle..middle + 64].fill(0xA5);
    let error = read(packed, &OpenOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the zstd data are damaged") || error.contains("t:"), "{error}");
    assert!(message(b"\xFD7zXZ\x00rest".to_vec()).contains("compressed with xz, which is not read here"));
}

#[test]
fn what_cannot_be_opened_says_why() {
    let open_message = |path: &str| open(path, &OpenOptions::default()).err().unwrap().to_string();
    assert_eq!(open_message("/no/such/file"), "/no/such/file: there is no such file");
    let here = env!("CARGO_MANIFEST_DIR");
    let found = open_message(here);
    assert!(
        found.starts_with(&format!("{here}/Cargo.toml: no known format fits")),
        "each file is tried: {found}"
    );
    let none = format!("{here}/*.nothing");
    assert!(open_message(&none).starts_with(&format!("{none}: no file fits this pattern")));
}

#[test]
fn empty_traces_say_so() {
    assert_eq!(message(""), "t: the trace is empty: 0 bytes");
    assert_eq!(message(gzip(b"")), "t: the trace is empty: 0 bytes when decompressed");
    assert!(message("\n\n# nothing\n").starts_with("t: no requests: nothing but blank lines and comments"));
    let given = read("\n\n# nothing\n", &as_format(Format::Ssdsim)).unwrap_err().to_string();
    assert_eq!(given, "t: no requests in 3 lines or records");
}

#[test]
fn bad_records_name_line_field_and_what_is_accepted() {
    assert_eq!(
        message("0 0 0 8 1\n# fine\n1 0 8 8 7\n"),
        "t:3: op: found `7`; accepted: 0 (write) or 1 (read); --bad-records skip leaves such records out"
    );
    assert!(message("0 0 0 8 1\n1 0 8 -8 1\n").starts_with("t:2: sectors: found `-8`; accepted: an integer"));
    assert!(message("0 0 0 8 1\n1 0 8 0 1\n").starts_with("t:2: sectors: found 0; accepted: at least 1"));
    assert!(message("0 0 0 8 1\n1 0\n").starts_with("t:2: sector: missing; accepted: "));
    assert!(message("0 0 0 8 1\n1 0 8 8 1 extra\n").starts_with("t:2: too many fields: found `extra` after"));
    assert!(message("0 0 0 8 1\n-1 0 8 8 1\n").starts_with("t:2: arrival: found `-1`"));
}

#[test]
fn bad_records_can_be_skipped_and_are_counted() {
    let overlong = "x".repeat(300_000);
    let text = format!("0 0 0 8 1\nrubbish\n1 0 8 8 9\n{overlong}\n5 0 8 8 0\n");
    let mut source = from_bytes(text, &skipping()).unwrap();
    assert_eq!(drain(&mut *source).unwrap().len(), 2);
    assert_eq!(source.skipped(), 3);
    let warnings = source.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("3 bad records skipped; the first: t:2: arrival: found `rubbish`"));
}

#[test]
fn a_trace_of_bad_records_only_is_no_trace() {
    let options = OpenOptions { format: Some(Format::Ssdsim), ..skipping() };
    let error = read("rubbish\nmore\n", &options).unwrap_err().to_string();
    assert!(
        error.starts_with("t: no requests in 2 lines or records; 2 were skipped, the first: t:1: "),
        "{error}"
    );
}

#[test]
fn overlong_lines_are_bad_records_wherever_they_are() {
    let long = "1".repeat(64 * 1024 + 1);
    for text in [format!("0 0 0 8 1\n{long}\n"), format!("0 0 0 8 1\n{long}")] {
        assert!(message(text).starts_with("t:2: a line of more than 64 KiB"));
    }
    let endless = "1".repeat(10_000_000);
    let error = read(endless, &as_format(Format::Ssdsim)).unwrap_err().to_string();
    assert!(error.starts_with("t:1: a line of more than 64 KiB"), "{error}");
}

#[test]
fn a_vscsi_record_cut_short_is_a_bad_record() {
    let mut bytes = Vec::new();
    let mut source = from_bytes("0 0 0 8 1\n7000 0 8 8 0\n", &OpenOptions::default()).unwrap();
    assert_eq!(write(&mut *source, Format::Vscsi, &mut bytes).unwrap(), 2);
    let whole = read(bytes.clone(), &OpenOptions::default()).unwrap();
    assert_eq!((whole.len(), whole[1].arrival_ns), (2, 7000));
    bytes.truncate(50);
    assert!(message(bytes).starts_with("t:2: the last record is cut short: 18 of 32 bytes"));
}

#[test]
fn errors_come_after_the_requests_before_them_and_stay() {
    let mut source = from_bytes("0 0 0 8 1\nrubbish\n", &OpenOptions::default()).unwrap();
    let mut batch = Vec::new();
    assert_eq!(source.fill(&mut batch).unwrap(), 1);
    let error = source.fill(&mut batch).unwrap_err();
    assert_eq!((error.line, error.field.as_deref()), (Some(2), Some("arrival")));
    assert_eq!(source.fill(&mut batch).unwrap_err(), error);
}

#[test]
fn sector_sizes_are_checked() {
    let with = |bytes| OpenOptions { sector_bytes: Some(bytes), ..OpenOptions::default() };
    assert_eq!(read("0 0 3 8 1\n", &with(64)).unwrap()[0].offset, 192);
    for bad in [0, 1 << 21] {
        let error = read("0 0 3 8 1\n", &with(bad)).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("sector-bytes"));
    }
    let error = read("1,hm,0,Read,0,512,1\n", &with(64)).unwrap_err().to_string();
    assert!(error.contains("msr counts bytes"), "{error}");
}

#[test]
fn progress_and_provenance_are_told() {
    let directory = std::env::temp_dir().join(format!("flashkeep-trace-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("long.ssdsim.gz");
    std::fs::write(&path, gzip(long_trace().as_bytes())).unwrap();
    let mut source = open(path.to_str().unwrap(), &OpenOptions::default()).unwrap();
    assert_eq!(drain(&mut *source).unwrap().len(), 40_000);
    assert_eq!(source.share_done(), Some(1.0));
    let provenance = source.provenance();
    assert_eq!((provenance.format.as_str(), provenance.synthetic), ("ssdsim", false));
    assert_eq!(provenance.name, path.to_str().unwrap());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn formats_that_are_out_of_order_are_sorted() {
    let text = "1500000005,8,8,0,70\n1500000004,16,8,0,71\n1500000005,24,8,1,70\n1500000004,32,8,1,71\n";
    let mut source = from_bytes(text, &OpenOptions::default()).unwrap();
    let found: Vec<_> = drain(&mut *source)
        .unwrap()
        .iter()
        .map(|request| (request.arrival_ns, request.offset / 512, request.device))
        .collect();
    let second = 1_000_000_000;
    assert_eq!(found, [(0, 16, 0), (0, 32, 0), (second, 8, 1), (second, 24, 1)], "devices by appearance");
    let warnings = source.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("the clock is coarse"));
    // Further out of order than can be sorted: reported, and late.
    let far: String = (0..200_000)
        .chain([0])
        .map(|s| format!("{},8,8,0,1\n", 1_500_000_010 + s))
        .chain(["1500000003,8,8,0,1\n".into()])
        .collect();
    let mut source = from_bytes(far, &OpenOptions::default()).unwrap();
    assert_eq!(drain(&mut *source).unwrap().len(), 200_002);
    let warnings = source.warnings().join("\n");
    assert!(
        warnings.contains("2 records, sorted over 65536 records, were earlier than the one before"),
        "{warnings}"
    );
}

#[test]
fn what_could_be_read_of_a_sorted_format_comes_before_its_error() {
    let mut source = from_bytes("5,8,8,0,1\n4,8,8,0,1\nrubbish\n", &as_format(Format::Tencent)).unwrap();
    let mut batch = Vec::new();
    assert_eq!(source.fill(&mut batch).unwrap(), 2);
    assert_eq!(batch[1].arrival_ns, 1_000_000_000);
    let error = source.fill(&mut batch).unwrap_err();
    assert_eq!((error.line, error.field.as_deref()), (Some(3), Some("time")));
    assert_eq!(source.fill(&mut batch).unwrap_err(), error);
}

#[test]
fn what_is_no_request_is_counted_only_where_it_matters() {
    let warnings = |text: &str| {
        let mut source = from_bytes(text, &OpenOptions::default()).unwrap();
        assert_eq!(drain(&mut *source).unwrap().len(), 1, "{text}");
        source.warnings().join("\n")
    };
    assert_eq!(warnings("8,0 0 1 0.5 7 Q W 8 + 8 [x]\n8,0 0 2 0.6 7 C W 8 + 8 [0]\nCPU0 (8,0):\n"), "");
    let header = "Timestamp,Response,IOType,LUN,Offset,Size\n";
    assert_eq!(warnings(&format!("{header}1.5,,R,0,0,512\n")), "");
    let empty = warnings(&format!("{header}1.5,,R,0,0,512\n1.6,0.1,,0,0,512\n"));
    assert_eq!(empty, "1 records with an empty time, op, LUN, offset or size passed over");
    assert_eq!(warnings("fio version 3 iolog\n1 f add\n2 f open\n3 f read 0 512\n4 f close\n"), "");
    let synced = warnings("fio version 3 iolog\n3 f read 0 512\n4 f sync_file_range 0 512\n");
    assert_eq!(synced, "1 sync_file_range actions, which flush no cache, passed over");
    assert!(warnings("fio version 2 iolog\nf read 0 512\n").contains("has no times"));
}

#[test]
fn a_write_with_a_flush_before_it_is_two_requests() {
    let text = "8,0 0 1 0.5 7 Q R 8 + 8 [x]\n8,0 0 1 0.6 7 Q FWFS 16 + 8 [x]\n8,0 0 1 0.7 7 Q FN [x]\n";
    let found = read(text, &OpenOptions::default()).unwrap();
    let of = |each: &Request| (each.arrival_ns / 100_000_000, each.op, each.length, each.fua);
    let expected = [
        (0, Op::Read, 4096, false),
        (1, Op::Flush, 0, false),
        (1, Op::Write, 4096, true),
        (2, Op::Flush, 0, false),
    ];
    assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected);
    // In a sorted format, too.
    let mut bytes = Vec::new();
    write(&mut Given(found.clone().into_iter()), Format::Blktrace, &mut bytes).unwrap();
    // The flush and the write of the second line as one record.
    bytes.drain(48..96);
    bytes[48 + 30] |= 1 << 2;
    assert_eq!(read(bytes, &OpenOptions::default()).unwrap(), found);
}

#[test]
fn the_ending_of_the_name_decides_where_two_formats_fit() {
    let format = |name: &str, text: &str| {
        let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
        let source = open_reader(name, Box::new(bytes), &OpenOptions::default());
        source.map(|source| source.provenance().format).map_err(|error| error.message)
    };
    let of = |name: &str, text: &str| format(name, text).unwrap();
    let five = "0 0 8 8 1\n1000000 0 16 8 0\n";
    assert_eq!(
        (of("a.mqsim.zst", five), of("A.MQSIM", five), of("a", five)),
        ("mqsim".into(), "mqsim".into(), "ssdsim".into())
    );
    assert_eq!(of("a.mqsim", "0.5 0 8 8 1\n"), "disksim", "the content decides");
    assert_eq!(of("a.mqsim", "0,20941264,8192,W,0.551706\n"), "spc");
    let whole_ms: String = (0..200).map(|ms| format!("{ms} 0 {} 8 0\n", ms * 8)).collect();
    assert_eq!(of("a.disksim.gz", &whole_ms), "disksim");
    assert_eq!(of("a.ssdsim", &whole_ms), "ssdsim");
    assert!(format("a.trace", &whole_ms).unwrap_err().contains("two formats fit"));
}

#[test]
fn the_file_of_one_processor_tells_of_the_others() {
    let directory = std::env::temp_dir().join(format!("flashkeep-blktrace-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut bytes = Vec::new();
    let mut source = from_bytes("0 0 0 8 1\n7000 0 8 8 0\n", &OpenOptions::default()).unwrap();
    write(&mut *source, Format::Blktrace, &mut bytes).unwrap();
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let warnings = |name: &str| {
        let mut source = open(&path(name), &OpenOptions::default()).unwrap();
        assert_eq!(drain(&mut *source).unwrap().len(), 2);
        source.warnings().join("\n")
    };
    std::fs::write(path("sda.blktrace.0"), &bytes).unwrap();
    std::fs::write(path("sda.blktrace.1"), b"").unwrap();
    assert_eq!(warnings("sda.blktrace.0"), "", "the other one queued nothing");
    std::fs::write(path("sda.blktrace.1"), &bytes).unwrap();
    let found = warnings("sda.blktrace.0");
    assert!(
        found.contains("processor 0 only") && found.contains(&format!("the name {} reads", path("sda"))),
        "{found}"
    );
    assert!(warnings("sda.blktrace.1").contains("sda.blktrace.0 lies beside it"));
    // The name in front reads all, on the recording's clock.
    let mut later = bytes.clone();
    later[9] += 1;
    later[48 + 9] += 1;
    std::fs::write(path("sda.blktrace.10"), &later).unwrap();
    // Processor 2 has recorded no queued request.
    let mut other = bytes[..48].to_vec();
    other[28] = 7;
    std::fs::write(path("sda.blktrace.2"), &other).unwrap();
    let mut source = open(&path("sda"), &OpenOptions::default()).unwrap();
    let found = drain(&mut *source).unwrap();
    let times: Vec<u64> = found.iter().map(|request| request.arrival_ns).collect();
    assert_eq!(times, [0, 0, 256, 7000, 7000, 7256]);
    assert!(found.iter().all(|request| request.device == 0));
    assert_eq!((source.provenance().name, source.warnings()), (path("sda"), Vec::new()));
    std::fs::write(path("sda.blktrace.2"), &bytes[..20]).unwrap();
    assert!(open(&path("sda"), &OpenOptions::default()).is_err(), "cut short");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn columns_are_for_csv() {
    let columns = Columns::parse("time=0:us,op=1,offset=2,size=3").unwrap();
    let options = OpenOptions { columns: Some(columns), ..OpenOptions::default() };
    let found = read("7,R,512,1024\n9,W,0,512\n", &options).unwrap();
    assert_eq!((found.len(), found[1].arrival_ns, found[0].offset), (2, 2000, 512));
    let error =
        read("0 0 8 8 1\n", &OpenOptions { format: Some(Format::Ssdsim), ..options.clone() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t: columns: means nothing in ssdsim, whose columns are known; it is for csv"
    );
    let error = read("7,R,512,1024\n9,X,0,512\n", &options).unwrap_err();
    assert_eq!((error.line, error.field.as_deref()), (Some(2), Some("op")));
    assert!(read("7,R\n", &as_format(Format::Csv)).unwrap_err().to_string().contains("csv needs --columns"));
}

/// A reader that yields a few bytes at a time, as a slow pipe does.
struct Trickle(std::io::Cursor<Vec<u8>>, usize);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let end = buffer.len().min(self.1);
        self.0.read(&mut buffer[..end])
    }
}

#[test]
fn how_the_bytes_arrive_changes_nothing() {
    let text: String = long_trace().lines().take(3000).flat_map(|line| [line, "\n"]).collect();
    let whole = read(text.as_str(), &OpenOptions::default()).unwrap();
    for step in [1, 7, 4096] {
        let trickle = Trickle(std::io::Cursor::new(text.clone().into_bytes()), step);
        let mut source = open_reader("t", Box::new(trickle), &OpenOptions::default()).unwrap();
        assert!(drain(&mut *source).unwrap() == whole);
    }
}

fn has_one_device(format: Format) -> bool {
    matches!(format, Format::Vscsi | Format::FioLog)
}

/// Whether a format has flushes, and whether it has FUA.
fn durability(format: Format) -> (bool, bool) {
    match format {
        Format::Blkparse
        | Format::Blktrace
        | Format::Biosnoop
        | Format::Perf
        | Format::Csv
        | Format::Records => (true, true),
        Format::Fio | Format::Vscsi | Format::Etw => (true, false),
        _ => (false, false),
    }
}

fn any_request(format: Format) -> impl Strategy<Value = Request> {
    // What a format keeps exactly.
    let tick_ns = format.tick_ns();
    let devices = if has_one_device(format) { 1 } else { 4 };
    let op = prop_oneof![Just(Op::Read), Just(Op::Write)];
    (0..(1_u64 << 50) / tick_ns, 0..1_u64 << 44, 1..1_u32 << 20, 0..devices as u32, op).prop_map(
        move |(ticks, sector, sectors, device, op)| Request {
            arrival_ns: ticks * tick_ns,
            offset: sector * 512,
            length: sectors * 512,
            device,
            op,
            fua: false,
            handle: 0,
        },
    )
}

/// The formats that flashkeep writes.
fn written_formats() -> Vec<Format> {
    Format::ALL.iter().copied().filter(|format| format.is_written()).collect()
}

/// Requests in order, from time 0, with devices in order of appearance: what a source hands over.
fn any_trace() -> impl Strategy<Value = (Format, Vec<Request>)> {
    proptest::sample::select(written_formats()).prop_flat_map(|format| {
        proptest::collection::vec(any_request(format), 1..50).prop_map(move |mut requests| {
            requests.sort_by_key(|request| request.arrival_ns);
            let first_ns = requests[0].arrival_ns;
            let mut seen = Vec::new();
            for request in &mut requests {
                request.arrival_ns -= first_ns;
                let known = seen.iter().position(|device| *device == request.device);
                request.device = known.unwrap_or_else(|| {
                    seen.push(request.device);
                    seen.len() - 1
                }) as u32;
            }
            (format, requests)
        })
    })
}

/// Requests from memory.
struct Given(std::vec::IntoIter<Request>);

impl Source for Given {
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError> {
        let before = batch.len();
        batch.extend(self.0.by_ref().take(BATCH));
        Ok(batch.len() - before)
    }

    fn provenance(&self) -> flashkeep_trace::Provenance {
        flashkeep_trace::Provenance {
            name: "given".into(),
            format: "given".into(),
            synthetic: true,
            depth: None,
            extent: None,
        }
    }
}

/// Formats in which a list of requests, all of whole sectors, can be said.
fn can_say(format: Format, requests: &[Request]) -> bool {
    let trims = durability(format).0 && format != Format::Etw || format == Format::FioLog;
    (trims || requests.iter().all(|request| request.op != Op::Trim))
        && (!has_one_device(format) || requests.iter().all(|request| request.device == 0))
}

fn written(requests: &[Request], format: Format) -> (Vec<u8>, Vec<String>) {
    let mut bytes = Vec::new();
    let requests: Vec<Request> = requests.into();
    let source = &mut Given(requests.into_iter());
    let lost = convert(source, format, &WriteOptions::default(), &mut bytes).unwrap().lost;
    (bytes, lost)
}

proptest! {
    /// There and back again: the same requests, their times cut to the coarser of the two clocks, and a line about the
    /// losses exactly where there were any.
    #[test]
    fn conversion_loses_only_what_it_says(
        (first, requests) in any_trace(),
        second in proptest::sample::select(written_formats()),
        trim: bool,
        finer_ns in 0..2_000_000_000_u64,
    ) {
        let mut requests = requests;
        for at in 1..requests.len() {
            let (before, rest) = requests.split_at_mut(at);
            let request = &mut rest[0];
            request.arrival_ns += finer_ns;
            // A flush that is left out must not be the first request of its device, whose number would change.
            let is_known = before.iter().any(|each| each.device == request.device);
            match request.length / 512 % 8 {
                0 | 2 if trim => request.op = Op::Trim,
                1 if is_known => *request = Request::flush(request.arrival_ns, request.device),
                3 => request.fua = request.op == Op::Write,
                _ => {}
            }
        }
        let (first_says, second_says) = (can_say(first, &requests), can_say(second, &requests));
        for (format, says) in [(first, first_says), (second, second_says)] {
            let result = write(&mut Given(requests.clone().into_iter()), format, &mut Vec::new());
            prop_assert_eq!(result.is_ok(), says);
        }
        prop_assume!(first_says && second_says);
        let cut = |requests: &[Request], format: Format| -> Vec<Request> {
            let floor = |ns: u64| ns / format.tick_ns() * format.tick_ns();
            let (flushes, fua) = durability(format);
            let kept = requests.iter().filter(|each| flushes || each.op != Op::Flush);
            kept.map(|each| Request { arrival_ns: floor(each.arrival_ns), fua: fua && each.fua, ..*each }).collect()
        };
        let mut now = requests.clone();
        for format in [first, second, first] {
            let (bytes, lost) = written(&now, format);
            let kept = cut(&now, format);
            prop_assert_eq!(lost.is_empty(), kept == now);
            now = read(bytes, &as_format(format)).unwrap();
            prop_assert_eq!(&now, &kept);
        }
        prop_assert_eq!(now, cut(&cut(&requests, first), second));
    }

    #[test]
    fn what_is_written_is_read_back((format, requests) in any_trace()) {
        let mut bytes = Vec::new();
        let count = write(&mut Given(requests.clone().into_iter()), format, &mut bytes).unwrap();
        prop_assert_eq!(count, requests.len() as u64);
        prop_assert_eq!(&read(bytes.clone(), &as_format(format)).unwrap(), &requests);
        let found = from_bytes(bytes, &OpenOptions::default()).unwrap().provenance().format;
        let expected = if format == Format::Mqsim { "ssdsim" } else { format.name() };
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        format in proptest::option::of(proptest::sample::select(Format::ALL)),
        skip: bool,
    ) {
        let bad_records = if skip { BadRecords::Skip } else { BadRecords::Refuse };
        let _ = read(bytes, &OpenOptions { format, bad_records, ..OpenOptions::default() });
    }

    /// A binary trace that ends anywhere, or has a byte of its own changed: its requests, or one message.
    #[test]
    fn no_damage_of_a_binary_trace_makes_a_reader_panic(
        (_, requests) in any_trace(),
        format in proptest::sample::select(vec![Format::Blktrace, Format::Vscsi]),
        at in any::<proptest::sample::Index>(),
        byte in proptest::option::of(any::<u8>()),
    ) {
        let mut bytes = Vec::new();
        let requests: Vec<Request> = requests.into_iter().map(|each| Request { device: 0, ..each }).collect();
        write(&mut Given(requests.clone().into_iter()), format, &mut bytes).unwrap();
        let (whole, record) = (bytes.len(), bytes.len() / requests.len());
        let at = at.index(whole);
        match byte {
            Some(byte) => bytes[at] = byte,
            None => bytes.truncate(at),
        }
        let sample = bytes.clone();
        let found = read(bytes.clone(), &OpenOptions::default());
        if byte.is_none() && at >= record {
            prop_assert_eq!(found.is_ok(), at % record == 0);
        }
        if let Err(error) = found {
            prop_assert!(error.to_string().starts_with("t:") && !error.message.contains('\n'), "{}", error);
        }
        let _ = read(sample, &skipping());
    }

    #[test]
    fn no_bytes_make_a_mapped_csv_panic(
        text in "([0-9]{1,21}|[.,;rRwW# \n\"-]|Read|t,o,a,s){0,60}",
        map in "(time|op|offset|size)=[0-9a]{1,3}(:(us|s|sectors|read=0))?",
    ) {
        // The rest of the map, so that some are sound.
        for rest in ["", ",op=1,offset=2,size=3", ",time=0:us,offset=2,size=3"] {
            if let Ok(columns) = Columns::parse(&format!("{map}{rest}")) {
                let _ = read(text.as_bytes(), &OpenOptions { columns: Some(columns), ..skipping() });
            }
        }
    }

    #[test]
    fn no_text_that_is_nearly_a_trace_makes_a_reader_panic(
        text in "([0-9]{1,21}|[.,rRwW# \n+-]|0x|Read|8,0 0 1 0.5 7 Q W 8 \\+ |7 f write ){0,60}",
        format in proptest::sample::select(Format::ALL),
    ) {
        let text = if format == Format::Fio { format!("fio version 3 iolog\n{text}") } else { text };
        if let Ok(requests) = read(text, &as_format(format)) {
            prop_assert!(requests.iter().all(|request| request.length > 0));
            prop_assert!(requests.windows(2).all(|two| two[0].arrival_ns <= two[1].arrival_ns));
        }
    }

    #[test]
    fn skipping_leaves_the_sound_records((_, requests) in any_trace(), rubbish in "[a-z]{1,9}") {
        let mut bytes = Vec::new();
        write(&mut Given(requests.clone().into_iter()), Format::Spc, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let spoilt: String = text.lines().map(|line| format!("{line}\n{rubbish}\n")).collect();
        let mut source = from_bytes(spoilt, &OpenOptions { format: Some(Format::Spc), ..skipping() }).unwrap();
        prop_assert_eq!(drain(&mut *source).unwrap(), requests.clone());
        prop_assert_eq!(source.skipped(), requests.len() as u64);
    }
}
