//! Parses a line of a text trace, byte by byte, with exact integers only.

/// An error in a record: the field and a message. Boxed, because errors are rare and `Result`s must be small.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) field: Option<&'static str>,
    pub(crate) message: String,
}

impl Flaw {
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Flaw { field: Some(field), message: message.into() })
    }

    pub(crate) fn whole(message: impl Into<String>) -> Box<Self> {
        Box::new(Flaw { field: None, message: message.into() })
    }

    /// The usual message: the value found and the accepted ones.
    #[cold]
    pub(crate) fn found(field: &'static str, found: &[u8], accepted: &str) -> Box<Self> {
        if found.is_empty() {
            return Flaw::new(field, format!("missing; accepted: {accepted}"));
        }
        Flaw::new(field, format!("found {}; accepted: {accepted}", quoted(found)))
    }
}

/// Formats bytes of a file for a message: shortened, printable, in backquotes.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).escape_debug().to_string();
    format!("`{text}{}`", if bytes.len() > SHOWN { "…" } else { "" })
}

/// Between fields: runs of blanks and tabs.
pub(crate) const BLANKS: u8 = b' ';

/// Between fields: one comma, with blanks around it allowed.
pub(crate) const COMMA: u8 = b',';

/// A cursor over one line whose fields are separated by `SEPARATOR`. The functions that every field needs are always
/// inlined: otherwise the compiler keeps the cursor in memory, and reading takes ten times as long.
pub(crate) struct Line<'a, const SEPARATOR: u8> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a, const SEPARATOR: u8> Line<'a, SEPARATOR> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Line { bytes, at: 0 }
    }

    /// How many bytes of the line have been parsed.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// A whole number that fits 64 bits.
    #[inline(always)]
    pub(crate) fn integer(&mut self, field: &'static str) -> Result<u64, Box<Flaw>> {
        let start = self.begin();
        let value = self.digits();
        let digits = self.at - start;
        if digits == 0 || digits > 19 || !self.finish() {
            return self.long_integer(field, start);
        }
        Ok(value)
    }

    /// A decimal number of a unit that is `10^UNIT_LOG10` ns, as whole ns; digits below 1 ns are cut off, which keeps
    /// the order of times.
    #[inline]
    pub(crate) fn decimal<const UNIT_LOG10: u32>(&mut self, field: &'static str) -> Result<u64, Box<Flaw>> {
        let start = self.begin();
        let whole = self.digits();
        let whole_digits = self.at - start;
        let (mut fraction, mut fraction_digits) = (0_u64, 0);
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            while let Some(digit) = self.digit() {
                if fraction_digits < UNIT_LOG10 {
                    fraction = fraction * 10 + digit;
                    fraction_digits += 1;
                }
                self.at += 1;
            }
        }
        if whole_digits + fraction_digits as usize == 0 || whole_digits > 19 || !self.finish() {
            let found = self.word_from(start);
            return Err(Flaw::found(field, found, "a decimal number such as 12.345, not negative"));
        }
        let fraction_ns = fraction * 10_u64.pow(UNIT_LOG10 - fraction_digits);
        whole
            .checked_mul(const { 10_u64.pow(UNIT_LOG10) })
            .and_then(|ns| ns.checked_add(fraction_ns))
            .ok_or_else(|| {
                Flaw::found(field, self.word_from(start), "a time within 584 years, in this format's unit")
            })
    }

    /// The contents of the field, without blanks around it.
    #[inline]
    pub(crate) fn word(&mut self, field: &'static str, accepted: &str) -> Result<&'a [u8], Box<Flaw>> {
        let start = self.begin();
        while self.bytes.get(self.at).is_some_and(|&byte| !Self::ends_field(byte)) {
            self.at += 1;
        }
        let word = self.bytes[start..self.at].trim_ascii_end();
        self.finish();
        if word.is_empty() { Err(Flaw::found(field, b"", accepted)) } else { Ok(word) }
    }

    /// Steps over a field without reading it.
    #[inline]
    pub(crate) fn skip(&mut self) {
        while self.bytes.get(self.at).is_some_and(|&byte| !Self::ends_field(byte)) {
            self.at += 1;
        }
        self.finish();
    }

    /// Checks that the line ends here.
    #[inline(always)]
    pub(crate) fn end(&mut self, fields: &str) -> Result<(), Box<Flaw>> {
        if self.at < self.bytes.len() {
            let extra = &self.bytes[self.at..];
            return Err(Flaw::whole(format!("too many fields: found {} after {fields}", quoted(extra))));
        }
        Ok(())
    }

    /// Goes to the first byte of the next field.
    #[inline(always)]
    fn begin(&mut self) -> usize {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.at
    }

    #[inline(always)]
    fn digit(&self) -> Option<u64> {
        let digit = self.bytes.get(self.at)?.wrapping_sub(b'0');
        (digit <= 9).then_some(u64::from(digit))
    }

    /// The digits at the cursor as a number; meaningless if there are more than 19.
    #[inline(always)]
    fn digits(&mut self) -> u64 {
        let mut value = 0_u64;
        while let Some(digit) = self.digit() {
            value = value.wrapping_mul(10).wrapping_add(digit);
            self.at += 1;
        }
        value
    }

    /// Steps over the end of a field; returns false if the field continues.
    #[inline(always)]
    fn finish(&mut self) -> bool {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            None => true,
            Some(&byte) if SEPARATOR == COMMA => {
                self.at += usize::from(byte == COMMA);
                byte == COMMA
            }
            // A blank that separates the fields is stepped over already.
            Some(_) => self.at > 0 && matches!(self.bytes[self.at - 1], b' ' | b'\t'),
        }
    }

    #[inline]
    fn ends_field(byte: u8) -> bool {
        if SEPARATOR == COMMA { byte == COMMA } else { matches!(byte, b' ' | b'\t') }
    }

    fn word_from(&self, start: usize) -> &'a [u8] {
        let rest = &self.bytes[start..];
        let length = rest.iter().position(|&byte| Self::ends_field(byte)).unwrap_or(rest.len());
        rest[..length].trim_ascii_end()
    }

    /// Handles the rare cases: 20 digits, or no digit.
    #[cold]
    fn long_integer(&mut self, field: &'static str, start: usize) -> Result<u64, Box<Flaw>> {
        let word = self.word_from(start);
        let accepted = if word.iter().all(u8::is_ascii_digit) {
            "an integer below 2^64"
        } else {
            "an integer, not negative"
        };
        if !word.iter().all(u8::is_ascii_digit) {
            return Err(Flaw::found(field, word, accepted));
        }
        let value = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        self.finish();
        value.ok_or_else(|| Flaw::found(field, word, accepted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blanks(text: &str) -> Line<'_, BLANKS> {
        Line::new(text.as_bytes())
    }

    fn ms(text: &str) -> Result<u64, String> {
        blanks(text).decimal::<6>("time").map_err(|flaw| flaw.message)
    }

    #[test]
    fn integers_are_parted_by_blanks_and_tabs() {
        let mut line = blanks("  12\t 0  18446744073709551615 ");
        assert_eq!(line.integer("a"), Ok(12));
        assert_eq!(line.integer("b"), Ok(0));
        assert_eq!(line.integer("c"), Ok(u64::MAX));
        assert_eq!(line.end("3 fields"), Ok(()));
        assert_eq!(line.integer("d").unwrap_err().message, "missing; accepted: an integer below 2^64");
    }

    #[test]
    fn integers_beyond_64_bits_and_garbage_are_named() {
        let message = |text| blanks(text).integer("a").unwrap_err().message;
        assert_eq!(
            message("18446744073709551616"),
            "found `18446744073709551616`; accepted: an integer below 2^64"
        );
        assert_eq!(message("-5 1"), "found `-5`; accepted: an integer, not negative");
        assert_eq!(message("5x 1"), "found `5x`; accepted: an integer, not negative");
        assert_eq!(message("\u{7}x"), "found `\\u{7}x`; accepted: an integer, not negative");
    }

    #[test]
    fn integers_of_every_length_are_read() {
        for length in 1..=19 {
            let text = &"1234567890123456789"[..length];
            for tail in ["", " ", " 1", " 1234567890", "\t7"] {
                assert_eq!(
                    blanks(&format!("{text}{tail}")).integer("a"),
                    Ok(text.parse().unwrap()),
                    "{text}{tail}"
                );
            }
            for garbage in ["/", ":", "x", "\u{b0}", ".5"] {
                assert!(
                    blanks(&format!("{text}{garbage} 1234567890")).integer("a").is_err(),
                    "{text}{garbage}"
                );
            }
        }
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(ms("5265.313"), Ok(5_265_313_000));
        assert_eq!(ms("0.1"), Ok(100_000));
        assert_eq!(ms("7"), Ok(7_000_000));
        assert_eq!(ms(".5"), Ok(500_000));
        assert_eq!(ms("5."), Ok(5_000_000));
        assert_eq!(ms("1.0000019"), Ok(1_000_001), "finer than 1 ns is cut off");
        assert_eq!(blanks("12.000000001").decimal::<9>("time"), Ok(12_000_000_001));
        assert!(ms("99999999999999999.0").unwrap_err().contains("584 years"));
        for bad in ["", ".", "-1.0", "1.2.3", "1e3", "nan", "1,5"] {
            assert!(ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn commas_may_have_blanks_around_them() {
        let mut line = Line::<COMMA>::new(b"1 , two words ,3");
        assert_eq!(line.integer("a"), Ok(1));
        assert_eq!(line.word("b", "a word"), Ok(&b"two words"[..]));
        assert_eq!(line.integer("c"), Ok(3));
        assert_eq!(line.end("3 fields"), Ok(()));
        assert!(Line::<COMMA>::new(b"1 2").integer("a").is_err());
        assert!(Line::<COMMA>::new(b",2").integer("a").is_err());
    }
}
