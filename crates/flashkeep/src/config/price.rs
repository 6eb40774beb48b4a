//! Prices of drives, disks and arrays, from the drive files.

use super::check::Resolved;
use crate::schemes::NvramPrice;

/// Bytes of a GB as things are sold.
const GB: f64 = 1e9;

impl Resolved {
    /// Its price, USD; none where that of a part is not given. A drive's is one of what it offers; an array's is that of
    /// all its members, including the part it does not use, and of its non-volatile memory.
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

    /// The same for a GB of what it offers.
    #[must_use]
    pub fn cost_per_gb(&self) -> Option<f64> {
        self.cost_usd().map(|usd| usd / (self.capacity_bytes() as f64 / GB))
    }
}
