//! What the backup has done, for the report: it decides nothing.

use super::Backup;

/// Operations, and the pages that they moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Moved {
    /// Runs of pages that stand beside each other.
    pub operations: u64,
    /// Pages of them.
    pub pages: u64,
}

impl Moved {
    /// One more operation.
    pub(super) fn add(&mut self, pages: u32) {
        self.operations += 1;
        self.pages += u64::from(pages);
    }

    /// These operations and those.
    #[must_use]
    pub fn with(self, other: Moved) -> Moved {
        Moved { operations: self.operations + other.operations, pages: self.pages + other.pages }
    }
}

/// What a disk has done, and what the memory holds for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DiskFacts {
    /// Pages of the memory that are in use for it now.
    pub nvram_pages: u32,
    /// The most that ever were.
    pub nvram_most: u32,
    /// Phase 1, to data segments.
    pub in_place: Moved,
    /// Phase 1, to free segments.
    pub staged: Moved,
    /// Phase 2: read from free segments, a run each segment.
    pub recalled: Moved,
    /// Phase 3: written to data segments.
    pub destaged: Moved,
    /// Written to it to make it complete, after the loss of it or of the memory.
    pub refilled: Moved,
    /// Read from it for a new SSD.
    pub restored: Moved,
    /// Free segments that hold something now.
    pub segments_used: u32,
}

impl DiskFacts {
    /// Everything that reorganisation moves: all three phases.
    #[must_use]
    pub fn all_phases(&self) -> Moved {
        self.in_place.with(self.staged).with(self.recalled).with(self.destaged)
    }
}

/// What the backup has done. Time means of what is in use are for whoever has a clock and asks often enough.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BackupFacts {
    /// Pages of the memory.
    pub nvram_pages: u32,
    /// Pages of it in use now.
    pub nvram_used: u32,
    /// The most that ever were.
    pub nvram_most: u32,
    /// Entries of the map now, of 16 bytes each.
    pub map_entries: u32,
    /// The most that there ever were.
    pub map_most: u32,
    /// What the host has written: pieces that lie within a segment, and their pages.
    pub writes: Moved,
    /// Free segments of each disk.
    pub free_segments: u32,
    /// Each disk.
    pub disks: Vec<DiskFacts>,
}

impl Backup {
    /// Pages of the memory that are in use now.
    #[must_use]
    pub fn nvram_used(&self) -> u32 {
        self.memory.used()
    }

    /// Those that are in use for one disk.
    #[must_use]
    pub fn nvram_used_for(&self, disk: usize) -> u32 {
        self.memory.held(disk).used
    }

    /// What it has done so far.
    #[must_use]
    pub fn facts(&self) -> BackupFacts {
        let disk = |(at, disk): (usize, &super::Disk)| DiskFacts {
            nvram_pages: self.memory.held(at).used,
            nvram_most: self.memory.held(at).most,
            segments_used: self.segments.used(at),
            ..disk.facts
        };
        BackupFacts {
            nvram_pages: self.memory.capacity(),
            nvram_used: self.memory.used(),
            nvram_most: self.memory.most,
            map_entries: self.segments.entries(),
            map_most: self.segments.most,
            writes: self.writes,
            free_segments: self.layout.free_segments(),
            disks: self.disks.iter().enumerate().map(disk).collect(),
        }
    }
}
