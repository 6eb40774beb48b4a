//! Time, identifiers, events, arenas. Knows no flash.

mod agenda;
mod arena;
mod bits;
mod hint;
mod time;

pub use agenda::{Agenda, Deadlines};
pub use arena::{Arena, Id};
pub use bits::Bits;
pub use flashkeep_trace::random::{Random, mix};
pub use hint::{in_large_pages, prefetch};
pub use time::{SimTime, Span};
