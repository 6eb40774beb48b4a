//! `ftl.gc`: moves, and GC in idle time.

use super::check::Check;
use super::wear::streams;
use crate::error::DriveError;
use crate::ftl::GcSpec;

impl Check<'_> {
    /// Turns in which members collect.
    fn turns(&mut self) {
        let GcSpec { turn_ms, threshold, .. } = self.spec.ftl.gc;
        if turn_ms.is_none() {
            return;
        }
        if self.maps_blocks() {
            self.warnings.push("ftl.gc.turn_ms: no effect if GC does not work plane by plane".into());
            return;
        }
        let flash = &self.spec.flash;
        let blocks = threshold * f64::from(flash.blocks_per_plane);
        let least = f64::from(streams(&self.spec)) + 2.0;
        if blocks <= least {
            self.warnings.push(format!(
                "ftl.gc.turn_ms: no effect with ftl.gc.threshold = {threshold}, {blocks:.1} blocks of a plane: planes wait \
                 for their turn while more than {least} blocks are free"
            ));
        }
    }

    pub(super) fn cleaning(&mut self) -> Result<(), DriveError> {
        self.turns();
        let GcSpec { soft_threshold, threshold, .. } = self.spec.ftl.gc;
        let Some(soft) = soft_threshold else { return Ok(()) };
        if soft <= threshold {
            let message = format!(
                "{soft} is not above ftl.gc.threshold, {threshold}: GC in idle time must start before \
                 forced GC"
            );
            return Err(self.wrong(&["ftl.gc.soft_threshold", "ftl.gc.threshold"], message));
        }
        if self.maps_blocks() {
            self.warnings.push("ftl.gc.soft_threshold: no effect if GC does not work plane by plane".into());
            return Ok(());
        }
        let op = self.spec.ftl.over_provisioning;
        let share = op / (1.0 + op);
        if soft >= share && threshold < share {
            self.warnings.push(format!(
                "ftl.gc.soft_threshold: {soft} cannot be reached with a full drive: over-provisioning of \
                 {op:.4} leaves at most {share:.4} of its pages free, so garbage collection uses all idle \
                 time as long as a block has an invalid page"
            ));
        }
        Ok(())
    }
}
