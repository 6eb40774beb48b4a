//! The nine workloads of the hybrid SSD and disk backup paper, against its Tables 2 and 3.

use flashkeep_trace::{DriveSize, Info, Op, Request, info, synthetic};

const DRIVE: DriveSize = DriveSize { capacity_bytes: 160_000_000_000, page_bytes: 4096 };

/// Name; reads and writes (Table 2, SRC1 and SRC2 as in the others); writes and sequences, mean length of a write and
/// of a sequence in pages (Table 3; LiveMaps' sequences from its lengths; Proxy's are not the paper's); mean rate.
type Row = (&'static str, u64, u64, f64, f64, f64, f64, f64);
const PUBLISHED: [Row; 9] = [
    ("usr", 41_362_884, 3_837_166, 3_857_715.0, 2_252_788.0, 7.0, 12.0, 74.74),
    ("src1", 21_110_497, 16_289_503, 16_302_999.0, 9_516_182.0, 25.0, 44.0, 61.84),
    ("src2", 43_544_675, 2_155_325, 2_170_271.0, 1_414_583.0, 7.0, 11.0, 75.56),
    ("proj", 47_281_632, 9_818_368, 9_818_958.0, 5_211_542.0, 18.0, 34.0, 94.41),
    ("proxy", 110_389_290, 58_210_710, 12.0, 7.0, 7.0, 12.0, 278.77),
    ("livemaps", 38_616_344, 11_033_656, 11_033_709.0, 745_000.0, 31.0, 459.0, 574.65),
    ("develop", 12_324_273, 5_865_727, 5_869_269.0, 1_938_354.0, 15.0, 48.0, 210.53),
    ("msnfile", 19_725_455, 9_614_545, 9_615_474.0, 7_129_208.0, 5.0, 7.0, 339.58),
    ("exchange", 25_246_721, 31_823_279, 31_827_332.0, 17_219_596.0, 7.0, 12.0, 660.53),
];

fn of(text: &str) -> Info {
    info(&mut *synthetic(text, 1, &DRIVE).unwrap(), None).unwrap()
}

fn make(text: &str) -> Vec<Request> {
    let (mut source, mut all) = (synthetic(text, 1, &DRIVE).unwrap(), Vec::new());
    while source.fill(&mut all).unwrap() > 0 {}
    all
}

#[track_caller]
fn close(what: &str, found: f64, published: f64, within: f64) {
    assert!((found / published - 1.0).abs() < within, "{what}: {found}, published {published}");
}

#[test]
fn shares_sequences_and_lengths_are_the_published_ones() {
    for (name, reads, writes, requests, sequences, length, long, rate) in PUBLISHED {
        let text = format!("synth:hybrid-{name}");
        assert_eq!(synthetic(&text, 1, &DRIVE).unwrap().total(), Some(reads + writes), "{name}");
        let found = of(&format!("{text},requests=300k"));
        close(name, found.writes as f64 / 3e5, writes as f64 / (reads + writes) as f64, 0.01);
        close(name, found.writes as f64 / found.write_sequences as f64, requests / sequences, 0.03);
        close(name, found.mean_write_kib.unwrap() / 4.0, length, 0.03);
        close(name, found.mean_write_sequence_kib.unwrap() / 4.0, long, 0.03);
        // Reads are made in the same way.
        close(name, found.mean_kib.unwrap() / 4.0, length, 0.03);
        close(name, found.mean_sequence_kib.unwrap() / 4.0, long, 0.03);
        close(name, found.rate_per_s.unwrap(), rate, 0.1);
        assert!(found.max_address.unwrap() <= 128 << 30, "{name}: the SSD has 149 GiB");
    }
}

/// "Multiple threads … would visit alternatively, random I/O requests are generated as a result."
#[test]
fn what_comes_next_is_seldom_what_goes_on() {
    for (name, ..) in PUBLISHED {
        let found = of(&format!("synth:hybrid-{name},requests=50k"));
        let goes_on = |sequences: u64| 1.0 - sequences as f64 / found.requests as f64;
        let (restored, unbroken) = (goes_on(found.sequences), goes_on(found.unbroken_sequences));
        // The next request of the kind is any thread's.
        assert!(unbroken < 0.27 * restored, "{name}: {unbroken} of {restored}");
        assert!(unbroken > 0.02 * restored, "{name}: {unbroken} of {restored}");
    }
}

/// The share of the pages written that were written before.
fn rewritten(text: &str) -> f64 {
    let mut seen = vec![false; (128 << 30) / 4096];
    let (mut pages, mut again) = (0_u32, 0_u32);
    for request in make(text).iter().filter(|request| request.op == Op::Write) {
        let first = (request.offset / 4096) as usize;
        for page in &mut seen[first..first + request.length as usize / 4096] {
            pages += 1;
            again += u32::from(std::mem::replace(page, true));
        }
    }
    f64::from(again) / f64::from(pages)
}

#[track_caller]
fn is_rewritten(text: &str, expected: f64) {
    let found = rewritten(text);
    assert!((found - expected).abs() < 0.03, "{text}: {found}, {expected} expected");
}

#[test]
fn as_much_is_written_again_as_the_workload_says() {
    for (name, ..) in PUBLISHED {
        let published = match name {
            "usr" | "src1" | "src2" | "proj" => 0.84,
            "proxy" => 0.993,
            _ => 0.5,
        };
        is_rewritten(&format!("synth:hybrid-{name},requests=400k"), published);
    }
    for rewrite in [0.0, 0.3, 0.6, 0.95, 1.0] {
        for name in ["usr", "develop", "livemaps"] {
            is_rewritten(&format!("synth:hybrid-{name},requests=100k,write=0.5,rewrite={rewrite}"), rewrite);
        }
    }
}

/// "The application rarely read data written recently" (section 5, of Griffin).
#[test]
fn reads_do_not_depend_on_rewrites() {
    let reads = |text: &str| {
        let places = |request: Request| (request.offset, request.length);
        make(text).into_iter().filter(|request| request.op == Op::Read).map(places).collect::<Vec<_>>()
    };
    let plain = "synth:hybrid-exchange,requests=20k";
    assert_eq!(reads(plain), reads(&format!("{plain},rewrite=0.9")));
}

/// As the backup does: a few megabytes of writes, sorted by address, are fewer and longer.
#[test]
fn sorting_restores_sequences() {
    let writes: Vec<Request> =
        make("synth:hybrid-livemaps,requests=200k").into_iter().filter(|one| one.op == Op::Write).collect();
    let end = |request: &Request| request.offset + u64::from(request.length);
    let runs: usize = writes
        .chunks(220)
        .map(|some| {
            let mut some = some.to_vec();
            some.sort_unstable_by_key(|request| request.offset);
            1 + some.windows(2).filter(|two| end(&two[0]) != two[1].offset).count()
        })
        .sum();
    assert!((5.0..15.0).contains(&(writes.len() as f64 / runs as f64)), "{} in {runs}", writes.len());
}

#[test]
fn a_rate_or_a_depth_leaves_the_requests_alone() {
    let place = |request: &Request| (request.offset, request.length, request.op);
    let plain = make("synth:hybrid-develop,requests=20k");
    let fast = make("synth:hybrid-develop,requests=20k,rate=100k");
    let closed = make("synth:hybrid-develop,requests=20k,depth=4");
    assert!(plain.iter().map(place).eq(fast.iter().map(place)));
    assert!(plain.iter().map(place).eq(closed.iter().map(place)));
    assert!(closed.iter().all(|request| request.arrival_ns == 0));
    // In bursts: hardly a gap is as long as the mean, and those that are make up most of the time.
    let gaps: Vec<u64> = plain.windows(2).map(|two| two[1].arrival_ns - two[0].arrival_ns).collect();
    let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
    let pauses: Vec<u64> = gaps.iter().copied().filter(|gap| *gap > 5 * mean).collect();
    assert!((5..50).contains(&pauses.len()), "{} of 20,000, one in a thousand expected", pauses.len());
    assert!(pauses.iter().sum::<u64>() > gaps.iter().sum::<u64>() / 2);
}

#[test]
fn what_is_asked_otherwise_is_otherwise() {
    let found = of("synth:hybrid-usr,requests=100k,write=0.5,size=8KiB,footprint=1GiB");
    close("writes", found.writes as f64, 50e3, 0.02);
    assert_eq!(found.mean_write_kib, Some(8.0));
    assert!(found.max_address.unwrap() <= 1 << 30);
    let theta = |theta: &str| of(&format!("synth:hybrid-usr,requests=100k{theta}")).footprint_bytes;
    assert!(theta(",theta=0") > 2 * theta(",theta=1.2"));
}
