//! The devices of a bench: the flash of one drive, or the drives, disks and memories of an array.

use super::bench::Told;
use crate::config::Resolved;
use crate::devices::{AnyDevice, Body, DeviceSet, Inspect, Observe};
use crate::drive::{Drive, OpKind};
use crate::engine::Token;
use crate::kernel::SimTime;
use crate::simulation::{Built, build, build_array};

/// Devices that can be looked into.
pub(super) trait TestDevices: Body<Token> + Clone {
    /// All of it, and the tree over it.
    fn put_together(drive: &Resolved) -> Built<Self>;
    /// Has every operation of every drive reported; returns which devices those are.
    fn log_all(&mut self) -> Vec<(u16, Told)>;
    /// Whether nothing is under way.
    fn is_quiet(&self) -> bool;
    /// How many operations of a kind a drive has counted.
    fn counted(&self, device: u16, kind: OpKind) -> u64;
    /// How many commands the arm of a disk has carried out; of other devices none.
    fn commands_done(&self, device: u16, now: SimTime) -> Option<u64>;
}

fn told(drive: &mut Drive<Token>) -> Told {
    let told = Told::default();
    drive.log(Box::new(told.clone()));
    told
}

impl TestDevices for Drive<Token> {
    fn put_together(drive: &Resolved) -> Built<Self> {
        build(drive, 1)
    }

    fn log_all(&mut self) -> Vec<(u16, Told)> {
        vec![(0, told(self))]
    }

    fn is_quiet(&self) -> bool {
        Drive::is_quiet(self)
    }

    fn counted(&self, _: u16, kind: OpKind) -> u64 {
        self.counters().total(kind)
    }

    fn commands_done(&self, _: u16, _: SimTime) -> Option<u64> {
        None
    }
}

impl TestDevices for DeviceSet<Token> {
    fn put_together(drive: &Resolved) -> Built<Self> {
        build_array(drive, 1)
    }

    fn log_all(&mut self) -> Vec<(u16, Told)> {
        let drives = (0..).zip(self.devices_mut()).filter_map(|(number, device)| match device {
            AnyDevice::Flash(drive) => Some((number, told(drive))),
            AnyDevice::Disk(_) | AnyDevice::Memory(_) => None,
        });
        drives.collect()
    }

    fn is_quiet(&self) -> bool {
        DeviceSet::is_quiet(self)
    }

    fn counted(&self, device: u16, kind: OpKind) -> u64 {
        match DeviceSet::devices(self).nth(usize::from(device)) {
            Some(AnyDevice::Flash(drive)) => drive.counters().total(kind),
            _ => 0,
        }
    }

    fn commands_done(&self, device: u16, now: SimTime) -> Option<u64> {
        match DeviceSet::devices(self).nth(usize::from(device)) {
            Some(AnyDevice::Disk(disk)) => Some(disk.statistics(now).operations),
            _ => None,
        }
    }
}
