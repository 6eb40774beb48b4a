//! The manual pages of policies: the doc comments at the head of their files.

/// The doc comment at the head of a file.
#[must_use]
pub fn head_comment(source: &str) -> String {
    let lines = source.lines().take_while(|line| line.starts_with("//!"));
    lines.map(|line| format!("{}\n", line.trim_start_matches("//!").trim_start())).collect()
}
