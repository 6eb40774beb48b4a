//! The description of the device that clients see.

use crate::messages::transmission;

/// One device under one name. Clients that ask for the empty name get it too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The name, at most 4,096 bytes. It may be empty.
    pub name: String,
    /// A description for people, at most 4,096 bytes. Clients see it in lists unless it is empty.
    pub description: String,
    /// The number of bytes: a multiple of the minimum block size.
    pub size: u64,
    /// Writes, trims and zeroes are refused with `EPERM`.
    pub read_only: bool,
    /// The alignment and the sizes of requests.
    pub blocks: BlockSizes,
    /// A flush on one connection covers the writes that were answered on all others.
    pub multi_conn: bool,
    /// The device can refuse to write zeroes if that is not faster than writing data.
    pub fast_zero: bool,
    /// The device has platters.
    pub rotational: bool,
}

impl Export {
    /// An export of `size` bytes that may be written, with the default block sizes and nothing else.
    pub fn new(name: impl Into<String>, size: u64) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            size,
            read_only: false,
            blocks: BlockSizes::default(),
            multi_conn: false,
            fast_zero: false,
            rotational: false,
        }
    }

    /// Whether a client's name for an export means this one.
    pub(crate) fn answers_to(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    /// The flags that tell a client what it may send.
    pub(crate) fn transmission_flags(&self, structured: bool) -> u16 {
        use transmission as flag;
        let when = |condition: bool, flags: u16| if condition { flags } else { 0 };
        let writable = flag::SEND_FUA | flag::SEND_TRIM | flag::SEND_WRITE_ZEROES;
        flag::HAS_FLAGS
            | flag::SEND_FLUSH
            | flag::SEND_CACHE
            | when(self.read_only, flag::READ_ONLY)
            | when(!self.read_only, writable | when(self.fast_zero, flag::SEND_FAST_ZERO))
            | when(self.rotational, flag::ROTATIONAL)
            | when(structured, flag::SEND_DF)
            | when(self.multi_conn, flag::CAN_MULTI_CONN)
    }

    /// Says which field is impossible.
    pub(crate) fn check(&self, payload_bytes: u32) -> Result<(), String> {
        let BlockSizes { minimum, preferred, maximum } = self.blocks;
        let fail = |text: String| Err(text);
        if self.name.len() > MAX_STRING || self.description.len() > MAX_STRING {
            return fail(format!("its name and its description have at most {MAX_STRING} bytes each"));
        }
        if !minimum.is_power_of_two() || minimum > 1 << 16 {
            return fail(format!("minimum block size {minimum}: it must be a power of two up to 65536"));
        }
        if !preferred.is_power_of_two() || preferred < minimum.max(512) {
            return fail(format!(
                "preferred block size {preferred}: it must be a power of two, at least 512 and the minimum of {minimum}"
            ));
        }
        if maximum < preferred || !maximum.is_multiple_of(minimum) || maximum > payload_bytes {
            return fail(format!(
                "maximum block size {maximum}: it must be a multiple of the minimum of {minimum}, from {preferred} \
                 (the preferred size) to {payload_bytes} (the longest payload)"
            ));
        }
        if !self.size.is_multiple_of(u64::from(minimum)) || self.size > i64::MAX as u64 {
            return fail(format!("size {}: it must be a multiple of {minimum}, below 2^63", self.size));
        }
        Ok(())
    }
}

/// The longest string of the protocol.
pub(crate) const MAX_STRING: usize = 4096;

/// The constraints on requests that clients can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths are multiples of this power of two; other requests get `EINVAL`.
    pub minimum: u32,
    /// The size that is fast: a power of two.
    pub preferred: u32,
    /// The longest read or write.
    pub maximum: u32,
}

impl Default for BlockSizes {
    /// Any alignment, 4 KiB preferred, at most 32 MiB.
    fn default() -> Self {
        Self { minimum: 1, preferred: 4096, maximum: 32 << 20 }
    }
}
