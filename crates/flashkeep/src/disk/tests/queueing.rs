//! What waiting comes to: against the formula of one server, and scheduler against scheduler.

use super::*;

/// Poisson arrivals of random reads; response times in ms, by slot, and services.
fn poisson(set: &[&str], count: u32, gap_ms: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut rig, mut random) = (Rig::new(set), Random::stream(11, "arrivals"));
    let pages = u64::from(rig.disk.pages());
    let (mut arrivals, mut responses, mut services) = (Vec::new(), Vec::new(), Vec::new());
    let mut now = 0.0;
    let mut take = |rig: &mut Rig, arrivals: &[SimTime]| {
        for done in rig.done() {
            let response = done.durable.since(arrivals[done.token.slot as usize]);
            responses.push(response.0 as f64 / 1e6);
            services.push(done.service.0 as f64 / 1e6);
        }
    };
    for slot in 0..count {
        let draw = (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
        now -= libm::log(1.0 - draw) * gap_ms * 1e6;
        let at = SimTime(now as u64);
        while rig.disk.step(at) {
            take(&mut rig, &arrivals);
        }
        arrivals.push(at);
        rig.now = at;
        rig.ask(read(random.below(pages) as u32, 1), slot, &[]);
        take(&mut rig, &arrivals);
    }
    while rig.disk.step(LAST) {
        take(&mut rig, &arrivals);
    }
    (responses, services)
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

#[test]
fn one_disk_waits_as_pollaczek_and_khinchine_say() {
    for load in [0.3, 0.6] {
        let gap_ms = 12.9 / load;
        let (responses, services) = poisson(&["disk.scheduler=fcfs"], 200_000, gap_ms);
        assert_eq!(responses.len(), 200_000);
        let (first, second) = (mean(&services), mean(&services.iter().map(|s| s * s).collect::<Vec<_>>()));
        let rate = 1.0 / gap_ms;
        let expected = rate * second / (2.0 * (1.0 - rate * first));
        let found = mean(&responses) - first;
        assert!((found / expected - 1.0).abs() < 0.05, "load {load}: waits {found} ms, {expected} expected");
    }
}

#[test]
fn schedulers_that_look_at_the_arm_serve_more() {
    // Faster than FCFS can serve.
    let response = |rule: &str| {
        let (responses, services) =
            poisson(&[&format!("disk.scheduler={rule}"), "disk.queue_depth=64"], 20_000, 11.0);
        (mean(&responses), mean(&services))
    };
    let [fcfs, sstf, look] = ["fcfs", "sstf", "look"].map(response);
    assert!(sstf.1 < fcfs.1 * 0.85 && look.1 < fcfs.1 * 0.85, "services {fcfs:?} {sstf:?} {look:?}");
    assert!(sstf.0 < fcfs.0 / 2.0 && look.0 < fcfs.0 / 2.0, "responses {fcfs:?} {sstf:?} {look:?}");
}

#[test]
fn a_longer_queue_gives_the_scheduler_more_to_choose_from() {
    let service = |depth: &str| mean(&poisson(&["disk.scheduler=sstf", depth], 20_000, 4.0).1);
    let [one, eight, many] =
        ["disk.queue_depth=1", "disk.queue_depth=8", "disk.queue_depth=128"].map(service);
    assert!(eight < one * 0.9 && many < eight * 0.9, "{one} {eight} {many}");
}

/// In which order commands are begun that come while one is under way: pages are cylinders of five.
fn order(keys: &str, commands: &[Command]) -> Vec<u32> {
    let mut rig = Rig::small(keys);
    rig.one(read(250, 1));
    rig.ask(read(255, 1), 0, &[]);
    for (slot, command) in (1..).zip(commands) {
        rig.ask(*command, slot, &[]);
    }
    rig.settle().into_iter().map(|done| done.token.slot).collect()
}

#[test]
fn each_rule_orders_as_it_says() {
    let commands = [read(300, 1), read(10, 1), read(240, 1), read(290, 1), read(499, 1)];
    assert_eq!(order("scheduler = \"fcfs\"", &commands), [0, 1, 2, 3, 4, 5]);
    // Cylinder 51, then 48 and 58, 60, 99, 2.
    assert_eq!(order("scheduler = \"sstf\"", &commands), [0, 3, 4, 1, 5, 2]);
    assert_eq!(order("scheduler = \"look\"", &commands), [0, 4, 1, 5, 3, 2]);
    assert_eq!(order("scheduler = \"look\"\nqueue_depth = 2", &commands), [0, 1, 3, 2, 4, 5]);
}

#[test]
fn work_in_the_background_goes_behind() {
    let commands = [background(read(256, 1)), read(10, 1), background(write(300, 2)), read(499, 1)];
    assert_eq!(order("scheduler = \"fcfs\"", &commands), [0, 2, 4, 1, 3]);
    assert_eq!(order("scheduler = \"fcfs\"\nqueue_depth = 1", &commands), [0, 2, 4, 1, 3]);
    // Unless something that is waited for overlaps it: page 302 is not in memory, so it is read after that write.
    let commands = [background(read(256, 1)), background(write(300, 2)), read(301, 2), read(499, 1)];
    for depth in [1, 32] {
        let keys = format!("scheduler = \"fcfs\"\nqueue_depth = {depth}");
        assert_eq!(order(&keys, &commands), [0, 2, 3, 4, 4, 1], "{depth}");
    }
}

#[test]
fn the_backlog_is_what_waits() {
    let mut rig = Rig::small("");
    assert_eq!(rig.disk.backlog(BACKEND, Page(0)), Span::ZERO);
    rig.ask(read(0, 1), 0, &[]);
    assert_eq!(rig.disk.backlog(BACKEND, Page(9)), Span(12_000_000));
    // 0.5 of overhead, 4.3 for a third of the cylinders (33), half a revolution, 2 of transfer.
    rig.ask(read(300, 1), 1, &[]);
    assert_eq!(
        rig.disk.backlog(BACKEND, Page(9)),
        Span(12_000_000 + 500_000 + 4_300_000 + 5_000_000 + 2_000_000)
    );
    rig.settle();
    rig.disk.admit(LAST, LAST);
    assert_eq!(rig.disk.backlog(BACKEND, Page(0)), Span::ZERO);
}
