//! Writing traces, compressed or not: whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use flashkeep_trace::{
    BadRecords, DriveSize, Format, OpenOptions, Request, Source, WriteError, WriteOptions, convert, create,
    create_plain, merge, open, open_reader, synthetic, write,
};

const DRIVE: DriveSize = DriveSize { capacity_bytes: 8 << 30, page_bytes: 4096 };

/// A directory of its own for each test, gone at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("flashkeep-writing-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn drain(mut source: Box<dyn Source>) -> Vec<Request> {
    let mut all = Vec::new();
    while source.fill(&mut all).unwrap() > 0 {}
    all
}

fn workload() -> Box<dyn Source> {
    synthetic("synth:zipf,requests=5k,rate=10k,size=4KiB:1/512:1", 1, &DRIVE).unwrap()
}

#[test]
fn a_synthetic_workload_survives_every_ending() {
    let scratch = Scratch::new("endings");
    let expected = drain(workload());
    for ending in ["ssdsim", "ssdsim.zst", "ssdsim.gz"] {
        let path = scratch.file(&format!("trace.{ending}"));
        let mut output = create(&path).unwrap();
        assert_eq!(write(&mut *workload(), Format::Ssdsim, &mut output).unwrap(), 5000);
        assert!(!Path::new(&path).exists(), "it has no name before it is whole");
        output.finish().unwrap();
        let magic = std::fs::read(&path).unwrap();
        assert_eq!(magic.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]), ending.ends_with("zst"));
        assert_eq!(magic.starts_with(&[0x1F, 0x8B]), ending.ends_with("gz"));
        assert!(drain(open(&path, &OpenOptions::default()).unwrap()) == expected, "{ending}");
    }
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 3);
}

#[test]
fn what_is_not_finished_leaves_nothing() {
    let scratch = Scratch::new("unfinished");
    let path = scratch.file("trace.ssdsim.zst");
    let mut output = create(&path).unwrap();
    output.write_all(b"0 0 0 8 1\n").unwrap();
    drop(output);
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 0);
    assert!(create(&scratch.file("no/such/directory")).is_err());
}

/// A link to a file still leads to it, and nothing is put in the place of a pipe or a device.
#[cfg(unix)]
#[test]
fn links_pipes_and_devices_stay_what_they_are() {
    use std::os::unix::fs::FileTypeExt;
    let scratch = Scratch::new("links");
    let (file, link, pipe) = (scratch.file("file"), scratch.file("link"), scratch.file("pipe"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for create in [create, create_plain] {
        let mut output = create(&link).unwrap();
        output.write_all(b"new").unwrap();
        output.finish().unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut reader =
        std::process::Command::new("cat").arg(&pipe).stdout(std::process::Stdio::null()).spawn().unwrap();
    create_plain(&pipe).unwrap().finish().unwrap();
    assert!(reader.wait().unwrap().success());
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn what_a_format_cannot_say_is_named() {
    let source =
        |text: &'static str| open_reader("t", Box::new(text.as_bytes()), &OpenOptions::default()).unwrap();
    let error = write(&mut *source("0 0 0 8 1\n0 1 0 8 1\n"), Format::Vscsi, &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t:2: cannot be written as vscsi: this format has one device, and the request is for another; --bad-records \
         skip leaves such requests out"
    );
    let error = write(&mut *source("1,a,0,Read,1,512,1\n"), Format::Spc, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("512 bytes at 1 are no whole sectors of 512 bytes"), "{error}");
}

#[test]
fn what_a_format_cannot_say_can_be_left_out_and_is_counted() {
    let text = "0 f read 0 512\n1500 f trim 0 4096\n2500000 g write 512 512\n2600000 f read 1 512\n";
    let text = format!("fio version 3 iolog\n{text}");
    let source = || {
        let bytes = std::io::Cursor::new(text.clone().into_bytes());
        open_reader("t", Box::new(bytes), &OpenOptions::default()).unwrap()
    };
    let error =
        convert(&mut *source(), Format::Tencent, &WriteOptions::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t:2: cannot be written as tencent: this format has no trims; --bad-records skip leaves such requests out"
    );
    let options =
        WriteOptions { unsayable: BadRecords::Skip, merge_devices: true, ..WriteOptions::default() };
    let mut bytes = Vec::new();
    let written = convert(&mut *source(), Format::Tencent, &options, &mut bytes).unwrap();
    assert_eq!(std::str::from_utf8(&bytes).unwrap(), "1500000000,0,1,0,0\n1500000002,1,1,1,0\n");
    let lost = [
        "1 times were cut to the clock of tencent, 1.0 s, by up to 500.0 ms",
        "2 devices were laid over each other",
        "1 trims were left out, which tencent cannot say",
        "1 requests were left out, which tencent cannot say; the first, request 4: 512 bytes at 1 are no whole \
         sectors of 512 bytes, which this format counts in",
    ];
    assert_eq!((written.requests, written.lost), (2, lost.map(str::to_owned).to_vec()));
    let options = WriteOptions { limit: Some(3), ..WriteOptions::default() };
    bytes.clear();
    let written = convert(&mut *source(), Format::Fio, &options, &mut bytes).unwrap();
    assert_eq!((written.requests, written.lost), (3, Vec::new()));
    let expected = "fio version 3 iolog\n0 device0 add\n0 device0 open\n0 device0 read 0 512\n\
                    1500 device0 trim 0 4096\n2500000 device1 add\n2500000 device1 open\n\
                    2500000 device1 write 512 512\n";
    assert_eq!(std::str::from_utf8(&bytes).unwrap(), expected);
}

#[test]
fn flushes_and_fua_are_kept_or_counted() {
    let text = "time_ns,device,op,offset_B,size_B\n0,0,W,0,512\n5,0,F,,\n9,0,WF,512,512\n9,0,F,0,0\n";
    let to = |format| {
        let mut source = open_reader("t", Box::new(text.as_bytes()), &OpenOptions::default()).unwrap();
        let mut bytes = Vec::new();
        let written = convert(&mut *source, format, &WriteOptions::default(), &mut bytes).unwrap();
        (String::from_utf8(bytes).unwrap(), written)
    };
    let (csv, written) = to(Format::Csv);
    assert_eq!(csv, text.replace(",,\n", ",0,0\n"));
    assert_eq!((written.requests, written.lost), (4, Vec::new()));
    let (blkparse, written) = to(Format::Blkparse);
    assert!(
        blkparse.contains("Q  FN [flashkeep]\n") && blkparse.contains("Q  WF 1 + 1 [flashkeep]\n"),
        "{blkparse}"
    );
    assert_eq!(written.lost, Vec::<String>::new());
    let (fio, written) = to(Format::Fio);
    assert!(fio.ends_with("0 device0 sync 0 0\n0 device0 write 512 512\n0 device0 sync 0 0\n"), "{fio}");
    assert!(
        written.lost.contains(&"1 writes lost their FUA mark, which fio cannot say".to_owned()),
        "{written:?}"
    );
    let (ssdsim, written) = to(Format::Ssdsim);
    assert_eq!((ssdsim.as_str(), written.requests), ("0 0 0 1 0\n9 0 1 1 0\n", 2));
    let lost = [
        "2 flushes were left out, which ssdsim cannot say",
        "1 writes lost their FUA mark, which ssdsim cannot say",
    ];
    assert_eq!(written.lost, lost.map(str::to_owned).to_vec());
}

#[test]
fn an_output_that_is_full_is_told_apart_from_a_bad_trace() {
    let mut room = [0_u8; 100];
    let error = write(&mut *workload(), Format::Ssdsim, &mut room.as_mut_slice()).unwrap_err();
    assert!(matches!(error, WriteError::Output(_)), "{error}");
}

#[test]
fn merged_workloads_come_in_order_on_devices_of_their_own() {
    let other = synthetic("synth:random,requests=3k,rate=5k", 2, &DRIVE).unwrap();
    let merged = merge(vec![workload(), other]);
    assert_eq!(merged.total(), Some(8000));
    assert!(merged.provenance().synthetic);
    let requests = drain(merged);
    assert_eq!(requests.len(), 8000);
    assert!(requests.windows(2).all(|two| two[0].arrival_ns <= two[1].arrival_ns));
    let first: Vec<Request> = requests.iter().copied().filter(|request| request.device == 0).collect();
    assert!(first == drain(workload()));
}
