//! Time, identifiers, events, arenas. Knows no flash.

mod agenda;
mod arena;
mod time;

pub use agenda::{Agenda, Deadlines};
pub use arena::{Arena, Id};
pub use flashkeep_trace::random::{Random, mix};
pub use time::{SimTime, Span};
