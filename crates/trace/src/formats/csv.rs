//! Any table in a text, with a map of its columns.
//!
//! ## What it looks like
//! One line per request, columns in any order, with any others between them. Commas, semicolons, tabs, or blanks are
//! between columns: those with which most lines can be read, or `separator=comma|semicolon|tab|blank` in the map. `--columns`
//! maps them: for each of `time`, `op`, `offset`, `size` and, where they matter, `device` and `handle` its column,
//! counted from 0 or named as in the first line, and its unit.
//! ```text
//! --format csv --columns time=0:us,op=3,offset=1:sectors,size=2:B,device=4
//! --format csv --columns time=Timestamp:s,op=IOType:read=0/write=1,offset=Offset:sectors,size=Size:sectors
//! ```
//! | field | units | where none is given |
//! |---|---|---|
//! | `time` | `ns`, `us`, `ms`, `s`, `filetime` (100 ns), with decimals | required |
//! | `offset`, `size` | `B`, `KiB`, `MiB`, `sectors` (of 512 bytes, or as `--sector-bytes` says) | `B` |
//! | `op` | `read=WORD/write=WORD/trim=WORD/flush=WORD/fua=WORD`, any number of words, regardless of case | R or Read, W or Write, T, Trim, D, Discard or Unmap, F or Flush, WF or FUA, and the letters of Linux: `RA`, `WS`, `FWFS`, `DS`, … |
//! | `device` | any word is a name | one device |
//! | `handle` | the placement handle of a write, 0 to 7; empty for 0 | 0 |
//!
//! `flush` is a request to make all data durable; its offset and size are ignored and may be empty. `fua` is a
//! write that must be durable before it is acknowledged.
//!
//! Numbers may be hexadecimal: `0x0012dcb000`. A decimal number in a column of times has the unit of the map.
//!
//! Digits for ops must be given explicitly, since 0 writes in some tools and reads in others. Fields may be
//! in double quotes, but no separator in them. A first line whose time, offset and size do not begin with a digit
//! is taken as the columns' names. `--columns` alone implies `--format csv`.
//!
//! flashkeep writes the columns `time_ns,device,op,offset_B,size_B`, with ops R, W, T, F and WF, and a sixth one,
//! `handle`, if writes have placement handles; nothing is lost. A file that begins with these names is detected and needs no `--columns`.
//!
//! Lines may be out of order: they are sorted by time, stably. Up to 65,536 lines of disorder are undone, in
//! constant memory; a record that is further out of order arrives with the one before it, and a warning
//! counts it.
//!
//! ## Units
//! As given with `--columns`.
//!
//! ## Source
//! Ours.

use super::columns::{
    ColumnPlace, Columns, DEVICE, EXAMPLE, FIELDS, HANDLE, OFFSET, OP, OpWord, SIZE, TIME, TimeUnit, Unit,
};
use super::rwbs::Kind;
use super::{
    Context, Device, Durability, Layout, Record, SCORED, Units, extent_of_bytes, sample_lines,
    since_1970_of_file_time,
};
use crate::line::{BLANKS, COMMA, Flaw, Line, quoted};
use crate::suggest::unknown;
use crate::{HANDLES, Op, Request};

/// Reads and writes the format.
pub(crate) struct Reader {
    /// Which field each column holds, up to the last one that is needed; [`NONE`] for the others.
    columns: Vec<u8>,
    /// The separator of columns; [`BLANKS`] for any number of blanks and tabs.
    separator: u8,
    time_unit: TimeUnit,
    offset_bytes: u64,
    size_bytes: u64,
    has_device: bool,
    has_handles: bool,
    spellings: Vec<(String, OpWord)>,
    /// Whether the letters of Linux count as well.
    has_letters: bool,
    /// Whether the units are those that flashkeep writes.
    is_own: bool,
    /// The line with the names of the columns, if there is one.
    header: Option<Box<[u8]>>,
}

/// A column that is not needed.
const NONE: u8 = u8::MAX;

/// Whether a first line has the names of the columns that flashkeep writes; recorded sessions have one more.
fn is_own(first: &[u8]) -> bool {
    first.strip_prefix(CSV_COLUMNS.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == COMMA)
}

/// Whether one of these names is that of placement handles.
fn names_handles(first: &[u8]) -> bool {
    fields_of(first, COMMA).any(|name| bare(name) == b"handle")
}

/// A request in the columns that flashkeep writes, without the end of the line.
#[must_use]
pub fn csv_record(request: &Request) -> String {
    let op = match (request.op, request.fua) {
        (Op::Read, _) => "R",
        (Op::Write, false) => "W",
        (Op::Write, true) => "WF",
        (Op::Trim, _) => "T",
        (Op::Flush, _) => "F",
    };
    let Request { arrival_ns, device, offset, length, .. } = request;
    format!("{arrival_ns},{device},{op},{offset},{length}")
}

/// The names of the columns that flashkeep writes, with which such a trace begins.
pub const CSV_COLUMNS: &str = "time_ns,device,op,offset_B,size_B";
const OWN_COLUMNS: &str = "time=time_ns:ns,device=device,op=op,offset=offset_B,size=size_B";

impl Layout for Reader {
    const OP_CODED: bool = true;
    const UNORDERED: bool = true;
    const DURABILITY: Durability = Durability { flushes: true, fua: true };
    const HEADER: &'static str = "time_ns,device,op,offset_B,size_B\n";
    const HANDLES: bool = true;
    const HEADER_WITH_HANDLES: &'static str = "time_ns,device,op,offset_B,size_B,handle\n";

    fn new(context: &Context<'_>) -> Result<Self, String> {
        let first = sample_lines(context.sample).next().unwrap_or_default();
        let columns = match context.columns {
            Some(columns) => columns.clone(),
            None if is_own(first) && names_handles(first) => {
                Columns::parse(&format!("{OWN_COLUMNS},handle=handle"))?
            }
            None if is_own(first) => Columns::parse(OWN_COLUMNS)?,
            None => {
                return Err(format!(
                    "csv needs --columns: which column is which, such as {EXAMPLE}; the first line is {}",
                    quoted(first)
                ));
            }
        };
        let is_own = context.columns.is_none();
        let reader = Reader::for_sample(&columns, first, context)?;
        Ok(Reader { is_own, ..reader })
    }

    fn since_1970_ns(&self, time_ns: u64) -> Option<u64> {
        if self.time_unit == TimeUnit::FileTime { since_1970_of_file_time(time_ns) } else { Some(time_ns) }
    }

    fn units(&self) -> Units {
        if self.is_own { Units::Fixed } else { Units::Given }
    }

    #[inline]
    fn parse<'a>(&self, record: &'a [u8]) -> Result<Option<Record<'a>>, Box<Flaw>> {
        match self.request(record) {
            Ok(request) => Ok(Some(request)),
            Err(_) if self.is_expected(record) => Ok(None),
            Err(flaw) => Err(flaw),
        }
    }

    /// The names of the columns.
    fn is_expected(&self, record: &[u8]) -> bool {
        self.header.as_deref() == Some(record)
    }

    fn has_handles(&self) -> bool {
        self.has_handles
    }

    fn write_handle(request: &Request, out: &mut Vec<u8>) {
        out.pop();
        out.extend_from_slice(format!(",{}\n", request.handle).as_bytes());
    }

    fn write(request: &Request, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend_from_slice(csv_record(request).as_bytes());
        out.push(b'\n');
        Ok(())
    }
}

/// What may be between columns, the likelier first.
const SEPARATORS: [u8; 4] = [COMMA, b';', b'\t', BLANKS];

impl Reader {
    /// A reader with the separator that reads most of a sample.
    fn for_sample(columns: &Columns, first: &[u8], context: &Context<'_>) -> Result<Self, String> {
        if let Some(separator) = columns.separator {
            return Reader::of(columns, first, separator, context.sector_bytes());
        }
        let readers =
            SEPARATORS.map(|separator| Reader::of(columns, first, separator, context.sector_bytes()));
        let read = |reader: &Result<Reader, String>| {
            let reader = reader.as_ref().ok()?;
            Some(
                sample_lines(context.sample).take(SCORED).filter(|line| reader.request(line).is_ok()).count(),
            )
        };
        let counts = readers.each_ref().map(read);
        let most = counts.iter().flatten().copied().max().unwrap_or(0);
        // If none reads a line, its flaw is reported with the separator that the first line has.
        let likely = SEPARATORS.iter().position(|byte| first.contains(byte)).unwrap_or(0);
        let at = if most > 0 { counts.iter().position(|count| *count == Some(most)) } else { None };
        readers.into_iter().nth(at.unwrap_or(likely)).expect("one for each separator")
    }

    /// A reader of a text whose first line is `first`.
    fn of(columns: &Columns, first: &[u8], separator: u8, sector_bytes: u64) -> Result<Self, String> {
        let names: Vec<&[u8]> = fields_of(first, separator).map(bare).collect();
        let mut held = Vec::new();
        for (field, place) in columns.places.iter().enumerate() {
            let index = match place {
                None => continue,
                Some(ColumnPlace::Index(index)) => *index,
                Some(ColumnPlace::Name(name)) => {
                    index_of(name, &names).map_err(|message| format!("{}: {message}", FIELDS[field]))?
                }
            };
            if held.len() <= index {
                held.resize(index + 1, NONE);
            }
            if held[index] != NONE {
                let other = FIELDS[usize::from(held[index])];
                return Err(format!("{other} and {} are the same column, {index}", FIELDS[field]));
            }
            held[index] = field as u8;
        }
        let is_number = |field: usize| {
            let index = held.iter().position(|&held| usize::from(held) == field);
            index.and_then(|index| names.get(index)?.first()).is_some_and(u8::is_ascii_digit)
        };
        let is_header = !first.is_empty() && ![TIME, OFFSET, SIZE].into_iter().any(is_number);
        let bytes = |unit| match unit {
            Unit::Bytes(bytes) => bytes,
            Unit::Sectors => sector_bytes,
        };
        Ok(Reader {
            header: is_header.then(|| first.into()),
            columns: held,
            separator,
            time_unit: columns.time_unit,
            offset_bytes: bytes(columns.offset_unit),
            size_bytes: bytes(columns.size_unit),
            has_device: columns.places[DEVICE].is_some(),
            has_handles: columns.places[HANDLE].is_some(),
            spellings: columns.spellings.clone(),
            has_letters: !columns.is_spelt,
            is_own: false,
        })
    }

    #[inline]
    fn request<'a>(&self, record: &'a [u8]) -> Result<Record<'a>, Box<Flaw>> {
        let mut fields: [&[u8]; FIELDS.len()] = [&[]; FIELDS.len()];
        if self.separator == BLANKS {
            for (&field, found) in self.columns.iter().zip(fields_of(record, BLANKS)) {
                if let Some(field) = fields.get_mut(usize::from(field)) {
                    *field = bare(found);
                }
            }
        } else {
            let mut start = 0;
            for &field in &self.columns {
                let Some(rest) = record.get(start..) else { break };
                let length = rest.iter().position(|&byte| byte == self.separator).unwrap_or(rest.len());
                if let Some(field) = fields.get_mut(usize::from(field)) {
                    *field = bare(&rest[..length]);
                }
                start += length + 1;
            }
        }
        let time_ns = self.time_ns(fields[TIME])?;
        let OpWord { op, fua, preflush } = self.op(fields[OP])?;
        let device = || match fields[DEVICE] {
            [] if self.has_device => Err(Flaw::found("device", b"", "a name or number")),
            name => Ok(Device::Name(name)),
        };
        if op == Op::Flush {
            return Ok(Record::flush(time_ns, device()?));
        }
        let scaled = |field: usize, unit: u64| {
            let found = match hexadecimal(fields[field]) {
                Some(number) => number,
                None => whole(fields[field], FIELDS[field], |line| line.integer(FIELDS[field]))?,
            };
            found.checked_mul(unit).ok_or_else(|| {
                Flaw::found(FIELDS[field], fields[field], "requests that end below 2^64 bytes")
            })
        };
        let (offset, bytes) = (scaled(OFFSET, self.offset_bytes)?, scaled(SIZE, self.size_bytes)?);
        let (offset, length) = extent_of_bytes(offset, bytes, ["offset", "size"])?;
        let handle = if self.has_handles { handle(fields[HANDLE])? } else { 0 };
        let handle = if op == Op::Write { handle } else { 0 };
        Ok(Record { fua, preflush, handle, ..Record::new(time_ns, device()?, (offset, length), op) })
    }

    #[inline]
    fn time_ns(&self, field: &[u8]) -> Result<u64, Box<Flaw>> {
        let digits;
        let field = match hexadecimal(field) {
            None => field,
            Some(number) => {
                digits = number.to_string();
                digits.as_bytes()
            }
        };
        whole(field, "time", |line| match self.time_unit {
            TimeUnit::Ns => line.decimal::<0>("time"),
            TimeUnit::FileTime => line.decimal::<2>("time"),
            TimeUnit::Us => line.decimal::<3>("time"),
            TimeUnit::Ms => line.decimal::<6>("time"),
            TimeUnit::S => line.decimal::<9>("time"),
        })
    }

    #[inline]
    fn op(&self, field: &[u8]) -> Result<OpWord, Box<Flaw>> {
        let known = self.spellings.iter().find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(field));
        if let Some((_, meaning)) = known {
            return Ok(*meaning);
        }
        let kind = if self.has_letters { Kind::of_word(field) } else { None };
        let word = kind.map(|Kind { op, preflush, fua }| match op {
            Some(op) => OpWord { op, fua, preflush },
            None => OpWord { op: Op::Flush, fua: false, preflush: false },
        });
        word.ok_or_else(|| self.unknown_op(field))
    }

    #[cold]
    fn unknown_op(&self, field: &[u8]) -> Box<Flaw> {
        let words: Vec<&str> = self.spellings.iter().map(|(word, _)| word.as_str()).collect();
        let hint = if matches!(field, [b'0'..=b'9']) {
            "; digits are spelt out in --columns, as in op=3:read=0/write=1"
        } else {
            ""
        };
        Flaw::found("op", field, &format!("{}{hint}", words.join(", ")))
    }
}

/// A placement handle; 0 where the field is empty.
#[inline]
fn handle(field: &[u8]) -> Result<u8, Box<Flaw>> {
    match field {
        [] | b"-" => Ok(0),
        [digit @ b'0'..=b'9'] if digit - b'0' < HANDLES => Ok(digit - b'0'),
        _ => {
            let accepted = format!("a placement handle from 0 to {}", HANDLES - 1);
            Err(Flaw::found("handle", field, &accepted))
        }
    }
}

/// The fields of a line.
#[inline]
fn fields_of(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        if separator == BLANKS {
            let line = line.trim_ascii_start();
            let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t'));
            rest = end.map(|end| &line[end..]);
            let field = &line[..end.unwrap_or(line.len())];
            return if field.is_empty() { None } else { Some(field) };
        }
        let end = line.iter().position(|&byte| byte == separator);
        rest = end.map(|end| &line[end + 1..]);
        Some(&line[..end.unwrap_or(line.len())])
    })
}

/// A number that is the whole field: a decimal comma in it is a flaw.
#[inline]
fn whole(
    field: &[u8],
    name: &'static str,
    read: impl FnOnce(&mut Line<'_, BLANKS>) -> Result<u64, Box<Flaw>>,
) -> Result<u64, Box<Flaw>> {
    let mut line = Line::new(field);
    let number = read(&mut line)?;
    if line.position() < field.len() {
        return Err(Flaw::found(name, field, "one number"));
    }
    Ok(number)
}

/// A number in hexadecimal, after `0x`.
#[inline]
fn hexadecimal(field: &[u8]) -> Option<u64> {
    let [b'0', b'x' | b'X', digits @ ..] = field else { return None };
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u64::from_str_radix(digits, 16).ok()
}

/// A field without blanks and quotes around it.
#[inline]
fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    match field {
        [b'"', inner @ .., b'"'] => inner.trim_ascii(),
        field => field,
    }
}

/// The column called `name`.
fn index_of(name: &str, names: &[&[u8]]) -> Result<usize, String> {
    if let Some(index) = names.iter().position(|known| *known == name.as_bytes()) {
        return Ok(index);
    }
    let known: Vec<String> = names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(unknown("column", name, &known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(columns: &str, sample: &str) -> Result<Reader, String> {
        let columns = Columns::parse(columns).unwrap();
        let context = Context { columns: Some(&columns), sample: sample.as_bytes(), ..Context::default() };
        Reader::new(&context)
    }

    fn flaw(columns: &str, line: &str) -> String {
        let flaw = reader(columns, line).unwrap().parse(line.as_bytes()).err().expect("a bad record");
        format!("{}: {}", flaw.field.unwrap_or_default(), flaw.message)
    }

    #[test]
    fn columns_by_index_in_any_unit() {
        let line = "17.5, 3 ,4096,\"w\",vol-7,extra";
        let reader = reader("time=0:us,op=3,offset=1:sectors,size=2:B,device=4", line).unwrap();
        let record = reader.parse(line.as_bytes()).unwrap().unwrap();
        assert_eq!(
            (record.time_ns, record.offset, record.length, record.op),
            (17_500, 1536, 4096, Op::Write)
        );
        assert!(matches!(record.device, Device::Name(b"vol-7")));
        let odd = super::Reader::new(&Context {
            sector_bytes: Some(64),
            columns: Some(
                &Columns::parse("time=3:filetime,op=2:read=0/write=1,offset=1:sectors,size=0:KiB").unwrap(),
            ),
            sample: b"",
            ..Context::default()
        })
        .unwrap();
        let record = odd.parse(b"4,2,1,15").unwrap().unwrap();
        assert_eq!((record.time_ns, record.offset, record.length, record.op), (1500, 128, 4096, Op::Write));
    }

    #[test]
    fn columns_by_name() {
        let header = "Kind,\"When\",At,Len";
        let map = "time=When:s,op=Kind,offset=At,size=Len";
        let reader = reader(map, header).unwrap();
        assert!(reader.parse(header.as_bytes()).unwrap().is_none());
        assert_eq!(reader.parse(b"Read,1.5,0,512").unwrap().unwrap().time_ns, 1_500_000_000);
        let message = super::tests::reader("time=Wen:s,op=Kind,offset=At,size=Len", header).err().unwrap();
        assert_eq!(message, "time: unknown column `Wen`; did you mean `When`? accepted: Kind, When, At, Len");
        let twice = super::tests::reader("time=1:s,op=Kind,offset=When,size=Len", header).err().unwrap();
        assert_eq!(twice, "time and offset are the same column, 1");
    }

    #[test]
    fn a_handle_is_a_sixth_column() {
        let header = Reader::HEADER_WITH_HANDLES.trim_ascii();
        let reader = Reader::new(&Context { sample: header.as_bytes(), ..Context::default() }).unwrap();
        assert!(reader.has_handles() && reader.parse(header.as_bytes()).unwrap().is_none());
        let handle = |line: &str| reader.parse(line.as_bytes()).map(|record| record.unwrap().handle);
        for (line, found) in
            [("1,0,W,0,512,7", 7), ("1,0,WF,0,512,3", 3), ("1,0,W,0,512,", 0), ("1,0,R,0,512,3", 0)]
        {
            assert_eq!(handle(line).ok(), Some(found), "{line}");
        }
        let flaw = handle("1,0,W,0,512,8").expect_err("a bad record");
        assert_eq!(
            (flaw.field, &*flaw.message),
            (Some("handle"), "found `8`; accepted: a placement handle from 0 to 7")
        );
        let mut out = Vec::new();
        let request = Request { handle: 2, ..Request::flush(7, 3) };
        let request = Request { length: 512, op: Op::Write, ..request };
        Reader::write(&request, &mut out).unwrap();
        Reader::write_handle(&request, &mut out);
        assert_eq!(out, b"7,3,W,0,512,2\n");
        assert!(!super::tests::reader("time=0:us,op=1,offset=2,size=3", "").unwrap().has_handles());
    }

    #[test]
    fn the_separator_is_found_or_given() {
        let map = "time=0:us,op=3,offset=1:sectors,size=2,device=4";
        for line in ["7,8,512,R,a", "7;8;512;R;a", "7\t8\t512\tR\ta", "7 8   512 R a", "  7 8 512 R a"] {
            let reader = reader(map, &format!("{line}\n{line}\n")).unwrap();
            let record = reader.parse(line.trim().as_bytes()).unwrap().unwrap();
            assert_eq!((record.time_ns, record.offset, record.length), (7000, 4096, 512), "{line}");
            assert!(matches!(record.device, Device::Name(b"a")));
        }
        let given = reader(&format!("{map},separator=blank"), "7,1 8 512 R a").unwrap();
        assert!(given.parse(b"7,1 8 512 R a").is_err(), "a comma in a number");
        let names = "when;where;bytes;what\n1;0;512;R\n";
        assert!(reader("time=when:s,op=what,offset=where,size=bytes", names).is_ok());
        let unknown = Columns::parse("time=0:us,separator=pipe").unwrap_err();
        assert_eq!(
            unknown,
            "separator: found `pipe`; accepted: comma, semicolon, tab, blank (blanks and tabs)"
        );
    }

    #[test]
    fn numbers_may_be_hexadecimal_and_ops_the_letters_of_linux() {
        let reader = reader("time=0:us,op=1,offset=2,size=3", "").unwrap();
        let of = |line: &'static str| reader.parse(line.as_bytes()).unwrap().unwrap();
        let record = of("0x10,FWFS,0x0012dcb000,0X200");
        assert_eq!((record.time_ns, record.offset, record.length), (16_000, 0x12dc_b000, 512));
        assert!(record.fua && record.preflush && record.op == Op::Write);
        assert_eq!(of("1,RA,0,512").op, Op::Read);
        assert_eq!(of("1,DS,0,512").op, Op::Trim);
        assert_eq!(of("1,FF,0,0").op, Op::Flush);
        let map = "time=0:us,op=1:read=0/write=1,offset=2,size=3";
        assert!(flaw(map, "1,WS,0,512").starts_with("op: found `WS`"), "other words are given");
        assert!(flaw(map, "1,0,0xfg,512").starts_with("offset: found `0xfg`"));
    }

    #[test]
    fn flushes_need_no_place() {
        let reader = reader("time=0:us,op=1:read=0/write=1/flush=2/fua=3,offset=2,size=3", "").unwrap();
        let of = |line: &str| {
            let record = reader.parse(line.as_bytes()).unwrap().unwrap();
            (record.op, record.offset, record.length, record.fua)
        };
        for line in ["1,2", "1,2,,", "1,2,-,-", "1,2,4096,512"] {
            assert_eq!(of(line), (Op::Flush, 0, 0, false), "{line}");
        }
        assert_eq!(of("1,3,4096,512"), (Op::Write, 4096, 512, true));
    }

    #[test]
    fn a_header_is_known_by_its_numbers_that_are_none() {
        let map = "time=0:us,op=1,offset=2,size=3";
        assert!(reader(map, "t,o,a,s\n1,R,0,512\n").unwrap().parse(b"t,o,a,s").unwrap().is_none());
        assert!(reader(map, "1,X,0,512\n").unwrap().parse(b"1,X,0,512").is_err(), "a bad first record");
    }

    #[test]
    fn bad_lines_name_the_field() {
        let map = "time=0:us,op=1,offset=2,size=3,device=4";
        assert!(flaw(map, "1,X,0,512,a").starts_with("op: found `X`; accepted: R, Read, W, Write, T, Trim"));
        assert!(flaw(map, "1,0,0,512,a").ends_with("as in op=3:read=0/write=1"));
        assert_eq!(flaw(map, "1,R,0,0,a"), "size: found 0; accepted: at least 1");
        assert!(flaw(map, "1,R,0,512").starts_with("device: missing"));
        assert!(flaw(map, "1,R,0").starts_with("size: missing"));
        assert!(flaw(map, "-1,R,0,512,a").starts_with("time: found `-1`"));
        assert!(flaw(map, "1,R,-8,512,a").starts_with("offset: found `-8`; accepted: an integer"));
        let map = "time=0:us,op=1,offset=2:MiB,size=3";
        assert!(flaw(map, "1,R,18446744073709551615,512").contains("end below 2^64"));
        let none = Reader::new(&Context { sample: b"1,2,3\n", ..Context::default() }).err().unwrap();
        assert!(
            none.starts_with("csv needs --columns: ") && none.ends_with("the first line is `1,2,3`"),
            "{none}"
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        let context = Context { sample: Reader::HEADER.as_bytes(), ..Context::default() };
        let reader = Reader::new(&context).unwrap();
        assert!(reader.parse(CSV_COLUMNS.as_bytes()).unwrap().is_none());
        let one = Request {
            arrival_ns: 7,
            offset: 4097,
            length: 513,
            device: 3,
            op: Op::Write,
            fua: true,
            handle: 0,
        };
        let plain = [Op::Read, Op::Write, Op::Trim].map(|op| Request { op, fua: false, ..one });
        for request in plain.into_iter().chain([one, Request::flush(7, 3)]) {
            let mut out = Vec::new();
            Reader::write(&request, &mut out).unwrap();
            let Record { time_ns, offset, length, op, fua, device, .. } =
                reader.parse(out.trim_ascii()).unwrap().unwrap();
            assert_eq!(
                Request { arrival_ns: time_ns, offset, length, op, fua, device: 3, handle: 0 },
                request
            );
            assert!(matches!(device, Device::Name(b"3")));
        }
    }
}
