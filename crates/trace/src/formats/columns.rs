//! The map from fields to columns of a table, as given with `--columns`.

use crate::Op;
use crate::suggest::unknown;

/// Which column of a table holds which field, and in which unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The places, in the order of [`FIELDS`]; the last two may be left out.
    pub(super) places: [Option<ColumnPlace>; FIELDS.len()],
    pub(super) time_unit: TimeUnit,
    pub(super) offset_unit: Unit,
    pub(super) size_unit: Unit,
    /// How ops are spelt, regardless of case.
    pub(super) spellings: Vec<(String, OpWord)>,
    /// Whether the user has spelt the ops, so that no other words count.
    pub(super) is_spelt: bool,
    /// The separator of columns, if the user names it.
    pub(super) separator: Option<u8>,
}

/// The meaning of a word for an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpWord {
    pub(super) op: Op,
    pub(super) fua: bool,
    pub(super) preflush: bool,
}

const READ: OpWord = OpWord { op: Op::Read, fua: false, preflush: false };
const WRITE: OpWord = OpWord { op: Op::Write, fua: false, preflush: false };
const FUA_WRITE: OpWord = OpWord { op: Op::Write, fua: true, preflush: false };
const TRIM: OpWord = OpWord { op: Op::Trim, fua: false, preflush: false };
const FLUSH: OpWord = OpWord { op: Op::Flush, fua: false, preflush: false };

/// Where a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ColumnPlace {
    /// Counted from 0.
    Index(usize),
    /// By its name in the first line.
    Name(String),
}

/// The unit of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Ns,
    /// Windows file time: 100 ns.
    FileTime,
    Us,
    Ms,
    S,
}

/// The unit of offsets and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes(u64),
    /// As `--sector-bytes` says, else 512.
    Sectors,
}

pub(super) const TIME: usize = 0;
pub(super) const OP: usize = 1;
pub(super) const OFFSET: usize = 2;
pub(super) const SIZE: usize = 3;
pub(super) const DEVICE: usize = 4;
pub(super) const HANDLE: usize = 5;

/// The fields that a column can hold.
pub(super) const FIELDS: [&str; 6] = ["time", "op", "offset", "size", "device", "handle"];

/// A larger index is taken as a typing error.
pub(super) const INDEX_MAX: usize = 255;

pub(super) const EXAMPLE: &str = "time=0:us,op=3,offset=1:sectors,size=2:B,device=4";

/// Spellings that need no mapping. Digits are not among them: tools differ in which digit is a write.
const SPELLINGS: [(&str, OpWord); 13] = [
    ("R", READ),
    ("Read", READ),
    ("W", WRITE),
    ("Write", WRITE),
    ("T", TRIM),
    ("Trim", TRIM),
    ("D", TRIM),
    ("Discard", TRIM),
    ("Unmap", TRIM),
    ("F", FLUSH),
    ("Flush", FLUSH),
    ("WF", FUA_WRITE),
    ("FUA", FUA_WRITE),
];

impl Columns {
    /// Reads a map such as `time=0:us,op=3,offset=1:sectors,size=2:B,device=4`: for each column its index, counted
    /// from 0, or its name in the first line, and its unit; for `op` how each is spelt (`op=3:read=0/write=1`).
    ///
    /// # Errors
    /// A message that names the invalid part.
    pub fn parse(text: &str) -> Result<Columns, String> {
        let mut columns = Columns {
            places: Default::default(),
            time_unit: TimeUnit::Ns,
            offset_unit: Unit::Bytes(1),
            size_unit: Unit::Bytes(1),
            spellings: SPELLINGS.iter().map(|&(word, meaning)| (word.to_owned(), meaning)).collect(),
            is_spelt: false,
            separator: None,
        };
        for part in text.split(',') {
            columns.take(part)?;
        }
        let lacking = (TIME..=SIZE).find(|&field| columns.places[field].is_none());
        if let Some(field) = lacking {
            let field = FIELDS[field];
            return Err(format!(
                "`{field}` is missing; needed: time, op, offset and size, such as {EXAMPLE}"
            ));
        }
        for (field, place) in columns.places.iter().enumerate() {
            let other = columns.places[..field].iter().position(|other| place.is_some() && other == place);
            if let Some(other) = other {
                return Err(format!("{} and {} are the same column", FIELDS[other], FIELDS[field]));
            }
        }
        Ok(columns)
    }

    /// Takes one `FIELD=PLACE[:UNIT]`.
    fn take(&mut self, part: &str) -> Result<(), String> {
        let Some((field, value)) = part.split_once('=') else {
            return Err(format!("`{part}` has no `=`; accepted: FIELD=COLUMN[:UNIT], such as {EXAMPLE}"));
        };
        let field = field.trim();
        if field == "separator" {
            self.separator = Some(separator(value.trim())?);
            return Ok(());
        }
        let Some(at) = FIELDS.iter().position(|known| *known == field) else {
            return Err(unknown("field", field, &[&FIELDS[..], &["separator"]].concat()));
        };
        let (place, unit) = match value.split_once(':') {
            Some((place, unit)) => (place.trim(), Some(unit.trim())),
            None => (value.trim(), None),
        };
        if self.places[at].is_some() {
            return Err(format!("{field} is given twice"));
        }
        self.places[at] = Some(place_of(place).map_err(|message| format!("{field}: {message}"))?);
        self.take_unit(at, unit).map_err(|message| format!("{field}: {message}"))
    }

    fn take_unit(&mut self, field: usize, unit: Option<&str>) -> Result<(), String> {
        match (field, unit) {
            (TIME, unit) => self.time_unit = time_unit(unit)?,
            (OFFSET, Some(unit)) => self.offset_unit = byte_unit(unit)?,
            (SIZE, Some(unit)) => self.size_unit = byte_unit(unit)?,
            (OP, Some(words)) => (self.spellings, self.is_spelt) = (spellings(words)?, true),
            (DEVICE, Some(unit)) => return Err(format!("found unit `{unit}`; a device has none")),
            _ => {}
        }
        Ok(())
    }
}

fn separator(name: &str) -> Result<u8, String> {
    match name {
        "comma" => Ok(b','),
        "semicolon" => Ok(b';'),
        "tab" => Ok(b'\t'),
        "blank" => Ok(b' '),
        other => Err(format!(
            "separator: found `{other}`; accepted: comma, semicolon, tab, blank (blanks and tabs)"
        )),
    }
}

fn place_of(text: &str) -> Result<ColumnPlace, String> {
    if text.is_empty() {
        return Err("no column; accepted: its index, counted from 0, or its name in the first line".into());
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(ColumnPlace::Name(text.to_owned()));
    }
    match text.parse() {
        Ok(index) if index <= INDEX_MAX => Ok(ColumnPlace::Index(index)),
        _ => Err(format!("found column {text}; accepted: 0 to {INDEX_MAX}")),
    }
}

fn time_unit(unit: Option<&str>) -> Result<TimeUnit, String> {
    match unit {
        Some("ns") => Ok(TimeUnit::Ns),
        Some("filetime") => Ok(TimeUnit::FileTime),
        Some("us" | "µs") => Ok(TimeUnit::Us),
        Some("ms") => Ok(TimeUnit::Ms),
        Some("s") => Ok(TimeUnit::S),
        Some(other) => Err(format!("found unit `{other}`; accepted: ns, us, ms, s, filetime (100 ns)")),
        None => {
            Err("no unit, and none is usual; accepted: ns, us, ms, s, filetime (100 ns), as in time=0:us"
                .into())
        }
    }
}

fn byte_unit(unit: &str) -> Result<Unit, String> {
    match unit {
        "B" => Ok(Unit::Bytes(1)),
        "KiB" => Ok(Unit::Bytes(1 << 10)),
        "MiB" => Ok(Unit::Bytes(1 << 20)),
        "sectors" => Ok(Unit::Sectors),
        other => {
            Err(format!("found unit `{other}`; accepted: B, KiB, MiB, sectors (of --sector-bytes, 512)"))
        }
    }
}

fn spellings(words: &str) -> Result<Vec<(String, OpWord)>, String> {
    let mut all: Vec<(String, OpWord)> = Vec::new();
    for word in words.split('/') {
        let (meaning, spelling) = match word.split_once('=') {
            Some(("read", spelling)) => (READ, spelling),
            Some(("write", spelling)) => (WRITE, spelling),
            Some(("trim", spelling)) => (TRIM, spelling),
            Some(("flush", spelling)) => (FLUSH, spelling),
            Some(("fua", spelling)) => (FUA_WRITE, spelling),
            _ => {
                return Err(format!(
                    "found `{word}`; accepted: read=WORD/write=WORD/trim=WORD/flush=WORD/fua=WORD, any of them, \
                     repeatable"
                ));
            }
        };
        if spelling.is_empty() {
            return Err(format!("found `{word}`, without the word; accepted: such as read=0/write=1"));
        }
        if all.iter().any(|(known, _)| known.eq_ignore_ascii_case(spelling)) {
            return Err(format!("`{spelling}` is given twice"));
        }
        all.push((spelling.to_owned(), meaning));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read() {
        let columns = Columns::parse(EXAMPLE).unwrap();
        assert_eq!(columns.places[OFFSET], Some(ColumnPlace::Index(1)));
        assert_eq!((columns.time_unit, columns.offset_unit), (TimeUnit::Us, Unit::Sectors));
        let named =
            Columns::parse("time=When:filetime,op=Kind:read=0/write=1/fua=2,offset=At,size=Len:KiB").unwrap();
        assert_eq!(named.places[TIME], Some(ColumnPlace::Name("When".into())));
        assert_eq!(named.places[DEVICE], None);
        assert_eq!((named.offset_unit, named.size_unit), (Unit::Bytes(1), Unit::Bytes(1024)));
        assert_eq!(named.spellings[2], ("2".into(), FUA_WRITE));
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (map, message) in [
            ("", "`` has no `=`; accepted: FIELD=COLUMN[:UNIT]"),
            (
                "tiem=0:us",
                "unknown field `tiem`; did you mean `time`? accepted: time, op, offset, size, device, handle, separator",
            ),
            ("time=0", "time: no unit, and none is usual"),
            ("time=0:h", "time: found unit `h`; accepted: ns, us, ms, s, filetime"),
            ("time=:us", "time: no column"),
            ("time=256:us", "time: found column 256; accepted: 0 to 255"),
            ("time=0:us,time=1:us", "time is given twice"),
            ("time=0:us,op=1,offset=2", "`size` is missing; needed: time, op, offset and size"),
            ("time=0:us,op=1,offset=2,size=2", "offset and size are the same column"),
            ("offset=1:pages", "offset: found unit `pages`; accepted: B, KiB, MiB, sectors"),
            ("device=1:B", "device: found unit `B`; a device has none"),
            ("op=1:r=0", "op: found `r=0`; accepted: read=WORD"),
            ("op=1:read=", "op: found `read=`, without the word"),
            ("op=1:read=0/write=0", "op: `0` is given twice"),
        ] {
            let found = Columns::parse(map).unwrap_err();
            assert!(found.starts_with(message), "{map}: {found}");
        }
    }
}
