//! Conversion between requests and the columns of formats (sectors, bytes, ops), and checks whether a format
//! can represent a request.

use crate::line::Flaw;
use crate::{Op, Request};

/// The usual sector.
pub(super) const SECTOR: u64 = 512;

/// The bytes of a run of sectors.
#[inline]
pub(super) fn extent(
    sector: u64,
    sectors: u64,
    sector_bytes: u64,
    names: [&'static str; 2],
) -> Result<(u64, u32), Box<Flaw>> {
    let Some(offset) = sector.checked_mul(sector_bytes) else {
        return Err(beyond(names[0], sector, "sectors"));
    };
    let length = sectors.checked_mul(sector_bytes).and_then(|length| u32::try_from(length).ok());
    match length {
        None => Err(too_long(names[1], sectors, "sectors")),
        Some(0) => Err(Flaw::new(names[1], "found 0; accepted: at least 1")),
        Some(length) if offset.checked_add(u64::from(length)).is_none() => {
            Err(beyond(names[0], sector, "sectors"))
        }
        Some(length) => Ok((offset, length)),
    }
}

/// The bytes of a request whose trace counts bytes, with the same checks.
#[inline]
pub(super) fn extent_of_bytes(
    offset: u64,
    length: u64,
    names: [&'static str; 2],
) -> Result<(u64, u32), Box<Flaw>> {
    extent(offset, length, 1, names)
}

#[cold]
pub(super) fn beyond(field: &'static str, found: u64, unit: &str) -> Box<Flaw> {
    Flaw::new(field, format!("found {found} ({unit}); accepted: requests that end below 2^64 bytes"))
}

#[cold]
pub(super) fn too_long(field: &'static str, found: u64, unit: &str) -> Box<Flaw> {
    Flaw::new(field, format!("found {found} ({unit}); accepted: requests below 4 GiB"))
}

/// Microseconds as nanoseconds.
#[inline]
pub(super) fn microseconds(field: &'static str, us: u64) -> Result<u64, Box<Flaw>> {
    us.checked_mul(1000).ok_or_else(|| {
        Flaw::new(field, format!("found {us}; accepted: microseconds, up to 2^64 nanoseconds"))
    })
}

/// The sectors of a request, if it covers whole ones.
pub(super) fn sectors_of(request: &Request) -> Result<(u64, u64), String> {
    let length = u64::from(request.length);
    if !request.offset.is_multiple_of(SECTOR) || length % SECTOR != 0 {
        return Err(format!(
            "{length} bytes at {} are no whole sectors of {SECTOR} bytes, which this format counts in",
            request.offset
        ));
    }
    Ok((request.offset / SECTOR, length / SECTOR))
}

/// The two op codes of formats that have no trim.
pub(super) fn read_or_write<T>(op: Op, read: T, write: T) -> Result<T, String> {
    match op {
        Op::Read => Ok(read),
        Op::Write => Ok(write),
        Op::Trim => Err("this format has no trims".into()),
        Op::Flush => Err("this format has no flushes".into()),
    }
}
