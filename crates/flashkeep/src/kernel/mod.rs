//! Time, identifiers, events, arenas and bit sets: nothing specific to flash.

mod agenda;
mod arena;
mod bits;
mod divisor;
mod fixed;
mod hint;
mod manual;
mod memory;
mod number_table;
mod permutation;
#[cfg(debug_assertions)]
mod planted;
mod rebuild_queue;
mod runs;
mod sparse;
mod time;
mod use_order;

pub use agenda::{Agenda, Deadlines};
pub use arena::{Arena, Id};
pub use bits::Bits;
pub use divisor::Divisor;
pub use fixed::{FixedHasher, FixedMap, sorted};
pub use flashkeep_trace::random::{Random, mix};
pub use hint::{filled_in_large_pages, free_large_tables, prefetch, zeros_in_large_pages};
pub use manual::head_comment;
pub use memory::{OutOfMemory, check_room, make_room, reach};
pub use number_table::NumberTable;
pub use permutation::Permutation;
#[cfg(debug_assertions)]
pub use planted::{Planted, is_planted};
pub use rebuild_queue::RebuildQueue;
pub use sparse::Sparse;
pub use time::{Factor, SimTime, Span, whole};
pub use use_order::UseOrder;
