//! The write cache.

use super::*;

/// Room for 16 pages; a page goes in in 0.5 + 0.2 ms.
const CACHE: &str = "write_cache_mib = 0.0625\nscheduler = \"fcfs\"";

#[test]
fn a_write_is_acknowledged_in_memory_and_durable_on_the_platter() {
    let mut rig = Rig::small(CACHE);
    rig.ask(write(100, 2), 4, &tokens(1, 2));
    let done = rig.settle();
    let told: Vec<_> = done.iter().map(|done| (done.part, done.pages, done.durable.0)).collect();
    // 0.5 + 3 ms over twenty cylinders; the platter comes round at 10; 4 ms.
    assert_eq!(told, [(CompletionPart::Acknowledged, 2, 900_000), (CompletionPart::Durable, 2, 14_000_000)]);
    let mut through = Rig::small("");
    through.ask(write(100, 2), 4, &tokens(1, 2));
    let done = through.settle();
    assert_eq!((done.len(), done[0].part, done[0].acknowledged.0), (1, CompletionPart::Both, 14_000_000));
}

#[test]
fn a_full_cache_makes_writes_wait_for_room() {
    let mut rig = Rig::small(CACHE);
    // 8 pages are under way, 8 wait in memory; the next 4 wait for room, and one for those 4.
    for (slot, (page, count)) in [(0, 8), (100, 8), (200, 4), (300, 1)].into_iter().enumerate() {
        rig.ask(write(page, count), slot as u32, &[]);
    }
    // Larger than the cache: acknowledged on the platter.
    rig.ask(write(400, 17), 4, &[]);
    let told = |part: CompletionPart, done: &[Done<Token>]| -> Vec<(u32, u64)> {
        let of_part = done.iter().filter(|done| done.part == part);
        of_part.map(|done| (done.token.slot, done.durable.0)).collect()
    };
    let done = rig.settle();
    let durable = told(CompletionPart::Durable, &done);
    assert_eq!(durable.iter().map(|one| one.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let first = durable[0].1;
    let expected = [(0, 2_100_000), (1, 2_100_000), (2, first + 1_300_000), (3, first + 700_000)];
    assert_eq!(told(CompletionPart::Acknowledged, &done), expected);
    assert_eq!(told(CompletionPart::Both, &done).len(), 1);
}

#[test]
fn what_is_in_the_cache_takes_no_place_in_the_queue() {
    // A queue of one: four writes are seen at once in the cache, one by one without.
    let cylinders = |keys: &str| {
        let mut rig = Rig::small(&format!("queue_depth = 1\nscheduler = \"sstf\"\n{keys}"));
        rig.one(read(250, 1));
        for (slot, page) in [255, 0, 495, 5, 490].into_iter().enumerate() {
            rig.ask(write(page, 1), slot as u32, &[]);
        }
        rig.settle();
        rig.disk.statistics(rig.now).cylinders
    };
    assert!(cylinders("write_cache_mib = 1") < 250 && cylinders("") > 350);
}
