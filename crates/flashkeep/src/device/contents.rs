//! The contents of a page: none (for speed), or a 64-bit token. XOR and GF(2⁸) work on tokens as on pages, so that
//! reconstruction is really carried out, and errors in it are detected.

use flashkeep_trace::random::{mix, unmix};
use std::fmt::Debug;

/// The contents of a page.
pub trait Contents: Copy + Default + PartialEq + Debug + Send + 'static {
    /// Whether contents are kept; if not, the arithmetic compiles away.
    const KEEP: bool;

    /// `self ⊕ factor · other` in GF(2⁸), byte by byte.
    #[must_use]
    fn plus(self, factor: u8, other: Self) -> Self;

    /// The contents that represent `token`.
    #[must_use]
    fn token(token: u64) -> Self;

    /// The contents of a page of the host before its first write.
    #[must_use]
    fn initial(page: u64) -> Self {
        Self::token(Version::Written(page, 0).stamp())
    }

    /// Other contents: what a decoder returns that takes a codeword for another one.
    #[must_use]
    fn corrupted(self) -> Self;

    /// The token of these contents; 0 if contents are not kept.
    #[must_use]
    fn stamp(self) -> u64;
}

/// The most pages of which a token says whose it is.
const PAGES: u64 = 1 << 40;

/// The page and version of some contents, as stored in the OOB area of a flash page. Parity covers OOB areas as well,
/// so reconstructed contents also have a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The contents of this write of the page, counted modulo 2¹⁶; 0 for the contents before time 0.
    Written(u64, u16),
    /// Contents before the first write that became known later.
    Before(u64),
}

impl Version {
    /// The token of this version.
    #[must_use]
    pub fn stamp(self) -> u64 {
        match self {
            Version::Written(page, version) => mix(page << 16 | u64::from(version)),
            Version::Before(page) => mix(!page),
        }
    }

    /// The stamp of a token; none if it is not a page's.
    #[must_use]
    pub fn of(stamp: u64) -> Option<Version> {
        let plain = unmix(stamp);
        if plain >> 16 < PAGES {
            Some(Version::Written(plain >> 16, plain as u16))
        } else {
            Some(Version::Before(!plain)).filter(|version| version.page() < PAGES)
        }
    }

    /// Whether it is a later version of the same page than `other`.
    #[must_use]
    pub fn is_newer_than(self, other: Version) -> bool {
        match (self, other) {
            (Version::Written(page, version), Version::Written(other, than)) => {
                page == other && (version.wrapping_sub(than) as i16) > 0
            }
            (Version::Written(page, _), Version::Before(other)) => page == other,
            (Version::Before(_), _) => false,
        }
    }

    /// The page.
    #[must_use]
    pub fn page(self) -> u64 {
        match self {
            Version::Written(page, _) | Version::Before(page) => page,
        }
    }
}

impl Contents for () {
    const KEEP: bool = false;
    fn plus(self, _: u8, (): ()) {}
    fn token(_: u64) {}
    fn corrupted(self) {}
    fn stamp(self) -> u64 {
        0
    }
}

/// The contents of a page as 64 bits: eight symbols of GF(2⁸).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token(pub u64);

impl Contents for Token {
    const KEEP: bool = true;

    fn plus(self, factor: u8, other: Self) -> Self {
        if factor == 1 {
            return Token(self.0 ^ other.0);
        }
        let product = other.0.to_le_bytes().map(|symbol| gf::multiply(factor, symbol));
        Token(self.0 ^ u64::from_le_bytes(product))
    }

    fn token(token: u64) -> Self {
        Token(token)
    }

    fn corrupted(self) -> Self {
        Token(self.0 ^ mix(self.0 | 1))
    }

    fn stamp(self) -> u64 {
        self.0
    }
}

/// The field of RAID-6: GF(2⁸) with x⁸+x⁴+x³+x²+1, generator 2 (Anvin, "The mathematics of RAID-6", 2004).
pub mod gf {
    /// The powers of the generator, repeated once, so that the sum of two logarithms needs no modulo.
    static POWERS: [u8; 510] = powers();
    /// The logarithms of 1 … 255.
    static LOGARITHMS: [u8; 256] = logarithms();

    const fn powers() -> [u8; 510] {
        let (mut powers, mut value, mut n) = ([0; 510], 1u8, 0);
        while n < 510 {
            powers[n] = value;
            value = (value << 1) ^ if value & 0x80 == 0 { 0 } else { 0x1D };
            n += 1;
        }
        powers
    }

    const fn logarithms() -> [u8; 256] {
        let (powers, mut logarithms, mut n) = (powers(), [0; 256], 0);
        while n < 255 {
            logarithms[powers[n] as usize] = n as u8;
            n += 1;
        }
        logarithms
    }

    /// The product of two symbols.
    #[must_use]
    #[inline]
    pub fn multiply(a: u8, b: u8) -> u8 {
        if a == 0 || b == 0 {
            return 0;
        }
        POWERS[usize::from(LOGARITHMS[usize::from(a)]) + usize::from(LOGARITHMS[usize::from(b)])]
    }

    /// The coefficient of data page `index` in Q: 2 to the power `index`.
    #[must_use]
    #[inline]
    pub fn coefficient(index: u8) -> u8 {
        POWERS[usize::from(index)]
    }

    /// The generator to the power of `exponent`.
    #[must_use]
    #[inline]
    pub fn power(exponent: u32) -> u8 {
        POWERS[(exponent % 255) as usize]
    }

    /// The multiplicative inverse of `a`.
    ///
    /// # Panics
    /// If `a` is 0, which has no inverse.
    #[must_use]
    pub fn inverse(a: u8) -> u8 {
        assert!(a != 0, "0 has no inverse");
        POWERS[255 - usize::from(LOGARITHMS[usize::from(a)])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product by its definition: shift, add, and reduce by the polynomial.
    fn by_definition(mut a: u8, mut b: u8) -> u8 {
        let mut product = 0;
        while b != 0 {
            if b & 1 != 0 {
                product ^= a;
            }
            a = (a << 1) ^ if a & 0x80 == 0 { 0 } else { 0x1D };
            b >>= 1;
        }
        product
    }

    #[test]
    fn a_token_says_whose_it_is() {
        for page in [0, 1, 77, u64::from(u32::MAX), PAGES - 1] {
            for version in [0, 1, 9, u16::MAX].map(|v| Version::Written(page, v)) {
                assert_eq!(Version::of(version.stamp()), Some(version));
            }
            assert_eq!(Version::of(Version::Before(page).stamp()), Some(Version::Before(page)));
        }
        // The sum of two tokens is not a page's token, and neither is zero.
        let two = [3, 4].map(|page| Version::Written(page, 1).stamp());
        assert_eq!((Version::of(two[0] ^ two[1]), Version::of(0)), (None, None));
    }

    #[test]
    fn the_field_is_a_field() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(gf::multiply(a, b), by_definition(a, b));
            }
            if a != 0 {
                assert_eq!(gf::multiply(a, gf::inverse(a)), 1);
            }
        }
        // The generator's powers are all different up to 255 data pages.
        let mut seen = [false; 256];
        for index in 0..255 {
            assert!(!std::mem::replace(&mut seen[usize::from(gf::coefficient(index))], true));
        }
    }
}
