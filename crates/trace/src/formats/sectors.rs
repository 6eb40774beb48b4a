//! The size of a trace's sectors, found from its addresses and sizes.
//!
//! Traces for MQSim have been renumbered to other units than sectors of 512 bytes. The unit shows: file systems and
//! databases access pages of 4 KiB, so the greatest common divisor of all addresses and sizes is the number of sectors
//! in such a page. With sectors of 512 bytes that is 8, with sectors of 64 bytes 64; 512 or more means bytes.

/// With fewer requests the size is not looked for.
const ENOUGH_REQUESTS: usize = 100;

/// A smaller divisor may be that of larger pages: 32 sectors of 512 bytes are a page of 16 KiB.
const DIVISOR_MIN: u64 = 64;

/// The divisor for which bytes are more likely than sectors smaller than 16 bytes.
const DIVISOR_OF_BYTES: u64 = 512;

/// What most hosts access at least.
const PAGE_BYTES: u64 = 4096;

/// Requests of fewer different sizes may have been made with large sizes on purpose.
const SIZES_MIN: usize = 4;

/// The bytes of a sector if `divisor`, the largest power of two that divides all addresses and sizes, shows that it is
/// not 512.
pub(crate) fn likely_sector_bytes(divisor: u64) -> Option<u64> {
    match divisor {
        ..DIVISOR_MIN => None,
        DIVISOR_OF_BYTES.. => Some(1),
        _ => Some(PAGE_BYTES / divisor),
    }
}

/// The bytes of a sector, from first sector and number of sectors of requests; `None` if they show no other size than
/// 512. The smallest request must be a page, and the requests of several sizes.
pub(super) fn find(requests: impl Iterator<Item = (u64, u64)>) -> Option<u64> {
    let (mut count, mut bits, mut smallest) = (0, 0, u64::MAX);
    let mut sizes = Vec::new();
    for (sector, sectors) in requests {
        count += 1;
        bits |= sector | sectors;
        smallest = smallest.min(sectors);
        if sizes.len() < SIZES_MIN && !sizes.contains(&sectors) {
            sizes.push(sectors);
        }
    }
    if count < ENOUGH_REQUESTS || sizes.len() < SIZES_MIN {
        return None;
    }
    let divisor = 1_u64.checked_shl(bits.trailing_zeros()).unwrap_or(0);
    let bytes = likely_sector_bytes(divisor)?;
    (smallest == divisor || bytes == 1).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of 1 to `sizes` times `unit`, at multiples of it.
    fn found(count: u64, unit: u64, sizes: u64) -> Option<u64> {
        find((0..count).map(|n| (n * 7 * unit, (1 + n % sizes) * unit)))
    }

    #[test]
    fn the_divisor_tells_the_size() {
        assert_eq!(found(200, 64, 16), Some(64), "Exchange");
        assert_eq!(found(200, 128, 16), Some(32));
        for bytes in [512, 4096] {
            assert_eq!(found(200, bytes, 16), Some(1), "{bytes}: bytes");
        }
    }

    #[test]
    fn what_512_bytes_explain_is_left() {
        assert_eq!(found(200, 1, 16), None);
        assert_eq!(found(200, 8, 16), None);
        assert_eq!(found(200, 32, 16), None, "pages of 16 KiB");
        assert_eq!(found(99, 64, 16), None, "too few");
        assert_eq!(found(200, 64, 3), None, "made with large sizes");
        assert_eq!(find((0..200).map(|n| (n * 64, (2 + n % 8) * 64))), None, "no page alone");
    }
}
