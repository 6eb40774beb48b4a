//! Commands, plans, joins, the executor and the laws of order. Knows no scheme by name.
//!
//! Commands flow down, completions flow up, nothing flows sideways. A *scheme* turns a command into a plan
//! (steps in stages); the *executor* carries plans out and keeps three laws of order:
//!
//! 1. Overlapping commands of one parent take effect in the order submitted (leaves keep it from submission
//!    on; a scheme that delays part of a command says so by holding its stripe). A read that had to be repaired,
//!    or that a scheme redirected ([`Lock::Detour`]), may see what was written since, never what was written before.
//! 2. A read of what is still in flight is served from the controller's memory (leaves).
//! 3. Plans that hold the same stripe run one after the other, repairs of that stripe included.
//!
//! A page that nothing can bring back stays lost: what would be worked out from it is marked as lacking where it
//! is written ([`View::has`]), so that it is reported again and never returned as something else.

mod background;
mod coming;
mod descend;
mod executor;
mod exposure;
mod frame;
mod frames;
mod gaps;
mod leaves;
mod locks;
mod maps;
mod plan;
mod ports;
mod rebuild;
mod recovery;
mod remap;
mod repair;
mod requests;
mod scheme;
mod sums;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod units;

pub use crate::device::port::Merge;
use crate::device::{command, contents};
pub(crate) use crate::kernel::FixedMap;
pub use command::{Cause, Command, Flags, Page, Verb};
pub use contents::{Contents, Token, Version, gf};
pub use executor::Engine;
pub use leaves::{Below, Done, LeafId, Leaves, Part, Spare, Ticket};
pub use plan::{Key, Lock, Member, Outcome, Plan, Release, Role, Step, Tell, Verdict, Why};
pub use rebuild::Controller;
pub use requests::{Finished, Join};
pub use scheme::{Change, Hazard, Rhythm, Scheme, Unit, View};
pub use sums::Carried;
pub use tree::{Level, NodeId, Shape, Tree};
pub use units::Units;
