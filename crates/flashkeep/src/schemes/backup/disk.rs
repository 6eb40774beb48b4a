//! The state of a disk as seen by the scheme, its only user.

use super::facts::DiskFacts;
use crate::engine::Page;
use crate::kernel::RebuildQueue;

/// The kind of work that a disk does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum DiskJobKind {
    #[default]
    Nothing,
    /// Reads pages of a failed SSD.
    Read,
    Stage,
    InPlace,
    Recall,
    Destage,
    /// Copies missing pages to an SSD.
    Restore,
    /// Copies missing pages to the disk.
    Refill,
}

/// The work that a disk does, and its pages.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct DiskJob {
    pub(super) kind: DiskJobKind,
    /// The pages of the memory that it moves from or to, and the places on the disk.
    pub(super) slots: Vec<u32>,
    pub(super) places: Vec<Page>,
    /// The free segment that is being staged to.
    pub(super) segment: u32,
    /// The pages that a rebuild copies.
    pub(super) pages: std::ops::Range<u32>,
    /// The disk has been replaced meanwhile.
    pub(super) renewed: bool,
}

/// For which purpose a disk worked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum DiskTurn {
    #[default]
    Host,
    Reorganisation,
    Rebuild,
}

/// The scheme's state of a disk.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct BackupDisk {
    pub(super) alive: bool,
    /// Where the last transfer ended.
    pub(super) head: Page,
    pub(super) doing: DiskJob,
    pub(super) last: DiskTurn,
    /// A rebuild was to have its turn and found the disk busy.
    pub(super) rebuild_waits: bool,
    /// Pages of the memory that wait to be destaged, the next one last.
    pub(super) sweep: Vec<u32>,
    /// Pages that it, or their SSD, lacks and the other has.
    pub(super) rebuild_queue: RebuildQueue,
    pub(super) facts: DiskFacts,
}

impl BackupDisk {
    pub(super) fn new() -> Self {
        BackupDisk {
            alive: true,
            head: Page(0),
            doing: DiskJob::default(),
            last: DiskTurn::default(),
            rebuild_waits: false,
            sweep: Vec::new(),
            rebuild_queue: RebuildQueue::default(),
            facts: DiskFacts::default(),
        }
    }
}
