//! One number that stands for everything a run simulated.

use flashkeep_trace::random::mix;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A running mix of every request's times; ends as SHA-256 over it and the summary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digest(u64);

impl Digest {
    /// Takes a request in: which one, and its times. The order of calls is part of what is digested.
    #[inline]
    pub fn add(&mut self, request: u64, acknowledged: u64, service: u64) {
        self.0 = mix(self.0 ^ request.rotate_left(40) ^ acknowledged.rotate_left(16) ^ service);
    }

    /// 64 hexadecimal digits over all requests and the summary so far, but for the drive (which went in, and gets more
    /// keys as time goes by), figures of wear without a value (likewise), what is said in words, and what the workload happens to be called.
    #[must_use]
    pub fn finish(self, summary: &Value) -> String {
        let mut summary = summary.clone();
        summary["drive"].take();
        summary["warnings"].take();
        summary["workload"]["name"].take();
        if let Some(wear) = summary["wear"].as_object_mut() {
            wear.retain(|key, value| !value.is_null() || key == "lifetime_days");
        }
        let mut hash = Sha256::new();
        hash.update(self.0.to_le_bytes());
        hash.update(summary.to_string().as_bytes());
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
