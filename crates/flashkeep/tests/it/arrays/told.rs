//! Output files of arrays: operations, timelines, maps.

use super::hybrids::HYBRIDS;
use super::hybrids::hybrid;
use super::nested::nested_job;
use super::{RANDOM, array_job};
use crate::common::{figure, output, records, summary};
use serde_json::Value;

/// Every operation of every member is in the log, with the member's name; disks have none.
#[test]
fn operations_of_members() {
    let path = output("operations.csv");
    let mut job = nested_job(&[("raid5", 3, ""), ("mirror", 2, "")], RANDOM);
    job.operations = Some(path.clone());
    let run = summary(&job);
    let log = records(&path);
    assert_eq!(log[0][..4], ["start_ns", "end_ns", "member", "channel"]);
    let members = run["members"].as_array().expect("a list");
    assert_eq!(members.len(), 6);
    for member in members {
        let name = member["member"].as_str().expect("a name");
        for kind in ["read", "program", "erase"] {
            let counts = member["operations"][kind].as_object().expect("a table").values();
            let counted: u64 = counts.map(|count| count.as_u64().expect("a count")).sum();
            let logged = log[1..].iter().filter(|row| row[2] == name && row[9] == kind).count() as u64;
            assert_eq!(logged, counted, "{name} {kind}");
        }
    }
    let mut job = hybrid("hpda", 3, 2, HYBRIDS[1].4);
    (job.operations, job.timeline) = (Some(path.clone()), Some(output("timeline.json")));
    summary(&job);
    assert!(records(&path)[1..].iter().all(|row| ["0", "1", "2"].contains(&row[2].as_str())));
}

/// In a timeline, channels and units of each member are in use for their busy times; a window limits all of them.
#[test]
fn a_timeline_of_members() {
    let path = output("timeline.json");
    let mut job = array_job("raid5", 3, "synth:random,requests=300,write=0.5,size=4KiB,rate=2k", &[]);
    job.timeline = Some(path.clone());
    let run = summary(&job);
    let shown = |path: &std::path::Path| -> Vec<Value> {
        let text = std::fs::read_to_string(path).expect("the run wrote it");
        let events: Value = serde_json::from_str(&text).expect("JSON");
        events["traceEvents"].as_array().expect("a list").clone()
    };
    let events = shown(&path);
    let named = |what: &str| events.iter().filter(|event| event["name"] == what).count();
    assert_eq!([named("process_name"), named("thread_name")], [1 + 3 * 4, 3 * 8]);
    for (at, member) in run["members"].as_array().expect("a list").iter().enumerate() {
        for channel in 0..4 {
            let name = format!("member {at} channel {channel}");
            let process =
                events.iter().find(|event| event["args"]["name"] == name.as_str()).expect("it is named");
            let bus = events.iter().find(|event| {
                event["name"] == "thread_name"
                    && event["pid"] == process["pid"]
                    && event["args"]["name"] == "bus"
            });
            let bus = &bus.expect("a bus")["tid"];
            let of_bus = events.iter().filter(|event| event["ph"] == "X" && event["tid"] == *bus);
            let busy: f64 = of_bus.map(|event| event["dur"].as_f64().expect("µs")).sum();
            let used = figure(member, &format!("utilization.channel.{channel}"));
            let seconds = figure(&run, "simulated_s");
            assert!((busy / 1e6 - used * seconds).abs() < 1e-8, "{name}: {busy} µs, {used} of {seconds} s");
        }
    }
    job.timeline_window = Some("10ms..20ms".to_owned());
    summary(&job);
    let slices: Vec<Value> = shown(&path).into_iter().filter(|event| event["ph"] == "X").collect();
    assert!(slices.len() > 20);
    for slice in slices {
        let (at, long) = (slice["ts"].as_f64().expect("µs"), slice["dur"].as_f64().expect("µs"));
        assert!(at >= 10_000.0 && at + long <= 20_000.0, "{slice}");
    }
}

/// A column for each copy, each with the member that has it.
#[test]
fn a_map_of_members() {
    let path = output("map.csv");
    let mut job = array_job("mirror", 2, "synth:sequential,requests=40,write=1,size=4KiB", &[]);
    job.map = Some(path.clone());
    summary(&job);
    let map = records(&path);
    assert_eq!((map.len(), &map[0][..]), (41, &["page", "copy0", "copy1"].map(str::to_owned)[..]));
    assert!(map[1..].iter().all(|row| row[1].starts_with("0:") && row[2].starts_with("1:")));
    let levels = [("none", 2, "stripe_kib = 8"), ("none", 2, "stripe_kib = 16")];
    let mut job = nested_job(&levels, "synth:sequential,requests=8,write=1,size=4KiB");
    (job.map, job.set) = (Some(path.clone()), Vec::new());
    summary(&job);
    let members: Vec<String> = records(&path)[1..]
        .iter()
        .map(|row| row[1].split(':').next().expect("a member").to_owned())
        .collect();
    assert_eq!(members, ["0/0", "0/0", "0/1", "0/1", "1/0", "1/0", "1/1", "1/1"]);
}
