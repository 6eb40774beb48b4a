//! What a page holds: nothing at all (speed), or a 64-bit token on which XOR and GF(2⁸) work as they do on
//! pages, so that reconstruction is really done and a wrong one is seen.

use std::fmt::Debug;

/// What a page holds.
pub trait Contents: Copy + Default + PartialEq + Debug + Send + 'static {
    /// Whether there is anything to keep; where there is not, the arithmetic compiles away.
    const KEEP: bool;

    /// `self ⊕ factor · other` in GF(2⁸), byte by byte.
    #[must_use]
    fn plus(self, factor: u8, other: Self) -> Self;

    /// The contents that stand for `token`.
    #[must_use]
    fn token(token: u64) -> Self;
}

impl Contents for () {
    const KEEP: bool = false;
    fn plus(self, _: u8, (): ()) {}
    fn token(_: u64) {}
}

/// A page's contents as 64 bits: eight symbols of GF(2⁸).
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
}

/// The field of RAID-6: GF(2⁸) with x⁸+x⁴+x³+x²+1, generator 2 (Anvin, "The mathematics of RAID-6", 2004).
pub mod gf {
    /// The product of two symbols.
    #[must_use]
    pub const fn multiply(mut a: u8, mut b: u8) -> u8 {
        let mut product = 0;
        while b != 0 {
            if b & 1 != 0 {
                product ^= a;
            }
            let carry = a & 0x80 != 0;
            a <<= 1;
            if carry {
                a ^= 0x1D;
            }
            b >>= 1;
        }
        product
    }

    /// The coefficient of data page `index` in Q: 2 to that power.
    #[must_use]
    pub const fn coefficient(index: u8) -> u8 {
        let (mut value, mut n) = (1, 0);
        while n < index {
            value = multiply(value, 2);
            n += 1;
        }
        value
    }

    /// What times `a` makes 1: a²⁵⁴.
    #[must_use]
    pub const fn inverse(a: u8) -> u8 {
        assert!(a != 0, "0 has no inverse");
        let (mut power, mut n) = (1, 0);
        while n < 254 {
            power = multiply(power, a);
            n += 1;
        }
        power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_a_field() {
        for a in 1..=255 {
            assert_eq!(gf::multiply(a, gf::inverse(a)), 1);
        }
        // The generator's powers are all different up to 255 data pages.
        let mut seen = [false; 256];
        for index in 0..255 {
            let power = usize::from(gf::coefficient(index));
            assert!(!seen[power]);
            seen[power] = true;
        }
    }
}
