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
    /// The host wants all data that it has written before to be durable: FLUSH of NVMe, SYNCHRONIZE CACHE of SCSI.
    Flush,
}

impl Op {
    /// The number of operations.
    pub const COUNT: usize = 4;

    /// Whether the operation changes what a later read returns.
    #[inline]
    #[must_use]
    pub fn changes_data(self) -> bool {
        matches!(self, Op::Write | Op::Trim)
    }
}

/// One request of a host: a range of bytes on a device, at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival in ns since the first request of the trace; 0 throughout where the source is a closed loop.
    pub arrival_ns: u64,
    /// First byte on the device; 0 for a flush.
    pub offset: u64,
    /// Length in bytes: 0 for a flush, and only for that.
    pub length: u32,
    /// The device, numbered 0, 1, … in order of first appearance in the trace.
    pub device: u32,
    /// The operation.
    pub op: Op,
    /// Forced unit access: a write that must be durable before it is acknowledged. False for other operations.
    pub fua: bool,
    /// The placement handle of a write ([`HANDLES`]); 0 for other operations and where there are none.
    pub handle: u8,
}

/// The placement handles that a request can name: 0 to one less.
pub const HANDLES: u8 = 8;

impl Request {
    /// A flush of a device.
    #[must_use]
    pub fn flush(arrival_ns: u64, device: u32) -> Request {
        Request { arrival_ns, offset: 0, length: 0, device, op: Op::Flush, fua: false, handle: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_fills_half_a_cache_line() {
        assert_eq!(size_of::<Request>(), 32);
    }
}
