//! A request: every trace becomes a stream of these.

/// The operation that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Data go to the host.
    Read,
    /// Data come from the host.
    Write,
    /// The host discards a range.
    Trim,
}

/// One request of a host: a range of bytes on a device, at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival in ns since the first request of the trace; 0 throughout where the source is a closed loop.
    pub arrival_ns: u64,
    /// First byte on the device.
    pub offset: u64,
    /// Length in bytes, never 0.
    pub length: u32,
    /// The device, numbered 0, 1, … in order of first appearance in the trace.
    pub device: u32,
    /// The operation.
    pub op: Op,
}
