//! Exact parsing of numbers and sizes.

/// Splits digits, which may include a decimal point, from the text that follows.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    text.split_at(end)
}

fn multiplier(unit: &str) -> Option<u64> {
    match unit {
        "" => Some(1),
        "k" | "K" => Some(1_000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        _ => None,
    }
}

/// `digits` times `factor`, if that is a whole number of 64 bits.
fn exact(digits: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(fraction) || fraction.len() > 18 {
        return None;
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? };
    let value = (u128::from(whole.parse::<u64>().ok()?) * scale + fraction) * u128::from(factor);
    if !value.is_multiple_of(scale) { None } else { u64::try_from(value / scale).ok() }
}

/// A whole number, `k`, `M` and `G` being thousands, millions and milliards.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let (digits, unit) = split_unit(text);
    multiplier(unit).and_then(|factor| exact(digits, factor)).ok_or_else(|| "a whole number".into())
}

/// A number, not negative and not infinite, with the units of [`count`].
pub(super) fn decimal(text: &str) -> Option<f64> {
    let (digits, unit) = split_unit(text);
    let value = digits.parse::<f64>().ok()? * multiplier(unit)? as f64;
    value.is_finite().then_some(value)
}

/// Bytes: a bare number, or with a binary or decimal unit.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    let (digits, unit) = split_unit(text);
    let factor = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    };
    exact(digits, factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact() {
        for (text, value) in [("7", 7), ("100k", 100_000), ("1.5M", 1_500_000), ("2G", 2_000_000_000)] {
            assert_eq!(count(text), Ok(value));
        }
        for bad in ["", "k", "1.2.3", "-1", "1e6", "0.5", "1KiB", "nan", "99999999999G", " 1", ".5k"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_have_binary_and_decimal_units() {
        for (text, value) in [
            ("4096", 4096),
            ("4KiB", 4096),
            ("0.5KiB", 512),
            ("1.5GiB", 3 << 29),
            ("4KB", 4000),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(size(text), Some(value));
        }
        for bad in ["4k", "4kib", "KiB", "1.0001KiB", "-4KiB", "99999999TiB"] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }

    #[test]
    fn decimals_are_finite_and_not_negative() {
        assert_eq!(decimal("0.5"), Some(0.5));
        assert_eq!(decimal("20k"), Some(20_000.0));
        for bad in ["", "nan", "inf", "-1", "1e9", "."] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
    }
}
