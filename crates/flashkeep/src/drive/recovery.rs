//! Power loss and recovery of a drive.

use crate::kernel::SimTime;

/// The cost of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// When the maps are restored.
    pub ready: SimTime,
    /// Pages read for that.
    pub reads: u64,
    /// Blocks whose erase was repeated.
    pub erases: u64,
}
