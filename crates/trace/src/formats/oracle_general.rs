//! The binary traces of libCacheSim (`oracleGeneral`): requests for objects of caches.
//!
//! ## What it looks like
//! Records of 24 bytes, little-endian, without a header:
//! ```text
//! at  0  u32  time
//! at  4  u64  object
//! at 12  u32  bytes
//! at 16  i64  number of the record that asks for the object next, -1 if none does
//! ```
//! The format has neither ops nor addresses. Each record is a read of a whole object; the objects lie one behind the
//! other in the order of their first appearance, at multiples of 4 KiB; a note says so. Records of 0 bytes are skipped
//! and counted. flashkeep does not write the format.
//!
//! ## Units
//! Time in seconds, sizes in bytes. All requests of a second arrive at the same instant.
//!
//! ## Source
//! Yang: libCacheSim, 2020, its reader oracleGeneral; Yang, Yue and Rashmi: A large scale analysis of hundreds of
//! in-memory cache clusters at Twitter. OSDI 2020.

use super::objects::Places;
use super::{Context, Device, Framing, Layout, Record, SCORED, Score, extent_of_bytes, score};
use crate::line::Flaw;
use crate::{Op, Request};

/// Reads the format.
#[derive(Default)]
pub(crate) struct Reader {
    places: Places,
}

const BYTES: usize = 24;
const SECOND_NS: u64 = 1_000_000_000;

impl Layout for Reader {
    const IS_TEXT: bool = false;
    const IS_WRITTEN: bool = false;
    const TICK_NS: u64 = SECOND_NS;
    const PASSED_OVER: &'static str = "records of 0 bytes";

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("oracle-general", "bytes").map(|()| Reader::default())
    }

    fn framing(&self) -> Framing {
        Framing::Fixed(BYTES)
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let (seconds, id, bytes, next) = fields(record);
        if next < -1 && next != i64::MIN {
            return Err(Flaw::new(
                "next access",
                format!("found {next}; accepted: a number of a record, or -1"),
            ));
        }
        if bytes == 0 {
            return Ok(None);
        }
        let place = self.places.of(id, bytes.into()).ok_or_else(|| {
            Flaw::new("bytes", "the objects have more than 2^63 bytes together; accepted: fewer")
        })?;
        let (offset, length) = extent_of_bytes(place, bytes.into(), ["object", "bytes"])?;
        Ok(Some(Record::new(u64::from(seconds) * SECOND_NS, Device::Number(0), (offset, length), Op::Read)))
    }

    fn clock_note(&self) -> Option<&'static str> {
        Some(
            "the format has no ops, no addresses and a clock of 1 s: each record is a read of a whole object, objects lie \
             in order of first appearance, and all requests of a second arrive at the same instant",
        )
    }

    fn write(_: &Request, _: &mut Vec<u8>) -> Result<(), String> {
        Err("flashkeep does not write this format, which has no addresses".into())
    }

    /// There is no mark: times must not fall, and the record that a next access names must ask for the same object.
    fn score(sample: &[u8]) -> Score {
        let records: Vec<(u32, u64, u32, i64)> = sample.chunks_exact(BYTES).map(fields).collect();
        // A shorter trace must have whole records.
        if sample.len() < 32 * 1024 && !sample.len().is_multiple_of(BYTES) || sample.is_ascii() {
            return Score::default();
        }
        let mut confirmed = 0;
        let sound = records.iter().zip(0_i64..).all(|(&(seconds, id, bytes, next), at)| {
            let before = if at == 0 { 0 } else { records[at as usize - 1].0 };
            // Numbers count from 0 or 1.
            let named =
                |at: i64| usize::try_from(at).ok().and_then(|at| records.get(at)).map(|record| record.1);
            let is_same = match (named(next - 1), named(next)) {
                _ if next == -1 || next == i64::MAX => true,
                (None, _) | (_, None) => next > at,
                (one, other) => {
                    confirmed += 1;
                    one == Some(id) || other == Some(id)
                }
            };
            seconds >= before && bytes < 1 << 30 && is_same
        });
        score(sample.chunks_exact(BYTES).take(SCORED), |_| {
            sound && (confirmed > 0 || sample.len() >= 32 * 1024)
        })
    }
}

#[inline]
fn fields(record: &[u8]) -> (u32, u64, u32, i64) {
    let seconds = u32::from_le_bytes(std::array::from_fn(|byte| record[byte]));
    let id = u64::from_le_bytes(std::array::from_fn(|byte| record[4 + byte]));
    let bytes = u32::from_le_bytes(std::array::from_fn(|byte| record[12 + byte]));
    let next = i64::from_le_bytes(std::array::from_fn(|byte| record[16 + byte]));
    (seconds, id, bytes, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seconds: u32, id: u64, bytes: u32, next: i64) -> Vec<u8> {
        [&seconds.to_le_bytes()[..], &id.to_le_bytes(), &bytes.to_le_bytes(), &next.to_le_bytes()].concat()
    }

    #[test]
    fn an_object_is_a_request() {
        let reader = Reader::default();
        let of = |bytes: &[u8]| {
            let record = reader.parse(bytes).unwrap().unwrap();
            (record.time_ns, record.offset, record.length, record.op)
        };
        assert_eq!(of(&record(5, 77, 100, 3)), (5 * SECOND_NS, 0, 100, Op::Read));
        assert_eq!(of(&record(6, 78, 5000, -1)), (6 * SECOND_NS, 4096, 5000, Op::Read));
        assert_eq!(of(&record(7, 77, 100, -1)).1, 0);
        assert!(reader.parse(&record(7, 77, 0, -1)).unwrap().is_none());
        assert!(reader.parse(&record(7, 77, 1, -5)).is_err());
    }

    #[test]
    fn it_is_known_by_its_numbers() {
        let sample =
            [record(5, 77, 100, 2), record(6, 78, 5000, -1), record(7, 77, 100, 3), record(7, 77, 100, -1)]
                .concat();
        assert_eq!(crate::Format::detect("t", &sample), Ok(crate::Format::OracleGeneral));
        let back = [record(7, 77, 100, 3), record(6, 78, 5000, -1)].concat();
        assert!(crate::Format::detect("t", &back).is_err(), "times fall");
    }
}
