//! Where the values of a TOML file are, for messages about plans.

use pyo3::prelude::*;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line of each key of a TOML text, by its dotted path: `[("grid.ftl.over_provisioning", 7), …]`. Items of lists
/// have their number: `variant.0.name`. Empty if the text is not TOML.
#[pyfunction]
pub(crate) fn toml_lines(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    if let Ok(table) = DeTable::parse(text) {
        visit_table(text, table.get_ref(), "", &mut found);
    }
    found
}

fn visit_table(text: &str, table: &DeTable<'_>, above: &str, found: &mut Vec<(String, usize)>) {
    for (key, value) in table {
        let name = key.get_ref();
        let path = if above.is_empty() { name.to_string() } else { format!("{above}.{name}") };
        found.push((path.clone(), line(text, key.span().start)));
        visit(text, value, &path, found);
    }
}

fn visit(text: &str, value: &Spanned<DeValue<'_>>, path: &str, found: &mut Vec<(String, usize)>) {
    match value.get_ref() {
        DeValue::Table(table) => visit_table(text, table, path, found),
        DeValue::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                let path = format!("{path}.{number}");
                found.push((path.clone(), line(text, item.span().start)));
                visit(text, item, &path, found);
            }
        }
        _ => {}
    }
}

/// The line of a byte of the text, counted from 1.
fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}
