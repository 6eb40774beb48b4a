//! The commands, one by one, with simple and with structured replies.

use std::time::Instant;

use flashkeep_nbd::{BlockSizes, Errno, Export, Failure, Limits, Outcome, Piece, Request};

use crate::client::{Reply, request};
use crate::memory::PAGE;
use crate::server::{Event, SIZE, serve_export, serve_manual, serve_memory, wait_until};

const FUA: u16 = 1;
const NO_HOLE: u16 = 2;
const DF: u16 = 4;
const REQ_ONE: u16 = 8;
const FAST_ZERO: u16 = 16;
const EIO: u32 = 5;

#[test]
fn written_bytes_are_read_by_other_connections() {
    let served = serve_memory();
    let mut writer = served.ready(false);
    let mut reader = served.ready(false);
    let data: Vec<u8> = (0..100_000_u32).map(|index| (index % 241) as u8).collect();
    writer.write(4093, &data);
    assert_eq!(writer.errno(0, 3, 0, 0, &[]), 0);
    assert_eq!(reader.read(4093, 100_000), data);
    assert_eq!(reader.read(SIZE - 1, 1), [0]);
    assert_eq!(writer.errno(FUA, 1, 1, 3, b"abc"), 0);
    assert_eq!(reader.read(0, 5), b"\0abc\0");
    let counts = served.running.counts();
    assert_eq!((counts.reads, counts.writes, counts.flushes), (3, 2, 1));
    assert_eq!((counts.read_bytes, counts.written_bytes), (100_006, 100_003));
}

#[test]
fn trim_and_zeroes_and_cache_reach_the_device() {
    let served = serve_export(Export { fast_zero: true, ..Export::new("", SIZE) });
    let mut client = served.ready(false);
    client.write(0, &[9; 40_000]);
    assert_eq!(client.errno(0, 5, 0, 40_000, &[]), 0);
    assert_eq!(client.errno(FUA, 4, 5000, 10_000, &[]), 0);
    assert_eq!(client.errno(FUA | NO_HOLE, 6, 20_000, 1000, &[]), 0);
    assert_eq!(client.errno(FAST_ZERO, 6, 0, 1000, &[]), 95);
    let mut expected = vec![9; 40_000];
    expected[5000..15_000].fill(0);
    expected[20_000..21_000].fill(0);
    assert_eq!(client.read(0, 40_000), expected);
    let counts = served.running.counts();
    assert_eq!((counts.trims, counts.write_zeroes, counts.caches, counts.failed), (1, 2, 1, 1));
}

#[test]
fn structured_read_has_data_holes_and_errors_with_offsets() {
    let served = serve_memory();
    let mut client = served.ready(true);
    client.write(0, &[7; 4 * PAGE as usize]);
    client.write(6 * PAGE, &[8; PAGE as usize]);
    served.device.with(|contents| contents.lost.extend([1, 3]));
    client.send(&request(0, 0, 5, 100, 8 * PAGE as u32));
    let [first, lost, second, lost_too, hole, third, last] = client.chunks(5).try_into().expect("7 chunks");
    let data = |offset: u64, byte: u8, length: u64| {
        (1, [&offset.to_be_bytes()[..], &vec![byte; length as usize]].concat())
    };
    let zeroes =
        |offset: u64, length: u64| (2, [&offset.to_be_bytes()[..], &(length as u32).to_be_bytes()].concat());
    assert_eq!(first, data(100, 7, PAGE - 100));
    assert_eq!(second, data(2 * PAGE, 7, PAGE));
    assert_eq!(hole, zeroes(4 * PAGE, 2 * PAGE));
    assert_eq!(third, data(6 * PAGE, 8, PAGE));
    assert_eq!(last, zeroes(7 * PAGE, PAGE + 100));
    for ((kind, payload), offset) in [(lost, PAGE), (lost_too, 3 * PAGE)] {
        assert_eq!((kind, &payload[..4]), ((1 << 15) + 2, &EIO.to_be_bytes()[..]));
        let message = usize::from(u16::from_be_bytes([payload[4], payload[5]]));
        assert_eq!(payload[6 + message..], offset.to_be_bytes());
        assert_eq!(payload[6..6 + message], *format!("4096 bytes at {offset} are unreadable").as_bytes());
    }
    // With DF there is one content chunk, or only errors.
    client.send(&request(DF, 0, 6, 4 * PAGE, 3 * PAGE as u32));
    let mut whole = vec![0; 3 * PAGE as usize];
    whole[2 * PAGE as usize..].fill(8);
    assert_eq!(client.chunks(6), [(1, [&(4 * PAGE).to_be_bytes()[..], &whole].concat())]);
    client.send(&request(DF, 0, 7, 0, 4 * PAGE as u32));
    assert_eq!(client.chunks(7).iter().map(|(kind, _)| *kind & !(1 << 15)).collect::<Vec<_>>(), [2, 2]);
    // An empty read is a reply without contents.
    client.send(&request(0, 0, 8, 0, 0));
    assert_eq!(client.chunks(8), [(0, vec![])]);
    // Without structured replies the whole read fails, and only it.
    let mut simple = served.ready(false);
    assert_eq!(simple.errno(0, 0, 0, 8 * PAGE as u32, &[]), EIO);
    assert_eq!(simple.read(6 * PAGE, 2), [8, 8]);
    assert_eq!(served.running.counts().failed, 3);
    // A new write makes the page readable.
    simple.write(PAGE, &[1; PAGE as usize]);
    assert_eq!(simple.read(PAGE, 1), [1]);
}

#[test]
fn block_status_reports_extents() {
    let served = serve_memory();
    let mut client = served.ready(true);
    client.write(2 * PAGE, &[7; 2 * PAGE as usize]);
    let expected = |extents: &[(u64, u32)]| {
        let mut payload = 1_u32.to_be_bytes().to_vec();
        for (length, state) in extents {
            payload.extend((*length as u32).to_be_bytes());
            payload.extend(state.to_be_bytes());
        }
        [(5_u16, payload)]
    };
    client.send(&request(0, 7, 1, 5, SIZE as u32 - 5));
    let all = [(2 * PAGE - 5, 3), (2 * PAGE, 0), (SIZE - 4 * PAGE, 3)];
    assert_eq!(client.chunks(1), expected(&all));
    client.send(&request(REQ_ONE, 7, 2, 2 * PAGE, SIZE as u32 / 2));
    assert_eq!(client.chunks(2), expected(&[(2 * PAGE, 0)]));
    assert_eq!(served.running.counts().block_statuses, 2);
}

#[test]
fn invalid_request_is_refused_and_the_connection_continues() {
    let blocks = BlockSizes { minimum: 512, preferred: 4096, maximum: 8192 };
    let served = serve_export(Export { blocks, ..Export::new("", SIZE) });
    for structured in [false, true] {
        let mut client = served.ready(structured);
        client.write(512, &[5; 512]);
        let long = vec![1; 16_384];
        for (flags, command, offset, length, data, errno) in [
            (0, 0, SIZE, 512, &[][..], 22),
            (0, 0, u64::MAX - 511, 512, &[], 22),
            (0, 1, SIZE - 512, 1024, &long[..1024], 28),
            (0, 6, SIZE, 512, &[], 28),
            (0, 4, SIZE, 512, &[], 22),
            (0, 1, 511, 512, &long[..512], 22),
            (0, 1, 512, 511, &long[..511], 22),
            (0, 0, 0, 16_384, &[], 22),
            (0, 1, 0, 16_384, &long, 22),
            (0, 99, 0, 512, &[], 22),
            (1 << 9, 0, 0, 512, &[], 22),
            (NO_HOLE, 1, 0, 512, &long[..512], 22),
            (FAST_ZERO, 6, 0, 512, &[], 22),
            (0, 1, 512, 0, &[], 0),
            (FUA, 3, 0, 0, &[], 0),
        ] {
            let found = client.errno(flags, command, offset, length, data);
            assert_eq!(found, errno, "command {command}, flags {flags}: {length} bytes at {offset}");
        }
        assert_eq!(client.errno(DF, 0, 0, 0, &[]), if structured { 0 } else { 22 });
        if !structured {
            assert_eq!(client.errno(0, 7, 0, 512, &[]), 22);
            assert_eq!(client.read(512, 512), [5; 512]);
        }
    }
    assert_eq!(served.running.counts().invalid, 13 + 2 + 13);
}

#[test]
fn answers_may_come_in_any_order_and_from_any_thread() {
    let served = serve_manual(Limits::default());
    let mut client = served.ready(false);
    let Event::Connected(connection) = served.device.next() else { panic!("the client has connected") };
    let before = Instant::now();
    client.send(&request(0, 0, 3, 0, 2));
    client.send(&[&request(FUA, 1, 3, 8, 4)[..], b"data"].concat());
    client.send(&request(0, 3, 4, 0, 0));
    let submits = [0; 3].map(|_| served.device.next_request());
    assert!(submits.iter().all(|one| one.connection == connection && one.arrived >= before));
    assert_eq!(submits[1].request, Request::Write { offset: 8, data: b"data".to_vec(), fua: true });
    let [read, write, flush] = submits;
    assert!(served.device.answer(&flush, Outcome::Done));
    assert!(served.device.answer(&write, Outcome::Failed(Failure::new(Errno::NoSpace, "full"))));
    assert!(!served.device.answer(&flush, Outcome::Done), "it is answered already");
    assert_eq!(client.reply(), Reply::Simple { error: 0, cookie: 4 });
    assert_eq!(client.reply(), Reply::Simple { error: 28, cookie: 3 });
    std::thread::scope(|scope| {
        let pieces = vec![Piece::Data { offset: 0, bytes: b"xy".to_vec() }];
        scope.spawn(|| assert!(served.device.answer(&read, Outcome::Read(pieces))));
    });
    assert_eq!(client.reply(), Reply::Simple { error: 0, cookie: 3 });
    assert_eq!(client.take(), *b"xy");
    assert_eq!(served.running.counts().failed, 1);
}

#[test]
fn wrong_answer_of_the_device_is_eio() {
    let served = serve_manual(Limits::default());
    let mut client = served.ready(true);
    let short = Outcome::Read(vec![Piece::Data { offset: 0, bytes: vec![1; 511] }]);
    for (command, outcome) in
        [(0, short), (0, Outcome::Done), (3, Outcome::Extents(vec![])), (7, Outcome::Done)]
    {
        client.send(&request(0, command, 1, 0, 512));
        served.device.answer(&served.device.next_request(), outcome);
        let chunks = client.chunks(1);
        assert_eq!((chunks[0].0, &chunks[0].1[..4]), ((1 << 15) + 1, &EIO.to_be_bytes()[..]));
    }
    wait_until(|| served.running.counts().wrong_answers == 4);
}
