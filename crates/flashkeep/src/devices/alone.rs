//! The flash of one drive as the only device of a simulation.

use super::{DeviceAccess, DeviceStatistics};
use crate::drive::Drive;
use crate::engine::Contents;
use crate::kernel::SimTime;

impl<C: Contents> DeviceAccess<C> for Drive<C> {
    fn statistics(&self, _: SimTime) -> Vec<DeviceStatistics> {
        Vec::new()
    }

    fn drive(&self, _: u16) -> Option<&Drive<C>> {
        Some(self)
    }

    fn flash(&self) -> Option<&Drive<C>> {
        Some(self)
    }

    fn flash_mut(&mut self) -> Option<&mut Drive<C>> {
        Some(self)
    }
}
