//! An outcome as bytes on the wire.

use std::io::{self, IoSlice};

use crate::device::{Errno, Extent, Failure, Outcome, Piece};
use crate::export::MAX_STRING;
use crate::messages::{
    ALLOCATION_ID, CHUNK_MAGIC, Command, Header, SIMPLE_REPLY_MAGIC, STATE_HOLE, STATE_ZERO, chunk, flag,
};
use crate::stream::Stream;

/// The most extents of one reply. The client asks again from the end of the last one.
pub(crate) const MAX_EXTENTS: usize = 4096;

/// Zeroes for holes that are sent as data.
static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

/// Whether a reply is a success, for the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    Failed,
    /// The device's answer does not fit the request.
    Wrong,
}

/// Replies that leave together. Data are not copied.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// All headers, one after the other.
    headers: Vec<u8>,
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    /// The headers from the end of the previous such part to this position.
    Headers(usize),
    Data(Vec<u8>),
    Zeroes(usize),
}

impl Batch {
    /// Sends everything, and is empty afterwards.
    pub(crate) fn send(&mut self, stream: &Stream) -> io::Result<()> {
        self.end_headers();
        let mut slices = Vec::with_capacity(self.parts.len());
        let mut start = 0;
        for part in &self.parts {
            match part {
                Part::Headers(end) => {
                    slices.push(IoSlice::new(&self.headers[start..*end]));
                    start = *end;
                }
                Part::Data(bytes) => slices.push(IoSlice::new(bytes)),
                Part::Zeroes(length) => {
                    let whole = length / ZEROES.len();
                    slices.extend((0..whole).map(|_| IoSlice::new(&ZEROES)));
                    slices.push(IoSlice::new(&ZEROES[..length % ZEROES.len()]));
                }
            }
        }
        stream.write_all(&mut slices)?;
        self.headers.clear();
        self.parts.clear();
        Ok(())
    }

    /// Adds the reply to a request.
    pub(crate) fn add(&mut self, header: &Header, structured: bool, outcome: Outcome) -> Verdict {
        match outcome {
            Outcome::Failed(failure) => {
                self.failure(header, structured, &failure);
                Verdict::Failed
            }
            Outcome::Done if !matches!(header.command, Command::Read | Command::BlockStatus) => {
                self.simple(header, 0);
                Verdict::Good
            }
            Outcome::Read(pieces) if header.command == Command::Read && covers(header, &pieces) => {
                self.read(header, structured, pieces)
            }
            Outcome::Extents(extents)
                if header.command == Command::BlockStatus && extents.iter().any(|one| one.length > 0) =>
            {
                self.extents(header, &extents);
                Verdict::Good
            }
            _ => {
                let wrong = Failure::new(Errno::Io, "the device's answer does not fit the request");
                self.failure(header, structured, &wrong);
                Verdict::Wrong
            }
        }
    }

    fn read(&mut self, header: &Header, structured: bool, mut pieces: Vec<Piece>) -> Verdict {
        pieces.retain(|piece| piece.length() > 0);
        let unreadable = |piece: &Piece| matches!(piece, Piece::Unreadable { .. });
        let verdict = if pieces.iter().any(unreadable) { Verdict::Failed } else { Verdict::Good };
        if !structured {
            let failed = verdict == Verdict::Failed;
            self.simple(header, if failed { Errno::Io as u32 } else { 0 });
            if !failed {
                pieces.into_iter().for_each(|piece| self.contents(piece));
            }
            return verdict;
        }
        let whole = header.has(flag::DF) && pieces.len() > 1;
        if whole && verdict == Verdict::Good {
            self.whole(header, pieces);
            return verdict;
        }
        if whole {
            // At most one content chunk is allowed, and the read has failed: the errors alone say so.
            pieces.retain(unreadable);
        }
        let last = pieces.len().wrapping_sub(1);
        if pieces.is_empty() {
            self.chunk(header, chunk::DONE, chunk::NONE, 0);
        }
        for (index, piece) in pieces.into_iter().enumerate() {
            self.piece(header, if index == last { chunk::DONE } else { 0 }, piece);
        }
        verdict
    }

    /// A chunk for one piece.
    fn piece(&mut self, header: &Header, flags: u16, piece: Piece) {
        let (offset, length) = (piece.offset(), piece.length());
        match piece {
            Piece::Data { .. } => {
                self.chunk(header, flags, chunk::OFFSET_DATA, 8 + length as usize);
                self.headers.extend(offset.to_be_bytes());
                self.contents(piece);
            }
            Piece::Hole { .. } => {
                self.chunk(header, flags, chunk::OFFSET_HOLE, 12);
                self.headers.extend(offset.to_be_bytes());
                self.headers.extend((length as u32).to_be_bytes());
            }
            Piece::Unreadable { .. } => {
                let message = format!("{length} bytes at {offset} are unreadable");
                self.error(header, flags, Errno::Io, &message, Some(offset));
            }
        }
    }

    /// One chunk for all pieces: a hole if all are holes, and data otherwise.
    fn whole(&mut self, header: &Header, pieces: Vec<Piece>) {
        let (offset, length) = (header.offset, u64::from(header.length));
        if pieces.iter().all(|piece| matches!(piece, Piece::Hole { .. })) {
            return self.piece(header, chunk::DONE, Piece::Hole { offset, length });
        }
        self.chunk(header, chunk::DONE, chunk::OFFSET_DATA, 8 + length as usize);
        self.headers.extend(offset.to_be_bytes());
        pieces.into_iter().for_each(|piece| self.contents(piece));
    }

    fn contents(&mut self, piece: Piece) {
        self.end_headers();
        self.parts.push(match piece {
            Piece::Data { bytes, .. } => Part::Data(bytes),
            Piece::Hole { length, .. } | Piece::Unreadable { length, .. } => Part::Zeroes(length as usize),
        });
    }

    fn extents(&mut self, header: &Header, extents: &[Extent]) {
        let mut left = u64::from(header.length);
        let mut sent: Vec<(u64, u32)> = Vec::new();
        for extent in extents {
            let length = extent.length.min(left);
            let state = if extent.hole { STATE_HOLE } else { 0 } | if extent.zero { STATE_ZERO } else { 0 };
            left -= length;
            match sent.last_mut() {
                _ if length == 0 => {}
                Some((before, same)) if *same == state => *before += length,
                _ => sent.push((length, state)),
            }
        }
        sent.truncate(if header.has(flag::REQ_ONE) { 1 } else { MAX_EXTENTS });
        self.chunk(header, chunk::DONE, chunk::BLOCK_STATUS, 4 + 8 * sent.len());
        self.headers.extend(ALLOCATION_ID.to_be_bytes());
        for (length, state) in sent {
            self.headers.extend((length as u32).to_be_bytes());
            self.headers.extend(state.to_be_bytes());
        }
    }

    fn failure(&mut self, header: &Header, structured: bool, failure: &Failure) {
        if structured {
            self.error(header, chunk::DONE, failure.errno, &failure.message, failure.offset);
        } else {
            self.simple(header, failure.errno as u32);
        }
    }

    /// An error chunk, with the offset if the protocol allows one here.
    fn error(&mut self, header: &Header, flags: u16, errno: Errno, message: &str, offset: Option<u64>) {
        use Command::{BlockStatus, Read, Trim, Write};
        let offset = offset.filter(|offset| {
            matches!(header.command, Read | Write | Trim | BlockStatus)
                && offset.checked_sub(header.offset).is_some_and(|within| within < header.length.into())
        });
        let message = cut(message);
        let (kind, tail) = if offset.is_some() { (chunk::ERROR_OFFSET, 8) } else { (chunk::ERROR, 0) };
        self.chunk(header, flags, kind, 6 + message.len() + tail);
        self.headers.extend((errno as u32).to_be_bytes());
        self.headers.extend((message.len() as u16).to_be_bytes());
        self.headers.extend(message);
        self.headers.extend(offset.map(u64::to_be_bytes).into_iter().flatten());
    }

    fn simple(&mut self, header: &Header, error: u32) {
        self.headers.extend(SIMPLE_REPLY_MAGIC.to_be_bytes());
        self.headers.extend(error.to_be_bytes());
        self.headers.extend(header.cookie.to_be_bytes());
    }

    fn chunk(&mut self, header: &Header, flags: u16, kind: u16, length: usize) {
        let length = u32::try_from(length).expect("a chunk is no longer than a payload");
        self.headers.extend(CHUNK_MAGIC.to_be_bytes());
        self.headers.extend(flags.to_be_bytes());
        self.headers.extend(kind.to_be_bytes());
        self.headers.extend(header.cookie.to_be_bytes());
        self.headers.extend(length.to_be_bytes());
    }

    /// Makes a part of the headers since the previous part.
    fn end_headers(&mut self) {
        self.parts.push(Part::Headers(self.headers.len()));
    }
}

/// Whether the pieces follow each other and cover the request exactly.
fn covers(header: &Header, pieces: &[Piece]) -> bool {
    let end = pieces.iter().try_fold(header.offset, |next, piece| {
        if piece.offset() == next { next.checked_add(piece.length()) } else { None }
    });
    end == header.offset.checked_add(header.length.into())
}

/// As much of a message as the protocol allows, without half a character at its end.
fn cut(message: &str) -> &[u8] {
    let end = (0..=message.len().min(MAX_STRING)).rev().find(|&end| message.is_char_boundary(end));
    &message.as_bytes()[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: Command, flags: u16) -> Header {
        Header { flags, command, cookie: 7, offset: 100, length: 30 }
    }

    /// The bytes of a reply, with its verdict.
    fn reply(header: &Header, structured: bool, outcome: Outcome) -> (Verdict, Vec<u8>) {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        let mut batch = Batch::default();
        let verdict = batch.add(header, structured, outcome);
        batch.send(&Stream::Unix(ours)).expect("the reply fits in the socket's buffer");
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut &theirs, &mut bytes).expect("the other side is closed");
        (verdict, bytes)
    }

    fn data(offset: u64, length: usize) -> Piece {
        Piece::Data { offset, bytes: vec![9; length] }
    }

    #[test]
    fn wrong_answer_is_an_error_and_never_bytes() {
        let read = header(Command::Read, 0);
        let hole = |offset, length| Piece::Hole { offset, length };
        for pieces in [
            vec![],
            vec![data(100, 29)],
            vec![data(100, 31)],
            vec![data(99, 30)],
            vec![data(100, 10), hole(111, 19)],
            vec![hole(100, 10), data(110, 10)],
            vec![hole(100, u64::MAX), hole(99, 30)],
        ] {
            let (verdict, bytes) = reply(&read, false, Outcome::Read(pieces.clone()));
            assert_eq!((verdict, &bytes[4..8]), (Verdict::Wrong, &[0, 0, 0, 5][..]), "{pieces:?}");
            assert_eq!(bytes.len(), 16);
        }
        assert_eq!(reply(&read, true, Outcome::Done).0, Verdict::Wrong);
        assert_eq!(reply(&header(Command::Trim, 0), true, Outcome::Read(vec![])).0, Verdict::Wrong);
        let status = header(Command::BlockStatus, 0);
        let empty = Extent { length: 0, hole: false, zero: false };
        assert_eq!(reply(&status, true, Outcome::Extents(vec![empty])).0, Verdict::Wrong);
    }

    #[test]
    fn extents_are_joined_and_clipped() {
        let extent = |length, hole| Extent { length, hole, zero: hole };
        let all =
            vec![extent(5, true), extent(0, false), extent(5, true), extent(9, false), extent(99, true)];
        let (_, bytes) = reply(&header(Command::BlockStatus, 0), true, Outcome::Extents(all.clone()));
        assert_eq!(bytes[24..], [0, 0, 0, 10, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 3]);
        let (_, bytes) = reply(&header(Command::BlockStatus, flag::REQ_ONE), true, Outcome::Extents(all));
        assert_eq!(bytes[24..], [0, 0, 0, 10, 0, 0, 0, 3]);
    }

    #[test]
    fn unfragmented_read_has_one_content_chunk() {
        let read = header(Command::Read, flag::DF);
        let pieces = vec![Piece::Hole { offset: 100, length: 10 }, data(110, 20)];
        let (verdict, bytes) = reply(&read, true, Outcome::Read(pieces));
        assert_eq!((verdict, bytes.len()), (Verdict::Good, 20 + 8 + 30));
        assert_eq!(bytes[4..8], [0, 1, 0, 1]);
        assert_eq!((&bytes[28..38], &bytes[38..]), (&[0; 10][..], &[9; 20][..]));
        let pieces = vec![data(100, 10), Piece::Unreadable { offset: 110, length: 20 }];
        let (verdict, bytes) = reply(&read, true, Outcome::Read(pieces));
        assert_eq!((verdict, &bytes[4..8]), (Verdict::Failed, &[0, 1, 0x80, 2][..]));
    }

    #[test]
    fn long_message_is_cut_between_characters() {
        let failure = Failure::new(Errno::Io, format!("a{}", "ä".repeat(3000)));
        let (_, bytes) = reply(&header(Command::Flush, 0), true, Outcome::Failed(failure));
        assert_eq!(bytes[24..26], 4095_u16.to_be_bytes());
    }
}
