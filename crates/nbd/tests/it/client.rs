//! A client that sends any bytes. Its numbers are written out, so that they are not those of the server by
//! mistake.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub(crate) struct Client {
    pub(crate) stream: UnixStream,
}

/// A reply to a request, or a chunk of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Simple { error: u32, cookie: u64 },
    Chunk { done: bool, kind: u16, cookie: u64, payload: Vec<u8> },
}

/// A request's header.
pub(crate) fn request(flags: u16, command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

/// An option with its data.
pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"IHAVEOPT".to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A string with its length before it.
pub(crate) fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

/// The data of INFO and GO.
pub(crate) fn info(name: &str, wanted: &[u16]) -> Vec<u8> {
    let mut data = string(name);
    data.extend((wanted.len() as u16).to_be_bytes());
    data.extend(wanted.iter().flat_map(|kind| kind.to_be_bytes()));
    data
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT.
pub(crate) fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = string(name);
    data.extend((queries.len() as u32).to_be_bytes());
    data.extend(queries.iter().flat_map(|query| string(query)));
    data
}

impl Client {
    /// Connects and reads the greeting.
    pub(crate) fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("not zero");
        let mut client = Self { stream };
        let greeting = client.take::<18>();
        assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\x00\x03");
        client
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        self.take_vec(N).try_into().expect("the length is right")
    }

    pub(crate) fn take_vec(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).expect("the server sends");
        bytes
    }

    /// Everything until the server closes the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.stream.read_to_end(&mut bytes) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        bytes
    }

    pub(crate) fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).expect("it is open");
    }

    /// Sends the flags of a client that knows fixed newstyle and wants no zeroes.
    pub(crate) fn flags(&mut self) {
        self.send(&3_u32.to_be_bytes());
    }

    /// Sends an option; returns the types and data of all replies to it.
    pub(crate) fn option(&mut self, number: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send(&option(number, data));
        let mut replies = Vec::new();
        loop {
            assert_eq!(u64::from_be_bytes(self.take()), 0x0003_e889_0455_65a9);
            assert_eq!(u32::from_be_bytes(self.take()), number);
            let kind = u32::from_be_bytes(self.take());
            let length = u32::from_be_bytes(self.take());
            replies.push((kind, self.take_vec(length as usize)));
            if kind == 1 || kind >= 1 << 31 {
                return replies;
            }
        }
    }

    /// The type of the last reply, without the high bit of errors.
    pub(crate) fn option_ends(&mut self, number: u32, data: &[u8]) -> u32 {
        let replies = self.option(number, data);
        replies.last().expect("there is a reply").0 & !(1 << 31)
    }

    /// Negotiates everything; returns the size and the flags.
    pub(crate) fn go(&mut self, structured: bool) -> (u64, u16) {
        self.flags();
        if structured {
            assert_eq!(self.option_ends(8, &[]), 1);
            assert_eq!(self.option_ends(10, &contexts("", &["base:allocation"])), 1);
        }
        let replies = self.option(7, &info("", &[]));
        let export =
            &replies.iter().find(|(kind, data)| *kind == 3 && data[..2] == [0, 0]).expect("the export").1;
        let size = export[2..10].try_into().expect("8 bytes");
        let flags = export[10..].try_into().expect("2 bytes");
        (u64::from_be_bytes(size), u16::from_be_bytes(flags))
    }

    pub(crate) fn reply(&mut self) -> Reply {
        match u32::from_be_bytes(self.take()) {
            0x6744_6698 => {
                let error = u32::from_be_bytes(self.take());
                Reply::Simple { error, cookie: u64::from_be_bytes(self.take()) }
            }
            0x668e_33ef => {
                let flags = u16::from_be_bytes(self.take());
                let kind = u16::from_be_bytes(self.take());
                let cookie = u64::from_be_bytes(self.take());
                let length = u32::from_be_bytes(self.take());
                let payload = self.take_vec(length as usize);
                Reply::Chunk { done: flags == 1, kind, cookie, payload }
            }
            magic => panic!("{magic:#x} is no reply"),
        }
    }

    /// The chunks of a structured reply: types and payloads.
    pub(crate) fn chunks(&mut self, expected_cookie: u64) -> Vec<(u16, Vec<u8>)> {
        let mut chunks = Vec::new();
        loop {
            let Reply::Chunk { done, kind, cookie, payload } = self.reply() else { panic!("not a chunk") };
            assert_eq!(cookie, expected_cookie);
            chunks.push((kind, payload));
            if done {
                return chunks;
            }
        }
    }

    /// Sends a request; returns the error number of its reply, which carries no data.
    pub(crate) fn errno(&mut self, flags: u16, command: u16, offset: u64, length: u32, data: &[u8]) -> u32 {
        self.send(&[&request(flags, command, 77, offset, length), data].concat());
        match self.reply() {
            Reply::Simple { error, cookie } => {
                assert_eq!(cookie, 77);
                error
            }
            Reply::Chunk { done: true, kind: 0, .. } => 0,
            Reply::Chunk { done, kind, payload, .. } => {
                assert!(done && kind >= 1 << 15, "chunk of type {kind}");
                u32::from_be_bytes(payload[..4].try_into().expect("4 bytes"))
            }
        }
    }

    /// Reads without structured replies.
    pub(crate) fn read(&mut self, offset: u64, length: u32) -> Vec<u8> {
        assert_eq!(self.errno(0, 0, offset, length, &[]), 0);
        self.take_vec(length as usize)
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
        assert_eq!(self.errno(0, 1, offset, data.len() as u32, data), 0);
    }
}
