//! Requests of clients, and the requests to the model that each becomes.

use flashkeep_nbd::{Complete, Completions, ConnectionId, Errno, Failure, Outcome, Piece, Request as Ask};
use flashkeep_trace::{Op, Request};
use serde_json::Value;
use std::ops::Range;
use std::sync::mpsc::Sender;

/// The longest request to the model that comes from a request without data.
const LONGEST: u64 = 8 << 20;

/// Who is waiting for an answer.
#[derive(Debug)]
pub(crate) enum Asker {
    Client { connection: ConnectionId, tag: u64 },
    Control(Sender<Value>),
}

impl Asker {
    /// The connection's number in a session; 0 for the control socket.
    pub(crate) fn number(&self) -> u64 {
        match self {
            Asker::Client { connection, .. } => connection.number() + 1,
            Asker::Control(_) => 0,
        }
    }
}

/// The new bytes of a part.
#[derive(Debug)]
pub(crate) enum Data {
    None,
    Zeros,
    Bytes(Vec<u8>),
}

/// One request to the model.
#[derive(Debug)]
pub(crate) struct Part {
    /// The client's request.
    pub(crate) of: u64,
    /// As the model has it: whole sectors.
    pub(crate) request: Request,
    /// The bytes that the client has asked for.
    pub(crate) bytes: Range<u64>,
    pub(crate) data: Data,
}

/// A client's request that is not answered.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) asker: Asker,
    /// The virtual time at which it arrived.
    pub(crate) arrival_ns: u64,
    /// Its requests to the model that are not answered.
    pub(crate) parts: u32,
    /// It reads: its bytes go to the client.
    pub(crate) reads: bool,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) failure: Option<Failure>,
}

impl Asked {
    /// The answer of all its parts.
    pub(crate) fn outcome(&mut self) -> Outcome {
        match self.failure.take() {
            Some(failure) => Outcome::Failed(failure),
            None if self.reads => Outcome::Read(std::mem::take(&mut self.pieces)),
            None => Outcome::Done,
        }
    }
}

/// Answers a client, if it is still there.
pub(crate) fn answer(completions: &Completions, asker: &Asker, outcome: Outcome) {
    if let Asker::Client { connection, tag } = *asker {
        completions.complete(Complete { connection, request: tag, outcome });
    }
}

/// The sizes that requests are rounded to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    pub(crate) sector: u64,
    pub(crate) page: u64,
}

impl Units {
    fn part(self, op: Op, bytes: Range<u64>, fua: bool, data: Data) -> (Request, Range<u64>, Data) {
        let offset = bytes.start / self.sector * self.sector;
        let length = (bytes.end.next_multiple_of(self.sector) - offset) as u32;
        (Request { arrival_ns: 0, offset, length, device: 0, op, fua, handle: 0 }, bytes, data)
    }

    /// Writes of zeros over a range.
    pub(crate) fn zeros(self, bytes: Range<u64>, fua: bool, parts: &mut Vec<(Request, Range<u64>, Data)>) {
        let mut at = bytes.start;
        while at < bytes.end {
            let end = (at / LONGEST + 1).saturating_mul(LONGEST).min(bytes.end);
            parts.push(self.part(Op::Write, at..end, fua, Data::Zeros));
            at = end;
        }
    }

    /// Trims of the whole pages of a range.
    fn trims(self, bytes: &Range<u64>, parts: &mut Vec<(Request, Range<u64>, Data)>) {
        let (mut at, last) = (bytes.start.next_multiple_of(self.page), bytes.end / self.page * self.page);
        while at < last {
            let end = (at / LONGEST + 1).saturating_mul(LONGEST).min(last);
            parts.push(self.part(Op::Trim, at..end, false, Data::None));
            at = end;
        }
    }

    /// The requests to the model for a client's. None if it is answered at once.
    pub(crate) fn parts(self, ask: Ask) -> Vec<(Request, Range<u64>, Data)> {
        let mut parts = Vec::new();
        match ask {
            Ask::Read { offset, length, .. } => {
                parts.push(self.part(Op::Read, offset..offset + length, false, Data::None));
            }
            Ask::Cache { offset, length } => {
                let mut at = offset;
                while at < offset + length {
                    let end = (at / LONGEST + 1).saturating_mul(LONGEST).min(offset + length);
                    parts.push(self.part(Op::Read, at..end, false, Data::None));
                    at = end;
                }
            }
            Ask::Write { offset, data, fua } => {
                let bytes = offset..offset + data.len() as u64;
                parts.push(self.part(Op::Write, bytes, fua, Data::Bytes(data)));
            }
            Ask::Flush => parts.push((Request::flush(0, 0), 0..0, Data::None)),
            Ask::Trim { offset, length, .. } => self.trims(&(offset..offset + length), &mut parts),
            // The caller knows which of the range may hold anything.
            Ask::WriteZeroes { .. } | Ask::BlockStatus { .. } => {}
        }
        parts
    }
}

/// The failure of a request at the end of the drive's life.
pub(crate) fn refused() -> Failure {
    Failure::new(Errno::NotPermitted, "the drive is at the end of its life and read-only")
}

/// The failure of a request that the power cut ended.
pub(crate) fn cut() -> Failure {
    Failure::new(Errno::Io, "the power was cut")
}

/// The failure of a write into a page that is lost.
pub(crate) fn lost(offset: u64) -> Failure {
    Failure {
        offset: Some(offset),
        ..Failure::new(Errno::Io, "the rest of a page that is written in part is lost")
    }
}
