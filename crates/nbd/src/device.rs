//! The device that is served: requests that it gets, and outcomes that it returns.

use std::fmt;
use std::time::Instant;

/// A device that takes requests at once and answers each of them later through
/// [`Completions`](crate::Completions).
///
/// The threads of the connections call it. An implementation usually hands the request to the thread that
/// owns the device. It may block in [`submit`](Device::submit), which delays only that connection's further
/// requests.
pub trait Device: Send + Sync {
    /// Takes a request. The server has checked it: it lies within the export, is not empty, respects the
    /// block sizes, and is not a write if the export is read-only.
    fn submit(&self, submit: Submit);

    /// A client has finished its negotiation, so its requests may follow.
    fn connected(&self, _connection: ConnectionId) {}

    /// A client has gone, after all calls of [`submit`](Device::submit) for it. Outstanding requests need no
    /// answer, but are still to be carried out or dropped as a whole.
    fn disconnected(&self, _connection: ConnectionId) {}
}

/// The number of a connection, in the order in which clients connected. Numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(crate) u64);

impl ConnectionId {
    /// The number itself, for logs.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A request on its way to the device.
#[derive(Debug)]
pub struct Submit {
    /// The client that asks.
    pub connection: ConnectionId,
    /// The request's number within the connection, to be returned in [`Complete::request`]. The server counts
    /// them, since a client's own cookies need not be unique.
    pub tag: u64,
    /// When the request had been read from the socket, with its data.
    pub arrived: Instant,
    /// The request itself.
    pub request: Request,
}

/// A client's request. Offsets and lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Answered by [`Outcome::Read`].
    Read {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u64,
        /// The client wants the reply in one chunk. The server joins the pieces, so a device may ignore this.
        dont_fragment: bool,
    },
    /// Answered by [`Outcome::Done`].
    Write {
        /// The first byte.
        offset: u64,
        /// The new contents.
        data: Vec<u8>,
        /// The reply says that the data are durable.
        fua: bool,
    },
    /// All writes that were answered before, on any connection if the export has `multi_conn`, become
    /// durable.
    Flush,
    /// The contents of the range are not needed any more.
    Trim {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u64,
        /// The reply says that the trim is durable.
        fua: bool,
    },
    /// The range reads as zeroes afterwards.
    WriteZeroes {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u64,
        /// The reply says that the zeroes are durable.
        fua: bool,
        /// The device may deallocate the range (the client did not set `NO_HOLE`).
        may_trim: bool,
        /// Fail at once with [`Errno::Unsupported`] if this is not faster than writing.
        fast: bool,
    },
    /// The range will be read soon.
    Cache {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u64,
    },
    /// Answered by [`Outcome::Extents`]: which parts are allocated.
    BlockStatus {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u64,
        /// One extent is enough. The server drops the others, so a device may ignore this.
        one: bool,
    },
}

/// The answer to a request.
#[derive(Debug)]
pub struct Complete {
    /// [`Submit::connection`].
    pub connection: ConnectionId,
    /// [`Submit::tag`].
    pub request: u64,
    /// What happened.
    pub outcome: Outcome,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A request without an answer of its own is done.
    Done,
    /// The contents of a read: pieces that follow each other and cover the range exactly. Other pieces become
    /// an error at the client, never other bytes.
    Read(Vec<Piece>),
    /// Extents that follow each other from the request's offset on. They may end before its end, or after it.
    Extents(Vec<Extent>),
    /// The request failed.
    Failed(Failure),
}

/// A part of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes.
    Data {
        /// The first byte's offset in the export.
        offset: u64,
        /// The contents.
        bytes: Vec<u8>,
    },
    /// Zeroes, which structured replies need not carry.
    Hole {
        /// The first byte's offset in the export.
        offset: u64,
        /// The number of bytes.
        length: u64,
    },
    /// Contents that the device has lost. The client gets `EIO`, with this offset if it understands
    /// structured replies, and the other pieces nevertheless.
    Unreadable {
        /// The first byte's offset in the export.
        offset: u64,
        /// The number of bytes.
        length: u64,
    },
}

impl Piece {
    /// The offset of the first byte.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Data { offset, .. } | Self::Hole { offset, .. } | Self::Unreadable { offset, .. } => {
                *offset
            }
        }
    }

    /// The number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Data { bytes, .. } => bytes.len() as u64,
            Self::Hole { length, .. } | Self::Unreadable { length, .. } => *length,
        }
    }
}

/// A range with one state of allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of bytes.
    pub length: u64,
    /// Nothing is allocated here.
    pub hole: bool,
    /// The range reads as zeroes.
    pub zero: bool,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The error number that the client gets.
    pub errno: Errno,
    /// The byte of the export at which it failed, if one can be named.
    pub offset: Option<u64>,
    /// A sentence for the client's log; sent with structured replies only.
    pub message: String,
}

impl Failure {
    /// A failure without an offset.
    pub fn new(errno: Errno, message: impl Into<String>) -> Self {
        Self { errno, offset: None, message: message.into() }
    }
}

/// The error numbers of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Errno {
    /// `EPERM`: the export is read-only.
    NotPermitted = 1,
    /// `EIO`: the device failed, or lost the contents.
    Io = 5,
    /// `ENOMEM`: out of memory.
    NoMemory = 12,
    /// `EINVAL`: the request makes no sense.
    Invalid = 22,
    /// `ENOSPC`: no space, or a write beyond the end.
    NoSpace = 28,
    /// `EOVERFLOW`: the reply does not fit in one chunk.
    Overflow = 75,
    /// `ENOTSUP`: this cannot be done, or not fast.
    Unsupported = 95,
    /// `ESHUTDOWN`: the server is stopping.
    Shutdown = 108,
}
