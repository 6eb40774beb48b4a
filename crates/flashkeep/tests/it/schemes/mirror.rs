//! SIRF-1: the worked example and the invariants of its mirror.

use crate::common::{done, figure, job, output, records, summary};
use proptest::prelude::*;

/// Two channels of one chip, one die, one plane each; pages of 2 KiB.
const SMALL: &str = "[flash]\nchannels = 2\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
                     blocks_per_plane = 16\npages_per_block = 8\npage_kib = 2\n\
                     [ftl]\nover_provisioning = 0.4\n\
                     [redundancy]\nscheme = \"mirror\"\n";

#[test]
fn the_worked_example() {
    // Figure 3 and tables I and II: pages 7 to 11 written on two channels, then read.
    let mut job = job(SMALL, "0 0 28 20 0\n10000000 0 28 20 1\n", &[]);
    job.operations = Some(output("operations.csv"));
    job.map = Some(output("map.csv"));
    job.verify = true;
    let run = done(&job).summary;
    let log = records(job.operations.as_deref().unwrap());
    let on = |kind: &str, channel: &str| {
        log.iter().filter(|record| record[8] == kind && record[2] == channel).count()
    };
    assert_eq!((on("program", "0"), on("program", "1")), (5, 5));
    assert_eq!(
        (figure(&run, "operations.program.host"), figure(&run, "operations.program.mirror")),
        (5.0, 5.0)
    );
    // Reads go to channels 0, 1, 0, 1, 0; within a channel they are granted in page order.
    assert_eq!((on("read", "0"), on("read", "1")), (3, 2));
    let map = records(job.map.as_deref().unwrap());
    let pages: Vec<_> = map[1..].iter().map(|record| record[0].as_str()).collect();
    assert_eq!(pages, ["7", "8", "9", "10", "11"]);
    for record in &map[1..] {
        assert!(
            record[1].starts_with("0.") && record[2].starts_with("1."),
            "a copy in each group: {record:?}"
        );
    }
    let place = |page: usize, copy: usize| map[1 + page][1 + copy].clone();
    let read_at: Vec<String> =
        log.iter().filter(|record| record[8] == "read").map(|r| r[2..8].join(".")).collect();
    for (page, channel) in [(0, 0), (1, 1), (2, 0), (3, 1), (4, 0)] {
        assert!(read_at.contains(&place(page, channel)), "page {} from channel {channel}", page + 7);
    }
}

#[test]
fn the_first_copy_is_enough_where_that_is_asked() {
    // Group 0 reads a page when the write comes, so its copy starts later than the other: by what the read still takes,
    // 25 µs and 2,048 bytes of 3 ns, less the microsecond by which it came earlier.
    let trace = "0 0 200 4 1\n1000 0 0 4 0\n";
    let write = |told: &str| {
        let run = summary(&job(SMALL, trace, &[&format!("redundancy.acknowledge=\"{told}\"")]));
        figure(&run, "response_us.write.mean")
    };
    let alone = 200.0 + 2048.0 * 0.003;
    assert_eq!(write("first"), alone);
    assert!((write("all") - (alone + 25.0 + 2048.0 * 0.003 - 1.0)).abs() < 1e-9, "{}", write("all"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn invariants(
        seed in 0u64..1000,
        write in 0.2f64..1.0,
        dram in prop::sample::select(vec!["0", "0.0625"]),
        policy in prop::sample::select(vec!["round-robin", "least-busy"]),
        across in prop::sample::select(vec!["channel", "chip"]),
        run in prop::sample::select(vec!["steps", "hold-channel"]),
        size in prop::sample::select(vec!["2KiB", "1KiB:0.5/2KiB:0.3/12KiB:0.2"]),
    ) {
        let trace = format!("synth:random,requests=1500,write={write},size={size},align=512,rate=2k");
        let set = [
            format!("buffer.dram_mib={dram}"),
            format!("redundancy.read_policy=\"{policy}\""),
            format!("redundancy.across=\"{across}\""),
            format!("ftl.gc.run=\"{run}\""),
            "flash.chips_per_channel=2".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let mut job = job(SMALL, &trace, &set);
        (job.seed, job.verify) = (Some(seed), true);
        job.map = Some(output("map.csv"));
        let run = done(&job).summary;
        let count = |path: &str| figure(&run, path);
        prop_assert_eq!(count("integrity.wrong_reads") + count("integrity.lost_pages"), 0.0);
        // Every page of the host is programmed once in each group.
        prop_assert_eq!(count("operations.program.host"), count("operations.program.mirror"));
        let member = |at: usize, what: &str| count(&format!("members.{at}.operations.{what}"));
        prop_assert_eq!(member(0, "program.host"), member(1, "program.mirror"));
        if dram == "0" {
            prop_assert!(count("operations.read.update") <= count("operations.program.host"));
        }
        if policy == "round-robin" {
            // Reads that the controller's memory served took their turn too.
            let memory = count("reads_from_memory") + count("unmapped_reads");
            let apart = (member(0, "read.host") - member(1, "read.host")).abs();
            prop_assert!(apart <= 1.0 + memory, "{} reads apart", apart);
        }
        // Each logical page has one physical page in each group, so the groups hold equally many.
        for record in &records(job.map.as_deref().unwrap())[1..] {
            prop_assert!(!record[1].is_empty() && !record[2].is_empty(), "{:?}", record);
        }
    }
}
