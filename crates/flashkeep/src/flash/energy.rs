//! Currents and voltage of the flash. The report multiplies them with times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Currents of the flash, for each operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlashEnergySpec {
    /// Supply voltage, V.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub voltage_v: Option<f64>,
    /// Current while an array reads a page, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub read_ma: Option<f64>,
    /// Current while an array programs a page, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub program_ma: Option<f64>,
    /// Current while a block is erased, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub erase_ma: Option<f64>,
    /// Current while data cross the channel, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub transfer_ma: Option<f64>,
    /// Current of a die that does none of these, mA.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub standby_ma: Option<f64>,
}

/// Current times voltage in nW (µA · mV), each rounded to the nearest; none where either is not given.
#[must_use]
pub fn nanowatts(current_ma: Option<f64>, voltage_v: Option<f64>) -> Option<u128> {
    let thousandths = |number: f64| (number * 1e3).round() as u128;
    Some(thousandths(current_ma?) * thousandths(voltage_v?))
}
