//! Maps the addresses of a trace's devices to the drive.

use crate::engine::FixedMap;
use flashkeep_trace::Request;

/// Extents that [`AddressMode::Compact`] places.
const EXTENT: u64 = 1 << 20;

/// A range of bytes of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub offset: u64,
    /// Their number.
    pub length: u64,
}

/// How addresses of the trace become addresses of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// Addresses are used unchanged; a request beyond the end or of a second device is an error.
    AsIs,
    /// Addresses are taken modulo the capacity, as older simulators do.
    Wrap,
    /// Extents of 1 MiB are placed at first touch; devices are kept apart.
    Compact,
}

/// The reason why a request has no place on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// The request ends beyond the drive, at this byte.
    Beyond(u64),
    /// The request is of a second device, and no option says where that is placed.
    SecondDevice,
    /// The workload touches more extents than the drive has.
    Full,
}

/// The addresses of one drive.
#[derive(Debug)]
pub struct Addresses {
    capacity: u64,
    placement: AddressMode,
    merge_devices: bool,
    extents: FixedMap<(u32, u64), u64>,
    placed: u64,
    /// Requests whose address was taken modulo the capacity.
    overlapping: u64,
}

impl Addresses {
    /// The addresses of a drive of `capacity` bytes.
    #[must_use]
    pub fn new(capacity: u64, placement: AddressMode, merge_devices: bool) -> Self {
        Addresses {
            capacity,
            placement,
            merge_devices,
            extents: FixedMap::default(),
            placed: 0,
            overlapping: 0,
        }
    }

    /// Requests whose address was taken modulo the capacity.
    #[must_use]
    pub fn overlapping(&self) -> u64 {
        self.overlapping
    }

    /// The same places with all counts at zero: for reading the workload again.
    #[must_use]
    pub fn rewound(&mut self) -> Addresses {
        let extents = std::mem::take(&mut self.extents);
        let fresh = Addresses::new(self.capacity, self.placement, self.merge_devices);
        Addresses { extents, placed: self.placed, ..fresh }
    }

    /// Replaces `ranges` by where a request lies on the drive: one range, or several if its extents are not adjacent.
    ///
    /// # Errors
    /// [`AddressError`] if it has no place.
    #[inline]
    pub fn place(&mut self, request: &Request, ranges: &mut Vec<Range>) -> Result<(), AddressError> {
        ranges.clear();
        let (offset, length) = (request.offset, u64::from(request.length));
        if request.device > 0 && !self.merge_devices && self.placement != AddressMode::Compact {
            return Err(AddressError::SecondDevice);
        }
        match self.placement {
            AddressMode::AsIs if offset + length > self.capacity => {
                return Err(AddressError::Beyond(offset + length));
            }
            AddressMode::AsIs => ranges.push(Range { offset, length }),
            AddressMode::Wrap => self.wrap(offset, length, ranges),
            AddressMode::Compact => self.compact(request, ranges)?,
        }
        Ok(())
    }

    fn wrap(&mut self, offset: u64, length: u64, ranges: &mut Vec<Range>) {
        self.overlapping += u64::from(offset + length > self.capacity);
        let (mut at, mut left) = (offset % self.capacity, length);
        while left > 0 {
            let length = left.min(self.capacity - at);
            ranges.push(Range { offset: at, length });
            left -= length;
            at = 0;
        }
    }

    fn compact(&mut self, request: &Request, ranges: &mut Vec<Range>) -> Result<(), AddressError> {
        let device = if self.merge_devices { 0 } else { request.device };
        let (mut at, mut left) = (request.offset, u64::from(request.length));
        while left > 0 {
            let (extent, within) = (at / EXTENT, at % EXTENT);
            let length = left.min(EXTENT - within);
            let fresh = self.placed;
            let place = *self.extents.entry((device, extent)).or_insert(fresh);
            self.placed += u64::from(place == fresh);
            let offset = place * EXTENT + within;
            if offset + length > self.capacity {
                return Err(AddressError::Full);
            }
            match ranges.last_mut() {
                Some(last) if last.offset + last.length == offset => last.length += length,
                _ => ranges.push(Range { offset, length }),
            }
            at += length;
            left -= length;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashkeep_trace::Op;

    fn at(device: u32, offset: u64, length: u32) -> Request {
        Request { arrival_ns: 0, offset, length, device, op: Op::Read, fua: false, handle: 0 }
    }

    fn placed(addresses: &mut Addresses, request: &Request) -> Result<Vec<Range>, AddressError> {
        let mut ranges = Vec::new();
        addresses.place(request, &mut ranges).map(|()| ranges)
    }

    #[test]
    fn as_is_refuses_what_does_not_fit() {
        let mut addresses = Addresses::new(1000, AddressMode::AsIs, false);
        assert_eq!(placed(&mut addresses, &at(0, 990, 10)).unwrap(), [Range { offset: 990, length: 10 }]);
        assert_eq!(placed(&mut addresses, &at(0, 990, 11)), Err(AddressError::Beyond(1001)));
        assert_eq!(placed(&mut addresses, &at(1, 0, 10)), Err(AddressError::SecondDevice));
    }

    #[test]
    fn wrap_comes_round_and_counts() {
        let mut addresses = Addresses::new(1000, AddressMode::Wrap, true);
        let pieces = [Range { offset: 990, length: 10 }, Range { offset: 0, length: 5 }];
        assert_eq!(placed(&mut addresses, &at(3, 1990, 15)).unwrap(), pieces);
        assert_eq!(addresses.overlapping(), 1);
    }

    #[test]
    fn compact_keeps_devices_apart_and_neighbours_together() {
        let mut addresses = Addresses::new(3 << 20, AddressMode::Compact, false);
        let far = 77 << 20;
        assert_eq!(placed(&mut addresses, &at(0, far + 4, 8)).unwrap(), [Range { offset: 4, length: 8 }]);
        assert_eq!(
            placed(&mut addresses, &at(5, far + 4, 8)).unwrap(),
            [Range { offset: EXTENT + 4, length: 8 }]
        );
        let across = [Range { offset: EXTENT - 4, length: 4 }, Range { offset: 2 * EXTENT, length: 4 }];
        assert_eq!(placed(&mut addresses, &at(0, far + EXTENT - 4, 8)).unwrap(), across);
        assert_eq!(placed(&mut addresses, &at(9, 0, 8)), Err(AddressError::Full));
    }
}
