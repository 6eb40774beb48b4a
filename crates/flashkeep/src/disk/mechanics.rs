//! What the times of a disk follow from: platters, arm, motor, controller and interface.

use super::{DISK_SECTOR_BYTES, DiskSpec, Rotation, SectorPlace, SeekTable, Surface};
use crate::engine::BackendId;
use crate::kernel::{Factor, Random, Span};

/// What the times of a disk follow from. Only random rotations change it.
#[derive(Clone, Debug)]
pub(super) struct Mechanics {
    pub(super) surface: Surface,
    pub(super) seeks: SeekTable,
    turning: Turning,
    /// Before the arm moves.
    overhead: Span,
    /// A byte through the interface, fs.
    interface_fs: u64,
    /// The time without a command after which it stops, and the time to spin up again.
    pub(super) standby_after: Span,
    pub(super) spin_up: Span,
    /// The typical times of a read and of a write, without the transfer.
    pub(super) typical: [Span; 2],
}

/// The time until the data are under the head.
#[derive(Clone, Debug)]
enum Turning {
    Position,
    Random(Box<Random>),
    Mean,
}

impl Turning {
    fn new(rotation: Rotation, seed: u64, backend: BackendId) -> Self {
        match rotation {
            Rotation::Position => Turning::Position,
            Rotation::Random => {
                Turning::Random(Box::new(Random::stream(seed, &format!("disk {} rotation", backend.0))))
            }
            Rotation::Mean => Turning::Mean,
        }
    }
}

/// The times before a transfer, ns.
pub(super) struct Approach {
    pub(super) overhead: u64,
    pub(super) seek: u64,
    pub(super) rotation: u64,
}

impl Approach {
    /// The times of a slow disk.
    pub(super) fn stretched(self, factor: Factor) -> Approach {
        let [overhead, seek, rotation] =
            [self.overhead, self.seek, self.rotation].map(|ns| Span(ns).stretched(factor).0);
        Approach { overhead, seek, rotation }
    }
}

impl Mechanics {
    /// # Panics
    /// If a value is inconsistent that the reader of drive files did not check.
    pub(super) fn new(spec: &DiskSpec, backend: BackendId, seed: u64) -> Self {
        let ns = |ms: f64| Span((ms * 1e6).round() as u64);
        let surface = Surface::new(spec);
        let seeks = SeekTable::new(&spec.seek, surface.cylinders()).expect("checked when it was resolved");
        let half = Span(surface.revolution() / 2);
        Mechanics {
            typical: [false, true].map(|writes| ns(spec.command_ms) + seeks.typical(writes) + half),
            turning: Turning::new(spec.rotation, seed, backend),
            overhead: ns(spec.command_ms),
            interface_fs: (1e9 / spec.interface_mb_s).ceil() as u64,
            standby_after: spec.power.standby_after_s.map_or(Span(u64::MAX), |s| ns(s * 1e3)),
            spin_up: ns(spec.power.spin_up_s * 1e3),
            surface,
            seeks,
        }
    }

    /// The time of some sectors through the controller alone.
    pub(super) fn through_memory(&self, sectors: u64) -> Span {
        let bytes = sectors * u64::from(DISK_SECTOR_BYTES);
        self.overhead + Span((bytes * self.interface_fs).div_ceil(1_000_000))
    }

    /// The times to reach a place from another one.
    pub(super) fn approach(
        &mut self,
        now: u64,
        from: SectorPlace,
        place: SectorPlace,
        writes: bool,
    ) -> Approach {
        let overhead = self.overhead.0;
        let cylinders = place.cylinder.abs_diff(from.cylinder);
        let seek = match cylinders {
            0 if place.head != from.head => self.surface.head_switch(),
            _ => self.seeks.time(writes, cylinders).0,
        };
        let rotation = match &mut self.turning {
            Turning::Position => self.surface.wait(now + overhead + seek, place.along),
            Turning::Random(random) => random.below(self.surface.revolution()),
            Turning::Mean => self.surface.revolution() / 2,
        };
        Approach { overhead, seek, rotation }
    }
}
