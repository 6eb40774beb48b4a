//! Ports of an array's members: their links to the array's controller, and their DRAM.

use super::{MEMBER, RANDOM, array_job, figure, integrity};
use crate::common::{done, file, job, summary};
use flashkeep::job::{Job, RequestRecord};
use flashkeep::kernel::Random;
use std::fmt::Write;

/// The times to read and to write a page of [`MEMBER`].
const READ: u64 = 25_000 + PINS;
const WRITE: u64 = 200_000 + PINS;
const PINS: u64 = 3 * 4096;

/// A link with 50 µs per page.
const LINK: &str = "host.link_us_per_sector=6.25";
const CROSS: u64 = 50_000;

/// A trace of 600 requests in bursts. Each has up to `most` pieces of `piece` bytes and begins at one of `places`
/// multiples of `piece`; `trims` percent of the requests are trims.
fn requests(mut random: Random, [piece, places]: [u64; 2], most: u64, trims: u64) -> String {
    let (mut text, mut now) = ("time_ns,device,op,offset_B,size_B\n".to_owned(), 0);
    for _ in 0..600 {
        // Bursts, and pauses in which all requests end.
        now += if random.below(12) == 0 { random.below(3_000_000) } else { random.below(90_000) };
        let (count, first) = (1 + random.below(most), random.below(places));
        let op = match random.below(100) {
            op if op < trims => 'T',
            op if op < 60 => 'W',
            _ => 'R',
        };
        writeln!(text, "{now},0,{op},{},{}", first * piece, count * piece).expect("a string");
    }
    text
}

/// Requests of whole pages, up to `most_pages` each.
fn history(seed: u64, most_pages: u64, trims: u64) -> String {
    requests(Random::stream(seed, "fronts"), [4096, 300], most_pages, trims)
}

/// Requests of sectors, up to `most_sectors` each, which begin and end within pages.
fn history_of_parts(seed: u64, most_sectors: u64, trims: u64) -> String {
    requests(Random::stream(seed, "parts of pages"), [512, 1200], most_sectors, trims)
}

fn records(drive: &str, trace: &str, set: &[&str]) -> Vec<RequestRecord> {
    let job = Job { keep_requests: true, verify: true, ..job(drive, trace, set) };
    let job = Job { traces: vec![file("history.csv", trace)], ..job };
    let outcome = done(&job);
    assert_eq!(integrity(&outcome.summary, "wrong_reads"), 0.0);
    assert!(integrity(&outcome.summary, "checked_reads") > 100.0);
    outcome.requests
}

fn is_the_drive(member: &str, scheme: &str, members: usize, keys: &[&str], trace: &str) {
    is_the_drive_from("all", member, scheme, members, keys, trace);
}

/// A lone drive and the only member of an array, with the same keys and the same pages before time 0, take the same
/// time for every request, to the ns.
fn is_the_drive_from(existing: &str, member: &str, scheme: &str, members: usize, keys: &[&str], trace: &str) {
    let existing = format!("start.existing=\"{existing}\"");
    let alone: Vec<&str> = keys.iter().copied().chain([existing.as_str()]).collect();
    let alone = records(member, trace, &alone);
    let of = format!("members=[\"{members} * {}\"]", file("member.toml", member));
    let scheme = format!("redundancy.scheme={scheme}");
    let keys: Vec<String> = keys.iter().map(|key| format!("member.{key}")).collect();
    let mut set = vec![of.as_str(), &scheme, &existing, "redundancy.stripe_kib=0"];
    set.truncate(if members == 1 { 4 } else { 3 });
    set.extend(keys.iter().map(String::as_str));
    let within = records("\n", trace, &set);
    assert_eq!(alone.len(), within.len());
    for (number, (alone, within)) in alone.iter().zip(&within).enumerate() {
        // An array reports no service time for trims.
        let service = |of: &RequestRecord| if of.op == 2 { 0 } else { of.service_ns };
        let times = |of: &RequestRecord| (of.arrival_ns, of.op, of.response_ns, service(of));
        assert_eq!(
            times(alone),
            times(within),
            "request {number} of {scheme} over {members}, {keys:?}: {member}"
        );
    }
}

/// Requests for parts of pages take the same time in the only member of an array as in the lone drive: the member
/// merges them.
#[test]
fn parts_of_pages_take_as_long_as_alone() {
    let with = |more: &str| format!("{MEMBER}{more}");
    let mirrored = with("[redundancy]\nscheme = \"mirror\"\n");
    let striped = with("[redundancy]\nscheme = \"raid5\"\n");
    let mapped = with("map = \"dftl\"\ncache_kib = 0.25\n");
    let hit = "buffer.hit_us=7";
    let ports: [&[&str]; 6] = [
        &[],
        &[LINK],
        &[DRAM],
        &[DRAM, hit, "host.link_us_per_sector=0.8"],
        &[DRAM, "buffer.evict=stripe", LINK],
        &[hit, "ftl.gc.threshold=0.3"],
    ];
    for seed in 0..3 {
        for member in [MEMBER, &mirrored, &striped, &mapped] {
            for (at, keys) in ports.into_iter().enumerate() {
                let trims = if at % 2 == 0 { 8 } else { 0 };
                let trace = history_of_parts(seed, if seed == 0 { 7 } else { 40 }, trims);
                is_the_drive_from("all", member, "none", 1, keys, &trace);
                is_the_drive_from("none", member, "none", 1, keys, &trace);
                // Open: with a cached map below a link, waits for it end in another order if pages were created in
                // part; and a page that was trimmed is created again when the request comes to the array, not to the
                // member.
                if seed == 0 && member != mapped {
                    is_the_drive_from("reads", member, "none", 1, keys, &trace);
                }
            }
        }
    }
}

#[test]
fn a_member_is_the_drive_that_it_is_alone() {
    let mirrored = format!("{MEMBER}[redundancy]\nscheme = \"mirror\"\n");
    for seed in 0..4 {
        for (member, most, trims) in [(MEMBER, 5, 0), (MEMBER, 1, 8), (&mirrored, 5, 0)] {
            let trace = history(seed, most, trims);
            is_the_drive(member, "none", 1, &[LINK], &trace);
            is_the_drive(member, "none", 1, &["host.link_us_per_sector=0.8", "buffer.hit_us=3"], &trace);
        }
    }
}

/// The times of one request on an idle array, or of several at the same instant.
fn responses(scheme: &str, members: usize, trace: &str) -> Vec<u64> {
    let link = format!("member.{LINK}");
    let set = [link.as_str(), "redundancy.stripe_kib=4", "start.existing=\"all\"", "redundancy.xor_us=0"];
    let mut job = Job { keep_requests: true, ..array_job(scheme, members, trace, &set) };
    job.traces = vec![file("trace.csv", &format!("time_ns,device,op,offset_B,size_B\n{trace}"))];
    done(&job).requests.iter().map(|request| request.response_ns).collect()
}

#[test]
fn links_of_their_own() {
    let read = |at: u64, page: u64| format!("{at},0,R,{},4096\n", page * 4096);
    let write = |at: u64, page: u64| format!("{at},0,W,{},4096\n", page * 4096);
    let (read_takes, write_takes) = (READ + CROSS, CROSS + WRITE);
    // Two members work in parallel; one member executes one after the other.
    assert_eq!(responses("none", 2, &(write(0, 0) + &write(0, 1))), [write_takes, write_takes]);
    assert_eq!(responses("none", 2, &(write(0, 0) + &write(0, 2))), [write_takes, write_takes + CROSS]);
    assert_eq!(responses("none", 2, &(read(0, 0) + &read(0, 1))), [read_takes, read_takes]);
    assert_eq!(responses("none", 2, &(read(0, 0) + &read(0, 2))), [read_takes, read_takes + CROSS]);
    // Completed requests cross the link first: the read's page before the second write's.
    let mixed = read(0, 0) + &write(0, 2) + &write(0, 4);
    let expected = [2 * CROSS, write_takes + CROSS - CROSS, write_takes + 2 * CROSS];
    assert_eq!(responses("none", 2, &mixed), expected);
    assert_eq!(responses("mirror", 2, &(write(0, 0) + &read(9_000_000, 0))), [write_takes, read_takes]);
    // Old data and old parity over two links at once, then the new ones.
    assert_eq!(responses("raid5", 4, &write(0, 0)), [read_takes + write_takes]);
    assert_eq!(responses("raid6", 5, &write(0, 0)), [read_takes + write_takes]);
}

/// A member that fails loses the data on its link.
#[test]
fn a_member_fails_behind_its_link() {
    let mirrored = file("mirrored.toml", &format!("{MEMBER}[redundancy]\nscheme = \"mirror\"\n"));
    for (scheme, members) in [("mirror", 2), ("raid4", 4), ("raid5", 5), ("raid6", 5)] {
        for fail in ["member:1@50%", "member:1@20%,replace_after=5ms", "member:0/chip:2.0@30%"] {
            for inner in [None, Some(&mirrored)] {
                let link = format!("member.{LINK}");
                let mut job = array_job(scheme, members, RANDOM, &[&link, "start.existing=\"all\""]);
                if let Some(inner) = inner {
                    job.set.push(format!("members=[\"{members} * {inner}\"]"));
                }
                (job.verify, job.fail) = (true, vec![fail.to_owned()]);
                let run = summary(&job);
                let kept = (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages"));
                assert_eq!(kept, (0.0, 0.0), "{scheme} {fail}");
                assert!(figure(&run, "integrity.checked_reads") > 500.0, "{scheme} {fail}");
            }
        }
    }
}

/// DRAM for 16 pages.
const DRAM: &str = "buffer.dram_mib=0.0625";

/// Random histories through a member's DRAM, with and without its link, with every protection within the drive and
/// every eviction policy.
#[test]
fn a_member_with_dram_is_the_drive_that_it_is_alone() {
    let with = |more: &str| format!("{MEMBER}{more}");
    let mirrored = with("[redundancy]\nscheme = \"mirror\"\n");
    let striped = with("[redundancy]\nscheme = \"raid5\"\n");
    let mapped = with("map = \"dftl\"\ncache_kib = 0.25\n");
    let acknowledged = MEMBER.replace("[ftl]", "acknowledge = \"transfer\"\n[ftl]");
    for seed in 0..4 {
        for (member, most, trims) in [
            (MEMBER, 5, 0),
            (MEMBER, 1, 8),
            (&mirrored, 5, 0),
            (&striped, 6, 0),
            (&mapped, 3, 0),
            (&acknowledged, 4, 0),
        ] {
            let trace = history(seed, most, trims);
            is_the_drive(member, "none", 1, &[DRAM], &trace);
            is_the_drive(
                member,
                "none",
                1,
                &[DRAM, "buffer.hit_us=7", "host.link_us_per_sector=0.8"],
                &trace,
            );
            is_the_drive(member, "none", 1, &[DRAM, "buffer.evict=stripe", LINK], &trace);
            let watermark = ["buffer.flush=watermark", "buffer.flush_above=0.4", "buffer.flush_pages=3"];
            is_the_drive(member, "none", 1, &[&[DRAM], &watermark[..]].concat(), &trace);
            let idle = ["buffer.flush=idle", "buffer.flush_after_us=70", LINK];
            is_the_drive(member, "none", 1, &[&[DRAM], &idle[..]].concat(), &trace);
        }
    }
}

/// DRAM above all members is that of a drive, too, and so is that of an array in an array.
#[test]
fn an_array_with_dram_is_the_drive_with_it() {
    for (hit, link) in [("buffer.hit_us=1", false), ("buffer.hit_us=7", true), ("buffer.hit_us=0", true)] {
        let port = [&[DRAM, hit][..], if link { &[LINK] } else { &[] }].concat();
        // Drives serve pages in flight from their memory, in the same time.
        let drive = format!("{MEMBER}[buffer]\n{}\n", hit.trim_start_matches("buffer."));
        let of = |member: &str| format!("members = [\"{}\"]\n", file("member.toml", member));
        let one = of(&drive);
        let inner = format!("{one}{}\n", port.join("\n"));
        for seed in 0..4 {
            let trace = if seed % 2 == 0 { history(seed, 5, 0) } else { history(seed, 1, 8) };
            let times = |drive: &str, set: &[&str]| -> Vec<(u8, u64)> {
                let set = [set, &["start.existing=\"all\""]].concat();
                records(drive, &trace, &set).iter().map(|of| (of.op, of.response_ns)).collect()
            };
            let alone = times(&drive, &port);
            for (array, of) in [
                (times(&one, &port), "array"),
                (times(&of(&inner), &["redundancy.stripe_kib=0"]), "array within"),
            ] {
                let differs = array.iter().zip(&alone).position(|(array, alone)| array != alone);
                let at = differs.map(|at| (at, array[at], alone[at]));
                assert_eq!((at, array.len()), (None, alone.len()), "{of} with {port:?}");
            }
        }
    }
}

/// The times of requests that the array's own memory serves, and of those that its members serve.
#[test]
fn the_time_of_an_arrays_own_memory() {
    let trace = "0,0,W,0,4096\n1000000,0,W,0,8192\n2000000,0,R,4096,4096\n3000000,0,R,16384,4096\n4000000,0,T,0,4096\n";
    let times = |more: &[&str]| -> Vec<u64> {
        let set = [&["start.existing=\"all\"", "redundancy.stripe_kib=4"], more].concat();
        let mut job = Job { keep_requests: true, ..array_job("none", 2, trace, &set) };
        job.traces = vec![file("trace.csv", &format!("time_ns,device,op,offset_B,size_B\n{trace}"))];
        done(&job).requests.iter().map(|request| request.response_ns).collect()
    };
    assert_eq!(times(&[DRAM]), [1000, 1000, 1000, READ, 1000]);
    // A trim is passed to a member, whose own memory serves it.
    assert_eq!(times(&[DRAM, "buffer.hit_us=2.5"]), [2500, 2500, 2500, READ, 1000]);
    assert_eq!(times(&["buffer.hit_us=2.5"]), [WRITE, WRITE, READ, READ, 1000], "without DRAM");
}

/// Two copies of a write take no longer than one.
#[test]
fn a_mirror_of_members_with_dram() {
    let trace = history(5, 4, 0).replace(",R,", ",W,");
    let reads: String = (900..1001).map(|ms| format!("{ms}000000,0,R,0,4096\n")).collect();
    let trace = trace + &reads;
    is_the_drive(MEMBER, "none", 1, &[DRAM], &trace);
    for keys in [&[DRAM][..], &[DRAM, LINK], &[LINK, "buffer.dram_mib=0.25", "buffer.evict=stripe"]] {
        is_the_drive(MEMBER, "mirror", 2, keys, &trace);
    }
}

/// Pages reported as written are in DRAM; a member that fails loses them, and the others have them.
#[test]
fn a_member_fails_with_pages_in_its_dram() {
    let mirrored = file("mirrored.toml", &format!("{MEMBER}[redundancy]\nscheme = \"mirror\"\n"));
    let fails = [
        "member:1@50%",
        "member:1@20%,replace_after=5ms",
        "member:0/chip:2.0@30%",
        "member:1/block:1.0.0.0.2@500req",
    ];
    for (scheme, members) in [("mirror", 2), ("raid4", 4), ("raid5", 5), ("raid6", 5)] {
        for fail in fails {
            for (inner, links) in [(None, false), (None, true), (Some(&mirrored), true)] {
                let mut set = vec![format!("member.{DRAM}"), "start.existing=\"all\"".to_owned()];
                set.extend(links.then(|| format!("member.{LINK}")));
                set.extend(inner.map(|inner| format!("members=[\"{members} * {inner}\"]")));
                let set: Vec<&str> = set.iter().map(String::as_str).collect();
                let mut job = array_job(scheme, members, RANDOM, &set);
                (job.verify, job.fail) = (true, vec![fail.to_owned()]);
                let run = summary(&job);
                let kept = (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages"));
                assert_eq!(kept, (0.0, 0.0), "{scheme} {fail} {set:?}");
                assert!(figure(&run, "integrity.checked_reads") > 500.0, "{scheme} {fail}");
                let buffer = &run["members"][0]["buffer"];
                assert!(buffer["write_hits"].as_u64() > Some(100), "{scheme} {fail}: {buffer}");
                assert!(buffer["read_hits"].as_u64() > Some(100), "{scheme} {fail}: {buffer}");
                if fail.contains("replace_after") {
                    let last = run["phases"].as_array().and_then(|phases| phases.last()).expect("phases");
                    assert_eq!(last["phase"], "after", "{scheme} {fail}: whole again");
                }
            }
        }
    }
}

/// Pages in the DRAM of a member without redundancy are lost with it, are reported as lost, and are never read as other
/// contents.
#[test]
fn what_nobody_else_has_is_lost() {
    for keys in [vec![format!("member.{DRAM}")], vec![format!("member.{DRAM}"), format!("member.{LINK}")]] {
        let mut set: Vec<&str> = keys.iter().map(String::as_str).collect();
        set.extend(["redundancy.stripe_kib=4", "start.existing=\"all\""]);
        let mut job = array_job("none", 3, RANDOM, &set);
        (job.verify, job.fail) = (true, vec!["member:1@50%,replace_after=5ms".to_owned()]);
        let run = summary(&job);
        assert_eq!(integrity(&run, "wrong_reads"), 0.0);
        assert!(integrity(&run, "lost_pages") > 100.0);
    }
}

/// A write that the DRAM takes costs its members what their memory does; counts are each member's, from the warm-up on.
#[test]
fn writes_that_stay_in_dram() {
    let write = "0,0,W,0,4096\n1000000,0,W,0,4096\n2000000,0,R,0,4096\n3000000,0,R,16384,4096\n";
    let set =
        [format!("member.{DRAM}"), "start.existing=\"all\"".to_owned(), "redundancy.stripe_kib=4".to_owned()];
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let mut job = Job { keep_requests: true, ..array_job("none", 2, write, &set) };
    job.traces = vec![file("trace.csv", &format!("time_ns,device,op,offset_B,size_B\n{write}"))];
    let outcome = done(&job);
    let responses: Vec<u64> = outcome.requests.iter().map(|request| request.response_ns).collect();
    assert_eq!(responses, [1000, 1000, 1000, READ]);
    let buffers: Vec<_> = (0..2).map(|member| &outcome.summary["members"][member]["buffer"]).collect();
    let counts = |hits: [u64; 4]| {
        let [read_hits, read_misses, write_hits, write_misses] = hits;
        serde_json::json!({
            "read_hits": read_hits, "read_misses": read_misses,
            "write_hits": write_hits, "write_misses": write_misses,
        })
    };
    assert_eq!(buffers, [&counts([8, 8, 8, 8]), &counts([0; 4])]);
    // Members without DRAM have no figures for it.
    let run = summary(&array_job("none", 2, RANDOM, &[]));
    assert!(run["members"][0].get("buffer").is_none());
    let warnings =
        summary(&array_job("none", 2, RANDOM, &[&format!("member.{DRAM}")]))["warnings"].to_string();
    assert!(!warnings.contains("the DRAM took"), "{warnings}");
}

/// Before an array is saved, its DRAM and that of its members are written back.
#[test]
fn an_array_is_saved_with_what_its_dram_held() {
    let path = crate::common::output("members.aged");
    let dram = [&format!("member.{DRAM}"), DRAM];
    for (scheme, members) in [("none", 2), ("mirror", 2), ("raid5", 4)] {
        let mut save = array_job(scheme, members, RANDOM, &dram);
        (save.untimed, save.verify, save.save_aged) = (true, true, Some(path.clone()));
        summary(&save);
        let mut load = array_job(scheme, members, RANDOM, &[]);
        (load.verify, load.aged) = (true, Some(path.clone()));
        let run = summary(&load);
        assert_eq!((integrity(&run, "wrong_reads"), integrity(&run, "lost_pages")), (0.0, 0.0), "{scheme}");
    }
}

#[test]
fn conditioning_bypasses_dram() {
    let dram = format!("member.{DRAM}");
    let mut conditioned = array_job("mirror", 2, RANDOM, &[&dram]);
    (conditioned.condition, conditioned.verify) = (true, true);
    let run = summary(&conditioned);
    assert_eq!(integrity(&run, "wrong_reads"), 0.0);
}
