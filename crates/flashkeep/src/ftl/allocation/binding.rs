//! The meaning of `ftl.allocation`: which levels the address of a page fixes.

use super::names;
use crate::error::did_you_mean;
use crate::flash::StripingLevel;
use std::fmt;
use std::str::FromStr;

/// How a page finds its plane: some levels by its address, the others by idleness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    order: [StripingLevel; 4],
    bound: usize,
}

impl Binding {
    /// Any idle chip, chosen when it falls free.
    pub const DYNAMIC: Binding = Binding { order: StripingLevel::ALL, bound: 0 };

    /// These levels by the address, the one that varies fastest first; of each at most one.
    #[must_use]
    pub fn bound(levels: &[StripingLevel]) -> Binding {
        let others = StripingLevel::ALL.into_iter().filter(|level| !levels.contains(level));
        let mut order = StripingLevel::ALL;
        for (place, level) in order.iter_mut().zip(levels.iter().copied().chain(others)) {
            *place = level;
        }
        Binding { order, bound: levels.len() }
    }

    /// The levels that the address decides, the one that varies fastest first.
    #[must_use]
    pub fn levels(&self) -> &[StripingLevel] {
        &self.order[..self.bound]
    }
}

impl FromStr for Binding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, levels)) = names().find(|(name, _)| *name == text) {
            return Ok(Binding::bound(levels));
        }
        let level = |letter: char| StripingLevel::ALL.into_iter().find(|level| level.letter() == letter);
        let levels: Vec<StripingLevel> = text.chars().filter_map(level).collect();
        let once =
            StripingLevel::ALL.iter().all(|level| levels.iter().filter(|one| *one == level).count() <= 1);
        if !levels.is_empty() && levels.len() == text.chars().count() && once {
            return Ok(Binding::bound(&levels));
        }
        let upper = text.to_uppercase();
        let meant = if upper == text { None } else { upper.parse::<Binding>().ok() };
        let hint = match meant {
            Some(order) => format!("; did you mean `{order}`?"),
            None => did_you_mean(text, names().map(|(name, _)| name)),
        };
        let names: String = names().map(|(name, _)| format!("`{name}`, ")).collect();
        Err(format!(
            "found \"{text}\"; {names}or some of the letters C (channel), W (chip), D \
             (die), P (plane), each at most once, the one that varies fastest first, such as `CWDP` (the levels \
             left out are chosen when the page is written), are accepted{hint}"
        ))
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match names().find(|(_, levels)| *levels == self.levels()) {
            Some((name, _)) => f.write_str(name),
            None => self.levels().iter().try_for_each(|level| write!(f, "{}", level.letter())),
        }
    }
}
