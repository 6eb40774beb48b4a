//! Victims, streams and wear: closed forms, published shapes, and the end of a drive.

use crate::common::{done, figure, job, summary};
use flashkeep::blocks::victim::{VICTIMS, Victim};
use flashkeep::job::Job;
use proptest::prelude::*;
use serde_json::Value;

fn one_die(blocks: u32, pages: u32) -> String {
    format!(
        "[flash]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\npage_kib = 4\n\
         blocks_per_plane = {blocks}\npages_per_block = {pages}\n[ftl]\ngc.threshold = 0\n[start]\nexisting = \"all\"\n"
    )
}

const BLOCKS: f64 = 1024.0;
const PAGES: f64 = 64.0;

/// Logical pages if this many blocks are kept back and the rest has this over-provisioning; and its key.
fn logical(kept: f64, spare: f64) -> (f64, String) {
    let logical = ((BLOCKS - kept) * PAGES / (1.0 + spare)).floor();
    (logical, format!("ftl.over_provisioning={}", BLOCKS * PAGES / logical - 1.0))
}

/// Pages programmed for each page written, once the drive has been written half of `times` over.
fn uniform(victim: &str, spare: f64, times: f64) -> f64 {
    let (logical, op) = logical(1.0, spare);
    let trace = format!("synth:random,requests={},write=1,size=4KiB,depth=1", (logical * times) as u64);
    let mut job = job(&one_die(1024, 64), &trace, &[&op]);
    job.set.extend(victim.split(' ').map(|set| format!("ftl.gc.{set}")));
    job.warmup = Some("50%".into());
    figure(&summary(&job), "write_amplification.total")
}

/// Random victims, all blocks alike: a block whose pages are all valid waits for its first invalid one, U/b writes in
/// the mean with U logical pages; from then on it is taken at a rate μ, and its pages go at a rate 1/U each. So a victim
/// has V = (b − 1) μU/(μU + 1) valid pages, and lives for U/b + 1/μ writes. A = b/(b − V), and every block is erased A/b
/// times per T/U writes; without μ: A = b / (b (1 − ρ) + ρ), ρ = U/T.
#[test]
fn random_amplification_is_its_mean_field() {
    for spare in [0.07, 0.15, 0.28] {
        let used = 1.0 / (1.0 + spare);
        let expected = PAGES / (PAGES * (1.0 - used) + used);
        let found = uniform("victim=\"random\"", spare, 10.0);
        assert!((found / expected - 1.0).abs() < 0.02, "{spare}: {found}, not {expected}");
    }
}

#[test]
fn more_choices_lead_from_random_to_greedy_and_a_wider_window_from_fifo() {
    let a = |victim: &str| uniform(victim, 0.15, 6.0);
    let greedy = a("victim=\"greedy\"");
    let order = [
        a("victim=\"random\""),
        a("victim=\"d-choices\" choices=2"),
        a("victim=\"d-choices\" choices=4"),
        a("victim=\"rga\""),
        greedy,
    ];
    assert!(order.is_sorted_by(|more, less| more > &(less * 1.01)), "{order:?}");
    // Of 1,024 blocks `rga` draws ten; and one choice is random.
    assert_eq!(order[3], a("victim=\"d-choices\" choices=10"));
    assert_eq!(order[0], a("victim=\"d-choices\" choices=1"));
    let order = [
        a("victim=\"fifo\""),
        a("victim=\"windowed-greedy\" window=32"),
        a("victim=\"windowed-greedy\" window=256"),
        greedy,
    ];
    assert!(order.is_sorted_by(|more, less| more > &(less * 1.002)), "{order:?}");
    let all = a("victim=\"windowed-greedy\" window=1024");
    assert!((all / greedy - 1.0).abs() < 0.01, "{all} and {greedy}");
}

// ---------------------------------------------------------------- two temperatures

/// The principal branch of Lambert's function, by Newton's method.
fn lambert_w(x: f64) -> f64 {
    let mut w = x;
    for _ in 0..100 {
        let e = w.exp();
        w -= (w * e - x) / (e * (w + 1.0));
    }
    w
}

fn fifo(a: f64) -> f64 {
    a / (a + lambert_w(-a * (-a).exp()))
}

/// The least amplification of a share `hot` of the pages getting a share `rate` of the writes, each part with blocks
/// and spare space of its own, over all ways to divide that.
fn optimum(spare: f64, hot: f64, rate: f64) -> f64 {
    let divided = |share: f64| {
        let part = |pages: f64, share: f64| fifo((pages + spare * share) / pages);
        rate * part(hot, share) + (1.0 - rate) * part(1.0 - hot, 1.0 - share)
    };
    (1..1000).map(|n| divided(f64::from(n) / 1000.0)).fold(f64::MAX, f64::min)
}

/// 80 % of writes to 20 % of the pages, uniform in each part.
fn two_temperatures(set: &[&str], kept: f64, spare: f64) -> f64 {
    let (logical, op) = logical(kept, spare);
    let (hot, writes) = ((logical * 0.2).floor(), logical * 10.0);
    let part = |share: f64, pages: f64, from: f64| {
        format!(
            "synth:random,requests={},write=1,size=4KiB,footprint={}KiB,offset={}KiB,rate={}",
            (writes * share) as u64,
            pages * 4.0,
            from * 4.0,
            400.0 * share
        )
    };
    let mut job = job(&one_die(1024, 64), &part(0.8, hot, 0.0), set);
    job.traces.push(part(0.2, logical - hot, hot));
    job.set.push(op);
    (job.merge_devices, job.overlay, job.warmup) = (true, true, Some("50%".into()));
    figure(&summary(&job), "write_amplification.total")
}

#[test]
fn separation_brings_two_temperatures_towards_the_optimum() {
    let spare = 0.28;
    let best = optimum(spare, 0.2, 0.8);
    assert!((best - 1.866).abs() < 0.001, "{best}");
    // Greedy would leave both parts' victims alike, and so the division of the spare pages as it is.
    let victim = "ftl.gc.victim=\"cost-benefit\"";
    let together = two_temperatures(&[victim], 1.0, spare);
    let separate = two_temperatures(&[victim, "ftl.gc.separate=true"], 2.0, spare);
    let clustered = two_temperatures(&[victim, "ftl.streams=4"], 4.0, spare);
    let gained = |found: f64| (together - found) / (together - best);
    assert!(gained(separate) > 0.5, "{together}, separate {separate}, optimum {best}");
    assert!(gained(clustered) > 0.8, "{together}, clustered {clustered}, optimum {best}");
    assert!(clustered < separate && best < clustered * 1.01, "{clustered}, {separate}, {best}");
}

// ---------------------------------------------------------------- wear

/// A file rewritten from end to end again and again beside data that is not touched.
fn rewritten(levelling: &str, writes: u32, share: f64) -> Value {
    let pages = (7_123.0 * share) as u32 / 16 * 16;
    let trace = format!(
        "synth:sequential,requests={},write=1,size=64KiB,footprint={}KiB,rate=20",
        writes / 16,
        pages * 4
    );
    let levelling = format!("ftl.wear.levelling=\"{levelling}\"");
    let set = ["ftl.wear.erase_budget=50", &levelling, "ftl.gc.threshold=0.05"];
    let mut job = job(&one_die(256, 32), &trace, &set);
    job.verify = true;
    summary(&job)
}

/// Published (Agrawal et al., table of wear levelling; mean, deviation and expired blocks of a budget of 50):
/// 43.82, 13.47, 223; rate limiting 43.82, 13.42, 153; migration 43.34, 5.71, none.
#[test]
fn migration_halves_the_deviation_and_rate_limiting_spares_a_third_of_the_blocks() {
    let [none, limited, migrated, both] =
        ["none", "rate-limit", "migration", "both"].map(|levelling| rewritten(levelling, 35_000, 0.02));
    let of = |run: &Value, key: &str| figure(run, &format!("wear.{key}"));
    for run in [&none, &limited, &migrated, &both] {
        assert_eq!(figure(run, "integrity.wrong_reads") + figure(run, "integrity.lost_pages"), 0.0);
    }
    let deviation = |run: &Value| of(run, "remaining_life_stddev");
    assert!(deviation(&migrated) < 0.55 * deviation(&none), "{none} {migrated}");
    assert!(deviation(&limited) > 0.85 * deviation(&none), "{none} {limited}");
    let expired = |run: &Value| of(run, "expired_blocks");
    assert_eq!((expired(&migrated), expired(&both)), (0.0, 0.0));
    let left = expired(&limited) / expired(&none);
    assert!((0.5..0.85).contains(&left), "{} of {} blocks expire", expired(&limited), expired(&none));
    // Its cost is counted apart from collection.
    assert!(figure(&migrated, "operations.program.migrate") > 0.0);
    assert_eq!(figure(&none, "write_amplification.wear"), 0.0);
}

#[test]
fn lifetimes_follow_from_erases_and_bytes() {
    let run = rewritten("none", 20_000, 0.3);
    let of = |key: &str| figure(&run, &format!("wear.{key}"));
    let (most, mean) = (50.0 / of("erases_max"), 50.0 / of("erases_mean"));
    let (days, terabytes) = (figure(&run, "simulated_s") / 86_400.0, 20_000.0 * 4096.0 / 1e12);
    let drives = terabytes * 1e12 / figure(&run, "capacity_bytes") / (5.0 * 365.0);
    // Each of 256 blocks of 32 pages is programmed 50 times.
    let programs = 50.0 * 256.0 * 32.0 * 4096.0 / figure(&run, "waf_bytes");
    for (key, expected) in [
        ("lifetime_days", programs / (terabytes * 1e12 / days)),
        ("lifetime_days_first_block", days * most),
        ("lifetime_days_by_mean", days * mean),
        ("lifetime_erases", of("erases_total") * most),
        ("lifetime_erases_by_mean", 256.0 * 50.0),
        ("tbw_first_block", terabytes * most),
        ("dwpd_first_block", drives * most),
        ("tbw", programs / 1e12),
        ("dwpd", programs / figure(&run, "capacity_bytes") / (5.0 * 365.0)),
        ("workload_dwpd", drives * 5.0 * 365.0 / days),
        ("remaining_life_mean", 50.0 - of("erases_mean")),
        ("remaining_life_stddev", of("erases_stddev")),
    ] {
        assert!((of(key) / expected - 1.0).abs() < 1e-9, "{key}: {}, not {expected}", of(key));
    }
    assert_eq!(of("expired_blocks"), 0.0);
    for never in ["first_block_dead_s", "first_loss_s", "first_block_dead_bytes", "first_loss_bytes"] {
        assert!(run["wear"][never].is_null(), "{never}");
    }
}

/// A small drive that is written until it can no longer hold its data.
fn to_the_end(levelling: &str) -> Value {
    let trace = "synth:random,requests=400k,write=1,size=4KiB,depth=4";
    let levelling = format!("ftl.wear.levelling=\"{levelling}\"");
    let set = ["ftl.wear.erase_budget=40", "ftl.over_provisioning=0.2", &levelling];
    let mut job = job(&one_die(64, 16), trace, &set);
    job.verify = true;
    summary(&job)
}

#[test]
fn a_drive_that_is_worn_out_says_when_and_how() {
    for levelling in ["none", "rate-limit", "migration", "both"] {
        let run = to_the_end(levelling);
        let of = |key: &str| figure(&run, &format!("wear.{key}"));
        assert!(of("expired_blocks") > 0.0 && of("erases_max") == 40.0, "{levelling}");
        assert!(
            0.0 < of("first_block_dead_s") && of("first_block_dead_s") < of("first_loss_s"),
            "{levelling}"
        );
        assert!(of("first_block_dead_bytes") < of("first_loss_bytes"), "{levelling}");
        assert!(figure(&run, "workload.requests") < 400e3, "{levelling}: the run ends with the drive");
        assert!(figure(&run, "integrity.lost_pages") > 0.0, "{levelling}");
        assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0, "{levelling}");
        let said = run["warnings"].as_array().expect("a list");
        let said = said.iter().filter_map(Value::as_str).find(|said| said.contains("the end of its life"));
        assert!(said.is_some_and(|said| said.contains("a write was refused")), "{levelling}: {said:?}");
        // Of what can be erased at all, most is used before the end: the spare blocks wear with the others.
        assert!(of("erases_total") > 0.7 * 64.0 * 40.0, "{levelling}: {}", of("erases_total"));
    }
}

/// The other half of each pair that has lost its place is still there.
#[test]
fn a_mirror_of_worn_groups_loses_nothing_at_once() {
    let drive = "[flash]\nchannels = 2\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\npage_kib = 4\n\
                 blocks_per_plane = 32\npages_per_block = 8\n[ftl]\nover_provisioning = 0.3\nwear.erase_budget = 20\n\
                 [redundancy]\nscheme = \"mirror\"\n[start]\nexisting = \"all\"\n";
    let mut job = job(drive, "synth:random,requests=40k,write=0.9,size=4KiB,depth=4", &[]);
    job.verify = true;
    let run = summary(&job);
    assert!(figure(&run, "wear.first_loss_s") > 0.0 && figure(&run, "workload.requests") < 40e3);
    assert_eq!(figure(&run, "integrity.wrong_reads"), 0.0);
}

// ---------------------------------------------------------------- everything at once

/// The policies that are part of this crate.
fn own_victims() -> Vec<&'static str> {
    let own = |policy: &&Victim| policy.file.is_none();
    VICTIMS.iter().filter(own).map(|policy| policy.name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The least over-provisioning that is accepted is enough, with every policy: nothing hangs, nothing is lost
    /// before the drive is worn out, and every read returns the data written last.
    #[test]
    fn any_policies_keep_every_page(
        seed in 0u64..10_000,
        (chips, planes, unit) in (1u32..3, 1u32..3, prop::sample::select(vec!["chip", "die", "plane"])),
        (streams, separate) in (1u8..4, any::<bool>()),
        levelling in prop::sample::select(vec!["none", "rate-limit", "migration", "both"]),
        budget in prop::sample::select(vec![8u32, 20, 1000]),
        victim in prop::sample::select(own_victims()),
        run in prop::sample::select(vec!["steps", "hold-channel"]),
        (allocation, existing) in prop::sample::select(vec![("dynamic", "all"), ("CWDP", "all"), ("dynamic-in-channel", "reads"), ("PDWC", "none")]),
        (scheme, depth) in prop::sample::select(vec![("none", "depth=1"), ("none", "depth=9"), ("none", "rate=2k"), ("mirror", "depth=4"), ("raid5", "depth=4")]),
    ) {
        let channels = match scheme { "none" => 1, "mirror" => 2, _ => 3 };
        let migrates = matches!(levelling, "migration" | "both");
        let spare = 2 * (u32::from(streams) + u32::from(separate)) + u32::from(migrates);
        let (blocks, pages) = (spare + 6, 5);
        let drive = format!(
            "[flash]\nchannels = {channels}\nchips_per_channel = {chips}\nplanes_per_die = {planes}\nbusy_unit = \"{unit}\"\n\
             blocks_per_plane = {blocks}\npages_per_block = {pages}\npage_kib = 4\n\
             [ftl]\nover_provisioning = {}\nallocation = \"{allocation}\"\nstreams = {streams}\n\
             gc = {{ separate = {separate}, victim = \"{victim}\", run = \"{run}\" }}\n\
             wear = {{ erase_budget = {budget}, levelling = \"{levelling}\", migrate_below = 1 }}\n\
             [redundancy]\nscheme = \"{scheme}\"\n[start]\nexisting = \"{existing}\"\n",
            f64::from(spare) / 6.0 + 1e-6,
        );
        let trace = format!("synth:zipf,theta=0.9,requests=1500,write=0.8,size=512:0.2/4KiB:0.5/20KiB:0.3,align=512,{depth}");
        let job = Job { seed: Some(seed), verify: true, ..job(&drive, &trace, &[]) };
        let first = done(&job).summary;
        prop_assert_eq!(figure(&first, "integrity.wrong_reads"), 0.0);
        if first["wear"]["first_loss_s"].is_null() {
            prop_assert_eq!(figure(&first, "integrity.lost_pages"), 0.0);
            prop_assert_eq!(figure(&first, "workload.requests"), 1500.0);
        } else {
            prop_assert!(figure(&first, "wear.expired_blocks") > 0.0);
        }
        prop_assert!(figure(&first, "wear.erases_max") <= f64::from(budget));
        prop_assert_eq!(&first, &done(&job).summary, "the same run twice");
    }
}

/// Writes of a quarter of a page to a drive whose pages exist: each programs the page. Life follows from the bytes, also
/// if nothing has been erased.
#[test]
fn amplification_and_life_count_bytes() {
    let drive = one_die(256, 32);
    let spare = "ftl.over_provisioning=0.4";
    let set = ["ftl.wear.erase_budget=100", "flash.page_kib=16", "ftl.gc.threshold=0.05", spare];
    let job = job(&drive, "synth:random,requests=1k,write=1,size=4KiB,rate=100", &set);
    let run = summary(&job);
    assert_eq!((figure(&run, "wear.erases_total"), figure(&run, "write_amplification.total")), (0.0, 1.0));
    assert_eq!(figure(&run, "waf_bytes"), 4.0);
    // What can still be programmed, in quarters of it.
    let expected = 100.0 * 256.0 * 32.0 * 16_384.0 / 4.0;
    assert!((figure(&run, "wear.tbw") * 1e12 / expected - 1.0).abs() < 1e-9, "{}", run["wear"]);
    let notes = run["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
    assert_eq!(notes.filter(|note| note.starts_with("TBW and DWPD are extrapolated")).count(), 1);
}

/// A mirror of two drives programs each byte twice; an array lives as long as its first member.
#[test]
fn an_array_lives_as_long_as_a_member() {
    let drives = [100, 40].map(|budget| {
        let text = one_die(256, 32).replace("[ftl]\n", &format!("[ftl]\nwear.erase_budget = {budget}\n"));
        crate::common::file(&format!("budget-{budget}.toml"), &text)
    });
    let mut job = job("\n", "synth:random,requests=1k,write=1,size=4KiB,rate=100", &[]);
    let members =
        format!("members = [\"{}\", \"{}\"]\nredundancy.scheme = \"mirror\"\n", drives[0], drives[1]);
    job.drive = crate::common::file("unlike.toml", &members);
    let run = summary(&job);
    assert_eq!(figure(&run, "waf_bytes"), 2.0);
    let expected = 40.0 * 256.0 * 32.0 * 4096.0;
    assert!((figure(&run, "wear.tbw") * 1e12 / expected - 1.0).abs() < 1e-9, "{}", run["wear"]);
}
