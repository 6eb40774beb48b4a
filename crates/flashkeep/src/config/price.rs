//! Prices of drives, disks and arrays, from the drive files.

use super::check::Resolved;
use crate::schemes::NvramPrice;

/// Bytes of a GB in prices.
const GB: f64 = 1e9;

impl Resolved {
    /// The price in USD; none if that of a part is missing. The price of a drive is for its capacity; that of an array
    /// is the sum of its members', including unused space, and of its non-volatile memory.
    #[must_use]
    pub fn cost_usd(&self) -> Option<f64> {
        if !self.is_array() {
            return self.spec.price_per_gb.map(|price| price * self.capacity_bytes() as f64 / GB);
        }
        let memory = (self.memory_pages() * self.page_bytes()) as f64 / GB;
        let NvramPrice { nvram_price_per_gb: price } = self.spec.redundancy.read();
        let memory = if memory > 0.0 { price.map(|price| price * memory)? } else { 0.0 };
        self.array.iter().map(Resolved::cost_usd).sum::<Option<f64>>().map(|members| members + memory)
    }

    /// The price per GB of capacity.
    #[must_use]
    pub fn cost_per_gb(&self) -> Option<f64> {
        self.cost_usd().map(|usd| usd / (self.capacity_bytes() as f64 / GB))
    }
}
