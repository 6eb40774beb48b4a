//! Currents and voltages: what operations draw. Nothing is simulated with them; the report multiplies them with times.

use super::check::Check;
use crate::error::DriveError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the flash draws, for each operation on its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlashEnergySpec {
    /// Supply voltage, V.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub voltage_v: Option<f64>,
    /// While an array reads a page, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub read_ma: Option<f64>,
    /// While an array programs a page, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub program_ma: Option<f64>,
    /// While a block is erased, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub erase_ma: Option<f64>,
    /// While data cross the channel, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub transfer_ma: Option<f64>,
    /// A die that does none of these, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub standby_ma: Option<f64>,
}

/// What the DRAM draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DramEnergySpec {
    /// Supply voltage, V.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub voltage_v: Option<f64>,
    /// While sectors go in or out, on top of standby, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub active_ma: Option<f64>,
    /// All the time, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub standby_ma: Option<f64>,
    /// All the time, for refreshing, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub refresh_ma: Option<f64>,
    /// How long a byte that goes in or out keeps it active, ns.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub active_ns_per_byte: f64,
}

impl Default for DramEnergySpec {
    fn default() -> Self {
        // DDR3-1600, 16 bits wide: 3.2 GB/s.
        DramEnergySpec {
            voltage_v: None,
            active_ma: None,
            standby_ma: None,
            refresh_ma: None,
            active_ns_per_byte: 0.3125,
        }
    }
}

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

/// Current times voltage in nW (µA · mV), each rounded to the nearest; none where either is not given.
#[must_use]
pub fn nanowatts(current_ma: Option<f64>, voltage_v: Option<f64>) -> Option<u128> {
    let thousandths = |number: f64| (number * 1e3).round() as u128;
    Some(thousandths(current_ma?) * thousandths(voltage_v?))
}
