//! The placement handles that writes can name, and handles by address (`--handle A..B=H`): for traces that name none, and
//! for clients of a served drive.

use crate::error::Error;
use std::ops::Range;

/// The placement handles of a drive.
#[derive(Clone, Copy, Debug)]
pub struct Handles {
    count: u8,
    /// Handles that the drive lacks are taken for 0.
    ignores_others: bool,
}

impl Handles {
    /// This many handles, from 0.
    #[must_use]
    pub fn new(count: u8, ignores_others: bool) -> Handles {
        Handles { count, ignores_others }
    }

    /// Whether writes can name another handle than 0.
    #[must_use]
    pub fn are_several(self) -> bool {
        self.count > 1
    }

    /// The handle of a write that names this one; none if the drive lacks it.
    #[inline]
    #[must_use]
    pub fn take(self, named: u32) -> Option<u8> {
        if named < u32::from(self.count) { Some(named as u8) } else { self.ignores_others.then_some(0) }
    }

    /// What an error says of the handles that are accepted.
    #[must_use]
    pub fn accepted(self) -> String {
        let Handles { count, .. } = self;
        let range = if count == 1 { "only 0 is".to_owned() } else { format!("0 to {} are", count - 1) };
        format!("{range} accepted with ftl.handles = {count}")
    }
}

/// The handles of ranges of the device's addresses, in bytes, ascending.
#[derive(Clone, Debug, Default)]
pub struct HandleRanges {
    ranges: Vec<(Range<u64>, u8)>,
}

impl HandleRanges {
    /// The ranges of these options, of a device of `capacity` bytes with these handles.
    ///
    /// # Errors
    /// A text that is not `A..B=H`; an empty range, one that overlaps another, or one that begins outside of the device; a
    /// handle that the drive lacks.
    pub fn new(given: &[String], capacity: u64, handles: Handles) -> Result<Self, Error> {
        let mut ranges = Vec::new();
        for text in given {
            let (range, handle) = parsed(text).ok_or_else(|| {
                refused(format!(
                    "found `{text}`; accepted: two addresses and a handle, such as 48MiB..1GiB=1 or 1GiB..=2"
                ))
            })?;
            if range.start >= range.end.min(capacity) {
                let what =
                    if range.start >= capacity { "begins after the device's last byte" } else { "is empty" };
                return Err(refused(format!("`{text}` {what} (it has {capacity} bytes)")));
            }
            let handle = handles.take(handle);
            ranges.push((range, handle.ok_or_else(|| refused(format!("`{text}`: {}", handles.accepted())))?));
        }
        ranges.sort_by_key(|(range, _)| range.start);
        if let Some(pair) = ranges.windows(2).find(|pair| pair[0].0.end > pair[1].0.start) {
            return Err(refused(format!("two ranges contain address {}", pair[1].0.start)));
        }
        Ok(HandleRanges { ranges })
    }

    /// The handle of an address, if it is in one of the ranges.
    #[inline]
    #[must_use]
    pub fn at(&self, address: u64) -> Option<u8> {
        if self.ranges.is_empty() {
            return None;
        }
        let after = self.ranges.partition_point(|(range, _)| range.start <= address);
        let (range, handle) = self.ranges.get(after.checked_sub(1)?)?;
        range.contains(&address).then_some(*handle)
    }
}

fn refused(why: String) -> Error {
    Error::Option(format!("--handle: {why}"))
}

/// `A..B=H`; either address may be left out.
fn parsed(text: &str) -> Option<(Range<u64>, u32)> {
    let (range, handle) = text.split_once('=')?;
    let (from, to) = range.split_once("..")?;
    let address = |text: &str, left_out: u64| match text {
        "" => Some(left_out),
        "0" => Some(0),
        text => flashkeep_trace::size(text),
    };
    Some((address(from, 0)?..address(to, u64::MAX)?, handle.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(given: &[&str]) -> Result<HandleRanges, String> {
        let given: Vec<String> = given.iter().map(|&text| text.to_owned()).collect();
        HandleRanges::new(&given, 1 << 20, Handles::new(3, false)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_handle_that_the_drive_lacks_is_refused_or_ignored() {
        let (strict, lenient) = (Handles::new(3, false), Handles::new(3, true));
        assert_eq!(
            [0, 2, 3, 256, u32::MAX].map(|named| strict.take(named)),
            [Some(0), Some(2), None, None, None]
        );
        assert_eq!([2, 3, 256].map(|named| lenient.take(named)), [Some(2), Some(0), Some(0)]);
        assert_eq!(strict.accepted(), "0 to 2 are accepted with ftl.handles = 3");
        assert_eq!(Handles::new(1, false).accepted(), "only 0 is accepted with ftl.handles = 1");
    }

    #[test]
    fn an_address_has_the_handle_of_its_range() {
        let found = ranges(&["8KiB..64KiB=1", "..4KiB=2", "512KiB..=0"]).expect("three ranges");
        let at = [0, 4095, 4096, 8191, 8192, 65_535, 65_536, 1 << 19, (1 << 20) - 1].map(|at| found.at(at));
        let [zero, one, two] = [0, 1, 2].map(Some);
        assert_eq!(at, [two, two, None, None, one, one, None, zero, zero]);
        assert_eq!(HandleRanges::default().at(0), None);
    }

    #[test]
    fn ranges_say_what_is_wrong_with_them() {
        for (given, why) in [
            (&["4KiB..8KiB"][..], "accepted: two addresses and a handle"),
            (&["4KiB=1"], "accepted: two addresses and a handle"),
            (&["0..4KiB=x"], "accepted: two addresses and a handle"),
            (&["0..4KiB=3"], "0 to 2 are accepted with ftl.handles = 3"),
            (&["8KiB..4KiB=1"], "is empty"),
            (&["1MiB..2MiB=1"], "begins after the device's last byte"),
            (&["0..8KiB=1", "4KiB..=2"], "two ranges contain address 4096"),
        ] {
            let error = ranges(given).expect_err("refused");
            assert!(error.contains(why), "{error}");
        }
    }
}
