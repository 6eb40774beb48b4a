//! Where the next page goes: what `ftl.allocation` means.

use std::fmt;
use std::str::FromStr;

/// A level over which consecutive pages are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// C.
    Channel,
    /// W, as in "way": a chip on its channel.
    Chip,
    /// D.
    Die,
    /// P.
    Plane,
}

impl Level {
    /// All four, outermost first.
    pub const ALL: [Level; 4] = [Level::Channel, Level::Chip, Level::Die, Level::Plane];

    /// The letter that stands for it in a static order.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Level::Channel => 'C',
            Level::Chip => 'W',
            Level::Die => 'D',
            Level::Plane => 'P',
        }
    }
}

/// How a page finds its plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Any idle chip, chosen when it falls free.
    Dynamic,
    /// The channel by the address, the rest as [`Allocation::Dynamic`].
    DynamicInChannel,
    /// All four levels by the address, the one that varies fastest first.
    Static([Level; 4]),
}

impl FromStr for Allocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "dynamic" => return Ok(Allocation::Dynamic),
            "dynamic-in-channel" => return Ok(Allocation::DynamicInChannel),
            _ => {}
        }
        let place = |level: Level| text.find(level.letter());
        let mut order = Level::ALL;
        if text.len() == 4 && order.iter().all(|&level| place(level).is_some()) {
            order.sort_by_key(|&level| place(level));
            return Ok(Allocation::Static(order));
        }
        let upper = text.to_uppercase();
        let meant = if upper == text { None } else { upper.parse::<Allocation>().ok() };
        let hint = match meant {
            Some(order) => format!("; did you mean `{order}`?"),
            None => super::fields::did_you_mean(text, ["dynamic", "dynamic-in-channel"]),
        };
        Err(format!(
            "found \"{text}\"; `dynamic`, `dynamic-in-channel`, or the letters C (channel), W (chip), D \
             (die), P (plane), each once, the one that varies fastest first, such as `CWDP`, are \
             accepted{hint}"
        ))
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allocation::Dynamic => f.write_str("dynamic"),
            Allocation::DynamicInChannel => f.write_str("dynamic-in-channel"),
            Allocation::Static(order) => order.iter().try_for_each(|level| write!(f, "{}", level.letter())),
        }
    }
}
