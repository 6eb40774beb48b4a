//! Builds a controller from the parameters of its drive.

use super::collection_reads::CollectionReads;
use super::errors::BitErrors;
use super::open_operations::OpenOperations;
use super::probe::LatencyProbe;
use super::program::Programs;
use super::read::Commands;
use super::{Controller, Dies, DriveAccounts, OwnerRules, Paths, Queues, ReadRules, Scratch};
use crate::drive::{FlashBackendKind, Parameters};
use crate::engine::Contents;
use crate::flash::{FlashArray, Geometry, Timing};
use crate::kernel::SimTime;

impl<C: Contents> Controller<C> {
    /// The controller of `flash`, with `backends` backends. It tells of dies that fall idle if these `work_in_idle_time`.
    pub(in crate::drive) fn new(
        drive: &Parameters,
        flash: FlashArray,
        backends: usize,
        rules: OwnerRules,
        work_in_idle_time: bool,
    ) -> Self {
        let geometry = &flash.geometry;
        let units = geometry.unit_count() as usize;
        Controller {
            dies: Dies::new(drive, geometry, flash.commands.cache_program || work_in_idle_time),
            queues: Queues::default(),
            reads: ReadRules::new(drive, &flash),
            paths: Paths {
                commands: Commands::of_mapped(matches!(drive.kind, FlashBackendKind::Mapped { .. })),
                programs: Programs::Full,
            },
            rules,
            collection_reads: CollectionReads::default(),
            accounts: DriveAccounts::new(drive, geometry, backends),
            done: Vec::new(),
            scratch: Scratch::default(),
            probe: LatencyProbe::default(),
            open: OpenOperations::new(drive.suspend, units),
            errors: BitErrors::of(drive, geometry),
            now: SimTime::ZERO,
            admitted: SimTime::ZERO,
            flash,
        }
    }
}

impl FlashArray {
    /// The flash array of a drive.
    pub(in crate::drive) fn of(drive: &Parameters) -> FlashArray {
        FlashArray {
            geometry: Geometry::new(&drive.flash)
                .with_places(drive.places)
                .with_pools(&drive.flash, drive.pools),
            pools: drive.pools,
            timing: Timing::new(
                &drive.flash,
                &drive.times,
                &drive.page_types,
                drive.page_sectors,
                drive.places,
            ),
            bus: drive.flash.bus,
            commands: drive.flash.commands.clone(),
            acknowledge: drive.flash.acknowledge,
        }
    }
}
