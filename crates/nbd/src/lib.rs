//! An NBD server in front of a [`Device`] that answers requests later, from another thread.
//!
//! | module | contents |
//! |---|---|
//! | `device` | [`Device`], and the requests and outcomes that pass between it and the server |
//! | `export` | [`Export`]: the description of the device that clients see |
//! | `limits` | [`Limits`], and [`Counts`] of what clients did |
//! | `listen` | [`Listen`]: addresses; sockets that only their owner may use |
//! | `stream` | a connected socket of either family |
//! | `messages` | numbers of the protocol, headers read and written |
//! | `negotiate` | the options of a connection |
//! | `requests` | a request's header and flags, checked against the export |
//! | `replies` | an outcome as bytes on the wire |
//! | `connection` | one client: its outstanding requests, its reader and its writer |
//! | `server` | [`Server`], [`Running`] and [`Completions`] |
//!
//! # Threads
//!
//! The server has one thread for each listening socket, and a reader and a writer for each connection. They
//! are threads of `std`, not tasks of an asynchronous runtime such as tokio: a served drive has a handful of
//! clients, not thousands, so threads are cheap; the model is a single thread that must not depend on an
//! executor; the reader may block in [`Device::submit`], which is all the flow control that is needed; a
//! request at depth 1 costs the same wake-ups either way; and the crate has no dependencies.
//!
//! Replies leave with `writev`, so the process must ignore `SIGPIPE`, as programs in Rust and in Python do by
//! default.
//!
//! # Memory
//!
//! A connection's reader takes no further request while too many requests or bytes are in flight
//! ([`Limits`]), and a request is in flight until its reply has left. So a client that never reads its
//! replies costs a bounded amount of memory and blocks no other client, and [`Completions::complete`] never
//! waits for a socket.
#![forbid(unsafe_code)]

mod connection;
mod device;
mod export;
mod limits;
mod listen;
mod messages;
mod negotiate;
mod replies;
mod requests;
mod server;
mod stream;

pub use device::{Complete, ConnectionId, Device, Errno, Extent, Failure, Outcome, Piece, Request, Submit};
pub use export::{BlockSizes, Export};
pub use limits::{Counts, Limits};
pub use listen::{BindError, Listen, PrivateSocket};
pub use server::{Completions, Running, Server};
