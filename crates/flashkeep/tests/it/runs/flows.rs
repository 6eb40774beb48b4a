//! Several workloads on one device: one flow is the run of its workload, and flows alone keep their requests.

use crate::common::{done, figure, job, summary};
use flashkeep::job::Job;
use flashkeep::run;
use serde_json::Value;
use std::ops::ControlFlow;

/// One die with reads of 100 µs.
const DIE: &str = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                   blocks_per_plane = 16\npages_per_block = 16\npage_kib = 4\n\
                   timing = { read_us = 100, program_us = 400, erase_us = 1000, bus_ns_per_byte = 0, command_ns = 0 }\n\
                   [ftl]\nover_provisioning = 0.6\n[start]\nexisting = \"all\"\n";

fn flows(drive: &str, flows: &[&str], set: &[&str]) -> Job {
    let flow = flows.iter().map(|&flow| flow.to_owned()).collect();
    Job { flow, traces: Vec::new(), ..job(drive, "synth:random", set) }
}

fn mean(summary: &Value, flow: usize) -> f64 {
    figure(summary, &format!("flows.{flow}.response_us.all.mean"))
}

#[test]
fn one_flow_is_the_run_of_its_workload() {
    for (workload, set) in [
        ("synth:random,requests=900,write=0.6,size=2KiB:0.5/12KiB:0.5,rate=4k", &["host.queue_depth=3"][..]),
        ("synth:zipf,requests=900,write=0.3,size=4KiB,depth=5", &[]),
        ("synth:random,requests=600,write=0.5,rate=3k,flush_every=9", &["buffer.dram_mib=0.125"]),
        ("synth:random,requests=600,write=0.5,rate=3k", &["host.link_us_per_sector=3"]),
    ] {
        let mut plain = job(DIE, workload, set);
        let mut flow = flows(DIE, &[&format!("one={}", workload.replace(',', ";"))], set);
        for verify in [false, true] {
            (plain.verify, flow.verify) = (verify, verify);
            let (plain, flow) = (summary(&plain), summary(&flow));
            assert_eq!(plain["digest"], flow["digest"], "{workload} {set:?}");
            assert_eq!(plain["response_us"], flow["flows"][0]["response_us"], "{workload} {set:?}");
        }
    }
}

#[test]
fn a_flow_with_all_of_the_cache_is_the_run_of_its_workload() {
    let workload = "synth:random,requests=600,write=0.5,size=2KiB:0.5/12KiB:0.5,rate=3k,flush_every=9";
    for set in [
        &["buffer.dram_mib=0.125"][..],
        &["buffer.dram_mib=0.125", "buffer.flush=idle", "buffer.flush_after_us=100"],
        &["buffer.dram_mib=0.125", "buffer.flush=watermark", "buffer.flush_above=0.5"],
    ] {
        let flow = format!("one={},cache_share=1", workload.replace(',', ";"));
        let (plain, flow) = (summary(&job(DIE, workload, set)), summary(&flows(DIE, &[&flow], set)));
        assert_eq!(plain["digest"], flow["digest"], "{set:?}");
    }
}

#[test]
fn a_share_of_the_cache_is_for_its_flow_alone() {
    let set = ["buffer.dram_mib=0.125", "flash.blocks_per_plane=64", "host.link_us_per_sector=0"];
    let run = |shares: [&str; 2], verify: bool| {
        // 16 pages that are written again and again, and a stream that fills every cache.
        let log =
            format!("log=synth:random;requests=300;write=1;size=4KiB;footprint=64KiB;rate=500{}", shares[0]);
        let batch = format!("batch=synth:random;requests=500;write=1;size=4KiB;depth=2{}", shares[1]);
        summary(&Job { verify, ..flows(DIE, &[&log, &batch], &set) })
    };
    let hit = 2.0;
    let shared = run(["", ""], false);
    assert!(mean(&shared, 0) > 10.0 * hit, "{}", mean(&shared, 0));
    for shares in
        [[",cache_share=0.5", ""], [",cache_share=0.5", ",cache_share=0.5"], ["", ",cache_share=0.5"]]
    {
        let parted = run(shares, true);
        assert!(mean(&parted, 0) < hit, "{shares:?}: {}", mean(&parted, 0));
        assert!(mean(&parted, 1) > 10.0 * hit, "{shares:?}: {}", mean(&parted, 1));
        assert_eq!(figure(&parted, "integrity.wrong_reads"), 0.0);
    }
    // A share that does not hold the 16 pages.
    assert!(mean(&run([",cache_share=0.25", ""], false), 0) > 10.0 * hit);
}

#[test]
fn a_flow_alone_has_the_requests_that_it_has_beside_others() {
    let reads = |requests, depth| format!("synth:random;requests={requests};write=0;size=4KiB;depth={depth}");
    let two = [format!("a={}", reads(200, 2)), format!("b={}", reads(600, 6))];
    let mut job = flows(DIE, &two.each_ref().map(String::as_str), &[]);
    job.keep_requests = true;
    let together = done(&job);
    assert!(mean(&together.summary, 0) > 700.0);
    let alone = [0, 1].map(|only| {
        job.only_flow = Some(only);
        done(&job)
    });
    assert!((mean(&alone[0].summary, 0) - 200.0).abs() < 2.0);
    assert!((mean(&alone[1].summary, 0) - 600.0).abs() < 20.0);
    let offsets = |outcome: &flashkeep::job::RunOutcome| {
        let mut offsets: Vec<u64> = outcome.requests.iter().map(|request| request.offset).collect();
        offsets.sort_unstable();
        offsets
    };
    let mut both = [offsets(&alone[0]), offsets(&alone[1])].concat();
    both.sort_unstable();
    assert_eq!(both, offsets(&together));
    assert_ne!(offsets(&alone[0]), offsets(&alone[1]), "each has its own random stream");
}

/// Both flows always have requests; the drive takes one at a time.
#[test]
fn weights_divide_the_fetches() {
    let reads = "synth:random;requests=900;write=0;size=4KiB;rate=1000k";
    let set = ["host.queue_depth=1", "host.arbitration=weighted"];
    let mut job = flows(DIE, &[&format!("a={reads},weight=4"), &format!("b={reads}")], &set);
    job.limit = Some(1000);
    let found = summary(&job);
    assert_eq!([0, 1].map(|at| found["flows"][at]["requests"].as_u64()), [Some(800), Some(200)]);
    assert_eq!(found["operations"]["read"]["host"], 1000);
    assert_eq!(found["flows"][0]["operations"]["read"]["host"], 800);
}

#[test]
fn a_trace_and_flows_exclude_each_other() {
    let mut job = flows(DIE, &["a=synth:random"], &[]);
    job.traces.push("synth:random".to_owned());
    let message = run(&job, &mut |_| ControlFlow::Continue(())).expect_err("both").to_string();
    assert!(message.contains("a flow names its own workload"), "{message}");
}
