//! Flushes and FUA writes: requests without a place, and a mark on writes.

use crate::common::{done, figure, file, job, summary};
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
    for set in [&[][..], &["redundancy.scheme=raid5"], &["host.link_us_per_sector=1"]] {
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

/// One die that programs a page of 4 KiB in 200 µs, below a buffer of 16 pages.
const CACHED: &str = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                      blocks_per_plane = 64\npages_per_block = 64\npage_kib = 4\n\
                      timing = { read_us = 50, program_us = 200, erase_us = 1000, bus_ns_per_byte = 0, command_ns = 0 }\n\
                      [buffer]\ndram_mib = 0.0625\n[start]\nexisting = \"all\"\n";

/// Response times in µs of requests that are lines of a trace in CSV, from their arrival on.
fn responses(drive: &str, lines: &str, set: &[&str]) -> Vec<f64> {
    let text = format!("time_ns,device,op,offset_B,size_B\n{lines}");
    let job = job(drive, "synth:random,requests=1", set);
    let job = Job { traces: vec![file("flush.csv", &text)], keep_requests: true, verify: true, ..job };
    let outcome = done(&job);
    assert_eq!(figure(&outcome.summary, "integrity.wrong_reads"), 0.0);
    outcome.requests.iter().map(|request| request.response_ns as f64 / 1e3).collect()
}

/// A FLUSH programs what the buffer holds, and waits for what has left it; FUA passes the buffer.
#[test]
fn flushes_and_fua_end_on_the_media() {
    let three = "0,0,W,0,4096\n0,0,W,4096,4096\n0,0,W,8192,4096\n";
    let flushed = format!("{three}1000000,0,F,,\n2000000,0,F,,\n");
    assert_eq!(responses(CACHED, &flushed, &[]), [1.0, 1.0, 1.0, 600.0, 1.0]);
    // What has been programmed already is not programmed again.
    let again = format!("{three}1000000,0,F,,\n2000000,0,W,0,4096\n3000000,0,F,,\n");
    assert_eq!(responses(CACHED, &again, &[])[3..], [600.0, 1.0, 200.0]);
    // The ninth page has begun a write-back of five; the FLUSH comes while the first is being programmed.
    let watermark = ["buffer.flush=watermark", "buffer.flush_pages=1"];
    let nine: String = (0..9).map(|at| format!("0,0,W,{},4096\n", at * 4096)).collect();
    assert_eq!(responses(CACHED, &format!("{nine}100000,0,F,,\n"), &watermark)[9], 9.0 * 200.0 - 100.0);
    let fua = "0,0,W,0,4096\n1000000,0,WF,0,4096\n2000000,0,F,,\n3000000,0,WF,512,512\n";
    assert_eq!(responses(CACHED, fua, &[]), [1.0, 200.0, 1.0, 250.0]);
}

/// The writes that wait for a FLUSH are programmed together: four writes of two pages each fill 8 of the 12 places of
/// one word line, for any time that writes may wait for others.
#[test]
fn what_waits_for_a_flush_shares_word_lines() {
    let writes =
        |from: u32| (from..from + 4).map(|at| format!("0,0,W,{},8192\n", at * 8192)).collect::<String>();
    let lines = format!("{}1000000,0,F,,\n", writes(0));
    let one_shot = ["flash.pages_per_program=3", "flash.page_kib=16", "flash.pages_per_block=63"];
    for gather in ["ftl.gather_us=0", "ftl.gather_us=1000"] {
        let set = [&one_shot[..], &["ftl.logical_page_kib=4", gather]].concat();
        assert_eq!(responses(CACHED, &lines, &set), [1.0, 1.0, 1.0, 1.0, 200.0]);
    }
}

/// Members of an array write their caches back at the same time; without a cache a FLUSH has nothing to do.
#[test]
fn flushes_reach_the_caches_of_members() {
    let member = file("member.toml", CACHED);
    let array = |scheme: &str, more: &str| {
        format!(
            "members = [\"2 * {member}\"]\nredundancy.scheme = \"{scheme}\"\n{more}[start]\nexisting = \"all\"\n"
        )
    };
    let two = "0,0,W,0,4096\n0,0,W,4096,4096\n1000000,0,F,,\n";
    assert_eq!(responses(&array("mirror", ""), two, &[])[2], 400.0);
    assert_eq!(responses(&array("none", "redundancy.stripe_kib = 4\n"), two, &[])[2], 200.0);
    // Through the array's own buffer into those of the members.
    let both = array("mirror", "buffer.dram_mib = 0.0625\n");
    assert_eq!(responses(&both, two, &[])[..2], [1.0, 1.0]);
    assert_eq!(responses(&both, two, &[])[2], 401.0);
    let fua = "0,0,WF,0,4096\n1000000,0,F,,\n";
    assert_eq!(responses(&both, fua, &[])[0], 200.0);
}

/// What has been flushed, or was written with FUA, survives a power loss; the rest of what the buffers held does not.
#[test]
fn nothing_flushed_is_lost_in_a_power_loss() {
    let drive = file("member.toml", &CACHED.replace("channels = 1", "channels = 4"));
    let array = |scheme: &str| format!("members = [\"4 * {drive}\"]\nredundancy.scheme = \"{scheme}\"\n");
    let load = "synth:random,requests=1500,write=0.7,size=4KiB:0.7/12KiB:0.2/512:0.1,align=512,rate=4k";
    let four = CACHED.replace("channels = 1", "channels = 4");
    let drives =
        [four.clone(), format!("{four}[redundancy]\nscheme = \"raid5\"\n"), array("mirror"), array("raid5")];
    for (drive, flush) in
        drives.iter().flat_map(|drive| ["none", "idle", "watermark"].map(|flush| (drive, flush)))
    {
        let is_array = drive.starts_with("members");
        let flush = format!("{}buffer.flush={flush}", if is_array { "member." } else { "" });
        let cut = |more: &str| {
            let mut job = job(drive, &format!("{load}{more}"), &["start.existing=all", &flush]);
            job.verify = true;
            job.fail = ["power@300req", "power@50%", "power@0.2501s"].map(str::to_owned).to_vec();
            let run = summary(&job);
            let of = |key: &str| figure(&run, &format!("integrity.{key}"));
            assert_eq!((of("lost_pages"), of("wrong_reads")), (0.0, 0.0), "{flush} {more}: {drive}");
            of("volatile_pages_lost")
        };
        let (plain, flushed, forced) = (cut(""), cut(",flush_every=5"), cut(",fua=1"));
        assert!(flushed < plain || !flush.ends_with("none"), "{flush}: {flushed} of {plain}");
        assert_eq!(forced, 0.0, "{flush}");
    }
}

/// The programs that a short run causes are counted if its caches are written back at the end.
#[test]
fn the_end_of_a_run_can_be_flushed() {
    let text = "time_ns,device,op,offset_B,size_B\n0,0,W,0,4096\n0,0,W,4096,4096\n";
    let member = file("member.toml", CACHED);
    let mirror = format!("members = [\"2 * {member}\"]\nredundancy.scheme = \"mirror\"\n");
    for (drive, programs) in [(CACHED, 2.0), (&mirror, 4.0)] {
        for (flush_at_end, programs) in [(false, 0.0), (true, programs)] {
            let job = job(drive, "synth:random,requests=1", &["start.existing=all"]);
            let run =
                summary(&Job { traces: vec![file("flush.csv", text)], flush_at_end, verify: true, ..job });
            let of = |cause: &str| figure(&run, &format!("operations.program.{cause}"));
            assert_eq!(of("host") + of("mirror"), programs);
            assert_eq!(figure(&run, "response_us.write.max"), 1.0);
        }
    }
}
