//! The options, one by one.

use std::time::{Duration, Instant};

use flashkeep_nbd::{BlockSizes, Export, Limits};

use crate::client::{contexts, info, option, string};
use crate::server::{SIZE, Served, serve_export, serve_manual, serve_memory, wait_until};

const UNSUP: u32 = 1;
const ACK: u32 = 1;
const INVALID: u32 = 3;
const UNKNOWN: u32 = 6;
const TOO_BIG: u32 = 9;

#[test]
fn export_name_starts_transmission() {
    let served = serve_memory();
    for (client_flags, padding) in [(1_u32, 124), (3, 0)] {
        for name in ["", "drive"] {
            let mut client = served.client();
            client.send(&client_flags.to_be_bytes());
            client.send(&option(1, name.as_bytes()));
            assert_eq!(u64::from_be_bytes(client.take()), SIZE);
            assert_eq!(u16::from_be_bytes(client.take()), 0b101_0110_1101);
            assert_eq!(client.take_vec(padding), vec![0; padding]);
            assert_eq!(client.read(0, 3), [0; 3]);
        }
    }
    let mut client = served.client();
    client.flags();
    client.send(&option(1, b"other"));
    assert_eq!(client.rest(), []);
}

#[test]
fn info_describes_the_export_and_go_starts_transmission() {
    let served = serve_export(Export {
        description: "a test".to_owned(),
        blocks: BlockSizes { minimum: 512, preferred: 16384, maximum: 1 << 20 },
        fast_zero: true,
        rotational: true,
        ..Export::new("drive", SIZE)
    });
    let mut client = served.client();
    client.flags();
    assert_eq!(client.option_ends(8, &[]), ACK);
    let replies = client.option(6, &info("drive", &[1, 2, 3, 99]));
    let flags = 0b1100_1111_1101_u16;
    let sizes = [512_u32, 16384, 1 << 20].map(u32::to_be_bytes).concat();
    let expected = [
        (3, [&[0, 0][..], &SIZE.to_be_bytes(), &flags.to_be_bytes()].concat()),
        (3, [&[0, 3][..], &sizes].concat()),
        (3, b"\x00\x01drive".to_vec()),
        (3, b"\x00\x02a test".to_vec()),
        (1, vec![]),
    ];
    assert_eq!(replies, expected);
    assert_eq!(client.option_ends(7, &info("other", &[])), UNKNOWN);
    assert_eq!(client.option_ends(6, &info("drives", &[])), UNKNOWN);
    let good = info("drive", &[3]);
    for bad in [&good[..good.len() - 1], &[&good[..], &[0]].concat(), &[], &[255; 12]] {
        assert_eq!(client.option_ends(7, bad), INVALID);
    }
    assert_eq!(client.option(7, &good).len(), 3);
    assert_eq!(client.errno(0, 3, 0, 0, &[]), 0);
}

#[test]
fn read_only_export_offers_no_writes() {
    let served = serve_export(Export { read_only: true, fast_zero: true, ..Export::new("", SIZE) });
    let mut client = served.client();
    assert_eq!(client.go(false), (SIZE, 0b100_0000_0111));
    for command in [1, 4, 6] {
        let data = vec![1; if command == 1 { 512 } else { 0 }];
        assert_eq!(client.errno(0, command, 0, 512, &data), 1, "command {command}");
    }
    assert_eq!(client.read(0, 512), [0; 512]);
}

#[test]
fn list_names_the_export() {
    let served = serve_export(Export { description: "words".to_owned(), ..Export::new("drive", SIZE) });
    let mut client = served.client();
    client.flags();
    assert_eq!(client.option_ends(3, b"x"), INVALID);
    let entry = [&string("drive")[..], b"words"].concat();
    assert_eq!(client.option(3, &[]), [(2, entry), (1, vec![])]);
    assert_eq!(client.option(2, &[]), [(1, vec![])]);
    assert_eq!(client.rest(), []);
}

#[test]
fn metadata_contexts_need_structured_replies_and_the_right_name() {
    let served = serve_memory();
    let mut client = served.client();
    client.flags();
    let all = contexts("drive", &[]);
    assert_eq!(client.option_ends(9, &all), INVALID);
    assert_eq!(client.option_ends(8, b"x"), INVALID);
    assert_eq!(client.option_ends(8, &[]), ACK);
    let context = |id: u8| (4, [&[0, 0, 0, id][..], b"base:allocation"].concat());
    let ack = (1, vec![]);
    for queries in [&[][..], &["base:"], &["base:allocation", "x:y"]] {
        assert_eq!(client.option(9, &contexts("drive", queries)), [context(0), ack.clone()], "{queries:?}");
    }
    assert_eq!(client.option(9, &contexts("drive", &["x:y"])), std::slice::from_ref(&ack));
    assert_eq!(client.option(10, &contexts("drive", &[])), std::slice::from_ref(&ack));
    assert_eq!(client.option(10, &contexts("drive", &["base:allocation"])), [context(1), ack.clone()]);
    assert_eq!(client.option_ends(10, &contexts("other", &["base:allocation"])), UNKNOWN);
    assert_eq!(client.option_ends(10, &all[..all.len() - 1]), INVALID);
    // The failed option has replaced the choice before it.
    assert_eq!(client.option_ends(7, &info("drive", &[])), ACK);
    assert_eq!(client.errno(0, 7, 0, 512, &[]), 22);
    // A choice for one name is none for another.
    let mut client = served.client();
    client.flags();
    assert_eq!(client.option_ends(8, &[]), ACK);
    assert_eq!(client.option_ends(10, &contexts("drive", &["base:allocation"])), ACK);
    assert_eq!(client.option_ends(7, &info("", &[])), ACK);
    assert_eq!(client.errno(0, 7, 0, 512, &[]), 22);
}

#[test]
fn unsupported_option_is_refused_and_the_negotiation_continues() {
    let served = serve_memory();
    let mut client = served.client();
    client.flags();
    for number in [0, 4, 5, 11, 12, u32::MAX] {
        for data in [&[][..], &[7; 300]] {
            let replies = client.option(number, data);
            assert_eq!(replies[0].0, (1 << 31) + UNSUP, "option {number}");
            assert!(!replies[0].1.is_empty(), "an error has a message");
        }
    }
    assert_eq!(client.option_ends(7, &vec![0; (64 << 10) + 1]), TOO_BIG);
    assert_eq!(client.option_ends(7, &info("", &[])), ACK);
}

#[test]
fn malformed_negotiation_ends_the_connection() {
    let served = serve_memory();
    let long = [&b"IHAVEOPT\x00\x00\x00\x03"[..], &u32::MAX.to_be_bytes()].concat();
    let name_too_long = option(1, &vec![b'x'; (64 << 10) + 1]);
    let options = [&b"IHAVEOPS\x00\x00\x00\x03\x00\x00\x00\x00"[..], &long, &name_too_long];
    let mut messages = options.map(|bytes| [&3_u32.to_be_bytes()[..], bytes].concat()).to_vec();
    messages.push(7_u32.to_be_bytes().to_vec());
    for (count, message) in messages.iter().enumerate() {
        let mut client = served.client();
        client.send(message);
        assert_eq!(client.rest(), []);
        served.wait_until_alone();
        assert_eq!(served.running.counts().malformed, count as u64 + 1);
    }
    // A message that ends early is malformed, but an end between messages is not.
    for (end, malformed) in [(0, 4), (2, 5), (4, 5), (10, 6), (20, 7)] {
        let mut client = served.client();
        client.send(&[&3_u32.to_be_bytes()[..], &option(99, b"data")].concat()[..end]);
        client.half_close();
        assert_eq!(client.rest(), []);
        served.wait_until_alone();
        assert_eq!(served.running.counts().malformed, malformed, "{end} bytes");
    }
}

#[test]
fn slow_negotiation_times_out_as_a_whole() {
    let limits = Limits { negotiation: Duration::from_secs(1), ..Limits::default() };
    let served = serve_manual(limits);
    let start = Instant::now();
    let mut idle = served.client();
    let mut slow = served.client();
    let served_client = served.ready(true);
    slow.flags();
    while start.elapsed() < Duration::from_millis(500) {
        assert_eq!(slow.option_ends(3, &[]), ACK);
    }
    assert_eq!(slow.rest(), []);
    assert_eq!(idle.rest(), []);
    assert!(start.elapsed() < Duration::from_secs(5));
    wait_until(|| served.running.connections() == 1);
    assert_eq!(served.running.counts().timed_out, 2);
    drop(served_client);
}

#[test]
fn client_beyond_the_limit_is_closed() {
    let served: Served<_> = serve_manual(Limits { connections: 2, ..Limits::default() });
    let (first, _second) = (served.ready(false), served.client());
    let mut third =
        std::os::unix::net::UnixStream::connect(served.folder.socket()).expect("the server listens");
    assert_eq!(std::io::Read::read(&mut third, &mut [0; 9]).expect("a clean end"), 0);
    assert_eq!((served.running.counts().refused, served.running.counts().accepted), (1, 2));
    drop(first);
    wait_until(|| served.running.connections() == 1);
    served.ready(true);
}
