//! Text in UTF-16, as Windows tools write it, turned into UTF-8; and files that are no trace but a container of some.

use std::io::{self, Cursor, Read};

/// Bytes that identify the encoding or the container: a tar archive has its mark after 257 others.
const HEAD: usize = 512;

/// Reads `raw` as UTF-8. The error names the container if `raw` is one.
pub(crate) fn decode(mut raw: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>, String> {
    let mut head = Vec::with_capacity(HEAD);
    // The error of a damaged stream comes after the bytes that could be read, where the reader can name the record.
    let failed = (&mut raw).take(HEAD as u64).read_to_end(&mut head).err();
    if let Some(message) = container(&head) {
        return Err(message);
    }
    let big_endian = match head[..] {
        [0xFF, 0xFE, low, 0, ..] if low.is_ascii() && low != 0 => Some(false),
        [0xFE, 0xFF, 0, low, ..] if low.is_ascii() && low != 0 => Some(true),
        _ => None,
    };
    let whole = Cursor::new(head).chain(Rest { failed, inner: raw });
    Ok(match big_endian {
        None => Box::new(whole),
        Some(big_endian) => {
            Box::new(Utf16 { inner: whole, big_endian, odd: None, buffer: vec![0; 64 << 10] })
        }
    })
}

/// A stream after its head, whose reading may have failed.
struct Rest {
    failed: Option<io::Error>,
    inner: Box<dyn Read + Send>,
}

impl Read for Rest {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.failed.take().map_or_else(|| self.inner.read(out), Err)
    }
}

/// The message for a file that contains other files.
fn container(head: &[u8]) -> Option<String> {
    if head.get(257..262) == Some(b"ustar") {
        let name = head[..100].split(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        return Some(format!(
            "this is a tar archive, whose first file is {name}; a trace is one file: `tar -xf` unpacks it, and `tar \
             -xOf ARCHIVE {name} | flashkeep … -` reads one file of it"
        ));
    }
    if head.starts_with(b"PAR1") {
        return Some(
            "this is a Parquet table; in Python fk.trace(table) reads it, and `columns` maps its columns"
                .into(),
        );
    }
    None
}

/// Characters of UTF-16. Those beyond ASCII become `?`: no format has any in a field that counts.
struct Utf16<R> {
    inner: R,
    big_endian: bool,
    /// The first byte of a character that was cut.
    odd: Option<u8>,
    buffer: Vec<u8>,
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let kept = usize::from(self.odd.is_some());
            if let Some(odd) = self.odd.take() {
                self.buffer[0] = odd;
            }
            let most = (2 * out.len()).min(self.buffer.len());
            let count = self.inner.read(&mut self.buffer[kept..most])? + kept;
            let mut written = 0;
            for pair in self.buffer[..count].chunks_exact(2) {
                let (high, low) = if self.big_endian { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
                // The mark at the head.
                if (high, low) == (0xFE, 0xFF) {
                    continue;
                }
                out[written] = if high == 0 && low.is_ascii() { low } else { b'?' };
                written += 1;
            }
            if count % 2 == 1 {
                self.odd = Some(self.buffer[count - 1]);
            }
            if written > 0 || count == kept || out.is_empty() {
                return Ok(written);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String, String> {
        let mut text = String::new();
        decode(Box::new(Cursor::new(bytes.to_vec())))?.read_to_string(&mut text).unwrap();
        Ok(text)
    }

    #[test]
    fn utf_16_becomes_utf_8_in_either_byte_order() {
        let text = "0 0 8 8 1\r\n1000 0 16 8 0\r\n".repeat(10_000);
        let units: Vec<u16> = std::iter::once(0xFEFF).chain(text.encode_utf16()).collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        assert_eq!(read(&little), Ok(text.clone()));
        assert_eq!(read(&big), Ok(text.clone()));
        assert_eq!(read(text.as_bytes()), Ok(text), "and what is none stays");
    }

    #[test]
    fn archives_are_named() {
        let mut archive = vec![0; 1024];
        archive[..5].copy_from_slice(b"a.csv");
        archive[257..262].copy_from_slice(b"ustar");
        assert!(read(&archive).unwrap_err().starts_with("this is a tar archive, whose first file is a.csv"));
        assert!(read(b"PAR1\x15\x04").unwrap_err().contains("Parquet"));
    }
}
