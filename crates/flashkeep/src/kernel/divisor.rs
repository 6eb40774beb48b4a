//! Division by a number that is known in advance.

/// Divides 32-bit numbers by a fixed one with a multiplication (Lemire, Kaser and Kurz, "Faster remainder by direct
/// computation", 2019). Exact for all 32-bit numbers.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Divisor {
    by: u32,
    inverse: u64,
}

impl Divisor {
    /// Division by `by`, which is not 0.
    #[must_use]
    pub fn new(by: u32) -> Self {
        debug_assert!(by > 0, "division by 0");
        Divisor { by, inverse: (u64::MAX / u64::from(by)).wrapping_add(1) }
    }

    /// The divisor.
    #[must_use]
    pub fn by(self) -> u32 {
        self.by
    }

    /// Quotient and remainder, for a divisor of more than 1.
    #[must_use]
    #[inline]
    pub fn split(self, number: u32) -> (u32, u32) {
        debug_assert!(self.by > 1, "a division by 1 needs `split_any`");
        let quotient = ((u128::from(self.inverse) * u128::from(number)) >> 64) as u32;
        (quotient, number - quotient * self.by)
    }

    /// Quotient and remainder of a number of up to 2⁶⁴ divided by the divisor.
    #[must_use]
    #[inline]
    pub fn split_wide(self, number: u64) -> (u64, u32) {
        debug_assert!(number.checked_mul(u64::from(self.by)).is_some(), "{number} is too large");
        if self.by == 1 {
            return (number, 0);
        }
        let quotient = ((u128::from(self.inverse) * u128::from(number)) >> 64) as u64;
        (quotient, (number - quotient * u64::from(self.by)) as u32)
    }

    /// Quotient and remainder, for any divisor.
    #[must_use]
    #[inline]
    pub fn split_any(self, number: u32) -> (u32, u32) {
        if self.by == 1 { (number, 0) } else { self.split(number) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn division_is_exact() {
        for by in (1..300).chain([65_535, 65_536, u32::MAX]) {
            let near = |n: u32| [n.wrapping_sub(1), n, n.wrapping_add(1)];
            for number in (0..1000).chain((1..40).flat_map(|n| near(by.wrapping_mul(n)))).chain(near(0)) {
                assert_eq!(Divisor::new(by).split_any(number), (number / by, number % by));
            }
        }
    }

    proptest! {
        #[test]
        fn a_division_is_a_division(number: u32, by in 1u32..) {
            prop_assert_eq!(Divisor::new(by).split_any(number), (number / by, number % by));
        }

        #[test]
        fn a_wide_division_is_a_division(number in 0u64..1 << 40, by in 1u32..1 << 23) {
            let (quotient, rest) = (number / u64::from(by), (number % u64::from(by)) as u32);
            prop_assert_eq!(Divisor::new(by).split_wide(number), (quotient, rest));
        }
    }
}
