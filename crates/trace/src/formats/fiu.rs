//! The traces of Florida International University (home directories, mail, web and other servers, 2008 to 2009).
//!
//! ## What it looks like
//! A text file; one line per request, nine fields separated by blanks: time, process, its name, first block, number of
//! blocks, `W` or `R`, major and minor number of the device, and the MD5 of the content.
//! ```text
//! 89967195015098 3243 syslogd 904265560 8 W 6 0 531e779ff1ae7e4cb6a5d3ac5b2de7a4
//! ```
//! Each pair of major and minor number is a device. The hash is not used, and may be missing. There are no trims.
//! The days of a recording are files of their own, with one clock: give all of them, in order.
//!
//! ## Units
//! Time in nanoseconds; blocks of 512 bytes, or as `--sector-bytes` says.
//!
//! ## Source
//! Koller and Rangaswami: I/O deduplication: utilizing content similarity to improve I/O performance. FAST 2010; the
//! traces are at SNIA's IOTTA repository.

use super::{Context, Device, Layout, Record, extent, read_or_write, sectors_of};
use crate::line::{BLANKS, Flaw, Line};
use crate::{Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader {
    sector_bytes: u64,
}

const OPS: &str = "W or R";
const FIELDS: &str = "time, process, name, block, blocks, op, major, minor, hash";

impl Layout for Reader {
    fn new(context: &Context<'_>) -> Result<Self, String> {
        Ok(Reader { sector_bytes: context.sector_bytes() })
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        let mut line = Line::<BLANKS>::new(record);
        let time_ns = line.integer("time")?;
        line.integer("process")?;
        line.skip();
        let rest = &record[line.position()..];
        match self.request(time_ns, rest) {
            Ok(request) => Ok(Some(request)),
            Err(flaw) => self.behind_name(time_ns, rest, flaw).map(Some),
        }
    }

    /// The process has number 0, the content no hash.
    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        let (sector, sectors) = sectors_of(request)?;
        let op = read_or_write(request.op, 'R', 'W')?;
        let (time, minor) = (request.arrival_ns, u64::from(request.device) * 16);
        let line = format!("{time} 0 flashkeep {sector} {sectors} {op} 8 {minor} {:032}\n", 0);
        out.extend_from_slice(line.as_bytes());
        Ok(())
    }
}

impl Reader {
    /// The fields after the name of the process.
    #[inline]
    fn request<'a>(&self, time_ns: u64, rest: &'a [u8]) -> Result<Record<'a>, Box<Flaw>> {
        let mut line = Line::<BLANKS>::new(rest);
        let sector = line.integer("block")?;
        let sectors = line.integer("blocks")?;
        let op = match line.word("op", OPS)? {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            word if word.eq_ignore_ascii_case(b"read") => Op::Read,
            word if word.eq_ignore_ascii_case(b"write") => Op::Write,
            other => return Err(Flaw::found("op", other, OPS)),
        };
        let start = line.position();
        line.integer("major")?;
        line.integer("minor")?;
        let device = rest[start..line.position()].trim_ascii_end();
        line.skip();
        line.end(FIELDS)?;
        let (offset, length) = extent(sector, sectors, self.sector_bytes, ["block", "blocks"])?;
        Ok(Record::new(time_ns, Device::Name(device), (offset, length), op))
    }

    /// The same where the name of the process has blanks: the fields are those from which the rest of the line reads.
    #[cold]
    fn behind_name<'a>(
        &self,
        time_ns: u64,
        rest: &'a [u8],
        flaw: Box<Flaw>,
    ) -> Result<Record<'a>, Box<Flaw>> {
        let starts = (1..rest.len()).filter(|&at| rest[at - 1] == b' ' && rest[at].is_ascii_digit());
        starts.filter_map(|at| self.request(time_ns, &rest[at..]).ok()).next().ok_or(flaw)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flaw, flaws_of, record};
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let line = b"89967195015098 3243 syslogd 904265560 8 W 6 0 531e779ff1ae7e4cb6a5d3ac5b2de7a4";
        let request = record::<Reader>(line);
        assert_eq!((request.arrival_ns, request.offset), (89_967_195_015_098, 904_265_560 * 512));
        assert_eq!((request.length, request.op), (4096, Op::Write));
        let reader = Reader { sector_bytes: 512 };
        assert!(matches!(reader.parse(line).unwrap().unwrap().device, Device::Name(b"6 0")));
        for line in ["7 1 Web Content 16 8 R 8 1 0", "7 1 nfsd 4 16 8 R 8 1", "7 1 a 16 8 read 8 1"] {
            let request = record::<Reader>(line.as_bytes());
            assert_eq!((request.offset, request.length, request.op), (8192, 4096, Op::Read), "{line}");
        }
    }

    #[test]
    fn bad_lines_name_the_field() {
        assert_eq!(flaw::<Reader>(b"7 1 a 16 8 X 8 1 0"), "op: found `X`; accepted: W or R");
        assert_eq!(flaw::<Reader>(b"7 1 a 16 0 R 8 1 0"), "blocks: found 0; accepted: at least 1");
        assert!(flaw::<Reader>(b"7 1 a 16 8 R 8").starts_with("minor: missing"));
        assert!(flaw::<Reader>(b"-7 1 a 16 8 R 8 1 0").starts_with("time: found `-7`"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = Vec::new();
        let sent = Request {
            arrival_ns: 7,
            offset: 4096,
            length: 512,
            device: 3,
            op: Op::Write,
            fua: false,
            handle: 0,
        };
        Reader::write(&sent, &mut out).unwrap();
        assert_eq!(record::<Reader>(out.trim_ascii()), Request { device: 0, ..sent });
        flaws_of::<Reader>(&["offset 1", "trim"]);
    }
}
