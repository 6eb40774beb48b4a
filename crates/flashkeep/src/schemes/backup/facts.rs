//! Statistics of the backup, for the report; no decision depends on them.

use super::Backup;
use crate::figures;
use crate::figures::{plain, unit};

/// Operations, and the pages that they moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Moved {
    /// Runs of adjacent pages.
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

    /// The sum of both.
    #[must_use]
    pub fn with(self, other: Moved) -> Moved {
        Moved { operations: self.operations + other.operations, pages: self.pages + other.pages }
    }
}

/// Statistics of a disk, and of the memory in use for it.
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

/// Statistics of the backup. Means over time of the memory in use are computed by a caller with a clock.
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

    /// The statistics so far.
    #[must_use]
    pub fn facts(&self) -> BackupFacts {
        let disk = |(at, disk): (usize, &super::BackupDisk)| DiskFacts {
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

figures! {
    /// Figures of disks that back up SSDs.
    pub struct BackupFigures {
        /// Pages of the non-volatile memory.
        nvram_pages: u32 => unit("pages"),
        /// Pages of the memory in use at the end.
        nvram_used: u32 => unit("pages").lower(),
        /// Most pages of the memory in use at once.
        nvram_most: u32 => unit("pages").lower(),
        /// Entries of the map of staged pages at the end, 16 bytes each.
        map_entries: u32 => unit("entries").lower(),
        /// Most entries of that map.
        map_most: u32 => unit("entries").lower(),
        /// Writes of the host, cut at segments.
        writes: Moved => plain(),
        /// Free segments of each disk.
        free_segments: u32 => unit("segments"),
        /// Each disk.
        disks: Vec<BackupDiskFigures> => plain(),
        /// Most of the memory in use at once.
        nvram_most_mib: f64 => unit("MiB").lower(),
        /// The memory in use, mean over time.
        nvram_mean_mib: f64 => unit("MiB").lower(),
    }
}

figures! {
    /// Figures of one disk that backs up SSDs.
    pub struct BackupDiskFigures {
        /// Pages of the memory in use for it at the end.
        nvram_pages: u32 => unit("pages").lower(),
        /// Most pages of the memory in use for it at once.
        nvram_most: u32 => unit("pages").lower(),
        /// Phase 1: written to data segments.
        in_place: Moved => plain(),
        /// Phase 1: written to free segments.
        staged: Moved => plain(),
        /// Phase 2: read from free segments.
        recalled: Moved => plain(),
        /// Phase 3: written to data segments.
        destaged: Moved => plain(),
        /// Written to it to complete it after it or the memory was lost.
        refilled: Moved => plain(),
        /// Read from it for a new SSD.
        restored: Moved => plain(),
        /// Free segments in use at the end.
        segments_used: u32 => unit("segments").lower(),
        /// Most of the memory in use for it at once.
        nvram_most_mib: f64 => unit("MiB").lower(),
        /// The memory in use for it, mean over time.
        nvram_mean_mib: f64 => unit("MiB").lower(),
    }
}

figures! {
    /// Operations, and the pages that they moved.
    impl Moved {
        /// Operations on adjacent pages.
        operations: u64 => unit("operations").lower(),
        /// Pages that they moved.
        pages: u64 => unit("pages").lower(),
    }
}

impl BackupFigures {
    /// `means` are the pages of the memory in use for each disk, mean over time.
    pub(crate) fn new(facts: &BackupFacts, means: &[f64], mib: impl Fn(f64) -> f64) -> Self {
        let disk = |(disk, mean): (&DiskFacts, &f64)| BackupDiskFigures {
            nvram_pages: disk.nvram_pages,
            nvram_most: disk.nvram_most,
            in_place: disk.in_place,
            staged: disk.staged,
            recalled: disk.recalled,
            destaged: disk.destaged,
            refilled: disk.refilled,
            restored: disk.restored,
            segments_used: disk.segments_used,
            nvram_most_mib: mib(f64::from(disk.nvram_most)),
            nvram_mean_mib: mib(*mean),
        };
        BackupFigures {
            nvram_pages: facts.nvram_pages,
            nvram_used: facts.nvram_used,
            nvram_most: facts.nvram_most,
            map_entries: facts.map_entries,
            map_most: facts.map_most,
            writes: facts.writes,
            free_segments: facts.free_segments,
            disks: facts.disks.iter().zip(means).map(disk).collect(),
            nvram_most_mib: mib(f64::from(facts.nvram_most)),
            nvram_mean_mib: mib(means.iter().sum()),
        }
    }
}
