use std::collections::HashMap;

use super::*;

const DRIVE: DriveSize = DriveSize { capacity_bytes: 64 << 30, page_bytes: 4096 };

fn make(text: &str, seed: u64) -> Vec<Request> {
    let mut source = synthetic(text, seed, &DRIVE).unwrap_or_else(|error| panic!("{error}"));
    let mut all = Vec::new();
    while source.fill(&mut all).unwrap() > 0 {}
    assert_eq!(source.total(), Some(all.len() as u64));
    assert_eq!(source.share_done(), Some(1.0));
    assert!(source.provenance().synthetic);
    assert_eq!(source.provenance().format, "synthetic");
    all
}

fn message(text: &str) -> String {
    synthetic(text, 1, &DRIVE).err().expect("an error").to_string()
}

fn share(requests: &[Request], of: impl Fn(&Request) -> bool) -> f64 {
    requests.iter().filter(|request| of(request)).count() as f64 / requests.len() as f64
}

fn mean_kib(requests: &[Request]) -> f64 {
    requests.iter().map(|request| f64::from(request.length)).sum::<f64>() / requests.len() as f64 / 1024.0
}

/// The mean size that a workload draws.
fn expected_bytes(arguments: &Arguments) -> f64 {
    let weights: f64 = arguments.sizes.iter().map(|size| size.weight).sum();
    arguments.sizes.iter().map(|size| f64::from(size.bytes) * size.weight / weights).sum()
}

/// Nanoseconds from each arrival to the next.
fn gaps(requests: &[Request]) -> Vec<f64> {
    requests.windows(2).map(|two| (two[1].arrival_ns - two[0].arrival_ns) as f64).collect()
}

#[test]
fn a_seed_gives_the_same_requests_always_and_another_seed_others() {
    for (name, _) in workloads() {
        let text = format!("synth:{name},requests=3k,rate=1k");
        let first = make(&text, 1);
        assert_eq!(first, make(&text, 1), "{name}");
        assert_ne!(first, make(&text, 2), "{name}");
    }
}

/// The bytes themselves, so that no machine and no later version quietly makes others.
#[test]
fn the_same_requests_on_every_machine() {
    let digest = |text: &str| {
        make(text, 1).iter().fold(0, |digest, request| {
            let write = u64::from(request.op == Op::Write);
            let words = [request.arrival_ns, request.offset, request.length.into(), write];
            words.into_iter().fold(digest, |digest, word| crate::random::mix(digest ^ word))
        })
    };
    let found = workloads().map(|(name, _)| digest(&format!("synth:{name},requests=10k,rate=1k")));
    assert_eq!(found.collect::<Vec<u64>>(), GOLDEN);
}

const GOLDEN: [u64; 31] = [
    12_853_732_312_328_031_320,
    5_310_810_675_372_375_140,
    13_043_846_456_574_898_386,
    15_264_663_407_762_381_269,
    6_657_058_458_235_845_850,
    18_404_896_151_249_011_351,
    6_791_273_921_091_890_707,
    14_825_830_033_538_288_776,
    15_786_422_956_528_437_314,
    6_621_218_405_981_490_236,
    13_547_499_420_408_987_005,
    14_910_394_028_669_188_522,
    12_025_919_072_900_686_927,
    9_369_670_072_978_205_787,
    4_061_522_364_570_874_214,
    11_318_569_372_273_944_637,
    12_776_002_909_606_460_633,
    715_207_713_787_118_130,
    7_692_561_158_774_795_929,
    14_553_431_772_680_283_202,
    4_479_187_236_071_990_167,
    14_108_825_004_822_933_931,
    12_927_292_625_423_000_448,
    15_562_653_236_912_137_954,
    1_329_124_794_039_408_405,
    1_734_862_600_824_884_082,
    455_143_399_225_539_981,
    15_542_066_342_889_132_568,
    15_800_515_891_187_778_753,
    10_126_779_024_082_207_738,
    9_779_739_712_403_967_166,
];

#[test]
fn streams_do_not_disturb_one_another() {
    let plain = make("synth:random,requests=2k,rate=1k", 1);
    let other = make("synth:random,requests=2k,rate=1k,write=0.9,size=4KiB:1/8KiB:1", 1);
    assert!(plain.iter().zip(&other).all(|(a, b)| a.arrival_ns == b.arrival_ns));
    let depth = make("synth:random,requests=2k,depth=4", 1);
    assert!(plain.iter().zip(&depth).all(|(a, b)| (a.offset, a.op) == (b.offset, b.op)));
}

#[test]
fn the_defaults_are_as_documented() {
    let requests = make("synth:random", 1);
    assert_eq!(requests.len(), 100_000);
    assert!(requests.iter().all(|request| request.length == 4096 && request.offset % 4096 == 0));
    assert!(requests.iter().all(|request| request.arrival_ns == 0 && request.device == 0));
    assert!((share(&requests, |request| request.op == Op::Write) - 0.5).abs() < 0.01);
    assert!(requests.iter().any(|request| request.offset > 63 << 30), "the whole drive");
    assert_eq!(synthetic("synth:random", 1, &DRIVE).unwrap().provenance().depth, Some(1));
    assert_eq!(synthetic("synth:random,rate=1", 1, &DRIVE).unwrap().provenance().depth, None);
}

#[test]
fn sequential_requests_follow_one_another_and_wrap() {
    let requests = make("synth:sequential,requests=10,size=8KiB,footprint=20KiB,offset=4KiB,write=1", 1);
    let offsets: Vec<u64> = requests.iter().map(|request| request.offset / 1024).collect();
    assert_eq!(offsets, [4, 12, 4, 12, 4, 12, 4, 12, 4, 12]);
    assert!(requests.iter().all(|request| request.op == Op::Write));
}

#[test]
fn random_places_are_uniform_aligned_and_within() {
    let requests = make("synth:random,footprint=64KiB,offset=1GiB,size=4KiB:3/16KiB:1,align=4KiB,write=0", 1);
    assert!(requests.iter().all(|request| request.offset % 4096 == 0 && request.op == Op::Read));
    let end = |request: &Request| request.offset + u64::from(request.length);
    assert!(requests.iter().all(|request| request.offset >= 1 << 30 && end(request) <= (1 << 30) + 65_536));
    let small: Vec<Request> = requests.iter().copied().filter(|request| request.length == 4096).collect();
    assert!((small.len() as f64 / requests.len() as f64 - 0.75).abs() < 0.01);
    for slot in 0..16 {
        let there = share(&small, |request| request.offset == (1 << 30) + slot * 4096);
        assert!((there - 1.0 / 16.0).abs() < 0.005, "slot {slot}: {there}");
    }
}

#[test]
fn zipf_is_skewed_and_theta_0_is_not() {
    let top = |theta: f64| {
        let requests = make(&format!("synth:zipf,footprint=4MiB,theta={theta}"), 1);
        let mut counts = [0_u32; 1024];
        requests.iter().for_each(|request| counts[(request.offset / 4096) as usize] += 1);
        f64::from(counts.into_iter().max().unwrap()) / 1e5
    };
    assert!(top(0.0) < 0.002);
    let harmonic: f64 = (1..=1024).map(|rank| libm::pow(f64::from(rank), -0.99)).sum();
    assert!((top(0.99) - 1.0 / harmonic).abs() < 0.005);
}

#[test]
fn poisson_arrivals_have_the_rate_and_the_spread() {
    let requests = make("synth:random,rate=20k", 1);
    assert_eq!(requests[0].arrival_ns, 0);
    let gaps = gaps(&requests);
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
    assert!((mean / 50_000.0 - 1.0).abs() < 0.01, "mean {mean} ns");
    assert!((libm::sqrt(variance) / mean - 1.0).abs() < 0.02, "an exponential's deviation is its mean");
    let fast = make("synth:random,rate=1G", 1);
    let span_ns = fast[fast.len() - 1].arrival_ns as f64;
    assert!((span_ns / 1e5 - 1.0).abs() < 0.02, "gaps of about 1 ns do not drift: {span_ns}");
}

/// SIRF-1, Table III.
#[test]
fn workloads_of_sirf_1_have_the_published_figures() {
    for (name, requests, write, per_second, kib) in [
        ("exchange", 67_087, 0.697, 14.0, 12.0),
        ("build", 209_020, 0.281, 28.0, 8.0),
        ("tpcc", 368_606, 0.335, 301.0, 8.0),
        ("fin1", 5_334_948, 0.768, 123.0, 3.0),
        ("fin2", 3_698_863, 0.177, 92.0, 4.0),
    ] {
        let text = format!("synth:sirf-{name}");
        assert_eq!(synthetic(&text, 1, &DRIVE).unwrap().total(), Some(requests), "{name}");
        let arguments = Arguments::parse(&text, &DRIVE).unwrap();
        let expected = expected_bytes(&arguments);
        assert!((expected / 1024.0 - kib).abs() < 1e-9, "{name}: {expected} bytes in expectation");
        let some = make(&format!("{text},requests=60k"), 1);
        assert!((share(&some, |request| request.op == Op::Write) - write).abs() < 0.01, "{name}");
        assert!((mean_kib(&some) / kib - 1.0).abs() < 0.02, "{name}: {} KiB", mean_kib(&some));
        let rate = 60e3 / (some[59_999].arrival_ns as f64 / 1e9);
        assert!((rate / per_second - 1.0).abs() < 0.02, "{name}: {rate} a second");
    }
}

/// DVS-RAID, Table 2: the mean write in KiB, and GiB written in all. The rest is ours.
const DVS: [(&str, f64, f64, f64, f64); 4] = [
    // name, mean, GiB, share of writes, requests a second
    ("sequential", 9.1, 18.0, 1.0, 500.0),
    ("random", 12.6, 18.0, 1.0, 200.0),
    ("postmark", 1638.4, 11.1, 1.0, 10.0),
    ("financial", 10.9, 28.8, 0.768, 83.0),
];

#[test]
fn workloads_of_dvs_raid_have_the_published_figures() {
    for (name, kib, gib, write, per_second) in DVS {
        let text = format!("synth:dvs-{name}");
        let arguments = Arguments::parse(&text, &DRIVE).unwrap();
        let expected = expected_bytes(&arguments);
        assert!((expected / 1024.0 - kib).abs() < 1e-9, "{name}: {expected} bytes in expectation");
        let volume = arguments.requests as f64 * write * expected / f64::from(1 << 30);
        assert!((volume / gib - 1.0).abs() < 1e-6, "{name}: {volume} GiB in expectation");
        let some = make(&format!("{text},requests=60k"), 1);
        let writes: Vec<Request> = some.iter().copied().filter(|request| request.op == Op::Write).collect();
        assert!((writes.len() as f64 / 60e3 - write).abs() < 0.01, "{name}");
        assert!((mean_kib(&writes) / kib - 1.0).abs() < 0.02, "{name}: {} KiB", mean_kib(&writes));
        let rate = 60e3 / (some[59_999].arrival_ns as f64 / 1e9);
        assert!((rate / per_second - 1.0).abs() < 0.04, "{name}: {rate} a second");
        let in_pages = |request: &Request| (request.offset | u64::from(request.length)).is_multiple_of(4096);
        assert!(some.iter().all(in_pages), "{name}: nothing to merge");
    }
}

#[test]
fn workloads_of_dvs_raid_write_the_published_volume() {
    for (name, kib, gib, _, _) in DVS {
        let mut source = synthetic(&format!("synth:dvs-{name}"), 1, &DRIVE).unwrap();
        let (mut writes, mut bytes, mut batch) = (0_u64, 0_u64, Vec::new());
        while source.fill(&mut batch).unwrap() > 0 {
            for request in batch.drain(..).filter(|request| request.op == Op::Write) {
                writes += 1;
                bytes += u64::from(request.length);
            }
        }
        let (volume, mean) = (bytes as f64 / f64::from(1 << 30), bytes as f64 / writes as f64 / 1024.0);
        assert!((volume / gib - 1.0).abs() < 0.01, "{name}: {volume} GiB");
        assert!((mean / kib - 1.0).abs() < 0.01, "{name}: {mean} KiB");
    }
}

/// Gaps above 50 ms make DVS-RAID write partial parities.
#[test]
fn one_gap_in_sixteen_of_dvs_financial_exceeds_50_ms() {
    let long = |name: &str| {
        let gaps = gaps(&make(&format!("synth:{name},requests=200k"), 1));
        gaps.iter().filter(|gap| **gap > 50e6).count() as f64 / gaps.len() as f64
    };
    let expected = 0.1 * libm::exp(-50.0 * 83.0 / 8500.0);
    assert!((expected - 0.061).abs() < 0.0005, "{expected}");
    let found = long("dvs-financial");
    assert!((found - expected).abs() < 0.002, "{found}");
    assert!(long("dvs-sequential") == 0.0);
    assert!(long("dvs-random") < 0.0002);
}

#[test]
fn bursts_have_the_mean_rate_and_the_spread_of_two_exponentials() {
    let requests = make("synth:dvs-financial,requests=400k", 1);
    let gaps = gaps(&requests);
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
    assert!((mean * 83.0 / 1e9 - 1.0).abs() < 0.02, "mean {mean} ns");
    // A tenth of the gaps is 8.5 times the mean, the rest a sixth; the square's mean is twice the mean's square.
    let expected = libm::sqrt(2.0 * (0.1 * 8.5 * 8.5 + 0.9 / 36.0) - 1.0);
    let found = libm::sqrt(square / (mean * mean) - 1.0);
    assert!((found / expected - 1.0).abs() < 0.02, "{found}, expected {expected}");
    assert_eq!(requests, make("synth:dvs-financial,requests=400k,bursts=0.1:6", 1), "its own, said aloud");
    assert_ne!(requests, make("synth:dvs-financial,requests=400k,bursts=0.2:6", 1));
    let fast = make("synth:dvs-financial,requests=400k,rate=830", 1);
    assert!(requests.iter().zip(&fast).all(|(a, b)| (a.arrival_ns / 10).abs_diff(b.arrival_ns) <= 1));
    assert!(
        requests.iter().zip(&fast).all(|(a, b)| (a.offset, a.length, a.op) == (b.offset, b.length, b.op))
    );
}

#[test]
fn workloads_of_dvs_raid_go_where_the_paper_says() {
    let end = |request: &Request| request.offset + u64::from(request.length);
    let sequential = make("synth:dvs-sequential,requests=20k", 1);
    assert!(sequential.windows(2).all(|two| two[1].offset == end(&two[0])));
    let around = make("synth:dvs-sequential,requests=20k,footprint=64MiB", 1);
    let starts = around.iter().filter(|request| request.offset == 0).count();
    assert!((2..=3).contains(&starts), "20,000 requests make 178 MiB, and start {starts} times");

    let random = make("synth:dvs-random,requests=20k", 1);
    assert!((share(&random, |request| request.offset < 12 << 30) - 0.5).abs() < 0.02);
    let postmark = make("synth:dvs-postmark", 1);
    assert!(postmark.iter().all(|request| request.offset % (1 << 20) == 0 && end(request) <= 8 << 30));

    let financial = make("synth:dvs-financial,requests=200k", 1);
    assert!(financial.iter().all(|request| end(request) <= 4 << 30));
    let mut counts = HashMap::new();
    financial.iter().for_each(|request| *counts.entry(request.offset).or_insert(0_u32) += 1);
    let top = counts.values().copied().max().unwrap();
    assert!(top > 1000, "the most popular of a million places has {top} of 200,000 requests");
}

#[test]
fn recipes_fit_small_drives_and_take_other_values() {
    let small = DriveSize { capacity_bytes: 8 << 20, page_bytes: 2048 };
    for (name, _) in workloads() {
        let mut source = synthetic(&format!("synth:{name},requests=5k,depth=8"), 1, &small).unwrap();
        assert_eq!(source.provenance().depth, Some(8));
        let mut all = Vec::new();
        while source.fill(&mut all).unwrap() > 0 {}
        assert_eq!(all.len(), 5000);
        let end = |request: &Request| request.offset + u64::from(request.length);
        assert!(all.iter().all(|request| end(request) <= 8 << 20), "{name}");
    }
}

#[test]
fn some_requests_of_build_go_on_where_the_last_ended() {
    let requests = make("synth:sirf-build,requests=20k", 1);
    let pairs = requests.windows(2);
    let continued = pairs.filter(|two| two[1].offset == two[0].offset + u64::from(two[0].length)).count();
    assert!((continued as f64 / 20e3 - 0.3).abs() < 0.02, "{continued}");
}

#[test]
fn what_is_wrong_is_named() {
    assert_eq!(
        message("synth:randon"),
        "synth:randon: unknown workload `randon`; did you mean `random`? accepted: sequential, random, zipf, \
         sirf-exchange, sirf-build, sirf-tpcc, sirf-fin1, sirf-fin2, dvs-sequential, dvs-random, dvs-postmark, \
         dvs-financial, ageing-src2, ageing-ts, ageing-wdev, ageing-financial1, \
         atc08-random, atc08-sequential, atc08-tpcc, atc08-exchange, atc08-iozone, atc08-postmark, \
         hybrid-usr, hybrid-src1, hybrid-src2, hybrid-proj, hybrid-proxy, hybrid-livemaps, hybrid-develop, \
         hybrid-msnfile, hybrid-exchange"
    );
    assert_eq!(
        message("synth:random,request=5"),
        "synth:random,request=5: unknown key `request`; did you mean `requests`? accepted: requests, write, size, \
         footprint, offset, align, rate, bursts, depth"
    );
    assert!(message("synth:random,theta=1").contains("unknown key `theta`"));
    assert!(message("synth:random,write").contains("found `write`; accepted: key=value"));
    assert!(message("synth:random,write=1,write=0").contains("write: given twice"));
    assert!(message("synth:random,rate=5,depth=2").contains("depth: given together with rate"));
    assert!(message("synth:random,depth=2,bursts=0.1:9").contains("bursts: given to a closed loop"));
}

#[test]
fn values_out_of_range_are_refused_with_their_key() {
    for (key, values) in [
        ("requests", vec!["0", "-1", "1.5", "many", "", "1KiB"]),
        ("write", vec!["1.01", "-0.1", "nan", "inf", "70%", ""]),
        (
            "size",
            vec!["0", "4k", "4GiB", "4KiB:0.7/8KiB", "4KiB:0/8KiB:1", "4KiB:nan", "4KiB/8KiB", "/", ":"],
        ),
        ("footprint", vec!["0", "65GiB", "1XiB", "-1"]),
        ("offset", vec!["64GiB", "x"]),
        ("align", vec!["0", "65GiB", "x"]),
        ("theta", vec!["-1", "5.1", "nan"]),
        ("rate", vec!["0", "nan", "inf", "-5", "2G"]),
        ("bursts", vec!["0.1", "0:5", "1:5", "0.1:1", "0.1:", ":", "x:5", "nan:5", "0.1:nan"]),
        ("depth", vec!["0", "-1", "0.5", "5G"]),
    ] {
        for value in values {
            let error = synthetic(&format!("synth:zipf,{key}={value}"), 1, &DRIVE).err();
            let error = error.unwrap_or_else(|| panic!("{key}={value} was taken"));
            let field = error.field.as_deref();
            assert!(
                field == Some(key) || (key, field) == ("footprint", Some("size")),
                "{key}={value}: {error}"
            );
            assert!(error.message.contains("accepted: "), "{error}");
        }
    }
    let error = message("synth:random,offset=60GiB,footprint=5GiB");
    assert!(error.contains("footprint: found 5368709120 bytes; accepted: up to 4294967296 bytes"), "{error}");
    assert!(message("synth:random,size=8KiB,footprint=4KiB").contains("size: found requests of 8192 bytes"));
}

/// DiskSim's own draws: the extension's validation runs ask element 0 of 8 for 49,456 pages, and for 31,250.
#[test]
fn the_extensions_validation_runs_request_by_request() {
    for (name, pages) in [("random", 49_456), ("sequential", 31_250)] {
        let requests = make(&format!("synth:atc08-{name}"), 1);
        assert_eq!(requests.len(), 250_000);
        let span = |request: &Request| {
            let first = request.offset / 4096;
            first..first + u64::from(request.length) / 4096
        };
        let of_element_0 = requests.iter().flat_map(span).filter(|page| page.is_multiple_of(8)).count();
        assert_eq!(of_element_0, pages, "{name}");
        let rate = 250e3 / (requests[249_999].arrival_ns as f64 / 1e9);
        assert!((rate / 2000.0 - 1.0).abs() < 0.01, "{rate} a second");
        assert!(requests.iter().all(|request| request.op == Op::Write));
    }
    let other = make("synth:atc08-random,requests=1k,write=0.5", 2);
    assert_ne!(other[1].offset, make("synth:atc08-random,requests=1k,write=0.5", 1)[1].offset);
    assert!(other.iter().any(|request| request.op == Op::Read));
}

/// What the paper says of its traces.
#[test]
fn workloads_of_the_2008_paper_have_the_published_figures() {
    for (name, write, kib) in
        [("tpcc", 1.0 / 3.0, 8.0), ("exchange", 0.4, 9.8), ("iozone", 1.0, 352.0), ("postmark", 0.9, 102.4)]
    {
        let some = make(&format!("synth:atc08-{name},requests=60k"), 1);
        let writes = some.iter().filter(|request| request.op == Op::Write).count() as f64 / 60e3;
        assert!((writes - write).abs() < 0.01, "{name}: {writes}");
        assert!((mean_kib(&some) / kib - 1.0).abs() < 0.02, "{name}: {} KiB", mean_kib(&some));
    }
}
