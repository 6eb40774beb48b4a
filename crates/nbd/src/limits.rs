//! Bounds that protect the server from its clients, and counts of what they did.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bounds on what clients may use. The defaults suit a drive with a handful of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients at a time, negotiating or served; further ones are closed at once.
    pub connections: usize,
    /// Requests of one connection that are not answered yet. Its further requests are not read until one is.
    pub outstanding: usize,
    /// The longest payload of a request. A longer one ends the connection.
    pub payload_bytes: u32,
    /// Bytes of one connection's unanswered reads and writes, at least `payload_bytes`.
    pub in_flight_bytes: u64,
    /// The time from connecting to the end of the negotiation.
    pub negotiation: Duration,
}

impl Default for Limits {
    /// 64 connections, each with up to 1,024 requests and 64 MiB in flight; payloads of 32 MiB; 10 seconds.
    fn default() -> Self {
        Self {
            connections: 64,
            outstanding: 1024,
            payload_bytes: 32 << 20,
            in_flight_bytes: 64 << 20,
            negotiation: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// Says which limit is impossible.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.connections == 0 || self.outstanding == 0 || self.negotiation.is_zero() {
            return Err("the limits of connections, requests and time must be at least 1".to_owned());
        }
        if self.in_flight_bytes < self.payload_bytes.into() {
            let (bytes, payload) = (self.in_flight_bytes, self.payload_bytes);
            return Err(format!("{bytes} bytes in flight must be at least the longest payload of {payload}"));
        }
        Ok(())
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Events since the server started.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The same, counted by all threads.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        impl Counters {
            /// The counts now.
            pub(crate) fn snapshot(&self) -> Counts {
                Counts { $($name: self.$name.get(),)* }
            }
        }
    };
}

counts! {
    /// Clients that connected.
    accepted,
    /// Clients that were closed at once, since there were too many.
    refused,
    /// Negotiations that took too long.
    timed_out,
    /// Connections that a malformed, oversized or truncated message ended.
    malformed,
    /// Reads that the device got.
    reads,
    /// Writes that the device got.
    writes,
    /// Flushes that the device got.
    flushes,
    /// Trims that the device got.
    trims,
    /// Requests to write zeroes that the device got.
    write_zeroes,
    /// Requests to cache a range that the device got.
    caches,
    /// Questions for block status that the device got.
    block_statuses,
    /// Bytes of the reads that the device got.
    read_bytes,
    /// Bytes of the writes that the device got.
    written_bytes,
    /// Requests that the server refused without the device: out of range, unaligned, unknown.
    invalid,
    /// Requests that the device failed, in whole or in part.
    failed,
    /// Answers of the device that did not fit their request; the client got `EIO`.
    wrong_answers,
}

/// A number that any thread may increase.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
