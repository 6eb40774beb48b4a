//! Commands, plans, completion counters, the executor and the laws of order. It does not depend on particular schemes.
//!
//! Commands go down the tree, completions go up; members do not communicate with each other. A *scheme* turns a command
//! into a plan (steps in stages); the *executor* carries plans out and keeps three laws of order:
//!
//! 1. Overlapping commands of one parent take effect in the order submitted. (Backends keep this order from submission
//!    on; a scheme that delays part of a command holds its stripe.) A read that had to be repaired, or that a scheme
//!    redirected ([`Lock::Detour`]), may see newer writes, never older contents.
//! 2. A read of a page in flight is served from the controller's memory (by backends).
//! 3. Plans that hold the same stripe run one after the other, repairs of that stripe included.
//!
//! An unrecoverable page stays lost: pages that would be computed from it are recorded as missing where they are
//! written ([`View::has`]), so that reads report them as lost and never return wrong contents.

mod around;
mod backends;
mod background;
mod code;
mod coming;
mod descend;
mod executor;
mod exposure;
mod gaps;
mod health;
mod hedge;
mod latency;
mod locks;
mod maps;
mod names;
mod nodes;
mod places;
mod plan;
mod ports;
mod rebuild;
mod reconstruct;
mod recovery;
mod remap;
mod repair;
mod requests;
mod rows;
mod running;
mod running_plans;
mod schedule;
mod scheme;
mod sums;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod units;
mod view;
mod work;

pub use crate::device::latency::{Breakdown, BusyHistory, FlashTimes, Part, TimeSpent};
pub use crate::device::port::Merge;
use crate::device::{command, contents};
pub(crate) use crate::kernel::FixedMap;
pub use around::{ReadCounts, Reading};
pub use backends::{
    BackendId, BackendView, Backends, CompletionPart, CompletionToken, Done, OobData, OpenRequest,
    ReadEstimate,
};
pub use code::Code;
pub use command::{Cause, Command, Flags, Page, Verb};
pub use contents::{Contents, Token, Version, gf};
pub use executor::Engine;
pub use exposure::Exposure;
pub use health::{Codeword, Codewords, OwnHealth, Protection};
pub use names::NamedVersions;
pub use nodes::Nodes;
pub use plan::{Key, Lock, Member, Plan, PlanVerdict, Release, RepairOutcome, Role, Step, Tell, Why};
pub use ports::{PortCaller, PortSubtree, Ports};
pub use rebuild::ArrayController;
pub use requests::{CompletionCounter, Finished};
pub use schedule::Schedule;
pub use scheme::{
    BackgroundWork, Capabilities, Change, Hazard, MemberRow, Recoverable, Scheme, StripeUnit, Triggers,
};
pub use sums::Carried;
pub use tree::{NodeId, NodeLinks, Tree, TreeLevel};
pub use units::ChunkOrder;
pub use view::View;
pub use work::WorkInProgress;
