//! What tools put around the records of a text: names of columns, quotes, an index column. One rule for all text formats.
//!
//! A line that has no field with a digit or sign in front is a line of names, if it is the first, and wherever it
//! comes again: parts of a trace are often joined with their heads. Quotes around fields are left out. A column in front
//! that counts the lines (0, 1, 2, … or from 1) is left out, where the format fits the rest and not the whole.

use super::{Format, content};

/// What a text has around its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The line with the names of the columns.
    header: Option<Box<[u8]>>,
    quotes: bool,
    /// A first column that counts the lines.
    index: bool,
}

/// Lines that decide on quotes and the index column.
const LOOKED_AT: usize = 200;

/// With fewer lines a column that counts is not known as such.
const COUNTED_MIN: usize = 3;

impl Shape {
    /// The header and the quotes of a sample.
    pub(crate) fn of(sample: &[u8]) -> Shape {
        let first = super::sample_lines(sample).next().unwrap_or_default();
        let header = is_header(first).then(|| first.into());
        // One field in quotes may be a name; a record has more.
        let quotes = super::sample_lines(sample).take(LOOKED_AT).any(|line| {
            let marks = memchr::memchr_iter(b'"', line).count();
            marks >= 2 && marks.is_multiple_of(2)
        });
        Shape { header, quotes, index: false }
    }

    /// The shape in which `format` reads `sample`: with an index column if it reads more without it.
    pub(crate) fn for_format(format: Format, sample: &[u8]) -> Shape {
        // A table with --columns has any column, and knows names and quotes itself.
        if format == Format::Csv || !format.is_text() {
            return Shape::default();
        }
        let plain = Shape::of(sample);
        if format.score(&plain.text(sample)).is_enough() {
            return plain;
        }
        let Some(indexed) = plain.indexed(sample) else { return plain };
        if format.score(&indexed.text(sample)).is_enough() { indexed } else { plain }
    }

    /// The same with the index column left out, if there is one.
    pub(crate) fn indexed(&self, sample: &[u8]) -> Option<Shape> {
        let lines = super::sample_lines(sample).skip(usize::from(self.header.is_some())).take(LOOKED_AT);
        let mut scratch = Vec::new();
        let mut counted: Option<(u64, usize)> = None;
        for line in lines {
            let line = self.without_quotes(line, &mut scratch);
            let end = line.iter().position(|byte| !byte.is_ascii_digit())?;
            let number: u64 = std::str::from_utf8(&line[..end]).ok()?.parse().ok()?;
            counted = match counted {
                None if number <= 1 => Some((number, 1)),
                Some((before, count)) if number == before + 1 => Some((number, count + 1)),
                _ => return None,
            };
        }
        counted.filter(|(_, count)| *count >= COUNTED_MIN)?;
        Some(Shape { index: true, ..self.clone() })
    }

    /// Whether records are used as they are.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !self.quotes && !self.index
    }

    /// Whether a line has the names of the columns.
    #[cold]
    pub(crate) fn is_header(&self, line: &[u8]) -> bool {
        self.header.as_deref() == Some(line)
    }

    /// The record of a line.
    pub(crate) fn record<'a>(&self, line: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let line = self.without_quotes(line, scratch);
        if self.index { without_first(line) } else { line }
    }

    fn without_quotes<'a>(&self, line: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if !self.quotes || memchr::memchr(b'"', line).is_none() {
            return line;
        }
        scratch.clear();
        scratch.extend(line.iter().filter(|&&byte| byte != b'"'));
        scratch
    }

    /// A sample as its records.
    pub(crate) fn text(&self, sample: &[u8]) -> Vec<u8> {
        if self.is_plain() {
            return sample.to_vec();
        }
        let mut scratch = Vec::new();
        let mut text = Vec::with_capacity(sample.len());
        for line in sample.split_inclusive(|&byte| byte == b'\n') {
            let inner = content(line);
            text.extend_from_slice(if self.is_header(inner) {
                inner
            } else {
                self.record(inner, &mut scratch)
            });
            if line.ends_with(b"\n") {
                text.push(b'\n');
            }
        }
        text
    }
}

/// Whether a line may be the names of columns: two or more fields, none of which begins as a number does.
fn is_header(line: &[u8]) -> bool {
    let mut fields = 0;
    let names = line.split(|byte| matches!(byte, b',' | b';' | b'\t' | b' ')).all(|field| {
        fields += usize::from(!field.is_empty());
        let first = field.iter().find(|byte| **byte != b'"');
        first.is_none_or(|byte| !byte.is_ascii_digit() && !matches!(byte, b'-' | b'+' | b'.'))
    });
    names && fields >= 2
}

/// A line without its first field and the separator after it.
fn without_first(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|byte| matches!(byte, b',' | b';' | b'\t' | b' ')).unwrap_or(line.len());
    let rest = &line[end..];
    rest.strip_prefix(b",").or_else(|| rest.strip_prefix(b";")).unwrap_or(rest).trim_ascii_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(shape: &Shape, line: &str) -> String {
        String::from_utf8(shape.record(line.as_bytes(), &mut Vec::new()).to_vec()).unwrap()
    }

    #[test]
    fn headers_quotes_and_index_columns_are_known() {
        let plain = Shape::of(b"0 0 8 8 1\n1 0 8 8 1\n2 0 8 8 0\n");
        assert!(plain.is_plain() && plain.header.is_none());
        let quoted = Shape::of(b"\"time\",\"op\"\n\"1\",\"R\"\n");
        assert!(quoted.is_header(b"\"time\",\"op\""));
        assert_eq!(record(&quoted, "\"1\",\"R\""), "1,R");
        let sample = b",time,op\n0,5,R\n1,6,W\n2,7,W\n";
        let indexed = Shape::of(sample).indexed(sample).unwrap();
        assert_eq!(record(&indexed, "17, 6,W"), "6,W");
        assert_eq!(Shape::of(b"0,5\n1,6\n3,7\n").indexed(b"0,5\n1,6\n3,7\n"), None, "it does not count");
        assert_eq!(Shape::of(b"5,5\n6,6\n7,7\n").indexed(b"5,5\n6,6\n7,7\n"), None);
    }
}
