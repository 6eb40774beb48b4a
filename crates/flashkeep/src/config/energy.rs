//! `energy`: a current needs a voltage.

use super::check::Check;
use crate::error::DriveError;

impl Check<'_> {
    /// A current without a voltage is no power.
    pub(super) fn energy(&self) -> Result<(), DriveError> {
        let (flash, dram) = (&self.spec.flash.energy, &self.spec.buffer.energy);
        let currents = [
            ("flash.energy.read_ma", flash.read_ma, flash.voltage_v),
            ("flash.energy.program_ma", flash.program_ma, flash.voltage_v),
            ("flash.energy.erase_ma", flash.erase_ma, flash.voltage_v),
            ("flash.energy.transfer_ma", flash.transfer_ma, flash.voltage_v),
            ("flash.energy.standby_ma", flash.standby_ma, flash.voltage_v),
            ("buffer.energy.active_ma", dram.active_ma, dram.voltage_v),
            ("buffer.energy.standby_ma", dram.standby_ma, dram.voltage_v),
            ("buffer.energy.refresh_ma", dram.refresh_ma, dram.voltage_v),
        ];
        for (key, current, voltage) in currents {
            if let (Some(current), None) = (current, voltage) {
                let table = &key[..key.rfind('.').unwrap_or_default()];
                return Err(
                    self.wrong(&[key], format!("found {current}; {table}.voltage_v is needed with it"))
                );
            }
        }
        Ok(())
    }
}
