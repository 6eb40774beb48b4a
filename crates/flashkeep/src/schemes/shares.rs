//! The distribution of an array's parities over its members.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Stripes after which the shares repeat.
pub const SHARES_OF: u32 = 100;

/// The shares of all parities that members have: the first one's, the others having equal parts of the rest, or each
/// one's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Shares {
    /// The first member's.
    First(f64),
    /// Every member's.
    Each(Vec<f64>),
}

impl Shares {
    /// Of [`SHARES_OF`] stripes, the number whose parity each member has: shares are rounded down, and the
    /// rest goes to those that lost most by that; or why that cannot be.
    ///
    /// # Errors
    /// Where there are not as many shares as members, or they do not add up to 1.
    pub fn counts(&self, members: usize) -> Result<Vec<u32>, String> {
        let each = match self {
            Shares::First(first) => {
                let rest = (1.0 - first) / (members.max(2) - 1) as f64;
                (0..members).map(|member| if member == 0 { *first } else { rest }).collect()
            }
            Shares::Each(each) => each.clone(),
        };
        if each.len() != members {
            return Err(format!(
                "found {} shares for {members} members; one per member is accepted",
                each.len()
            ));
        }
        let sum: f64 = each.iter().sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(format!("the shares add up to {sum}; they must add up to 1"));
        }
        // A share that is meant to be whole must not lose one to its binary fraction.
        let parts: Vec<f64> = each.iter().map(|share| share * f64::from(SHARES_OF) + 1e-6).collect();
        let mut counts: Vec<u32> = parts.iter().map(|part| part.floor() as u32).collect();
        let mut order: Vec<usize> = (0..members).collect();
        order.sort_by(|&a, &b| parts[b].fract().total_cmp(&parts[a].fract()).then(a.cmp(&b)));
        let left = SHARES_OF.saturating_sub(counts.iter().sum());
        order.iter().take(left as usize).for_each(|&member| counts[member] += 1);
        Ok(counts)
    }
}

impl JsonSchema for Shares {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Shares".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({ "type": "number", "minimum": 0.0, "maximum": 1.0 });
        let each = json_schema!({ "type": "array", "items": one, "minItems": 1, "maxItems": 255 });
        json_schema!({ "anyOf": [one, each] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_stripes() {
        let counts = |shares: &Shares, members| shares.counts(members).expect("shares");
        assert_eq!(counts(&Shares::First(0.4), 5), [40, 15, 15, 15, 15]);
        assert_eq!(counts(&Shares::First(1.0), 3), [100, 0, 0]);
        assert_eq!(counts(&Shares::First(0.2), 5), [20; 5]);
        assert_eq!(counts(&Shares::Each(vec![0.7, 0.1, 0.2]), 3), [70, 10, 20]);
        // 60 / 7 is 8.57: four of the seven get one more.
        assert_eq!(counts(&Shares::First(0.4), 8), [40, 9, 9, 9, 9, 8, 8, 8]);
        assert_eq!(counts(&Shares::Each(vec![1.0 / 3.0; 3]), 3), [34, 33, 33]);
        let wrong = |shares: Shares| shares.counts(3).expect_err("a refusal");
        assert_eq!(
            wrong(Shares::Each(vec![0.5, 0.5])),
            "found 2 shares for 3 members; one per member is accepted"
        );
        assert_eq!(
            wrong(Shares::Each(vec![0.5, 0.5, 0.5])),
            "the shares add up to 1.5; they must add up to 1"
        );
    }
}
