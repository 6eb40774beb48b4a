//! What the user wrote, and what it means: read, checked across fields, resolved.

mod ageing;
mod allocation;
mod array;
mod check;
mod cleaning;
mod commands;
mod disk;
mod elements;
mod energy;
mod fields;
mod keys;
mod load;
mod mapping;
mod names;
mod packing;
mod page_types;
mod policies;
mod pools;
mod presets;
mod price;
mod redundancy;
mod shares;
mod tree;
mod wear;

#[cfg(test)]
mod tests;

pub use allocation::{Allocation, Level};
pub use check::{Resolved, Timing};
pub use cleaning::Copyback;
pub use commands::{CommandsSpec, MultiPlane};
pub use disk::{DISK_SECTOR_BYTES, DiskPowerSpec, DiskSpec, Numbers, Rotation, SeekCurve, SeekSpec};
pub use energy::{DramEnergySpec, FlashEnergySpec, nanowatts};
pub use fields::schema;
pub use keys::*;
pub use load::{from_json, load, load_text};
pub use names::{levellings, schedulers, schemes, victims};
pub use page_types::{PageTypes, PerType};
pub use policies::{PolicyInfo, head_comment, policies};
pub use pools::Pool;
pub use presets::{PresetInfo, preset_text, presets};
pub use shares::{SHARES_OF, Shares};
pub use tree::draw;
