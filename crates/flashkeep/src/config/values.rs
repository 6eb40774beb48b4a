//! Values of drive files and of `--set`, as they are written.

use super::fields::{KeyKind, Scalar};
use serde_json::Value;
use toml::Spanned;
use toml::de::DeValue;

/// A value of `--set` that is not TOML: a bare word, or a number such as `.5`.
pub(super) fn bare_word(raw: &str, kind: &KeyKind) -> Scalar {
    match (kind, raw.parse::<f64>()) {
        (KeyKind::Whole(..) | KeyKind::Number(..) | KeyKind::Numbers(..), Ok(number)) => {
            Scalar::Number(number)
        }
        _ => Scalar::Text(raw.into()),
    }
}

/// A TOML value, and how it was written.
pub(super) fn scalar(value: &Spanned<DeValue<'_>>) -> (Scalar, String) {
    let value = value.get_ref();
    let whole = |digits: &str, radix| i128::from_str_radix(digits, radix).ok();
    let scalar = match value {
        DeValue::Boolean(flag) => Scalar::Flag(*flag),
        DeValue::String(text) => Scalar::Text(text.to_string()),
        // A number that does not fit 128 bits becomes out of range, which the checks report.
        DeValue::Integer(digits) => {
            Scalar::Whole(whole(digits.as_str(), digits.radix()).unwrap_or(i128::MAX))
        }
        DeValue::Float(digits) => Scalar::Number(digits.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Array(items) => texts(items.iter().map(|item| item.get_ref().as_str().map(String::from)))
            .unwrap_or_else(|| list(items.iter().map(|item| number(item.get_ref())))),
        DeValue::Table(_) => Scalar::Other("a table"),
        DeValue::Datetime(_) => Scalar::Other("a date or time"),
    };
    let raw = match value {
        DeValue::Integer(digits) => digits.to_string(),
        DeValue::Float(digits) => digits.to_string(),
        DeValue::Array(items) => {
            format!("[{}]", items.iter().map(|item| self::scalar(item).1).collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    };
    (scalar, raw)
}

/// A list of texts, if it is one.
pub(super) fn texts(items: impl Iterator<Item = Option<String>>) -> Option<Scalar> {
    let texts: Vec<String> = items.collect::<Option<_>>()?;
    if texts.is_empty() { None } else { Some(Scalar::Texts(texts)) }
}

/// A list of numbers; no key accepts other lists.
pub(super) fn list(items: impl Iterator<Item = Option<f64>>) -> Scalar {
    items.collect::<Option<_>>().map_or(Scalar::Other("an array"), Scalar::List)
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(digits) => {
            i64::from_str_radix(digits.as_str(), digits.radix()).ok().map(|n| n as f64)
        }
        DeValue::Float(digits) => digits.as_str().parse().ok(),
        _ => None,
    }
}

impl Scalar {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Scalar::Whole(number) => i64::try_from(*number).map_or(Value::Null, Value::from),
            Scalar::Number(number) => Value::from(*number),
            Scalar::Flag(flag) => Value::from(*flag),
            Scalar::Text(text) => Value::from(text.as_str()),
            Scalar::List(numbers) => Value::from(numbers.as_slice()),
            Scalar::Texts(texts) => Value::from(texts.as_slice()),
            Scalar::Other(_) => Value::Null,
        }
    }
}
