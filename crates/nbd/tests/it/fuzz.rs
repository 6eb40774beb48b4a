//! Random malformed and truncated conversations.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::client::{contexts, info, option, request, string};
use crate::server::{SIZE, serve_memory};

/// Conversations of a normal run. `FLASHKEEP_NBD_FUZZ` sets another number.
const CASES: u64 = 10_000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }
}

/// Options, most of them valid.
fn negotiation(random: &mut Random) -> Vec<u8> {
    let mut bytes = 3_u32.to_be_bytes().to_vec();
    if random.below(2) == 0 {
        bytes.extend([option(8, &[]), option(10, &contexts("", &["base:allocation"]))].concat());
    }
    for _ in 0..random.below(3) {
        let number = random.below(14) as u32;
        let choices = [
            option(9, &contexts("drive", &["base:", "x:y"])),
            option(6, &info("drive", &[1, 2, 3])),
            option(3, &[]),
            option(number, &string("text")),
        ];
        bytes.extend(random.pick(&choices));
    }
    let go = option(7, &info("", &[3]));
    bytes.extend(random.pick(&[go.clone(), go, option(1, b"drive"), option(2, &[])]));
    bytes
}

/// Requests of all kinds, most of them valid.
fn requests(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for cookie in 0..1 + random.below(8) {
        let any = random.below(1 << 16) as u16;
        let command = random.pick(&[0, 0, 1, 1, 3, 4, 5, 6, 7, 8, 2, any]);
        let flags = if random.below(3) == 0 { 1 << random.below(16) } else { 0 };
        let offset = random.below(SIZE);
        let offset = random.pick(&[offset, offset, offset, 0, 4096, SIZE - 512, SIZE, u64::MAX]);
        let length = random.pick(&[1, 512, 512, 5000, 5000, 9000, 70_000, 0]);
        bytes.extend(request(flags, command, cookie, offset, length));
        if command == 1 {
            bytes.extend((0..length).map(|index| (u64::from(index) ^ random.0) as u8));
        }
    }
    bytes
}

/// Changes some bytes, and cuts the end off.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(3) {
        let place = random.below(bytes.len() as u64) as usize;
        match random.below(4) {
            0 => bytes[place] ^= 1 << random.below(8),
            1 => bytes[place] = random.pick(&[0, 1, 0x7f, 0x80, 0xff]),
            2 => drop(bytes.remove(place)),
            _ => bytes.insert(place, random.below(256) as u8),
        }
    }
    if random.below(3) == 0 {
        bytes.truncate(1 + random.below(bytes.len() as u64) as usize);
    }
}

#[test]
fn malformed_conversations_leave_the_server_serving() {
    let cases = std::env::var("FLASHKEEP_NBD_FUZZ").map_or(CASES, |text| text.parse().expect("a number"));
    let served = serve_memory();
    served.device.with(crate::memory::Contents::fill);
    let mut random = Random(20_260_801);
    for case in 0..cases {
        let (mut bytes, mut requests) = (negotiation(&mut random), requests(&mut random));
        damage(if case % 4 == 0 { &mut bytes } else { &mut requests }, &mut random);
        bytes.extend(requests);
        let mut stream = UnixStream::connect(served.folder.socket()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("not zero");
        // The server may close the connection before it has read all.
        let _ = stream.write_all(&bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let mut replies = Vec::new();
        if let Err(error) = stream.read_to_end(&mut replies) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "case {case}: the server is stuck");
        }
        assert!(replies.starts_with(b"NBDMAGICIHAVEOPT\x00\x03"), "case {case}");
    }
    served.wait_until_alone();
    let counts = served.running.counts();
    assert_eq!((counts.accepted, counts.wrong_answers, counts.timed_out), (cases, 0, 0));
    assert!(counts.malformed.min(counts.reads).min(counts.writes) > cases / 20, "{counts:?}");
    let contents = served.device.with(|contents| contents.bytes.clone());
    assert_eq!(served.ready(false).read(0, SIZE as u32), contents);
}
