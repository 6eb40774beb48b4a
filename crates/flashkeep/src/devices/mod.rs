//! Devices below a tree of schemes: the flash of one drive, or a set of drives, disks and memories side by side.
//!
//! [`Body`] combines the interfaces of a device, each for one concern of a simulation ([`BlockDevice`] and others).

mod alone;
mod concerns;
mod set;

pub use crate::drive::{Age, BlockDevice, InjectFaults, Inspect, Observe, Recover, Snapshot};
pub use set::{AnyDevice, DeviceSet};

use crate::disk::DiskStatistics;
use crate::drive::{BlockErases, Counters, Drive, ErrorCounts};
use crate::engine::Contents;
use crate::ftl::HandleCounts;
use crate::kernel::{SimTime, Span};

/// The statistics of one device.
#[derive(Clone, Debug, Default)]
pub struct DeviceStatistics {
    /// Pages and blocks, by kind and cause.
    pub counters: Counters,
    /// How long each channel has been in use, and each die or plane busy.
    pub busy: [Vec<Span>; 2],
    /// Erases of each block in this run.
    pub erases: BlockErases,
    /// The others of each block, from before time 0.
    pub erases_before: BlockErases,
    /// Blocks that have had all their erases.
    pub expired: u32,
    /// For a disk: its time by activity.
    pub disk: Option<DiskStatistics>,
    /// What placement handles have programmed; empty where there is one.
    pub handles: Vec<HandleCounts>,
    /// What error correction had to do while requests were counted; none without an error model.
    pub errors: Option<ErrorCounts>,
}

/// The devices of a set, one by one.
pub trait DeviceAccess<C: Contents> {
    /// The statistics of each device of a set at that instant; empty for a lone drive.
    fn statistics(&self, until: SimTime) -> Vec<DeviceStatistics>;
    /// A device of the set, if it is a drive.
    fn drive(&self, device: u16) -> Option<&Drive<C>>;
    /// The drive, if it is the only device.
    fn flash(&self) -> Option<&Drive<C>>;
    /// The same, to be changed.
    fn flash_mut(&mut self) -> Option<&mut Drive<C>>;
}

/// All interfaces of the devices below a simulation's tree.
pub trait Body<C: Contents>:
    BlockDevice<C> + Inspect<C> + DeviceAccess<C> + Snapshot + InjectFaults + Recover + Age + Observe
{
}

impl<C: Contents, B> Body<C> for B where
    B: BlockDevice<C> + Inspect<C> + DeviceAccess<C> + Snapshot + InjectFaults + Recover + Age + Observe
{
}
