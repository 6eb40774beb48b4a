//! Manual pages of workloads: the comment at the head of the workload's file, then its keys with their defaults.

use super::arguments::keys;
use super::{RECIPES, Recipe};

/// This folder's description of the keys, a line each: `| key | meaning | default |`.
const KEYS: &str = include_str!("mod.rs");

/// The manual page of a workload; none if there is no such workload.
#[must_use]
pub fn workload_manual(name: &str) -> Option<String> {
    let recipe = RECIPES.iter().find(|recipe| recipe.name == name)?;
    let head = recipe.source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut page: String = head.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect();
    page += &format!("\n# Keys\nsynth:{name}[,key=value...]\n\n");
    let rows: Vec<(&str, String, &str)> = keys(recipe).map(|key| row(recipe, key)).collect();
    let width = rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0);
    for (key, default, meaning) in rows {
        page += &format!("  {key:10} {default:width$}  {meaning}\n");
    }
    page += &format!("\n# Example\nflashkeep trace info synth:{name},requests=10k\n");
    Some(page)
}

/// A key, its default in this workload, and its meaning.
fn row(recipe: &Recipe, key: &'static str) -> (&'static str, String, &'static str) {
    let start = format!("//! | `{key}` | ");
    let line = KEYS.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_default();
    let (meaning, general) =
        line.strip_suffix('|').and_then(|line| line.split_once(" |")).unwrap_or_default();
    let general = general.trim();
    let own = match key {
        "requests" => Some(recipe.requests.to_string()),
        "write" => Some(rounded(recipe.write)),
        "theta" => Some(rounded(recipe.theta)),
        "rewrite" => Some(rounded(recipe.rewrite)),
        "size" => recipe.size.map(Into::into),
        "footprint" => recipe.footprint.map(Into::into),
        "rate" => recipe.rate.map(rounded),
        "depth" => recipe.rate.map(|_| String::new()),
        "bursts" => {
            recipe.bursts.map(|bursts| format!("{}:{}", rounded(bursts.pauses), rounded(bursts.speedup)))
        }
        _ => None,
    };
    let default = own.unwrap_or_else(|| general.split(", ").next().unwrap_or_default().into());
    (key, if default.is_empty() { "-".into() } else { default }, meaning)
}

/// Four digits after the decimal point, without trailing zeros.
fn rounded(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_text_and_a_meaning_for_each_key() {
        for recipe in RECIPES {
            let page = workload_manual(recipe.name).expect("a page");
            assert!(!page.starts_with('\n'), "{}: no comment at the head of its file", recipe.name);
            for key in keys(recipe) {
                let (_, default, meaning) = row(recipe, key);
                assert!(!default.is_empty() && !meaning.is_empty(), "{}: {key}", recipe.name);
            }
        }
        assert!(workload_manual("nothing").is_none());
    }
}
