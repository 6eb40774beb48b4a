//! Local and global parities, rotated together.

use super::layout::{ParityLayout, Rotated, RowLayout, Seats};
use crate::engine::Code;
use crate::schemes::SchemeOptions;
use crate::schemes::lrc::LrcOptions;
use std::ops::Range;

/// Parities of local groups, then global ones, on adjacent members; they move to the left as those of RAID-5 do.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct LocalGroups {
    places: Rotated<1>,
    code: Code,
}

impl ParityLayout for LocalGroups {
    type Seats = Seats;

    const HAS_GROUPS: bool = true;

    fn new(options: &SchemeOptions<'_>) -> Self {
        let code = options.redundancy.read::<LrcOptions>().code(u32::from(options.members));
        LocalGroups { places: Rotated::new(options), code }
    }

    fn members(&self) -> u8 {
        self.places.members()
    }

    #[inline]
    fn parities(&self) -> u8 {
        self.code.parities()
    }

    fn period(&self, stripes: Range<u64>) -> Option<u32> {
        self.places.period(stripes)
    }

    #[inline]
    fn code(&self) -> Code {
        self.code
    }

    #[inline]
    fn seats(&self, stripe: u32) -> Seats {
        Seats::of(self, stripe)
    }
}

impl RowLayout for LocalGroups {
    #[inline]
    fn parity(&self, stripe: u32) -> u8 {
        self.places.parity(stripe)
    }
}
