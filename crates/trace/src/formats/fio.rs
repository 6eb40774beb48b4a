//! The input and output logs of fio (`write_iolog`, `read_iolog`), versions 2 and 3.
//!
//! ## What it looks like
//! A text file; its first line names the version. Then one line per action, words separated by blanks: file,
//! action, and for actions on data offset and length. In version 3 each line begins with its time.
//! ```text
//! fio version 3 iolog
//! 2 /dev/sdb add
//! 872 /dev/sdb open
//! 878 /dev/sdb write 0 16384
//! 10001677 /dev/sdb close
//! ```
//! `read`, `write` and `trim` are requests; each file is a device. `sync` and `datasync` (fsync and
//! fdatasync) are flushes of the device. `add`, `open`, `close` and `unlink` move no data and are skipped; so
//! is `sync_file_range`, which waits for writes but flushes no cache, and a warning counts it. In version 2
//! time advances only at `wait`, to its offset; version 3 has no `wait`. There is no FUA. Names of files may have blanks.
//!
//! Without waits, as fio itself writes it, version 2 has no times: replay it with `--replay closed`.
//! flashkeep writes version 3, with files called `device0`, `device1`, ….
//!
//! ## Units
//! Times of version 3 in microseconds since the start of fio, as it writes and replays them. Waits of version 2 in
//! milliseconds since the start, as fio's program replays them: it continues as soon as that time has come, so that a
//! wait for an earlier time takes none. (Its manual says microseconds since the previous wait; a note says so.)
//! Offset and length in bytes.
//!
//! ## Source
//! Axboe: fio, its manual on the trace file format; version 3 is of 2022.

use std::cell::Cell;

use super::{Context, Device, Durability, Layout, Record, extent_of_bytes, microseconds, sample_lines};
use crate::line::{BLANKS, Flaw, Line, quoted};
use crate::{Op, Request};

/// Reads both versions, writes version 3.
pub(crate) struct Reader {
    version: FioVersion,
}

enum FioVersion {
    /// Milliseconds since the start, and whether there was a wait.
    Two(Cell<(u64, bool)>),
    Three,
}

const VERSION_2: &[u8] = b"fio version 2 iolog";
const VERSION_3: &[u8] = b"fio version 3 iolog";

impl Layout for Reader {
    const TICK_NS: u64 = 1000;
    const PASSED_OVER: &'static str = "sync_file_range actions, which flush no cache,";
    const DURABILITY: Durability = Durability { flushes: true, fua: false };
    const HEADER: &'static str = "fio version 3 iolog\n";

    fn new(context: &Context<'_>) -> Result<Self, String> {
        context.counts_its_own_units("fio", "bytes")?;
        match sample_lines(context.sample).next() {
            Some(VERSION_2) => Ok(Reader { version: FioVersion::Two(Cell::new((0, false))) }),
            Some(VERSION_3) => Ok(Reader { version: FioVersion::Three }),
            first => Err(format!(
                "no iolog of fio: its first line is {}; accepted: `fio version 2 iolog` or `fio version 3 iolog`",
                quoted(first.unwrap_or_default())
            )),
        }
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        if is_header(record) {
            return Ok(None);
        }
        let mut line = Line::<BLANKS>::new(record);
        let us = match &self.version {
            FioVersion::Three => line.integer("time")?,
            FioVersion::Two(waited) => waited.get().0 * 1000,
        };
        let start = line.position();
        let file = line.word("file", "a name")?;
        match self.action(us, file, &mut line) {
            Err(flaw) => self.behind_name(us, &record[start..], flaw),
            done => done,
        }
    }

    /// All actions but `sync_file_range`.
    fn is_expected(&self, record: &[u8]) -> bool {
        is_header(record) || !record.split(u8::is_ascii_whitespace).any(|word| word == SYNC_RANGE)
    }

    fn clock_note(&self) -> Option<&'static str> {
        match &self.version {
            FioVersion::Two(waited) if waited.get().1 => Some(
                "waits are taken as milliseconds since the start, as fio's program does; fio's manual says microseconds \
                 since the previous wait. Requests between two waits arrive at the same instant",
            ),
            FioVersion::Two(_) => Some(
                "an iolog of version 2 without waits has no times: all its requests arrive at the same instant; \
                 --replay closed issues them one after the other",
            ),
            _ => None,
        }
    }

    fn introduce(request: &Request, out: &mut Vec<u8>) {
        let (us, device) = (request.arrival_ns / 1000, request.device);
        out.extend_from_slice(format!("{us} device{device} add\n{us} device{device} open\n").as_bytes());
    }

    /// Version 3. Times lose digits finer than 1 µs.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let action = match request.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "sync",
        };
        let us = request.arrival_ns / 1000;
        let Request { device, offset, length, .. } = request;
        out.extend_from_slice(format!("{us} device{device} {action} {offset} {length}\n").as_bytes());
        Ok(())
    }
}

impl Reader {
    /// The action after the name of a file.
    #[inline]
    fn action<'a>(
        &self,
        us: u64,
        file: &'a [u8],
        line: &mut Line<'_, BLANKS>,
    ) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let op = match line.word("action", ACTIONS)? {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => {
                return Ok(Some(Record::flush(microseconds("time", us)?, Device::Name(file))));
            }
            b"wait" => return self.wait(line),
            SYNC_RANGE => return Ok(None),
            other if FILES.contains(&other) => return Ok(None),
            other => return Err(Flaw::found("action", other, ACTIONS)),
        };
        let offset = line.integer("offset")?;
        let bytes = line.integer("length")?;
        line.end("file, action, offset, length")?;
        let time_ns = microseconds("time", us)?;
        let (offset, length) = extent_of_bytes(offset, bytes, ["offset", "length"])?;
        Ok(Some(Record::new(time_ns, Device::Name(file), (offset, length), op)))
    }

    /// The same where the name has blanks: it ends before the last word from which the rest of the line is an action.
    #[cold]
    fn behind_name<'a>(
        &self,
        us: u64,
        rest: &'a [u8],
        flaw: Box<Flaw>,
    ) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let ends = (1..rest.len()).rev().filter(|&at| rest[at] == b' ');
        let named = |at: usize| {
            let is_action = |word: &[u8]| FILES.contains(&word) || MOVES.contains(&word);
            let word = rest[at..].split(u8::is_ascii_whitespace).find(|word| !word.is_empty())?;
            is_action(word)
                .then(|| self.action(us, rest[..at].trim_ascii_end(), &mut Line::new(&rest[at..])).ok())?
        };
        ends.filter_map(named).next().ok_or(flaw)
    }

    /// A wait advances the time.
    #[cold]
    fn wait<'a>(&self, line: &mut Line<'_, BLANKS>) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let FioVersion::Two(waited) = &self.version else {
            return Err(Flaw::found("action", b"wait", "a time at each action, as version 3 has it"));
        };
        let ms = line.integer("offset")?;
        let us = ms.checked_mul(1000).filter(|&us| microseconds("", us).is_ok());
        us.ok_or_else(|| {
            Flaw::new("offset", format!("found {ms}; accepted: milliseconds, less than 2^64 nanoseconds"))
        })?;
        waited.set((waited.get().0.max(ms), true));
        Ok(None)
    }
}

/// Files of several logs may have been joined.
#[inline]
fn is_header(record: &[u8]) -> bool {
    record.len() == VERSION_3.len() && (record == VERSION_3 || record == VERSION_2)
}

const FILES: [&[u8]; 4] = [b"add", b"open", b"close", b"unlink"];
const MOVES: [&[u8]; 7] = [b"read", b"write", b"trim", b"sync", b"datasync", b"wait", SYNC_RANGE];
const SYNC_RANGE: &[u8] = b"sync_file_range";
const ACTIONS: &str = "read, write, trim, wait, sync, datasync, sync_file_range, add, open, close or unlink";

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(version: u8) -> Reader {
        let header = format!("fio version {version} iolog\n");
        Reader::new(&Context { sample: header.as_bytes(), ..Context::default() }).unwrap()
    }

    fn request(reader: &Reader, line: &str) -> Option<(u64, u64, u32, Op)> {
        let record = reader.parse(line.as_bytes()).unwrap();
        record.map(|record| (record.time_ns, record.offset, record.length, record.op))
    }

    fn flaw(version: u8, line: &str) -> String {
        let flaw = reader(version).parse(line.as_bytes()).err().expect("a bad record");
        format!("{}: {}", flaw.field.unwrap_or_default(), flaw.message)
    }

    #[test]
    fn version_3_has_times() {
        let reader = reader(3);
        assert_eq!(
            request(&reader, "878 /dev/sdb write 8192 16384"),
            Some((878_000, 8192, 16_384, Op::Write))
        );
        assert_eq!(request(&reader, "879 /dev/sdb trim 0 512"), Some((879_000, 0, 512, Op::Trim)));
        for line in ["2 /dev/sdb add", "3 /dev/sdb open", "fio version 3 iolog", "9 /dev/sdb close"] {
            assert_eq!(request(&reader, line), None);
            assert!(reader.is_expected(line.as_bytes()), "{line}");
        }
        for line in ["9 /dev/sdb sync 0 0", "9 /dev/sdb datasync 0 4096", "9 /dev/sdb sync"] {
            assert_eq!(request(&reader, line), Some((9000, 0, 0, Op::Flush)), "{line}");
        }
        let range = "9 x sync_file_range 0 4096";
        assert_eq!(request(&reader, range), None);
        assert!(!reader.is_expected(range.as_bytes()));
        assert_eq!(reader.clock_note(), None);
    }

    #[test]
    fn version_2_waits_until_milliseconds_since_the_start() {
        let reader = reader(2);
        assert_eq!(request(&reader, "/dev/sdb read 0 4096"), Some((0, 0, 4096, Op::Read)));
        assert!(reader.clock_note().unwrap().contains("no times"));
        assert_eq!(request(&reader, "/dev/sdb wait 150 0"), None);
        assert_eq!(request(&reader, "/dev/sdb wait 50"), None, "that time has come");
        assert_eq!(request(&reader, "/dev/sdb read 0 4096"), Some((150_000_000, 0, 4096, Op::Read)));
        assert!(reader.clock_note().unwrap().contains("fio's manual says microseconds"));
    }

    #[test]
    fn names_may_have_blanks() {
        let reader = reader(3);
        for (line, name) in [("7 /a b write 8 512", "/a b"), ("7 /my read me read 8 512", "/my read me")] {
            let record = reader.parse(line.as_bytes()).unwrap().unwrap();
            assert!(matches!(record.device, Device::Name(found) if found == name.as_bytes()), "{line}");
            assert_eq!((record.offset, record.length), (8, 512));
        }
        assert_eq!(request(&reader, "7 /a b open"), None);
        assert_eq!(request(&reader, "7 /a b datasync 0 0").unwrap().3, Op::Flush);
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert!(
            flaw(3, "1 /dev/sdb erase 0 512").starts_with("action: found `erase`; accepted: read, write")
        );
        assert_eq!(flaw(3, "1 /dev/sdb read 0 0"), "length: found 0; accepted: at least 1");
        assert!(flaw(3, "1 /dev/sdb read 0").starts_with("length: missing"));
        assert!(flaw(3, "/dev/sdb read 0 512").starts_with("time: found `/dev/sdb`"));
        assert!(flaw(3, "1 /dev/sdb wait 5 0").contains("a time at each action"));
        assert!(flaw(3, "1 /dev/sdb read 0 512 9").contains("too many fields"));
        assert!(flaw(2, "/dev/sdb wait 18446744073709551615").starts_with("offset: found 1844"));
        let other = Reader::new(&Context { sample: b"0 0 8 8 1\n", ..Context::default() }).err().unwrap();
        assert!(other.contains("its first line is `0 0 8 8 1`; accepted: `fio version 2 iolog`"), "{other}");
    }

    #[test]
    fn what_is_written_is_read_back() {
        for op in [Op::Read, Op::Write, Op::Trim] {
            let mut out = Vec::new();
            let sent =
                Request { arrival_ns: 7000, offset: 4097, length: 513, device: 3, op, fua: false, handle: 0 };
            Reader::introduce(&sent, &mut out);
            assert_eq!(out, b"7 device3 add\n7 device3 open\n");
            out.clear();
            Reader::write(&sent, &mut out).unwrap();
            let line = std::str::from_utf8(out.trim_ascii()).unwrap();
            assert_eq!(request(&reader(3), line), Some((7000, 4097, 513, op)));
        }
        let mut out = Vec::new();
        Reader::write(&Request::flush(7000, 3), &mut out).unwrap();
        assert_eq!(out, b"7 device3 sync 0 0\n");
    }
}
