//! What every trace becomes: a stream of requests.

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Data go to the host.
    Read,
    /// Data come from the host.
    Write,
    /// The host gives a range up.
    Trim,
}

/// One request of a host, as the trace has it: bytes on a device at an instant.
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
    /// Which way the data go.
    pub op: Op,
}
