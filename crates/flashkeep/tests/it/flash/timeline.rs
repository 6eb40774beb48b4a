//! `--timeline` shows each activity of the drive exactly once.

use crate::common::{done, figure, job, output, records, summary};
use flashkeep::job::Job;
use flashkeep::run;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A slice: name, start and end in ns.
type Slice = (String, u64, u64);

/// The contents of a timeline.
#[derive(Default)]
struct Shown {
    /// Each thread by its process's name and its own.
    threads: BTreeMap<(String, String), Vec<Slice>>,
    /// Requests of the host: number, op, start, end.
    requests: Vec<(u64, String, u64, u64)>,
    /// The values of each counter.
    counters: BTreeMap<String, Vec<(u64, u64)>>,
    /// Events of the run.
    marks: Vec<(u64, String)>,
}

fn drive(channels: u32, chips: u32, dies: u32, planes: u32) -> String {
    format!(
        "[flash]\nchannels = {channels}\nchips_per_channel = {chips}\ndies_per_chip = {dies}\n\
         planes_per_die = {planes}\nblocks_per_plane = 12\npages_per_block = 8\npage_kib = 4\n\
         [ftl]\nover_provisioning = 0.6\n[redundancy]\nshadow = 0.2\nnvram_mib = 0.0625\nnarrowest = 4\n"
    )
}

const RANDOM: &str = "synth:random,requests=900,write=0.7,size=512:0.1/4KiB:0.6/20KiB:0.3,align=512,rate=4k";

/// µs with three decimals, as in the text: not a nanosecond is rounded.
fn ns(value: &Value) -> u64 {
    let micros = value.as_f64().expect("a number");
    let ns = (micros * 1000.0).round();
    assert!((ns / 1000.0 - micros).abs() < 1e-9 * micros.max(1.0), "{micros} µs");
    ns as u64
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn shown(path: &std::path::Path) -> Shown {
    let bytes = std::fs::read(path).expect("the run wrote it");
    let whole: Value = serde_json::from_slice(&bytes).expect("JSON");
    let (mut processes, mut names) = (BTreeMap::new(), BTreeMap::new());
    let mut shown = Shown::default();
    let mut begun = None;
    for event in whole["traceEvents"].as_array().expect("events") {
        let (process, thread) = (event["pid"].as_u64().expect("a process"), event["tid"].as_u64());
        match (event["ph"].as_str().expect("a phase"), event["name"].as_str().expect("a name")) {
            ("M", "process_name") => drop(processes.insert(process, text(&event["args"]["name"]))),
            ("M", "thread_name") => {
                let name = (processes[&process].clone(), text(&event["args"]["name"]));
                shown.threads.insert(name.clone(), Vec::new());
                assert!(names.insert(thread.expect("a thread"), name).is_none(), "a number of its own");
            }
            ("X", name) => {
                assert_eq!(name.split_once(' ').expect("kind and cause").1, event["cat"]);
                let (start, long) = (ns(&event["ts"]), ns(&event["dur"]));
                let at = &names[&thread.expect("a thread")];
                assert_eq!(at.0, processes[&process]);
                let slices = shown.threads.get_mut(at).expect("it was named");
                assert!(long > 0 && slices.last().is_none_or(|last| last.2 <= start), "{at:?} at {start}");
                slices.push((name.to_owned(), start, start + long));
            }
            ("b", name) => {
                begun = Some((event["id"].as_u64().expect("a number"), name.to_owned(), ns(&event["ts"])))
            }
            ("e", _) => {
                let (number, op, start) = begun.take().expect("it has begun");
                assert_eq!(event["id"], number);
                shown.requests.push((number, op, start, ns(&event["ts"])));
            }
            ("C", name) => {
                let value = event["args"].as_object().and_then(|args| args.values().next()?.as_u64());
                let counter = shown.counters.entry(name.to_owned()).or_default();
                counter.push((ns(&event["ts"]), value.expect("a number")));
            }
            ("i", name) => shown.marks.push((ns(&event["ts"]), name.to_owned())),
            other => panic!("{other:?}"),
        }
    }
    shown
}

/// Runs a job with a timeline of `window`.
fn shows(job: &Job, window: Option<&str>) -> (Value, Shown) {
    let path = output("timeline.json");
    let window = window.map(str::to_owned);
    let run = summary(&Job { timeline: Some(path.clone()), timeline_window: window, ..job.clone() });
    (run, shown(&path))
}

fn length(slices: &[Slice]) -> u64 {
    slices.iter().map(|(_, start, end)| end - start).sum()
}

/// Slices of channels and units add up to their utilization.
fn adds_up(run: &Value, shown: &Shown) {
    let ends = shown.threads.values().flatten().map(|&(_, _, end)| end);
    let whole = (figure(run, "simulated_s") * 1e9).max(ends.max().unwrap_or(0) as f64);
    let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected.max(1.0) + 2.0;
    let channels = run["utilization"]["channel"].as_array().expect("a share a channel");
    for (channel, share) in channels.iter().enumerate() {
        let bus = length(&shown.threads[&(format!("channel {channel}"), "bus".to_owned())]) as f64;
        let expected = share.as_f64().expect("a share") * whole;
        assert!(close(bus, expected), "channel {channel}: {bus} ns shown, {expected} ns in use");
    }
    let units = shown.threads.iter().filter(|((_, name), _)| name != "bus");
    let busy: Vec<u64> = units.map(|(_, slices)| length(slices)).collect();
    let expected = figure(run, "utilization.die_mean") * whole * busy.len() as f64;
    let all = busy.iter().sum::<u64>() as f64;
    assert!(close(all, expected), "{all} ns shown, {expected} ns busy");
    let most = busy.iter().max().copied().unwrap_or(0) as f64;
    assert!(close(most, figure(run, "utilization.die_max") * whole), "{most} ns");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With every policy; recording a timeline does not change results.
    #[test]
    fn slices_of_a_thread_never_overlap_and_add_up_to_the_utilisation(
        seed in 0u64..10_000,
        (channels, chips, dies, planes) in (1u32..4, 1u32..3, 1u32..3, 1u32..3),
        unit in prop::sample::select(vec!["chip", "die", "plane"]),
        allocation in prop::sample::select(vec!["dynamic", "CWDP", "PDWC"]),
        scheduler in prop::sample::select(vec!["reads-first", "ssdsim", "fifo"]),
        gc in prop::sample::select(vec!["steps", "hold-channel"]),
        copyback in prop::sample::select(vec!["off", "on"]),
        bus in prop::sample::select(vec!["transfers", "operations"]),
        summaries in any::<bool>(),
        late in prop::sample::select(vec!["from-admission", "from-arrival"]),
        depth in prop::sample::select(vec!["depth=1", "depth=9", "rate=3k", "rate=40k"]),
    ) {
        let set = [
            format!("flash.busy_unit={unit}"),
            format!("ftl.allocation={allocation}"),
            format!("flash.scheduler={scheduler}"),
            format!("ftl.gc.run={gc}"),
            format!("ftl.gc.copyback={copyback}"),
            format!("flash.bus={bus}"),
            format!("flash.summary_page={summaries}"),
            "host.queue_depth=4".to_owned(),
            format!("host.late_requests={late}"),
            "start.existing=all".to_owned(),
            "ftl.gc.threshold=0.2".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let trace = RANDOM.replace("rate=4k", depth);
        let job = Job { seed: Some(seed), ..job(&drive(channels, chips, dies, planes), &trace, &set) };
        let (run, shown) = shows(&job, None);
        adds_up(&run, &shown);
        prop_assert_eq!(&run["digest"], &summary(&job)["digest"]);
    }
}

#[test]
fn also_with_planes_side_by_side_and_with_cache_registers() {
    for commands in ["multi_plane=match", "multi_plane=skip", "cache_program=true", "cache_read=true"] {
        let commands = format!("flash.commands.{commands}");
        let set = [&commands, "flash.commands.register_ns=500", "flash.busy_unit=die", "start.existing=all"];
        let trace = "synth:random,requests=3k,write=0.6,size=4KiB:0.5/32KiB:0.5,depth=32";
        let (run, shown) = shows(&job(&drive(2, 1, 1, 2), trace, &set), None);
        adds_up(&run, &shown);
    }
}

#[test]
fn also_with_every_scheme_and_every_map() {
    for entry in flashkeep::schemes::for_drives().filter(|entry| !entry.memory) {
        let scheme = format!("redundancy.scheme={}", entry.name);
        let (run, shown) = shows(&job(&drive(6, 1, 2, 1), RANDOM, &[&scheme, "start.existing=all"]), None);
        adds_up(&run, &shown);
    }
    for map in ["page", "dftl", "block", "hybrid"] {
        let map = format!("ftl.map={map}");
        let (run, shown) = shows(&job(&drive(2, 2, 1, 1), RANDOM, &[&map, "start.existing=all"]), None);
        adds_up(&run, &shown);
    }
}

/// A slice that was cut off does not overlap the next one.
#[test]
fn failures_and_power_cuts_leave_no_overlap() {
    for scheme in ["mirror", "raid5", "ds"] {
        for fail in ["power@40%", "chip:1.0@50%", "chip:1.0@60%,replace_after=20ms"] {
            let set = [&format!("redundancy.scheme={scheme}") as &str, "start.existing=all"];
            let mut job = job(&drive(6, 1, 2, 1), RANDOM, &set);
            job.fail = vec![fail.to_owned()];
            let (run, shown) = shows(&job, None);
            let metadata = shown.threads.values().flatten().any(|slice| slice.0 == "read metadata");
            assert_eq!(metadata, fail.starts_with("power"), "{scheme} {fail}");
            assert_eq!(figure(&run, "integrity.lost_pages"), 0.0);
        }
    }
}

/// One write and one read of an idle die, to the nanosecond.
#[test]
fn one_write_and_one_read() {
    let text = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\npage_kib = 4\n\
                sector_bytes = 4096\n[flash.timing]\nread_us = 50.0\nprogram_us = 500.0\nbus_ns_per_byte = 10.0\n\
                command_ns = 200\n";
    let job = job(text, "1000000 0 8 8 0\n2000000 0 8 8 1\n", &["start.existing=none"]);
    let (_, shown) = shows(&job, None);
    let thread = |name: &str| &shown.threads[&("channel 0".to_owned(), name.to_owned())];
    let slice = |name: &str, start, end| (name.to_owned(), start, end);
    let (sent, read) = (200 + 40_960, 1_000_000 + 200 + 50_000);
    let bus = [
        slice("program host", 0, sent),
        slice("read host", 1_000_000, 1_000_200),
        slice("read host", read, read + 40_960),
    ];
    assert_eq!(thread("bus"), &bus);
    let die = [
        slice("program host", 0, sent + 500_000),
        slice("read host", 1_000_000, read),
        slice("read host", read, read + 40_960),
    ];
    assert_eq!(thread("chip 0"), &die);
    let requests =
        [(0, "write".to_owned(), 0, sent + 500_000), (1, "read".to_owned(), 1_000_000, read + 40_960)];
    assert_eq!(shown.requests, requests);
}

#[test]
fn causes_are_those_of_the_operations() {
    for gc in ["ftl.gc.run=steps", "ftl.gc.run=hold-channel"] {
        let set = ["start.existing=all", "redundancy.scheme=mirror", gc];
        let mut job = job(&drive(2, 2, 1, 1), RANDOM, &set);
        let path = output("operations.csv");
        job.operations = Some(path.clone());
        let (run, shown) = shows(&job, None);
        adds_up(&run, &shown);
        let units = || shown.threads.iter().filter(|((_, name), _)| name != "bus").flat_map(|(_, all)| all);
        for (kind, cause) in [("program", "host"), ("program", "mirror"), ("program", "gc"), ("erase", "gc")]
        {
            let slices = units().filter(|slice| slice.0 == format!("{kind} {cause}")).count();
            let counted = figure(&run, &format!("operations.{kind}.{cause}"));
            assert!(slices > 0 && slices as f64 == counted, "{gc}: {kind} {cause}: {slices} of {counted}");
            let logged = records(&path).iter().filter(|row| row[8] == kind && row[9] == cause).count();
            assert_eq!(slices, logged, "both logs at once");
        }
    }
}

#[test]
fn the_queue_is_counted_and_failures_are_marked() {
    let set = ["redundancy.scheme=raid5", "buffer.dram_mib=0.0625", "start.existing=all"];
    let mut job = job(&drive(4, 1, 1, 1), RANDOM, &set);
    job.fail = vec!["chip:1.0@100ms,replace_after=5ms".into()];
    let (run, shown) = shows(&job, None);
    let depth =
        |at: u64| shown.requests.iter().filter(|(_, _, start, end)| (*start..*end).contains(&at)).count();
    let queue = &shown.counters["queue depth"];
    assert!(queue.iter().all(|&(at, value)| value == depth(at) as u64));
    assert_eq!(queue.last().map(|&(_, value)| value), Some(0));
    assert!(shown.counters["free blocks"].len() > 1 && shown.counters["write buffer"].len() > 1);
    let phases = run["phases"].as_array().expect("phases");
    let begins = phases[1..].iter().map(|phase| (figure(phase, "from_s") * 1e9).round() as u64);
    assert!(begins.eq(shown.marks.iter().map(|(at, _)| *at)), "{:?}", shown.marks);
    assert!(shown.marks[0].1.starts_with("chip:1.0@100ms"), "{:?}", shown.marks);
}

#[test]
fn requests_are_shown_from_arrival_to_acknowledgement() {
    let job = Job { keep_requests: true, ..job(&drive(2, 2, 1, 1), RANDOM, &["start.existing=all"]) };
    let path = output("timeline.json");
    let outcome = done(&Job { timeline: Some(path.clone()), ..job });
    let mut requests = shown(&path).requests;
    requests.sort_unstable();
    assert_eq!(requests.len(), outcome.requests.len());
    for (shown, record) in requests.iter().zip(&outcome.requests) {
        assert_eq!((shown.2, shown.3), (record.arrival_ns, record.arrival_ns + record.response_ns));
        assert_eq!(shown.1 == "write", record.op == 1);
    }
}

#[test]
fn a_window_cuts() {
    let job = job(&drive(2, 2, 1, 1), RANDOM, &["start.existing=all"]);
    let (_, whole) = shows(&job, None);
    for (window, from, until) in [
        ("60ms..110ms", 60_000_000, 110_000_000),
        ("60ms..", 60_000_000, u64::MAX),
        ("..110ms", 0, 110_000_000),
    ] {
        let cut = |(name, start, end): &Slice| (name.clone(), from.max(*start), until.min(*end));
        let (run, part) = shows(&job, Some(window));
        for (thread, slices) in &whole.threads {
            let expected: Vec<Slice> = slices.iter().map(cut).filter(|(_, start, end)| start < end).collect();
            assert!(!expected.is_empty() && expected.len() < slices.len(), "{thread:?}");
            assert_eq!(part.threads[thread], expected, "{thread:?} {window}");
        }
        assert!(part.requests.iter().all(|request| request.2 >= from && request.3 <= until));
        assert!(!run["warnings"].to_string().contains("timeline"));
    }
    let (run, beyond) = shows(&job, Some("5s..6s"));
    assert!(beyond.threads.values().all(Vec::is_empty) && !beyond.threads.is_empty());
    let warning = "--timeline-window: it starts at 5s, but the run ended at 0.3";
    assert!(run["warnings"].to_string().contains(warning), "{}", run["warnings"]);
}

#[test]
fn the_same_bytes_twice_and_nothing_half_written() {
    let bytes = || {
        let path = output("timeline.json");
        let job = job(&drive(2, 2, 1, 1), RANDOM, &["start.existing=all"]);
        summary(&Job { timeline: Some(path.clone()), ..job });
        std::fs::read(path).expect("the run wrote it")
    };
    assert_eq!(bytes(), bytes());

    let path = output("timeline.json");
    std::fs::remove_file(&path).expect("it is there");
    let bad = job(&drive(2, 2, 1, 1), "0 0 0 8 0\n1000000 0 0 8 0\nrubbish\n", &[]);
    let error = run(&Job { timeline: Some(path.clone()), ..bad }, &mut |_| ControlFlow::Continue(()));
    assert!(error.is_err() && !path.exists());
    let partial = path.with_file_name(format!("{}.partial", path.file_name().unwrap().to_str().unwrap()));
    assert!(!partial.exists());
}

#[test]
fn it_is_bounded_and_says_so() {
    // One slice of the bus a read, as commands take no time, two of the unit, and the request: two events of three.
    let trace = "synth:random,requests=260k,write=0,size=4KiB,depth=16";
    let job = job(&drive(2, 2, 1, 1), trace, &["start.existing=all"]);
    let count = |window: Option<&str>| {
        let path = output("timeline.json");
        let window = window.map(str::to_owned);
        let run = summary(&Job { timeline: Some(path.clone()), timeline_window: window, ..job.clone() });
        let text = std::fs::read_to_string(path).expect("the run wrote it");
        let slices =
            text.lines().filter(|line| line.contains("\"ph\":\"X\"") || line.contains("\"ph\":\"b\""));
        (slices.count(), run["warnings"].to_string())
    };
    let (slices, warnings) = count(None);
    assert_eq!(slices, 1_000_000);
    assert!(warnings.contains("--timeline: it holds the first 1000000 slices, up to 2.6"), "{warnings}");
    assert!(warnings.contains("; --timeline-window 2.6"), "{warnings}");
    let (slices, warnings) = count(Some(".."));
    assert_eq!(slices, 260_000 * 4);
    assert!(!warnings.contains("timeline"), "{warnings}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let plain = job(&drive(2, 2, 1, 1), RANDOM, &["start.existing=all"]);
    let refused = |job: Job| {
        let error = run(&job, &mut |_| ControlFlow::Continue(())).map(|_| ()).expect_err("no sense");
        assert!(matches!(error, flashkeep::error::Error::Option(_)), "{error}");
        error.to_string()
    };
    let timeline = || Some(output("timeline.json"));
    let untimed = refused(Job { timeline: timeline(), untimed: true, ..plain.clone() });
    assert!(untimed.contains("--timeline: an untimed run"), "{untimed}");
    let alone = refused(Job { timeline_window: Some("1s..2s".into()), ..plain.clone() });
    assert!(alone.contains("--timeline-window: needs --timeline"), "{alone}");
    let window =
        |text: &str| Job { timeline: timeline(), timeline_window: Some(text.into()), ..plain.clone() };
    assert!(refused(window("2s..1s")).contains("which ends before it begins"));
    assert!(refused(window("1s")).contains("accepted: two times, such as 10s..12s, 500ms.. or ..2s"));
    assert!(refused(window("1..2s")).contains("found `1`"));
}
