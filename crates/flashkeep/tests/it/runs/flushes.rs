//! Flushes and FUA writes: requests without a place, and a mark on writes.

use crate::common::{figure, file, job, summary};
use flashkeep::job::Job;
use serde_json::Value;

const SMALL: &str = "[flash]\nchannels = 4\nchips_per_channel = 1\nplanes_per_die = 2\nblocks_per_plane = 24\n\
                     pages_per_block = 8\n[ftl]\nover_provisioning = 0.5\n";

const LOAD: &str = "synth:random,requests=900,write=0.5,size=4KiB,footprint=1MiB,rate=2k";

/// All that a run reports about other requests.
fn without_flushes(mut summary: Value) -> Value {
    for gone in [
        "drive",
        "digest",
        "run",
        "workload",
        "queue",
        "warnings",
        "simulated_s",
        "throughput",
        "utilization",
    ] {
        summary.as_object_mut().expect("an object").remove(gone);
    }
    for times in ["response_us", "service_us"] {
        summary[times].as_object_mut().expect("an object").remove("flush");
    }
    summary
}

#[test]
fn a_flush_takes_the_time_of_memory_and_changes_nothing_else() {
    for set in [&[][..], &["redundancy.scheme=raid5"], &["buffer.dram_mib=1"], &["host.link_us_per_sector=1"]]
    {
        // Flushes are among the requests: with one after each write there are 450 and some fewer of the others.
        let flushed = summary(&job(SMALL, &format!("{LOAD},flush_every=1"), set));
        let flushes = figure(&flushed, "workload.flushes");
        let others = 900 - flushes as u64;
        let plain = summary(&job(SMALL, &LOAD.replace("requests=900", &format!("requests={others}")), set));
        let unflushed = figure(&flushed, "workload.writes") - flushes;
        assert!(unflushed == 0.0 || unflushed == 1.0, "the last request may be a write: {unflushed}");
        assert_eq!(figure(&flushed, "response_us.flush.count"), flushes);
        assert_eq!(plain["workload"]["flushes"], 0);
        assert_eq!(plain["response_us"]["flush"], Value::Null);
        assert_eq!(without_flushes(flushed), without_flushes(plain), "{set:?}");
    }
}

#[test]
fn an_idle_drive_answers_a_flush_after_the_time_of_memory() {
    let text = "time_ns,device,op,offset_B,size_B\n0,0,W,0,4096\n10000000,0,F,,\n20000000,0,WF,4096,4096\n";
    for (hit_us, compact) in [(1.0, false), (2.5, true)] {
        let job = job(SMALL, "synth:random,requests=1", &[&format!("buffer.hit_us={hit_us:?}")]);
        let job = Job { traces: vec![file("flush.csv", text)], compact, verify: true, ..job };
        let found = summary(&job);
        assert_eq!(figure(&found, "response_us.flush.max"), hit_us);
        assert_eq!((figure(&found, "workload.requests"), figure(&found, "workload.fua_writes")), (3.0, 1.0));
        assert_eq!(figure(&found, "response_us.write.count"), 2.0);
    }
}

/// Wherever requests are placed, kept waiting or counted: nothing divides by the place that a flush does not have.
#[test]
fn flushes_pass_every_way_into_a_drive() {
    let load = format!("{LOAD},flush_every=3,fua=0.5");
    let array = "members = [\"3 * 2CNM-64,flash.chips_per_channel=1,flash.blocks_per_plane=32\"]\n\
                 redundancy.scheme = \"raid5\"\n";
    let disk = "disk.capacity_gb = 0.05\n";
    for drive in [SMALL, array, disk] {
        let job = job(drive, &load, &[]);
        for job in [
            job.clone(),
            Job { wrap: true, ..job.clone() },
            Job { compact: true, ..job.clone() },
            Job { fail: vec!["power@50%".into()], verify: true, ..job.clone() },
            Job { replay: Some("closed".into()), depth: Some(4), ..job.clone() },
            Job { untimed: drive == SMALL, ..job.clone() },
            Job { warmup: Some("10%".into()), keep_requests: true, ..job.clone() },
        ] {
            let found = summary(&job);
            let flushes = figure(&found, "workload.flushes");
            assert!(flushes > 50.0 && flushes == (figure(&found, "workload.writes") / 3.0).floor());
            assert!(figure(&found, "workload.fua_writes") > 50.0);
        }
    }
}
