//! Suggestions for misspelt names: the nearest of a list.

/// The message for an unknown name: the name found, the nearest known name, and all known names.
pub(crate) fn unknown(kind: &str, found: &str, known: &[&str]) -> String {
    let guess = nearest(found, known).map_or(";".into(), |name| format!("; did you mean `{name}`?"));
    format!("unknown {kind} `{found}`{guess} accepted: {}", known.join(", "))
}

/// The known name nearest to the one found, if one is near.
fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = found.to_ascii_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_ascii_lowercase());
    let best = known.iter().copied().min_by_key(|name| distance(name))?;
    let prefix = lower.len() > 1 && (best.starts_with(&lower) || lower.starts_with(best));
    (distance(best) <= 1 + best.len() / 4 || prefix).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["ssdsim", "disksim", "msr"];
        assert_eq!(
            unknown("format", "sdsim", &known),
            "unknown format `sdsim`; did you mean `ssdsim`? accepted: ssdsim, disksim, msr"
        );
        assert_eq!(
            unknown("format", "parquet", &known),
            "unknown format `parquet`; accepted: ssdsim, disksim, msr"
        );
    }
}
