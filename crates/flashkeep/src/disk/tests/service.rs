//! What one command takes: arm, platter, transfer.

use super::*;

#[test]
fn a_command_takes_overhead_seek_rotation_and_transfer() {
    let mut rig = Rig::small("");
    // 0.5 ms of overhead, no seek; the platter is at 0.5 of 10 ms and must come round to 0; 2 ms for a page.
    assert_eq!(rig.takes(read(0, 1)), 12.0);
    // It continues: only the transfer.
    assert_eq!(rig.takes(read(1, 2)), 4.0);
    // It would, but comes too late: 0.5 ms, and the rest of a revolution.
    rig.now = rig.now + Span(1);
    assert_eq!(rig.takes(write(3, 1)), 12.0 - 1e-6);
    // Ten cylinders on: 0.5 + 2.0, from 8 to 0.5 of the next revolution; page 50 is at 0: 9.5 more; then 2.
    let before = rig.disk.statistics(rig.now);
    assert_eq!(rig.takes(read(50, 1)), 0.5 + 2.0 + 9.5 + 2.0);
    let did = rig.disk.statistics(rig.now).since(&before);
    assert_eq!((did.operations, did.sequential, did.seeks, did.cylinders), (1, 0, 1, 10));
    assert_eq!(
        (did.overhead, did.seek, did.rotation, did.transfer),
        (500_000, 2_000_000, [9_500_000, 0], [2_000_000, 0])
    );
    assert_eq!((did.busy(), did.idle), (14_000_000, 0));
}

#[test]
fn pages_are_done_one_by_one_and_only_what_is_asked_of_a_page_travels() {
    let mut rig = Rig::small("");
    rig.ask(read(0, 3), 5, &[]);
    assert_eq!(ends(&rig.settle()), [(5, 12.0), (6, 14.0), (7, 16.0)]);
    rig.now = SimTime(16_000_000);
    let half = Command { sectors: 4, ..read(3, 1) };
    assert_eq!(rig.takes(half), 1.0);
}

#[test]
fn switches_are_waited_for_once_and_the_next_track_is_skewed_by_them() {
    // Two heads: 1 ms between the tracks of a cylinder, 1.5 between cylinders.
    let text = "disk = { rpm = 6000, capacity_gb = 0.002048, heads = 2, zones = 1, rate_outer_mb_s = 2.048, \
                rate_inner_mb_s = 2.048, head_switch_ms = 1, track_switch_ms = 1.5 }";
    let spec = load_text("small", text, &[]).expect("a disk");
    let [mut whole, mut parts] = [(); 2].map(|()| Rig::of(spec.disk().expect("a disk")));
    assert_eq!(whole.disk.surface().used_cylinders(), 50);
    // 4 pages, 1 ms, 5 pages, 1.5 ms, 1 page: in one go, or page by page.
    whole.one(read(0, 1));
    parts.one(read(0, 1));
    assert_eq!(whole.takes(read(1, 10)), 22.5);
    let alone: f64 = (1..11).map(|page| parts.takes(read(page, 1))).sum();
    assert!((alone - 22.5).abs() < 1e-9, "{alone}");
    // Between commands: half a millisecond and a switch less than the platter needs to come round to page 5's place.
    let mut rig = Rig::of(spec.disk().expect("a disk"));
    rig.one(read(0, 1));
    let before = rig.disk.statistics(rig.now);
    rig.one(read(5, 1));
    let did = rig.disk.statistics(rig.now).since(&before);
    assert_eq!(
        (did.seek, did.seeks, did.rotation[0]),
        (1_000_000, 0, 11_000_000 - 2_000_000 - 300_000 - 1_000_000)
    );
}

/// This many random commands of 4 KiB, one at a time; commands a second.
fn random_rate(set: &[&str], command: fn(u32, u16) -> Command) -> f64 {
    let (mut rig, mut random) = (Rig::new(set), Random::stream(3, "pages"));
    let pages = u64::from(rig.disk.pages());
    for _ in 0..20_000 {
        rig.one(command(random.below(pages) as u32, 1));
    }
    20_000.0 / (rig.now.0 as f64 / 1e9)
}

#[test]
fn random_reads_and_writes_come_at_the_known_rates() {
    for rotation in ["position", "random", "mean"] {
        let set = [format!("disk.rotation={rotation}")];
        let set = [set[0].as_str()];
        let (reads, writes) = (random_rate(&set, read), random_rate(&set, write));
        assert!((76.0..79.0).contains(&reads), "{rotation}: {reads}");
        assert!((68.0..71.0).contains(&writes), "{rotation}: {writes}");
    }
}

#[test]
fn the_worked_figures() {
    // The mean rotation, as the figures have it. 256 KiB of the outermost zone, 60 MB away: 8.9 ms.
    let mut rig = Rig::new(&["disk.rotation=mean", "disk.seek.read_track_ms=1.0"]);
    rig.one(read(0, 1));
    let away = 60_000_000 / 4096;
    let staged = rig.takes(read(away, 64));
    assert!((staged - 8.9).abs() < 0.05, "{staged}");
    // The same where the last one ended: 3.4 ms.
    let contiguous = rig.takes(read(away + 64, 64));
    assert!((contiguous - 3.4).abs() < 0.05, "{contiguous}");
    // 4 KiB after a seek of the mean: 13.0 ms.
    let distance = rig.disk.surface().cylinders() * 3 / 10;
    let seek = (distance..)
        .find(|&d| rig.disk.mechanics.seeks.time(false, d) >= Span(8_500_000))
        .expect("a mean seek");
    let there = (0..rig.disk.pages())
        .step_by(1_000)
        .find(|&page| rig.disk.surface().place(u64::from(page) * 8).cylinder >= seek);
    rig.one(read(0, 1));
    let random = rig.takes(read(there.expect("a page"), 1));
    assert!((random - 13.0).abs() < 0.1, "{random}");
}

#[test]
fn sequential_transfers_run_at_the_rate_of_their_zone() {
    let mut rig = Rig::new(&[]);
    let pages = rig.disk.pages();
    // From the outermost sector, the middle of the ninth zone of 16, and to the innermost one.
    for (first, rate) in [(0, 78.0), (pages / 32 * 17, 78.0 - 39.0 * 8.0 / 15.0), (pages - 25_600, 39.0)] {
        for command in [read, write] {
            rig.one(command(first, 64));
            let start = rig.now;
            for n in 1..400 {
                rig.one(command(first + n * 64, 64));
            }
            let bytes = 399.0 * 64.0 * 4096.0;
            let found = bytes / rig.now.since(start).0 as f64 * 1e3;
            assert!((found / rate - 1.0).abs() < 0.002, "{found} MB/s, {rate} expected");
        }
    }
}

#[test]
fn zones_lie_behind_each_other_and_a_stream_crosses_them_without_a_stop() {
    let rig = Rig::new(&["disk.zones=3", "disk.capacity_gb=1"]);
    let surface = rig.disk.surface();
    let sectors = u64::from(rig.disk.pages()) * 8;
    let mut along = 0;
    for sector in 0..sectors {
        let place = surface.place(sector);
        assert!(place.along.abs_diff(along) <= 1, "sector {sector}");
        along = surface.end_of(sector);
    }
    let (first, last) = (surface.sectors_of_track(0), surface.sectors_of_track(sectors - 1));
    assert_eq!((first, last), (1269, 634), "78 and 39 MB/s at 120 revolutions a second");
    assert_eq!(surface.place(sectors - 1).cylinder + 1, surface.used_cylinders());
}

#[test]
fn a_disk_that_stops_must_spin_up() {
    let mut rig = Rig::small("power = { standby_after_s = 2, spin_up_s = 3 }");
    rig.one(read(0, 1));
    rig.now = rig.now + Span(2_000_000_000);
    let awake = rig.takes(read(1, 1));
    assert!(awake < 20.0, "{awake}");
    rig.now = rig.now + Span(5_000_000_000);
    let woken = rig.takes(read(2, 1));
    assert!((3_000.0..3_020.0).contains(&woken), "{woken}");
    let did = rig.disk.statistics(rig.now + Span(1));
    assert_eq!(
        (did.standby, did.stops, did.spin_up, did.idle),
        (3_000_000_000, 1, 3_000_000_000, 4_000_000_001)
    );
    assert_eq!(did.busy() + did.idle + did.standby, rig.now.0 + 1, "every ns is accounted for");
}
