//! `ftl.pool`: planes that share an open block and are collected as one.

use super::check::{Check, Resolved, product};
use super::keys::DriveSpec;
use super::packing::{block_pages, page_bytes};
use crate::error::DriveError;
use crate::flash::{Across, BusUse, BusyUnit, FlashSpec, MultiPlane, Pools};
use crate::ftl::{Copyback, PlaneChoice, Pool};
use crate::schemes::{self, Inside};

fn pools(spec: &DriveSpec) -> Pools {
    let FlashSpec { chips_per_channel: chips, dies_per_chip: dies, planes_per_die: planes, .. } = spec.flash;
    match spec.ftl.pool {
        Pool::Plane => Pools::PLANES,
        Pool::Element => Pools { chips: 1, dies, planes },
        Pool::Gang => Pools { chips, dies, planes },
    }
}

/// The flash as its FTL sees it: each pool is a plane, and pages are those of the map.
pub(super) fn pooled(spec: &DriveSpec) -> FlashSpec {
    let (flash, pools) = (spec.flash.clone(), pools(spec));
    // More than there can be stays more than there can be.
    let blocks = u64::from(flash.blocks_per_plane) * u64::from(pools.chips);
    let blocks = blocks.saturating_mul(u64::from(pools.dies)).saturating_mul(u64::from(pools.planes));
    FlashSpec {
        page_kib: page_bytes(spec) as f64 / 1024.0,
        pages_per_block: block_pages(spec),
        chips_per_channel: flash.chips_per_channel / pools.chips,
        dies_per_chip: flash.dies_per_chip / pools.dies,
        planes_per_die: flash.planes_per_die / pools.planes,
        blocks_per_plane: u32::try_from(blocks).unwrap_or(u32::MAX).min(1 << 31),
        ..flash
    }
}

impl Resolved {
    /// Planes that share an open block.
    #[must_use]
    pub fn pools(&self) -> Pools {
        pools(&self.spec)
    }

    /// Planes of the flash as its FTL sees it.
    #[must_use]
    pub fn pooled_planes(&self) -> u64 {
        let flash = self.pooled_flash();
        product(&[flash.channels, flash.chips_per_channel, flash.dies_per_chip, flash.planes_per_die])
    }

    /// The flash as its FTL sees it: each pool is a plane, and pages are those of the map.
    #[must_use]
    pub fn pooled_flash(&self) -> FlashSpec {
        pooled(&self.spec)
    }
}

impl Check<'_> {
    /// A pool is busy as one, and has but one page to program next.
    pub(super) fn pools(&mut self) -> Result<(), DriveError> {
        let (flash, ftl, pool) = (&self.spec.flash, &self.spec.ftl, self.spec.ftl.pool);
        if pool == Pool::Plane {
            return Ok(());
        }
        let scheme = schemes::named(&self.spec.redundancy.scheme);
        let across = self.spec.redundancy.read::<Inside>().across;
        let within = across == Across::Die || (pool == Pool::Gang && across == Across::Chip);
        let gang = pool == Pool::Gang;
        let refused = [
            (
                flash.busy_unit != BusyUnit::Chip,
                "flash.busy_unit",
                "planes that share an open block are busy as one; \"chip\" is accepted with this",
            ),
            (
                gang && flash.bus != BusUse::Operations,
                "flash.bus",
                "chips that share an open block do one thing at a time; \"operations\" is accepted with \
                 this",
            ),
            (
                gang && flash.control_gang > 1,
                "flash.control_gang",
                "channels with shared control lines work in parallel, which one open block prevents; 1 is \
                 accepted with this",
            ),
            (
                flash.commands.multi_plane != MultiPlane::Off,
                "flash.commands.multi_plane",
                "one open block cannot provide two pages for one program; \"off\" is accepted with this",
            ),
            (
                ftl.gc.copyback == Copyback::ParitySkip,
                "ftl.gc.copyback",
                "the skipped page's successor is mostly in another plane; \"off\", \"on\" and \"parity\" \
                 are accepted with this",
            ),
            (
                within && scheme.is_some_and(|scheme| !scheme.plain),
                "redundancy.across",
                "each member has its own pools, so a pool must not span members; a higher level is \
                 accepted with this",
            ),
        ];
        if let Some((_, key, message)) = refused.into_iter().find(|(refused, ..)| *refused) {
            return Err(self.wrong(&["ftl.pool", key], message));
        }
        if self.spec.ftl.plane_choice != PlaneChoice::InTurn && self.given.by_hand("ftl.plane_choice") {
            self.warnings.push(
                "ftl.plane_choice: no effect with ftl.pool: the pool's open block determines the \
                       plane"
                    .into(),
            );
        }
        self.spec.ftl.plane_choice = PlaneChoice::InTurn;
        Ok(())
    }
}
