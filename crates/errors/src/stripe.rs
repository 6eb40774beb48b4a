//! A stripe of `others + 1` pages that bears the loss of one (data and one parity).

/// How likely it is that a page is lost: it fails, and so does one of the `others` that would restore it. Pages fail
/// independently, each with probability `page`: p·[1 − (1 − p)^k].
#[must_use]
pub fn loss(page: f64, others: u32) -> f64 {
    page * any(page, others)
}

/// How likely it is that at least one of `count` fails, if each does with probability `each`: 1 − (1 − p)^count, exact
/// to the last digits for any p.
#[must_use]
pub fn any(each: f64, count: u32) -> f64 {
    match count {
        0 => 0.0,
        1 => each,
        _ => -libm::expm1(f64::from(count) * libm::log1p(-each)),
    }
}
