//! Closed forms as oracles: queues, ceilings, write amplification.

use crate::common::{figure, job, summary};

/// One die on one channel.
const ONE_DIE: &str = "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                       blocks_per_plane = 4096\npages_per_block = 64\npage_kib = 4\n";

fn within(found: f64, expected: f64, share: f64, what: &str) {
    let off = (found / expected - 1.0).abs();
    assert!(off <= share, "{what}: {found} is {:.2} % off {expected}", off * 100.0);
}

#[test]
fn one_die_is_an_m_d_1_queue() {
    // Service: 25 µs in the array and 4,096 bytes of 3 ns.
    let service_us = 25.0 + 4096.0 * 0.003;
    for load in [0.3, 0.7] {
        let rate = load / service_us * 1e6;
        let trace = format!("synth:random,requests=400k,write=0,size=4KiB,rate={rate}");
        let run = summary(&job(ONE_DIE, &trace, &[]));
        let expected = service_us * (1.0 + load / (2.0 * (1.0 - load)));
        within(figure(&run, "response_us.read.mean"), expected, 0.02, "mean response");
        within(figure(&run, "service_us.read.mean"), service_us, 1e-9, "service");
        within(figure(&run, "utilization.die_mean"), load, 0.01, "load");
    }
}

#[test]
fn ceilings_of_the_bus_and_of_the_die() {
    // Eight dies on one bus deliver a page every 12.288 µs, for every array time.
    let bus_bound = summary(&job(
        ONE_DIE,
        "synth:sequential,requests=20k,write=0,size=32KiB,depth=16",
        &["flash.chips_per_channel=8", "ftl.allocation=\"WDPC\"", "start.existing=\"all\""],
    ));
    let page_s = 4096.0 * 3e-9;
    within(
        figure(&bus_bound, "throughput.read_mib_s"),
        4096.0 / page_s / 1048576.0,
        0.005,
        "bus-bound reads",
    );
    // One die programs a page every 200 µs and 12.288 µs of transfer.
    let die_bound = summary(&job(ONE_DIE, "synth:sequential,requests=20k,write=1,size=4KiB,depth=8", &[]));
    within(figure(&die_bound, "throughput.iops"), 1e6 / 212.288, 0.005, "die-bound writes");
}

/// Uniform random single-page writes on a full plane: pages programmed for each page written.
fn amplification(victim: &str, spare: f64) -> f64 {
    let (blocks, pages) = (1024.0, 64.0);
    // What holds data: all but the block that collection keeps back. A victim is chosen when the open block has just
    // been filled, so none is open then.
    let holds_data = (blocks - 1.0) * pages;
    let logical = (holds_data / (1.0 + spare)).floor();
    let over_provisioning = blocks * pages / logical - 1.0;
    let writes = (logical * 12.0) as u64;
    let mut job = job(
        ONE_DIE,
        &format!("synth:random,requests={writes},write=1,size=4KiB,depth=1"),
        &[
            "flash.blocks_per_plane=1024",
            "ftl.gc.threshold=0",
            "start.existing=\"all\"",
            &format!("ftl.over_provisioning={over_provisioning}"),
            &format!("ftl.gc.victim=\"{victim}\""),
        ],
    );
    job.warmup = Some("50%".into());
    figure(&summary(&job), "write_amplification.total")
}

/// The principal branch of Lambert's function, by Newton's method.
fn lambert_w(x: f64) -> f64 {
    let mut w = x;
    for _ in 0..100 {
        let e = w.exp();
        w -= (w * e - x) / (e * (w + 1.0));
    }
    w
}

#[test]
fn fifo_amplification_is_its_formula() {
    for spare in [0.07, 0.15, 0.28] {
        let a: f64 = 1.0 + spare;
        let expected = a / (a + lambert_w(-a * (-a).exp()));
        within(amplification("fifo", spare), expected, 0.01, "FIFO");
    }
}

#[test]
fn greedy_amplification_is_the_finite_block_mean_field() {
    // The share of blocks with j valid pages is φ/j down to the victims' level (reference: the finite-block mean
    // field at 64 pages a block).
    for (spare, expected) in [(0.07, 7.010), (0.15, 3.800), (0.28, 2.403)] {
        within(amplification("greedy", spare), expected, 0.01, "greedy");
    }
}
