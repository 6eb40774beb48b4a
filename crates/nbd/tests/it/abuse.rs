//! Clients that break the rules, and the end of connections and of the server.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flashkeep_nbd::{Device, Limits, Outcome, Piece, Submit};

use crate::client::{Reply, request};
use crate::memory::Memory;
use crate::server::{Event, SIZE, Served, serve_manual, serve_memory, wait_until};

#[test]
fn malformed_request_ends_its_connection_only() {
    let served = serve_memory();
    let mut other = served.ready(false);
    let bad_magic = [&[0; 4][..], &request(0, 0, 1, 0, 512)[4..]].concat();
    let oversized = request(0, 1, 1, 0, (32 << 20) + 1);
    for (count, message) in [bad_magic, oversized].iter().enumerate() {
        let mut client = served.ready(false);
        client.send(message);
        assert_eq!(client.rest(), []);
        wait_until(|| served.running.connections() == 1);
        assert_eq!(served.running.counts().malformed, count as u64 + 1);
    }
    let truncated = [&request(0, 1, 1, 0, 512)[..], &[1; 511]].concat();
    for end in [1, 27, 28, 538] {
        let mut client = served.ready(false);
        client.send(&truncated[..end]);
        client.half_close();
        assert_eq!(client.rest(), []);
    }
    wait_until(|| served.running.counts().malformed == 6);
    assert_eq!(other.read(0, 512), [0; 512]);
}

#[test]
fn client_that_closes_its_side_gets_all_answers() {
    let served = serve_manual(Limits::default());
    for disconnect in [false, true] {
        let mut client = served.ready(false);
        client.send(&[request(0, 3, 1, 0, 0), request(0, 3, 2, 0, 0)].concat());
        if disconnect {
            client.send(&request(0, 2, 3, 0, 0));
        } else {
            client.half_close();
        }
        let submits = [0; 2].map(|_| served.device.next_request());
        for (submit, cookie) in submits.iter().zip(1..) {
            assert!(served.device.answer(submit, Outcome::Done));
            assert_eq!(client.reply(), Reply::Simple { error: 0, cookie });
        }
        assert_eq!(client.rest(), []);
        assert!(matches!(served.device.next(), Event::Disconnected(id) if id == submits[0].connection));
    }
    served.wait_until_alone();
    assert_eq!(served.running.counts().malformed, 0);
}

#[test]
fn answer_to_a_client_that_has_gone_is_dropped() {
    let served = serve_manual(Limits::default());
    let mut client = served.ready(false);
    client.send(&[request(0, 3, 1, 0, 0), request(0, 3, 2, 0, 0)].concat());
    let submits = [0; 2].map(|_| served.device.next_request());
    client.send(&[0; 28]);
    assert!(matches!(served.device.next(), Event::Disconnected(_)));
    served.wait_until_alone();
    assert!(!served.device.answer(&submits[0], Outcome::Done));
}

#[test]
fn client_that_never_reads_costs_bounded_memory_and_blocks_no_other() {
    let limits =
        Limits { outstanding: 64, payload_bytes: 1 << 20, in_flight_bytes: 1 << 20, ..Limits::default() };
    let export = flashkeep_nbd::Export {
        blocks: flashkeep_nbd::BlockSizes { maximum: 1 << 20, ..Default::default() },
        ..flashkeep_nbd::Export::new("", SIZE)
    };
    let served = Served::new(export, limits, |completions| Memory::new(completions, SIZE));
    served.device.with(crate::memory::Contents::fill);
    // Reads with replies of 64 KiB, and requests that are refused, until the server takes no more.
    for (flags, length) in [(0, 64 << 10), (1 << 9, 512)] {
        let mut greedy = served.ready(true);
        greedy.stream.set_write_timeout(Some(Duration::from_millis(300))).expect("not zero");
        let many = request(flags, 0, 1, 0, length).repeat(1000);
        let sent = (0..1000).take_while(|_| greedy.stream.write_all(&many).is_ok()).count();
        assert!(sent < 1000, "the server must stop reading");
        let counts = served.running.counts();
        assert!(counts.reads < 64, "{} reads of 64 KiB are in flight", counts.reads);
        let mut other = served.ready(false);
        assert_eq!(other.read(0, 3), [0, 1, 2]);
        drop(greedy);
        drop(other);
        served.wait_until_alone();
    }
}

#[test]
fn panic_of_the_device_ends_one_connection() {
    struct Panics;
    impl Device for Panics {
        fn submit(&self, _: Submit) {
            panic!("this panic is part of the test");
        }
    }
    let served = Served::new(flashkeep_nbd::Export::new("", SIZE), Limits::default(), |_| Panics);
    let mut other = served.ready(false);
    let mut client = served.ready(false);
    client.send(&request(0, 3, 1, 0, 0));
    assert_eq!(client.rest(), []);
    wait_until(|| served.running.connections() == 1);
    assert_eq!(other.errno(0, 99, 0, 0, &[]), 22);
}

#[test]
fn shutdown_waits_for_answers_within_its_grace() {
    let served = serve_manual(Limits::default());
    let (mut idle, mut negotiating, mut busy) = (served.ready(true), served.client(), served.ready(false));
    // The second request is cut off by the shutdown, which is not the client's mistake.
    busy.send(&[request(0, 0, 1, 0, 4), request(0, 1, 2, 0, 512)].concat());
    let submit = served.device.next_request();
    let device = Arc::clone(&served.device);
    let answer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        device.answer(&submit, Outcome::Read(vec![Piece::Hole { offset: 0, length: 4 }]))
    });
    assert!(served.running.shutdown(Duration::from_secs(10)));
    assert!(answer.join().expect("no panic"));
    assert_eq!(busy.reply(), Reply::Simple { error: 0, cookie: 1 });
    assert_eq!(busy.rest(), [0; 4]);
    assert_eq!((idle.rest(), negotiating.rest()), (vec![], vec![]));
    assert!(!served.folder.socket().exists());
}

#[test]
fn shutdown_ends_without_answers_after_its_grace() {
    let served = serve_manual(Limits::default());
    let mut busy = served.ready(false);
    busy.send(&request(0, 3, 1, 0, 0));
    let submit = served.device.next_request();
    let start = Instant::now();
    assert!(!served.running.shutdown(Duration::from_millis(100)));
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(busy.rest(), []);
    assert!(!served.device.answer(&submit, Outcome::Done));
}
