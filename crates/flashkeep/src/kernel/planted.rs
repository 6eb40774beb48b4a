//! Defects that the tests of `flashkeep torture` plant, to see that it finds them.
//!
//! Only builds with debug assertions have this file and the calls: release builds are without them.

use std::sync::OnceLock;

/// A defect that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// A write is acknowledged when the last of its programs begins.
    EarlyAcknowledgement,
    /// A mirror writes every fourth page to one member, and acknowledges it.
    SingleCopy,
    /// The recovery after a power loss forgets every eighth page.
    ForgottenPage,
}

/// Whether the environment variable `FLASHKEEP_PLANTED` asks for a defect.
#[must_use]
pub fn is_planted(defect: Planted) -> bool {
    static FOUND: OnceLock<Option<Planted>> = OnceLock::new();
    let found = FOUND.get_or_init(|| match std::env::var("FLASHKEEP_PLANTED").ok()?.as_str() {
        "early-acknowledgement" => Some(Planted::EarlyAcknowledgement),
        "single-copy" => Some(Planted::SingleCopy),
        "forgotten-page" => Some(Planted::ForgottenPage),
        _ => None,
    });
    *found == Some(defect)
}
